"""Parses the page URL and referrer of an event."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from service_core.access.models import Workspace
from service_core.ingestion.campaign import campaign_text
from service_core.ingestion.page_urls import MAX_URL_LENGTH, parse_referrer_host, split_url
from service_core.ingestion.traffic_classification import TrafficClassifier


@dataclass(frozen=True, slots=True)
class PageContext:
    """Page URL, title and referrer of an event.

    Attributes:
        path: path without query.
        query: query of ``url``.
        referrer_host: its host, lower case, without ``www.``.
        external_referrer_host: the same host when it is somebody else's, so it can have brought the visitor.
        is_spam_referrer: whether the referrer is known for forgery.
    """

    url: str | None
    path: str | None
    query: str
    title: str | None
    referrer: str | None
    referrer_host: str | None
    external_referrer_host: str | None
    is_spam_referrer: bool


def parse_page_context(
    properties: Mapping[str, Any], workspace: Workspace, classifier: TrafficClassifier
) -> PageContext:
    """Returns the page context from the properties ``url``, ``path``, ``title`` and ``referrer``."""
    url, referrer = _url_text(properties.get("url")), _url_text(properties.get("referrer"))
    host, path, query = split_url(url) if url else (None, campaign_text(properties.get("path")), "")
    came_from = parse_referrer_host(referrer) if referrer else None
    own = (*_workspace_hosts(workspace.domain, workspace.allowed_origins), host or "") if came_from else ()
    return PageContext(
        url=url,
        path=path,
        query=query,
        title=campaign_text(properties.get("title")),
        referrer=referrer,
        referrer_host=came_from,
        external_referrer_host=came_from if came_from and classifier.is_external(came_from, own) else None,
        is_spam_referrer=came_from is not None and classifier.is_spam(came_from),
    )


@lru_cache(1024)
def _workspace_hosts(domain: str | None, origins: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(
        host for own in (domain, *origins) if own and (host := parse_referrer_host(own) or own.lower())
    )


def _url_text(value: object) -> str | None:
    return value.strip()[:MAX_URL_LENGTH] or None if isinstance(value, str) else None
