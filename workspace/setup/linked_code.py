"""What leads Node, Go and Cargo to the code of another checkout, read from their files."""

from __future__ import annotations

import re
import tomllib
from typing import TYPE_CHECKING, Any

from workspace.setup.checkout import WrongCheckout

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from workspace.setup.checkout import Checkout

_MODULES = "node_modules"
_GO_PATHS = re.compile(r"^\s*(?:use\s+|replace\s+.*?=>\s*|.*?=>\s*)?(?P<path>\.{0,2}/[^\s()]*)", re.MULTILINE)


def linked_packages(place: Checkout) -> None:
    """No package that Node finds from the tree is a link into a twin: `npm link`, or its workspaces.

    Node looks for `node_modules` in every directory above too, which for a tree inside the
    repository ends in the person's checkout. Raises WrongCheckout.
    """
    if not (place.tree / "package.json").is_file():
        return
    for directory in (place.tree, *place.tree.parents):
        for package in _packages(directory / _MODULES):
            if package.is_symlink() and (twin := place.twin(package)):
                raise WrongCheckout(
                    what=f"Node finds {package.name} through {package}, a link into {twin}",
                    remedy="install in each tree, as by `worktrees: {setup: [npm ci]}`, and use no npm link",
                )


def _packages(modules: Path) -> Iterator[Path]:
    if modules.is_symlink():
        yield modules
    if not modules.is_dir():
        return
    for entry in modules.iterdir():
        if entry.name.startswith("@") and not entry.is_symlink():
            yield from entry.iterdir()
        else:
            yield entry


def go_workspace(place: Checkout, checks: Iterable[str]) -> None:
    """Go uses no workspace file of a twin, and no module file of the tree points into one.

    Raises WrongCheckout.
    """
    if not any((place.tree / name).is_file() for name in ("go.mod", "go.work")):
        return
    own = place.tree / "go.work"
    if not own.is_file() and not all("GOWORK=" in check for check in checks):
        above = next((top / "go.work" for top in place.tree.parents if (top / "go.work").is_file()), None)
        if above:
            raise WrongCheckout(
                what=f"Go would use the workspace {above}",
                remedy="name go.work in .worktreeinclude, or write GOWORK=off before the check",
            )
    for file in (own, place.tree / "go.mod"):
        for path in _GO_PATHS.findall(_text(file)):
            if twin := place.twin(place.tree / path):
                raise WrongCheckout(
                    what=f"{file.name} names {path}, which lies in {twin}",
                    remedy="use paths inside the repository, relative to it",
                )


def cargo_override(place: Checkout) -> None:
    """No path override that Cargo reads for the tree points into a twin. Raises WrongCheckout."""
    if not (place.tree / "Cargo.toml").is_file():
        return
    manifest = place.tree / "Cargo.toml"
    configurations = [
        (top, top / ".cargo" / name)
        for top in (place.tree, *place.tree.parents)
        for name in ("config.toml", "config")
    ]
    for base, file in ((place.tree, manifest), *configurations):
        for path in _cargo_paths(file):
            if twin := place.twin(base / path):
                raise WrongCheckout(
                    what=f"{file} overrides a crate by {path}, which lies in {twin}",
                    remedy="use a path relative to the repository, or take the override out",
                )


def _cargo_paths(file: Path) -> Iterator[str]:
    try:
        document = tomllib.loads(_text(file))
    except tomllib.TOMLDecodeError:  # Cargo itself will say so
        return
    overrides = document.get("paths", [])
    yield from (path for path in overrides if isinstance(path, str))
    for source in (*_tables(document.get("patch")), document.get("dependencies")):
        yield from (entry["path"] for entry in _tables(source) if isinstance(entry.get("path"), str))


def _tables(value: Any) -> list[dict[str, Any]]:  # noqa: ANN401 - raw TOML
    return [entry for entry in value.values() if isinstance(entry, dict)] if isinstance(value, dict) else []


def _text(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return ""
