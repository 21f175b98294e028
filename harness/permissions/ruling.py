"""Pure: what a call is judged by, where it would act, and the verdict."""

from __future__ import annotations

from dataclasses import dataclass
from posixpath import basename, join, normpath
from typing import TYPE_CHECKING

from harness.permissions.protected import is_guide, is_protected, is_state
from harness.permissions.rules import Rule, Verdict, as_pattern

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

HOME = "~"


@dataclass(frozen=True, kw_only=True)
class Ruling:
    """The verdict on one call and why."""

    verdict: Verdict
    reason: str  # destructive, protected, rule, secret, instructs, outside, shell, check, built_in
    text: str
    rule: Rule | None = None  # the one that decided


@dataclass(frozen=True, kw_only=True)
class Policy:
    """Everything that a process judges the calls of its model by."""

    rules: Sequence[Rule] = ()
    role: str = "teammate"  # whose calls they are
    checks: Sequence[str] = ()  # commands of checks and of the set-up, which a person wrote

    def decides(
        self, verdict: Verdict, tool: str, places: Sequence[str], *, named: bool = False
    ) -> Rule | None:
        """The first rule with this verdict on the tool and one of these; `named`: only one with a pattern."""
        for rule in self.rules:
            if rule.verdict is verdict and rule.is_about(tool, self.role) and (rule.pattern or not named):
                pattern = as_pattern(rule.pattern) if rule.pattern else None
                if pattern is None or any(map(pattern.fullmatch, places)):
                    return rule
        return None

    def hides(self, place: str) -> bool:
        """True for a file that may not be read without a word, so that no search shows what is in it."""
        tightening = (Verdict.DENY, Verdict.ASK)
        return any(self.decides(verdict, "read_file", [place]) for verdict in tightening)


def by_rule(rule: Rule) -> Ruling:
    return Ruling(verdict=rule.verdict, reason="rule", text=f"the rule {rule} says {rule.verdict}", rule=rule)


def asked(reason: str, text: str) -> Ruling:
    return Ruling(verdict=Verdict.ASK, reason=reason, text=text)


@dataclass(frozen=True, kw_only=True)
class Ground:
    """Where a call would act. Without the functions paths are taken by their words alone."""

    cwd: str = ""  # the working directory, every link followed
    root: str = ""  # that of the team
    persons: str = ""  # where the person's own files lie
    real: Callable[[str], Sequence[str]] | None = None  # where a path or a glob really leads, absolute
    files_below: Callable[[str], Sequence[str]] | None = None  # as places
    in_skill: Callable[[str], bool] | None = None  # whether a folder above the place holds a skill
    plants: Callable[[str], bool] | None = None  # whether git would take a folder below for a repository

    def places(self, path: str) -> list[str]:
        """Where the path leads: relative to the working directory if inside, else absolute or below `~`."""
        if path.startswith(HOME):
            return [path]
        found = self.real(path) if self.real else [normpath(join(self.cwd, path))]
        return [self._place(real) for real in found]

    def all_places(self, paths: Sequence[str]) -> list[str]:
        """Where these lead."""
        return [place for path in paths for place in self.places(path)]

    def below(self, paths: Sequence[str]) -> list[str]:
        """All files in these directories, a link as the place that it leads to."""
        find = self.files_below or (lambda _: ())
        return [file for place in self.all_places(paths) for file in find(place)]

    def _place(self, real: str) -> str:
        if real == self.cwd:
            return "."
        return real.removeprefix(f"{self.cwd}/") if self.cwd else real

    def is_protected(self, place: str) -> bool:
        """True for what no tool writes, wherever it is named from."""
        if not is_outside(place):
            return is_protected(place)
        below = self._below_root(place)
        return bool(self.persons and f"{place}/".startswith(f"{self.persons}/")) or (
            bool(below) and is_protected(below)
        )

    def instructs(self, place: str) -> bool:
        """True for what other agents are told, or load: `AGENTS.md`, and all that a skill brings along."""
        return is_guide(place) or (self.in_skill is not None and self.in_skill(place))

    def may_be_option(self, path: str) -> bool:
        """True for a pattern that stands for a name which a program would take for an option."""
        is_pattern = not set("*?[").isdisjoint(path)
        return is_pattern and any(basename(place).startswith("-") for place in self.places(path))

    def is_repository(self, place: str) -> bool:
        """True for a folder in the tree of a task that git would take for a repository of its own."""
        return self.plants is not None and any(map(self.plants, self.places(place)))

    def is_state(self, place: str) -> bool:
        """True for git's and the team's own files."""
        below = self._below_root(place) if is_outside(place) else place
        return bool(below) and is_state(below)

    def _below_root(self, place: str) -> str:
        return place.removeprefix(f"{self.root}/") if self.root and place.startswith(f"{self.root}/") else ""


def is_outside(place: str) -> bool:
    """True for a place that is not below the working directory."""
    return place.startswith(("/", HOME, "../")) or place == ".."
