"""The examples of docs/howto/python.md run as they stand there, one after the other."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import httpx

from tests.repository.docs.pages import blocks, read
from tests.support.pages import article, html
from tests.support.serving import serving

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

PAGES = {"/a": html(article(1)), "/copy": html(article(1), navigation="Home"), "/b": "<p>"}


async def answers(app: Any, *pages: dict[str, str]) -> list[dict[str, Any]]:
    """Post pages to a service."""
    transport = httpx.ASGITransport(app)
    async with (
        app.router.lifespan_context(app),
        httpx.AsyncClient(transport=transport, base_url="http://service") as client,
    ):
        return [(await client.post("/check", json=page)).json() for page in pages]


def test_the_examples_of_the_page_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    examples = [
        block.text for block in blocks(read("howto/python.md")) if block.language == "python"
    ]
    printed = []
    with serving(PAGES) as site:
        urls = [f"{site.url}{path}" for path in PAGES]
        names: dict[str, Any] = {"urls": urls, "html": PAGES["/a"], "article": article(2)}
        for example in examples:
            exec(compile(example, "python.md", "exec"), names)  # noqa: S102 (our documentation)
            printed.append(capsys.readouterr().out)
    compared, decided, asked, lists, _, crawled, _ = printed
    assert compared == "0.38 of 15 and 15 words\n"
    assert decided.splitlines() == [
        f"new {urls[0]} None",
        f"exact {urls[1]} {urls[0]}",
        f"skipped {urls[2]} None",
    ]
    assert asked.splitlines()[0] == f"1.00 {urls[0]}"
    assert asked.splitlines()[-1] == f"{urls[0]} has 1 duplicates"
    assert len(names["rows"]) == 2
    assert lists.splitlines()[1] == "[1]"
    assert names["frame"]["status"].tolist()[:2] == ["new", "exact"]
    assert names["table"]["status"].to_list() == names["frame"]["status"].tolist()
    assert sorted(crawled.splitlines()) == sorted(
        [f"unchanged {urls[0]}", f"unchanged {urls[1]}", f"skipped {urls[2]}"]
    )
    text = article(3)
    found = asyncio.run(answers(names["app"], *({"url": url, "text": text} for url in "ab")))
    assert [(one["status"], one["original"]) for one in found] == [("new", None), ("exact", "a")]
