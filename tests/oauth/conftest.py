"""The deployment the tests of OAuth ask through."""

from tests.web.stage import deployment as deployment
