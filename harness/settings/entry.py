"""How a setting is declared: its name, which values it takes, who may decide it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeVar

from harness.hooks.configured import hooks_of, in_sandbox, to_raw
from harness.models.endpoint import is_address
from harness.permissions.rules import Verdict, parse_rule

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")
EMPTY: Mapping[str, Any] = MappingProxyType({})
PAGE_HEAD = """# Settings

Written by `python -m harness.settings.settings`; a test compares the two.

A setting comes from the first of these that names it: a flag of the command, the environment,
`.env` in the team root, your own `config.yaml` (on Linux in `~/.config/leadhand/`), `leadhand.yaml`
in the team root. In the two YAML files a dotted name may be written as nested mappings:

```yaml
checks:
  tests: python -m pytest -q
lease:
  ttl_seconds: 15
```

A file that names an unknown setting is refused, so that a misspelt limit is never without effect.
"""


def plain(value: object) -> object:
    """The value as JSON has it."""
    if isinstance(value, Mapping):
        return {name: plain(of) for name, of in value.items()}
    return [plain(one) for one in value] if isinstance(value, tuple) else value


@dataclass(frozen=True)
class Kind:
    """`read` takes text (flag, environment) or YAML; it raises ValueError when the value does not fit.

    A kind whose values have a language of their own raises a TeamError that says what is wrong in it.
    """

    says: str
    read: Callable[[object], object]
    adds_up: bool = False  # the values of all sources count, not that of the strongest
    of_repository: Callable[[object], object] = lambda value: value  # what a value of its file comes to
    is_mapping: bool = False  # the names below it are its own, not those of settings
    write: Callable[[Any], object] = plain  # what `read` makes the same value of, and JSON can hold


def whole(minimum: int, maximum: int | None = None) -> Kind:
    """A whole number, `minimum` or more, and no more than `maximum`."""

    def read(value: object) -> int:
        number = int(value) if isinstance(value, str) else value
        if not isinstance(number, int) or isinstance(number, bool) or number < minimum:
            raise ValueError
        if maximum is not None and number > maximum:
            raise ValueError
        return number

    upper = "" if maximum is None else f" to {maximum}"
    return Kind(f"a whole number from {minimum}{upper}", read)


def number_above(limit: float) -> Kind:
    """Any number above `limit`."""

    def read(value: object) -> float:
        number = float(value) if isinstance(value, str) else value
        if (
            not isinstance(number, int | float)
            or isinstance(number, bool)
            or not limit < number < float("inf")
        ):
            raise ValueError
        return float(number)

    return Kind(f"a number above {limit:g}", read)


def choice(*names: str) -> Kind:
    """One of these words."""

    def read(value: object) -> str:
        if value not in names:
            raise ValueError
        return str(value)

    return Kind(f"one of {', '.join(names)}", read)


def switch(*names: str) -> Kind:
    """One of these words, of which one is `off`, which YAML reads as false."""
    words = choice(*names)
    return Kind(words.says, lambda value: words.read("off" if value is False else value))


def _text(value: object) -> str:
    if not isinstance(value, str) or not value.strip():
        raise ValueError
    return value.strip()


def _address(value: object) -> str:
    address = _text(value)
    if not is_address(address):
        raise ValueError
    return address


def _several(split: Callable[[str], list[str]]) -> Callable[[object], tuple[str, ...]]:
    """Reads a list of texts, which is split where it is written as one."""

    def read(value: object) -> tuple[str, ...]:
        parts = split(value) if isinstance(value, str) else value
        if not isinstance(parts, list):
            raise ValueError  # noqa: TRY004 - every misfit is a ValueError to the caller
        return tuple(_text(part) for part in parts)

    return read


_texts = _several(lambda text: text.split(","))


def _commands(value: object) -> Mapping[str, str]:
    if not isinstance(value, dict):
        raise ValueError  # noqa: TRY004 - likewise
    return MappingProxyType({_text(name): _text(command) for name, command in value.items()})


def _rules(value: object) -> tuple[str, ...]:
    rules = _texts(value)
    for rule in rules:
        parse_rule(Verdict.ASK, rule)
    return rules


def _on_or_off(value: object) -> bool:
    words = {True: True, False: False, "true": True, "false": False, "on": True, "off": False}
    if not isinstance(value, str | bool) or value not in words:
        raise ValueError
    return words[value]


TEXT = Kind("text", _text)
PERCENT = whole(1, 100)
ADDRESS = Kind("an address such as https://host:port", _address)
ON_OR_OFF = Kind("true or false", _on_or_off)
TEXTS = Kind("a list of texts (with commas between them in the environment)", _texts)
RULES = Kind("a list of rules such as read_file or bash(git push *)", _rules, adds_up=True)
LINES = Kind("a list of commands (in the environment one a line)", _several(str.splitlines))
COMMANDS = Kind("a mapping of names to commands (in a file only)", _commands, is_mapping=True)
MODELS = Kind("a mapping of names to models (in a file only)", _commands, is_mapping=True)
HOOKS = Kind(
    "a mapping of events to hooks, as on the page about hooks (in a file only)",
    hooks_of,
    adds_up=True,
    of_repository=in_sandbox,
    is_mapping=True,
    write=to_raw,
)


class Reach(Enum):
    """Who may decide it."""

    TEAM = "any of the sources"
    PERSON = "the person: any source but `leadhand.yaml`, since a repository must not decide this"
    SECRET = "the person: any source but `leadhand.yaml`; never shown"  # noqa: S105 - words for the reference page


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One setting as files, environment and reference page know it."""

    name: str  # dotted, as in `leadhand.yaml`
    kind: Kind
    says: str
    unit: str
    variable: str
    reach: Reach

    def section(self, default: object) -> str:
        """What the reference page says of it."""
        unit = f", in {self.unit}" if self.unit else ""
        value = f"`{default}`" if isinstance(default, int | float | str) else "none"
        return (
            f"## `{self.name}`\n\n{self.says}\n\n"
            f"- takes {self.kind.says}{unit}\n- default: {value}\n"
            f"- environment: `{self.variable}`\n- set by {self.reach.value}\n"
        )


def setting(  # noqa: PLR0913 - what there is to say of one, by name
    name: str,
    kind: Kind,
    says: str,
    *,
    default: T,
    unit: str = "",
    variable: str = "",
    reach: Reach = Reach.TEAM,
) -> T:
    """A field of a class of settings that holds this one; a secret is in no text that shows the class."""
    variable = variable or f"LEADHAND_{name.replace('.', '_').upper()}"
    declared = Entry(name=name, kind=kind, says=says, unit=unit, variable=variable, reach=reach)
    is_shown, metadata = reach is not Reach.SECRET, {"entry": declared}
    if isinstance(default, Mapping):  # which a dataclass takes from a factory only
        return field(default_factory=lambda: default, repr=is_shown, metadata=metadata)
    return field(default=default, repr=is_shown, metadata=metadata)
