"""The bubblewrap of this machine: found outside the repository, and tried once."""

from __future__ import annotations

import shutil
import subprocess  # noqa: TID251 - tries whether the program works here
from dataclasses import dataclass
from pathlib import Path

from coordination.child import tool_environment
from coordination.errors import TeamError

NAME = "bwrap"
TRY_SECONDS = 10.0
# Own user, process, network, IPC, host name and control group spaces; no capability; gone with us.
APART = ("--unshare-all", "--die-with-parent", "--cap-drop", "ALL")
_TRIAL = (*APART, "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--", "/bin/sh", "-c", ":")


@dataclass(eq=False)
class SandboxMissing(TeamError):
    """Commands are to run in a sandbox, and there is none."""

    why: str
    says = (
        "no sandbox: {why}. Install bubblewrap (apt-get install bubblewrap, dnf install bubblewrap), or let "
        "commands run as you: `sandbox: off` in your own config.yaml, or --sandbox off"
    )


def find_bubblewrap(repository: Path) -> str:
    """The path of a bubblewrap that works, never one inside the repository. Raises SandboxMissing."""
    found = shutil.which(NAME)
    if found is None or Path(found).resolve().is_relative_to(repository.resolve()):
        raise SandboxMissing(why="bubblewrap is not installed")
    program = str(Path(found).absolute())
    try:
        tried = subprocess.run(
            [program, *_TRIAL],
            env=tool_environment(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=TRY_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise SandboxMissing(why=f"{program} does not work here ({error})") from error
    if tried.returncode:
        said = tried.stderr.decode("utf-8", "replace").strip()
        raise SandboxMissing(why=f"{program} does not work here ({said})")
    return program
