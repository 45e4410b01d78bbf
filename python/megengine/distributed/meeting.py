# SPDX-License-Identifier: Apache-2.0
"""Connects the processes of a run."""

import contextlib
import hmac
import ipaddress
import json
import os
import secrets
import socket
from collections.abc import Callable
from dataclasses import dataclass

from .. import _mge
from ._connection import time_limit
from .launch import Launch
from .server import Client, Server

_PATIENCE_SECONDS = 300  # until the slowest process has come
_MESSAGE_BYTES = 1024  # size of the message with the server's address from the first process of an
# MPI run

_MPI = ("openmpi", "mpich")


@dataclass
class Meeting:
    """The processes of a run, as seen by one of them.

    Args:
        engine: carries the data.
        client: client of the server.
        name: name of the meeting on the server, which may have had earlier meetings.
        rank: number of this process.
        own_server: server that this process runs for the others, if it does.
    """

    engine: str
    client: Client
    name: str
    rank: int
    own_server: Server | None = None

    @property
    def server(self) -> tuple[str, int]:
        """Machine and port of the server."""
        return self.client.master_ip, self.client.port

    def name_of(self, rank: int) -> str:
        """The name of a process of this meeting; processes of an earlier one may still be
        leaving."""
        return f"{self.name}: process {rank}"

    def leave(self, failure: str) -> None:
        """Tell the others that this process ends.

        Args:
            failure: the error because of which it ends, for the others' messages; else empty. MPI
                then ends the others, too.
        """
        if failure:  # first: they may wait for this process
            _mge.close_processes(failure)
        with contextlib.suppress(OSError):  # the server may have ended before
            self.client.leave(self.name_of(self.rank))
        _mge.close_processes("")


def meet(
    launch: Launch, backend: str, is_served: bool, timeout: float | None, record: str
) -> Meeting:
    """Connect with the other processes.

    Args:
        launch: rank of this process and the number of processes.
        backend: engine, or any other name for an automatic choice.
        is_served: whether a server runs already; else the first process starts one.
        timeout: seconds without an answer after which an exchange fails; None: the default.
        record: where the last exchanges are written after a failure; empty: nowhere.
    """
    engine = backend if backend in ("gloo", *_MPI) else launch.engine or "gloo"
    limit, server = time_limit(timeout), None
    if engine in _MPI:
        server, launch = _meet_by_mpi(launch, engine, limit, record)
    elif not is_served and launch.rank == 0:
        server = Server(launch.port)
    client, is_first = Client(launch.master_ip, launch.port, limit), launch.rank == 0
    name = secrets.token_hex(32) if is_first else None
    try:
        name = _request(0, client.bcast_val, name, "token", launch.world_size)
        if engine not in _MPI:
            _connect(launch, engine, _Board(client, name, launch), record)
    except BaseException:
        if is_first:  # processes that come now would take it for the name of the next meeting
            with contextlib.suppress(OSError, RuntimeError):
                client.take_back("token")
        raise
    return Meeting(engine, client, name, launch.rank, server)


def _meet_by_mpi(
    launch: Launch, engine: str, limit: float, record: str
) -> tuple[Server | None, Launch]:
    """Joins the processes that mpirun started, and learns where the server of the first one is."""
    _mge.open_engine(engine, "", launch.rank, launch.world_size)
    _mge.join_processes([b""] * launch.world_size, _PATIENCE_SECONDS, limit, [], record)
    server, mine = None, {"host": socket.gethostname()}
    if launch.rank == 0:
        secret = os.environ.setdefault("MGE_DISTRIBUTED_SECRET", secrets.token_hex(32))
        server = Server()
        mine |= {"port": server.py_server_port, "secret": secret}
    text = json.dumps(mine).encode().ljust(_MESSAGE_BYTES)
    all_texts = _mge.exchange_bytes(text, "addresses of processes")
    first, *others = [json.loads(text) for text in all_texts]
    is_one_machine = all(other["host"] == first["host"] for other in others)
    os.environ["MGE_DISTRIBUTED_SECRET"] = first["secret"]
    host = "localhost" if is_one_machine else first["host"]
    place = launch.rank, launch.world_size, launch.local_rank, engine
    return server, Launch(*place, host, first["port"])


@dataclass
class _Board:
    """Exchanges the addresses of a meeting's processes."""

    client: Client
    meeting: str
    launch: Launch

    def gather(self, what: str, mine) -> list:
        """The values of all processes, by rank."""
        # The server may still have values of processes that met there before.
        self.client.user_set(f"{self.meeting} {what} {self.launch.rank}", mine)
        keys = [f"{self.meeting} {what} {other}" for other in range(self.launch.world_size)]
        return [_request(other, self.client.user_get, key) for other, key in enumerate(keys)]

    def host(self) -> str:
        """The address of this machine at which the other processes reach this one."""
        place = self.client.master_ip, self.client.port
        with socket.create_connection(place, _PATIENCE_SECONDS) as to_server:
            mine, server = to_server.getsockname()[0], to_server.getpeername()[0]
        servers = [server for server in self.gather("server", server) if not _is_loopback(server)]
        # A process that reaches the server by loopback is on its machine.
        return servers[0] if _is_loopback(mine) and servers else mine

    def proofs(self) -> list[tuple[str, str]]:
        """By rank, the text by which this process proves to that one that it knows the secret, and
        the text expected from it. They are used once."""

        def proof(sender: int, receiver: int) -> str:
            pair = f"{self.meeting} {sender} {receiver}"
            return hmac.new(self.client._secret, pair.encode(), "sha256").hexdigest()

        mine, others = self.launch.rank, range(self.launch.world_size)
        return [(proof(mine, other), proof(other, mine)) for other in others]

    def require_same(self, what: str, mine: str) -> None:
        """Refuses processes that disagree.

        Raises:
            RuntimeError: a process has another value.
        """
        values = self.gather(what, mine)
        others = [other for other, theirs in enumerate(values) if theirs != mine]
        if others:
            with contextlib.suppress(OSError, RuntimeError):  # the server ends with its process
                key = f"{self.meeting} {what}"
                self.client._call_patiently("group_barrier", key, len(values), patience=5)
            raise RuntimeError(
                f"[init_process_group] process {others[0]} uses {values[others[0]]}, process "
                f"{self.launch.rank} uses {mine}; all must use the same"
            )


def _connect(launch: Launch, engine: str, board: _Board, record: str) -> None:
    board.require_same("library", f"MGE {_mge.__version__} over {engine}")
    address = _mge.open_engine(engine, board.host(), launch.rank, launch.world_size)
    addresses = [bytes.fromhex(text) for text in board.gather("address", address.hex())]
    limit = board.client._time_limit
    _mge.join_processes(addresses, _PATIENCE_SECONDS, limit, board.proofs(), record)


def _request(other: int, get: Callable, *arguments):
    """The value of another process."""
    try:
        return get(*arguments, patience=_PATIENCE_SECONDS)
    except RuntimeError:
        raise RuntimeError(
            f"[init_process_group] process {other} has not joined within {_PATIENCE_SECONDS} s"
        ) from None


def _is_loopback(host: str) -> bool:
    return ipaddress.ip_address(host).is_loopback
