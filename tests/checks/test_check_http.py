"""The http check with real servers on loopback."""

import base64
import http.server
import socket
import ssl
import subprocess
import threading
from contextlib import contextmanager
from functools import partial
from typing import Any

import pytest
from looped_cases import for_each

from baton_git.checks.http import check
from baton_git.checks.outcome import CheckSpec, Failed, Passed, Unknown, World


class Handler(http.server.BaseHTTPRequestHandler):
    """`/503` answers 503; `/to/URL` redirects to URL; the rest is named below."""

    protocol_version = "HTTP/1.1"
    server: Any

    def do_GET(self):
        self.server.seen.append((self.path, self.headers))
        if self.path.startswith("/to/"):
            self.answer(302, location=self.path[4:])
        elif self.path == "/slow":
            self.server.stopping.wait(600)
        elif self.path == "/trickle":
            self.trickle()
        elif self.path == "/huge":
            self.huge()
        else:
            self.answer(int(self.path.strip("/").partition("?")[0] or 200))

    def answer(self, status, location=None):
        self.send_response(status)
        if location is not None:
            self.send_header("Location", location)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def trickle(self):
        self.wfile.write(b"HTTP/1.1 200 OK\r\n")
        while not self.server.stopping.wait(0.05):
            self.wfile.write(b"X-Drop: 1\r\n")

    def huge(self):
        self.send_response(200)
        self.send_header("Content-Length", str(10**12))
        self.end_headers()
        while not self.server.stopping.is_set():
            self.wfile.write(b"x" * 65536)
            self.server.body_bytes += 65536

    def log_message(self, *args):
        pass


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.seen = []
        self.body_bytes = 0
        self.stopping = threading.Event()

    def handle_error(self, request, client_address):
        pass  # the client hangs up on purpose

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_port}"


