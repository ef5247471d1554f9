"""TXT records for tests: a resolver in memory, and the conformance kit of the port ``dns``.

Override three fixtures with the adapter and the records of its name server, and inherit the tests; pytest needs
``asyncio_mode = "auto"``::

    class TestMyRecords(TxtRecordsConformance):
        @pytest.fixture
        def zone_records(self):
            return {}  # name -> texts of the name server; the tests change it

        @pytest.fixture
        def resolver(self, zone_records):
            return open_my_resolver(server_with(zone_records))

        @pytest.fixture
        def unreachable_resolver(self):
            return open_my_resolver(server_that_does_not_answer())
"""

from collections.abc import Collection, Sequence

import pytest

from service_core.workspace.links.domains.ports import DnsUnavailable, TxtRecords

ZoneRecords = dict[str, Sequence[str]]
"""Name -> the texts of its records."""

NAME = "_touchpoint.go.example.com"


class FakeTxtRecords:
    """Implements the port `TxtRecords` with records in memory.

    Attributes:
        zone_records: texts by name.
        down: whether queries raise `DnsUnavailable`.
    """

    def __init__(self, zone_records: ZoneRecords | None = None, *, down: bool = False) -> None:
        self.zone_records: ZoneRecords = {} if zone_records is None else zone_records
        self.down = down

    async def query_txt(self, name: str) -> Collection[str]:
        """Returns the texts of a name; none for an unknown name."""
        if self.down:
            raise DnsUnavailable
        return self.zone_records.get(name, ())


class TxtRecordsConformance:
    """All tests of the kit; override the fixtures ``zone_records``, ``resolver`` and ``unreachable_resolver``."""

    @pytest.fixture
    def zone_records(self) -> ZoneRecords:
        """Returns the records of the name server, which the tests change."""
        raise pytest.UsageError("override the fixture `zone_records` with the records of the server")

    @pytest.fixture
    def resolver(self) -> TxtRecords:
        """Returns the adapter under test."""
        raise pytest.UsageError("override the fixture `resolver` with the adapter under test")

    @pytest.fixture
    def unreachable_resolver(self) -> TxtRecords:
        """Returns the adapter under test, whose name server does not answer."""
        raise pytest.UsageError(
            "override the fixture `unreachable_resolver` with an adapter whose server does not answer"
        )

    async def test_query_txt_returns_nothing_for_a_name_without_records(self, resolver: TxtRecords) -> None:
        """A name without records has no texts."""
        assert list(await resolver.query_txt(NAME)) == []

    async def test_query_txt_returns_every_record_of_the_exact_name(
        self, resolver: TxtRecords, zone_records: ZoneRecords
    ) -> None:
        """All texts of a name are returned, and none of names below it."""
        zone_records[NAME] = ["v=spf1 -all", "touchpoint-verification=a"]
        zone_records[f"x.{NAME}"] = ["touchpoint-verification=b"]
        assert sorted(await resolver.query_txt(NAME)) == sorted(zone_records[NAME])

    async def test_query_txt_joins_the_parts_of_a_long_record(
        self, resolver: TxtRecords, zone_records: ZoneRecords
    ) -> None:
        """A record of 300 characters is one text."""
        zone_records[NAME] = ["x" * 300]
        assert list(await resolver.query_txt(NAME)) == ["x" * 300]

    async def test_query_txt_sees_added_and_removed_records_at_once(
        self, resolver: TxtRecords, zone_records: ZoneRecords
    ) -> None:
        """Added and removed records show in the next query."""
        assert list(await resolver.query_txt(NAME)) == []
        zone_records[NAME] = ["a"]
        assert list(await resolver.query_txt(NAME)) == ["a"]
        del zone_records[NAME]
        assert list(await resolver.query_txt(NAME)) == []

    async def test_query_txt_raises_dns_unavailable_when_no_server_answers(
        self, unreachable_resolver: TxtRecords
    ) -> None:
        """`DnsUnavailable` is raised when no server answers."""
        with pytest.raises(DnsUnavailable):
            await unreachable_resolver.query_txt(NAME)
