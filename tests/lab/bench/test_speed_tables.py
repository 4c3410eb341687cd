"""Timings as tables of the docs."""

from contextune_lab.bench.results_file import Cell
from contextune_lab.bench.speed.cluster.growth import Need, ReplicaLoad
from contextune_lab.bench.speed.large_catalogues import RetrieverTimes, ScaleRow, SearchTimes
from contextune_lab.bench.speed.latency import Latency
from contextune_lab.bench.speed_tables import figures_table, growth_table, latency_table, scale_tables


def test_latency_has_two_columns_per_size() -> None:
    table = latency_table(
        [Latency("bm25", 33, 0.5, 1.5), Latency("tools", 33, 5.0, 6.0), Latency("tools", 10_000, 7.0, 8.0)]
    )
    assert dict(table.values()) == {
        "latency/bm25/33 items: median": 0.5,
        "latency/bm25/33 items: 95 %": 1.5,
        "latency/of these: tools/33 items: median": 5.0,
        "latency/of these: tools/33 items: 95 %": 6.0,
        "latency/of these: tools/10,000 items: median": 7.0,
        "latency/of these: tools/10,000 items: 95 %": 8.0,
    }
    assert table.rows[0].cells[2:] == [None, None]


def test_sizes_beyond_the_real_tools_have_vector_search_only() -> None:
    long, short = SearchTimes(27.0, 39.5, 30), SearchTimes(10.0, 12.5, 90)
    exact, graph = SearchTimes(0.12, 0.2, 8000), SearchTimes(0.38, 0.5, 2600)
    real = ScaleRow(
        1000, 50.0, RetrieverTimes(0.1, 7_000_000, 0.2, long, short), 0.1, 1_500_000, 700_000, exact, graph,
        1.0, None,
    )  # fmt: skip
    copies = ScaleRow(200_000, 50.0, None, 82.0, 307_000_000, 132_000_000, exact, graph, 0.989, None)
    searching, building = scale_tables([real, copies])
    values = dict(searching.values()) | dict(building.values())
    assert values["scale-search/1,000/short request: median ms"] == 10.0
    assert values["scale-search/1,000/long request: median ms"] == 27.0
    assert values["scale-build/1,000/embedding, once, s"] == 20.0
    assert values["scale-build/1,000/words MB"] == 7.0
    assert values["scale-search/200,000/recall@10 of the graph"] == 0.989
    assert "scale-search/200,000/short request: median ms" not in values
    assert "scale-build/200,000/words MB" not in values


def test_large_figures_are_whole_numbers() -> None:
    table = figures_table("store", "contextune bench store", {"load": 44_512.7, "fast": 5.26, "failed": 0})
    assert [row.cells for row in table.rows] == [[Cell(44_513)], [Cell(5.26)], [Cell(0)]]


def test_growth_has_a_column_per_number_of_users() -> None:
    rows = [
        Need(users, 0.0007 * users, 2, ReplicaLoad(0.25, 15.0, 103.0), 0.1, 14, 0.0001, 0.4, 0.002, 0.03, ())
        for users in (1000, 1_000_000)
    ]
    values = dict(growth_table(rows, cores=2).values())
    assert values["growth-needs/requests per second/1,000 users"] == 0.7
    assert values["growth-needs/requests per second/1,000,000 users"] == 700
    assert values["growth-needs/replicas of 2 cores/1,000 users"] == 2
    assert values["growth-needs/requests whose user is not in memory, %/1,000 users"] == 25
    assert values["growth-needs/store, GB/1,000 users"] == 0.1
