"""Finds the visitor id in a message, in a field whose name the deployment configures."""

from collections.abc import Mapping
from typing import Any

from service_core.commerce.providers.message_fields import MessageFields


def find_visitor_id(message: Mapping[str, Any], name: str) -> str | None:
    """What stands under a name, wherever in the message: the first that says something, outer objects first.

    It may be a field, an object with a ``value``, or the ``value`` beside a ``name``: providers write
    metadata and attributes in each of these ways.
    """
    places: list[Any] = [message]
    for place in places:
        if isinstance(place, dict):
            fields = MessageFields(place)
            beside = fields.text("value") if fields.text("name") == name else None
            found = fields.text(name) or fields.object(name).text("value") or beside
            if found is not None:
                return found
            places.extend(place.values())
        elif isinstance(place, list):
            places.extend(place)
    return None
