"""What a run offers is the same in all its processes, and a difference is told."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from agent_worker.compose import Teammate
from coordination import layout
from coordination.finding import Severity
from harness.pinned import PinLost, pin, pinned
from orchestrator.handed_on import handed_on
from orchestrator.lead_parts import LeadParts
from orchestrator.opening import Opened, make_team, open_again, open_goal
from orchestrator.pins import differences, inspect_pins
from orchestrator.status import render, status
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
    assert (
        told(opened.stores)[1]
        == "bob has other instructions and mcp and repository and roles and skills than the lead of "
        f"{opened.run.id}"
    )
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
    given = handed_on(SETTINGS, parts.catalogs, {})["settings"]
    assert isinstance(given, dict)
    assert given["mcp.variables"] == {"DOCS_TOKEN": "t-very-secret"}
    parts.journal.append("user", text="the token is t-very-secret")
    files = [path for path in (team.root / ".team").rglob("*") if path.is_file()]
    assert not [path for path in files if b"t-very-secret" in path.read_bytes()]
