"""`python3 -m crawler.serve`: the sample site, as a site that serves its pages more than once.

Every chapter has a print view (`?print=1`), and all pages are there again in a session
(`?sid=4f2a`). Under the name `localhost`, the server is a mirror with another menu and footer.
"""

from __future__ import annotations

import re
import threading
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, urlsplit

if TYPE_CHECKING:
    from collections.abc import Iterator

SAMPLE = Path(__file__).parent / "sample"
PORT = 8765

_PARTS = re.compile(r"(.*<body[^>]*>)(.*)(</body>.*)", re.DOTALL)
_NAVIGATION = re.compile(r'<div class="nav(?:header|footer)">.*?</div>', re.DOTALL)
_LINK_TO_PAGE = re.compile(r'(href="(?!http)[^"#?]*\.html)')
_SESSION = "?sid=4f2a"
_TODAY = f"{datetime.now(UTC):%d %B %Y}"

_MENU = '<div class="menu"><a href="/">All manuals</a> <a href="/">Search</a></div>'
_FOOTER = (
    '<div class="footer"><p>A mirror of free manuals, brought up to date every night.</p></div>'
)


def view(page: str, query: str, *, is_mirror: bool) -> str:
    """Show a page as the query of its URL asks for."""
    parts = _PARTS.fullmatch(page)
    if parts is None:
        return page
    head, body, tail = parts.groups()
    asked = parse_qs(query)
    if is_mirror:
        body = f"{_MENU}{_NAVIGATION.sub('', body)}{_FOOTER}"
    elif "print" in asked:
        body = f"{_NAVIGATION.sub('', body)}<p>Printed on {_TODAY}</p>"
    elif "sid" in asked:
        body = f"<p>Guest since {_TODAY}</p>{body}"
        body = _LINK_TO_PAGE.sub(rf"\1{_SESSION}", body)
    elif _NAVIGATION.search(body):
        body = f'<p><a class="view" href="?print=1">Print this page</a></p>{body}'
    else:
        body = f'<p><a class="view" href="{_SESSION}">Log in as a guest</a></p>{body}'
    return head + body + tail


class _Handler(SimpleHTTPRequestHandler):
    def do_GET(self) -> None:
        """Answer with a view of a page, or with a file as it is."""
        file = Path(self.translate_path(self.path))
        if file.is_dir():
            file /= "index.html"
        if file.suffix != ".html" or not file.is_file():
            super().do_GET()
            return
        is_mirror = self.headers.get("Host", "").startswith("localhost")
        page = view(file.read_text("utf-8"), urlsplit(self.path).query, is_mirror=is_mirror)
        shown = page.encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(shown)))
        self.end_headers()
        self.wfile.write(shown)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 (as inherited)
        """Say nothing."""


@contextmanager
def serve(port: int = 0) -> Iterator[str]:
    """Serve the sample on loopback; yield its address. A port in use is replaced by a free one."""
    handler = partial(_Handler, directory=str(SAMPLE))
    try:
        server = ThreadingHTTPServer(("127.0.0.1", port), handler)
    except OSError:
        server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


if __name__ == "__main__":
    with serve(PORT) as address:
        print(f"{address} is the sample site. Ctrl-C ends it.", flush=True)
        try:
            threading.Event().wait()
        except KeyboardInterrupt:
            print()
