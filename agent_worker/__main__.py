"""The entry of a teammate process: `python -P -m agent_worker --team DIR --name NAME`."""

from __future__ import annotations

import argparse
import json
import logging
import sys
from contextlib import nullcontext, suppress
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio

from agent_worker.compose import Teammate
from coordination.concealment import conceal
from coordination.errors import TeamError
from coordination.joining import agree_on_profile
from coordination.leadership import Leadership
from coordination.process import known_dead
from coordination.records import BY_HAND, MemberState
from coordination.roster import GONE, Roster
from coordination.runs import Runs
from coordination.team_root import open_team
from harness.catalogs import find_catalogs, pinned_catalogs
from harness.mcp.sharing.link import Link
from harness.mcp.transports import alone
from harness.pinned_policy import POLICY, policy_digest
from harness.roles.catalog import TEAMMATE
from harness.settings.settings import load_settings, settings_from
from harness.settings.sources import DOTENV_FILE
from harness.stop_signals import ignore_stop_signals
from harness.trust.records import Place, TrustRecords
from workspace.git import Git
from workspace.sandbox.choice import choose

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from coordination.records import Member
    from coordination.team_root import Team
    from harness.settings.settings import Settings

FAILED = 1
USAGE = 2  # a name, a team or settings that will not do
HAS_LIVED = {MemberState.ALIVE, MemberState.CLOSING, MemberState.SUPERSEDED}

logger = logging.getLogger(__name__)


@dataclass(eq=False)
class OtherDigests(TeamError):
    """The roster says something else than the lead that started this process."""

    name: str
    says = "the roster entry of {name} names other files than its lead handed on; start the team again"


@dataclass(eq=False)
class OtherVersion(TeamError):
    """The lead of the team is another leadhand than this process."""

    lead: str
    own: str
    says = (
        "the lead of this team is leadhand {lead} and this is {own}; install that one here "
        "(pipx install --force leadhand=={lead}), or start the team again with {own}"
    )


@dataclass(eq=False)
class LeadGone(TeamError):
    """The lead that started this process died in that very moment."""

    says = (
        "the lead that started this process ended before it had handed anything on; the next lead starts anew"
    )


@dataclass(eq=False)
class TeamFull(TeamError):
    """As many members are there as may be."""

    members: int
    says = (
        "{members} teammates are there or on their way, and no more are allowed; "
        "stop one, or raise workers.max in leadhand.yaml"
    )


def join(team: Team, options: argparse.Namespace, settings: Settings) -> tuple[Member, Member | None]:
    """The process is the member now: of a start that was asked for, or by hand.

    It may go on for a dead process of that name, which comes second. Raises StartWithdrawn, NameTaken,
    NameInvalid, NameReserved, TeamFull, UnknownRole, RoleBroken, NotTrusted, and Superseded when
    another process was first.
    """
    name, spawn_id = options.name, options.spawn_id
    if spawn_id is not None and options.after is None:
        return Roster(team, name).come_alive(name, spawn_id), None
    digests = _digests(team, settings) if spawn_id is None else {}
    roster = Roster(team, "person" if spawn_id is None else name)
    former = roster.member(name)
    has_died = former and former.state in HAS_LIVED and known_dead(former.process)
    if former and (options.after is not None or has_died):
        return roster.restart(name, after=options.after or former.incarnation), former
    start = _start(team, roster, name, options.role, settings, digests)
    return roster.come_alive(name, start.spawn_id), None


def _start(
    team: Team, roster: Roster, name: str, role: str, settings: Settings, digests: dict[str, str]
) -> Member:
    """The start of a member that a person asked for in a terminal."""
    there = sum(member.state not in GONE for member in roster.all())
    if there >= settings.max_workers:
        raise TeamFull(members=there)
    described = pinned_catalogs(team.directory, digests).roles.role(role)
    model = described.model if described else None
    return roster.start(
        name,
        role=role,
        launcher=BY_HAND,
        model=model or settings.worker_model_id or settings.model_id,
        digests=digests | {POLICY: policy_digest(settings)},  # of its own, whatever its run has
    )


def _digests(team: Team, settings: Settings) -> dict[str, str]:
    """Of what the open run offers its members, without a run of what is there now; the person has seen it.

    Raises NotTrusted, OwnFileUnusable.
    """
    tracked = [DOTENV_FILE] if Git(team.repository).tracks(team.root / DOTENV_FILE) else []
    catalogs = find_catalogs(team.root, team.repository, settings, tracked=tracked)
    TrustRecords().check(catalogs.files, Place(root=team.root, repository=team.repository))
    run = Runs(team, "person").open_run()
    return run.digests if run else catalogs.pin(team.directory)


