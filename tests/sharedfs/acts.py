"""What processes on the hosts do, one act each: `python -m tests.sharedfs.acts ROOT ACT …`."""

from __future__ import annotations

import json
import os
import signal
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import filelock
import psutil

from agent_worker.post import Post
from coordination import layout
from coordination.clock import SystemClock
from coordination.joining import ProfileWatch, agree_on_profile
from coordination.mail.bearers import RecipientGone
from coordination.mail.outbox import DeliveryInDoubt
from coordination.stores import open_stores
from coordination.tasks.drafts import TaskDraft
from coordination.tasks.refusals import AlreadyOwned, Claimant
from coordination.tasks.store import TaskStore
from coordination.team_root import Team, create_team
from harness.settings.settings import Settings
from tests.support.mail import join
from tests.support.mail_journal import JournaledReceiver

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from coordination.records import Message

PATIENCE_SECONDS = 60.0
LEAVER, LEFT = "leaver", "left"
CLOCK = SystemClock()


def say(**facts: object) -> None:
    print(json.dumps(facts), flush=True)  # noqa: T201 - read by the test


def until(condition: Callable[[], bool], meanwhile: Callable[[], object] = lambda: None) -> None:
    deadline = CLOCK.monotonic() + PATIENCE_SECONDS
    while not condition():
        assert CLOCK.monotonic() < deadline
        meanwhile()
        CLOCK.sleep(0.005)


def meet(team: Team, point: str, name: str, others: Sequence[str]) -> None:
    """All of them are there, as far as each can see."""
    wanted = {f"{point}.{other}" for other in others}
    team.directory.touch(f"{layout.READY}/{point}.{name}")
    until(lambda: wanted <= set(team.directory.names(layout.READY)))


def greet(team: Team) -> None:
    """Be a member that answers hosts which join, until killed; say each change of the profile."""
    join(team, "greeter")
    agree_on_profile(team)
    watch = ProfileWatch(team)
    say(greets=True)
    while True:
        if watch.look():
            say(profile=team.mount.profile)
        CLOCK.sleep(0.05)


def take_part(team: Team) -> None:
    """The host joins; say with what profile."""
    say(profile=agree_on_profile(team))


def make_tasks(team: Team, count: str) -> None:
    """So many tasks may be claimed."""
    store = TaskStore(team, "person")
    tasks = store.create([TaskDraft(subject=f"task {number}") for number in range(int(count))])
    store.publish(task.id for task in tasks)


def claim(team: Team, name: str, rounds: str, *others: str) -> None:
    """In each round all want the first task at the same moment; say who got it, by the token or the owner."""
    store, me = TaskStore(team, f"{name}~2"), Claimant(name=name, incarnation=2)
    task = store.all()[0].id
    for number in range(int(rounds)):
        meet(team, f"claim-{number}", name, others)
        try:
            token = store.claim(task, me).token
            say(round=number, winner=name, token=token)
        except AlreadyOwned as refusal:
            token = None
            say(round=number, winner=refusal.owner)
        meet(team, f"seen-{number}", name, others)
        if token is not None:
            store.release(task, token, "the round is over")


def take(team: Team, name: str, *others: str) -> None:
    """Claim what can be had until nothing is left; say what that was."""
    store, me, taken = TaskStore(team, f"{name}~2"), Claimant(name=name, incarnation=2), []
    meet(team, "take", name, others)
    while task := store.claim_next(me):
        taken.append(task.id)
        store.cancel(task.id, "seen")
        store.refresh_views()
    say(taken=taken)


def hold_lock(team: Team) -> None:
    """Take the lock of the tasks directory, and stand still until killed."""
    with filelock.FileLock(team.root / layout.TASKS_LOCK):
        say(held=True)
        os.kill(os.getpid(), signal.SIGSTOP)


def mail(team: Team, name: str, other: str, count: str) -> None:
    """Send so many messages to the other and take its own in between; the leaver leaves half-way."""
    member = join(team, name)
    agree_on_profile(team)
    watch, stores = ProfileWatch(team), open_stores(team, member.bearer)
    post, receiver = Post(stores, member, Settings()), JournaledReceiver(team, name)
    taken: list[Message] = []
    lost: list[tuple[int, str]] = []

    def look() -> None:
        taken.extend(receiver.receive())
        watch.look()

    say(joined=name)
    until(lambda: stores.roster.member(other) is not None, look)
    for number in range(int(count) // 2 if name == LEAVER else int(count)):
        try:
            stores.outbox.send(other, f"{number} {'x' * (number * 37 % 3000)}", message_id=f"{name}-{number}")
        except (RecipientGone, DeliveryInDoubt) as error:
            lost.append((number, type(error).__name__))
        look()
    if name != LEAVER:  # whatever a leaver could not take any more is back with its sender
        until(lambda: len(taken) >= int(count) or LEFT in team.directory.names(layout.READY), look)
        look()
    post.close("done")
    if name == LEAVER:
        team.directory.touch(f"{layout.READY}/{LEFT}")
    say(profile=team.mount.profile, lost=lost)


def sweep(team: Team, place: str) -> None:
    """No process of the team is left on this host; say which there were."""
    me = psutil.Process()
    mine = {me.pid, *(parent.pid for parent in me.parents())}
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            words = " ".join(process.cmdline())
            is_ours = str(team.root) in words or place in words or process.cwd().startswith(str(team.root))
            if process.pid not in mine and is_ours:
                print(words)  # noqa: T201 - likewise
                process.kill()


ACTS = {act.__name__: act for act in (greet, take_part, make_tasks, claim, take, hold_lock, mail, sweep)}

if __name__ == "__main__":
    _, root, act, *arguments = sys.argv
    place = Path(root)
    ACTS[act](create_team(place, place), *arguments)
