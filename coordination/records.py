"""The records that the team keeps on disk, and their JSON form."""

from __future__ import annotations

from enum import StrEnum
from typing import Any, Self

import msgspec

from coordination import layout
from coordination.errors import InvalidRecord
from coordination.identity import ProcessIdentity
from coordination.usage import Usage


class Status(StrEnum):
    """Where a task stands; the last three are final."""

    HELD = "held"  # made, its edges may still be on their way; nobody can claim it
    PENDING = "pending"  # may be claimed once it is ready
    IN_PROGRESS = "in_progress"  # leased by a member
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"

    @property
    def is_final(self) -> bool:
        return self in {Status.COMPLETED, Status.FAILED, Status.CANCELLED}


class MemberState(StrEnum):
    """Where a bearer of a name stands in its life."""

    STARTING = "starting"  # a launcher was asked for it
    ALIVE = "alive"
    CLOSING = "closing"  # drains its mail for the last time
    CLOSED = "closed"
    WITHDRAWN = "withdrawn"  # its start was called off
    SUPERSEDED = "superseded"  # another bearer took the name


class Verdict(StrEnum):
    APPROVE = "approve"
    DENY = "deny"
    WITHDRAW = "withdraw"  # by the asker


class PlanState(StrEnum):
    """The plan gate of a worker on its task."""

    NOT_REQUIRED = "not_required"
    REQUIRED = "required"
    PENDING = "pending"
    APPROVED = "approved"
    REJECTED = "rejected"


