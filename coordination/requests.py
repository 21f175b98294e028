"""Questions and their one answer, each a numbered log: 1 is the question."""

from __future__ import annotations

import secrets
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypedDict, Unpack

import msgspec

from coordination import layout
from coordination.clock import iso
from coordination.errors import InvalidRecord, TeamError
from coordination.identity import new_id
from coordination.json_form import scrub
from coordination.keys import Keyring
from coordination.numbered_log import LogKind, Logs, Record, digest
from coordination.protocols import term_to_write
from coordination.records import Decision, Request, Verdict
from coordination.signing import decision_document, is_host, is_order, order_document, secret_digest, verify

if TYPE_CHECKING:
    from collections.abc import Callable

    from coordination.signing import Signatures
    from coordination.team_root import Team


@dataclass(eq=False)
class UnknownRequest(TeamError):
    """No question has this id."""

    request: str
    says = "there is no request {request}; `leadhand status` lists the open ones"


@dataclass(eq=False)
class AlreadyDecided(TeamError):
    """The question has its answer, and there is only one."""

    request: str
    verdict: str
    by: str
    says = "{request} was already decided: {verdict} by {by}; ask again if it has to be decided anew"


@dataclass(frozen=True, kw_only=True)
class RequestState:
    """A question with the answer it has so far."""

    question: Request
    question_digest: str
    answer: Decision | None = None
    term: int = 0  # the highest that stamped it


class Details(TypedDict, total=False):
    """What a question may say beside its kind, subject and reviewer."""

    id: str
    question: str
    task: str | None
    token: int | None
    plan: int | None
    content_digest: str | None
    deadline_seconds: float | None
    default: Verdict


class RequestRules:
    """Record 1 is the question; a new lead may stamp it with its term; the first decision ends it."""

    def __init__(self, request: str, team: str, signatures: Signatures) -> None:
        self._request = request
        self._team = team
        self._signatures = signatures

    def check(self, state: RequestState | None, record: Record) -> None:
        if state is None:
            self._check_question(Request.from_json(record.body), record)
        elif state.answer is not None:
            raise InvalidRecord(why=f"the question was already decided by {state.answer.by}")
        elif "verdict" in record.body:
            self._check_decision(state, Decision.from_json(record.body))
        else:
            self._check_stamp(state, record)

    def apply(self, state: RequestState | None, record: Record) -> RequestState:
        if state is None:
            question = Request.from_json(record.body)
            return RequestState(question=question, question_digest=digest(record.body), term=question.term)
        if "verdict" in record.body:
            decision = Decision.from_json(record.body)
            return replace(state, answer=decision, term=decision.term)
        return replace(state, term=record.body["term"])

    def _check_question(self, question: Request, record: Record) -> None:
        if question.id != self._request:
            raise InvalidRecord(why="the question has another id than its log")
        if is_order(question):
            self._check_signature(question, record)

    def _check_signature(self, signed: Request, record: Record) -> None:
        self._signatures.check(order_document(self._team, record.body), signed.key, signed.signature)

    def _check_decision(self, state: RequestState, decision: Decision) -> None:
        verify(self._team, state.question, state.question_digest, decision, self._signatures)
        if decision.term < state.term:
            raise InvalidRecord(why=f"its term {decision.term} is over, {state.term} came after it")

    def _check_stamp(self, state: RequestState, record: Record) -> None:
        stamp = Request.from_json(record.body)
        if stamp.term <= state.term:
            raise InvalidRecord(why=f"its term {stamp.term} is not newer than {state.term}")
        asked = state.question.to_json()
        own = {name: asked.get(name) for name in ("term", "key", "signature")}
        if record.body | own != asked | own:
            raise InvalidRecord(why="the stamp of a new term changes the question")
        self._check_signature(stamp, record)


def request_kind(team: str, signatures: Signatures) -> LogKind[RequestState]:
    """The questions of this team, judged by these signatures."""
    return LogKind(
        name="request",
        parent=layout.REQUESTS,
        ids=layout.REQUEST_ID,
        rules=lambda request: RequestRules(request, team, signatures),
    )


