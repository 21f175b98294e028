"""Every limit and choice once: its name, unit, default and meaning, and where its value comes from."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any

from harness.context.settings import ContextSettings
from harness.hooks.settings import HookSettings
from harness.instructions.settings import InstructionSettings
from harness.mcp.settings import McpSettings
from harness.memory.settings import MemorySettings
from harness.models.settings import ModelSettings
from harness.permissions.settings import PermissionSettings
from harness.roles.settings import MemberSettings
from harness.settings.entry import (
    ADDRESS,
    COMMANDS,
    EMPTY,
    PAGE_HEAD,
    TEXT,
    TEXTS,
    Entry,
    Reach,
    choice,
    number_above,
    setting,
    whole,
)
from harness.settings.sandbox import SandboxSettings
from harness.settings.sources import (
    DOTENV_FILE,
    SETTINGS_FILE,
    Source,
    read_dotenv,
    read_yaml,
    user_file,
    values_of,
)
from harness.settings.tools import ToolSettings
from harness.settings.trees import TreeSettings
from harness.skills.settings import SkillSettings
from harness.subagents.settings import SubagentSettings

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from dataclasses import Field
    from pathlib import Path


@dataclass(frozen=True, kw_only=True)
class Settings(
    ContextSettings,
    HookSettings,
    InstructionSettings,
    McpSettings,
    MemorySettings,
    MemberSettings,
    ModelSettings,
    PermissionSettings,
    SandboxSettings,
    SkillSettings,
    SubagentSettings,
    ToolSettings,
    TreeSettings,
):
    """The values in force; `load_settings` makes them."""

    model_id: str | None = setting(
        "model.id", TEXT, "The model of the lead. A real run needs it.", default=None, variable="MODEL_ID"
    )
    worker_model_id: str | None = setting(
        "workers.model", TEXT, "The model of teammates; without it the lead's.", default=None
    )
    api_key: str | None = setting(
        "model.api_key",
        TEXT,
        "Key for the model's server.",
        default=None,
        variable="ANTHROPIC_API_KEY",
        reach=Reach.SECRET,
    )
    auth_token: str | None = setting(
        "model.auth_token",
        TEXT,
        "Bearer token for the model's server, used when there is no key.",
        default=None,
        variable="ANTHROPIC_AUTH_TOKEN",
        reach=Reach.SECRET,
    )
    base_url: str | None = setting(
        "model.base_url",
        ADDRESS,
        "Address of a server that speaks the Messages API; without it Anthropic's.",
        default=None,
        variable="ANTHROPIC_BASE_URL",
        reach=Reach.PERSON,
    )
    lease_ttl_seconds: float | None = setting(
        "lease.ttl_seconds",
        number_above(0),
        "Silence after which a teammate counts as dead and its task is given to another; without it "
        "15 on a local disk, and 60 where several machines share the team directory.",
        default=None,
        unit="s",
    )
    progress_timeout_seconds: float = setting(
        "lease.progress_timeout_seconds",
        number_above(0),
        "Time without any sign of progress after which a teammate stops renewing its lease.",
        default=300.0,
        unit="s",
    )
    max_attempts: int = setting(
        "task.max_attempts", whole(1), "Failed attempts after which a task is failed.", default=3
    )
    plan_reviewer: str = setting(
        "plan_reviewer", choice("lead", "person"), "Who approves plans.", default="lead"
    )
    checks: Mapping[str, str] = setting(
        "checks",
        COMMANDS,
        "Commands that prove work: each runs on a clean checkout of a commit.",
        default=EMPTY,
    )
    every_task_checks: tuple[str, ...] = setting(
        "check.every_task", TEXTS, "Names of checks that every task has to pass.", default=()
    )
    check_timeout_seconds: float = setting(
        "check.timeout_seconds", number_above(0), "Time limit of one check.", default=600.0, unit="s"
    )
    merge_parallel_checks: int = setting(
        "merge.parallel_checks",
        whole(1),
        "Merged results that are checked beside each other, each in a tree of its own.",
        default=3,
    )
    merge_retry_seconds: float = setting(
        "merge.retry_seconds",
        number_above(0),
        "How soon a merge that was held up, as by a branch in use, is tried again; the pause "
        "doubles each time, up to sixteen times of that.",
        default=10.0,
        unit="s",
    )
    stop_patience_seconds: float = setting(
        "stop.patience_seconds",
        number_above(0),
        "How long a teammate that was asked to stop may take before it is ended.",
        default=10.0,
        unit="s",
    )
    environment_pass: tuple[str, ...] = setting(
        "env.pass",
        TEXTS,
        "Further environment variables that commands may see.",
        default=(),
        reach=Reach.PERSON,
    )

    def secrets(self) -> list[str]:
        """Values that belong into no journal."""
        credentials = [text for text in (self.api_key, self.auth_token) if text]
        return [*credentials, *self.mcp_variables.values()]

    def to_json(self) -> dict[str, object]:
        """All that is not as by default, by the names of the settings; `settings_from` reads it."""
        defaults = Settings()
        return {
            name: of_entry.kind.write(getattr(self, of.name))
            for name, (of, of_entry) in _entries().items()
            if getattr(self, of.name) != getattr(defaults, of.name)
        }


def _entries() -> dict[str, tuple[Field[Any], Entry]]:
    """Every setting by its name."""
    found = ((of, of.metadata.get("entry")) for of in fields(Settings))
    return {of_entry.name: (of, of_entry) for of, of_entry in found if isinstance(of_entry, Entry)}


def load_settings(
    root: Path,
    flags: Mapping[str, object] | None = None,
    environ: Mapping[str, str] | None = None,
    *,
    personal_file: Path | None = None,
    shared_file: Path | None = None,
) -> Settings:
    """The settings of the team at `root`: flag, environment, `.env`, the person's file, `leadhand.yaml`.

    The first of these that names a setting decides, but for permission rules: those of all sources
    count. `flags` go by the names of the settings, None meaning not given; `shared_file` stands for
    `leadhand.yaml`. Raises SettingsFault.
    """
    given = {name: value for name, value in (flags or {}).items() if value is not None}
    table = _entries()
    nested = {name for name, (_, of_entry) in table.items() if of_entry.kind.is_mapping}
    personal = read_yaml(personal_file or user_file(), nested, from_repository=False)
    shared = read_yaml(shared_file or root / SETTINGS_FILE, nested, from_repository=True)
    sources = [
        Source(label="command line", values=given),
        Source(label="environment", values=os.environ if environ is None else environ, by_variable=True),
        read_dotenv(root / DOTENV_FILE, {of_entry.variable for _, of_entry in table.values()}),
        personal,
        shared,
    ]
    return _merged(sources, personal.label)


def settings_from(values: Mapping[str, object]) -> Settings:
    """The settings that another process has, as its `to_json` wrote them. Raises SettingsFault."""
    return _merged([Source(label="the lead", values=values)], "")


def changed(settings: Settings, name: str, value: object) -> Settings:
    """The settings with another value of one, as text or YAML; None for its default. Raises SettingsFault."""
    table = _entries()
    known = {name: of_entry for name, (_, of_entry) in table.items()}
    fitting: dict[str, Any] = {}
    if value is None and name in table:
        fitting[table[name][0].name] = table[name][0].default
    else:
        for found, read in values_of(Source(label="your answer", values={name: value}), known, ""):
            fitting[table[found][0].name] = read
    return replace(settings, **fitting)


def _merged(sources: Sequence[Source], personal: str) -> Settings:
    table = _entries()
    values: dict[str, Any] = {}
    known = {name: of_entry for name, (_, of_entry) in table.items()}
    for source in reversed(sources):  # a stronger source writes over a weaker one
        for name, value in values_of(source, known, personal):
            values[table[name][0].name] = _joined(known[name], values.get(table[name][0].name), value)
    return Settings(**values)


def _joined(of_entry: Entry, weaker: object, value: object) -> object:
    if of_entry.kind.adds_up and isinstance(weaker, tuple) and isinstance(value, tuple):
        return tuple(dict.fromkeys((*value, *weaker)))
    return value


def reference() -> str:
    """The reference page, in Markdown."""
    sections = [of_entry.section(of.default) for _, (of, of_entry) in sorted(_entries().items())]
    return "\n".join([PAGE_HEAD, *sections])


if __name__ == "__main__":
    sys.stdout.write(reference())
