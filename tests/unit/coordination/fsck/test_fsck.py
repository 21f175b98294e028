"""Each invariant of the team directory: whole after ordinary work, and a finding when it is broken."""

from __future__ import annotations

import json
import os
import shutil
from typing import TYPE_CHECKING, Any

import pytest

from coordination import layout
from coordination.finding import Finding, Severity
from coordination.fsck.fsck import inspect, repair
from coordination.mail.mailbox import Inbox
from coordination.mail.positions import DELIVERY_KIND, Positions
from coordination.numbered_log import digest, pretty, seal
from coordination.process import this_process
from coordination.protocols import Kind
from coordination.records import MemberState, PendingEdge, Status, Task, TaskResult, Verdict
from coordination.roster import Roster
from coordination.stores import Stores, open_stores
from coordination.sweep import Sweep
from coordination.tasks.board import TaskBoard
from coordination.tasks.drafts import TaskDraft
from coordination.tasks.rules import claim, want_edges
from tests.support.mail import write
from tests.support.people import claimant, comes_alive, dead, elsewhere, leads, stores_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from coordination.fsck.fsck import Repaired
    from coordination.records import Member
    from coordination.team_root import Team


@pytest.fixture
def person(team: Team) -> Stores:
    return open_stores(team, "person")


@pytest.fixture
def alice(team: Team, lead: Stores) -> Member:
    assert lead.leadership.is_current(1)
    return beats(team, comes_alive(team, "alice"))


def beats(team: Team, member: Member) -> Member:
    team.directory.overwrite(layout.beat(member.bearer), b"1")
    return member


def made(lead: Stores, *needs: str) -> Task:
    (task,) = lead.tasks.create([TaskDraft(subject="A", blocked_by=needs)])
    (task,) = lead.tasks.publish([task.id])
    lead.tasks.refresh_views()
    return task


def claimed(team: Team, lead: Stores, member: Member) -> Task:
    store = stores_of(team, member).tasks
    task = store.claim(made(lead).id, claimant(member))
    store.refresh_views()
    return task


def codes(team: Team) -> list[str]:
    return [finding.code for finding in inspect(open_stores(team, "person"))]


def only(team: Team) -> Finding:
    (finding,) = inspect(open_stores(team, "person"))
    return finding


def repaired(team: Team) -> Repaired:
    stores = open_stores(team, "person")
    return repair(lambda: inspect(stores))


def plant(team: Team, path: str, data: bytes | dict[str, Any]) -> Path:
    target = team.root / path
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(data if isinstance(data, bytes) else json.dumps(data).encode())
    return target


def records(team: Team) -> dict[str, bytes]:
    """Every record of every log, to see that repair takes none away and changes none."""
    return {
        str(path): path.read_bytes()
        for top in (layout.TASKS, ".team")
        for path in (team.root / top).rglob("*.json")
        if layout.RECORD_NAME.fullmatch(path.name)
    }


# whole


def test_a_fresh_team_is_whole(team: Team) -> None:
    assert codes(team) == []


def test_a_team_at_work_is_whole(team: Team, lead: Stores, alice: Member) -> None:
    first = claimed(team, lead, alice)
    own = stores_of(team, alice)
    own.requests.ask(Kind.PLAN, first.subject, reviewer="lead", task=first.id)
    made(lead, first.id)
    lead.runs.open("Fix the shop")
    own.outbox.send("lead", "on it")
    receives(team, lead, alice)
    assert codes(team) == []


def test_finished_work_and_closed_members_are_whole(team: Team, lead: Stores, alice: Member) -> None:
    first = claimed(team, lead, alice)
    own = stores_of(team, alice)
    own.tasks.complete(first.id, first.token or 0, commit="c0", branch="b", result=TaskResult(verified=True))
    own.tasks.refresh_views()
    own.roster.closing("alice", alice.incarnation or 0)
    own.roster.closed("alice", alice.incarnation or 0, {})
    lead.leadership.end(1)
    assert codes(team) == []


# numbers


def test_a_run_whose_records_are_spoiled_is_told(team: Team, lead: Stores) -> None:
    run = lead.runs.open("Fix the shop")
    plant(team, f"{layout.run_log(run.id)}/1.json", b"garbage")
    found = {finding.code: finding for finding in inspect(open_stores(team, "person"))}
    assert found["run_unreadable"].where == layout.run_log(run.id)
    assert found["run_unreadable"].counts


