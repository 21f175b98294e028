"""What is the same for every verb: what the system refuses is one line that says what to do."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from orchestrator.cli.main import main
from tests.support.repository import Repository

if TYPE_CHECKING:
    from pathlib import Path

LONG = "n" * 300


@pytest.fixture(autouse=True)
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Repository:
    made = Repository.create(tmp_path / "project", {"a.py": "a = 1\n"})
    monkeypatch.chdir(made.path)
    return made


def refused(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """The one line of a verb that did nothing."""
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "Errno" not in line
    return line


@pytest.mark.parametrize("verb", ["status", "init", "doctor"])
def test_a_name_that_is_too_long_for_the_disk_is_said_so(
    capsys: pytest.CaptureFixture[str], verb: str, tmp_path: Path
) -> None:
    with pytest.raises(SystemExit) as ended:
        main((verb, "--team", str(tmp_path / LONG)))
    assert ended.value.code == 2
    assert "(File name too long); choose a shorter name" in "".join(capsys.readouterr())


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (None, "there is no such file"),
        (b"\xff", "it is no UTF-8 at byte 0"),
        ("directory", "no regular file"),
    ],
)
def test_a_goal_that_cannot_be_read_is_told_with_the_reason(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, data: object, why: str
) -> None:
    file = tmp_path / "goal"
    if isinstance(data, bytes):
        file.write_bytes(data)
    elif data:
        file.mkdir()
    assert why in refused(capsys, "run", "-f", str(file))
    assert "File name too long" in refused(capsys, "run", "-f", LONG)