class Requests:
    """The questions of the team; an object belongs to one thread and one process."""

    def __init__(
        self,
        team: Team,
        actor: str,
        term: Callable[[], int] = lambda: 0,
        *,
        keys: Keyring | None = None,
        on_ignored: Callable[[str, int, str], None] = lambda *_: None,
    ) -> None:
        """`keys` are those of this host where none were handed to the process.

        `on_ignored` hears of each record that does not count: request, number, why.
        """
        self._keys = keys or Keyring(team)
        self._on_ignored = on_ignored
        self._ignored: set[tuple[str, int]] = set()
        self._team = team
        self._actor = actor
        self._term = term
        self._kind = request_kind(team.id, self._keys)
        self._logs = Logs(team.directory, self._kind)
        self._decided: set[str] = set()
        self._secrets: dict[str, str] = {}

    def ask(self, kind: str, subject: str, *, reviewer: str, **details: Unpack[Details]) -> Request:
        """The question is on disk and open. `reviewer` is `person`, `lead`, or the member who answers.

        The secret for its withdrawal stays in this object: it dies with the process, and so does
        the question, which counts as withdrawn once its asker is closed or superseded.
        """
        details["id"] = request = details.get("id") or new_id("req")
        details["question"] = scrub(details.get("question", ""))
        secret = secrets.token_hex(16)
        question = Request(
            kind=kind,
            asker=self._actor,
            subject=subject,
            reviewer=reviewer,
            secret_digest=secret_digest(secret),
            term=term_to_write(self._actor, self._term(), 0),
            at=iso(self._team.clock.now()),
            **details,
        )

        def draft(state: RequestState | None, _: int) -> dict[str, Any]:
            if state is not None:
                raise InvalidRecord(why=f"{request} was already asked")
            return self._signed(question.to_json()) if is_order(question) else question.to_json()

        self._logs[request].commit(draft)
        self._secrets[request] = secret
        return question

    def get(self, request: str) -> RequestState:
        """The question and its answer so far. Raises UnknownRequest."""
        if not layout.REQUEST_ID.fullmatch(request):
            raise UnknownRequest(request=request)
        state = self._refresh(request)
        if state is None:
            del self._logs[request]
            raise UnknownRequest(request=request)
        return state

    def open(self) -> list[RequestState]:
        """The questions without an answer, oldest first."""
        names = set(self._kind.found(self._team.directory)) - self._decided
        found = [state for request in names for state in self._if_open(request)]
        return sorted(found, key=lambda state: (state.question.at, state.question.id))

    def decide(
        self,
        request: str,
        verdict: Verdict,
        *,
        reason: str = "",
        by: str | None = None,
        term: int | None = None,
    ) -> Decision:
        """The decision is the one answer. `by` is the caller where it is not named.

        Raises UnknownRequest, AlreadyDecided, TermOver, and InvalidRecord for one who may not decide.
        """
        known = self._term() if term is None else term
        decider = by or self._actor
        return self._answer(
            request,
            Decision(verdict=verdict, by=decider, reason=scrub(reason), request_digest="", term=known),
        )

    def withdraw(self, request: str, secret: str | None = None) -> Decision:
        """The question is withdrawn; one that this object asked needs no secret. Raises as `decide`."""
        shown, term = secret or self._secrets.get(request), self._term()
        verdict = Verdict.WITHDRAW
        decision = Decision(verdict=verdict, by=self._actor, request_digest="", secret=shown, term=term)
        return self._answer(request, decision)

    def stamp(self, request: str) -> None:
        """An open question carries the caller's term, so that no decision of an earlier one counts.

        Nothing happens when it has that term. Raises UnknownRequest, AlreadyDecided, TermOver.
        """
        self.get(request)
        log = self._logs[request]

        def draft(state: RequestState | None, _: int) -> dict[str, Any]:
            state = _undecided(request, state)
            term = term_to_write(self._actor, self._term(), state.term)
            return self._signed(state.question.to_json() | {"term": term})

        if self.get(request).term != term_to_write(self._actor, self._term(), 0):
            log.commit(draft)

    def _answer(self, request: str, decision: Decision) -> Decision:
        self.get(request)

        def draft(state: RequestState | None, _: int) -> dict[str, Any]:
            state = _undecided(request, state)
            made = msgspec.structs.replace(
                decision,
                request_digest=state.question_digest,
                term=term_to_write(decision.by, decision.term, state.term),
                at=iso(self._team.clock.now()),
            )
            if is_host(made.by) and made.verdict is not Verdict.WITHDRAW:
                document = decision_document(self._team.id, state.question, state.question_digest, made)
                key, signature = self._keys.sign(document)
                made = msgspec.structs.replace(made, key=key, signature=signature)
            return made.to_json()

        state = self._logs[request].commit(draft)
        assert state.answer is not None
        return state.answer

    def _if_open(self, request: str) -> list[RequestState]:
        state = self._refresh(request)
        if state is None:  # its first record is still on its way
            return []
        if state.answer is None:
            return [state]
        self._decided.add(request)
        del self._logs[request]
        return []

    def _signed(self, question: dict[str, Any]) -> dict[str, Any]:
        key, signature = self._keys.sign(order_document(self._team.id, question))
        return question | {"key": key, "signature": signature}

    def _refresh(self, request: str) -> RequestState | None:
        log = self._logs[request]
        state = log.refresh()
        for number, why in log.invalid.items():
            if (request, number) not in self._ignored:
                self._ignored.add((request, number))
                self._on_ignored(request, number, why)
        return state


def _undecided(request: str, state: RequestState | None) -> RequestState:
    if state is None:
        raise UnknownRequest(request=request)
    if state.answer is not None:
        raise AlreadyDecided(request=request, verdict=state.answer.verdict, by=state.answer.by)
    return state
