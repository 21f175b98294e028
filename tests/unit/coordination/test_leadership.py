"""One lead at a time; the number of the record is the term."""

from __future__ import annotations

import threading

import msgspec
import pytest

from coordination import layout
from coordination.files import StateDirectory
from coordination.leadership import LeadAlive, Leadership
from coordination.numbered_log import pretty, seal
from coordination.process import this_process
from coordination.protocols import TermOver
from coordination.records import Term
from coordination.team_root import Team

ELSEWHERE = msgspec.structs.replace(this_process(), host="other", boot="another boot")
DEAD = msgspec.structs.replace(this_process(), started="long ago")


@pytest.fixture
def leadership(team: Team) -> Leadership:
    return Leadership(team)


def plant(team: Team, number: int, term: Term) -> None:
    """As the lead of another process would have written it."""
    team.directory.make(layout.LEAD_LOG)
    document = seal("lead/terms", term.to_json(), number=number, prev=number - 1, commit_id=f"c{number}")
    (team.root / layout.record(layout.LEAD_LOG, number)).write_bytes(pretty(document))


def test_a_fresh_team_has_no_lead(leadership: Leadership) -> None:
    assert leadership.newest() is None
    assert not leadership.is_current(0)


def test_the_first_lead_has_term_1(leadership: Leadership) -> None:
    assert leadership.take() == 1
    term, said = leadership.newest() or (0, None)
    assert said
    assert (term, said.process) == (1, this_process())
    assert leadership.is_current(1)


def test_a_second_run_in_one_root_is_refused_and_says_who_leads(team: Team, leadership: Leadership) -> None:
    leadership.take()
    with pytest.raises(LeadAlive, match=rf"process {this_process().pid} on .*term 1"):
        Leadership(team).take()


def test_a_dead_lead_is_followed_at_once(team: Team, leadership: Leadership) -> None:
    plant(team, 1, Term(process=DEAD))
    assert leadership.take() == 2


def test_a_lead_on_another_host_is_followed_only_after_its_silence(
    team: Team, leadership: Leadership
) -> None:
    plant(team, 1, Term(process=ELSEWHERE))
    leadership.newest()
    with pytest.raises(LeadAlive):
        leadership.take(silent=False)
    assert leadership.take(silent=True) == 2


def test_silence_says_nothing_of_a_lead_that_came_later(team: Team, leadership: Leadership) -> None:
    plant(team, 1, Term(process=ELSEWHERE))
    leadership.newest()
    plant(team, 2, Term(process=ELSEWHERE))
    with pytest.raises(LeadAlive):
        leadership.take(silent=True)


def test_a_lead_that_was_seen_but_not_told_of_is_not_silent(team: Team, leadership: Leadership) -> None:
    plant(team, 1, Term(process=ELSEWHERE))
    leadership.newest()
    plant(team, 2, Term(process=ELSEWHERE))
    assert not leadership.is_current(1)
    with pytest.raises(LeadAlive, match="term 2"):
        leadership.take(silent=True)


def test_the_predecessor_finds_its_term_over(team: Team, leadership: Leadership) -> None:
    leadership.take()
    plant(team, 2, Term(process=ELSEWHERE))
    assert not leadership.is_current(1)
    with pytest.raises(TermOver):
        leadership.end(1)


def test_a_term_that_was_ended_is_followed_at_once(team: Team, leadership: Leadership) -> None:
    leadership.end(leadership.take())
    assert not leadership.is_current(1)
    assert Leadership(team).take() == 3


def test_a_term_is_ended_once(leadership: Leadership) -> None:
    leadership.end(leadership.take())
    with pytest.raises(TermOver):
        leadership.end(1)


def test_nobody_else_ends_a_term(team: Team, leadership: Leadership) -> None:
    leadership.take()
    plant(team, 2, Term(process=ELSEWHERE, ended=True))
    assert leadership.is_current(1)


def test_of_several_that_take_over_at_once_one_wins(team: Team) -> None:
    plant(team, 1, Term(process=DEAD))
    barrier, won, lost = threading.Barrier(4), [], []

    def take() -> None:
        own = Team(id=team.id, directory=StateDirectory(team.root), repository=team.root, clock=team.clock)
        leadership = Leadership(own)
        leadership.newest()
        barrier.wait()
        try:
            won.append(leadership.take(silent=True))
        except LeadAlive as error:
            lost.append(error.term)

    threads = [threading.Thread(target=take) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (won, lost) == ([2], [2, 2, 2])
