"""The files of a repository that start programs, allow calls or speak to the model; read at one moment."""

from __future__ import annotations

import hashlib
import os
import re
import shlex
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from coordination.errors import TeamError, cause_of
from harness.hooks.configured import BadHook, hooks_of
from harness.mcp.config_file import read_configuration
from harness.permissions.protected import GUIDES
from harness.pinned import digest_of
from harness.regular_files import FileUnusable, digest_of_regular, read_regular
from harness.roles.catalog import PLACES as ROLE_PLACES
from harness.settings.sources import DOTENV_FILE, SETTINGS_FILE
from harness.skills.catalog import PROJECT_ROOTS, skill_folders
from harness.yaml_text import YamlUnusable, load_yaml

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping
    from pathlib import Path

MCP_FILE = ".mcp.json"
INCLUDE_FILE = ".worktreeinclude"
DIGEST = "sha256:"  # begins what stands for a file that is not shown
UNUSED = "not read: "  # begins what stands for something that nobody reads either
SHOWN_BYTES = 200_000  # of one file; of a longer one, as of one that is no text, only the digest is kept
_PROJECT = re.compile(r"\$(CLAUDE_PROJECT_DIR|LEADHAND_PROJECT|\{CLAUDE_PROJECT_DIR\}|\{LEADHAND_PROJECT\})/")


@dataclass(eq=False)
class RepositoryFileUnreadable(TeamError):
    """A file that counts is there and cannot be read, so nobody can say what it does."""

    path: str
    why: str
    exit_code = 2
    says = "cannot read {path} ({why}), which decides what runs here; mend it or move it away"


@dataclass(frozen=True, kw_only=True)
class RepositoryFiles:
    """What they hold, by the names under which they lie below the repository."""

    texts: Mapping[str, str]

    @property
    def digest(self) -> str:
        """SHA-256 of all of them."""
        return digest_of(self.to_json())

    def to_json(self) -> dict[str, Any]:
        return {"files": dict(self.texts)}

    @classmethod
    def from_json(cls, raw: Mapping[str, Any]) -> RepositoryFiles:
        return cls(texts=raw.get("files", {}))

    def other_than(self, before: RepositoryFiles) -> list[str]:
        """The names of those that are new, changed or gone."""
        names = self.texts.keys() | before.texts.keys()
        return sorted(name for name in names if self.texts.get(name) != before.texts.get(name))


def find_files(root: Path, repository: Path, *, tracked: Collection[str] = ()) -> RepositoryFiles:
    """Those that lie there now; settings in the team root, all others in the repository.

    `tracked` says which of the top files git knows: a `.env` that it does not know is the person's own.
    Raises RepositoryFileUnreadable.
    """
    settings, servers = _whole(root / SETTINGS_FILE, root), _whole(repository / MCP_FILE, repository)
    found = {SETTINGS_FILE: settings, MCP_FILE: servers}
    if DOTENV_FILE in tracked:
        found[DOTENV_FILE] = _hidden(root / DOTENV_FILE)
    words = [*_hook_words(settings or ""), *_server_words(servers or "")]
    others = [repository / name for name in (INCLUDE_FILE, *GUIDES)]
    for path in (*others, *_of_agents(repository), *_named(repository, words)):
        found.setdefault(_name(path, repository), _text(path, repository))
    return RepositoryFiles(texts={name: text for name, text in sorted(found.items()) if text is not None})


def _whole(path: Path, within: Path) -> str | None:
    """All of a file that says what runs here; what cannot be shown as a text is refused."""
    try:
        data = read_regular(path, within=within)
        text = data.decode("utf-8")
    except FileNotFoundError:
        return None
    except FileUnusable as error:
        raise RepositoryFileUnreadable(path=str(path), why=error.why) from error
    except UnicodeDecodeError as error:
        why = f"it is no UTF-8 at byte {error.start}; save it as UTF-8"
        raise RepositoryFileUnreadable(path=str(path), why=why) from error
    if "\0" in text:  # as UTF-16 without a mark looks
        raise RepositoryFileUnreadable(path=str(path), why="it has NUL bytes; save it as UTF-8")
    return text


def _text(path: Path, within: Path) -> str | None:
    """What the file holds, or its digest where that is nothing to show; None without a file."""
    try:
        return None if path.is_dir() else _shown(path, within)
    except FileNotFoundError:
        return None
    except FileUnusable as error:
        return _unused(path, error.why)
    except OSError as error:
        raise RepositoryFileUnreadable(path=str(path), why=cause_of(error)) from error


def _shown(path: Path, within: Path) -> str:
    if path.exists() and path.stat().st_size > SHOWN_BYTES:
        return f"{DIGEST}{digest_of_regular(path, within=within)}"
    data = read_regular(path, within=within)
    with suppress(UnicodeDecodeError):
        text = data.decode("utf-8")
        if not text.startswith((DIGEST, UNUSED)):  # or it could pass for another file
            return text
    return f"{DIGEST}{hashlib.sha256(data).hexdigest()}"


def _unused(path: Path, why: str) -> str:
    """Of what is no file of the repository only the reason; a file that wants leave may be read later."""
    if path.is_file() and not os.access(path, os.R_OK):
        raise RepositoryFileUnreadable(path=str(path), why=why)
    return f"{UNUSED}{os.fsencode(why).decode('utf-8', 'backslashreplace')}"


def _hidden(path: Path) -> str | None:
    """Only the digest: its values are credentials."""
    try:
        return f"{DIGEST}{digest_of_regular(path)}"
    except FileNotFoundError:
        return None
    except FileUnusable as error:
        raise RepositoryFileUnreadable(path=str(path), why=error.why) from error


def _name(path: Path, repository: Path) -> str:
    """How people call it; a name that is no UTF-8 shows its odd bytes."""
    name = os.fsencode(path.relative_to(repository)).replace(b"\\", rb"\\")  # so that no two share one
    return name.decode("utf-8", "backslashreplace")


def _of_agents(repository: Path) -> Iterator[Path]:
    """Every role, and every file of every skill: what a model is told, may load and be told to run."""
    for place in ROLE_PLACES:
        yield from (repository / place).glob("*")
    for root in PROJECT_ROOTS:
        for folder in skill_folders(repository / root):
            yield from folder.rglob("*")


def _hook_words(settings: str) -> list[str]:
    """The words of all hooks; a file that is no YAML is refused where the settings are read."""
    try:
        document = load_yaml(settings)
        hooks = hooks_of(document.get("hooks", {}) if isinstance(document, dict) else {})
    except (YamlUnusable, BadHook):
        return []
    return [word for hook in hooks for word in _words(hook.command, is_callable=hook.is_python)]


def _words(command: str, *, is_callable: bool) -> list[str]:
    if is_callable:
        return [command.rpartition(":")[0]]
    try:
        return shlex.split(command)
    except ValueError:
        return command.split()


def _server_words(text: str) -> list[str]:
    """The words of all commands; a file that is no configuration is refused where the servers are read."""
    servers = [entry.server for entry in read_configuration(text.encode(), MCP_FILE).entries]
    return [word for server in servers if server for word in (server.command, *server.args)]


def _named(repository: Path, words: Iterable[str]) -> Iterator[Path]:
    """The files of the repository that are named by one of the words."""
    top = repository.resolve()
    for word in words:
        name = _PROJECT.sub("", word)
        try:
            path = (top / name).resolve()
            if name and path.is_relative_to(top) and path.is_file():
                yield repository / path.relative_to(top)
        except (OSError, ValueError, RuntimeError):  # too long, a NUL, a loop: no name of a file
            continue
