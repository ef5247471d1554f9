"""Loads settings from ``touchpoint.toml`` and the environment; an unknown name stops the start."""

import json
import os
import re
import tomllib
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from pydantic import ValidationError
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict
from pydantic_settings.exceptions import SettingsError

from service_core.kernel.errors import StartupError
from service_core.kernel.settings import Settings
from service_core.kernel.settings_section import SettingsSection

ENVIRONMENT_PREFIX: Final = "TOUCHPOINT_"
ENVIRONMENT_DELIMITER: Final = "__"

_PLUGINS_SECTION: Final = "plugins"
_SECRET_PARAMETER: Final = re.compile(r"((?:^|[?&_])(?:secret|token|key)=)[^&]*")
_VARIABLE_REFERENCE: Final = re.compile(r"\$\{([A-Za-z_]\w*)\}")


def settings_folder(config: Path) -> Path:
    """Returns the folder of the settings file, to which paths in it are relative."""
    return config.absolute().parent


def load_settings_with_environment(file: Path | None) -> Settings:
    """Loads settings: defaults, then the file, then ``TOUCHPOINT_<SECTION>__<NAME>``.

    Args:
        file: the settings file; None for defaults and environment alone.

    Raises:
        StartupError: the file cannot be read, or it or the environment holds an unknown name or a
            value that does not fit.
    """
    table = {} if file is None else _read_settings_file_and_replace_variables(file)
    names = {
        ".".join(path): f"setting {'.'.join(path)} in {file}"
        for path in _setting_paths(table)
        if not _is_table_of_plugin(table, path)
    }
    names |= {
        _setting_name(variable): f"environment variable {variable}"
        for variable in _variables_with_delimiter_or_section_name(os.environ)
        if not _is_setting_of_plugin(_setting_name(variable))
    }
    for name, where in names.items():
        _reject_unknown_setting(name, where)
    try:
        return _LayeredSettings(**table)
    except ValidationError as fault:
        wrong = "; ".join(
            ": ".join(
                filter(None, (".".join(map(str, error["loc"])), error["msg"].removeprefix("Value error, ")))
            )
            for error in fault.errors()
        )
        raise StartupError(f"A setting has a value that does not fit. {wrong}.") from None
    except SettingsError as fault:
        raise StartupError(f"{fault}. Lists are written as JSON in an environment variable.") from None


def list_setting_names() -> tuple[str, ...]:
    """Lists every setting as ``section.name``, in the order of the reference page."""
    return tuple(
        f"{section}.{name}"
        for section, field in Settings.model_fields.items()
        if isinstance(field.annotation, type) and issubclass(field.annotation, SettingsSection)
        for name in field.annotation.model_fields
    )


def format_toml_value(value: object) -> str:
    """Formats a value for the settings file; JSON strings, numbers, booleans and arrays are TOML too."""
    return json.dumps(value, ensure_ascii=False)


class _LayeredSettings(Settings, BaseSettings):
    """Settings whose values from the environment override those of the file."""

    model_config = SettingsConfigDict(
        env_prefix=ENVIRONMENT_PREFIX, env_nested_delimiter=ENVIRONMENT_DELIMITER, extra="forbid", frozen=True
    )

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],  # noqa: ARG003 - the signature is the library's
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,  # noqa: ARG003
        file_secret_settings: PydanticBaseSettingsSource,  # noqa: ARG003
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        return env_settings, init_settings


def _read_settings_file_and_replace_variables(file: Path) -> Mapping[str, Any]:
    try:
        table = tomllib.loads(file.read_text())
    except FileNotFoundError:
        raise StartupError(
            f"There is no settings file {file}. Name one with --config or TOUCHPOINT_CONFIG, or make one with "
            "`touchpoint init DIR`."
        ) from None
    except IsADirectoryError:
        raise StartupError(
            f"{file} is a folder. Name the settings file in it: {file / 'touchpoint.toml'}."
        ) from None
    except OSError as fault:
        raise StartupError(f"The settings file {file} cannot be read: {fault.strerror}.") from None
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as fault:
        raise StartupError(f"The settings file {file} cannot be read: {fault}.") from None
    return {name: _replace_variable_references(value, file) for name, value in table.items()}


