"""Sends conversions to a pixel of Reddit, by version 3 of its API."""

from datetime import timedelta
from typing import Any, Final

from service_core.plugin import (
    CUSTOM_EVENT,
    Accepted,
    ActionSource,
    BatchRejected,
    ConnectionDeclaration,
    Conversion,
    CredentialField,
    Customer,
    FunctionSender,
    PostbackPlatform,
    SendCall,
    SendLimits,
    SendOutcome,
    Throttle,
    hashing,
    platform_http,
    platform_numbers,
    raise_for_status,
)

REDDIT: Final = PostbackPlatform(
    id="reddit",
    label="Reddit",
    asset_field="pixel_id",
    asset_label="pixel",
    masked_endpoint="https://ads-api.reddit.com/api/v3/pixels/{asset}/conversion_events",
    event_names=(
        "Purchase", "AddToCart", "AddToWishlist", "Lead", "SignUp", "ViewContent", "PageVisit", "Search", CUSTOM_EVENT,
    ),
    connection=ConnectionDeclaration(
        "Reddit",
        "https://ads.reddit.com/",
        (CredentialField("access_token", "Conversion access token", "In the settings of the pixel."),),
    ),
)  # fmt: skip
LIMITS: Final = SendLimits(
    age_limit=timedelta(days=7),
    batch_size=500,
    throttle=Throttle(calls=600, per=timedelta(minutes=1)),
    click_types=("rdt_cid",),
    click_window=timedelta(days=28),
    match_keys=frozenset({"rdt_cid", "email", "phone", "user_id", "ip"}),
    value_required=frozenset({"Purchase"}),
)
_ACTION_SOURCES: Final = {ActionSource.WEBSITE: "WEBSITE", ActionSource.APP: "APP"}
_SECONDS: Final = 20.0


async def send_conversions(call: SendCall) -> list[SendOutcome]:
    """Sends one batch, which Reddit takes as a whole or not at all.

    Raises:
        PlatformUnavailable: Reddit takes none now.
        CredentialsRejected: the token is missing or refused.
        BatchRejected: Reddit takes none, because of some.
    """
    platform_http.require_credentials(call.secrets, ("access_token",))
    headers = {"Authorization": f"Bearer {call.secrets['access_token']}"}
    body = {"data": {"events": [to_event(conversion) for conversion in call.conversions]}}
    test = {"test_id": call.destination.test_code or ""} if call.destination.test else {}
    async with platform_http.open_json_client(
        "Reddit", "httpx2", call.clock, timeout_seconds=_SECONDS, headers=headers
    ) as client:
        answer = await client.post_json(
            f"{call.base_url}/pixels/{call.destination.asset_id}/conversion_events", body, params=test
        )
    raise_for_status(answer.status, f"status_{answer.status}", answer.retry_after)
    if "data" not in answer.require_json():
        raise BatchRejected("no_data", answer.status)
    return [Accepted(answer.status)] * len(call.conversions)


def to_event(conversion: Conversion) -> dict[str, Any]:
    """Returns a conversion as an event of the API."""
    is_custom = conversion.event not in REDDIT.event_names
    return platform_http.drop_empty(
        event_at=int(conversion.occurred_at.timestamp() * 1000),
        action_source=_ACTION_SOURCES.get(conversion.action_source, "OTHER"),
        type=platform_http.drop_empty(
            tracking_type="CUSTOM" if is_custom else conversion.event,
            custom_event_name=conversion.event if is_custom else None,
        ),
        click_id=conversion.customer.click and conversion.customer.click.value,
        user=_to_user(conversion.customer),
        metadata=_to_metadata(conversion),
    )


def _to_user(customer: Customer) -> dict[str, Any]:
    return platform_http.drop_empty(
        email=hashing.hash_email(customer.email),
        phone_number=hashing.hash_phone(customer.phone, plus=True),
        external_id=hashing.hash_id(customer.user_id or customer.visitor_id),
        ip_address=customer.ip,
        user_agent=customer.user_agent,
    )


def _to_metadata(conversion: Conversion) -> dict[str, Any]:
    return platform_http.drop_empty(
        conversion_id=conversion.event_id,
        value=platform_numbers.to_platform_amount(conversion.value, conversion.currency),
        currency=conversion.currency,
        item_count=sum(item.quantity for item in conversion.line_items) or None,
        products=[platform_http.drop_empty(id=item.id, name=item.name) for item in conversion.line_items],
    )


REDDIT_SENDER: Final = FunctionSender(
    REDDIT, LIMITS, "https://ads-api.reddit.com/api/v3", send_conversions, requires_test_code=True
)
