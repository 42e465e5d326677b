"""`scrapy dedup`, through Scrapy's own command line."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import subprocess
import sys
from threading import Thread
from typing import TYPE_CHECKING, Any

import pytest

from shingling import Page, Store
from shingling.cli.all_commands import all_commands
from shingling.console.subcommand import HelpGroup
from tests.support.pages import article, html

if TYPE_CHECKING:
    from pathlib import Path

TEXT = f"{article(1)} first 31mred second"  # it has the words of the titles
EDITED = TEXT.replace(TEXT.split()[150], "edited", 1)


@pytest.fixture
def url(url: str) -> str:
    with Store.open(url) as store:
        run = store.start_run("news")
        store.check(
            [
                Page("https://a.example/1", TEXT, title="First \x1b[31mred\x1b[0m", fetched=1e9),
                Page("https://www.b.example/2", EDITED, title="Second", fetched=1.1e9),
                Page("https://b.example/3", TEXT, fetched=1.2e9),
                Page("https://b.example/4", article(2), title="[bold]Other[/bold]"),
            ],
            run=run,
        )
        store.finish_run(run, "finished")
    return url


def test_show_tells_all_of_a_url_with_its_duplicates(dedup: Any) -> None:
    (shown,) = dedup("show", "https://a.example/1", "--text", "--json").json()
    assert shown["status"] == "new"
    assert shown["first_seen"] == "2001-09-09T01:46:40+00:00"
    assert [page["url"] for page in shown["duplicates"]] == [
        "https://www.b.example/2",
        "https://b.example/3",
    ]
    assert shown["text"] == TEXT
    out = dedup("show", "https://a.example/1", "--text").out
    assert "https://b.example/3" in out
    assert "Compared text, of the item or by the extractor from its page:" in out
    assert "\x1b" not in out, "a title is no command for a terminal"
    assert "[bold]Other[/bold]" in dedup("show", "https://b.example/4").out, "nor is it markup"


def test_show_lists_the_lines_of_a_site_that_move(dedup: Any, url: str) -> None:
    def pages(views: int) -> list[Page]:
        return [
            Page(
                f"https://c.example/{at}", f"Views\n{at + views}\n{article(at)}", title=article(at)
            )
            for at in range(20, 26)
        ]

    assert dedup("show", "--site", "c.example").code == 1
    with Store.open(url) as store:
        for views in (1, 50):
            run = store.start_run("news", is_crawl=True)
            store.check(pages(views), run=run)
            store.finish_run(run, "finished")
    shown = dedup("show", "--site", "https://www.c.example/20")
    assert shown.out.splitlines()[0].split() == ["stood", "moved", "keeps_moving", "line"]
    assert shown.out.splitlines()[-1].split() == ["0", "6", "False", "Views", "75"]
    assert dedup("show", "--site", "c.example", "--json").json() == [
        {"stood": 0, "moved": 6, "keeps_moving": False, "line": "Views 75"}
    ]
    for both in ((), ("https://c.example/20", "--site", "c.example")):
        assert "name a URL, or a site by --site" in dedup("show", *both).err


def test_the_last_crawl_is_one_that_has_finished_and_no_import(dedup: Any, url: str) -> None:
    listed = ("list", "--run", "last", "--change", "went", "--jsonl")
    gone = dedup(*listed)
    assert (gone.code, gone.out, gone.err) == (1, "", "")
    with Store.open(url) as store:
        for spider, outcome in (("news", "finished"), ("news", "shutdown"), ("import", "finished")):
            run = store.start_run(spider)
            store.check([Page("https://b.example/4", article(2))], run=run)
            store.finish_run(run, outcome)
    lines = dedup(*listed).out.splitlines()
    assert {json.loads(line)["url"] for line in lines} == {
        "https://b.example/3", "https://www.b.example/2", "https://a.example/1",
    }  # fmt: skip
    assert dedup("list", "--run", "2", "--change", "went", "--jsonl").out.splitlines() == lines
    assert "takes a whole number" in dedup("list", "--run", "lats").err


def test_without_a_crawl_that_has_finished_there_is_no_last_one(dedup: Any, tmp_path: Path) -> None:
    empty = f"sqlite:///{tmp_path}/empty.db"
    Store.open(empty).close()
    refusal = dedup("list", "--run", "last", "--store", empty).refusal()
    assert "is a crawl that has finished" in refusal


def test_pages_are_listed_by_title_run_and_change_and_as_csv(dedup: Any, url: str) -> None:
    with Store.open(url) as store:
        run = store.start_run("news")
        again = [Page("https://a.example/1", article(3), title="First"), Page("=1", article(4))]
        store.check(
            [*again, Page("https://b.example/5", "five words only", title="=SUM(A1)")], run=run
        )
        store.finish_run(run, "finished")

    def urls(*options: str) -> list[str]:
        return [page["url"] for page in json.loads(dedup("list", *options, "--json").out)]

    assert urls("--title", "first \x1b[31mred") == []
    assert urls("--title", "FIRST") == ["https://a.example/1"]
    assert urls("--site", "https://www.b.example/any") == [
        *("https://www.b.example/2", "https://b.example/3", "https://b.example/4"),
        "https://b.example/5",
    ]
    assert urls("--run", "1", "--status", "new") == ["https://a.example/1", "https://b.example/4"]
    assert urls("--run", "2", "--status", "changed") == ["https://a.example/1"]
    assert urls("--run", "2", "--change", "came") == ["=1", "https://b.example/5"]
    assert len(urls("--run", "2", "--change", "went")) == 3
    years = ("--since", "2005-01-01T00:00", "--until", "2009-01-01")
    assert urls(*years) == ["https://b.example/3"]
    assert urls("--until", "2001-09-10") == []
    assert urls("--until", "2008-01-20") == ["https://www.b.example/2", "https://b.example/3"]
    assert "--change is of a run" in dedup("list", "--change", "came").err
    assert "new, changed" in dedup("list", "--status", "changed").out

    lines = [*csv.DictReader(io.StringIO(dedup("list", "--run", "2", "--csv").out))]
    assert [line["url"] for line in lines] == ["https://a.example/1", "'=1", "https://b.example/5"]
    assert lines[2]["title"] == "'=SUM(A1)"
    (group,) = dedup("groups", "--site", "www.b.example", "--json").json()
    assert (group["size"], group["original"]["url"]) == (1, "https://www.b.example/2")
    assert dedup("groups", "--site", "a.example")[0] == 1
    assert dedup("groups", "--csv").out.startswith("original,size,lowest,highest,duplicates")
    (shown,) = dedup("show", "a.example/1/", "--json").json()
    assert [one["verdict"] for one in shown["verdicts"]] == ["changed", "new"]
    assert "changed" in dedup("show", "http://www.a.example/1").out


def test_a_skipped_page_names_the_page_that_has_it(dedup: Any, url: str) -> None:
    short = " ".join(TEXT.split()[20:32])
    with Store.open(url) as store:
        store.check([Page("https://a.example/part", short, title="Other")])
    out = dedup("show", "a.example/part").out
    assert "wholly contained in https://a.example/1" in out
    status = dedup("status").out
    assert "pages       5\noriginals   2\nskipped     1\nduplicates  2 (1 exact, 1 near)" in status
    (shown,) = dedup("show", "a.example/part", "--json").json()
    assert shown["shares_most_with"]["containment"] == 1


def test_what_is_not_found_exits_with_1(dedup: Any) -> None:
    assert dedup("show", "https://a.example/none")[0] == 1
    assert dedup("list", "--site", "none.example")[0] == 1
    assert dedup("forget", "https://a.example/none", "--yes")[0] == 1
    assert dedup("similar", "https://b.example/4", "--json")[:2] == (1, "[]\n")


def test_similar_takes_a_url_a_file_or_standard_input(dedup: Any, tmp_path: Path) -> None:
    by_url = dedup("similar", "https://a.example/1", "--json").json()
    assert [page["url"] for page in by_url] == ["https://b.example/3", "https://www.b.example/2"]
    assert by_url[0]["similarity"] == {"resemblance": 1.0, "containment": 1.0, "exact": True}
    file = tmp_path / "page.html"
    file.write_text(html(TEXT), encoding="utf-8")
    by_file = dedup("similar", str(file), "--json").json()
    assert len(by_file) == 3, "a file is not one of the stored pages"
    by_input = dedup("similar", "-", "--limit", "1", "--json", stdin=TEXT.encode()).json()
    assert [page["url"] for page in by_input] == ["https://a.example/1"]


def test_forget_names_what_is_not_stored(dedup: Any) -> None:
    done = dedup("forget", "a.example/1", "https://no.example/", "--yes")
    said = "a.example/1 is not stored\nhttps://no.example/ is not stored\n"
    assert done == (1, "nothing was forgotten\n", said)
    assert dedup("forget", "https://a.example/1", "--yes").err == ""


def test_forget_asks_and_promotes_the_oldest_duplicate(dedup: Any) -> None:
    refused = dedup("forget", "https://a.example/1", stdin=b"n\n")
    what = "1 page, 1 verdict, 1 replaced original"
    asked = f"Remove {what} from the store? [y/N] "
    assert refused == (1, "nothing was forgotten\n", asked)
    tried = dedup("forget", "https://a.example/1", "--dry-run")
    assert tried == (0, f"{what} would be forgotten: nothing was changed (--dry-run)\n", "")
    assert dedup("forget", "https://a.example/1", stdin=b"y\n").out.endswith(f"{what} forgotten\n")
    (group,) = dedup("groups", "--json").json()
    assert group["original"]["url"] == "https://www.b.example/2"
    assert dedup("forget", "--run", "1", "--yes", "--json").json()["forgotten"] == 3
    assert dedup("status", "--json").json()["pages"] == 0


@pytest.mark.parametrize("site", ["https://www.b.example:443/2?a=b", "b.example:80", "B.example"])
def test_a_site_is_named_by_its_host_with_or_without_port_or_by_a_url_of_it(
    dedup: Any, site: str
) -> None:
    assert len(dedup("list", "--site", site, "--json").json()) == 3
    for command in ("forget", "prune"):
        options = ("--older-than", "1000") if command == "prune" else ()
        tried = dedup(command, "--site", site, *options, "--dry-run", "--json").json()
        assert next(iter(tried.values())) == (3 if command == "forget" else 2)


def test_everything_is_forgotten_but_runs_and_reviews(dedup: Any) -> None:
    asked = dedup("forget", "--all", stdin=b"n\n")
    assert (
        asked.err == "Remove 4 pages, 4 verdicts, 1 whole group, 2 templates from the store? [y/N] "
    )
    assert dedup("forget", "--all", "--yes").out.startswith("4 pages, ")
    status = dedup("status", "--json").json()
    assert (status["pages"], status["runs"]) == (0, 1)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["similar", "https://a.example/1", "--treshold", "0.3"], "unrecognized arguments"),
        (["similar", "https://a.example/1", "--threshold", "3"], "from 0 to 1"),
        (["similar", "https://a.example/1", "--distance", "65"], "0 to 64 bits"),
        (["similar", "a", "--distance", "3", "--threshold", "0.5"], "not both"),
        (["list", "--limit", "0"], "a whole number, 1 to"),
        (["rebuild"], "--threshold, --method, --containment, --decide or --scheme"),
        (["list", "--since", "yesterday"], "2026-11-21"),
        (["forget"], "name URLs"),
        (["forget", "--all", "--run", "1"], "or --all alone"),
        (["forget", "--site", "https://"], "takes a host or a URL"),
        (["forget", "--site", "*.a.example"], "each sub-domain is a site of its own"),
        (["list", "--site", ".a.example"], "each sub-domain is a site of its own"),
        (["rules", "*.a.example"], "each sub-domain is a site of its own"),
        (["compare", "-", "-"], "only one"),
        (["similar", "nothing-of-the-kind"], "neither a file nor stored"),
        (["prune"], "--older-than"),
        (["prune", "--older-than", "0"], "above 0"),
        (["review", "a", "b"], "name two URLs"),
        (["review", "a", "b", "--same", "--different"], "not allowed with"),
        (["review", "a", "b", "--undo", "--note", "x"], "--note goes with"),
        (["review", "a", "a", "--same"], "name two URLs"),
        (["rebuild", "--threshold", "0.6", "--dry-run"], "goes with --decide"),
        (["compare", "a", "b", "--measure", "dice"], "--measure goes with --all"),
        (["compare", "a", "b", "--step", "2"], "--step goes with --hash"),
        (["compare", "a", "b", "c"], "two are compared"),
        (["compare", "a", "--all", "--diff"], "--diff does not go with --all"),
        (["compare", "a", "--all", "--csv", "--json"], "only one of them"),
        (["compare", "a", "--all", "--matrix", "--threshold", "0.1"], "--matrix is of all pairs"),
        (["-s", "DEDUP_TRESHOLD=1", "status", "-s", "DEDUP_THRESHOLD=.4"], "DEDUP_TRESHOLD is not"),
        (["status", "-s", "DEDUP_THRESHOLD=4"], "DEDUP_THRESHOLD = '4' is not accepted"),
        (["--set=DEDUP_THRESHOLD", "status"], "use -s NAME=VALUE"),
        (["status", "--set=DEDUP_THRESHOLD"], "use -s NAME=VALUE"),
    ],
)
def test_misuse_exits_with_2_and_one_line(dedup: Any, arguments: list[str], message: str) -> None:
    code, out, err = dedup(*arguments)
    assert code == 2
    assert message in err
    assert "Traceback" not in err + out


def test_the_command_and_declarations_of_all_commands_import_nothing_heavy() -> None:
    code = (
        "import sys, scrapy.commands\n"
        "before = set(sys.modules)\n"
        "import shingling.cli.command\n"
        "from shingling.cli.all_commands import all_commands\n"
        "all_commands()\n"
        "new = {name for name in set(sys.modules) - before if not name.startswith('shingling')}\n"
        "print(sorted(name for name in new if name.partition('.')[0] in\n"
        "    {'numpy', 'sqlalchemy', 'trafilatura', 'alembic', 'rich', 'lxml', 'crcmod'}))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_the_help_lists_the_commands_in_groups(dedup: Any) -> None:
    shown = re.split(r"\n([^\n]+)\n={4,}\n", dedup("-h").out)
    groups = dict(zip(shown[1::2], shown[2::2], strict=True))
    for title in HelpGroup:
        names = [name for name, command in all_commands().items() if command.group is title]
        assert re.findall(r"^  (\w+) {2}", groups[title.title()], re.MULTILINE) == names != []


def test_compare_shows_what_differs_word_by_word(dedup: Any) -> None:
    pair = "https://a.example/1", "https://www.b.example/2"
    code, out, _ = dedup("compare", *pair, "--diff")
    assert code == 0
    assert f"[-{TEXT.split()[150]}-]{{+edited+}}" in out
    assert "words …]" in out
    shown = dedup("compare", *pair, "--diff", "--json").json()
    assert [part["b"] for part in shown["diff"] if not part["same"]] == ["edited"]
    assert shown["longest_run"] > 140
    assert shown["warnings"] == []


def test_compare_warns_of_measures_that_say_little(dedup: Any, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one two three", encoding="utf-8")
    (tmp_path / "b.txt").write_text("one two four", encoding="utf-8")
    code, out, _ = dedup("compare", str(tmp_path / "a.txt"), str(tmp_path / "b.txt"))
    assert code == 0
    assert "SimHash says little" in out
    assert "per word" in out


def test_a_rebuild_for_another_method_says_what_it_finds(dedup: Any) -> None:
    assert "SimHashes" in dedup("rebuild", "--method", "simhash")[1]
    assert "equal megashingle" in dedup("rebuild", "--method", "megashingle")[1]
    _, out, _ = dedup("rebuild", "--threshold", "0.8", "--method", "minhash", "--containment")
    assert out == "14 x 6 minima, and samples, which find 98.6% of the pairs at 0.8\n"
    _, out, _ = dedup("rebuild", "--threshold", "0.6")
    assert out.startswith("28 x 3 minima, and samples"), "samples stay unless one says so"
    _, out, _ = dedup("rebuild", "--threshold", "0.8", "--no-containment")
    assert out.startswith("14 x 6 minima, which find")
    assert "28 x 3" not in dedup("status")[1]


def test_texts_are_read_from_pipes_and_in_old_encodings(dedup: Any, tmp_path: Path) -> None:
    words = "Вчера в городе открыли новый мост через реку и три станции метро " * 5
    (tmp_path / "a.txt").write_bytes(words.encode("cp1251"))
    (tmp_path / "b.txt").write_bytes(words.encode("utf-16"))
    (tmp_path / "c.txt").write_text(words, encoding="utf-8")
    for name in ("a.txt", "b.txt"):
        shown = dedup("compare", str(tmp_path / name), str(tmp_path / "c.txt"), "--json").json()
        assert shown["exact"], name
    os.mkfifo(tmp_path / "pipe")
    writer = Thread(target=(tmp_path / "pipe").write_text, args=(words,))
    writer.start()
    shown = dedup("compare", str(tmp_path / "pipe"), str(tmp_path / "c.txt"), "--json").json()
    writer.join()
    assert shown["exact"]
    (tmp_path / "empty.txt").write_text("")
    code, _, err = dedup("similar", str(tmp_path / "empty.txt"))
    assert (code, "a text without words" in err) == (2, True)
