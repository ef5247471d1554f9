"""A workspace whose answers of an earlier instant are read."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import orjson

from service_core.api.http_messages import ApiRequest

HOUR = timedelta(hours=1)
READS = ("/overview", "/traffic", "/users", "/ltv", "/retention", "/attribution", "/events", "/tags")


def next_afternoon():
    """Tomorrow at 15:00 UTC: after the start of every event store, and the same day in New York, whatever the time is."""
    return (datetime.now(UTC) + timedelta(days=1)).replace(hour=15, minute=0, second=0, microsecond=0)


class Shop:
    """A workspace with a visit and an order, and an instant after them."""

    def __init__(self, served, owner):
        self.served, self.owner, self.story = served, owner, owner.story
        days = [served.now - timedelta(days=count) for count in range(4)]
        self.noons = [f"{day:%Y-%m-%dT12:00}" for day in days]
        self.span = {"start_date": self.noons[3][:10], "end_date": self.noons[0][:10]}

    @classmethod
    async def open(cls, served):
        shop = cls(served, await served.workspace())
        served.now += timedelta(minutes=1)
        shop.story.add_event("page_view", at=shop.noons[3], visitor="A1", strong_id="U1")
        shop.story.add_event(
            "purchase", at=shop.noons[2], visitor="A1", strong_id="U1", revenue=5000, order_id="o1"
        )
        await shop.receive(shop.story.events)
        served.now += HOUR
        shop.moment = served.now.isoformat()
        served.now += HOUR
        return shop

    async def receive(self, events):
        """Stores events at the moment they are received."""
        await self.owner.knows(*(replace(event, received_at=self.served.now) for event in events))

    async def receive_more(self):
        """Receives a late visit that merges two visitors, and a refund."""
        self.story.add_event("page_view", at=self.noons[3], visitor="B1", strong_id="U1")
        self.story.add_event(
            "refund", at=self.noons[1], visitor="A1", strong_id="U1", revenue=-5000, order_id="o1"
        )
        await self.receive(self.story.events[2:])

    async def query(self, *metrics, **fields):
        dates = {"from": self.span["start_date"], "to": self.span["end_date"]}
        answer = await self.owner.post("/query", {"metrics": metrics, "date_range": dates, **fields})
        answer["meta"].pop("query_ms")
        return answer

    async def query_file(self, accept, *metrics, **fields):
        """The answer of a query as a file."""
        dates = {"from": self.span["start_date"], "to": self.span["end_date"]}
        body = orjson.dumps({"metrics": metrics, "date_range": dates, **fields})
        headers = {"authorization": f"Bearer {self.owner.key}", "accept": accept}
        return await self.owner.service.dispatch(ApiRequest("POST", "/v1/query", headers=headers, body=body))

    async def visitors(self, **fields):
        return (await self.query("visitors", **fields))["totals"]["visitors"]

    async def answers(self, **as_of):
        """The answers of many reads."""
        query = await self.query("visitors", "revenue", "orders", interval="day", **as_of)
        dates = {**self.span, **as_of}
        funnel = await self.owner.get("/funnel", steps="page_view,purchase", **dates)
        return [query, funnel, *[await self.owner.get(path, **dates) for path in READS]]

    async def refused(self, as_of, path="/overview"):
        status, answer = await self.owner.ask("GET", path, query_text({**self.span, "as_of": as_of}))
        return status, answer.get("code"), answer.get("earliest")


def query_text(parameters):
    return "&".join(f"{name}={value.replace('+', '%2B')}" for name, value in parameters.items())
