from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from harness.skills.budget import plan_load
from harness.skills.catalog import Catalog, Root, scan
from harness.skills.loading import SkillLoader
from harness.skills.skill import tokens_of
from harness.tool import ToolFailure
from harness.tools.skill import load_skill
from tests.support.tools import Trail, call, pool, settle

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def catalog(tmp_path: Path) -> Catalog:
    for name in ("tables", "charts"):
        folder = tmp_path / "skills" / name
        (folder / "references").mkdir(parents=True)
        head = f"name: {name}\ndescription: Draws {name}. Use for {name}.\nallowed-tools: Read"
        text = f"---\n{head}\n---\n\nBODY of {name}\n"
        (folder / "SKILL.md").write_text(text, encoding="utf-8")
        (folder / "references/more.md").write_text(f"MORE about {name}", encoding="utf-8")
        (folder / "image.png").write_bytes(b"\x89PNG\xff")
    return scan([Root(path=tmp_path / "skills", source="skills")])


class Conversation:
    """A conversation in which one skill after the other is loaded."""

    def __init__(self, catalog: Catalog, budget: int = 10_000) -> None:
        self.messages: list[dict[str, Any]] = []
        self._loader = SkillLoader(catalog, budget_tokens=budget, messages=lambda: self.messages)
        self._calls = 0

    def load(self, name: str, *resources: str) -> str:
        self._calls += 1
        use = {"type": "tool_use", "id": f"call_{self._calls}", "name": "load_skill", "input": {"name": name}}
        self.messages.append({"role": "assistant", "content": [use]})
        result: dict[str, Any] = {"type": "tool_result", "tool_use_id": use["id"]}
        try:
            result["content"] = self._loader.load(name, resources, call_id=use["id"]).text
        except ToolFailure as failure:
            result |= {"content": str(failure), "is_error": True}
            raise
        finally:
            self.messages.append({"role": "user", "content": [result]})
        return result["content"]


# the budget


@pytest.mark.parametrize(("budget", "fits"), [(100, True), (99, False)])
def test_equality_with_the_budget_is_accepted(budget: int, *, fits: bool) -> None:
    plan = plan_load(catalog=10, active={"other": 10}, name="one", body=50, resources=30, budget=budget)
    assert plan.is_accepted is fits
    assert "= 100 tokens" in str(plan)


def test_an_active_body_costs_nothing_again() -> None:
    assert plan_load(catalog=0, active={"one": 50}, name="one", body=50, resources=1, budget=51).is_accepted


def test_what_does_not_fit_is_refused_as_a_whole(catalog: Catalog) -> None:
    whole = Conversation(catalog).load("tables", "references/more.md")
    needed = tokens_of(catalog.section) + tokens_of(whole)
    assert Conversation(catalog, needed + 1).load("tables", "references/more.md") == whole
    short = Conversation(catalog, needed - 2)
    with pytest.raises(ToolFailure, match="nothing was loaded") as refused:
        short.load("tables", "references/more.md")
    assert refused.value.reason == "over_budget"
    assert "BODY" in short.load("tables")  # what was refused counts for nothing


def test_the_second_skill_counts_beside_the_first(catalog: Catalog) -> None:
    one = tokens_of(Conversation(catalog).load("tables"))
    talk = Conversation(catalog, tokens_of(catalog.section) + 2 * one - 2)
    talk.load("tables")
    with pytest.raises(ToolFailure, match="does not fit"):
        talk.load("charts")
    talk.messages.clear()  # a new conversation
    assert "BODY of charts" in talk.load("charts")


# what a call gives


def test_a_skill_comes_with_its_directory_and_the_list_of_its_files(catalog: Catalog) -> None:
    text = Conversation(catalog).load("tables")
    assert "BODY of tables" in text
    assert catalog.skills["tables"].directory in text
    assert "image.png, references/more.md" in text
    assert "MORE about" not in text
    assert "grants none: Read" in text


def test_a_resource_comes_when_it_is_named_and_its_skill_is_active(catalog: Catalog) -> None:
    talk = Conversation(catalog)
    talk.load("tables")
    again = talk.load("tables", "references/more.md")
    assert "MORE about tables" in again
    assert "BODY" not in again


def test_a_skill_whose_text_was_shortened_is_given_again(catalog: Catalog) -> None:
    talk = Conversation(catalog)
    talk.load("tables")
    talk.messages[1]["content"][0]["content"] = "[shortened]"
    assert "BODY of tables" in talk.load("tables")


@pytest.mark.parametrize(
    ("name", "resource", "reason"),
    [
        ("unknown", None, "unknown_skill"),
        ("tables", "references/none.md", "unknown_resource"),
        ("tables", "../charts/references/more.md", "unknown_resource"),
        ("tables", "/etc/hostname", "unknown_resource"),
        ("tables", "image.png", "not_text"),
    ],
)
def test_a_refusal_says_why_and_what_there_is(
    catalog: Catalog, name: str, resource: str | None, reason: str
) -> None:
    with pytest.raises(ToolFailure) as refused:
        Conversation(catalog).load(name, *([resource] if resource else []))
    assert refused.value.reason == reason
    assert "tables" in str(refused.value)


def test_a_resource_that_changed_since_it_was_pinned_is_refused(
    catalog: Catalog, tmp_path: Path
) -> None:  # W9
    (tmp_path / "skills/tables/references/more.md").write_text("rm -rf", encoding="utf-8")
    with pytest.raises(ToolFailure, match="has changed since this run began"):
        Conversation(catalog).load("tables", "references/more.md")
    (tmp_path / "skills/tables/references/more.md").unlink()
    with pytest.raises(ToolFailure, match="cannot be used now"):
        Conversation(catalog).load("tables", "references/more.md")


# the tool


@pytest.mark.usefixtures("catalog")
def test_a_load_is_in_the_audit_trail_and_never_cut(tmp_path: Path) -> None:  # W9
    file = tmp_path / "skills/tables/SKILL.md"
    file.write_text(file.read_text(encoding="utf-8") + "long " * 2000, encoding="utf-8")
    long = scan([Root(path=tmp_path / "skills", source="skills")])
    trail = Trail()
    loader = SkillLoader(long, budget_tokens=10_000, messages=list)
    (result,) = settle(
        pool([load_skill(loader, trail)], tmp_path, trail=trail), call("load_skill", name="tables")
    )
    assert result["content"].endswith("</skill>")
    assert "long long" in result["content"]
    (event,) = [event for event in trail.events if event["action"] == "skill_loaded"]
    assert (event["skill"], event["source"]) == ("tables", "skills")
    assert event["digest"] == long.skills["tables"].digest


def test_two_calls_of_one_reply_do_not_both_take_the_last_room(catalog: Catalog, tmp_path: Path) -> None:
    one = tokens_of(Conversation(catalog).load("tables"))
    uses = [call("load_skill", "a", name="tables"), call("load_skill", "b", name="charts")]
    blocks = [{"type": "tool_use", "id": use.id, "name": use.name, "input": use.input} for use in uses]
    talk = [{"role": "assistant", "content": blocks}]
    budget = tokens_of(catalog.section) + 2 * one - 2
    loader = SkillLoader(catalog, budget_tokens=budget, messages=lambda: talk)
    first, second = settle(pool([load_skill(loader, Trail())], tmp_path), *uses)
    assert "is_error" not in first
    assert "over_budget" in second["content"]
