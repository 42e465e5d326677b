"""The simulated sites."""

from benchmarks.fetches.sites.articles import Mixed, News, Wiki
from benchmarks.fetches.sites.boards import Board, Forum
from benchmarks.fetches.sites.declared import (
    Catalogue,
    CatalogueFirst,
    CatalogueMixed,
    CatalogueStart,
    Magazine,
    MagazineFirst,
    MagazineMixed,
    MagazineStart,
)
from benchmarks.fetches.sites.manuals import (
    Architectures,
    Documentation,
    Languages,
    Manual,
    Versions,
)
from benchmarks.fetches.sites.shops import Collections, Shop, SmallStorefront, Storefront

SITES = (
    *(Forum, Shop, News, Manual, Languages, Versions, Wiki, Mixed),
    *(Collections, Board, Documentation, Architectures, SmallStorefront, Storefront),
    *(Magazine, MagazineFirst, MagazineStart, MagazineMixed),
    *(Catalogue, CatalogueFirst, CatalogueStart, CatalogueMixed),
)
