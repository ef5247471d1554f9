"""No body that a client of another product may send gives a server error."""

import asyncio
import json
from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.analytics.deployment import run_deployment
from tests.hosts.ingest.protocol_host import ProtocolDeployment
from tests.hosts.ingest.recorded_protocols import SAMPLES_BY_PROTOCOL

FIRST_SAMPLES = [next(iter(samples.values())) for samples in SAMPLES_BY_PROTOCOL.values()]
JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.floats(allow_nan=False) | st.text(max_size=8) | st.integers(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
BODIES = st.binary(max_size=200) | JSON_VALUES.map(lambda value: json.dumps(value).encode())
QUERIES = st.text("abc=&%;[]{}0123", max_size=30)


@settings(max_examples=4)
@given(requests=st.lists(st.tuples(BODIES, QUERIES | st.none()), min_size=5, max_size=30))
def test_no_body_gives_a_server_error(tmp_path_factory, requests):
    async def send():
        async with run_deployment("memory", tmp_path_factory.mktemp("any")) as served:
            host = await ProtocolDeployment(served).add_workspace()
            for sample in FIRST_SAMPLES:
                base = sample.build(host.public_id)
                for body, query in requests:
                    request = replace(base, body=body, query=base.query if query is None else query)
                    assert (await host.send(request))[0] < 500

    asyncio.run(send())
