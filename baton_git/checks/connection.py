"""One connection of HTTP to one address of a host, and what keeps it from coming about as the system's own errors."""

from __future__ import annotations

from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.exceptions import ConnectTimeoutError, NewConnectionError

from baton_git.checks.addresses import CheckDeadline


def open_connection(scheme: str, host: str, port: int, deadline: CheckDeadline, address: str) -> HTTPConnection:
    """A connection to an address that was judged; the certificate must be that of the host named in the url.

    Raises:
        TimeoutError: not in time.
        OSError: the system's own error, which tells a refusal from the rest.
    """
    connection = (
        HTTPSConnection(address, port, timeout=deadline.seconds_left, server_hostname=host)
        if scheme == "https"
        else HTTPConnection(address, port, timeout=deadline.seconds_left)
    )
    try:
        connection.connect()
    except NewConnectionError as error:  # a subclass of the next
        raise (error.__cause__ if isinstance(error.__cause__, OSError) else OSError(str(error))) from None
    except ConnectTimeoutError:
        raise TimeoutError from None
    except OSError:
        connection.close()
        raise
    return connection
