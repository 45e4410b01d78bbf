# SPDX-License-Identifier: Apache-2.0
"""Repositories of the hub, cloned from a git server on this machine, and files of weights."""

import hashlib
import http.server
import os
import shutil
import signal
import subprocess
import threading

import numpy as np
import pytest

import megengine as mge
import megengine.module as M
from megengine import hub
from megengine.hub import exceptions, fetcher

HUBCONF = '''
dependencies = ["numpy"]

import layers
from layers import Net


def net(size=2):
    """A net of one layer."""
    return Net(size)


version = "{version}"


def which():
    return version
'''
LAYERS = """
import megengine.module as M


class Net(M.Linear):
    def __init__(self, size):
        super().__init__(size, size)
"""

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")


def git(folder, *arguments):
    command = ["git", "-c", "user.name=a", "-c", "user.email=a@b.c", *arguments]
    result = subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True)
    return result.stdout.strip()


def commit(folder, version):
    (folder / "hubconf.py").write_text(HUBCONF.replace("{version}", version))
    (folder / "layers.py").write_text(LAYERS)
    git(folder, "add", ".")
    git(folder, "commit", "-q", "-m", version)
    return git(folder, "rev-parse", "HEAD")


class Git(http.server.BaseHTTPRequestHandler):
    """git's own server for the web, over its interface for CGI."""

    def serve(self):
        path, _, query = self.path.partition("?")
        environment = {
            **os.environ,
            "GIT_PROJECT_ROOT": str(self.server.root),
            "GIT_HTTP_EXPORT_ALL": "1",
            "PATH_INFO": path,
            "QUERY_STRING": query,
            "REQUEST_METHOD": self.command,
            "CONTENT_TYPE": self.headers.get("Content-Type", ""),
            "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding", ""),
            "GIT_PROTOCOL": self.headers.get("Git-Protocol", ""),
        }
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        answer = subprocess.run(
            ["git", "http-backend"], input=body, env=environment, capture_output=True, check=True
        ).stdout
        head, _, content = answer.partition(b"\r\n\r\n")
        fields = dict(line.split(": ", 1) for line in head.decode().split("\r\n"))
        self.send_response(int(fields.pop("Status", "200").split()[0]))
        for name, value in fields.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    do_GET = do_POST = serve

    def log_message(self, *args):
        pass


class Files(http.server.SimpleHTTPRequestHandler):
    def do_GET(self):
        self.server.count += 1
        super().do_GET()

    def log_message(self, *args):
        pass


@pytest.fixture
def serve():
    servers = []

    def start(handler):
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
        server.count = 0
        server.url = f"http://127.0.0.1:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        servers.append((server, thread))
        return server

    yield start
    for server, thread in servers:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("MGE_HOME", str(tmp_path / "home"))
    # git's program for HTTP hangs below a sanitizer that was loaded for the interpreter.
    monkeypatch.delenv("LD_PRELOAD", raising=False)
    return tmp_path / "home"


@pytest.fixture
def origin(tmp_path, monkeypatch, home, serve):
    """The repository owner/nets of git.example.org, which git finds on this machine."""
    work, bare = tmp_path / "work", tmp_path / "server" / "owner" / "nets.git"
    work.mkdir()
    git(work, "init", "-q", "-b", "master")
    origin = {"first": commit(work, "first")}
    git(work, "tag", "v1")
    origin["second"] = commit(work, "second")
    git(work, "checkout", "-q", "-b", "next/big")
    commit(work, "next")
    bare.parent.mkdir(parents=True)
    git(tmp_path, "clone", "-q", "--bare", str(work), str(bare))
    server = serve(Git)
    server.root = tmp_path / "server"
    config = tmp_path / "gitconfig"
    config.write_text(
        f'[url "{server.url}/"]\n'
        "\tinsteadOf = https://git.example.org/\n"
        "\tinsteadOf = git@git.example.org:\n"
    )
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(config))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    origin["bare"], origin["work"] = bare, work
    return origin


WHERE = {"git_host": "git.example.org"}


