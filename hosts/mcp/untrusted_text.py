"""Text that visitors and third parties wrote, in results of tools.

A name of an event or the title of a page may be written for the model that reads it. Characters that a person does not
see are removed from every text of a result, and `_meta.untrusted` lists the fields whose text others wrote. Those that
emoji and scripts such as Persian are spelled with stay, so that a text can be sent back as a filter.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

import orjson

from service_core.analytics.metrics.dimensions import CORE_DIMENSIONS
from service_core.kernel.dimension_ids import PROPERTY_PREFIX

_INVISIBLE: Final = (
    "\\x00-\\x08\\x0b-\\x1f\\x7f-\\x9f"  # control characters except tab and line feed
    "\\u00ad\\u034f\\u061c\\u115f\\u1160\\u17b4\\u17b5\\u180b-\\u180f"
    "\\u200b-\\u200f\\u2028-\\u202e\\u2060-\\u206f"  # zero width, bidirectional, line separators
    "\\u3164\\ufe00-\\ufe0f\\ufeff\\uffa0\\ufff9-\\ufffb"
    "\\U0001bca0-\\U0001bca3\\U0001d173-\\U0001d17a\\U000e0000-\\U000e0fff"  # tags, variation selectors
)
_VISIBLE_NON_ASCII: Final = rf"[^\x00-\x7f{_INVISIBLE}]"
_EMOJI_PART: Final = (
    rf"(?<={_VISIBLE_NON_ASCII})[\ufe0e\ufe0f]|(?<=[0-9#*])\ufe0f(?=\u20e3)"
    rf"|(?:(?<={_VISIBLE_NON_ASCII})[\u200c\u200d]|(?<={_VISIBLE_NON_ASCII}\ufe0f)\u200d)(?={_VISIBLE_NON_ASCII})"
)
"""One variation selector after a letter or emoji, and one joiner between two of them."""

_INVISIBLE_CHARACTER: Final = re.compile(f"[{_INVISIBLE}]")
_EMOJI_PART_OR_INVISIBLE: Final = re.compile(f"({_EMOJI_PART})|[{_INVISIBLE}]")
_ESCAPE_OF_CONTROL_CHARACTER: Final = re.compile(r"\\[bfr]|\\u00[01]")
"""What a JSON text has where one of its texts may have a control character; it is rarely there."""

_ENUMERATED_DIMENSIONS: Final = frozenset(
    [
        "country",
        "currency",
        "device_type",
        "screen_class",
        "new_vs_returning",
        "provider",
        "platform",
        "is_bot",
        "bot_reason",
        "crawler",
        "crawler_class",
    ]
)
"""Dimensions whose values come from a fixed list."""

UNTRUSTED_FIELDS: Final = (
    frozenset(dimension.id for dimension in CORE_DIMENSIONS) - _ENUMERATED_DIMENSIONS
) | frozenset(
    [
        "event_name",
        "event_names",
        "name",
        "names",
        "title",
        "label",
        "labels",
        "description",
        "body_md",
        "text",
        "content",
        "note",
        "notes",
        "message",
        "comment",
        "page_url",
        "page_title",
        "referrer",
        "landing_page",
        "exit_page",
        "first_page",
        "last_page",
        "url",
        "destination_url",
        "slug",
        "event_data",
        "properties",
        "external_ids",
        "traits",
        "sample",
        "samples",
        "key",
        "value",
        "values",
        "suggestion",
        "experiment",
        "variant",
        "user_id",
        "visitor_id",
        "visitor_ids",
        "anonymous_id",
        "anonymous_ids",
        "distinct_id",
        "session_id",
        "email",
        "utm_id",
        "click_id",
        "gclid",
        "gbraid",
        "wbraid",
        "fbclid",
        "ttclid",
        "oppref",
        "msclkid",
        "fbp",
        "fbc",
        "ttp",
        "sdk_name",
        "sdk_version",
        "app_name",
        "browser_version",
        "os_version",
        "timezone_name",
        "campaign",
        "medium",
        "term",
        "order_id",
        "trigger_event",
        "warnings",
        "excerpt",
        "matched",
    ]
)
"""Names of fields whose text senders of events, platforms or members wrote; the ids of dimensions are among them."""

_OWN_TEXT_OPERATIONS: Final = frozenset({"search_docs", "list_metrics", "list_providers"})
"""Ids of operations whose answers hold text of this product only."""


def remove_invisible_characters(text: str) -> str:
    """Returns a text without control, bidirectional and invisible characters; tabs, line feeds and parts of emoji stay."""
    return _EMOJI_PART_OR_INVISIBLE.sub(r"\1", text) if _INVISIBLE_CHARACTER.search(text) else text


def clean_json(body: bytes) -> bytes:
    """Returns a JSON text whose texts and keys have no invisible characters; without any, the same bytes."""
    text = body.decode()
    cleaned = remove_invisible_characters(text)
    if _ESCAPE_OF_CONTROL_CHARACTER.search(cleaned):
        return orjson.dumps(_clean_value(orjson.loads(cleaned)))
    return body if cleaned == text else cleaned.encode()


def list_untrusted_fields(operation_id: str, body: bytes) -> list[str]:
    """Returns the paths of the fields in an answer whose text others wrote, such as ``events[].event_name``, sorted.

    A row of values without names is one path, such as ``rows[][]``.
    """
    if operation_id in _OWN_TEXT_OPERATIONS:
        return []
    return sorted(set(_untrusted_paths(orjson.loads(body), "")))


def _clean_value(value: Any) -> Any:
    if isinstance(value, str):
        return remove_invisible_characters(value)
    if isinstance(value, list):
        return [_clean_value(element) for element in value]
    if isinstance(value, dict):
        return {remove_invisible_characters(key): _clean_value(inside) for key, inside in value.items()}
    return value


def _untrusted_paths(value: Any, path: str) -> Iterator[str]:
    if isinstance(value, Mapping):
        for key, inside in value.items():
            inner = f"{path}.{key}" if path else key
            is_untrusted = key in UNTRUSTED_FIELDS or key.startswith(PROPERTY_PREFIX)
            if is_untrusted and _holds_text(inside):
                yield inner
            else:
                yield from _untrusted_paths(inside, inner)
    elif isinstance(value, list):
        for element in value:
            if isinstance(element, list) and any(isinstance(cell, str) for cell in element):
                yield f"{path}[][]"
            else:
                yield from _untrusted_paths(element, f"{path}[]")


def _holds_text(value: Any) -> bool:
    """Returns whether a value is a text, or holds one anywhere inside."""
    if isinstance(value, str):
        return bool(value)
    if isinstance(value, Mapping):
        return bool(value)
    return isinstance(value, list) and any(_holds_text(element) for element in value)
