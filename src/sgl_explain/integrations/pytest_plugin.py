"""pytest: failures explained in the report, where ``--sgl-explain`` or ``sgl_explain = true`` in the ini file asks.

Loaded by pytest in every run where the package is installed (entry point ``pytest11``), so importing it loads nothing,
and nothing is hooked unless it was asked for. PYTEST_DONT_REWRITE: there is no assert in here.
"""

from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

_NAME = "sgl_explain"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option and the ini value that ask for explanations."""
    text = "explain failures that SGLang caused, in the report of the test"
    parser.getgroup("reporting").addoption("--sgl-explain", action="store_true", dest=_NAME, help=text)
    parser.addini(_NAME, text, type="bool", default=False)


def pytest_configure(config: pytest.Config) -> None:
    """Hook reports where explanations were asked for."""
    if config.getoption(_NAME) or config.getini(_NAME):
        is_brief = config.getoption("tbstyle", "auto") in ("line", "no")
        config.pluginmanager.register(_Explaining(has_sections=not is_brief), "sgl_explain_reports")


class _Explaining:
    """A section in the report of a failure, a property of the test, one line in the summary.

    Where a report is to be one line (``--tb=line``), only the summary names the entry. Sections and properties are
    part of the report, and so reach the controller of pytest-xdist and the JUnit file.
    """

    def __init__(self, *, has_sections: bool) -> None:
        self._has_sections = has_sections

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_makereport(self, item: pytest.Item, call: "pytest.CallInfo[None]") -> Iterator[None]:
        outcome: Any = yield
        report = outcome.get_result()
        for entry_id in self._explain(report, call):
            # the report has a copy; the JUnit file takes them from the last report of the test
            for properties in (report.user_properties, item.user_properties):
                if (_NAME, entry_id) not in properties:
                    properties.append((_NAME, entry_id))

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_make_collect_report(self, collector: pytest.Collector) -> Iterator[None]:  # noqa: ARG002 - pytest's
        outcome: Any = yield
        report = outcome.get_result()
        report.user_properties = [
            (_NAME, entry_id) for entry_id in self._explain(report, getattr(report, "call", None))
        ]

    def _explain(self, report: Any, call: Any) -> tuple[str, ...]:
        """Add a section to the report of a failure; return what explains it, also where it was shown before."""
        if not report.failed or getattr(call, "excinfo", None) is None:
            return ()
        from sgl_explain.integrations._guard import entry_id_of, explanations_of, remember, within_budget

        error = call.excinfo.value
        explanations = explanations_of(error)
        text = within_budget(lambda: "\n\n".join(map(str, explanations))) if explanations else None
        if not text:
            known = entry_id_of(error)
            return (known,) if known else ()
        if self._has_sections:
            _add_section(report, text)
        for explanation in explanations:
            remember(explanation)
        return tuple(dict.fromkeys(str(explanation.id) for explanation in explanations))

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        failures = [*terminalreporter.getreports("failed"), *terminalreporter.getreports("error")]
        counts = Counter(
            value for report in failures for name, value in getattr(report, "user_properties", ()) if name == _NAME
        )
        if counts:
            told = ", ".join(f"{entry_id} ({count})" for entry_id, count in counts.items())
            terminalreporter.write_line(f"sgl_explain: failures explained, by sgl-explain show ID: {told}")


def _add_section(report: Any, text: str) -> None:
    if hasattr(report.longrepr, "addsection"):
        report.longrepr.addsection(_NAME, text)
    else:  # errors of collection
        report.sections.append((_NAME, text))
