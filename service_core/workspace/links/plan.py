"""How a link is made and changed."""

from collections.abc import Callable
from typing import Any, Final
from uuid import UUID

from service_core.access.models import Caller
from service_core.changes.change_executor import ChangePlanner
from service_core.changes.models import GENERATED_FIELDS, Action, Change
from service_core.changes.ports import Transaction
from service_core.changes.record_plans import get_or_404, new_record_fields
from service_core.kernel.errors import Unprocessable
from service_core.workspace.links.domains.resource import LinkHosts, load_link_hosts, require_active_domain
from service_core.workspace.links.models import (
    UTM_PARAMETERS,
    LinkDomain,
    TrackingLink,
    new_slug,
    new_tracking_identifier,
    slug_key,
    tracking_identifier_key,
)
from service_core.workspace.links.schemas import IMMUTABLE_FIELDS, LinkPatch, NewLink
from service_core.workspace.url_rules import APP_STORE_SCHEMES, validate_slug, validate_url

LONGEST_TEXT: Final = 255


def create(caller: Caller, wanted: NewLink, shared: LinkDomain | None) -> ChangePlanner:
    """The plan of a new link.

    Args:
        who: whose link it shall be.
        wanted: what the request says.
        shared: the link domain of the deployment, for who names none.

    Raises:
        Unprocessable: ``invalid_field``, ``invalid_url``, ``invalid_slug``, ``unknown_domain``.
    """

    async def plan(unit: Transaction) -> Change:
        on = _chosen(wanted, shared, await load_link_hosts(unit.resources, shared))
        if on is not None:
            await require_active_domain(unit.resources, on)
        asked = wanted.slug or None
        if asked:
            validate_slug(asked)
        slug = asked or (await _free(unit, new_slug, lambda text: slug_key(on, text)) if on else None)
        workspace_id = caller.workspace.id
        identifier = await _free(
            unit, new_tracking_identifier, lambda text: tracking_identifier_key(workspace_id, text)
        )
        link = TrackingLink(
            **new_record_fields(caller),
            domain_id=on,
            slug=slug,
            tracking_identifier=identifier,
            target=wanted.target,
            **_texts(wanted.model_dump(include=_TEXTS)),
        )
        _check(link)
        generated = {"tracking_identifier"} | (set() if asked or on is None else {"slug"})
        return Change(Action.CREATE, None, link, GENERATED_FIELDS | generated)

    return plan


def update(caller: Caller, link_id: UUID, patch: LinkPatch) -> ChangePlanner:
    """The plan of a changed link: only the fields sent change.

    Raises:
        NotFound: the workspace has no such link.
        Unprocessable: ``immutable_field``, ``invalid_field``, ``invalid_url``.
    """

    async def plan(unit: Transaction) -> Change:
        link = await get_or_404(unit.resources, TrackingLink, link_id)
        for name in sorted(patch.model_fields_set & IMMUTABLE_FIELDS):
            raise Unprocessable(f"{name} never changes", "immutable_field", field=f"link.{name}")
        sent = _texts(patch.model_dump(include=patch.model_fields_set))
        changed = TrackingLink.model_validate(
            {**link.state, **sent, "updated_at": link.next_updated_at(caller.now)}
        )
        _check(changed)
        return Change(Action.UPDATE, link, changed)

    return plan


_TEXTS: Final = {"name", "destination_url", "ios_url", "android_url", *UTM_PARAMETERS}
_REQUIRED: Final = ("name", "destination_url")


def _texts(sent: dict[str, Any]) -> dict[str, Any]:
    """Texts as they are kept: null and the empty text clear an optional field."""
    for name in _REQUIRED:
        if name in sent and not (sent[name] or "").strip():
            raise Unprocessable(f"{name} must not be empty", "invalid_field", field=f"link.{name}")
    return {name: value or None for name, value in sent.items()}


def _check(link: TrackingLink) -> None:
    validate_url("destination_url", link.destination_url)
    for name, url in (("ios_url", link.ios_url), ("android_url", link.android_url)):
        if url is not None:
            validate_url(name, url, APP_STORE_SCHEMES)
    for name in ("name", *UTM_PARAMETERS):
        if len(getattr(link, name) or "") > LONGEST_TEXT:
            raise Unprocessable(
                f"{name} has at most {LONGEST_TEXT} characters", "invalid_field", field=f"link.{name}"
            )
    if link.target == "app" and link.ios_url is None and link.android_url is None:
        raise Unprocessable(
            "A link to an app needs ios_url or android_url", "invalid_field", field="link.target"
        )


def _chosen(wanted: NewLink, shared: LinkDomain | None, hosts: LinkHosts) -> UUID | None:
    """The domain of a redirect link; None for a direct one."""
    if wanted.domain_id is None and not wanted.slug:
        return None
    asked = wanted.domain_id or (shared.id if shared else None)
    if asked not in hosts:
        raise Unprocessable(
            "There is no such link domain" if shared else "This deployment has no link domain",
            "unknown_domain",
            field="link.domain_id",
            hint="Leave domain_id and slug out for a direct link.",
        )
    return asked


async def _free(unit: Transaction, new: Callable[[], str], key: Callable[[str], str]) -> str:
    text = new()
    while await unit.resources.is_key_in_use(key(text)):
        text = new()
    return text
