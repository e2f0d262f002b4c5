"""Which addresses a check may reach, and finding and reaching them within a time limit.

The url of a check may come from another machine, so it must not become a way into this one's network: see
`refusal`. Names are looked up once, every address found is judged, and the connection goes to an address that
was judged, so a name that answers differently the second time (DNS rebinding) gains nothing.
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
        "168.63.129.16",  # Azure's wire server, a public address in form
        "192.0.0.192",  # Oracle
    )
)

_PRIVATE = tuple(
    ipaddress.ip_network(text)
    for text in (
        "10.0.0.0/8",
        "172.16.0.0/12",
        "192.168.0.0/16",
        "100.64.0.0/10",  # shared by carriers, and what Tailscale hands out
        "fc00::/7",
    )
)

_GLOBAL_UNICAST = ipaddress.ip_network("2000::/3")
_NAT64 = ipaddress.ip_network("64:ff9b::/96")


class AddressRefused(Exception):
    """The check cannot be made: the name is not known, or leads where a check may not go."""


@dataclass(frozen=True)
class CheckDeadline:
    """A moment of `time.monotonic`, and the seconds it was made from."""

    seconds: float
    moment: float

    @classmethod
    def after(cls, seconds: float) -> CheckDeadline:
        return cls(seconds, time.monotonic() + seconds)

    @property
    def seconds_left(self) -> float:
        """Seconds until then.

        Raises:
            TimeoutError: it has passed.
        """
        left = self.moment - time.monotonic()
        if left <= 0:
            raise TimeoutError
        return left

    @property
    def is_over(self) -> bool:
        return time.monotonic() >= self.moment


def refusal(address: Address, *, allow_private: bool) -> str | None:
    """Why a check may not reach `address`; None when it may.

    This machine's loopback may be reached, and the public internet. Never: link-local and metadata addresses,
    multicast, unspecified, reserved. Private networks only with permission. An IPv4 address inside an
    IPv6 one (mapped, 6to4, NAT64) is judged as what it leads to.
    """
    address = _inner(address)
    if address.is_loopback:
        return None
    if address in _METADATA:
        return "is a metadata address"
    if address.is_link_local:
        return "is a link-local address"
    if address.is_multicast:
        return "is a multicast address"
    if any(address.version == net.version and address in net for net in _PRIVATE):
        return None if allow_private else "is a private address, which is not allowed here"
    ordinary = address.version == 4 or address in _GLOBAL_UNICAST
    return None if ordinary and address.is_global else "is a reserved address"


def _inner(address: Address) -> Address:
    if isinstance(address, ipaddress.IPv4Address):
        return address
    if address in _NAT64:
        return ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    # Without its zone (`fe80::1%eth0`), which would keep it from being equal to an address of the lists above.
    return address.ipv4_mapped or address.sixtofour or ipaddress.IPv6Address(int(address))


def resolve(host: str, port: int, deadline: CheckDeadline, *, allow_private: bool) -> Sequence[str]:
    """The addresses of `host`, every one of them allowed.

    Odd spellings (`2130706433`, `0x7f.1`, `[::ffff:127.0.0.1]`) need no care of their own: they are judged by
    the address that the system makes of them.

    Raises:
        Unreachable: the name is not known, or any of its addresses is refused.
        TimeoutError: the deadline passed.
    """
    if host.rstrip(".").lower() in _METADATA_HOSTS:
        raise AddressRefused(f"{host} is a metadata address")
    texts = _look_up(host, port, deadline)
    for text in texts:
        why = refusal(ipaddress.ip_address(text), allow_private=allow_private)
        if why:
            raise AddressRefused(f"{host} ({text}) {why}" if text != host else f"{host} {why}")
    return texts


def _look_up(host: str, port: int, deadline: CheckDeadline) -> Sequence[str]:
    """In a thread of its own, since nothing can interrupt `getaddrinfo`."""
    answer: queue.SimpleQueue[Sequence[str] | AddressRefused] = queue.SimpleQueue()
    threading.Thread(target=lambda: answer.put(_ask(host, port)), daemon=True).start()
    try:
        answered = answer.get(timeout=deadline.seconds_left)
    except queue.Empty:
        raise TimeoutError from None
    if isinstance(answered, AddressRefused):
        raise answered
    return answered


def _ask(host: str, port: int) -> Sequence[str] | AddressRefused:
    try:
        addresses = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError, OverflowError) as error:
        return AddressRefused(f"the host {host!r} is not known: {getattr(error, 'strerror', None) or error}")
    return list(dict.fromkeys(str(entry[4][0]) for entry in addresses))


def first_reached(addresses: Sequence[str], connect: Callable[[str], Reached]) -> Reached:
    """What `connect` gives for the first address that answers: `localhost` is often two, and one of them deaf.

    Raises:
        OSError: no address answered; the first error that is not a refusal, since only when all refuse is it
            certain that nothing listens.
    """
    errors: list[OSError] = []
    for address in addresses:
        try:
            return connect(address)
        except OSError as error:
            errors.append(error)
    raise next((error for error in errors if not isinstance(error, ConnectionRefusedError)), errors[0])
