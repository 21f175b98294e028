"""The verb by which the person sees what a repository brings along, and takes responsibility for it."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from orchestrator.cli.shared import json_option, persons_stores, place_of, show, team_option
from orchestrator.terminal.plain import echo

if TYPE_CHECKING:
    from pathlib import Path

    from harness.trust.repository_files import RepositoryFiles

NOT_TRUSTED = 2


@click.command()
@click.option("--yes", is_flag=True, help="Trust the files as they are, without a question.")
@click.option("--key", metavar="KEY", help="Let the host with this key lead and decide too, as it asked for.")
@json_option
@team_option
def trust(*, yes: bool, key: str | None, as_json: bool, team_directory: Path | None) -> int:
    """Show what this repository would start, allow or tell agents; with your word it is used.

    The word holds for the files as they are: a change asks again. Exit code 2 while they are not trusted.
    """
    if key is not None:
        number = persons_stores(team_directory).keys.accept(key)
        show({"key": number}, as_json, lambda: f"accepted as key {number}: its host may lead and decide now")
        return 0
    from harness.settings.settings import load_settings
    from harness.trust.records import Place, TrustRecords
    from orchestrator import trusting

    root, repository, _ = place_of(team_directory)
    place = Place(root=root, repository=repository)
    files = trusting.present_catalogs(place, load_settings(root)).files
    before = TrustRecords().seen(place)
    is_known = not files.texts or (before is not None and before.digest == files.digest)
    if not as_json:
        echo(trusting.shown(files, before))
    asks = not is_known and not yes and not as_json and sys.stdin.isatty()
    if is_new := not is_known and (yes or (asks and trusting.agreed())):
        trusting.trust(place, files)
    is_trusted = is_known or is_new
    if as_json or files.texts:
        facts = _facts(files, before, trusted=is_trusted)
        show(facts, as_json, lambda: _outcome(is_known, is_trusted))
    return 0 if is_trusted else NOT_TRUSTED


def _facts(files: RepositoryFiles, before: RepositoryFiles | None, *, trusted: bool) -> dict[str, Any]:
    from dataclasses import asdict

    from harness.trust.effects import difference, effects

    return {
        "trusted": trusted,
        "digest": files.digest,
        "files": list(files.texts),
        "effects": [asdict(effect) for effect in effects(files)],
        "changed": files.other_than(before) if before else [],
        "difference": difference(before, files) if before else "",
    }


def _outcome(is_known: bool, is_trusted: bool) -> str:  # noqa: FBT001 - two facts
    if is_known:
        return "\nnothing has changed since you trusted it"
    return "\ntrusted as it is now" if is_trusted else "\nnot trusted; `leadhand trust --yes` does that"
