"""The deployment the tests of pages walk through."""

from tests.web.stage import deployment as deployment
