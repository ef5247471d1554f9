"""The deployment the tests of pages walk through."""

from tests.fixtures.composed_deployment import deployment as deployment
from tests.fixtures.served_deployment import house as house
from tests.fixtures.shop_site import shop as shop
from tests.fixtures.shop_site import shop_server as shop_server
