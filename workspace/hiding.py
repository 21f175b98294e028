"""Keep the team's directories out of the person's `git status`, without a tracked file."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from workspace.git import Git


def hide(git: Git, root: Path, names: Sequence[str]) -> None:
    """The directories of these names under the root are in `.git/info/exclude`, each once.

    A root outside the checkout needs nothing.
    """
    if not root.resolve().is_relative_to(git.place.tree.resolve()):
        return
    inside = root.resolve().relative_to(git.place.tree.resolve()).as_posix()
    prefix = "/" if inside == "." else f"/{inside}/"
    path = git.place.common / "info" / "exclude"
    path.parent.mkdir(exist_ok=True)
    present = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    missing = [line for line in (f"{prefix}{name}/" for name in names) if line not in present]
    if missing:
        text = "\n".join([*present, "# leadhand's team directories", *missing]) + "\n"
        temporary = path.with_name(f".exclude.{os.getpid()}")
        temporary.write_text(text, encoding="utf-8")
        temporary.replace(path)
