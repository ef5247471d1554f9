"""Takes the way of an author for five kinds, from the scaffold to a wheel in use, with times: ``nox -s first-plugin``.

The new environment sees the packages of this one, so nothing is downloaded; the wheel alone is installed into it.
"""

import json
import os
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from time import monotonic
from typing import Final

ROOT: Final = Path(__file__).parents[2]
IMPORTED_FILE: Final = "name,at,visitor\nsignup,2026-07-01T10:00:00Z,v-1\n"
USES: Final[Mapping[str, tuple[str, ...]]] = {
    "revenue_provider": ("connection", "add", "first_revenue_provider", "--secret", "webhook_secret=TOKEN"),
    "ad_platform": ("connection", "add", "first_ad_platform", "--secret", "token=TOKEN", "--account", "main"),
    "metric_pack": ("plugins", "--json"),
    "geo": ("config", "check"),
    "import_source": ("import", "first_import_source", "history.csv", "--dry-run", "--json"),
}
"""Kind of plugin -> the command that uses the installed plugin in a new deployment."""

SHOWN: Final[Mapping[str, str]] = {
    "revenue_provider": "/webhooks/first_revenue_provider/",
    "ad_platform": "first_ad_platform",
    "metric_pack": "first_metric_pack_per_visitor",
    "geo": "first-geo://",
    "import_source": '"2026-07-01"',
}
"""Kind of plugin -> a text that the command prints, or that the settings keep, when the plugin is used."""


class Author:
    """An author who works in one folder.

    Args:
        kind: kind of the plugin.
        folder: an empty folder.
    """

    def __init__(self, kind: str, folder: Path) -> None:
        self.kind, self.folder = kind, folder
        self.name = f"first_{kind}"
        self.package = folder / self.name
        self.python = folder / "fresh" / "bin" / "python"
        self.shop = folder / "shop"

    def steps(self) -> Iterator[tuple[str, Callable[[], object]]]:
        """Yields the steps in their order, each with what it does."""
        yield (
            "scaffold",
            lambda: self.run(sys.executable, "-m", "hosts.cli", "plugin", "new", self.kind, self.name),
        )
        yield "check", lambda: self.run(sys.executable, "-m", "hosts.cli", "plugin", "check", self.package)
        yield "wheel", self.build_wheel
        yield "install", self.install_wheel
        yield "deployment", self.init_deployment
        yield "use", self.use

    def build_wheel(self) -> None:
        """Builds the wheel."""
        options = (
            "--quiet",
            "--no-deps",
            "--no-index",
            "--no-build-isolation",
            "--disable-pip-version-check",
        )
        self.run(sys.executable, "-m", "pip", "wheel", *options, "-w", self.folder / "dist", self.package)

    def install_wheel(self) -> None:
        """Installs the wheel into a new environment that has Touchpoint."""
        self.run(sys.executable, "-m", "venv", "--without-pip", self.folder / "fresh")
        (site,) = (self.folder / "fresh").glob("lib/python*/site-packages")
        (site / "touchpoint.pth").write_text(f"{sysconfig.get_path('purelib')}\n{ROOT}\n")
        (wheel,) = (self.folder / "dist").glob("*.whl")
        options = ("--quiet", "--no-deps", "--no-index", "--disable-pip-version-check")
        self.run(sys.executable, "-m", "pip", "--python", self.python, "install", *options, wheel)

    def init_deployment(self) -> None:
        """Makes a deployment, with the settings and files that the use needs."""
        self.touchpoint("init", self.shop, "--json")
        (self.shop / "history.csv").write_text(IMPORTED_FILE)
        if self.kind == "geo":
            settings = self.shop / "touchpoint.toml"
            settings.write_text(settings.read_text().replace("[geo]\n", '[geo]\ndatabase = "first-geo://"\n'))

    def use(self) -> None:
        """Runs the command that uses the plugin.

        Raises:
            RuntimeError: the plugin was not used.
        """
        printed = self.touchpoint(*USES[self.kind], folder=self.shop)
        listed = json.loads(self.touchpoint("plugins", "--json", folder=self.shop))["plugins"]
        if self.name not in {plugin["name"] for plugin in listed}:
            raise RuntimeError(f"{self.name} is not listed")
        if SHOWN[self.kind] not in printed + (self.shop / "touchpoint.toml").read_text():
            raise RuntimeError(f"{self.name} is not used: {printed}")

    def touchpoint(self, *arguments: object, folder: Path | None = None) -> str:
        """Returns what a command of the new environment prints."""
        return self.run(self.python, "-m", "hosts.cli", *arguments, folder=folder)

    def run(self, *command: object, folder: Path | None = None) -> str:
        """Returns what a command prints.

        Raises:
            RuntimeError: it fails.
        """
        known = {name: value for name, value in os.environ.items() if not name.startswith("TOUCHPOINT_")}
        done = subprocess.run(
            [*map(str, command)], cwd=folder or self.folder, env=known | {"TOKEN": "s3cret"},
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        if done.returncode:
            raise RuntimeError(f"{' '.join(map(str, command))}: {done.stdout}{done.stderr}")
        return done.stdout


def time_steps(kind: str) -> dict[str, float]:
    """Returns the seconds of each step of a kind."""
    seconds = {}
    with tempfile.TemporaryDirectory(prefix="touchpoint-first-") as folder:
        for name, step in Author(kind, Path(folder)).steps():
            began = monotonic()
            step()
            seconds[name] = monotonic() - began
    return seconds


def main() -> None:
    """Prints the table of steps and seconds."""
    timed = {kind: time_steps(kind) for kind in sys.argv[1:] or USES}
    steps = list(next(iter(timed.values())))
    lines = [
        f"| kind | {' | '.join(steps)} | together |",
        f"|---|{'---|' * (len(steps) + 1)}",
        *(
            f"| `{kind}` | {' | '.join(f'{each:.1f}' for each in seconds.values())} | {sum(seconds.values()):.1f} |"
            for kind, seconds in timed.items()
        ),
    ]
    sys.stdout.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
