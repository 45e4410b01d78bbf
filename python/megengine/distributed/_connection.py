# SPDX-License-Identifier: Apache-2.0
"""Connections whose two ends have authenticated each other with a shared secret, which is never
sent.

The accepting end sends a challenge of random bytes. The other end answers with an HMAC of it and
with its own challenge, which the first end answers in turn. Later messages are neither encrypted
nor signed.
"""

import contextlib
import hmac
import math
import multiprocessing
import os
import secrets
import socket
import socketserver
import stat
import struct
import threading
import time
from pathlib import Path

from .. import _mge
from ..logger import get_logger

MAX_MESSAGE_BYTES = 16 << 20
MAX_SECONDS = 2_000_000.0  # poll(2) takes milliseconds of 31 bits
_GREETING_SECONDS = 10
_MAX_STRANGERS = 128
_LEAST_SECRET = 16  # characters

_NAME = b"MGEjoin1"
_RANDOM_BYTES = _PROOF_BYTES = 32
_NO_PROOF = bytes(_PROOF_BYTES)
_LENGTH = struct.Struct(">Q")


class WrongSecretError(ConnectionError):
    """The two ends of a connection have different secrets."""


def time_limit(given: float | None = None) -> float:
    """Seconds that a process waits for others: 1800 unless ``MGE_DISTRIBUTED_TIMEOUT`` is set.

    Args:
        given: takes precedence over the variable.
    Raises:
        ValueError: it is not a number of seconds.
    """
    name = "MGE_DISTRIBUTED_TIMEOUT" if given is None else "timeout"
    value = os.environ.get(name) or "1800" if given is None else given
    seconds = math.nan
    with contextlib.suppress(ValueError, TypeError):
        seconds = float(value)
    if not 0 < seconds <= MAX_SECONDS:
        raise ValueError(
            f"[distributed] {name} is {value!r}; it must be a number of seconds above 0 and "
            f"at most {MAX_SECONDS:.0f}"
        )
    return seconds


def shared_secret() -> bytes:
    """The secret of this user's processes.

    The secret is ``MGE_DISTRIBUTED_SECRET`` if that is set, else a random one in a file of the
    user's cache folder, or that of ``multiprocessing`` if such a file cannot be used.

    Raises:
        ValueError: the variable is too short.
    """
    given = os.environ.get("MGE_DISTRIBUTED_SECRET", "")
    if 0 < len(given) < _LEAST_SECRET:
        raise ValueError(
            f"[distributed] MGE_DISTRIBUTED_SECRET has {len(given)} characters; it must have at "
            f"least {_LEAST_SECRET} (openssl rand -hex 32 prints a good one)"
        )
    if given:
        return os.fsencode(given)
    folder = _mge.cache_folder()
    try:
        return _secret_of_file(Path(os.fsdecode(folder)) / "mge")
    except (OSError, TypeError):  # there is no folder, or it is not writable
        return bytes(multiprocessing.current_process().authkey)


