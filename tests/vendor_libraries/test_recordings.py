"""What published libraries of other products sent once becomes the same events in every version of the service."""

import pytest
import pytest_asyncio

from tests.analytics.deployment import run_deployment
from tests.hosts.ingest.protocol_host import ProtocolDeployment
from tests.hosts.ingest.recorded_protocols import SAMPLES_BY_PROTOCOL
from tests.vendor_libraries.libraries import LIBRARIES, pinned_version
from tests.vendor_libraries.recordings import FOLDER, load_recording
from tests.vendor_libraries.shop import Comparison, replay_and_compare
from tests.vendor_libraries.table import read_table, render_table


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def results(tmp_path_factory):
    """Library -> comparison and statuses of its replayed recording."""
    async with run_deployment("memory", tmp_path_factory.mktemp("vendor_libraries")) as served:
        deployment = ProtocolDeployment(served)
        return {library: await replay_and_compare(deployment, library) for library in LIBRARIES}


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("library", LIBRARIES, ids=lambda library: library.name)
async def test_every_recorded_event_is_in_the_answers_as_it_was_sent(results, library):
    comparison, statuses = results[library]
    assert comparison == Comparison(len(library.events), ())
    assert statuses == [exchange.status for exchange in load_recording(library.name).exchanges]


@pytest.mark.asyncio(loop_scope="module")
async def test_table_in_the_docs_is_that_of_the_recordings(results):
    assert read_table() == render_table(
        [(library, comparison) for library, (comparison, _) in results.items()]
    )


def test_recordings_are_of_the_pinned_versions():
    recorded = {library.name: load_recording(library.name).version for library in LIBRARIES}
    assert recorded == {library.name: pinned_version(library) for library in LIBRARIES}
    assert {file.stem for file in FOLDER.iterdir()} == recorded.keys()


def test_every_protocol_has_recordings_of_two_libraries():
    products = [library.product for library in LIBRARIES]
    assert {product for product in SAMPLES_BY_PROTOCOL if products.count(product) < 2} == set()
