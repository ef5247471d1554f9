"""A dispatcher over a few sample operations."""

import pytest

from tests.fixtures.sample_api import OPERATIONS, SampleApi


@pytest.fixture
async def api_client():
    return await SampleApi().open()


@pytest.fixture
def operations():
    return OPERATIONS
