from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from orchestrator.cli.main import main

CASES = Path(__file__).resolve().parents[3] / "cases" / "skills"


def leadhand(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str]:
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    status = ended.value.code
    assert isinstance(status, int)
    captured = capsys.readouterr()
    return status, captured.out + captured.err


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    shutil.copytree(CASES, tmp_path / "skills", ignore=shutil.ignore_patterns("expected.json"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.usefixtures("project")
def test_the_list_names_every_skill_and_its_source(capsys: pytest.CaptureFixture[str]) -> None:
    status, text = leadhand(capsys, "skills")
    assert status == 0
    assert "release-notes" in text
    assert "resolve-a-merge" in text
    assert "no-description" not in text
    assert "see `leadhand skills check`" in text
    assert json.loads(leadhand(capsys, "skills", "--json")[1])["budget_tokens"] == 20_000
    assert "tokens; a conversation may hold 20000" in leadhand(capsys, "skills", "--tokens")[1]


def test_check_tells_every_problem_and_fails_on_errors(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status, text = leadhand(capsys, "skills", "check")
    assert status == 1
    assert f"{project}/skills/tab-indent/SKILL.md:5: error:" in text
    data = json.loads(leadhand(capsys, "skills", "check", "--json")[1])
    assert {"yaml", "yaml-recovered", "description-missing"} <= {row["code"] for row in data["problems"]}
    for path in (project / "skills").iterdir():
        if path.name != "release-notes":
            shutil.rmtree(path)
    assert leadhand(capsys, "skills", "check")[0] == 0


@pytest.mark.usefixtures("project")
def test_show_prints_text_files_commands_source_and_digest(capsys: pytest.CaptureFixture[str]) -> None:
    status, text = leadhand(capsys, "skills", "show", "release-notes")
    assert status == 0
    for part in (
        "BODY-MARKER-01",
        "assets/template.txt",
        "  scripts/collect.sh",
        "digest: ",
        "source: skills",
    ):
        assert part in text
    status, text = leadhand(capsys, "skills", "show", "nothing")
    assert status == 2
    assert "known are" in text
