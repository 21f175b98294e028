"""The host's git starts with a list and runs nothing that a repository names."""

from __future__ import annotations

import pytest

from workspace.git_settings import SETTINGS, as_environment, host_environment, neutral


def listing(*entries: tuple[str, str, str]) -> str:
    return "".join(f"{scope}\0{key}\n{value}\0" for scope, key, value in entries)


@pytest.mark.parametrize("scope", ["local", "worktree", "global", "system", "command"])
@pytest.mark.parametrize(
    ("key", "instead"),
    [
        ("filter.f.clean", ""),
        ("filter.f.smudge", ""),
        ("filter.f.process", ""),
        ("filter.f.required", "false"),
        ("hook.h.command", "true"),
    ],
)
def test_programs_of_filters_and_hooks_are_put_out_of_action(scope: str, key: str, instead: str) -> None:
    assert neutral(listing((scope, key, "evil"))) == {key: instead}


def test_a_merge_driver_becomes_gits_own_merge_of_texts() -> None:
    assert neutral(listing(("local", "merge.m.driver", "evil"))) == {
        "merge.m.driver": "git merge-file --marker-size=%L %A %O %B"
    }


def test_a_filter_name_may_hold_dots_equals_signs_and_newlines_in_its_value() -> None:
    assert neutral(listing(("local", "filter.a.b=c.clean", "one\ntwo"))) == {"filter.a.b=c.clean": ""}


def test_other_settings_of_filters_and_merges_are_left_alone() -> None:
    assert neutral(listing(("local", "merge.m.name", "x"), ("local", "merge.conflictstyle", "diff3"))) == {}


def test_no_listing_means_nothing_to_put_out_of_action() -> None:
    assert neutral("") == {}


@pytest.mark.parametrize("order", [1, -1])
def test_the_persons_lfs_filter_wins_over_the_repositorys(order: int) -> None:
    both = [("global", "filter.lfs.clean", "git-lfs clean"), ("local", "filter.lfs.clean", "evil")]
    assert neutral(listing(*both[::order])) == {"filter.lfs.clean": "git-lfs clean"}


def test_an_lfs_filter_that_only_the_repository_names_is_put_out_of_action() -> None:
    assert neutral(listing(("local", "filter.lfs.process", "evil"))) == {"filter.lfs.process": ""}


def test_settings_are_numbered_and_counted() -> None:
    numbered = as_environment(SETTINGS)
    assert numbered["GIT_CONFIG_COUNT"] == str(len(SETTINGS))
    assert numbered["GIT_CONFIG_KEY_0"] == "core.hooksPath"
    assert numbered["GIT_CONFIG_VALUE_0"] == "/dev/null"


@pytest.mark.parametrize("name", ["GIT_DIR", "GIT_INDEX_FILE", "GIT_CONFIG_PARAMETERS", "ANTHROPIC_API_KEY"])
def test_nothing_of_the_caller_reaches_git_but_what_is_listed(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, "x")
    assert name not in host_environment()


def test_git_never_asks_and_never_waits_for_an_editor() -> None:
    environment = host_environment()
    assert environment["GIT_TERMINAL_PROMPT"] == "0"
    assert environment["GIT_EDITOR"] == "false"
