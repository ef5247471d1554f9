"""Page and referrer of an event (semantics 2.1, 7.1)."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from service_core.access.model import Workspace
from service_core.intake.addresses import MAX_ADDRESS, parts, referring_host
from service_core.intake.campaign import text
from service_core.intake.classify import Classifier


@dataclass(frozen=True, slots=True)
class Page:
    """Where an event happened and what led there.

    Attributes:
        path: path without query.
        query: query of ``url``.
        referrer_host: its host, lower case, without ``www.``.
        external: the same host when it is somebody else's, so it can have brought the visitor.
        spam: whether the referrer is known for forgery.
    """

    url: str | None
    path: str | None
    query: str
    title: str | None
    referrer: str | None
    referrer_host: str | None
    external: str | None
    spam: bool


def read_page(properties: Mapping[str, Any], workspace: Workspace, classifier: Classifier) -> Page:
    """The page of an event, by its properties ``url``, ``path``, ``title`` and ``referrer``."""
    url, referrer = _address(properties.get("url")), _address(properties.get("referrer"))
    host, path, query = parts(url) if url else (None, text(properties.get("path")), "")
    came_from = referring_host(referrer) if referrer else None
    own = (*_own_hosts(workspace.domain, workspace.allowed_origins), host or "") if came_from else ()
    return Page(
        url=url,
        path=path,
        query=query,
        title=text(properties.get("title")),
        referrer=referrer,
        referrer_host=came_from,
        external=came_from if came_from and classifier.external(came_from, own) else None,
        spam=came_from is not None and classifier.spam(came_from),
    )


@lru_cache(1024)
def _own_hosts(domain: str | None, origins: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(host for own in (domain, *origins) if own and (host := referring_host(own) or own.lower()))


def _address(value: object) -> str | None:
    return value.strip()[:MAX_ADDRESS] or None if isinstance(value, str) else None
