"""What commands in the sandbox see of the person's home: the programs installed in it, and no secrets."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import platformdirs

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

# Where version managers and package managers put programs below a home.
_TOOLS = (
    *(".pyenv", ".rbenv", ".nodenv", ".goenv", ".jenv", ".asdf", ".nvm", ".volta", ".fnm", ".sdkman"),
    *(".cargo", ".rustup", ".deno", ".bun", ".ghcup", ".opam", ".dotnet", ".gem", ".conda", "go"),
    *("miniconda3", "anaconda3", "miniforge3", ".linuxbrew", ".local/bin", ".local/lib", ".local/share/uv"),
    *(".local/share/pipx", ".local/share/mise", ".local/share/fnm", ".local/share/pnpm"),
)
# Credentials that lie in the midst of these.
_SECRETS = (".cargo/credentials", ".cargo/credentials.toml", ".gem/credentials")
# What nobody is shown where a team works in the home itself, or above it.
_PRIVATE = (
    *(".ssh", ".gnupg", ".aws", ".azure", ".config", ".docker", ".kube", ".local/share/keyrings", ".netrc"),
    *(".git-credentials", ".pypirc", ".npmrc", ".m2", ".gradle", ".mozilla", ".bash_history", ".zsh_history"),
    *(".claude", ".claude.json", ".codex", ".gemini"),
)
_PROGRAMS = frozenset({"bin", "sbin", "shims"})


def person_home() -> Path:
    """The home of the person who runs us, links followed."""
    return Path(os.path.realpath(Path.home()))


def programs(home: Path, path: str) -> list[Path]:
    """Directories with programs that lie where the sandbox shows something else, each once.

    `path` is the PATH of the commands. Our own interpreter is among them, since checks name it.
    """
    wanted = [home / name for name in _TOOLS]
    wanted += [_installation(Path(entry), home) for entry in path.split(os.pathsep) if entry.startswith("/")]
    wanted += [Path(sys.prefix), Path(sys.base_prefix), Path(os.path.realpath(sys.base_prefix))]
    return list(dict.fromkeys(place for place in wanted if _is_usable(place) and not _is_above(place, home)))


def _is_usable(place: Path) -> bool:
    return os.access(place, os.R_OK | os.X_OK, effective_ids=True)


def _installation(entry: Path, home: Path) -> Path:
    """What belongs to a directory of PATH: also its neighbours `lib` and `share`, but never a whole home."""
    whole = entry.parent
    is_whole = entry.name in _PROGRAMS and whole not in {home / ".local", Path("/tmp")}  # noqa: S108 - a PATH entry
    return whole if is_whole and not _is_above(whole, home) else entry


def _is_above(place: Path, home: Path) -> bool:
    return home.is_relative_to(place)


def secrets(home: Path, shown: Sequence[Path]) -> Iterator[Path]:
    """Files and directories that no command sees, wherever they lie; `shown` is where the team works."""
    yield from (home / name for name in _SECRETS)
    if any(_is_above(place, home) for place in shown):
        yield from (home / name for name in _PRIVATE)
    yield from _our_own()


def _our_own() -> Iterable[Path]:
    """Where the person's settings, answers and keys for leadhand lie."""
    return dict.fromkeys(
        (
            platformdirs.user_config_path("leadhand"),
            platformdirs.user_data_path("leadhand"),
            platformdirs.user_state_path("leadhand"),
        )
    )
