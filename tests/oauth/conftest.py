"""The deployment the tests of OAuth ask through."""

from tests.fixtures.composed_deployment import deployment as deployment
