from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from harness.roles.catalog import scan_roles
from harness.settings.settings import load_settings
from harness.settings.sources import SettingsUnreadable
from harness.skills.catalog import Root, scan
from harness.skills.frontmatter import Severity, parse
from harness.yaml_text import YamlUnusable, load_yaml
from orchestrator.tasks_file import BadTasksFile, load_tasks
from tests.support.odd_texts import ENCODINGS, ODD_YAML

if TYPE_CHECKING:
    from pathlib import Path

GOOD = "---\nname: good\ndescription: Is good.\n---\nBe good.\n"


@pytest.mark.parametrize("text", ODD_YAML.values(), ids=ODD_YAML)
def test_odd_yaml_is_one_error_of_one_line_everywhere(tmp_path: Path, text: str) -> None:
    with pytest.raises(YamlUnusable) as caught:
        load_yaml(text)
    assert len(str(caught.value).splitlines()) == 1
    for name in ("leadhand.yaml", "tasks.yaml"):
        (tmp_path / name).write_text(text, encoding="utf-8")
    with pytest.raises(SettingsUnreadable):
        load_settings(tmp_path, environ={}, personal_file=tmp_path / "none.yaml")
    with pytest.raises(BadTasksFile):
        load_tasks(tmp_path / "tasks.yaml")


@pytest.mark.parametrize("text", ODD_YAML.values(), ids=ODD_YAML)
def test_an_odd_block_of_fields_stops_no_other_file(tmp_path: Path, text: str) -> None:
    odd = f"---\nname: odd\n{text}\n---\nBody.\n"
    parse(odd.encode())
    for name in ("good", "odd"):
        for place in (f"skills/{name}/SKILL.md", f".agents/roles/{name}.md"):
            (tmp_path / place).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / place).write_text(GOOD if name == "good" else odd, encoding="utf-8")
    assert "good" in scan([Root(path=tmp_path / "skills", source="skills")]).skills
    assert "good" in scan_roles(tmp_path, {}).roles


def test_the_line_of_an_odd_field_is_that_of_the_file() -> None:
    document = parse(b'---\nname: odd\ndescription: "\\ud800"\n---\n')
    assert [(problem.line, problem.severity) for problem in document.problems] == [(3, Severity.ERROR)]


def test_the_line_of_an_impossible_value_is_told() -> None:
    with pytest.raises(YamlUnusable, match="line 2: a value is not what it looks like"):
        load_yaml("a: 1\nb: 2001-99-99\n")


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_bytes_are_utf8_and_nothing_else(encoding: str) -> None:
    with pytest.raises(YamlUnusable):
        load_yaml("checks: {calc: true}\n".encode(encoding))


def test_a_byte_order_mark_of_utf8_is_no_part_of_the_text() -> None:
    assert load_yaml(b"\xef\xbb\xbfa: 1") == load_yaml("\ufeffa: 1") == {"a": 1}


def test_a_text_that_is_no_utf8_says_how_to_save_it() -> None:
    with pytest.raises(YamlUnusable, match="no UTF-8 at byte 0; save it as UTF-8"):
        load_yaml("a: 1".encode("utf-16"))
