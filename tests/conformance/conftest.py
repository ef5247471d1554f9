"""Assertions of the kits explain themselves like those of any test."""

import pytest

pytest.register_assert_rewrite(
    "service_core.testing.redirects",
    "service_core.testing.event_store",
    "service_core.testing.rate_limiter",
    "service_core.testing.queue",
)
