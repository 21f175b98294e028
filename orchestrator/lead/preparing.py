"""Before a run is opened: team directory, settings, and what the repository offers, seen by the person."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import click

from coordination import layout
from coordination.errors import TeamError
from coordination.protocols import PERSON
from coordination.stores import open_stores
from coordination.team_root import find_root
from harness.roles.catalog import scan_roles
from harness.settings.settings import load_settings
from harness.trust.records import Place
from orchestrator.lead.agreed import held
from orchestrator.lead.opening import make_team
from orchestrator.money import with_limits
from orchestrator.trusting import present_catalogs, seen_catalogs
from workspace.opening import open_repository
from workspace.sandbox.choice import choose

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from coordination.team_root import Team
    from harness.catalogs import Catalogs
    from harness.settings.settings import Settings
    from orchestrator.lead.options import RunOptions
    from workspace.git import Git


@dataclass(eq=False)
class ModelMissing(TeamError):
    """A real run needs to know which model to call, and how to get in."""

    name: str  # of the variable
    what: str
    says = "{name} is not set: {what}; write a line {name}=… into .env in the team's directory, or export it"


@dataclass(eq=False)
class NoSuchDirectory(TeamError):
    """The directory named for the team does not exist."""

    path: str
    says = (
        "there is no directory {path}; make it a team's with `leadhand init --team {path}`, or mend the name"
    )


def prepared(options: RunOptions) -> tuple[Team, Git, Settings, Catalogs]:
    """The team, its repository, its settings and what it offers; no team is made that could not begin."""
    directory = existing(options)
    root = directory or find_root(options.start)
    made = make_team(options.start, directory) if root and (root / layout.TEAM_FILE).exists() else None
    run = open_stores(made[0], PERSON).runs.open_run() if made else None
    settings = settings_of(options, directory, run.agreed if run else {})
    catalogs = catalogs_of(options, directory, settings)
    return *(made or make_team(options.start, directory)), settings, catalogs


def existing(options: RunOptions) -> Path | None:
    """The directory named for the team, which the person may have misspelt. Raises NoSuchDirectory."""
    directory = options.team_directory
    if directory is None or directory.exists():
        return directory
    if options.consent().may_ask and click.confirm(f"{directory} does not exist; make it for this team?"):
        return directory
    raise NoSuchDirectory(path=str(directory))


def catalogs_of(options: RunOptions, team_directory: Path | None, settings: Settings) -> Catalogs:
    """What the run offers, all of it seen by the person. Raises NotTrusted, NotARepository."""
    tree = open_repository(options.start).place.tree
    place = Place(root=(team_directory or tree).resolve(), repository=tree)
    if options.made_repository:
        return present_catalogs(place, settings)
    return seen_catalogs(place, settings, may_ask=options.consent().may_ask)


def settings_of(options: RunOptions, team_directory: Path | None, agreed: Mapping[str, Any]) -> Settings:
    """The settings of the team for a run with a model, its sandbox chosen; the team need not be there yet.

    `agreed` is what the person named for the open run alone.

    Raises ModelMissing, SettingsFault, SandboxMissing, NotARepository.
    """
    tree = open_repository(options.start).place.tree
    flags = {"model.id": options.model, "workers.model": options.worker_model}
    settings = load_settings((team_directory or tree).resolve(), {**flags, **options.flags})
    settings = held(settings, agreed, options.flags)
    if not settings.model_id:
        raise ModelMissing(name="MODEL_ID", what="the model to call has no name")
    if not (settings.api_key or settings.auth_token):
        raise ModelMissing(name="ANTHROPIC_API_KEY", what="there is no key for the model")
    settings = with_limits(settings, scan_roles(tree, settings.role_models).models)
    ask = click.confirm if options.consent().may_ask else None
    return replace(settings, sandbox=choose(settings.sandbox, tree, ask))
