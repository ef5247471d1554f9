"""Every type of resource a workspace can write: a new one adds its line."""

from service_core.changes.resource import Kind
from service_core.kernel.settings import Settings
from service_core.workspace.links.resource import domain_of, link_kind
from service_core.workspace.scripts.resource import proposal_kind


def kinds_of(settings: Settings) -> tuple[Kind, ...]:
    """The kinds, as this deployment shows them."""
    return link_kind(domain_of(settings)), proposal_kind(settings.http.web_url)
