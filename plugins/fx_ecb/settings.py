"""The URL: ``ecb:///`` or ``ecb:///?since=2015-01-01``."""

from datetime import date
from typing import Final

from pydantic import Field

from service_core.plugin import AdapterSettings

ECB_URL: Final = "https://www.ecb.europa.eu/stats/eurofxref"


class EcbSettings(AdapterSettings):
    """Settings of the reference rates."""

    since: date = Field(
        date(2020, 1, 1),
        ge=date(1999, 1, 1),
        description="The first day whose rates are kept; the bank has them from 1999 on.",
    )
    address: str = Field(
        ECB_URL, pattern=r"^https?://[^\s]+$", description="Where the files lie, such as at a mirror."
    )
