"""How a link is made and changed."""

from collections.abc import Callable
from typing import Any, Final
from uuid import UUID

from service_core.access.model import Caller
from service_core.changes.model import ASSIGNED, Action, Change
from service_core.changes.plan import born, live
from service_core.changes.ports import Transaction
from service_core.changes.write import Plan
from service_core.kernel.errors import Unprocessable
from service_core.workspace.addresses import STORES, check_slug, check_url
from service_core.workspace.links.bodies import IMMUTABLE, LinkPatch, NewLink
from service_core.workspace.links.domains.resource import Hosts, hosts_of, refuse_lapsed
from service_core.workspace.links.model import (
    UTM,
    Link,
    LinkDomain,
    identifier_key,
    new_identifier,
    new_slug,
    slug_key,
)

LONGEST_TEXT: Final = 255


def create(who: Caller, wanted: NewLink, shared: LinkDomain | None) -> Plan:
    """The plan of a new link.

    Args:
        who: whose link it shall be.
        wanted: what the request says.
        shared: the link domain of the deployment, for who names none.

    Raises:
        Unprocessable: ``invalid_field``, ``invalid_url``, ``invalid_slug``, ``unknown_domain``.
    """

    async def plan(unit: Transaction) -> Change:
        on = _chosen(wanted, shared, await hosts_of(unit.resources, shared))
        if on is not None:
            await refuse_lapsed(unit.resources, on)
        asked = wanted.slug or None
        if asked:
            check_slug(asked)
        slug = asked or (await _free(unit, new_slug, lambda text: slug_key(on, text)) if on else None)
        workspace_id = who.workspace.id
        identifier = await _free(unit, new_identifier, lambda text: identifier_key(workspace_id, text))
        link = Link(
            **born(who),
            domain_id=on,
            slug=slug,
            tracking_identifier=identifier,
            target=wanted.target,
            **_texts(wanted.model_dump(include=_TEXTS)),
        )
        _check(link)
        generated = {"tracking_identifier"} | (set() if asked or on is None else {"slug"})
        return Change(Action.CREATE, None, link, ASSIGNED | generated)

    return plan


def update(who: Caller, link_id: UUID, patch: LinkPatch) -> Plan:
    """The plan of a changed link: only the fields sent change.

    Raises:
        NotFound: the workspace has no such link.
        Unprocessable: ``immutable_field``, ``invalid_field``, ``invalid_url``.
    """

    async def plan(unit: Transaction) -> Change:
        link = await live(unit.resources, Link, link_id)
        for name in sorted(patch.model_fields_set & IMMUTABLE):
            raise Unprocessable(f"{name} never changes", "immutable_field", field=f"link.{name}")
        sent = _texts(patch.model_dump(include=patch.model_fields_set))
        changed = Link.model_validate({**link.state, **sent, "updated_at": link.changed_at(who.now)})
        _check(changed)
        return Change(Action.UPDATE, link, changed)

    return plan


_TEXTS: Final = {"name", "destination_url", "ios_url", "android_url", *UTM}
_REQUIRED: Final = ("name", "destination_url")


def _texts(sent: dict[str, Any]) -> dict[str, Any]:
    """Texts as they are kept: null and the empty text clear an optional field."""
    for name in _REQUIRED:
        if name in sent and not (sent[name] or "").strip():
            raise Unprocessable(f"{name} must not be empty", "invalid_field", field=f"link.{name}")
    return {name: value or None for name, value in sent.items()}


def _check(link: Link) -> None:
    check_url("destination_url", link.destination_url)
    for name, url in (("ios_url", link.ios_url), ("android_url", link.android_url)):
        if url is not None:
            check_url(name, url, STORES)
    for name in ("name", *UTM):
        if len(getattr(link, name) or "") > LONGEST_TEXT:
            raise Unprocessable(
                f"{name} has at most {LONGEST_TEXT} characters", "invalid_field", field=f"link.{name}"
            )
    if link.target == "app" and link.ios_url is None and link.android_url is None:
        raise Unprocessable(
            "A link to an app needs ios_url or android_url", "invalid_field", field="link.target"
        )


def _chosen(wanted: NewLink, shared: LinkDomain | None, hosts: Hosts) -> UUID | None:
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
    while await unit.resources.is_taken(key(text)):
        text = new()
    return text
