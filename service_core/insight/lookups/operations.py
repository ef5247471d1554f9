"""``POST /attribution/lookup`` and ``/attribution/deferred-lookup``, for mobile SDKs (contract 12)."""

from datetime import datetime
from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from service_core.access.addresses import email_of
from service_core.access.model import Caller
from service_core.insight.lookups.install import Install
from service_core.insight.lookups.resolve import Kind, Match, Resolver
from service_core.kernel.operations import ANY_SCOPE, Entry, Surface, operation
from service_core.kernel.params import Answer, BodyModel

Mark = Annotated[str, StringConstraints(max_length=2000)]


class EmailBody(BodyModel):
    """Whom to look up."""

    email: str = Field(description="Exact address, without case.")


class InstallBody(BodyModel):
    """What an app knows of its install."""

    platform: Literal["ios", "android"]
    lyr: Mark | None = Field(None, description="Link tag the app was opened with.")
    install_referrer_url: Mark | None = Field(None, description="Install referrer of the store.")
    click_id: Mark | None = None
    click_id_type: Mark | None = None


class Basis(Answer):
    """What the answer rests on."""

    kind: Kind
    guaranteed: bool
    candidates: int


class TouchFound(Answer):
    """The touch that brought the person."""

    visitor_id: str
    user_id: str | None
    fbclid: str | None
    gclid: str | None
    ttclid: str | None
    gbraid: str | None
    wbraid: str | None
    oppref: str | None
    fbp: str | None
    fbc: str | None
    lyr: str | None
    utm_source: str | None
    utm_medium: str | None
    utm_campaign: str | None
    utm_content: str | None
    utm_term: str | None
    timestamp: datetime


class NotFoundAnswer(Answer):
    """Nothing to tell."""

    found: Literal[False] = False
    match: Basis


class FoundAnswer(Answer):
    """A touch."""

    found: Literal[True] = True
    attribution: TouchFound
    match: Basis


@operation(
    "POST /attribution/lookup",
    scope=ANY_SCOPE,
    entry=Entry.WRITE_KEY,
    surface=Surface.ROOT,
    tag="attribution",
)
async def look_up_attribution(
    body: EmailBody, *, who: Caller, resolver: Resolver
) -> FoundAnswer | NotFoundAnswer:
    """Tell which web touch brought the person with an e-mail address.

    The latest touch that is not direct. For SDKs on devices; a backend reads ``GET /users``.
    """
    return _answer(await resolver.by_email(who, email_of(body.email)))


@operation(
    "POST /attribution/deferred-lookup",
    scope=ANY_SCOPE,
    entry=Entry.WRITE_KEY,
    surface=Surface.ROOT,
    tag="attribution",
)
async def look_up_install(
    body: InstallBody, *, who: Caller, resolver: Resolver
) -> FoundAnswer | NotFoundAnswer:
    """Tell which web visit an install goes back to; each visit is told once.

    By link tag, then install referrer, then click id, then the client's address among visits that
    ended at an app store, or a link to an app, within the hour. Several visitors at that address are
    not told apart.
    """
    install = Install(
        lyr=body.lyr or None,
        click_id=body.click_id or None,
        click_id_type=body.click_id_type or None,
        client=who.client,
    )
    return _answer(await resolver.by_install(who, install.with_referrer(body.install_referrer_url)))


def _answer(match: Match) -> FoundAnswer | NotFoundAnswer:
    basis = Basis(kind=match.kind, guaranteed=match.kind is not Kind.IP, candidates=match.candidates)
    event = match.event
    if event is None:
        return NotFoundAnswer(match=basis)
    names = TouchFound.model_fields.keys() - {"user_id"}
    values = {name: getattr(event, name) for name in names}
    user_id = event.user_id if match.person is None else match.person.user_id
    return FoundAnswer(attribution=TouchFound(**values, user_id=user_id), match=basis)


OPERATIONS = (look_up_attribution, look_up_install)
