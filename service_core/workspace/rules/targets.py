"""Where a rule may send: what the workspace has connected, and what each platform takes."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from service_core.insight.connections.model import Asset, ConnectedAccount, Connection, ProviderKind
from service_core.insight.connections.providers import PROVIDERS
from service_core.insight.orders import TRACKED_SOURCES
from service_core.kernel.errors import BadRequest, Unprocessable
from service_core.workspace.rules.bodies import ANY_SOURCE
from service_core.workspace.rules.platforms import Platform, Platforms


@dataclass(frozen=True, slots=True)
class Targets:
    """What can be chosen from, read before the rule is planned."""

    platforms: Platforms
    connections: Sequence[Connection]

    def platform(self, id_: str) -> Platform:
        """The platform with this id.

        Raises:
            BadRequest: ``invalid_parameter``, no sender is installed for it.
        """
        if id_ not in self.platforms.by_id:
            raise BadRequest(
                "platform names no ad platform",
                "invalid_parameter",
                field="rule.platform",
                hint=f"Platforms: {', '.join(self.platforms.by_id)}.",
            )
        return self.platforms.by_id[id_]

    def place(self, platform: Platform, account_id: str | None, asset_id: str | None) -> tuple[str, str]:
        """Ids of the account and asset meant; one that is left out is the only one there is.

        Raises:
            Unprocessable: ``platform_not_connected``, ``unknown_asset``.
            BadRequest: ``missing_field``, there are several.
        """
        every = list(self._assets(platform))
        if not every:
            raise Unprocessable(
                f"No {platform.asset} of {platform.label} is connected",
                "platform_not_connected",
                field="rule.platform",
                hint=f"Connect the platform and name its {platform.asset}s first.",
            )
        meant = [
            (account.id, asset.id)
            for account, asset in every
            if account_id in {None, account.id} and asset_id in {None, asset.id}
        ]
        if len(meant) == 1:
            return meant[0]
        wrong = _Choice(platform, every)
        raise wrong.several(asset_id) if meant else wrong.unknown(account_id, asset_id)

    def check_event(self, platform: Platform, account_id: str, name: str) -> None:
        """Refuse an event the platform does not take.

        Raises:
            Unprocessable: ``invalid_platform_event`` with a hint.
        """
        known = platform.events or tuple(
            text
            for account, asset in self._assets(platform)
            if account.id == account_id
            for text in (asset.name, asset.id)
            if text
        )
        if name not in known:
            raise Unprocessable(
                f"{platform.label} takes no such event",
                "invalid_platform_event",
                field="rule.platform_event",
                hint=f"It takes {', '.join(known)}.",
            )

    def check_source(self, name: str) -> None:
        """Refuse a source no event can have.

        Raises:
            BadRequest: ``invalid_parameter``.
        """
        providers = {one.id for one in PROVIDERS.values() if one.kind is ProviderKind.REVENUE}
        providers |= {one.provider for one in self.connections if one.kind is ProviderKind.REVENUE}
        if name not in {ANY_SOURCE, *TRACKED_SOURCES, *providers}:
            raise BadRequest(
                "trigger_event_source names no source of events",
                "invalid_parameter",
                field="rule.trigger_event_source",
                hint=f"Sources: {', '.join([ANY_SOURCE, *sorted(TRACKED_SOURCES), *sorted(providers)])}.",
            )

    def _assets(self, platform: Platform) -> Iterator[tuple[ConnectedAccount, Asset]]:
        for connection in self.connections:
            if connection.provider == platform.id and connection.is_live:
                for account in connection.accounts:
                    for asset in account.assets:
                        yield account, asset


@dataclass(frozen=True, slots=True)
class _Choice:
    """Why no single asset is meant."""

    platform: Platform
    every: Sequence[tuple[ConnectedAccount, Asset]]

    def several(self, asset_id: str | None) -> BadRequest:
        name = "asset_id" if asset_id is None else "ad_account_id"
        return BadRequest(
            f"{name} is required: several {self.platform.asset}s of {self.platform.label} are connected",
            "missing_field",
            field=f"rule.{name}",
            hint=self._known(),
        )

    def unknown(self, account_id: str | None, asset_id: str | None) -> Unprocessable:
        name = "ad_account_id" if asset_id is None and account_id is not None else "asset_id"
        return Unprocessable(
            f"No such {self.platform.asset} of {self.platform.label} is connected",
            "unknown_asset",
            field=f"rule.{name}",
            hint=self._known(),
        )

    def _known(self) -> str:
        return f"Connected: {', '.join(f'{asset.id} in {account.id}' for account, asset in self.every)}."
