"""The verb that shows a whole team at work."""

from __future__ import annotations

from pathlib import Path

import click

from orchestrator.terminal.plain import echo


@click.command()
@click.option("--clean", "remove", is_flag=True, help="Remove the directories of earlier demos here.")
def demo(*, remove: bool) -> int:
    """Watch a whole team work on a small real repository, with a scripted model; needs no key."""
    from orchestrator.demo.demo import clean, run_demo

    if remove:
        removed = [f"removed {place}" for place in clean(Path.cwd())]
        echo("\n".join(removed) or f"there is no demo in {Path.cwd()}")
        return 0
    return run_demo(Path.cwd())
