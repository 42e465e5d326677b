"""What is stored of a decision is told again, whoever asks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shingling import Page
from tests.support.pages import article

if TYPE_CHECKING:
    from shingling import Store

TEXT = article(1)


def test_lists_name_the_fields_that_kept_pages(store: Store) -> None:
    pages = [
        Page(f"https://a.example/{number}", TEXT, fields={"sku": number, "colour": "red"})
        for number in range(20)
    ]
    verdicts = store.check(pages)
    listed = list(store.pages())
    assert [page.fields for page in listed] == [(), *[("sku",)] * 19]
    assert [page.fields for page in listed[1:]] == [verdict.fields for verdict in verdicts[1:]]
    assert {page.decided_by for page in listed[1:]} == {"https://a.example/0"}
    assert store.find("https://a.example/7") == [listed[7]]
    first, second, *_ = listed
    assert store.differing_fields(first, second) == store.differing_fields(second, first)
    assert store.admin.forget(["https://a.example/0"]) == 1
    assert store.differing_fields(first, second) == ()
    assert store.find("https://a.example/7")[0].fields == ()
    assert store.find("https://a.example/7")[0].reason == "other_fields"


def test_the_values_of_a_page_are_those_of_its_verdict(store: Store) -> None:
    edited = " ".join([*TEXT.split()[:250], *article(2, 50).split()])
    pages = [
        Page(f"https://{site}.example/", text)
        for site, text in (("a", TEXT), ("b", edited), ("c", edited))
    ]
    names = ("original", "resemblance", "containment", "threshold", "reason", "fields")
    for verdicts in (store.check(pages), store.check(pages)):
        for page, verdict in zip(pages, verdicts, strict=True):
            [stored] = store.find(page.url)
            shown, given = stored.as_dict(), verdict.as_dict()
            assert [shown[name] for name in names] == [given[name] for name in names]
            assert stored.compared_with == verdict.compared_with
    assert verdicts[2].compared_with == "https://b.example/"
