"""What the kind of a file system says."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING

import psutil
import pytest

from coordination.mounts import FileSystem, file_system_of

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    "kind", ["nfs", "nfs4", "cifs", "fuse", "fuse.sshfs", "fuse.glusterfs", "lustre", "ceph", "9p", "smbfs"]
)
def test_what_others_may_mount_is_shared(kind: str) -> None:
    assert FileSystem(type=kind).is_shared


@pytest.mark.parametrize("kind", ["ext4", "xfs", "btrfs", "tmpfs", "overlay", "apfs", "fuseblk", ""])
def test_a_disk_of_this_machine_is_not(kind: str) -> None:
    assert not FileSystem(type=kind).is_shared


@pytest.mark.parametrize("kind", ["fuse.s3fs", "fuse.rclone", "fuse.gcsfuse"])
def test_object_stores_have_no_links(kind: str) -> None:
    assert not FileSystem(type=kind).has_links


def test_the_remedy_is_that_of_the_file_system() -> None:
    assert "dir_cache=no" in FileSystem(type="fuse.sshfs").remedy
    assert "lookupcache=positive" in FileSystem(type="nfs4").remedy
    assert "--team DIR" in FileSystem(type="fuse.s3fs").remedy


def test_the_innermost_mount_counts_and_of_one_place_the_last(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    inner = tmp_path / "inner"
    inner.mkdir()
    places = {"/": ["ext4"], str(tmp_path): ["nfs4"], str(inner): ["xfs", "fuse.sshfs"]}
    mounts = [
        SimpleNamespace(mountpoint=place, fstype=kind)
        for place, kinds in reversed(places.items())
        for kind in kinds
    ]
    monkeypatch.setattr(psutil, "disk_partitions", lambda *, all: mounts)  # noqa: A006, ARG005
    assert file_system_of(inner / "deep").type == "fuse.sshfs"
    assert file_system_of(tmp_path / "innermost").type == "nfs4"
    assert file_system_of(tmp_path.parent).type == "ext4"


def test_this_very_directory_lies_on_something(tmp_path: Path) -> None:
    assert file_system_of(tmp_path).type
