"""All that one actor sees and does, under one name and the newest term."""

from __future__ import annotations

from typing import TYPE_CHECKING

from coordination.leadership import Leadership
from coordination.protocols import PERSON, Kind
from coordination.stores import open_stores
from coordination.tasks.drafts import TaskDraft
from tests.support.people import comes_alive, leads, stores_of

if TYPE_CHECKING:
    from coordination.team_root import Team


def test_every_store_writes_as_the_actor_in_the_newest_term(team: Team) -> None:
    Leadership(team).take()
    alice = stores_of(team, comes_alive(team, "alice"))
    (task,) = alice.tasks.create([TaskDraft(subject="A")])
    question = alice.requests.ask(Kind.PLAN, "A", reviewer="lead")
    assert (task.by, task.term) == ("alice~2", 1)
    assert (question.asker, question.term) == ("alice~2", 1)
    assert alice.outbox.send("lead", "hello").sender == "alice~2"


def test_a_term_that_begins_later_is_seen(team: Team) -> None:
    alice = stores_of(team, comes_alive(team, "alice"))
    assert alice.requests.ask(Kind.PLAN, "A", reviewer="lead").term == 0
    leads(team)
    assert alice.requests.ask(Kind.PLAN, "B", reviewer="lead").term == 1


def test_mail_of_the_person_has_a_file_of_its_own_for_each_call(team: Team) -> None:
    first, second = (open_stores(team, PERSON).outbox.send("lead", "hello").sender for _ in range(2))
    assert first != second
    assert first.startswith("person~")


def test_a_second_thread_gets_its_own_objects_and_the_same_audit_trail(team: Team) -> None:
    stores = open_stores(team, "alice~2")
    other = stores.again()
    assert other.actor == "alice~2"
    assert other.events is stores.events
    assert other.tasks is not stores.tasks
    assert other.roster is not stores.roster
