"""Error codes, unavailable reasons and event names are declared in one list each, and every entry is used."""

import ast

from service_core.ingestion import event_names
from service_core.kernel.availability import UnavailableReason
from service_core.kernel.errors import ERROR_CODES
from tests.architecture.sources import (
    CORE,
    ROOT,
    SOURCES,
    module_name,
    parse_source,
    read_source,
    without_docstrings,
)

RESERVED = {
    "plan_feature": "named by the wire contract for billing plans that withhold a feature; no plan does",
    "PLAN": "named by the wire contract for billing plans that withhold a metric; no plan does",
}
"""Declared names that nothing uses, each with its reason; the list only shrinks."""

DECLARATIONS = {
    "service_core/kernel/errors.py",
    "service_core/kernel/availability.py",
    "service_core/ingestion/event_names.py",
}
NOT_TESTING = [path for path in SOURCES if not module_name(path).startswith("service_core/testing/")]
USERS = [path for path in NOT_TESTING if module_name(path) not in DECLARATIONS]


def test_every_error_code_is_raised_somewhere_as_a_literal():
    used = {text for path in USERS for text in without_docstrings(parse_source(path))}
    codes = {code for codes in ERROR_CODES.values() for code in codes}
    assert sorted(codes - used - RESERVED.keys()) == []


def test_every_unavailable_reason_is_used():
    used = {
        node.attr
        for path in USERS
        for node in ast.walk(parse_source(path))
        if isinstance(node, ast.Attribute) and ast.unparse(node.value) == "UnavailableReason"
    }
    assert sorted({reason.name for reason in UnavailableReason} - used - RESERVED.keys()) == []


def declared_event_names() -> dict[str, frozenset[str]]:
    return {
        name: frozenset({value}) if isinstance(value, str) else value
        for name, value in vars(event_names).items()
        if name.isupper()
    }


def test_every_declared_event_name_is_used():
    used = "\n".join(read_source(path) for path in USERS)
    assert [name for name in declared_event_names() if name not in used] == []


EVENT_NAME_LITERALS: dict[str, str] = {
    "service_core/analytics/connections/providers.py": "2026-11-22: event lists of providers move to the plugins",
    "service_core/commerce/providers/app_stores/events.py": "names of the events made from store notifications",
    "service_core/commerce/subscriptions/movements.py": "a movement is no event",
}
"""Core modules that spell event names themselves, each with its reason; the list only shrinks."""


def test_event_names_of_the_core_are_spelled_in_one_module():
    unmistakable = {
        name for names in declared_event_names().values() for name in names if "_" in name or "$" in name
    }
    spelled = {
        module_name(path)
        for path in CORE
        if path in USERS and unmistakable & set(without_docstrings(parse_source(path)))
    }
    assert sorted(spelled - EVENT_NAME_LITERALS.keys()) == []


def test_error_reference_lists_every_code():
    page = (ROOT / "docs/reference/errors.md").read_text()
    assert [code for codes in ERROR_CODES.values() for code in codes if f"`{code}`" not in page] == []
