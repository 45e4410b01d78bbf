# SPDX-License-Identifier: Apache-2.0
"""A key-value store of the processes of a run: a server in the first process, clients in all.

It stores plain data (numbers below 2**31, strings, lists, dicts), no Tensors. Server and clients
authenticate each other with a secret: ``MGE_DISTRIBUTED_SECRET``, or if that is not set, the secret
of the user's processes on this machine. Messages are not encrypted.
"""

import argparse
import os
import socket
import sys
import threading
import time
import weakref
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from xmlrpc.client import Fault, dumps, loads

from ._connection import (
    MAX_SECONDS,
    Listener,
    WrongSecretError,
    introduce,
    is_closed,
    receive_message,
    send_message,
    shared_secret,
    time_limit,
)

_PATIENCE_SECONDS = 60
_GRACE_SECONDS = 30  # that a server has to answer beyond the time that it may wait
_LEAVE_SECONDS = 1  # a process that ends does not wait longer for a server that may have ended
_LOOK_SECONDS = 1  # between looks whether a client that waits is still there


@dataclass
class _Meeting:
    """Clients at one barrier or broadcast."""

    size: int
    come: int = 0
    value: object = None
    is_over: bool = False
    failure: str = ""


class _Board:
    """The functions that clients call, each call on its own thread."""

    calls = frozenset(
        "bcast_val connect group_barrier leave take_back user_get user_pop user_set".split()
    )

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._values: dict = {}
        self._barriers: dict[str, _Meeting] = {}
        self._broadcasts: dict[str, _Meeting] = {}
        self._left: set = set()  # sources whose values will not arrive
        self._is_closed = False
        self._current = threading.local()  # the connection that a thread answers

    def answer(self, peer: socket.socket, method: str, arguments: tuple):
        """The result of a call."""
        if method not in self.calls:
            raise ValueError(f"there is no method {method!r}")
        self._current.connection = peer
        return getattr(self, method)(*arguments)

    def close(self) -> None:
        """Make all waiting calls fail."""
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()

    def connect(self) -> bool:
        return True

    def user_set(self, key: str, value) -> None:
        with self._changed:
            self._values[key] = value
            self._changed.notify_all()

    def _wait(self, is_over: Callable[[], bool], patience: float, missing: Callable[[], str]):
        """Waits for a change that another client makes, as long as this client does."""
        end = time.monotonic() + patience
        while not self._changed.wait_for(
            lambda: self._is_closed or is_over(),
            max(0.0, min(end - time.monotonic(), _LOOK_SECONDS)),
        ):
            if time.monotonic() >= end:
                raise TimeoutError(f"{missing()} for {patience:g} s")
            if is_closed(self._current.connection):
                raise ConnectionAbortedError("the client has left")
        if self._is_closed:
            raise ConnectionAbortedError("the server is closed")

    def _wait_for_value(self, key: str, patience: float) -> None:
        self._wait(lambda: key in self._values, patience, lambda: "no client has set it")

    def user_get(self, key: str, patience: float):
        with self._changed:
            self._wait_for_value(key, patience)
            return self._values[key]

    def user_pop(self, key: str, patience: float):
        with self._changed:
            self._wait_for_value(key, patience)
            return self._values.pop(key)

    def _join(self, meetings: dict[str, _Meeting], key: str, size: int) -> _Meeting:
        """Takes part in a meeting. A new one begins when all have come."""
        if not isinstance(size, int) or size < 1:
            raise ValueError(f"size must be the number of clients, at least 1, got {size!r}")
        meeting = meetings.setdefault(key, _Meeting(size))
        if size != meeting.size and not meeting.failure:  # some would wait forever, so all get an
            # error
            meeting.failure = f"one client expects {size} clients, another {meeting.size}"
            meeting.is_over = True
            self._changed.notify_all()
        meeting.come += 1
        meeting.size = max(meeting.size, size)
        if meeting.come == meeting.size:
            del meetings[key]
        if meeting.failure:
            raise ValueError(meeting.failure)
        return meeting

    def _wait_in(
        self, meeting: _Meeting, patience: float, missing: str, source: str | None = None
    ) -> None:
        try:
            self._wait(
                lambda: meeting.is_over or source in self._left,
                patience,
                lambda: missing.format(meeting.come, meeting.size),
            )
        finally:
            if not meeting.is_over:
                meeting.come -= 1
        if meeting.failure:
            raise ValueError(meeting.failure)
        if not meeting.is_over:
            raise ConnectionError(f"{source.rpartition(': ')[2]} is gone")  # without the meeting

    def group_barrier(self, key: str, size: int, patience: float) -> None:
        with self._changed:
            barrier = self._join(self._barriers, key, size)
            if barrier.come == size:
                barrier.is_over = True
                self._changed.notify_all()
            self._wait_in(barrier, patience, "{} of {} clients have waited")

    def leave(self, who: str) -> None:
        with self._changed:
            self._left.add(who)
            self._changed.notify_all()

    def bcast_val(self, value, key: str, size: int, source: str | None, patience: float):
        with self._changed:
            broadcast = self._join(self._broadcasts, key, size)
            if value is not None:
                broadcast.value, broadcast.is_over = value, True
                self._changed.notify_all()
            self._wait_in(broadcast, patience, "no client has set it", source)
            return broadcast.value

    def take_back(self, key: str) -> None:
        with self._changed:
            self._broadcasts.pop(key, None)


