"""Pure: which variables of a text are known wherever they stand, and where a shell runs what is in one."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tree_sitter import Node

_STRAIGHT = {"program", "list", "variable_assignments", "declaration_command"}  # what surely comes to its end
_APART = {"subshell", "command_substitution", "process_substitution"}  # what they set ends with them
_SETTERS = {"read", "mapfile", "readarray", "getopts", "let", "eval", "source", ".", "printf", "wait"}
_NUMBERS = {"number", "arithmetic_expansion"}
_INDIRECT = re.compile(r"\$\{(?:!(?!\w+(?:[*@]|\[[*@]\])\}$)|.*@P\}$)", re.DOTALL)
_SETS = re.compile(r"(?<![=!<>])=(?!=)|\+\+|--")


@dataclass(frozen=True)
class Values:
    """What is known of the variables of a text before it runs."""

    settled: frozenset[str] = frozenset()  # set once, and surely before all that follows
    numbers: frozenset[str] = frozenset()  # never set to anything but a number


@dataclass(frozen=True)
class _Setting:
    name: str
    surely: bool = False
    number: bool = False


def values_of(root: Node) -> Values:
    """What holds for the variables of this text; nothing where a command may set any of them."""
    found: dict[str, list[_Setting]] = {}
    left = [(root, True)]
    while left:
        node, surely = left.pop()
        if node.type == "unset_command" or (node.type == "command_name" and source(node) in _SETTERS):
            return Values()
        for setting in _settings(node, surely=surely):
            found.setdefault(setting.name, []).append(setting)
        goes_on = node.type in _APART or (surely and node.type in _STRAIGHT)
        left += [(child, goes_on and _is_reached(node, at)) for at, child in enumerate(node.children)]
    if "" in found:
        return Values()
    return Values(
        settled=frozenset(name for name, [first, *more] in found.items() if first.surely and not more),
        numbers=frozenset(name for name, all_ in found.items() if all(one.number for one in all_)),
    )


def _is_reached(parent: Node, at: int) -> bool:
    """True for a part that the shell itself comes to, whatever the parts before it gave."""
    after = parent.children[at + 1].type if at + 1 < len(parent.children) else ""
    return after not in {"&", "|", "|&"} and (parent.type != "list" or at == 0)


def _settings(node: Node, *, surely: bool) -> Iterator[_Setting]:
    """The variables that just this node sets; one without a name may be any."""
    children = node.children
    if node.type == "variable_assignment":
        value = children[-1].type
        sure = surely and children[0].type == "variable_name" and children[1].type == "=" and value != "array"
        yield _Setting(source(children[0]).partition("[")[0], sure, value in _NUMBERS)
    elif node.type == "for_statement":
        values = children[3 : [child.type for child in children].index("do_group")]
        words = [one.type for one in values if one.type not in {";", "\n"}]
        one = surely and len(words) == 1 and words[0] in {"word", "concatenation", "raw_string", "number"}
        yield _Setting(source(children[1]), surely=one, number=all(word in _NUMBERS for word in words))
    elif node.type == "declaration_command":
        for child in children[1:]:
            if child.type == "variable_name":
                yield _Setting(source(child), number=True)
            elif child.type != "variable_assignment" and not re.fullmatch(r"[-+]\w+", source(child)):
                yield _Setting("")
    elif (node.type == "expansion" and {"=", ":="} & {child.type for child in children}) or (
        node.type in {"binary_expression", "postfix_expression", "unary_expression"}
        and _SETS.search(source(node))
    ):
        yield from (_Setting(source(child), number=node.type != "expansion") for child in children[:2])


def runs_values(node: Node, numbers: frozenset[str]) -> bool:
    """True where a text is taken for arithmetic or for a name: the shell then runs the `$(…)` in it."""
    if node.type == "expansion" and _INDIRECT.match(source(node)):
        return True
    return not all(_is_number(leaf, numbers) for part in _counted(node) for leaf in _leaves(part))


def _counted(node: Node) -> Sequence[Node]:
    """The parts of the node that are arithmetic."""
    types = [child.type for child in node.children]
    if node.type == "arithmetic_expansion" or (node.type == "compound_statement" and types[0] == "(("):
        return node.children
    if node.type == "subscript":
        return node.children[1:]
    if node.type == "c_style_for_statement" and "))" in types:
        return node.children[: types.index("))")]
    return node.children[types.index(":") :] if node.type == "expansion" and ":" in types else []


def _leaves(node: Node) -> Iterator[Node]:
    left = [node]
    while left:
        part = left.pop()
        left += part.children
        if not part.children:
            yield part


def _is_number(leaf: Node, numbers: frozenset[str]) -> bool:
    text = source(leaf)
    known = text in numbers or (leaf.type == "special_variable_name" and text in "#?$!")
    return leaf.type == "number" or not leaf.is_named or known or (leaf.type == "word" and text in "@*")


def source(node: Node) -> str:
    """The text of the node as it was written."""
    return (node.text or b"").decode()
