"""Trackable links as a writable resource."""

from collections.abc import Callable, Sequence
from typing import Any, Final
from uuid import UUID

from service_core.access.models import Caller
from service_core.changes.models import GENERATED_FIELDS, Action, Change
from service_core.changes.optimistic_locking import sent_fields
from service_core.changes.ports import ResourceRepository
from service_core.changes.resource import RecordReader, ResourceType, Serializer, State
from service_core.changes.resource_definition import Listing, WriteContext, resource
from service_core.kernel.errors import Conflict, Unprocessable
from service_core.kernel.operations import Scope
from service_core.kernel.settings import Settings
from service_core.workspace.links.domains.link_hosts import (
    LinkHost,
    LinkHosts,
    load_link_hosts,
    refuse_lapsed_domain,
)
from service_core.workspace.links.models import (
    PATH_LINK_DOMAIN,
    UTM_PARAMETERS,
    TrackingLink,
    new_slug,
    new_tracking_identifier,
    public_url_if_known,
    shared_link_domain,
    slug_key,
    tracking_identifier_key,
)
from service_core.workspace.links.ports import ClickCount, ClickStore, RedirectCache
from service_core.workspace.links.redirect_lookup import write_changed_redirect_to_cache
from service_core.workspace.links.schemas import IMMUTABLE_FIELDS, LinkAnswer, LinkPatch, NewLink
from service_core.workspace.url_rules import APP_STORE_SCHEMES, validate_public_url, validate_slug

MAX_TEXT_LENGTH: Final = 255
_REQUIRED_FIELDS: Final = ("name", "destination_url")
_TEXT_FIELDS: Final = {*_REQUIRED_FIELDS, "ios_url", "android_url", *UTM_PARAMETERS}


def load_settings(_: NewLink | LinkPatch, *, caller: Caller, settings: Settings) -> Settings:  # noqa: ARG001
    """Returns the settings of the deployment, which name its link domain."""
    return settings


async def create_link(new: NewLink, write: WriteContext[Settings]) -> Change:
    """Make a trackable link.

    With a domain or a slug it redirects from there, without a domain from the shared one, which is a path of the
    ingest host until the deployment has a link domain; otherwise its `url` is the destination with the tag and the
    UTM values appended.
    """
    records, workspace_id = write.records, write.caller.workspace.id
    domain_id = _choose_redirect_domain(new, write.prepared, await load_link_hosts(records, write.prepared))
    if domain_id is not None:
        await refuse_lapsed_domain(records, domain_id)
    slug = new.slug or None
    if slug:
        validate_slug(slug)
        await _refuse_slug_of_other_shared_host(write.records, write.prepared, slug, domain_id)
    elif domain_id is not None:
        slug = await _generate_unused(write, new_slug, lambda text: slug_key(domain_id, text))
    identifier = await _generate_unused(
        write, new_tracking_identifier, lambda text: tracking_identifier_key(workspace_id, text)
    )
    link = TrackingLink(
        **write.new_fields(),
        domain_id=domain_id,
        slug=slug,
        tracking_identifier=identifier,
        target=new.target,
        **_clear_optional_and_require_other_texts(new.model_dump(include=_TEXT_FIELDS)),
    )
    generated = {"tracking_identifier"} | (set() if new.slug or domain_id is None else {"slug"})
    return Change(Action.CREATE, None, _validate_link(link), GENERATED_FIELDS | generated)


async def update_link(link: TrackingLink, patch: LinkPatch, write: WriteContext[Any]) -> TrackingLink:
    """Change the fields sent; the redirect follows in the same call."""
    for name in sorted(patch.model_fields_set & IMMUTABLE_FIELDS):
        raise Unprocessable(f"{name} never changes", "immutable_field", field=f"link.{name}")
    fields = _clear_optional_and_require_other_texts(dict(sent_fields(patch)))
    return _validate_link(link.with_fields(write.caller.now, **fields))


def _clear_optional_and_require_other_texts(sent: dict[str, Any]) -> dict[str, Any]:
    """Returns the texts as they are stored: an empty text clears an optional field."""
    for name in _REQUIRED_FIELDS:
        if name in sent and not (sent[name] or "").strip():
            raise Unprocessable(f"{name} must not be empty", "invalid_field", field=f"link.{name}")
    return {name: value or None for name, value in sent.items()}


def _validate_link(link: TrackingLink) -> TrackingLink:
    validate_public_url("destination_url", link.destination_url)
    for name, url in (("ios_url", link.ios_url), ("android_url", link.android_url)):
        if url is not None:
            validate_public_url(name, url, APP_STORE_SCHEMES)
    for name in ("name", *UTM_PARAMETERS):
        if len(getattr(link, name) or "") > MAX_TEXT_LENGTH:
            raise Unprocessable(
                f"{name} has at most {MAX_TEXT_LENGTH} characters", "invalid_field", field=f"link.{name}"
            )
    if link.target == "app" and link.ios_url is None and link.android_url is None:
        raise Unprocessable(
            "A link to an app needs ios_url or android_url", "invalid_field", field="link.target"
        )
    return link


