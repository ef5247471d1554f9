"""Questions of a shop owner, through the compact tools and by HTTP: what the raw rows say, or a word that it is unknown."""

import pytest
import pytest_asyncio

from hosts.mcp.compact_tool_list import MAX_LIST_TOKENS
from hosts.mcp.tool_pages import MAX_PAGE_BYTES
from tests.assistant.__main__ import list_tokens
from tests.assistant.question import Unknown
from tests.assistant.questions import AREAS, QUESTIONS
from tests.assistant.score import CHARACTERS_PER_TOKEN, Outcome, ask_by_http, ask_by_tool

LEAST_QUESTIONS, MOST_NOT_RIGHT = 220, 5
EVERY_HTTP = 6
"""One question of so many is asked by HTTP, too; `python -m tests.assistant table` asks all of them."""


@pytest_asyncio.fixture(scope="package", loop_scope="package")
async def scores(shop):
    service, truth = shop
    asked = [(area, question) for area, questions in AREAS.items() for question in questions]
    return [await ask_by_tool(service, area, question, truth) for area, question in asked]


def test_more_than_two_hundred_questions_differ():
    assert len(QUESTIONS) >= LEAST_QUESTIONS
    assert len({question.text for question in QUESTIONS}) == len(QUESTIONS)


@pytest.mark.asyncio(loop_scope="package")
async def test_questions_by_tools_are_right_and_none_silently_wrong(shop, scores):
    assert [score for score in scores if score.outcome is Outcome.WRONG] == []
    assert len([score for score in scores if score.outcome is not Outcome.RIGHT]) <= MOST_NOT_RIGHT


@pytest.mark.asyncio(loop_scope="package")
async def test_questions_by_http_have_the_outcome_of_the_tools(shop, scores):
    service, truth = shop
    for score in scores[::EVERY_HTTP]:
        by_http = await ask_by_http(service, score.area, score.question, truth)
        assert by_http.outcome is score.outcome, score.question.text
        if not isinstance(score.expected, Unknown):  # whose hints name tools, not routes
            assert by_http.answer == score.answer, score.question.text


@pytest.mark.asyncio(loop_scope="package")
async def test_lists_of_tools_have_few_tokens(shop):
    counted = await list_tokens(shop[0])
    assert counted["compact"] <= MAX_LIST_TOKENS
    assert counted["compact"] < counted["read"] < counted["all"]
    assert counted["all"] > MAX_PAGE_BYTES / CHARACTERS_PER_TOKEN, (
        "the list has several pages, and all of them are counted"
    )
