"""A web server on loopback that answers for every host: crawls use it as their proxy."""

from __future__ import annotations

import asyncio
import contextlib
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Thread
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_IDLE_SECONDS = 60


@dataclass(frozen=True)
class Reply:
    """What is sent for a URL.

    Args:
        body: as it is sent.
        headers: without those of the connection.
        status: of the answer.
        missing: bytes that are promised and not sent; then the connection is closed.
    """

    body: bytes
    headers: tuple[tuple[str, str], ...] = (("Content-Type", "text/html; charset=utf-8"),)
    status: int = 200
    missing: int = 0

    def encode(self) -> bytes:
        """Everything that is sent, as bytes; header values may be any of Latin-1."""
        lines = [f"HTTP/1.1 {self.status} -", *(f"{name}: {value}" for name, value in self.headers)]
        lines.append(f"Content-Length: {len(self.body) + self.missing}")
        return "\r\n".join([*lines, "", ""]).encode("latin-1") + self.body


Answer: TypeAlias = "Callable[[str], Reply]"


async def _serve(
    answer: Answer, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
) -> None:
    """Answer the requests of a connection, one after the other."""
    with contextlib.suppress(OSError, asyncio.IncompleteReadError, TimeoutError):
        while True:
            head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), _IDLE_SECONDS)
            reply = answer(head.split(b" ", 2)[1].decode("latin-1"))
            writer.write(reply.encode())
            await writer.drain()
            if reply.missing:
                break
    writer.close()


@contextmanager
def serving(answer: Answer) -> Iterator[str]:
    """Serve what a function answers to URLs, on a thread of its own; yields the proxy's URL."""
    loop = asyncio.new_event_loop()
    starting = asyncio.start_server(
        lambda reader, writer: _serve(answer, reader, writer), "127.0.0.1", 0, limit=1 << 20
    )
    server = loop.run_until_complete(starting)
    thread = Thread(target=loop.run_forever, daemon=True)
    thread.start()

    async def stop() -> None:
        server.close()
        tasks = asyncio.all_tasks() - {asyncio.current_task()}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.run_until_complete(stop())
        loop.close()
