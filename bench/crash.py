"""What SIGKILL at random moments loses or does twice: our mail and claims, beside a SQLite queue.

`python -m bench.crash` prints one JSON object. Of ours senders, receivers, leads and claimers are killed
and frozen and their files spoiled; of the peer only the receiver is killed, between what it takes and
what it has done. Every loss and every second effect of ours is a fault.
"""

from __future__ import annotations

import argparse
import logging
import os
import sys
import time
from collections import Counter
from multiprocessing import get_context
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

from bench.boxes import Sqlite
from bench.side_by_side import Bench, Goal, broken, scratch
from coordination.team_root import create_team
from tests.support import claim_chaos, mail_chaos

if TYPE_CHECKING:
    from multiprocessing.context import ForkServerProcess

GOALS = tuple(
    Goal(name=name, limit=0)
    for name in ("mail_lost", "mail_doubled", "mail_torn", "mail_out_of_order", "claims_with_a_fault")
)
FORKS = get_context("forkserver")
PATIENCE = 900.0


def mail(bench: Bench, place: Path, size: mail_chaos.Size, random: Random) -> None:
    """Our mail, whoever is killed."""
    chaos = mail_chaos.Chaos(create_team(place, place), size, random)
    started = time.perf_counter()
    chaos.run(patience_seconds=PATIENCE)
    bench.faults += broken(place)
    bench.add(mail_kills=chaos.kills, mail_freezes=chaos.freezes, mail_s=time.perf_counter() - started)
    for number, name in enumerate(size.recipients):
        senders = [f"sender{sender}" for sender in range(size.senders)]
        numbers = range(number, size.messages, len(size.recipients))
        arrived = [delivery.message.content for delivery in mail_chaos.conversation(chaos.team, name)]
        _count(bench, "mail", arrived, {s: [mail_chaos.text_of(s, n) for n in numbers] for s in senders})


def _count(bench: Bench, kind: str, arrived: list[str], sent: dict[str, list[str]]) -> None:
    """`sent` has the texts of each sender in their order."""
    expected = {text for texts in sent.values() for text in texts}
    counts = Counter(arrived)
    places = {text: place for place, text in reversed(list(enumerate(arrived)))}
    orders = [[places[text] for text in texts if text in places] for texts in sent.values()]
    found = {
        "lost": len(expected - counts.keys()),
        "doubled": sum(number - 1 for number in counts.values()),
        "torn": len(counts.keys() - expected),
        "out_of_order": sum(order != sorted(order) for order in orders),
    }
    for what, number in found.items():
        bench.add(**{f"{kind}_{what}": number})


def claims(bench: Bench, place: Path, size: claim_chaos.Size, random: Random) -> None:
    """Our claims, whoever is killed."""
    started = time.perf_counter()
    outcome = claim_chaos.contend(create_team(place, place), size, random, patience_seconds=PATIENCE)
    bench.add(
        claim_kills=outcome.kills,
        claims_contested=outcome.contested,
        claims_reclaimed=outcome.acted["reclaimed"],
        late_writes_refused=outcome.acted["refused"],
        claims_with_a_fault=len(outcome.faults),
        claims_s=time.perf_counter() - started,
    )
    bench.faults += outcome.faults[:10]


def _receive(place: str) -> None:
    """Take a batch, have its effect, go on."""
    queue = Sqlite.__new__(Sqlite)
    queue._path = Path(place) / "queue.db"  # noqa: SLF001 - the table is there
    queue.open()
    effects = os.open(Path(place) / "effects", os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    while True:
        for text in queue.take():
            os.write(effects, f"{text}\n".encode())
            os.fsync(effects)


def _receiver(place: Path) -> ForkServerProcess:
    receiver = FORKS.Process(target=_receive, args=(str(place),), daemon=True)
    receiver.start()
    return receiver


def sqlite_mail(bench: Bench, place: Path, messages: int, random: Random) -> None:
    """The peer, its receiver killed every few milliseconds."""
    queue = Sqlite(place)
    queue.open()
    sent = [f"message {number}" for number in range(messages)]
    effects, kills, before = place / "effects", 0, 0
    effects.touch()
    receiver = _receiver(place)
    for text in sent:
        queue.send(text)
        time.sleep(0.002)
        if random.random() < 0.1 and effects.stat().st_size > before:
            receiver.kill()
            receiver.join()
            before, kills = effects.stat().st_size, kills + 1
            receiver = _receiver(place)
    while _rows(queue):
        time.sleep(0.01)
    _settle(effects)
    receiver.kill()
    receiver.join()
    bench.add(sqlite_kills=kills)
    _count(bench, "sqlite", effects.read_text("utf-8").splitlines(), {"one": sent})


def _settle(effects: Path) -> None:
    """The last batch, which is out of the table already, has had its effect."""
    size = -1
    while size != (size := effects.stat().st_size):
        time.sleep(0.2)


def _rows(queue: Sqlite) -> int:
    return int(queue._db.execute("select count(*) from q").fetchone()[0])  # noqa: SLF001


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--messages", type=int, default=200, help="of each of 10 senders")
    parser.add_argument("--claims", type=int, default=5000, help="contested ones of 8 claimers")
    parser.add_argument("--quick", action="store_true", help="little of everything, to see that it runs")
    parser.add_argument("--dir", type=Path, help="where to measure; without it beside the project")
    options = parser.parse_args()
    if options.quick:
        options.messages, options.claims = 16, 100
    logging.getLogger("coordination").setLevel(logging.ERROR)  # what is spoiled here is spoiled on purpose
    bench, random = Bench("crash", GOALS), Random(options.seed)
    with scratch(options.dir) as place:
        bench.rounds(1, lambda: _measure(bench, place, options, random))
    for goal in bench.goals:
        if goal.name in bench.figures:
            bench.ratios[goal.name] = sum(bench.figures[goal.name])
    return bench.report()


def _measure(bench: Bench, place: Path, options: argparse.Namespace, random: Random) -> None:
    senders, last_token = (4, 40) if options.quick else (10, 200)
    letters = mail_chaos.Size(senders=senders, messages=options.messages, pace_seconds=0.1, tick_seconds=0.1)
    wanted = claim_chaos.Size(claims=options.claims, tick_seconds=0.1, last_token=last_token)
    mail(bench, _made(place / "mail"), letters, random)
    claims(bench, _made(place / "claims"), wanted, random)
    sqlite_mail(bench, _made(place / "sqlite"), 10 * options.messages, random)


def _made(place: Path) -> Path:
    place.mkdir()
    return place


if __name__ == "__main__":
    sys.exit(main())
