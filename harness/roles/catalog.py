"""All roles of one project by name: found in their directories, shown to the lead, asked for by name."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace
from html import escape
from typing import TYPE_CHECKING, Any

from coordination.errors import TeamError
from harness.roles.reading import read_role
from harness.roles.role import Role, RoleReading
from harness.skills.frontmatter import Problem, Severity

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

PLACES = (".agents/roles", ".claude/agents")  # an earlier one wins
TEAMMATE = "teammate"  # the role of members for whom nobody named one
BROKEN = "broken"
DESCRIPTION_CHARACTERS = 1024  # of one role, in the prompt of the lead; as of a skill
HEAD = (
    "# Roles\nA teammate may have one of these (spawn_teammate), and a task may be for some of them only "
    "(create_task). A role brings its own instructions, tools and model.\n"
)


@dataclass(eq=False)
class UnknownRole(TeamError):
    """No file of the project describes the role."""

    role: str
    known: str
    says = "there is no role {role}; known are: {known}"


@dataclass(eq=False)
class RoleBroken(TeamError):
    """The file of the role cannot be used."""

    role: str
    why: str
    says = "the role {role} cannot be used: {why}"


@dataclass(frozen=True, kw_only=True)
class RoleCatalog:
    """The roles that there are, and all that was wrong or passed over.

    Where the project has no files of roles, a role is a mere word that tasks and members share.
    """

    roles: Mapping[str, Role] = field(default_factory=dict)
    broken: Mapping[str, str] = field(default_factory=dict)  # name to file, line and reason
    readings: Sequence[RoleReading] = ()  # of every file that was looked at

    @property
    def is_open(self) -> bool:
        """True where any word may be a role."""
        return not (self.roles or self.broken)

    @property
    def names(self) -> list[str]:
        """What may be asked for, where the project has files of roles."""
        return sorted({TEAMMATE, *self.roles})

    def role(self, name: str) -> Role | None:
        """The role of this name; None for one without a file. Raises UnknownRole, RoleBroken."""
        if name in self.roles or name == TEAMMATE or self.is_open:
            return self.roles.get(name)
        if name in self.broken:
            raise RoleBroken(role=name, why=self.broken[name])
        raise UnknownRole(role=name, known=", ".join(self.names))

    def check(self, names: Iterable[str]) -> None:
        """Raise UnknownRole or RoleBroken unless members may have each of these roles."""
        for name in names:
            self.role(name)

    @property
    def models(self) -> list[str]:
        """Those that roles name for their members."""
        return sorted({role.model for role in self.roles.values() if role.model})

    @property
    def section(self) -> str:
        """What the prompt of the lead says of them; empty without roles."""
        if not self.roles:
            return ""
        return HEAD + "\n".join(map(_entry, self.roles.values()))

    def to_json(self) -> dict[str, Any]:
        """All that a process needs in order to have the same roles."""
        return {**{name: asdict(role) for name, role in self.roles.items()}} | {
            name: {BROKEN: why} for name, why in self.broken.items()
        }

    @classmethod
    def from_json(cls, raw: Mapping[str, Any]) -> RoleCatalog:
        roles = {name: _role(fields) for name, fields in raw.items() if BROKEN not in fields}
        return cls(
            roles=roles,
            broken={name: fields[BROKEN] for name, fields in raw.items() if BROKEN in fields},
        )


def scan_roles(repository: Path, models: Mapping[str, str]) -> RoleCatalog:
    """What lies in the project now; `models` as `read_role` takes them."""
    first: dict[str, RoleReading] = {}  # a broken file hides a later one too, which may forbid less
    readings: list[RoleReading] = []
    for path in _files(repository):
        reading = read_role(path, repository=repository, models=models)
        winner = first.setdefault(reading.name, reading)
        readings.append(reading if winner is reading else _hidden(reading, winner))
    winners = sorted(first.values(), key=lambda reading: reading.name)
    return RoleCatalog(
        roles={reading.name: reading.role for reading in winners if reading.role},
        broken={reading.name: _why(reading) for reading in winners if reading.role is None},
        readings=readings,
    )


def _hidden(reading: RoleReading, winner: RoleReading) -> RoleReading:
    problem = Problem(code="shadowed", text=f"{reading.name} is hidden by {winner.path}, which comes first")
    return replace(reading, role=None, problems=(*reading.problems, problem))


def _files(repository: Path) -> Iterator[Path]:
    for place in PLACES:
        try:
            yield from sorted(path for path in (repository / place).iterdir() if path.suffix == ".md")
        except OSError:  # the usual case: there is no such directory
            continue


def _entry(role: Role) -> str:
    description = escape(role.description[:DESCRIPTION_CHARACTERS], quote=False)
    return f"- {role.name}: {description} ({role.says_tools})"


def _why(reading: RoleReading) -> str:
    errors = (problem for problem in reading.problems if problem.severity is Severity.ERROR)
    return "; ".join(problem.at(reading.path) for problem in errors)


def _role(fields: Mapping[str, Any]) -> Role:
    tools = fields["tools"]
    lists = {"tools": None if tools is None else tuple(tools), "without": tuple(fields["without"])}
    return Role(**{**fields, **lists})
