"""Without consent no click id, cookie id or address stays, wherever it stands in the body."""

import pytest

from service_core.ingestion.consent import is_consent_denied, strip_click_and_browser_ids


@pytest.mark.parametrize(
    ("consent", "denied"),
    [
        ("denied", True),
        (" Denied", True),
        (False, True),
        ({"marketing": False}, True),
        ({"ad_storage": "denied", "analytics_storage": "granted"}, True),
        ({"ad_user_data": "denied"}, True),
        ({"adStorage": "denied"}, True),
        ({"categories": {"Advertising": False}}, True),
        ({"marketing": 0}, True),
        ("granted", False),
        (True, False),
        (None, False),
        ([], False),
        ({}, False),
        ({"analytics": False}, False),
        ({"analytics_storage": "denied", "ad_storage": "granted"}, False),
        ({"marketing": True}, False),
        ({"marketing": None}, False),
    ],
)
def test_denied_consent_is_recognized_in_every_spelling(consent, denied):
    assert is_consent_denied({"consent": consent}) is denied
    assert is_consent_denied({}, {"consent": consent}) is denied


def test_identifiers_are_removed_at_every_depth_and_from_addresses():
    sent = {
        "_fbp": "1", "_ga": "2", "_ga_XY": "3", "_gcl_au": "4", "gclid": "5", "ip": "203.0.113.1", "plan": "pro",
        "user": {"fbc": "6", "client_ip_address": "7", "name": "Ada", "list": [{"_ttp": "8", "n": 1}]},
        "href": "https://a.example/?gclid=9&x=1", "search": "?fbclid=10&q=shoes", "cookies": "_fbp=11",
        "install_referrer_url": "utm_source=g&gclid=12", "formula": "a=b & c=d",
    }  # fmt: skip
    assert strip_click_and_browser_ids(sent) == {
        "plan": "pro",
        "user": {"name": "Ada", "list": [{"n": 1}]},
        "href": "https://a.example/?x=1",
        "search": "?q=shoes",
        "install_referrer_url": "utm_source=g",
        "formula": "a=b & c=d",
    }
