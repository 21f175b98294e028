"""Pure: the fields of a skill, and where they break the Agent Skills specification."""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING

from harness.skills.frontmatter import Problem, Severity

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from harness.skills.frontmatter import Value

# The limits of the specification, in characters.
NAME_CHARACTERS = 64
DESCRIPTION_CHARACTERS = 1024
COMPATIBILITY_CHARACTERS = 500
_TOOL = re.compile(r"[^\s,()]+(?:\([^)]*\))?")  # with a pattern that may hold blanks


def text_of(fields: Mapping[str, Value], name: str) -> str:
    """The field as text; empty when it is missing, or no text."""
    value = fields.get(name)
    return value.strip() if isinstance(value, str) else ""


def name_of(fields: Mapping[str, Value], folder: str) -> str:
    """The name as it stands there; that of the folder when there is none."""
    return unicodedata.normalize("NFKC", text_of(fields, "name") or folder)


def metadata_of(fields: Mapping[str, Value]) -> dict[str, str]:
    """The further facts that are plain text."""
    value = fields.get("metadata")
    pairs = value.items() if isinstance(value, dict) else ()
    return {key: item for key, item in pairs if isinstance(item, str)}


def tools_of(fields: Mapping[str, Value]) -> tuple[str, ...]:
    """The tools it names, from a list or from one text with blanks or commas between them."""
    value = fields.get("allowed-tools", "")
    if isinstance(value, list):
        return tuple(item.strip() for item in value if isinstance(item, str) and item.strip())
    return tuple(_TOOL.findall(value)) if isinstance(value, str) else ()


def field_problems(fields: Mapping[str, Value], folder: str) -> Iterator[Problem]:
    """What the fields say that the specification does not allow."""
    if not text_of(fields, "description"):
        text = "there is no description; say what the skill does and when to use it"
        yield Problem(code="description-missing", text=text, severity=Severity.ERROR)
    if not text_of(fields, "name"):
        yield Problem(code="name-missing", text=f"there is no name; that of the folder is taken, {folder}")
    else:
        yield from _name_problems(name_of(fields, folder), unicodedata.normalize("NFKC", folder))
    yield from _length(fields, "description", DESCRIPTION_CHARACTERS)
    yield from _length(fields, "compatibility", COMPATIBILITY_CHARACTERS)
    metadata = fields.get("metadata", {})
    if not isinstance(metadata, dict) or len(metadata_of(fields)) < len(metadata):
        text = "metadata is no mapping of names to texts; what is no text was left out"
        yield Problem(code="metadata-not-text", text=text)


def _length(fields: Mapping[str, Value], name: str, limit: int) -> Iterator[Problem]:
    length = len(text_of(fields, name))
    if length > limit:
        yield Problem(code=f"{name}-too-long", text=f"{name} has {length} characters; {limit} are allowed")


def _name_problems(name: str, folder: str) -> Iterator[Problem]:
    if len(name) > NAME_CHARACTERS:
        text = f"the name has {len(name)} characters; {NAME_CHARACTERS} are allowed"
        yield Problem(code="name-too-long", text=text)
    if name != name.lower():
        yield Problem(code="name-not-lowercase", text=f"the name {name} has capital letters")
    if not all(letter.isalnum() or letter == "-" for letter in name):
        text = f"the name {name} has other characters than letters, digits and hyphens"
        yield Problem(code="name-bad-character", text=text)
    if name.startswith("-") or name.endswith("-") or "--" in name:
        yield Problem(code="name-hyphens", text=f"the name {name} has a hyphen too many")
    if name != folder:
        text = f"the skill is called {name} and its folder {folder}; the name counts"
        yield Problem(code="name-folder-mismatch", text=text)
