from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from coordination.background import Job
from coordination.handshake import Step
from coordination.keys import AcceptedKey, KeyRules, check_signature
from coordination.mail.lines import Delivery
from coordination.member_rules import MEMBER_TRANSITIONS
from coordination.numbered_log import ENVELOPE, digest, pretty, seal, unseal
from coordination.pause import Pause
from coordination.profile import Joined
from coordination.records import Decision, Member, Message, Request, Run, Task, Term
from coordination.schedule_rules import Entry, Occurrence
from coordination.signing import verify
from coordination.tasks.graph import GraphEntry
from coordination.tasks.rules import diagram
from coordination.team_root import open_team
from harness.hooks.events import Event
from harness.permissions.rules import defaults_table
from harness.scripted.playbook import Fault, Playbook, RuleText, When
from harness.settings.settings import load_settings
from orchestrator.cli.main import VERBS
from orchestrator.tasks_file import load_tasks

if TYPE_CHECKING:
    from collections.abc import Mapping

    from coordination.records import JsonRecord

PROJECT = Path(__file__).resolve().parents[2]
PAGES = sorted(
    path
    for place in (
        "*.md",
        "docs/*.md",
        "docs/adr/*.md",
        "skills/*.md",
        "mailboxes/README.md",
        ".tasks/README.md",
    )
    for path in PROJECT.glob(place)
)
RECORDS: dict[str, type[JsonRecord]] = {
    "profile": Joined,
    "handshake": Step,
    "task": Task,
    "graph": GraphEntry,
    "member": Member,
    "lead": Term,
    "team": AcceptedKey,
    "run": Run,
    "background": Job,
    "pause": Pause,
    "schedule": Entry,
    "occurrence": Occurrence,
}
SECTIONS = {
    "Profile": Joined,
    "Handshake": Step,
    "Task": Task,
    "Task graph": GraphEntry,
    "Member": Member,
    "Term": Term,
    "Accepted key": AcceptedKey,
    "Run": Run,
    "Background command": Job,
    "Pause": Pause,
    "Schedule entry": Entry,
    "Occurrence": Occurrence,
    "Message": Message,
    "Journal": Delivery,
}


def page(name: str) -> str:
    return (PROJECT / name).read_text(encoding="utf-8")


def blocks(text: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)


FORMAT_PAGE = page("docs/on-disk-format.md")
EXAMPLES: list[dict[str, Any]] = [json.loads(block) for block in blocks(FORMAT_PAGE, "json")]
SEALED = [example for example in EXAMPLES if "log" in example]


def record_of(example: dict[str, Any]) -> type[JsonRecord]:
    kind = example["log"].partition("/")[0]
    if kind == "request":
        return Decision if "verdict" in example else Request
    return RECORDS[kind]


def body_of(example: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in example.items() if key not in ENVELOPE}


def section(title: str) -> str:
    return FORMAT_PAGE.partition(f"\n## {title}\n")[2].partition("\n## ")[0]


def described(title: str) -> set[str]:
    rows = re.findall(r"^\| (`.*?) \|", section(title), re.MULTILINE)
    return {name for row in rows for name in re.findall(r"`(\w+)`", row)}


# on-disk-format.md


@pytest.mark.parametrize("example", SEALED, ids=lambda example: f"{example['log']}/{example['number']}")
def test_an_example_of_a_record_is_one(example: dict[str, Any]) -> None:
    loaded = record_of(example).from_json(body_of(example))
    assert not loaded.unknown
    envelope = {key: example[key] for key in ("number", "prev", "commit_id")}
    right = pretty(seal(example["log"], loaded.to_json(), **envelope))
    assert json.loads(right) == example, f"write instead:\n{right.decode()}"


@pytest.mark.parametrize("example", SEALED, ids=lambda example: f"{example['log']}/{example['number']}")
def test_an_example_of_a_record_has_its_envelope(example: dict[str, Any]) -> None:
    record = unseal(example["log"], example["number"], json.dumps(example).encode(), "the page")
    assert record.body == body_of(example)


def test_every_kind_of_record_has_an_example() -> None:
    assert {record_of(example) for example in SEALED} == {*RECORDS.values(), Request, Decision}


class KeyShown:
    """The one key on the page."""

    def __init__(self, public: str) -> None:
        self._public = public

    def check(self, document: Mapping[str, Any], number: int | None, signature: str | None) -> None:
        assert number == 1
        check_signature(self._public, document, signature)

    def sign(self, document: Mapping[str, Any]) -> tuple[int, str]:
        raise AssertionError(document)


def test_the_decision_shown_answers_the_question_shown() -> None:
    bodies = {record_of(example): body_of(example) for example in SEALED}
    question, decision = bodies[Request], Decision.from_json(bodies[Decision])
    (key,) = [example for example in SEALED if example["log"] == "team/keys"]
    (team,) = [example["team"] for example in EXAMPLES if "team" in example]
    record, rules = unseal("team/keys", 1, json.dumps(key).encode(), "the page"), KeyRules(team)
    rules.check(None, record)
    verify(team, Request.from_json(question), digest(question), decision, KeyShown(key["public"]))


def test_the_examples_of_lines_are_a_message_and_its_delivery() -> None:
    (message,) = [Message.from_json(example) for example in EXAMPLES if "seq" in example]
    (line,) = [example for example in EXAMPLES if example.get("kind") == "mail"]
    assert not message.unknown
    assert Delivery.from_json(line).message == message
    assert line.keys() >= Delivery.from_json(line).to_json().keys()


def test_the_team_file_shown_can_be_opened(tmp_path: Path) -> None:
    (example,) = [example for example in EXAMPLES if "team" in example]
    (tmp_path / ".team").mkdir()
    (tmp_path / ".team/team.json").write_text(json.dumps(example), encoding="utf-8")
    assert open_team(tmp_path).id == example["team"]


