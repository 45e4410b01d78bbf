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

    def leave(self, has_failed: bool) -> None:
        """Tell the others that this process ends.

        Args:
            has_failed: whether it ends because of an error; MPI then ends the others.
        """
        with contextlib.suppress(OSError):  # the server may have ended before
            self.client.leave(self.name_of(self.rank))
        _mge.close_processes(has_failed)


def meet(launch: Launch, backend: str, is_served: bool) -> Meeting:
    """Connect with the other processes.

    Args:
        launch: rank of this process and the number of processes.
        backend: engine, or any other name for an automatic choice.
        is_served: whether a server runs already; else the first process starts one.
    """
    engine = _choose_engine(launch, backend)
    server = None
    if engine in _MPI:
        server, launch = _meet_by_mpi(launch, engine)
    elif not is_served and launch.rank == 0:
        server = Server(launch.port)
    client, is_first = Client(launch.master_ip, launch.port), launch.rank == 0
    name = secrets.token_hex(32) if is_first else None
    try:
        name = _request(0, client.bcast_val, name, "token", launch.world_size)
        if engine not in _MPI:
            connect = _connect_mesh if engine == "mesh" else _connect_engine
            connect(launch, engine, _Board(client, name, launch))
    except BaseException:
        if is_first:  # processes that come now would take it for the name of the next meeting
            with contextlib.suppress(OSError, RuntimeError):
                client.take_back("token")
        raise
    return Meeting(engine, client, name, launch.rank, server)


def _choose_engine(launch: Launch, backend: str) -> str:
    if backend in ("gloo", "mesh", *_MPI):
        return backend
    return launch.engine or "mesh"


def _meet_by_mpi(launch: Launch, engine: str) -> tuple[Server | None, Launch]:
    """Joins the processes that mpirun started, and learns where the server of the first one is."""
    _mge.open_engine(engine, "", launch.rank, launch.world_size)
    _mge.join_processes([b""] * launch.world_size, _PATIENCE_SECONDS, time_limit())
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

    def hosts(self) -> tuple[str, list[str]]:
        """The address at which this process listens, and those of all as this one sees them."""
        place = self.client.master_ip, self.client.port
        with socket.create_connection(place, _PATIENCE_SECONDS) as to_server:
            host, server = to_server.getsockname()[0], to_server.getpeername()[0]
        hosts = self.gather("host", host)
        # A process that reaches the server by loopback is on its machine.
        reached = [server if _is_loopback(other) else other for other in hosts]
        return _listening_host(host, hosts), reached

    def tokens(self) -> list[str]:
        """By rank, the token by which this process and that one authenticate each other."""

        def token(other: int) -> str:
            pair = "{} {} {}".format(self.meeting, *sorted((self.launch.rank, other)))
            return hmac.new(self.client._secret, pair.encode(), "sha256").hexdigest()

        return [token(other) for other in range(self.launch.world_size)]


def _connect_mesh(launch: Launch, _engine: str, board: _Board) -> None:
    own, hosts = board.hosts()
    ports = board.gather("port", _mge.listen_for_processes(own))
    _mge.connect_processes(
        launch.rank,
        list(zip(hosts, ports, strict=True)),
        board.tokens(),
        _PATIENCE_SECONDS,
        board.client._time_limit,
    )


def _connect_engine(launch: Launch, engine: str, board: _Board) -> None:
    own, hosts = board.hosts()
    # Gloo gives the others the address at which it listens, so it cannot be 0.0.0.0.
    host = hosts[launch.rank] if own == "0.0.0.0" else own
    address = _mge.open_engine(engine, host, launch.rank, launch.world_size)
    addresses = [bytes.fromhex(text) for text in board.gather("address", address.hex())]
    _mge.join_processes(addresses, _PATIENCE_SECONDS, board.client._time_limit)


def _request(other: int, get: Callable, *arguments):
    """The value of another process."""
    try:
        return get(*arguments, patience=_PATIENCE_SECONDS)
    except RuntimeError:
        raise RuntimeError(
            f"[init_process_group] process {other} has not come within {_PATIENCE_SECONDS} s"
        ) from None


def _is_loopback(host: str) -> bool:
    return ipaddress.ip_address(host).is_loopback


def _listening_host(mine: str, hosts: list[str]) -> str:
    """Its own address, or all addresses if others do not reach that."""
    is_unreachable = _is_loopback(mine) and not all(map(_is_loopback, hosts))
    return "0.0.0.0" if is_unreachable else mine
