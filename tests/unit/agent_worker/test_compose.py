"""A teammate as it is really put together: its tools, its gates, its place in the mail."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from agent_worker.compose import Teammate
from coordination import layout
from coordination.mail.positions import CHECKPOINT_KIND
from coordination.records import MemberState
from harness.journal import read
from harness.permissions.rules import DEFAULTS
from tests.support.mail import Receiver, join, outbox
from tests.support.people import comes_alive, leads
from tests.support.teammate import SETTINGS, team_beside_repository
from tests.support.tools import call

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from coordination.team_root import Team
    from tests.support.clock import FakeClock

TOOLS = [
    "bash",
    "read_file",
    "write_file",
    "edit_file",
    "glob",
    "grep",
    "list_background",
    "tail_background",
    "kill_background",
    "list_tasks",
    "get_task",
    "claim_task",
    "complete_task",
    "todo_write",
    "submit_plan",
    "send_message",
    "task",
]


@pytest.fixture
def team(tmp_path: Path, clock: FakeClock) -> Team:
    return team_beside_repository(tmp_path, clock)


@pytest.fixture
def alice(team: Team) -> Iterator[Teammate]:
    leads(team)
    teammate = Teammate(team, comes_alive(team, "alice"), SETTINGS)
    teammate.keeper.start()
    yield teammate
    teammate.wakeup.close()
    if teammate.keeper._thread.is_alive():
        teammate.keeper.close()


def test_a_teammate_has_exactly_these_tools(alice: Teammate) -> None:  # T34, T70, T121
    schemas = alice.worker()._agent._pool.schemas
    assert [schema["name"] for schema in schemas] == TOOLS
    assert set(TOOLS) <= DEFAULTS.keys()


@pytest.mark.anyio
async def test_without_a_task_it_has_no_files_and_can_start_nobody(alice: Teammate) -> None:
    pool = alice.worker()._agent._pool
    wanted = [
        call("read_file", "a", path="a.py"),
        call("bash", "b", command="ls"),
        call("spawn_teammate", "c"),
    ]
    results = [result["content"].partition("]")[0] for result in await pool.run(wanted)]
    assert results == ["[lease/no_task", "[lease/no_task", "[schema/unknown_tool"]


def test_its_journal_begins_with_the_positions_it_came_with(team: Team, alice: Teammate) -> None:
    alice.worker()
    first = next(read(team.directory, layout.journal(alice.bearer)))
    assert first["kind"] == CHECKPOINT_KIND
    assert first["positions"]["ends"] == {}


def test_its_journal_never_holds_the_key(team: Team, alice: Teammate) -> None:
    worker = alice.worker()
    worker._agent._journal.append("user", text="the key is secret-key")
    assert b"secret-key" not in (team.root / layout.journal(alice.bearer)).read_bytes()


def test_a_clean_end_frees_the_name_and_returns_what_was_not_read(team: Team, alice: Teammate) -> None:  # W12
    alice.worker()
    join(team, "bob")
    outbox(team, "bob").send("alice", "are you there?")
    alice.close("asked to stop")
    member = alice.stores.roster.member("alice")
    assert member
    assert (member.state, member.why) == (MemberState.CLOSED, "asked to stop")
    assert "are you there?" in Receiver(team, "bob").texts()[0]


def test_an_end_before_the_first_line_keeps_the_positions_of_the_last_bearer(team: Team) -> None:
    leads(team)
    roster = Teammate(team, comes_alive(team, "alice"), SETTINGS)
    roster.wakeup.close()
    roster.stores.roster.closing("alice", 2)
    roster.stores.roster.closed("alice", 2, {"bob~2": 700})
    again = Teammate(team, comes_alive(team, "alice"), SETTINGS)
    again.keeper.start()
    again.close("no key for the model")
    member = again.stores.roster.member("alice")
    assert member
    assert member.positions == {"bob~2": 700}
