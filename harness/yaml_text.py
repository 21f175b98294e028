"""The one way from YAML that others wrote to data: all of it, or one error with line and reason."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import yaml

from coordination.errors import TeamError

VALUES = 200_000  # aliases counted each time: a small text may stand for a huge or an endless tree
SHOWN = 60  # characters of a value that is quoted
DEPTH = 100  # of what is nested in one another
# PyYAML's own for what looks like a date, a number or a truth value, and is none: 2001-99-99
_NOT_A_VALUE = (ValueError, ArithmeticError, LookupError, AttributeError, TypeError)


@dataclass(eq=False)
class YamlUnusable(TeamError):
    """The text is no YAML, or YAML that stands for nothing that can be used."""

    why: str
    line: int | None = None  # of the text, from 1

    def __str__(self) -> str:
        return f"line {self.line}: {self.why}" if self.line else self.why


class _Bounded(yaml.reader.Reader, yaml.scanner.Scanner):
    """Stops at brackets that are too deep, since PyYAML's time grows with the square of the depth."""

    def fetch_flow_collection_start(self, token_class: type[yaml.Token]) -> None:
        if self.flow_level >= DEPTH:
            raise yaml.MarkedYAMLError(problem="it is nested too deeply", problem_mark=self.get_mark())
        super().fetch_flow_collection_start(token_class)


class _DataLoader(_Bounded, yaml.SafeLoader):
    def construct_object(self, node: yaml.Node, deep: bool = False) -> Any:  # noqa: ANN401, FBT001, FBT002 - PyYAML's
        try:
            return super().construct_object(node, deep)
        except _NOT_A_VALUE as error:
            why = f"a value is not what it looks like ({error}); put it in quotes"
            raise yaml.MarkedYAMLError(problem=why, problem_mark=node.start_mark) from error


class _TextLoader(_Bounded, yaml.BaseLoader):
    pass


def in_short(value: Any) -> str:  # noqa: ANN401 - raw YAML
    """The value as its author would know it, cut where it is long."""
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}…"


def load_yaml(written: str | bytes) -> Any:  # noqa: ANN401 - raw YAML
    """What the text says; bytes are UTF-8 and nothing else. Raises YamlUnusable."""
    return _built(_text(written), _DataLoader, as_data=True)


def compose_yaml(text: str) -> yaml.Node | None:
    """The nodes of the text, whose scalars stay the text that they are. Raises YamlUnusable."""
    node: yaml.Node | None = _built(_text(text), _TextLoader, as_data=False)
    return node


def _text(written: str | bytes) -> str:
    if isinstance(written, str):
        return written.removeprefix("\ufeff")
    try:
        return written.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        why = f"it is no UTF-8 at byte {error.start}; save it as UTF-8"
        raise YamlUnusable(why=why) from error


def _built(text: str, loader_class: type[_DataLoader | _TextLoader], *, as_data: bool) -> Any:  # noqa: ANN401
    loader = None
    try:
        loader = loader_class(text)
        node = loader.get_single_node()
        if node is None:
            return None
        _check(node)
        return loader.construct_document(node) if as_data else node
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        raise YamlUnusable(
            why=f"the character U+{ord(text[error.position]):04X} may not stand there", line=line
        ) from error
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        why = getattr(error, "problem", None) or "is no YAML"
        raise YamlUnusable(why=str(why), line=mark.line + 1 if mark else None) from error
    except RecursionError as error:
        raise YamlUnusable(why="it is nested too deeply", line=loader.line + 1 if loader else None) from error


def _check(top: yaml.Node) -> None:
    """Raise MarkedYAMLError where the tree is endless, huge or deep, or holds half a character."""
    left, count = [(top, 1)], 0
    while left:
        node, depth = left.pop()
        count += 1
        if count > VALUES or depth > DEPTH:
            why = "there are too many values" if count > VALUES else "it is nested too deeply"
            raise yaml.MarkedYAMLError(problem=why, problem_mark=node.start_mark)
        if isinstance(node, yaml.MappingNode):
            left += [(inner, depth + 1) for pair in node.value for inner in pair]
        elif isinstance(node, yaml.SequenceNode):
            left += [(inner, depth + 1) for inner in node.value]
        elif any("\ud800" <= letter <= "\udfff" for letter in node.value):
            why = "half a character (\\ud800 to \\udfff) is no text"
            raise yaml.MarkedYAMLError(problem=why, problem_mark=node.start_mark)
