"""Semantics 7.1: registrable domains are aware of public suffixes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plugins.domains_publicsuffix.adapter import PackagedSuffixList
from service_core.extensions.registry import load_plugins


@pytest.fixture(scope="module")
def domains():
    return PackagedSuffixList()


@pytest.mark.parametrize(
    ("host", "registrable"),
    [
        ("shop.example.co.uk", "example.co.uk"),
        ("example.com", "example.com"),
        ("l.facebook.com", "facebook.com"),
        ("me.github.io", "me.github.io"),
        ("github.io", None),
        ("localhost", None),
        ("192.0.2.1", None),
        ("[2001:db8::1]", None),
        ("example.unheardof", "example.unheardof"),
        ("", None),
        ("a..b", None),
    ],
)
def test_registrable(domains, host, registrable):
    assert domains.registrable_domain(host) == registrable


@given(host=st.text(max_size=60))
def test_any_text_has_an_answer(domains, host):
    found = domains.registrable_domain(host)
    assert found is None or host.lower().rstrip(".").endswith(found)


def test_the_list_is_chosen_by_its_url(tmp_path):
    domains = load_plugins().open_adapter("domains", "publicsuffix://", folder=tmp_path)
    assert domains.registrable_domain("www.example.com") == "example.com"
