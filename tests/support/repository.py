"""A git repository as a person has it, driven by plain git."""

from __future__ import annotations

import os
import subprocess  # noqa: TID251 - the person's git, not the host's
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


@dataclass(frozen=True)
class Repository:
    """A checkout; `git` runs the person's own git in it."""

    path: Path

    @classmethod
    def create(cls, path: Path, files: Mapping[str, str]) -> Self:
        made = cls(path)
        path.mkdir(parents=True)
        made.git("init", "--quiet")
        made.write(files)
        made.git("add", "--all")
        made.git("commit", "--quiet", "--message", "Start")
        return made

    def git(self, *arguments: str, at: Path | None = None) -> str:
        ended = subprocess.run(
            ["git", *arguments], cwd=at or self.path, check=True, capture_output=True, text=True
        )
        return ended.stdout.strip()

    def write(self, files: Mapping[str, str], *, at: Path | None = None) -> None:
        for name, text in files.items():
            target = (at or self.path) / name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text, encoding="utf-8")

    def head(self) -> str:
        return self.git("rev-parse", "HEAD")

    def commit(self, files: Mapping[str, str], *, parent: str) -> str:
        """A commit that adds the files to `parent`, made aside: neither branch nor checkout moves."""
        index = {"GIT_INDEX_FILE": str(self.path / ".git" / "aside-index")}
        self._with(index, "read-tree", parent)
        for name, text in files.items():
            blob = self._with(index, "hash-object", "-w", "--stdin", given=text)
            self._with(index, "update-index", "--add", "--cacheinfo", f"100644,{blob},{name}")
        tree = self._with(index, "write-tree")
        return self.git("commit-tree", tree, "-p", parent, "-m", f"Change {' '.join(files)}")

    def _with(self, extra: Mapping[str, str], *arguments: str, given: str = "") -> str:
        ended = subprocess.run(
            ["git", *arguments],
            cwd=self.path,
            check=True,
            capture_output=True,
            text=True,
            input=given,
            env={**os.environ, **extra},
        )
        return ended.stdout.strip()

    def fingerprint(self) -> dict[str, str]:
        """All that belongs to the person: files, index, refs, configuration, hooks."""
        own = {
            str(file.relative_to(self.path)): file.read_bytes().hex()
            for file in sorted(self.path.rglob("*"))
            if file.is_file() and not {".git", ".worktrees"} & set(file.relative_to(self.path).parts)
        }
        git = self.path / ".git"
        kept = [git / "config", git / "index", git / "HEAD", *sorted((git / "hooks").iterdir())]
        own |= {f".git/{file.name}": file.read_bytes().hex() for file in kept if file.exists()}
        refs = self.git("for-each-ref", "--format=%(refname) %(objectname)")
        return own | {"refs": "\n".join(line for line in refs.splitlines() if "/leadhand/" not in line)}
