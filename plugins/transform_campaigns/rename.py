"""Renames UTM values, in properties and in the address of the page alike."""

import re
from collections.abc import Mapping
from functools import partial
from typing import Any, Final
from urllib.parse import quote, unquote_plus

from plugins.transform_campaigns.settings import UTM_NAMES, CampaignSettings
from service_core.plugin import ChangedColumns, Transform, TransformFunction

_UTM_PARAMETER: Final = re.compile(rf"([?&])({'|'.join(UTM_NAMES)})=([^&#]*)")


def build_rename(settings: CampaignSettings) -> TransformFunction | None:
    """Returns the function that the settings ask for; None if they ask for nothing."""
    renamed = {
        name: {_fold(sent): stored for sent, stored in getattr(settings, name).items()} for name in UTM_NAMES
    }
    if not settings.lower_case and not any(renamed.values()):
        return None
    return partial(_rename_columns, partial(_rename, renamed, settings.lower_case))


def _rename_columns(rename: Any, columns: Mapping[str, Any]) -> ChangedColumns | None:
    changed = {}
    for column, value in columns.items():
        if not isinstance(value, str):
            continue
        name = column.removeprefix("properties.")
        after = _rename_in_url(rename, value) if name == "url" else rename(name, value)
        if after != value:
            changed[column] = after
    return ChangedColumns(changed) if changed else None


def _rename(renamed: Mapping[str, Mapping[str, str]], lower_case: bool, name: str, value: str) -> str:
    folded = _fold(value)
    return renamed[name].get(folded) or (folded if lower_case else value)


def _rename_in_url(rename: Any, url: str) -> str:
    def rename_parameter(parameter: re.Match[str]) -> str:
        mark, name, sent = parameter.groups()
        value = unquote_plus(sent)
        after = rename(name, value)
        return parameter[0] if after == value else f"{mark}{name}={quote(after, safe='')}"

    return _UTM_PARAMETER.sub(rename_parameter, url)


def _fold(value: str) -> str:
    return " ".join(value.split()).lower()


_COLUMNS: Final = tuple(f"properties.{name}" for name in ("url", *UTM_NAMES))

TRANSFORM: Final = Transform(
    id="campaigns", label="Campaign names", reads=_COLUMNS, writes=_COLUMNS, build=build_rename
)
