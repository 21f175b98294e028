"""Whose signature counts, and that nobody else's does."""

from __future__ import annotations

import json
import stat
from typing import TYPE_CHECKING, Any

import pytest

from coordination import layout
from coordination.errors import InvalidRecord
from coordination.keys import KeyNotAccepted, Keyring, KeyUnusable, NoKey
from coordination.numbered_log import pretty, seal
from coordination.own_files import OwnFileUnusable, own_directory
from coordination.process import this_host
from coordination.records import Verdict
from coordination.requests import Requests
from coordination.team_root import open_team

if TYPE_CHECKING:
    from pathlib import Path

    from coordination.team_root import Team

WORDS = {"what": "a word"}


@pytest.fixture
def elsewhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> pytest.MonkeyPatch:
    """What is done after `setenv` is done on another host, by somebody with another home."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "here"))
    return monkeypatch


def moves(elsewhere: pytest.MonkeyPatch, tmp_path: Path, place: str) -> None:
    elsewhere.setenv("XDG_CONFIG_HOME", str(tmp_path / place))


def plant(team: Team, body: dict[str, Any], number: int = 1, prev: int = 0) -> None:
    (team.root / layout.KEYS_LOG).mkdir(exist_ok=True)
    document = seal("team/keys", body, number=number, prev=prev, commit_id=f"c{number}")
    (team.root / layout.record(layout.KEYS_LOG, number)).write_bytes(pretty(document))


def test_who_makes_the_team_signs_with_the_first_key(team: Team) -> None:
    keys = Keyring(team)
    number, signature = keys.sign(WORDS)
    assert number == 1
    Keyring(team).check(WORDS, number, signature)
    Keyring(team, first=keys.public).check(WORDS, number, signature)
    for document, key, text in (
        ({}, 1, signature),
        (WORDS, 2, signature),
        (WORDS, 1, "ab"),
        (WORDS, 1, None),
    ):
        with pytest.raises(InvalidRecord):
            keys.check(document, key, text)


def test_the_key_lies_outside_the_team_for_its_owner_alone(team: Team) -> None:
    Keyring(team).establish()
    file = own_directory() / "keys" / f"{this_host()}.key"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    secret = file.read_text()
    assert not [path for path in team.root.rglob("*") if path.is_file() and secret in path.read_text()]
    assert Keyring(team).public == Keyring(team).public


@pytest.mark.parametrize("text", ["", "xyz", "ab" * 31, "ä"])
def test_a_damaged_key_is_one_line(team: Team, text: str) -> None:
    Keyring(team).establish()
    (own_directory() / "keys" / f"{this_host()}.key").write_text(text, encoding="utf-8")
    with pytest.raises(KeyUnusable, match="holds no signing key"):
        Keyring(team).sign(WORDS)


def test_a_key_that_others_may_write_is_not_used(team: Team) -> None:
    Keyring(team).establish()
    (own_directory() / "keys" / f"{this_host()}.key").chmod(0o666)
    with pytest.raises(OwnFileUnusable, match="others may write it"):
        Keyring(team).sign(WORDS)


def test_another_host_decides_once_an_accepted_one_has_accepted_it(
    team: Team, elsewhere: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    first = Keyring(team)
    first.establish()
    moves(elsewhere, tmp_path, "there")
    other = Keyring(team)
    with pytest.raises(KeyNotAccepted, match=f"`leadhand trust --key {other.public}`"):
        other.sign(WORDS)
    moves(elsewhere, tmp_path, "here")
    for bad in ("", "nonsense", other.public.upper()):
        with pytest.raises(NoKey):
            first.accept(bad)
    assert first.accept(other.public) == first.accept(other.public) == 2
    moves(elsewhere, tmp_path, "there")
    number, signature = other.sign(WORDS)
    assert number == 2
    Keyring(team, first=first.first).check(WORDS, number, signature)


def test_nobody_accepts_a_key_for_the_team_but_an_accepted_one(
    team: Team, elsewhere: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    first = Keyring(team)
    first.establish()
    moves(elsewhere, tmp_path, "there")
    other = Keyring(team)
    with pytest.raises(KeyNotAccepted):
        other.accept("ab" * 32)
    forged = {"public": other.public, "host": "x", "signature": "ab" * 64, "at": ""}
    plant(team, forged | {"signed_by": 1}, number=2, prev=1)
    plant(team, forged | {"signed_by": 2}, number=3, prev=1)
    with pytest.raises(KeyNotAccepted):
        Keyring(team).sign(WORDS)
    moves(elsewhere, tmp_path, "here")
    assert Keyring(team).sign(WORDS)[0] == 1


def test_a_log_of_keys_that_was_put_in_the_place_of_the_first_does_not_count(
    team: Team, elsewhere: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    keys = Keyring(team)
    keys.establish()
    first = keys.first
    (team.root / layout.record(layout.KEYS_LOG, 1)).unlink()
    moves(elsewhere, tmp_path, "there")
    thief = Keyring(team)
    number, signature = thief.sign(WORDS)
    with pytest.raises(InvalidRecord, match="does not accept"):
        Keyring(team, first=first).check(WORDS, number, signature)
    moves(elsewhere, tmp_path, "here")
    with pytest.raises(InvalidRecord, match="does not accept"):
        Keyring(open_team(team.root)).check(WORDS, number, signature)


def test_forged_answers_orders_and_stamps_are_passed_over_and_told_of(team: Team) -> None:
    told: list[tuple[int, str]] = []
    alice = Requests(team, "alice~2", lambda: 1, on_ignored=lambda _, number, why: told.append((number, why)))
    asked = alice.ask("permission", "bash", reviewer="person", question="rm")
    body = {"verdict": "approve", "by": "person", "term": 1, "at": "", "reason": ""}
    body |= {"request_digest": alice.get(asked.id).question_digest, "secret": None}
    plant_answer(team, asked.id, body | {"key": None, "signature": None}, 2)
    plant_answer(team, asked.id, body | {"key": 1, "signature": "ab" * 64}, 3)
    plant_answer(team, asked.id, asked.to_json() | {"term": 99}, 4)
    assert alice.get(asked.id).answer is None
    assert [number for number, _ in told] == [2, 3, 4]
    Requests(team, "person", lambda: 1).decide(asked.id, Verdict.DENY)
    answer = alice.get(asked.id).answer
    assert answer
    assert (answer.verdict, answer.key) == (Verdict.DENY, 1)


@pytest.mark.parametrize(
    ("kind", "to"),
    [("shutdown", "alice~2"), ("interrupt", "lead~1"), ("compact", "alice"), ("compact", "lead")],
)
def test_a_forged_order_is_none(team: Team, kind: str, to: str) -> None:
    alice = Requests(team, "alice~2", lambda: 1)
    order = Requests(team, "person").ask(kind, to, reviewer=to, question="now")
    (team.root / layout.request_log("req_00000009")).mkdir()
    plant_answer(team, "req_00000009", order.to_json() | {"id": "req_00000009"}, 1)
    assert [state.question.id for state in alice.open()] == [order.id]


def plant_answer(team: Team, request: str, body: dict[str, Any], number: int) -> None:
    prev = 0 if number == 1 else 1
    document = seal(f"request/{request}", body, number=number, prev=prev, commit_id=f"c{number}")
    path = team.root / layout.record(layout.request_log(request), number)
    path.write_text(json.dumps(document), encoding="utf-8")
