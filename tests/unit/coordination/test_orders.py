from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from coordination.orders import ask_to_compact, ask_to_interrupt, follow, take_orders
from coordination.stores import Stores, open_stores
from tests.support.people import comes_alive, leads, stores_of

if TYPE_CHECKING:
    from coordination.records import Message
    from coordination.team_root import Team


@pytest.fixture
def alice(team: Team) -> Stores:
    return stores_of(team, comes_alive(team, "alice"))


def a_message(stores: Stores, to: str = "alice") -> Message:
    return stores.outbox.send(to, "stop that")


@pytest.mark.parametrize("by", ["person", "lead"])
def test_the_person_and_the_present_lead_interrupt_once(team: Team, alice: Stores, by: str) -> None:
    asker = leads(team) if by == "lead" else open_stores(team, "person")
    assert not take_orders(alice)
    assert ask_to_interrupt(asker, a_message(asker))
    assert take_orders(alice)
    assert not take_orders(alice)


def test_a_lead_whose_term_is_over_interrupts_nobody(team: Team, alice: Stores) -> None:
    former = leads(team)
    message = a_message(former)
    assert ask_to_interrupt(former, message)
    leads(team)
    assert not take_orders(alice)
    assert alice.requests.open() == []


def test_a_member_interrupts_nobody(team: Team, alice: Stores) -> None:
    bob = stores_of(team, comes_alive(team, "bob"))
    assert ask_to_interrupt(bob, a_message(bob))
    assert not take_orders(alice)


def test_the_lead_is_interrupted_too(team: Team) -> None:
    lead, person = leads(team), open_stores(team, "person")
    assert ask_to_interrupt(person, a_message(person, "lead"))
    assert take_orders(lead)


def test_mail_alone_interrupts_nobody(team: Team, alice: Stores) -> None:
    person = open_stores(team, "person")
    person.outbox.send("alice", "stop", type="interrupt", metadata={"interrupt": "yes"})
    assert not take_orders(alice)


def test_an_interrupt_of_an_earlier_process_is_not_for_the_next_one(team: Team, alice: Stores) -> None:
    person = open_stores(team, "person")
    assert ask_to_interrupt(person, a_message(person))
    successor = stores_of(team, alice.roster.restart("alice"))
    assert not take_orders(successor)


def test_an_order_to_compact_says_what_to_keep_and_is_followed_once(team: Team, alice: Stores) -> None:
    person = open_stores(team, "person")
    assert ask_to_compact(person, "alice", "open questions")
    done: list[str] = []
    for _ in range(2):
        follow(take_orders(alice), interrupt=lambda: done.append("interrupt"), compact=done.append)
    assert done == ["open questions"]


def test_a_member_compacts_nobody_else(team: Team, alice: Stores) -> None:
    assert ask_to_compact(stores_of(team, comes_alive(team, "bob")), "alice", "")
    assert take_orders(alice) == []


def test_where_no_process_is_there_is_nothing_to_interrupt(team: Team) -> None:
    person = open_stores(team, "person")
    person.roster.start("zoe")
    assert not ask_to_interrupt(person, a_message(person, "zoe"))
    assert not ask_to_interrupt(person, a_message(person, "lead"))
    assert not ask_to_compact(person, "zoe", "")
