"""Timings as tables of the docs."""

from collections.abc import Mapping, Sequence

from contextune_lab.bench.results_file import BenchTable, Cell, Row
from contextune_lab.bench.speed.cluster.growth import Need
from contextune_lab.bench.speed.large_catalogues import ScaleRow, SearchTimes
from contextune_lab.bench.speed.latency import STAGES, Latency
from contextune_lab.bench.speed.stored_catalogues import StoredRow, figures

_MB = 1e6


def latency_table(results: Sequence[Latency]) -> BenchTable:
    """Milliseconds per method, with two columns (median and 95th percentile) per number of items."""
    sizes = list(dict.fromkeys(result.items for result in results))
    by_method: dict[str, dict[int, Latency]] = {}
    for result in results:
        by_method.setdefault(result.method, {})[result.items] = result
    columns = [f"{size:,} items: {what}" for size in sizes for what in ("median", "95 %")]
    rows: list[Row] = []
    for method, by_size in by_method.items():
        cells: list[Cell | None] = []
        for size in sizes:
            latency = by_size.get(size)
            cells += [Cell(latency.median), Cell(latency.p95)] if latency else [None, None]
        rows.append(Row(f"of these: {method}" if method in STAGES else method, cells))
    return BenchTable("latency", "contextune bench speed", columns, rows, corner="one request, ms")


def scale_tables(rows: Sequence[ScaleRow]) -> list[BenchTable]:
    """Search times and building costs by number of tools."""
    command = "contextune bench scale --public FOLDER"
    searching = [
        Row(
            f"{row.tools:,}",
            [
                *_times(row.retriever.short if row.retriever else None),
                *_times(row.retriever.search if row.retriever else None),
                Cell(row.exact.median),
                Cell(row.approximate.median),
                Cell(row.recall),
            ],
        )
        for row in rows
    ]
    building = [
        Row(
            f"{row.tools:,}",
            [
                _cell(row.embed_seconds),
                _cell(row.graph_seconds),
                _cell(row.retriever.bm25_seconds if row.retriever else None),
                _cell(row.retriever.open_seconds if row.retriever else None),
                _cell(row.vector_bytes, _MB),
                _cell(row.graph_bytes, _MB),
                _cell(row.retriever.bm25_bytes if row.retriever else None, _MB),
            ],
        )
        for row in rows
    ]
    return [
        BenchTable(
            "scale-search",
            command,
            [
                "short request: median ms",
                "95 %",
                "long request: median ms",
                "95 %, long",
                "vectors alone: exact",
                "graph",
                "recall@10 of the graph",
            ],
            searching,
            [1, 1, 1, 1, 2, 2, 3],
            "tools",
        ),
        BenchTable(
            "scale-build",
            command,
            [
                "embedding, once, s",
                "graph, once, s",
                "words s",
                "opening s",
                "vectors MB",
                "graph MB",
                "words MB",
            ],
            building,
            1,
            "tools",
        ),
    ]


def stored_table(rows: Sequence[StoredRow]) -> BenchTable:
    """Cost of indexes on disk by number of tools."""
    columns = {
        "building s": 0,
        "of these: graph s": 0,
        "memory while building MB": 0,
        "files MB": 0,
        "opening s": 1,
        "memory while searching MB": 0,
        "short request: median ms": 1,
        "vectors alone: graph ms": 1,
        "recall@10 of the graph": 3,
        "update of a server's tools s": 1,
    }
    values = figures(rows)
    table = [
        Row(f"{row.tools:,}", [_cell(values[name][number]) for name in columns])
        for number, row in enumerate(rows)
    ]
    command = "contextune bench scale --stored --public FOLDER"
    return BenchTable("scale-stored", command, list(columns), table, list(columns.values()), "tools")


def figures_table(name: str, command: str, figures: Mapping[str, float]) -> BenchTable:
    """One column of named figures; whole numbers from 100 on."""
    rows = [Row(key, [_figure(value)]) for key, value in figures.items()]
    return BenchTable(name, command, ["figure"], rows)


def growth_table(rows: Sequence[Need], cores: int) -> BenchTable:
    """What many users need at the peak, one column per number of users."""
    figures: dict[str, list[float]] = {
        "requests per second": [row.rate for row in rows],
        f"replicas of {cores} cores": [row.replicas for row in rows],
        "requests whose user is not in memory, %": [100 * row.load.misses for row in rows],
        "median, ms": [row.load.p50 for row in rows],
        "99 %, ms": [row.load.p99 for row in rows],
        "memory of a replica, GB": [row.memory_gigabytes for row in rows],
        "cores of the database": [row.database_cores for row in rows],
        "connections to it": [row.connections for row in rows],
        "store, GB": [1000 * row.terabytes for row in rows],
        "network, KB per second": [1000 * row.network_megabytes for row in rows],
        "notifications per second": [row.notifications for row in rows],
    }
    return BenchTable(
        "growth-needs",
        "contextune bench growth",
        [f"{row.users:,} users" for row in rows],
        [Row(name, [_figure(value) for value in values]) for name, values in figures.items()],
        corner="at the peak",
    )


def _figure(value: float) -> Cell:
    return Cell(value if isinstance(value, int) or value < 100 else round(value))


def _times(times: SearchTimes | None) -> list[Cell | None]:
    return [Cell(times.median), Cell(times.p95)] if times else [None, None]


def _cell(value: float | None, unit: float = 1.0) -> Cell | None:
    return None if value is None else Cell(value / unit)
