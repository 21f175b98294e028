"""The settings of a conversation: how much of the model's window it may fill, and what is left out first."""

from __future__ import annotations

from dataclasses import dataclass, field

from harness.setting_entry import entry, percent, whole


@dataclass(frozen=True, kw_only=True)
class ContextSettings:
    """The values in force; part of `harness.settings.Settings`."""

    window_tokens: int | None = field(
        default=None,
        metadata=entry(
            "context.window_tokens",
            whole(4000),
            "What the model reads at most: request and reply. Without it what its server says counts "
            "(Messages API, vLLM), else 200,000.",
            unit="tokens",
        ),
    )
    shorten_percent: int = field(
        default=60,
        metadata=entry(
            "context.shorten_percent",
            percent(),
            "Share of the window from which old messages and results give way to notes.",
            unit="%",
        ),
    )
    summarize_percent: int = field(
        default=80,
        metadata=entry(
            "context.summarize_percent",
            percent(),
            "Share of the window from which the model sums up what came before.",
            unit="%",
        ),
    )
    kept_percent: int = field(
        default=10,
        metadata=entry(
            "context.kept_percent",
            percent(),
            "Share of the window for the newest part, which a summary leaves as it is.",
            unit="%",
        ),
    )
    new_results_characters: int = field(
        default=200_000,
        metadata=entry(
            "context.new_results_characters",
            whole(10_000),
            "Results that arrive together; beyond it the longest go to files.",
            unit="characters",
        ),
    )
    kept_messages: int = field(
        default=200,
        metadata=entry(
            "context.kept_messages",
            whole(10),
            "Messages that stay when the middle of a long history is left out.",
            unit="messages",
        ),
    )
    kept_results: int = field(
        default=3,
        metadata=entry(
            "context.kept_results", whole(0), "Newest results that stay whole when older ones are shortened."
        ),
    )
    kept_images: int = field(
        default=20,
        metadata=entry("context.kept_images", whole(1), "Newest images that stay in the conversation."),
    )
    summary_tokens: int = field(
        default=2000,
        metadata=entry("context.summary_tokens", whole(100), "Length of a summary.", unit="tokens"),
    )
