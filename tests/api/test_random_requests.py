"""Whatever is sent to whichever route gets an answer of the contract: never a fault of ours."""

import json
from collections.abc import Mapping, Sequence
from enum import Enum
from random import Random
from types import UnionType
from typing import Annotated, Literal, Union, get_args, get_origin
from urllib.parse import quote, urlencode
from uuid import UUID, uuid4

import pytest
from pydantic import BaseModel

from service_core.api.http_messages import ApiRequest
from service_core.kernel.operations import RoutePrefix
from tests.workspace.conftest import WorkspaceApi

REQUESTS = 8
"""Of each operation."""

TEXTS = (
    "", "a", "ü", "\u202e", "\0", "null", "-1", "1e400", "NaN", "true", "%", "' OR 1=1 --", "x" * 5000, "9" * 400,
    "[" * 5000, '{"a": 1}', '["a", "b"]', '[{"key": "a", "op": "gt", "value": "1e999"}]', "2026-07-01", "2026-13-45",
    "0001-01-01", "9999-12-31", "2026-07-01T00:00:00+25:00", "visitors", "revenue", "country", "page_view,purchase",
    "last_30_days", "day", "markov", "linear", "contains", "in", "U1", "https://example.com/a", "a@example.com",
)  # fmt: skip
NUMBERS = (0, -1, 1, 50, 10**18, 2**63, 10**40, 1.5, 1e308)
PLAUSIBLE_VALUES = {
    "start_date": ("2026-07-01", "2025-08-01"), "end_date": ("2026-07-07", "2026-07-08"),
    "metrics": ("visitors", ["visitors"], ["stickiness"]), "dimensions": (["country"], []),
    "dimension": ("country", "product"), "steps": ("page_view,purchase", ["page_view", "signup"]),
    "preset": ("last_7_days", "all_time"), "cursor": (None,),
}  # fmt: skip


class RequestGenerator:
    """Makes values for declared types, mostly of the right shape."""

    def __init__(self, random):
        self.random = random

    def anything(self, depth=0):
        kind = self.random.random()
        if kind < 0.5 or depth > 3:
            return self.random.choice(TEXTS)
        if kind < 0.7:
            return self.random.choice((*NUMBERS, None, True, str(uuid4())))
        if kind < 0.85:
            return [self.anything(depth + 1) for _ in range(self.random.choice((0, 1, 3, 30)))]
        return {
            self.random.choice(TEXTS): self.anything(depth + 1) for _ in range(self.random.choice((0, 1, 3)))
        }

    def fields(self, model, share, depth=0):
        wanted = {
            field.alias or name: self.named(name, field.annotation, depth)
            for name, field in model.model_fields.items()
            if field.is_required() or name in PLAUSIBLE_VALUES or self.random.random() < share
        }
        return {name: value for name, value in wanted.items() if value is not None or depth}

    def named(self, name, declared, depth=0):
        if name in PLAUSIBLE_VALUES and self.random.random() < 0.8:
            return self.random.choice(PLAUSIBLE_VALUES[name])
        return self.value(declared, depth)

    def value(self, declared, depth=0):
        origin, parts = get_origin(declared), get_args(declared)
        if self.random.random() < 0.05 or depth > 6:
            return self.anything(depth)
        if origin in (Annotated, Union, UnionType):
            return self.value(parts[0] if origin is Annotated else self.random.choice(parts), depth)
        if origin is Literal:
            return self.random.choice(parts)
        if isinstance(origin, type) and issubclass(origin, Mapping):
            return {self.random.choice(TEXTS): self.anything(depth)}
        if isinstance(origin, type) and issubclass(origin, Sequence | frozenset):
            return [self.value(parts[0], depth + 1) for _ in range(self.random.choice((0, 1, 2, 6)))]
        return self.plain(declared, depth)

    def plain(self, declared, depth):
        if not isinstance(declared, type):
            return self.anything(depth)
        if issubclass(declared, BaseModel):
            return self.fields(declared, 0.5, depth + 1)
        if issubclass(declared, Enum):
            return self.random.choice(list(declared)).value
        known = {
            bool: (True, False),
            int: NUMBERS,
            float: NUMBERS,
            UUID: (str(uuid4()),),
            str: TEXTS,
            type(None): (None,),
        }
        return self.random.choice(known[declared]) if declared in known else self.anything(depth)

    def written(self, value):
        """A value as a parameter of a query: mostly as it is."""
        if self.random.random() < 0.2:
            return self.random.choice(TEXTS)
        return value if isinstance(value, str) else json.dumps(value)

    def request(self, operation, headers):
        path = operation.path
        for name, field in operation.path_model.model_fields.items() if operation.path_model else ():
            path = path.replace(f"{{{name}}}", quote(str(self.value(field.annotation)), safe="") or "x")
        query = self.fields(operation.query, 0.35) if operation.query else {}
        values = {name: self.written(value) for name, value in query.items()}
        body = json.dumps(self.value(operation.body)).encode() if operation.body else b""
        return ApiRequest(operation.method, f"/v1{path}", urlencode(values), headers, body)


@pytest.fixture
async def workspace_api(tmp_path):
    made = WorkspaceApi(tmp_path)
    async with made.service:
        yield await made.open()


async def test_random_requests_never_return_500(workspace_api):
    headers = {"authorization": f"Bearer {workspace_api.keys['shop']}"}
    statuses = set()
    for operation in workspace_api.service.registry.operations:
        if operation.prefix is not RoutePrefix.V1 or operation.raw:
            continue
        sender = RequestGenerator(Random(operation.id))
        for _ in range(REQUESTS):
            workspace_api.later(minutes=1)
            request = sender.request(operation, headers)
            answered = await workspace_api.service.dispatch(request)
            assert answered.status < 500, (request.method, request.path, request.query, request.body[:2000])
            json.loads(answered.body or b"{}")
            statuses.add(answered.status)
    assert {200, 400, 404} <= statuses
