"""A launcher that starts nothing: processes that live until a test ends them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from orchestrator.launchers.launcher import StartOrder


class FakeProcess:
    """Satisfies `orchestrator.launchers.launcher.StartedProcess`."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.exit_code: int | None = None
        self.stopped = False

    def ended(self) -> int | None:
        return self.exit_code

    def stop(self, *, patience_seconds: float) -> None:
        assert patience_seconds >= 0
        self.stopped = True
        self.exit_code = -15


class FakeLauncher:
    """Satisfies `orchestrator.launchers.launcher.Launcher`; keeps the orders and the processes by name."""

    def __init__(self) -> None:
        self.orders: list[StartOrder] = []
        self.processes: dict[str, FakeProcess] = {}

    @property
    def started(self) -> list[str]:
        return [order.name for order in self.orders]

    def start(self, order: StartOrder) -> FakeProcess:
        self.orders.append(order)
        self.processes[order.name] = process = FakeProcess(90_000 + len(self.orders))
        return process
