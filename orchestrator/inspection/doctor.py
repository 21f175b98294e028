"""Whether a team can work here, point by point: this machine, the repository, the settings, the team."""

from __future__ import annotations

import platform
import shutil
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from coordination import layout
from coordination.errors import TeamError, cause_of, refusal_of
from coordination.mounts import FileSystem
from coordination.profile import Profile
from coordination.team_root import NoTeam
from coordination.wakeup import Wakeup
from harness.mcp.seen import seen_tokens
from harness.models.endpoint import DEFAULT_ADDRESS
from harness.models.prices import PriceTable
from harness.settings.settings import load_settings
from harness.settings.sources import SettingsFault
from harness.skills.skill import tokens_of
from harness.trust.records import Place as Brought
from orchestrator.inspection.hosts import IN_WORDS, refused
from orchestrator.lead.opening import find_team
from orchestrator.trusting import present_catalogs, unseen
from workspace.git import find_git
from workspace.opening import open_repository
from workspace.sandbox.choice import choose, in_words
from workspace.sandbox.sandbox import OFF

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from coordination.team_root import Team
    from harness.settings.settings import Settings

ABOUT = "about"  # a quarter of the bytes
UNSEEN = "its tools were never seen; `leadhand mcp check` connects it"
LEAST_FREE_BYTES = 1 << 30  # a worktree and its set-up for each of a few teammates


class State(StrEnum):
    """How a point stands."""

    OK = "ok"
    NOTE = "note"  # works, and is worth knowing
    FAULT = "fault"  # a run would not start, or would fail


@dataclass(frozen=True, kw_only=True)
class Point:
    """One thing that was looked at."""

    topic: str
    state: State
    says: str
    remedy: str = ""  # what to do about it

    def to_json(self) -> dict[str, Any]:
        """What programs read."""
        return asdict(self)


@dataclass(frozen=True, kw_only=True)
class Place:
    """Where the team is, or would be."""

    root: Path
    repository: Path

    def settings(self) -> Settings:
        """Those in force here. Raises SettingsFault."""
        return load_settings(self.root)


def examine(place: Place) -> list[Point]:
    """Every point in order; what cannot be looked at is a fault of its own, and the rest goes on.

    What several looks stumble over is told once.
    """
    return list(dict.fromkeys(point for topic, look in EXAMINATIONS for point in _looked(topic, look, place)))


def _looked(topic: str, look: Callable[[Place], Iterator[Point]], place: Place) -> Iterator[Point]:
    try:
        yield from look(place)
    except SettingsFault as error:
        yield fault("settings", str(error), "then look again: most of the other points depend on them")
    except TeamError as error:
        yield fault(topic, str(error))
    except OSError as error:
        yield fault(topic, refusal_of(error) or f"cannot be looked at ({cause_of(error)})")


def ok(topic: str, says: str) -> Point:
    """It is as it should be."""
    return Point(topic=topic, state=State.OK, says=says)


def note(topic: str, says: str, remedy: str = "") -> Point:
    """It works, and is worth knowing."""
    return Point(topic=topic, state=State.NOTE, says=says, remedy=remedy)


def fault(topic: str, says: str, remedy: str = "") -> Point:
    """A run would not start, or would fail."""
    return Point(topic=topic, state=State.FAULT, says=says, remedy=remedy)


def _machine(place: Place) -> Iterator[Point]:
    yield ok("machine", f"Python {platform.python_version()} on {platform.system()} {platform.machine()}")
    yield ok("machine", f"git at {find_git(place.repository)}")
    free = shutil.disk_usage(place.root).free
    size = f"{free / (1 << 30):.1f} GiB free where the team lies"
    if free < LEAST_FREE_BYTES:
        yield fault("machine", size, "free some space, or choose another disk with --team and worktrees.dir")
    else:
        yield ok("machine", size)


def _sandbox(place: Place) -> Iterator[Point]:
    settings = place.settings()
    chosen = choose(settings.sandbox, place.repository)
    says = in_words(chosen, settings.sandbox_network)
    if chosen == OFF:
        yield note("sandbox", says, "install bubblewrap, and take `sandbox: off` out of your configuration")
    else:
        yield ok("sandbox", says)


def _repository(place: Place) -> Iterator[Point]:
    git = open_repository(place.repository)
    yield ok("repository", f"{git.place.tree} at {git.head()[:12]}")


