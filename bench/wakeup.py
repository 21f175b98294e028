"""How soon mail between two processes is seen, beside plain inotify, and what an idle member costs.

`python -m bench.wakeup` prints one JSON object. A latency reaches from before the sender's append to the
moment at which the receiver holds the message and the sender's fsync is done, whichever is later; `seen`
is the receiver's part alone. The idle member is a real teammate process.
"""

from __future__ import annotations

import argparse
import ctypes
import multiprocessing
import os
import random
import statistics
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import psutil

from bench.boxes import Leadhand
from bench.side_by_side import Bench, Goal, broken, scratch
from coordination import layout
from coordination.leadership import Leadership
from coordination.liveness import Beat
from coordination.mail.bearers import LEAD
from coordination.mail.mailbox import Inbox
from coordination.mail.positions import Positions
from coordination.roster import Roster
from coordination.team_root import create_team, open_team
from coordination.wakeup import Wakeup

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from coordination.team_root import Team

GOALS = (
    Goal(name="p50_ms", limit=1.0),
    Goal(name="p50_of_inotify", limit=3.0),
    Goal(name="idle_percent_of_a_core", limit=0.5),
)
FORKS = multiprocessing.get_context("fork")
PATIENCE = 60.0
GAP_SECONDS = 0.004
IN_MODIFY, IN_CREATE = 0x2, 0x100
SETTLING_SECONDS = 4.0  # in which a new teammate imports and takes its first look


class Inotify:
    """The limit: one append and fsync, one watch, one read."""

    def __init__(self, place: Path) -> None:
        self._path = place / "direct.jsonl"
        self._path.touch()

    def join(self) -> None:
        self._descriptor = os.open(self._path, os.O_WRONLY | os.O_APPEND)

    def send(self, text: str) -> None:
        os.write(self._descriptor, text.encode() + b"\n")
        os.fsync(self._descriptor)

    def open(self) -> None:
        libc = ctypes.CDLL(None, use_errno=True)
        self._events = libc.inotify_init1(os.O_CLOEXEC)
        if libc.inotify_add_watch(self._events, os.fsencode(self._path), IN_MODIFY | IN_CREATE) < 0:
            raise OSError(ctypes.get_errno(), "inotify")
        self._reader = self._path.open("rb", buffering=0)

    def take(self) -> list[str]:
        os.read(self._events, 4096)
        return self._reader.read(1 << 16).decode().split()


class Ours:
    """Mail to the lead, seen through `Wakeup` and `Inbox`."""

    def __init__(self, place: Path) -> None:
        self._place = place
        self._peer = Leadhand(place)

    def join(self) -> None:
        self._peer.join(0)

    def send(self, text: str) -> None:
        self._peer.send(text)

    def open(self) -> None:
        team = open_team(self._place)
        self._inbox = Inbox(team, LEAD, Leadership(team).take(), Roster(team, LEAD), Positions())
        self._wakeup = Wakeup(team, [layout.inbox(LEAD)])

    def take(self) -> list[str]:
        deliveries = self._inbox.read_new()
        if not deliveries:
            self._wakeup.wait(1.0)
        for delivery in deliveries:
            self._inbox.positions.take(delivery)
        return [delivery.message.content for delivery in deliveries]


def latencies(peer: Inotify | Ours, count: int, *, seed: int) -> tuple[list[float], list[float], list[str]]:
    """Milliseconds of so many messages, the same until they were seen, and what was wrong."""
    ready, out = FORKS.Event(), FORKS.Queue()

    def receive() -> None:
        peer.open()
        ready.set()
        seen: list[tuple[int, int]] = []
        deadline = time.monotonic() + PATIENCE
        while len(seen) < count and time.monotonic() < deadline:
            seen += [(int(text), time.monotonic_ns()) for text in peer.take()]
        out.put(seen)
        out.close()
        out.join_thread()
        os._exit(0)

    receiver = FORKS.Process(target=receive)
    receiver.start()
    ready.wait(PATIENCE)
    peer.join()
    pause = random.Random(seed)
    begun, durable = [], []
    for number in range(count):
        time.sleep(GAP_SECONDS * (0.5 + pause.random()))
        begun.append(time.monotonic_ns())
        peer.send(str(number))
        durable.append(time.monotonic_ns())
    seen = out.get(timeout=PATIENCE)
    receiver.join(PATIENCE)
    if [number for number, _ in seen] != list(range(count)):
        return [], [], [f"{type(peer).__name__}: lost, doubled or out of order"]
    noticed = [(at - begin) / 1e6 for (_, at), begin in zip(seen, begun, strict=True)]
    synced = [(at - begin) / 1e6 for at, begin in zip(durable, begun, strict=True)]
    return [max(pair) for pair in zip(noticed, synced, strict=True)], noticed, []


