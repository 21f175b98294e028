"""What the kernel says of the file system that a directory lies on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import psutil

if TYPE_CHECKING:
    from pathlib import Path

# As kernels call what other machines may have mounted too; so may whatever is made by a process (FUSE).
_NETWORKED = {
    *("9p", "acfs", "afpfs", "afs", "beegfs", "ceph", "cifs", "coda", "davfs", "gfs", "gfs2", "gpfs"),
    *("lustre", "macfuse", "ncpfs", "nfs", "nfs3", "nfs4", "ocfs2", "orangefs", "osxfuse", "panfs"),
    *("prl_fs", "pvfs2", "smb3", "smbfs", "vboxsf", "virtiofs", "vmhgfs", "webdav"),
}
_OBJECT_STORES = {"blobfuse", "blobfuse2", "gcsfuse", "geesefs", "goofys", "mountpoint-s3", "rclone", "s3fs"}
_CACHES_OFF = {
    "fuse.sshfs": "mount it on every host with -o "
    "dir_cache=no,attr_timeout=0,entry_timeout=0,negative_timeout=0",
    "nfs": "mount it on every host with -o lookupcache=positive,actimeo=1",
    "nfs4": "mount it on every host with -o lookupcache=positive,actimeo=1",
}
_ELSEWHERE = "put the team directory on another file system with --team DIR"


@dataclass(frozen=True, slots=True, kw_only=True)
class FileSystem:
    """One file system, as far as its kind tells what can be expected of it."""

    type: str = ""  # ext4, nfs4, fuse.sshfs; empty where the system does not say

    @property
    def is_shared(self) -> bool:
        """Other machines may have it too, and nothing tells of what they change."""
        return self.type in _NETWORKED or self.type == "fuse" or self.type.startswith("fuse.")

    @property
    def has_links(self) -> bool:
        """False for object stores, which know no second name of a file and so no winner."""
        return self.type.removeprefix("fuse.") not in _OBJECT_STORES

    @property
    def remedy(self) -> str:
        """What to do where others see too late what is written here."""
        return _CACHES_OFF.get(self.type, _ELSEWHERE) if self.has_links else _ELSEWHERE


def file_system_of(path: Path) -> FileSystem:
    """The file system on which the directory lies."""
    try:
        mounts = psutil.disk_partitions(all=True)
    except (OSError, psutil.Error):
        return FileSystem()
    place = path.resolve()
    around = [mount for mount in mounts if place.is_relative_to(mount.mountpoint)]
    around.sort(key=lambda mount: len(mount.mountpoint))  # stable: of one place the last hides the others
    return FileSystem(type=around[-1].fstype) if around else FileSystem()
