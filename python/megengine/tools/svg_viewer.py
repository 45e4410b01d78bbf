# SPDX-License-Identifier: Apache-2.0
"""A page to look at pictures of memory (``memory_flow.svg``), served on this machine.

python -m megengine.tools.svg_viewer -p 8000
"""

import argparse
import http.server
from pathlib import Path

_PAGE = Path(__file__).with_name("svg_viewer.html")


class _Handler(http.server.BaseHTTPRequestHandler):
    """Serves the page, and nothing else of this machine."""

    def do_GET(self) -> None:
        if self.path not in ("/", "/svg_viewer.html"):
            self.send_error(404)
            return
        page = _PAGE.read_bytes()
        self.send_response(200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(page)))
        self.end_headers()
        self.wfile.write(page)


def make_server(address: str, port: int) -> http.server.ThreadingHTTPServer:
    """A server of the page.

    Args:
        address: where it listens.
        port: 0: a free one.
    Returns:
        A server that does not run yet.
    Raises:
        OSError: the port is taken.
    """
    return http.server.ThreadingHTTPServer((address, port), _Handler)


def main() -> None:
    """Serve the page until the program is interrupted.

    Raises:
        OSError: the port is taken.
    Example:
        >>> import subprocess, sys
        >>> command = [sys.executable, "-m", "megengine.tools.svg_viewer", "--help"]
        >>> subprocess.run(command, check=True, capture_output=True, text=True).stdout[:6]
        'usage:'
    """
    parser = argparse.ArgumentParser(description="show pictures of memory")
    parser.add_argument("-p", "--port", type=int, default=8000)
    parser.add_argument("-a", "--address", default="localhost")
    args = parser.parse_args()
    with make_server(args.address, args.port) as server:
        print(f"http://{args.address}:{server.server_port}/", flush=True)
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            pass


if __name__ == "__main__":
    main()
