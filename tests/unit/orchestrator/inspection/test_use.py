"""What is used, and what each request holds."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from coordination.events import EventLog
from orchestrator.inspection.use import ESTIMATED, render, used
from tests.support.people import leads
from tests.support.teammate import SETTINGS

if TYPE_CHECKING:
    from coordination.team_root import Team

REQUEST = {"prompt": 900, "instructions": 120, "roles": 0, "skills": 40, "tools": 2500, "server_list": 30}


def test_the_newest_request_of_each_member_is_shown_by_its_parts(team: Team) -> None:
    lead = leads(team)
    run = lead.runs.open("Fix it", base="0" * 40, checks={})
    events = EventLog(team.directory, team.clock, "alice~7")
    events.record("model_call", run=run.id, model="m", usage={"calls": 1, "input_tokens": 5}, tools=[])
    for docs in ({}, {"docs": 830}):
        events.record("request_cost", run=run.id, **REQUEST, servers=docs)
    events.record("request_cost", run="run_00000000", **REQUEST, servers={"other": 1})
    facts = used(lead, run, SETTINGS)
    assert ESTIMATED not in render(facts)
    assert ESTIMATED in render(used(lead, run, replace(SETTINGS, prices=("m 3 15",))))
    assert facts["requests"] == {"alice": REQUEST | {"servers": {"docs": 830}}}
    shown = render(facts)
    assert "estimated, a quarter of the bytes" in shown
    assert "docs 830" in shown
    assert [*map(str, REQUEST.values())] == shown.splitlines()[-1].split()[1:7]


def test_each_turn_has_its_price_as_far_as_one_is_known(team: Team) -> None:
    lead = leads(team)
    run = lead.runs.open("Fix it", base="0" * 40, checks={})
    events = EventLog(team.directory, team.clock, "alice~7")
    million = {"calls": 1, "input_tokens": 1_000_000}
    for model, usage in (("m", million), ("other", million), ("m", {"calls": "x"})):
        events.record("model_call", run=run.id, model=model, usage=usage, tools=[])
    facts = used(lead, run, replace(SETTINGS, prices=("m 3 15",)))
    assert [turn["usd"] for turn in facts["turns"]] == [3.0, None, None]
