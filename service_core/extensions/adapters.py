"""An adapter as a value, and what the URL that chooses it says."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, Self
from urllib.parse import parse_qsl, unquote, urlsplit

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator
from pydantic_core import ErrorDetails

from service_core.kernel.errors import StartupError


class AdapterSettings(BaseModel):
    """What the URL of an adapter says; subclass it to accept query parameters.

    ``duckdb:////var/events.db?threads=2`` gives ``path`` ``/var/events.db`` and, in a subclass,
    ``threads``. A parameter the model does not name is a start-up error.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)

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
    def _require_server(self) -> Self:
        example = f"{urlsplit(self.url).scheme}://localhost/0"
        if self.host is None:
            raise ValueError(f"name a server, as in {example}")
        if self.path is not None and not str(self.path).removeprefix("/").isdecimal():
            raise ValueError(f"the path is the number of a database, as in {example}")
        return self


class LocalDataKind(StrEnum):
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
    multi_process: bool = True
    local_data: LocalDataKind | None = None


def parse_adapter_settings(adapter: Adapter, url: str, folder: Path) -> AdapterSettings:
    """What a URL says, checked by the model of the adapter it names.

    Args:
        adapter: the one that serves the URL.
        url: setting of the deployment.
        folder: what a relative path in it is relative to.

    Raises:
        StartupError: a part the adapter does not know, or refuses; what it knows is named. No path where data is
            kept at one: DuckDB would keep it in memory.
    """
    if adapter.local_data is not None:
        _require_path(adapter, url)
    try:
        return adapter.settings.model_validate(_parse_url_fields(url, folder))
    except ValidationError as fault:
        wrong = "; ".join(map(_describe_validation_error, fault.errors()))
        options = ", ".join(
            sorted(adapter.settings.model_fields.keys() - AdapterSettings.model_fields.keys())
        )
        raise StartupError(
            f"The {adapter.scheme}:// URL of {adapter.port!r} does not fit its adapter: {wrong}. "
            f"Options after its ? are: {options or 'none'}."
        ) from None
    except ValueError as fault:
        raise StartupError(
            f"The {adapter.scheme}:// URL of {adapter.port!r} cannot be read: {fault}."
        ) from None


def _require_path(adapter: Adapter, url: str) -> None:
    parts = urlsplit(url)
    place = (parts.netloc.rpartition("@")[2] + parts.path).strip("/") or "NAME"
    if parts.netloc or not parts.path.strip("/"):
        kept = "folder" if adapter.local_data is LocalDataKind.FOLDER else "file"
        raise StartupError(
            f"The {adapter.scheme}:// URL of {adapter.port!r} has to name a {kept}. Write three slashes before it: "
            f"{adapter.scheme}:///{place}."
        )


def _describe_validation_error(error: ErrorDetails) -> str:
    """What is wrong with a part of a URL, or with all of it."""
    name = ".".join(map(str, error["loc"]))
    if error["type"] == "extra_forbidden":
        return f"{name} is no option of it"
    reason = error["msg"].removeprefix("Value error, ")
    return f"{name}: {reason}" if name else reason


def _parse_url_fields(url: str, folder: Path) -> dict[str, object]:
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
