"""Every read and write of a state file: read, link, replace, append, list."""

from __future__ import annotations

import errno
import os
import secrets
import stat
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from coordination import layout
from coordination.clock import Clock, SystemClock
from coordination.errors import LinkInTheWay, NotRegularFile, RootLost, StateUnreadable, StateUnwritable
from coordination.process import place_and_pid

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

# Seen on shared mounts while another host replaces a file or the connection is coming back.
PASSING_ERRORS = frozenset({errno.ENOENT, errno.ESTALE, errno.EIO, errno.ENOTCONN, errno.EACCES})
READ_PATIENCE_SECONDS = 5.0  # GlusterFS needed up to 1 s, NFSv3 more
# A planted pipe must not block its opener, and a planted link must lead nowhere.
_SAFELY = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_READ = os.O_RDONLY | _SAFELY
_WRITE = os.O_WRONLY | _SAFELY
_NO_FILE = frozenset({errno.ELOOP, errno.ENXIO, errno.EISDIR})  # a link, a pipe, a directory has the name
_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
T = TypeVar("T")


class StateDirectory:
    """The team root, held by a descriptor; every path is relative to it.

    A mount that went away is therefore an error and never an empty ghost of the team.
    """

    def __init__(self, path: Path, *, clock: Clock | None = None, is_shared: bool = False) -> None:
        """`is_shared` says that other machines may write there too."""
        self.is_shared = is_shared
        self.path = path
        self.clock = clock or SystemClock()
        try:
            self._descriptor = os.open(path, _DIRECTORY)
        except OSError as error:
            raise RootLost(path=str(path)) from error

    def check(self) -> None:
        """Raise RootLost unless the path still leads to the directory that was opened."""
        with suppress(OSError):  # an error proves nothing; what is read and written will tell
            if self.path.exists() and os.path.samestat(self.path.stat(), os.fstat(self._descriptor)):
                return
            raise RootLost(path=str(self.path))

    def close(self) -> None:
        """Give the descriptor back; nothing can be read or written afterwards."""
        os.close(self._descriptor)

    def read(self, name: str) -> bytes:
        """The whole file. Raises FileNotFoundError, NotRegularFile, or OSError as the system said it."""
        with os.fdopen(self._open_regular(name)[0], "rb", buffering=0) as file:
            return file.readall()

    def read_patiently(self, name: str) -> bytes:
        """The whole file of a name that is known to exist.

        Passing errors are retried by path for `READ_PATIENCE_SECONDS`; then StateUnreadable.
        """
        return self.patiently(partial(self.read, name), name)

    def read_from(self, name: str, offset: int, limit: int) -> tuple[bytes, int]:
        """At most `limit` bytes from `offset` (one below 0 counts from the end), and the size of the file.

        Raises as `read`.
        """
        descriptor, size = self._open_regular(name)
        try:
            begin = offset if offset >= 0 else max(0, size + offset)
            return os.pread(descriptor, max(0, min(limit, size - begin)), begin), size
        finally:
            os.close(descriptor)

    def names(self, directory: str) -> list[str]:
        """What the directory holds, unordered; empty when there is no such directory.

        Passing errors are retried as by `read_patiently`; then StateUnreadable.
        """
        return self.patiently(partial(self._list, directory), directory)

    def exists(self, name: str) -> bool:
        """True when something has that name, whatever it is. Raises as `names`.

        On a shared mount what is missing is looked for in the listing too: a name that was missing once may
        be taken for missing for half a minute (NFS), and a listing ends that.
        """
        if self.patiently(partial(self._mode, name), name) is not None:
            return True
        return self.is_shared and name.rpartition("/")[2] in self.names(_parent(name))

    def patiently(self, look: Callable[[], T], name: str) -> T:
        """What `look` returns; passing errors are retried as by `read_patiently`."""
        deadline: float | None = None
        while True:
            try:
                return look()
            except OSError as error:
                now = self.clock.monotonic()
                deadline = deadline or now + READ_PATIENCE_SECONDS
                if error.errno not in PASSING_ERRORS or now >= deadline:
                    raise StateUnreadable.of(name, error) from error
            self.clock.sleep(0.05)

    def _list(self, directory: str) -> list[str]:
        try:  # never through a link: what it leads to is not the team's
            descriptor = os.open(directory, _DIRECTORY | os.O_NOFOLLOW, dir_fd=self._descriptor)
        except OSError as error:
            if error.errno in {errno.ENOENT, errno.ENOTDIR, errno.ELOOP}:
                return []
            raise
        try:
            return os.listdir(descriptor)  # noqa: PTH208 - a Path cannot list a descriptor
        finally:
            os.close(descriptor)

    def _mode(self, name: str) -> int | None:
        try:
            return os.stat(name, dir_fd=self._descriptor, follow_symlinks=False).st_mode
        except (FileNotFoundError, NotADirectoryError):
            return None

    def _open_regular(self, name: str) -> tuple[int, int]:
        """A descriptor of the file, which the caller closes, and its size."""
        try:
            descriptor = os.open(name, _READ, dir_fd=self._descriptor)
        except OSError as error:
            if error.errno in _NO_FILE or self._is_odd(name, error):
                raise NotRegularFile(path=name) from error
            raise
        try:
            status = os.fstat(descriptor)
        except OSError:
            os.close(descriptor)
            raise
        if stat.S_ISREG(status.st_mode):
            return descriptor, status.st_size
        os.close(descriptor)
        raise NotRegularFile(path=name)

    def _is_odd(self, name: str, error: OSError) -> bool:
        """A pipe or directory without permissions is no file that may become readable."""
        mode = self._mode(name) if error.errno == errno.EACCES else None
        return mode is not None and not stat.S_ISREG(mode)

    def make(self, directory: str) -> None:
        """The directory and its parents exist, durably. Raises StateUnwritable."""
        parent, made = "", ""
        for part in directory.split("/"):
            made = f"{parent}/{part}" if parent else part
            try:
                self._make_one(made, last=made == directory)
            except OSError as error:
                raise StateUnwritable.of(made, error) from error
            parent = made

    def _make_one(self, name: str, *, last: bool) -> None:
        try:
            os.mkdir(name, mode=0o755, dir_fd=self._descriptor)
        except FileExistsError:
            self._refuse_link(name)
            if not last:
                return
        self.sync(_parent(name))  # the last one even if another made it, who may have died before its sync

    def publish(self, name: str, data: bytes) -> OSError | None:
        """Try to be the one who creates `name`, whole and durable.

        None is a certain win. An error decides nothing by itself: the reply of a win may have been
        lost, so the caller reads the name to learn who owns it.
        """
        directory, here = _parent(name), self._descriptor
        temporary = self._temporary(directory)
        try:
            self._write_new(temporary, data, durable=True)
            os.link(temporary, name, src_dir_fd=here, dst_dir_fd=here, follow_symlinks=False)
            self.sync(directory)
        except OSError as error:
            return error
        finally:
            self._discard(temporary)
        return None

    def replace(self, name: str, data: bytes, *, durable: bool = False) -> None:
        """`name` holds exactly `data`; a reader sees the old or the new. Raises StateUnwritable."""
        directory = _parent(name)
        temporary = self._temporary(directory)
        try:
            self._write_new(temporary, data, durable=durable)
            os.replace(temporary, name, src_dir_fd=self._descriptor, dst_dir_fd=self._descriptor)
            if durable:
                self.sync(directory)
        except OSError as error:
            self._discard(temporary)
            raise StateUnwritable.of(name, error) from error

    def overwrite(self, name: str, data: bytes) -> None:
        """Put fixed-width `data` over the file in place, unsynced and opened anew: for beats alone."""
        descriptor = os.open(name, _WRITE | os.O_CREAT, 0o644, dir_fd=self._descriptor)
        try:
            os.pwrite(descriptor, data, 0)
        finally:
            os.close(descriptor)

    def symlink(self, target: str, name: str) -> None:
        """`name` is a link to `target` (relative to the link), replaced atomically."""
        temporary = self._temporary(_parent(name))
        os.symlink(target, temporary, dir_fd=self._descriptor)
        os.replace(temporary, name, src_dir_fd=self._descriptor, dst_dir_fd=self._descriptor)

    def touch(self, name: str) -> None:
        """Something has that name, an empty file if it was free; not synced, since only hints are empty.

        Its directory is made if need be. Raises StateUnwritable.
        """
        self._refuse_link(_parent(name))
        try:
            os.close(os.open(name, _WRITE | os.O_CREAT, 0o644, dir_fd=self._descriptor))
        except FileNotFoundError:
            self.make(_parent(name))  # raises, where that is why
            self.touch(name)
        except OSError as error:
            if error.errno not in _NO_FILE:
                raise StateUnwritable.of(name, error) from error

    def unlink(self, name: str) -> bool:
        """Remove a hint or a temporary; True when this call was the one that removed it."""
        try:
            os.unlink(name, dir_fd=self._descriptor)
        except (FileNotFoundError, IsADirectoryError):
            return False
        except OSError as error:
            raise StateUnwritable.of(name, error) from error
        return True

    def open_append(self, name: str) -> int:
        """A descriptor for appending to the caller's own file, created durably if new."""
        self._refuse_link(_parent(name))
        flags = _WRITE | os.O_APPEND
        try:
            return os.open(name, flags, dir_fd=self._descriptor)
        except FileNotFoundError:
            descriptor = os.open(name, flags | os.O_CREAT, 0o644, dir_fd=self._descriptor)
            self.sync(_parent(name))
            return descriptor

    def sync(self, directory: str) -> None:
        """The names in the directory survive a power cut."""
        descriptor = os.open(directory or ".", _DIRECTORY, dir_fd=self._descriptor)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

    def _write_new(self, name: str, data: bytes, *, durable: bool) -> None:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
        descriptor = os.open(name, flags, 0o644, dir_fd=self._descriptor)
        try:
            write_all(descriptor, data)
            if durable:
                os.fsync(descriptor)
        finally:
            os.close(descriptor)

    def _refuse_link(self, directory: str) -> None:
        """Nothing is written through a link, which may lead anywhere. Raises LinkInTheWay."""
        mode = self._mode(directory)
        if mode is not None and stat.S_ISLNK(mode):
            raise LinkInTheWay(path=directory)

    def _temporary(self, directory: str) -> str:
        self._refuse_link(directory)
        return f"{directory}/{layout.TEMPORARY}{place_and_pid()}~{secrets.token_hex(6)}"

    def _discard(self, name: str) -> None:
        with suppress(OSError):  # the sweep removes what is left
            os.unlink(name, dir_fd=self._descriptor)


def _parent(name: str) -> str:
    return name.rpartition("/")[0] or "."


def write_all(descriptor: int, data: bytes) -> None:
    """All of it is written, however many calls that takes. Raises OSError."""
    while data:
        data = data[os.write(descriptor, data) :]
