"""Refuse checks that would test another checkout than the tree they run in."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workspace.setup.linked_code import cargo_override, go_workspace, linked_packages
from workspace.setup.python_probe import probe_python

if TYPE_CHECKING:
    from collections.abc import Mapping

    from workspace.commands import CommandRunner
    from workspace.setup.checkout import Checkout


def find_wrong_checkout(
    place: Checkout, checks: Mapping[str, str], environment: Mapping[str, str], runner: CommandRunner
) -> None:
    """Nothing is known by which the checks would test other code than the tree's. Raises WrongCheckout.

    Python is asked; of Node, Go and Cargo the files are read that lead elsewhere.
    """
    probe_python(place, checks.values(), environment, runner)
    linked_packages(place)
    go_workspace(place, checks.values())
    cargo_override(place)