@contextmanager
def serving(server):
    thread = threading.Thread(target=partial(server.serve_forever, 0.01), daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.stopping.set()
        server.shutdown()
        server.server_close()
        thread.join()


@pytest.fixture
def server():
    with serving(Server()) as started:
        yield started


NOWHERE = World()


def ask(url, *, expected=None, seconds=2.0, world=NOWHERE):
    return check(CheckSpec("http", url=url, expected_status=expected, timeout_seconds=seconds), world)


@pytest.mark.parametrize(("path", "expected"), [("/", None), ("/204", 204), ("/404", 404), ("/503", 503)])
def test_the_expected_status_passes(server, path, expected):
    assert ask(server.url + path, expected=expected) == Passed(http_status=expected or 200)


def test_another_status_fails_and_is_named(server):
    assert ask(server.url + "/503") == Failed("status 503, expected 200", http_status=503)


def test_the_query_is_sent_and_the_fragment_is_not(server):
    ask(server.url + "/200?a=b%20c#part")
    assert server.seen[0][0] == "/200?a=b%20c"


@pytest.mark.parametrize("host", ["2130706433", "0x7f.1", "[::ffff:127.0.0.1]", "localhost", "user:pw@127.0.0.1"])
def test_loopback_is_reached_under_each_of_its_names(server, host):
    assert ask(f"http://{host}:{server.server_port}/") == Passed(http_status=200)


@for_each(
    "url",
    [
        "http://169.254.169.254/latest/meta-data/",
        "http://2852039166/",
        "http://[::ffff:169.254.169.254]/",
        "http://[fd00:ec2::254]/",
        "http://metadata.google.internal/",
        "http://user:pw@169.254.169.254/",
        "http://0.0.0.0/",
        "http://[fe80::1%25lo]/",
        "http://10.1.2.3/",
    ],
)
def test_a_forbidden_address_is_unknown(url):
    assert isinstance(ask(url), Unknown)


@for_each("url", [None, "", "x", "ftp://x/", "file:///etc/passwd", "http://", "http://[::1", "http://h:99999/"])
def test_an_invalid_http_url_is_unknown(url):
    assert isinstance(ask(url), Unknown)


def test_no_message_repeats_the_password():
    for url in ("ftp://u:hunter2@x/", "http://u:hunter2@h:99999/", "http://u:hunter2@nowhere.invalid/"):
        assert "hunter2" not in ask(url).why


def test_redirects_are_followed(server):
    assert ask(f"{server.url}/to//to//to//200") == Passed(http_status=200)
    assert ask(f"{server.url}/to/{server.url}/404", expected=404) == Passed(http_status=404)


def test_an_endless_chain_of_redirects_fails(server):
    class Circle(Handler):
        def do_GET(self):
            self.server.seen.append(self.path)
            self.answer(302, location="/again")

    server.RequestHandlerClass = Circle
    outcome = ask(server.url)
    assert outcome == Failed("status 302 and redirected more than 5 times", http_status=302)
    assert len(server.seen) == 6


def test_an_expected_redirect_is_not_followed(server):
    assert ask(f"{server.url}/to//200", expected=302) == Passed(http_status=302)
    assert ask(f"{server.url}/to//301", expected=301) == Failed("status 302, expected 301", http_status=302)


@pytest.mark.parametrize(
    "target", ["http://169.254.169.254/", "http://2852039166/", "file:///etc/passwd", "http://10.0.0.1/", "gopher://x"]
)
def test_a_redirect_to_a_forbidden_url_is_unknown(server, target):
    assert isinstance(ask(f"{server.url}/to/{target}"), Unknown)


def test_credentials_stay_with_the_server_they_are_meant_for(server):
    with serving(Server()) as other:
        first = server.url.replace("//", "//user:p%40ss@")
        assert ask(f"{first}/to//to/{other.url}/200") == Passed(http_status=200)
        sent = [headers.get("Authorization") for _, headers in server.seen]
        assert sent == ["Basic " + base64.b64encode(b"user:p@ss").decode()] * 2
        assert "Authorization" not in other.seen[0][1]
        assert other.seen[0][1]["Host"] == f"127.0.0.1:{other.server_port}"


def test_a_server_that_does_not_answer_is_unknown(server):
    assert ask(server.url + "/slow", seconds=0.2) == Unknown("no answer within 0.2 s")


def test_a_server_that_answers_slowly_does_not_extend_the_limit(server):
    assert ask(server.url + "/trickle", seconds=0.3) == Unknown("no answer within 0.3 s")


def test_the_body_is_not_read(server):
    assert ask(server.url + "/huge") == Passed(http_status=200)
    server.stopping.set()
    assert server.body_bytes < 50_000_000  # the size of buffers; the whole body has 10**12


def test_a_refused_connection_fails():
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
        assert ask(f"http://127.0.0.1:{port}/") == Failed("the connection is refused")


@for_each("reply", [b"", b"SSH-2.0-OpenSSH\r\n", b"HTTP/1.1 abc\r\n\r\n", b"HTTP/1.1 200 OK\r\n" + b"x" * 70_000])
def test_an_answer_that_is_not_http_is_unknown(reply):
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def answer():
            connection, _ = listening.accept()
            with connection:
                connection.recv(4096)
                connection.sendall(reply)

        threading.Thread(target=answer, daemon=True).start()
        assert isinstance(ask(f"http://127.0.0.1:{listening.getsockname()[1]}/"), Unknown)


def test_proxies_of_the_environment_are_not_used(server, monkeypatch):
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    assert ask(server.url) == Passed(http_status=200)


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tls")
    key, cert = folder / "key.pem", folder / "cert.pem"
    command = [
        "openssl",
        "req",
        "-x509",
        "-newkey",
        "ec",
        "-pkeyopt",
        "ec_paramgen_curve:prime256v1",
        "-nodes",
        "-days",
        "2",
    ]
    command += ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost", "-keyout", key, "-out", cert]
    try:
        subprocess.run(command, check=True, capture_output=True)
    except FileNotFoundError:
        pytest.skip("needs the openssl program to make a certificate")
    return key, cert


@pytest.fixture
def tls_server(server, certificate):
    key, cert = certificate
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(cert, key)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    return server


def test_an_untrusted_certificate_is_unknown(tls_server):
    outcome = ask(f"https://localhost:{tls_server.server_port}/")
    assert isinstance(outcome, Unknown)
    assert "TLS" in outcome.why


def test_the_certificate_must_name_the_host_of_the_url(tls_server, certificate, monkeypatch):
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate[1]))
    port = tls_server.server_port
    assert ask(f"https://localhost:{port}/") == Passed(http_status=200)
    assert "TLS" in ask(f"https://127.0.0.1:{port}/").why


def test_plain_http_on_the_other_end_of_https_is_unknown(server):
    assert "TLS" in ask(f"https://127.0.0.1:{server.server_port}/").why
