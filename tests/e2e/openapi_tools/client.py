"""Stores an event and reads it back with the client that openapi-python-client generates."""

import json
import sys
from datetime import UTC, datetime

from generated_client import AuthenticatedClient
from generated_client.api.ingest import track_event
from generated_client.api.people import get_user
from generated_client.api.query import post_query
from generated_client.api.traffic import get_traffic
from generated_client.models import (
    CountBreakdown,
    GetTrafficType,
    NotFoundError,
    QueryRequest,
    QueryResponse,
    TrackedEvent,
    TrackedEventResult,
)

api, ingest, read_key, write_key = sys.argv[1:]
today = datetime.now(UTC).date().isoformat()

tracker = AuthenticatedClient(ingest, token=write_key)
stored = track_event.sync(client=tracker, body=TrackedEvent(event="python_client", user_id="python-1"))
assert isinstance(stored, TrackedEventResult)

client = AuthenticatedClient(api, token=read_key)
traffic = get_traffic.sync(client=client, start_date=today, end_date=today, type_=GetTrafficType.PAGE)
assert isinstance(traffic, CountBreakdown)
query = QueryRequest.from_dict(
    {"metrics": ["visitors"], "date_range": {"preset": "today"}, "dimensions": ["country"]}
)
answer = post_query.sync(client=client, body=query)
assert isinstance(answer, QueryResponse)
refused = get_user.sync(client=client, user_id="nobody")
assert isinstance(refused, NotFoundError)

sys.stdout.write(
    json.dumps(
        {
            "stored": stored.success,
            "type": traffic.type_,
            "rows": len([row.name for row in traffic.data]),
            "columns": [column.id for column in answer.columns],
            "error": refused.error,
        }
    )
)
