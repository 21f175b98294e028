"""What the processes of the mail tests do; importable, so that a spawned process finds it."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import TYPE_CHECKING

from coordination.clock import SystemClock
from coordination.team_root import open_team
from tests.support.mail import Receiver, join, outbox

if TYPE_CHECKING:
    from multiprocessing.synchronize import Barrier


def send_together(root: str, name: str, count: int, barrier: Barrier) -> None:
    """Join, wait for all others, then send so many numbered messages to bob."""
    team = open_team(Path(root))
    join(team, name)
    sender = outbox(team, name)
    barrier.wait()
    for number in range(count):
        sender.send("bob", f"{number} {'x' * (number * 37 % 3000)}")


def send_for_ever(root: str, name: str, first: int) -> None:
    """Send numbered messages, each with the id that a successor gives it too."""
    sender = outbox(open_team(Path(root)), name)
    for number in itertools.count(first):
        sender.send("bob", str(number), message_id=f"call_{number}")


def receive_for_ever(root: str, name: str) -> None:
    """Take mail, a few messages at a time."""
    receiver = Receiver(open_team(Path(root)), name)
    while True:
        deliveries = receiver.inbox.read_new(limit=20)
        receiver.take(deliveries)
        if not deliveries:
            SystemClock().sleep(0.002)
