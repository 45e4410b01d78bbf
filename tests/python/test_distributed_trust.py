# SPDX-License-Identifier: Apache-2.0
"""``distributed`` among strangers, and among processes that do not answer."""

import contextlib
import multiprocessing
import os
import signal
import socket
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPException
from xmlrpc.client import ServerProxy, dumps

import pytest

import megengine as mge
import megengine.distributed as dist
from megengine.distributed import _connection as connection
from megengine.distributed import server as server_module
from megengine.distributed.launcher import launcher

SECRET = "MGE_DISTRIBUTED_SECRET"
TIME_LIMIT = "MGE_DISTRIBUTED_TIMEOUT"


pytestmark = pytest.mark.usefixtures("no_process_group")


@pytest.fixture
def server(monkeypatch):
    """A server with a given secret."""
    monkeypatch.setenv(SECRET, "the secret of this test")
    server = dist.Server()
    yield server
    del server


def client_of(server):
    return dist.Client("localhost", server.py_server_port)


def connect_to(server):
    return socket.create_connection(("localhost", server.py_server_port), 20)


def soon():
    return time.monotonic() + 20


def wait_until(condition):
    end = soon()
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


def count_of_come(board):
    return sum(meeting.come for meeting in (*board._barriers.values(), *board._broadcasts.values()))


def in_turn(server, *calls):
    """Errors of calls that wait for each other, or what they give. Each begins after the last."""
    with ThreadPoolExecutor(len(calls)) as pool:
        started = []
        for call in calls:
            started.append(pool.submit(*call))
            if len(started) < len(calls):
                wait_until(lambda: count_of_come(server._server._board) == len(started))
        return [str(one.exception(timeout=30) or one.result()) for one in started]


@pytest.mark.parametrize("secret", ["another secret of nobody", None])
def test_a_client_with_another_secret_is_refused(server, monkeypatch, secret):
    monkeypatch.setenv(SECRET, secret) if secret else monkeypatch.delenv(SECRET)
    begin = time.monotonic()
    with pytest.raises(ConnectionError, match=f"its secret differs: set {SECRET} to the same"):
        client_of(server)
    with pytest.raises(ConnectionError, match="its secret differs"):
        dist.init_process_group("localhost", server.py_server_port, 2, 1, 0)
    assert time.monotonic() - begin < 20  # it is not tried again for a minute


def test_server_without_the_secret_is_refused(server, monkeypatch):
    client = client_of(server)
    monkeypatch.setattr(connection, "_NO_PROOF", bytes(range(32)))
    client._secret = b"another secret of nobody"
    with pytest.raises(connection.WrongSecretError):
        client.user_set("key", 1)


def test_calls_without_a_proof_are_refused(server):
    client_of(server).user_set("key", 1)
    with (
        ServerProxy(f"http://localhost:{server.py_server_port}", allow_none=True) as proxy,
        pytest.raises((OSError, HTTPException)),  # it does not speak HTTP
    ):
        proxy.user_get("key", 0.1)
    for proof in (b"", bytes(64), bytes(200), os.urandom(64)):
        with connect_to(server) as peer:
            peer.sendall(proof + dumps(("key", 2), "user_set").encode())
            received = b""
            with contextlib.suppress(OSError):  # unread data is lost
                peer.shutdown(socket.SHUT_WR)
                while part := peer.recv(1000):
                    received += part
            assert received[40:] in (b"", bytes(32))
    assert client_of(server).user_get("key") == 1


class Recorder:
    """A connection that keeps what goes out."""

    def __init__(self, inner):
        self.inner, self.sent = inner, b""

    def sendall(self, data):
        self.sent += data
        self.inner.sendall(data)

    def __getattr__(self, name):
        return getattr(self.inner, name)


def test_an_old_answer_is_refused(server):
    secret = os.environ[SECRET].encode()
    request = dumps(("key", 1), "user_set").encode()
    with connect_to(server) as inner:
        peer = Recorder(inner)
        connection.introduce(peer, secret, soon())
        connection.send_message(peer, request, soon())
        connection.receive_message(peer, soon())
    assert client_of(server).user_pop("key") == 1
    with connect_to(server) as stranger:
        stranger.sendall(peer.sent)
        assert stranger.recv(40)[:8] == b"MGEjoin1" and stranger.recv(32) == bytes(32)
    with pytest.raises(RuntimeError, match="no client has set it"):
        client_of(server).user_get("key", patience=0.1)
    assert secret not in peer.sent


