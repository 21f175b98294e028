"""What a run used of its models: by turn, task, member and team, in tokens and money."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import msgspec

from coordination.events import EventTail
from coordination.usage import Usage
from harness.models.ledger import Ledger
from harness.models.prices import Money, PriceTable

ESTIMATED = "USD: estimated from these tokens by the setting `prices`; what you pay, the provider's bill says"
OF_REQUEST = ("prompt", "instructions", "roles", "skills", "tools", "server_list", "servers")

if TYPE_CHECKING:
    from coordination.records import Run
    from coordination.stores import Stores
    from harness.settings.settings import Settings


def used(stores: Stores, run: Run | None, settings: Settings) -> dict[str, Any]:
    """The use of the run, for programs and `render`; nothing without a run."""
    of_run = run.id if run else ""
    prices = PriceTable(settings.prices)
    ledger = Ledger(stores.team.directory, prices, run=of_run)
    ledger.refresh()
    events = [event for event in EventTail(stores.team.directory).read_new() if event.get("run") == of_run]
    subjects = {task.id: task.subject for task in stores.tasks.all(run.id)} if run else {}
    return {
        "run": run.id if run else None,
        "team": _facts(ledger, "team", ""),
        "members": {
            name: {**_facts(ledger, "member", name), "models": sorted(ledger.models[name])}
            for name in ledger.names("member")
        },
        "tasks": {
            name: {**_facts(ledger, "task", name), "subject": subjects[name]}
            for name in ledger.names("task")
            if name in subjects
        },
        "unpriced": sorted(ledger.unpriced),
        "limits": {scope: asdict(settings.limits(scope)) for scope in ("task", "member", "team")},
        "turns": [_turn(event, prices) for event in events if event["action"] == "model_call"],
        "requests": {
            event["who"].partition("~")[0]: {name: event.get(name) for name in OF_REQUEST}
            for event in events
            if event["action"] == "request_cost"  # the newest of each member is the last
        },
    }


def render(facts: dict[str, Any]) -> str:
    """The use for a person."""
    if not facts["members"]:
        return "no model was called yet"
    rows = [f"{'':<24}{'turns':>6}{'in':>10}{'cached':>10}{'written':>10}{'out':>8}{'USD':>12}"]
    rows += [_row(name, use) for name, use in facts["members"].items()]
    rows += [_row(f"{name} {use['subject']}"[:23], use) for name, use in facts["tasks"].items()]
    rows.append(_row("the team", facts["team"]))
    if facts["team"]["usd"]:
        rows.append(ESTIMATED)
    if facts["unpriced"]:
        rows.append(f"without a price, and not in USD: {', '.join(facts['unpriced'])} (setting `prices`)")
    limits = [
        f"limits.{scope}.max_{name} {value:g}"
        for scope, of in facts["limits"].items()
        for name, value in of.items()
        if value is not None
    ]
    rows.append(f"limits: {', '.join(limits) or 'none set'}")
    rows += _requests(facts["requests"])
    return "\n".join(rows)


def _facts(ledger: Ledger, scope: str, name: str) -> dict[str, Any]:
    use = ledger.usage[scope, name]
    tokens = {field: getattr(use, field) for field in Usage.__struct_fields__ if field != "calls"}
    money = ledger.money(scope, name)
    return {"turns": use.calls, **tokens, "usd": money.usd, "usd_is_partial": money.is_partial}


def _row(name: str, use: dict[str, Any]) -> str:
    money = Money(usd=use["usd"], is_partial=use["usd_is_partial"])
    return (
        f"{name:<24}{use['turns']:>6}{use['input_tokens']:>10}{use['cache_read_tokens']:>10}"
        f"{use['cache_write_tokens']:>10}{use['output_tokens']:>8}{money!s:>12}"
    )


def _requests(requests: dict[str, Any]) -> list[str]:
    """What each request holds beside the conversation, most of which a server reads from its cache."""
    if not requests:
        return []
    heads = [*(name.replace("server_list", "list") for name in OF_REQUEST if name != "servers"), "servers"]
    rows = [
        "each request holds before the conversation, in tokens (estimated, a quarter of the bytes):",
        f"{'':<16}" + "".join(f"{head:>13}" for head in heads),
    ]
    for member, of in requests.items():
        servers = ", ".join(f"{name} {tokens}" for name, tokens in (of["servers"] or {}).items())
        numbers = "".join(f"{of[name] or 0:>13}" for name in OF_REQUEST if name != "servers")
        rows.append(f"{member[:15]:<16}{numbers}  {servers or '-':>11}")
    return rows


def _turn(event: dict[str, Any], prices: PriceTable) -> dict[str, Any]:
    usd = None
    with suppress(msgspec.ValidationError):  # an event of another version, or written by hand
        usd = prices.cost(str(event.get("model")), msgspec.convert(event.get("usage"), Usage))
    facts = {name: event.get(name) for name in ("at", "who", "task", "model", "usage")}
    return {**facts, "usd": usd if usd is None else round(usd, 6)}
