"""Processes of two hosts want the same tasks and write to each other, whatever the lock does."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from coordination.mail.lines import UNDELIVERABLE, Delivery, sender_name
from coordination.mail.positions import DELIVERY_KIND

if TYPE_CHECKING:
    from collections.abc import Iterator

    from coordination.records import Message
    from tests.sharedfs.conftest import Teams
    from tests.sharedfs.hosts import Command, TeamOfTwo

ROUNDS = 15
TASKS = 20
MESSAGES = 60
CONTENDERS = {"a1": "a", "a2": "a", "b1": "b", "b2": "b"}


@pytest.fixture(
    params=[("gluster", "flock", False), ("gluster", "flock", True), ("sshfs-nocache", "unlocked", False)],
    ids=["proven lock", "lock held by a stopped process", "lock of no use"],
)
def team(teams: Teams, request: pytest.FixtureRequest) -> Iterator[TeamOfTwo]:
    file_system, profile, is_held = request.param
    made = teams(file_system)
    greeter = made.act("a", "greet")
    made.wait(lambda: "greets" in greeter.so_far.out, "the first host")
    assert said(made.act("b", "take_part")) == [{"profile": profile}]
    if is_held:
        holder = made.act("a", "hold_lock")
        made.wait(lambda: "held" in holder.so_far.out, "the lock")
    return made


def delivered(team: TeamOfTwo, name: str) -> list[Message]:
    lines = team.journal(f"{name}~2")
    return [Delivery.from_json(line).message for line in lines if line["kind"] == DELIVERY_KIND]


def said(command: Command) -> list[dict[str, Any]]:
    ended = command.end()
    assert ended.code == 0, ended
    return [json.loads(line) for line in ended.out.splitlines()]


def test_of_two_hosts_exactly_one_gets_a_task_each_time(team: TeamOfTwo) -> None:
    assert said(team.act("a", "make_tasks", str(TASKS))) == []
    claims = [team.act(host, "claim", name, str(ROUNDS), *CONTENDERS) for name, host in CONTENDERS.items()]
    reports = [said(command) for command in claims]
    for outcomes in zip(*reports, strict=True):
        assert len({outcome["winner"] for outcome in outcomes}) == 1, str(outcomes)
        assert len([outcome for outcome in outcomes if "token" in outcome]) == 1
    tokens = [outcome["token"] for report in reports for outcome in report if "token" in outcome]
    assert len(set(tokens)) == ROUNDS

    takes = [team.act(host, "take", name, *CONTENDERS) for name, host in CONTENDERS.items()]
    taken = [task for command in takes for task in said(command)[-1]["taken"]]
    assert sorted(taken) == sorted(task.id for task in team.stores.tasks.all())


def test_mail_between_hosts_comes_once_and_in_order(team: TeamOfTwo) -> None:
    alice = team.act("a", "mail", "alice", "bob", str(MESSAGES))
    team.wait(lambda: "joined" in alice.so_far.out, "alice")
    bob = team.act("b", "mail", "bob", "alice", str(MESSAGES))
    for command in (alice, bob):
        assert said(command)[-1]["lost"] == []
    for name, other in (("alice", "bob"), ("bob", "alice")):
        received = delivered(team, name)
        numbers = [int(message.content.split()[0]) for message in received]
        assert {sender_name(message.sender) for message in received} == {other}
        assert numbers == list(range(MESSAGES))


def test_a_sender_knows_what_a_leaver_on_another_host_took(team: TeamOfTwo) -> None:
    leaver = team.act("b", "mail", "leaver", "alice", str(MESSAGES))
    team.wait(lambda: "joined" in leaver.so_far.out, "leaver")
    alice = team.act("a", "mail", "alice", "leaver", str(MESSAGES))
    lost = said(alice)[-1]["lost"]
    said(leaver)
    taken = [message.id for message in delivered(team, "leaver")]
    refused = [f"alice-{number}" for number, why in lost if why == "RecipientGone"]
    mail = delivered(team, "alice")
    back = [id_ for message in mail if message.type == UNDELIVERABLE for id_ in message.metadata["ids"]]
    assert len(taken) == len(set(taken))
    assert not set(taken) & {*refused, *back}
    assert {*taken, *refused, *back} == {f"alice-{number}" for number in range(MESSAGES)}
