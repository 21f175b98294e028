"""The entry of a teammate process: `python -P -m agent_worker --team DIR --name NAME`."""

from __future__ import annotations

import argparse
import json
import logging
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import anyio

from agent_worker.compose import Teammate
from coordination.errors import TeamError
from coordination.process import known_dead, this_process
from coordination.profile import agree_on_profile
from coordination.records import MemberState
from coordination.roster import Roster
from coordination.runs import Runs
from coordination.team_root import open_team
from harness.catalogs import find_catalogs
from harness.settings import load_settings
from harness.stop_signals import ignore_stop_signals

if TYPE_CHECKING:
    from collections.abc import Sequence

    from coordination.records import Member
    from coordination.team_root import Team
    from harness.settings import Settings

FAILED = 1
USAGE = 2  # a name, a team or settings that will not do
HAS_LIVED = {MemberState.ALIVE, MemberState.CLOSING, MemberState.SUPERSEDED}

logger = logging.getLogger(__name__)


def join(team: Team, name: str, spawn_id: str | None, settings: Settings) -> tuple[Member, Member | None]:
    """The process is the member now: of a start that was asked for, or by hand.

    By hand it goes on for a dead process of that name, which comes second. Raises StartWithdrawn,
    NameTaken, NameInvalid, NameReserved, and Superseded when another process was first.
    """
    roster = Roster(team, "person" if spawn_id is None else name)
    if spawn_id is None:
        former = roster.member(name)
        if (
            former
            and former.state in HAS_LIVED
            and former.process
            and known_dead(former.process, this_process())
        ):
            return roster.restart(name, after=former.incarnation), former
        start = roster.start(
            name,
            launcher="hand",
            model=settings.worker_model_id or settings.model_id,
            digests=_digests(team, settings),
        )
        spawn_id = start.spawn_id
    return roster.come_alive(name, spawn_id), None


def _digests(team: Team, settings: Settings) -> dict[str, str]:
    """Of what the open run offers its members; without a run, of what is there now."""
    run = Runs(team, "person").open_run()
    return run.digests if run else find_catalogs(team.repository, settings).pin(team.directory)


def serve(team: Team, member: Member, settings: Settings, former: Member | None) -> None:
    """The teammate lives until it is asked to stop; its name is then closed."""
    teammate = Teammate(team, member, settings, former)
    by_hand = member.launcher == "hand"
    why = "it failed; " + ("the terminal it was started in" if by_hand else "its log") + " says why"
    teammate.keeper.start()
    teammate.stores.events.record("alive", role=member.role)
    try:
        worker = teammate.worker()
        anyio.run(worker.run)
        why = worker.why
    finally:
        teammate.close(why)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a teammate; the exit code is 0 after a clean end, 2 if it could not join."""
    parser = argparse.ArgumentParser(prog="agent_worker", description=__doc__)
    parser.add_argument("--team", type=Path, required=True, help="the team root")
    parser.add_argument("--name", required=True)
    parser.add_argument("--spawn-id", help="of the start that the lead recorded")
    parser.add_argument("--settings-on-stdin", action="store_true", help="settings as one JSON object")
    options = parser.parse_args(arguments)
    ignore_stop_signals()  # until the teammate's own receiver hears them, which is soon
    logging.basicConfig(format="%(asctime)s %(levelname)s %(message)s", level=logging.INFO, stream=sys.stderr)
    logging.getLogger("httpx2").setLevel(logging.WARNING)  # a line per model call says nothing to a person
    code = USAGE
    try:
        given = json.load(sys.stdin) if options.settings_on_stdin else {}
        team = open_team(options.team.resolve())
        agree_on_profile(team)
        settings = load_settings(team.root, given)
        member, former = join(team, options.name, options.spawn_id, settings)
        if options.spawn_id is None:
            print(f"{member.name} is on the team at {team.root}; Ctrl-C stops it")  # noqa: T201 - somebody sits here
        code = FAILED
        serve(team, member, settings, former)
    except TeamError as error:
        print(f"leadhand worker: {error}", file=sys.stderr)  # noqa: T201 - its log, or the terminal it was started in
        return code
    except Exception:  # the border of the process: recorded, never hidden
        logger.exception("the teammate failed", extra={"action": "worker_failed"})
        return FAILED
    return 0


if __name__ == "__main__":
    sys.exit(main())
