"""The conformance kit on every built-in transform."""

import time

import pytest

from plugins.transform_campaigns.settings import CampaignSettings
from plugins.transform_drop.settings import DropSettings
from plugins.transform_redact.settings import RedactionSettings
from service_core.extensions.registry import collect_plugins_into_registry
from service_core.ingestion.transforms.time_limit import CALL_SECONDS
from service_core.plugin import ChangedColumns, DroppedEvent
from service_core.testing.transform import TransformConformance, TransformHarness

TRANSFORMS = collect_plugins_into_registry(with_catalog=False).transforms


def redacted(before, after):
    changed = ChangedColumns({"properties": after}) if after is not None else None
    return {"properties": before}, changed


class TestRedact(TransformConformance):
    @pytest.fixture
    def harness(self):
        settings = RedactionSettings(
            emails=True, card_numbers=True, patterns=(r"\bMRN-\d+",), kept_properties=("support",)
        )
        samples = {
            "e-mail in a text": redacted(
                {"note": "mail ada@shop.example now"}, {"note": "mail redacted now"}
            ),
            "e-mail in an address": redacted(
                {"url": "https://a.example/?m=ada%40shop.example&b=1"},
                {"url": "https://a.example/?m=redacted&b=1"},
            ),
            "nested": redacted({"a": [{"b": "x@y.example"}], "c": 1}, {"a": [{"b": "redacted"}], "c": 1}),
            "card": redacted({"q": "pay 4111 1111 1111 1111."}, {"q": "pay redacted."}),
            "card before an expiry date": redacted(
                {"q": "4111 1111 1111 1111 12/29"}, {"q": "redacted 12/29"}
            ),
            "card behind another number": redacted({"q": "x 77 4111-1111-1111-1111"}, {"q": "x 77 redacted"}),
            "card in an address": redacted(
                {"url": "https://a.example/?q=%224111111111111111&b=%204111%201111%201111%201111"},
                {"url": "https://a.example/?q=%22redacted&b=%20redacted"},
            ),
            "card as a number": redacted({"card": 4111111111111111}, {"card": "redacted"}),
            "wrong check digit": redacted({"order": "4111111111111112"}, None),
            "time in milliseconds": redacted(
                {"at": 1782907200000.0, "n": "1782907200.4111111111111111"}, None
            ),
            "own pattern": redacted({"t": "MRN-77 seen"}, {"t": "redacted seen"}),
            "kept property": redacted({"support": "help@shop.example"}, None),
            "nothing": redacted({"plan": "gold", "value": 12.5, "ok": True, "none": None}, None),
        }
        return TransformHarness(TRANSFORMS["redact"], settings, samples)


class TestDrop(TransformConformance):
    @pytest.fixture
    def harness(self):
        settings = DropSettings(
            hostnames=("staging.example.com", "*.test"),
            paths=("/admin/*",),
            addresses=("203.0.113.0/24", "2001:db8::/32"),
            event_names=("debug_*",),
        )
        samples = {
            "host": ({"properties.url": "https://www.Staging.example.com:8443/a"}, DroppedEvent("hostname")),
            "host by pattern": ({"properties.url": "http://shop.test/"}, DroppedEvent("hostname")),
            "other host": ({"properties.url": "https://staging.example.com.example/"}, None),
            "path of the address": ({"properties.url": "https://a.example/admin/x?y"}, DroppedEvent("path")),
            "path": ({"properties.path": "/admin/x"}, DroppedEvent("path")),
            "other path": ({"properties.path": "/administration"}, None),
            "address": ({"ip": "203.0.113.9"}, DroppedEvent("address")),
            "address of six": ({"ip": "2001:db8::1"}, DroppedEvent("address")),
            "other address": ({"ip": "198.51.100.1"}, None),
            "name": ({"event_name": "debug_click"}, DroppedEvent("event_name")),
            "nothing": ({}, None),
        }
        return TransformHarness(TRANSFORMS["drop"], settings, samples)


class TestCampaigns(TransformConformance):
    @pytest.fixture
    def harness(self):
        settings = CampaignSettings(lower_case=True, utm_source={"FB": "facebook", "face book": "facebook"})
        samples = {
            "table": (
                {"properties.utm_source": "Face  Book"},
                ChangedColumns({"properties.utm_source": "facebook"}),
            ),
            "case": ({"properties.utm_medium": "CPC"}, ChangedColumns({"properties.utm_medium": "cpc"})),
            "address of the page": (
                {"properties.utm_source": "fb", "properties.url": "https://a.example/?x=FB&utm_source=fb#y"},
                ChangedColumns(
                    {
                        "properties.utm_source": "facebook",
                        "properties.url": "https://a.example/?x=FB&utm_source=facebook#y",
                    }
                ),
            ),
            "right already": ({"properties.utm_source": "facebook"}, None),
        }
        return TransformHarness(TRANSFORMS["campaigns"], settings, samples)


@pytest.mark.parametrize(
    ("id_", "settings"),
    [("redact", RedactionSettings()), ("drop", DropSettings()), ("campaigns", CampaignSettings())],
)
def test_transform_without_settings_has_no_function(id_, settings):
    assert TRANSFORMS[id_].build(settings) is None


@pytest.mark.parametrize("text", ["a" * 250_000 + "@", "a@" + "a." * 125_000, "1111 " * 50_000])
def test_redaction_of_a_hostile_text_takes_less_than_its_limit(text):
    redact = TRANSFORMS["redact"].build(RedactionSettings(emails=True, card_numbers=True))
    started = time.thread_time()
    redact({"properties": {"note": text}})
    assert time.thread_time() - started < CALL_SECONDS


def test_pattern_that_is_none_is_refused():
    with pytest.raises(ValueError, match="no regular expression"):
        RedactionSettings(patterns=("(",))
