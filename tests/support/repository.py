"""A git repository as a person has it, driven by plain git."""

from __future__ import annotations

import os
import subprocess  # noqa: TID251 - the person's git, not the host's
from typing import TYPE_CHECKING, Self

from coordination.layout import TOP_LEVEL

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


class Repository:
    """A checkout; `git` runs the person's own git in it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._remembered: dict[str, str] = {}

    @classmethod
    def create(cls, path: Path, files: Mapping[str, str]) -> Self:
        path.mkdir(parents=True)
        made = cls(path)
        made.git("init", "--quiet")
        made.write(files)
        made.git("add", "--all")
        made.git("commit", "--quiet", "--message", "Start")
        return made

    def git(
        self,
        *arguments: str,
        at: Path | None = None,
        given: str = "",
        extra: Mapping[str, str] | None = None,
    ) -> str:
        ended = subprocess.run(
            ["git", *arguments],
            cwd=at or self.path,
            check=True,
            capture_output=True,
            text=True,
            input=given,
            env={**os.environ, **(extra or {})},
        )
        return ended.stdout.strip()

    def write(self, files: Mapping[str, str], *, at: Path | None = None) -> None:
        for name, text in files.items():
            target = (at or self.path) / name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text, encoding="utf-8")

    def head(self) -> str:
        return self.git("rev-parse", "HEAD")

    def commit(self, files: Mapping[str, str | None], *, parent: str, mode: str = "100644") -> str:
        """A commit that adds the files to `parent`, made aside: neither branch nor checkout moves.

        A file with None for its text is deleted.
        """
        aside = {"GIT_INDEX_FILE": str(self.path / ".git" / "aside")}
        self.git("read-tree", parent, extra=aside)
        for name, text in files.items():
            if text is None:
                self.git("update-index", "--force-remove", name, extra=aside)
                continue
            blob = self.git("hash-object", "-w", "--stdin", given=text)
            self.git("update-index", "--add", "--cacheinfo", f"{mode},{blob},{name}", extra=aside)
        tree = self.git("write-tree", extra=aside)
        return self.git("commit-tree", tree, "-p", parent, "-m", f"Change {' '.join(files)}")

    def remember(self) -> None:
        self._remembered = self._belongings()

    def is_as_remembered(self) -> bool:
        return self._belongings() == self._remembered

    def _belongings(self) -> dict[str, str]:
        """All that is the person's: files, index, branch, refs but ours, configuration, hooks."""
        ours = {".git", *TOP_LEVEL}
        files = [path for path in self.path.rglob("*") if not ours & set(path.relative_to(self.path).parts)]
        git = self.path / ".git"
        files += [git / "config", git / "index", git / "HEAD", *(git / "hooks").iterdir()]
        refs = self.git("for-each-ref", "--format=%(refname) %(objectname)").splitlines()
        return {str(path): path.read_bytes().hex() for path in files if path.is_file()} | {
            "refs": "\n".join(line for line in refs if "/leadhand/" not in line)
        }
