"""A teammate process from its first act to its last, also when it fails in between."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from agent_worker.__main__ import serve
from agent_worker.compose import Teammate
from coordination.records import MemberState, Status
from tests.support.model import FakeModel
from tests.support.people import comes_alive
from tests.support.teammate import SETTINGS, opens_run, puts_up

if TYPE_CHECKING:
    from agent_worker.worker import Worker
    from coordination.stores import Stores
    from coordination.team_root import Team


class Doomed(Teammate):
    """A teammate whose process has a fault in the middle of its first turn."""

    def worker(self) -> Worker:
        made = super().worker()
        made._agent._model = FakeModel(on_call=lambda: 1 / 0)
        return made


def test_a_crash_in_a_turn_puts_the_task_back_frees_the_name_and_is_told_once(
    team: Team, lead: Stores
) -> None:  # T36
    task = puts_up(lead, opens_run(lead))
    alice = comes_alive(team, "alice")
    with pytest.raises(ExceptionGroup):
        serve(Doomed(team, alice, SETTINGS), alice, SETTINGS)
    after = lead.tasks.get(task.id)
    assert (after.status, after.owner, after.attempts) == (Status.PENDING, None, 0)
    assert lead.tasks.own_unfinished("alice") is None
    member = lead.roster.member("alice")
    assert member
    assert (member.state, member.why) == (
        MemberState.CLOSED,
        "it failed: ZeroDivisionError; its log says more",
    )
    (box,) = (team.root / "mailboxes/lead.d").iterdir()
    (line,) = box.read_text(encoding="utf-8").split("\n")[1:-1]
    told = json.loads(line)
    assert (told["type"], told["content"]) == ("error", f"alice has ended: {member.why}")
