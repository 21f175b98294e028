from __future__ import annotations

import subprocess  # noqa: TID251 - a fresh interpreter shows what an import loads
import sys

import pytest

from harness.permissions.shell.words import UNKNOWN, Command, commands


def words(text: str) -> list[list[str]]:
    return [command.words for command in commands(text) if command.words]


def named(text: str, name: str) -> Command:
    return next(command for command in commands(text) if command.words[:1] == [name])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a 'b c' \"d e\" f\\ g", [["a", "b c", "d e", "f g"]]),
        ("r''m x", [["rm", "x"]]),
        ('$"rm" x', [["rm", "x"]]),
        ("a ''", [["a", ""]]),
        ("rm${IFS}-rf${IFS}/", [["rm", "-rf", "/"]]),
        ('X="a b"; c $X "$X"', [["c", "a", "b", "a b"]]),
        ("a $Y ${Z:-/} $((1+2))", [["a", UNKNOWN, UNKNOWN, UNKNOWN]]),
        ('a " $Y b"', [["a", f"{UNKNOWN} b"]]),
        ("X=1 a; b $X", [["a"], ["b", UNKNOWN]]),
        ("(X=1; a $X); b $X", [["a", "1"], ["b", UNKNOWN]]),
        ("export X=1; a $X", [["export", "X=1"], ["a", "1"]]),
        ("[ -f x ] && a", [["[", "-f", "x", "]"], ["a"]]),
        (r"a $'.\x65\156v\u0041' $'b\'c' $'.env\0x'", [["a", ".envA", "b'c", ".env"]]),
        ("> x a b", [["a", "b"]]),
        ("a # b; c", [["a"]]),
        ("! while a; do b; done", [["a"], ["b"]]),
    ],
)
def test_words_are_what_the_shell_would_pass(text: str, expected: list[list[str]]) -> None:
    assert words(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "a $(b)",
        'a "`b`"',
        "a <(b)",
        "a ${X:-$(b)}",
        "a <<E\n$(b)\nE",
        "a > $(b)",
        "X=$(b) a",
        "a <<E; b\ntext\nE",
        "a <<E > out 2>&1 | c; b\ntext\nE",
        "f() { b; }; a",
        "case x in x) b;; esac; a",
    ],
)
def test_a_command_is_found_wherever_it_runs(text: str) -> None:
    assert ["b"] in words(text)


def test_a_command_knows_all_that_feed_it_and_nothing_else() -> None:
    text = "a | b | { c; d; } && e"
    fed = {name: [one.words[0] for one in named(text, name).fed_by] for name in "abcde"}
    assert fed == {"a": [], "b": ["a"], "c": ["a", "b"], "d": ["a", "b"], "e": []}


def test_a_pipe_ends_where_the_shell_ends_it() -> None:
    assert named("a | b -d | c && d", "d").fed_by == []


@pytest.mark.parametrize(
    "text", ["a <<E\nb\nE", "a <<'E' | c\nb\nE", "a <<-E\n\tb\n\tE", "a <<< b", "{ a; } <<E\nb\nE"]
)
def test_a_document_belongs_to_the_command_it_is_given_to(text: str) -> None:
    assert named(text, "a").stdin.strip() == "b"


def test_a_document_keeps_its_text_around_expansions() -> None:
    assert named("X=1\na <<E\nb $X c\nE", "a").stdin == "b 1 c\n"


def test_the_targets_of_output_are_named() -> None:
    targets = [one.writes_to for one in commands('a > "x y" 2>&1 >> z < in; { b; } &> w') if one.writes_to]
    assert targets == ["x y", "z", "w"]


@pytest.mark.parametrize("text", ["a 'b", "if a", "a )", "a $(b", "(" * 5000, "a $(" * 500, "\ud800 'a"])
def test_what_cannot_be_read_adds_a_command_that_nobody_knows(text: str) -> None:
    assert [UNKNOWN] in words(text)


def test_long_chains_are_read_to_their_beginning() -> None:
    assert words("a && " * 3000 + "b")[0] == ["a"]


def test_a_parser_is_loaded_only_to_judge_a_command() -> None:
    script = "import sys, harness.permissions.judge; sys.exit('tree_sitter' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0
