"""Reference rates of the European Central Bank: ``fx.rates = "ecb:///"``."""

from collections.abc import Iterable

from plugins.fx_ecb.settings import EcbSettings
from service_core.plugin import Adapter, RateSource, hook


def _open(settings: EcbSettings) -> RateSource:
    from plugins.fx_ecb.adapter import EcbReferenceRates

    return EcbReferenceRates(settings)


@hook
def adapters() -> Iterable[Adapter]:
    """The adapter on what the bank publishes each working day."""
    return (
        Adapter(
            port="fx",
            scheme="ecb",
            open=_open,
            settings=EcbSettings,
            summary="Reference rates of the European Central Bank for some thirty currencies, each working day.",
        ),
    )
