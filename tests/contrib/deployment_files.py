"""What the files of `contrib/deploy` run: command lines and settings, read as compose and systemd read them."""

import re
import shlex
from collections.abc import Iterator, Mapping
from configparser import ConfigParser
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import yaml

ROOT: Final = Path(__file__).parents[2]
DEPLOY: Final = ROOT / "contrib" / "deploy"
ENTRYPOINT: Final = "/opt/touchpoint/bin/touchpoint"
"""What the image and the units call; the Containerfile puts its folder on the search path."""

SECRETS: Final = {
    "POSTGRES_PASSWORD": "p", "REDIS_PASSWORD": "r", "CLICKHOUSE_PASSWORD": "c", "S3_URL": "s3://exports",
    "SEALING_KEY": "c2VhbHMgd2hhdCBpcyBrZXB0IGluIHRlc3RzIG9ubHk=",
}  # fmt: skip
"""What whoever deploys has to say in ``.env``."""

_VARIABLE: Final = re.compile(r"\$\{(\w+)(?::([-?])([^}]*))?\}")


@dataclass(frozen=True)
class DeploymentService:
    """One command of a deployment.

    Attributes:
        name: of the service, or of the unit.
        words: the command line.
        environment: what it is given, secrets and numbers of whoever deploys filled in.
    """

    name: str
    words: list[str]
    environment: Mapping[str, str]


def compose_services(file: Path, given: Mapping[str, str]) -> Iterator[DeploymentService]:
    """The services of a compose file that run the image of Touchpoint.

    Args:
        file: the compose file.
        given: what stands in ``.env`` beside it.
    """
    for name, described in _interpolate(yaml.safe_load(file.read_text()), given)["services"].items():
        if described["image"] == "touchpoint":
            yield DeploymentService(name, [ENTRYPOINT, *described["command"]], described["environment"])


def systemd_service(file: Path, given: Mapping[str, str], instance: str = "") -> DeploymentService:
    """The service of a systemd unit.

    Args:
        file: the unit.
        given: what stands in the files of the environment beside what the repository's says.
        instance: what stands after the ``@``.
    """
    section = unit_sections(file, instance)["Service"]
    environment = dict(line.split("=", 1) for line in _uncommented_lines(section.get("Environment", "")))
    if "/etc/touchpoint/environment" in section.get("EnvironmentFile", ""):
        environment |= environment_file(file.with_name("environment"))
    environment |= given
    command = section["ExecStart"].replace("$OPTIONS", environment.get("OPTIONS", ""))
    command = _VARIABLE.sub(lambda found: environment[found[1]], command)
    words = [word.replace("$$", "$").replace("%%", "%") for word in shlex.split(command)]
    return DeploymentService(file.stem.replace("@", f"@{instance}"), words, environment)


def unit_sections(file: Path, instance: str = "") -> Mapping[str, dict[str, str]]:
    """Section of a unit -> key -> value; several values of a key stand on lines of their own."""
    found: dict[str, dict[str, str]] = {}
    reader = ConfigParser(interpolation=None, strict=False, dict_type=_MultiValueDict)
    reader.optionxform = str  # type: ignore[assignment,method-assign]
    reader.read_string(file.read_text().replace("%i", instance))
    for section in reader.sections():
        found[section] = dict(reader[section])
    return found


def environment_file(file: Path) -> dict[str, str]:
    """What a file of the environment says."""
    return dict(line.split("=", 1) for line in _uncommented_lines(file.read_text()))


class _MultiValueDict(dict[str, Any]):
    """A key that is said again adds a value."""

    def __setitem__(self, key: str, value: Any) -> None:
        if isinstance(value, list) and key in self:
            value = [*self[key], *value]
        super().__setitem__(key, value)


def _uncommented_lines(text: str) -> list[str]:
    return [line for line in text.splitlines() if line and not line.startswith("#")]


def _interpolate(value: Any, given: Mapping[str, str]) -> Any:
    """A part of a compose file with its variables in place."""
    if isinstance(value, dict):
        return {name: _interpolate(part, given) for name, part in value.items()}
    if isinstance(value, list):
        return [_interpolate(part, given) for part in value]
    if not isinstance(value, str):
        return value
    return _VARIABLE.sub(lambda found: given.get(found[1]) or _variable_default(found), value)


def _variable_default(variable: re.Match[str]) -> str:
    name, kind, text = variable.groups()
    assert kind == "-", f"{name} is said by nobody"
    return text
