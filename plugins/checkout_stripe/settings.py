"""The URL: ``stripe://:sk_live_…@api.stripe.com?webhook_secret=whsec_…&starter=price_…``."""

from collections.abc import Mapping

from pydantic import Field

from service_core.plugin import AdapterSettings


class StripeSettings(AdapterSettings):
    """The account at Stripe and the price of each plan."""

    host: str = Field("api.stripe.com", description="Host of the API.")
    password: str = Field(repr=False, description="Secret key, before the `@`.")
    webhook_secret: str = Field(repr=False, description="Signing secret of the webhook endpoint.")
    tls: bool = Field(True, description="Speak TLS; false for a local test server alone.")
    seconds: float = Field(10, gt=0, le=60, description="How long to wait for the API.")
    starter: str | None = Field(None, description="Price of the plan.")
    growth: str | None = Field(None, description="Price of the plan.")
    scale: str | None = Field(None, description="Price of the plan.")
    performance: str | None = Field(None, description="Price of the plan.")
    enterprise: str | None = Field(None, description="Price of the plan.")

    @property
    def address(self) -> str:
        """Base address of the API."""
        port = "" if self.port is None else f":{self.port}"
        return f"{'https' if self.tls else 'http'}://{self.host}{port}"

    @property
    def price_by_sold_plan(self) -> Mapping[str, str]:
        """Plan -> price, of the plans that are sold."""
        known = {
            "starter": self.starter,
            "growth": self.growth,
            "scale": self.scale,
            "performance": self.performance,
            "enterprise": self.enterprise,
        }
        return {plan: price for plan, price in known.items() if price}
