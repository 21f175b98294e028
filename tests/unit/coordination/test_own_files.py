from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING

import pytest

from coordination.errors import StateUnwritable
from coordination.own_files import OwnFileUnusable, read_own, write_own

if TYPE_CHECKING:
    from pathlib import Path


def test_a_file_of_ones_own_is_for_its_owner_alone(tmp_path: Path) -> None:
    file = tmp_path / "mine" / "a.json"
    assert read_own(file) is None
    assert write_own(file, b"one")
    assert write_own(file, b"two")
    assert read_own(file) == b"two"
    assert not write_own(file, b"three", replace=False)
    assert read_own(file) == b"two"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    assert [path.name for path in file.parent.iterdir()] == ["a.json"]


@pytest.mark.parametrize("at", [".", "a.json"])
def test_what_others_may_write_is_not_believed(tmp_path: Path, at: str) -> None:
    file = tmp_path / "mine" / "a.json"
    write_own(file, b"one")
    (file.parent / at).chmod(0o777)
    with pytest.raises(OwnFileUnusable, match="others may write it; `chmod go-w "):
        read_own(file)


@pytest.mark.skipif(os.getuid() != 0, reason="only root gives files away")
def test_what_belongs_to_somebody_else_is_not_believed(tmp_path: Path) -> None:
    file = tmp_path / "mine" / "a.json"
    write_own(file, b"one")
    os.chown(file, 12345, 12345)
    with pytest.raises(OwnFileUnusable, match="belongs to user 12345, not to you"):
        read_own(file)


def test_a_directory_in_the_way_is_told_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "a.json").mkdir(mode=0o700)
    with pytest.raises(OwnFileUnusable, match="cannot be read"):
        read_own(tmp_path / "a.json")
    (tmp_path / "home").write_text("a file where the directory should be")
    with pytest.raises(StateUnwritable, match="cannot write"):
        write_own(tmp_path / "home" / "a.json", b"")
    assert read_own(tmp_path / "home" / "a.json") is None
