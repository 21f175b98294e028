"""A command line taken apart by tree-sitter: every simple command in it, with its words unquoted."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cache
from itertools import dropwhile
from typing import TYPE_CHECKING

from harness.permissions.shell.values import Values, runs_values, source, values_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tree_sitter import Node, Parser

UNKNOWN = "\ue000"  # stands in a word for what only the shell will know
_BLANK = "\ue001"  # parts words, where an expansion does
_OPEN, _COMMA, _CLOSE = "\ue002", "\ue003", "\ue004"  # braces outside quotes
_MARKS = str.maketrans("{,}", _OPEN + _COMMA + _CLOSE)
_LITERAL = str.maketrans(_OPEN + _COMMA + _CLOSE, "{,}")
_BRACES = re.compile(f"{_OPEN}([^{_OPEN}{_CLOSE}]*){_CLOSE}")
_MOST_BRACES, _MOST_PARTS = 4, 40  # in one word; more are not counted out
_COMMANDS = {"command", "declaration_command", "test_command", "unset_command"}
_CHAINS = {"list", "pipeline", "redirected_statement", "heredoc_redirect", "ERROR"}
_REDIRECTS = {"file_redirect", "herestring_redirect", "heredoc_body"}
_OWN_VARIABLES = {"command", "subshell", "command_substitution", "process_substitution"}
_RUN_BY_THE_SHELL = {"command_substitution", "process_substitution", "arithmetic_expansion"}
_QUOTES = {
    "string": slice(1, -1),
    "raw_string": slice(1, -1),
    "ansi_c_string": slice(2, -1),
    "translated_string": slice(1, None),
}
# The grammar misreads what follows on the line, as in `cat <<EOF; ls`, and parts words at a backslash at the
# end of a line: a text is also read without either.
_DOCUMENT = re.compile(r"<<-?[ \t]*+(['\"]?)(\w++)\1(.*)\n(?:.*\n)*?(?:\t*+\2(?:\n|\Z)|\Z)")
_RESERVED = {"!", "{", "if", "then", "else", "elif", "fi", "do", "done", "while", "until"}
_VARIABLES = {"IFS": " ", "HOME": "$HOME", "PWD": ".", "?": "0", "#": "0"}  # where a text sets nothing else
_ESCAPES = {**dict(zip("abtnvfr", "\a\b\t\n\v\f\r", strict=True)), "e": "\x1b", "E": "\x1b"}
_ESCAPE = re.compile(
    r"\\(?:(x[0-9a-fA-F]{1,2}|u[0-9a-fA-F]{1,4}|U[0-9a-fA-F]{1,5})|([0-7]{1,3})|(.))", re.DOTALL
)
_DEPTH = 80  # of blocks and substitutions


@dataclass(eq=False)
class Command:
    """One simple command, one redirection, or variables that are set."""

    words: list[str] = field(default_factory=list)
    writes_to: str = ""
    reads_from: str = ""
    sets: list[str] = field(default_factory=list)  # names of variables, for the command if it has words
    inner: list[Command] = field(default_factory=list)  # of substitutions in its words
    stdin: str = ""  # here-documents and here-strings
    fed_by: list[Command] = field(default_factory=list)  # all before it in a pipeline


def commands(text: str) -> list[Command]:
    """Every simple command of the text in its order, but those of substitutions first.

    What is no correct shell is taken apart as far as it goes, and a command of one UNKNOWN word added.
    """
    texts = dict.fromkeys([text, _DOCUMENT.sub(r"\3\n", text).replace("\\\n", "")])
    roots = [_parser().parse(each.encode(errors="replace")).root_node for each in texts]
    found = [one for root in roots for one in _Reader(dict(_VARIABLES), values_of(root)).read(root)]
    return [*found, Command([UNKNOWN])] if all(root.has_error for root in roots) else found


@cache
def _parser() -> Parser:
    import tree_sitter_bash  # noqa: PLC0415 - only what judges a command pays for it
    from tree_sitter import Language, Parser  # noqa: PLC0415

    return Parser(Language(tree_sitter_bash.language()))


def _parts(node: Node) -> Iterator[Node]:
    """Units and operators in their order; the grammar binds some pipes weaker than `&&`, a shell never."""
    left = node.children[::-1]
    while left:
        part = left.pop()
        if part.type in _CHAINS:
            left += part.children[::-1]
        elif part.type != "comment":
            yield part


@dataclass(frozen=True)
class _Reader:
    variables: dict[str, str]
    values: Values
    depth: int = 0

    def read(
        self, node: Node, fed_by: Sequence[Command] = (), latest: Sequence[Command] = ()
    ) -> list[Command]:
        """The commands below a node; `latest` are those that a redirection or a pipe is about."""
        found: list[Command] = []
        documents: list[Sequence[Command]] = []  # who gets the here-documents to come
        source = feeding = list(fed_by)
        for part in _parts(node):
            if part.type in {"|", "|&"}:
                feeding = [*source, *latest]
            elif part.type == "heredoc_start":
                documents.append(latest)
            elif part.type in _REDIRECTS:
                document = documents and part.type == "heredoc_body"
                found += self._redirect(part, documents.pop(0) if document else latest)
            elif unit := self._unit(part, feeding):
                found += unit
                latest, source, feeding = unit, feeding, list(fed_by)
        return found

    def _unit(self, node: Node, fed_by: Sequence[Command]) -> list[Command]:
        if self.depth > _DEPTH:
            return [Command([UNKNOWN])]
        here = []
        if node.type in _COMMANDS:
            here = [Command(self._words(node), fed_by=list(fed_by), sets=_names_set(node))]
        elif runs_values(node, self.values.numbers):
            here = [Command([UNKNOWN])]
        elif node.type == "for_statement" and source(node.children[1]) in self.values.settled:
            self.variables[source(node.children[1])] = self._text(node.children[3]).translate(_LITERAL)
        variables = dict(self.variables) if node.type in _OWN_VARIABLES else self.variables
        inner = _Reader(variables, self.values, self.depth + 1).read(node, fed_by, here)
        for command in here:
            command.inner = inner
        if node.type == "variable_assignment":
            name, value = source(node.children[0]), node.child_by_field_name("value")
            text = self._text(value, quoted=True).translate(_LITERAL) if value else ""
            self.variables[name] = text if name in self.values.settled else UNKNOWN
            here = [] if node.parent and node.parent.type == "command" else [Command(sets=[name])]
        return inner + here

    def _redirect(self, node: Node, receivers: Sequence[Command]) -> list[Command]:
        found = self.read(node)
        if node.type == "file_redirect":
            signs = {child.type for child in node.children}
            named = map(self._text, node.children_by_field_name("destination"))
            targets = [target.translate(_LITERAL) for target in named]
            if signs & {">&", "<&"} and all(re.fullmatch(r"\d+-?|-", target) for target in targets):
                return found  # one descriptor made a copy of another
            if any(">" in sign for sign in signs):
                return [*found, *(Command(writes_to=target) for target in targets)]
            found += [Command(reads_from=target) for target in targets]
        text = self._text(node.children[-1] if node.type == "herestring_redirect" else node)
        text = text.translate(_LITERAL)
        for command in receivers:
            command.fed_by += found
            command.stdin += text if node.type != "file_redirect" else ""
        return found

    def _words(self, node: Node) -> list[str]:
        left_out = _REDIRECTS | ({"variable_assignment"} if node.type == "command" else set())
        parts = [part for child in node.children for part in _terms(child) if child.type not in left_out]
        texts = [self._text(part) for part in parts]
        split = [word for text in texts for word in re.split(f"{_BLANK}+", text.strip(_BLANK))]
        words = [one for word in split for one in _braced(word)]
        return list(dropwhile(_RESERVED.__contains__, words))  # behind `!` and `time` they are left over

    def _text(self, node: Node, *, quoted: bool = False) -> str:
        if node.type in {"simple_expansion", "expansion"}:
            value = self.variables.get(source(node).strip(" \t\n${}"), UNKNOWN)
            return value if quoted else re.sub(r"\s+", _BLANK, value)
        if node.type in _RUN_BY_THE_SHELL or (node.type == "brace_expression" and not quoted):
            return UNKNOWN
        within = quoted or node.type in {"string", "heredoc_body"}
        raw, out, at = node.text or b"", "", 0
        for child in node.children:  # what lies between them is text too
            start = child.start_byte - node.start_byte
            out += raw[at:start].decode() + self._text(child, quoted=within)
            at = child.end_byte - node.start_byte
        out += raw[at:].decode()
        if node.type in {"word", "string_content", "heredoc_content"}:
            marks = _MARKS if node.type == "word" and not quoted else {}
            parts = re.split(r"\\(.)", out.replace("\\\n", ""))
            parts[::2] = [part.translate(marks) for part in parts[::2]]  # the others stood behind a backslash
            return "".join(parts)
        text = out[_QUOTES.get(node.type, slice(None))]
        return _ESCAPE.sub(_unescaped, text).partition("\0")[0] if node.type == "ansi_c_string" else text


def _unescaped(escape: re.Match[str]) -> str:
    code, octal, letter = escape.groups()
    if code or octal:
        number = int(code[1:], 16) if code else int(octal, 8) % 256
        return "\ufffd" if 0xD800 <= number < 0xE000 else chr(number)
    return _ESCAPES.get(letter, letter)


def _braced(word: str) -> list[str]:
    """The words that the braces in one stand for."""
    found = _BRACES.search(word)
    if found is None:
        return [word.translate(_LITERAL)]
    if word.count(_OPEN) > _MOST_BRACES or word.count(_COMMA) > _MOST_PARTS:
        return [UNKNOWN]
    parts = found[1].split(_COMMA)
    if len(parts) == 1:
        parts = [UNKNOWN if ".." in found[1] else f"{{{found[1]}}}"]
    return [one for part in parts for one in _braced(word[: found.start()] + part + word[found.end() :])]


def _terms(node: Node) -> list[Node]:
    """The words of a condition one by one, other words as they are."""
    if node.type not in {"unary_expression", "binary_expression", "parenthesized_expression"}:
        return [node]
    return [term for child in node.children for term in _terms(child)]


def _names_set(node: Node) -> list[str]:
    """The variables that are set for one command, or declared by it."""
    assignments = [child for child in node.children if child.type == "variable_assignment"]
    return [source(assignment.children[0]) for assignment in assignments]
