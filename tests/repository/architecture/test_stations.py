"""How far a page has to go from `Store.check`: see `trace` for what a station is."""

from __future__ import annotations

import pytest

from tests.repository.architecture.trace import Trace, trace_pages

MAX_STATIONS = 44


@pytest.fixture(scope="module")
def traces() -> dict[str, Trace]:
    return trace_pages()


# The way of a near-duplicate is the whole way: it is learned from, looked up and measured.
@pytest.mark.parametrize(
    "kind", ["new", "exact", "near", "unchanged", "changed", "skipped", "batch"]
)
def test_a_page_passes_few_stations(traces: dict[str, Trace], kind: str) -> None:
    stations = [*traces[kind].stations]
    assert len(stations) <= MAX_STATIONS, "\n".join(stations)


def test_the_trace_begins_at_the_store_and_has_its_decision(traces: dict[str, Trace]) -> None:
    for kind, trace in traces.items():
        callers = {call.from_module for call in trace.stations.values()}
        assert "store.store" in callers, kind
        assert any(module.startswith("store.decide") for module in trace.modules), kind
