"""Analytics settings of a workspace: conversion events, custom channels and the default attribution model."""

import re
from dataclasses import dataclass
from typing import Final

from service_core.kernel.errors import BadRequest
from service_core.kernel.money import ISO_4217_CODES

MAX_CUSTOM_CHANNELS: Final = 50
MAX_CONVERSION_EVENTS: Final = 100
MAX_WINDOW_DAYS: Final = 365
"""Days before a conversion in which a touch counts."""

MAX_EVENT_RETENTION_DAYS: Final = 36_500
MAX_FEE_RATES: Final = 50
MILLION: Final = 1_000_000
"""Units of a whole in shares that are counted in millionths."""

_MAX_FIXED_FEE: Final = 10**9
_PROVIDER_ID_PATTERN: Final = re.compile(r"[a-z][a-z0-9_]{0,49}")

_CHANNEL_ID_PATTERN: Final = re.compile(r"custom:[a-z0-9][a-z0-9_-]{0,39}")
_MAX_WILDCARDS: Final = 3
_MAX_TEXT_LENGTH: Final = 255


@dataclass(frozen=True, slots=True)
class CustomChannel:
    """A channel defined by the workspace. A visit belongs to it if all its conditions match.

    Attributes:
        id: the channel id in answers; it starts with ``custom:``.
        source, medium, campaign: the value to match, case-insensitive; ``*`` matches any characters.
    """

    id: str
    source: str | None = None
    medium: str | None = None
    campaign: str | None = None

    @property
    def conditions_by_field(self) -> dict[str, str]:
        """The conditions that are set."""
        named = {"source": self.source, "medium": self.medium, "campaign": self.campaign}
        return {name: text for name, text in named.items() if text}


@dataclass(frozen=True, slots=True)
class FeeRate:
    """What a payment costs where its provider does not report it.

    Attributes:
        provider: id of the provider, or ``tracked``.
        millionths: share of what was paid, tax and shipping included; 29000 is 2.9 %.
        fixed: what each payment costs besides, in minor units of ``currency``.
        currency: the rate is for payments in this currency; None for any, without a fixed part.
    """

    provider: str
    millionths: int
    fixed: int = 0
    currency: str | None = None


@dataclass(frozen=True, slots=True)
class AnalyticsSettings:
    """Settings that replace the defaults. None, or no channel, keeps the default.

    Attributes:
        conversions: names of the events that convert, instead of the default ones.
        any_revenue: whether every event with revenue also converts.
        revenue_events: names of events whose amount is money although a vendor defines them otherwise, or although
            ``any_revenue`` is off; their charges are orders.
        channels: tested in this order before the default channels. They are applied when an event is ingested, so a
            change affects only later events.
        model: id of the attribution model for requests that name none.
        window_days: attribution window for requests that name none.
        event_retention_days: days after which events are deleted; None keeps them without limit.
        fees: what payments cost where their provider does not report it; the first rate that fits counts.
    """

    conversions: frozenset[str] | None = None
    any_revenue: bool = True
    revenue_events: frozenset[str] = frozenset()
    channels: tuple[CustomChannel, ...] = ()
    model: str | None = None
    window_days: int | None = None
    event_retention_days: int | None = None
    fees: tuple[FeeRate, ...] = ()


def validate_analytics_settings(settings: AnalyticsSettings) -> AnalyticsSettings:
    """Returns the settings if they are valid.

    Raises:
        BadRequest: too many or empty names, an id without ``custom:``, or a channel without conditions.
    """
    if settings.conversions is not None:
        _validate_count_and_length_of_event_names("conversions", settings.conversions)
    _validate_count_and_length_of_event_names("revenue_events", settings.revenue_events)
    if len(settings.channels) > MAX_CUSTOM_CHANNELS:
        raise _invalid_parameter_error("channels", f"At most {MAX_CUSTOM_CHANNELS} channels")
    for channel in settings.channels:
        _validate_custom_channel(channel)
    if settings.window_days is not None and not 1 <= settings.window_days <= MAX_WINDOW_DAYS:
        raise _invalid_parameter_error("window_days", f"A window has 1 to {MAX_WINDOW_DAYS} days")
    retention = settings.event_retention_days
    if retention is not None and not 1 <= retention <= MAX_EVENT_RETENTION_DAYS:
        raise _invalid_parameter_error(
            "event_retention_days",
            f"Events are kept for 1 to {MAX_EVENT_RETENTION_DAYS} days, or without limit",
        )
    _validate_fee_rates(settings.fees)
    return settings


def _validate_fee_rates(rates: tuple[FeeRate, ...]) -> None:
    if len(rates) > MAX_FEE_RATES:
        raise _invalid_parameter_error("fees", f"At most {MAX_FEE_RATES} rates")
    if len({(rate.provider, rate.currency) for rate in rates}) < len(rates):
        raise _invalid_parameter_error("fees", "One rate for each provider and currency")
    for rate in rates:
        if not _PROVIDER_ID_PATTERN.fullmatch(rate.provider):
            raise _invalid_parameter_error("fees", f"{rate.provider!r} is not the id of a provider")
        if not (0 <= rate.millionths <= MILLION and 0 <= rate.fixed <= _MAX_FIXED_FEE):
            raise _invalid_parameter_error("fees", f"The rate of {rate.provider} is out of range")
        if rate.currency is None and rate.fixed:
            raise _invalid_parameter_error("fees", f"The fixed part of {rate.provider} needs a currency")
        if rate.currency is not None and rate.currency not in ISO_4217_CODES:
            raise _invalid_parameter_error("fees", f"{rate.currency} is no currency of ISO 4217")


def _validate_count_and_length_of_event_names(field: str, event_names: frozenset[str]) -> None:
    if len(event_names) > MAX_CONVERSION_EVENTS or not all(
        0 < len(name) <= _MAX_TEXT_LENGTH for name in event_names
    ):
        raise _invalid_parameter_error(
            field, f"At most {MAX_CONVERSION_EVENTS} event names, none of them empty"
        )


def _validate_custom_channel(channel: CustomChannel) -> None:
    if not _CHANNEL_ID_PATTERN.fullmatch(channel.id):
        raise _invalid_parameter_error(
            "channels", f"{channel.id!r} is not an id of a custom channel, such as custom:newsletter"
        )
    if not channel.conditions_by_field:
        raise _invalid_parameter_error("channels", f"{channel.id} names no source, medium or campaign")
    for name, text in channel.conditions_by_field.items():
        if len(text) > _MAX_TEXT_LENGTH or text.count("*") > _MAX_WILDCARDS:
            raise _invalid_parameter_error(
                "channels", f"{channel.id}: {name} has more than {_MAX_WILDCARDS} stars, or is too long"
            )


def _invalid_parameter_error(field: str, message: str) -> BadRequest:
    return BadRequest(message, "invalid_parameter", field=field)
