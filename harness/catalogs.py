"""What a run offers its agents beside its own tools: pinned once by the lead, the same in every process."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.instructions.instructions import Instructions, find_instructions
from harness.mcp.config_file import Place, merge, read_file, servers_from_json
from harness.pinned import pin, pinned
from harness.roles.catalog import PLACES as ROLE_PLACES
from harness.roles.catalog import RoleCatalog, scan_roles
from harness.settings.sources import user_file
from harness.skills.catalog import Catalog, roots_of, scan
from harness.skills.skill import FILE as SKILL_FILE
from harness.trust.repository_files import MCP_FILE, RepositoryFiles, find_files

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from coordination.files import StateDirectory
    from harness.mcp.config import Server
    from harness.mcp.config_file import Merged
    from harness.settings.settings import Settings

SKILLS = "skills"
MCP = "mcp"
INSTRUCTIONS = "instructions"
ROLES = "roles"
REPOSITORY = "repository"
USER_FILE = "mcp.json"  # beside the person's own settings
PERSONS_SOURCE = "your configuration"  # how that file is called


@dataclass(frozen=True, kw_only=True)
class Catalogs:
    """What there is to offer."""

    skills: Catalog
    servers: Mapping[str, Any]  # as `Merged.to_json` writes them
    instructions: Instructions
    roles: RoleCatalog
    files: RepositoryFiles  # that the repository brings along, as the person has seen them

    @property
    def configured(self) -> dict[str, Server]:
        return servers_from_json(self.servers)

    def is_of_repository(self, server: str) -> bool:
        """True for a server that the repository brings along."""
        return bool(self.servers[server]["source"] == MCP_FILE)

    @property
    def named_files(self) -> list[str]:
        """The files of MCP configuration that the person named."""
        sources = {of["source"] for of in self.servers.values()}
        return sorted(sources - {MCP_FILE, PERSONS_SOURCE})

    def pin(self, directory: StateDirectory) -> dict[str, str]:
        """All of it is on disk, under the digests returned."""
        return {kind: pin(directory, document) for kind, document in self._documents().items()}

    def changes_since(self, former: Catalogs) -> Iterator[str]:
        """What is other than it was, a sentence each."""
        yield from _changes("skill", former.skills.to_json(), self.skills.to_json())
        yield from _changes("MCP server", former.servers, self.servers)
        yield from _changes("role", former.roles.to_json(), self.roles.to_json())
        yield from _changes("file", _alone(former.files), _alone(self.files))

    def _documents(self) -> dict[str, dict[str, Any]]:
        return {
            SKILLS: self.skills.to_json(),
            MCP: dict(self.servers),
            INSTRUCTIONS: self.instructions.to_json(),
            ROLES: self.roles.to_json(),
            REPOSITORY: self.files.to_json(),
        }


def _changes(kind: str, before: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[str]:
    for name in sorted(before.keys() | now.keys()):
        if before.get(name) != now.get(name):
            what = "is new" if name not in before else "is gone" if name not in now else "has changed"
            yield f"the {kind} {name} {what} on disk since the run began"


def _alone(files: RepositoryFiles) -> dict[str, str]:
    """Those that are told of by themselves: no part of a skill, no role, not the list of servers."""
    skills = tuple(
        f"{name.removesuffix(SKILL_FILE)}" for name in files.texts if name.endswith(f"/{SKILL_FILE}")
    )
    parts = (*skills, *ROLE_PLACES)
    return {
        name: text for name, text in files.texts.items() if name != MCP_FILE and not name.startswith(parts)
    }


def find_catalogs(
    root: Path, repository: Path, settings: Settings, *, tracked: Collection[str] = ()
) -> Catalogs:
    """What lies on the disk of this machine now; `tracked` as for `find_files`.

    Raises RepositoryFileUnreadable.
    """
    roots = roots_of(repository, home=Path.home(), allowed_at_home=settings.skills_allow)
    return Catalogs(
        skills=scan(roots),
        servers=find_servers(repository, settings).to_json(),
        instructions=find_instructions(repository),
        roles=scan_roles(repository, settings.role_models),
        files=find_files(root, repository, tracked=tracked),
    )


def find_servers(repository: Path, settings: Settings) -> Merged:
    """The MCP servers of the files that the person named, of the person's own file, and of the project."""
    places = [
        *(Place(path=Path(file), source=file, is_required=True) for file in settings.mcp_config),
        Place(path=user_file().with_name(USER_FILE), source=PERSONS_SOURCE),
        Place(path=repository / MCP_FILE, source=MCP_FILE, within=repository),
    ]
    return merge(map(read_file, places))


def pinned_catalogs(directory: StateDirectory, digests: Mapping[str, str]) -> Catalogs:
    """What was pinned under these digests; nothing where there is none. Raises PinLost."""
    skills, servers, texts, roles, files = (
        pinned(directory, digests[kind]) if kind in digests else {}
        for kind in (SKILLS, MCP, INSTRUCTIONS, ROLES, REPOSITORY)
    )
    return Catalogs(
        skills=Catalog.from_json(skills),
        servers=servers,
        instructions=Instructions(texts=texts),
        roles=RoleCatalog.from_json(roles),
        files=RepositoryFiles.from_json(files),
    )
