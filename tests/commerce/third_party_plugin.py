"""A plugin of somebody else: a storefront, and an ad platform that reports spend and takes conversions."""

from datetime import UTC, datetime, timedelta

from service_core.plugin import (
    AdLevel,
    AdPlatformInfo,
    ExternalIdEvent,
    FunctionSender,
    MappedMessage,
    PostbackPlatform,
    RevenueProviderInfo,
    SendLimits,
    Throttle,
    hook,
)


class Storefront:
    """Sells; each message is one paid order."""

    id = "acmeshop"
    info = RevenueProviderInfo(
        event_names=("order_paid",),
        is_storefront=True,
        external_id_events={"$acme_cart": ExternalIdEvent("acme_cart", ("cart_id",))},
    )

    def verify_signature(self, delivery, secrets):
        return delivery.headers.get("x-acme") == secrets.get("webhook_secret")

    def map_message(self, message, _delivery, _account_id):
        return MappedMessage(
            message_id=message["id"],
            event_name="order_paid",
            occurred_at=datetime.fromtimestamp(message["created"], UTC),
            properties={"order_id": message["order"], "revenue": message["total"], "currency": "USD"},
            external_ids={"acme_cart": message["cart"]},
        )


class AdPlatform:
    """Reports spend; its visits have a source of another name."""

    id = "acmeads"
    info = AdPlatformInfo(
        aliases=("acme_ads",), level_names={"board": AdLevel.GROUP}, traffic_sources=("acme.example",)
    )

    async def list_accessible_accounts(self, _secrets):
        return []

    async def fetch_daily_spend(self, _account, _level, _first, _last, _secrets):
        return []


async def send_nothing(_call):
    return []


SENDER = FunctionSender(
    PostbackPlatform(
        "acmeads",
        "Acme",
        "pixel_id",
        "pixel",
        "https://ads.acme.example/…",
        ("Sale",),
        has_browser_pixel=True,
    ),
    SendLimits(
        age_limit=timedelta(days=7),
        batch_size=10,
        throttle=Throttle(10, timedelta(hours=1)),
        click_types=("acid",),
        click_window=timedelta(days=7),
        match_keys=frozenset({"email"}),
    ),
    "https://ads.acme.example",
    send_nothing,
)


class ThirdPartyPlugin:
    """Brings all of it."""

    @hook
    def revenue_providers(self):
        return [Storefront()]

    @hook
    def ad_platforms(self):
        return [AdPlatform()]

    @hook
    def conversion_senders(self):
        return [SENDER]
