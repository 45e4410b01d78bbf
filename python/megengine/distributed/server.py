# SPDX-License-Identifier: Apache-2.0
"""Values that the processes of a run tell each other: a server of the first, clients of all.

Plain data goes through it (numbers below 2**31, texts, lists, dicts), no Tensors. There is no
password: whoever reaches the port can read and change what is there.
"""

import argparse
import os
import threading
import time
import weakref
from collections import Counter
from socketserver import ThreadingMixIn
from xmlrpc.client import Fault, ServerProxy
from xmlrpc.server import SimpleXMLRPCServer

_PATIENCE_SECONDS = 60


class _Board:
    """What the clients call, each call on a thread of its own."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._values: dict = {}
        self._waiting: Counter = Counter()  # at a barrier
        self._opened: Counter = Counter()  # how often a barrier has opened
        self._left: dict = {}  # how many clients have to take part in a broadcast yet
        self._gone: set = set()  # whose values will not come

    def connect(self) -> bool:
        return True

    def user_set(self, key: str, value) -> None:
        with self._changed:
            self._values[key] = value
            self._changed.notify_all()

    def _wait_for_value(
        self, key: str, patience: float | None = None, source: str | None = None
    ) -> None:
        def is_over() -> bool:
            return key in self._values or source in self._gone

        if not self._changed.wait_for(is_over, patience):
            raise TimeoutError(f"nobody has given it for {patience} s")
        if key not in self._values:
            raise ConnectionError(f"{source} is gone")

    def user_get(self, key: str, patience: float | None = None):
        with self._changed:
            self._wait_for_value(key, patience)
            return self._values[key]

    def user_pop(self, key: str):
        with self._changed:
            self._wait_for_value(key)
            return self._values.pop(key)

    def group_barrier(self, key: str, size: int) -> None:
        with self._changed:
            turn = self._opened[key]
            self._waiting[key] += 1
            if self._waiting[key] < size:
                self._changed.wait_for(lambda: self._opened[key] > turn)
                return
            self._waiting[key] = 0
            self._opened[key] += 1
            self._changed.notify_all()

    def leave(self, who: str) -> None:
        with self._changed:
            self._gone.add(who)
            self._changed.notify_all()

    def bcast_val(
        self,
        value,
        key: str,
        size: int,
        source: str | None = None,
        patience: float | None = None,
    ):
        with self._changed:
            self._left.setdefault(key, size)
            if value is not None:
                self._values[key] = value
                self._changed.notify_all()
            self._wait_for_value(key, patience, source)
            found = self._values[key]
            self._left[key] -= 1
            if self._left[key] == 0:
                del self._left[key], self._values[key]
            return found

    def take_back(self, key: str) -> None:
        with self._changed:
            self._values.pop(key, None)
            self._left.pop(key, None)


class _ThreadedServer(ThreadingMixIn, SimpleXMLRPCServer):
    daemon_threads = True


# Those of this process.
_servers: "weakref.WeakSet[Server]" = weakref.WeakSet()


def _leave_to_parent() -> None:
    """A child made by fork() has copies of the parent's servers: ports where nobody answers."""
    for server in _servers:
        server._leave_to_parent()


os.register_at_fork(after_in_child=_leave_to_parent)


def _listen(port: int, logs: bool) -> _ThreadedServer:
    server = _ThreadedServer(("0.0.0.0", port), logRequests=logs, allow_none=True)
    server.register_instance(_Board())
    return server


def _stop(server: _ThreadedServer) -> None:
    server.shutdown()
    server.server_close()


class Server:
    """Answers clients on a thread of this process, until the process or the object ends.

    Children made by ``fork`` have no part in it.

    Args:
        port: where; 0 takes a free one, which ``py_server_port`` tells.
    Raises:
        OSError: the port is taken.
    Example:
        >>> server = Server()
        >>> client = Client("localhost", server.py_server_port)
        >>> client.user_set("epoch", 3)
        >>> client.user_get("epoch")
        3
    """

    def __init__(self, port: int = 0) -> None:
        server = _listen(port, logs=False)
        self.py_server_port: int = server.server_address[1]
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        self._server = server
        self._finalizer = weakref.finalize(self, _stop, server)
        _servers.add(self)

    def _leave_to_parent(self) -> None:
        self._finalizer.detach()  # it would wait for a thread that is not here
        self._server.socket.close()


