"""What a run offers is the same in all its processes, and a difference is told."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from agent_worker.__main__ import OtherDigests, _check_digests, _start
from agent_worker.compose import Teammate
from coordination import layout
from coordination.finding import Severity
from coordination.roster import Roster
from harness.catalogs import pinned_catalogs
from harness.pinned import PinLost, pin, pinned
from harness.pinned_policy import policy_digest
from harness.settings.settings import load_settings, settings_from
from orchestrator.inspection.pins import differences, inspect_pins
from orchestrator.inspection.status import render, status
from orchestrator.lead.handed_on import handed_on
from orchestrator.lead.opening import Opened, make_team, open_again, open_goal
from orchestrator.lead.parts import LeadParts
from tests.support.people import comes_alive
from tests.support.repository import Repository
from tests.support.teammate import SETTINGS
from tests.support.tools import call
from tests.support.trust import offered

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from coordination.stores import Stores

SKILL = "---\nname: tables\ndescription: Loads tables. Use for imports.\n---\n\nBODY {}\n"


def write_skill(root: Path, text: str) -> None:
    folder = root / "skills" / "tables"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "SKILL.md").write_text(SKILL.format(text), encoding="utf-8")


@pytest.fixture
def opened(tmp_path: Path) -> Opened:
    repository = Repository.create(tmp_path / "project", {"a.py": "A = 1\n"})
    write_skill(repository.path, "one")
    team, git = make_team(repository.path, None)
    return open_goal(
        team, git, SETTINGS, goal="Fix it", catalogs=offered(team.root, SETTINGS), tasks=(), workers=0
    )


@pytest.fixture
def parts(opened: Opened) -> Iterator[LeadParts]:
    made = LeadParts(opened, SETTINGS)
    yield made
    made.wakeup.close()


def told(stores: Stores) -> list[str]:
    return [difference.what for difference in differences(stores)]


@pytest.mark.anyio
async def test_lead_and_teammate_have_the_skills_as_they_were_at_the_start(parts: LeadParts) -> None:
    opened = parts.opened
    write_skill(opened.team.root, "two")
    alice = Teammate(opened.team, comes_alive(opened.team, "alice", digests=opened.run.digests), SETTINGS)
    alice.keeper.start()
    lead = parts.conversation(on_text=lambda _: None).agent
    for agent in (lead, alice.worker()._agent):
        (result,) = await agent._pool.run([call("load_skill", name="tables")])
        assert "BODY one" in result["content"]
        assert "Loads tables." in agent._system()
        assert "BODY" not in agent._system()
    alice.close("done")
    assert told(opened.stores) == ["the skill tables has changed on disk since the run began"]


@pytest.mark.anyio
async def test_a_spawned_teammate_starts_with_the_digests_of_the_run(parts: LeadParts) -> None:
    await parts.host.spawn({"name": "bob"})
    bob = parts.stores.roster.member("bob")
    assert bob
    assert bob.digests == parts.opened.run.digests


def test_a_difference_is_shown_by_status_and_fsck(opened: Opened) -> None:
    assert told(opened.stores) == []
    comes_alive(opened.team, "alice", digests=opened.run.digests)
    comes_alive(opened.team, "bob", digests={"skills": "0" * 64})
    write_skill(opened.team.root, "two")
    assert [finding.severity for finding in inspect_pins(opened.stores)] == [Severity.WARNING] * 2
    kinds = "instructions and mcp and policy and repository and roles and skills"
    assert told(opened.stores)[1] == f"bob has other {kinds} than the lead of {opened.run.id}"
    assert "leadhand resume" in render(status(opened.stores))


def test_the_next_lead_takes_up_what_changed(opened: Opened) -> None:
    write_skill(opened.team.root, "two")
    opened.stores.leadership.end(opened.term)
    again = open_again(opened.team, opened.git, SETTINGS, catalogs=offered(opened.team.root, SETTINGS))
    assert again.run.digests != opened.run.digests
    assert told(again.stores) == []


def test_what_was_pinned_is_never_taken_from_a_changed_file(opened: Opened) -> None:
    directory = opened.team.directory
    digest = pin(directory, {"a": "ü"})
    assert pin(directory, {"a": "ü"}) == digest
    assert pinned(directory, digest) == {"a": "ü"}
    (opened.team.root / layout.pinned(digest)).write_bytes(b"{}")
    with pytest.raises(PinLost, match="missing or was changed"):
        pinned(directory, digest)
    (opened.team.root / layout.pinned(opened.run.digests["skills"])).unlink()
    assert "missing or was changed" in told(opened.stores)[0]


@pytest.mark.anyio
async def test_lead_and_teammate_have_the_servers_as_they_were_at_the_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DOCS_TOKEN", "t-very-secret")
    repository = Repository.create(tmp_path / "project", {"a.py": "A = 1\n"})
    config = repository.path / ".mcp.json"
    config.write_text('{"mcpServers": {"docs": {"command": "docs", "env": {"T": "${DOCS_TOKEN}"}}}}')
    team, git = make_team(repository.path, None)
    run = open_goal(
        team, git, SETTINGS, goal="Fix it", catalogs=offered(team.root, SETTINGS), tasks=(), workers=0
    )
    config.write_text('{"mcpServers": {"other": {"command": "other"}}}')
    parts = LeadParts(run, SETTINGS)
    alice = Teammate(team, comes_alive(team, "alice", digests=run.run.digests), SETTINGS)
    alice.keeper.start()
    lead = parts.conversation(on_text=lambda _: None).agent
    for agent in (lead, alice.worker()._agent):
        assert "# MCP servers" in agent._system()
        assert "- docs: not connected yet" in agent._system()
        (result,) = await agent._pool.run([call("connect_mcp", name="docs")])
        assert result["content"].startswith("[permission/")
    alice.close("done")
    parts.wakeup.close()
    assert told(run.stores) == [
        "the MCP server docs is gone on disk since the run began",
        "the MCP server other is new on disk since the run began",
    ]
    # the value reaches teammates through their standard input, and lies in no file of the team
    given = handed_on(SETTINGS, parts.catalogs, {}, None)["settings"]
    assert isinstance(given, dict)
    assert given["mcp.variables"] == {"DOCS_TOKEN": "t-very-secret"}
    parts.journal.append("user", text="the token is t-very-secret")
    files = [path for path in (team.root / ".team").rglob("*") if path.is_file()]
    assert not [path for path in files if b"t-very-secret" in path.read_bytes()]


RULES = "permissions:\n  deny: [bash(curl *)]\nmcp:\n  values:\n    docs/search.place: [here]\n"
HOOK = "hooks:\n  Stop:\n    - hooks: [{type: command, command: 'true'}]\n"


def test_a_teammate_that_its_lead_started_judges_by_the_same_policy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LEADHAND_PERMISSIONS_ALLOW", "mcp__docs__search")
    repository = Repository.create(tmp_path / "project", {"a.py": "A = 1\n", "leadhand.yaml": RULES + HOOK})
    team, git = make_team(repository.path, None)
    settings = load_settings(team.root, {"model.id": "m"})
    catalogs = offered(team.root, settings)
    run = open_goal(team, git, settings, goal="Fix it", catalogs=catalogs, workers=0).run
    given = handed_on(settings, pinned_catalogs(team.directory, run.digests), run.digests, None)
    taken = settings_from(json.loads(json.dumps(given))["settings"])
    alice = comes_alive(team, "alice", digests=run.digests)
    _check_digests(alice, taken, given)
    with pytest.raises(OtherDigests):
        _check_digests(alice, replace(taken, deny=()), given)
    monkeypatch.delenv("LEADHAND_PERMISSIONS_ALLOW")
    by_hand = load_settings(team.root, {"model.id": "m"})
    assert policy_digest(by_hand) != run.digests["policy"]  # it was not told what the lead was


def test_a_member_by_hand_that_judges_by_other_rules_is_told_by_status_and_fsck(opened: Opened) -> None:
    team, digests = opened.team, dict(opened.run.digests)
    settings = replace(SETTINGS, deny=("bash(curl *)",))
    carol = _start(team, Roster(team, "person"), "carol", "teammate", settings, digests)
    assert told(opened.stores) == [f"{carol.name} has other policy than the lead of {opened.run.id}"]
    assert [finding.code for finding in inspect_pins(opened.stores)] == ["other_digest"]


def test_a_file_that_was_named_on_the_command_line_is_no_difference(tmp_path: Path) -> None:
    named = tmp_path / "more.json"
    named.write_text('{"mcpServers": {"docs": {"command": "docs"}}}')
    repository = Repository.create(tmp_path / "project", {"a.py": "A = 1\n"})
    team, git = make_team(repository.path, None)
    settings = replace(SETTINGS, mcp_config=(str(named),))
    catalogs = offered(team.root, settings)
    opened = open_goal(team, git, settings, goal="Fix it", catalogs=catalogs, workers=0)
    assert told(opened.stores) == []
    named.write_text('{"mcpServers": {"docs": {"command": "other"}}}')
    assert told(opened.stores) == ["the MCP server docs has changed on disk since the run began"]
