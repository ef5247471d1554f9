"""Finds the visitor id in a message, in a field whose name the deployment configures."""

from collections.abc import Mapping
from typing import Any

from service_core.commerce.providers.message_fields import MessageFields


def find_visitor_id_at_any_depth(message: Mapping[str, Any], field_name: str) -> str | None:
    """Returns the first value of a field at any depth of the message, outer objects first.

    It may be a field, an object with a ``value``, or the ``value`` beside a ``name``: providers write
    metadata and attributes in each of these ways.
    """
    nodes: list[Any] = [message]
    for node in nodes:
        if isinstance(node, dict):
            fields = MessageFields(node)
            beside = fields.text("value") if fields.text("name") == field_name else None
            visitor_id = fields.text(field_name) or fields.object(field_name).text("value") or beside
            if visitor_id is not None:
                return visitor_id
            nodes.extend(node.values())
        elif isinstance(node, list):
            nodes.extend(node)
    return None
