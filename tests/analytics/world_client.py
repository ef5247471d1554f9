"""Somebody who lives in a generated world and asks about it through the door."""

import os
from functools import partial
from urllib.parse import urlencode

from hypothesis import settings

from service_core.kernel.timestamps import format_timestamp
from tests.mcp.mcp_client import connect_client

generated_examples = settings(max_examples=int(os.environ.get("TOUCHPOINT_EXAMPLES", "4")))


class WorldClient:
    """The questions of whoever lives in a world; ``now`` is its end."""

    def __init__(self, client, world, program):
        self.client = client
        self.tool = program.call
        self.range = {"from": format_timestamp(world.span.start), "to": format_timestamp(world.span.end)}
        self.dates = {"start_date": self.range["from"], "end_date": self.range["to"]}
        self.get, self.post = client.get, client.post
        self.over = partial(client.get, **self.dates)

    async def query(self, **plan):
        return await self.post("/query", {"date_range": self.range, **plan})

    async def values(self, *metrics, **asked):
        answer = await self.post("/metrics", {"metrics": list(metrics), "date_range": self.range, **asked})
        return {value["id"]: value["value"] for value in answer["metrics"]}

    async def attribution(self, **parameters):
        """Status and body: there may be too little to learn from."""
        return await self.client.ask("GET", "/attribution", urlencode(self.dates | parameters))

    async def walk(self, path, rows, size, **parameters):
        """The pages of an endpoint with an offset, laid end to end."""
        walked = []
        while True:
            page = await self.over(path, limit=size, offset=len(walked), **parameters)
            walked += page[rows]
            if not page["has_more"]:
                return walked


async def load_world(served, world):
    """The world is told to the store, and its last day is over."""
    served.now = world.span.end
    client = await served.workspace(world.story.workspace_id, timezone=world.timezone)
    await client.knows(*world.story.events)
    program = await connect_client(served.service, client.workspace, served.now)
    return WorldClient(client, world, program)
