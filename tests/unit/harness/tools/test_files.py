from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from harness.tool import ToolFailure
from harness.tools.files import FileLimits, file_tools
from tests.support.tools import call, context, pool, run, settle

if TYPE_CHECKING:
    from pathlib import Path

READ, WRITE, EDIT, GLOB = file_tools(FileLimits(read_lines=5, read_characters=600, matches=4))


@pytest.fixture
def cwd(tmp_path: Path) -> Path:
    directory = tmp_path / "tree"
    directory.mkdir()
    return directory


def reason(error: pytest.ExceptionInfo[ToolFailure]) -> str:
    return error.value.reason


def test_a_read_says_how_many_lines_are_left(cwd: Path) -> None:
    (cwd / "a").write_text("".join(f"{n}\n" for n in range(9)))
    assert run(READ, context(cwd), path="a", offset=1, limit=3) == (
        "1\n2\n3\n... (5 more lines; go on with offset 4)"
    )


def test_a_read_to_the_end_says_nothing_more(cwd: Path) -> None:
    (cwd / "a").write_text("1\n\n3")
    assert run(READ, context(cwd), path="a") == "1\n\n3"


def test_a_read_stops_before_it_would_be_cut(cwd: Path) -> None:
    (cwd / "a").write_text(("x" * 200 + "\n") * 4)
    text = run(READ, context(cwd), path="a")
    assert text.endswith("\n... (2 more lines; go on with offset 2)")


def test_a_long_line_is_shortened(cwd: Path) -> None:
    (cwd / "a").write_text("x" * 2100)
    assert run(READ, context(cwd), path="a").endswith("x... (100 more characters in this line)")


def test_an_empty_file_is_told_from_a_failure(cwd: Path) -> None:
    (cwd / "a").touch()
    assert run(READ, context(cwd), path="a") == "(the file is empty)"


@pytest.mark.parametrize(
    ("path", "why", "says"),
    [
        ("app.pi", "no_such_file", "did you mean app.py"),
        ("sub", "is_directory", "glob"),
        ("pipe", "not_regular", "regular"),
        ("binary", "not_text", "binary"),
        ("x" * 5000, "unreadable", "name too long"),
    ],
)
def test_what_cannot_be_read_is_named(cwd: Path, path: str, why: str, says: str) -> None:
    (cwd / "app.py").touch()
    (cwd / "sub").mkdir()
    os.mkfifo(cwd / "pipe")
    (cwd / "binary").write_bytes(b"\x7fELF\0\0")
    with pytest.raises(ToolFailure, match=says) as caught:
        run(READ, context(cwd), path=path)
    assert reason(caught) == why


def test_an_offset_behind_the_end_is_named(cwd: Path) -> None:
    (cwd / "a").write_text("1\n2\n")
    with pytest.raises(ToolFailure, match="a has 2 lines"):
        run(READ, context(cwd), path="a", offset=2)


def test_a_write_makes_directories_and_says_bytes(cwd: Path) -> None:
    assert run(WRITE, context(cwd), path="new/deep/ä.txt", content="ä\n") == "Wrote 3 bytes to new/deep/ä.txt"
    assert (cwd / "new/deep/ä.txt").read_bytes() == "ä\n".encode()


def test_a_write_keeps_the_mode_and_leaves_nothing_else(cwd: Path) -> None:
    (cwd / "run.sh").write_text("old")
    (cwd / "run.sh").chmod(0o755)
    run(WRITE, context(cwd), path="run.sh", content="new")
    assert (cwd / "run.sh").stat().st_mode & 0o777 == 0o755
    assert [entry.name for entry in cwd.iterdir()] == ["run.sh"]


def test_a_write_goes_through_a_link_to_its_file(cwd: Path) -> None:
    (cwd / "real").write_text("old")
    (cwd / "link").symlink_to("real")
    run(WRITE, context(cwd), path="link", content="new")
    assert (cwd / "link").is_symlink()
    assert (cwd / "real").read_text() == "new"


def test_a_write_never_shows_half_a_file(cwd: Path) -> None:
    (cwd / "a").write_text("old")
    with (cwd / "a").open() as reader:
        run(WRITE, context(cwd), path="a", content="new")
        assert reader.read() == "old"


@pytest.mark.parametrize(("path", "why"), [("sub", "not_regular"), ("file/x", "unwritable")])
def test_a_write_that_cannot_be_is_an_error(cwd: Path, path: str, why: str) -> None:
    (cwd / "sub").mkdir()
    (cwd / "file").touch()
    with pytest.raises(ToolFailure) as caught:
        run(WRITE, context(cwd), path=path, content="")
    assert reason(caught) == why
    assert sorted(entry.name for entry in cwd.iterdir()) == ["file", "sub"]


def test_half_a_character_is_refused(cwd: Path) -> None:
    with pytest.raises(ToolFailure, match="half a character"):
        run(WRITE, context(cwd), path="a", content="\ud800")


def test_an_edit_replaces_the_one_match(cwd: Path) -> None:
    (cwd / "a").write_text("one\ntwo\nthree\n")
    assert run(EDIT, context(cwd), path="a", old_text="two\n", new_text="2\n") == "Edited a"
    assert (cwd / "a").read_text() == "one\n2\nthree\n"


