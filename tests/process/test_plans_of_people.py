"""Plans that the person decides from a second terminal (scenario S16), or that a lead forgets to decide."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.process.conftest import Stages
    from tests.support.team_process import Stage


PLANNED = """
  - when: {last_user: be slow, tools_called: ^$}
    call: {bash: {command: '@WAIT@'}}
  - when: {last_user: Plan approved, tools_called: submit_plan$}
    call: {write_file: {path: a.py, content: a = 2}}
  - when: {last_user: Plan rejected, tools_called: submit_plan$}
    call: {submit_plan: {plan: a.py is set to 2; grep shows it}}
  - when: {last_user: set a, tools_called: ^$}
    call: {write_file: {path: a.py, content: a = 2}}
  - when: {last_user: set a, tools_called: ^write_file$}
    call: {submit_plan: {plan: I will do it}}
  - when: {tools_called: '(bash|write_file)$'}
    call: {complete_task: {summary: it is done}}
  - say: Done.
"""
TASKS = (
    {"key": "a", "subject": "set a", "checks": ["done"], "plan": True, "priority": 1},
    {"key": "b", "subject": "be slow", "checks": ["any"]},
)


FORGETFUL = """
  - when: {system: role=lead, tools_called: ^$}
    call:
      - create_task: {subject: paint, description: Paint it., checks: [any], require_plan: true}
      - spawn_teammate: {name: painter}
  - when: {system: role=lead, last_user: '@WHEN@"plans_wait">\\s+(?P<id>req_\\w+)', tools_called: mate$}
    call: {review_plan: {request_id: '${id}', approve: true}}
  - when: {system: role=teammate, tools_called: ^$}
    call: {submit_plan: {plan: paint it blue}}
  - when: {system: role=teammate, tools_called: submit_plan$}
    call: {complete_task: {summary: painted}}
  - say: Good.
"""


def submitted(stage: Stage, number: int) -> str:
    """The id of so manieth plan."""
    stage.wait(lambda: len(stage.events("plan_submitted")) == number, f"plan {number}")
    request: str = stage.events("plan_submitted")[-1]["request"]
    return request


def test_s16_an_approval_after_the_end_of_the_asker_is_out_of_date_and_the_next_one_starts_with_a_closed_gate(
    staged: Stages,
) -> None:
    stage = staged(PLANNED, LEADHAND_PLAN_REVIEWER="person")
    run = stage.start_tasks(*TASKS, workers=2)
    late = submitted(stage, 1)
    planner = stage.owner("set a")
    stage.leadhand("stop", planner)
    stage.until("closed", who=f"{planner}~2")
    refused = stage.leadhand("approve", late)
    assert refused.code == 2
    assert "is gone" in refused.complaint
    by_hand = stage.start("worker", "--name", planner)
    assert stage.leadhand("deny", submitted(stage, 2), "--reason", "say how we will know").code == 0
    assert stage.leadhand("approve", submitted(stage, 3)).code == 0
    stage.until("merged", subject="set a")
    stage.let_go()
    assert run.end().code == 0
    assert by_hand.end().code == 0
    refusals = stage.events("tool_refused", gate="plan", reason="plan_required")
    assert {event["who"] for event in refusals} == {
        f"{planner}~2",
        f"{planner}~{incarnation(stage, planner)}",
    }
    assert stage.owner("set a") == planner


def incarnation(stage: Stage, name: str) -> int | None:
    member = stage.stores.roster.member(name)
    assert member is not None
    assert member.launcher == "hand"
    return member.incarnation


@pytest.mark.parametrize(("heeds", "code"), [(True, 0), (False, 3)])
def test_a_lead_is_reminded_once_of_a_plan_it_forgot_and_then_the_run_waits_for_the_person(
    staged: Stages, *, heeds: bool, code: int
) -> None:  # W16
    stage = staged(FORGETFUL.replace("@WHEN@", "" if heeds else "never "))
    ended = stage.leadhand("run", "paint", "--yes", "--no-input", "--json")
    assert ended.code == code, ended
    reminders = [line for line in stage.journal("lead~1") if "plans_wait" in line.get("text", "")]
    assert len(reminders) == 1
    assert (stage.task("paint").merged is not None) is heeds
