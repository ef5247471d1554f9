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

from service_core.workspace.links.domains.ports import RecordsDown, TextRecords

Book = dict[str, Sequence[str]]
"""Name -> the texts of its records."""

NAME = "_touchpoint.go.example.com"


class WrittenRecords:
    """A `TextRecords` that knows what is written into it, and nothing else.

    Attributes:
        book: the records.
        down: whether nobody answers.
    """

    def __init__(self, book: Book | None = None, *, down: bool = False) -> None:
        self.book: Book = {} if book is None else book
        self.down = down

    async def texts(self, name: str) -> Collection[str]:
        """The texts of a name."""
        if self.down:
            raise RecordsDown
        return self.book.get(name, ())


class TextRecordsConformance:
    """Every rule of the port; override the fixtures ``book``, ``records`` and ``unanswered``."""

    @pytest.fixture
    def book(self) -> Book:
        """What the name server tells."""
        raise pytest.UsageError("override the fixture `book` with what the server tells")

    @pytest.fixture
    def records(self) -> TextRecords:
        """The adapter under test."""
        raise pytest.UsageError("override the fixture `records` with the adapter under test")

    @pytest.fixture
    def unanswered(self) -> TextRecords:
        """The adapter when no server answers."""
        raise pytest.UsageError("override the fixture `unanswered` with an adapter that reaches nobody")

    async def test_a_name_without_records_says_nothing(self, records: TextRecords) -> None:
        assert list(await records.texts(NAME)) == []

    async def test_every_record_of_a_name_is_told(self, records: TextRecords, book: Book) -> None:
        book[NAME] = ["v=spf1 -all", "touchpoint-verification=a"]
        book[f"x.{NAME}"] = ["touchpoint-verification=b"]
        assert sorted(await records.texts(NAME)) == sorted(book[NAME])

    async def test_a_long_text_is_one(self, records: TextRecords, book: Book) -> None:
        book[NAME] = ["x" * 300]
        assert list(await records.texts(NAME)) == ["x" * 300]

    async def test_a_record_is_seen_as_soon_as_it_is_written(self, records: TextRecords, book: Book) -> None:
        assert list(await records.texts(NAME)) == []
        book[NAME] = ["a"]
        assert list(await records.texts(NAME)) == ["a"]
        del book[NAME]
        assert list(await records.texts(NAME)) == []

    async def test_no_answer_is_told_from_no_record(self, unanswered: TextRecords) -> None:
        with pytest.raises(RecordsDown):
            await unanswered.texts(NAME)