@pytest.mark.parametrize("protocol", ["HTTPS", "SSH"])
def test_load(origin, protocol):
    assert hub.list("owner/nets", **WHERE, protocol=protocol) == ["Net", "net", "which"]
    net = hub.load("owner/nets", "net", size=3, **WHERE, protocol=protocol)
    assert isinstance(net, M.Linear) and net.in_features == 3
    assert hub.load("owner/nets", "net", 4, **WHERE, protocol=protocol).in_features == 4
    assert hub.help("owner/nets", "net", **WHERE, protocol=protocol) == "A net of one layer."


def test_stalled_connection_is_closed(tmp_path, home, monkeypatch):
    monkeypatch.setenv("GIT_SSH_COMMAND", f"echo $$ > {tmp_path}/pid; exec sleep 300 #")
    monkeypatch.setattr(fetcher, "_LONGEST", 1.0)
    try:
        with pytest.raises(exceptions.GitPullError, match="did not end within 1 seconds"):
            hub.load("owner/nets", "net", **WHERE, protocol="SSH")
    finally:
        os.kill(int((tmp_path / "pid").read_text()), signal.SIGKILL)
    assert not any(path.is_dir() for path in (home / "hub").iterdir())


def test_branches_tags_and_commits(origin):
    assert hub.load("owner/nets", "which", **WHERE) == "second"
    assert hub.load("owner/nets:next/big", "which", **WHERE) == "next"
    assert hub.load("owner/nets:v1", "which", **WHERE) == "first"
    for length in (40, 8):
        commit_id = origin["first"][:length]
        assert hub.load("owner/nets", "which", commit=commit_id, **WHERE) == "first"


def test_branch_is_not_a_commit(origin, home):
    git(origin["bare"], "branch", "abcdef", "master")
    for commit_id in ("abcdef", "0" * 40, "--help", "master"):
        with pytest.raises(exceptions.GitCheckoutError):
            hub.list("owner/nets", commit=commit_id, **WHERE)
    assert os.listdir(home / "hub") == []


def test_the_cache(origin, home):
    before = os.getcwd()
    assert hub.load("owner/nets", "which", **WHERE) == "second"
    git(origin["work"], "checkout", "-q", "master")
    commit(origin["work"], "third")
    git(origin["work"], "push", "-q", str(origin["bare"]), "master")
    assert hub.load("owner/nets", "which", **WHERE) == "second"
    assert hub.load("owner/nets", "which", use_cache=False, **WHERE) == "third"
    assert hub.load("owner/nets", "which", **WHERE) == "third"
    assert len(os.listdir(home / "hub")) == 1 and os.getcwd() == before


def test_failures_leave_nothing(origin, home):
    assert hub.load("owner/nets", "which", **WHERE) == "second"
    kept = os.listdir(home / "hub")
    shutil.rmtree(origin["bare"])
    for repository in ("owner/nets", "owner/nothing", "owner/nets:no_branch"):
        with pytest.raises(exceptions.GitPullError, match=r"cannot be cloned.* git reports: .+"):
            hub.list(repository, use_cache=False, **WHERE)
    assert os.listdir(home / "hub") == kept
    assert hub.load("owner/nets", "which", **WHERE) == "second"


def test_modules_that_are_not_installed(origin):
    conf = origin["work"] / "hubconf.py"
    git(origin["work"], "checkout", "-q", "master")
    conf.write_text('dependencies = ["numpy", "no_such_module", "no_such_package.part"]\n')
    git(origin["work"], "commit", "-q", "-a", "-m", "x")
    git(origin["work"], "push", "-q", str(origin["bare"]), "master")
    with pytest.raises(RuntimeError, match="dependencies: no_such_module, no_such_package.part"):
        hub.list("owner/nets", **WHERE)


def test_missing_entries(origin):
    for entry in ("nothing", "version"):
        with pytest.raises(RuntimeError, match=f"Cannot find callable {entry} in hubconf.py"):
            hub.load("owner/nets", entry, **WHERE)


