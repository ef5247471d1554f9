"""A client of a workspace that holds a random dataset."""

import os
from functools import partial
from urllib.parse import urlencode

from hypothesis import settings

from service_core.kernel.timestamps import format_timestamp
from tests.mcp.mcp_client import connect_client

generated_examples = settings(max_examples=int(os.environ.get("TOUCHPOINT_EXAMPLES", "4")))


class DatasetClient:
    """Requests of a workspace over the whole range of its dataset."""

    def __init__(self, client, world, program):
        self.client = client
        self.tool = program.call
        self.range = {"from": format_timestamp(world.span.start), "to": format_timestamp(world.span.end)}
        self.dates = {"start_date": self.range["from"], "end_date": self.range["to"]}
        self.get, self.post = client.get, client.post
        self.over = partial(client.get, **self.dates)

    async def query(self, **plan):
        return await self.post("/query", {"date_range": self.range, **plan})

    async def values(self, *metrics, **fields):
        answer = await self.post("/metrics", {"metrics": list(metrics), "date_range": self.range, **fields})
        return {value["id"]: value["value"] for value in answer["metrics"]}

    async def attribution(self, **parameters):
        """Returns status and body, as there may be too little data for a model."""
        return await self.client.ask("GET", "/attribution", urlencode(self.dates | parameters))

    async def walk(self, path, rows, size, **parameters):
        """Returns the rows of all pages of an endpoint with an offset."""
        walked = []
        while True:
            page = await self.over(path, limit=size, offset=len(walked), **parameters)
            walked += page[rows]
            if not page["has_more"]:
                return walked


async def load_dataset_client(served, dataset):
    """Appends a dataset to the store and sets the present to its end."""
    served.now = dataset.span.end
    client = await served.workspace(dataset.builder.workspace_id, timezone=dataset.timezone)
    await client.knows(*dataset.builder.events)
    program = await connect_client(served.service, client.workspace, served.now)
    return DatasetClient(client, dataset, program)
