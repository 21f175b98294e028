"""The limits of what tools do: commands, results, reads, searches."""

from __future__ import annotations

from dataclasses import dataclass

from harness.settings.entry import setting, whole


@dataclass(frozen=True, kw_only=True)
class ToolSettings:
    """A part of `harness.settings.settings.Settings`."""

    bash_timeout_seconds: int = setting(
        "tool.bash.timeout_seconds", whole(1), "Time limit of a command.", default=120, unit="s"
    )
    bash_max_timeout_seconds: int = setting(
        "tool.bash.max_timeout_seconds",
        whole(1),
        "Longest limit that a call may ask for.",
        default=600,
        unit="s",
    )
    bash_kept_bytes: int = setting(
        "tool.bash.kept_bytes",
        whole(1000),
        "Output of a command that is kept: half from its begin, half from its end.",
        default=8_000_000,
        unit="bytes",
    )
    background_max_running: int = setting(
        "background.max_running", whole(1), "Background commands of one agent at the same time.", default=8
    )
    background_timeout_seconds: int = setting(
        "background.timeout_seconds",
        whole(1),
        "Time limit of a background command that names no other.",
        default=3600,
        unit="s",
    )
    background_output_bytes: int = setting(
        "background.output_bytes",
        whole(1000),
        "Output of a background command; one that prints more is ended.",
        default=100_000_000,
        unit="bytes",
    )
    result_inline_characters: int = setting(
        "tool.result.inline_characters",
        whole(1000),
        "Longest result that the model sees whole; a longer one goes to a file.",
        default=30_000,
        unit="characters",
    )
    result_preview_characters: int = setting(
        "tool.result.preview_characters",
        whole(100),
        "What it sees of a longer one, half from its begin, half from its end.",
        default=2000,
        unit="characters",
    )
    read_lines: int = setting(
        "tool.read_file.lines",
        whole(1),
        "Lines of one read, if not asked otherwise.",
        default=2000,
        unit="lines",
    )
    search_matches: int = setting(
        "tool.search.matches", whole(1), "Lines in a result of glob or grep.", default=500, unit="lines"
    )
    search_timeout_seconds: int = setting(
        "tool.search.timeout_seconds", whole(1), "Time limit of a search.", default=30, unit="s"
    )