def _model(place: Place) -> Iterator[Point]:
    settings = place.settings()
    if settings.model_id:
        yield ok("model", f"{settings.model_id} at {settings.base_url or DEFAULT_ADDRESS}")
    else:
        yield fault("model", "no model is named", "write a line MODEL_ID=… into .env, or export it")
    if settings.api_key or settings.auth_token:
        yield ok("model", "a key is set")
    else:
        yield fault("model", "no key is set", "write a line ANTHROPIC_API_KEY=… into .env, or export it")
    if settings.model_id and PriceTable(settings.prices).price(settings.model_id) is None:
        yield note(
            "model",
            f"the price of {settings.model_id} is unknown: usage is told in tokens only",
            "name it under `prices`, or let a limit in tokens hold (limits.team.max_tokens)",
        )


def _trust(place: Place) -> Iterator[Point]:
    brought = Brought(root=place.root, repository=place.repository)
    files = present_catalogs(brought, place.settings()).files
    if why := unseen(brought, files):
        yield fault("trust", str(why))
    else:
        yield ok("trust", "you have seen what this repository would start, allow or tell agents")


def _checks(place: Place) -> Iterator[Point]:
    settings = place.settings()
    if settings.checks:
        yield ok("checks", f"work is proven by: {', '.join(settings.checks)}")
    else:
        yield note(
            "checks",
            "nothing proves work: tasks end unverified, and a person merges each",
            "`leadhand init` proposes checks",
        )


def _team(place: Place) -> Iterator[Point]:
    try:
        team = find_team(place.root, place.root)
    except NoTeam:
        yield note("team", f"there is none at {place.root} yet; the first run makes it")
        return
    yield ok("team", f"at {team.root}")
    yield from _hosts(team)
    if not team.mount.guarantees.events:
        return
    wakeup = Wakeup(team, [layout.REQUESTS])
    try:
        if wakeup.by_events:
            yield ok("team", "the system tells of changed files at once")
        else:
            yield note(
                "team",
                "the system does not tell of changed files: members look for them, every 2 s at least",
                "on Linux raise fs.inotify.max_user_instances and max_user_watches",
            )
    finally:
        wakeup.close()


def _hosts(team: Team) -> Iterator[Point]:
    mount = team.mount
    names = ", ".join(name for name, host in mount.hosts.items() if host.found is not Profile.UNFIT)
    yield ok(
        "team", f"profile {mount.profile}, {IN_WORDS[mount.profile]} ({names or 'nobody has joined yet'})"
    )
    if not mount.file_system.has_links:
        yield fault("team", f"{mount.file_system.type} knows no hard links", mount.file_system.remedy)
    for host in refused(mount):
        remedy = FileSystem(type=host.file_system).remedy
        yield note("team", f"{host.host} was refused ({host.file_system}): {host.why}", remedy)


def _requests(place: Place) -> Iterator[Point]:
    """What the repository adds to every request, in tokens as far as that can be told without a model."""
    settings = place.settings()
    catalogs = present_catalogs(Brought(root=place.root, repository=place.repository), settings)
    found, shown = catalogs.instructions, catalogs.instructions.section(settings.instructions_characters)
    for name, why in found.unreadable.items():
        yield note("requests", f"{name} is in no prompt: {why}", "mend the file, or remove it")
    named = " and ".join(found.texts) or "no AGENTS.md"
    yield ok("requests", f"instructions: {ABOUT} {tokens_of(shown)} tokens in each ({named})")
    skills = catalogs.skills
    yield ok("requests", f"skills: {ABOUT} {tokens_of(skills.section)} tokens in each ({len(skills.skills)})")
    seen = seen_tokens(place.root)
    for server in catalogs.configured:
        told = f"{ABOUT} {seen[server]} tokens in each once connected" if server in seen else UNSEEN
        yield ok("requests", f"MCP server {server}: {told}")


EXAMINATIONS: tuple[tuple[str, Callable[[Place], Iterator[Point]]], ...] = (
    ("machine", _machine),
    ("repository", _repository),
    ("sandbox", _sandbox),
    ("trust", _trust),
    ("model", _model),
    ("checks", _checks),
    ("requests", _requests),
    ("team", _team),
)
