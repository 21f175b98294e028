"""What a running process is told to do at once, asked for by a question on disk: mail orders nothing.

A shutdown ends the process in order; an interrupt cancels the tool that runs, so that mail need not wait for
its end; a compaction sums the conversation up before the next model call.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from coordination import layout
from coordination.mail.bearers import LEAD
from coordination.protocols import Kind, order_refusal
from coordination.records import MemberState, Verdict

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from coordination.records import Message, Request
    from coordination.stores import Stores

ORDERS = frozenset({Kind.SHUTDOWN, Kind.INTERRUPT, Kind.COMPACT})


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
    bearer = _present(stores, name)
    if bearer is None:
        return False
    stores.requests.ask(Kind.COMPACT, bearer, reviewer=bearer, question=focus)
    stores.events.record("compaction_asked", member=name)
    return True


def take_orders(stores: Stores) -> list[Request]:
    """What the person or the present lead told this process to do; each one is answered."""
    newest = stores.leadership.newest()
    obeyed = []
    for question in (asked.question for asked in stores.requests.open()):
        if question.kind not in ORDERS or question.reviewer != stores.actor:
            continue  # only what this process has to answer is signed by who asked
        refusal = order_refusal(question, present_term=newest[0] if newest else 0)
        verdict = Verdict.DENY if refusal else Verdict.APPROVE
        stores.requests.decide(question.id, verdict, reason=refusal or "")
        if refusal:
            stores.events.record("order_refused", request=question.id, why=refusal)
        else:
            obeyed.append(question)
    return obeyed


def follow(
    orders: Iterable[Request],
    *,
    stop: Callable[[str], None],
    interrupt: Callable[[], None],
    compact: Callable[[str], None],
) -> None:
    """Each is called as the orders want it: `stop` with the reason, `compact` with its focus."""
    for order in orders:
        match order.kind:
            case Kind.SHUTDOWN:
                stop(f"{order.asker} asked it to stop")
            case Kind.INTERRUPT:
                interrupt()
            case Kind.COMPACT:
                compact(order.question)


def _present(stores: Stores, name: str) -> str | None:
    if name == LEAD:
        newest = stores.leadership.newest()
        return layout.bearer(LEAD, newest[0]) if newest and not newest[1].ended else None
    member = stores.roster.member(name)
    return member.bearer if member and member.state is MemberState.ALIVE else None
