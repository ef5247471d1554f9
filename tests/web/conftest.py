"""The deployment the tests of pages walk through."""

from tests.web.house import house as house
from tests.web.shop import grounds as grounds
from tests.web.shop import shop as shop
from tests.web.stage import deployment as deployment
