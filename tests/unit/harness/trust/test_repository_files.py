from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

import pytest

from harness.trust.effects import difference, effects
from harness.trust.repository_files import RepositoryFiles, find_files

if TYPE_CHECKING:
    from pathlib import Path

FILES = {
    "leadhand.yaml": (
        "checks: {tests: pytest -q}\nworktrees.setup: [./setup.sh]\nworkers: {max: 2}\n"
        "hooks:\n  PreToolUse:\n    - hooks: [{command: $CLAUDE_PROJECT_DIR/hooks/guard.sh -x}]\n"
        "  Stop:\n    - hooks: [{type: python, python: 'hooks/stop.py:ask'}]\n"
    ),
    ".mcp.json": json.dumps(
        {"mcpServers": {"docs": {"command": "python", "args": ["tools/docs.py"], "env": {"A": "b"}}}}
    ),
    "hooks/guard.sh": "exit 0\n",
    "hooks/stop.py": "def ask(given): ...\n",
    "hooks/other.py": "is not named\n",
    "tools/docs.py": "serve()\n",
    "AGENTS.md": "Be good.\n",
    ".agents/roles/reviewer.md": "You review.\n",
    "skills/tables/SKILL.md": "---\nname: tables\n---\n",
    "skills/tables/load.py": "load()\n",
    "skills/readme.txt": "belongs to no skill\n",
    ".worktreeinclude": ".env\n",
    ".env": "ANTHROPIC_BASE_URL=http://elsewhere\n",
    "src/code.py": "code\n",
}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


def found(project: Path, *tracked: str) -> RepositoryFiles:
    return find_files(project, project, tracked=tracked)


def test_what_starts_allows_or_instructs_is_found_and_nothing_else(project: Path) -> None:
    assert sorted(found(project).texts) == [
        ".agents/roles/reviewer.md",
        ".mcp.json",
        ".worktreeinclude",
        "AGENTS.md",
        "hooks/guard.sh",
        "hooks/stop.py",
        "leadhand.yaml",
        "skills/tables/SKILL.md",
        "skills/tables/load.py",
        "tools/docs.py",
    ]


def test_a_dotenv_that_git_tracks_counts_and_its_values_are_kept_nowhere(project: Path) -> None:
    assert found(project, ".env").texts[".env"].startswith("sha256:")
    assert "elsewhere" not in json.dumps(found(project, ".env").to_json())


@pytest.mark.parametrize("name", [name for name in FILES if name not in {".env", "src/code.py"}])
def test_every_change_of_one_of_them_changes_the_digest(project: Path, name: str) -> None:
    before = found(project)
    (project / name).write_text("other", encoding="utf-8")
    is_found = name in before.texts
    assert (found(project).digest != before.digest) is is_found


def test_a_repository_without_such_files_brings_nothing(tmp_path: Path) -> None:
    assert found(tmp_path).texts == {}


def test_all_that_they_do_is_told(project: Path) -> None:
    told = [str(effect) for effect in effects(found(project, ".env"))]
    assert told == [
        ".agents/roles/reviewer.md says what members of a role are told, and with which tools they work",
        ".env is tracked by git and sets credentials, addresses and rules",
        ".mcp.json lets agents start the server docs: A=b python tools/docs.py",
        ".worktreeinclude names ignored files that are copied into worktrees",
        "AGENTS.md instructs every agent",
        "hooks/guard.sh belongs to one of these, or is started by it",
        "hooks/stop.py belongs to one of these, or is started by it",
        "leadhand.yaml runs as a check (checks.tests): pytest -q",
        "leadhand.yaml runs in every fresh worktree (worktrees.setup): ./setup.sh",
        "leadhand.yaml sets workers.max: 2",
        "leadhand.yaml runs as a hook (hooks.PreToolUse): $CLAUDE_PROJECT_DIR/hooks/guard.sh -x",
        "leadhand.yaml runs as a hook (hooks.Stop): hooks/stop.py:ask",
        "skills/tables/SKILL.md is a skill that agents can load and follow",
        "skills/tables/load.py belongs to one of these, or is started by it",
        "tools/docs.py belongs to one of these, or is started by it",
    ]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("leadhand.yaml", "checks: ["),
        ("leadhand.yaml", "- a\n"),
        ("leadhand.yaml", "hooks: {Nonsense: 3}"),
        (".mcp.json", "{"),
        (".mcp.json", "[]"),
        (".mcp.json", '{"mcpServers": {"a": 3}}'),
    ],
)
def test_a_broken_file_counts_and_is_told_of(project: Path, name: str, text: str) -> None:
    (project / name).write_text(text, encoding="utf-8")
    files = found(project)
    assert files.texts[name] == text
    assert effects(files)


def test_odd_files_are_known_by_their_digest(project: Path) -> None:
    skill = project / "skills/tables"
    (skill / "picture.png").write_bytes(b"\x89PNG\0")
    (skill / "long.txt").write_bytes(b"x" * 300_000)
    odd = os.fsencode(str(skill)) + b"/\xff.txt"
    with open(odd, "wb") as file:  # noqa: PTH123 - a name that is no text
        file.write(b"odd")
    (skill / "away").symlink_to("/etc/passwd")
    texts = found(project).texts
    assert texts["skills/tables/picture.png"].startswith("sha256:")
    assert texts["skills/tables/long.txt"].startswith("sha256:")
    assert texts["skills/tables/\\xff.txt"] == "odd"
    assert RepositoryFiles.from_json(json.loads(json.dumps(found(project).to_json()))) == found(project)


def test_a_word_of_a_hook_leads_to_no_file_outside(project: Path) -> None:
    (project / "leadhand.yaml").write_text(
        "hooks: {Stop: [{hooks: [{type: command, command: 'cat /etc/hostname ../x . a\\0b \"'}]}]}"
    )
    assert "hooks/guard.sh" not in found(project).texts


def test_the_difference_shows_what_is_new_changed_and_gone(project: Path) -> None:
    before = found(project)
    (project / "AGENTS.md").write_text("Be bad.\n")
    (project / ".worktreeinclude").unlink()
    (project / "CLAUDE.md").write_text("New.\n")
    now = found(project)
    assert now.other_than(before) == [".worktreeinclude", "AGENTS.md", "CLAUDE.md"]
    patch = difference(before, now)
    assert "-Be good." in patch
    assert "+Be bad." in patch
    assert "+New." in patch
    assert difference(now, now) == ""
