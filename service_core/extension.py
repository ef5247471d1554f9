"""How the house is extended: hook specifications, the `Adapter` value and the frozen `Registry`.

Hooks return values and never change an application. In-tree plugins and third parties are entry
points of one group, ``touchpoint``; the core itself is the plugin `service_core.builtin`.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from enum import StrEnum
from importlib.metadata import entry_points
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, Self
from urllib.parse import parse_qsl, unquote, urlsplit

import pluggy
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from service_core.changes.resource import Writable
from service_core.insight.attribution.model import Models
from service_core.insight.attribution.ports import AttributionModel
from service_core.insight.catalog import Catalog, Dimension, Metric
from service_core.kernel.errors import StartupError
from service_core.kernel.operations import Operation

GROUP: Final = "touchpoint"
hookspec = pluggy.HookspecMarker(GROUP)
hook = pluggy.HookimplMarker(GROUP)
"""Marks a hook implementation in a plugin module."""


class AdapterSettings(BaseModel):
    """What the URL of an adapter says; subclass it to accept query parameters.

    ``duckdb:////var/events.db?threads=2`` gives ``path`` ``/var/events.db`` and, in a subclass,
    ``threads``. A parameter the model does not name is a start-up error.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    url: str = Field(repr=False)
    path: Path | None = None
    host: str | None = None
    port: int | None = None
    user: str | None = None
    password: str | None = Field(None, repr=False)


class ServerSettings(AdapterSettings):
    """What the URL of a server with numbered databases says: ``redis://user:password@host:6379/0``."""

    @property
    def database(self) -> int:
        """Number of the database."""
        return int(self.path.name) if self.path is not None else 0

    @model_validator(mode="after")
    def _names_a_server(self) -> Self:
        example = f"{urlsplit(self.url).scheme}://localhost/0"
        if self.host is None:
            raise ValueError(f"name a server, as in {example}")
        if self.path is not None and not str(self.path).removeprefix("/").isdecimal():
            raise ValueError(f"the path is the number of a database, as in {example}")
        return self


class Keeps(StrEnum):
    """What lies on this machine at the path of an adapter's URL, so that a backup knows how to copy it."""

    SQLITE = "sqlite"
    """A SQLite database; copied by its own backup, while others write."""
    FILE = "file"
    """A file, and those beside it whose names begin with its name; copied while no port writes."""
    FOLDER = "folder"
    """A folder of finished files; drafts in it end with ``.part``."""


@dataclass(frozen=True)
class Adapter:
    """One implementation of one port, chosen by the scheme of a URL.

    Attributes:
        port: name of the port, as in the settings (``events``, ``workspace``, ``queue``, ``limits``...).
        scheme: scheme of the URLs it serves.
        open: builds the adapter from its settings; cheap, heavy imports belong inside it. The
            result may have ``async start()`` and ``async aclose()``, and ``async check()``, which changes
            nothing and raises `StartupError` when it could not be used.
        settings: model of the URL.
        summary: one sentence for ``touchpoint plugins``.
        shared: False when what it opens, or counts, belongs to one process; a deployment of several
            processes that need it is refused at the start.
        keeps: what lies at the path of its URL; None when a server keeps its data.
    """

    port: str
    scheme: str
    open: Callable[[Any], Any]
    settings: type[AdapterSettings] = AdapterSettings
    summary: str = ""
    shared: bool = True
    keeps: Keeps | None = None


class Hooks:
    """The hook specifications. Every hook is optional and returns a sequence of values."""

    @hookspec
    def adapters(self) -> Iterable[Adapter]:  # type: ignore[empty-body]
        """Adapters this plugin brings; two of one (port, scheme) stop the start."""

    @hookspec
    def operations(self) -> Iterable[Operation]:  # type: ignore[empty-body]
        """Endpoints this plugin brings; they get credentials, budgets and docs like any other."""

    @hookspec
    def resources(self) -> Iterable[Writable]:  # type: ignore[empty-body]
        """Types of resource this plugin brings, with their endpoints; writes of them are audited and undone."""

    @hookspec
    def metrics(self) -> Iterable[Metric]:  # type: ignore[empty-body]
        """Metrics this plugin brings; each appears in the catalog and in ``POST /query``."""

    @hookspec
    def dimensions(self) -> Iterable[Dimension]:  # type: ignore[empty-body]
        """Dimensions this plugin brings."""

    @hookspec
    def attribution_models(self) -> Iterable[AttributionModel]:  # type: ignore[empty-body]
        """Attribution models this plugin brings; their ids are valid wherever a model is named."""


@dataclass(frozen=True)
class Registry:
    """Everything installed, checked and frozen."""

    adapters: Mapping[tuple[str, str], Adapter]
    operations: tuple[Operation, ...]
    catalog: Catalog
    plugins: tuple[str, ...]
    models: Models = field(default_factory=Models)
    resources: tuple[Writable, ...] = ()

    def open(self, port: str, url: str, *, folder: Path) -> Any:
        """Build the adapter that ``url`` names.

        Args:
            port: name of the port.
            url: setting of the deployment; a relative path in it is relative to ``folder``.

        Raises:
            StartupError: unknown scheme (the installed ones are named) or a URL the adapter refuses.
        """
        adapter = self.serving(port, url)
        return adapter.open(_settings(adapter, url, folder))

    def serving(self, port: str, url: str) -> Adapter:
        """The adapter that serves ``url``.

        Raises:
            StartupError: unknown scheme; the installed ones are named.
        """
        scheme, colon, _ = url.partition("://")
        adapter = self.adapters.get((port, scheme.lower()))
        if adapter is None or not colon:
            known = ", ".join(f"{s}://" for p, s in sorted(self.adapters) if p == port) or "none"
            serves = f"serves {scheme}://" if colon else f"can be chosen, as {url!r} is no URL"
            raise StartupError(
                f"No adapter for {port!r} {serves}. Installed: {known}. "
                "Correct the URL in the settings, or install the plugin that brings it."
            )
        return adapter

    def place(self, port: str, url: str, *, folder: Path) -> tuple[Keeps, Path] | None:
        """What the adapter of ``url`` keeps on this machine, and where; None when a server keeps it.

        Raises:
            StartupError: as `open`.
        """
        adapter = self.serving(port, url)
        path = _settings(adapter, url, folder).path
        return None if adapter.keeps is None or path is None else (adapter.keeps, path)