def _secret_of_file(folder: Path) -> bytes:
    """The secret in a file that only this user can read; makes a missing file."""
    path, mine = folder / "distributed-secret", folder / f".{secrets.token_hex(8)}"
    if not os.path.lexists(path):
        folder.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(mine, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            with open(descriptor, "w") as file:
                file.write(secrets.token_hex(32))
            with contextlib.suppress(FileExistsError):
                os.link(mine, path)  # the first of several processes wins
        finally:
            mine.unlink()
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    with open(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        is_private = status.st_uid == os.getuid() and not status.st_mode & 0o077
        if not (is_private and stat.S_ISREG(status.st_mode) and status.st_size >= _LEAST_SECRET):
            raise PermissionError(f"{path} must belong to this user and be readable by no one else")
        return file.read(1024)


def _wait_until(connection: socket.socket, end: float) -> None:
    left = end - time.monotonic()
    if left <= 0:
        raise TimeoutError("timed out")
    connection.settimeout(min(left, MAX_SECONDS))


def _receive(connection: socket.socket, count: int, end: float) -> bytes:
    data = bytearray()
    while len(data) < count:
        _wait_until(connection, end)
        part = connection.recv(min(count - len(data), 1 << 20))
        if not part:
            raise ConnectionResetError("the peer has closed the connection")
        data += part
    return bytes(data)


def _send(connection: socket.socket, data: bytes, end: float) -> None:
    _wait_until(connection, end)
    connection.sendall(data)


def _proof(secret: bytes, role: bytes, *challenges: bytes) -> bytes:
    return hmac.digest(secret, b"".join((_NAME, role, *challenges)), "sha256")


def welcome(connection: socket.socket, secret: bytes, end: float) -> None:
    """Make the connecting end prove that it knows the secret, and prove it in turn.

    Args:
        end: when to give up, by ``time.monotonic``.
    Raises:
        WrongSecretError: the peer does not know the secret.
        OSError: the connection is lost, or the time is over.
    """
    ours = secrets.token_bytes(_RANDOM_BYTES)
    _send(connection, _NAME + ours, end)
    answer = _receive(connection, _RANDOM_BYTES + _PROOF_BYTES, end)
    theirs, proof = answer[:_RANDOM_BYTES], answer[_RANDOM_BYTES:]
    if not hmac.compare_digest(proof, _proof(secret, b"guest", ours, theirs)):
        _send(connection, _NO_PROOF, end)
        raise WrongSecretError("the peer does not know the secret")
    _send(connection, _proof(secret, b"host", theirs, ours), end)


def introduce(connection: socket.socket, secret: bytes, end: float) -> None:
    """Prove to the accepting end that this one knows the secret; make it prove the same.

    Args:
        end: when to give up, by ``time.monotonic``.
    Raises:
        WrongSecretError: the peer does not know the secret.
        OSError: the connection is lost, or the time is over.
    """
    challenge = _receive(connection, len(_NAME) + _RANDOM_BYTES, end)
    if challenge[: len(_NAME)] != _NAME:
        raise WrongSecretError("it is not a server of megengine.distributed")
    theirs, ours = challenge[len(_NAME) :], secrets.token_bytes(_RANDOM_BYTES)
    _send(connection, ours + _proof(secret, b"guest", theirs, ours), end)
    proof = _receive(connection, _PROOF_BYTES, end)
    if not hmac.compare_digest(proof, _proof(secret, b"host", ours, theirs)):
        raise WrongSecretError(
            "its secret differs: set MGE_DISTRIBUTED_SECRET to the same text in all processes"
        )


def send_message(connection: socket.socket, message: bytes, end: float) -> None:
    """Sends bytes that ``receive_message`` gives to the other end.

    Raises:
        ValueError: there are more than ``MAX_MESSAGE_BYTES``.
        OSError: the connection is lost, or the time is over.
    """
    if len(message) > MAX_MESSAGE_BYTES:
        raise ValueError(
            f"a message of {len(message)} bytes is too long; {MAX_MESSAGE_BYTES} are allowed"
        )
    _send(connection, _LENGTH.pack(len(message)) + message, end)


def receive_message(connection: socket.socket, end: float) -> bytes:
    """Receive a message. Messages above the size limit are refused before memory is allocated.

    Raises:
        ConnectionError: the other end announces more than ``MAX_MESSAGE_BYTES``.
        OSError: the connection is lost, or the time is over.
    """
    (count,) = _LENGTH.unpack(_receive(connection, _LENGTH.size, end))
    if count > MAX_MESSAGE_BYTES:
        raise ConnectionError(
            f"a message of {count} bytes is announced, but at most {MAX_MESSAGE_BYTES} are allowed"
        )
    return _receive(connection, count, end)


def is_closed(connection: socket.socket) -> bool:
    """True if the peer has closed the connection. It may not have sent anything unread."""
    connection.setblocking(False)
    try:
        return not connection.recv(1, socket.MSG_PEEK)
    except BlockingIOError:
        return False
    except OSError:
        return True


class Listener(socketserver.ThreadingTCPServer):
    """Accepts peers that know the secret, each on its own thread.

    Silent peers do not block others. When too many peers are unauthenticated, the oldest is
    rejected. ``server_close`` ends all connections and waits for their threads.
    """

    allow_reuse_address = True
    request_queue_size = 128

    def __init__(self, address: tuple[str, int]) -> None:
        self.secret = shared_secret()
        self._strangers: dict[socket.socket, None] = {}  # in the order in which they came
        self._connections: dict[threading.Thread, socket.socket] = {}
        self._lock = threading.Lock()
        super().__init__(address, None)

    def process_request(self, request, client_address) -> None:
        place = request, client_address
        thread = threading.Thread(target=self.process_request_thread, args=place, daemon=True)
        with self._lock:
            thread.start()
            self._connections[thread] = request

    def process_request_thread(self, request, client_address) -> None:
        try:
            super().process_request_thread(request, client_address)
        finally:
            with self._lock:
                del self._connections[threading.current_thread()]

    def server_close(self) -> None:
        super().server_close()
        with self._lock:
            connections = dict(self._connections)
        for thread, connection in connections.items():
            with contextlib.suppress(OSError):  # its thread may be closing it
                connection.shutdown(socket.SHUT_RDWR)
            if thread is not threading.current_thread():
                thread.join()

    def serve(self, peer: socket.socket) -> None:
        """Serves a guest that has proved itself."""
        raise NotImplementedError

    def finish_request(self, request, client_address) -> None:
        with self._lock:
            if len(self._strangers) >= _MAX_STRANGERS:
                oldest = next(iter(self._strangers))
                del self._strangers[oldest]
                with contextlib.suppress(OSError):
                    oldest.shutdown(socket.SHUT_RDWR)
            self._strangers[request] = None
        try:
            welcome(request, self.secret, time.monotonic() + _GREETING_SECONDS)
        finally:
            with self._lock:
                self._strangers.pop(request, None)
        self.serve(request)

    def handle_error(self, request, client_address) -> None:
        get_logger().debug(
            "[distributed] connection from %s is refused", client_address, exc_info=True
        )
