"""What the verbs that look have to say, and where it may go."""

from __future__ import annotations

import ast
import os
import subprocess  # noqa: TID251 - a command whose output goes to a full disk
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from coordination.finding import BY_HAND
from coordination.mail.outbox import Outbox
from coordination.protocols import PERSON, Kind
from coordination.tasks.drafts import TaskDraft
from coordination.usage import Usage
from harness.models.ledger import Ledger
from harness.models.prices import PriceTable
from orchestrator.cli.main import main
from orchestrator.cli.shared import fitted
from orchestrator.cli.trees import _groups
from tests.support.people import a_task, comes_alive, leads, stores_of

if TYPE_CHECKING:
    from coordination.stores import Stores
    from coordination.team_root import Team

PROJECT = Path(__file__).resolve().parents[4]
FULL = Path("/dev/full")
RUN_ENTRY = """
import os, signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # whoever runs the tests may ignore it
class Finder:
    def find_spec(self, name, path, target=None):
        if name == "orchestrator.cli.main":
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Finder())
from orchestrator.cli.entry import main
main()
"""


def says(capsys: pytest.CaptureFixture[str], team: Team, *arguments: str) -> str:
    with pytest.raises(SystemExit):
        main([*arguments, "--team", str(team.root)])
    return capsys.readouterr().out


@pytest.mark.skipif(not FULL.exists(), reason="there is no /dev/full here")
@pytest.mark.parametrize("verb", [["status"], ["tasks"], ["mail", "--json"], ["fsck"], ["--help"]])
def test_output_that_finds_no_room_is_one_line(team: Team, verb: list[str]) -> None:
    command = [sys.executable, "-m", "orchestrator.cli.main", *verb]
    command += [] if verb == ["--help"] else ["--team", str(team.root)]
    with FULL.open("w") as full:
        ended = subprocess.run(
            command, stdout=full, stderr=subprocess.PIPE, text=True, cwd=PROJECT, check=False
        )
    assert ended.returncode == 1
    assert (
        ended.stderr
        == "leadhand: the output cannot be written (No space left on device); write it elsewhere\n"
    )


@pytest.mark.skipif(not FULL.exists(), reason="there is no /dev/full here")
@pytest.mark.parametrize("verb", [["plan", "nonsense"], ["no-such-verb"], ["worker", "--name", "a b"]])
def test_an_error_that_finds_no_room_is_told_by_the_exit_code(team: Team, verb: list[str]) -> None:
    command = [sys.executable, "-m", "orchestrator.cli.main", *verb, "--team", str(team.root)]
    with FULL.open("w") as full:
        assert subprocess.run(command, stderr=full, cwd=PROJECT, check=False).returncode == 2


@pytest.mark.parametrize("verb", [["status"], ["tasks", "--json"], ["--help"], ["run", "--help"]])
def test_output_that_nobody_reads_to_its_end_is_no_failure(team: Team, verb: list[str]) -> None:
    command = [sys.executable, "-m", "orchestrator.cli.main", *verb]
    command += [] if verb[-1] == "--help" else ["--team", str(team.root)]
    reader, writer = os.pipe()
    os.close(reader)
    ended = subprocess.run(
        command, stdout=writer, stderr=subprocess.PIPE, text=True, cwd=PROJECT, check=False
    )
    os.close(writer)
    assert (ended.returncode, ended.stderr) == (0, "")


def test_ctrl_c_while_modules_are_loaded_leaves_no_trace() -> None:
    ended = subprocess.run(
        [sys.executable, "-c", RUN_ENTRY], capture_output=True, text=True, cwd=PROJECT, check=False
    )
    assert (ended.returncode, ended.stderr) == (-2, "")


def test_mail_that_nobody_took_in_yet_is_shown(team: Team, capsys: pytest.CaptureFixture[str]) -> None:
    Outbox(team, "person~here", leads(team).roster).send("lead", "are you there?")
    told = says(capsys, team, "mail", "lead")
    assert "(on its way)" in told
    assert "are you there?" in told


def test_what_the_lead_did_is_its_log(team: Team, capsys: pytest.CaptureFixture[str]) -> None:
    lead = leads(team)
    lead.events.record("leads", term=1, run="run_1")
    lead.events.record("of_no_interest")
    (line,) = says(capsys, team, "logs", "lead").splitlines()
    assert line.endswith("leads, term 1")


