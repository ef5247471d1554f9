"""Import sources, ingest protocols, attribution models and packs that are wrong in one thing, and the promise that catches each."""

from dataclasses import replace
from fractions import Fraction
from itertools import count
from types import SimpleNamespace
from uuid import uuid4

import pytest

from service_core.plugin import PluginInfo, ProtocolEvent, ProtocolResponse, hook
from service_core.testing.attribution_model import AttributionModelConformance
from service_core.testing.ingest_protocol import PUBLIC_ID
from service_core.testing.plugin import PluginConformance
from tests.plugin_kits.examples import load_example
from tests.plugin_kits.wrong_plugin import WrongPlugin

SOURCE, SOURCE_TESTS = load_example("import_source")
PROTOCOL, PROTOCOL_TESTS = load_example("ingest_protocol")
MODELS, _ = load_example("attribution_model")
PACK, _ = load_example("metric_pack")


class WrongSource(WrongPlugin, SOURCE_TESTS.TestRightImportSource):
    example, plugin_name = SOURCE, "RightImportSource"


class TestRowsWithoutAPersonAreDropped(
    WrongSource, promise="every_row_is_an_event_or_a_named_difference_of_its_day"
):
    class Plugin(SOURCE.RightImportSource):
        def read_entries(self, file):
            return (entry for entry in super().read_entries(file) if (entry.body or {}).get("anonymous_id"))


class TestPeopleAreInvented(WrongSource, promise="every_row_is_an_event_or_a_named_difference_of_its_day"):
    class Plugin(SOURCE.RightImportSource):
        def read_entries(self, file):
            for entry in super().read_entries(file):
                person = {"anonymous_id": (entry.body or {}).get("anonymous_id") or "somebody"}
                yield replace(entry, body=(entry.body or {}) | person)


class TestRowIdIsNewEachTime(
    WrongSource, promise="row_ids_are_the_same_each_time_and_different_for_each_row"
):
    class Plugin(SOURCE.RightImportSource):
        def read_entries(self, file):
            for entry in super().read_entries(file):
                yield replace(entry, body=(entry.body or {}) | {"event_id": str(uuid4())})


class TestFileIsReadWhole(WrongSource, promise="large_file_is_read_row_by_row"):
    class Plugin(SOURCE.RightImportSource):
        def read_entries(self, file):
            yield from [*super().read_entries(file)]


class TestBrokenLineIsAnError(
    WrongSource, promise="garbage_is_a_difference_or_refused_with_a_sentence", raises=ValueError
):
    class Plugin(SOURCE.RightImportSource):
        def read_entries(self, file):
            for line in file.path.read_text().splitlines():
                yield SOURCE.entry_of_row(dict(zip(("name", "at", "visitor"), line.split(","), strict=True)))


class WrongProtocol(WrongPlugin, PROTOCOL_TESTS.TestRightIngestProtocol):
    example, plugin_name = PROTOCOL, "RightIngestProtocol"


class TestListIsAServerError(WrongProtocol, promise="damaged_requests_are_no_server_error", raises=TypeError):
    class Plugin(PROTOCOL.RightIngestProtocol):
        def read_events(self, request):
            return [ProtocolEvent({"event": request.document["name"], "anonymous_id": "v"})]


class TestEventIdIsNewEachTime(
    WrongProtocol, promise="repeated_request_is_taken_and_repeats_no_event_with_an_id"
):
    class Plugin(PROTOCOL.RightIngestProtocol):
        def read_events(self, request):
            (event,) = super().read_events(request)
            return [replace(event, body={**event.body, "event_id": str(uuid4())})]


class TestEveryKeyIsTheSame(WrongProtocol, promise="unknown_key_stores_nothing"):
    class Plugin(PROTOCOL.RightIngestProtocol):
        def find_key(self, request):
            return PUBLIC_ID


class TestEverythingIsASuccess(
    WrongProtocol, promise="full_queue_is_a_server_error_so_that_clients_send_again"
):
    class Plugin(PROTOCOL.RightIngestProtocol):
        def respond(self, request, outcome):
            return ProtocolResponse(200)


class TestEventsAreLost(WrongProtocol, promise="recorded_requests_are_taken"):
    class Plugin(PROTOCOL.RightIngestProtocol):
        def read_events(self, request):
            return super().read_events(request)[1:]


class WrongModel(WrongPlugin, AttributionModelConformance):
    @pytest.fixture
    def model(self):
        return replace(MODELS.PRESENCE, fit=self.fit)


class TestRightModels(AttributionModelConformance):
    """The right models, whose wrong ones follow."""

    @pytest.fixture(params=[MODELS.PRESENCE, MODELS.QUICK_DECAY], ids=lambda model: model.id)
    def model(self, request):
        return request.param


class TestWeightsAreNegative(WrongModel, promise="weights_are_finite_and_not_negative"):
    @staticmethod
    def fit(paths):
        return {key: weight - 4 for key, weight in MODELS.presence(paths).items()}


class TestFitDependsOnTheOrder(WrongModel, promise="weights_are_the_same_each_time"):
    @staticmethod
    def fit(paths):
        return {key: Fraction(1, place) for place, path in enumerate(paths, 1) for key in path.keys}


class TestFitDependsOnEarlierOnes(WrongModel, promise="weights_are_the_same_each_time"):
    @pytest.fixture
    def model(self):
        numbers = count(1)
        return replace(MODELS.PRESENCE, fit=lambda paths: {paths[0].keys[0]: next(numbers)})


class TestUnknownKeyIsCredited(WrongModel, promise="fitted_keys_stand_in_the_paths"):
    @staticmethod
    def fit(paths):
        return {("(other)",): 1}


class WrongPack(WrongPlugin, PluginConformance):
    @pytest.fixture
    def plugin(self):
        return SimpleNamespace(plugin_info=self.info(), metrics=self.metrics())

    @staticmethod
    def info():
        return hook(lambda: PluginInfo(label="Shop", api_version="1.0"))

    @staticmethod
    def metrics():
        return hook(lambda: [PACK.SEARCHES_PER_VISITOR])


class TestMetricHasAnIdOfTheCore(WrongPack, promise="plugin_loads_beside_the_core", raises=Exception):
    @staticmethod
    def metrics():
        return hook(lambda: [replace(PACK.SEARCHES_PER_VISITOR, id="visitors")])


class TestMetricIdIsNewEachTime(WrongPack, promise="hooks_return_the_same_ids_each_time"):
    @staticmethod
    def metrics():
        numbers = count()
        return hook(
            lambda: [replace(PACK.SEARCHES_PER_VISITOR, id=f"searches_{next(numbers)}", dimensions=())]
        )


class TestPluginHasNoLabel(WrongPack, promise="plugin_declares_its_label", raises=Exception):
    @staticmethod
    def info():
        return hook(lambda: PluginInfo(label="", api_version="1.0"))
