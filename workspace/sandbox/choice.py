"""Whether commands run in the sandbox: what was configured, what works here, what was agreed to."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING

import platformdirs

from workspace.sandbox.program import SandboxMissing, find_bubblewrap
from workspace.sandbox.sandbox import BUBBLEWRAP, OFF

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

QUESTION = (
    "There is no sandbox here: {why}. Commands of agents, checks and set-up would run as you, with all that "
    "you may do. Do that on this machine from now on?"
)


def choose(configured: str, repository: Path, ask: Callable[[str], bool] | None = None) -> str:
    """`bwrap` or `off`, never undecided; a yes of the person holds on this machine for good.

    Without `ask` nobody can be asked. Raises SandboxMissing.
    """
    if configured == OFF:
        return OFF
    try:
        find_bubblewrap(repository)
    except SandboxMissing as missing:
        if configured == BUBBLEWRAP:
            raise
        if not _agreed().exists():
            if ask is None or not ask(QUESTION.format(why=missing.why)):
                raise
            _agreed().parent.mkdir(parents=True, exist_ok=True)
            _agreed().touch()
        return OFF
    return BUBBLEWRAP


def _agreed() -> Path:
    """The file whose presence says that the person agreed for this machine; outside every repository."""
    return platformdirs.user_config_path("leadhand") / "without-sandbox" / socket.gethostname()


def is_forgery_proof(configured: str, repository: Path) -> bool:
    """True where no command of an agent can reach the key that signs decisions."""
    try:
        return choose(configured, repository) == BUBBLEWRAP
    except SandboxMissing:
        return False


def in_words(sandbox: str, network: str) -> str:
    """What a person has to know of it, in one line."""
    if sandbox == OFF:
        return (
            "no sandbox: commands of agents run as you and reach the whole machine; your decisions are not "
            "forgery-proof (docs/threat-model.md)"
        )
    reach = {
        "all": "with the network",
        "setup": "without the network but for set-up",
        "none": "without network",
    }
    return f"commands run inside bubblewrap, {reach[network]}"
