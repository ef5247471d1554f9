"""A checkout without money: ``signup.checkout = "sandbox://"``."""

from collections.abc import Iterable

from service_core.plugin import Adapter, AdapterSettings, Checkout, hook


def _open(_settings: AdapterSettings) -> Checkout:
    from plugins.checkout_sandbox.adapter import SandboxCheckoutAdapter

    return SandboxCheckoutAdapter()


@hook
def adapters() -> Iterable[Adapter]:
    """The default."""
    return (
        Adapter(
            port="checkout",
            scheme="sandbox",
            open=_open,
            summary="A checkout without money, for trying out: everybody pays by a click.",
        ),
    )