def test_a_run_that_the_graph_does_not_name_is_noted(team: Team, lead: Stores) -> None:
    run = lead.runs.open("Fix the shop")
    shutil.copytree(team.root / layout.run_log(run.id), team.root / layout.run_log("run_00000009"))
    (noted,) = (finding for finding in inspect(open_stores(team, "person")) if finding.code == "unannounced")
    assert (noted.where, noted.counts) == (layout.run_log("run_00000009"), False)


@pytest.mark.parametrize("kind", ["task", "graph", "member", "run"])
def test_what_stands_on_the_next_number_is_told_and_the_state_said_again_above_it(
    team: Team, lead: Stores, alice: Member, kind: str
) -> None:
    task, run = claimed(team, lead, alice), lead.runs.open("Fix the shop")
    path, top = {
        "task": (layout.task_log(task.id), 3),
        "graph": (layout.GRAPH_LOG, 2),
        "member": (layout.member_log("alice"), 2),
        "run": (layout.run_log(run.id), 1),
    }[kind]
    planted = plant(team, f"{path}/{top + 1}.json", b"garbage")
    assert (only(team).code, only(team).severity) == ("invalid_record", Severity.WARNING)
    after = repaired(team)
    assert [(left.code, left.severity) for left in after.left] == [("invalid_record", Severity.NOTE)]
    assert planted.read_bytes() == b"garbage"
    assert lead.tasks.get(task.id).lease == task.lease
    assert lead.roster.is_present("alice~2")


def test_an_invalid_record_that_a_valid_one_follows_is_a_note(team: Team, lead: Stores) -> None:
    task = made(lead)
    plant(team, f"{layout.task_log(task.id)}/3.json", b"")
    lead.tasks.edit(task.id, priority=1)
    lead.tasks.refresh_views()
    lead.tasks.repair()
    assert only(team).severity is Severity.NOTE


def test_a_number_far_ahead_is_a_note(team: Team, lead: Stores) -> None:
    task = made(lead)
    plant(team, f"{layout.task_log(task.id)}/999.json", b"{}")
    assert (only(team).code, only(team).severity) == ("above_free_number", Severity.NOTE)


def test_a_lost_number_is_an_error_and_filled_without_taking_one_away(team: Team, lead: Stores) -> None:
    task = made(lead)
    lead.tasks.edit(task.id, priority=1)
    lead.tasks.edit(task.id, priority=2)
    (team.root / layout.record(layout.task_log(task.id), 3)).unlink()
    before = records(team)
    assert "above_free_number" in codes(team)
    after = repaired(team)
    assert not [left for left in after.left if left.counts]
    assert before.items() <= records(team).items()


@pytest.mark.parametrize(
    "path",
    [".tasks/log/nonsense", ".team/requests/x", ".team/runs/x", ".team/members/Al ice", ".tasks/graph/a"],
)
def test_a_name_that_is_no_id_is_told(team: Team, path: str) -> None:
    plant(team, path, b"")
    assert only(team).code == "foreign_name"
    assert only(team).where == path


def test_a_member_with_a_reserved_name_is_told(team: Team) -> None:
    (team.root / layout.member_log("lead")).mkdir()
    assert only(team).code == "reserved_name"


def test_a_newer_format_stops_one_log_and_nothing_else(team: Team, lead: Stores) -> None:
    run = lead.runs.open("Fix the shop")
    document = seal(f"run/{run.id}", run.to_json(), number=2, prev=1, commit_id="0") | {"format": 2}
    plant(team, f"{layout.run_log(run.id)}/2.json", pretty(document | {"digest": digest(document)}))
    plant(team, ".tasks/log/nonsense", b"")
    assert {"newer_format", "foreign_name"} <= set(codes(team))


# tasks and graph


def test_a_task_without_a_valid_version_is_an_error(team: Team, lead: Stores) -> None:
    plant(team, layout.record(layout.task_log(made(lead).id), 1), b"")
    assert "task_unreadable" in codes(team)