def test_every_example_is_looked_at() -> None:
    others = [example for example in EXAMPLES if not example.keys() & {"log", "seq", "team"}]
    assert [example["kind"] for example in others] == ["mail"]


@pytest.mark.parametrize(("title", "record"), SECTIONS.items())
def test_the_table_describes_the_fields_of_the_record(title: str, record: type[Any]) -> None:
    fields = set(record.__struct_encode_fields__) - {"unknown"}
    assert fields <= described(title)


def test_the_table_describes_question_and_decision() -> None:
    fields = {*Request.__struct_encode_fields__, *Decision.__struct_encode_fields__} - {"unknown"}
    assert fields <= described("Request and decision")


def test_the_table_describes_the_envelope() -> None:
    assert set(ENVELOPE) <= described("Numbered logs")


def test_the_diagram_of_a_task_is_that_of_the_table() -> None:
    assert blocks(FORMAT_PAGE, "mermaid") == [diagram()]


def test_the_states_of_a_member_are_those_of_the_table() -> None:
    rows = [
        f"| {before or '(nobody)'} | {after} | {', '.join(sorted(bearers))} |"
        for (before, after), bearers in MEMBER_TRANSITIONS.items()
    ]
    assert "\n".join(["| from | to | borne by |", "|---|---|---|", *rows]) in FORMAT_PAGE


# playbooks.md and README.md


def test_the_playbook_shown_is_one() -> None:
    text, checks = blocks(page("docs/playbooks.md"), "yaml")
    assert len(Playbook.parse(text, "the page").rules) == 6
    assert "calc" in yaml.safe_load(checks)["checks"]


def test_the_page_of_playbooks_names_every_key_and_fault() -> None:
    text = page("docs/playbooks.md")
    names = [*RuleText.__struct_fields__, *When.__struct_fields__, *Fault]
    assert not [name for name in names if f"`{name}`" not in text]


def test_the_settings_and_tasks_of_the_readme_are_accepted(tmp_path: Path) -> None:
    settings, tasks = blocks(page("README.md"), "yaml")
    (tmp_path / "leadhand.yaml").write_text(settings, encoding="utf-8")
    (tmp_path / "tasks.yaml").write_text(tasks, encoding="utf-8")
    loaded = load_settings(tmp_path)
    assert set(loaded.every_task_checks) <= set(loaded.checks)
    assert [task.key for task in load_tasks(tmp_path / "tasks.yaml")] == ["parser", "printer"]


def test_the_readme_names_every_verb_and_no_other() -> None:
    text = page("README.md")
    table = re.findall(
        r"^\| (`.*?`) \|", text.partition("## Verbs")[2].partition("exit code")[0], re.MULTILINE
    )
    named = {verb.partition(" ")[0] for row in table for verb in re.findall(r"`([a-z ]+)`", row)}
    assert named == {verb for _, verb, _, _ in VERBS}
    assert len(text.splitlines()) < 150


# hooks.md


def test_the_hooks_shown_are_accepted_and_every_event_is_described(tmp_path: Path) -> None:
    [shown] = blocks(page("docs/hooks.md"), "yaml")
    (tmp_path / "leadhand.yaml").write_text(shown, encoding="utf-8")
    assert [hook.event for hook in load_settings(tmp_path).hooks] == [
        Event.PRE_TOOL_USE,
        Event.TASK_COMPLETED,
    ]
    assert not [event for event in Event if f"\n| `{event}` |" not in page("docs/hooks.md")]


# permissions.md


def test_the_page_of_permissions_has_the_defaults_of_every_tool() -> None:
    assert defaults_table() in page("docs/permissions.md"), f"write instead:\n{defaults_table()}"


# all pages


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.relative_to(PROJECT).as_posix())
def test_links_lead_somewhere(path: Path) -> None:
    links = re.findall(r"\]\(([^)#]+)[^)]*\)", path.read_text(encoding="utf-8"))
    local = [link for link in links if not link.startswith("https://")]
    assert not [link for link in local if not (path.parent / link).exists()]


@pytest.mark.parametrize("name", ["CONTRIBUTING.md", "docs/architecture.md"])
def test_the_modules_that_a_page_names_exist(name: str) -> None:
    packages = ("coordination", "harness", "workspace", "agent_worker", "orchestrator", "scripts", "tests")
    modules = [f"/{path.relative_to(PROJECT)}" for top in packages for path in (PROJECT / top).rglob("*.py")]
    named = re.findall(r"`([\w/]+\.py)`", page(name))
    assert len(named) > 10
    assert not [path for path in named if not any(module.endswith(f"/{path}") for module in modules)]


def test_the_tests_of_the_failure_model_exist() -> None:
    named = re.findall(r"`([\w/]+\.py)::(\w+)`", page("docs/failure-model.md"))
    assert len(named) > 40
    assert not [(file, test) for file, test in named if not exists(file, test)]


def exists(file: str, test: str) -> bool:
    found = (PROJECT / "tests").rglob(file)
    return any(f"def {test}(" in path.read_text(encoding="utf-8") for path in found)


def test_every_decision_says_what_it_costs_and_what_would_change_it() -> None:
    heads = ["Context", "Decision", "What it costs", "What would change our mind"]
    records = sorted((PROJECT / "docs/adr").glob("0*.md"))
    found = [re.findall(r"^## (.*)$", record.read_text(encoding="utf-8"), re.MULTILINE) for record in records]
    assert found == [heads] * len(records)
    assert [record.name[:4] for record in records] == [f"{place:04}" for place in range(1, len(records) + 1)]
