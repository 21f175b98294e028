"""Names, their bearers, and which process may write for them."""

from __future__ import annotations

import itertools
import threading
from typing import TYPE_CHECKING

import pytest

from coordination import layout
from coordination.errors import InvalidRecord, TeamError
from coordination.files import StateDirectory
from coordination.member_rules import (
    MEMBER_TRANSITIONS,
    Bearer,
    InvalidMemberChange,
    NameInvalid,
    NameReserved,
    check_member,
)
from coordination.numbered_log import pretty, seal
from coordination.process import this_process
from coordination.protocols import TermOver
from coordination.records import Member, MemberState
from coordination.roster import GONE, NameTaken, Roster, StartWithdrawn, Superseded, UnknownMember
from coordination.team_root import Team

if TYPE_CHECKING:
    from collections.abc import Callable


@pytest.fixture
def lead(team: Team) -> Roster:
    return Roster(team, "lead~1", lambda: 1)


def alive(roster: Roster, name: str = "alice") -> Member:
    spawn = roster.start(name).spawn_id
    return roster.come_alive(name, spawn)


def incarnation(member: Member) -> int:
    assert member.incarnation is not None
    return member.incarnation


def close(roster: Roster, member: Member, positions: dict[str, int] | None = None) -> Member:
    roster.closing(member.name, incarnation(member))
    return roster.closed(member.name, incarnation(member), positions or {})


# names


@pytest.mark.parametrize("name", ["lead", "LEAD", "agent", "Agent", "person", "pErson"])
def test_reserved_names_are_refused_in_any_case(lead: Roster, name: str) -> None:  # T22
    with pytest.raises(NameReserved):
        lead.start(name)


@pytest.mark.parametrize("name", ["", "../escape", "a b", "a/b", "ä", "a~1", ".", "x" * 65, "alice\n"])
def test_a_name_that_is_none_is_refused_and_makes_no_file(lead: Roster, team: Team, name: str) -> None:
    with pytest.raises(NameInvalid):
        lead.start(name)
    assert lead.member(name) is None
    assert team.directory.names(layout.MEMBERS) == []


@pytest.mark.parametrize("name", ["alice", "Alice", "ALICE"])
def test_a_name_that_differs_only_by_case_already_exists(lead: Roster, name: str) -> None:  # T22
    lead.start("Alice")
    with pytest.raises(NameTaken, match="already exists, Alice bears it"):
        lead.start(name)


def test_a_name_keeps_its_spelling_after_its_bearer_is_gone(lead: Roster) -> None:
    close(lead, alive(lead, "Alice"))
    with pytest.raises(NameTaken):
        lead.start("alice")
    assert lead.start("Alice").state is MemberState.STARTING


def test_spellings_that_contend_have_one_winner(team: Team) -> None:
    spellings = ["Bob", "bob", "BOB", "bOb"]
    barrier, won, lost = threading.Barrier(len(spellings)), [], []

    def start(name: str) -> None:
        own = Team(
            id=team.id, directory=StateDirectory(team.root), repository=team.repository, clock=team.clock
        )
        barrier.wait()
        try:
            won.append(Roster(own, name).start(name).name)
        except NameTaken as error:
            lost.append(error)

    threads = [threading.Thread(target=start, args=(name,)) for name in spellings]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (len(won), len(lost)) == (1, 3)
    assert Roster(team, "lead~1").names() == won


def test_a_member_is_found_by_its_exact_name_only(lead: Roster) -> None:
    lead.start("Alice")
    assert lead.member("Alice")
    assert lead.member("alice") is None
    with pytest.raises(UnknownMember, match="known are: Alice"):
        lead.update("alice", None)


# a life


def test_the_incarnation_is_the_number_of_the_alive_record(lead: Roster) -> None:
    started = lead.start("alice", role="tester", plan_required=True, reserved_task="task_00000001")
    assert (started.start, started.incarnation, started.by) == (1, None, "lead~1")
    member = Roster(lead._team, "alice").come_alive("alice", started.spawn_id)
    assert (member.incarnation, member.start, member.by) == (2, 1, "alice~2")
    assert member.process == this_process()
    assert (member.role, member.plan_required, member.term) == ("tester", True, 1)


def test_a_start_has_one_process(lead: Roster) -> None:
    spawn = lead.start("alice").spawn_id
    lead.come_alive("alice", spawn)
    with pytest.raises(StartWithdrawn, match="is alive"):
        lead.come_alive("alice", spawn)


