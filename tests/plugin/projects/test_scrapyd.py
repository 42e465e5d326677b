"""A project as an egg on a Scrapyd server."""

from __future__ import annotations

import json
import socket
import subprocess
import time
from typing import TYPE_CHECKING, Any
from urllib.error import URLError
from urllib.parse import urlencode
from urllib.request import Request, urlopen

import pytest

from tests.plugin.projects.user_project import values
from tests.support.crawls import Crawl
from tests.support.pages import article, edited, html, linked
from tests.support.serving import serving

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.plugin.projects.user_project import Projects, UserProject

_LONGEST = 60  # seconds


class Scrapyd:
    """A Scrapyd server that runs in the folder of a project.

    Args:
        project: whose `scrapyd.conf` it reads.
    """

    def __init__(self, project: UserProject) -> None:
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        with (project.folder / "scrapyd.conf").open("a") as config:
            config.write(f"http_port = {port}\n")
        self._project = project
        self._address = f"http://127.0.0.1:{port}"
        self._process = project.environment.start(
            *("-m", "scrapyd"),
            cwd=project.folder,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.STDOUT,
        )

    def ask(self, service: str, body: bytes | None = None, kind: str = "") -> Any:
        """Return the answer of a service of its API; `body` is posted."""
        headers = {"Content-Type": kind or "application/x-www-form-urlencoded"}
        request = Request(f"{self._address}/{service}", body, headers)  # noqa: S310 (ours)
        until = time.monotonic() + _LONGEST
        while True:
            try:
                with urlopen(request, timeout=_LONGEST) as response:  # noqa: S310
                    answer = json.load(response)
            except URLError:  # it has not started yet
                if time.monotonic() > until:
                    raise
                time.sleep(0.1)
                continue
            assert answer["status"] == "ok", answer
            return answer

    def add(self, project: str, egg: bytes) -> int:
        """Add a version of a project, and return how many spiders it has."""
        fields = {"project": project, "version": "1"}
        parts = [
            f'Content-Disposition: form-data; name="{name}"\r\n\r\n{value}'.encode()
            for name, value in fields.items()
        ]
        parts.append(b'Content-Disposition: form-data; name="egg"; filename="a.egg"\r\n\r\n' + egg)
        body = b"".join(b"--the-next-part\r\n" + part + b"\r\n" for part in parts)
        body += b"--the-next-part--\r\n"
        kind = "multipart/form-data; boundary=the-next-part"
        return int(self.ask("addversion.json", body, kind)["spiders"])

    def crawl(self, project: str, spider: str, site: str, *settings: str) -> Crawl:
        """Schedule a spider, wait for its end, and return what came of it."""
        fields = [("project", project), ("spider", spider), ("site", site)]
        fields += [("setting", setting) for setting in settings]
        job = self.ask("schedule.json", urlencode(fields).encode())["jobid"]
        until = time.monotonic() + _LONGEST
        while True:
            finished = self.ask(f"listjobs.json?project={project}")["finished"]
            if job in {one["id"] for one in finished}:
                break
            assert time.monotonic() < until
            time.sleep(0.1)
        name = f"{project}/{spider}/{job}"
        log = (self._project.folder / "logs" / f"{name}.log").read_text(encoding="utf-8")
        return Crawl(0, log, self._project.items(f"items/{name}.jl"))

    def stop(self) -> None:
        """End it."""
        self._process.terminate()
        self._process.wait()


@pytest.fixture
def scrapyd(project: Projects) -> Iterator[tuple[Scrapyd, UserProject]]:
    deployed = project("plain")
    deployed.python("setup.py", "bdist_egg", "--dist-dir", "dist")
    # The server runs where the project is not.
    (deployed.folder / "scrapy.cfg").unlink()
    server = Scrapyd(deployed)
    try:
        yield server, deployed
    finally:
        server.stop()


def test_the_jobs_of_scrapyd_share_a_store_with_an_absolute_path(
    scrapyd: tuple[Scrapyd, UserProject],
) -> None:
    server, deployed = scrapyd
    (egg,) = (deployed.folder / "dist").iterdir()
    assert server.add("plain", egg.read_bytes()) == 2
    store = deployed.folder.parent / "stores" / "dedup.db"
    store.parent.mkdir()
    absolute = f"DEDUP_STORE_URL=sqlite:///{store.as_posix()}"
    pages = {
        "/article/a": html(article(1), "A"),
        "/article/copy": html(edited(article(1)), "A"),
        "/article/b": html(article(2), "B"),
    }
    with serving(linked(pages)) as site:
        first = server.crawl("plain", "articles", site.url, absolute)
        assert {path.name for path in store.parent.iterdir()} == {store.name}
        second = server.crawl("plain", "articles", site.url, absolute)
        assert not (deployed.folder / "dedup.db").exists()
        relative = server.crawl("plain", "articles", site.url)
    for crawl in (first, second, relative):
        assert "Traceback" not in crawl.log, crawl.log
    assert values(first.items, "headline") == ["A", "B"]
    assert first.stat("dedup/near") == "1"
    assert second.stat("dedup/unchanged") == "3"
    assert values(relative.items, "headline") == ["A", "B"], "it begins with a store of its own"
    assert (deployed.folder / "dedup.db").exists(), "in the working directory of the server"
