"""Contract 10.2: UTM values, click ids, link tags and the install referrer."""

import pytest

from service_core.ingestion.campaign import CLICK_IDS, parse_campaign_and_install_referrer
from service_core.ingestion.page_urls import (
    parse_referrer_host,
    redact_secret_query_values,
    remove_query_parameters,
    split_url,
)


def test_values_are_trimmed_and_empty_ones_are_absent():
    found = parse_campaign_and_install_referrer(
        {"utm_source": " a ", "utm_medium": "", "utm_campaign": None, "utm_id": 12, "lyr": " t "}
    )
    assert (found.utm, found.lyr) == ({"utm_source": "a", "utm_id": "12"}, "t")


def test_null_label_counts_as_absent():
    found = parse_campaign_and_install_referrer(
        {"utm_source": "a", "utm_campaign": "(not set)", "utm_term": " (not set) ", "lyr": "(not set)"}
    )
    assert (found.utm, found.lyr) == ({"utm_source": "a"}, None)


def test_empty_properties_give_no_campaign():
    assert parse_campaign_and_install_referrer({"plan": "pro"}).is_empty


@pytest.mark.parametrize("kind", CLICK_IDS)
def test_click_id_can_be_named_by_its_type(kind):
    assert parse_campaign_and_install_referrer({"clickId": "c", "clickIdType": kind}).first_click_id == (
        "c",
        kind,
    )


@pytest.mark.parametrize("kind", ["other", "", None, 5, [], "GCLID"])
def test_unknown_click_id_type_is_dropped(kind):
    assert parse_campaign_and_install_referrer({"clickId": "c", "clickIdType": kind}).first_click_id == (
        None,
        None,
    )


def test_first_click_id_by_precedence_stands_for_all():
    found = parse_campaign_and_install_referrer(
        {"ko_click_id": "k", "msclkid": "m", "gbraid": "b", "gclid": "g"}
    )
    assert found.first_click_id == ("g", "gclid")
    assert list(found.click_ids) == ["gclid", "gbraid", "msclkid", "ko_click_id"]


@pytest.mark.parametrize("name", ["ScCid", "sccid", "sclid"])
def test_snapchat_click_id_spellings_are_accepted(name):
    assert parse_campaign_and_install_referrer({name: "s"}).first_click_id == ("s", "sclid")


@pytest.mark.parametrize(
    "address",
    [
        "lyr=abc&utm_source=google&tp_click_id=X1&tp_click_id_type=gclid",
        "lyr%3Dabc%26utm_source%3Dgoogle%26tp_click_id%3DX1%26tp_click_id_type%3Dgclid",
        "referrer=lyr%3Dabc%26utm_source%3Dgoogle%26gclid%3DX1",
        "https://play.google.com/store/apps/details?id=a&referrer=lyr%3Dabc%26utm_source%3Dgoogle%26gclid%3DX1",
    ],
)
def test_install_referrer_is_read_also_inside_its_referrer_parameter(address):
    found = parse_campaign_and_install_referrer({"install_referrer_url": address})
    assert (found.lyr, found.utm, found.first_click_id) == ("abc", {"utm_source": "google"}, ("X1", "gclid"))


def test_install_referrer_only_fills_what_is_absent():
    found = parse_campaign_and_install_referrer(
        {"lyr": "own", "gclid": "g", "install_referrer_url": "lyr=other&gclid=h&utm_source=s"}
    )
    assert (found.lyr, found.first_click_id, found.utm) == ("own", ("g", "gclid"), {"utm_source": "s"})


@pytest.mark.parametrize(
    ("address", "host", "path"),
    [
        ("https://www.Example.com:8443/a/b?c=d#e", "example.com", "/a/b"),
        ("https://example.com", "example.com", "/"),
        ("http://user:pass@example.com/x", "example.com", "/x"),
        ("http://[2001:db8::1]:80/x", "[2001:db8::1]", "/x"),
        ("/pricing?x=1", None, "/pricing"),
        ("app://screen/home", None, "/home"),
    ],
)
def test_url_parts_become_page_fields(address, host, path):
    assert split_url(address)[:2] == (host, path)


@pytest.mark.parametrize(
    ("referrer", "host"),
    [
        ("https://www.google.com/", "google.com"),
        ("gemini.google.com", "gemini.google.com"),
        ("www.google.com/search?q=a", "google.com"),
        ("//partner.example/x", "partner.example"),
        ("/own/page", None),
        ("word", None),
        ("android-app://com.example.app", "com.example.app"),
        ("ios-app://544007664/vnd.youtube/x", "544007664"),
    ],
)
def test_referrer_is_identified_by_its_host(referrer, host):
    assert parse_referrer_host(referrer) == host


@pytest.mark.parametrize(
    ("address", "stored"),
    [
        ("https://e.com/?token=abc&a=1", "https://e.com/?token=redacted&a=1"),
        (
            "https://e.com/?a=1&API_KEY=x#access_token=y",
            "https://e.com/?a=1&API_KEY=redacted#access_token=redacted",
        ),
        (
            "https://e.com/?resetPassword=x&email=a%40b.c",
            "https://e.com/?resetPassword=redacted&email=redacted",
        ),
        ("https://e.com/?keyword=shoes&monkey=1", "https://e.com/?keyword=shoes&monkey=1"),
        ("https://e.com/token/abc", "https://e.com/token/abc"),
    ],
)
def test_values_named_like_secrets_are_redacted(address, stored):
    assert redact_secret_query_values(address) == stored


def test_parameters_can_be_left_out():
    assert remove_query_parameters("/a?x=1&gclid=2&y=3#f", {"gclid"}) == "/a?x=1&y=3#f"
    assert remove_query_parameters("/a?gclid=2", {"gclid"}) == "/a"
    assert remove_query_parameters("/a", {"gclid"}) == "/a"