def test_a_published_task_that_the_graph_does_not_name_is_added(team: Team, lead: Stores) -> None:
    task = made(lead)
    (team.root / layout.record(layout.GRAPH_LOG, 1)).unlink()
    assert "not_in_graph" in codes(team)
    assert not repaired(team).left
    assert [known.id for known in open_stores(team, "person").tasks.all()] == [task.id]


def test_a_spoiled_graph_stops_nobody_and_is_said_again_from_what_there_is(team: Team, lead: Stores) -> None:
    run = lead.runs.open("Fix it")
    lead.runs.update(run.id, branch="b")
    tasks = [made(lead)]
    for _ in range(5):  # each needs the one before it, whatever their ids are
        tasks.append(made(lead, tasks[-1].id))
    bob = comes_alive(team, "bob", dead())
    stores_of(team, bob).tasks.claim(tasks[0].id, claimant(bob))
    path = team.root / layout.record(layout.GRAPH_LOG, 1)
    path.write_bytes(path.read_bytes().replace(b'"kind"', b'"kond"'))
    Sweep(leads(team), ttl=lambda: 15.0).look()
    assert {"not_in_graph"} == {code for code in codes(team) if code.startswith("not_")}
    before = records(team)
    assert not [finding for finding in repaired(team).left if finding.counts]
    assert before.items() <= records(team).items()
    fresh = open_stores(team, "person")
    assert fresh.runs.open_run() == lead.runs.get(run.id)
    assert {task.id: task.blocked_by for task in fresh.tasks.all()} == {
        task.id: task.blocked_by for task in tasks
    }


def test_a_task_whose_maker_died_before_it_existed_is_a_note(team: Team, lead: Stores) -> None:
    made(lead)
    lead.tasks.create([TaskDraft(subject="B")])
    (team.root / layout.record(layout.GRAPH_LOG, 2)).unlink()
    assert (only(team).code, only(team).severity) == ("unannounced", Severity.NOTE)


def test_an_edge_that_waits_is_settled(team: Team, lead: Stores) -> None:
    first, second = made(lead), made(lead)
    board = TaskBoard(team, "lead~1")
    board.change(second.id, lambda task, _: want_edges(task, [PendingEdge(edge="edge_1", needs=first.id)]))
    assert "edge_pending" in codes(team)
    assert not repaired(team).left
    assert lead.tasks.get(second.id).blocked_by == (first.id,)


def test_an_edge_that_only_one_side_knows_is_made_known_to_the_other(team: Team, lead: Stores) -> None:
    first, second, third = made(lead), made(lead), made(lead)
    lead.tasks.add_edges(second.id, [first.id])
    newest = len(list((team.root / layout.GRAPH_LOG).iterdir()))
    (team.root / layout.record(layout.GRAPH_LOG, newest)).unlink()
    TaskBoard(team, "lead~1").graph.propose("edge_2", third.id, first.id)
    assert {"edge_not_in_graph", "edge_not_in_task"} <= set(codes(team))
    assert not repaired(team).left
    board = TaskBoard(team, "person")
    assert board.get(third.id).blocked_by == (first.id,)
    assert board.graph.state.needs == {second.id: [first.id], third.id: [first.id]}


def test_views_hints_and_holdings_are_made_anew(team: Team, lead: Stores, alice: Member) -> None:
    held, free = claimed(team, lead, alice), made(lead)
    (team.root / layout.task_view(free.id)).unlink()
    for top in (layout.READY, f"{layout.TASKS}/holdings"):
        for hint in (team.root / top).rglob("task_*"):
            hint.unlink()
    for hint in (team.root / layout.READY).rglob("*-task_*"):
        hint.unlink()
    plant(team, f"{layout.ready_hints('any')}/5-00000000-{held.id}", b"")
    assert sorted(codes(team)) == ["hint_lost", "hint_wrong", "holding_lost", "view_behind"]
    assert not repaired(team).left


def test_an_edit_by_hand_is_taken_over(team: Team, lead: Stores) -> None:
    task = made(lead)
    view = team.root / layout.task_view(task.id)
    view.write_bytes(view.read_bytes().replace(b'"A"', b'"B"'))
    assert only(team).code == "view_edited"
    assert not repaired(team).left
    assert lead.tasks.get(task.id).subject == "B"


