"""Crawlers in the web application: kinds, names, requests over time and pages, beside people."""

import pytest

from service_core.analytics.ports import StoreUnavailable
from tests.fixtures.standard_shop import visible_words

TRAINING = {"is_bot": True, "bot_reason": "known_agent", "crawler": "GPTBot", "crawler_class": "ai_training"}
ASSISTANT = TRAINING | {"crawler": "ChatGPT-User", "crawler_class": "ai_assistant"}


@pytest.fixture
async def crawled_shop(shop):
    def build(story):
        for minute, path in enumerate(("/a", "/a", "/b")):
            at = f"2026-03-04T10:0{minute}"
            story.add_event("page_view", at=at, visitor="G1", page_path=path, **TRAINING)
        story.add_event("page_view", at="2026-03-05T10:00", visitor="C1", page_path="/c", **ASSISTANT)
        story.add_event("page_view", at="2026-03-05T10:00", visitor="H1", is_bot=True, bot_reason="headless")

    await shop.append_events(build)
    return shop


async def test_kinds_of_crawlers_stand_beside_people(crawled_shop):
    person = await crawled_shop.sign_in()
    words = visible_words(await person.get(f"{crawled_shop.pages}/crawlers?{crawled_shop.dates}"))
    assert (
        "AI assistants acting for people Fetch a page when someone asks an assistant about it. 1 1 1" in words
    )
    assert "AI training crawlers Collect pages to train AI models. 3 3 1" in words
    assert "AI search engines Collect pages for AI search and answer engines. 0 0 0" in words
    people = {
        "metrics": ["events", "pageviews", "visitors"],
        "date_range": {"from": "2026-03-02", "to": "2026-03-12"},
    }
    _, answer = await crawled_shop.deployment.api(
        "POST", "/v1/query", await crawled_shop.gallery.key(), people
    )
    assert f"People {' '.join(str(answer['totals'][id_]) for id_ in people['metrics'])} Crawlers" in words
    assert "GPTBot AI training crawlers 3 3 1" in words
    assert "ChatGPT-User AI assistants acting for people 1 1 1" in words


async def test_one_kind_shows_its_own_crawlers_and_pages(crawled_shop):
    person = await crawled_shop.sign_in()
    page = await person.get(f"{crawled_shop.pages}/crawlers?{crawled_shop.dates}&class=ai_training")
    words = visible_words(page)
    assert "Showing AI training crawlers ." in words
    assert "ChatGPT-User" not in words.partition("Crawlers")[2]
    assert "/a 2 66.7 % /b 1 33.3 %" in words
    one = await person.get(
        f"{crawled_shop.pages}/crawlers?{crawled_shop.dates}&class=ai_assistant&crawler=ChatGPT-User"
    )
    assert "/c 1 100.0 %" in visible_words(one)


async def test_workspace_without_crawlers_is_told_where_they_show(shop):
    person, own = await shop.open_empty_workspace()
    assert "No crawlers in this range" in visible_words(await person.get(f"{own}/crawlers"))


async def test_unreadable_store_is_said_and_no_zeros_are_shown(shop, monkeypatch):
    person = await shop.sign_in()

    async def fail(*_, **__):
        raise StoreUnavailable

    monkeypatch.setattr(shop.deployment.service.ports.events, "aggregate", fail)
    page = await person.get(f"{shop.pages}/crawlers?{shop.dates}")
    assert page.status == 200
    assert "AI training crawlers" not in page.text
    assert 'role="alert"' in page.body
