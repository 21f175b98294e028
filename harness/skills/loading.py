"""One call for a skill: refused or given as a whole, within the budget of the conversation."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any

from harness.skills.active import ActiveSkills
from harness.skills.budget import plan_load
from harness.skills.reading import read_resource
from harness.skills.skill import tokens_of
from harness.tool import ToolFailure

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from harness.skills.catalog import Catalog
    from harness.skills.skill import Skill


@dataclass(frozen=True, kw_only=True)
class Loaded:
    """What a call gives: the text for the model, and what it was made of."""

    text: str
    skill: Skill
    resources: tuple[str, ...]
    is_new: bool  # the body was not in the conversation before


class SkillLoader:
    """Loads skills of one catalog into one conversation."""

    def __init__(
        self, catalog: Catalog, *, budget_tokens: int, messages: Callable[[], Sequence[dict[str, Any]]]
    ) -> None:
        """A skill is active while its body stands in `messages`, the conversation at this moment."""
        self._catalog = catalog
        self._catalog_tokens = tokens_of(catalog.section)
        self._budget_tokens = budget_tokens
        self._active = ActiveSkills(messages)

    def load(self, name: str, resources: Sequence[str], *, call_id: str) -> Loaded:
        """The skill's body unless it is active, and these resources. Raises ToolFailure; then nothing."""
        skill = self._catalog.skills.get(name)
        if skill is None:
            known = ", ".join(self._catalog.skills) or "none"
            raise ToolFailure("unknown_skill", f"there is no skill {name}; known are {known}")
        wanted = tuple(dict.fromkeys(resources))
        parts = [_resource_block(skill, resource) for resource in wanted]
        active, body = self._active.tokens(), _skill_block(skill)
        plan = plan_load(
            catalog=self._catalog_tokens,
            active=active,
            name=name,
            body=tokens_of(body),
            resources=tokens_of("\n".join(parts)),
            budget=self._budget_tokens,
        )
        if not plan.is_accepted:
            detail = f"{name} does not fit, so nothing was loaded: {plan}; go on with what is active"
            raise ToolFailure("over_budget", detail)
        is_new = name not in active
        head = body if is_new else f"The skill {name} is active; its body is above."
        text = "\n".join([head, *parts])
        self._active.give(call_id, text)
        return Loaded(text=text, skill=skill, resources=wanted, is_new=is_new)


def _skill_block(skill: Skill) -> str:
    facts = [f"directory: {skill.directory}"]
    if skill.resources:
        facts.append(f"resources, each loaded by naming it in a call: {', '.join(skill.resources)}")
    if skill.allowed_tools:
        facts.append(f"tools it is written for, of which it grants none: {', '.join(skill.allowed_tools)}")
    head = f'<skill name="{escape(skill.name)}" source="{escape(skill.source)}" digest="{skill.digest[:12]}">'
    return "\n".join([head, *facts, "", skill.body, "</skill>"])


def _resource_block(skill: Skill, name: str) -> str:
    """The text of a resource as it was when the catalog was made. Raises ToolFailure."""
    if name not in skill.resources:
        known = ", ".join(skill.resources) or "none"
        raise ToolFailure("unknown_resource", f"{skill.name} has no resource {name}; it has {known}")
    data = read_resource(skill, name)
    if isinstance(data, str):
        raise ToolFailure("no_resource", f"{name} of {skill.name} cannot be used now: {data}")
    if hashlib.sha256(data).hexdigest() != skill.resources[name]:
        detail = f"{name} of {skill.name} has changed since this run began; tell the person, who decides"
        raise ToolFailure("resource_changed", detail)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        detail = f"{name} is no text; use it where it is, {skill.directory}/{name}"
        raise ToolFailure("not_text", detail) from error
    return f'<resource skill="{escape(skill.name)}" name="{escape(name)}">\n{text}\n</resource>'
