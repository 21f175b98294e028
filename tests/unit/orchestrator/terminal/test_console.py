"""What the person at the terminal reads."""

from __future__ import annotations

import json
import os
import pty
import subprocess  # noqa: TID251 - a console whose screen or disk is a real one
import sys
from pathlib import Path
from string import Formatter
from typing import TYPE_CHECKING, Any

import click
import pyte
import pytest

from coordination.events import EventLog
from orchestrator.terminal.console import TOLD, UNWRITTEN, Console, Stream

if TYPE_CHECKING:
    from coordination.team_root import Team


FULL = Path("/dev/full")
SAY_THRICE = """
from orchestrator.terminal.console import Console
console = Console(as_json={as_json})
for text in ("a", "b", "c"):
    console.say(text)
raise SystemExit(console.is_lossy)
"""
ASK_AND_TELL = """
import anyio
from orchestrator.terminal.console import Console
async def both():
    async with anyio.create_task_group() as group:
        group.start_soon(ask)
        while not console._answer or console._answer._text != "ye":
            await anyio.sleep(0.01)
        console.emit({"action": "leads", "who": "lead~1", "at": "2026-01-02T03:04:05.678Z", "term": 1})
async def ask():
    console.say(f"answered {await console.ask('start this team?')}")
console = Console(as_json=False)
anyio.run(both)
"""


def line(capsys: pytest.CaptureFixture[str], **event: Any) -> str:
    """What the console makes of an event, without colors."""
    Console(as_json=False).emit(event)
    return click.unstyle(capsys.readouterr().out).removesuffix("\n")


def fields(action: str) -> list[str]:
    return [name for _, name, _, _ in Formatter().parse(TOLD[action]) if name]


@pytest.mark.parametrize("action", TOLD)
def test_an_event_without_its_fields_is_still_a_line(capsys: pytest.CaptureFixture[str], action: str) -> None:
    assert line(capsys, action=action, who="alice~2", at="2026-01-02T03:04:05.678Z").startswith(
        "03:04:05 alice"
    )
    assert line(capsys, action=action)


@pytest.mark.parametrize("odd", [None, "text", 3, 2.5, [], ["a", "b"], {"a": 1}, "{0.__class__} {x}"])
@pytest.mark.parametrize("action", TOLD)
def test_a_field_of_another_kind_is_still_a_line(
    capsys: pytest.CaptureFixture[str], action: str, odd: object
) -> None:
    assert line(capsys, action=action, **dict.fromkeys(fields(action), odd))


def test_a_line_says_when_who_and_what(capsys: pytest.CaptureFixture[str]) -> None:
    event = {"action": "completion_refused", "who": "alice~2", "at": "2026-01-02T03:04:05.678Z"}
    said = line(capsys, **event, subject="Round money", refused=["unit", "lint"])
    assert said == "03:04:05 alice    is not done with Round money: it fails unit, lint"


def test_no_text_of_a_model_breaks_the_line_or_moves_the_cursor(capsys: pytest.CaptureFixture[str]) -> None:
    said = line(capsys, action="completed", who="alice~2", subject="A\n03:04:05 lead merges A\x1b[2J")
    assert said.endswith("completes A 03:04:05 lead merges A\ufffd[2J")


def test_times_and_commits_are_short(capsys: pytest.CaptureFixture[str]) -> None:
    assert "waits 1.2 s for the model: busy" in line(
        capsys, action="model_waits", seconds=1.234, error="busy"
    )
    assert line(capsys, action="merged", subject="A", commit="0123456789abcdef").endswith("as 0123456789")


def test_a_decision_without_a_reason_ends_with_its_verdict(capsys: pytest.CaptureFixture[str]) -> None:
    said = line(capsys, action="plan_decided", request="req_1", verdict="approve", reason="")
    assert said.endswith("decides on the plan req_1: approve")


