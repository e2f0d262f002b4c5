"""Resolve host names and connect to them within a time limit, and only to addresses that a check may reach.

The URL of a check may come from another machine, so it must not give access to this machine's network: see `refusal`.
A name is resolved once, each of its addresses is checked, and the connection is made to a checked address. This defeats
DNS rebinding, where a second lookup returns another address.
"""

from __future__ import annotations

import ipaddress
import queue
import socket
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

Reached = TypeVar("Reached")
Address = ipaddress.IPv4Address | ipaddress.IPv6Address

_METADATA_HOSTS = frozenset(
    {"metadata.google.internal", "metadata.goog", "instance-data", "instance-data.ec2.internal"}
)

_METADATA = frozenset(
    ipaddress.ip_address(text)
    for text in (
        "169.254.169.254",  # AWS, Google, Azure, and most others
        "fd00:ec2::254",  # AWS over IPv6
        "fd20:ce::254",  # Google over IPv6
        "100.100.100.200",  # Alibaba
        "168.63.129.16",  # Azure's WireServer, which looks like a public address
        "192.0.0.192",  # Oracle
    )
)

_PRIVATE = tuple(
    ipaddress.ip_network(text)
    for text in (
        "10.0.0.0/8",
        "172.16.0.0/12",
        "192.168.0.0/16",
        "100.64.0.0/10",  # carrier-grade NAT, also used by Tailscale
        "fc00::/7",
    )
)

_GLOBAL_UNICAST = ipaddress.ip_network("2000::/3")
_NAT64 = ipaddress.ip_network("64:ff9b::/96")


class AddressRefused(Exception):
    """The check cannot be made: the URL is not http or https, the host is unknown, or its address is not allowed."""


@dataclass(frozen=True)
class CheckDeadline:
    """A deadline: `moment` on the clock `time.monotonic`, and the time limit in `seconds` that it results from."""

    seconds: float
    moment: float

    @classmethod
    def after(cls, seconds: float) -> CheckDeadline:
        return cls(seconds, time.monotonic() + seconds)

    @property
    def seconds_left(self) -> float:
        """Seconds until the deadline.

        Raises:
            TimeoutError: the deadline has passed.
        """
        left = self.moment - time.monotonic()
        if left <= 0:
            raise TimeoutError
        return left

    @property
    def is_over(self) -> bool:
        return time.monotonic() >= self.moment


def refusal(address: Address, *, allow_private: bool) -> str | None:
    """Return why a check may not connect to `address`, or None if it may.

    Loopback and public addresses are allowed, private networks only with `allow_private`. Link-local, metadata,
    multicast, unspecified and reserved addresses are refused. An IPv4 address embedded in an IPv6 address (mapped,
    6to4, NAT64) is treated as the IPv4 address.
    """
    address = _inner(address)
    if address.is_loopback:
        return None
    if address in _METADATA:
        return "is the address of a cloud metadata service"
    if address.is_link_local:
        return "is a link-local address"
    if address.is_multicast:
        return "is a multicast address"
    if any(address.version == net.version and address in net for net in _PRIVATE):
        return None if allow_private else "is a private address, which is not allowed here"
    ordinary = address.version == 4 or address in _GLOBAL_UNICAST
    return None if ordinary and address.is_global else "is a reserved address"


def _inner(address: Address) -> Address:
    """Return the IPv4 address embedded in an IPv6 address, or the address itself."""
    if isinstance(address, ipaddress.IPv4Address):
        return address
    if address in _NAT64:
        return ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    # Drop the zone (`fe80::1%eth0`), with which the address would not equal any in the lists above.
    return address.ipv4_mapped or address.sixtofour or ipaddress.IPv6Address(int(address))


def resolve(host: str, port: int, deadline: CheckDeadline, *, allow_private: bool) -> Sequence[str]:
    """Return the addresses of `host`, all of which are allowed.

    Unusual spellings (`2130706433`, `0x7f.1`, `[::ffff:127.0.0.1]`) need no special treatment, because the address
    that the system resolves them to is checked.

    Raises:
        AddressRefused: the name is unknown, or one of its addresses is refused.
        TimeoutError: the deadline passed.
    """
    if host.rstrip(".").lower() in _METADATA_HOSTS:
        raise AddressRefused(f"{host} is the address of a cloud metadata service")
    texts = _look_up(host, port, deadline)
    for text in texts:
        why = refusal(ipaddress.ip_address(text), allow_private=allow_private)
        if why:
            raise AddressRefused(f"{host} ({text}) {why}" if text != host else f"{host} {why}")
    return texts


def _look_up(host: str, port: int, deadline: CheckDeadline) -> Sequence[str]:
    """Resolve a host name in a separate thread, because `getaddrinfo` cannot be interrupted."""
    results: queue.SimpleQueue[Sequence[str] | AddressRefused] = queue.SimpleQueue()
    threading.Thread(target=lambda: results.put(_get_addresses(host, port)), daemon=True).start()
    try:
        result = results.get(timeout=deadline.seconds_left)
    except queue.Empty:
        raise TimeoutError from None
    if isinstance(result, AddressRefused):
        raise result
    return result


def _get_addresses(host: str, port: int) -> Sequence[str] | AddressRefused:
    try:
        addresses = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError, OverflowError) as error:
        return AddressRefused(f"the host {host!r} is not known: {getattr(error, 'strerror', None) or error}")
    return list(dict.fromkeys(str(entry[4][0]) for entry in addresses))


def connect_to_first(addresses: Sequence[str], connect: Callable[[str], Reached]) -> Reached:
    """Return the result of `connect` for the first address that accepts a connection.

    A name such as `localhost` often has two addresses, and a server may listen on only one of them.

    Raises:
        ConnectionRefusedError: all addresses refused the connection, which shows that nothing listens.
        OSError: no address accepted a connection; the first error other than a refused connection.
    """
    errors: list[OSError] = []
    for address in addresses:
        try:
            return connect(address)
        except OSError as error:
            errors.append(error)
    raise next((error for error in errors if not isinstance(error, ConnectionRefusedError)), errors[0])
