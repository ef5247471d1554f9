"""A sender made of what its platform is, on which terms it takes conversions, and a function that calls it."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from service_core.commerce import platform_calls
from service_core.delivery.postbacks.model import Conversion, Destination, Rejected, SendOutcome
from service_core.delivery.postbacks.ports import Terms
from service_core.kernel.clock import Clock, system_clock
from service_core.workspace.rules.platforms import Platform


@dataclass(frozen=True, slots=True, repr=False)
class SendCall:
    """A call to make; its repr shows neither credentials nor persons.

    Attributes:
        api: address of the API with its version.
        destination: where all the conversions go.
        secrets: credentials of the connection, by name.
        clock: the present.
    """

    api: str
    destination: Destination
    conversions: Sequence[Conversion]
    secrets: Mapping[str, str]
    clock: Clock


@dataclass(frozen=True, slots=True)
class Sender:
    """Implements `MovableSender`.

    Attributes:
        api: address of the API with its version.
        call: makes one, and raises what `ConversionSender.send` may raise.
        tests_by_code: whether a test is told by its code alone; without one it would count, and is not sent.
        seconds: how long a call may take.
    """

    platform: Platform
    terms: Terms
    api: str
    call: Callable[[SendCall], Awaitable[Sequence[SendOutcome]]]
    tests_by_code: bool = False
    seconds: float = 25.0
    clock: Clock = system_clock

    @property
    def id(self) -> str:
        """That of the platform."""
        return self.platform.id

    def at(self, address: str) -> "Sender":
        """The same, of another version or behind a proxy."""
        return replace(self, api=address)

    async def send(
        self, destination: Destination, conversions: Sequence[Conversion], secrets: Mapping[str, str]
    ) -> Sequence[SendOutcome]:
        """Call the platform, in time.

        Raises:
            PlatformDown: it takes none now, or does not answer in time.
            PlatformRefused: the credentials are not good.
            BatchRejected: it takes none, because of some.
        """
        if self.tests_by_code and destination.test and not destination.test_code:
            return [Rejected("no_test_event_code")] * len(conversions)
        async with platform_calls.within(self.seconds, self.platform.label):
            return await self.call(SendCall(self.api, destination, conversions, secrets, self.clock))
