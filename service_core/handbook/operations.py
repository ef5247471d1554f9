"""`GET /docs/search` (contract 3.16)."""

from typing import Annotated, ClassVar

from pydantic import Field

from service_core.access.model import Caller
from service_core.handbook.book import Handbook
from service_core.kernel.errors import BadRequest
from service_core.kernel.operations import operation
from service_core.kernel.params import Answer, Clamp, QueryModel


class DocsQuery(QueryModel):
    """Parameters of `GET /docs/search`."""

    needed: ClassVar = ("q",)
    q: str = Field(default="", description="Words to look for.")
    limit: Annotated[int, Clamp(1, 20)] = 5


class DocsResult(Answer):
    """A section of the documentation."""

    title: str = Field(description="Of the page.")
    section: str
    url: str
    excerpt: str
    score: float = Field(description="Higher is better; it means nothing beside that of another search.")


class DocsResults(Answer):
    """Sections, the best first."""

    query: str
    results: list[DocsResult]
    count: int


@operation("GET /docs/search", tag="docs")
async def search_docs(query: DocsQuery, *, who: Caller, handbook: Handbook) -> DocsResults:  # noqa: ARG001 - everybody reads the same
    """Sections of the documentation that hold all words of a text, or some where none holds all."""
    if not query.q.strip():
        raise BadRequest("q is required", "missing_query", field="q")
    results = [
        DocsResult(
            title=found.page.title,
            section=found.section.title,
            url=handbook.address(found.page, found.section.anchor),
            excerpt=found.excerpt,
            score=found.score,
        )
        for found in handbook.finder.find(query.q, query.limit)
    ]
    return DocsResults(query=query.q, results=results, count=len(results))


OPERATIONS = (search_docs,)
