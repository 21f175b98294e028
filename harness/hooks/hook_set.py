"""All hooks of one agent: asked in their order, the first that objects ends the chain."""

from __future__ import annotations

import json
import shlex
import sys
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from anyio import to_thread

from coordination import layout
from coordination.child import unconfined
from coordination.errors import TeamError
from harness.hooks.events import Event, known_input, known_name, own_input
from harness.hooks.outcome import Outcome, Says, outcome_of
from harness.tools.shell import run_process

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from harness.hooks.configured import Hook
    from harness.tool import Record, ToolContext

KEPT_BYTES = 1_000_000  # of what one hook prints
_CALL = """\
import importlib.util, json, sys
spec = importlib.util.spec_from_file_location("hook", sys.argv[1])
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
said = getattr(module, sys.argv[2])(json.load(sys.stdin))
if isinstance(said, str):
    sys.stderr.write(said)
    sys.exit(2)
if said is not None:
    print(json.dumps(said))
"""


@dataclass(frozen=True, kw_only=True)
class Surroundings:
    """Where hooks run, and what they are told of the agent in every call."""

    project: Path  # the person's checkout: relative commands are looked for there, never in a worktree
    session: str  # the process of the agent: `alice~7`
    transcript: Path
    role: str
    team: str


class Whereabouts(Protocol):
    """What is known of a team: `coordination.team_root.Team`."""

    @property
    def id(self) -> str: ...

    @property
    def root(self) -> Path: ...

    @property
    def repository(self) -> Path: ...


def surroundings(team: Whereabouts, bearer: str, role: str) -> Surroundings:
    """Those of this process of the team."""
    return Surroundings(
        project=team.repository,
        session=bearer,
        transcript=team.root / layout.journal(bearer),
        role=role,
        team=team.id,
    )


class HookSet:
    """The hooks of one agent; without any, nothing is started."""

    def __init__(
        self, hooks: Sequence[Hook], where: Surroundings, *, context: ToolContext, record: Record
    ) -> None:
        """`context` says which environment they see, and where the agent works."""
        self._hooks = tuple(hooks)
        self._where = where
        self._context = context
        self._record = record

    @property
    def is_any(self) -> bool:
        """True when there are hooks at all."""
        return bool(self._hooks)

    def has(self, event: Event) -> bool:
        """True when any hook is asked at these points."""
        return any(hook.event is event for hook in self._hooks)

    async def on_tool(
        self, event: Event, tool: str, arguments: Mapping[str, Any], response: str | None = None
    ) -> Outcome:
        """What the hooks say of a call, before it (without a response) or after it."""
        fields: dict[str, Any] = {
            "tool_name": known_name(tool),
            "tool_input": known_input(tool, arguments, self._cwd()),
            **({} if response is None else {"tool_response": response}),
        }
        outcome = await self._ask(event, fields, tool)
        if outcome.updated is None:
            return outcome
        return replace(outcome, updated=own_input(tool, outcome.updated, self._cwd()))

    async def on(self, event: Event, **fields: object) -> Outcome:
        """What the hooks say of something that is no call of a tool."""
        return await self._ask(event, fields, "")

    async def _ask(self, event: Event, fields: Mapping[str, object], tool: str) -> Outcome:
        context: list[str] = []
        asks: Outcome | None = None
        updated: Mapping[str, Any] | None = None
        for hook in self._hooks:
            if hook.event is not event or not hook.is_about(tool):
                continue
            outcome = await self._run(hook, fields)
            if outcome.updated is not None:  # the hooks behind it judge what would run now
                updated, fields = outcome.updated, {**fields, "tool_input": outcome.updated}
            context += [outcome.context] if outcome.context else []
            if outcome.says is not Says.PASS or outcome.reason:
                self._tell(hook, outcome, tool)
            if outcome.says in {Says.BLOCK, Says.FAIL}:
                return replace(outcome, reason=f"{hook}: {outcome.reason}")
            if outcome.says is Says.ASK and asks is None:
                asks = replace(outcome, reason=f"{hook}: {outcome.reason}")
        return replace(asks or Outcome(), context="\n".join(context), updated=updated)

    async def _run(self, hook: Hook, fields: Mapping[str, object]) -> Outcome:
        told = {**self._always(hook.event), **fields}
        with tempfile.TemporaryDirectory(prefix="leadhand-hook-") as place:
            given, errors = Path(place) / "in.json", Path(place) / "err.txt"
            await to_thread.run_sync(given.write_text, json.dumps(told, default=str))
            try:
                finished = await run_process(
                    self._command(hook),
                    self._context_of(hook),
                    timeout_seconds=hook.timeout_seconds,
                    kept_bytes=KEPT_BYTES,
                    opening=f"exec <{shlex.quote(str(given))} 2>{shlex.quote(str(errors))}",
                )
                text = await to_thread.run_sync(_read, errors)
            except (TeamError, OSError) as error:
                return outcome_of(hook.event, 1, "", str(error))
        return outcome_of(hook.event, finished.status, finished.output, text)

    def _command(self, hook: Hook) -> str:
        """Runs in the person's checkout, also where the sandbox is that of the agent's tree."""
        file, _, function = hook.command.rpartition(":")
        place = str(self._where.project / file)
        python = shlex.join([sys.executable, "-P", "-c", _CALL, place, function])
        return f"cd {shlex.quote(str(self._where.project))} || exit 1\n" + (
            python if hook.is_python else hook.command
        )

    def _context_of(self, hook: Hook) -> ToolContext:
        """As for a command of the agent, which a hook may look at and even mend; or as the person."""
        project = str(self._where.project)

        def environment() -> Mapping[str, str]:
            return {**self._context.environment(), "CLAUDE_PROJECT_DIR": project, "LEADHAND_PROJECT": project}

        if hook.sandboxed:
            return replace(self._context, cwd=lambda: Path(self._cwd()), environment=environment)
        return replace(
            self._context, cwd=lambda: self._where.project, environment=environment, confine=unconfined
        )

    def _always(self, event: Event) -> dict[str, object]:
        return {
            "session_id": self._where.session,
            "transcript_path": str(self._where.transcript),
            "cwd": self._cwd(),
            "permission_mode": "default",
            "hook_event_name": str(event),
            "teammate_name": self._where.session.partition("~")[0],
            "team_name": self._where.team,
            "role": self._where.role,
        }

    def _cwd(self) -> str:
        try:
            return str(self._context.cwd())
        except TeamError:  # no task, so no directory to work in
            return str(self._where.project)

    def _tell(self, hook: Hook, outcome: Outcome, tool: str) -> None:
        self._record(
            "hook_objected",
            hook=hook.command,
            event=str(hook.event),
            says=str(outcome.says),
            sandboxed=hook.sandboxed and self._context.is_confined,
            reason=outcome.reason,
            tool=tool,
        )


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")[-10_000:]
    except OSError:  # it never came so far
        return ""
