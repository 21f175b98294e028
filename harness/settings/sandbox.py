"""Settings of the sandbox in which commands run."""

from __future__ import annotations

from dataclasses import dataclass

from harness.settings.entry import TEXTS, Reach, choice, setting, switch


@dataclass(frozen=True, kw_only=True)
class SandboxSettings:
    """A part of `harness.settings.settings.Settings`."""

    sandbox: str = setting(
        "sandbox",
        switch("auto", "bwrap", "off"),
        "Where commands of agents, checks, set-up, and hooks and servers of the repository run: inside "
        "bubblewrap, or as you. `auto` is bubblewrap where it works; elsewhere you are asked once per "
        "machine, and a run that may not ask ends.",
        default="auto",
        reach=Reach.PERSON,
    )
    sandbox_network: str = setting(
        "sandbox.network",
        choice("all", "setup", "none"),
        "Which commands in the sandbox reach the network: all, only set-up and MCP servers, or none. "
        "One that does not has a loopback device of its own.",
        default="all",
        reach=Reach.PERSON,
    )
    sandbox_readable: tuple[str, ...] = setting(
        "sandbox.readable",
        TEXTS,
        "Directories of your home that commands in the sandbox may read, beside those where programs "
        "are usually installed.",
        default=(),
        reach=Reach.PERSON,
    )
