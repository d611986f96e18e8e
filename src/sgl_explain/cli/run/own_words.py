"""Explanations of ours in the command's output: a process explained its own failure, which then needs no other."""

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Final

_BEGINNING: Final = "sgl_explain: "
_END: Final = re.compile(r"More:.*sgl-explain show (?P<id>[a-z0-9-]+)\s*$")
_ESCAPES: Final = re.compile(r"\x1b\[[0-9;]*m|\r")
_MAX_LINES: Final = 200


class OwnWords:
    """Takes explanations out of a stream of lines, and tells their ids."""

    def __init__(self, tell: Callable[[str], None]) -> None:
        self._tell = tell
        self._lines_left = 0
        self._is_prefixed = False

    def taken_out(self, lines: Iterable[str | None]) -> Iterator[str | None]:
        """Yield the lines that are none of ours; None, for silence, where some were."""
        for line in lines:
            if line is None or not self._is_ours(_ESCAPES.sub("", line)):
                yield line
            elif self._lines_left == _MAX_LINES:
                yield None

    def _is_ours(self, line: str) -> bool:
        before, beginning, _ = line.partition(_BEGINNING)
        if beginning:
            self._lines_left, self._is_prefixed = _MAX_LINES, bool(before)
            return True
        # Each line of ours is indented; behind the prefix of a container or a supervisor that cannot be seen.
        self._lines_left = max(0, self._lines_left - 1) if self._is_prefixed or line[:1].isspace() else 0
        if not self._lines_left:
            return False
        if found := _END.search(line):
            self._lines_left = 0
            self._tell(found["id"])
        return True
