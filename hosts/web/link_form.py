"""The form of a trackable link: what it sends, and what it starts with."""

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from hosts.web.cards.card import Answer
from hosts.web.forms import FormFields
from hosts.web.workspace_view import WorkspaceView
from service_core.changes.change_executor import ChangeExecutor
from service_core.workspace.links.domains.models import LinkDomainClaim
from service_core.workspace.links.models import PATH_LINK_DOMAIN, UTM_PARAMETERS, shared_link_domain

UTM_LABELS: Final[Mapping[str, tuple[str, str]]] = {
    "utm_source": ("Source", "newsletter"),
    "utm_medium": ("Medium", "email"),
    "utm_campaign": ("Campaign", "spring-sale"),
    "utm_term": ("Term", ""),
    "utm_content": ("Content", ""),
}
"""Campaign parameter -> its label and an example."""

_TEXT_FIELDS: Final = ("name", "destination_url", *UTM_PARAMETERS)
_CHOICE_FIELDS: Final = ("kind", "domain_id", "slug", "once")


class LinkDomainChoice(NamedTuple):
    """A host that short links of the workspace can have."""

    id: str
    host: str


async def list_link_domains(view: WorkspaceView) -> list[LinkDomainChoice]:
    """Returns the hosts of new short links, the shared one first."""
    settings = view.context.service.settings
    shared = shared_link_domain(settings)
    shared_host = shared.host if shared else f"{settings.http.effective_ingest_url.partition('://')[2]}/l"
    async with view.context.component(ChangeExecutor).transactions.read(view.workspace.id) as transaction:
        claims = await transaction.resources.list_all(LinkDomainClaim)
    own = sorted(
        (claim.name, claim.link_domain.id) for claim in claims if claim.is_verified and not claim.lapsed_at
    )
    return [
        LinkDomainChoice(str((shared or PATH_LINK_DOMAIN).id), shared_host),
        *(LinkDomainChoice(str(id_), host) for host, id_ in own),
    ]


def link_of_form(form: FormFields, domains: Sequence[LinkDomainChoice] | None = None) -> dict[str, Any]:
    """Returns the fields of the API.

    Args:
        form: as it was sent.
        domains: hosts to choose from for a new link; None for a link whose address stays.
    """
    link: dict[str, Any] = {name: form.text(name) or None for name in UTM_PARAMETERS}
    link |= {"name": form.text("name"), "destination_url": form.text("destination_url")}
    if domains is not None and form.text("kind") != "direct":
        link["domain_id"] = form.text("domain_id") or domains[0].id
        if form.text("slug"):
            link["slug"] = form.text("slug")
    return link


def values_of_form(form: FormFields) -> dict[str, str]:
    """Returns what was typed."""
    return {name: form.text(name) for name in (*_TEXT_FIELDS, *_CHOICE_FIELDS)}


def values_of_link(link: Answer) -> dict[str, str]:
    """Returns what the form of a stored link starts with."""
    return {name: link[name] or "" for name in _TEXT_FIELDS}
