"""A state directory that takes no beat."""

from __future__ import annotations

import os

from coordination.files import StateDirectory


class BrokenMount(StateDirectory):
    """Every beat fails with the error number `fault`, once there is one."""

    fault: int | None = None

    def overwrite(self, name: str, data: bytes) -> None:
        if self.fault:
            raise OSError(self.fault, os.strerror(self.fault))
        super().overwrite(name, data)
