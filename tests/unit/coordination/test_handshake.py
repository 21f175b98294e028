"""Two hosts shake hands: each on its own thread, on a directory that does what its mount would do."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

from coordination import handshake, layout
from coordination.clock import SystemClock
from coordination.files import StateDirectory
from coordination.handshake import HANDSHAKE, NOBODY, Answers, Call, Finding
from coordination.identity import ProcessIdentity
from coordination.profile import Joined, Profile
from coordination.team_root import Team, create_team

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

HERE = threading.local()


def machine() -> str:
    return str(getattr(HERE, "machine", ""))


def identity() -> ProcessIdentity:
    host = getattr(HERE, "host", "joins")
    return ProcessIdentity(
        host=host, boot=f"boot of {host}{machine()}", pid_namespace="p", pid=1, started="1"
    )


@pytest.fixture(autouse=True)
def two_hosts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each thread is on the host that it says."""
    monkeypatch.setattr(handshake, "this_process", identity)
    monkeypatch.setattr(handshake, "this_machine", machine)


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """What does not come is not waited for."""
    monkeypatch.setattr(handshake, "ANSWER_SECONDS", 0.1)
    monkeypatch.setattr(handshake, "VISIBLE_SECONDS", 0.1)


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
def answering(team: Team, host: str = "is there", of_machine: str = "") -> Iterator[None]:
    """A process of another host looks for calls meanwhile."""
    over, clock = threading.Event(), SystemClock()

    def look() -> None:
        HERE.host, HERE.machine = host, of_machine
        mine = Answers(team)
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


def test_who_answers_is_called_as_the_team_does_where_both_have_one_name(team: Team) -> None:
    team.mount.take({"joins": Joined(profile=Profile.LOCAL, host="joins", at="", machine="m1")})
    with answering(team, host="joins", of_machine="m2"):
        assert call(team).proven_with == "joins-m2"


@pytest.mark.parametrize(
    ("directory", "why"),
    [(LateListing, "are not listed here within"), (LinksTwice, "could be made a second time")],
)
def test_a_mount_that_shows_names_late_or_twice_is_unfit(
    team: Team, directory: type[StateDirectory], why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if directory is LateListing:
        monkeypatch.setattr(handshake, "VISIBLE_SECONDS", 0.1)
    with answering(team):
        finding = call(team, directory)
    assert finding.found is Profile.UNFIT
    assert why in finding.why


@pytest.mark.usefixtures("impatient")
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


@pytest.mark.usefixtures("impatient")
def test_an_answer_that_comes_at_the_very_end_changes_nothing(team: Team) -> None:
    AnsweredAtLast.answers = Answers(team)
    assert call(team, AnsweredAtLast).found is Profile.UNFIT
    (key,) = HANDSHAKE.found(team.directory)
    talk = HANDSHAKE.open(team.directory, key).refresh()
    assert talk
    assert talk.answer
    assert talk.end
    assert talk.end.heard == talk.answer.nonce


@pytest.mark.usefixtures("impatient")
def test_where_nobody_lives_nothing_is_proved(team: Team) -> None:
    assert call(team, lives=False) is NOBODY


def test_nobody_answers_itself_or_a_call_that_is_over(team: Team, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patience, answering(team, host="joins"):
        patience.setattr(handshake, "ANSWER_SECONDS", 1.0)
        assert call(team, lives=False) is NOBODY
    with answering(team):
        assert call(team).found is Profile.FLOCK
    numbers = [
        len(team.directory.names(f"{layout.HANDSHAKES}/{key}")) for key in HANDSHAKE.found(team.directory)
    ]
    assert sorted(numbers) == [3, 4]  # with the lock
