"""The kinds of sub-agents: what each is for, and which tools it has."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Kind:
    """What a sub-agent is started as."""

    name: str
    purpose: str  # for the model that chooses
    tools: frozenset[str]  # names, of shell, files and search
    instructions: str = ""  # for itself, beyond those of every sub-agent


READERS = frozenset({"read_file", "glob", "grep"})
GENERAL = Kind(
    name="general",
    purpose="files, search and shell: for work that changes something, or has to run commands",
    tools=READERS | {"bash", "write_file", "edit_file"},
)
READ_ONLY = Kind(
    name="read_only",
    purpose="reads and searches files and can change nothing: for questions about the code",
    tools=READERS,
    instructions="You can read and search, and change nothing; name files and lines in your report.",
)
BUILT_IN = (GENERAL, READ_ONLY)
