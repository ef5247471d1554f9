"""Runs every wrong plugin and prints which ones the kits catch: ``nox -s wrong-plugins``."""

import sys
from pathlib import Path

import pytest

from tests.plugin_kits.wrong_plugin import MIN_CAUGHT_SHARE, MIN_WRONG_PLUGINS, WRONG_PLUGINS, WrongPlugin


class CaughtPlugins:
    """Records which wrong plugins failed the test of the promise they break."""

    def __init__(self) -> None:
        self.caught: dict[type, bool] = {}

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_makereport(self, item, call):
        outcome = yield
        owner = getattr(item, "cls", None)
        if call.when == "call" and owner is not None and issubclass(owner, WrongPlugin):
            has_failed = hasattr(outcome.get_result(), "wasxfail")
            self.caught[owner] = has_failed and self.caught.get(owner, True)


def main() -> int:
    """Returns 1 unless enough of enough wrong plugins are caught."""
    run = CaughtPlugins()
    pytest.main(["-q", "--no-header", "-p", "no:cacheprovider", str(Path(__file__).parent)], plugins=[run])
    lines = [
        f"| {each.__module__.rpartition('_wrong_')[2]} | {each.__name__.removeprefix('Test')} | {each.promise} | "
        f"{'yes' if run.caught.get(each) else 'NO'} |"
        for each in WRONG_PLUGINS
    ]
    sys.stdout.write(
        "\n".join(["", "| kind | wrong plugin | promise | caught |", "|---|---|---|---|", *lines])
    )
    caught = sum(run.caught.values())
    sys.stdout.write(f"\n\n{caught} of {len(WRONG_PLUGINS)} wrong plugins are caught.\n")
    return int(len(WRONG_PLUGINS) < MIN_WRONG_PLUGINS or caught < MIN_CAUGHT_SHARE * len(WRONG_PLUGINS))


if __name__ == "__main__":
    raise SystemExit(main())
