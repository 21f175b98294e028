"""What the person at the lead's terminal sees; the only owner of that terminal."""

from __future__ import annotations

import json
import os
import sys
import termios
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import anyio
import click

from coordination.errors import NO_ROOM
from coordination.events import EventTail
from orchestrator.terminal.plain import echo, harmless, is_colorless, one_line, rows_of
from orchestrator.terminal.typed_line import TypedLine

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Mapping

    from coordination.files import StateDirectory
    from harness.loop import Incoming

    Listener = Callable[[dict[str, Any]], None]

ASKED = "permission_asked"
UNWRITTEN = "leadhand: the output cannot be written ({why}); the run goes on, `leadhand status` shows it"
INDENT = 18  # columns with the time and the name before what somebody says or does
COLORS = ("cyan", "magenta", "yellow", "blue", "bright_cyan", "bright_magenta")
TOLD: dict[str, str] = {  # action of an event to the words for it; others are for `--json` and the files
    "leads": "leads, term {term}",
    "started": "starts {member}",
    "alive": "is on the team",
    "claimed": "takes {task} {subject}",
    "plan_submitted": "submits a plan for {subject} ({request})",
    "plan_required": "wants a plan from {member}",
    "plan_decided": "decides on the plan {request}: {verdict} {reason}",
    "completion_refused": "is not done with {subject}: it fails {refused}",
    "not_handed_in": "ends its turn without handing in {subject}",
    "completed": "completes {subject}",
    "told_lead": "tells the lead: {text}",
    "late_result": "hands {subject} in too late: {why}",
    "merged": "merges {subject} as {commit:.10}",
    "changed_nothing": "has nothing to merge of {subject}: no file was changed",
    "paused": "lets the team rest",
    "continued": "lets the team go on",
    "schedule_fired": "fires {entry} of the schedule",
    "schedule_fault": "cannot fire {entry}: {why}",
    "subagent_started": "lets a sub-agent work ({kind})",
    "background_started": "starts in the background: {command}",
    "background_ended": "has the end of {job}: {how}",
    "tree_kept": "looked at a tree: {why}",
    "merge_held": "cannot merge {subject}: {why}",
    "sent_back": "sends {subject} back: {why}",
    "member_lost": "closes the name {member}: {why}",
    "reclaimed": "puts {subject} back on the board: {why}",
    "restarts": "starts {member} again in {seconds} s: its process died ({how})",
    "restarts_end": "gives {member} up: it died {deaths} times in a row",
    "start_failed": "could not start {member}: {why}",
    "setup_failed": "cannot make a tree ready: {error}",
    "take_failed": "cannot begin a task: {error}",
    "waits_in_circle": "would wait in a circle and goes on: {members}",
    "released": "gives {subject} back: {why}",
    "mcp_connected": "connects the MCP server {server} (protocol {protocol}, {tools} tools)",
    "mcp_called": "calls {tool} of {server}: {outcome} ({reason})",
    "mcp_progress": "waits for {tool} of {server}: {progress}",
    "mcp_broker_lost": "sees that the process with the shared MCP servers has ended; agents connect again",
    "skill_loaded": "loads the skill {skill} ({source})",
    "security": "passes over {request}/{number}, which was forged or came too late: {why}",
    ASKED: "needs your word for {tool}: {what} ({request})",
    "permission_unasked": "needs your word, but nobody can be asked: {tool}: {what}",
    "permission_denied_before": "may not call {tool}: {what}; your no stands (approvals forget {answer})",
    "permission_decided": "decides on {request} of {asker}: {verdict} {reason}",
    "model_waits": "waits {seconds} s for the model: {error}",
    "model_changed": "gets its replies from {model} now",
    "limit_reached": "has met a limit: limits.{scope}.{limit}",
    "model_gave_up": "gets no reply: {error}",
    "asked_to_stop": "asks {member} to stop",
    "ended": "ended {member}",
    "closed": "leaves ({why})",
}


