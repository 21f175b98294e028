"""A lead that stood still between check and link commits nothing once another has its term."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from coordination import layout
from coordination.protocols import Kind, TermOver
from coordination.records import MemberState, Status, Verdict
from coordination.stores import open_stores
from coordination.tasks.drafts import TaskDraft
from coordination.tasks.refusals import Claimant
from orchestrator.lead.opening import stamp
from orchestrator.supervisor import Supervisor
from tests.support.freezing import freezing
from tests.support.launcher import FakeLauncher
from tests.support.people import comes_alive, dead, leads, stores_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from coordination.stores import Stores
    from coordination.team_root import Team


class Scene:
    """A lead at work; whatever it commits below a path comes after its supersession."""

    def __init__(self, team: Team) -> None:
        self.team = team
        self.first = leads(team, dead())
        alice = comes_alive(team, "alice")
        self.question = stores_of(team, alice).requests.ask(Kind.PLAN, "A", reviewer="lead").id
        self.run = self.first.runs.open("Fix it").id
        self.one, self.two = (task.id for task in self.first.tasks.create([TaskDraft(subject="A")] * 2))

    def frozen_before(self, path: str) -> Stores:
        """The same lead; it passes its checks, then another leads, then it goes on."""
        return open_stores(freezing(self.team, path, self._superseded), "lead~1")

    def _superseded(self) -> None:
        self.second = leads(self.team)
        stamp(self.second, 2)
        self.before = self.all_records()

    def all_records(self) -> set[str]:
        """What every log holds that counts, as `log/number by whom`."""
        stores = leads_again(self.team)
        found = {
            f"{task.id} {number} {task.by}"
            for task in stores.tasks.all()
            for number, task in stores.tasks.history(task.id)
        }
        found |= {f"run {run.id} {run.state}" for run in stores.runs.all()}
        found |= {
            f"member {member}" for name in stores.roster.names() for member in stores.roster.history(name)
        }
        return found | {f"question {self.question} {stores.requests.get(self.question).answer}"}


def leads_again(team: Team) -> Stores:
    return open_stores(team, "lead~2")


@pytest.fixture
def scene(team: Team) -> Scene:
    return Scene(team)


def adds_edges(scene: Scene, lead: Stores) -> None:
    lead.tasks.add_edges(scene.one, [scene.two])


ACTS: dict[str, tuple[str, Callable[[Scene, Stores], object]]] = {
    "a new task, before its own record": (
        layout.TASK_LOGS,
        lambda _, lead: lead.tasks.create([TaskDraft(subject="B")]),
    ),
    "a new task, before the graph names it": (
        layout.GRAPH_LOG,
        lambda _, lead: lead.tasks.create([TaskDraft(subject="B")]),
    ),
    "a verdict on an edge": (layout.GRAPH_LOG, adds_edges),
    "a change of a member": (
        layout.member_log("alice"),
        lambda _, lead: lead.roster.update("alice", None, plan_required=True),
    ),
    "a decision": (
        layout.REQUESTS,
        lambda scene, lead: lead.requests.decide(scene.question, Verdict.APPROVE),
    ),
    "a new run, before its own record": (layout.RUNS, lambda _, lead: lead.runs.open("Too late")),
    "a new run, before the graph names it": (layout.GRAPH_LOG, lambda _, lead: lead.runs.open("Too late")),
    "the end of a run": (layout.RUNS, lambda scene, lead: lead.runs.update(scene.run, state="done")),
    "the end of its term": (layout.LEAD_LOG, lambda _, lead: lead.leadership.end(1)),
}


@pytest.mark.parametrize("act", ACTS)
def test_nothing_counts_that_a_lead_links_after_its_supersession(scene: Scene, act: str) -> None:
    path, does = ACTS[act]
    with pytest.raises(TermOver):
        does(scene, scene.frozen_before(path))
    assert {record for record in scene.all_records() if "want_edges" not in record} == scene.before


@pytest.mark.parametrize("act", [act for act, (path, _) in ACTS.items() if path != layout.TASK_LOGS])
def test_a_lead_asks_for_its_term_before_it_writes_at_all(scene: Scene, act: str) -> None:
    leads(scene.team)  # which has stamped nothing yet
    with pytest.raises(TermOver):
        ACTS[act][1](scene, scene.first)


def test_a_start_that_was_recorded_too_late_is_launched_by_nobody_and_called_off(scene: Scene) -> None:
    late, launcher = scene.frozen_before(layout.member_log("bob")), FakeLauncher()
    start = late.roster.start("bob")
    with pytest.raises(TermOver):
        Supervisor(late, launcher, given={}).launch(start)
    Supervisor(scene.second, launcher, given={}).look()
    bob = scene.second.roster.member("bob")
    assert bob
    assert (bob.state, launcher.orders) == (MemberState.WITHDRAWN, [])


def test_what_a_lead_held_itself_is_ready_again_in_the_next_term(team: Team) -> None:
    first = leads(team, dead())
    (task,) = first.tasks.create([TaskDraft(subject="A")])
    first.tasks.publish([task.id])
    held = first.tasks.claim(task.id, Claimant(name="lead", incarnation=1, role="lead"))
    second = leads(team)
    stamp(second, 2)
    after = second.tasks.get(task.id)
    assert (after.status, after.owner, after.attempts) == (Status.PENDING, None, held.attempts + 1)


def test_a_term_that_ended_in_order_lets_its_lead_write_the_end_of_its_run(team: Team) -> None:
    lead = leads(team)
    run = lead.runs.open("Fix it")
    lead.leadership.end(1)
    assert lead.leadership.present() == 1
    assert lead.runs.update(run.id, state="done").state == "done"
