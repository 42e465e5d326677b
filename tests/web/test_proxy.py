"""The server behind a proxy, and how much of an answer is sent."""

from __future__ import annotations

import gzip
import http.client
import json
import re
import socket
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode, urlsplit

import pytest

from shingling import Store
from tests.support.commands import dedup_command
from tests.support.processes import PATIENCE
from tests.web.conftest import Served, serving
from tests.web.stores import fill_with_news
from tests.web.test_requests import PAIR, ask, fields_of, kind_of

if TYPE_CHECKING:
    from pathlib import Path

NAME = "crawler.example"


def free_port() -> str:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return str(taken.getsockname()[1])


def test_a_named_proxy_shows_every_page_below_its_path(tmp_path: Path) -> None:
    port = free_port()
    options = ("--port", port, "--root-path", "/dedup/", "--proxy-host", NAME)
    with serving(tmp_path / "news", fill_with_news, *options) as shown:
        parts = urlsplit(shown.address)
        assert (parts.scheme, parts.netloc, parts.path) == ("https", NAME, "/dedup/")
        behind = Served(shown.store, f"http://127.0.0.1:{port}")
        assert ask(behind, "/groups", Host=NAME)[0] == 403  # others can connect

        status, headers, _ = ask(behind, f"/dedup/?{parts.query}", Host=NAME)
        assert (status, headers["location"]) == (303, "/dedup/")
        cookie, _, how = headers["set-cookie"].partition("; ")
        assert {*how.split("; ")} == {"HttpOnly", "Path=/dedup/", "SameSite=strict", "Secure"}
        as_sent: dict[str, Any] = {"Host": NAME, "Cookie": cookie}
        _, headers, _ = ask(behind, "/dedup/", **as_sent)
        assert headers["location"] == "/dedup/overview"

        seen, waiting, kinds = set(), {"/dedup/groups"}, set()
        while waiting:
            seen.add(path := waiting.pop())
            kinds.add(kind_of(path))
            status, _, page = ask(behind, path, **as_sent)
            assert status == 200, path
            if "/static/" not in path and ".json" not in path and ".csv" not in path:
                links = re.findall(r' (?:href|src)="([^"#]+)', page.replace("&amp;", "&"))
                ours = {link for link in links if not link.startswith("https://")}
                assert all(link.startswith("/dedup/") for link in ours), (path, ours)
                waiting |= {link for link in ours - seen if link.count("?") < 2}
            # One of each kind is as good as all.
            waiting = {link for link in waiting if kind_of(link) not in kinds}
        assert len(seen) > 30

        _, _, data = ask(behind, "/dedup/groups.json?size=1", **as_sent)
        assert json.loads(data)["next"].startswith("/dedup/groups.json?size=1&after=")
        pair = f"/pair?{urlencode(PAIR)}"
        page = ask(behind, f"/dedup{pair}", **as_sent)[2]
        # Some proxies take the path away.
        assert fields_of(ask(behind, pair, **as_sent)[2], "/dedup/review") == fields_of(
            page, "/dedup/review"
        )
        form = {**fields_of(page, "/dedup/review"), "answer": "same"}
        for origin in ("https://evil.example", f"http://{NAME}.evil", "null", ""):
            assert ask(behind, "/dedup/review", form, Origin=origin, **as_sent)[0] == 403
        # Some proxies hand on their own name, some that of the server.
        for host in (NAME, f"127.0.0.1:{port}"):
            sent = {**as_sent, "Host": host, "Origin": f"https://{NAME}"}
            status, headers, page = ask(behind, "/dedup/review", form, **sent)
            assert (status, headers["location"][:7]) == (303, "/dedup/"), page
            form = {**form, **fields_of(ask(behind, pair, **as_sent)[2], "/dedup/review")}
        with Store.open(shown.store) as store:
            assert len(store.admin.reviews()) == 1


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("--root-path", "dedup"),
        ("--root-path", "//evil.example"),
        ("--root-path", "/a/../b"),
        ("--root-path", '/"><script>'),
        ("--proxy-host", "ftp://crawler.example"),
        ("--proxy-host", "crawler.example/dedup"),
        ("--proxy-host", "me@crawler.example"),
        ("--proxy-host", "https://"),
    ],
)
def test_other_paths_and_names_are_refused(
    monkeypatch: pytest.MonkeyPatch, option: str, value: str
) -> None:
    done = dedup_command(monkeypatch, "serve", option, value)
    assert done.code == 2
    assert f"argument {option}: takes a " in done.err


def test_pages_are_sent_compressed_and_styles_once(news: Served) -> None:
    parts = urlsplit(news.address)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port or 0, timeout=PATIENCE)
    connection.request("GET", "/overview", headers={"Accept-Encoding": "gzip"})
    answer = connection.getresponse()
    assert answer.getheader("content-encoding") == "gzip"
    assert answer.getheader("cache-control") == "no-store"
    sent = answer.read()
    connection.close()
    page = gzip.decompress(sent).decode()
    assert len(sent) < len(page) / 3
    assert page.partition("As of")[0] == ask(news, "/overview")[2].partition("As of")[0]
    status, headers, _ = ask(news, "/static/app.css")
    assert (status, headers["cache-control"]) == (200, "private, no-cache")
    status, _, style = ask(news, "/static/app.css", If_None_Match=headers["etag"])
    assert (status, style) == (304, "")
    assert ask(news, "/groups?/static/app.css")[1]["cache-control"] == "no-store"
