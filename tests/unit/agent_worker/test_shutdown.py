"""A teammate stops when the right one asks this very process, and for nobody else."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from agent_worker.shutdown import Shutdown
from coordination.protocols import PERSON, Kind
from coordination.records import Verdict
from coordination.stores import Stores, open_stores
from tests.support.people import comes_alive, dead, leads, stores_of

if TYPE_CHECKING:
    from coordination.team_root import Team

ME = "alice~2"


class Alice:
    """A member that looks for requests."""

    def __init__(self, team: Team) -> None:
        self.stores = stores_of(team, comes_alive(team, "alice"))
        self.shutdown = Shutdown(self.stores, me=ME)
        self.ignored: list[str] = []

    def looks(self) -> bool:
        self.shutdown.look(ignored=self.ignored.append)
        return self.shutdown.asked


@pytest.fixture
def alice(team: Team) -> Alice:
    return Alice(team)


def asks(stores: Stores, whom: str = ME, kind: str = Kind.SHUTDOWN) -> str:
    return stores.requests.ask(kind, whom, reviewer=whom).id


def test_without_a_request_it_goes_on(lead: Stores, alice: Alice) -> None:
    assert lead.requests.open() == []
    assert not alice.looks()


def test_the_present_lead_is_obeyed_and_answered(lead: Stores, alice: Alice) -> None:  # T33, T34
    request = asks(lead)
    assert alice.looks()
    assert alice.shutdown.why == "lead~1 asked it to stop"
    answer = lead.requests.get(request).answer
    assert answer
    assert (answer.verdict, answer.by) == (Verdict.APPROVE, ME)


def test_the_person_is_obeyed(team: Team, alice: Alice) -> None:
    asks(open_stores(team, PERSON))
    assert alice.looks()


@pytest.mark.parametrize("whom", ["alice~1", "alice~9", "alice"])
def test_a_request_to_another_process_of_the_name_is_ignored_and_said_so(
    lead: Stores, alice: Alice, whom: str
) -> None:  # W13
    request = asks(lead, whom)
    assert not alice.looks()
    assert alice.ignored == [f"{request} is not a shutdown of {ME}"]
    assert lead.requests.get(request).answer is None


@pytest.mark.parametrize("whom", ["bob~2", "alicea~2"])
def test_a_request_to_somebody_else_is_not_even_noticed(lead: Stores, alice: Alice, whom: str) -> None:
    asks(lead, whom)
    assert not alice.looks()
    assert alice.ignored == []


def test_a_former_lead_is_ignored(team: Team, alice: Alice) -> None:
    asks(leads(team, dead()))
    leads(team)
    assert not alice.looks()
    assert "not by the present lead or the person" in alice.ignored[0]


def test_a_teammate_is_ignored(team: Team, lead: Stores, alice: Alice) -> None:
    asks(stores_of(team, comes_alive(team, "bob")))
    assert lead.leadership.is_current(1)
    assert not alice.looks()
    assert "asked by bob~2" in alice.ignored[0]


def test_mail_that_speaks_of_a_shutdown_is_no_request(lead: Stores, alice: Alice) -> None:  # T33
    lead.outbox.send("alice", "stop", type="shutdown_request", metadata={"request": "req_0000000a"})
    assert not alice.looks()


def test_a_question_of_another_kind_is_no_request(lead: Stores, alice: Alice) -> None:
    asks(lead, kind=Kind.PLAN)
    assert not alice.looks()


def test_what_is_ignored_is_told_once(lead: Stores, alice: Alice) -> None:
    asks(lead, "alice~1")
    alice.looks()
    alice.looks()
    assert len(alice.ignored) == 1


def test_the_first_reason_stays(alice: Alice) -> None:
    alice.shutdown.ask("got SIGTERM")
    alice.shutdown.ask("the lead has ended")
    assert alice.shutdown.why == "got SIGTERM"