def test_silent_connections_do_not_block(server):
    silent = [connect_to(server) for _ in range(connection._MAX_STRANGERS + 20)]
    begin = time.monotonic()
    client = client_of(server)
    client.user_set("key", 1)
    assert client.user_get("key") == 1 and time.monotonic() - begin < 5
    for one in silent:
        one.close()


def test_silent_connections_are_closed(server, monkeypatch):
    monkeypatch.setattr(connection, "_GREETING_SECONDS", 0.2)
    with connect_to(server) as silent:
        assert len(silent.recv(40)) == 40
        assert silent.recv(1) == b""


def test_long_messages_are_refused_before_memory_is_taken(server, monkeypatch):
    client, limit = client_of(server), connection.MAX_MESSAGE_BYTES
    with pytest.raises(ValueError, match=rf"\[user_set\] .* too long; {limit}"):
        client.user_set("key", "x" * limit)
    with pytest.raises(ValueError, match=r"\[bcast_val\] .* too long"):
        client.bcast_val("x" * limit, "key", 2)
    client.user_set("key", "x" * (limit - 1000))
    assert len(client.user_get("key")) == limit - 1000
    for announced in (limit + 1, 700 << 20, 2**64 - 1):
        with connect_to(server) as peer:
            connection.introduce(peer, client._secret, soon())
            peer.sendall(announced.to_bytes(8, "big"))
            assert peer.recv(1) == b""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        theirs.sendall((1 << 40).to_bytes(8, "big"))
        with pytest.raises(ConnectionError, match=f"1099511627776 bytes .* at most {limit}"):
            connection.receive_message(ours, soon())


def test_unencodable_texts_are_an_error_of_the_call(server):
    client = client_of(server)
    with pytest.raises(RuntimeError, match=r"\[user_set\] not well-formed"):
        client.user_set("key", "a\0b")
    client.user_set("key", "a")
    assert client.user_get("key") == "a"


def test_only_client_calls_are_answered(server):
    client = client_of(server)
    for name in ("answer", "__init__", "_wait", "calls", "nothing"):
        with pytest.raises(RuntimeError, match=f"there is no method '{name}'"):
            client._call(name)
    with pytest.raises(RuntimeError, match="argument"):
        client._call("user_set")


@pytest.mark.parametrize("sizes", [(3, 3, 1), (3, 3, 2), (3, 2, 3), (2, 3, 3), (3, 4, 3, 3)])
def test_clients_with_different_world_sizes_raise(server, sizes):
    clients = [client_of(server) for _ in sizes]
    for value in (7, None):
        calls = [(c.bcast_val, None, "b", n) for c, n in zip(clients, sizes, strict=True)]
        calls[-1] = (clients[-1].bcast_val, value, "b", sizes[-1])
        assert all("one client expects" in text for text in in_turn(server, *calls))
    calls = [(c.group_barrier, "b", n) for c, n in zip(clients, sizes, strict=True)]
    assert all("one client expects" in text for text in in_turn(server, *calls))
    # It is over: the next ones agree.
    agreed = [(c.bcast_val, 1, "b", len(sizes)) for c in clients]
    assert in_turn(server, *agreed) == ["1"] * len(sizes)
    for size in (0, -1, "3", None):
        with pytest.raises(RuntimeError, match="the number of clients"):
            clients[0].group_barrier("b", size)


def test_waits_have_an_end(server, monkeypatch):
    monkeypatch.setenv(TIME_LIMIT, "0.2")
    client = client_of(server)
    for call in (
        lambda: client.user_get("key"),
        lambda: client.user_pop("key"),
        lambda: client.bcast_val(None, "key", 2),
    ):
        with pytest.raises(RuntimeError, match=r"no client has set it for 0.2 s"):
            call()
    with pytest.raises(RuntimeError, match=r"1 of 3 clients have waited for 0.2 s"):
        client.group_barrier("here", 3)
    assert server._server._board._barriers["here"].come == 0


def test_disconnected_client_is_not_waited_for(server, monkeypatch):
    monkeypatch.setattr(server_module, "_LOOK_SECONDS", 0.05)
    client, board = client_of(server), server._server._board
    for call in (("group_barrier", "here", 2, 60.0), ("user_pop", "key", 60.0)):
        with connect_to(server) as peer:
            connection.introduce(peer, client._secret, soon())
            connection.send_message(peer, dumps(call[1:], call[0]).encode(), soon())
            if call[0] == "group_barrier":
                wait_until(lambda: count_of_come(board) == 1)
        if call[0] == "group_barrier":
            wait_until(lambda: count_of_come(board) == 0)
    time.sleep(0.3)
    client.user_set("key", 1)
    assert client.user_get("key") == 1  # the value is still there
    assert in_turn(server, *((client.group_barrier, "here", 2),) * 2) == ["None"] * 2


