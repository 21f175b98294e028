"""A playbook: rules that say what a scripted model answers to what it sees."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any, Self

import msgspec

from coordination.errors import TeamError
from coordination.usage import Usage
from harness.models.model import Capacity
from harness.yaml_text import YamlUnusable, load_yaml

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

FORMAT = 1
PLACE = re.compile(r"\$(\$?)\{(\w+)\}")  # `${name}`; `$${name}` stands for a literal `${name}`
PLACE_OF_ERROR = re.compile(r"(?P<why>.*) - at `\$\.?(?P<field>.*)`")
RULE_OF_ERROR = re.compile(r"rules\[(?P<index>\d+)\]\.?")


class Fault(StrEnum):
    """A failure that a rule plays instead of a whole reply."""

    CUT = "cut"  # the connection breaks in the middle of the reply
    EARLY_END = "early_end"  # the stream ends cleanly, but before its last events
    ERROR_EVENT = "error_event"  # an overload reported inside a stream that began well
    OVERLOADED = "overloaded"  # 529
    RATE_LIMITED = "rate_limited"  # 429 with `retry-after`
    SPEND_LIMIT = "spend_limit"  # 429 that no wait will end
    TOO_LONG = "too_long"  # 400: the prompt is longer than the model reads
    TOO_LARGE = "too_large"  # 413: the request has too many bytes
    HALF_CALL = "half_call"  # a call whose input is no whole JSON, in a stream that ends properly
    WEB_PAGE = "web_page"  # 200 with a page of HTML, as a proxy sends it
    BROKEN = "broken"  # 500


@dataclass(eq=False)
class PlaybookInvalid(TeamError):
    """A playbook breaks its format."""

    path: str
    where: str  # the rule and field
    why: str
    says = "playbook {path}, {where}: {why}"


class _Strict(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """A mapping of the file; a misspelt key is an error."""


class When(_Strict, frozen=True, kw_only=True):
    """Regular expressions that must be found; `.` also matches a newline."""

    system: str | None = None  # the system prompt; it begins `role=… name=… task=…`
    last_user: str | None = None  # the texts of the last message that brought any
    last_result: str | None = None  # results in the last message; empty when it brings none
    results: str | None = None  # all results of the conversation
    tools_called: str | None = None  # names of all tools called, in order, separated by blanks


Calls = dict[str, dict[str, Any] | None]


class RuleText(_Strict, frozen=True, kw_only=True):
    """A rule as it is written."""

    name: str = ""
    when: When = When()
    times: Annotated[int, msgspec.Meta(ge=1)] | None = None  # per conversation
    delay_seconds: Annotated[float, msgspec.Meta(ge=0)] = 0.0  # simulated thinking
    say: str = ""
    call: Calls | list[Calls] = {}
    usage: Usage | None = None  # instead of an estimate
    fault: Fault | None = None
    retry_after_seconds: Annotated[float, msgspec.Meta(ge=0)] | None = None  # said with a 429, 500 or 529
    stop_reason: str | None = None  # instead of `tool_use` or `end_turn`


class PlaybookText(_Strict, frozen=True, kw_only=True):
    """A playbook file."""

    format: int
    models: Annotated[tuple[str, ...], msgspec.Meta(min_length=1)] = ("scripted",)
    window_tokens: Annotated[int, msgspec.Meta(ge=1)] | None = None  # a longer prompt is refused
    reply_tokens: Annotated[int, msgspec.Meta(ge=1)] | None = None  # asking for more is refused
    rules: Annotated[list[RuleText], msgspec.Meta(min_length=1)]


@dataclass(frozen=True, kw_only=True)
class Rule:
    """One answer, and what must be seen for it."""

    number: int  # from 1, as a person counts
    text: RuleText
    patterns: Mapping[str, re.Pattern[str]]

    @property
    def calls(self) -> list[tuple[str, dict[str, Any]]]:
        """Tool names and inputs, their places not yet filled."""
        written = self.text.call if isinstance(self.text.call, list) else [self.text.call]
        return [(tool, arguments or {}) for group in written for tool, arguments in group.items()]

    def match(self, seen: Mapping[str, str]) -> dict[str, str] | None:
        """What the named groups caught, or None when the rule does not fit."""
        caught: dict[str, str] = {}
        for what, pattern in self.patterns.items():
            match = pattern.search(seen[what])
            if match is None:
                return None
            caught |= {name: text or "" for name, text in match.groupdict().items()}
        return caught


@dataclass(frozen=True, kw_only=True)
class Playbook:
    """All rules, in the order in which they are tried."""

    path: str
    models: tuple[str, ...]
    rules: tuple[Rule, ...]
    capacity: Capacity  # of each of the models

    @classmethod
    def load(cls, path: Path) -> Self:
        """The playbook in the file. Raises PlaybookInvalid naming the rule and field that is wrong."""
        try:
            text = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise PlaybookInvalid(path=str(path), where="file", why=str(error)) from error
        return cls.parse(text, str(path))

    @classmethod
    def parse(cls, text: str, path: str = "(text)") -> Self:
        """The playbook in the text. Raises PlaybookInvalid; `path` is the name that errors give it."""
        try:
            raw = load_yaml(text)
            written = msgspec.convert(raw, PlaybookText)
        except YamlUnusable as error:
            raise PlaybookInvalid(path=path, where="file", why=f"not YAML: {error}") from error
        except msgspec.ValidationError as error:
            raise _invalid(path, str(error)) from error
        if written.format != FORMAT:
            why = f"this version reads format {FORMAT}, not {written.format}"
            raise PlaybookInvalid(path=path, where="format", why=why)
        rules = tuple(_rule(path, number, rule) for number, rule in enumerate(written.rules, start=1))
        capacity = Capacity(window_tokens=written.window_tokens, reply_tokens=written.reply_tokens)
        return cls(path=path, models=written.models, rules=rules, capacity=capacity)


def filled(value: Any, caught: Mapping[str, str]) -> Any:  # noqa: ANN401 - raw JSON
    """The value with every `${name}` in its texts replaced by what the group caught."""
    match value:
        case str():
            return PLACE.sub(lambda place: place[0][1:] if place[1] else caught[place[2]], value)
        case dict():
            return {key: filled(inner, caught) for key, inner in value.items()}
        case list():
            return [filled(inner, caught) for inner in value]
        case _:
            return value


def _rule(path: str, number: int, text: RuleText) -> Rule:
    where = f"rule {number}" + (f" ({text.name})" if text.name else "")
    patterns: dict[str, re.Pattern[str]] = {}
    for what, pattern in msgspec.to_builtins(text.when).items():
        try:
            patterns[what] = re.compile(pattern, re.DOTALL)
        except re.error as error:
            raise PlaybookInvalid(path=path, where=f"{where}, when.{what}", why=str(error)) from error
    rule = Rule(number=number, text=text, patterns=patterns)
    if text.fault is Fault.HALF_CALL and not rule.calls:
        raise PlaybookInvalid(path=path, where=f"{where}, fault", why="half_call needs a call to break")
    if not (text.say or rule.calls or text.fault):
        raise PlaybookInvalid(path=path, where=where, why="needs one of say, call, fault")
    known = {group for pattern in patterns.values() for group in pattern.groupindex}
    for field, value in (("say", text.say), *rule.calls):
        unknown = sorted(_places(value) - known)
        if unknown:
            place = f"${{{unknown[0]}}}"
            why = f"{place} is no named group of its when (write ${place} for the text itself)"
            raise PlaybookInvalid(path=path, where=f"{where}, {field}", why=why)
    return rule


def _places(value: Any) -> set[str]:  # noqa: ANN401 - raw JSON
    match value:
        case str():
            return {place[2] for place in PLACE.finditer(value) if not place[1]}
        case dict():
            return {name for inner in value.values() for name in _places(inner)}
        case list():
            return {name for inner in value for name in _places(inner)}
        case _:
            return set()


def _invalid(path: str, message: str) -> PlaybookInvalid:
    """The complaint of msgspec with its place in words: ``$.rules[0].say`` is `rule 1, say`."""
    place = PLACE_OF_ERROR.fullmatch(message)
    if place is None:
        return PlaybookInvalid(path=path, where="file", why=message)
    rule = RULE_OF_ERROR.match(place["field"])
    if rule is None:
        return PlaybookInvalid(path=path, where=place["field"] or "file", why=place["why"])
    field = place["field"][rule.end() :]
    where = f"rule {int(rule['index']) + 1}" + (f", {field}" if field else "")
    return PlaybookInvalid(path=path, where=where, why=place["why"])
