"""What comes back was never taken, and what was not taken comes back, while bearers come and go and die."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest

from coordination.records import MemberState
from coordination.stores import open_stores
from coordination.sweep import Sweep
from coordination.team_root import create_team
from tests.support.mail import join
from tests.support.mail_chaos import FORKS
from tests.support.mail_churn import NAME, bear_and_leave, counted, outcomes, send_and_note, sent_back
from tests.support.people import leads

if TYPE_CHECKING:
    from multiprocessing.context import ForkServerProcess
    from pathlib import Path

    from coordination.stores import Stores


SENDERS = ("ann", "cid", "dan")
HOUR = 3600.0  # nobody beats here: who is dead is seen, and who lives must not pass for silent
FORKS.set_forkserver_preload(["tests.support.mail_chaos", "tests.support.mail_churn"])


@pytest.mark.parametrize(
    "count",
    [
        pytest.param(150, id="smoke"),
        pytest.param(5000, id="full", marks=pytest.mark.stress),
    ],
)
def test_no_bounce_is_false_and_nothing_that_was_sent_is_lost(tmp_path: Path, count: int) -> None:
    team = create_team(tmp_path, tmp_path)
    lead = leads(team)
    for name in SENDERS:
        join(team, name)
    senders = [FORKS.Process(target=send_and_note, args=(str(tmp_path), name, count)) for name in SENDERS]
    bearer = bear(team_root := str(tmp_path))
    for sender in senders:
        sender.start()
    chance, sweep = random.Random(3), Sweep(lead, ttl=lambda: HOUR)
    while any(sender.is_alive() for sender in senders):
        team.clock.sleep(0.05)
        if chance.random() < 0.3:
            bearer = killed(bearer, team_root)
        sweep.look()
    assert [sender.exitcode for sender in senders] == [0] * len(senders)
    bearer.kill()
    bearer.join()
    bury(lead, sweep)

    taken = counted(team)
    assert len(taken) == len(set(taken)), "delivered twice"
    for name in SENDERS:
        believed, back = outcomes(team, name), set(sent_back(team, name))
        assert len(believed) == count
        assert not back & set(taken), "brought back, though it was taken"
        assert not {one for one in taken if believed.get(one) == "bounced"}, "a false bounce"
        sent = {one for one, outcome in believed.items() if outcome == "sent"}
        assert sent <= back | set(taken), "neither taken nor brought back"


def bear(root: str) -> ForkServerProcess:
    process = FORKS.Process(target=bear_and_leave, args=(root,), daemon=True)
    process.start()
    return process


def killed(process: ForkServerProcess, root: str) -> ForkServerProcess:
    process.kill()
    process.join()
    return bear(root)


def bury(lead: Stores, sweep: Sweep) -> None:
    """The last bearer is closed, or its start called off."""
    sweep.look()
    member = lead.roster.member(NAME)
    assert member
    if member.state is MemberState.STARTING:
        open_stores(lead.team, "person").roster.withdraw(NAME, member.spawn_id)
    sweep.look()