class _ThreadedServer(Listener):
    """Answers one call on each connection."""

    def __init__(self, address: tuple[str, int], logs: bool) -> None:
        self._board = _Board()
        self._logs = logs
        super().__init__(address)

    def serve(self, peer: socket.socket) -> None:
        request = receive_message(peer, time.monotonic() + _GRACE_SECONDS)
        try:
            arguments, method = loads(request)  # no XML if a text has control characters
            if self._logs:
                print(f"{peer.getpeername()[0]} {method}", file=sys.stderr, flush=True)
            answer = (self._board.answer(peer, method, arguments),)
        except Exception as error:
            answer = Fault(1, str(error))
        message = dumps(answer, methodresponse=True, allow_none=True).encode()
        send_message(peer, message, time.monotonic() + _GRACE_SECONDS)

    def server_close(self) -> None:
        self._board.close()
        super().server_close()


# The servers of this process.
_servers: "weakref.WeakSet[Server]" = weakref.WeakSet()


def _leave_to_parent() -> None:
    """Close the parent's servers in a child made by fork(): nothing answers at their ports."""
    for server in _servers:
        server._leave_to_parent()


os.register_at_fork(after_in_child=_leave_to_parent)


def _stop(server: _ThreadedServer, thread: threading.Thread) -> None:
    server.shutdown()
    thread.join()
    server.server_close()


class Server:
    """Answers clients on a thread of this process, until the process or the object ends.

    Children made by ``fork`` have no part in it. A client that does not know the secret
    (``MGE_DISTRIBUTED_SECRET``) is turned away.

    Args:
        port: its port; 0 selects a free one, which ``py_server_port`` returns.
        host: the address at which it listens; by default all addresses of this machine.
    Raises:
        OSError: the port is taken.
        ValueError: ``MGE_DISTRIBUTED_SECRET`` is too short.
    Example:
        >>> server = Server()
        >>> client = Client("localhost", server.py_server_port)
        >>> client.user_set("epoch", 3)
        >>> client.user_get("epoch")
        3
        >>> server.close()
    """

    def __init__(self, port: int = 0, host: str = "0.0.0.0") -> None:
        server = _ThreadedServer((host, port), logs=False)
        self.py_server_port: int = server.server_address[1]
        thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
        thread.start()
        self._server = server
        self._finalizer = weakref.finalize(self, _stop, server, thread)
        _servers.add(self)

    def close(self) -> None:
        """End the server, its connections and its threads. Calls that wait fail."""
        self._finalizer()

    def _leave_to_parent(self) -> None:
        self._finalizer.detach()  # it would wait for a thread that is not here
        self._server.socket.close()