def test_a_view_that_is_no_edit_is_kept_beside(team: Team, lead: Stores) -> None:
    task = made(lead)
    plant(team, layout.task_view(task.id), b"notes of mine")
    assert not repaired(team).left
    assert [path.read_bytes() for path in (team.root / layout.TASKS).glob("*.conflict-*")] == [
        b"notes of mine"
    ]


# members, leases, questions


def test_the_dead_are_buried_and_their_task_is_taken_back(team: Team, lead: Stores) -> None:
    task = claimed(team, lead, beats(team, comes_alive(team, "bob", dead())))
    assert "member_dead" in codes(team)
    assert not repaired(team).left
    after = lead.tasks.get(task.id)
    assert (after.status, after.owner, after.attempts) == (Status.PENDING, None, 1)


def test_who_is_far_away_is_not_taken_for_dead(team: Team, lead: Stores) -> None:
    claimed(team, lead, beats(team, comes_alive(team, "bob", elsewhere())))
    assert codes(team) == []


def test_a_task_of_one_that_closed_is_taken_back(team: Team, lead: Stores, alice: Member) -> None:
    task = claimed(team, lead, alice)
    lead.roster.closing("alice", 2)
    lead.roster.closed("alice", 2, {})
    assert codes(team) == ["holder_gone"]
    assert not repaired(team).left
    assert lead.tasks.get(task.id).status is Status.PENDING


def test_a_holder_without_a_beat_is_told(team: Team, lead: Stores, alice: Member) -> None:
    claimed(team, lead, alice)
    (team.root / layout.beat("alice~2")).unlink()
    assert only(team).code == "no_beat"


def test_a_member_that_holds_two_tasks_is_told(team: Team, lead: Stores, alice: Member) -> None:
    first, second = claimed(team, lead, alice), made(lead)
    board = TaskBoard(team, "alice~2")
    board.change(second.id, lambda task, n: claim(task, owner="alice", holder="alice~2", number=n))
    board.holdings.add("alice", second.id)
    open_stores(team, "person").tasks.repair()
    found = only(team)
    assert found.code == "holds_two"
    assert first.id in found.what


def test_a_start_of_a_lead_that_is_gone_is_called_off(team: Team) -> None:
    lead = leads(team, dead())
    lead.roster.start("bob")
    assert codes(team) == ["start_left"]
    assert not repaired(team).left
    member = lead.roster.member("bob")
    assert member
    assert member.state is MemberState.WITHDRAWN


def test_a_run_without_a_lead_is_a_note(team: Team) -> None:
    leads(team, dead()).runs.open("Fix the shop")
    assert (only(team).code, only(team).severity) == ("no_lead", Severity.NOTE)


def test_a_question_of_one_who_is_gone_is_settled(team: Team, lead: Stores, alice: Member) -> None:
    own = stores_of(team, alice)
    asked = own.requests.ask(Kind.PLAN, "A", reviewer="lead")
    own.roster.closing("alice", 2)
    own.roster.closed("alice", 2, {})
    assert (only(team).code, only(team).severity) == ("asker_gone", Severity.NOTE)
    assert not repaired(team).left
    assert lead.requests.get(asked.id).answer


def test_a_second_answer_does_not_count(team: Team, lead: Stores, alice: Member) -> None:
    asked = stores_of(team, alice).requests.ask(Kind.PLAN, "A", reviewer="lead")
    lead.requests.decide(asked.id, Verdict.APPROVE)
    first = json.loads((team.root / layout.record(layout.request_log(asked.id), 2)).read_bytes())
    again = seal(f"request/{asked.id}", first | {"verdict": "deny"}, number=3, prev=2, commit_id="0")
    plant(team, layout.record(layout.request_log(asked.id), 3), pretty(again))
    assert (only(team).code, only(team).severity) == ("invalid_record", Severity.NOTE)


# mail


def receives(team: Team, lead: Stores, alice: Member) -> Path:
    """Alice has read a message of the lead; the path of her journal."""
    lead.outbox.send("alice", "hello")
    assert alice.incarnation == 2
    inbox = Inbox(team, "alice", 2, Roster(team, "alice~2"), Positions())
    (delivery,) = inbox.read_new()
    line = {"n": 1, "kind": DELIVERY_KIND, **delivery.to_json()}
    path = plant(team, layout.journal("alice~2"), json.dumps(line).encode() + b"\n")
    inbox.show([delivery])
    return path


