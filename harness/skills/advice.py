"""Pure: what the author of a skill should look at though nothing is wrong, and what a skill would run."""

from __future__ import annotations

import re
from difflib import SequenceMatcher
from itertools import combinations
from typing import TYPE_CHECKING

from harness.skills.skill import tokens_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from harness.skills.catalog import Catalog
    from harness.skills.skill import Skill

ALIKE = 0.8  # of two descriptions, as a share of what they have in common
_WHEN = re.compile(
    r"\b(when|whenever|before|after|while|if|use (this |it )?(for|to|in|on|with))\b|[时前后]|使用",
    re.IGNORECASE,
)
_BLOCK = re.compile(r"^ *```(?:sh|bash|shell|console|zsh)?[ \t]*\n(.*?)^ *```", re.MULTILINE | re.DOTALL)
_INLINE = re.compile(r"`([^`\n]+)`")


def advice(catalog: Catalog, *, catalog_tokens: int) -> Iterator[str]:
    """A sentence each; `catalog_tokens` is what the list of skills should take at most."""
    skills = list(catalog.skills.values())
    for skill in skills:
        if not _WHEN.search(skill.description):
            yield f"{skill.name}: the description does not say when to use it, and a model knows no more"
    for one, other in combinations(skills, 2):
        if _are_alike(one.description, other.description):
            yield f"{one.name} and {other.name}: the descriptions are nearly the same; say where they differ"
    size = tokens_of(catalog.section)
    if size > catalog_tokens:
        yield (
            f"the list of skills takes {size} tokens of every conversation, more than {catalog_tokens} "
            "(skills.catalog_tokens); shorten descriptions, or remove skills"
        )


def _are_alike(one: str, other: str) -> bool:
    matcher = SequenceMatcher(None, _plain(one), _plain(other), autojunk=False)
    return min(matcher.real_quick_ratio(), matcher.quick_ratio()) >= ALIKE and matcher.ratio() >= ALIKE


def _plain(text: str) -> list[str]:
    return re.findall(r"\w+", text.casefold())


def commands_of(skill: Skill) -> list[str]:
    """The commands that its body names: lines of shell blocks, and files of its own called in the text."""
    blocks = _BLOCK.findall(skill.body)
    lines = [line.strip().removeprefix("$ ") for block in blocks for line in block.splitlines()]
    inline = [text for text in _INLINE.findall(skill.body) if text.split()[0] in skill.resources]
    found = [line for line in lines if line and not line.startswith("#")]
    found += [text for text in inline if text.split()[0].startswith("scripts/")]
    return list(dict.fromkeys(found))