def idle_percent(place: Path, seconds: float) -> float:
    """CPU time of a teammate that has nothing to do, in percent of one core."""
    subprocess.run(["git", "init", "--quiet", str(place)], check=True)
    subprocess.run(
        ["git", "-C", str(place), *_AUTHOR, "commit", "-q", "--allow-empty", "-m", "Start"], check=True
    )
    team = create_team(place, place)
    beat = Beat(team, layout.bearer(LEAD, Leadership(team).take()))
    environment = os.environ | {"ANTHROPIC_API_KEY": "none", "MODEL_ID": "none"}
    command = [sys.executable, "-P", "-m", "agent_worker", "--team", str(place), "--name", "idle"]
    quiet = subprocess.DEVNULL
    with (
        beating(beat.beat),
        subprocess.Popen(command, env=environment, stdout=quiet, stderr=quiet) as process,
    ):
        try:
            return _cpu_percent(process.pid, team, seconds)
        finally:
            process.terminate()


_AUTHOR = ("-c", "user.name=bench", "-c", "user.email=bench@localhost")


def _cpu_percent(pid: int, team: Team, seconds: float) -> float:
    deadline = time.monotonic() + PATIENCE
    while Roster(team, "person").member("idle") is None:
        if time.monotonic() > deadline:
            raise TimeoutError("the teammate did not join")
        time.sleep(0.05)
    time.sleep(SETTLING_SECONDS)
    process = psutil.Process(pid)
    before, started = sum(process.cpu_times()[:4]), time.monotonic()
    time.sleep(seconds)
    return 100.0 * (sum(process.cpu_times()[:4]) - before) / (time.monotonic() - started)


@contextmanager
def beating(beat: Callable[[], None]) -> Iterator[None]:
    """The lead is seen to live."""
    over = threading.Event()

    def keep() -> None:
        beat()
        while not over.wait(2.0):
            beat()

    thread = threading.Thread(target=keep)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--messages", type=int, default=200)
    parser.add_argument("--idle-seconds", type=float, default=20.0)
    parser.add_argument("--quick", action="store_true", help="one short round, to see that it runs")
    parser.add_argument("--dir", type=Path, help="where to measure; without it beside the project")
    options = parser.parse_args()
    if options.quick:
        options.rounds, options.messages, options.idle_seconds = 1, 50, 3.0
    bench = Bench("wakeup", GOALS)
    with scratch(options.dir) as place:
        rounds = iter(range(options.rounds))

        def work() -> None:
            number = next(rounds)
            for kind in (Inotify, Ours):
                where = place / f"{kind.__name__}{number}"
                where.mkdir()
                name = kind.__name__.lower()
                taken, seen, faults = latencies(kind(where), options.messages, seed=number)
                bench.faults += [*faults, *(broken(where) if kind is Ours else [])]
                for what, values in ((f"{name}", taken), (f"{name}_seen", seen)):
                    cuts = statistics.quantiles(values, n=100) if values else [PATIENCE * 1e3] * 99
                    bench.add(**{f"{what}_p50_ms": cuts[49], f"{what}_p99_ms": cuts[98]})

        bench.rounds(options.rounds, work)
        (place / "idle").mkdir()
        bench.add(idle_percent=idle_percent(place / "idle", options.idle_seconds))
        bench.faults += broken(place / "idle")
    bench.ratios["p50_ms"] = bench.median("ours_p50_ms")
    bench.ratios["p50_of_inotify"] = bench.median("ours_p50_ms") / bench.median("inotify_p50_ms")
    bench.ratios["idle_percent_of_a_core"] = bench.median("idle_percent")
    return bench.report()


if __name__ == "__main__":
    sys.exit(main())
