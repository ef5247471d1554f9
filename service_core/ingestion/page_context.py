"""Parses the page URL and referrer of an event."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from service_core.access.models import Workspace
from service_core.ingestion.campaign import campaign_text
from service_core.ingestion.page_urls import MAX_URL_LENGTH, is_app_referrer, parse_referrer_host, split_url
from service_core.ingestion.traffic_classification import TrafficClassifier


@dataclass(frozen=True, slots=True)
class PageContext:
    """Page URL, title and referrer of an event.

    Attributes:
        path: path without query.
        query: query of ``url``.
        referrer_host: host of the referrer, lower case, without ``www.``.
        external_referrer_host: that host if it belongs to another site that can be a traffic source, otherwise None.
        is_app_referrer: whether the referrer is an app; its host is the package or id.
        is_spam_referrer: whether the referrer is listed as spam.
    """

    url: str | None
    path: str | None
    query: str
    title: str | None
    referrer: str | None
    referrer_host: str | None
    external_referrer_host: str | None
    is_app_referrer: bool
    is_spam_referrer: bool


def parse_page_context(
    properties: Mapping[str, Any], workspace: Workspace, classifier: TrafficClassifier
) -> PageContext:
    """Returns the page context from the properties ``url``, ``path``, ``title`` and ``referrer``."""
    url, referrer = _url_text(properties.get("url")), _url_text(properties.get("referrer"))
    host, path, query = split_url(url) if url else (None, campaign_text(properties.get("path")), "")
    referrer_host = parse_referrer_host(referrer) if referrer else None
    is_app = referrer is not None and is_app_referrer(referrer)
    own_hosts = (
        (*_hosts_of_domain_and_origins(workspace.domain, workspace.allowed_origins), host or "")
        if referrer_host
        else ()
    )
    return PageContext(
        url=url,
        path=path,
        query=query,
        title=campaign_text(properties.get("title")),
        referrer=referrer,
        referrer_host=referrer_host,
        external_referrer_host=referrer_host
        if referrer_host
        and (is_app or classifier.is_other_site_and_no_payment_or_login(referrer_host, own_hosts))
        else None,
        is_app_referrer=is_app,
        is_spam_referrer=not is_app and referrer_host is not None and classifier.is_spam(referrer_host),
    )


@lru_cache(1024)
def _hosts_of_domain_and_origins(domain: str | None, origins: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(
        host for own in (domain, *origins) if own and (host := parse_referrer_host(own) or own.lower())
    )


def _url_text(value: object) -> str | None:
    return value.strip()[:MAX_URL_LENGTH] or None if isinstance(value, str) else None
