# SPDX-License-Identifier: Apache-2.0
"""Downloads that are complete or absent."""

import http.client
import os
import tempfile
import urllib.request

from tqdm import tqdm

_PIECE = 1 << 16
_STANDSTILL = 120  # seconds without a byte after which a connection is given up


class HTTPDownloadError(Exception):
    """A file could not be fetched.

    Example:
        >>> try:
        ...     download_from_url("ftp://example.org/weights.pkl", "weights.pkl")
        ... except HTTPDownloadError as error:
        ...     print(error)
        ftp://example.org/weights.pkl is not an address of a web server
    """


class Bar:
    """Progress in bytes, shown on a terminal.

    Args:
        total: of bytes; 0: unknown.
    Example:
        >>> bar = Bar(total=10)
        >>> bar.close()
    """

    def __init__(self, total: int = 100):
        self._bar = tqdm(total=total or None, unit="B", unit_scale=True, disable=None)

    def __call__(self, bytes_num: int) -> None:
        """Go on by a number of bytes.

        Args:
            bytes_num: that have come since the last call.
        """
        self._bar.update(bytes_num)

    def close(self) -> None:
        """Leave the line as it is."""
        self._bar.close()


def download_from_url(url: str, dst: str) -> int:
    """Fetch a file. It gets its name when it is complete.

    Args:
        url: ``http://…`` or ``https://…``.
        dst: path of the file; folders are created, an existing file is replaced.
    Returns:
        Its size in bytes.
    Raises:
        HTTPDownloadError: the address has another scheme, the server does not have the file or
            cannot be reached, or the connection ended early.
    Example:
        >>> import http.server, threading
        >>> server = http.server.HTTPServer(("localhost", 0), http.server.SimpleHTTPRequestHandler)
        >>> threading.Thread(target=server.handle_request).start()
        >>> with open("weights", "wb") as file:
        ...     _ = file.write(bytes(5))
        >>> download_from_url(f"http://localhost:{server.server_port}/weights", "copy/weights")
        5
        >>> server.server_close()
    """
    if not url.startswith(("http://", "https://")):
        raise HTTPDownloadError(f"{url} is not an address of a web server")
    dst = os.path.expanduser(dst)
    folder = os.path.dirname(os.path.abspath(dst))
    os.makedirs(folder, exist_ok=True)
    file, unfinished = tempfile.mkstemp(prefix=".download-", dir=folder)
    try:
        with os.fdopen(file, "wb") as out:
            count = _fetch(url, out)
        os.chmod(unfinished, 0o666 & ~_umask())
        os.replace(unfinished, dst)
    except BaseException:
        os.unlink(unfinished)
        raise
    return count


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def _fetch(url: str, out) -> int:
    try:
        with urllib.request.urlopen(url, timeout=_STANDSTILL) as answer:
            total = int(answer.headers.get("Content-Length") or 0)
            bar = Bar(total)
            count = 0
            while piece := answer.read(_PIECE):
                out.write(piece)
                bar(len(piece))
                count += len(piece)
            bar.close()
    except (OSError, ValueError, http.client.HTTPException) as e:
        raise HTTPDownloadError(f"cannot fetch {url}: {e}") from e
    if total and count != total:
        raise HTTPDownloadError(f"cannot fetch {url}: {count} of {total} bytes came")
    return count
