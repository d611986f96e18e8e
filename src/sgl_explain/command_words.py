"""The words of a command line that argparse left over, each with the flag it belongs to."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from sgl_explain.flags import flag_called
from sgl_explain.spelling import DASHES

_MAX_WORDS: Final = 200


@dataclass(frozen=True, slots=True)
class Part:
    """A word that was left over: a flag with its ``values``, or a bare word.

    Of a bare word, ``after`` is the flag that it follows, where the command is known, and ``before`` are the words
    between the two.
    """

    word: str
    values: tuple[str, ...] = ()
    after: str = ""
    before: tuple[str, ...] = ()

    @property
    def is_flag(self) -> bool:
        """Whether it was written as a flag, with whatever dash."""
        return is_flag_word(self.word)


def is_flag_word(word: str) -> bool:
    """Tell whether a word is written as a flag: it begins with a dash and is no number."""
    return word[:1] in DASHES and word.strip(DASHES) != "" and not word.lstrip(DASHES)[:1].isdigit()


def parts_in(left_over: str, command: Sequence[str]) -> tuple[Part, ...]:
    """Return the parts of what was left over; where they stand in the command decides what belongs together."""
    words = left_over.split()[:_MAX_WORDS]
    return tuple(_parts_of_command(command, words)) or tuple(_parts_of_words(words))


def bare_words(command: Sequence[str]) -> Iterator[str]:
    """Yield the words of a launch command that follow no flag: what stands before the first one."""
    launched = command[3:] if tuple(command[1:2]) == ("-m",) else command[2:]
    for word in launched:
        if is_flag_word(word):
            return
        yield word


def _parts_of_words(words: Sequence[str]) -> Iterator[Part]:
    start = 0
    for end in range(1, len(words) + 1):
        if end == len(words) or is_flag_word(words[end]) or not is_flag_word(words[start]):
            yield _part(words[start], words[start + 1 : end])
            start = end


def _part(word: str, values: Sequence[str]) -> Part:
    name, is_joined, value = word.partition("=")
    return Part(name, (value,) if is_joined else tuple(values))


def _parts_of_command(command: Sequence[str], words: Sequence[str]) -> Iterator[Part]:
    """Walk the command flag by flag: an unknown flag takes its words along; of a known one the last are too many."""
    left = Counter(words)
    starts = [index for index, word in enumerate(command) if is_flag_word(word)]
    for start, end in zip(starts, [*starts[1:], len(command)], strict=False):
        head, following = command[start], command[start + 1 : end]
        if left[head]:
            yield _part(head, following)
            left.subtract([head, *following])
        else:
            yield from _strays(head, following, left)


def _strays(head: str, following: Sequence[str], left: Counter[str]) -> Iterator[Part]:
    """The words after a known flag that it does not take, as one part."""
    taken = values_taken(head, len(following))
    extra = following[taken:]
    if extra and all(left[word] > 0 for word in extra):
        left.subtract(extra)
        before = (head.partition("=")[2],) if "=" in head else tuple(following[:taken])
        yield Part(" ".join(extra), after=head.partition("=")[0], before=before)


def values_taken(head: str, at_most: int) -> int:
    """Return how many of the words after a flag it takes; all of them where the flag is not known."""
    flag = flag_called(head.partition("=")[0])
    takes = {"nothing": 0, "value": 1}.get(flag.takes, at_most) if flag else at_most
    return 0 if "=" in head else min(takes, at_most)
