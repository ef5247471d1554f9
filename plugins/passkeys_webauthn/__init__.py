"""Passkeys by Web Authentication: ``accounts.passkeys = "webauthn://"``."""

from collections.abc import Iterable

from service_core.plugin import Adapter, PluginData, PluginInfo, WebAuthn, hook


def _open(_: object) -> WebAuthn:
    from plugins.passkeys_webauthn.adapter import WebAuthnPasskeys

    return WebAuthnPasskeys()


@hook
def plugin_info() -> PluginInfo:
    """The declaration of the plugin."""
    return PluginInfo("Web Authentication", icon="K", reads=(PluginData.WORKSPACES,))


@hook
def adapters() -> Iterable[Adapter]:
    """Returns the default."""
    return (
        Adapter(
            port="passkeys",
            scheme="webauthn",
            open=_open,
            summary="Passkeys that browsers make and sign with, by Web Authentication.",
        ),
    )
