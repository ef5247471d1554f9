"""The JSON codec of the service: orjson, which refuses NaN, deep nesting and lone surrogates."""

from collections.abc import Callable
from typing import Any, Final

import orjson

from service_core.api.http_messages import JsonCodec


def _dumps(value: Any, default: Callable[[Any], Any]) -> bytes:
    # Datetimes go through `default`: the wire has milliseconds and a Z.
    return orjson.dumps(value, default, orjson.OPT_PASSTHROUGH_DATETIME)


CODEC: Final = JsonCodec(loads=orjson.loads, dumps=_dumps)
