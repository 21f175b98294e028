"""A process obeys what the right one told this very process to do, once, and nobody else."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from coordination import layout
from coordination.numbered_log import pretty, seal
from coordination.orders import ask_to_compact, ask_to_interrupt, ask_to_stop, followed, orders
from coordination.protocols import Kind
from coordination.records import Verdict
from coordination.stores import Stores, open_stores
from harness.off_loop import OffLoop
from harness.tools.orders import follow_orders
from tests.support.people import comes_alive, leads, stores_of

if TYPE_CHECKING:
    from coordination.records import Message
    from coordination.team_root import Team

ME = "alice~2"


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def alice(team: Team) -> Stores:
    return stores_of(team, comes_alive(team, "alice"))


def a_message(stores: Stores, to: str = "alice") -> Message:
    return stores.outbox.send(to, "stop that")


def asks(stores: Stores, kind: str, whom: str = ME) -> str:
    whom = whom.partition("~")[0] if kind == Kind.COMPACT else whom
    return stores.requests.ask(kind, whom, reviewer=whom).id


def taken(stores: Stores) -> list[str]:
    found = orders(stores)
    for order in found:
        followed(stores, order)
    return [order.kind for order in found]


@pytest.mark.parametrize("by", ["person", "lead"])
@pytest.mark.parametrize("kind", [Kind.SHUTDOWN, Kind.INTERRUPT, Kind.COMPACT])
def test_the_person_and_the_present_lead_are_obeyed_once_and_answered(
    team: Team, alice: Stores, by: str, kind: Kind
) -> None:  # T33, T34
    asker = leads(team) if by == "lead" else open_stores(team, "person")
    assert taken(alice) == []
    request = asks(asker, kind)
    assert taken(alice) == [kind]
    assert taken(alice) == []
    answer = asker.requests.get(request).answer
    assert answer
    assert (answer.verdict, answer.by) == (Verdict.APPROVE, ME)


@pytest.mark.parametrize("kind", [Kind.SHUTDOWN, Kind.INTERRUPT, Kind.COMPACT])
def test_a_lead_whose_term_is_over_is_refused_with_the_reason(team: Team, alice: Stores, kind: Kind) -> None:
    former = leads(team)
    request = asks(former, kind)
    leads(team)
    assert taken(alice) == []
    answer = former.requests.get(request).answer
    assert answer
    assert answer.verdict is Verdict.DENY
    assert "not by the present lead or the person" in answer.reason
    assert alice.requests.open() == []


@pytest.mark.parametrize("kind", [Kind.SHUTDOWN, Kind.INTERRUPT, Kind.COMPACT])
def test_a_member_orders_nobody_about(team: Team, alice: Stores, kind: Kind) -> None:
    asks(stores_of(team, comes_alive(team, "bob")), kind)
    assert taken(alice) == []


@pytest.mark.parametrize("reviewer", ["lead", "person", "alice", ME])
@pytest.mark.parametrize("asker", ["person", "lead~1"])
@pytest.mark.parametrize("kind", [Kind.SHUTDOWN, Kind.INTERRUPT, Kind.COMPACT])
def test_what_looks_like_an_order_and_is_unsigned_is_passed_over(
    team: Team, alice: Stores, reviewer: str, asker: str, kind: Kind
) -> None:
    lead, forged = leads(team), "req_0000000f"
    body = {"id": forged, "kind": kind, "asker": asker, "subject": ME, "reviewer": reviewer}
    record = pretty(seal(f"request/{forged}", body, number=1, prev=0, commit_id="forged"))
    team.directory.make(layout.request_log(forged))
    assert team.directory.publish(layout.record(layout.request_log(forged), 1), record) is None
    assert alice.requests.open() == []
    assert taken(alice) == taken(lead) == []
    asks(lead, kind)
    assert taken(alice) == [kind]


@pytest.mark.parametrize("whom", ["alice~1", "alice~9", "alice", "alicea~2", "bob~2"])
def test_an_order_to_another_process_is_left_to_that_one(team: Team, alice: Stores, whom: str) -> None:  # W13
    lead = leads(team)
    request = asks(lead, Kind.SHUTDOWN, whom)
    assert taken(alice) == []
    assert lead.requests.get(request).answer is None


def test_a_question_of_another_kind_is_no_order(team: Team, alice: Stores) -> None:
    asks(leads(team), Kind.PLAN)
    assert taken(alice) == []


@pytest.mark.parametrize(
    ("type_", "metadata"),
    [("interrupt", {"interrupt": "yes"}), ("shutdown_request", {"request": "req_0000000a"})],
)
def test_mail_alone_orders_nothing(
    team: Team, alice: Stores, type_: str, metadata: dict[str, str]
) -> None:  # T33
    leads(team).outbox.send("alice", "stop", type=type_, metadata=metadata)
    assert taken(alice) == []


def test_the_lead_is_interrupted_and_stopped_too(team: Team) -> None:
    lead, person = leads(team), open_stores(team, "person")
    assert ask_to_interrupt(person, a_message(person, "lead"))
    ask_to_stop(person, "lead~1")
    assert sorted(taken(lead)) == [Kind.INTERRUPT, Kind.SHUTDOWN]


def test_an_interrupt_of_an_earlier_process_is_not_for_the_next_one(team: Team, alice: Stores) -> None:
    person = open_stores(team, "person")
    assert ask_to_interrupt(person, a_message(person))
    assert taken(stores_of(team, alice.roster.restart("alice"))) == []


@pytest.mark.anyio
async def test_each_order_is_followed_with_what_it_says_and_answered_only_then(
    team: Team, alice: Stores
) -> None:
    person, done, off_loop = open_stores(team, "person"), list[str](), OffLoop()
    ask_to_stop(person, ME)
    assert ask_to_interrupt(person, a_message(person))
    assert ask_to_compact(person, "alice", "open questions")

    def does(what: str) -> None:
        done.append(f"{what}, {len(person.requests.open())} open")

    async def compacts(focus: str) -> None:
        does(focus)

    for _ in range(2):
        await follow_orders(alice, off_loop, stop=does, interrupt=lambda: does("!"), compact=compacts)
    assert [said.partition(", ")[2] for said in done] == ["3 open", "2 open", "1 open"]
    assert sorted(said.partition(", ")[0] for said in done) == [
        "!",
        "open questions",
        "person asked it to stop",
    ]


@pytest.mark.parametrize("name", ["alice", "lead"])
def test_an_order_to_compact_waits_for_whoever_bears_the_name_until_it_is_followed(
    team: Team, alice: Stores, name: str
) -> None:
    first = alice if name == "alice" else leads(team)
    assert ask_to_compact(open_stores(team, "person"), name, "")
    assert orders(first)
    successor = stores_of(team, alice.roster.restart("alice")) if name == "alice" else leads(team)
    assert taken(successor) == [Kind.COMPACT]
    assert taken(successor) == []


def test_where_no_process_is_there_is_nothing_to_interrupt(team: Team) -> None:
    person = open_stores(team, "person")
    person.roster.start("zoe")
    assert not ask_to_interrupt(person, a_message(person, "zoe"))
    assert not ask_to_interrupt(person, a_message(person, "lead"))
    assert not ask_to_compact(person, "zoe", "")
