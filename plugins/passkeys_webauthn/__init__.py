"""Passkeys by Web Authentication: ``accounts.passkeys = "webauthn://"``."""

from collections.abc import Iterable

from service_core.plugin import Adapter, WebAuthn, hook


def _open(_: object) -> WebAuthn:
    from plugins.passkeys_webauthn.adapter import WebAuthnPasskeys

    return WebAuthnPasskeys()


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
