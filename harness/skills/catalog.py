"""All skills of one team by name: found in their roots, shown in a prompt."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.skills.fields import DESCRIPTION_CHARACTERS
from harness.skills.frontmatter import Problem
from harness.skills.reading import read_skill
from harness.skills.skill import FILE, Reading, Skill

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

PROJECT_ROOTS = ("skills", ".agents/skills", ".claude/skills")
HOME_ROOT = "~/.agents/skills"
SHIPPED = "leadhand"  # the source of skills that come with the program
HEAD = (
    "# Skills\nWhen one of these fits what you are about to do, call load_skill with its name before you "
    "begin, and work as it says.\n"
)


@dataclass(frozen=True, kw_only=True)
class Root:
    """A directory that holds skills."""

    path: Path
    source: str  # as people name it
    within: Path | None = None  # where links may lead; without it, only below the directory itself
    allowed: frozenset[str] | None = None  # only these names, where the person has to name them


@dataclass(frozen=True, kw_only=True)
class Catalog:
    """The skills that a model may load, and all that was wrong or passed over."""

    skills: Mapping[str, Skill]
    readings: Sequence[Reading] = ()  # of every folder that was looked at

    @property
    def section(self) -> str:
        """What a prompt says of it: names and descriptions only; empty without skills."""
        if not self.skills:
            return ""
        entries = "\n".join(map(_entry, self.skills.values()))
        return f"{HEAD}<available_skills>\n{entries}\n</available_skills>"

    def to_json(self) -> dict[str, Any]:
        """All that a process needs in order to have the same catalog."""
        return {
            name: {**asdict(skill), "allowed_tools": list(skill.allowed_tools)}
            for name, skill in self.skills.items()
        }

    @classmethod
    def from_json(cls, raw: Mapping[str, Any]) -> Catalog:
        skills = {
            name: Skill(**{**fields, "allowed_tools": tuple(fields["allowed_tools"])})
            for name, fields in raw.items()
        }
        return cls(skills=skills)


def roots_of(repository: Path, *, home: Path, allowed_at_home: Iterable[str]) -> list[Root]:
    """Where skills are looked for; an earlier root wins."""
    return [
        *(Root(path=repository / name, source=name, within=repository) for name in PROJECT_ROOTS),
        Root(path=home / ".agents" / "skills", source=HOME_ROOT, allowed=frozenset(allowed_at_home)),
        Root(path=shipped_skills(), source=SHIPPED),
    ]


def shipped_skills() -> Path:
    """The skills that come with the program: in its source tree, or as it was installed."""
    package = Path(__file__).resolve().parent
    installed = package / "shipped"
    return installed if installed.is_dir() else package.parents[1] / "skills"


def scan(roots: Iterable[Root]) -> Catalog:
    """What lies in the roots now."""
    skills: dict[str, Skill] = {}
    readings: list[Reading] = []
    seen: set[Path] = set()
    for root in roots:
        real = root.path.resolve()
        if real in seen:
            continue
        seen.add(real)
        bound = root.within or root.path
        found = (read_skill(folder, root=bound, source=root.source) for folder in skill_folders(root.path))
        readings += [_offered(reading, root, skills) for reading in found]
        readings += _misnamed(root.path)
    return Catalog(skills=dict(sorted(skills.items())), readings=readings)


def _offered(reading: Reading, root: Root, skills: dict[str, Skill]) -> Reading:
    """The reading with what happened to its skill, which is among `skills` if nothing stood against it."""
    skill = reading.skill
    if skill is None:
        return reading
    if root.allowed is not None and not {"*", skill.name} & root.allowed:
        text = f"{skill.name} is off, as all skills of {root.source}; name it in skills.allow to use it"
        return _without_skill(reading, Problem(code="not-allowed", text=text))
    if skill.name in skills:
        first = f"{skills[skill.name].directory}/{FILE}"
        text = f"{skill.name} is hidden by {first}, which comes first"
        return _without_skill(reading, Problem(code="shadowed", text=text))
    skills[skill.name] = skill
    return reading


def _without_skill(reading: Reading, why: Problem) -> Reading:
    return Reading(path=reading.path, problems=(*reading.problems, why))


def skill_folders(root: Path) -> Iterator[Path]:
    """The folders that hold a skill: direct children, and those of a child that is none itself."""
    for child in _children(root):
        if _has(child, FILE):
            yield child
        else:
            yield from (grandchild for grandchild in _children(child) if _has(grandchild, FILE))


def _misnamed(root: Path) -> Iterator[Reading]:
    for child in _children(root):
        for name in _names(child):
            if name != FILE and name.casefold() == FILE.casefold() and not _has(child, FILE):
                text = f"{name} is not read; the file of a skill is called {FILE}, in capitals"
                yield Reading(path=str(child / name), problems=(Problem(code="file-name", text=text),))


def _children(directory: Path) -> list[Path]:
    return [
        directory / name
        for name in _names(directory)
        if not name.startswith(".") and (directory / name).is_dir()
    ]


def _has(directory: Path, name: str) -> bool:
    """By listing, since some file systems do not tell skill.md from SKILL.md."""
    return name in _names(directory)


def _names(directory: Path) -> list[str]:
    try:
        return sorted(path.name for path in directory.iterdir())
    except OSError:
        return []


def _entry(skill: Skill) -> str:
    description = escape(skill.description[:DESCRIPTION_CHARACTERS], quote=False)
    name = escape(skill.name, quote=False)
    return f"<skill>\n<name>\n{name}\n</name>\n<description>\n{description}\n</description>\n</skill>"
