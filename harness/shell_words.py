"""A command line taken apart by tree-sitter: every simple command in it, with its words unquoted."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tree_sitter import Node, Parser

UNKNOWN = "\ue000"  # stands in a word for what only the shell will know
_BLANK = "\ue001"  # parts words where an expansion does
_COMMANDS = {"command", "declaration_command", "test_command", "unset_command"}
_CHAINS = {"list", "pipeline", "redirected_statement", "heredoc_redirect", "ERROR"}
_INPUTS = {"file_redirect", "herestring_redirect", "heredoc_body"}
_OWN_VARIABLES = {"subshell", "command_substitution", "process_substitution"}
_ONLY_THE_SHELL_KNOWS = {"command_substitution", "process_substitution", "arithmetic_expansion"}
_ESCAPED = {"word", "string_content", "heredoc_body", "heredoc_content"}
_QUOTES = {"string": 1, "raw_string": 1, "ansi_c_string": 2}  # characters before the text; one is behind
_DEPTH = 100  # of blocks and substitutions inside each other


@dataclass(eq=False)
class Command:
    """One simple command, or one output redirection."""

    words: list[str] = field(default_factory=list)
    writes_to: str = ""  # target of the redirection
    inner: list[Command] = field(default_factory=list)  # of substitutions in its words
    stdin: str = ""  # here-documents and here-strings
    fed_by: list[Command] = field(default_factory=list)  # those before it in a pipeline


def commands(text: str) -> list[Command]:
    """Every simple command of the text, those of substitutions before the one they stand in.

    What is no correct shell is taken apart as far as it goes, and one command more of an UNKNOWN word.
    """
    root = _parser().parse(text.encode(errors="replace")).root_node
    found = _Reader({"IFS": " ", "HOME": "$HOME"}).read(root)
    return [*found, Command([UNKNOWN])] if root.has_error else found


@cache
def _parser() -> Parser:
    import tree_sitter_bash  # noqa: PLC0415 - most processes never judge a command
    from tree_sitter import Language, Parser  # noqa: PLC0415

    return Parser(Language(tree_sitter_bash.language()))


def _parts(node: Node) -> Iterator[Node]:
    """What chains are made of, in the order of the text: the grammar's precedence is not the shell's."""
    left = node.children[::-1]
    while left:
        part = left.pop()
        if part.type in _CHAINS:
            left += part.children[::-1]
        else:
            yield part


@dataclass(frozen=True)
class _Reader:
    variables: dict[str, str]
    depth: int = 0

    def read(self, node: Node, fed_by: Sequence[Command] = ()) -> list[Command]:
        found: list[Command] = []
        latest: list[Command] = []  # the commands that a redirection or a pipe is about
        documents: list[list[Command]] = []  # whose here-documents are still to come
        upstream: Sequence[Command] = ()
        piped = False
        for part in _parts(node):
            if part.type in _INPUTS:
                found += self._redirect(part, documents.pop(0) if documents and part.type == "heredoc_body" else latest)
            elif part.type == "heredoc_start":
                documents.append(latest)
            elif part.is_named:
                upstream = [*upstream, *latest] if piped else fed_by
                latest = self._unit(part, upstream)
                found += latest
            piped = part.type in {"|", "|&"}
        return found

    def _unit(self, node: Node, fed_by: Sequence[Command]) -> list[Command]:
        if node.type in _COMMANDS:
            return self._command(node, fed_by)
        if self.depth >= _DEPTH:
            return [Command([UNKNOWN])]
        found = self._below(own_variables=node.type in _OWN_VARIABLES).read(node, fed_by)
        if node.type == "variable_assignment":
            self._assign(node)
        return found

    def _below(self, *, own_variables: bool) -> _Reader:
        return _Reader(dict(self.variables) if own_variables else self.variables, self.depth + 1)
