"""The person's side of questions: which are open, and the one answer that all like ones get."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from coordination.clock import iso
from coordination.json_form import scrub
from coordination.protocols import PERSON, Kind
from coordination.records import Verdict
from coordination.requests import AlreadyDecided
from harness.permissions.answers import Answers, NothingToForget, Scope, Standing, persons_directory
from harness.settings.settings import load_settings
from harness.tool import ToolFailure
from orchestrator.lead.leading import review
from workspace.sandbox.choice import is_forgery_proof

if TYPE_CHECKING:
    from coordination.records import Request
    from coordination.requests import RequestState
    from coordination.stores import Stores

FOR_PERSONS = frozenset({Kind.PLAN, Kind.PERMISSION})


@dataclass(frozen=True)
class Group:
    """Open questions about one and the same action; a plan is always alone."""

    questions: tuple[Request, ...]

    @property
    def first(self) -> Request:
        return self.questions[0]

    @property
    def askers(self) -> list[str]:
        """The names of those who wait, each once."""
        return list(dict.fromkeys(question.asker.partition("~")[0] for question in self.questions))

    @property
    def is_plan(self) -> bool:
        return self.first.kind == Kind.PLAN

    @property
    def why(self) -> str:
        return "" if self.is_plan else self.first.question.partition("\n\n")[0]

    @property
    def what(self) -> str:
        """The exact command or change, or the text of the plan."""
        return self.first.question if self.is_plan else self.first.question.partition("\n\n")[2]

    def to_json(self) -> dict[str, Any]:
        return {
            "id": self.first.id,
            "kind": self.first.kind,
            "who": self.askers,
            "subject": self.first.subject,
            "what": self.what,
            "why": self.why,
            "task": self.first.task,
            "at": self.first.at,
            "like": [question.id for question in self.questions[1:]],
        }


class Approvals:
    """What a person decides in one team; used by the commands and at the lead's terminal alike."""

    def __init__(self, stores: Stores, answers: Answers | None = None) -> None:
        """`stores` are the person's."""
        self._stores = stores
        self.answers = answers or Answers(persons_directory(), stores.team.id)

    def _is_proof(self) -> bool:
        team = self._stores.team
        return is_forgery_proof(load_settings(team.root).sandbox, team.repository)

    def open(self) -> list[Group]:
        """What waits for the person, oldest first, like ones together."""
        groups: dict[str, list[Request]] = {}
        for asked in open_to_person(self._stores):
            question = asked.question
            alike = question.content_digest if question.kind == Kind.PERMISSION else None
            groups.setdefault(alike or question.id, []).append(question)
        return [Group(tuple(questions)) for questions in groups.values()]

    def with_lead(self) -> list[Request]:
        """The plans that wait for the lead, and for no person."""
        asked = [state.question for state in self._stores.requests.open()]
        return [
            question
            for question in asked
            if question.kind == Kind.PLAN
            and question.reviewer != PERSON
            and is_asker_there(self._stores, question.asker)
        ]

    def decide(
        self, request: str, verdict: Verdict, *, reason: str = "", scope: Scope = Scope.ONCE
    ) -> Request:
        """The question and all open ones like it have this answer; a denial stands for the team.

        Raises ToolFailure, UnknownRequest, AlreadyDecided saying why it cannot be decided.
        """
        state = self._stores.requests.get(request)
        question = state.question
        if question.kind == Kind.PLAN:
            if scope is not Scope.ONCE:
                raise ToolFailure(code="plan", detail=f"{request} is a plan; a plan is approved once")
            review(self._stores, request, verdict, reason)
            return question
        _check(self._stores, state)
        alike = [group for group in self.open() if question in group.questions]
        scope = Scope.TEAM if verdict is Verdict.DENY else scope
        self._keep(question, verdict, scope, reason)  # first: whoever asked may ask again at once
        try:
            self._stores.requests.decide(request, verdict, reason=reason)
        except AlreadyDecided as won:
            self._let_stand(question, won)
            raise
        self._record(question, verdict, scope, reason)  # before others are refused by it, as far as one sees
        if scope is Scope.ONCE:
            self._forget(question)  # what a process kept that died before it could decide
        for other in (other for group in alike for other in group.questions if other.id != request):
            self._decide_alike(other.id, verdict, reason)
        return question

    def _decide_alike(self, request: str, verdict: Verdict, reason: str) -> None:
        try:
            self._stores.requests.decide(request, verdict, reason=reason)
        except AlreadyDecided:  # withdrawn meanwhile, or answered from another terminal
            return

    def _keep(self, question: Request, verdict: Verdict, scope: Scope, reason: str) -> None:
        if scope is Scope.ONCE:
            return
        answer = Standing(
            id=question.id,
            team=self._stores.team.id,
            scope=scope,
            allow=verdict is Verdict.APPROVE,
            tool=question.subject,
            shown=Group((question,)).what,
            digest=question.content_digest or "",
            asker=question.asker,
            by=PERSON,
            reason=scrub(reason),
            at=iso(self._stores.team.clock.now()),
        )
        self.answers.keep(answer)

    def _let_stand(self, question: Request, won: AlreadyDecided) -> None:
        """Of two answers given at once, the later leaves nothing standing but the denial that won."""
        self._forget(question)
        if won.verdict is Verdict.DENY:
            answer = self._stores.requests.get(question.id).answer
            self._keep(question, Verdict.DENY, Scope.TEAM, answer.reason if answer else "")

    def _forget(self, question: Request) -> None:
        with suppress(NothingToForget):
            self.answers.forget(question.id)

    def _record(self, question: Request, verdict: Verdict, scope: Scope, reason: str) -> None:
        self._stores.events.record(
            "permission_decided",
            request=question.id,
            asker=question.asker,
            verdict=str(verdict),
            scope=str(scope),
            what=Group((question,)).what,
            reason=reason,
            forgery_proof=self._is_proof(),
        )


def open_to_person(stores: Stores) -> list[RequestState]:
    """The questions that a person can still answer to somebody's use."""
    return [
        asked
        for asked in stores.requests.open()
        if asked.question.kind in FOR_PERSONS
        and asked.question.reviewer == PERSON
        and is_asker_there(stores, asked.question.asker)
    ]


def is_asker_there(stores: Stores, asker: str) -> bool:
    """True while the process that asked can use an answer."""
    newest = stores.leadership.newest()
    if newest and asker == f"lead~{newest[0]}":
        return not newest[1].ended
    return stores.roster.is_present(asker)


def _check(stores: Stores, state: RequestState) -> None:
    question = state.question
    if question.kind != Kind.PERMISSION:
        raise ToolFailure(code="not_for_you", detail=f"{question.id} is no question to a person")
    if state.answer:
        raise AlreadyDecided(request=question.id, verdict=state.answer.verdict, by=state.answer.by)
    if not is_asker_there(stores, question.asker):
        raise ToolFailure(
            code="out_of_date", detail=f"{question.asker} is gone, and its question {question.id} with it"
        )
