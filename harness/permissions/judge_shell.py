"""Pure: the verdict on a command line, which is that on the worst of its commands."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.permissions.protected import is_guide, is_secret
from harness.permissions.rules import SHELL, Rule, Verdict
from harness.permissions.ruling import Ground, Policy, Ruling, asked, by_rule, is_outside
from harness.permissions.shell.effects import acts, lines_of
from harness.permissions.shell.harm import destructive
from harness.permissions.shell.words import UNKNOWN

if TYPE_CHECKING:
    from collections.abc import Sequence

    from harness.permissions.shell.act import Act

_BY_WEIGHT = list(Verdict)
_READS = Ruling(verdict=Verdict.ALLOW, reason="reads", text="it only reads inside the working directory")


def judge_command(policy: Policy, text: str, ground: Ground) -> Ruling:
    """Destruction is denied before any rule; a chain is as bad as its worst part."""
    harm = destructive(text)
    if harm:
        return Ruling(verdict=Verdict.DENY, reason="destructive", text=f"this command {harm}")
    checks = lines_of(policy.checks)
    rulings = [_on_act(policy, act, ground, checks) for act in acts(text)]
    return min(rulings, key=lambda ruling: _BY_WEIGHT.index(ruling.verdict), default=_READS)


def _on_act(policy: Policy, act: Act, ground: Ground, checks: frozenset[str]) -> Ruling:
    below = ground.below(act.trees)
    reads = [*ground.all_places(act.reads + act.trees), *below]
    writes = ground.all_places(act.writes)
    if spoilt := next(filter(ground.is_protected, writes), None):
        text = f"{act.line}: {spoilt} belongs to git, the team or its policy, which only people write"
        return Ruling(verdict=Verdict.DENY, reason="protected", text=text)
    for verdict in (Verdict.DENY, Verdict.ASK):
        if rule := _tightening(policy, verdict, act, reads=reads, writes=writes):
            return by_rule(rule)
    return (
        _needs_its_own_word(policy, act, ground, reads=reads, writes=writes)
        or _allowed(policy, act, checks)
        or _by_nature(act, reads, ground)
    )


def _tightening(
    policy: Policy, verdict: Verdict, act: Act, *, reads: Sequence[str], writes: Sequence[str]
) -> Rule | None:
    """The rule on commands, or on the files that they touch, that says no or ask."""
    return (
        (policy.decides(verdict, SHELL, [act.line, *act.also]) if act.line else None)
        or (policy.decides(verdict, "read_file", reads) if reads else None)
        or (policy.decides(verdict, "write_file", writes) if writes else None)
        or (policy.decides(verdict, "edit_file", writes) if writes else None)
    )


def needs_word_for_guides(policy: Policy, writes: Sequence[str], ground: Ground) -> Ruling | None:
    """What agents are told is the person's to change, unless a rule names just that file."""
    for place in filter(ground.instructs, writes):
        if not policy.decides(Verdict.ALLOW, "write_file", [place], named=True):
            text = f"{place} tells agents what to do, or is part of a skill that they load"
            return asked("instructs", text)
    return None


def _needs_its_own_word(
    policy: Policy, act: Act, ground: Ground, *, reads: Sequence[str], writes: Sequence[str]
) -> Ruling | None:
    """What a rule for commands at large does not allow: secrets, other directories, what cannot be undone."""
    secret = next((place for place in reads if is_secret(place)), None)
    if secret and not policy.decides(Verdict.ALLOW, "read_file", [secret], named=True):
        return asked("secret", f"{act.line}: {secret} looks like a file with credentials")
    guides = [place for place in ground.below(act.carries) if is_guide(place)]
    if told := needs_word_for_guides(policy, [*writes, *guides], ground):
        return told
    for place in filter(is_outside, writes):
        if not policy.decides(Verdict.ALLOW, "write_file", [place], named=True):
            return asked("outside", f"{act.line}: it writes to {place}, outside the working directory")
    if planted := next(filter(ground.is_repository, act.at), None):
        why = f"git takes {planted} for a repository, whose settings start programs"
        return asked("shell", f"{act.line}: {why}")
    is_named = any(_names(rule, act) for rule in policy.rules)
    return asked("shell", f"{act.line}: {act.always}") if act.always and not is_named else None


def _names(rule: Rule, act: Act) -> bool:
    """True for a rule that allows just this, by its first two words, and not commands at large."""
    first = (rule.pattern or "").partition("*")[0].split()[:2]
    return rule.verdict is Verdict.ALLOW and rule.tool == SHELL and first == act.line.split()[:2]


def _allowed(policy: Policy, act: Act, checks: frozenset[str]) -> Ruling | None:
    known = act.line and UNKNOWN not in act.line
    rule = policy.decides(Verdict.ALLOW, SHELL, [act.line] if known else [])
    if rule:
        return by_rule(rule)
    if known and any(_is_check(line, check) for line in (act.line, *act.also) for check in checks):
        return Ruling(verdict=Verdict.ALLOW, reason="check", text=f"{act.line} is one of the checks")
    return None


def _is_check(line: str, check: str) -> bool:
    """The command of a check, or that with files of the working directory behind it."""
    if line == check:
        return True
    further = line.removeprefix(f"{check} ").split() if check and line.startswith(f"{check} ") else []
    return bool(further) and not any(
        word.startswith(("-", "/", "~")) or "=" in word or ".." in word for word in further
    )


def _by_nature(act: Act, reads: Sequence[str], ground: Ground) -> Ruling:
    line = act.line.replace(UNKNOWN, "…") or "it"
    if act.why:
        return asked("shell", f"{line}: {act.why}")
    if option := next(filter(ground.may_be_option, act.reads + act.trees), None):
        return asked("shell", f"{line}: {option} stands for a name that is taken for an option")
    for place in reads:
        if is_outside(place):
            return asked("outside", f"{line}: it reads {place}, outside the working directory")
        if ground.is_state(place):
            return asked("outside", f"{line}: {place} belongs to git or the team")
    return _READS
