"""Keep what this process was trusted with from other processes of the same user."""

from __future__ import annotations

import ctypes
import re
import sys

_SET_DUMPABLE = 4  # PR_SET_DUMPABLE of linux/prctl.h
# Names of variables whose values open something; those that commands are given anyway are not among them.
_OPENS = re.compile(rb"key|token|secret|passw|credential|auth|dsn|_ur[il]$", re.IGNORECASE)


def conceal() -> None:
    """No other process finds credentials in `/proc` of this one; to be called before any thread begins.

    The values are overwritten where the kernel shows them, `/proc/PID/environ`; `os.environ` keeps
    them. The memory of the process can be read by root alone from now on. Programs that this process
    starts are as they would be; they get their environment from a list. Does nothing but on Linux.
    """
    if sys.platform != "linux":
        return
    libc = ctypes.CDLL(None)
    entries = ctypes.POINTER(ctypes.c_void_p).in_dll(libc, "environ")
    place = 0
    while entries[place]:
        name, found, value = ctypes.string_at(entries[place]).partition(b"=")
        if found and _OPENS.search(name):
            ctypes.memset(entries[place] + len(name) + 1, 0, len(value))
        place += 1
    libc.prctl(_SET_DUMPABLE, 0, 0, 0, 0)