class Client:
    """Speaks with a server.

    A call that waits for other clients gives up after ``MGE_DISTRIBUTED_TIMEOUT`` seconds, 1800 if
    that is not set.

    Args:
        master_ip: the server's machine.
        port: the server's port.
        timeout: seconds instead of ``MGE_DISTRIBUTED_TIMEOUT``.
    Raises:
        ConnectionError: no server has answered for a minute, or it has another secret.
        ValueError: ``MGE_DISTRIBUTED_SECRET``, ``MGE_DISTRIBUTED_TIMEOUT`` or ``timeout`` has no
            valid value.
    Example:
        >>> server = Server()
        >>> client = Client("localhost", server.py_server_port)
        >>> client.connect()
        >>> client.user_set("path", "/data")
        >>> client.user_get("path"), client.user_pop("path")
        ('/data', '/data')
        >>> client.group_barrier("start", 1)
        >>> client.bcast_val(0.5, "loss", 1)
        0.5
        >>> client.leave("trainer 1")
        >>> try:
        ...     client.bcast_val(None, "loss", 2, source="trainer 1")
        ... except RuntimeError:
        ...     print("trainer 1 has left")
        trainer 1 has left
    """

    def __init__(self, master_ip: str, port: int, timeout: float | None = None) -> None:
        self.master_ip = master_ip
        self.port = port
        self._secret = shared_secret()
        self._time_limit = time_limit(timeout)
        self._broadcasts: Counter = Counter()
        self.connect()

    def _call(self, method: str, *arguments):
        return self._request(method, arguments, 0)

    def _call_patiently(self, method: str, *arguments, patience: float | None = None):
        """A call that waits for other clients."""
        patience = self._time_limit if patience is None else min(patience, MAX_SECONDS / 2)
        return self._request(method, (*arguments, patience), patience)

    def _request(self, method: str, arguments: tuple, patience: float, grace: float | None = None):
        # Each call has its own connection, so a waiting call blocks no other.
        grace = _GRACE_SECONDS if grace is None else grace
        limit = patience + grace
        request = dumps(arguments, method, allow_none=True).encode("utf-8", "xmlcharrefreplace")
        try:
            place, end = (self.master_ip, self.port), time.monotonic() + limit
            with socket.create_connection(place, grace) as connection:
                introduce(connection, self._secret, min(end, time.monotonic() + grace))
                send_message(connection, request, end)
                answer = receive_message(connection, end)
        except TimeoutError:
            raise TimeoutError(
                f"[{method}] the server at {self.master_ip}:{self.port} has not answered in time: "
                "it is stopped, or its machine is unreachable"
            ) from None
        except ValueError as error:
            raise ValueError(f"[{method}] {error}") from None
        try:
            ((result,), _) = loads(answer)
            return result
        except Fault as fault:
            raise RuntimeError(f"[{method}] {fault.faultString}") from None

    def connect(self) -> None:
        """Wait until the server answers.

        Raises:
            ConnectionError: no server has answered for a minute, or it has another secret.
        """
        end = time.monotonic() + _PATIENCE_SECONDS
        while True:
            try:
                self._call("connect")
                return
            except OSError as error:
                if time.monotonic() > end or isinstance(error, WrongSecretError):
                    raise ConnectionError(
                        f"[Client] no server at {self.master_ip}:{self.port}: {error}"
                    ) from error
                time.sleep(0.1)

    def group_barrier(self, key: str, size: int) -> None:
        """Wait until a number of clients wait.

        Args:
            key: name of the barrier.
            size: number of clients.
        Raises:
            RuntimeError: the others have not arrived in time, or name another size.
        """
        self._call_patiently("group_barrier", key, size)

    def user_set(self, key: str, val) -> None:
        """Set the value of a name.

        Args:
            key: the name.
            val: plain data.
        """
        self._call("user_set", key, val)

    def user_get(self, key: str, patience: float | None = None):
        """The value of a name. Waits until it is set.

        Args:
            key: the name.
            patience: seconds to wait at most; None: ``MGE_DISTRIBUTED_TIMEOUT``.
        Returns:
            The value.
        Raises:
            RuntimeError: no client has set it in time.
        """
        return self._call_patiently("user_get", key, patience=patience)

    def user_pop(self, key: str):
        """Remove a name and return its value. Waits until it is set.

        Raises:
            RuntimeError: no client has set it in time.
        """
        return self._call_patiently("user_pop", key)

    def leave(self, who: str) -> None:
        """Report that a source sets no more values.

        Args:
            who: the ``source`` for which others wait.
        """
        self._request("leave", (who,), 0, grace=_LEAVE_SECONDS)

    def bcast_val(
        self,
        val,
        key: str,
        size: int,
        source: str | None = None,
        patience: float | None = None,
    ):
        """Broadcast the value of one of several clients to all of them.

        Args:
            val: plain data on one of them; None on the others.
            key: name of the value; it may be reused.
            size: number of clients.
            source: the client that sets it, as passed to ``leave``.
            patience: seconds to wait at most; None: ``MGE_DISTRIBUTED_TIMEOUT``.
        Returns:
            The value.
        Raises:
            RuntimeError: the source has left, has not set it in time, or another client names
                another size.
        """
        self._broadcasts[key] += 1
        return self._call_patiently(
            "bcast_val", val, self._turn(key), size, source, patience=patience
        )

    def take_back(self, key: str) -> None:
        """Withdraw the last ``bcast_val`` of that name for clients that have not read it yet.

        Args:
            key: name of the value.
        Example:
            >>> server = Server()
            >>> client = Client("localhost", server.py_server_port)
            >>> client.bcast_val("weights.pkl", "path", 2)
            'weights.pkl'
            >>> client.take_back("path")  # the second of the two clients has not read it
        """
        self._call("take_back", self._turn(key))

    def _turn(self, key: str) -> str:
        return f"{key}_bcast_{self._broadcasts[key]}"


def main(port: int = 0, verbose: bool = True) -> None:
    """Serve until the process is ended.

    Args:
        port: where; 0 takes a free one, which is printed.
        verbose: whether requests are logged.
    Raises:
        OSError: the port is taken.
    """
    with _ThreadedServer(("0.0.0.0", port), logs=verbose) as server:
        print("serving on port", server.server_address[1], flush=True)
        server.serve_forever()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="The server through which processes meet.")
    parser.add_argument("-p", "--port", type=int, default=0, help="0: a free one")
    parser.add_argument("-v", "--verbose", action=argparse.BooleanOptionalAction, default=True)
    main(**vars(parser.parse_args()))