@pytest.mark.parametrize(
    "name", ["owner", "a/b/c", "a/b:c:d", "a/b:", "/b", "a b/c", "-a/b", "a/-b", "a/b:-c"]
)
def test_malformed_repositories(home, name):
    with pytest.raises(exceptions.InvalidRepo, match="is invalid"):
        hub.list(name, **WHERE)


@pytest.mark.parametrize(
    "host", ["github", "http://github.com", "a b.com", "localhost", "user@host.com", "-o.com"]
)
def test_malformed_hosts(home, host):
    with pytest.raises(exceptions.InvalidGitHost, match="malformed"):
        hub.list("a/b", git_host=host)


def test_protocols(home):
    with pytest.raises(exceptions.InvalidProtocol, match="one of HTTPS, SSH"):
        hub.list("a/b", protocol="FTP")


def test_without_git(home, monkeypatch):
    monkeypatch.setenv("PATH", "")
    with pytest.raises(exceptions.GitPullError, match="git is not installed"):
        hub.list("a/b", **WHERE)


def test_fetchers_into_the_working_directory(origin, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    folder = fetcher.GitHTTPSFetcher.fetch("git.example.org", "owner/nets")
    assert os.path.dirname(folder) == str(tmp_path)
    assert os.path.exists(os.path.join(folder, "hubconf.py"))


@pytest.fixture
def weights(tmp_path, home, serve, monkeypatch):
    net = M.Linear(2, 2)
    mge.save(net.state_dict(), tmp_path / "w.pkl")
    monkeypatch.chdir(tmp_path)
    server = serve(Files)
    server.net, server.file = net, tmp_path / "w.pkl"
    return server


def test_objects_are_fetched_once(weights, home, tmp_path, monkeypatch):
    url = f"{weights.url}/w.pkl"
    for _ in range(2):
        assert set(hub.load_serialized_obj_from_url(url)) == {"weight", "bias"}
    assert weights.count == 1
    (name,) = os.listdir(home / "serialized")
    assert name == hashlib.sha256(url.encode()).hexdigest()[:6] + "_w.pkl"
    hub.load_serialized_obj_from_url(url, model_dir=str(tmp_path / "other"))
    assert os.listdir(tmp_path / "other") == [name]
    monkeypatch.setenv("HOME", str(tmp_path))
    hub.load_serialized_obj_from_url(url, model_dir="~/other")
    assert weights.count == 2


def test_hashes(weights, home):
    digest = hashlib.sha256(weights.file.read_bytes()).hexdigest()
    url = f"{weights.url}/w.pkl"
    hub.load_serialized_obj_from_url(f"{url}#sha256={digest}")
    with pytest.raises(mge.utils.http_download.HTTPDownloadError, match="was removed"):
        hub.load_serialized_obj_from_url(f"{url}#sha256={'0' * 64}")
    assert os.listdir(home / "serialized") == []
    with pytest.raises(mge.utils.http_download.HTTPDownloadError, match="sha256=… only"):
        hub.load_serialized_obj_from_url(f"{url}#md5=0")


def test_pretrained(weights):
    @hub.pretrained(f"{weights.url}/w.pkl")
    def linear():
        "Documented."
        return M.Linear(2, 2)

    linear()
    assert weights.count == 0 and linear.__doc__ == "Documented."
    np.testing.assert_array_equal(
        linear(pretrained=True).weight.numpy(), weights.net.weight.numpy()
    )


@pytest.mark.parametrize("use_cache", [True, False])
def test_concurrent_process_finishes_first(origin, home, monkeypatch, use_cache):
    clone = fetcher._git

    def slow(*arguments, **options):
        found = clone(*arguments, **options)
        if arguments[0] == "clone":
            folder = (
                home
                / "hub"
                / fetcher.GitHTTPSFetcher._folder(
                    "git.example.org", "owner", "nets", "master", None
                )
            )
            shutil.copytree(arguments[-1], folder)
            (folder / "mark").touch()
        return found

    monkeypatch.setattr(fetcher, "_git", slow)
    assert hub.load("owner/nets", "which", use_cache=use_cache, **WHERE) == "second"
    (folder,) = (home / "hub").iterdir()
    assert (folder / "mark").exists() == use_cache
