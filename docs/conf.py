"""Configuration of the documentation site: `make docs` builds it."""

from __future__ import annotations

import os
from importlib.metadata import version as installed_version
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.error import URLError
from urllib.request import urlopen

if TYPE_CHECKING:
    from sphinx.application import Sphinx

project = "scrapy-shingling"
author = "the authors of scrapy-shingling"
copyright = f"2026, {author}"  # noqa: A001 (Sphinx's own name)
release = installed_version("scrapy-shingling")
version = release

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.intersphinx",
    "sphinx.ext.napoleon",
    "sphinx_copybutton",
]

html_theme = "furo"
html_title = "scrapy-shingling"
html_favicon = "../shingling/web/static/icon.svg"
html_static_path = ["_static"]
html_css_files = ["dark.css"]
html_js_files = ["accessible.js"]
html_search_scorer = str(Path(__file__).parent / "_static" / "scorer.js")
html_show_sphinx = False
html_theme_options = {
    "source_repository": "https://github.com/scrapy-shingling/scrapy-shingling/",
    "source_branch": "main",
    "source_directory": "docs/",
}

# Of a console, what is typed is copied, not what is printed.
copybutton_prompt_text = "$ "

# Every heading has an anchor, named as GitHub names it, so that links work in both places.
myst_heading_anchors = 4

# Docstrings put names in single backquotes.
default_role = "py:obj"
autodoc_member_order = "alphabetical"
autodoc_typehints = "signature"
autodoc_class_signature = "mixed"
autodoc_mock_imports = ["pyspark"]
napoleon_numpy_docstring = False
napoleon_use_rtype = False
python_use_unqualified_type_names = True

# Links into other projects' documentation need their lists of names. A build without network, or
# with DOCS_OFFLINE set, does without those links.
_INVENTORIES = {
    "python": "https://docs.python.org/3/",
    "scrapy": "https://docs.scrapy.org/en/latest/",
    "sqlalchemy": "https://docs.sqlalchemy.org/en/20/",
}
_TIMEOUT = 5  # seconds


def _is_reachable(address: str) -> bool:
    try:
        with urlopen(f"{address}objects.inv", timeout=_TIMEOUT) as answer:  # noqa: S310 (ours)
            return bool(answer.read(1))
    except (URLError, OSError):
        return False


intersphinx_mapping = {
    name: (address, None)
    for name, address in _INVENTORIES.items()
    if not os.environ.get("DOCS_OFFLINE") and _is_reachable(address)
}


def _leave_out_module_docstring(_: Sphinx, what: str, *rest: Any) -> None:
    """Leave out what a module says to its developers; the page has its own introduction."""
    if what == "module":
        rest[-1].clear()


def setup(app: Sphinx) -> None:
    """Register the hook with Sphinx."""
    app.connect("autodoc-process-docstring", _leave_out_module_docstring)
