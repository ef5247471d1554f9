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

    def __init__(self, book: ZoneRecords | None = None, *, down: bool = False) -> None:
        self.book: ZoneRecords = {} if book is None else book
        self.down = down

    async def query_txt(self, name: str) -> Collection[str]:
        """The texts of a name."""
        if self.down:
            raise DnsUnavailable
        return self.book.get(name, ())


class TextRecordsConformance:
    """Every rule of the port; override the fixtures ``book``, ``records`` and ``unanswered``."""

    @pytest.fixture
    def book(self) -> ZoneRecords:
        """What the name server tells."""
        raise pytest.UsageError("override the fixture `book` with what the server tells")

    @pytest.fixture
    def records(self) -> TxtRecords:
        """The adapter under test."""
        raise pytest.UsageError("override the fixture `records` with the adapter under test")

    @pytest.fixture
    def unanswered(self) -> TxtRecords:
        """The adapter when no server answers."""
        raise pytest.UsageError("override the fixture `unanswered` with an adapter that reaches nobody")

    async def test_a_name_without_records_says_nothing(self, records: TxtRecords) -> None:
        assert list(await records.query_txt(NAME)) == []

    async def test_every_record_of_a_name_is_told(self, records: TxtRecords, book: ZoneRecords) -> None:
        book[NAME] = ["v=spf1 -all", "touchpoint-verification=a"]
        book[f"x.{NAME}"] = ["touchpoint-verification=b"]
        assert sorted(await records.query_txt(NAME)) == sorted(book[NAME])

    async def test_a_long_text_is_one(self, records: TxtRecords, book: ZoneRecords) -> None:
        book[NAME] = ["x" * 300]
        assert list(await records.query_txt(NAME)) == ["x" * 300]

    async def test_a_record_is_seen_as_soon_as_it_is_written(
        self, records: TxtRecords, book: ZoneRecords
    ) -> None:
        assert list(await records.query_txt(NAME)) == []
        book[NAME] = ["a"]
        assert list(await records.query_txt(NAME)) == ["a"]
        del book[NAME]
        assert list(await records.query_txt(NAME)) == []

    async def test_no_answer_is_told_from_no_record(self, unanswered: TxtRecords) -> None:
        with pytest.raises(DnsUnavailable):
            await unanswered.query_txt(NAME)
