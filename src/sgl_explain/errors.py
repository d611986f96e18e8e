"""The errors sgl_explain raises for its own bad input; explaining someone else's error raises none."""

from collections.abc import Sequence


class SglExplainError(Exception):
    """The base of every error this package raises on purpose."""


class TemplateError(SglExplainError):
    """A message template that cannot be read."""

    def __init__(self, text: str, problem: str) -> None:
        super().__init__(text, problem)
        self.text = text
        self.problem = problem

    def __str__(self) -> str:
        return f"template {self.text!r}: {self.problem}"


class UnknownEntryError(SglExplainError):
    """An entry id, or alias, that the knowledge base does not hold."""

    def __init__(self, entry_id: str, suggestions: Sequence[str] = ()) -> None:
        super().__init__(entry_id, tuple(suggestions))
        self.entry_id = entry_id
        self.suggestions = tuple(suggestions)

    def __str__(self) -> str:
        hint = f" Did you mean {' or '.join(self.suggestions)}?" if self.suggestions else ""
        return f"no entry is called {self.entry_id!r}.{hint}"


class KnowledgeError(SglExplainError):
    """Knowledge files that break the rules of the entry format; every problem is reported at once."""

    def __init__(self, problems: Sequence[str]) -> None:
        super().__init__(tuple(problems))
        self.problems = tuple(problems)

    def __str__(self) -> str:
        return "\n".join(self.problems)
