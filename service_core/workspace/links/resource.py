"""Trackable links as a kind of resource: their redirects, and what the wire shows."""

from typing import Any

from service_core.changes.resource import Kind, State
from service_core.kernel.operations import Scope
from service_core.kernel.settings import Settings
from service_core.workspace.links.model import Link, LinkDomain, address


def domain_of(settings: Settings) -> LinkDomain | None:
    """The link domain of the deployment, if it has one."""
    return LinkDomain(settings.links.domain.lower()) if settings.links.domain else None


def link_kind(domain: LinkDomain | None) -> Kind:
    """How links are written.

    Args:
        domain: the link domain of the deployment; None when it has none.
    """

    def effects(prior: State | None, new: State | None) -> tuple[State, ...]:
        return edge_effects(prior, new, domain)

    def presented(state: State) -> State:
        return shown(state, domain)

    return Kind(Link, Scope.WRITE_LINKS, effects, presented)


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


def shown(state: State, domain: LinkDomain | None) -> State:
    """A link on the wire. Its clicks are null while nothing counts them: unknown is not zero."""
    kind = "direct" if state["domain_id"] is None else "redirect"
    return {**state, "url": address(state, domain), "kind": kind, "clicks": None, "unique_clicks": None}
