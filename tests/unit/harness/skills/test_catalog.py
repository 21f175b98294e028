from __future__ import annotations

from pathlib import Path

import skills_ref

from harness.skills.advice import advice, commands_of
from harness.skills.catalog import PROJECT_ROOTS, Catalog, Root, roots_of, scan, shipped_skills
from harness.skills.frontmatter import parse


def write(root: Path, name: str, description: str = "Tests. Use in tests.", *, body: str = "Do it.") -> Path:
    folder = root / name
    folder.mkdir(parents=True)
    text = f"---\nname: {name}\ndescription: {description}\n---\n\n{body}\n"
    (folder / "SKILL.md").write_text(text, encoding="utf-8")
    return folder


def in_project(tmp_path: Path, *allowed: str) -> Catalog:
    return scan(roots_of(tmp_path / "project", home=tmp_path / "home", allowed_at_home=allowed))


def test_the_roots_of_the_project_come_in_order_and_the_shipped_skills_last(tmp_path: Path) -> None:
    for root in reversed(PROJECT_ROOTS):
        write(tmp_path / "project" / root, "plan-a-team")
    catalog = in_project(tmp_path)
    assert catalog.skills["plan-a-team"].source == "skills"
    assert catalog.skills["resolve-a-merge"].source == "leadhand"
    hidden = [problem for reading in catalog.readings for problem in reading.problems]
    assert [problem.code for problem in hidden] == ["shadowed"] * 3


def test_skills_of_the_home_are_off_until_the_person_names_them(tmp_path: Path) -> None:
    write(tmp_path / "home/.agents/skills", "mine")
    off = in_project(tmp_path)
    assert "mine" not in off.skills
    assert "skills.allow" in off.readings[0].problems[0].text
    assert in_project(tmp_path, "mine").skills["mine"].source == "~/.agents/skills"
    assert "mine" in in_project(tmp_path, "*").skills


def test_a_link_out_of_the_root_is_no_skill(tmp_path: Path) -> None:  # T107
    elsewhere = write(tmp_path / "elsewhere", "far")
    root = tmp_path / "skills"
    root.mkdir()
    (root / "far").symlink_to(elsewhere)
    catalog = scan([Root(path=root, source="skills")])
    assert not catalog.skills
    assert "leads out of" in catalog.readings[0].problems[0].text


def test_a_resource_that_is_a_link_out_of_the_folder_is_left_out(tmp_path: Path) -> None:
    folder = write(tmp_path, "one")
    (folder / "passwords").symlink_to("/etc/hostname")
    catalog = scan([Root(path=tmp_path, source="skills")])
    assert not catalog.skills["one"].resources
    assert [problem.code for problem in catalog.readings[0].problems] == ["resource-left-out"]


def test_a_name_that_is_missing_or_no_text_is_that_of_the_folder(tmp_path: Path) -> None:  # T107
    for name, line in (("none", ""), ("list", "name: [a, b]\n")):
        folder = write(tmp_path, name)
        (folder / "SKILL.md").write_text(f"---\n{line}description: Use it.\n---\n", encoding="utf-8")
    catalog = scan([Root(path=tmp_path, source="skills")])
    assert list(catalog.skills) == ["list", "none"]
    assert {problem.code for reading in catalog.readings for problem in reading.problems} == {"name-missing"}


def test_without_skills_there_is_no_section() -> None:
    assert Catalog(skills={}).section == ""


def test_a_catalog_survives_its_json(tmp_path: Path) -> None:
    write(tmp_path, "one")
    catalog = scan([Root(path=tmp_path, source="skills")])
    assert Catalog.from_json(catalog.to_json()).skills == catalog.skills


def test_the_digest_tells_a_change_of_a_resource(tmp_path: Path) -> None:
    folder = write(tmp_path, "one")
    digests = set()
    for text in ("a", "b"):
        (folder / "data.txt").write_text(text, encoding="utf-8")
        digests.add(scan([Root(path=tmp_path, source="skills")]).skills["one"].digest)
    assert len(digests) == 2


def test_a_bomb_of_aliases_is_refused() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 9)]
    document = parse(("---\n" + "\n".join(lines) + "\n---\n").encode())
    assert [problem.code for problem in document.problems] == ["yaml"]


def test_bytes_that_are_no_utf8_are_an_error_with_their_place() -> None:
    (problem,) = parse(b"---\nname: \xff\n---\n").problems
    assert problem.code == "not-utf8"


# advice and shipped skills


def test_advice_on_descriptions_and_size(tmp_path: Path) -> None:
    write(tmp_path, "vague", "Handles tables and other things of that kind.")
    write(tmp_path, "one", "Loads tables from files into the store. Use when importing.")
    write(tmp_path, "two", "Loads tables from files into the base. Use when importing.")
    told = list(advice(scan([Root(path=tmp_path, source="skills")]), catalog_tokens=50))
    assert len(told) == 3
    assert "vague" in told[0]
    assert "one and two" in told[1]
    assert "skills.catalog_tokens" in told[2]


def test_the_commands_that_a_skill_names(tmp_path: Path) -> None:
    body = (
        "Run `scripts/go.sh --all`, see `notes.md`.\n\n1. First\n\n   ```sh\n   $ git log\n   # no\n   ```\n"
    )
    folder = write(tmp_path, "one", body=body)
    (folder / "scripts").mkdir()
    (folder / "scripts/go.sh").touch()
    skill = scan([Root(path=tmp_path, source="skills")]).skills["one"]
    assert commands_of(skill) == ["git log", "scripts/go.sh --all"]


def test_the_shipped_skills_are_valid_and_need_no_advice() -> None:
    catalog = scan([Root(path=shipped_skills(), source="leadhand")])
    assert set(catalog.skills) >= {
        "plan-a-team",
        "review-a-branch",
        "resolve-a-merge",
        "write-an-mcp-server",
        "debug-with-hypotheses",
    }
    assert [skills_ref.validate(Path(skill.directory)) for skill in catalog.skills.values()] == [[]] * 5
    assert not list(advice(catalog, catalog_tokens=1000))
    assert not [problem for reading in catalog.readings for problem in reading.problems]
