"""Files of MCP configuration, one or several merged: which servers there are, and what was wrong."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

from coordination.errors import cause_of
from harness.mcp.config import Entry, Note, Server, Transport, read_entry
from harness.mcp.lenient_json import NamedTwice, parse
from harness.mcp.names import prefix_of
from harness.regular_files import FileUnusable, read_regular

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

KEYS = ("mcpServers", "servers")  # of most hosts; of VS Code


@dataclass(frozen=True, kw_only=True)
class Configuration:
    """The entries of a file, or of several that were merged."""

    source: str
    entries: Sequence[Entry] = ()
    errors: Sequence[Note] = ()  # of the file as a whole
    warnings: Sequence[Note] = ()


@dataclass(frozen=True, kw_only=True)
class Place:
    """Where a configuration may lie, and how people call it."""

    path: Path
    source: str
    within: Path | None = None  # links may not lead out of this directory
    is_required: bool = False  # the person named it


def read_file(place: Place) -> Configuration:
    """What the file says; one that is not there says nothing unless it is required."""
    try:
        data = read_regular(place.path, within=place.within)
    except FileNotFoundError as error:
        if not place.is_required:
            return Configuration(source=place.source)
        return _broken(place.source, f"{place.path} cannot be read: {cause_of(error)}")
    except FileUnusable as error:
        return _broken(place.source, f"{place.path} cannot be read: {error.why}")
    return read_configuration(data, place.source)


def read_configuration(data: bytes, source: str) -> Configuration:
    """The entries in these bytes; one bad entry leaves the others as they are."""
    parsed = parse(data)
    if parsed.fault:
        return _broken(source, f"{source}: {parsed.fault}; none of its servers is known", code="json")
    warnings = [Note("not-strict", f"{source}: {text}") for text in parsed.warnings]
    servers = _servers(parsed.value)
    if servers is None:
        return _broken(source, f"{source}: mcpServers is missing, or is no object", code="no-servers")
    if servers is parsed.value and servers:
        warnings.append(Note("bare-map", f"{source}: the servers should stand under mcpServers"))
    twice = set(servers.twice)
    entries = [_with_duplicates(read_entry(name, raw), twice) for name, raw in servers.items()]
    return Configuration(source=source, entries=entries, warnings=warnings)


def _broken(source: str, text: str, *, code: str = "unreadable") -> Configuration:
    return Configuration(source=source, errors=[Note(code, text)])


def _servers(document: Any) -> NamedTwice | None:  # noqa: ANN401 - raw JSON
    if not isinstance(document, NamedTwice):
        return None
    for key in KEYS:
        if key in document:
            return document[key] if isinstance(document[key], NamedTwice) else None
    is_bare = all(isinstance(raw, dict) and {"command", "url"} & raw.keys() for raw in document.values())
    return document if is_bare else None


def _with_duplicates(entry: Entry, twice: set[str]) -> Entry:
    if entry.name not in twice:
        return entry
    note = Note("duplicate-key", f"{entry.name} is there twice; the last one counts")
    return replace(entry, warnings=(*entry.warnings, note))


@dataclass(frozen=True, kw_only=True)
class Configured:
    """An entry and the file it came from."""

    source: str
    entry: Entry


@dataclass(frozen=True, kw_only=True)
class Merged:
    """All entries of all files by name; an earlier file wins."""

    servers: Mapping[str, Configured]
    errors: Sequence[Note] = ()
    warnings: Sequence[Note] = ()

    def to_json(self) -> dict[str, Any]:
        """What every process needs to know of the servers that can be used; values name their variables."""
        return {
            name: {"source": of.source, **asdict(of.entry.server), "args": list(of.entry.server.args)}
            for name, of in self.servers.items()
            if of.entry.server and not of.entry.errors
        }


def servers_from_json(raw: Mapping[str, Any]) -> dict[str, Server]:
    """What `Merged.to_json` wrote."""
    return {
        name: Server(
            **{
                **{key: value for key, value in fields.items() if key != "source"},
                "transport": Transport(fields["transport"]),
                "args": tuple(fields["args"]),
            }
        )
        for name, fields in raw.items()
    }


def merge(configurations: Iterable[Configuration]) -> Merged:
    """The configurations as one, the strongest first; what is hidden or ambiguous is told."""
    servers: dict[str, Configured] = {}
    errors: list[Note] = []
    warnings: list[Note] = []
    for configuration in configurations:
        errors += configuration.errors
        warnings += configuration.warnings
        for entry in configuration.entries:
            if entry.name in servers:
                first = servers[entry.name].source
                text = f"{entry.name} of {configuration.source} is hidden by that of {first}"
                warnings.append(Note("hidden", text))
            else:
                told = _unambiguous(entry, servers)
                servers[entry.name] = Configured(source=configuration.source, entry=told)
    return Merged(servers=servers, errors=errors, warnings=warnings)


def _unambiguous(entry: Entry, servers: Iterable[str]) -> Entry:
    """An error for a name whose tools could pass for those of another server."""
    mine = prefix_of(entry.name)
    for other in servers:
        theirs = prefix_of(other)
        if mine != theirs and (mine.startswith(theirs) or theirs.startswith(mine)):
            text = f"{entry.name}: its tools could be taken for those of {other}; rename one of the servers"
            return replace(entry, errors=(*entry.errors, Note("name-ambiguous", text)))
    return entry
