"""Servers and databases that any test may ask for; each is started only when one does."""

pytest_plugins = [
    "service_core.testing.redis_server",
    "service_core.testing.postgres_server",
    "tests.databases",
    "tests.bucket",
]
