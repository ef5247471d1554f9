"""The fields of a `/track` body that a column of a file may become."""

from typing import Final

OBJECT_FIELDS: Final = ("properties", "context", "external_ids")
BODY_FIELDS: Final = (
    *("event", "event_name", "event_id", "timestamp", "ip", *OBJECT_FIELDS),
    *("distinct_id", "user_id", "anonymous_id", "visitor_id"),
)


def is_body_field(name: str) -> bool:
    """Returns whether a body has a field of this name, such as ``user_id`` or ``properties.plan``."""
    outer, _, inner = name.partition(".")
    return name in BODY_FIELDS or (outer in OBJECT_FIELDS and bool(inner))
