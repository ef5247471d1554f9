"""The query of an address a link leads to (semantics 14.2)."""

from collections.abc import Iterable, Mapping
from typing import Final
from urllib.parse import parse_qsl, quote, quote_plus, urlsplit, urlunsplit

QueryPairs = Iterable[tuple[str, str]]

_UNDECODABLE_BYTES: Final = "surrogateescape"
"""Parameters leave as the bytes they came as, whatever these mean."""

_UNQUOTED: Final = "%/:=&?~#+!$,;'@()*[]"
"""What stays as it is when the rest of an address is encoded; encoded text is not encoded again."""


def parse_query(query: str) -> list[tuple[str, str]]:
    """Names and values of a query, decoded, in order."""
    return parse_qsl(query, keep_blank_values=True, errors=_UNDECODABLE_BYTES)


def append_link_parameters(
    url: str, lyr: str, utm: Mapping[str, str], request_params: QueryPairs = ()
) -> str:
    """An address with the tag of a link: what it says itself stays, but for ``lyr``.

    Args:
        url: where the link leads.
        lyr: the tracking identifier.
        utm: UTM values of the link, added where nobody names another.
        brought: parameters of the request that is redirected; they stand behind those of the address.
    """
    parts = urlsplit(url)
    own = [piece for piece in parts.query.split("&") if piece and piece.partition("=")[0] != "lyr"]
    names = {name for name, _ in parse_query(parts.query)} | {"lyr"}
    added = [(name, value) for name, value in request_params if name not in names]
    names |= {name for name, _ in added}
    added += [("lyr", lyr), *((name, value) for name, value in utm.items() if name not in names)]
    query = "&".join([*own, *map(_encode_pair, added)])
    return urlunsplit(parts._replace(query=query))


def set_parameter(url: str, name: str, value: str) -> str:
    """An address with one parameter set; any of the same name goes."""
    parts = urlsplit(url)
    kept = [piece for piece in parts.query.split("&") if piece and piece.partition("=")[0] != name]
    return urlunsplit(parts._replace(query="&".join([*kept, _encode_pair((name, value))])))


def encode_query(pairs: QueryPairs) -> str:
    """Names and values as a query."""
    return "&".join(map(_encode_pair, pairs))


def to_ascii_url(url: str) -> str:
    """An address as a header can hold it: its host by IDNA, everything else percent-encoded."""
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
