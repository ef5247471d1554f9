"""A file of the Export API becomes events; the kit of import sources."""

import json

import import_amplitude
import pytest
from import_amplitude import Amplitude, to_entry

from service_core.testing.import_source import ImportSourceConformance, ImportSourceHarness
from service_core.testing.plugin import PluginConformance

VIEW = {
    "$insert_id": "5f9c-1",
    "event_type": "[Amplitude] Page Viewed",
    "event_time": "2026-07-01 10:00:00.123000",
    "device_id": "d-1",
    "user_id": None,
    "event_properties": {"[Amplitude] Page URL": "https://shop.example/"},
    "country": "Germany",
}
PURCHASE = VIEW | {
    "$insert_id": "5f9c-2",
    "event_type": "purchase",
    "user_id": "u-1",
    "event_properties": {"revenue": 12.5},
}
NOBODY = {"$insert_id": "5f9c-3", "event_type": "cron", "event_time": "2026-07-02 10:00:00.000000"}
LINES = [json.dumps(row).encode() + b"\n" for row in (VIEW, PURCHASE, NOBODY)]
DAYS = {"2026-07-01": {"queued": 2}, "2026-07-02": {"no_identity": 1}}


class TestAmplitude(ImportSourceConformance):
    @pytest.fixture
    def harness(self):
        return ImportSourceHarness(
            Amplitude(), b"".join(LINES), DAYS, LINES[0].replace(b'"$insert_id": "5f9c-1", ', b"")
        )


class TestPlugin(PluginConformance):
    @pytest.fixture
    def plugin(self):
        return import_amplitude


def test_line_keeps_id_time_person_and_properties():
    """Names are ours, times are in UTC, and what is unknown is left out."""
    assert to_entry(VIEW).body == {
        "event": "page_view",
        "timestamp": "2026-07-01T10:00:00.123000Z",
        "anonymous_id": "d-1",
        "event_id": "5f9c-1",
        "properties": {"[Amplitude] Page URL": "https://shop.example/"},
        "country": "Germany",
    }
