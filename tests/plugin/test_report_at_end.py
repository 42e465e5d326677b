"""`DEDUP_REPORT`: a crawl writes its report when it ends, and never fails for it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from scrapy.settings import Settings

from shingling.errors import SettingsError
from shingling.plugin.settings import DedupSettings
from tests.support.pages import article, html

if TYPE_CHECKING:
    from tests.support.crawls import Project

PAGES = {
    "/a": html(article(1), "A"),
    "/copy": html(article(1), "A"),
    "/edited": html(article(1).replace(article(1).split()[100], "edited", 1), "A"),
    "/other": html(article(2), "Other"),
}
ALL = ("-a", "paths=/a,/copy,/edited,/other", "-s", "CONCURRENT_REQUESTS=1")


def test_a_crawl_writes_its_report_with_its_own_run(project: Project, site: str) -> None:
    report = ("-s", "DEDUP_REPORT=out/report.html")
    crawl = project.crawl("-a", f"site={site}", *ALL, *report)
    file = project.folder / "out" / "report.html"
    assert crawl.status == 0
    assert " ERROR: " not in crawl.log
    assert f"Dedup: wrote the report {file}" in crawl.log
    page = file.read_text("utf-8")
    assert "<dt>Pages</dt><dd>4</dd>" in page
    assert "<bdi>finished</bdi>" in page
    assert f"{site}/edited" in page.partition("<h2>Least alike</h2>")[2]

    # A run of `parse` changes no store, and has nothing to tell; nor has one without items.
    file.unlink()
    done = project.run("parse", f"{site}/a", "--spider", "spider", "--pipelines", *report)
    assert done.returncode == 0, done.stderr
    crawl = project.crawl("-a", f"site={site}", "-a", "paths=/absent", *report)
    assert " ERROR: " not in done.stderr + crawl.log
    assert not file.exists()


def test_a_report_that_cannot_be_written_is_one_error_and_costs_no_item(
    project: Project, site: str
) -> None:
    crawl = project.crawl("-a", f"site={site}", *ALL, "-s", "DEDUP_REPORT=scrapy.cfg/report.html")
    assert crawl.status == 0
    assert crawl.stat("finish_reason") == "finished"
    assert len(crawl.items) == 2
    (line,) = [line for line in crawl.log.splitlines() if " ERROR: " in line]
    assert "Dedup could not write its report: " in line
    assert "scrapy.cfg" in line
    assert "Traceback" not in crawl.log


def test_the_path_begins_at_the_working_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "scrapy.cfg").touch()
    (tmp_path / "work" / "folder.html").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "work")
    for value in ("out/report.HTML", Path("out", "report.HTML")):
        chosen = DedupSettings.from_settings(Settings({"DEDUP_REPORT": value}))
        assert chosen.of_rooms["DEDUP_REPORT"] == str(tmp_path / "work" / "out" / "report.HTML")
    for nothing in (None, "", "None"):
        chosen = DedupSettings.from_settings(Settings({"DEDUP_REPORT": nothing}))
        assert chosen.of_rooms["DEDUP_REPORT"] is None
    with pytest.raises(SettingsError, match="it is a folder"):
        DedupSettings.from_settings(Settings({"DEDUP_REPORT": "folder.html"}))


def test_a_missing_extra_is_named_before_the_crawl_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jinja2", None)
    settings = Settings({"DEDUP_REPORT": "report.html"})
    with pytest.raises(SettingsError, match=r"needs jinja2: pip install .+ \(extra web\)"):
        DedupSettings.from_settings(settings)
    chosen = DedupSettings.from_settings(settings, crawl=False)
    assert chosen.of_rooms["DEDUP_REPORT"] is not None
