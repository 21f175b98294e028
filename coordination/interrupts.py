"""Interrupts: mail that is not to wait for the end of the running tool, asked for by a question on disk."""

from __future__ import annotations

from typing import TYPE_CHECKING

from coordination import layout
from coordination.bearers import LEAD
from coordination.protocols import Kind, order_refusal
from coordination.records import MemberState, Verdict

if TYPE_CHECKING:
    from coordination.records import Message
    from coordination.stores import Stores


def ask_to_interrupt(stores: Stores, message: Message) -> bool:
    """The recipient of the message, which is written, is asked to cancel the tool that it runs.

    False when no process is there to be asked; whoever comes reads its mail first. Mail itself
    interrupts nobody: what a person's file says is unproven.
    """
    bearer = _present(stores, message.to)
    if bearer is None:
        return False
    stores.requests.ask(Kind.INTERRUPT, bearer, reviewer=bearer, question=message.id)
    stores.events.record("interrupted", member=message.to, message=message.id)
    return True


def take_interrupts(stores: Stores) -> bool:
    """True when the person or the present lead asked this process to interrupt; each one is answered."""
    newest = stores.leadership.newest()
    obeyed = False
    for asked in stores.requests.open():
        question = asked.question
        if (question.kind, question.subject) != (Kind.INTERRUPT, stores.actor):
            continue
        refusal = order_refusal(
            asked, kind=Kind.INTERRUPT, me=stores.actor, present_term=newest[0] if newest else 0
        )
        verdict = Verdict.DENY if refusal else Verdict.APPROVE
        stores.requests.decide(question.id, verdict, reason=refusal or "")
        obeyed = obeyed or refusal is None
    return obeyed


def _present(stores: Stores, name: str) -> str | None:
    if name == LEAD:
        newest = stores.leadership.newest()
        return layout.bearer(LEAD, newest[0]) if newest and not newest[1].ended else None
    member = stores.roster.member(name)
    if member is None or member.state is not MemberState.ALIVE or member.incarnation is None:
        return None
    return layout.bearer(name, member.incarnation)
