"""Servers and databases that any test may ask for, each started only when one does; and how examples are generated."""

from hypothesis import HealthCheck, settings

pytest_plugins = [
    "service_core.testing.redis_server",
    "service_core.testing.postgres_server",
    "tests.databases",
    "tests.bucket",
]

settings.register_profile(
    "house",
    # The same examples each time, however busy the machine: a change passes or it does not.
    derandomize=True,
    deadline=None,
    # An example that writes keeps to records of its own.
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
settings.load_profile("house")
