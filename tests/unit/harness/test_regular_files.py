from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from harness.catalogs import find_servers
from harness.mcp.config_file import Place, read_file
from harness.regular_files import FileUnusable, digest_of_regular, read_regular
from harness.settings.settings import load_settings
from harness.settings.sources import SettingsUnreadable
from orchestrator.tasks_file import BadTasksFile, load_tasks

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Make = Callable[[Path], object]


def huge(path: Path) -> None:
    path.touch()
    os.truncate(path, 1 << 40)


ODD: dict[str, Make] = {
    "device": lambda path: path.symlink_to("/dev/zero"),
    "pipe": os.mkfifo,
    "link to a pipe": lambda path: (os.mkfifo(path.with_name("pipe")), path.symlink_to("pipe")),
    "huge": huge,
    "directory": lambda path: path.mkdir(),
    "loop": lambda path: path.symlink_to(path.name),
    "nowhere": lambda path: path.symlink_to("nothing"),
}


@pytest.mark.parametrize("make", ODD.values(), ids=ODD)
def test_what_is_no_file_of_a_few_bytes_is_refused_in_one_line(tmp_path: Path, make: Make) -> None:
    for name in ("leadhand.yaml", ".env", "tasks.yaml", ".mcp.json"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        place = tmp_path / f"of-{name}"
        place.mkdir()
        make(place / name)
        with pytest.raises(FileUnusable) as caught:
            read_regular(place / name)
        assert len(str(caught.value).splitlines()) == 1
    for name in ("leadhand.yaml", ".env"):
        with pytest.raises(SettingsUnreadable):
            load_settings(tmp_path / f"of-{name}", environ={}, personal_file=tmp_path / "none.yaml")
    with pytest.raises(BadTasksFile):
        load_tasks(tmp_path / "of-tasks.yaml" / "tasks.yaml")
    path = tmp_path / "of-.mcp.json" / ".mcp.json"
    assert [note.code for note in read_file(Place(path=path, source="x")).errors] == ["unreadable"]


def test_a_link_may_lead_within_the_directory_and_not_out_of_it(tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    (tmp_path / "outside").write_text("{}")
    (project / "inside").write_text("{}")
    (project / "leadhand.yaml").symlink_to("inside")
    settings = load_settings(project, environ={}, personal_file=tmp_path / "none.yaml")
    for name in ("leadhand.yaml", ".mcp.json"):
        (project / name).unlink(missing_ok=True)
        (project / name).symlink_to("../outside")
    with pytest.raises(SettingsUnreadable, match="leads out of"):
        load_settings(project, environ={}, personal_file=tmp_path / "none.yaml")
    assert "leads out of" in find_servers(project, settings).errors[0].text


def test_a_digest_is_that_of_the_whole_file_however_long(tmp_path: Path) -> None:
    (tmp_path / "long").write_bytes(b"x" * 3_000_000)
    first = digest_of_regular(tmp_path / "long")
    (tmp_path / "long").write_bytes(b"x" * 2_999_999 + b"y")
    assert digest_of_regular(tmp_path / "long") != first


def test_a_file_that_is_not_there_is_no_fault(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        read_regular(tmp_path / "none")
