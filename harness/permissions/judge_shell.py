"""Pure: the verdict on a command line, which is that on the worst of its commands."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.permissions.protected import is_secret
from harness.permissions.rules import SHELL, Rule, Verdict
from harness.permissions.ruling import Ground, Policy, Ruling, by_rule, is_outside
from harness.permissions.shell_effects import acts
from harness.permissions.shell_harm import destructive
from harness.permissions.shell_words import UNKNOWN

if TYPE_CHECKING:
    from collections.abc import Sequence

    from harness.permissions.shell_act import Act

_BY_WEIGHT = list(Verdict)
_READS = Ruling(verdict=Verdict.ALLOW, reason="reads", text="it only reads inside the working directory")


def judge_command(policy: Policy, text: str, ground: Ground) -> Ruling:
    """Destruction is denied before any rule; a chain is as bad as its worst part."""
    harm = destructive(text)
    if harm:
        return Ruling(verdict=Verdict.DENY, reason="destructive", text=f"this command {harm}")
    checks = {act.line for check in policy.checks for act in acts(check)}
    rulings = [_on_act(policy, act, ground, checks) for act in acts(text)]
    return min(rulings, key=lambda ruling: _BY_WEIGHT.index(ruling.verdict), default=_READS)


def _on_act(policy: Policy, act: Act, ground: Ground, checks: set[str]) -> Ruling:
    reads = [place for path in act.reads for place in ground.places(path)]
    writes = [place for path in act.writes for place in ground.places(path)]
    trees = [place for path in act.trees for place in ground.places(path)]
    below = [file for tree in trees for file in (ground.files_below or _none)(tree)]
    reads += [*trees, *filter(is_outside, below)]
    spoilt = next(filter(ground.is_protected, writes), None)
    if spoilt:
        text = f"{act.line}: {spoilt} belongs to git, the team or its policy, which only people write"
        return Ruling(verdict=Verdict.DENY, reason="protected", text=text)
    for verdict in (Verdict.DENY, Verdict.ASK):
        if rule := _tightening(policy, verdict, act, reads=[*reads, *below], writes=writes):
            return by_rule(rule)
    carried = [place for path in act.carries for place in ground.places(path)]
    told = [place for tree in carried for place in ground.files_below(tree)] if ground.files_below else []
    return (
        _needs_its_own_word(policy, act, ground, reads=[*reads, *below], writes=[*writes, *told])
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
            return Ruling(verdict=Verdict.ASK, reason="instructs", text=text)
    return None


def _needs_its_own_word(
    policy: Policy, act: Act, ground: Ground, *, reads: Sequence[str], writes: Sequence[str]
) -> Ruling | None:
    """What a rule for commands at large does not allow: secrets, other directories, what cannot be undone."""
    secret = next((place for place in reads if is_secret(place)), None)
    if secret and not policy.decides(Verdict.ALLOW, "read_file", [secret], named=True):
        text = f"{act.line}: {secret} looks like a file with credentials"
        return Ruling(verdict=Verdict.ASK, reason="secret", text=text)
    if told := needs_word_for_guides(policy, writes, ground):
        return told
    for place in filter(is_outside, writes):
        if not policy.decides(Verdict.ALLOW, "write_file", [place], named=True):
            text = f"{act.line}: it writes to {place}, outside the working directory"
            return Ruling(verdict=Verdict.ASK, reason="outside", text=text)
    planted = next(filter(ground.is_repository, act.at), None)
    if planted or (act.always and not any(_names(rule, act) for rule in policy.rules)):
        why = f"git takes {planted} for a repository, whose settings start programs"
        return Ruling(
            verdict=Verdict.ASK, reason="shell", text=f"{act.line}: {why if planted else act.always}"
        )
    return None


def _names(rule: Rule, act: Act) -> bool:
    """True for a rule that allows just this, by its first two words, and not commands at large."""
    first = (rule.pattern or "").partition("*")[0].split()[:2]
    return rule.verdict is Verdict.ALLOW and rule.tool == SHELL and first == act.line.split()[:2]


def _allowed(policy: Policy, act: Act, checks: set[str]) -> Ruling | None:
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
        return Ruling(verdict=Verdict.ASK, reason="shell", text=f"{line}: {act.why}")
    for path in act.reads + act.trees:
        if ground.may_be_option(path):
            text = f"{line}: {path} stands for a name that is taken for an option"
            return Ruling(verdict=Verdict.ASK, reason="shell", text=text)
    for place in reads:
        if is_outside(place):
            text = f"{line}: it reads {place}, outside the working directory"
            return Ruling(verdict=Verdict.ASK, reason="outside", text=text)
        if ground.is_state(place):
            text = f"{line}: {place} belongs to git or the team"
            return Ruling(verdict=Verdict.ASK, reason="outside", text=text)
    return _READS


def _none(_: str) -> Sequence[str]:
    return ()
