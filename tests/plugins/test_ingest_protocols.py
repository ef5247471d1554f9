"""The conformance kit on every built-in ingest protocol."""

import pytest

from service_core.extensions.registry import collect_plugins_into_registry
from service_core.testing.ingest_protocol import IngestProtocolConformance, ProtocolHarness
from tests.hosts.ingest.recorded_protocols import SAMPLES_BY_PROTOCOL

PROTOCOLS = collect_plugins_into_registry(with_catalog=False).ingest_protocols.protocols


class TestBuiltInProtocols(IngestProtocolConformance):
    @pytest.fixture(params=sorted(PROTOCOLS))
    def harness(self, request):
        return ProtocolHarness(PROTOCOLS[request.param], SAMPLES_BY_PROTOCOL[request.param])


def test_every_built_in_protocol_has_recorded_requests():
    assert SAMPLES_BY_PROTOCOL.keys() == PROTOCOLS.keys()
