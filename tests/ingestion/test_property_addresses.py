"""Addresses among the properties of an event are cut under every key that names one."""

import json

import pytest

from service_core.ingestion.property_addresses import truncate_addresses_in_json

KEYS = [
    "ip", "$ip", "ip_address", "ipaddress", "client_ip", "clientip", "user_ip", "remote_ip", "remote_addr", "Client_IP",
    "browser_ip", "client_ip_address", "client_user_ip", "CF-Connecting-IP", "true-client-ip",
]  # fmt: skip


@pytest.mark.parametrize("key", KEYS)
def test_addresses_are_cut_under_every_key_and_at_every_depth(key):
    sent = {key: "203.0.113.9", "in": [{key: "2001:db8:7:8::1"}], "note": "203.0.113.9"}
    cut = json.loads(truncate_addresses_in_json(json.dumps(sent)))
    assert cut == {key: "203.0.113.0/24", "in": [{key: "2001:db8:7::/48"}], "note": "203.0.113.9"}
    assert json.loads(truncate_addresses_in_json(json.dumps(cut))) == cut
