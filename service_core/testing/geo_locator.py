"""The conformance kit of the port ``geo``: the tests that every source of locations passes.

Override the fixture ``locator`` and ``known_ip``, and inherit the tests::

    class TestMyLocations(GeoLocatorConformance):
        known_ip = "203.0.113.7"

        @pytest.fixture
        def locator(self):
            return open_my_locations()
"""

from typing import ClassVar, Final

import pytest

from service_core.ingestion.ports import GeoLocation, GeoLocator

_INVALID_ADDRESSES: Final = ("", "x", "1.2.3", "999.1.1.1", "::::", "203.0.113.7/24", "203.0.113.7 ")


class GeoLocatorConformance:
    """All tests of the kit; override the fixture ``locator`` and ``known_ip``."""

    known_ip: ClassVar[str]
    """An address whose location the adapter under test knows."""

    @pytest.fixture
    def locator(self) -> GeoLocator:
        """Returns the adapter under test."""
        raise pytest.UsageError("override the fixture `locator` with the adapter under test")

    def test_known_address_has_a_country_of_two_capital_letters(self, locator: GeoLocator) -> None:
        """A location has an ISO 3166 country, and every other field is a text or None."""
        location = locator.locate(self.known_ip)
        assert isinstance(location, GeoLocation)
        assert location.country is not None
        assert location.country.isascii()
        assert location.country.isupper()
        assert len(location.country) == 2

    def test_same_address_has_the_same_location(self, locator: GeoLocator) -> None:
        """Two calls give equal locations."""
        assert locator.locate(self.known_ip) == locator.locate(self.known_ip)

    @pytest.mark.parametrize("address", ["127.0.0.1", "::1", "0.0.0.0", "10.0.0.1"])  # noqa: S104 - an address to look up
    def test_private_address_has_no_location(self, locator: GeoLocator, address: str) -> None:
        """Addresses of private networks are unknown."""
        assert locator.locate(address) is None

    @pytest.mark.parametrize("text", _INVALID_ADDRESSES)
    def test_text_that_is_no_address_has_no_location(self, locator: GeoLocator, text: str) -> None:
        """Text of a client that is no address raises no error."""
        assert locator.locate(text) is None
