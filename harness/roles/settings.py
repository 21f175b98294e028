"""The settings of the members of a team, and of their roles."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from harness.settings.entry import EMPTY, MODELS, setting, whole

if TYPE_CHECKING:
    from collections.abc import Mapping

MOST_WORKERS = 256  # processes of 100 MB each; more is a slip of the pen
MOST_RESTARTS = 20  # the delay before a further one would be days


@dataclass(frozen=True, kw_only=True)
class MemberSettings:
    """A part of `Settings`."""

    workers: int = setting(
        "workers.number", whole(1, MOST_WORKERS), "Teammates that the lead is told to plan for.", default=3
    )
    max_workers: int = setting(
        "workers.max",
        whole(1, MOST_WORKERS),
        "Teammates alive at the same time; the host refuses more.",
        default=8,
    )
    worker_restarts: int = setting(
        "workers.restarts",
        whole(0, MOST_RESTARTS),
        "How often in a row a teammate whose process died is started again, at once and then after 1, 2, "
        "4 … seconds. It goes on with its task, in its tree and its conversation.",
        default=5,
    )
    role_models: Mapping[str, str] = setting(
        "roles.models",
        MODELS,
        "Which model a word in the file of a role stands for, such as `sonnet`, as the server calls it. "
        "A word that is not here is taken for the model's own name.",
        default=EMPTY,
    )
