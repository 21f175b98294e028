"""Whether every process of the open run has what its lead pinned, and whether the disk still has it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from coordination.finding import warning
from coordination.records import MemberState
from harness.catalogs import pinned_catalogs
from harness.pinned import PinLost
from harness.settings.settings import load_settings
from harness.settings.sources import SettingsFault
from harness.trust.repository_files import RepositoryFileUnreadable
from orchestrator.trusting import place_of, present_catalogs
from workspace.git import GitError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from coordination.finding import Finding
    from coordination.records import Run
    from coordination.stores import Stores

_LIVING = {MemberState.STARTING, MemberState.ALIVE}
TAKE_UP = "`leadhand stop`, then `leadhand resume` takes up what is on disk now"


@dataclass(frozen=True, kw_only=True)
class Difference:
    """One process, or the disk, that has something else than the run pinned."""

    code: str
    where: str
    what: str


def differences(stores: Stores) -> Iterator[Difference]:
    """All that differs from what the open run pinned; nothing without a run."""
    run = stores.runs.open_run()
    if run is None or not run.digests:
        return
    directory, root = stores.team.directory, stores.team.root
    try:
        pinned = pinned_catalogs(directory, run.digests)
        settings = load_settings(root, {"mcp.config": pinned.named_files or None})
        found = present_catalogs(place_of(stores.team), settings)
    except (PinLost, SettingsFault, RepositoryFileUnreadable, GitError) as error:
        yield Difference(code=error.reason, where=run.id, what=str(error))
        return
    for text in found.changes_since(pinned):
        yield Difference(code="changed_on_disk", where=run.id, what=text)
    yield from _members(stores, run)


def _members(stores: Stores, run: Run) -> Iterator[Difference]:
    for member in stores.roster.all():
        kinds = sorted(kind for kind, digest in run.digests.items() if member.digests.get(kind) != digest)
        if member.state in _LIVING and kinds:
            what = f"{member.name} has other {' and '.join(kinds)} than the lead of {run.id}"
            yield Difference(code="other_digest", where=member.name, what=what)


def inspect_pins(stores: Stores) -> Iterator[Finding]:
    """The same for `fsck`."""
    for difference in differences(stores):
        yield warning(
            difference.code,
            difference.where,
            difference.what,
            why="agents of one run would see other skills or tools, or be judged by other rules",
            repair=f"nothing; {TAKE_UP}",
        )