def _settings(adapter: Adapter, url: str, folder: Path) -> AdapterSettings:
    """What a URL says, checked by the adapter it names."""
    try:
        return adapter.settings.model_validate(url_fields(url, folder))
    except ValidationError as fault:
        wrong = "; ".join(f"{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in fault.errors())
        known = ", ".join(adapter.settings.model_fields)
        raise StartupError(
            f"The {adapter.scheme}:// URL of {adapter.port!r} does not fit its adapter: {wrong}. It knows: {known}."
        ) from None
    except ValueError as fault:
        raise StartupError(
            f"The {adapter.scheme}:// URL of {adapter.port!r} cannot be read: {fault}."
        ) from None


def url_fields(url: str, folder: Path) -> dict[str, object]:
    """The parts of an adapter URL as fields of its settings model.

    ``scheme:///relative`` is relative to ``folder``, ``scheme:////absolute`` is absolute.
    """
    parts = urlsplit(url)
    fields: dict[str, object] = {**dict(parse_qsl(parts.query, keep_blank_values=True)), "url": url}
    if parts.path.lstrip("/"):
        path = unquote(parts.path)
        fields["path"] = folder / path.removeprefix("/") if not parts.netloc else Path(path)
    authority = {
        "host": parts.hostname,
        "port": parts.port,
        "user": parts.username,
        "password": parts.password,
    }
    return fields | {name: value for name, value in authority.items() if value is not None}


def load(
    extra: Iterable[tuple[str, object]] = (), *, discover: bool = True, catalog: bool = True
) -> Registry:
    """Collect every installed plugin into a frozen registry.

    Args:
        extra: further plugins as (name, module or object): the core's own, or those of a test.
        discover: read the entry points of the group ``touchpoint``.
        catalog: collect metrics and dimensions. A process without the core leaves them empty: metrics of
            a plugin name dimensions of the core.

    Raises:
        StartupError: a plugin that cannot be imported, a misspelt hook, or a clash of two plugins.
    """
    manager = pluggy.PluginManager(GROUP)
    manager.add_hookspecs(Hooks)
    for name, plugin in extra:
        _register(manager, plugin, name)
    for point in sorted(entry_points(group=GROUP), key=lambda p: p.name) if discover else ():
        if not manager.has_plugin(point.name):
            _register(manager, _import(point), point.name)
    _check_hooks(manager)
    resources = tuple(_each(manager.hook.resources()))
    of_resources = [operation for resource in resources for operation in resource.operations]
    return Registry(
        adapters=_unique_adapters(_each(manager.hook.adapters())),
        operations=_unique_routes([*_each(manager.hook.operations()), *of_resources]),
        catalog=Catalog.of(_each(manager.hook.metrics()), _each(manager.hook.dimensions()))
        if catalog
        else Catalog({}),
        plugins=tuple(name for name, _ in manager.list_name_plugin()),
        models=Models.of(_each(manager.hook.attribution_models())),
        resources=resources,
    )


def _each(results: list[Iterable[Any]]) -> list[Any]:
    """Hook results in order of registration (pluggy calls the latest first)."""
    return [value for values in reversed(results) for value in values]


def _import(point: Any) -> object:
    try:
        return point.load()
    except Exception as fault:
        raise StartupError(f"Plugin {point.name!r} ({point.value}) cannot be imported: {fault}") from fault


def _check_hooks(manager: pluggy.PluginManager) -> None:
    """Refuse a function marked as a hook that no specification knows."""
    try:
        manager.check_pending()
    except pluggy.PluginValidationError as fault:
        known = [name for name in vars(Hooks) if not name.startswith("_")]
        misspelt = str(fault).split("'")[1]
        near = get_close_matches(misspelt, known, n=1, cutoff=0)
        raise StartupError(
            f"Plugin {manager.get_name(fault.plugin)!r} implements the hook {misspelt!r}, which does not exist. "
            f"Did you mean {near[0]!r}? Hooks: {', '.join(known)}."
        ) from fault


def _register(manager: pluggy.PluginManager, plugin: object, name: str) -> None:
    try:
        manager.register(plugin, name)
    except pluggy.PluginValidationError as fault:
        raise StartupError(f"Plugin {name!r} implements a hook with other parameters: {fault}") from fault


def _unique_adapters(adapters: list[Adapter]) -> Mapping[tuple[str, str], Adapter]:
    seen: dict[tuple[str, str], Adapter] = {}
    for adapter in adapters:
        key = adapter.port, adapter.scheme
        if key in seen:
            raise StartupError(
                f"Two plugins bring an adapter for {key[0]!r} that serves {key[1]}://. Uninstall one of them."
            )
        seen[key] = adapter
    return MappingProxyType(seen)


def _unique_routes(operations: list[Operation]) -> tuple[Operation, ...]:
    seen: dict[tuple[str, str, str], Operation] = {}
    for op in operations:
        key = op.surface, op.method, op.path
        if key in seen:
            raise StartupError(f"Two plugins declare {op.method} {op.path}. Uninstall one of them.")
        seen[key] = op
    return tuple(operations)
