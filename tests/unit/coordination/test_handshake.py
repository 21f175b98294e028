"""Two hosts shake hands: each on its own thread, on a directory that does what its mount would do."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

from coordination import handshake, layout
from coordination.clock import SystemClock
from coordination.files import StateDirectory
from coordination.handshake import HANDSHAKE, NOBODY, Answers, Call, Finding
from coordination.identity import ProcessIdentity
from coordination.profile import Profile
from coordination.team_root import Team, create_team

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

HERE = threading.local()


def identity() -> ProcessIdentity:
    host = getattr(HERE, "host", "joins")
    return ProcessIdentity(host=host, boot=f"boot of {host}", pid_namespace="p", pid=1, started="1")


@pytest.fixture(autouse=True)
def two_hosts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each thread is on the host that it says; patience is short."""
    monkeypatch.setattr(handshake, "this_process", identity)
    monkeypatch.setattr(handshake, "ANSWER_SECONDS", 3.0)
    monkeypatch.setattr(handshake, "VISIBLE_SECONDS", 0.3)


@pytest.fixture
def team(tmp_path: Path) -> Team:
    return create_team(tmp_path, tmp_path, clock=SystemClock())


class LateListing(StateDirectory):
    """Names that another host made can be opened, and are not listed."""

    def names(self, directory: str) -> list[str]:
        names = super().names(directory)
        return [name for name in names if name != "2.json" or not directory.startswith(layout.HANDSHAKES)]


class LinksTwice(StateDirectory):
    """A name can be made a second time."""

    def publish(self, name: str, data: bytes) -> OSError | None:
        self.unlink(name)
        return super().publish(name, data)


@contextmanager
def answering(team: Team, host: str = "is there", answers: Any = Answers) -> Iterator[None]:
    """A process of another host looks for calls meanwhile."""
    over, clock = threading.Event(), SystemClock()

    def look() -> None:
        HERE.host = host
        mine = answers(team)
        while not over.is_set():
            mine.look()
            clock.sleep(0.01)

    thread = threading.Thread(target=look)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def call(team: Team, directory: type[StateDirectory] = StateDirectory, *, lives: bool = True) -> Finding:
    own = Team(id=team.id, directory=directory(team.root), repository=team.root, clock=team.clock)
    return Call(own, lambda: lives).find_out()


def test_a_lock_that_the_other_host_holds_is_proved(team: Team) -> None:
    with answering(team):
        finding = call(team)
    assert (finding.found, finding.proven_with) == (Profile.FLOCK, "is there")
    assert finding.visible_seconds < 0.3
    (key,) = HANDSHAKE.found(team.directory)
    talk = HANDSHAKE.open(team.directory, key).refresh()
    assert talk
    assert talk.answer
    assert talk.end
    assert (talk.answer.heard, talk.end.heard) == (talk.call.nonce, talk.answer.nonce)


def test_a_lock_that_is_free_here_while_the_other_holds_it_is_of_no_use(
    team: Team, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        handshake.HostLock, "acquire", lambda _: True
    )  # as on SSHFS: it locks on its host alone
    with answering(team):
        finding = call(team)
    assert (finding.found, finding.why) == (Profile.UNLOCKED, "a lock that is there held was free here")


@pytest.mark.parametrize(
    ("directory", "why"),
    [(LateListing, "are not listed here within"), (LinksTwice, "could be made a second time")],
)
def test_a_mount_that_shows_names_late_or_twice_is_unfit(
    team: Team, directory: type[StateDirectory], why: str
) -> None:
    with answering(team):
        finding = call(team, directory)
    assert finding.found is Profile.UNFIT
    assert why in finding.why


def test_a_host_that_lives_and_does_not_answer_sees_nothing_of_this_one(team: Team) -> None:
    finding = call(team)
    assert finding.found is Profile.UNFIT
    assert "was not seen there" in finding.why


class AnsweredAtLast(StateDirectory):
    """The answer comes at the very moment in which the caller gives up."""

    answers: Answers

    def publish(self, name: str, data: bytes) -> OSError | None:
        if name.startswith(layout.HANDSHAKES) and not name.endswith("/1.json"):
            HERE.host = "is there"
            self.answers.look()
            HERE.host = "joins"
        return super().publish(name, data)


def test_an_answer_that_comes_at_the_very_end_changes_nothing(
    team: Team, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(handshake, "ANSWER_SECONDS", 0.1)
    AnsweredAtLast.answers = Answers(team)
    assert call(team, AnsweredAtLast).found is Profile.UNFIT
    (key,) = HANDSHAKE.found(team.directory)
    talk = HANDSHAKE.open(team.directory, key).refresh()
    assert talk
    assert talk.answer
    assert talk.end
    assert talk.end.heard == talk.answer.nonce


def test_where_nobody_lives_nothing_is_proved(team: Team) -> None:
    assert call(team, lives=False) is NOBODY


def test_nobody_answers_itself_or_a_call_that_is_over(team: Team) -> None:
    with answering(team, host="joins"):
        assert call(team, lives=False) is NOBODY
    with answering(team):
        assert call(team).found is Profile.FLOCK
    numbers = [
        len(team.directory.names(f"{layout.HANDSHAKES}/{key}")) for key in HANDSHAKE.found(team.directory)
    ]
    assert sorted(numbers) == [3, 4]  # with the lock
