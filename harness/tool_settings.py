"""The limits of what tools do: commands, results, reads, searches."""

from __future__ import annotations

from dataclasses import dataclass, field

from harness.setting_entry import entry, whole


@dataclass(frozen=True, kw_only=True)
class ToolSettings:
    """A part of `harness.settings.Settings`."""

    bash_timeout_seconds: int = field(
        default=120,
        metadata=entry("tool.bash.timeout_seconds", whole(1), "Time limit of a command.", unit="s"),
    )
    bash_max_timeout_seconds: int = field(
        default=600,
        metadata=entry(
            "tool.bash.max_timeout_seconds", whole(1), "Longest limit that a call may ask for.", unit="s"
        ),
    )
    bash_kept_bytes: int = field(
        default=8_000_000,
        metadata=entry(
            "tool.bash.kept_bytes",
            whole(1000),
            "Output of a command that is kept: half from its begin, half from its end.",
            unit="bytes",
        ),
    )
    background_max_running: int = field(
        default=8,
        metadata=entry(
            "background.max_running", whole(1), "Background commands of one agent at the same time."
        ),
    )
    background_timeout_seconds: int = field(
        default=3600,
        metadata=entry(
            "background.timeout_seconds",
            whole(1),
            "Time limit of a background command that names no other.",
            unit="s",
        ),
    )
    background_output_bytes: int = field(
        default=100_000_000,
        metadata=entry(
            "background.output_bytes",
            whole(1000),
            "Output of a background command; one that prints more is ended.",
            unit="bytes",
        ),
    )
    result_inline_characters: int = field(
        default=30_000,
        metadata=entry(
            "tool.result.inline_characters",
            whole(1000),
            "Longest result that the model sees whole; a longer one goes to a file.",
            unit="characters",
        ),
    )
    result_preview_characters: int = field(
        default=2000,
        metadata=entry(
            "tool.result.preview_characters",
            whole(100),
            "What it sees of a longer one, half from its begin, half from its end.",
            unit="characters",
        ),
    )
    read_lines: int = field(
        default=2000,
        metadata=entry(
            "tool.read_file.lines", whole(1), "Lines of one read, if not asked otherwise.", unit="lines"
        ),
    )
    search_matches: int = field(
        default=500,
        metadata=entry("tool.search.matches", whole(1), "Lines in a result of glob or grep.", unit="lines"),
    )
    search_timeout_seconds: int = field(
        default=30,
        metadata=entry("tool.search.timeout_seconds", whole(1), "Time limit of a search.", unit="s"),
    )
