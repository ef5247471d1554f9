"""The fixtures of Matomo's device detector, from the installed ``device-detector`` package."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final

from plugins.devices_useragent.product_names import normalize_browser_name, normalize_os_name
from service_core.plugin import Device

BOTS_FILE: Final = "bots.yml"
DEVICE_TYPES: Final = MappingProxyType(
    dict.fromkeys(("smartphone", "phablet", "feature phone", "portable media player"), "mobile")
    | {name: name for name in ("desktop", "tablet", "tv")}
)
"""Device type of a fixture -> ours; every other one is ``other``."""


@dataclass(frozen=True, slots=True)
class DeviceFixture:
    """A user agent and what it is; None where the fixture says nothing.

    Attributes:
        browser: name of a client of the type browser, in our spelling.
    """

    user_agent: str
    browser: str | None
    os: str | None
    device_type: str | None


def load_device_fixtures() -> list[DeviceFixture]:
    """Returns the fixtures of people's devices that are told by the user agent alone, without client hints."""
    return [_device_fixture(value) for value in _read(exclude=BOTS_FILE) if "headers" not in value]


def load_bot_agents() -> list[str]:
    """Returns the user agents of the fixtures of bots."""
    return [_first(value["user_agent"]) for value in _read(only=BOTS_FILE)]


def matches_by_field(device: Device, fixture: DeviceFixture) -> Mapping[str, bool]:
    """Returns whether each field that the fixture names was detected."""
    return {
        field: getattr(device, field) == expected
        for field in ("browser", "os", "device_type")
        if (expected := getattr(fixture, field)) is not None
    }


def _read(*, only: str = "*.yml", exclude: str = "") -> Iterable[dict[str, Any]]:
    import yaml  # noqa: PLC0415 - collecting the tests takes no data package

    from plugins.devices_useragent.detector_data import find_package_folder  # noqa: PLC0415 - likewise

    folder = find_package_folder() / "tests" / "fixtures" / "upstream"
    for path in sorted(folder.glob(only)):
        if path.name != exclude:
            values: Any = yaml.load(path.read_bytes(), Loader=yaml.CSafeLoader)
            yield from values


def _device_fixture(value: Mapping[str, Any]) -> DeviceFixture:
    client, os = value.get("client") or {}, value.get("os") or {}
    device_type = value["device"].get("type")
    return DeviceFixture(
        _first(value["user_agent"]),
        normalize_browser_name(client["name"]) if client.get("type") == "browser" else None,
        normalize_os_name(os["name"], value.get("os_family") or "") if os.get("name") else None,
        DEVICE_TYPES.get(device_type, "other") if device_type else None,
    )


def _first(value: str | list[str]) -> str:
    return value if isinstance(value, str) else value[0]
