"""Bad state below the team directory: one clear line from each verb, nothing written, the rest goes on."""

from __future__ import annotations

import importlib
import json
import os
import pkgutil
import re
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import agent_worker
import coordination
import harness
import orchestrator
import workspace
from coordination import layout
from coordination.numbered_log import digest, pretty
from coordination.stores import Stores, open_stores
from coordination.tasks.drafts import TaskDraft
from coordination.team_root import create_team
from orchestrator.cli.main import main
from tests.support.repository import Repository

if TYPE_CHECKING:
    from collections.abc import Iterator

VERBS = {
    "status": ("status",),
    "tasks": ("tasks",),
    "mail": ("mail",),
    "fsck": ("fsck",),
    "send": ("send", "lead", "hello"),
    "run": ("run", "do it", "--yes", "--no-input"),
}
LOOKING = ("status", "tasks", "mail")
NOBODY = 65534


@pytest.fixture
def stores(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Stores:
    """A team in a repository of its own, with one task; the person stands in it."""
    root = Repository.create(tmp_path / "project", {"a.py": "a = 1\n"}).path
    monkeypatch.chdir(root)
    stores = open_stores(create_team(root, root), "person")
    stores.tasks.create([TaskDraft(subject="The good one")])
    return stores


def snapshot(place: Path) -> dict[str, bytes]:
    files = (path for path in place.rglob("*") if not path.is_symlink() and path.is_file())
    return {str(path): path.read_bytes() for path in files if ".git" not in path.parts}


def ended(capsys: pytest.CaptureFixture[str], verb: str) -> tuple[int, str, str]:
    """Exit code and both outputs of a verb; what it complains of is one line."""
    with pytest.raises(SystemExit) as end:
        main(VERBS.get(verb, (verb,)))
    told = capsys.readouterr()
    assert "Traceback" not in told.err
    assert "inside leadhand" not in told.err
    assert len(told.err.splitlines()) <= 1, told.err
    return int(end.value.code or 0), told.out, told.err


def refused(stores: Stores, capsys: pytest.CaptureFixture[str], verb: str) -> str:
    """The one line of a verb that did nothing."""
    before = snapshot(stores.team.root)
    code, _, complaint = ended(capsys, verb)
    assert code == 2
    assert snapshot(stores.team.root) == before
    return complaint


@pytest.mark.parametrize("verb", VERBS)
def test_a_team_of_a_newer_format_is_refused_with_the_version_to_install(
    stores: Stores, capsys: pytest.CaptureFixture[str], verb: str
) -> None:
    path = stores.team.root / layout.TEAM_FILE
    path.write_text(json.dumps(json.loads(path.read_bytes()) | {"format": 7, "version": "9.1"}))
    assert "install leadhand 9.1" in refused(stores, capsys, verb)


@pytest.mark.parametrize("data", [b"", b"{", b"[]", b"{}", b'{"format":1,"team":3}'])
def test_a_damaged_team_file_is_named(
    stores: Stores, capsys: pytest.CaptureFixture[str], data: bytes
) -> None:
    (stores.team.root / layout.TEAM_FILE).write_bytes(data)
    for verb in ("status", "run"):
        assert layout.TEAM_FILE in refused(stores, capsys, verb)


@pytest.mark.parametrize("verb", ["status", "send", "run"])
@pytest.mark.parametrize("name", [layout.TASKS, layout.TASK_LOGS, layout.MEMBERS])
def test_a_directory_that_leads_out_of_the_root_is_refused(
    stores: Stores, capsys: pytest.CaptureFixture[str], verb: str, name: str
) -> None:
    outside = stores.team.root.parent / "outside"
    (stores.team.root / name).rename(outside)
    (stores.team.root / name).symlink_to(outside)
    before = snapshot(outside)
    assert name in refused(stores, capsys, verb)
    assert snapshot(outside) == before


def test_mail_is_not_written_through_a_link(stores: Stores, capsys: pytest.CaptureFixture[str]) -> None:
    outside = stores.team.root.parent / "outside"
    (stores.team.root / layout.inbox("lead")).rename(outside)
    (stores.team.root / layout.inbox("lead")).symlink_to(outside)
    assert "is a link" in refused(stores, capsys, "send")
    assert not list(outside.iterdir())


@pytest.mark.parametrize("verb", ["status", "tasks"])
def test_a_task_of_a_newer_format_is_named_and_the_others_are_shown(
    stores: Stores, capsys: pytest.CaptureFixture[str], verb: str
) -> None:
    run = stores.runs.open("do it")
    bad, _ = stores.tasks.create([TaskDraft(subject=subject, run=run.id) for subject in ("Bad", "Good")])
    path = stores.team.root / layout.record(layout.task_log(bad.id), 1)
    document = json.loads(path.read_bytes()) | {"format": 7, "version": "9.1"}
    path.write_bytes(pretty(document | {"digest": digest(document)}))
    code, shown, complaint = ended(capsys, verb)
    assert code == 0
    assert "Good" in shown
    assert "install leadhand 9.1" in shown + complaint


@pytest.mark.parametrize(
    "path", [".tasks/log/nonsense/1.json", ".team/members/Al ice", ".team/requests/x", "mailboxes/x~y.jsonl"]
)
def test_a_name_that_is_no_id_holds_nothing_up(
    stores: Stores, capsys: pytest.CaptureFixture[str], path: str
) -> None:
    target = stores.team.root / path
    target.parent.mkdir(exist_ok=True)
    target.touch()
    assert [ended(capsys, verb)[0] for verb in LOOKING] == [0, 0, 0]


def test_lines_that_are_no_mail_are_told_and_the_rest_is_shown(
    stores: Stores, capsys: pytest.CaptureFixture[str]
) -> None:
    message = stores.outbox.send("lead", "hello").to_json()
    view = stores.team.root / layout.received("lead~1")
    view.write_bytes(b'garbage\n{"half":\n' + json.dumps(message).encode() + b"\n")
    code, shown, complaint = ended(capsys, "mail")
    assert code == 0
    assert "hello" in shown
    assert "2 lines of mailboxes/lead~1.jsonl" in complaint


def test_a_log_is_looked_for_in_its_directory_only(
    stores: Stores, capsys: pytest.CaptureFixture[str]
) -> None:
    (stores.team.root / ".team/secret.log").write_text("secret")
    with pytest.raises(SystemExit):
        main(("logs", "../secret"))
    assert "secret\n" not in capsys.readouterr().out


# owner and mode


PACKAGES = (coordination, harness, workspace, agent_worker, orchestrator)
LIBRARIES = (
    "anthropic",
    "click",
    "encodings.utf_8_sig",
    "filelock",
    "git",
    "mcp",
    "watchdog.observers",
    "yaml",
)


@pytest.fixture
def place(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A directory that other users can reach, with a home for them."""
    made, home = Path(tempfile.mkdtemp(prefix="leadhand-")), Path(os.environ["HOME"])
    for variable in ("HOME", "XDG_CONFIG_HOME", "GIT_CONFIG_GLOBAL"):
        monkeypatch.setenv(variable, str(made / variable))
    shutil.copy(home / ".gitconfig", made / "GIT_CONFIG_GLOBAL")
    yield made
    for path in (made, *made.rglob("*")):
        if not path.is_symlink():
            path.chmod(0o755)
    shutil.rmtree(made)


@pytest.fixture
def unprivileged(place: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Stores]:
    """The team of a user for whom modes count; the superuser gives its rights up for the test."""
    for package in PACKAGES:  # afterwards the files of late imports may be out of reach
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            importlib.import_module(module.name)
    for library in LIBRARIES:
        importlib.import_module(library)
    root = Repository.create(place / "project", {"a.py": "a = 1\n"}).path
    stores = open_stores(create_team(root, root), "person")
    stores.tasks.create([TaskDraft(subject="The good one")])
    monkeypatch.chdir(root)
    if os.geteuid() != 0:
        yield stores
        return
    for path in (place, *place.rglob("*")):
        os.chown(path, NOBODY, NOBODY, follow_symlinks=False)
    os.seteuid(NOBODY)
    yield stores
    os.seteuid(0)


def read_only(place: Path) -> None:
    for path in (place, *place.rglob("*")):
        if path.is_dir():
            path.chmod(0o555)


def test_a_read_only_team_can_be_looked_at(unprivileged: Stores, capsys: pytest.CaptureFixture[str]) -> None:
    read_only(unprivileged.team.root)
    assert [ended(capsys, verb)[0] for verb in LOOKING] == [0, 0, 0]


@pytest.mark.parametrize("verb", ["send", "run"])
def test_what_cannot_be_written_is_said_in_one_line(
    unprivileged: Stores, capsys: pytest.CaptureFixture[str], verb: str
) -> None:
    read_only(unprivileged.team.root)
    assert "annot write" in refused(unprivileged, capsys, verb)


def test_a_team_that_this_user_may_not_enter_is_said_in_one_line(
    unprivileged: Stores, capsys: pytest.CaptureFixture[str]
) -> None:
    (unprivileged.team.root / ".team").chmod(0o000)
    for verb in VERBS:
        code, _, complaint = ended(capsys, verb)
        assert code == 2
        assert ".team" in complaint


def test_fsck_names_what_this_user_may_not_use(
    unprivileged: Stores, capsys: pytest.CaptureFixture[str]
) -> None:
    (unprivileged.team.root / layout.RUNS).chmod(0o555)
    code, shown, _ = ended(capsys, "fsck")
    assert code == 1
    assert f"{layout.RUNS}: this user may not write in it" in shown


@pytest.mark.parametrize("name", [layout.EVENTS, layout.LOGS, layout.inbox("lead"), layout.WORKTREES])
def test_fsck_names_what_this_user_may_not_even_list(
    unprivileged: Stores, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    unprivileged.outbox.send("lead", "hello")
    (unprivileged.team.root / name).chmod(0o000)
    code, shown, _ = ended(capsys, "fsck")
    assert code == 1
    assert f"{name}: this user may not write in it" in shown
    assert "Errno" not in shown


def test_mail_into_a_box_that_cannot_be_made_is_refused_in_one_line(
    unprivileged: Stores, capsys: pytest.CaptureFixture[str]
) -> None:
    (unprivileged.team.root / layout.MAILBOXES).chmod(0o000)
    code, _, complaint = ended(capsys, "send")
    assert code == 2
    assert "cannot write mailboxes/lead.d" in complaint


def test_doctor_names_a_team_that_this_user_may_not_enter(
    unprivileged: Stores, capsys: pytest.CaptureFixture[str]
) -> None:
    (unprivileged.team.root / ".team").chmod(0o000)
    code, shown, _ = ended(capsys, "doctor")
    assert code == 2
    assert re.search(r"fault team .*\.team/team.json \(Permission denied\); mend owner or mode", shown)
    assert re.search("ok +machine", shown)
