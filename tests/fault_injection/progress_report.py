"""One line for every test that holds a fault, as it ends, and one for every fault, when all have."""

import time
from collections import Counter, defaultdict
from dataclasses import dataclass, field

from tests.fault_injection.coverage_table import fault_tests


@dataclass
class FaultTest:
    """A test as the table names it: the cases it still has, and how those that ended did."""

    faults: list[int]
    left: int = 0
    seconds: float = 0.0
    ended: Counter = field(default_factory=Counter)


class ProgressReport:
    """A plugin of pytest that says how far a full run is."""

    def __init__(self):
        self._started = time.monotonic()
        self._say = print
        self._tests = {}

    def pytest_collection_finish(self, session):
        """Know what there is to do."""
        faults = defaultdict(list)
        for fault, tests in fault_tests().items():
            for _, name in tests:
                faults[name].append(fault)
        for item in session.items:
            name = _short_name(item.nodeid)
            self._tests.setdefault(name, FaultTest(faults.get(name.rpartition("::")[2], []))).left += 1
        self._say = session.config.pluginmanager.get_plugin("terminalreporter").write_line

    def pytest_report_teststatus(self, report):
        """No letter for what went well."""
        if report.passed:
            return "passed" if report.when == "call" else "", "", ""
        return None

    def pytest_runtest_logreport(self, report):
        """Add what ended."""
        test = self._tests[_short_name(report.nodeid)]
        test.seconds += report.duration
        if report.when == "call" or report.outcome != "passed":
            test.ended[report.outcome] += 1
        if report.when == "teardown":
            test.left -= 1
            if not test.left and (test.faults or test.ended.keys() != {"passed"}):
                self._tell(_short_name(report.nodeid), test)

    def _tell(self, name, test):
        minutes, seconds = divmod(int(time.monotonic() - self._started), 60)
        left = sum(1 for other in self._tests.values() if other.left)
        faults = " ".join(f"F{fault}" for fault in test.faults) or "-"
        self._say(
            f"{minutes:3}:{seconds:02}  {faults:<11} {test.seconds:6.1f} s  {_format_outcomes(test.ended)}  {name}  ({left} to go)"
        )

    def pytest_terminal_summary(self, terminalreporter):
        """The table in short."""
        for fault in sorted({fault for test in self._tests.values() for fault in test.faults}):
            own = [test for test in self._tests.values() if fault in test.faults]
            ended = sum((test.ended for test in own), Counter())
            seconds = sum(test.seconds for test in own)
            terminalreporter.write_line(f"F{fault:<3} {seconds:6.1f} s  {_format_outcomes(ended)}")


def _format_outcomes(ended):
    return ", ".join(f"{number} {outcome}" for outcome, number in sorted(ended.items()))


def _short_name(nodeid):
    return nodeid.partition("[")[0]
