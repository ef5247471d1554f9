"""Runs of a wrong plugin's test are those of its case alone."""

from tests.plugin_kits.wrong_plugin import WrongPlugin


def pytest_collection_modifyitems(config, items):
    others = [item for item in items if _is_another_case(item)]
    if others:
        config.hook.pytest_deselected(items=others)
        items[:] = [item for item in items if item not in others]


def _is_another_case(item):
    owner = getattr(item, "cls", None)
    return owner is not None and issubclass(owner, WrongPlugin) and owner.case not in item.name
