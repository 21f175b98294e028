"""Fixtures that every test may use: a sealed environment, a clock, a team root."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

from coordination.team_root import Team, create_team
from harness.stop_signals import STOPPING
from tests.support.clock import FakeClock
from tests.support.people import leads

if TYPE_CHECKING:
    from collections.abc import Iterator

    from coordination.stores import Stores

TESTS = Path(__file__).parent


settings.register_profile("patient", parent=settings(), deadline=None)  # a machine may be busy
settings.load_profile("patient")


def pytest_configure() -> None:
    """Whoever runs the tests may ignore signals, and every program would inherit that."""
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
        signal.signal(number, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """A test is stopped after what its kind may take on a slow machine, busy with other things."""
    for item in items:
        if item.get_closest_marker("stress"):
            item.add_marker(pytest.mark.timeout(3600))
        elif item.path.relative_to(TESTS).parts[0] not in {"unit", "architecture"}:
            item.add_marker(pytest.mark.timeout(240))


@pytest.fixture(autouse=True)
def signals_as_before() -> Iterator[None]:
    """A test may end a process that ignores its signals at the end, and the next would inherit that."""
    before = {number: signal.getsignal(number) for number in STOPPING}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.fixture(autouse=True)
def sealed_environment(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    """No test sees the person's home, git configuration, keys or editor; git has a fixed identity."""
    home = tmp_path_factory.mktemp("home")
    for name in (
        "ANTHROPIC_API_KEY",
        "ANTHROPIC_AUTH_TOKEN",
        "ANTHROPIC_BASE_URL",
        "MODEL_ID",
        "XDG_CONFIG_HOME",
    ):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(home / ".gitconfig"))
    (home / ".gitconfig").write_text(
        "[user]\n\tname = Pat Person\n\temail = pat@example.org\n[init]\n\tdefaultBranch = main\n",
        encoding="utf-8",
    )
    monkeypatch.setenv(
        "LEADHAND_SANDBOX", "off"
    )  # tests of the sandbox turn it on; not every machine has one
    for name, value in (("GIT_EDITOR", "false"), ("GIT_TERMINAL_PROMPT", "0"), ("LC_ALL", "C.UTF-8")):
        monkeypatch.setenv(name, value)


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def team(tmp_path: Path, clock: FakeClock) -> Team:
    """A fresh team root whose clock stands still."""
    root = tmp_path / "team"
    root.mkdir()
    return create_team(root, root, clock=clock)


@pytest.fixture
def lead(team: Team) -> Stores:
    """The team's stores, as its lead has them."""
    return leads(team)


@pytest.fixture
def anyio_backend() -> str:
    """The loop that every process of the product has."""
    return "asyncio"
