"""Semantics 7.1: registrable domains are aware of public suffixes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plugins.domains_publicsuffix.adapter import PackagedSuffixList
from service_core.extensions.registry import collect_plugins_into_registry


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
def test_registrable_domain_of_a_host(domains, host, registrable):
    assert domains.registrable_domain(host) == registrable


@given(host=st.text(max_size=60))
def test_any_text_is_accepted(domains, host):
    found = domains.registrable_domain(host)
    assert found is None or host.lower().rstrip(".").endswith(found)


def test_list_is_chosen_by_its_url(tmp_path):
    domains = collect_plugins_into_registry().open_adapter("domains", "publicsuffix://", base_folder=tmp_path)
    assert domains.registrable_domain("www.example.com") == "example.com"
