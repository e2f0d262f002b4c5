"""Idle connections cost other clients nothing: neither by their number, nor by the files that they keep open."""

from __future__ import annotations

import http.client
import os
import socket
import subprocess
import sys
from contextlib import ExitStack, closing
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from default_run import slow_after

SERVE = """import resource, sys
resource.setrlimit(resource.RLIMIT_NOFILE, (int(sys.argv.pop(1)),) * 2)
from baton_git.__main__ import main
main()"""


def ask_health(port: int) -> int:
    with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=30)) as connection:
        connection.request("GET", "/health")
        return connection.getresponse().status


@pytest.mark.parametrize("files", slow_after(1, [400, 4096]))
def test_600_idle_connections_do_not_affect_other_clients(top: Path, files: int) -> None:
    """Each has sent a request before, or none. With 400 open files, the server closes the oldest idle connections."""
    argv = [sys.executable, "-c", SERVE, str(files), "serve", "--port", "0"]
    with ExitStack() as stack:
        server = stack.enter_context(subprocess.Popen(argv, cwd=top, env=dict(os.environ), stdout=subprocess.PIPE))
        stack.callback(server.terminate)
        assert server.stdout is not None
        port = int(urlsplit(server.stdout.readline().decode()).port or 0)
        for number in range(600):
            idle = stack.enter_context(socket.create_connection(("127.0.0.1", port)))
            if number % 50 == 0:
                idle.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert [ask_health(port) for _ in range(3)] == [200] * 3
