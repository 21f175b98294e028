"""Questions shown at a terminal as they come, and answered there or wherever the person answers first."""

from __future__ import annotations

from typing import TYPE_CHECKING

import anyio

from coordination.approvers import Attachment, attached
from coordination.errors import TeamError
from coordination.records import Verdict
from harness.permissions.answers import Scope
from orchestrator.terminal.confirmation import YES
from orchestrator.terminal.plain import one_line

if TYPE_CHECKING:
    from collections.abc import Callable

    from coordination.team_root import Team
    from harness.off_loop import OffLoop
    from harness.pulse import Pulse
    from orchestrator.terminal.approvals import Approvals, Group
    from orchestrator.terminal.console import Console

LOOK_SECONDS = 2.0  # between looks where no file event comes
SHOWN_LINES = 40  # of one command or change
ALLOWED = {**dict.fromkeys(YES, Scope.ONCE), "team": Scope.TEAM, "always": Scope.ALWAYS}
DENIED = frozenset({"n", "no"})
CHOICES = "allow it? yes, no, team (from now on for this team), always (for all your teams)"


class AtTerminal:
    """Shows what waits for the person; asks at the terminal where somebody sits at one."""

    def __init__(
        self,
        team: Team,
        approvals: Approvals,
        console: Console,
        *,
        pulse: Pulse,
        off_loop: OffLoop,
        asks: bool = True,
    ) -> None:
        """`approvals` is used by `off_loop` alone; without `asks` questions are only shown."""
        self._team = team
        self._approvals = approvals
        self._console = console
        self._pulse = pulse
        self._off_loop = off_loop
        self._asks = asks
        self._shown: set[str] = set()
        self._attachment: Attachment | None = None

    async def run(self) -> None:
        """Until it is cancelled, or the terminal is gone, questions are waited for, not refused."""
        self._console.shows_questions = True
        with attached(self._team) as self._attachment:
            while not self._console.at_end:
                seen = self._pulse.count
                group = await self._next()
                if group is None:
                    await self._pulse.wait(seen, LOOK_SECONDS)
                    continue
                self._shown.update(question.id for question in group.questions)
                self._show(group)
                if self._asks:
                    await self._ask(group)

    async def _next(self) -> Group | None:
        groups = await self._off_loop(self._look)
        return next((group for group in groups if group.first.id not in self._shown), None)

    def _look(self) -> list[Group]:
        if self._attachment:
            self._attachment.beat()
        return self._approvals.open()

    def _show(self, group: Group) -> None:
        if self._console.as_json:
            self._console.emit({"action": "question", **group.to_json()})
        else:
            self._console.say("\n" + in_words(group))

    async def _ask(self, group: Group) -> None:
        answered = False
        async with anyio.create_task_group() as waiting:
            waiting.start_soon(self._until_closed, group, waiting.cancel_scope.cancel)
            try:
                await self._put(group)
            except TeamError as error:  # answered elsewhere in this very moment
                self._console.say(str(error))
            answered = True
            waiting.cancel_scope.cancel()
        if not answered:
            self._console.say(f"{group.first.id} needs no answer any more")

    async def _until_closed(self, group: Group, cancel: Callable[[], None]) -> None:
        while True:
            seen = self._pulse.count
            open_now = {
                question.id for group in await self._off_loop(self._look) for question in group.questions
            }
            if group.first.id not in open_now:
                cancel()
            await self._pulse.wait(seen, LOOK_SECONDS)

    async def _put(self, group: Group) -> None:
        while not self._console.at_end:
            answer = (await self._console.ask("approve it? yes or no" if group.is_plan else CHOICES)).lower()
            if not answer:
                self._console.say(f"it stays open: `leadhand approve {group.first.id}`, or `deny`")
                return
            if answer in DENIED:
                reason = await self._console.ask("why not? (empty: no reason)")
                await self._off_loop(self._approvals.decide, group.first.id, Verdict.DENY, reason=reason)
                return
            if answer in (YES if group.is_plan else ALLOWED):
                scope = ALLOWED[answer]
                await self._off_loop(self._approvals.decide, group.first.id, Verdict.APPROVE, scope=scope)
                return
            self._console.say(f"{answer!r} is no answer")


def in_words(group: Group) -> str:
    """The question for a person: who, what, why, the exact command or change."""
    first = group.first
    about = f" for {first.task}" if first.task else ""
    asks = "plans" if group.is_plan else "asks to run"
    head = f"{first.id}: {', '.join(group.askers)} {asks} {first.subject}{about}"
    lines = group.what.splitlines()
    if len(lines) > SHOWN_LINES:
        left = len(lines) - SHOWN_LINES
        lines = [*lines[:SHOWN_LINES], f"… {left} more lines: `leadhand approvals` shows all"]
    why = [f"  why: {one_line(group.why)}"] if group.why else []
    return "\n".join([one_line(head), *(f"    {line}" for line in lines), *why])
