"""Registrable domains by the public suffix list, which the package brings along."""

from collections.abc import Iterable

from service_core.plugin import Adapter, AdapterSettings, PublicSuffixList, hook


def _open(_: AdapterSettings) -> PublicSuffixList:
    from plugins.domains_publicsuffix.adapter import PackagedSuffixList

    return PackagedSuffixList()


@hook
def adapters() -> Iterable[Adapter]:
    """The adapter on the packaged list."""
    return (
        Adapter(
            port="domains",
            scheme="publicsuffix",
            open=_open,
            summary="Registrable domains of referrers by the packaged public suffix list.",
        ),
    )
