"""Mail side by side with a SQLite queue that acknowledges and with plain appends, all durable.

`python -m bench.mailbox` prints one JSON object: messages per second from 1 and from 8 senders to one
receiver, one delivery behind a backlog, and the start of a successor after it. Counts what is lost,
doubled or out of order.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from bench.boxes import PEERS, Leadhand, Peer, Taker
from bench.side_by_side import Bench, Goal, broken, scratch
from coordination import layout
from coordination.leadership import Leadership
from coordination.mail.bearers import LEAD
from coordination.team_root import create_team

if TYPE_CHECKING:
    from multiprocessing.synchronize import Event


GOALS = (
    Goal(name="8_to_1_of_sqlite", limit=1.5, at_least=True),
    Goal(name="1_to_1_of_sqlite", limit=0.6, at_least=True),
    Goal(name="delivery_behind_backlog", limit=1.5),
    Goal(name="successor_start_seconds", limit=0.3),
)
BODY = "x" * 200
FEW = 10  # messages in the small backlog
FORKS = multiprocessing.get_context("fork")
PATIENCE = 60.0


def _send(peer: Peer, sender: int, seconds: float, go: Event, out: multiprocessing.Queue[int]) -> None:
    peer.join(sender)
    out.put(-1)
    go.wait(PATIENCE)
    number, end = 0, time.monotonic() + seconds
    while time.monotonic() < end:
        peer.send(json.dumps({"sender": sender, "number": number, "body": BODY}))
        number += 1
    out.put(number)


def throughput(bench: Bench, kind: str, place: Path, *, senders: int, seconds: float) -> float:
    """Messages taken per second, the durable acknowledgement included."""
    place.mkdir()
    peer = PEERS[kind](place)
    go, out = FORKS.Event(), FORKS.Queue()
    processes = [
        FORKS.Process(target=_send, args=(peer, sender, seconds, go, out)) for sender in range(senders)
    ]
    for process in processes:
        process.start()
    for _ in processes:
        out.get(timeout=PATIENCE)
    result = FORKS.Queue()
    receiver = FORKS.Process(target=_receive, args=(peer, senders, go, out, result))
    receiver.start()
    taken, elapsed, faults = result.get(timeout=PATIENCE + seconds)
    for process in (*processes, receiver):
        process.join(PATIENCE)
    bench.faults += [f"{kind} {senders}->1: {fault}" for fault in faults]
    bench.faults += broken(place) if kind == "leadhand" else []
    return float(taken / elapsed)


def _receive(
    peer: Peer,
    senders: int,
    go: Event,
    out: multiprocessing.Queue[int],
    result: multiprocessing.Queue[tuple[int, float, list[str]]],
) -> None:
    peer.open()
    arrived: dict[int, list[int]] = {sender: [] for sender in range(senders)}
    sent: list[int] = []
    start, last = time.monotonic(), 0.0
    go.set()
    while len(sent) < senders or sum(map(len, arrived.values())) < sum(sent):
        for text in peer.take():
            message = json.loads(text)
            arrived[message["sender"]].append(message["number"])
            last = time.monotonic()
        while not out.empty():
            sent.append(out.get())
        if time.monotonic() - start > PATIENCE:
            break
    wrong = [numbers for numbers in arrived.values() if numbers != list(range(len(numbers)))]
    taken = sum(map(len, arrived.values()))
    faults = ["doubled or out of order"] * bool(wrong) + ["lost"] * (taken != sum(sent))
    result.put((taken, last - start, faults))
    result.close()
    result.join_thread()
    os._exit(0)  # threads of the wake-up are not waited for


class Backlog:
    """A lead that has taken so many messages, and one sender."""

    def __init__(self, place: Path, messages: int) -> None:
        self.team = create_team(place, place)
        self._place = place
        peer = Leadhand(place)
        peer.join(0)
        self._send = peer.send
        self._plant(messages)
        self.taker = Taker(self.team)
        taken = len(self.taker.first)
        while taken < messages:
            taken += len(self.taker.take())

    def _plant(self, messages: int) -> None:
        """Written at once: only taking them is what a backlog is about."""
        self._send("0")
        [path] = (self._place / layout.inbox(LEAD)).glob("*.jsonl")
        line = json.loads(path.read_bytes())
        with path.open("ab") as file:
            for number in range(1, messages):
                text = json.dumps(line | {"id": f"planted_{number}", "content": BODY})
                file.write(b"\n" + text.encode() + b"\n")

    def delivery_seconds(self) -> float:
        """One message, from its look-up in the box to the durable journal line."""
        self._send("one")
        started = time.perf_counter()
        texts = self.taker.take()
        assert texts == ["one"], texts
        return time.perf_counter() - started

    def successor_seconds(self) -> float:
        """A lead of the next term is ready for mail and has looked once."""
        leadership = Leadership(self.team)
        newest = leadership.newest()
        assert newest
        leadership.end(newest[0])
        self.taker = Taker(self.team)
        assert self.taker.first == [], "delivered again"
        return self.taker.start_seconds


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=0.8)
    parser.add_argument("--backlog", type=int, default=100_000)
    parser.add_argument("--quick", action="store_true", help="one short round, to see that it runs")
    parser.add_argument("--dir", type=Path, help="where to measure; without it beside the project")
    options = parser.parse_args()
    if options.quick:
        options.rounds, options.seconds, options.backlog = 1, 0.2, 3000
    bench = Bench("mailbox", GOALS)
    with scratch(options.dir) as place:
        _measure(bench, place, options)
    return bench.report()


def _measure(bench: Bench, place: Path, options: argparse.Namespace) -> None:
    few, many = place / "few", place / "many"
    few.mkdir()
    many.mkdir()
    small, large = Backlog(few, FEW), Backlog(many, options.backlog)

    def work() -> None:
        for senders in (1, 8):
            for kind in PEERS:
                where = place / f"{kind}-{senders}-{time.monotonic_ns()}"
                rate = throughput(bench, kind, where, senders=senders, seconds=options.seconds)
                bench.add(**{f"{kind}_{senders}_to_1_per_s": rate})
        for _ in range(20):
            bench.add(delivery_behind_few_ms=1e3 * small.delivery_seconds())
            bench.add(delivery_behind_many_ms=1e3 * large.delivery_seconds())
        bench.add(successor_start_s=large.successor_seconds())

    bench.rounds(options.rounds, work)
    bench.faults += [*broken(few), *broken(many)]
    for senders in (1, 8):
        ours = bench.median(f"leadhand_{senders}_to_1_per_s")
        bench.ratios[f"{senders}_to_1_of_sqlite"] = ours / bench.median(f"sqlite_{senders}_to_1_per_s")
        bench.ratios[f"{senders}_to_1_of_raw"] = ours / bench.median(f"raw_{senders}_to_1_per_s")
    behind = bench.median("delivery_behind_many_ms") / bench.median("delivery_behind_few_ms")
    bench.ratios["delivery_behind_backlog"] = behind
    bench.ratios["successor_start_seconds"] = bench.median("successor_start_s")


if __name__ == "__main__":
    sys.exit(main())
