"""What every text form of an explanation says, and in which order; forms add colour or tags, no words."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from sgl_explain.command import shell_text, values_in
from sgl_explain.explanation import Explanation
from sgl_explain.fixing import Fix

FIRST_LINE: Final = "sgl_explain: "

Role = Literal["title", "text", "fix", "code", "hint", "reports"]


@dataclass(frozen=True, slots=True)
class Block:
    """A piece of an explanation: what it is (``role``), a label where it has one, and its text."""

    role: Role
    text: str
    label: str = ""

    @property
    def items(self) -> tuple[str, ...]:
        """The parts of a comma-separated text."""
        return tuple(part.strip() for part in self.text.split(","))


def label_width(blocks: Sequence[Block]) -> int:
    """Return the columns that labels take: two before, the longest with its colon, one after."""
    return max(len(block.label) for block in blocks) + 4


def report_url(report: str) -> str:
    """Return the address of a public report written ``owner/repository#number``; empty if it is not one."""
    repository, _, number = report.partition("#")
    return f"https://github.com/{repository}/issues/{number}" if "/" in repository and number.isdigit() else ""


def short_form(page: Explanation) -> Iterator[Block]:
    """Yield what it is, why here, the fixes, and how to see more."""
    yield Block("title", _title(page))
    if page.id is None:
        yield from _nearest(page)
        return
    yield from _meaning(page)
    for fix, before in zip(page.fixes, (None, *page.fixes), strict=False):
        yield from _fix(fix, "Fix" if before is None or fix.word != before.word else "Or")
    yield Block("hint", f"sgl-explain show {page.id}", "More")


def full_form(page: Explanation) -> Iterator[Block]:
    """Yield the whole page of an entry."""
    yield Block("title", page.title)
    if page.message or page.exception:
        yield Block("text", ": ".join(part for part in (page.exception, page.message) if part), "Message")
    yield from _meaning(page)
    for number, fix in enumerate(page.fixes, start=1):
        yield from _fix(fix, f"Fix {number}")
    if page.example:
        before, after = ("Before", "After") if page.example.language == "text" else ("Fails", "Works")
        yield Block("code", page.example.before, before)
        yield Block("code", page.example.after, after)
    yield Block("text", page.trigger, "Trigger")
    yield from (Block("text", text, "Happens") for text in page.situations)
    yield from _prevention(page)
    if page.related:
        yield Block("text", ", ".join(page.related), "Related")
    yield Block("text", ", ".join(page.upstream) + f" (sglang {page.versions})", "Source")
    if page.seen:
        yield Block("reports", ", ".join(page.seen), "Reports")
    yield Block("hint", str(page.id), "Id")


def _title(page: Explanation) -> str:
    doubt = " (probable)" if page.confidence == "probable" else ""
    where = f" [line {page.line}]" if page.line else ""
    rank = f" [{page.rank}]" if page.rank else ""
    return f"{FIRST_LINE}{page.title}{doubt}{rank}{where}"


def _meaning(page: Explanation) -> Iterator[Block]:
    for paragraph in page.meaning.split("\n\n"):
        yield Block("text", paragraph)
    for cause in page.causes:
        sign = cause.sign or (f"({cause.condition})" if cause.condition else "")
        yield Block("text", f"{sign} {cause.means}", "If") if sign else Block("text", cause.means)


def _fix(fix: Fix, label: str) -> Iterator[Block]:
    advice = _without_or(fix.do)
    yield Block("fix", f"({fix.condition}) {advice}" if fix.condition else advice, label)
    for line in command_lines(fix):
        yield Block("code", line)


def _without_or(advice: str) -> str:
    """The advice without the "Or" that its label says already."""
    bare = advice.removeprefix("Or, ").removeprefix("Or ")
    return advice if bare == advice else bare[:1].upper() + bare[1:]


def command_lines(fix: Fix) -> Iterator[str]:
    """Yield what to paste for a fix: the corrected command where it is known, otherwise the flags to change."""
    for name, value in fix.env.items():
        yield f"export {name}={shell_text((value,))}" if value else f"unset {name}"
    if fix.run:
        yield fix.run
    if fix.command:
        yield fix.command
    elif fix.set or fix.remove or fix.rename:
        yield "\n".join(
            [
                *(f"write   {successor} for {word}" for word, successor in fix.rename.items()),
                *(f"remove  {flag}" for flag in fix.remove),
                *(f"set     {shell_text((name, *values_in(value)))}" for name, value in fix.set.items()),
            ]
        )
    if fix.code:
        yield fix.code


def _prevention(page: Explanation) -> Iterator[Block]:
    if page.prevention is None:
        return
    yield from (Block("text", habit, "Prevent") for habit in page.prevention.habits)
    for label, code in (
        ("Check", page.prevention.validate),
        ("Guard", page.prevention.guard),
        ("Catch", page.prevention.catch),
    ):
        if code:
            yield Block("code", code.strip("\n"), label)


def _nearest(page: Explanation) -> Iterator[Block]:
    if not page.nearest:
        yield Block("text", "Nothing in the knowledge base is like it.")
        return
    yield Block("text", "Nearest by wording; none of them is claimed to be the cause:")
    for near in page.nearest:
        yield Block(
            "text", f"{near.title} (sgl-explain show {near.id})", f"{near.likeness} %" if near.likeness else "Words"
        )
