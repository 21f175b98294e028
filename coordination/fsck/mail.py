"""Inspect mail: journals fold, positions lie inside their sources, boxes hold nothing but mail."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from coordination import layout
from coordination.errors import InvalidRecord, NotRegularFile
from coordination.finding import Finding, error, note, warning
from coordination.json_form import json_object
from coordination.mail.bearers import LEAD, Bearers
from coordination.mail.lines import (
    LINE_BYTES,
    Delivery,
    is_person,
    parse,
    sender_name,
    split_source,
    take_lines,
)
from coordination.mail.positions import CHECKPOINT_KIND, DELIVERY_KIND, Positions

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from coordination.files import StateDirectory
    from coordination.stores import Stores

_UNREAD = "nobody will ever read it; move it away, or mend its name"
_NO_MAIL = "it is passed over and holds nothing up"


@dataclass(kw_only=True)
class _Journal:
    """What one journal adds up to."""

    damaged: int = 0  # lines that are no lines of a journal
    follows: str | None = None  # the bearer whose journal it goes on from
    offset: int = 0  # what that one wrote behind it is void
    deliveries: list[Delivery] = field(default_factory=list)
    places: list[int] = field(default_factory=list)  # where the line of each begins
    positions: Positions = field(default_factory=Positions)


def inspect_mail(stores: Stores, is_present: Callable[[str], bool]) -> Iterator[Finding]:
    """What is wrong with the mail; `is_present` says whether a bearer may still write its files."""
    directory = stores.team.directory
    journals: dict[tuple[str, int], _Journal] = {}
    for file in sorted(directory.names(layout.TRANSCRIPTS)):
        bearer = layout.split_bearer(file.removesuffix(".jsonl"))
        if bearer is None or not file.endswith(".jsonl"):
            if not (file.startswith(".") or layout.SUBAGENT_JOURNAL.fullmatch(file)):
                yield warning(
                    "foreign_name", f"{layout.TRANSCRIPTS}/{file}", "no journal of a bearer", why=_UNREAD
                )
            continue
        where = layout.journal(layout.bearer(*bearer))
        try:
            journal = _fold(directory.read_patiently(where))
        except (InvalidRecord, NotRegularFile) as problem:
            yield error(
                "journal_damaged", where, str(problem), why="a successor cannot tell which mail was delivered"
            )
            continue
        yield from _journal(directory, layout.bearer(*bearer), journal, is_present)
        journals[bearer] = journal
    yield from _doubled(journals)
    newest = {name: journals[name, number].positions for name, number in sorted(journals)}
    for name, positions in newest.items():
        yield from _beyond(directory, name, positions)
    yield from _boxes(stores)


def _fold(data: bytes) -> _Journal:
    """The journal in `data`. Raises InvalidRecord for a delivery or checkpoint that cannot be used."""
    journal, number, place, lines = _Journal(), 0, 0, []
    for raw in data.split(b"\n"):
        line = json_object(raw) if raw.strip() else {}
        if line is None or (line and not isinstance(line.get("kind"), str)):
            journal.damaged += 1
        elif line and line.get("n", number + 1) > number:  # a failed append is repeated with its numbers
            number = line.get("n", number + 1)
            lines.append(line)
            _take(journal, line, place)
        place += len(raw) + 1
    journal.positions = Positions.fold(lines)
    return journal


def _take(journal: _Journal, line: dict[str, Any], place: int) -> None:
    if line["kind"] == CHECKPOINT_KIND and "follows" in line:
        journal.follows, journal.offset = line["follows"], line.get("offset", 0)
    elif line["kind"] == DELIVERY_KIND and "source" in line:
        journal.deliveries.append(Delivery.from_json(line))
        journal.places.append(place)


def _doubled(journals: dict[tuple[str, int], _Journal]) -> Iterator[Finding]:
    """Messages that one conversation heard twice, over all processes that went on with it."""
    cuts = {journal.follows: journal.offset for journal in journals.values() if journal.follows}
    heard: set[tuple[str, str]] = set()
    for bearer in sorted(journals):
        journal, who = journals[bearer], layout.bearer(*bearer)
        if journal.follows is None:
            heard = set()
        for delivery, place in zip(journal.deliveries, journal.places, strict=True):
            key = sender_name(delivery.message.sender), delivery.message.id
            if place >= cuts.get(who, place + 1):
                continue  # void: its successor had begun
            if key in heard:
                what = f"message {delivery.message.id}"
                yield error(
                    "delivered_twice", layout.journal(who), what, why="it was heard twice in one conversation"
                )
            heard.add(key)


def _journal(
    directory: StateDirectory, bearer: str, journal: _Journal, is_present: Callable[[str], bool]
) -> Iterator[Finding]:
    where = layout.journal(bearer)
    if journal.damaged:
        yield note("torn_line", where, f"{journal.damaged} torn or foreign lines", why="they are passed over")
    view = layout.received(bearer)
    if not is_present(bearer) and len(_shown(directory, view)) < len(journal.deliveries):
        data = b"".join(delivery.shown() + b"\n" for delivery in journal.deliveries)
        yield note(
            "mail_view_behind",
            view,
            "not all that was delivered",
            why="people see less mail than there was",
            repair="writes it anew from the journal",
            mend=lambda: directory.replace(view, data),
        )


def _shown(directory: StateDirectory, view: str) -> list[dict[str, Any]]:
    try:
        return [line for raw in directory.read(view).split(b"\n") if (line := json_object(raw))]
    except (OSError, NotRegularFile):
        return []


def _beyond(directory: StateDirectory, name: str, positions: Positions) -> Iterator[Finding]:
    for source, end in positions.ends.items():
        where = layout.sent(name, source)
        try:
            size = directory.read_from(where, 0, 0)[1]
        except FileNotFoundError:
            size = 0
        except (OSError, NotRegularFile) as problem:
            yield error("box_unreadable", where, str(problem), why="what it holds is not delivered")
            continue
        if size < end and not is_person(source):  # a person's editor may write a file anew
            yield error(
                "position_beyond",
                where,
                f"{size} bytes, of which {name} has read {end}",
                why="mail was lost from it, and what its sender appends now may be passed over",
                repair="nothing; restore the file",
            )


def _boxes(stores: Stores) -> Iterator[Finding]:
    directory, bearers = stores.team.directory, Bearers(stores.team, stores.roster)
    for name in sorted(directory.names(layout.MAILBOXES)):
        where, owner = f"{layout.MAILBOXES}/{name}", name.removesuffix(".d")
        if name.startswith(".") or name.endswith(".jsonl") or name == "README.md":
            continue
        if owner == name or (owner != LEAD and stores.roster.member(owner) is None):
            yield warning("foreign_name", where, "the box of nobody", why=_UNREAD)
            continue
        for file in sorted(directory.names(layout.inbox(owner))):
            if not file.startswith("."):
                yield from _source(directory, bearers, owner, file)


def _source(directory: StateDirectory, bearers: Bearers, owner: str, file: str) -> Iterator[Finding]:
    source, where = file.removesuffix(".jsonl"), f"{layout.inbox(owner)}/{file}"
    if source == file or split_source(source) is None:
        yield warning("foreign_name", where, "not named after a sender", why=_UNREAD)
        return
    if not is_person(source) and not bearers.is_on_record(source):
        yield warning("unknown_sender", where, f"{source} was never on the team", why="it is never read")
        return
    try:
        bad = _bad_lines(directory, owner, source)
    except (OSError, NotRegularFile) as problem:
        yield error("box_unreadable", where, str(problem), why="what it holds is not delivered")
        return
    if bad:
        offset, why = bad[0]
        more = f", and {len(bad) - 1} more" if bad[1:] else ""
        yield note("bad_line", where, f"no mail at {offset}: {why}{more}", why=_NO_MAIL)


def _bad_lines(directory: StateDirectory, owner: str, source: str) -> list[tuple[int, str]]:
    """Offset and reason of each line that is no mail from that source."""
    bad: list[tuple[int, str]] = []
    position, full = 0, True
    while full:
        data, _ = directory.read_from(layout.sent(owner, source), position, LINE_BYTES)
        full = len(data) == LINE_BYTES
        lines, position = take_lines(data, position, by_hand=is_person(source))
        for line in lines:
            start = (json_object(line.text) or {}).get("to_start", 0)  # of whichever bearer of the name
            try:
                parse(line, source=source, to=owner, start=start)
            except InvalidRecord as problem:
                bad.append((line.offset, problem.why))
    return bad
