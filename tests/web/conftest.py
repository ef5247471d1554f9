"""The deployment the tests of pages walk through."""

from tests.fixtures.browser_deployment import browser_deployment as browser_deployment
from tests.fixtures.composed_deployment import deployment as deployment
from tests.fixtures.shop_deployment import shop_deployment as shop_deployment
from tests.fixtures.standard_shop import shop as shop
from tests.fixtures.tracked_site import site_server as site_server
from tests.fixtures.tracked_site import tracked_site as tracked_site
