"""Combines browser, operating system, device type and bot signs of a user agent."""

from plugins.devices_useragent.client_name import ClientDetector
from plugins.devices_useragent.crawlers import CrawlerDetector
from plugins.devices_useragent.device_type import DeviceTypeDetector
from plugins.devices_useragent.operating_system import OperatingSystemDetector
from plugins.devices_useragent.pattern_list import normalize_user_agent
from plugins.devices_useragent.product_names import normalize_browser_name, normalize_os_name
from service_core.plugin import Device


class DeviceDetector:
    """Describes user agents; compiles the patterns of all detectors when it is made, which takes a second."""

    def __init__(self) -> None:
        self._clients = ClientDetector()
        self._systems = OperatingSystemDetector()
        self._device_types = DeviceTypeDetector()
        self._crawlers = CrawlerDetector()

    def detect(self, user_agent: str) -> Device:
        """Returns device and bot signs of a user agent."""
        normalized = normalize_user_agent(user_agent)
        client = self._clients.detect(user_agent, normalized)
        system = self._systems.detect(normalized)
        device_type = self._device_types.detect(normalized, system, client)
        crawler = self._crawlers.detect(user_agent, client, os_known=system is not None)
        recognized = client is not None or system is not None or crawler is not None
        return Device(
            device_type=device_type or ("other" if recognized else None),
            browser=normalize_browser_name(client.name) if client else None,
            browser_version=_major_and_minor(client.version) if client else None,
            os=normalize_os_name(system.name, system.family) if system else None,
            os_version=_major_and_minor(system.version) if system else None,
            crawler=crawler is not None,
            headless=self._crawlers.is_headless(user_agent),
            crawler_name=crawler.name if crawler else None,
            crawler_class=crawler.kind if crawler else None,
        )


def _major_and_minor(version: str) -> str | None:
    """``126.0.6478.50`` -> ``126.0``."""
    return ".".join([part for part in version.replace("_", ".").split(".") if part][:2]) or None
