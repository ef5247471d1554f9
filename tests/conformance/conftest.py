"""Assertions of the kits explain themselves like those of any test."""

import pytest

pytest.register_assert_rewrite(
    "service_core.testing.edge",
    "service_core.testing.event_store",
    "service_core.testing.limiter",
    "service_core.testing.queue",
)
