"""Files of roles: read as their authors write them, restricting only, one broken file for itself alone."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from harness.permissions.protected import is_protected
from harness.roles.catalog import PLACES, RoleBroken, RoleCatalog, UnknownRole, scan_roles
from harness.roles.role import TEAM_TOOLS
from tests.support.tools import call, noted_tool, pool, settle
from workspace.host_files import deciding

if TYPE_CHECKING:
    from pathlib import Path

AGENT = """---
name: code-reviewer
description: Expert code review specialist. Use immediately after writing code.
tools: Read, Grep, Glob, Bash, WebFetch
model: sonnet
color: purple
---

You are a senior code reviewer: be brief.
"""


def write(project: Path, name: str, text: str, place: str = PLACES[0]) -> None:
    folder = project / place
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.md").write_text(text, encoding="utf-8")


def role_file(fields: str = "", *, name: str = "reader", body: str = "Read.") -> str:
    return f"---\nname: {name}\ndescription: Reads. Use to read.\n{fields}\n---\n\n{body}\n"


def codes(catalog: RoleCatalog) -> list[str]:
    return [problem.code for reading in catalog.readings for problem in reading.problems]


def test_an_agent_file_of_claude_code_loads_as_it_is(tmp_path: Path) -> None:
    write(tmp_path, "code-reviewer", AGENT, ".claude/agents")
    catalog = scan_roles(tmp_path, {"sonnet": "claude-some-sonnet"})
    role = catalog.roles["code-reviewer"]
    assert role.tools == ("read_file", "grep", "glob", "bash")
    assert role.model == "claude-some-sonnet"
    assert role.section == "# Your role: code-reviewer\nYou are a senior code reviewer: be brief."
    assert codes(catalog) == ["tool-unknown"]
    assert "code-reviewer: Expert code review specialist." in catalog.section


def test_a_name_that_no_server_knows_leaves_the_model_of_the_others(tmp_path: Path) -> None:
    write(tmp_path, "a", role_file("model: opus", name="a"))
    write(tmp_path, "b", role_file("model: inherit", name="b"))
    write(tmp_path, "c", role_file("model: my-model", name="c"))
    catalog = scan_roles(tmp_path, {})
    assert [role.model for role in catalog.roles.values()] == [None, None, "my-model"]
    assert codes(catalog) == ["model-unknown"]
    assert catalog.models == ["my-model"]


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("Just text.", "frontmatter-missing"),
        ("---\nname: reader\n---\nRead.", "description-missing"),
        (role_file(name="no name"), "name-invalid"),
        (role_file(name="lead"), "name-reserved"),
        (role_file("tools: Bash(git log *)"), "tool-pattern"),
        (role_file("tools: WebFetch"), "tools-empty"),
        (role_file("tools:"), "tools-empty"),
        (role_file("tools: [todo_write]"), "tools-empty"),
    ],
)
def test_a_broken_file_is_an_error_for_that_role_only(tmp_path: Path, text: str, code: str) -> None:
    write(tmp_path, "bad", text)
    write(tmp_path, "good", role_file(name="good"))
    catalog = scan_roles(tmp_path, {})
    assert list(catalog.roles) == ["good"]
    ((name, why),) = catalog.broken.items()
    assert ".agents/roles/bad.md" in why
    assert f"[{code}]" in why
    with pytest.raises(RoleBroken, match=f"{name} cannot be used"):
        catalog.check([name])


def test_the_first_place_wins_also_with_a_broken_file(tmp_path: Path) -> None:
    write(tmp_path, "a", role_file("tools: Read", name="a"), PLACES[0])
    write(tmp_path, "a", role_file(name="a"), PLACES[1])
    write(tmp_path, "b", role_file("tools: Bash(ls)", name="b"), PLACES[0])
    write(tmp_path, "b", role_file(name="b"), PLACES[1])
    catalog = scan_roles(tmp_path, {})
    assert catalog.roles["a"].tools == ("read_file",)
    assert list(catalog.broken) == ["b"]
    assert codes(catalog) == ["tool-pattern", "shadowed", "shadowed"]


def test_a_link_out_of_the_directory_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "elsewhere.md").write_text(role_file(), encoding="utf-8")
    (tmp_path / PLACES[0]).mkdir(parents=True)
    (tmp_path / PLACES[0] / "reader.md").symlink_to(tmp_path / "elsewhere.md")
    assert "leads out of" in scan_roles(tmp_path, {}).broken["reader"]


def test_without_files_any_word_is_a_role_and_with_files_only_these(tmp_path: Path) -> None:
    assert scan_roles(tmp_path, {}).role("coder") is None
    write(tmp_path, "reader", role_file())
    catalog = scan_roles(tmp_path, {})
    assert catalog.role("teammate") is None
    with pytest.raises(UnknownRole, match="known are: reader, teammate"):
        catalog.role("coder")


def test_tools_restrict_and_never_take_what_makes_a_teammate(tmp_path: Path) -> None:
    write(tmp_path, "a", role_file("tools: Read, Bash, mcp__docs, mcp__code__find", name="a"))
    write(tmp_path, "b", role_file("disallowedTools: Bash, mcp__docs, SendMessage", name="b"))
    a, b = (scan_roles(tmp_path, {}).roles[name] for name in "ab")
    tools = ["bash", "tail_background", "read_file", "write_file", "load_skill", "connect_mcp"]
    servers = ["mcp__docs__search", "mcp__docsearch__all", "mcp__code__find", "mcp__code__change"]
    assert [tool for tool in tools if a.admits(tool)] == [
        "bash",
        "tail_background",
        "read_file",
        "connect_mcp",
    ]
    assert [tool for tool in servers if a.admits(tool)] == ["mcp__docs__search", "mcp__code__find"]
    assert [tool for tool in tools if not b.admits(tool)] == ["bash", "tail_background"]
    assert [tool for tool in servers if not b.admits(tool)] == ["mcp__docs__search"]
    assert all(role.admits(tool) for role in (a, b) for tool in TEAM_TOOLS)


def test_a_tool_that_the_role_does_not_admit_is_not_there_whoever_offers_it(tmp_path: Path) -> None:
    seen: list[str] = []
    own, offered = noted_tool(seen, "read_file"), noted_tool(seen, "mcp__docs__search")
    made = pool([own, noted_tool(seen, "write_file")], tmp_path, admits=lambda name: "write" not in name)
    made.offer([offered, noted_tool(seen, "mcp__docs__write")])
    assert made.names == ["read_file", "mcp__docs__search"]
    (result,) = settle(made, call("write_file"))
    assert result["content"].startswith("[schema/unknown_tool]")
    assert seen == []


def test_another_process_has_the_same_roles(tmp_path: Path) -> None:
    write(tmp_path, "reader", role_file("tools: Read\nmodel: m\ndisallowedTools: Bash"))
    write(tmp_path, "bad", "no")
    catalog = scan_roles(tmp_path, {})
    again = RoleCatalog.from_json(json.loads(json.dumps(catalog.to_json())))
    assert (again.roles, again.broken) == (catalog.roles, catalog.broken)


def test_no_agent_writes_the_files_and_a_branch_that_does_is_looked_at() -> None:
    files = [".agents/roles/a.md", ".claude/agents/new.md"]
    assert all(map(is_protected, files))
    assert deciding([*files, "src/agents/x.txt"]) == files
