"""What the scripted model does with each program of QuixBugs: mends it, spoils it, or calls it done."""

from __future__ import annotations

from enum import StrEnum
from typing import Any


class Kind(StrEnum):
    """What the model does with a program."""

    MENDED = "mended"  # the corrected version at once
    WRONG = "wrong_fix"  # a wrong version, then the corrected one
    FALSE_DONE = "false_done"  # nothing, called done until the task has failed
    ENDLESS = "endless_loop"  # a version that never ends, then the corrected one


# The one that only the time limit of a whole check ends comes first, so that others work meanwhile.
# The slowest case of levenshtein comes near its limit even when right, so it is one that has to fail anyway.
PLANTED = {
    "detect_cycle": Kind.ENDLESS,
    "levenshtein": Kind.FALSE_DONE,
    "gcd": Kind.WRONG,
    "is_valid_parenthesization": Kind.ENDLESS,
    "max_sublist_sum": Kind.FALSE_DONE,
    "bucketsort": Kind.WRONG,
}
WRONG_VERSION = "def {program}(*_):\n    return None\n"
ENDLESS_VERSIONS = {
    "is_valid_parenthesization": "def {program}(*_):\n    while True:\n        pass\n",  # --timeout ends it
    "detect_cycle": "while True:\n    pass\n",  # at import, where only the check's own time limit helps
}


def rules_for(programs: dict[str, Kind]) -> list[dict[str, Any]]:
    """What the model answers: read, change, hand in; and once more when the checks refuse."""
    rules: list[dict[str, Any]] = []
    rules += [write_rule(program, WRONG_VERSION) for program in of_kind(programs, Kind.WRONG)]
    rules += [write_rule(program, ENDLESS_VERSIONS[program]) for program in of_kind(programs, Kind.ENDLESS)]
    stubborn = "|".join(of_kind(programs, Kind.FALSE_DONE))
    if stubborn:
        task = rf"Mend (?P<program>{stubborn})\b"
        rules += [
            rule("give up", task, "That is all I can do.", last_result=r"\(0 more tries\)"),
            hand_in(task, tools_called="read_file$"),
            hand_in(task, last_result="checks_failed"),
        ]
    any_program = r"Mend (?P<program>\w+)"
    source, target = "correct_python_programs/${program}.py", "python_programs/${program}.py"
    copy = {"bash": {"command": f"cp {source} {target}"}}
    return [
        rule("read", any_program, "I look at it.", {"read_file": {"path": target}}, tools_called="^$"),
        *rules,
        rule("mend", any_program, "I see.", copy, tools_called="read_file$"),
        rule("mend after all", any_program, "I see.", copy, last_result="checks_failed"),
        hand_in(any_program, tools_called="(bash|write_file)$"),
        {"name": "finish", "when": {"system": "role=teammate"}, "say": "Done."},
    ]


def of_kind(programs: dict[str, Kind], kind: Kind) -> list[str]:
    return [program for program, its in programs.items() if its is kind]


def write_rule(program: str, version: str) -> dict[str, Any]:
    call = {
        "write_file": {"path": f"python_programs/{program}.py", "content": version.format(program=program)}
    }
    return rule(f"spoil {program}", rf"Mend {program}\b", "I rewrite it.", call, tools_called="^read_file$")


def hand_in(task: str, **when: str) -> dict[str, Any]:
    call = {"complete_task": {"summary": "${program} does what its tests say."}}
    return rule("hand in", task, "That was it.", call, **when)


def rule(name: str, task: str, say: str, call: dict[str, Any] | None = None, **when: str) -> dict[str, Any]:
    seen = {"system": "role=teammate", "last_user": task, **when}
    return {"name": name, "when": seen, "say": say, **({"call": call} if call else {})}
