"""Any interleaving of appends, readings and crashes delivers each message once, in its sender's order."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from coordination import layout
from coordination.mail.positions import CHECKPOINT_KIND
from coordination.roster import Roster
from coordination.team_root import create_team
from tests.support.clock import FakeClock
from tests.support.mail import Receiver, bearer_of, delivered, join, outbox, write

if TYPE_CHECKING:
    from coordination.mail.outbox import Outbox

SENDERS = ("alice", "carol")
senders = st.sampled_from(SENDERS)


class Mail(RuleBasedStateMachine):
    """Two senders that crash and start again, one receiver that does."""

    @initialize()
    def found(self) -> None:
        self.place = tempfile.TemporaryDirectory()
        self.clock = FakeClock()
        root = Path(self.place.name)
        self.team = create_team(root, root, clock=self.clock)
        for name in ("bob", *SENDERS):
            join(self.team, name)
        self.outboxes: dict[str, Outbox] = {name: outbox(self.team, name) for name in SENDERS}
        self.sent: dict[str, list[str]] = {name: [] for name in SENDERS}
        self.receiver = Receiver(self.team, "bob")

    def source(self, name: str) -> str:
        return layout.bearer(*bearer_of(self.team, name))

    @rule(name=senders, count=st.integers(1, 4))
    def send(self, name: str, count: int) -> None:
        for _ in range(count):
            text = f"{name} {len(self.sent[name])}"
            self.outboxes[name].send("bob", text, message_id=text)
            self.sent[name].append(text)

    @rule(name=senders, back=st.integers(1, 5))
    def send_again(self, name: str, back: int) -> None:
        for text in self.sent[name][-back:]:
            self.outboxes[name].send("bob", text, message_id=text)

    @rule(name=senders, at=st.floats(0, 1))
    def tear(self, name: str, at: float) -> None:
        line = b'\n{"id":"torn","seq":1,"type":"message","from":"x","content":"torn'
        write(self.team, "bob", self.source(name), line[: int(at * len(line))])

    @rule(name=senders, garbage=st.binary(max_size=40))
    def spoil(self, name: str, garbage: bytes) -> None:
        write(self.team, "bob", self.source(name), garbage)

    @rule(name=senders)
    def restart_sender(self, name: str) -> None:
        Roster(self.team, "lead~1").restart(name)
        self.outboxes[name].close()
        self.outboxes[name] = outbox(self.team, name)

    @rule(limit=st.integers(1, 6), taken=st.integers(0, 6))
    def read_and_take_some(self, limit: int, taken: int) -> None:
        self.receiver.take(self.receiver.inbox.read_new(limit=limit)[:taken])

    @rule(taken=st.integers(0, 3))
    def crash_while_taking(self, taken: int) -> None:
        self.receiver.take(self.receiver.inbox.read_new()[:taken])
        Roster(self.team, "lead~1").restart("bob")
        self.receiver = Receiver(self.team, "bob")

    @rule()
    def checkpoint(self) -> None:
        self.receiver.write({"kind": CHECKPOINT_KIND, "positions": self.receiver.inbox.positions.to_json()})

    @rule(seconds=st.sampled_from([1.0, 15.0]))
    def time_passes(self, seconds: float) -> None:
        self.clock.advance(seconds)

    @invariant()
    def nothing_is_doubled_or_out_of_order(self) -> None:
        for name, texts in self.arrived().items():
            assert texts == self.sent[name][: len(texts)]

    def arrived(self) -> dict[str, list[str]]:
        arrived: dict[str, list[str]] = {name: [] for name in SENDERS}
        for message in delivered(self.team, "bob"):
            arrived[layout.BEARER.sub(r"\1", message.sender)].append(message.content)
        return arrived

    def teardown(self) -> None:
        try:
            self.clock.advance(60.0)
            self.receiver.receive()
            assert self.arrived() == self.sent
            assert Receiver(self.team, "bob").receive() == []
        finally:
            self.team.directory.close()
            self.place.cleanup()


Mail.TestCase.settings = settings(
    max_examples=60, stateful_step_count=25, suppress_health_check=[HealthCheck.too_slow]
)
TestMail = Mail.TestCase
