"""The routes of all installed ingest protocols."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from service_core.ingestion.protocols.models import MAX_BODY_BYTES
from service_core.ingestion.protocols.ports import IngestProtocol
from service_core.kernel.errors import StartupError
from service_core.kernel.unique_index import index_unique_or_startup_error

OWN_PATHS: Final = frozenset({"/", "/track", "/batch", "/container-scripts", "/t.js"})
"""Paths of the ingest host itself."""
_OWN_PREFIXES: Final = ("/webhooks/", "/l/")


class InstalledRoute(NamedTuple):
    """A path of a protocol, and the methods it takes."""

    protocol: IngestProtocol
    methods: frozenset[str]
    path: str


@dataclass(frozen=True)
class ProtocolRoutes:
    """The installed protocols by id, and their routes by path."""

    protocols: Mapping[str, IngestProtocol] = field(default_factory=dict)
    routes: Mapping[str, InstalledRoute] = field(default_factory=dict)

    @classmethod
    def index_by_unique_path(cls, protocols: Iterable[IngestProtocol]) -> "ProtocolRoutes":
        """Returns the routes of these protocols.

        Raises:
            StartupError: two have the same id or path, a path is one of the ingest host, or a limit is too high.
        """
        by_id = index_unique_or_startup_error(
            protocols, lambda p: p.info.id, lambda p: f"the ingest protocol {p.info.id!r}"
        )
        for protocol in by_id.values():
            _validate_limit_and_paths(protocol)
        routes = index_unique_or_startup_error(
            [
                InstalledRoute(protocol, route.methods, route.path)
                for protocol in by_id.values()
                for route in protocol.info.routes
            ],
            lambda route: route.path,
            lambda route: f"the route {route.path!r} of the ingest host",
        )
        return cls(by_id, routes)


def _validate_limit_and_paths(protocol: IngestProtocol) -> None:
    subject = f"The ingest protocol {protocol.info.id!r}"
    if protocol.info.max_body_bytes > MAX_BODY_BYTES:
        raise StartupError(f"{subject} takes bodies of more than {MAX_BODY_BYTES} bytes. Lower its limit.")
    for route in protocol.info.routes:
        is_own = route.path in OWN_PATHS or route.path.startswith(_OWN_PREFIXES)
        if is_own or not route.path.startswith("/"):
            raise StartupError(
                f"{subject} declares the path {route.path!r}, which the ingest host cannot give it. "
                "Choose one that begins with '/' and is not its own."
            )