class JsonRecord(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A record with a fixed set of fields that carries unknown ones along."""

    unknown: dict[str, Any] | msgspec.UnsetType = msgspec.UNSET  # of a later minor format, kept as they are

    @classmethod
    def from_json(cls, raw: dict[str, Any]) -> Self:
        """The record in `raw`. Raises InvalidRecord naming the field that is wrong."""
        fields = set(cls.__struct_encode_fields__) - {"unknown"}
        extra = {key: value for key, value in raw.items() if key not in fields}
        known = {key: value for key, value in raw.items() if key in fields}
        try:
            return msgspec.convert(known | {"unknown": extra} if extra else known, cls)
        except msgspec.ValidationError as error:
            raise InvalidRecord(why=str(error)) from error

    @classmethod
    def decode(cls, data: bytes) -> Self | None:
        """The record in `data` if it is whole and has no unknown fields; else None: `from_json` says why."""
        try:
            record = msgspec.json.decode(data, type=cls)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return None
        return record if record.unknown is msgspec.UNSET else None  # a field of that very name is one of them

    def to_json(self) -> dict[str, Any]:
        """The fields in their order, then the unknown ones; JSON types only."""
        fields: dict[str, Any] = msgspec.to_builtins(self)
        extra: dict[str, Any] = fields.pop("unknown", {})
        return fields | extra

    def encode(self) -> bytes:
        """The JSON of `to_json`."""
        return msgspec.json.encode(self if self.unknown is msgspec.UNSET else self.to_json())


class Lease(msgspec.Struct, frozen=True, kw_only=True):
    """The right to work on a task: alive while the holder's beat changes."""

    holder: str  # `alice~7`
    token: int  # number of the record that granted it; fences every later write


class PendingEdge(msgspec.Struct, frozen=True, kw_only=True):
    """An edge that waits for the verdict of the graph."""

    edge: str  # id of the edge, the same in task and graph
    needs: str  # task id


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """The plan that was last submitted under the present token."""

    number: int  # counts within the token
    digest: str  # SHA-256 of the text
    request: str  # id of the question put to the reviewer


class CheckResult(msgspec.Struct, frozen=True, kw_only=True):
    """One check that the runtime ran on a clean checkout."""

    name: str
    command: str
    exit_code: int | None  # None: it did not end in time
    seconds: float
    output: str  # the last lines


class TaskResult(msgspec.Struct, frozen=True, kw_only=True):
    """What the runtime captured when the task ended; never the model's own account of it."""

    text: str = ""  # the worker's last words
    diff: str = ""  # `git diff --stat` from base to commit
    checks: tuple[CheckResult, ...] = ()
    verified: bool = False  # at least one check ran, and all passed
    untrusted: str = ""  # what the worker had read that neither the team nor the person wrote
    usage: Usage = Usage()


class Task(JsonRecord, frozen=True, kw_only=True):
    """A unit of work, one version of it; the fields in the order in which a person wants them."""

    subject: str
    status: Status
    owner: str | None = None
    id: str
    description: str = ""
    blocked_by: tuple[str, ...] = ()
    priority: int = 5  # 0 is most urgent, 9 least
    roles: tuple[str, ...] = ()  # who may claim it; empty: any role
    checks: tuple[str, ...] = ()  # names that the configuration defines, or literal commands of a person
    plan_required: bool = False
    attempts: int = 0  # leases that ended by silence or death of their holder
    refusals: int = 0  # completions that the checks refused
    max_attempts: int = 3  # so many of either, and the task has failed
    lease: Lease | None = None
    plan: Plan | None = None
    worktree: str | None = None  # relative path
    base: str | None = None  # commit its worktree started from
    prepared: str | None = None  # relative path of a worktree that was made beforehand for the next holder
    branch: str | None = None
    commit: str | None = None
    merged: str | None = None  # commit on the run's branch that brought it back
    result: TaskResult | None = None
    edges_pending: tuple[PendingEdge, ...] = ()
    reserved_for: str | None = None  # only this member may claim it
    resumed_from: int | None = None  # token of the lease that this one continues
    redo_of: str | None = None
    run: str | None = None  # the goal it belongs to
    event: str = "create"  # the transition that made this version
    by: str = ""  # who made it: `lead~1`, `alice~7`, `person`
    why: str = ""
    term: int = 0  # term of leadership known to the writer
    at: str = ""  # wall clock of the writer, for people
    created_at: str = ""

    @property
    def token(self) -> int | None:
        """The fencing token of the present lease."""
        return self.lease.token if self.lease else None


class Message(JsonRecord, frozen=True, kw_only=True, rename={"sender": "from"}):
    """One line of a mailbox."""

    id: str  # idempotency key
    seq: int  # counts per sending process
    type: str  # message, result, event, plan_request, shutdown_request …
    sender: str  # `alice~7`; the runtime takes it from the file, never from the line
    to: str
    to_start: int  # number of the recipient's `starting` record, 0 for the lead
    content: str
    sent_at: str
    in_reply_to: str | None = None
    metadata: dict[str, Any] = {}


BY_HAND = "hand"  # the launcher of a member that a person started in a terminal


class Member(JsonRecord, frozen=True, kw_only=True):
    """One state in the life of a bearer of a name."""

    name: str
    state: MemberState
    role: str = "teammate"
    incarnation: int | None = None  # number of this bearer's `alive` record
    start: int | None = None  # number of this bearer's `starting` record
    spawn_id: str = ""
    process: ProcessIdentity | None = None
    model: str | None = None
    plan_required: bool = False  # survives from task to task
    reserved_task: str | None = None
    waiting_on: str | None = None  # what it declared to wait for
    comes_back: bool = False  # the lead starts it again, although this process is dead
    launcher: str = "local"
    version: str = ""  # of leadhand
    digests: dict[str, str] = {}  # of settings, policy and catalog it started with
    positions: dict[str, int] = {}  # sources and ends, in a `closed` record
    by: str = ""
    why: str = ""
    term: int = 0
    at: str = ""

    @property
    def bearer(self) -> str:
        """Its process: `alice~7`; a start that nobody came alive for is `alice~0`."""
        return layout.bearer(self.name, self.incarnation or 0)


class Term(JsonRecord, frozen=True, kw_only=True):
    """One term of leadership; its number is the term."""

    process: ProcessIdentity
    ended: bool = False  # the lead left on purpose
    version: str = ""
    at: str = ""


class Request(JsonRecord, frozen=True, kw_only=True):
    """A question: record 1 of its log."""

    id: str
    kind: str  # plan, shutdown, interrupt, permission, proposal
    asker: str  # `alice~7`
    subject: str  # whom or what it is about
    reviewer: str  # person or lead
    question: str = ""  # what a person reads
    task: str | None = None
    token: int | None = None
    plan: int | None = None
    content_digest: str | None = None  # of the plan or the canonical action
    secret_digest: str = ""  # SHA-256 of the asker's secret; its withdrawal shows the secret
    deadline_seconds: float | None = None
    default: Verdict = Verdict.DENY
    key: int | None = None  # number of the key that signed it, where it is an order
    signature: str | None = None
    term: int = 0
    at: str = ""


class Decision(JsonRecord, frozen=True, kw_only=True):
    """The one answer to a question."""

    verdict: Verdict
    by: str  # `person`, `lead~3`, or the asker of a withdrawal
    reason: str = ""
    request_digest: str  # digest of the question as it was read
    secret: str | None = None  # of a withdrawal
    key: int | None = None  # number of the signing key
    signature: str | None = None
    term: int = 0
    at: str = ""


class Run(JsonRecord, frozen=True, kw_only=True):
    """A goal that a person gave, and what became of it."""

    id: str
    goal: str
    state: str = "open"  # open, done, failed, stopped
    branch: str = ""  # the branch that gathers the work
    base: str = ""  # commit it starts from
    checks: dict[str, str] = {}  # name to command, pinned at start
    planned: bool = False  # a person wrote its tasks, so no model leads it
    workers: int = 0  # size of the team that the person named; 0: as many as help
    model: str = ""
    worker_model: str = ""
    plan_reviewer: str = "lead"  # who judges plans: person or lead
    confirmed: bool = False
    digests: dict[str, str] = {}  # of skills and other catalogs, pinned by its lead
    agreed: dict[str, Any] = {}  # limits and prices that the person named for this run alone, by setting
    term: int = 0
    at: str = ""
