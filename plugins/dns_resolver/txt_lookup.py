"""A TXT look-up with dnspython."""

from collections.abc import Collection
from typing import Final

from dns.asyncresolver import Resolver
from dns.exception import DNSException
from dns.resolver import NXDOMAIN, NoAnswer

from plugins.dns_resolver.settings import ResolverSettings
from service_core.plugin import DnsUnavailable

_PORT: Final = 53


async def resolve_txt(name: str, settings: ResolverSettings) -> Collection[str]:
    """Returns the texts of the TXT records of a name.

    The resolver is a new one and remembers nothing: an answer of a minute ago may miss the record that
    somebody just wrote.

    Raises:
        DnsUnavailable: no server answered in time, or it refused to.
    """
    try:
        resolver = Resolver(configure=settings.host is None)
        if settings.host is not None:
            resolver.nameservers, resolver.port = [settings.host], settings.port or _PORT
        records = await resolver.resolve(f"{name}.", "TXT", lifetime=settings.timeout_seconds)
    except (NXDOMAIN, NoAnswer):
        return ()
    except (DNSException, OSError) as fault:
        raise DnsUnavailable(type(fault).__name__) from None
    # A long text comes in pieces of 255 bytes; they are one.
    return [b"".join(record.strings).decode("utf-8", "replace") for record in records]
