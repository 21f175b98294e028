from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from harness.scripted.playbook import Fault, Playbook, PlaybookInvalid, filled

if TYPE_CHECKING:
    from pathlib import Path

RULE = "format: 1\nrules:\n- "
NOTHING = {"system": "", "last_user": "", "last_result": "", "results": "", "tools_called": ""}


def test_a_playbook_is_read_in_its_order(tmp_path: Path) -> None:
    path = tmp_path / "team.yaml"
    path.write_text(
        "format: 1\nmodels: [a, b]\nrules:\n- say: one\n- {fault: cut, name: two}\n", encoding="utf-8"
    )
    playbook = Playbook.load(path)
    assert playbook.models == ("a", "b")
    assert [(rule.number, rule.text.say, rule.text.fault) for rule in playbook.rules] == [
        (1, "one", None),
        (2, "", Fault.CUT),
    ]


def test_the_only_model_is_called_scripted_unless_the_file_says_otherwise() -> None:
    assert Playbook.parse(RULE + "say: x").models == ("scripted",)


@pytest.mark.parametrize("call", ["{look: {path: a}, done: }", "[{look: {path: a}}, {done: {}}]"])
def test_calls_are_a_mapping_or_a_list_of_mappings(call: str) -> None:
    assert Playbook.parse(f"{RULE}call: {call}").rules[0].calls == [("look", {"path": "a"}), ("done", {})]


def test_all_patterns_of_a_rule_must_be_found() -> None:
    rule = Playbook.parse(RULE + "{say: x, when: {system: role=lead, last_user: '^go'}}").rules[0]
    assert rule.match({**NOTHING, "system": "role=lead name=lead", "last_user": "go on"}) == {}
    assert rule.match({**NOTHING, "system": "role=lead", "last_user": "let us go"}) is None
    assert rule.match({**NOTHING, "last_user": "go"}) is None


def test_a_pattern_spans_lines_and_its_groups_are_caught() -> None:
    when = r"{results: '(?P<first>task_\w+).*(?P<second>task_\w+)', last_user: '(?P<who>bob)?'}"
    rule = Playbook.parse(f"{RULE}{{say: x, when: {when}}}").rules[0]
    caught = rule.match({**NOTHING, "results": "made task_1\nmade task_2"})
    assert caught == {"first": "task_1", "second": "task_2", "who": ""}


def test_places_are_filled_wherever_a_text_is() -> None:
    value = {"a": ["${x}-${x}", 3, None], "b": {"c": "$${x} $x ${"}}
    assert filled(value, {"x": "1"}) == {"a": ["1-1", 3, None], "b": {"c": "${x} $x ${"}}


@pytest.mark.parametrize(
    ("text", "where", "why"),
    [
        ("{", "file", "not YAML"),
        ("[]", "file", "object"),
        ("rules: [{say: x}]", "file", "format"),
        ("format: 2\nrules: [{say: x}]", "format", "format 1, not 2"),
        ("format: 1\nrules: []", "rules", "length"),
        ("format: 1\nmodels: []\nrules: [{say: x}]", "models", "length"),
        (RULE + "say: yes", "rule 1, say", "`str`"),
        (RULE + "say: x\n- saay: x", "rule 2", "saay"),
        (RULE + "{say: x, when: {user: x}}", "rule 1, when", "user"),
        (RULE + "{say: x, when: {system: '('}}", "rule 1, when.system", "unterminated"),
        (RULE + "{say: x, times: 0}", "rule 1, times", ">= 1"),
        (RULE + "{say: x, delay_seconds: -1}", "rule 1, delay_seconds", ">= 0"),
        (RULE + "{fault: fire}", "rule 1, fault", "fire"),
        (RULE + "{say: x, call: bash}", "rule 1, call", "`str`"),
        (RULE + "{name: empty}", "rule 1 (empty)", "say, call, fault"),
        (RULE + "{say: '${id}'}", "rule 1, say", "${id} is no named group"),
        (RULE + "{call: {bash: {command: ['echo ${HOME}']}}}", "rule 1, bash", "$${HOME}"),
    ],
)
def test_what_is_wrong_is_named_with_its_place(text: str, where: str, why: str) -> None:
    with pytest.raises(PlaybookInvalid) as caught:
        Playbook.parse(text, "team.yaml")
    assert caught.value.where == where
    assert why in caught.value.why
    assert str(caught.value).startswith(f"playbook team.yaml, {where}: ")


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(PlaybookInvalid, match=r"gone\.yaml, file: "):
        Playbook.load(tmp_path / "gone.yaml")


def test_a_file_that_is_no_text_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_bytes(b"\xff\xfe")
    with pytest.raises(PlaybookInvalid, match="file"):
        Playbook.load(tmp_path / "a.yaml")
