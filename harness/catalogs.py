"""What a run offers its agents beside its own tools: pinned once by the lead, the same in every process."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from harness.pinned import pin, pinned
from harness.skills.catalog import Catalog, roots_of, scan

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from coordination.files import StateDirectory
    from harness.settings import Settings

SKILLS = "skills"


@dataclass(frozen=True, kw_only=True)
class Catalogs:
    """What there is to offer."""

    skills: Catalog

    def pin(self, directory: StateDirectory) -> dict[str, str]:
        """All of it is on disk, under the digests returned."""
        return {SKILLS: pin(directory, self.skills.to_json())}

    def changes_since(self, former: Catalogs) -> Iterator[str]:
        """What is other than it was, a sentence each."""
        before, now = former.skills.to_json(), self.skills.to_json()
        for name in sorted(before.keys() | now.keys()):
            if before.get(name) != now.get(name):
                what = "is new" if name not in before else "is gone" if name not in now else "has changed"
                yield f"the skill {name} {what} on disk since the run began"


def find_catalogs(repository: Path, settings: Settings) -> Catalogs:
    """What lies on the disk of this machine now."""
    roots = roots_of(repository, home=Path.home(), allowed_at_home=settings.skills_allow)
    return Catalogs(skills=scan(roots))


def pinned_catalogs(directory: StateDirectory, digests: Mapping[str, str]) -> Catalogs:
    """What was pinned under these digests; nothing where there is none. Raises PinLost."""
    skills = pinned(directory, digests[SKILLS]) if SKILLS in digests else {}
    return Catalogs(skills=Catalog.from_json(skills))
