"""What is the same for every verb: what the system refuses is one line that says what to do."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click
import pytest

from orchestrator.cli.main import cli, main
from orchestrator.cli.shared import begin_of
from tests.support.repository import Repository

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

LONG = "n" * 300


@pytest.fixture(autouse=True)
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Repository:
    made = Repository.create(tmp_path / "project", {"a.py": "a = 1\n"})
    monkeypatch.chdir(made.path)
    return made


def refused(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """The one line of a verb that did nothing."""
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "Errno" not in line
    return line


@pytest.mark.parametrize("verb", ["status", "init", "doctor"])
def test_a_name_that_is_too_long_for_the_disk_is_said_so(
    capsys: pytest.CaptureFixture[str], verb: str, tmp_path: Path
) -> None:
    with pytest.raises(SystemExit) as ended:
        main((verb, "--team", str(tmp_path / LONG)))
    assert ended.value.code == 2
    assert "(File name too long); choose a shorter name" in "".join(capsys.readouterr())


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (None, "there is no such file"),
        (b"\xff", "it is no UTF-8 at byte 0"),
        ("directory", "no regular file"),
    ],
)
def test_a_goal_that_cannot_be_read_is_told_with_the_reason(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, data: object, why: str
) -> None:
    file = tmp_path / "goal"
    if isinstance(data, bytes):
        file.write_bytes(data)
    elif data:
        file.mkdir()
    assert why in refused(capsys, "run", "-f", str(file))
    assert "File name too long" in refused(capsys, "run", "-f", LONG)


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (("chaos", "--minutes", "nan"), "--minutes takes a number of minutes"),
        (("chaos", "--minutes", "inf"), "--minutes takes a number of minutes"),
        (("policy", "explain", "bash", '{"command":'), "no JSON object: look at line 1, column 12"),
    ],
)
def test_a_value_that_is_none_is_refused_in_words(
    capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], why: str
) -> None:
    assert why in refused(capsys, *arguments)


def every(group: click.Group, context: click.Context) -> Iterator[click.Context]:
    """The verbs below a group, called without arguments."""
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command
        called = command.make_context(name, [], parent=context, resilient_parsing=True)
        yield called
        if isinstance(command, click.Group):
            yield from every(command, called)


def test_the_team_may_be_named_before_any_verb(tmp_path: Path) -> None:
    called = list(every(cli, cli.make_context("leadhand", ["--team", str(tmp_path), "verb"])))
    without = {context.command_path for context in called if "team_directory" not in context.params}
    assert without == {f"leadhand {verb}" for verb in ("policy", "cron next", "chaos", "demo")}
    assert all(context.params.get("team_directory", tmp_path) == tmp_path for context in called)


@pytest.mark.parametrize("verb", ["tasks", "policy"])
def test_the_verbs_below_a_verb_are_told_in_full(capsys: pytest.CaptureFixture[str], verb: str) -> None:
    below = cli.get_command(click.Context(cli), verb)
    assert isinstance(below, click.Group)
    told = " ".join(said(capsys, verb, "--help").split())
    for command in below.commands.values():
        assert " ".join((command.help or "").partition("\n\n")[0].split()) in told


def test_a_verb_that_is_nearly_one_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(("statsu",))
    assert ended.value.code == 2
    assert "there is no verb statsu; did you mean status?" in capsys.readouterr().err


def said(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 0
    return capsys.readouterr().out


def test_init_tells_a_repository_with_settings_from_one_without(
    capsys: pytest.CaptureFixture[str], repository: Repository
) -> None:
    assert "say what proves work in leadhand.yaml" in said(capsys, "init")
    repository.write({"leadhand.yaml": "checks: {tests: 'true'}\n"})
    told = said(capsys, "init")
    assert "leadhand.yaml is there and stays as it is" in told
    assert "say what proves work" not in told


def test_a_removal_of_demos_says_when_there_is_none(capsys: pytest.CaptureFixture[str]) -> None:
    assert "there is no demo in" in said(capsys, "demo", "--clean")


def test_the_log_of_the_lead_is_named_where_another_is_looked_for_in_vain(
    capsys: pytest.CaptureFixture[str],
) -> None:
    said(capsys, "init")
    assert refused(capsys, "logs", "nobody").endswith("known are lead")


def test_a_listing_cuts_a_long_description_between_words() -> None:
    assert begin_of("word " * 40) == "word " * 19 + "…"
