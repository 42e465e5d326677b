"""A project as an egg on a Scrapyd server."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from typing import TYPE_CHECKING, Any
from urllib.error import URLError
from urllib.parse import urlencode
from urllib.request import urlopen

import pytest

from tests.plugin.projects.user_project import values
from tests.support.crawls import Crawl
from tests.support.pages import article, edited, html, linked
from tests.support.processes import so_within
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
        self._process = subprocess.Popen(
            [sys.executable, "-m", "scrapyd"],
            cwd=project.folder,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.STDOUT,
        )

    def is_up(self) -> bool:
        """Whether it answers."""
        try:
            self.ask("daemonstatus.json")
        except URLError:
            return False
        return True

    def ask(self, service: str, body: bytes | None = None) -> Any:
        """Return the answer of a service of its API; `body` is posted."""
        with urlopen(f"{self._address}/{service}", body, _LONGEST) as response:  # noqa: S310 (ours)
            answer = json.load(response)
        assert answer["status"] == "ok", answer
        return answer

    def crawl(self, site: str, *settings: str) -> Crawl:
        """Schedule a spider, wait for its end, and return what came of it."""
        fields = [("project", "plain"), ("spider", "articles"), ("site", site)]
        fields += [("setting", setting) for setting in settings]
        job = self.ask("schedule.json", urlencode(fields).encode())["jobid"]

        def has_ended() -> bool:
            finished = self.ask("listjobs.json?project=plain")["finished"]
            return job in {one["id"] for one in finished}

        assert so_within(_LONGEST, has_ended)
        name = f"plain/articles/{job}"
        log = (self._project.folder / "logs" / f"{name}.log").read_text(encoding="utf-8")
        return Crawl(0, log, self._project.items(f"items/{name}.jl"))

    def stop(self) -> None:
        """End it."""
        self._process.terminate()
        self._process.wait()


@pytest.fixture
def scrapyd(project: Projects) -> Iterator[tuple[Scrapyd, UserProject]]:
    deployed = project("plain")
    eggs = deployed.folder / "eggs" / "plain"
    deployed.python("setup.py", "bdist_egg", "--dist-dir", str(eggs))
    (egg,) = eggs.iterdir()
    egg.rename(eggs / "1.egg")
    # The server runs where the project is not.
    (deployed.folder / "scrapy.cfg").unlink()
    server = Scrapyd(deployed)
    try:
        assert so_within(_LONGEST, server.is_up)
        yield server, deployed
    finally:
        server.stop()


def test_the_jobs_of_scrapyd_share_a_store_with_an_absolute_path(
    scrapyd: tuple[Scrapyd, UserProject],
) -> None:
    server, deployed = scrapyd
    store = deployed.folder.parent / "stores" / "dedup.db"
    store.parent.mkdir()
    absolute = f"DEDUP_STORE_URL=sqlite:///{store.as_posix()}"
    pages = {
        "/article/a": html(article(1), "A"),
        "/article/copy": html(edited(article(1)), "A"),
        "/article/b": html(article(2), "B"),
    }
    with serving(linked(pages)) as site:
        first = server.crawl(site.url, absolute)
        assert {path.name for path in store.parent.iterdir()} == {store.name}
        second = server.crawl(site.url, absolute)
        assert not (deployed.folder / "dedup.db").exists()
    for crawl in (first, second):
        assert "Traceback" not in crawl.log, crawl.log
    assert values(first.items, "headline") == ["A", "B"]
    assert first.stat("dedup/near") == "1"
    assert second.stat("dedup/unchanged") == "3"
