"""Every folder of `tests/cases/skills`: what comes of it, with which reason, and what a model may see."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import skills_ref

from harness.skills.catalog import Catalog, Root, scan
from harness.skills.frontmatter import parse
from harness.skills.reading import read_resource

if TYPE_CHECKING:
    from harness.skills.skill import Reading, Skill

CASES = Path(__file__).resolve().parents[3] / "cases" / "skills"
EXPECTED: dict[str, Any] = json.loads((CASES / "expected.json").read_text(encoding="utf-8"))
FOLDERS: list[dict[str, Any]] = EXPECTED["skills"]


def scanned(path: Path = CASES) -> Catalog:
    return scan([Root(path=path, source="skills")])


def reading_of(folder: str) -> Reading | None:
    below = f"{CASES / folder}/"
    return next((reading for reading in scanned().readings if reading.path.startswith(below)), None)


def skill_of(folder: str) -> Skill:
    reading = reading_of(folder)
    assert reading
    assert reading.skill
    return reading.skill


def outcome(reading: Reading | None) -> str:
    if reading is None or {problem.code for problem in reading.problems} == {"file-name"}:
        return "not-discovered"
    if reading.errors:
        return "error"
    return "warn" if reading.problems else "ok"


@pytest.mark.parametrize("case", FOLDERS, ids=lambda case: case["folder"])
def test_a_folder_comes_to_what_is_expected(case: dict[str, Any]) -> None:
    reading = reading_of(case["folder"])
    assert outcome(reading) == case["load"]
    codes = {problem.code for problem in reading.problems} if reading else set()
    assert codes >= set(case.get("codes", ()))


@pytest.mark.parametrize(
    "case", [case for case in FOLDERS if case["load"] in {"ok", "warn"}], ids=lambda case: case["folder"]
)
def test_the_values_are_those_of_the_file(case: dict[str, Any]) -> None:
    skill = skill_of(case["folder"])
    assert skill.name == case["name"]
    assert skill.description == case.get("description", skill.description)
    assert skill.metadata == case.get("metadata", skill.metadata)
    assert list(skill.allowed_tools) == case.get("allowed_tools", list(skill.allowed_tools))
    assert list(skill.resources) == case.get("resources", list(skill.resources))
    assert len(skill.description) == case.get("description_length", len(skill.description))
    for text in case.get("body_contains", ()):
        assert text in skill.body
    for resource in case.get("refused_resources", ()):
        assert isinstance(read_resource(skill, resource), str)


@pytest.mark.parametrize("case", FOLDERS, ids=lambda case: case["folder"])
def test_what_the_reference_validator_accepts_loads_without_a_warning(case: dict[str, Any]) -> None:
    assert (skills_ref.validate(CASES / case["folder"]) == []) is case["spec_valid"]
    if case["spec_valid"] and case["load"] != "not-discovered":
        assert outcome(reading_of(case["folder"])) == "ok"


def test_every_problem_names_file_and_reason() -> None:
    told = [problem.at(reading.path) for reading in scanned().readings for problem in reading.problems]
    assert len(told) >= 10
    assert all("SKILL.md" in line or "skill.md" in line for line in told)
    (tab,) = [line for line in told if "tab-indent" in line]
    assert "/tab-indent/SKILL.md:5: error: " in tab


def test_the_section_of_the_prompt_holds_names_and_descriptions_alone() -> None:
    section = scanned().section
    assert not [marker for marker in EXPECTED["catalog"]["must_not_contain"] if marker in section]
    assert section.count("</available_skills>") == 1
    assert "<system>" not in section
    assert max(map(len, section.split("\n"))) <= 1024  # the long description is cut here, and only here


def test_the_first_root_wins_and_the_person_is_told(tmp_path: Path) -> None:
    project, home = tmp_path / "project", tmp_path / "home"
    for place, text in ((project, "Ours"), (home, "Theirs")):
        shutil.copytree(CASES / "release-notes", place / "release-notes")
        file = place / "release-notes" / "SKILL.md"
        file.write_text(file.read_text(encoding="utf-8").replace("Drafts", text), encoding="utf-8")
    catalog = scan([Root(path=project, source="skills"), Root(path=home, source="~/.agents/skills")])
    assert [skill.description[:4] for skill in catalog.skills.values()] == ["Ours"]
    (told,) = [problem.at(reading.path) for reading in catalog.readings for problem in reading.problems]
    assert str(project) in told
    assert str(home) in told


def test_a_colon_in_a_value_is_recovered_and_told_with_its_place() -> None:  # S39
    assert skill_of("colon-value").description.startswith("Checks two things: style")
    reading = reading_of("colon-value")
    assert reading
    assert "colon-value/SKILL.md:3: warning: " in reading.problems[0].at(reading.path)


def test_a_file_saved_on_windows_is_one_block_with_its_text_unchanged(tmp_path: Path) -> None:  # S40
    folder = tmp_path / "win"
    folder.mkdir()
    (folder / "SKILL.md").write_bytes(
        b"\xef\xbb\xbf---\r\nname: win\r\ndescription: Use on Windows.\r\n---\r\n\r\nOne.\r\n\r\nTwo.\r\n"
    )
    (skill,) = scanned(tmp_path).skills.values()
    assert (skill.description, skill.body) == ("Use on Windows.", "One.\n\nTwo.")


LINES = [
    "---",
    "name: rules",
    "description: |",
    "  Above",
    "  ---",
    "  below",
    "---",
    "",
    "One.",
    "---",
    "Two.",
    "",
]


@pytest.mark.parametrize("end", ["\n", "\r\n"], ids=["lf", "crlf"])
def test_only_a_line_of_its_own_ends_the_block_of_fields(end: str) -> None:  # T106
    document = parse(end.join(LINES).encode())
    assert document.fields == {"name": "rules", "description": "Above\n---\nbelow"}
    assert document.body == "One.\n---\nTwo."


@pytest.mark.parametrize("block", ["- a\n- b\n", "just text\n", "42\n"])
def test_a_block_that_names_no_fields_is_an_error_of_that_skill(block: str) -> None:  # T107
    document = parse(f"---\n{block}---\nBody.\n".encode())
    assert (document.fields, [problem.code for problem in document.problems]) == ({}, ["yaml"])
