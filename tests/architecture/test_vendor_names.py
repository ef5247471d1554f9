"""The core names no vendor: what it knows of one is a field of the value its plugin registers."""

import ast
import re

from tests.architecture.sources import CORE, name_of, tree_of

VENDORS = re.compile(
    r"stripe|shopify|revenuecat|superwall|tiktok|openai|facebook|google|(?<![a-z])meta_ads|^meta$",
    re.IGNORECASE,
)

NAMED: dict[str, str] = {
    "service_core/analytics/connections/providers.py": "2026-11-22: the list of providers moves to the plugins",
    "service_core/analytics/event_rules/order_deduplication.py": "2026-11-22: storefronts move to the plugins",
    "service_core/analytics/install_attribution/app_store_clicks.py": "Google Play is a host that links lead to",
    "service_core/analytics/reads/query/response.py": "`meta` is a field of the wire contract",
    "service_core/commerce/ads/match_ads.py": "2026-11-22: source names of platforms move to the plugins",
    "service_core/commerce/ads/query_schemas.py": "2026-11-22: platform filters derive from the plugins",
    "service_core/commerce/revenue/operations.py": "2026-11-22: provider filters derive from the plugins",
    "service_core/ingestion/channel_rules/sources.py": "channel rules name the sites that visits come from",
    "service_core/ingestion/parse_event.py": "the wire contract names a property of Stripe's checkout",
    "service_core/workspace/links/redirect.py": "Google Play is a host that links lead to",
    "service_core/workspace/scripts/build_container.py": "2026-11-22: the container's pixels move to the plugins",
}
"""Modules that name a vendor in a string or an identifier, each with its reason; the list only shrinks."""


def names_in(tree: ast.Module):
    """Identifiers and string constants of a module; docstrings and descriptions with spaces are prose."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " not in node.value:
            yield node.value
        elif isinstance(node, ast.Name):
            yield node.id
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name


def test_the_core_names_no_vendor():
    found = {
        name_of(path)
        for path in CORE
        if not path.is_relative_to(CORE[0].parents[0] / "testing")
        and "/testing/" not in name_of(path)
        and any(VENDORS.search(name) for name in names_in(tree_of(path)))
    }
    assert sorted(found - NAMED.keys()) == []


def test_no_exemption_has_become_superfluous():
    found = {name_of(path) for path in CORE if any(VENDORS.search(name) for name in names_in(tree_of(path)))}
    assert sorted(NAMED.keys() - found) == []