def test_a_torn_line_in_a_box_is_a_note(team: Team, lead: Stores, alice: Member) -> None:
    receives(team, lead, alice)
    write(team, "alice", "lead~1", b'\n{"id": "half\n\0\0\0\n')
    assert (only(team).code, only(team).severity) == ("bad_line", Severity.NOTE)
    assert "and 1 more" in only(team).what


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("mailboxes/alice.d/notes.txt", "foreign_name"),
        ("mailboxes/alice.d/bob~3.jsonl", "unknown_sender"),
        ("mailboxes/nobody.d/x", "foreign_name"),
        (".team/transcripts/x.txt", "foreign_name"),
    ],
)
def test_what_is_no_mail_is_told(team: Team, alice: Member, path: str, code: str) -> None:
    assert alice.name == "alice"
    plant(team, path, b"")
    assert [found.code for found in inspect(open_stores(team, "person")) if found.counts] == [code]


def test_a_position_beyond_its_source_is_an_error(team: Team, lead: Stores, alice: Member) -> None:
    receives(team, lead, alice)
    os.truncate(team.root / layout.sent("alice", "lead~1"), 10)
    assert "position_beyond" in codes(team)


def test_a_damaged_journal_is_told(team: Team, lead: Stores, alice: Member) -> None:
    journal = receives(team, lead, alice)
    journal.write_bytes(journal.read_bytes() + b'{"torn\n')
    assert codes(team) == ["torn_line"]
    journal.write_bytes(b'{"n":1,"kind":"checkpoint","positions":"none"}\n')
    assert codes(team) == ["journal_damaged"]


def test_a_message_heard_twice_is_an_error(team: Team, lead: Stores, alice: Member) -> None:
    journal = receives(team, lead, alice)
    journal.write_bytes(journal.read_bytes() + journal.read_bytes().replace(b'"n": 1', b'"n": 2'))
    assert "delivered_twice" in codes(team)


def test_a_message_heard_by_a_successor_too_is_an_error_unless_the_first_time_is_void(
    team: Team, lead: Stores, alice: Member
) -> None:
    first = receives(team, lead, alice)
    lead.roster.restart("alice", after=2)
    for offset, expected in ((first.stat().st_size, ["delivered_twice"]), (0, [])):
        checkpoint = {"n": 1, "kind": "checkpoint", "follows": "alice~2", "offset": offset, "positions": {}}
        line = json.dumps(checkpoint).encode() + b"\n"
        plant(team, layout.journal("alice~3"), line + first.read_bytes().replace(b'"n": 1', b'"n": 2'))
        assert [code for code in codes(team) if code == "delivered_twice"] == expected


def test_the_readable_mail_of_one_who_is_gone_is_written_anew(
    team: Team, lead: Stores, alice: Member
) -> None:
    receives(team, lead, alice)
    lead.roster.closing("alice", 2)
    lead.roster.closed("alice", 2, {})
    view = team.root / layout.received("alice~2")
    view.unlink(missing_ok=True)
    assert codes(team) == ["mail_view_behind"]
    assert not repaired(team).left
    assert json.loads(view.read_bytes())["content"] == "hello"


# files


def test_leftovers_of_the_dead_are_removed_and_those_of_the_living_stay(team: Team) -> None:
    me = this_process()
    names = {pid: f".tmp~{me.host}~{me.boot[:8]}~{pid}~0123456789ab" for pid in (me.pid, 2**22 + 1)}
    for name in names.values():
        plant(team, f"{layout.TASK_LOGS}/{name}", b"half")
    assert only(team).where.endswith(names[2**22 + 1])
    assert not repaired(team).left
    assert (team.root / layout.TASK_LOGS / names[me.pid]).exists()


@pytest.mark.parametrize(
    ("make", "code"),
    [(lambda path: path.symlink_to("/"), "link"), (os.mkfifo, "no_file")],
)
def test_links_and_pipes_are_told(team: Team, make: Callable[[Path], None], code: str) -> None:
    make(team.root / layout.EVENTS / "bob.jsonl")
    assert only(team).code == code
