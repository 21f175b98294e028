"""The settings of skills."""

from __future__ import annotations

from dataclasses import dataclass

from harness.settings.entry import TEXTS, Reach, setting, whole


@dataclass(frozen=True, kw_only=True)
class SkillSettings:
    """A part of `Settings`."""

    skills_allow: tuple[str, ...] = setting(
        "skills.allow",
        TEXTS,
        "Names of skills in `~/.agents/skills` that agents may load, `*` for all of them.",
        default=(),
        reach=Reach.PERSON,
    )
    skills_budget_tokens: int = setting(
        "skills.budget_tokens",
        whole(100),
        "What the list of skills and all that is loaded of them may take of one conversation.",
        default=20_000,
        unit="tokens, counted as a quarter of the bytes",
    )
    skills_catalog_tokens: int = setting(
        "skills.catalog_tokens",
        whole(100),
        "Size of the list of skills above which `leadhand skills check` warns.",
        default=3000,
        unit="tokens",
    )