class Client:
    """Speaks with a server.

    Args:
        master_ip: the server's machine.
        port: the server's port.
    Raises:
        ConnectionError: nobody has answered for a minute.
    Example:
        >>> server = Server()
        >>> client = Client("localhost", server.py_server_port)
        >>> client.user_set("path", "/data")
        >>> client.user_pop("path")
        '/data'
    """

    def __init__(self, master_ip: str, port: int) -> None:
        self.master_ip = master_ip
        self.port = port
        self._broadcasts: Counter = Counter()
        self.connect()

    def _call(self, method: str, *arguments):
        # A connection for each call: one that waits holds up no other.
        with ServerProxy(f"http://{self.master_ip}:{self.port}", allow_none=True) as proxy:
            try:
                return getattr(proxy, method)(*arguments)
            except Fault as fault:
                raise RuntimeError(f"[{method}] {fault.faultString}") from None

    def connect(self) -> None:
        """Wait until the server is there.

        Raises:
            ConnectionError: nobody has answered for a minute.
        """
        end = time.monotonic() + _PATIENCE_SECONDS
        while True:
            try:
                self._call("connect")
                return
            except OSError as error:
                if time.monotonic() > end:
                    raise ConnectionError(
                        f"[Client] no server at {self.master_ip}:{self.port}: {error}"
                    ) from error
                time.sleep(0.1)

    def group_barrier(self, key: str, size: int) -> None:
        """Wait until so many clients wait.

        Args:
            key: what they call it.
            size: how many they are.
        """
        self._call("group_barrier", key, size)

    def user_set(self, key: str, val) -> None:
        """Give a value a name.

        Args:
            key: the name.
            val: plain data.
        """
        self._call("user_set", key, val)

    def user_get(self, key: str, patience: float | None = None):
        """The value of a name; waits until there is one.

        Args:
            key: the name.
            patience: seconds to wait at most; None: for as long as it takes.
        Returns:
            The value.
        Raises:
            RuntimeError: nobody has given one meanwhile.
        """
        return self._call("user_get", key, patience)

    def user_pop(self, key: str):
        """The value of a name, which it loses; waits until there is one."""
        return self._call("user_pop", key)

    def leave(self, who: str) -> None:
        """Say that somebody gives no values any more.

        Args:
            who: the ``source`` that others wait for.
        """
        self._call("leave", who)

    def bcast_val(
        self,
        val,
        key: str,
        size: int,
        source: str | None = None,
        patience: float | None = None,
    ):
        """What one of several clients gives, for all of them.

        Args:
            val: plain data, of one of them; None of the others.
            key: what they call it; it may be used again.
            size: how many they are.
            source: who gives it, as ``leave`` would name it.
            patience: seconds to wait at most; None: for as long as it takes.
        Returns:
            The value.
        Raises:
            RuntimeError: who gives it has left, or nobody has given it meanwhile.
        """
        self._broadcasts[key] += 1
        return self._call("bcast_val", val, self._turn(key), size, source, patience)

    def take_back(self, key: str) -> None:
        """Give nothing to those who have not come yet for the last ``bcast_val`` of that name.

        Args:
            key: what the clients call it.
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
    with _listen(port, logs=verbose) as server:
        print("serving on port", server.server_address[1], flush=True)
        server.serve_forever()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="The server through which processes meet.")
    parser.add_argument("-p", "--port", type=int, default=0, help="0: a free one")
    parser.add_argument("-v", "--verbose", action=argparse.BooleanOptionalAction, default=True)
    main(**vars(parser.parse_args()))