def test_a_process_of_another_start_does_not_come_alive(lead: Roster) -> None:
    lead.start("alice", spawn_id="spawn_a")
    with pytest.raises(StartWithdrawn):
        lead.come_alive("alice", "spawn_b")


def test_a_withdrawn_start_sends_its_process_away_and_frees_the_name(lead: Roster) -> None:
    spawn = lead.start("alice").spawn_id
    lead.withdraw("alice", spawn, "nobody came")
    with pytest.raises(StartWithdrawn, match="is withdrawn"):
        lead.come_alive("alice", spawn)
    assert lead.start("alice").start == 3


def test_a_living_member_cannot_be_withdrawn(lead: Roster) -> None:
    member = alive(lead)
    with pytest.raises(InvalidMemberChange, match="is alive and cannot become withdrawn"):
        lead.withdraw("alice", member.spawn_id)


def test_only_the_start_that_was_meant_is_withdrawn(lead: Roster) -> None:
    lead.withdraw("alice", lead.start("alice").spawn_id)
    second = lead.start("alice")
    with pytest.raises(InvalidMemberChange):
        lead.withdraw("alice", "spawn_old")
    assert lead.member("alice") == second


def test_a_restart_is_a_new_incarnation_of_the_same_start(lead: Roster) -> None:
    first = alive(lead)
    second = lead.restart("alice", after=incarnation(first))
    assert (second.start, second.spawn_id, second.incarnation) == (first.start, first.spawn_id, 3)


def test_two_restarts_after_the_same_death_have_one_winner(lead: Roster) -> None:
    first = incarnation(alive(lead))
    lead.restart("alice", after=first)
    with pytest.raises(Superseded):
        lead.restart("alice", after=first)


def test_a_superseded_process_writes_nothing_more(lead: Roster) -> None:
    old = incarnation(alive(lead))
    lead.restart("alice")
    writes: list[Callable[[], object]] = [
        lambda: lead.update("alice", old, waiting_on="x"),
        lambda: lead.closing("alice", old),
        lambda: lead.closed("alice", old, {}),
        lambda: lead.supersede("alice", old),
        lambda: lead.check_newest("alice", old),
    ]
    for write in writes:
        with pytest.raises(Superseded, match="alice~2 was superseded by alice~3"):
            write()
    assert len(lead.history("alice")) == 3


def test_closing_takes_two_steps(lead: Roster) -> None:
    member = alive(lead)
    with pytest.raises(InvalidMemberChange):
        lead.closed("alice", incarnation(member), {})
    assert close(lead, member, {"alice.d/lead~1": 40}).positions == {"alice.d/lead~1": 40}


def test_a_new_bearer_goes_on_from_the_positions_with_a_closed_plan_gate(lead: Roster) -> None:
    close(lead, alive(lead), {"source": 40})
    fresh = lead.start("alice", plan_required=True)
    assert (fresh.positions, fresh.start, fresh.incarnation) == ({"source": 40}, 5, None)
    assert fresh.plan_required


def test_whoever_supersedes_a_dead_member_closes_it(lead: Roster) -> None:
    dead = incarnation(alive(lead))
    standing_in = lead.supersede("alice", dead, "silent")
    assert (standing_in.state, standing_in.by, standing_in.why) == ("superseded", "lead~1", "silent")
    with pytest.raises(Superseded):
        lead.supersede("alice", dead)
    assert lead.closed("alice", incarnation(standing_in), {}).state is MemberState.CLOSED


def test_a_closed_member_changes_no_more(lead: Roster) -> None:
    member = close(lead, alive(lead))
    changes: list[Callable[[], object]] = [
        lambda: lead.update("alice", None, waiting_on="x"),
        lambda: lead.restart("alice"),
        lambda: lead.closing("alice", incarnation(member)),
        lambda: lead.supersede("alice", incarnation(member)),
    ]
    for change in changes:
        with pytest.raises(InvalidMemberChange):
            change()


def test_an_update_keeps_state_and_incarnation(lead: Roster) -> None:
    member = alive(lead)
    after = lead.update("alice", incarnation(member), waiting_on="a plan", plan_required=True)
    assert (after.waiting_on, after.plan_required) == ("a plan", True)
    assert (after.state, after.incarnation) == (member.state, member.incarnation)


