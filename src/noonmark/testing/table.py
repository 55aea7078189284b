"""A pytest plugin that prints, store by store, how many cases of ``StoreSuite`` passed, and fails if some did not run.

Usage: ``pytest -p noonmark.testing.table --store-table tests/test_my_store.py``

Rule of the file: a number in the table is a number of tests that ran to their end and passed.  What was skipped, failed or
never came is not in it, and where a store has fewer than there are, the run fails.
"""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any

import pytest

_SUITE = "store-suite"  # the property by which a test says that it belongs to one
_FAULTS = re.compile(r"-(before|after)\]$")


@dataclass
class _Column:
    """One store: what passed, row by row, of how many."""

    label: str = ""
    expected: int = 0
    seconds: float = 0.0
    passed: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    ran: dict[str, int] = field(default_factory=lambda: defaultdict(int))


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option that asks for the table."""
    parser.addoption("--store-table", action="store_true", help="print which store passed how many cases of StoreSuite")


def pytest_configure(config: pytest.Config) -> None:
    """Collect what the tests report, where there is somebody to tell it to."""
    if config.getoption("store_table") and not hasattr(config, "workerinput"):
        config.pluginmanager.register(_Table(config), "noonmark-store-table")


class _Table:
    """Listens to reports, prints at the end."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._columns: dict[str, _Column] = {}
        self._rows: list[str] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Count one report; a test has up to three, and passes if none of them says otherwise."""
        told = dict(report.user_properties).get(_SUITE)
        if not isinstance(told, (list, tuple)):
            return
        label, expected = str(told[0]), int(told[1])
        store = report.nodeid.split("::")[1].removeprefix("Test")
        column = self._columns.setdefault(store, _Column(label=label, expected=expected))
        column.seconds += report.duration
        row = _row_of(report.nodeid)
        if row not in self._rows:
            self._rows.append(row)
        if report.when == "call" or (report.when == "setup" and report.failed):
            column.ran[row] += not report.skipped
            column.passed[row] += report.passed
        elif report.when == "teardown" and report.failed:  # it passed, and then left something behind
            column.passed[row] -= 1

    @pytest.hookimpl(wrapper=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> Any:
        """Fail the run if a store lacks cases."""
        result = yield
        if session.exitstatus == pytest.ExitCode.OK and (not self._columns or any(self._lacking())):
            session.exitstatus = pytest.ExitCode.TESTS_FAILED
        return result

    def _lacking(self) -> list[str]:
        return [
            f"{store}: {sum(column.passed.values())} of {column.expected} passed"
            for store, column in self._columns.items()
            if sum(column.passed.values()) != column.expected
        ]

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Print the table."""
        out = terminalreporter
        if not self._columns:
            out.write_line("no test of a StoreSuite ran", red=True)
            return
        stores = sorted(self._columns, key=lambda store: self._columns[store].label)
        width = max(map(len, [*self._rows, "seconds"]))
        widths = {store: max(len(store), 7) for store in stores}
        out.section("stores and the cases they passed")
        out.write_line(" ".join([" " * width, *(store.rjust(widths[store]) for store in stores)]))
        for row in sorted(self._rows, key=_order):
            cells = []
            for store in stores:
                passed, ran = self._columns[store].passed[row], self._columns[store].ran[row]
                cell = "-" if ran == 0 else str(passed) if passed == ran else f"{passed}/{ran}"
                cells.append(cell.rjust(widths[store]))
            out.write_line(" ".join([row.ljust(width), *cells]))
        totals = [str(sum(self._columns[store].passed.values())).rjust(widths[store]) for store in stores]
        out.write_line(" ".join(["all".ljust(width), *totals]), bold=True)
        times = [f"{self._columns[store].seconds:.0f}".rjust(widths[store]) for store in stores]
        out.write_line(" ".join(["seconds".ljust(width), *times]))
        for store in stores:
            out.write_line(f"{store} = {self._columns[store].label}")
        lacking = self._lacking()
        for line in lacking:
            out.write_line(line, red=True)
        if not lacking:
            out.write_line("every store passed every case", green=True)


_OTHERS = {
    "test_the_store_agrees_with_the_model": "lock-step with the model",
    "test_the_store_agrees_with_the_model_when_calls_fail": "lock-step, calls failing",
    "test_workers_that_fight_for_rows_run_each_exactly_once": "contention",
}


def _row_of(nodeid: str) -> str:
    test = nodeid.split("::", 2)[2]
    function, _, case = test.partition("[")
    fault = _FAULTS.search(test)
    if fault and "fails_first" in function:
        return f"all, failing {fault.group(1)}"
    if ": " in case:
        return case.partition(": ")[0]
    return _OTHERS.get(function, "other")


def _order(row: str) -> tuple[int, str]:
    late = ["archiving", "all, failing before", "all, failing after", *_OTHERS.values(), "other"]
    return (late.index(row) + 1 if row in late else 0, row)


def suite_property(label: str, expected: int) -> tuple[str, tuple[str, int]]:
    """Return what a test of a suite tells about itself: the store's name and version, and how many tests there are."""
    return (_SUITE, (label, expected))
