"""Finds the installed plugins: those of packages, and the files of the plugin folder."""

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cache, partial
from importlib.metadata import Distribution, EntryPoint, entry_points
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Final, NamedTuple

from service_core.extensions.hooks import ENTRY_POINT_GROUP
from service_core.extensions.plugin_hashes import (
    HashedFiles,
    HashedSourceLoader,
    hash_distribution,
    hash_file,
    import_only_hashed,
)
from service_core.kernel.errors import StartupError

_OWN_PACKAGE: Final = "touchpoint-analytics"
_FILE_MODULE_PREFIX: Final = "touchpoint_plugin_"
_NO_PLUGIN_PREFIXES: Final = ("_", "test_")


class PluginOrigin(StrEnum):
    """Where a plugin comes from."""

    BUILT_IN = "built_in"
    PACKAGE = "package"
    FOLDER = "folder"


@dataclass(frozen=True)
class PluginSelection:
    """The plugins that a process loads.

    Attributes:
        disabled: names of plugins that are not imported.
        folder: folder of one-file plugins; None for none.
        leave_out_faulty: whether a faulty plugin is left out and named, instead of stopping the start.
        allowed: name and hash of each plugin that may be loaded beside the built-in ones; None for any.
    """

    disabled: frozenset[str] = frozenset()
    folder: Path | None = None
    leave_out_faulty: bool = False
    allowed: frozenset[tuple[str, str]] | None = None


ALL_PLUGINS: Final = PluginSelection()
"""Every installed plugin, and no plugin folder."""


def _raise_without_hash() -> HashedFiles:
    raise StartupError("It belongs to no package.")


@dataclass(frozen=True)
class InstalledPlugin:
    """A plugin that is installed, not imported yet.

    Attributes:
        name: name of its entry point, or of its file.
        origin: where it comes from.
        load: imports it.
        package: name of its distribution, or the path of its file; empty if unknown.
        version: version of its distribution; empty if unknown.
        homepage: URL in the metadata of its distribution; empty for none.
        hash_files: returns its files with the hash by which an operator allows it; it raises `StartupError` if it has none.
    """

    name: str
    origin: PluginOrigin
    load: Callable[[], object]
    package: str = ""
    version: str = ""
    homepage: str = ""
    hash_files: Callable[[], HashedFiles] = _raise_without_hash

    @property
    def described(self) -> str:
        """The plugin and its package, as in messages."""
        package = " ".join(filter(None, (self.package, self.version)))
        return f"{self.name!r} ({package})" if package else repr(self.name)


@dataclass(frozen=True)
class PluginFault:
    """Why a plugin cannot be used.

    Attributes:
        plugin: the plugin.
        message: sentences for the operator, with the package of the plugin.
    """

    plugin: InstalledPlugin
    message: str


def find_plugins(
    selection: PluginSelection, given: Iterable[tuple[str, object]], *, discover_entry_points: bool
) -> tuple[list[InstalledPlugin], list[PluginFault]]:
    """Returns the plugins to load, and a fault for each plugin whose name another plugin has.

    Args:
        selection: which plugins are disabled, and the plugin folder.
        given: plugins as (name, module or object); each takes the place of an entry point of its name.
        discover_entry_points: whether to look for plugins of packages and in the plugin folder.
    """
    found = [
        InstalledPlugin(name, PluginOrigin.BUILT_IN, partial(_return_given, plugin)) for name, plugin in given
    ]
    names_given = {plugin.name for plugin in found}
    if discover_entry_points:
        discovered = [*_plugins_of_packages(), *_plugins_of_folder(selection.folder)]
        found += [plugin for plugin in discovered if plugin.name not in names_given]
    enabled = [plugin for plugin in found if plugin.name not in selection.disabled]
    unique, faults = _separate_repeated_names(enabled)
    refused = {id(plugin): fault for plugin in unique if (fault := _find_refusal(plugin, selection.allowed))}
    return [plugin for plugin in unique if id(plugin) not in refused], [*faults, *refused.values()]


