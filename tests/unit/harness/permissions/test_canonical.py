from __future__ import annotations

import pytest

from harness.permissions.canonical import canonical, question_of, shown


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("git push", "git   'push'"),
        ("a; b", "a\nb"),
        ("a # why", "a"),
        ('X=1; a "$X"', "X=1; a 1"),
    ],
)
def test_layout_and_quoting_make_no_other_action(one: str, other: str) -> None:
    assert canonical("bash", {"command": one}) == canonical("bash", {"command": other})


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("git push", "git push x"),
        ("a > b", "a > c"),
        ("a $X", "a $Y"),
        ("a 'b c'", "a b c"),
        ("sh <<E\na\nE", "sh <<E\nb\nE"),
    ],
)
def test_what_does_something_else_is_another_action(one: str, other: str) -> None:
    assert canonical("bash", {"command": one}) != canonical("bash", {"command": other})


def test_a_file_is_known_by_where_it_lies_and_a_call_by_its_arguments() -> None:
    assert canonical("write_file", {"path": "./a", "content": "x"}, path="a") == canonical(
        "write_file", {"path": "b/../a", "content": "y"}, path="a"
    )
    assert canonical("mcp__x__y", {"a": 1, "b": 2}) == canonical("mcp__x__y", {"b": 2, "a": 1})
    assert canonical("mcp__x__y", {"a": 1}) != canonical("mcp__x__z", {"a": 1})


def test_a_person_sees_the_whole_command_and_the_lines_that_go_and_come() -> None:
    assert shown("bash", {"command": "a\nb"}) == "a\nb"
    edit = {"path": "a.py", "old_text": "x = 1\ny = 1", "new_text": "x = 2"}
    assert shown("edit_file", edit) == "a.py\n- x = 1\n- y = 1\n+ x = 2"
    assert shown("write_file", {"path": "a.py", "content": "x = 1\n"}) == "a.py\n+ x = 1"
    assert question_of("mcp__x__y", {"a": "ä"}, why="asks").shown == '{\n "a": "ä"\n}'