@pytest.mark.parametrize(
    ("old", "why", "says"), [("four", "no_match", "copy it exactly"), ("aa", "many_matches", "2 times")]
)
def test_an_edit_without_one_match_changes_nothing(cwd: Path, old: str, why: str, says: str) -> None:
    (cwd / "a").write_text("aaa")
    with pytest.raises(ToolFailure, match=says) as caught:
        run(EDIT, context(cwd), path="a", old_text=old, new_text="b")
    assert reason(caught) == why
    assert (cwd / "a").read_text() == "aaa"


def test_an_edit_keeps_line_endings_and_mode(cwd: Path) -> None:
    (cwd / "a").write_bytes(b"one\r\ntwo\r\n")
    (cwd / "a").chmod(0o640)
    run(EDIT, context(cwd), path="a", old_text="one\ntwo", new_text="1\n1.5\n2")
    assert (cwd / "a").read_bytes() == b"1\r\n1.5\r\n2\r\n"
    assert (cwd / "a").stat().st_mode & 0o777 == 0o640


def test_an_edit_leaves_mixed_line_endings_alone(cwd: Path) -> None:
    (cwd / "a").write_bytes(b"one\r\ntwo\nthree\n")
    run(EDIT, context(cwd), path="a", old_text="two\nthree", new_text="2\n3")
    assert (cwd / "a").read_bytes() == b"one\r\n2\n3\n"


def test_an_edit_of_other_encodings_is_refused(cwd: Path) -> None:
    (cwd / "a").write_bytes(b"\xe9\xe9 one")
    with pytest.raises(ToolFailure, match="UTF-8"):
        run(EDIT, context(cwd), path="a", old_text="one", new_text="two")


@pytest.mark.parametrize(
    ("arguments", "gate"),
    [
        ({"path": "a", "old_text": "x", "new_text": "x"}, "[semantic/no_change]"),
        ({"path": "a", "old_text": "", "new_text": "x"}, "[schema/wrong_value]"),
        ({"path": ".git/config", "old_text": "x", "new_text": "y"}, "[run/protected_path]"),
        ({"path": "../a", "old_text": "x", "new_text": "y"}, "[run/outside_working_directory]"),
    ],
)
def test_a_refused_edit_says_why(cwd: Path, arguments: dict[str, str], gate: str) -> None:
    [result] = settle(pool([EDIT], cwd), call("edit_file", **arguments))
    assert result["content"].startswith(gate)


def plant(cwd: Path, *names: str) -> None:
    for name in names:
        (cwd / name).parent.mkdir(parents=True, exist_ok=True)
        (cwd / name).touch()


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        ("*.py", "a.py"),
        ("**/*.py", "a.py\nsrc/b.py\nsrc/deep/c.py"),
        ("src/**", "src/b.py\nsrc/n.md\nsrc/deep/c.py"),
        ("*", "a.py\nsrc/"),
        ("src/{b,n}.*", "src/b.py\nsrc/n.md"),
        ("**/[!ab].py", "src/deep/c.py"),
        ("src/?.md", "src/n.md"),
        ("src/[", "(no matches)"),
        ("*.rs", "(no matches)"),
    ],
)
def test_glob_patterns(cwd: Path, pattern: str, found: str) -> None:
    plant(cwd, "a.py", "src/b.py", "src/deep/c.py", "src/n.md")
    assert run(GLOB, context(cwd), pattern=pattern) == found


def test_glob_passes_over_what_git_ignores_and_what_is_protected(cwd: Path) -> None:
    plant(cwd, "a.log", "keep.log", "sub/b.log", "sub/c.log", "build/x.log", ".git/d.log", ".team/e.log")
    (cwd / ".gitignore").write_text("*.log\n!keep.log\n/build/\n")
    (cwd / "sub/.gitignore").write_text("!b.log\n")
    assert run(GLOB, context(cwd), pattern="**/*.log") == "keep.log\nsub/b.log"


def test_glob_is_bounded(cwd: Path) -> None:
    plant(cwd, *(f"{n}.txt" for n in range(9)))
    lines = run(GLOB, context(cwd), pattern="*.txt").split("\n")
    assert len(lines) == 5
    assert lines[-1] == "... (more than 4 matches; use a narrower pattern)"


def test_a_pipe_or_link_in_place_of_the_rules_of_git_says_nothing_and_holds_nobody(
    cwd: Path, tmp_path: Path
) -> None:
    plant(tmp_path, "outside/.gitignore")
    (tmp_path / "outside/.gitignore").write_text("*.txt\n")
    plant(cwd, "a.txt", "sub/b.txt")
    os.mkfifo(cwd / ".gitignore")
    (cwd / "sub/.gitignore").symlink_to(tmp_path / "outside/.gitignore")
    assert run(GLOB, context(cwd), pattern="**/*.txt") == "a.txt\nsub/b.txt"


def test_glob_never_leads_out(cwd: Path, tmp_path: Path) -> None:
    plant(tmp_path, "outside/secret.txt")
    (cwd / "way").symlink_to(tmp_path / "outside")
    (cwd / "one.txt").symlink_to(tmp_path / "outside" / "secret.txt")
    assert run(GLOB, context(cwd), pattern="**/*.txt") == "(no matches)"
