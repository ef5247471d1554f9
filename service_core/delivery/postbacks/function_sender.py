"""A conversion sender made of a platform description, its limits and one function."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from service_core.commerce import platform_http
from service_core.delivery.postbacks.models import Conversion, Destination, Rejected, SendOutcome
from service_core.delivery.postbacks.ports import SendLimits
from service_core.kernel.clock import Clock, system_clock
from service_core.workspace.rules.postback_platforms import PostbackPlatform


@dataclass(frozen=True, slots=True, repr=False)
class SendCall:
    """Arguments of one call; its repr shows neither credentials nor personal data.

    Attributes:
        base_url: address of the API with its version.
        destination: where all the conversions go.
        secrets: credentials of the connection, by name.
        clock: the present.
    """

    base_url: str
    destination: Destination
    conversions: Sequence[Conversion]
    secrets: Mapping[str, str]
    clock: Clock


@dataclass(frozen=True, slots=True)
class FunctionSender:
    """Implements `RelocatableSender`.

    Attributes:
        base_url: address of the API with its version.
        send_batch: makes one call, and raises what `ConversionSender.send` may raise.
        requires_test_code: whether only its code marks a test; a test without one would count, so it is not sent.
        timeout_seconds: how long a call may take.
    """

    platform: PostbackPlatform
    limits: SendLimits
    base_url: str
    send_batch: Callable[[SendCall], Awaitable[Sequence[SendOutcome]]]
    requires_test_code: bool = False
    timeout_seconds: float = 25.0
    clock: Clock = system_clock

    @property
    def id(self) -> str:
        """Returns the platform's id."""
        return self.platform.id

    def with_base_url(self, base_url: str) -> "FunctionSender":
        """Returns the same sender with another base URL."""
        return replace(self, base_url=base_url)

    async def send(
        self, destination: Destination, conversions: Sequence[Conversion], secrets: Mapping[str, str]
    ) -> Sequence[SendOutcome]:
        """Calls the platform within the time limit.

        Raises:
            PlatformUnavailable: it takes none now, or does not answer in time.
            CredentialsRejected: the credentials are not good.
            BatchRejected: it takes none, because of some.
        """
        if self.requires_test_code and destination.test and not destination.test_code:
            return [Rejected("no_test_event_code")] * len(conversions)
        async with platform_http.time_limit_as_unavailable(self.timeout_seconds, self.platform.label):
            return await self.send_batch(
                SendCall(self.base_url, destination, conversions, secrets, self.clock)
            )
