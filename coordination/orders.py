"""What a running process is told to do at once, asked for by a question on disk: mail orders nothing.

A shutdown ends the process in order; an interrupt cancels the tool that runs, so that mail need not wait for
its end; a compaction sums the conversation up before the next model call, and is told to a name, so that
whoever bears it next heeds it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from coordination import layout
from coordination.mail.bearers import LEAD
from coordination.protocols import ORDERS, Kind, order_refusal
from coordination.records import MemberState, Verdict

if TYPE_CHECKING:
    from coordination.records import Message, Request
    from coordination.stores import Stores


def ask_to_stop(stores: Stores, bearer: str) -> str:
    """The process `alice~7`, or the lead of a term, finds a request to stop; returns its id."""
    name = bearer.partition("~")[0]
    request = stores.requests.ask(Kind.SHUTDOWN, bearer, reviewer=bearer, question=f"stop {name}").id
    stores.events.record("asked_to_stop", member=name, request=request)
    return request


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


def ask_to_compact(stores: Stores, name: str, focus: str) -> bool:
    """The member is asked to sum up its conversation, `focus` above all; False when it does not run."""
    if _present(stores, name) is None:
        return False
    stores.requests.ask(Kind.COMPACT, name, reviewer=name, question=focus)
    stores.events.record("compaction_asked", member=name)
    return True


def orders(stores: Stores) -> list[Request]:
    """What the person or the present lead tells this process to do; an order of anybody else is denied.

    They stay open until they are followed and `followed` says so.
    """
    newest = stores.leadership.newest()
    found = []
    for question in (asked.question for asked in stores.requests.open()):
        if question.kind not in ORDERS or not _is_for(stores.actor, question):
            continue
        refusal = order_refusal(question, present_term=newest[0] if newest else 0)
        if refusal:
            stores.requests.decide(question.id, Verdict.DENY, reason=refusal)
            stores.events.record("order_refused", request=question.id, why=refusal)
        else:
            found.append(question)
    return found


def followed(stores: Stores, order: Request) -> None:
    """What the order wants is done, or will be whoever dies."""
    stores.requests.decide(order.id, Verdict.APPROVE)


def _is_for(actor: str, order: Request) -> bool:
    return order.reviewer == (actor.partition("~")[0] if order.kind == Kind.COMPACT else actor)


def _present(stores: Stores, name: str) -> str | None:
    if name == LEAD:
        newest = stores.leadership.newest()
        return layout.bearer(LEAD, newest[0]) if newest and not newest[1].ended else None
    member = stores.roster.member(name)
    return member.bearer if member and member.state is MemberState.ALIVE else None
