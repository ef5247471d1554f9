"""Which pages may send events, and what a browser and a cache on the way must know about the response."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from service_core.access.models import Workspace
from service_core.ingestion.cors import (
    cors_headers,
    is_origin_listed_or_none_listed,
    parse_and_validate_origins,
    preflight_headers,
)
from service_core.kernel.errors import Unprocessable
from service_core.kernel.ids import new_id

SHOP = "https://shop.example"
NOON = datetime(2026, 7, 1, 12, tzinfo=UTC)


def test_response_for_an_origin_is_not_reused_for_another_by_a_cache():
    assert cors_headers(SHOP) == {
        "access-control-allow-origin": SHOP,
        "access-control-allow-credentials": "true",
        "vary": "Origin",
    }
    assert cors_headers(None) == {"access-control-allow-origin": "*"}


def test_preflight_names_methods_and_headers_for_a_day():
    headers = preflight_headers(SHOP)
    assert headers.items() >= cors_headers(SHOP).items()
    assert headers["access-control-allow-methods"] == "POST, OPTIONS"
    assert headers["access-control-allow-headers"] == "Content-Type, X-Batch-Size, X-Container-Version"
    assert headers["access-control-max-age"] == "86400"


@pytest.mark.parametrize(
    ("origin", "allowed"),
    [
        (SHOP, True),
        ("HTTPS://Shop.Example/", True),
        ("https://shop.example:8443", False),
        ("http://shop.example", False),
        ("https://shop.example.evil.example", False),
        (None, False),
    ],
)
def test_only_listed_origins_send_and_without_a_list_every_origin(origin, allowed):
    workspace = Workspace(
        new_id(), "w1", "Shop", None, "UTC", "EUR", "growth", active=True, created_at=NOON, secret=b"s"
    )
    listed = replace(workspace, allowed_origins=("https://SHOP.example/",))
    assert is_origin_listed_or_none_listed(origin, listed) is allowed
    assert is_origin_listed_or_none_listed(origin, workspace)


def test_origins_are_normalised_and_at_most_50():
    assert parse_and_validate_origins(f" {SHOP}/\n HTTPS://SHOP.example http://localhost:8080") == (
        SHOP,
        "http://localhost:8080",
    )
    fifty = " ".join(f"https://s{number}.example" for number in range(50))
    assert len(parse_and_validate_origins(fifty)) == 50
    for refused in (f"{fifty} {SHOP}", "shop.example", f"{SHOP}/path", "ftp://shop.example"):
        with pytest.raises(Unprocessable, match="origin"):
            parse_and_validate_origins(refused)
