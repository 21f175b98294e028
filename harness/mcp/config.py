"""Pure: an entry of an MCP configuration into a server that can be started, or why it cannot."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from harness.mcp.lenient_json import NamedTwice
from harness.models.endpoint import is_address

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

MIN_TIMEOUT_SECONDS = 1.0  # a smaller one is nearly always meant in seconds, and is not obeyed
_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}")
_INPUT = re.compile(r"\$\{input:([^}]*)\}")
_GRANTS = ("alwaysAllow", "autoApprove")


class Transport(StrEnum):
    """How a server is reached."""

    STDIO = "stdio"
    HTTP = "http"
    SSE = "sse"


_TYPES = {
    "stdio": Transport.STDIO,
    "http": Transport.HTTP,
    "streamable-http": Transport.HTTP,
    "streamableHttp": Transport.HTTP,
    "sse": Transport.SSE,
}


@dataclass(frozen=True)
class Note:
    """A reason for a warning or an error: a code for programs, a sentence for people."""

    code: str
    text: str


@dataclass(frozen=True, kw_only=True)
class Server:
    """One configured server. Values may still name variables; `expand` fills them in."""

    name: str
    transport: Transport
    command: str = ""
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    cwd: str = ""  # relative to the project; empty: the project itself
    url: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    timeout_seconds: float | None = None  # of one call
    disabled: bool = False
    share: bool = False  # one connection for all agents of a host


@dataclass(frozen=True, kw_only=True)
class Entry:
    """What came of an entry: a server unless there is an error."""

    name: str
    server: Server | None = None
    errors: tuple[Note, ...] = ()
    warnings: tuple[Note, ...] = ()

    @property
    def status(self) -> str:
        if self.errors:
            return "error"
        if self.server and self.server.disabled:
            return "disabled"
        return "warn" if self.warnings else "ok"


class _Unusable(Exception):
    """The entry cannot be used."""

    def __init__(self, code: str, text: str) -> None:
        super().__init__(code)
        self.note = Note(code, text)


def read_entry(name: str, raw: Any) -> Entry:  # noqa: ANN401 - raw JSON
    """The entry as a server; every fault is a note, nothing is raised."""
    warnings: list[Note] = []
    try:
        server = _server(name, raw, warnings)
    except _Unusable as unusable:
        return Entry(name=name, errors=(unusable.note,), warnings=tuple(warnings))
    return Entry(name=name, server=server, warnings=tuple(warnings))


def _server(name: str, raw: Any, warnings: list[Note]) -> Server:  # noqa: ANN401 - raw JSON
    if not name.strip():
        raise _Unusable("name-missing", "a server has no name; agents connect it by that")
    if not isinstance(raw, dict):
        raise _Unusable("entry-not-object", f"{name} is no object with a command or a url")
    warnings += _overlooked(name, raw)
    transport = _transport(name, raw, warnings)
    _refuse_inputs(name, raw)
    is_local = transport is Transport.STDIO
    return Server(
        name=name,
        transport=transport,
        command=_text(name, raw, "command") if is_local else "",
        args=_texts(name, raw) if is_local else (),
        env=_mapping(name, raw, "env") if is_local else {},
        cwd=_text(name, raw, "cwd") if is_local else "",
        url="" if is_local else _text(name, raw, "url"),
        headers={} if is_local else _mapping(name, raw, "headers"),
        timeout_seconds=_timeout(name, raw, warnings),
        disabled=raw.get("disabled") is True or raw.get("enabled") is False,
        share=_share(name, raw, default=not is_local),
    )


def _overlooked(name: str, raw: dict[str, Any]) -> Iterator[Note]:
    for key in _GRANTS:
        if key in raw:
            yield Note("grant-ignored", f"{name}: {key} allows nothing here; permissions.allow does")
    if "envFile" in raw:
        yield Note("env-file-unsupported", f"{name}: envFile is not read; name the variables in env")
    if isinstance(raw, NamedTwice) and raw.twice:
        yield Note("duplicate-key", f"{name}: {', '.join(raw.twice)} is there twice; the last one counts")


def _transport(name: str, raw: dict[str, Any], warnings: list[Note]) -> Transport:
    kind, has_command, has_url = raw.get("type"), "command" in raw, "url" in raw
    if kind is not None and kind not in _TYPES:
        raise _Unusable("type-unknown", f"{name}: type {kind!r} is not known; use stdio, http or sse")
    if has_command and has_url:
        raise _Unusable("command-and-url", f"{name} has a command and a url; keep one of them")
    if kind is None and has_url:
        warnings.append(Note("type-missing", f"{name} has a url and no type; taken as http"))
        return Transport.HTTP
    transport = _TYPES[kind or "stdio"]
    wanted = "command" if transport is Transport.STDIO else "url"
    value = raw.get(wanted)
    if value is not None and not isinstance(value, str):
        raise _Unusable(f"{wanted}-not-string", f"{name}: {wanted} is no text; further words go into args")
    if not (value or "").strip():
        raise _Unusable(f"{wanted}-missing", f"{name} has no {wanted}")
    return transport


def _refuse_inputs(name: str, raw: dict[str, Any]) -> None:
    for text in _all_texts(raw):
        if match := _INPUT.search(text):
            detail = f"{name}: ${{input:{match[1]}}} cannot be asked for; use an environment variable"
            raise _Unusable("input-unsupported", detail)


def _all_texts(value: Any) -> Iterator[str]:  # noqa: ANN401 - raw JSON
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _all_texts(item)


def _text(name: str, raw: dict[str, Any], key: str) -> str:
    value = raw.get(key, "")
    if not isinstance(value, str):
        raise _Unusable("value-not-string", f"{name}: {key} is no text")
    return value.strip()


def _texts(name: str, raw: dict[str, Any]) -> tuple[str, ...]:
    value = raw.get("args", [])
    if not isinstance(value, list):
        raise _Unusable("args-not-list", f"{name}: args is no list; write one text for each argument")
    if not all(isinstance(item, str) for item in value):
        raise _Unusable("value-not-string", f"{name}: args has something that is no text; put it in quotes")
    return tuple(value)


def _mapping(name: str, raw: dict[str, Any], key: str) -> dict[str, str]:
    value = raw.get(key, {})
    if not isinstance(value, dict):
        raise _Unusable(f"{key}-not-object", f"{name}: {key} is no object of names and texts")
    for of, item in value.items():
        if not isinstance(item, str):
            raise _Unusable("value-not-string", f"{name}: {of} in {key} is no text; put it in quotes")
    return dict(value)


def _share(name: str, raw: dict[str, Any], *, default: bool) -> bool:
    value = raw.get("share", default)
    if not isinstance(value, bool):
        raise _Unusable("share-not-boolean", f"{name}: share is true or false")
    return value


def _timeout(name: str, raw: dict[str, Any], warnings: list[Note]) -> float | None:
    value = raw.get("timeout")
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < float("inf"):
        raise _Unusable("timeout-not-a-number", f"{name}: timeout is a number of milliseconds")
    seconds = value / 1000
    if seconds < MIN_TIMEOUT_SECONDS:
        text = f"{name}: timeout {value} is in milliseconds and too small; the default is taken"
        warnings.append(Note("timeout-too-small", text))
        return None
    return seconds


def expand(entry: Entry, environ: Mapping[str, str]) -> Entry:
    """The entry with its variables filled in.

    A name that is not set and has no default is kept as it stands, with a warning; where it would be
    sent to a server or decide what is started, it is an error.
    """
    if entry.server is None:
        return entry
    server = entry.server
    kept: dict[str, None] = {}
    fatal: dict[str, None] = {}
    filled = replace(
        server,
        args=tuple(_fill(value, environ, kept) for value in server.args),
        env={name: _fill(value, environ, kept) for name, value in server.env.items()},
        command=_fill(server.command, environ, fatal),
        cwd=_fill(server.cwd, environ, fatal),
        url=_fill(server.url, environ, fatal),
        headers={name: _fill(value, environ, fatal) for name, value in server.headers.items()},
    )
    return replace(
        entry,
        server=filled,
        errors=(*entry.errors, *(_unset(entry.name, name) for name in fatal), *_no_address(filled)),
        warnings=(*entry.warnings, *(_unset(entry.name, name) for name in kept if name not in fatal)),
    )


def _no_address(server: Server) -> Iterator[Note]:
    if server.url and not is_address(server.url) and not _VARIABLE.search(server.url):
        yield Note("url-no-address", f"{server.name}: url must be an address such as https://host/mcp")


def variables_of(server: Server) -> set[str]:
    """The names of the environment that the server's entry mentions."""
    texts = (server.command, server.cwd, server.url, *server.args, *server.env.values())
    return {match[1] for text in (*texts, *server.headers.values()) for match in _VARIABLE.finditer(text)}


def _fill(text: str, environ: Mapping[str, str], unset: dict[str, None]) -> str:
    def value(match: re.Match[str]) -> str:
        default: str | None = match[2]
        found = environ.get(match[1], default)
        if found is None:
            unset[match[1]] = None
            return match[0]
        return found

    return _VARIABLE.sub(value, text)


def _unset(server: str, name: str) -> Note:
    text = (
        f"{server}: the variable {name} is not set; set it in the environment, or write ${{{name}:-default}}"
    )
    return Note(f"variable-unset:{name}", text)
