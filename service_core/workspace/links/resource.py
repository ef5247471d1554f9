"""Trackable links as a kind of resource: their redirects, and what the wire shows."""

from dataclasses import replace
from functools import partial
from typing import Any, Final

from service_core.changes.resource import Kind, Records, Resource, State
from service_core.kernel.operations import Scope
from service_core.kernel.settings import Settings
from service_core.workspace.links.edge import announce
from service_core.workspace.links.model import Link, LinkDomain, address
from service_core.workspace.links.ports import ClickCount, Clicks, EdgeMemory

NEVER_CLICKED: Final = ClickCount()


def domain_of(settings: Settings) -> LinkDomain | None:
    """The link domain of the deployment, if it has one."""
    return LinkDomain(settings.links.domain.lower()) if settings.links.domain else None


def link_kind(domain: LinkDomain | None, clicks: Clicks, memory: EdgeMemory) -> Kind:
    """How links are written.

    Args:
        domain: the link domain of the deployment; None when it has none.
        clicks: how often links were clicked.
        memory: told of every change of a redirect.
    """

    def effects(prior: State | None, new: State | None) -> tuple[State, ...]:
        return edge_effects(prior, new, domain)

    async def informed(_: Records, link: Resource) -> Kind:
        counts = await clicks.click_counts(link.workspace_id, [link.id])
        return replace(kind, shown=partial(shown, domain=domain, count=counts.get(link.id, NEVER_CLICKED)))

    kind = Kind(
        Link,
        Scope.WRITE_LINKS,
        effects,
        partial(shown, domain=domain, count=NEVER_CLICKED),
        informed=informed,
        announced=partial(announce, memory, domain),
    )
    return kind


def edge_effects(prior: State | None, new: State | None, domain: LinkDomain | None) -> tuple[State, ...]:
    """What a change does to the redirect; nothing when the link has none."""
    state = new or prior
    if state is None or state["domain_id"] is None or domain is None:
        return ()
    slug = state["slug"]
    key = f"{domain.host}/{slug}" if slug else None
    place = key or f"A new slug on {domain.host}"
    now = f"{place} now leads to {new['destination_url']}" if new else f"{place} stops redirecting"
    effect: dict[str, Any] = {
        "type": "edge_redirect",
        "summary": now,
        "operation": "put" if new else "delete",
        "key": key,
        "path": f"/{slug}" if slug else None,
    }
    return (effect,)


def shown(state: State, domain: LinkDomain | None, count: ClickCount) -> State:
    """A link on the wire. Nobody sees the clicks of a direct link: they are null, for unknown is not zero."""
    redirects = state["domain_id"] is not None
    return {
        **state,
        "url": address(state, domain),
        "kind": "redirect" if redirects else "direct",
        "clicks": count.clicks if redirects else None,
        "unique_clicks": count.unique_clicks if redirects else None,
    }
