"""``POST /attribution/lookup`` and ``/attribution/deferred-lookup``, for mobile SDKs."""

from datetime import datetime
from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from service_core.access.email_addresses import normalize_or_reject_email
from service_core.access.models import Caller
from service_core.analytics.install_attribution.match import AttributionMatch, InstallMatcher, MatchMethod
from service_core.analytics.install_attribution.models import InstallSignals
from service_core.kernel.operations import ANY_SCOPE, CredentialRequirement, RoutePrefix, operation
from service_core.kernel.schemas import BodyModel, ResponseModel

Signal = Annotated[str, StringConstraints(max_length=2000)]


class EmailLookupRequest(BodyModel):
    """Body of ``POST /attribution/lookup``."""

    email: str = Field(description="Exact address, without case.")


class InstallLookupRequest(BodyModel):
    """Body of ``POST /attribution/deferred-lookup``."""

    platform: Literal["ios", "android"]
    lyr: Signal | None = Field(None, description="Link tag the app was opened with.")
    install_referrer_url: Signal | None = Field(None, description="Install referrer of the store.")
    click_id: Signal | None = None
    click_id_type: Signal | None = None


class MatchBasis(ResponseModel):
    """The evidence of a match."""

    kind: MatchMethod
    guaranteed: bool
    candidates: int


class MatchedTouch(ResponseModel):
    """The touch of the matched person."""

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


class NoMatchResponse(ResponseModel):
    """Answer without a match."""

    found: Literal[False] = False
    match: MatchBasis


class MatchResponse(ResponseModel):
    """Answer with the matched touch."""

    found: Literal[True] = True
    attribution: MatchedTouch
    match: MatchBasis


@operation(
    "POST /attribution/lookup",
    scope=ANY_SCOPE,
    credential=CredentialRequirement.WRITE_KEY,
    prefix=RoutePrefix.ROOT,
    tag="attribution",
)
async def look_up_attribution(
    body: EmailLookupRequest, *, caller: Caller, matcher: InstallMatcher
) -> MatchResponse | NoMatchResponse:
    """Returns the web touch that brought the person with an e-mail address.

    This is the latest touch that is not direct. For SDKs on devices; a backend reads ``GET /users``.
    """
    return _build_response_guaranteed_unless_by_ip(
        await matcher.match_latest_non_direct_touch_by_email(caller, normalize_or_reject_email(body.email))
    )


@operation(
    "POST /attribution/deferred-lookup",
    scope=ANY_SCOPE,
    credential=CredentialRequirement.WRITE_KEY,
    prefix=RoutePrefix.ROOT,
    tag="attribution",
)
async def look_up_install(
    body: InstallLookupRequest, *, caller: Caller, matcher: InstallMatcher
) -> MatchResponse | NoMatchResponse:
    """Returns the web visit that led to an app install; each visit is matched once.

    Matches by link tag, then install referrer, then click id, then the IP address among visits that
    ended at an app store, or at a link to an app, within the hour. If several visitors share the address,
    none is matched.
    """
    install = InstallSignals(
        lyr=body.lyr or None,
        click_id=body.click_id or None,
        click_id_type=body.click_id_type or None,
        client_ip=caller.client_ip,
    )
    return _build_response_guaranteed_unless_by_ip(
        await matcher.match_and_mark_visit_by_link_click_or_ip(
            caller, install.with_referrer_keeping_own_click_id(body.install_referrer_url)
        )
    )


def _build_response_guaranteed_unless_by_ip(match: AttributionMatch) -> MatchResponse | NoMatchResponse:
    basis = MatchBasis(
        kind=match.method, guaranteed=match.method is not MatchMethod.IP, candidates=match.candidates
    )
    event = match.event
    if event is None:
        return NoMatchResponse(match=basis)
    names = MatchedTouch.model_fields.keys() - {"user_id"}
    values = {name: getattr(event, name) for name in names}
    user_id = event.user_id if match.person is None else match.person.user_id
    return MatchResponse(attribution=MatchedTouch(**values, user_id=user_id), match=basis)


OPERATIONS = (look_up_attribution, look_up_install)
