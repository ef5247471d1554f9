"""Rules behind the numbers that a workspace may replace by its own (semantics 7.2, 9, 10.1)."""

import re
from dataclasses import dataclass
from typing import Final

from service_core.kernel.errors import BadRequest

MOST_CHANNELS: Final = 50
MOST_CONVERSIONS: Final = 100
LONGEST_WINDOW: Final = 365
"""Days before a conversion in which a touch counts."""

_ID: Final = re.compile(r"custom:[a-z0-9][a-z0-9_-]{0,39}")
_MOST_STARS: Final = 3
_LONGEST_TEXT: Final = 255


@dataclass(frozen=True, slots=True)
class OwnChannel:
    """A channel of the workspace's own. Everything it names must hold for a visit.

    Attributes:
        id: what answers show; it starts with ``custom:``.
        source, medium, campaign: the value, without case; ``*`` stands for any characters.
    """

    id: str
    source: str | None = None
    medium: str | None = None
    campaign: str | None = None

    @property
    def conditions(self) -> dict[str, str]:
        """What it names."""
        named = {"source": self.source, "medium": self.medium, "campaign": self.campaign}
        return {name: text for name, text in named.items() if text}


@dataclass(frozen=True, slots=True)
class Rules:
    """What a workspace has made its own; None, and no channel, keep the rule of the house.

    Attributes:
        conversions: names of the events that convert, in place of the usual ones.
        any_revenue: whether every event with revenue converts, too.
        channels: tested in this order before those of the house. They are applied when an event
            comes in, so they hold from then on.
        model: id of the attribution model used where a request names none.
        window_days: the window used where a request names none.
    """

    conversions: frozenset[str] | None = None
    any_revenue: bool = True
    channels: tuple[OwnChannel, ...] = ()
    model: str | None = None
    window_days: int | None = None


def checked(rules: Rules) -> Rules:
    """The same rules, when they can be followed.

    Raises:
        BadRequest: no name or too many, an id that is not ``custom:``, a channel without a condition.
    """
    if rules.conversions is not None:
        _check_names(rules.conversions)
    if len(rules.channels) > MOST_CHANNELS:
        raise _wrong("channels", f"At most {MOST_CHANNELS} channels")
    for channel in rules.channels:
        _check_channel(channel)
    if rules.window_days is not None and not 1 <= rules.window_days <= LONGEST_WINDOW:
        raise _wrong("window_days", f"A window has 1 to {LONGEST_WINDOW} days")
    return rules


def _check_names(names: frozenset[str]) -> None:
    if len(names) > MOST_CONVERSIONS or not all(0 < len(name) <= _LONGEST_TEXT for name in names):
        raise _wrong("conversions", f"At most {MOST_CONVERSIONS} event names, none of them empty")


def _check_channel(channel: OwnChannel) -> None:
    if not _ID.fullmatch(channel.id):
        raise _wrong("channels", f"{channel.id!r} is no id of an own channel, such as custom:newsletter")
    if not channel.conditions:
        raise _wrong("channels", f"{channel.id} names no source, medium or campaign")
    for name, text in channel.conditions.items():
        if len(text) > _LONGEST_TEXT or text.count("*") > _MOST_STARS:
            raise _wrong(
                "channels", f"{channel.id}: {name} has more than {_MOST_STARS} stars, or is too long"
            )


def _wrong(field: str, message: str) -> BadRequest:
    return BadRequest(message, "invalid_parameter", field=field)
