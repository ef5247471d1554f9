"""Crawlers and assistants that fetch pages of the example shop, as its server reports them."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from random import Random
from typing import Final

from hosts.demo.shop.catalog import PRODUCTS, SITE
from service_core.ingestion.import_sources.models import ImportEntry

SEED: Final = 23
_DAYS: Final = 14
_REQUESTS_PER_DAY: Final = {
    "GPTBot/1.3; +https://openai.com/gptbot": 5,
    "ClaudeBot/1.0; +claudebot@anthropic.com": 4,
    "OAI-SearchBot/1.0; +https://openai.com/searchbot": 2,
    "PerplexityBot/1.0; +https://perplexity.ai/perplexitybot": 2,
    "ChatGPT-User/1.0; +https://openai.com/bot": 3,
    "Perplexity-User/1.0; +https://perplexity.ai/perplexity-user": 1,
    "Googlebot/2.1; +http://www.google.com/bot.html": 4,
    "bingbot/2.0; +http://www.bing.com/bingbot.htm": 2,
    "AhrefsBot/7.0; +http://ahrefs.com/robot/": 1,
}
"""What a crawler calls itself -> at most so many requests a day."""

_PATHS: Final = ("/", "/guides/pour-over", "/club", *(product.path for product in PRODUCTS))


def generate_crawler_requests(now: datetime) -> Iterator[ImportEntry]:
    """Yields page views of crawlers in the last days, none later than now; the same time gives the same ones."""
    random = Random(SEED)  # noqa: S311 - invented requests, no secret
    for day in range(_DAYS):
        for crawler, most in _REQUESTS_PER_DAY.items():
            for number in range(random.randint(0, most)):
                ago = timedelta(days=day, seconds=random.randrange(60, 86_400))
                yield _page_view(crawler, f"{day}-{number}", now - ago, random.choice(_PATHS))


def _page_view(crawler: str, number: str, at: datetime, path: str) -> ImportEntry:
    name = crawler.partition("/")[0]
    body = {
        "event": "page_view",
        "event_id": f"{name}-{number}",
        "timestamp": at.isoformat(),
        "anonymous_id": name,
        "properties": {"url": f"{SITE}{path}"},
        "context": {"userAgent": f"Mozilla/5.0 (compatible; {crawler})"},
    }
    return ImportEntry(body)
