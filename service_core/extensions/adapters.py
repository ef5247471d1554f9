"""Adapter declarations, and parsing of the URLs that select them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, Self
from urllib.parse import parse_qsl, unquote, urlsplit

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator
from pydantic_core import ErrorDetails

from service_core.kernel.errors import StartupError


class AdapterSettings(BaseModel):
    """The settings in an adapter's URL. Subclass it to accept query parameters.

    ``duckdb:////var/events.db?threads=2`` gives ``path`` ``/var/events.db`` and, in a subclass, ``threads``. An unknown
    parameter is a startup error.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)

    url: str = Field(repr=False)
    path: Path | None = None
    host: str | None = None
    port: int | None = None
    user: str | None = None
    password: str | None = Field(None, repr=False)


class ServerSettings(AdapterSettings):
    """The URL of a server with numbered databases: ``redis://user:password@host:6379/0``."""

    @property
    def database(self) -> int:
        """Number of the database."""
        return int(self.path.name) if self.path is not None else 0

    @model_validator(mode="after")
    def _require_host_and_numeric_path(self) -> Self:
        example = f"{urlsplit(self.url).scheme}://localhost/0"
        if self.host is None:
            raise ValueError(f"name a server, as in {example}")
        if self.path is not None and not str(self.path).removeprefix("/").isdecimal():
            raise ValueError(f"the path is the number of a database, as in {example}")
        return self


class LocalDataKind(StrEnum):
    """Kind of file or folder at the path of an adapter's URL; a backup copies each kind its own way."""

    SQLITE = "sqlite"
    """A SQLite database; copied by its own backup, while others write."""
    FILE = "file"
    """A file, and files in its folder whose names begin with its name; copied while no port writes."""
    FOLDER = "folder"
    """A folder of finished files; names of unfinished ones end with ``.part``."""


@dataclass(frozen=True)
class Adapter:
    """An implementation of a port, selected by the scheme of a URL.

    Attributes:
        port: name of the port, as in the settings (``events``, ``workspace``, ``queue``, ``limits``...).
        scheme: scheme of its URLs.
        open: builds the adapter from its settings. It must be cheap; heavy imports belong inside it. The result may have
            ``async start()``, ``async aclose()`` and ``async check()``, which changes nothing and raises `StartupError`
            if the adapter cannot be used.
        settings: model of the URL.
        summary: one sentence for ``touchpoint plugins``.
        multi_process: False if its data or counters belong to one process; a deployment of several processes is then
            refused at startup.
        local_data: what is stored at the path of its URL; None if a server stores the data.
        encode_batch: of an event store that one process owns: events -> bytes that the ``append_encoded`` of its open
            adapter stores, so that a consumer in another process can prepare batches. None where it has neither.
    """

    port: str
    scheme: str
    open: Callable[[Any], Any]
    settings: type[AdapterSettings] = AdapterSettings
    summary: str = ""
    multi_process: bool = True
    local_data: LocalDataKind | None = None
    encode_batch: Callable[[Sequence[Any]], bytes] | None = None


def parse_adapter_settings(adapter: Adapter, url: str, base_folder: Path) -> AdapterSettings:
    """Returns the settings of a URL, validated by the adapter's model.

    Args:
        adapter: the adapter of the URL's scheme.
        url: the configured URL.
        base_folder: base of relative paths.

    Raises:
        StartupError: a part is unknown or invalid, or the path is missing where the adapter stores local data.
    """
    if adapter.local_data is not None:
        _require_path_without_host(adapter, url)
    try:
        return adapter.settings.model_validate(_parse_url_fields(url, base_folder))
    except ValidationError as error:
        problems = "; ".join(map(_describe_invalid_url_part, error.errors()))
        options = ", ".join(
            sorted(adapter.settings.model_fields.keys() - AdapterSettings.model_fields.keys())
        )
        raise StartupError(
            f"The {adapter.scheme}:// URL of {adapter.port!r} does not fit its adapter: {problems}. "
            f"Options after its ? are: {options or 'none'}."
        ) from None
    except ValueError as error:
        raise StartupError(
            f"The {adapter.scheme}:// URL of {adapter.port!r} cannot be read: {error}."
        ) from None


def _require_path_without_host(adapter: Adapter, url: str) -> None:
    parts = urlsplit(url)
    path_name = (parts.netloc.rpartition("@")[2] + parts.path).strip("/") or "NAME"
    if parts.netloc or not parts.path.strip("/"):
        kind = "folder" if adapter.local_data is LocalDataKind.FOLDER else "file"
        raise StartupError(
            f"The {adapter.scheme}:// URL of {adapter.port!r} has to name a {kind}. Write three slashes before it: "
            f"{adapter.scheme}:///{path_name}."
        )


def _describe_invalid_url_part(error: ErrorDetails) -> str:
    """Returns the text about one invalid part of a URL."""
    name = ".".join(map(str, error["loc"]))
    if error["type"] == "extra_forbidden":
        return f"{name} is not an option"
    reason = error["msg"].removeprefix("Value error, ")
    return f"{name}: {reason}" if name else reason


def _parse_url_fields(url: str, base_folder: Path) -> dict[str, object]:
    """Returns the parts of an adapter URL as fields of its settings model.

    ``scheme:///relative`` is relative to ``folder``, ``scheme:////absolute`` is absolute.
    """
    parts = urlsplit(url)
    fields: dict[str, object] = {**dict(parse_qsl(parts.query, keep_blank_values=True)), "url": url}
    if parts.path.lstrip("/"):
        path = unquote(parts.path)
        fields["path"] = base_folder / path.removeprefix("/") if not parts.netloc else Path(path)
    authority = {
        "host": parts.hostname,
        "port": parts.port,
        "user": parts.username,
        "password": parts.password,
    }
    return fields | {name: value for name, value in authority.items() if value is not None}
