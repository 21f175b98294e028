"""The places that settings come from, read into names and raw values."""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import platformdirs

from coordination.errors import TeamError
from harness.regular_files import FileUnusable, read_regular
from harness.settings.entry import Reach
from harness.yaml_text import YamlUnusable, in_short, load_yaml

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping
    from pathlib import Path

    from harness.settings.entry import Entry

SETTINGS_FILE = "leadhand.yaml"
DOTENV_FILE = ".env"
SHOWN = 5  # settings of a group, to whoever names one that is not there


@dataclass(eq=False)
class SettingsFault(TeamError):
    """Root of all: a setting, or a file of settings, that cannot be used."""

    source: str


@dataclass(eq=False)
class SettingsUnreadable(SettingsFault):
    """A file of settings is no YAML mapping, or cannot be read."""

    why: str
    says = "{source}: {why}; mend the file, or move it away to go on with the defaults"


@dataclass(eq=False)
class UnknownSetting(SettingsFault):
    """A file or flag names a setting that does not exist."""

    name: str
    near: str
    says = "{source}: there is no setting {name}; {near}"


@dataclass(eq=False)
class SettingInvalid(SettingsFault):
    """A value does not fit its setting."""

    name: str
    expected: str
    got: str
    says = "{source}: {name} must be {expected}, not {got}"


@dataclass(eq=False)
class SettingMisread(SettingsFault):
    """A value is written in a language of its own, and wrongly."""

    name: str
    why: str
    says = "{source}: {name}: {why}"


@dataclass(eq=False)
class PersonalSetting(SettingsFault):
    """A file that comes with a repository tries to decide what is the person's alone."""

    name: str
    instead: str
    says = "{source}: {name} may not be set by a file of the repository; put it into {instead}"


@dataclass(frozen=True, kw_only=True)
class Source:
    """One place: what it is called, what it says."""

    label: str
    values: Mapping[str, object]  # by the name of the setting, or of its variable
    by_variable: bool = False  # then names that are no setting's belong to other programs
    from_repository: bool = False  # then it may not decide what is the person's alone


def user_file() -> Path:
    """Where a person's own settings for all teams lie."""
    return platformdirs.user_config_path("leadhand") / "config.yaml"


def read_yaml(path: Path, whole: Collection[str], *, from_repository: bool) -> Source:
    """The settings of a file; without the file there are none.

    Nested mappings become dotted names, except below the names in `whole`.
    Raises SettingsUnreadable.
    """
    label = path.name if from_repository else str(path)
    try:
        document = load_yaml(read_regular(path, within=path.parent if from_repository else None))
    except FileNotFoundError:
        document = None
    except FileUnusable as error:
        raise SettingsUnreadable(source=label, why=error.why) from error
    except YamlUnusable as error:
        raise SettingsUnreadable(source=label, why=str(error)) from error
    if not isinstance(document, dict | None):
        raise SettingsUnreadable(source=label, why="is no mapping of names to values")
    values = dict(_flat(document or {}, "", whole))
    return Source(label=label, values=values, from_repository=from_repository)


def read_dotenv(path: Path, variables: Collection[str] = ()) -> Source:
    """The `NAME=value` lines of a file; other lines are another program's business.

    Raises SettingsUnreadable for a line that gives one of our `variables` a value in another form. A name
    alone is left to the environment, as in other programs.
    """
    try:
        text = read_regular(path).decode("utf-8-sig")
    except FileNotFoundError:
        text = ""
    except FileUnusable as error:
        raise SettingsUnreadable(source=DOTENV_FILE, why=error.why) from error
    except UnicodeDecodeError as error:
        why = f"it is no UTF-8 at byte {error.start}; save it as UTF-8"
        raise SettingsUnreadable(source=DOTENV_FILE, why=why) from error
    pairs = []
    for number, line in enumerate(text.splitlines(), start=1):
        if pair := _pair(line):
            pairs.append(pair)
        elif (name := _misshapen(line)) in variables:
            why = f"line {number} is no line of such a file; write {name}=…"
            raise SettingsUnreadable(source=DOTENV_FILE, why=why)
    return Source(label=DOTENV_FILE, values=dict(pairs), by_variable=True)


def _misshapen(line: str) -> str:
    """The name that the line gives a value without `=`; empty for any other line."""
    found = re.match(r"\s*(?:export\s+)?(\w+)[\s:]+\S", line)
    return found[1] if found else ""


def _pair(line: str) -> tuple[str, str] | None:
    name, found, value = line.strip().removeprefix("export ").partition("=")
    name, value = name.strip(), value.strip()
    if not found or not name or name.startswith("#"):
        return None
    if value[:1] in {"'", '"'}:
        return name, value[1:].partition(value[0])[0]
    return name, value.partition(" #")[0].strip()


def _flat(document: Mapping[Any, Any], above: str, whole: Collection[str]) -> Iterator[tuple[str, object]]:
    for key, value in document.items():
        name = f"{above}{key}"
        if isinstance(value, dict) and name not in whole:
            yield from _flat(value, f"{name}.", whole)
        else:
            yield name, value


def values_of(
    source: Source, known: Mapping[str, Entry], personal_label: str
) -> Iterator[tuple[str, object]]:
    """The settings that a source names, with values that fit.

    Raises UnknownSetting, PersonalSetting or SettingInvalid for the first that it cannot set.
    """
    variables = {of_entry.variable: name for name, of_entry in known.items()}
    for key, value in source.values.items():
        if source.by_variable and (key not in variables or not value):  # an empty variable is not set
            continue
        name = variables[key] if source.by_variable else key
        whole = name.rpartition(".")[0]
        if name not in known and whole in known:  # a mapping, where a single value belongs
            expected = known[whole].kind.says
            raise SettingInvalid(source=source.label, name=whole, expected=expected, got="a mapping")
        if name not in known:
            raise UnknownSetting(source=source.label, name=name, near=_near(name, known))
        if source.from_repository and known[name].reach is not Reach.TEAM:
            raise PersonalSetting(source=source.label, name=name, instead=personal_label)
        fitting = _fit(source.label, key, known[name], value)
        yield name, known[name].kind.of_repository(fitting) if source.from_repository else fitting


def _fit(label: str, key: str, of_entry: Entry, value: object) -> object:
    try:
        return of_entry.kind.read(value)
    except TeamError as error:
        why = str(error).removeprefix(f"{key}: ").removeprefix(f"{key}.")
        raise SettingMisread(source=label, name=key, why=why) from error
    except ValueError as error:
        got = "that" if of_entry.reach is Reach.SECRET else in_short(value)
        raise SettingInvalid(source=label, name=key, expected=of_entry.kind.says, got=got) from error


def _near(name: str, known: Iterable[str]) -> str:
    """What to try for a name that is not known."""
    close = difflib.get_close_matches(name, list(known), n=1, cutoff=0.7)
    if close:
        return f"did you mean {close[0]}?"
    group = name.partition(".")[0]
    beside = sorted(other for other in known if other.startswith(f"{group}."))
    if not beside:
        return "docs/settings.md lists them all"
    more = f" and {len(beside) - SHOWN} more" if len(beside) > SHOWN else ""
    return f"in {group} there are {', '.join(beside[:SHOWN])}{more}; docs/settings.md has them all"