def _replace_variable_references(value: Any, file: Path) -> Any:
    """Returns a value of the settings file with the value of NAME in place of each ``${NAME}``.

    Raises:
        StartupError: a variable is not set, as in a command line outside of the service's unit.
    """
    if isinstance(value, dict):
        return {name: _replace_variable_references(part, file) for name, part in value.items()}
    if isinstance(value, list):
        return [_replace_variable_references(part, file) for part in value]
    if not isinstance(value, str):
        return value
    for variable in _VARIABLE_REFERENCE.findall(value):
        if variable not in os.environ:
            raise StartupError(
                f"{file} refers to the environment variable {variable}, which is not set. Set it as the service's unit or "
                "container does, such as `set -a; . /etc/touchpoint/environment; set +a`."
            )
    return _VARIABLE_REFERENCE.sub(lambda found: os.environ[found[1]], value)


def list_settings_named_by_environment() -> dict[str, str]:
    """Returns ``section.name`` -> environment variable of every setting that the environment names."""
    return {
        _setting_name(variable): variable
        for variable in _variables_with_delimiter_or_section_name(os.environ)
    }


def name_source_of_setting(setting: str, config: Path) -> str:
    """Returns what names a setting: the environment variable, or else the settings file."""
    variable = list_settings_named_by_environment().get(setting)
    return f"the environment variable {variable}" if variable else str(config)


def redact_url(url: str) -> str:
    """Returns a URL without its password and other secrets."""
    password = urlsplit(url).password
    bare = url.replace(f":{password}@", ":***@", 1) if password else url
    return _SECRET_PARAMETER.sub(r"\1***", bare)


def _setting_paths(table: Mapping[str, Any]) -> Iterable[tuple[str, ...]]:
    """Yields ``(section, name)`` of every line, and ``(name,)`` of a line outside any section."""
    for section, lines in table.items():
        if isinstance(lines, Mapping):
            yield from ((section, name) for name in lines)
        else:
            yield (section,)


def _is_table_of_plugin(table: Mapping[str, Any], path: tuple[str, ...]) -> bool:
    """Returns whether a path names a table ``[plugins.NAME]``; its plugin checks what is in it."""
    section, *names = path
    return section == _PLUGINS_SECTION and any(isinstance(table[section][name], Mapping) for name in names)


def _is_setting_of_plugin(setting_name: str) -> bool:
    """Returns whether a variable names a setting of a plugin, as in ``plugins.shop.region``."""
    section, *names = setting_name.split(".")
    return section == _PLUGINS_SECTION and len(names) > 1


def _variables_with_delimiter_or_section_name(environment: Mapping[str, str]) -> Iterable[str]:
    """Yields variables meant as settings: with the delimiter, or with the name of a section after the prefix."""
    sections = tuple(f"{ENVIRONMENT_PREFIX}{section.upper()}" for section in Settings.model_fields)
    for variable in environment:
        if variable.startswith(ENVIRONMENT_PREFIX) and (
            ENVIRONMENT_DELIMITER in variable or variable.startswith(sections)
        ):
            yield variable


def _setting_name(variable: str) -> str:
    return variable.removeprefix(ENVIRONMENT_PREFIX).lower().replace(ENVIRONMENT_DELIMITER, ".")


def _reject_unknown_setting(setting_name: str, described_source: str) -> None:
    known = list_setting_names()
    if setting_name in known:
        return
    in_section = [setting for setting in known if setting.startswith(f"{setting_name.partition('.')[0]}.")]
    near = get_close_matches(setting_name, known, n=1, cutoff=0.8 if in_section else 0.5)
    advice = f"Did you mean {near[0]}?" if near else f"Settings: {', '.join(in_section or known)}."
    if described_source.startswith("environment"):
        advice += f" Variables are written {ENVIRONMENT_PREFIX}<SECTION>{ENVIRONMENT_DELIMITER}<NAME>."
    raise StartupError(f"Unknown {described_source}. {advice}")
