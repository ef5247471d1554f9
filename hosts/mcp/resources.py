"""Resources of the MCP server: ``llms.txt``, and the answers of reads by their address."""

from collections.abc import Mapping, Sequence
from typing import Any, Final
from urllib.parse import parse_qs, quote, urlsplit

import orjson

from service_core.documentation.site import Documentation

RESULT_SCHEME: Final = "touchpoint"
_RESULT_HOST: Final = "results"

RESULT_TEMPLATE: Final = {
    "uriTemplate": f"{RESULT_SCHEME}://{_RESULT_HOST}/{{tool}}{{?arguments}}",
    "name": "results",
    "title": "Answer of a read",
    "description": "The whole answer of a read tool; arguments is a JSON object. What a compact result was cut from.",
    "mimeType": "application/json",
}


def llms_txt_entry(documentation: Documentation) -> Mapping[str, str]:
    """Returns the entry of ``llms.txt`` in ``resources/list``."""
    return {
        "uri": f"{documentation.url}/llms.txt",
        "name": "llms.txt",
        "title": "Documentation for language models",
        "description": "Every page of the documentation with its address and a summary.",
        "mimeType": "text/plain",
    }


def read_llms_txt(documentation: Documentation, uri: str) -> Sequence[Mapping[str, str]] | None:
    """Returns the contents of ``llms.txt``; None for another address."""
    if uri != llms_txt_entry(documentation)["uri"]:
        return None
    return [{"uri": uri, "mimeType": "text/plain", "text": documentation.llms_txt()}]


def result_uri(tool_name: str, arguments: Mapping[str, Any]) -> str:
    """Returns the address of the answer of a read."""
    encoded = quote(orjson.dumps(arguments, option=orjson.OPT_SORT_KEYS).decode(), safe="")
    return f"{RESULT_SCHEME}://{_RESULT_HOST}/{tool_name}?arguments={encoded}"


def parse_result_uri(uri: object) -> tuple[str, Mapping[str, Any]] | None:
    """Returns tool and arguments of the address of an answer; None for another address."""
    try:
        parts = urlsplit(uri) if isinstance(uri, str) else None
    except ValueError:
        parts = None
    if parts is None or (parts.scheme, parts.netloc) != (RESULT_SCHEME, _RESULT_HOST):
        return None
    try:
        arguments = orjson.loads(parse_qs(parts.query).get("arguments", ["{}"])[0])
    except ValueError:
        return None
    return (parts.path.removeprefix("/"), arguments) if isinstance(arguments, dict) else None
