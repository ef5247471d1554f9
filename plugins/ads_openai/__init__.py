"""Conversions sent to OpenAI: ``touchpoint connection add openai --secret api_key --asset ACCOUNT/PIXEL``."""

from collections.abc import Iterable

from plugins.ads_openai.conversions import CONVERSION_SENDER
from service_core.plugin import ConversionSender, hook


@hook
def conversion_senders() -> Iterable[ConversionSender]:
    """Conversions to OpenAI."""
    return (CONVERSION_SENDER,)