def _find_refusal(plugin: InstalledPlugin, allowed: frozenset[tuple[str, str]] | None) -> PluginFault | None:
    """Returns a fault for a plugin of another package that the operator did not allow, or that has changed since.

    The code of an allowed one is imported from the hashed files alone.
    """
    if allowed is None or plugin.origin is PluginOrigin.BUILT_IN:
        return None
    expected = dict(allowed).get(plugin.name)
    if expected is None:
        reason = "plugins.allowed does not name it"
    else:
        try:
            files = plugin.hash_files()
            if files.hash == expected:
                import_only_hashed(files)
                return None
        except StartupError as fault:
            reason = f"its hash cannot be compared with plugins.allowed: {str(fault).rstrip('.')}"
        else:
            reason = "its files have another hash than plugins.allowed names"
    advice = "`touchpoint plugins --hashes` prints the hashes of those that are installed."
    return PluginFault(plugin, f"Plugin {plugin.described} is refused: {reason}. {advice}")


def _return_given(plugin: object) -> object:
    return plugin


def _plugins_of_packages() -> Iterator[InstalledPlugin]:
    """Yields the plugins of installed packages by name, the built-in ones first."""
    describe_once = cache(_describe_package)  # the metadata is parsed anew each time it is read
    plugins = [
        _plugin_of_entry_point(point, describe_once) for point in entry_points(group=ENTRY_POINT_GROUP)
    ]
    yield from sorted(plugins, key=lambda plugin: (plugin.origin is not PluginOrigin.BUILT_IN, plugin.name))


class _Package(NamedTuple):
    name: str
    version: str
    homepage: str


def _describe_package(distribution: Distribution) -> _Package:
    metadata = distribution.metadata
    name, version = metadata["Name"], metadata["Version"]
    return _Package(name, version, _homepage_of_metadata(metadata.json))


def _plugin_of_entry_point(
    point: EntryPoint, describe_package: Callable[[Distribution], _Package]
) -> InstalledPlugin:
    if point.dist is None:
        return InstalledPlugin(point.name, PluginOrigin.PACKAGE, point.load)
    package = describe_package(point.dist)
    origin = PluginOrigin.BUILT_IN if package.name == _OWN_PACKAGE else PluginOrigin.PACKAGE
    if origin is PluginOrigin.BUILT_IN and package.homepage:
        package = package._replace(homepage=f"{package.homepage}/tree/main/plugins/{point.name}")
    return InstalledPlugin(
        point.name, origin, point.load, *package, partial(hash_distribution, point.dist, point.module)
    )


def _homepage_of_metadata(metadata: Mapping[str, str | list[str]]) -> str:
    """Returns the URL that the metadata of a package labels as its homepage; empty for none."""
    urls = metadata.get("project_url", [])
    labelled = {
        label.strip().lower(): url.strip() for label, _, url in (entry.partition(",") for entry in urls)
    }
    return labelled.get("homepage") or str(metadata.get("home_page", ""))


def _plugins_of_folder(folder: Path | None) -> Iterator[InstalledPlugin]:
    """Yields a plugin for each Python file of a folder, without tests and names that begin with an underscore."""
    if folder is None:
        return
    for file in sorted(folder.glob("*.py")):
        if not file.stem.startswith(_NO_PLUGIN_PREFIXES) and file.stem != "conftest":
            yield InstalledPlugin(
                file.stem,
                PluginOrigin.FOLDER,
                partial(_import_file, file),
                package=str(file),
                hash_files=partial(hash_file, file),
            )


def _import_file(file: Path) -> object:
    name = f"{_FILE_MODULE_PREFIX}{file.stem}"
    specification = spec_from_file_location(name, file, loader=HashedSourceLoader(name, str(file)))
    if specification is None or specification.loader is None:
        raise ImportError(f"{file} is no Python file")
    module = module_from_spec(specification)
    sys.modules[name] = module
    try:
        specification.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module


def _separate_repeated_names(
    plugins: Iterable[InstalledPlugin],
) -> tuple[list[InstalledPlugin], list[PluginFault]]:
    first_by_name: dict[str, InstalledPlugin] = {}
    faults = []
    for plugin in plugins:
        first = first_by_name.setdefault(plugin.name, plugin)
        if first is not plugin:
            faults.append(
                PluginFault(
                    plugin,
                    f"Two plugins have the name {plugin.name!r}: {first.described} and {plugin.described}. "
                    "Uninstall one of them.",
                )
            )
    return list(first_by_name.values()), faults