def test_an_event_that_is_not_told_is_only_for_programs(capsys: pytest.CaptureFixture[str]) -> None:
    assert line(capsys, action="tool_ran", tool="bash") == ""
    Console(as_json=True).emit({"action": "tool_ran", "tool": "bash"})
    assert json.loads(capsys.readouterr().out) == {"action": "tool_ran", "tool": "bash"}


def test_a_program_reads_nothing_but_json_lines(capsys: pytest.CaptureFixture[str]) -> None:
    console = Console(as_json=True)
    console.say("two\nlines")
    console.emit({"action": "merged", "subject": "Ä"})
    said, merged = map(json.loads, capsys.readouterr().out.splitlines())
    assert (said, merged) == ({"action": "said", "text": "two\nlines"}, {"action": "merged", "subject": "Ä"})


def test_words_of_the_model_are_shown_by_whole_lines_whatever_happens_beside_them(
    capsys: pytest.CaptureFixture[str],
) -> None:
    console = Console(as_json=False)
    for piece in ("I ", "plan\n\nthr", "ee tasks"):
        console.stream(piece)
    assert [text.split() for text in click.unstyle(capsys.readouterr().out).splitlines()] == [
        ["lead", "I", "plan"]
    ]
    console.emit({"action": "closed", "who": "alice~2", "why": "done"})
    console.stream("\nat")
    console.flush()
    assert [text.split()[-2:] for text in click.unstyle(capsys.readouterr().out).splitlines()] == [
        ["leaves", "(done)"],
        ["three", "tasks"],
        ["at"],
    ]


def test_one_member_keeps_its_color_over_its_incarnations(capsys: pytest.CaptureFixture[str]) -> None:
    console = Console(as_json=False)
    for who in ("alice~2", "bob~1", "alice~5"):
        console.emit({"action": "alive", "who": who})
    assert console._colors.keys() == {"alice", "bob"}
    assert len(set(console._colors.values())) == 2
    assert capsys.readouterr().out.count("is on the team") == 3


def test_the_stream_tells_what_happens_from_now_on_to_console_and_listener(
    team: Team, capsys: pytest.CaptureFixture[str]
) -> None:
    heard: list[dict[str, Any]] = []
    log = EventLog(team.directory, team.clock, "alice~2")
    log.record("alive")
    stream = Stream(team.directory, Console(as_json=False), listener=heard.append)
    log.record("merged", subject="A", commit="c0ffee")
    log.record("tool_ran", tool="bash")
    stream.show_new()
    assert [event["action"] for event in heard] == ["merged", "tool_ran"]
    assert click.unstyle(capsys.readouterr().out).splitlines() == ["03:04:05 alice    merges A as c0ffee"]


@pytest.mark.skipif(not FULL.exists(), reason="there is no /dev/full here")
@pytest.mark.parametrize("as_json", [False, True])
def test_output_without_room_is_told_once_and_ends_no_run(*, as_json: bool) -> None:
    with FULL.open("w") as full:
        ended = subprocess.run(
            [sys.executable, "-c", SAY_THRICE.format(as_json=as_json)],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert ended.returncode == 1
    assert ended.stderr == f"{UNWRITTEN.format(why='No space left on device')}\n"


def test_what_happens_while_a_question_is_open_stands_above_it_and_what_was_typed_is_kept() -> None:
    ours, theirs = pty.openpty()
    asking = subprocess.Popen([sys.executable, "-c", ASK_AND_TELL], stdin=theirs, stdout=theirs)
    os.close(theirs)
    told = ""
    for keys, shown in ((b"", "team?: "), (b"yx\x7fe", "team?: ye"), (b"s\x1b[A\n", "answered")):
        os.write(ours, keys)
        while shown not in told:
            told += os.read(ours, 4096).decode()
    assert asking.wait() == 0
    os.close(ours)
    screen = pyte.Screen(columns=80, lines=4)
    pyte.Stream(screen).feed(told)
    assert [row.rstrip() for row in screen.display] == [
        "03:04:05 lead     leads, term 1",
        "start this team?: yes",
        "answered yes",
        "",
    ]
