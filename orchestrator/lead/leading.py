"""What the lead's host does for its model: start teammates, judge plans, ask for plans and for an end."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

from coordination.errors import TeamError
from coordination.identity import new_id
from coordination.orders import ask_to_stop
from coordination.protocols import Kind, review_refusal
from coordination.records import MemberState, Verdict
from coordination.roster import UnknownMember
from harness.roles.catalog import TEAMMATE
from harness.tool import ToolFailure
from orchestrator.stopping import already_gone
from orchestrator.supervisor import StartFailed

if TYPE_CHECKING:
    from collections.abc import Iterable

    from coordination.mail.outbox import Outbox
    from coordination.records import Decision, Member, Request
    from coordination.roster import StartDetails
    from coordination.stores import Stores
    from harness.off_loop import OffLoop
    from harness.roles.catalog import RoleCatalog
    from orchestrator.supervisor import Supervisor


def review(stores: Stores, request_id: str, verdict: Verdict, reason: str) -> Decision:
    """The plan has its one decision, and its author is told. Raises ToolFailure saying why it cannot.

    Used by the lead's tool and by the person's command alike.
    """
    asked = stores.requests.get(request_id)
    question = asked.question
    if question.kind != Kind.PLAN or question.task is None:
        raise ToolFailure(code="not_a_plan", detail=f"{request_id} is not a plan")
    refusal = review_refusal(
        question,
        stores.tasks.get(question.task),
        answer=asked.answer,
        asker_present=stores.roster.is_present(question.asker),
    )
    if refusal:
        raise ToolFailure(code="cannot_be_reviewed", detail=refusal)
    decision = stores.requests.decide(request_id, verdict, reason=reason)
    _tell_author(stores.outbox, question, decision)
    stores.events.record("plan_decided", request=request_id, verdict=str(verdict), reason=reason)
    return decision


def _tell_author(outbox: Outbox, question: Request, decision: Decision) -> None:
    outbox.send(
        question.asker.partition("~")[0],
        decision.reason or decision.verdict,
        type="plan_decision",
        in_reply_to=question.id,
        metadata={"request": question.id, "verdict": str(decision.verdict)},
    )


class HostOfLead:
    """Satisfies the `Leading` that the lead's tools need."""

    def __init__(  # noqa: PLR0913 - what a start takes, named once
        self,
        stores: Stores,
        supervisor: Supervisor,
        *,
        off_loop: OffLoop,
        max_workers: int,
        start: StartDetails,
        roles: RoleCatalog,
        confirmed: int = 0,
    ) -> None:
        """`start` is what each member starts with; `confirmed` of them need no further word of the person."""
        self.confirmed = confirmed
        self.waiting: list[Member] = []  # recorded as starting, to be launched once confirmed
        self._stores = stores
        self._supervisor = supervisor
        self._off_loop = off_loop
        self._max_workers = max_workers
        self._start = start
        self._roles = roles

    async def spawn(self, args: dict[str, Any]) -> str:
        """The member is `starting`; its process is launched at once, or after the person's word."""
        return await self._off_loop(self._spawn, args)

    def _spawn(self, args: dict[str, Any]) -> str:
        living = len(self._supervisor.living())
        if living >= self._max_workers:
            raise ToolFailure(
                code="max_workers", detail=f"{living} teammates are alive, more are not allowed (workers.max)"
            )
        task_id, name = args.get("task_id"), args.get("role", TEAMMATE)
        role = self._roles.role(name)
        details: StartDetails = {
            **self._start,
            "role": name,
            **({"model": role.model} if role and role.model else {}),
            "plan_required": args.get("require_plan", False),
            "reserved_task": task_id,
        }
        member = self._stores.roster.start(args["name"], spawn_id=new_id("spawn"), **details)
        if task_id:
            self._reserve(task_id, member)
        work = f"for {task_id}" if task_id else "without a task of its own, so it takes what is ready"
        if living < self.confirmed:
            self._supervisor.launch(member)
            return f"{member.name} is starting {work}; end your turn, its results will wake you"
        self.waiting.append(member)
        return f"{member.name} starts once the person has confirmed the team; end your turn"

    def _reserve(self, task_id: str, member: Member) -> None:
        try:
            self._stores.tasks.edit(task_id, reserved_for=member.name)
        except TeamError as error:
            self._stores.roster.withdraw(member.name, member.spawn_id, f"nothing to reserve: {error}")
            raise

    def check_roles(self, names: Iterable[str]) -> None:
        """Raise UnknownRole or RoleBroken for one that no member can have."""
        self._roles.check(names)

    def working(self) -> int:
        """How many members are there or on their way, without those that wait for the person's word."""
        return len(self._supervisor.living()) - len(self.still_waiting())

    def still_waiting(self) -> list[Member]:
        """Those that wait, without whom the person stopped while it was asked."""
        starts = {
            (member.name, member.spawn_id)
            for member in self._stores.roster.all()
            if member.state is MemberState.STARTING
        }
        self.waiting = [member for member in self.waiting if (member.name, member.spawn_id) in starts]
        return self.waiting

    def launch_waiting(self, members: int) -> None:
        """The person agreed to this many members in all: they are launched, the others called off."""
        self.confirmed = members
        room = max(0, members - self.working())
        for member in self.waiting[:room]:
            with suppress(StartFailed):  # the person has seen it, and the others start
                self._supervisor.launch(member)
        for member in self.waiting[room:]:
            self._stores.roster.withdraw(member.name, member.spawn_id, "not confirmed by the person")
        self.waiting = []

    def give_model(self, model: str, name: str | None = None) -> None:
        """The member that waits for the person's word has this model; without a name all that wait.

        Raises UnknownMember.
        """
        known = [member.name for member in self.still_waiting()]
        if name is not None and name not in known:
            raise UnknownMember(name=name, known=", ".join(known))
        self.waiting = [
            self._stores.roster.update(member.name, None, model=model)
            if name in {None, member.name}
            else member
            for member in self.waiting
        ]

    async def require_plan(self, teammate: str, what: str) -> str:
        """The gate of the teammate is closed until a plan is approved; an earlier plan counts no longer."""
        return await self._off_loop(self._require_plan, teammate, what)

    def _require_plan(self, teammate: str, what: str) -> str:
        member = self._alive(teammate)
        self._stores.roster.update(teammate, member.incarnation, plan_required=True)
        task = self._stores.tasks.own_unfinished(teammate)
        if task:
            self._stores.tasks.require_plan(task.id)
        self._stores.outbox.send(teammate, what, type="plan_request")
        self._stores.events.record("plan_required", member=teammate)
        return f"{teammate} changes nothing before you have approved a plan"

    async def review_plan(self, request_id: str, *, approve: bool, feedback: str) -> str:
        """The plan is decided."""
        verdict = Verdict.APPROVE if approve else Verdict.DENY
        await self._off_loop(review, self._stores, request_id, verdict, feedback)
        return f"plan {'approved' if approve else 'rejected'} ({request_id})"

    async def request_shutdown(self, teammate: str) -> str:
        """The teammate has a request to stop."""
        return await self._off_loop(self._request_shutdown, teammate)

    def _request_shutdown(self, teammate: str) -> str:
        member = self._stores.roster.member(teammate)
        if member and (gone := already_gone(member)):
            return gone
        request = ask_to_stop(self._stores, self._alive(teammate).bearer)
        return f"{teammate} was asked to stop ({request})"

    def _alive(self, name: str) -> Member:
        member = self._stores.roster.check_newest(name)
        if member.state is not MemberState.ALIVE:
            raise ToolFailure(code="not_active", detail=f"{name} is not active, it is {member.state}")
        return member
