"""How the command ended, in words that entries know, and with the facts that decide between causes."""

import signal
from dataclasses import dataclass, replace
from typing import Final

from sgl_explain.evidence import Context, Evidence, Raised

_SIGNALLED: Final = 128
_CANNOT_LOAD: Final = 127
# Asked to end, or its reader left: nothing to explain.
_ON_REQUEST: Final = frozenset({signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE})


@dataclass(frozen=True, slots=True)
class Ending:
    """The exit status of the command; 128 + n where signal n ended it, or a process whose status it passed on."""

    status: int

    @property
    def signal(self) -> signal.Signals | None:
        """The signal of which the status speaks, if it speaks of one."""
        try:
            return signal.Signals(self.status - _SIGNALLED)
        except ValueError:
            return None

    @property
    def is_silent_death(self) -> bool:
        """Whether something ended the command that a program does not print itself."""
        return self.status == _CANNOT_LOAD or (self.signal is not None and self.signal not in _ON_REQUEST)

    def told(self) -> str:
        """Return the ending as a sentence."""
        by = f" ({self.signal.name})" if self.signal else ""
        return f"the command ended with exit status {self.status}{by}"

    def evidence(self, context: Context) -> Evidence:
        """Return the evidence of a silent death."""
        return Evidence((Raised((), self.told()),), replace(context, deliberate=True))
