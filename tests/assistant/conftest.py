"""The service that holds the generated shop, for all tests of the folder."""

import pytest_asyncio

from tests.assistant.oracle import Truth
from tests.assistant.shop import generate_shop
from tests.assistant.store import serve_shop


@pytest_asyncio.fixture(scope="package", loop_scope="package")
async def shop(tmp_path_factory):
    generated = generate_shop()
    async with serve_shop(tmp_path_factory.mktemp("shop"), generated) as service:
        yield service, Truth(generated)
