"""Where commands run is asked once per machine, and never assumed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.sandbox import needs_sandbox
from workspace.sandbox.choice import choose, in_words
from workspace.sandbox.program import SandboxMissing, find_bubblewrap
from workspace.sandbox.sandbox import BUBBLEWRAP, OFF

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def _missing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))


@pytest.mark.usefixtures("_missing")
def test_a_yes_holds_for_this_machine_and_is_not_asked_for_again(tmp_path: Path) -> None:
    asked: list[str] = []

    def yes(question: str) -> bool:
        asked.append(question)
        return True

    assert choose("auto", tmp_path, yes) == "off"
    assert choose("auto", tmp_path, yes) == "off"
    assert choose("auto", tmp_path) == "off"
    assert len(asked) == 1
    assert "not installed" in asked[0]


@pytest.mark.usefixtures("_missing")
@pytest.mark.parametrize("configured", ["auto", "bwrap"])
def test_without_a_yes_nothing_runs(tmp_path: Path, configured: str) -> None:
    for ask in (None, lambda _: False):
        with pytest.raises(SandboxMissing, match=r"apt-get install bubblewrap.*sandbox: off"):
            choose(configured, tmp_path, ask)


@pytest.mark.usefixtures("_missing")
def test_who_insists_on_a_sandbox_is_not_asked(tmp_path: Path) -> None:
    with pytest.raises(SandboxMissing):
        choose("bwrap", tmp_path, lambda _: True)


def test_off_is_off(tmp_path: Path) -> None:
    assert choose("off", tmp_path) == "off"


@needs_sandbox
def test_where_it_works_it_is_used(tmp_path: Path) -> None:
    assert choose("auto", tmp_path) == "bwrap"


def test_a_bubblewrap_inside_the_repository_is_never_run(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "bwrap").write_bytes(b"#!/bin/sh\nexit 0\n")
    (tmp_path / "bwrap").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SandboxMissing, match="not installed"):
        find_bubblewrap(tmp_path)


def test_a_bubblewrap_that_does_not_work_here_is_none(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "bwrap").write_bytes(b"#!/bin/sh\necho no permission to make a namespace >&2\nexit 1\n")
    (tmp_path / "bwrap").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SandboxMissing, match="no permission to make a namespace"):
        find_bubblewrap(tmp_path / "repository")


def test_a_person_is_told_what_commands_reach_and_whether_decisions_can_be_forged() -> None:
    without = in_words(OFF, "all")
    assert "no sandbox: commands of agents run as you" in without
    assert "not forgery-proof (docs/threat-model.md)" in without
    inside = {network: in_words(BUBBLEWRAP, network) for network in ("all", "setup", "none")}
    assert inside["all"].endswith("with the network")
    assert inside["setup"].endswith("without the network but for set-up")
    assert inside["none"].endswith("without network")
    assert all("bubblewrap" in says and "forgery-proof" not in says for says in inside.values())