class Console:
    """Prints what happens, as lines for a person or as JSON lines for a program."""

    def __init__(self, *, as_json: bool) -> None:
        self.as_json = as_json
        self._colors: dict[str, str] = {}
        self._unfinished = ""
        self._speaks = False  # the lead's model said what was shown last
        self._answer: TypedLine | None = None  # to an open question, below everything else
        self.shows_questions = False  # in full, so that no line need tell of them
        self.is_lossy = False  # something could not be written, though its reader is there
        self.asker: Callable[[str], Awaitable[str]] | None = None  # a session reads itself
        self._asking = anyio.Lock()
        self.at_end = False  # nobody will type anything any more

    def _put(self, text: str, *, nl: bool = True) -> None:
        """A terminal, pipe or disk that takes no more ends no run: what happens is on disk as well."""
        text = harmless(text)
        self._speaks = False
        try:
            if self._answer:
                has_colors = sys.stdout.isatty() and not is_colorless()
                self._answer.above(text if has_colors else click.unstyle(text))
            else:
                echo(text, nl=nl)
        except OSError as error:
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            if error.errno in NO_ROOM:
                self.is_lossy = True
                with suppress(OSError):
                    echo(UNWRITTEN.format(why=error.strerror), err=True)

    def say(self, text: str) -> None:
        """A line for a person; a program gets it as an event."""
        if self.as_json:
            self.emit({"action": "said", "text": text})
        else:
            self._put(text)

    def stream(self, text: str) -> None:
        """Words of the lead's model as they come, shown row by row."""
        *lines, last = (self._unfinished + text).split("\n")
        for line in lines:
            self._show_words(rows_of(line, behind=INDENT))
        *rows, begun = rows_of(last, behind=INDENT)
        self._show_words(rows)
        self._unfinished = begun + last[len(last.rstrip()) :] if rows else last

    def flush(self) -> None:
        """What is left of the model's words is shown."""
        self.stream("\n")
        self._speaks = False

    def _show_words(self, rows: Iterable[str]) -> None:
        for row in filter(str.strip, rows):
            head = "" if self._speaks else "lead"
            self._put(click.style(f"{'':9}{head:9}", dim=True) + click.style(row, italic=True))
            self._speaks = True

    def emit(self, event: Mapping[str, Any]) -> None:
        """An event as one line."""
        if self.as_json:
            self._put(json.dumps(event, ensure_ascii=False))
        elif (action := event.get("action")) in TOLD and not (self.shows_questions and action == ASKED):
            self._put(self._line(event))

    async def ask(self, question: str) -> str:
        """What the person types next; empty at the end of input. Can be cancelled.

        One question at a time, and none takes what was typed before it was there.
        """
        async with self._asking:
            if self.asker:
                return await self.asker(question)
            self.flush()
            line = await (self._typed if sys.stdin.isatty() else _piped)(harmless(f"{question}: "))
            self.at_end = line is None
            return (line or "").strip()

    async def _typed(self, question: str) -> str | None:
        termios.tcflush(sys.stdin, termios.TCIFLUSH)
        self._answer = TypedLine(question)
        try:
            return await self._answer.read()
        finally:
            self._answer = None

    def _line(self, event: Mapping[str, Any]) -> str:
        who = str(event.get("who", "")).partition("~")[0]
        color = self._colors.setdefault(who, COLORS[len(self._colors) % len(COLORS)])
        clock = click.style(str(event.get("at", ""))[11:19], dim=True)
        words = f"\n{'':{INDENT}}".join(rows_of(_words(event), behind=INDENT))
        return f"{clock} {click.style(f'{who:<8}', fg=color, bold=True)} {words}"


async def _piped(question: str) -> str | None:
    echo(question, nl=False)
    await anyio.wait_readable(sys.stdin)
    line = sys.stdin.readline()
    echo("")
    return line or None


def lines_of(directory: StateDirectory, name: str) -> list[str]:
    """What the processes of a name did, as the console tells it."""
    events = EventTail(directory).read_new()
    own = [event for event in events if str(event.get("who", "")).partition("~")[0] == name]
    return [f"{event.get('at', '')} {_words(event)}" for event in own if event.get("action") in TOLD]


def _words(event: Mapping[str, Any]) -> str:
    return TOLD[event["action"]].format_map(_Facts(event)).rstrip()


class _Facts(dict[str, str]):
    """The fields of an event as words of a line; what is missing is a dash."""

    def __init__(self, event: Mapping[str, Any]) -> None:
        super().__init__({key: _word(value) for key, value in event.items()})

    def __missing__(self, key: str) -> str:
        return "-"


def _word(value: Any) -> str:  # noqa: ANN401 - raw JSON
    match value:
        case None:
            return "-"
        case float():
            return f"{value:.1f}"
        case list():
            return ", ".join(map(_word, value))
        case _:
            return one_line(str(value))


class Stream:
    """What all processes of the team do, from now on, on the console."""

    def __init__(
        self, directory: StateDirectory, console: Console, *, listener: Listener | None = None
    ) -> None:
        """`listener` hears every event, shown or not."""
        self._listener = listener
        self._tail = EventTail(directory)
        self._console = console
        self.heard: set[str] = set()  # every action so far
        self.calls: dict[str, list[str]] = {}  # tools that somebody's model called and that run still
        self._tail.read_new()  # what was before is no news

    def show_new(self) -> bool:
        """Every event since the last call is on the console; False when there was none."""
        events = self._tail.read_new()
        for event in events:
            self._console.emit(event)
            self.heard.add(str(event.get("action")))
            self._note_calls(event)
            if self._listener:
                self._listener(event)
        return bool(events)

    def _note_calls(self, event: Mapping[str, Any]) -> None:
        who = str(event.get("who", "")).partition("~")[0]
        if event.get("action") == "model_call":
            self.calls[who] = [*event.get("tools", ())]
        elif event.get("tool") in (left := self.calls.get(who, [])):
            left.remove(event["tool"])


def show_mail(console: Console, incoming: Iterable[Incoming]) -> None:
    """What teammates say to a lead without a model: the person reads it."""
    for message in (item.journal["message"] for item in incoming):
        if message["type"] == "message":
            told = {"who": message["from"], "at": message["sent_at"], "text": message["content"]}
            console.emit({"action": "told_lead", **told})
