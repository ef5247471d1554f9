"""A checkout without money: ``signup.checkout = "sandbox://"``."""

from collections.abc import Iterable

from service_core.plugin import Adapter, AdapterSettings, Checkout, PluginData, PluginInfo, hook


def _open(_settings: AdapterSettings) -> Checkout:
    from plugins.checkout_sandbox.adapter import SandboxCheckoutAdapter

    return SandboxCheckoutAdapter()


@hook
def plugin_info() -> PluginInfo:
    """The declaration of the plugin."""
    return PluginInfo("Sandbox checkout", icon="$", reads=(PluginData.PERSONAL_DATA,))


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