def _choose_redirect_domain(new: NewLink, settings: Settings, hosts: LinkHosts) -> UUID | None:
    """Returns the domain of a redirect link; None for a direct one."""
    if new.domain_id is None and not new.slug:
        return None
    shared_id = (shared_link_domain(settings) or PATH_LINK_DOMAIN).id
    domain_id = shared_id if new.domain_id in {None, PATH_LINK_DOMAIN.id} else new.domain_id
    if domain_id not in hosts:
        raise Unprocessable(
            "There is no such link domain",
            "unknown_domain",
            field="link.domain_id",
            hint="Leave domain_id and slug out for a direct link.",
        )
    return domain_id


async def _refuse_slug_of_other_shared_host(
    records: ResourceRepository, settings: Settings, slug: str, domain_id: UUID | None
) -> None:
    """Refuses a slug of the shared domain or of the path that the other one of both redirects from.

    Links that were made before the deployment had the domain redirect from both.

    Raises:
        Conflict: ``slug_taken``.
    """
    shared_domain = shared_link_domain(settings)
    if shared_domain is None or domain_id not in {shared_domain.id, PATH_LINK_DOMAIN.id}:
        return
    other = PATH_LINK_DOMAIN if domain_id == shared_domain.id else shared_domain
    if await records.is_key_in_use(slug_key(other.id, slug)):
        raise Conflict("This slug is taken", "slug_taken", field="link.slug")


async def _generate_unused(
    write: WriteContext[Any], generate: Callable[[], str], unique_key: Callable[[str], str]
) -> str:
    text = generate()
    while await write.records.is_key_in_use(unique_key(text)):
        text = generate()
    return text


async def load_link_serializer(
    records: RecordReader, links: Sequence[TrackingLink], *, settings: Settings, clicks: ClickStore
) -> Serializer:
    """Returns how links are shown: with their public URL and their clicks.

    Clicks of a direct link are not recorded, so its counts are null.
    """
    hosts = await load_link_hosts(records, settings)
    workspaces = {link.workspace_id for link in links}
    ids = [link.id for link in links] if len(links) == 1 else None
    counts = {
        str(link_id): count
        for workspace_id in workspaces
        for link_id, count in (await clicks.count_clicks(workspace_id, ids)).items()
    }

    def add_url_and_clicks(state: State) -> State:
        redirects = state["domain_id"] is not None
        host = _redirect_host(state, hosts)
        base_url = None if host is None else host.base_url
        count = counts.get(state["id"], ClickCount())
        return {
            **state,
            "url": public_url_if_known(state, base_url),
            "kind": "redirect" if redirects else "direct",
            "clicks": count.clicks if redirects else None,
            "unique_clicks": count.unique_clicks if redirects else None,
        }

    return add_url_and_clicks


async def describe_redirect_effect(
    records: RecordReader, prior: State | None, new: State | None, *, settings: Settings
) -> Sequence[State]:
    """Returns what the change does to the redirect; nothing for a link without one."""
    state = new or prior or {}
    host = _redirect_host(state, await load_link_hosts(records, settings))
    if host is None:
        return ()
    slug = state["slug"]
    shown_host = host.base_url.partition("://")[2]
    key = f"{shown_host}/{slug}" if slug else None
    label = key or f"A new slug on {shown_host}"
    effect = {
        "type": "edge_redirect",
        "summary": f"{label} now leads to {new['destination_url']}" if new else f"{label} stops redirecting",
        "operation": "put" if new else "delete",
        "key": key,
        "path": f"/{key.partition('/')[2]}" if key else None,
    }
    return (effect,)


async def update_redirect_cache(
    records: RecordReader, prior: State | None, new: State | None, *, settings: Settings, cache: RedirectCache
) -> None:
    """Writes the redirect of a changed link into the shared cache."""
    hosts = await load_link_hosts(records, settings)
    host = _redirect_host(new or prior or {}, hosts)
    await write_changed_redirect_to_cache(cache, None if host is None else host.host, prior, new)


async def refuse_restore_of_lost_redirect(
    records: ResourceRepository, link: TrackingLink, *, settings: Settings
) -> None:
    """Refuses to restore a link whose domain is gone, or whose slug redirects elsewhere by now.

    Raises:
        Conflict: ``resource_changed``, ``slug_taken``.
    """
    if link.slug:
        await _refuse_slug_of_other_shared_host(records, settings, link.slug, link.domain_id)
    if link.domain_id and link.domain_id not in await load_link_hosts(records, settings):
        raise Conflict("The domain of this link is not set up any more", "resource_changed")


def _redirect_host(state: State, hosts: LinkHosts) -> LinkHost | None:
    """Returns the host a link redirects from; None for a direct link or a domain that is gone."""
    return hosts.get(UUID(state["domain_id"])) if state["domain_id"] else None


LINKS: Final = resource(
    ResourceType(
        TrackingLink,
        Scope.WRITE_LINKS,
        effects=describe_redirect_effect,
        outside_effects=frozenset({"edge_redirect"}),
        serializer=load_link_serializer,
        on_change=update_redirect_cache,
        check_restorable=refuse_restore_of_lost_redirect,
    ),
    "/links/{linkId}",
    label="trackable link",
    listing=Listing("Every trackable link with its clicks, newest first."),
    create=create_link,
    update=update_link,
    delete="Delete a link: its redirect stops at once, recorded clicks stay, an undo brings it back.",
    prepare=load_settings,
    answer=LinkAnswer,
    are_reads_aggregate=True,
)
