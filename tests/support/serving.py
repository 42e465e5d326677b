"""A server on loopback."""

from __future__ import annotations

import contextlib
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from mimetypes import guess_type
from threading import Condition, Thread
from typing import TYPE_CHECKING, Any, Self

from tests.support.pages import html
from tests.support.processes import PATIENCE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from email.message import Message

_HTML = "text/html; charset=utf-8"


@dataclass(frozen=True)
class Answer:
    """What the server sends for a path."""

    body: bytes
    kind: str | None = _HTML
    headers: Mapping[str, str] = field(default_factory=dict)
    status: int = 200


def page(text: str, title: str = "A page") -> Answer:
    """Return an article as an answer."""
    return Answer(html(text, title).encode())


class Held(dict[str, "str | Answer"]):
    """Answers by path, of which some have to wait until they are let go.

    Args:
        answers: by path.
        is_held: whether that of a path has to wait.
    """

    def __init__(self, answers: Mapping[str, str | Answer], is_held: Callable[[str], bool]) -> None:
        super().__init__(answers)
        self._is_held = is_held
        self._changed = Condition()

    def get(self, path: str, default: Any = None) -> Any:
        with self._changed:
            self._changed.wait_for(lambda: not self._is_held(path), PATIENCE)
        return super().get(path, default)

    def let_go(self, is_held: Callable[[str], bool] = lambda _: False) -> None:
        """Have others wait, or none."""
        with self._changed:
            self._is_held = is_held
            self._changed.notify_all()


class Server:
    """Answers by path; `asked` are the paths in the order of the requests.

    Args:
        answers: looked up at each request; a text is sent as the kind that its path says, or as
            HTML. Whoever sends the ETag `"tag"` is told that the page has not changed.
        host: address on loopback; each one is a site of its own.
    """

    def __init__(self, answers: Mapping[str, str | Answer], host: str = "127.0.0.1") -> None:
        self.answers = answers
        self.asked: list[str] = []
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                server.asked.append(self.path)
                answer = server.answer(self.path, self.headers)
                if isinstance(answer, str):
                    answer = Answer(answer.encode(), guess_type(self.path)[0] or _HTML)
                if answer is not None and self.headers["If-None-Match"] == '"tag"':
                    self.send_response(304)
                    self.end_headers()
                    return
                self.send_response(404 if answer is None else answer.status)
                if answer is not None:
                    if answer.kind is not None:
                        self.send_header("Content-Type", answer.kind)
                    self.send_header("Content-Length", str(len(answer.body)))
                    for name, value in answer.headers.items():
                        self.send_header(name, value)
                self.end_headers()
                # Where the crawler has had enough, or is dead.
                with contextlib.suppress(ConnectionError):
                    self.wfile.write(b"" if answer is None else answer.body)

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002 (as inherited)
                pass

        self._http = ThreadingHTTPServer((host, 0), Handler)
        self.url = f"http://{host}:{self._http.server_port}"
        # Whether it is to stop is looked at so often.
        self._thread = Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.02})

    def answer(self, path: str, headers: Message) -> str | Answer | None:
        """Return what is answered to a request; other servers look at its headers too."""
        return self.answers.get(path)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._http.shutdown()
        self._thread.join()
        self._http.server_close()


@contextmanager
def holding(
    answers: Mapping[str, str | Answer], is_held: Callable[[str], bool]
) -> Iterator[tuple[Server, Held]]:
    """Serve answers by path, of which some have to wait."""
    held = Held(answers, is_held)
    with serving(held) as server:
        try:
            yield server, held
        finally:
            held.let_go()


def serving(answers: Mapping[str, str | Answer], host: str = "127.0.0.1") -> Server:
    """Serve answers by path."""
    return Server(answers, host)
