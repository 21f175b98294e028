"""A real repository of a person, and the means to write its history."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.repository import Repository

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    """One commit on `main`, clean, with one module and a test command that passes."""
    return Repository.create(tmp_path / "project", {"add.py": "def add(a, b):\n    return a + b\n"})
