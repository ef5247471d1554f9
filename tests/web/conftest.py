"""The deployment the tests of pages walk through."""

from tests.web.house import house as house
from tests.web.stage import deployment as deployment
