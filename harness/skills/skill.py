"""One skill as the catalog knows it, and what was wrong in its file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from harness.skills.frontmatter import Problem, Severity

if TYPE_CHECKING:
    from collections.abc import Mapping

FILE = "SKILL.md"  # exactly so, on every file system


@dataclass(frozen=True, kw_only=True)
class Skill:
    """A skill that can be loaded."""

    name: str
    description: str
    body: str
    directory: str  # absolute
    source: str  # the root it was found in, as people name it
    digest: str  # SHA-256 over its file and all resources
    resources: Mapping[str, str]  # paths relative to the directory, to the SHA-256 of their bytes
    metadata: Mapping[str, str]
    allowed_tools: tuple[str, ...] = ()  # shown, never granted
    license: str = ""
    compatibility: str = ""


@dataclass(frozen=True, kw_only=True)
class Reading:
    """What came of reading a folder: a skill, unless one of the problems is an error."""

    path: str  # of the file
    skill: Skill | None = None
    problems: tuple[Problem, ...] = ()

    @property
    def errors(self) -> list[Problem]:
        return [problem for problem in self.problems if problem.severity is Severity.ERROR]


def tokens_of(text: str) -> int:
    """About how many tokens a model takes for it: a quarter of its bytes, rounded up."""
    return -(-len(text.encode("utf-8", "replace")) // 4)
