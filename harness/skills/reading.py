"""Reads the folder of a skill: its file, its fields, its resources; nothing outside the folder."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import TYPE_CHECKING

from harness.regular_files import FileUnusable, read_regular
from harness.skills.fields import field_problems, metadata_of, name_of, text_of, tools_of
from harness.skills.frontmatter import Problem, Severity, parse
from harness.skills.skill import FILE, Reading, Skill

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from harness.skills.frontmatter import Document

RESOURCES = 500  # of one skill


def read_skill(folder: Path, *, root: Path, source: str) -> Reading:
    """The skill of a folder below `root`; whatever is wrong is told, and nothing raised."""
    path = folder / FILE
    data = bytes_below(path, root)
    if isinstance(data, str):
        return Reading(path=str(path), problems=(_error("unreadable", data),))
    document = parse(data)
    found = Reading(path=str(path), problems=document.problems)
    if not found.errors:
        problems = (*document.problems, *field_problems(document.fields, folder.name))
        found = Reading(path=str(path), problems=problems)
    if found.errors:
        return found
    resources, more = _resources(folder)
    skill = _skill(document, folder, source, data=data, resources=resources)
    return Reading(path=str(path), skill=skill, problems=(*found.problems, *more))


def read_resource(skill: Skill, name: str) -> bytes | str:
    """The bytes of a resource, or why there are none; links are followed, but not out of the folder."""
    folder = Path(skill.directory)
    return bytes_below(folder / name, folder)


def _skill(
    document: Document, folder: Path, source: str, *, data: bytes, resources: Mapping[str, str]
) -> Skill:
    fields = document.fields
    listed = "".join(f"\0{name} {digest}" for name, digest in resources.items())
    return Skill(
        name=name_of(fields, folder.name),
        description=text_of(fields, "description"),
        body=document.body,
        directory=str(folder),
        source=source,
        digest=hashlib.sha256(data + listed.encode("utf-8", "surrogateescape")).hexdigest(),
        resources=resources,
        metadata=metadata_of(fields),
        allowed_tools=tools_of(fields),
        license=text_of(fields, "license"),
        compatibility=text_of(fields, "compatibility"),
    )


def _error(code: str, text: str) -> Problem:
    return Problem(code=code, text=text, severity=Severity.ERROR)


def bytes_below(path: Path, root: Path) -> bytes | str:
    """What the file holds, or why it cannot be used."""
    try:
        return read_regular(path, within=root)
    except FileNotFoundError:
        return "there is no such file"
    except FileUnusable as error:
        return error.why


def _resources(folder: Path) -> tuple[dict[str, str], list[Problem]]:
    """The files beside the skill's own, each with the SHA-256 of its bytes, and which were left out."""
    found: dict[str, str] = {}
    problems: list[Problem] = []
    for path in _files_below(folder):
        name = path.relative_to(folder).as_posix()
        data = bytes_below(path, folder)
        if isinstance(data, str):
            problems.append(Problem(code="resource-left-out", text=f"{name} is no resource: {data}"))
        elif len(found) >= RESOURCES:
            text = f"there are more than {RESOURCES} files; {name} and what follows were left out"
            return found, [*problems, Problem(code="too-many-resources", text=text)]
        else:
            found[name] = hashlib.sha256(data).hexdigest()
    return found, problems


def _files_below(folder: Path) -> Iterator[Path]:
    """In the order of their names; hidden ones belong to tools."""
    for place, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        here = Path(place)
        for name in sorted(files):
            if not name.startswith(".") and not (here == folder and name == FILE):
                yield here / name
