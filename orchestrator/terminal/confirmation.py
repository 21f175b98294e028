"""The person's word on the proposed team."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from coordination import layout
from coordination.errors import TeamError
from coordination.events import EventTail
from orchestrator.proposal import Proposal, render

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from coordination.records import Member, Task
    from coordination.stores import Stores
    from orchestrator.terminal.console import Console

YES = frozenset({"y", "yes"})
NO = frozenset({"n", "no", ""})  # nothing at all is what the end of input reads as
WAITING_FOR_A_PERSON = 3
QUESTION = "start this team?"
CHANGES = "model …, price …, limit …"
ASKED, ANSWERED = "team_asked", "team_answered"  # events around that question


class StartQuestion:
    """Whether the lead asks the person at its terminal to start a team, as another terminal sees it."""

    def __init__(self, stores: Stores) -> None:
        self._stores = stores
        self._tail = EventTail(stores.team.directory)
        self._last: dict[object, Mapping[str, Any]] = {}  # of these events, by lead

    def members(self) -> int | None:
        """How many members it asks about; None: it asks nothing."""
        for event in self._tail.read_new():
            if event.get("action") in {ASKED, ANSWERED}:
                self._last[event.get("who")] = event
        led = self._stores.leadership.led()
        last = self._last.get(layout.bearer("lead", led[0]), {}) if led else {}
        return int(last["members"]) if last.get("action") == ASKED else None


def asked_at_terminal(stores: Stores) -> int | None:
    """How many members the lead asks the person about at its terminal; None: it asks nothing."""
    return StartQuestion(stores).members()


def waits_there(members: int) -> str:
    """The same for a person at another terminal."""
    return f'the lead waits at its terminal for your answer to "{QUESTION}" (proposed teammates: {members})'


@dataclass(eq=False)
class NotConfirmed(TeamError):
    """The team was not agreed to, so nobody was started."""

    why: str
    says = "no team was started: {why}"
    exit_code = WAITING_FOR_A_PERSON


@dataclass(frozen=True, kw_only=True)
class Consent:
    """What the person said beforehand."""

    yes: bool = False  # whatever is proposed, within the limits
    workers: int | None = None  # so many members at most
    may_ask: bool = True  # somebody sits at the terminal


class Confirmation:
    """Asks once per run; later members within the agreed number need no word."""

    def __init__(
        self,
        console: Console,
        consent: Consent,
        propose: Callable[[Sequence[Task], Sequence[Member]], Proposal],
        record: Callable[..., object],
        change: Callable[[str], Awaitable[Sequence[Member]]],
    ) -> None:
        """`record` writes an event, so that other terminals can tell that the person is asked here.

        `change` does what a line of the person says to the team that waits, or raises TeamError.
        """
        self._console = console
        self._consent = consent
        self._propose = propose
        self._record = record
        self._change = change

    async def ask(self, tasks: Sequence[Task], members: Sequence[Member], *, working: int = 0) -> int:
        """How many members there may be, those that work already among them.

        Raises NotConfirmed where nobody works yet; a no to further members leaves the team as it is.
        """
        proposal = self._propose(tasks, members)
        if self._consent.workers is not None:
            self._show(proposal)
            return self._consent.workers
        if self._consent.yes:
            self._show(proposal)
            return working + len(members)
        if not self._consent.may_ask:
            self._console.emit({"action": "proposal", **proposal.to_json()})
            if not self._console.as_json:
                self._console.say(json.dumps(proposal.to_json(), indent=2, ensure_ascii=False))
            return _as_it_is(working, "a person has to confirm it; say --yes or --workers N beforehand")
        self._show(proposal)
        self._record(ASKED, members=len(members))
        try:
            agreed = await self._number(tasks, members)
        finally:
            self._record(ANSWERED)
        return working + agreed if agreed else _as_it_is(working, "you did not say yes")

    def _show(self, proposal: Proposal) -> None:
        if self._console.as_json:
            self._console.emit({"action": "proposal", **proposal.to_json()})
        else:
            self._console.say("\n" + render(proposal) + "\n")

    async def _number(self, tasks: Sequence[Task], members: Sequence[Member]) -> int:
        proposed = len(members)
        fewer = f"a smaller number than {proposed}, " if proposed > 1 else ""
        question = f"{QUESTION} yes, {fewer}no, or a change ({CHANGES})"
        while True:
            answer = await self._console.ask(question)
            if answer.lower() in YES:
                return proposed
            if answer.lower() in NO:
                return 0
            if answer.isdecimal():
                if 0 < int(answer) <= proposed:
                    return int(answer)
                self._console.say(f"{proposed} are proposed, so say a number from 1 to {proposed}, yes or no")
                continue
            try:
                members = await self._change(answer)
            except TeamError as error:
                self._console.say(str(error))
            self._show(self._propose(tasks, members))


def _as_it_is(working: int, why: str) -> int:
    if not working:
        raise NotConfirmed(why=why)
    return working
