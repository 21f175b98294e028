"""The settings of a conversation: how much of the model's window it may fill, and what is left out first."""

from __future__ import annotations

from dataclasses import dataclass

from harness.settings.entry import PERCENT, setting, whole


@dataclass(frozen=True, kw_only=True)
class ContextSettings:
    """The values in force; part of `harness.settings.settings.Settings`."""

    window_tokens: int | None = setting(
        "context.window_tokens",
        whole(4000),
        "What the model reads at most: request and reply. Without it what its server says counts "
        "(Messages API, vLLM), else 200,000.",
        default=None,
        unit="tokens",
    )
    shorten_percent: int = setting(
        "context.shorten_percent",
        PERCENT,
        "Share of the window from which old messages and results give way to notes.",
        default=60,
        unit="%",
    )
    summarize_percent: int = setting(
        "context.summarize_percent",
        PERCENT,
        "Share of the window from which the model sums up what came before.",
        default=80,
        unit="%",
    )
    kept_percent: int = setting(
        "context.kept_percent",
        PERCENT,
        "Share of the window for the newest part, which a summary leaves as it is.",
        default=10,
        unit="%",
    )
    new_results_characters: int = setting(
        "context.new_results_characters",
        whole(10_000),
        "Results that arrive together; beyond it the longest go to files.",
        default=200_000,
        unit="characters",
    )
    kept_messages: int = setting(
        "context.kept_messages",
        whole(10),
        "Messages that stay when the middle of a long history is left out.",
        default=200,
        unit="messages",
    )
    kept_results: int = setting(
        "context.kept_results",
        whole(0),
        "Newest results that stay whole when older ones are shortened.",
        default=3,
    )
    kept_images: int = setting(
        "context.kept_images", whole(1), "Newest images that stay in the conversation.", default=20
    )
    summary_tokens: int = setting(
        "context.summary_tokens", whole(100), "Length of a summary.", default=2000, unit="tokens"
    )
