"""A command line taken apart: every simple command in it, with its words unquoted."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

UNKNOWN = "\x00"  # stands in a word for what only the shell will know
_REDIRECT = re.compile(r"<<<|<<-?|&>>?|>>|>\||[<>]&|<>|[<>]")
_OPERATOR = re.compile(r"&&|\|\||;;|\|&|[;&|\n()]")
_VARIABLE = re.compile(r"\$(?:\{([A-Za-z_]\w*)\}|([A-Za-z_]\w*))")
_ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)=(.*)", re.DOTALL)
_RESERVED = frozenset({"{", "}", "!", "if", "then", "else", "elif", "fi", "do", "done", "while", "until"})
_DEPTH = 8  # of substitutions inside substitutions


@dataclass(eq=False)
class Command:
    """One simple command."""

    words: list[str] = field(default_factory=list)
    assigned: dict[str, str] = field(default_factory=dict)
    writes_to: list[str] = field(default_factory=list)  # targets of output redirections
    inner: list[Command] = field(default_factory=list)  # of substitutions in its words
    stdin: str = ""  # here-documents and here-strings
    fed_by: Command | None = None  # the one before it in a pipeline


def commands(text: str) -> list[Command]:
    """Every simple command of the text, those of substitutions too, in the order of their ends.

    What is no correct shell is taken apart as far as it goes.
    """
    return _Reader(text, {}, 0).read()


class _Reader:
    """One pass over a text; the state of a shell's own lexer, without its grammar."""

    def __init__(self, text: str, variables: dict[str, str], depth: int) -> None:
        self._text = text
        self._variables = variables
        self._depth = depth
        self._at = 0
        self._word: str | None = None
        self._redirect = ""
        self._command = Command()
        self._found: list[Command] = []
        self._documents: list[tuple[Command, str]] = []  # here-documents that begin on the next line

    def read(self) -> list[Command]:
        while self._at < len(self._text):
            self._step(self._text[self._at])
        self._end_command("")
        return self._found

    def _step(self, character: str) -> None:
        quoted = {"'": self._single, '"': self._double, "\\": self._escape, "`": self._backticks}
        if character in quoted:
            quoted[character]()
        elif character == "$":
            self._dollar(quoted=False)
        elif character in " \t\r":
            self._at += 1
            self._end_word()
        elif character == "#" and self._word is None:
            end = self._text.find("\n", self._at)
            self._at = len(self._text) if end < 0 else end
        else:
            self._plain(character)

    def _plain(self, character: str) -> None:
        if self._text[self._at : self._at + 2] in {"<(", ">("}:
            self._at += 1
            self._substitution()
        elif redirect := _REDIRECT.match(self._text, self._at):
            if self._word is not None and self._word.isdigit():  # the 2 of 2>
                self._word = None
            self._end_word()
            self._redirect = redirect[0]
            self._at = redirect.end()
        elif operator := _OPERATOR.match(self._text, self._at):
            self._at = operator.end()
            self._end_command(operator[0])
        else:
            self._add(character)
            self._at += 1

    def _add(self, text: str) -> None:
        self._word = (self._word or "") + text

    def _single(self) -> None:
        end = self._text.find("'", self._at + 1)
        end = len(self._text) if end < 0 else end
        self._add(self._text[self._at + 1 : end])
        self._at = end + 1

    def _escape(self) -> None:
        following = self._text[self._at + 1 : self._at + 2]
        if following != "\n":
            self._add(following)
        self._at += 2

    def _double(self) -> None:
        self._add("")
        self._at += 1
        while self._at < len(self._text) and self._text[self._at] != '"':
            character = self._text[self._at]
            if character == "\\":
                self._escape()
            elif character == "$":
                self._dollar(quoted=True)
            elif character == "`":
                self._backticks()
            else:
                self._add(character)
                self._at += 1
        self._at += 1

    def _backticks(self) -> None:
        end = self._text.find("`", self._at + 1)
        end = len(self._text) if end < 0 else end
        self._inside(self._text[self._at + 1 : end])
        self._at = end + 1

    def _dollar(self, *, quoted: bool) -> None:
        variable = _VARIABLE.match(self._text, self._at)
        if self._text.startswith("$(", self._at):
            self._at += 1
            self._substitution()
        elif variable:
            self._at = variable.end()
            self._expand(variable[1] or variable[2], quoted=quoted)
        else:
            self._at += 1
            if quoted or self._text[self._at : self._at + 1] not in {"'", '"'}:
                self._add("$")

    def _expand(self, name: str, *, quoted: bool) -> None:
        if name == "IFS" and not quoted:
            self._end_word()
        elif name == "HOME":
            self._add(self._variables.get(name, "$HOME"))
        else:
            self._add(self._variables.get(name, UNKNOWN))

    def _substitution(self) -> None:
        """From an opening parenthesis to the one that closes it."""
        end, open_ones, quote = self._at, 0, ""
        while end < len(self._text):
            character = self._text[end]
            if quote:
                quote = "" if character == quote else quote
            elif character in "'\"":
                quote = character
            else:
                open_ones += {"(": 1, ")": -1}.get(character, 0)
            end += 2 if character == "\\" else 1
            if open_ones == 0:
                break
        self._inside(self._text[self._at + 1 : end - 1])
        self._at = end

    def _inside(self, text: str) -> None:
        self._add(UNKNOWN)
        if self._depth < _DEPTH:
            found = _Reader(text, dict(self._variables), self._depth + 1).read()
            self._command.inner += found
            self._found += found

    def _end_word(self) -> None:
        word, self._word = self._word, None
        if word is None:
            return
        redirect, self._redirect = self._redirect, ""
        assignment = _ASSIGNMENT.fullmatch(word)
        if redirect:
            self._end_redirect(redirect, word)
        elif self._command.words:
            self._command.words.append(word)
        elif assignment:
            self._command.assigned[assignment[1]] = assignment[2]
        elif word not in _RESERVED:
            self._command.words.append(word)

    def _end_redirect(self, redirect: str, word: str) -> None:
        if redirect in {"<<", "<<-"}:
            self._documents.append((self._command, word))
        elif redirect == "<<<":
            self._command.stdin += word
        elif ">" in redirect:
            self._command.writes_to.append(word)

    def _end_command(self, operator: str) -> None:
        self._end_word()
        self._redirect = ""
        ended = self._command
        if ended.words or ended.writes_to or ended.assigned:
            self._found.append(ended)
        if not ended.words:
            self._variables |= ended.assigned
        self._command = Command(fed_by=ended if operator in {"|", "|&"} else None)
        if operator == "\n":
            self._take_documents()

    def _take_documents(self) -> None:
        for command, delimiter in self._documents:
            lines = []
            while self._at < len(self._text):
                line, _, _ = self._text[self._at :].partition("\n")
                self._at += len(line) + 1
                if line.lstrip("\t") == delimiter:
                    break
                lines.append(line)
            command.stdin += "\n".join(lines)
        self._documents.clear()
