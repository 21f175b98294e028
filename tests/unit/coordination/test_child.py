from __future__ import annotations

from typing import TYPE_CHECKING

from coordination.child import UNASKED, tool_environment

if TYPE_CHECKING:
    import pytest

PERSONS = {
    "PATH": "/bin",
    "HOME": "/home/pat",
    "LANG": "C.UTF-8",
    "TERM": "xterm",
    "TMPDIR": "/tmp",
    "HTTPS_PROXY": "http://proxy:1",
    "no_proxy": "localhost",
    "ANTHROPIC_API_KEY": "secret",
    "ANTHROPIC_AUTH_TOKEN": "secret",
    "GITHUB_TOKEN": "secret",
    "GIT_DIR": "/elsewhere",
    "PYTHONPATH": "/elsewhere",
    "LD_PRELOAD": "/evil.so",
    "MY_SETTING": "1",
}


def test_a_tool_sees_what_is_listed_and_nothing_else() -> None:
    assert set(tool_environment(environ=PERSONS)) == {
        "PATH",
        "HOME",
        "LANG",
        "TERM",
        "TMPDIR",
        "HTTPS_PROXY",
        "no_proxy",
        *UNASKED,
    }


def test_a_person_may_pass_more() -> None:
    assert tool_environment(environ=PERSONS, passed=["MY_SETTING"])["MY_SETTING"] == "1"
    editor = {"GIT_EDITOR": "my-editor"}
    assert tool_environment(environ=editor, passed=["GIT_EDITOR"])["GIT_EDITOR"] == "my-editor"


def test_credentials_of_the_model_never_pass() -> None:
    passed = ["ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"]
    assert "secret" not in tool_environment(environ=PERSONS, passed=passed).values()


def test_the_host_adds_and_overrides() -> None:
    made = tool_environment({"LEADHAND_TASK": "task_1", "TERM": "dumb"}, environ=PERSONS)
    assert (made["LEADHAND_TASK"], made["TERM"]) == ("task_1", "dumb")


def test_without_an_environment_it_is_that_of_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/this/one")
    monkeypatch.setenv("OTHER", "x")
    made = tool_environment()
    assert (made["PATH"], "OTHER" in made) == ("/this/one", False)
