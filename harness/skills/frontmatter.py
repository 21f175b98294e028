"""Pure: a `SKILL.md` into its fields, all of them text, and its body; tolerant where people err."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from enum import StrEnum

import yaml

from harness.yaml_text import YamlUnusable, compose_yaml

HEAD_CHARACTERS = 65_536  # of the block; a longer one is no list of a few fields
NODES = 2_000  # in the block, aliases counted each time: a small text may stand for a huge tree
_RULE = "---"
_PLAIN = re.compile(r"([A-Za-z][\w-]*):[ \t]+([^\s\"'|>\[{&*!#].*)")

Value = str | list["Value"] | dict[str, "Value"]


class Severity(StrEnum):
    """What a problem does to its skill."""

    WARNING = "warning"  # the skill is there all the same
    ERROR = "error"  # it is not


@dataclass(frozen=True, kw_only=True)
class Problem:
    """Something wrong with a skill, for its author."""

    code: str
    text: str
    severity: Severity = Severity.WARNING
    line: int | None = None  # of the file, from 1

    def at(self, path: str) -> str:
        """One line that names file, place and reason."""
        place = f"{path}:{self.line}" if self.line else path
        return f"{place}: {self.severity}: {self.text} [{self.code}]"


@dataclass(frozen=True, kw_only=True)
class Document:
    """A file of a skill, taken apart; without fields where it could not be."""

    fields: dict[str, Value] = field(default_factory=dict)
    body: str = ""
    problems: tuple[Problem, ...] = ()


def parse(data: bytes) -> Document:
    """The fields and the body; what is wrong is among the problems, nothing is raised."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        return _refused("not-utf8", f"the file is no UTF-8 at byte {error.start}; save it as UTF-8")
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    if lines[0].rstrip() != _RULE:
        return _refused("frontmatter-missing", "the first line is not ---; begin with a block of fields", 1)
    end = next((place for place, line in enumerate(lines) if place and line.rstrip() == _RULE), None)
    if end is None:
        return _refused("frontmatter-unclosed", "no line --- ends the block of fields; add one", len(lines))
    head = "\n".join(lines[1:end])
    if len(head) > HEAD_CHARACTERS:
        return _refused("frontmatter-too-long", f"the block is longer than {HEAD_CHARACTERS} characters")
    fields, problems = _fields(head)
    return Document(fields=fields, body="\n".join(lines[end + 1 :]).strip("\n"), problems=tuple(problems))


def _refused(code: str, text: str, line: int | None = None) -> Document:
    return Document(problems=(Problem(code=code, text=text, severity=Severity.ERROR, line=line),))


def _fields(head: str) -> tuple[dict[str, Value], list[Problem]]:
    try:
        return _read(head)
    except YamlUnusable as error:
        first = error
    try:
        fields, problems = _read("\n".join(map(_quoted, head.split("\n"))))
    except YamlUnusable:
        return {}, [_yaml_problem(first, Severity.ERROR)]
    return fields, [_yaml_problem(first, Severity.WARNING), *problems]


def _quoted(line: str) -> str:
    """A plain value in quotes, so that a colon in it is one."""
    match = _PLAIN.fullmatch(line)
    return f"{match[1]}: {json.dumps(match[2].rstrip(), ensure_ascii=False)}" if match else line


def _yaml_problem(error: YamlUnusable, severity: Severity) -> Problem:
    if severity is Severity.ERROR:
        text = f"the block of fields is no YAML: {error.why}"
        return Problem(code="yaml", text=text, severity=severity, line=_line(error.line))
    text = f"not strictly YAML ({error.why}); the value was taken as it stands, put it in quotes"
    return Problem(code="yaml-recovered", text=text, line=_line(error.line))


def _line(line: int | None) -> int:
    return 1 + (line or 1)  # the block begins in the second line


def _read(head: str) -> tuple[dict[str, Value], list[Problem]]:
    """Raises YamlUnusable. Scalars stay the text they are: 1.10, yes and dates are no other values here."""
    node = compose_yaml(head)
    if node is None:
        return {}, []
    if not isinstance(node, yaml.MappingNode):
        raise YamlUnusable(why="expected names with values", line=node.start_mark.line + 1)
    reader = _Reader()
    value = reader.value(node)
    assert isinstance(value, dict)
    return value, reader.problems


class _Reader:
    """Turns nodes into plain values, and notes names that come twice."""

    def __init__(self) -> None:
        self.problems: list[Problem] = []
        self._nodes = 0

    def value(self, node: yaml.Node) -> Value:
        self._nodes += 1
        if self._nodes > NODES:
            raise YamlUnusable(why="too many values", line=node.start_mark.line + 1)
        if isinstance(node, yaml.MappingNode):
            return self._mapping(node)
        if isinstance(node, yaml.SequenceNode):
            return [self.value(item) for item in node.value]
        return str(node.value)

    def _mapping(self, node: yaml.MappingNode) -> dict[str, Value]:
        found: dict[str, Value] = {}
        for key, item in node.value:
            name = str(key.value) if isinstance(key, yaml.ScalarNode) else ""
            if name in found:
                text = f"{name} is there twice, and the last one counts; remove one"
                self.problems.append(
                    Problem(code="duplicate-key", text=text, line=_line(key.start_mark.line + 1))
                )
            found[name] = self.value(item)
        return found
