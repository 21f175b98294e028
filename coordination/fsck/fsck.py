"""Every invariant of the team directory, checked from outside; repair adds numbers and removes no work."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from coordination import layout
from coordination.errors import TeamError
from coordination.finding import Finding, error, note, warning
from coordination.fsck.board import inspect_board
from coordination.fsck.files import inspect_files
from coordination.fsck.logs import inspect_logs
from coordination.fsck.mail import inspect_mail
from coordination.process import known_dead
from coordination.protocols import LEAD, PERSON
from coordination.records import BY_HAND, MemberState, Verdict
from coordination.runs import RUN
from coordination.sweep import Sweep
from coordination.tasks.board import TaskBoard

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from coordination.records import Member
    from coordination.stores import Stores

ROUNDS = 3  # what one repair brings to light, the next one mends


@dataclass(frozen=True, kw_only=True)
class Repaired:
    """What was found at first, what is left of it or came to light, and repairs that failed."""

    found: list[Finding]
    left: list[Finding]
    failures: list[str]


def inspect(stores: Stores) -> list[Finding]:
    """Everything that is wrong, worst parts first. A part that cannot be looked at is a finding itself."""
    presence = _Presence(stores)
    board = TaskBoard(stores.team, stores.actor)
    parts: dict[str, Callable[[], Iterable[Finding]]] = {
        "the numbered logs": lambda: inspect_logs(stores, board),
        "the members": lambda: _members(stores, presence),
        "the tasks": lambda: inspect_board(stores, board, presence.is_present),
        "the runs": lambda: _runs(stores),
        "the questions": lambda: _questions(stores, presence),
        "the mail": lambda: inspect_mail(stores, presence.is_present),
        "the files": lambda: inspect_files(stores.team),
    }
    return [finding for name, part in parts.items() for finding in looked_at(name, part)]


def looked_at(name: str, part: Callable[[], Iterable[Finding]]) -> list[Finding]:
    """What that part of the inspection found, up to what it could not get past."""
    findings: list[Finding] = []
    try:
        findings.extend(part())
    except TeamError as problem:
        findings.append(error(problem.reason, name, str(problem), why="the rest of it was not looked at"))
    return findings


def repair(look: Callable[[], list[Finding]]) -> Repaired:
    """What can be mended is mended, in rounds, since one repair may bring the next break to light."""
    found = left = look()
    failures: list[str] = []
    for _ in range(ROUNDS):
        mends = {finding.mend: finding.where for finding in left if finding.mend}
        if not mends:
            break
        failures = [f"{where}: {why}" for mend, where in mends.items() if (why := _mend(mend))]
        left = look()
    return Repaired(found=found, left=left, failures=failures)


def _mend(mend: Callable[[], object]) -> str:
    try:
        mend()
    except (TeamError, OSError) as problem:  # the next look tells whether it is still wrong
        return str(problem)
    return ""


class _Presence:
    """Who is there: on record, not gone, and not known to be dead."""

    def __init__(self, stores: Stores) -> None:
        self._stores = stores

    def is_present(self, bearer: str) -> bool:
        if bearer == PERSON:
            return True
        parts = layout.split_bearer(bearer)
        if parts and parts[0] == LEAD:
            led = self._stores.leadership.led()
            return led is not None and led[0] == parts[1]
        member = self._stores.roster.member(parts[0]) if parts else None
        return bool(member and self._stores.roster.is_present(bearer) and not known_dead(member.process))

    def lead_lives(self) -> bool:
        return self._stores.leadership.led() is not None


def _members(stores: Stores, presence: _Presence) -> Iterator[Finding]:
    sweep = Sweep(stores, ttl=stores.team.mount.ttl(None))
    for member in stores.roster.all():
        where = layout.member_log(member.name.lower())
        if member.state is MemberState.STARTING and not presence.lead_lives() and member.launcher != BY_HAND:
            yield _left_start(stores, member)
        elif member.state in {MemberState.CLOSED, MemberState.WITHDRAWN, MemberState.STARTING}:
            continue
        elif known_dead(member.process):
            yield error(
                "member_dead",
                where,
                f"{member.name} is {member.state} on the roster, and its process is dead",
                why="its task waits, and so do those who write to it",
                repair="takes its task back, closes the name, sends unread mail back",
                mend=sweep.look,
            )
    newest = stores.leadership.newest()
    run = stores.runs.open_run()
    if newest and run and not presence.lead_lives():
        yield note(
            "no_lead",
            layout.LEAD_LOG,
            f"{run.id} is open and nobody leads",
            why="members without a lead claim nothing new",
        )


def _runs(stores: Stores) -> Iterator[Finding]:
    """Runs that the graph names and that cannot be read, and those that it does not name."""
    known, readable = stores.tasks.graph.state.runs, {run.id for run in stores.runs.all()}
    for run in known:
        if run not in readable:
            yield error(
                "run_unreadable",
                layout.run_log(run),
                "the graph names it, and none of its records can be used",
                why="nobody can go on with it or end it",
            )
    with_tasks = {task.run for task in stores.tasks.all()}
    for key in RUN.found(stores.team.directory):
        log = RUN.open(stores.team.directory, key)
        state = log.refresh()
        if key not in known and state and (log.number > 1 or key in with_tasks):
            yield error(
                "not_in_graph",
                log.path,
                f"the graph does not name it, yet it is {state.state} and was begun",
                why="nobody sees it, so it is never ended",
                repair="adds it to the graph",
                mend=partial(stores.tasks.graph.add_run, key),
            )
        elif key not in known:
            yield note(
                "unannounced",
                log.path,
                "the graph does not name it",
                why="its lead died or was superseded before it existed",
            )


def _left_start(stores: Stores, member: Member) -> Finding:
    why = "fsck: the lead that asked for it is gone"
    return warning(
        "start_left",
        layout.member_log(member.name.lower()),
        f"the start of {member.name} was asked for by a lead that is gone",
        why="the name stays taken",
        repair="calls the start off; a process that was launched for it exits",
        mend=lambda: stores.roster.withdraw(member.name, member.spawn_id, why),
    )


def _questions(stores: Stores, presence: _Presence) -> Iterator[Finding]:
    for asked in stores.requests.open():
        question = asked.question
        if presence.is_present(question.asker):
            continue
        may_decide = question.reviewer in {PERSON, LEAD}
        yield note(
            "asker_gone",
            layout.request_log(question.id),
            f"open, and {question.asker}, who asked, is gone",
            why="it counts as withdrawn; nobody waits for the answer",
            repair="denies it, so that it is settled"
            if may_decide
            else "nothing; only who is gone may answer it",
            mend=partial(_deny, stores, question.id) if may_decide else None,
        )


def _deny(stores: Stores, request: str) -> None:
    stores.requests.decide(request, Verdict.DENY, reason="fsck: who asked is gone")