def test_approvals_lists_plans_with_the_lead_and_how_an_answer_is_taken_back(
    team: Team, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    leads(team)
    alice = stores_of(team, comes_alive(team, "alice"))
    plan = alice.requests.ask(Kind.PLAN, "round money", reviewer="lead", task="task_00000001").id
    call = alice.requests.ask(
        Kind.PERMISSION, "bash", reviewer=PERSON, question="why\n\nrm x", content_digest="0" * 64
    ).id
    said = says(capsys, team, "deny", call)
    assert f"`leadhand approvals forget {call}` takes it back" in said
    told = says(capsys, team, "approvals")
    assert f"{plan}: alice plans round money; the lead decides" in told
    assert f"taken back by: leadhand approvals forget {call}" in told
    assert "is no longer denied" in says(capsys, team, "approvals", "forget", call)


def test_clean_speaks_of_the_groups_that_are_there() -> None:
    row: dict[str, Any] = {"name": "a", "bytes": 0, "exists": True, "subject": "s", "status": None, "why": ""}
    assert "--ignored" not in _groups([{**row, "kept": None}], removed=False)
    assert "goes with" not in _groups([{**row, "kept": "dirty", "why": "it is dirty"}], removed=False)
    both = _groups([{**row, "kept": None}, {**row, "kept": "ignored_files"}], removed=False)
    assert both.endswith("go with `leadhand clean --yes --ignored`")


def test_money_of_models_without_a_price_is_unknown(team: Team) -> None:
    ledger = Ledger(team.directory, PriceTable(["known 1 1"]), run="run_1")
    use = Usage(calls=1, input_tokens=1_000_000)
    ledger.count("strange", use, [("member", "a"), ("team", "")])
    ledger.count("known", use, [("member", "b"), ("team", "")])
    told = {name: str(ledger.money(scope, name)) for scope, name in ledger.usage}
    assert told == {"a": "unknown", "b": "1.0000", "": "over 1.0000"}


def test_a_long_subject_leaves_a_row_on_one_line_of_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    task = a_task(subject="x" * 200)

    def row(of: Any) -> str:
        return f"{of.id} {of.subject} (owner alice)"

    assert fitted(task, row) == row(task)
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "80")
    line = fitted(task, row)
    assert (len(line), line.endswith("x… (owner alice)")) == (80, True)


def codes_without_repair() -> set[str]:
    """The codes of findings for which `fsck` has nothing to do by itself."""
    found: set[str] = set()
    for path in [*PROJECT.glob("coordination/fsck/*.py"), *PROJECT.glob("orchestrator/inspection/*.py")]:
        for call in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(call, ast.Call) or getattr(call.func, "id", "") not in {
                "note",
                "warning",
                "error",
            }:
                continue
            named = {keyword.arg for keyword in call.keywords}
            if "why" in named and "repair" not in named and isinstance(call.args[0], ast.Constant):
                found.add(str(call.args[0].value))
    return found


def test_every_finding_says_what_to_do() -> None:
    assert codes_without_repair() == set(BY_HAND)


def test_a_slip_of_the_finger_starts_no_thousands_of_teammates(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["run", "a goal", "--workers", "9999"])
    assert ended.value.code == 2
    assert "9999 is not in the range 1<=x<=256" in capsys.readouterr().err


def test_a_team_that_is_told_to_rest_before_there_is_a_run_says_so(
    team: Team, capsys: pytest.CaptureFixture[str]
) -> None:
    assert says(capsys, team, "pause").endswith("(no run is open: the next one begins at rest)\n")
    leads(team).runs.open("a goal", base="0" * 40)
    assert says(capsys, team, "pause") == "the team rests already\n"


@pytest.mark.parametrize(
    "verb",
    [
        ("status",),
        ("status", "--json"),
        ("tasks",),
        ("tasks", "show", "ID"),
        ("tasks", "show", "ID", "--json"),
        ("mail", "alice"),
        ("mail", "lead", "--sent"),
        ("logs", "lead"),
        ("usage",),
        ("fsck",),
    ],
    ids=" ".join,
)
def test_no_verb_shows_what_would_steer_the_terminal(
    verb: tuple[str, ...], capsys: pytest.CaptureFixture[str], team: Team, lead: Stores
) -> None:
    steering = "\x1b]52;c;aGk=\x07\x9b2J\u202e"
    comes_alive(team, "alice")
    lead.runs.open(f"Fix it {steering}", base="")
    task = lead.tasks.publish([lead.tasks.create([TaskDraft(subject=f"look {steering}")])[0].id])[0]
    lead.events.record("completed", task=task.id, subject=task.subject)
    lead.outbox.send("alice", f"hello {steering}")
    said = says(capsys, team, *(task.id if word == "ID" else word for word in verb))
    assert said
    assert not {*said} & {*"\x1b\x07\x9b\u202e"}