def test_presence_is_that_of_the_newest_incarnation(lead: Roster) -> None:
    member = alive(lead)
    assert lead.is_present("alice~2")
    assert not lead.is_present("alice~1")
    assert not lead.is_present("bob~2")
    assert not lead.is_present("alice")
    close(lead, member)
    assert not lead.is_present("alice~2")


def test_all_lists_each_name_once_and_no_beats(lead: Roster, team: Team) -> None:
    alive(lead, "Zoe")
    lead.start("bob")
    team.directory.overwrite(layout.beat("Zoe~2"), b"beat")
    (team.root / layout.MEMBERS / "empty").mkdir()
    assert [(m.name, m.state) for m in lead.all()] == [("Zoe", "alive"), ("bob", "starting")]


# terms and forged records


def test_a_lead_whose_term_is_over_writes_nothing(lead: Roster, team: Team) -> None:
    member = alive(lead)
    Roster(team, "lead~4", lambda: 4).update("alice", None)
    with pytest.raises(TermOver, match="term 1 of leadership is over, 4"):
        lead.update("alice", incarnation(member), plan_required=True)


def test_a_member_carries_on_under_the_term_it_finds(lead: Roster, team: Team) -> None:
    member = alive(lead)
    Roster(team, "lead~4", lambda: 4).update("alice", None)
    after = Roster(team, "alice~2", lambda: 1).update("alice", incarnation(member), waiting_on="x")
    assert after.term == 4


def plant(team: Team, number: int, member: Member) -> None:
    document = seal("member/alice", member.to_json(), number=number, prev=number - 1, commit_id="c")
    (team.root / layout.record(layout.member_log("alice"), number)).write_bytes(pretty(document))


def test_a_forged_record_does_not_count(lead: Roster, team: Team) -> None:
    member = alive(lead)
    plant(team, 3, Member(name="alice", state=MemberState.CLOSED, incarnation=2, start=1))
    assert lead.member("alice") == member
    assert lead.update("alice", 2, waiting_on="x").waiting_on == "x"


def life(state: MemberState, number: int, *, start: int, incarnation: int | None, term: int = 0) -> Member:
    return Member(
        name="alice",
        state=state,
        start=start,
        incarnation=incarnation,
        spawn_id=f"spawn_{start}",
        process=this_process() if incarnation else None,
        term=term,
        at=str(number),
    )


@pytest.mark.parametrize(("before", "after"), list(itertools.product(MemberState, MemberState)))
def test_the_table_decides_which_state_may_follow(before: MemberState, after: MemberState) -> None:
    was = life(before, 5, start=3, incarnation=None if before is MemberState.STARTING else 4)
    bearers = {
        Bearer.NEW: life(after, 6, start=6, incarnation=None),
        Bearer.NEXT: life(after, 6, start=3, incarnation=6),
        Bearer.SAME: life(after, 6, start=3, incarnation=was.incarnation),
    }
    for bearer, member in bearers.items():
        if bearer in MEMBER_TRANSITIONS.get((before, after), ()):
            check_member(was, member, 6)
        else:
            with pytest.raises(InvalidRecord):
                check_member(was, member, 6)


def test_every_state_is_left_or_frees_the_name() -> None:
    left = {before for before, after in MEMBER_TRANSITIONS if before != after}
    assert left == {None, *MemberState}
    assert {before for before, after in MEMBER_TRANSITIONS if after is MemberState.STARTING} == {
        None,
        MemberState.STARTING,
        *GONE,
    }


def test_a_record_keeps_name_start_and_term() -> None:
    was = life(MemberState.ALIVE, 4, start=3, incarnation=4, term=2)
    with pytest.raises(InvalidRecord, match="term 1 is over"):
        check_member(was, life(MemberState.ALIVE, 5, start=3, incarnation=4, term=1), 5)
    with pytest.raises(InvalidRecord, match="like this"):
        check_member(was, life(MemberState.ALIVE, 5, start=2, incarnation=5, term=2), 5)


def test_every_refusal_is_one_line_without_braces(lead: Roster) -> None:
    acts: list[Callable[[], object]] = [
        lambda: lead.start("lead"),
        lambda: lead.restart("nobody"),
        lambda: lead.start("a b"),
    ]
    for act in acts:
        with pytest.raises(TeamError) as caught:
            act()
        assert "{" not in str(caught.value)