def _check_version(team: Team) -> None:
    """Who works under a lead is of its version, or the two might not mean the same. Raises OtherVersion."""
    newest, own = Leadership(team).newest(), version("leadhand")
    if newest and not newest[1].ended and newest[1].version not in {"", own}:
        raise OtherVersion(lead=newest[1].version, own=own)


def _given() -> dict[str, Any]:
    """What the lead hands on through standard input. Raises LeadGone."""
    text = sys.stdin.read()
    try:
        given: dict[str, Any] = json.loads(text)
    except ValueError as error:
        raise LeadGone from error
    return given


def _check_digests(member: Member, settings: Settings, given: Mapping[str, Any] | None) -> None:
    """A member that its lead started has the files and the policy of its lead. Raises OtherDigests."""
    if given and member.digests != given["digests"]:
        raise OtherDigests(name=member.name)
    if given and member.digests.get(POLICY) not in {None, policy_digest(settings)}:
        raise OtherDigests(name=member.name)


def serve(teammate: Teammate, member: Member, settings: Settings) -> None:
    """The teammate lives until it is asked to stop; then its name is closed, a failure told to the lead."""
    why = ""
    teammate.keeper.start()
    teammate.stores.events.record("alive", role=member.role, sandbox=settings.sandbox)
    try:
        worker = teammate.worker()
        anyio.run(worker.run)
        why = worker.why
    finally:
        failure = sys.exception()
        teammate.close(_words(failure, member) if failure else why, failed=failure is not None)


def _words(failure: BaseException, member: Member) -> str:
    """A failure in one line; of what is no error of ours only the kind, since its text may hold anything."""
    while isinstance(failure, BaseExceptionGroup):
        failure = failure.exceptions[0]
    said = str(failure) if isinstance(failure, TeamError) else type(failure).__name__
    place = "the terminal it was started in" if member.launcher == BY_HAND else "its log"
    return f"it failed: {said}; {place} says more"


def _log_to_stderr() -> None:
    logging.basicConfig(format="%(asctime)s %(levelname)s %(message)s", level=logging.INFO, stream=sys.stderr)
    logging.getLogger("httpx2").setLevel(logging.WARNING)  # a line per model call says nothing to a person


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="agent_worker", description=__doc__)
    parser.add_argument("--team", type=Path, required=True, help="the team root")
    parser.add_argument("--name", required=True)
    parser.add_argument("--role", default=TEAMMATE, help="of a member that nobody asked for before")
    parser.add_argument("--spawn-id", help="of the start that the lead recorded")
    parser.add_argument("--after", type=int, help="the dead incarnation that it goes on for")
    parser.add_argument(
        "--given-on-stdin", action="store_true", help="what the lead hands on, as one JSON object"
    )
    parser.add_argument("--mcp-link", type=int, help="descriptor of the socket to shared MCP servers")
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a teammate; the exit code is 0 after a clean end, 2 if it could not join."""
    conceal()
    options = _options(arguments)
    ignore_stop_signals()  # until the teammate's own receiver hears them, which is soon
    _log_to_stderr()
    code = USAGE
    try:
        given = _given() if options.given_on_stdin else None
        team = open_team(options.team.resolve())
        _check_version(team)
        agree_on_profile(team)
        settings = settings_from(given["settings"]) if given else load_settings(team.root)
        settings = replace(settings, sandbox=choose(settings.sandbox, team.repository))
        member, former = join(team, options, settings)
        if options.spawn_id is None:
            print(f"{member.name} is on the team at {team.root}; Ctrl-C stops it")  # noqa: T201 - somebody sits here
        code = FAILED
        _check_digests(member, settings, given)
        with nullcontext(alone) if options.mcp_link is None else Link(options.mcp_link) as shared:
            first_key = given["first_key"] if given else None
            teammate = Teammate(team, member, settings, former, first_key=first_key)
            teammate.shared = shared
            serve(teammate, member, settings)
    except TeamError as error:
        with suppress(OSError):  # the disk of its log may be full
            print(f"leadhand worker: {error}", file=sys.stderr)  # noqa: T201 - its log, or the terminal it was started in
        return code
    except Exception:  # the border of the process: recorded, never hidden
        logger.exception("the teammate failed", extra={"action": "worker_failed"})
        return FAILED
    return 0


if __name__ == "__main__":
    sys.exit(main())
