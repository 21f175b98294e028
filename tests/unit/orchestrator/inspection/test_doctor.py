from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from coordination.profile import Joined, Profile
from harness.mcp.listing import Listed
from harness.mcp.names import Origin
from harness.mcp.seen import SeenByTeam
from orchestrator.cli.repair import doctor
from orchestrator.inspection.doctor import EXAMINATIONS, Place, State, _hosts, examine
from tests.support.sandbox import needs_sandbox
from workspace.sandbox.choice import in_words
from workspace.sandbox.sandbox import BUBBLEWRAP, OFF

if TYPE_CHECKING:
    from pathlib import Path

    from coordination.team_root import Team
    from orchestrator.inspection.doctor import Point


@pytest.fixture(autouse=True)
def _no_model(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("MODEL_ID", "ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_BASE_URL"):
        monkeypatch.delenv(name, raising=False)


def about(topic: str, root: Path) -> list[Point]:
    return [point for point in examine(Place(root=root, repository=root)) if point.topic == topic]


def test_a_directory_without_a_repository_is_a_fault_and_the_other_points_are_still_looked_at(
    tmp_path: Path,
) -> None:
    points = examine(Place(root=tmp_path, repository=tmp_path))
    assert [point.topic for point in points if point.state is State.FAULT] == ["repository", "model", "model"]
    assert {point.topic for point in points} == {topic for topic, _ in EXAMINATIONS}


def test_each_fault_says_what_to_do(tmp_path: Path) -> None:
    faults = [
        point for point in examine(Place(root=tmp_path, repository=tmp_path)) if point.state is State.FAULT
    ]
    for point in faults:
        assert point.remedy or "git init" in point.says


def test_settings_that_cannot_be_used_are_one_fault_and_what_needs_none_is_still_looked_at(
    tmp_path: Path,
) -> None:
    (tmp_path / "leadhand.yaml").write_text("nonsense: 1\n")
    points = examine(Place(root=tmp_path, repository=tmp_path))
    (told,) = [point for point in points if "nonsense" in point.says]
    assert (told.topic, told.state) == ("settings", State.FAULT)
    assert {point.topic for point in points} == {"machine", "repository", "settings", "team"}


def test_a_model_with_a_key_and_a_price_has_nothing_to_tell(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("MODEL_ID=m\nANTHROPIC_API_KEY=k-secret\n")
    (tmp_path / "leadhand.yaml").write_text("prices: [m 1 2]\n")
    assert {point.state for point in about("model", tmp_path)} == {State.OK}
    assert "k-secret" not in str(examine(Place(root=tmp_path, repository=tmp_path)))


def test_commands_without_a_sandbox_are_worth_knowing_and_undecided_ones_a_fault(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (point,) = about("sandbox", tmp_path)
    assert (point.state, point.says) == (State.NOTE, in_words(OFF, "all"))
    assert "install bubblewrap" in point.remedy
    monkeypatch.setenv("LEADHAND_SANDBOX", "auto")
    monkeypatch.setenv("PATH", str(tmp_path))
    (point,) = about("sandbox", tmp_path)
    assert point.state is State.FAULT
    assert "Install bubblewrap" in point.says


@needs_sandbox
def test_commands_in_the_sandbox_are_as_they_should_be(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LEADHAND_SANDBOX", "auto")
    (point,) = about("sandbox", tmp_path)
    assert (point.state, point.says) == (State.OK, in_words(BUBBLEWRAP, "all"))


def test_what_the_repository_adds_to_each_request_is_told(team: Team) -> None:
    root = team.root
    (root / "AGENTS.md").write_text("Use uv. " * 50)
    (root / "CLAUDE.md").symlink_to("/etc/passwd")
    (root / ".mcp.json").write_text('{"mcpServers": {"docs": {"command": "a"}, "deploy": {"command": "b"}}}')
    tool = Listed(name="find", description="d" * 4000, input_schema={}, output_schema=None)
    SeenByTeam(team.directory).accepted("mcp__docs__find", Origin("docs", "find"), tool)
    (root / ".team/seen-tools/bad.json").write_text("[]")
    left_out, instructions, skills, *servers = about("requests", root)
    assert (left_out.state, "CLAUDE.md is in no prompt" in left_out.says) == (State.NOTE, True)
    assert re.search(r"instructions: about 1[5-9]\d tokens in each \(AGENTS.md\)", instructions.says)
    assert skills.says.startswith("skills: about")
    told = {point.says for point in servers}
    assert any(re.search(r"MCP server docs: about 10[0-9]\d tokens", says) for says in told)
    assert any("MCP server deploy: its tools were never seen" in says for says in told)


def test_the_verb_ends_with_2_while_a_run_could_not_start(tmp_path: Path) -> None:
    result = CliRunner().invoke(
        doctor, ["--json", "--team", str(tmp_path)], catch_exceptions=False, standalone_mode=False
    )
    assert result.return_value == 2
    assert {"topic", "state", "says", "remedy"} == set(json.loads(result.output)[0])


def joined(found: Profile, host: str, file_system: str, why: str = "") -> Joined:
    return Joined(profile=found, found=found, host=host, at="", file_system=file_system, why=why)


def test_the_profile_and_the_hosts_are_told_and_who_was_refused_with_the_way_out(team: Team) -> None:
    team.mount.take({"a": joined(Profile.LOCAL, "a", "ext4")})
    assert [point.says.partition(":")[0] for point in _hosts(team)] == ["profile local, one machine"]
    refused = joined(Profile.UNFIT, "b", "fuse.sshfs", "files are not listed")
    team.mount.take({"a": joined(Profile.UNLOCKED, "a", "fuse.sshfs"), "b": refused})
    profile, other = _hosts(team)
    assert profile.says.endswith("(a)")
    assert other.says == "b was refused (fuse.sshfs): files are not listed"
    assert "dir_cache=no" in other.remedy
