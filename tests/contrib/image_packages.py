"""Opens the adapters of a deployment in a process that can import only the packages pinned for the image."""

import importlib.util
import re
import runpy
import sys
from importlib.abc import MetaPathFinder
from importlib.metadata import packages_distributions
from pathlib import Path

ROOT = Path(__file__).parents[2]
OWN = {"touchpoint-analytics"}


def canonical(name):
    return re.sub("[-_.]+", "-", name).lower()


def hidden_packages():
    """The import packages installed here that belong to no distribution of the image."""
    text = (ROOT / "requirements" / "image.txt").read_text()
    pinned = {canonical(name) for name in re.findall(r"^([\w.-]+)==", text, re.MULTILINE)} | OWN
    return {
        package
        for package, distributions in packages_distributions().items()
        if pinned.isdisjoint(map(canonical, distributions))
    }


class HiddenPackages(MetaPathFinder):
    """Refuses to import packages."""

    def __init__(self, hidden):
        self._hidden = hidden

    def find_spec(self, fullname, path, target=None):
        if fullname.partition(".")[0] in self._hidden:
            raise ModuleNotFoundError(f"No module named {fullname!r} in the image", name=fullname)


if __name__ == "__main__":
    hidden = hidden_packages()
    found = importlib.util.find_spec
    importlib.util.find_spec = lambda name, package=None: (
        None if name.partition(".")[0] in hidden else found(name, package)
    )
    sys.meta_path.insert(0, HiddenPackages(hidden))
    runpy.run_module("tests.contrib.open_adapters", run_name="__main__", alter_sys=False)
