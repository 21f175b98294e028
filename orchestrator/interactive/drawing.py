"""The line being typed on a terminal that breaks its lines anew when its window becomes narrower."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prompt_toolkit.renderer import Renderer

if TYPE_CHECKING:
    from prompt_toolkit.layout.screen import Screen


class Reflowed(Renderer):
    """Takes away all rows of what it drew, also those that have become two since."""

    def erase(self, leave_alternate_screen: bool = True) -> None:  # noqa: FBT001, FBT002 - as its base says
        if screen := self.last_rendered_screen:
            self.output.cursor_up(self._rows_more(screen, self.output.get_size().columns))
        super().erase(leave_alternate_screen)

    def _rows_more(self, screen: Screen, columns: int) -> int:
        """How many rows lie above the cursor beyond those that were drawn."""
        at = self._cursor_pos
        above = sum(max(0, _length(screen, row) - 1) // columns for row in range(at.y))
        return above + at.x // columns


def _length(screen: Screen, row: int) -> int:
    cells = screen.data_buffer[row]
    return max((column + 1 for column, cell in cells.items() if not cell.char.isspace()), default=0)
