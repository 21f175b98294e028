"""The person's way to stop a member, or the lead with the whole team."""

from __future__ import annotations

import os
import signal
from contextlib import suppress
from typing import TYPE_CHECKING

from coordination import layout
from coordination.child import end_group
from coordination.errors import UsageError
from coordination.orders import ask_to_stop
from coordination.process import is_near, known_dead, this_process
from coordination.protocols import LEAD
from coordination.records import MemberState
from orchestrator.lead.ending import end_run

if TYPE_CHECKING:
    from collections.abc import Sequence

    from coordination.background import Job
    from coordination.identity import ProcessIdentity
    from coordination.records import Member
    from coordination.stores import Stores

LOOK_SECONDS = 0.1
MEMBER_SECONDS = 10.0  # how long a teammate may take before it is ended
_DOES_NOT_END = "process {lead.pid} does not end; look at it, or end it with kill -9"
_IS_SILENT = (
    "the lead on {lead.host} (process {lead.pid}) was asked, but does not stop; end it there, "
    "or if that machine is gone, take over with `leadhand resume` and stop then"
)


def already_gone(member: Member) -> str | None:
    """That the member has left or its process is dead, in words; None while it has to be asked."""
    if member.state in {MemberState.CLOSED, MemberState.WITHDRAWN}:
        return f"{member.name} is already gone"
    if known_dead(member.process):
        return f"{member.name} is already gone; its task is put back by whoever notices first"
    return None


def stop_member(stores: Stores, member: Member, *, patience_seconds: float) -> str:
    """The member is gone: asked first, ended after the patience where that can be done from here."""
    if member.state is MemberState.STARTING:
        stores.roster.withdraw(member.name, member.spawn_id, "stopped by the person")
        return f"the start of {member.name} was called off"
    if gone := already_gone(member):
        return gone
    ask_to_stop(stores, member.bearer)
    if wait_until_closed(stores, [member], patience_seconds=patience_seconds):
        return f"{member.name} has stopped"
    if end_process(stores, member):
        return f"{member.name} did not stop in {patience_seconds:g} s and was ended"
    raise _goes_on(member)


def _goes_on(member: Member) -> UsageError:
    host = member.process.host if member.process else "another host"
    return UsageError(detail=f"{member.name} was asked, but does not stop; end it on {host}")


def wait_until_closed(stores: Stores, members: Sequence[Member], *, patience_seconds: float) -> bool:
    """True once none of these bears its name any more; false when the patience is over."""
    deadline = stores.team.clock.monotonic() + patience_seconds
    while any(stores.roster.is_present(member.bearer) for member in members):
        if stores.team.clock.monotonic() >= deadline:
            return False
        stores.team.clock.sleep(LOOK_SECONDS)
    return True


def end_process(stores: Stores, member: Member, *, patience_seconds: float = 5.0) -> bool:
    """The process does not run any more: SIGTERM, patience, SIGKILL; false where no signal reaches it.

    What it started dies with it.
    """
    process = member.process
    if process is None or not is_near(process) or process == this_process():  # this lead may bury the name
        return False
    for number in (signal.SIGTERM, signal.SIGKILL):
        deadline = stores.team.clock.monotonic() + patience_seconds
        while not known_dead(process) and stores.team.clock.monotonic() < deadline:
            with suppress(ProcessLookupError):
                os.kill(process.pid, number)
            stores.team.clock.sleep(LOOK_SECONDS)
    return known_dead(process)


def end_job(stores: Stores, job: Job) -> str:
    """No process of the background command is left. Raises UsageError where no signal reaches it."""
    if known_dead(job.process):
        return f"{job.id} is not running any more"
    if not is_near(job.process):
        raise UsageError(detail=f"{job.id} runs on {job.process.host}; end it there")
    stores.events.record("background_killed", job=job.id)
    end_group(job.process.pid, stores.team.clock)
    return f"{job.id} and everything it started is ended"


def stop_team(stores: Stores, *, patience_seconds: float) -> str:
    """The lead ended and its team with it; an open run without a lead is ended on record.

    A lead that no signal reaches from here finds an order. Raises UsageError when it did not end in time.
    """
    if led := stores.leadership.led():
        _stop_lead(stores, led[0], led[1].process, patience_seconds)
    return _end_on_record(stores)


def _stop_lead(stores: Stores, term: int, lead: ProcessIdentity, patience_seconds: float) -> None:
    clock, ends_here = stores.team.clock, is_near(lead)
    if ends_here:
        os.kill(lead.pid, signal.SIGTERM)
    else:
        ask_to_stop(stores, layout.bearer(LEAD, term))
    deadline = clock.monotonic() + patience_seconds
    while not known_dead(lead) if ends_here else stores.leadership.is_current(term):
        if clock.monotonic() > deadline:
            raise UsageError(detail=(_DOES_NOT_END if ends_here else _IS_SILENT).format(lead=lead))
        clock.sleep(LOOK_SECONDS)


def _end_on_record(stores: Stores) -> str:
    """Members that a dead lead left are gone, and no run is open any more."""
    living = (member for member in stores.roster.all() if member.state is MemberState.ALIVE)
    left = [member for member in living if not known_dead(member.process)]
    for member in left:
        ask_to_stop(stores, member.bearer)
    wait_until_closed(stores, left, patience_seconds=MEMBER_SECONDS)
    for member in left:
        if not end_process(stores, member):
            raise _goes_on(member)
    run = stores.runs.open_run()
    if run is None:
        return "the team is stopped; no run is open"
    end_run(stores, run.id, "stopped")
    return f"the team is stopped; {run.id} is ended with its work kept on its branches"
