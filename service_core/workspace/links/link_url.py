"""Query parameters of link URLs."""

from collections.abc import Iterable, Mapping
from typing import Final
from urllib.parse import parse_qsl, quote, quote_plus, urlsplit, urlunsplit

QueryPairs = Iterable[tuple[str, str]]

_UNDECODABLE_BYTES: Final = "surrogateescape"
"""Error handler that keeps bytes which are no UTF-8 as they are."""

_UNQUOTED: Final = "%/:=&?~#+!$,;'@()*[]"
"""Characters that are not percent-encoded; encoded text is not encoded again."""


def parse_query(query: str) -> list[tuple[str, str]]:
    """Returns the decoded names and values of a query string, in order."""
    return parse_qsl(query, keep_blank_values=True, errors=_UNDECODABLE_BYTES)


def append_missing_link_parameters(
    url: str, lyr: str, utm: Mapping[str, str], request_params: QueryPairs = ()
) -> str:
    """Returns a URL with the parameters of a link; its own parameters are kept, except ``lyr``.

    Args:
        url: destination of the link.
        lyr: tracking identifier of the link.
        utm: UTM values of the link, added where neither the URL nor the request has the parameter.
        request_params: parameters of the redirected request, added after those of the URL.
    """
    parts = urlsplit(url)
    own = [piece for piece in parts.query.split("&") if piece and piece.partition("=")[0] != "lyr"]
    names = {name for name, _ in parse_query(parts.query)} | {"lyr"}
    added = [(name, value) for name, value in request_params if name not in names]
    names |= {name for name, _ in added}
    added += [("lyr", lyr), *((name, value) for name, value in utm.items() if name not in names)]
    query = "&".join([*own, *map(_encode_pair, added)])
    return urlunsplit(parts._replace(query=query))


def replace_parameter(url: str, name: str, value: str) -> str:
    """Returns a URL with one parameter set; others of the same name are removed."""
    parts = urlsplit(url)
    others = [piece for piece in parts.query.split("&") if piece and piece.partition("=")[0] != name]
    return urlunsplit(parts._replace(query="&".join([*others, _encode_pair((name, value))])))


def encode_query(pairs: QueryPairs) -> str:
    """Returns names and values as a query string."""
    return "&".join(map(_encode_pair, pairs))


def to_ascii_url(url: str) -> str:
    """Returns a URL in ASCII: the host encoded by IDNA, everything else percent-encoded."""
    if url.isascii():
        return url
    parts = urlsplit(url)
    try:
        host = parts.netloc.encode("idna").decode()
    except UnicodeError:
        host = quote(parts.netloc, _UNQUOTED)
    return quote(urlunsplit(parts._replace(netloc=host)), _UNQUOTED)


def _encode_pair(pair: tuple[str, str]) -> str:
    name, value = (quote_plus(part, errors=_UNDECODABLE_BYTES) for part in pair)
    return f"{name}={value}"
