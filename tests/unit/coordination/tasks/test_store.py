"""The board: what is written, what is refused with nothing written, and who is told what."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest

from coordination import layout
from coordination.protocols import TermOver
from coordination.records import PendingEdge, Plan, Status, Task, TaskResult
from coordination.tasks.drafts import TaskDraft
from coordination.tasks.holdings import TaskHoldings
from coordination.tasks.refusals import (
    AlreadyOwned,
    BlankSubject,
    Claimant,
    Cycle,
    EdgesPending,
    FieldInvalid,
    HoldsAnother,
    NotOwner,
    NotPending,
    NotPublished,
    NotReady,
    NotUnclaimed,
    ReservedFor,
    SelfEdge,
    TaskUnreadable,
    UnknownTask,
    WrongRole,
)
from coordination.tasks.rules import InvalidTransition, StaleToken, want_edges
from coordination.tasks.store import TaskStore
from coordination.team_root import ForeignDirectory, Team, open_team
from tests.support.courtesy import LOCKS, lock_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

ALICE = Claimant(name="alice", incarnation=7)
BOB = Claimant(name="bob", incarnation=2)
RESULT = TaskResult(text="done, it says")
NOBODY = "task_ffffffff"


@pytest.fixture
def store(team: Team, request: pytest.FixtureRequest) -> TaskStore:
    return TaskStore(team, "lead~1", lambda: 1, lock=lock_of(team, getattr(request, "param", "lock")))


whatever_the_lock = pytest.mark.parametrize("store", LOCKS, indirect=True)


def made(store: TaskStore, *drafts: TaskDraft) -> list[Task]:
    return store.publish(task.id for task in store.create(drafts))


def pair(store: TaskStore) -> tuple[Task, Task]:
    """A, and B that needs it; both published."""
    first, second = made(store, TaskDraft(subject="A", key="a"), TaskDraft(subject="B", blocked_by=("a",)))
    return first, second


def finish(store: TaskStore, task: Task, claimant: Claimant = ALICE) -> list[Task]:
    token = store.claim(task.id, claimant).token
    assert token
    return store.complete(task.id, token, commit="c0ffee", branch="b", result=RESULT)[1]


def files(team: Team) -> dict[Path, bytes]:
    state = team.root / ".tasks"
    return {path: path.read_bytes() for path in state.rglob("*") if path.is_file()}


class Draws:
    """Ids in a fixed order."""

    def __init__(self, *ids: str) -> None:
        self._ids = list(ids)

    def __call__(self, prefix: str) -> str:
        return f"{prefix}_{self._ids.pop(0)}"


# making


def test_a_new_task_is_held_until_it_is_published(store: TaskStore) -> None:
    [task] = store.create([TaskDraft(subject="  some\n work ")])
    assert (task.subject, task.status) == ("some work", Status.HELD)
    with pytest.raises(NotPublished):
        store.claim(task.id, ALICE)
    assert store.claim_next(ALICE) is None
    store.publish([task.id])
    assert store.claim(task.id, ALICE).owner == "alice"


def test_tasks_are_listed_in_order_of_creation_and_by_run(store: TaskStore) -> None:  # T67
    made(store, *(TaskDraft(subject=name, run="run_1") for name in "cab"))
    made(store, TaskDraft(subject="d", run="run_2"))
    assert [task.subject for task in store.all()] == ["c", "a", "b", "d"]
    assert [task.subject for task in store.all("run_2")] == ["d"]


def test_drafts_of_one_call_may_need_each_other_by_key(store: TaskStore) -> None:
    second, first = store.create([TaskDraft(subject="B", blocked_by=("a",)), TaskDraft(subject="A", key="a")])
    assert second.blocked_by == (first.id,)


@pytest.mark.parametrize(
    ("drafts", "refusal"),
    [
        ([TaskDraft(subject=" ")], BlankSubject),
        ([TaskDraft(subject="A", blocked_by=(NOBODY,))], UnknownTask),
        ([TaskDraft(subject="A", redo_of=NOBODY)], UnknownTask),
        ([TaskDraft(subject="A", key="a", blocked_by=("a",))], SelfEdge),
        (
            [
                TaskDraft(subject="A", key="a", blocked_by=("b",)),
                TaskDraft(subject="B", key="b", blocked_by=("a",)),
            ],
            Cycle,
        ),
    ],
)
def test_one_bad_draft_and_nothing_is_written(
    store: TaskStore, team: Team, drafts: list[TaskDraft], refusal: type[Exception]
) -> None:
    with pytest.raises(refusal):
        store.create([TaskDraft(subject="fine"), *drafts])
    assert files(team) == {}


def test_an_id_that_is_taken_is_drawn_again_and_its_task_untouched(team: Team) -> None:  # T67
    draws = Draws("0000000a", "0000000a", "0000000b")
    store = TaskStore(team, "lead~1", draw_id=draws)
    [first] = store.create([TaskDraft(subject="first")])
    [second] = store.create([TaskDraft(subject="second")])
    assert (first.id, second.id) == ("task_0000000a", "task_0000000b")
    assert store.get(first.id) == first


def test_an_id_that_another_process_is_just_using_is_drawn_again(team: Team) -> None:
    team.directory.make(layout.task_log("task_0000000a"))
    team.directory.publish(layout.record(layout.task_log("task_0000000a"), 1), b"torn")
    store = TaskStore(team, "lead~1", draw_id=Draws("0000000a", "0000000b"))
    assert store.create([TaskDraft(subject="work")])[0].id == "task_0000000b"


def test_text_that_no_file_can_hold_is_mended(store: TaskStore) -> None:
    [task] = made(store, TaskDraft(subject="half a \ud83d face"))
    assert task.subject == "half a ? face"


def test_nothing_is_written_through_a_link_that_leads_out_of_the_team(
    team: Team, tmp_path: Path
) -> None:  # T69
    outside = tmp_path / "outside"
    (team.root / ".tasks").rename(outside)
    (team.root / ".tasks").symlink_to(outside)
    with pytest.raises(ForeignDirectory):
        open_team(team.root)


# edges


def test_edges_of_a_batch_are_exactly_on_disk(store: TaskStore, team: Team) -> None:  # T71
    a, b, c, d = (task.id for task in made(store, *(TaskDraft(subject=name) for name in "abcd")))
    store.add_edges(b, [a])
    store.add_edges(c, [a, b])
    store.add_edges(d, [c, c])
    edges = {task.id: set(task.blocked_by) for task in TaskStore(team, "person").all()}
    assert edges == {a: set(), b: {a}, c: {a, b}, d: {c}}


def test_a_cycle_is_refused_with_its_path_and_nothing_written(
    store: TaskStore, team: Team
) -> None:  # S7, T72
    a, b = pair(store)
    before = files(team)
    with pytest.raises(Cycle) as refused:
        store.add_edges(a.id, [b.id])
    assert refused.value.path == (a.id, b.id, a.id)
    with pytest.raises(SelfEdge):
        store.add_edges(a.id, [a.id])
    assert files(team) == before


def test_one_bad_id_among_several_and_no_edge_is_written(store: TaskStore, team: Team) -> None:  # T72
    a, b = made(store, TaskDraft(subject="A"), TaskDraft(subject="B"))
    before = files(team)
    with pytest.raises(UnknownTask, match=NOBODY):
        store.add_edges(b.id, [a.id, NOBODY])
    assert files(team) == before


def test_an_edge_onto_a_claimed_task_is_refused(store: TaskStore) -> None:
    a, b = made(store, TaskDraft(subject="A"), TaskDraft(subject="B"))
    store.claim(b.id, ALICE)
    with pytest.raises(NotUnclaimed, match="alice"):
        store.add_edges(b.id, [a.id])


@whatever_the_lock
def test_an_edge_left_pending_blocks_the_claim_until_a_repair_settles_it(store: TaskStore) -> None:
    a, b = made(store, TaskDraft(subject="A"), TaskDraft(subject="B"))
    lost = [PendingEdge(edge="edge_1", needs=a.id)]  # whose writer died before it asked for the verdict
    store._board.change(b.id, lambda task, _: want_edges(task, lost))
    with pytest.raises(EdgesPending):
        store.claim(b.id, ALICE)
    store.repair()
    assert store.get(b.id).blocked_by == (a.id,)


# claiming


def test_a_blocked_task_is_refused_and_names_what_it_waits_for(store: TaskStore) -> None:  # S8, T65
    a, b = pair(store)
    with pytest.raises(NotReady) as claimed:
        store.claim(b.id, ALICE)
    with pytest.raises(NotReady) as completed:
        store.complete(b.id, 3, commit=None, branch=None, result=RESULT)
    assert claimed.value.blockers == completed.value.blockers == (a.id,)
    assert a.id in str(claimed.value)


def test_completion_names_what_it_unblocked_and_that_can_be_claimed(store: TaskStore) -> None:  # T65, T140
    a, b = pair(store)
    [free] = made(store, TaskDraft(subject="ready before"))
    assert [task.subject for task in finish(store, a)] == ["B"]
    assert store.claim(b.id, ALICE).status is Status.IN_PROGRESS
    assert store.get(free.id).status is Status.PENDING


def test_a_task_with_two_needs_is_unblocked_by_the_second(store: TaskStore) -> None:
    a, b = made(store, TaskDraft(subject="A"), TaskDraft(subject="B"))
    made(store, TaskDraft(subject="C", blocked_by=(a.id, b.id)))
    assert finish(store, a) == []
    assert [task.subject for task in finish(store, b)] == ["C"]


def test_of_two_claimers_the_second_is_told_who_was_first(store: TaskStore, team: Team) -> None:
    [task] = made(store, TaskDraft(subject="A"))
    other = TaskStore(team, "bob~2")
    other.get(task.id)
    store.claim(task.id, ALICE)
    with pytest.raises(AlreadyOwned, match="alice"):
        other.claim(task.id, BOB)


def test_who_holds_a_task_must_finish_it_first(store: TaskStore, team: Team) -> None:  # T45
    a, b = made(store, TaskDraft(subject="A"), TaskDraft(subject="B"))
    store.claim(a.id, ALICE)
    with pytest.raises(HoldsAnother, match=f"must finish task {a.id}"):
        TaskStore(team, "alice~7").claim(b.id, ALICE)
    with pytest.raises(HoldsAnother):
        store.claim_next(ALICE)
    assert store.get(b.id).status is Status.PENDING


def test_only_the_holder_completes(store: TaskStore) -> None:  # T45, T65
    a, b = made(store, TaskDraft(subject="A"), TaskDraft(subject="B"))
    store.claim(a.id, ALICE)
    mine = store.claim(b.id, BOB).token
    assert mine
    with pytest.raises(StaleToken):
        store.complete(a.id, mine + 1, commit=None, branch=None, result=RESULT)


def test_roles_reservations_and_final_tasks_are_refused_by_name(store: TaskStore) -> None:
    roles, reserved, done = made(
        store,
        TaskDraft(subject="A", roles=("reviewer", "tester")),
        TaskDraft(subject="B", reserved_for="carol"),
        TaskDraft(subject="C"),
    )
    store.cancel(done.id, "not wanted")
    with pytest.raises(WrongRole, match="reviewer, tester"):
        store.claim(roles.id, ALICE)
    with pytest.raises(ReservedFor, match="carol"):
        store.claim(reserved.id, ALICE)
    with pytest.raises(NotPending, match="cancelled"):
        store.claim(done.id, ALICE)


@whatever_the_lock
def test_the_next_task_is_the_most_urgent_that_is_ready(store: TaskStore) -> None:  # W25
    first, *_ = made(
        store,
        TaskDraft(subject="first", key="first"),
        TaskDraft(subject="urgent but blocked", blocked_by=("first",), priority=0),
        TaskDraft(subject="urgent", priority=1),
        TaskDraft(subject="last"),
    )
    subjects = []
    while task := store.claim_next(ALICE):
        subjects.append(task.subject)
        store.complete(task.id, task.token or 0, commit=None, branch=None, result=RESULT)
    assert subjects == ["urgent", "first", "urgent but blocked", "last"]
    assert first.id


def test_a_need_that_another_process_completed_blocks_no_longer(store: TaskStore, team: Team) -> None:  # W23
    a, b = pair(store)
    other = TaskStore(team, "bob~2")
    assert other.blockers(b.id) == (a.id,)
    finish(store, a)
    assert other.claim(b.id, BOB).owner == "bob"


def test_a_hint_is_never_trusted(store: TaskStore, team: Team) -> None:
    _, blocked = pair(store)
    [for_reviewers] = made(store, TaskDraft(subject="C", roles=("reviewer",)))
    for wrong in (blocked, for_reviewers):
        team.directory.touch(f"{layout.ready_hints('any')}/0-00000000-{wrong.id}")
    shutil.rmtree(team.root / layout.ready_hints("reviewer"))
    first = store.claim_next(ALICE)
    assert first
    assert first.subject == "A"
    assert store.claim_next(Claimant(name="carol", incarnation=4, role="reviewer")) == store.get(
        for_reviewers.id
    )


def test_nothing_points_at_a_task_that_is_claimed_or_over(store: TaskStore, team: Team) -> None:
    a, b = made(store, TaskDraft(subject="A"), TaskDraft(subject="B", priority=1))
    finish(store, a)
    store.claim(b.id, BOB)
    assert team.directory.names(layout.ready_hints("any")) == []
    assert TaskHoldings(team).of("alice") == []
    assert TaskHoldings(team).of("bob") == [b.id]


def test_an_edited_task_is_found_at_its_new_place(store: TaskStore) -> None:
    _, late, roles = made(store, *(TaskDraft(subject=name) for name in ("A", "B", "C")))
    store.edit(late.id, priority=0)
    store.edit(roles.id, roles=("reviewer",), subject="for reviewers")
    reviewer = Claimant(name="carol", incarnation=4, role="reviewer")
    store.edit(roles.id, priority=0)
    next_ones = [store.claim_next(reviewer), store.claim_next(ALICE)]
    assert [task and task.subject for task in next_ones] == ["B", "A"]


@pytest.mark.parametrize(
    "fields",
    [{"priority": 77}, {"subject": ""}, {"roles": "reviewer"}, {"status": "completed"}, {"colour": "red"}],
)
def test_an_edit_that_cannot_be_names_the_field(store: TaskStore, fields: dict[str, object]) -> None:
    [task] = made(store, TaskDraft(subject="A"))
    with pytest.raises(FieldInvalid, match=next(iter(fields))):
        store.edit(task.id, **fields)
    assert store.get(task.id) == task


@whatever_the_lock
def test_lost_hints_cost_a_repair_and_no_task(store: TaskStore, team: Team) -> None:
    made(store, TaskDraft(subject="A"))
    for path in (team.root / ".tasks" / "ready").rglob("*-task_*"):
        path.unlink()
    assert store.claim_next(ALICE) is None
    store.repair()
    assert store.claim_next(ALICE)


@whatever_the_lock
def test_a_repair_finds_again_who_holds_what(store: TaskStore, team: Team) -> None:
    [task] = made(store, TaskDraft(subject="A"))
    store.claim(task.id, ALICE)
    (team.root / ".tasks" / "holdings" / "alice" / task.id).unlink()
    assert store.own_unfinished("alice") is None
    store.repair()
    assert store.own_unfinished("alice") == store.get(task.id)


def test_a_crash_between_intention_and_claim_leaves_nobody_bound(store: TaskStore, team: Team) -> None:
    a, b = made(store, TaskDraft(subject="A"), TaskDraft(subject="B"))
    (team.root / ".tasks" / "holdings" / "alice").mkdir(parents=True)
    (team.root / ".tasks" / "holdings" / "alice" / a.id).touch()
    assert store.claim(b.id, ALICE).owner == "alice"


def test_a_claim_looks_at_no_other_task(store: TaskStore, team: Team) -> None:  # W23
    *_, last = made(store, *(TaskDraft(subject=f"task {n}") for n in range(5)))
    fresh = TaskStore(team, "alice~7")
    fresh.claim(last.id, ALICE)
    assert set(fresh._board.logs._logs) == {last.id}


# under a token


@whatever_the_lock
def test_a_reclaimed_task_is_worth_nothing_to_its_old_holder(store: TaskStore) -> None:  # W27
    [task] = made(store, TaskDraft(subject="A"))
    old = store.claim(task.id, ALICE).token or 0
    store.reclaim(task.id, old, "silent for 15 s")
    new = store.claim(task.id, BOB).token or 0
    assert new > old
    writes: list[Callable[[], object]] = [
        lambda: store.bind(task.id, old, worktree="w", base="b"),
        lambda: store.submit_plan(task.id, old, Plan(number=1, digest="", request="")),
        lambda: store.complete(task.id, old, commit=None, branch=None, result=RESULT),
        lambda: store.refuse(task.id, old, RESULT),
        lambda: store.fail(task.id, old, RESULT, "late"),
        lambda: store.reclaim(task.id, old, "late"),
        lambda: store.release(task.id, old, "late"),
    ]
    for write in writes:
        with pytest.raises(StaleToken):
            write()
    with pytest.raises(InvalidTransition):  # what was not completed is not merged, whoever says so
        store.record_merge(task.id, "abba")
    assert store.own_unfinished("alice") is None


def test_silence_three_times_and_the_task_has_failed_with_its_history(store: TaskStore) -> None:  # W26
    [task] = made(store, TaskDraft(subject="poison"))
    for _ in range(3):
        store.reclaim(task.id, store.claim(task.id, ALICE).token or 0, "silent")
    assert store.get(task.id).status is Status.FAILED
    events = [version.event for _, version in store.history(task.id)]
    assert events == ["create", "publish", *["claim", "reclaim"] * 2, "claim", "fail"]


def test_a_restarted_owner_goes_on_and_others_cannot(store: TaskStore) -> None:
    [task] = made(store, TaskDraft(subject="A"))
    old = store.claim(task.id, ALICE).token
    assert store.resume(task.id, ALICE).token == old
    with pytest.raises(NotOwner, match="alice"):
        store.resume(task.id, BOB)
    resumed = store.resume(task.id, Claimant(name="alice", incarnation=9))
    assert (resumed.resumed_from, resumed.token) == (old, 4)


def test_a_cancelled_task_is_over_for_its_holder(store: TaskStore) -> None:
    [task] = made(store, TaskDraft(subject="A"))
    token = store.claim(task.id, ALICE).token or 0
    store.cancel(task.id, "the person changed their mind")
    with pytest.raises(StaleToken):
        store.complete(task.id, token, commit=None, branch=None, result=RESULT)
    assert store.own_unfinished("alice") is None


def test_only_completed_work_is_merged(store: TaskStore) -> None:
    a, b = pair(store)
    finish(store, a)
    assert store.record_merge(a.id, "abba").merged == "abba"
    with pytest.raises(InvalidTransition):
        store.record_merge(b.id, "abba")


def test_versions_say_who_made_them_and_when(store: TaskStore, team: Team) -> None:
    [task] = made(store, TaskDraft(subject="A"))
    claimed = TaskStore(team, "alice~7").claim(task.id, ALICE)
    assert (claimed.by, claimed.at, claimed.term) == ("alice~7", "2026-01-02T03:04:05.000Z", 1)


def test_a_lead_of_an_earlier_term_changes_nothing_more(store: TaskStore, team: Team) -> None:
    [task] = made(TaskStore(team, "lead~2"), TaskDraft(subject="A"))
    with pytest.raises(TermOver):
        store.cancel(task.id, "by the one who woke late")
    assert TaskStore(team, "alice~7").claim(task.id, ALICE).term == 2


# bad files


@pytest.mark.parametrize("task_id", ["", "nonsense", "../../etc/passwd", NOBODY])
def test_a_malformed_or_unknown_id_is_an_unknown_task(store: TaskStore, task_id: str) -> None:
    for act in (store.get, store.blockers, lambda task: store.claim(task, ALICE)):
        with pytest.raises(UnknownTask):
            act(task_id)


@whatever_the_lock
def test_one_corrupt_task_is_reported_and_the_others_go_on(store: TaskStore, team: Team) -> None:  # T139, W21
    a, b = made(store, TaskDraft(subject="A"), TaskDraft(subject="B"))
    (team.root / layout.record(layout.task_log(a.id), 1)).write_bytes(b"{ half a")
    fresh = TaskStore(team, "alice~7")
    assert fresh.all() == [b]
    assert "no JSON" in fresh.problems[a.id]
    with pytest.raises(TaskUnreadable, match=a.id):
        fresh.claim(a.id, ALICE)
    assert fresh.claim_next(ALICE) == fresh.get(b.id)


def test_a_need_whose_files_are_gone_blocks(store: TaskStore, team: Team) -> None:  # T139
    a, b = pair(store)
    finish(store, a)
    for path in (team.root / layout.task_log(a.id)).iterdir():
        path.unlink()
    fresh = TaskStore(team, "bob~2")
    assert fresh.blockers(b.id) == (a.id,)
    with pytest.raises(NotReady, match=a.id):
        fresh.claim(b.id, BOB)
