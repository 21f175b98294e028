"""The settings of skills."""

from __future__ import annotations

from dataclasses import dataclass, field

from harness.setting_entry import TEXTS, Reach, entry, whole


@dataclass(frozen=True, kw_only=True)
class SkillSettings:
    """A part of `Settings`."""

    skills_allow: tuple[str, ...] = field(
        default=(),
        metadata=entry(
            "skills.allow",
            TEXTS,
            "Names of skills in `~/.agents/skills` that agents may load, `*` for all of them.",
            reach=Reach.PERSON,
        ),
    )
    skills_budget_tokens: int = field(
        default=20_000,
        metadata=entry(
            "skills.budget_tokens",
            whole(100),
            "What the list of skills and all that is loaded of them may take of one conversation.",
            unit="tokens, counted as a quarter of the bytes",
        ),
    )
    skills_catalog_tokens: int = field(
        default=3000,
        metadata=entry(
            "skills.catalog_tokens",
            whole(100),
            "Size of the list of skills above which `leadhand skills check` warns.",
            unit="tokens",
        ),
    )
