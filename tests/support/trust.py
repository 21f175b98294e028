"""The person's word on the files of a repository, as after `leadhand trust --yes`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.settings.settings import load_settings
from harness.trust.records import Place
from orchestrator.trusting import present_catalogs, trust

if TYPE_CHECKING:
    from pathlib import Path

    from harness.catalogs import Catalogs
    from harness.settings.settings import Settings


def trusts(root: Path, repository: Path | None = None) -> None:
    """The person has seen what lies there now."""
    place = Place(root=root, repository=repository or root)
    trust(place, present_catalogs(place, load_settings(root)).files)


def offered(root: Path, settings: Settings, repository: Path | None = None) -> Catalogs:
    """What a run there offers."""
    return present_catalogs(Place(root=root, repository=repository or root), settings)
