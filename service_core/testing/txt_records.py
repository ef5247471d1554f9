"""Text records for tests: a book to write them into, and the conformance kit of the port ``dns``.

Name the adapter and what its name server says in fixtures, and inherit the rest; pytest needs
``asyncio_mode = "auto"``::

    class TestMyRecords(TextRecordsConformance):
        @pytest.fixture
        def book(self):
            return {}  # name -> texts, as the server that the adapter asks tells them

        @pytest.fixture
        def records(self, book):
            return open_my_records(server_with(book))

        @pytest.fixture
        def unanswered(self):
            return open_my_records(server_that_is_away())
"""

from collections.abc import Collection, Sequence

import pytest

from service_core.workspace.links.domains.ports import DnsUnavailable, TxtRecords

ZoneRecords = dict[str, Sequence[str]]
"""Name -> the texts of its records."""

NAME = "_touchpoint.go.example.com"


class FakeTxtRecords:
    """A `TxtRecords` that knows what is written into it, and nothing else.

    Attributes:
        book: the records.
        down: whether nobody answers.
    """

    def __init__(self, zone_records: ZoneRecords | None = None, *, down: bool = False) -> None:
        self.book: ZoneRecords = {} if zone_records is None else zone_records
        self.down = down

    async def query_txt(self, name: str) -> Collection[str]:
        """The texts of a name."""
        if self.down:
            raise DnsUnavailable
        return self.book.get(name, ())


class TextRecordsConformance:
    """Every rule of the port; override the fixtures ``zone_records``, ``resolver`` and ``unreachable_resolver``."""

    @pytest.fixture
    def zone_records(self) -> ZoneRecords:
        """What the name server tells."""
        raise pytest.UsageError("override the fixture `zone_records` with what the server tells")

    @pytest.fixture
    def resolver(self) -> TxtRecords:
        """The adapter under test."""
        raise pytest.UsageError("override the fixture `resolver` with the adapter under test")

    @pytest.fixture
    def unreachable_resolver(self) -> TxtRecords:
        """The adapter when no server answers."""
        raise pytest.UsageError(
            "override the fixture `unreachable_resolver` with an adapter that reaches nobody"
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
