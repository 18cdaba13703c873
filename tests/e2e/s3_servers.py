"""S3 servers on loopback and a way to one that loses, or refuses, some of what is asked."""

from __future__ import annotations

import contextlib
import http.client
import os
import random
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, NamedTuple

KEY, SECRET, BUCKET = "AKIDTESTS", "a-secret-of-the-tests", "bucket"


class Server(NamedTuple):
    """Where it listens; what a client's environment must say."""

    host: str
    port: int

    @property
    def url(self) -> str:
        return f"http://{self.host}:{self.port}"

    def environment(self, **more: str) -> dict[str, str]:
        said = {"AWS_ACCESS_KEY_ID": KEY, "AWS_SECRET_ACCESS_KEY": SECRET}
        said.update(AWS_ENDPOINT_URL=self.url, AWS_DEFAULT_REGION="us-east-1")
        nobody = {"AWS_CONFIG_FILE": os.devnull, "AWS_SHARED_CREDENTIALS_FILE": os.devnull}
        return {**said, **nobody, "AWS_EC2_METADATA_DISABLED": "true", **more}


@contextlib.contextmanager
def moto() -> Iterator[Server]:
    """Knows conditions; takes any secret."""
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    try:
        host, port = server.get_host_and_port()
        yield _with_bucket(Server(host, port))
    finally:
        server.stop()


@contextlib.contextmanager
def nanio(folder: Path) -> Iterator[Server]:
    """Checks signatures; knows no conditions."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    words = ("serve", "--host", "127.0.0.1", "--port", str(port), "--data-dir", str(folder))
    process = subprocess.Popen(
        (sys.executable, "-m", "nanio", *words, "--log-level", "error", "--no-access-log"),
        env={**os.environ, "NANIO_ACCESS_KEY": KEY, "NANIO_SECRET_KEY": SECRET},
    )
    try:
        _listening(port)
        yield _with_bucket(Server("127.0.0.1", port))
    finally:
        process.terminate()
        process.wait()


def _listening(port: int) -> None:
    end = time.monotonic() + 30
    while True:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port)):
            return
        assert time.monotonic() < end, "the server does not listen"
        time.sleep(0.05)


def _with_bucket(server: Server) -> Server:
    import boto3

    client = boto3.client(
        "s3",
        endpoint_url=server.url,
        aws_access_key_id=KEY,
        aws_secret_access_key=SECRET,
        region_name="us-east-1",
    )
    client.create_bucket(Bucket=BUCKET)
    return server


Fate = Callable[[str, str, int], "str | None"]
"""(method, path, number of the request) -> before, after (lost then), deny, or None: it passes."""


def one_in_five(seed: int = 1) -> Fate:
    """A fifth of all requests is lost, half of them before they come there, half their answers."""
    draw = random.Random(seed)
    return lambda method, path, number: (
        draw.choice(("before", "after")) if draw.random() < 0.2 else None
    )


@contextlib.contextmanager
def way(to: Server, fate: Fate) -> Iterator[Server]:
    """A server that hands requests on, but for those that meet another fate."""
    count = iter(range(1 << 30))

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def handle_one_request(self) -> None:
            with contextlib.suppress(ConnectionError):
                super().handle_one_request()

        def log_message(self, *told: Any) -> None:
            pass

        def passed(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            met = fate(self.command, self.path, next(count))
            if met == "before":
                return self._lost()
            if met == "deny":
                return self._denied()
            upstream = http.client.HTTPConnection(to.host, to.port, timeout=30)
            headers = {k: v for k, v in self.headers.items() if k.lower() != "expect"}
            upstream.request(self.command, self.path, body, headers)
            answer = upstream.getresponse()
            data = answer.read()
            upstream.close()
            if met == "after":
                return self._lost()
            return self._answer(answer.status, answer.getheaders(), data)

        def _lost(self) -> None:
            self.close_connection = True
            self.connection.shutdown(socket.SHUT_RDWR)

        def _denied(self) -> None:
            told = b"<Error><Code>AccessDenied</Code><Message>read only</Message></Error>"
            self._answer(403, [("Content-Type", "application/xml")], told)

        def _answer(self, status: int, headers: list[tuple[str, str]], data: bytes) -> None:
            self.send_response_only(status)
            sized = {"content-length", "transfer-encoding", "connection"}
            for name, value in headers:
                if name.lower() not in sized or (
                    self.command == "HEAD" and name.lower() != "connection"
                ):
                    self.send_header(name, value)
            if self.command != "HEAD":
                self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        do_GET = do_PUT = do_POST = do_DELETE = do_HEAD = passed  # noqa: N815

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield Server("127.0.0.1", server.server_address[1])
    finally:
        server.shutdown()
        server.server_close()
