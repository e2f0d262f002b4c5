"""Check method `port_open`: does a program listen on a TCP port?"""

from __future__ import annotations

import socket
from functools import partial

from baton_git.checks.addresses import AddressRefused, CheckDeadline, connect_to_first, resolve
from baton_git.checks.outcome import CheckSpec, Failed, Outcome, Passed, Unknown, World, no_answer


def check(spec: CheckSpec, world: World) -> Outcome:
    """Connect to the port and close the connection.

    `Failed` if every address of the host refuses the connection. `Unknown` after a timeout, and for an invalid
    port, an unknown host, no route, or an address that a check may not reach.
    """
    if spec.port is None or not 0 < spec.port < 65536:
        return Unknown("no port is given" if spec.port is None else f"{spec.port} is not a port")
    host = spec.host or "localhost"
    deadline = CheckDeadline.after(spec.timeout_seconds)
    try:
        addresses = resolve(host, spec.port, deadline, allow_private=world.allow_private_hosts)
        connect_to_first(addresses, partial(_knock, spec.port, deadline))
    except TimeoutError:
        return no_answer(spec.timeout_seconds)
    except ConnectionRefusedError:
        return Failed(f"nothing listens on {host} port {spec.port}")
    except AddressRefused as error:
        return Unknown(str(error))
    except OSError as error:
        return Unknown(f"cannot reach {host} port {spec.port}: {error.strerror or error}")
    return Passed()


def _knock(port: int, deadline: CheckDeadline, address: str) -> None:
    socket.create_connection((address, port), deadline.seconds_left).close()
