# SPDX-License-Identifier: Apache-2.0
"""Fetching files, from a server on this machine."""

import hashlib
import http.server
import threading

import pytest

from megengine.data.dataset.vision.utils import load_raw_data_from_url
from megengine.utils.http_download import HTTPDownloadError, download_from_url

CONTENT = bytes(range(256)) * 1000


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        if self.path == "/missing":
            return self.send_error(404)
        if self.path == "/nonsense":
            return self.wfile.write(b"nonsense\r\n\r\n")
        self.server.count += 1
        self.send_response(200)
        if self.path == "/cut":
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            return self.wfile.write(b"100\r\nfewer bytes")
        self.send_header("Content-Length", str(len(CONTENT)))
        self.end_headers()
        self.wfile.write(CONTENT[:1000] if self.path == "/short" else CONTENT)

    def log_message(self, *args):
        pass


@pytest.fixture
def server():
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.count = 0
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        server.url = f"http://127.0.0.1:{server.server_port}"
        yield server
        server.shutdown()
        thread.join()


def test_a_file_is_fetched_whole(server, tmp_path):
    path = tmp_path / "new" / "file"
    assert download_from_url(f"{server.url}/file", str(path)) == len(CONTENT)
    assert path.read_bytes() == CONTENT and [p.name for p in path.parent.iterdir()] == ["file"]


@pytest.mark.parametrize("name", ["missing", "short", "cut", "nonsense", "no name"])
def test_failure_keeps_the_old_file(server, tmp_path, name):
    path = tmp_path / "file"
    path.write_text("older")
    with pytest.raises(HTTPDownloadError, match=name):
        download_from_url(f"{server.url}/{name}", str(path))
    assert path.read_text() == "older" and len(list(tmp_path.iterdir())) == 1


def test_only_http_is_used(tmp_path):
    for url in ("file:///etc/passwd", "ftp://host/file", "/etc/passwd"):
        with pytest.raises(HTTPDownloadError, match="not an address"):
            download_from_url(url, str(tmp_path / "file"))
    with pytest.raises(HTTPDownloadError, match="cannot fetch"):
        download_from_url("http://127.0.0.1:1/file", str(tmp_path / "file"))


def test_sums_are_checked(server, tmp_path):
    md5 = hashlib.md5(CONTENT).hexdigest()
    arguments = (f"{server.url}/file", "file", md5, str(tmp_path))
    load_raw_data_from_url(*arguments)
    load_raw_data_from_url(*arguments)
    assert server.count == 1
    (tmp_path / "file").write_text("damaged")
    load_raw_data_from_url(*arguments)
    assert server.count == 2 and (tmp_path / "file").read_bytes() == CONTENT
    with pytest.raises(HTTPDownloadError, match="MD5"):
        load_raw_data_from_url(f"{server.url}/file", "other", "0" * 32, str(tmp_path))
    assert not (tmp_path / "other").exists()
