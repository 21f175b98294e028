"""Repositories that a measured team works on: filled, and looked at while it runs."""

from __future__ import annotations

import io
import subprocess
import sys
import tarfile
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path


def tell(event: dict[str, Any]) -> None:
    """Progress on stderr, where a person may look at it."""
    if event["action"] in {"merged", "completion_refused", "member_lost", "sent_back", "take_failed", "said"}:
        facts = {key: event[key] for key in ("who", "subject", "why", "error", "text") if event.get(key)}
        print(event["action"], *facts.values(), file=sys.stderr)


def write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")


def git(place: Path, *arguments: str) -> str:
    identity = ["-c", "user.name=bench", "-c", "user.email=bench@leadhand.invalid"]
    ended = subprocess.run(
        ["git", *identity, *arguments], cwd=place, check=True, stdout=subprocess.PIPE, text=True
    )
    return ended.stdout.strip()


def copy_content(source: Path, target: Path) -> None:
    """The files that git tracks in a checkout as they are now, or those of a git directory's HEAD."""
    if (source / ".git").exists():
        for name in git(source, "ls-files", "-z").split("\0"):
            if name and (source / name).is_file():
                (target / name).parent.mkdir(parents=True, exist_ok=True)
                (target / name).write_bytes((source / name).read_bytes())
        return
    archive = subprocess.run(
        ["git", "--git-dir", str(source), "archive", "--format=tar", "HEAD"], check=True, capture_output=True
    )
    with tarfile.open(fileobj=io.BytesIO(archive.stdout)) as files:
        files.extractall(target, filter="data")
