"""Trackable links as a kind of resource: their redirects, and what the wire shows."""

from dataclasses import replace
from functools import partial
from typing import Any, Final

from service_core.changes.resource import RecordReader, ResourceType, State
from service_core.kernel.errors import Conflict
from service_core.kernel.operations import Scope
from service_core.kernel.settings import Settings
from service_core.workspace.links.domains.resource import LinkHosts, load_link_hosts
from service_core.workspace.links.models import LinkDomain, TrackingLink, public_url
from service_core.workspace.links.ports import ClickCount, ClickStore, RedirectCache
from service_core.workspace.links.redirect_lookup import write_to_cache

NO_CLICKS: Final = ClickCount()


def shared_link_domain(settings: Settings) -> LinkDomain | None:
    """The link domain of the deployment, if it has one; it is shared by all workspaces."""
    return LinkDomain(settings.links.domain.lower()) if settings.links.domain else None


def link_kind(*, settings: Settings, clicks: ClickStore, memory: RedirectCache) -> ResourceType:
    """How links are written.

    Args:
        settings: the link domain of the deployment, if it has one.
        clicks: how often links were clicked.
        memory: told of every change of a redirect.
    """
    shared = shared_link_domain(settings)

    async def informed(records: RecordReader, link: Any) -> ResourceType:
        counts = await clicks.count_clicks(link.workspace_id, [link.id])
        host = host_under(link, await load_link_hosts(records, shared))
        return replace(
            kind,
            effects=partial(edge_effects, host=host),
            serialize=partial(shown, host=host, count=counts.get(link.id, NO_CLICKS)),
            on_change=partial(write_to_cache, memory, host),
        )

    async def standing(records: RecordReader, link: Any) -> None:
        if link.domain_id and link.domain_id not in await load_link_hosts(records, shared):
            raise Conflict("The domain of this link is not set up any more", "resource_changed")

    kind = ResourceType(TrackingLink, Scope.WRITE_LINKS, with_related=informed, check_restorable=standing)
    return kind


def host_under(link: TrackingLink, hosts: LinkHosts) -> str | None:
    """The host a link redirects from; None for a direct one, and for one whose domain is not set up any more."""
    return hosts.get(link.domain_id) if link.domain_id else None


def edge_effects(prior: State | None, new: State | None, host: str | None) -> tuple[State, ...]:
    """What a change does to the redirect; nothing when the link has none."""
    state = new or prior
    if state is None or host is None:
        return ()
    slug = state["slug"]
    key = f"{host}/{slug}" if slug else None
    place = key or f"A new slug on {host}"
    now = f"{place} now leads to {new['destination_url']}" if new else f"{place} stops redirecting"
    effect: dict[str, Any] = {
        "type": "edge_redirect",
        "summary": now,
        "operation": "put" if new else "delete",
        "key": key,
        "path": f"/{slug}" if slug else None,
    }
    return (effect,)


def shown(state: State, host: str | None, count: ClickCount) -> State:
    """A link on the wire. Nobody sees the clicks of a direct link: they are null, for unknown is not zero."""
    redirects = state["domain_id"] is not None
    return {
        **state,
        "url": public_url(state, host),
        "kind": "redirect" if redirects else "direct",
        "clicks": count.clicks if redirects else None,
        "unique_clicks": count.unique_clicks if redirects else None,
    }