@pytest.mark.parametrize("given", ["0", "-1", "nan", "inf", "1e9", "soon"])
def test_wrong_time_limits_are_refused(monkeypatch, given):
    monkeypatch.setenv(TIME_LIMIT, given)
    server = dist.Server()
    with pytest.raises(ValueError, match=f"{TIME_LIMIT} is '{given}'"):
        client_of(server)


def test_short_secrets_are_refused(monkeypatch):
    monkeypatch.setenv(SECRET, "12345")
    with pytest.raises(ValueError, match=f"{SECRET} has 5 characters"):
        dist.Server()
    with pytest.raises(ValueError, match="at least 16"):
        dist.Client("localhost", 1)


@pytest.fixture
def cache(monkeypatch, tmp_path):
    """A cache folder of its own, and no given secret."""
    monkeypatch.delenv(SECRET, raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "mge" / "distributed-secret"


def test_processes_of_a_user_share_a_secret(cache):
    code = "from megengine.distributed import _connection as c; print(c.shared_secret().decode())"
    started = [
        subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    printed = {one.communicate(timeout=60)[0].strip() for one in started}
    assert printed == {cache.read_text()} and len(cache.read_text()) == 64
    assert cache.stat().st_mode & 0o777 == 0o600
    assert os.listdir(cache.parent) == [cache.name]


@pytest.mark.parametrize(
    "spoil",
    [
        lambda path: path.chmod(0o644),
        lambda path: (path.unlink(), path.symlink_to("/etc/hostname")),
        lambda path: (path.unlink(), os.mkfifo(path, 0o600)),
        lambda path: (path.unlink(), path.touch(0o600)),
        lambda path: (path.unlink(), path.mkdir(0o700)),
        lambda path: (path.unlink(), path.parent.rmdir(), path.parent.touch()),
    ],
)
def test_secret_readable_by_others_is_refused(cache, spoil):
    assert connection.shared_secret() == cache.read_bytes()
    spoil(cache)
    # This process and its children have one all the same.
    assert connection.shared_secret() == bytes(multiprocessing.current_process().authkey)
    assert launcher(lambda: dist.get_client().user_set("k", 1), n_gpus=2)() == [None] * 2


def test_server_of_one_machine_listens_locally_only(monkeypatch):
    hosts = {
        arguments: launcher(len, n_gpus=2, **dict(arguments))._serve()._server.server_address[0]
        for arguments in ((), (("world_size", 4),))
    }
    assert list(hosts.values()) == ["127.0.0.1", "0.0.0.0"]
    # Whatever the machine calls itself.
    there = launcher(lambda: dist.get_world_size(), n_gpus=2, master_ip="192.0.2.1")
    assert there() == [2, 2]


@pytest.mark.parametrize(
    "name, error",
    [
        ("all_reduce_sum", "no answer from process 0 for 1 s"),
        ("broadcast", "no client has set it for 1 s"),
    ],
)
def test_wait_for_a_stopped_process_is_bounded(monkeypatch, capfd, name, error):
    monkeypatch.setenv(TIME_LIMIT, "1")

    def work():
        dist.group_barrier()
        if dist.get_rank() == 0:
            os.kill(os.getpid(), signal.SIGSTOP)
        getattr(dist.functional, name)(mge.Tensor([1.0]))

    begin = time.monotonic()
    with pytest.raises(AssertionError, match="subprocess 1 exit with code 1"):
        launcher(work, n_gpus=2, device_type="cpu")()
    assert time.monotonic() - begin < 15
    assert error in capfd.readouterr().err


def test_wait_for_a_stopped_server_is_bounded(monkeypatch):
    command = [sys.executable, "-m", "megengine.distributed.server", "--no-verbose"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        port = int(process.stdout.readline().split()[-1])
        client = dist.Client("localhost", port)
        process.send_signal(signal.SIGSTOP)
        monkeypatch.setattr(server_module, "_GRACE_SECONDS", 0.3)
        with pytest.raises(TimeoutError, match=rf"\[user_set\] .* localhost:{port} has not ans"):
            client.user_set("key", 1)
        monkeypatch.setattr(server_module, "_PATIENCE_SECONDS", 0)
        with pytest.raises(ConnectionError, match=f"no server at localhost:{port}"):
            dist.Client("localhost", port)
    finally:
        process.kill()
        process.communicate()
