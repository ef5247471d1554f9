"""The targets a rule can choose from: connected accounts and assets, platform events, event sources."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from service_core.analytics.connections.models import Asset, ConnectedAccount, Connection, ProviderKind
from service_core.analytics.connections.providers import InstalledProviders
from service_core.analytics.event_rules.order_deduplication import TRACKED_SOURCES
from service_core.kernel.errors import BadRequest, Unprocessable
from service_core.workspace.rules.postback_platforms import PostbackPlatform, PostbackPlatforms
from service_core.workspace.rules.schemas import ANY_SOURCE


@dataclass(frozen=True, slots=True)
class RuleTargets:
    """The platforms and the connections of a workspace."""

    platforms: PostbackPlatforms
    connections: Sequence[Connection]
    providers: InstalledProviders

    def require_platform(self, platform_id: str) -> PostbackPlatform:
        """Returns the platform with this id.

        Raises:
            BadRequest: ``invalid_parameter``, no sender is installed for it.
        """
        if platform_id not in self.platforms.by_id:
            raise BadRequest(
                "platform names no ad platform",
                "invalid_parameter",
                field="rule.platform",
                hint=f"Platforms: {', '.join(self.platforms.by_id)}.",
            )
        return self.platforms.by_id[platform_id]

    def resolve_only_destination(
        self, platform: PostbackPlatform, account_id: str | None, asset_id: str | None
    ) -> tuple[str, str]:
        """Returns the ids of the account and the asset; None selects the only one that is connected.

        Raises:
            Unprocessable: ``platform_not_connected``, ``unknown_asset``.
            BadRequest: ``missing_field``, several match.
        """
        every = list(self._connected_assets(platform))
        if not every:
            raise Unprocessable(
                f"No {platform.asset_label} of {platform.label} is connected",
                "platform_not_connected",
                field="rule.platform",
                hint=f"Connect the platform and name its {platform.asset_label}s first.",
            )
        meant = [
            (account.id, asset.id)
            for account, asset in every
            if account_id in {None, account.id} and asset_id in {None, asset.id}
        ]
        if len(meant) == 1:
            return meant[0]
        wrong = _AssetErrors(platform, every)
        raise (
            wrong.selection_required_error(asset_id)
            if meant
            else wrong.unknown_asset_error(account_id, asset_id)
        )

    def require_accepted_event(self, platform: PostbackPlatform, account_id: str, event_name: str) -> None:
        """Refuses an event that the platform does not accept.

        Raises:
            Unprocessable: ``invalid_platform_event`` with a hint.
        """
        accepted = platform.event_names or tuple(
            text
            for account, asset in self._connected_assets(platform)
            if account.id == account_id
            for text in (asset.name, asset.id)
            if text
        )
        if event_name not in accepted:
            raise Unprocessable(
                f"{platform.label} takes no such event",
                "invalid_platform_event",
                field="rule.platform_event",
                hint=f"It takes {', '.join(accepted)}.",
            )

    def require_known_event_source(self, source_name: str) -> None:
        """Refuses a source that no event can have.

        Raises:
            BadRequest: ``invalid_parameter``.
        """
        providers = set(self.providers.ids_of_kind(ProviderKind.REVENUE))
        providers |= {
            connection.provider for connection in self.connections if connection.kind is ProviderKind.REVENUE
        }
        if source_name not in {ANY_SOURCE, *TRACKED_SOURCES, *providers}:
            raise BadRequest(
                "trigger_event_source names no source of events",
                "invalid_parameter",
                field="rule.trigger_event_source",
                hint=f"Sources: {', '.join([ANY_SOURCE, *sorted(TRACKED_SOURCES), *sorted(providers)])}.",
            )

    def _connected_assets(self, platform: PostbackPlatform) -> Iterator[tuple[ConnectedAccount, Asset]]:
        for connection in self.connections:
            if connection.provider == platform.id and connection.is_connected:
                for account in connection.accounts:
                    for asset in account.assets:
                        yield account, asset


@dataclass(frozen=True, slots=True)
class _AssetErrors:
    """Errors for a request that does not select exactly one asset."""

    platform: PostbackPlatform
    connected: Sequence[tuple[ConnectedAccount, Asset]]

    def selection_required_error(self, asset_id: str | None) -> BadRequest:
        name = "asset_id" if asset_id is None else "ad_account_id"
        return BadRequest(
            f"{name} is required: several {self.platform.asset_label}s of {self.platform.label} are connected",
            "missing_field",
            field=f"rule.{name}",
            hint=self._connected_hint(),
        )

    def unknown_asset_error(self, account_id: str | None, asset_id: str | None) -> Unprocessable:
        name = "ad_account_id" if asset_id is None and account_id is not None else "asset_id"
        return Unprocessable(
            f"No such {self.platform.asset_label} of {self.platform.label} is connected",
            "unknown_asset",
            field=f"rule.{name}",
            hint=self._connected_hint(),
        )

    def _connected_hint(self) -> str:
        return f"Connected: {', '.join(f'{asset.id} in {account.id}' for account, asset in self.connected)}."
