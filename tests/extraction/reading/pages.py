"""Pages of a text in one language."""

from __future__ import annotations

ENGLISH = "The new railway bridge over the river was opened on Monday by the mayor of the town. "
RUSSIAN = "Новый железнодорожный мост через реку открыл в понедельник мэр города. "
JAPANESE = "新しい鉄道の橋が川の上に完成し、月曜日に市長が式典で開通を宣言しました。"
CHINESE = "新的铁路大桥横跨河流，市长于星期一在典礼上宣布大桥正式开通。"


def page_of(text: str, *, head: str = "", attributes: str = 'lang="en"', times: int = 6) -> str:
    return (
        f"<!DOCTYPE html><html {attributes}><head>{head}<title>Bridge</title></head><body>"
        "<nav><ul><li><a href='/'>Home</a></li><li><a href='/about'>About us</a></li></ul></nav>"
        f"<article><h1>Bridge</h1><p>{text * times}</p></article>"
        "<footer>Copyright, all rights reserved</footer></body></html>"
    )
