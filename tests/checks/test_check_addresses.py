"""The addresses to which a check may connect."""

import ipaddress

import pytest
from looped_cases import for_each

from baton_git.checks.addresses import AddressRefused, CheckDeadline, connect_to_first, refusal, resolve

NEVER = [
    "169.254.169.254",
    "169.254.170.2",
    "169.254.0.1",
    "100.100.100.200",
    "168.63.129.16",
    "192.0.0.192",
    "fd00:ec2::254",
    "fd20:ce::254",
    "fe80::1",
    "fe80::1%lo",
    "fec0::1",
    "0.0.0.0",
    "0.1.2.3",
    "::",
    "224.0.0.1",
    "ff02::1",
    "240.0.0.1",
    "255.255.255.255",
    "192.0.2.7",
    "2001:db8::1",
    "::ffff:169.254.169.254",
    "::ffff:0.0.0.0",
    "64:ff9b::a9fe:a9fe",
    "2002:a9fe:a9fe::1",
    "fd00:ec2::254%eth0",
    "::169.254.169.254",
]
PRIVATE = ["10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.1.1", "100.64.0.1", "fc00::1", "fd12::1"]
PRIVATE += ["::ffff:10.0.0.1", "2002:0a00:0001::1", "64:ff9b::c0a8:101"]
ALWAYS = [
    "127.0.0.1",
    "127.8.8.8",
    "::1",
    "::ffff:127.0.0.1",
    "8.8.8.8",
    "172.32.0.1",
    "2606:4700::1",
    "64:ff9b::808:808",
]


@for_each("text", NEVER)
@for_each("allow_private", [True, False])
def test_some_addresses_are_never_reached(text, allow_private):
    assert refusal(ipaddress.ip_address(text), allow_private=allow_private)


@for_each("text", PRIVATE)
def test_private_addresses_need_permission(text):
    address = ipaddress.ip_address(text)
    assert "private" in (refusal(address, allow_private=False) or "")
    assert refusal(address, allow_private=True) is None


@for_each("text", ALWAYS)
def test_loopback_and_public_addresses_are_allowed(text):
    assert refusal(ipaddress.ip_address(text), allow_private=False) is None


@for_each("host", ["2852039166", "0xa9fea9fe", "0xA9.254.0251.254", "169.254.43518"])
def test_odd_spellings_are_judged_by_the_address_they_mean(host):
    with pytest.raises(AddressRefused, match="metadata"):
        resolve(host, 80, CheckDeadline.after(2), allow_private=True)


@for_each("host", ["2130706433", "0x7f.1", "017700000001", "127.1"])
def test_odd_spellings_of_loopback_are_loopback(host):
    assert resolve(host, 80, CheckDeadline.after(2), allow_private=False) == ["127.0.0.1"]


@pytest.mark.parametrize("host", ["metadata.google.internal", "Metadata.Google.Internal.", "instance-data"])
def test_names_of_metadata_services_are_not_even_looked_up(host):
    with pytest.raises(AddressRefused, match="metadata"):
        resolve(host, 80, CheckDeadline.after(2), allow_private=True)


@for_each("host", ["nowhere.invalid", "a..b", "x" * 70, "-.invalid"])
def test_an_unknown_host_name_is_reported(host):
    with pytest.raises(AddressRefused, match="is not known"):
        resolve(host, 80, CheckDeadline.after(2), allow_private=False)


def test_looking_up_a_name_ends_at_the_deadline():
    with pytest.raises(TimeoutError):
        resolve("localhost", 80, CheckDeadline.after(0), allow_private=False)


def test_a_connection_counts_as_refused_only_if_every_address_refuses_it():
    def connect(address):
        if address == "up":
            return "reached"
        raise OSError("no route") if address == "lost" else ConnectionRefusedError

    assert connect_to_first(["refusing", "up"], connect) == "reached"
    with pytest.raises(OSError, match="no route"):
        connect_to_first(["refusing", "lost"], connect)
    with pytest.raises(ConnectionRefusedError):
        connect_to_first(["refusing", "refusing"], connect)
