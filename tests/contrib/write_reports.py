"""Writes the report of ``touchpoint plugin check`` of each package in ``contrib``: ``python -m tests.contrib.write_reports``."""

import json
import sys
from pathlib import Path

from hosts.plugin_author.check import check_plugin

CONTRIB = Path(__file__).parents[2] / "contrib"
ONE_FILE = CONTRIB / "workspace_clock" / "workspace_clock.py"
PACKAGES = sorted(
    file.parent for file in CONTRIB.glob("*/pyproject.toml") if "entry-points" in file.read_text()
)
PLUGINS = [*PACKAGES, ONE_FILE]


def report_file(plugin: Path) -> Path:
    """Returns the JSON report of a plugin; the Markdown one stands beside it."""
    return (plugin.parent if plugin == ONE_FILE else plugin) / "check.json"


def main() -> None:
    """Checks every plugin, or those that are named."""
    for plugin in PLUGINS:
        if sys.argv[1:] and plugin.stem not in sys.argv[1:]:
            continue
        report = check_plugin(plugin)
        file = report_file(plugin)
        text = json.dumps(report.to_json(), indent=1, ensure_ascii=False) + "\n"
        file.write_text(text.replace(f"{CONTRIB.parent}/", ""))
        file.with_suffix(".md").write_text(report.to_markdown())
        sys.stdout.write(f"{plugin.stem}: {report.level}\n")


if __name__ == "__main__":
    main()
