"""Members of a team back off together: what one was told to wait, the others wait too."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from coordination.errors import TeamError

if TYPE_CHECKING:
    from coordination.files import StateDirectory


class Word(msgspec.Struct, frozen=True, kw_only=True):
    """What one member says of its last wait; each reader counts the seconds on its own clock."""

    count: int  # grows with each wait, so that an old word is not heard twice
    seconds: float


class Throttle:
    """One small file per member below a directory of the team root; losing one costs a few calls."""

    def __init__(self, root: StateDirectory, path: str, who: str) -> None:
        """`path` is the directory, relative to the root; `who` the process, whose file this alone writes."""
        self._root = root
        self._path = path
        self._own = f"{who}.json"
        self._said = 0
        self._heard: dict[str, int] | None = None  # counts by file; None until the first look

    def tell(self, seconds: float) -> None:
        """The others learn that the model's server wants so long a wait. Never raises."""
        self._said += 1
        data = msgspec.json.encode(Word(count=self._said, seconds=seconds))
        try:
            self._root.make(self._path)
            self._root.replace(f"{self._path}/{self._own}", data)
        except TeamError:  # a courtesy among members; who cannot give it goes on
            return

    def seconds_to_wait(self) -> float:
        """The longest wait that another member spoke of since the last look; 0 at the first. Never raises."""
        words = self._words()
        before, self._heard = self._heard, {name: word.count for name, word in words.items()}
        if before is None:
            return 0.0
        new = [word.seconds for name, word in words.items() if before.get(name, 0) != word.count]
        return max(new, default=0.0)

    def leave(self) -> None:
        """The file of this process is gone."""
        try:
            self._root.unlink(f"{self._path}/{self._own}")
        except TeamError:
            return

    def _words(self) -> dict[str, Word]:
        words = {}
        for name in self._names():
            try:
                words[name] = msgspec.json.decode(self._root.read(f"{self._path}/{name}"), type=Word)
            except (TeamError, OSError, msgspec.MsgspecError, UnicodeDecodeError):
                continue  # just being replaced, gone, or foreign
        return words

    def _names(self) -> list[str]:
        try:
            return [
                name for name in self._root.names(self._path) if name.endswith(".json") and name != self._own
            ]
        except TeamError:
            return []
