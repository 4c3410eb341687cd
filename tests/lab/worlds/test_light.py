"""The bundled light worlds."""

from tests.paths import ROOT

from contextune_lab.worlds.light import read_light_worlds

README = ROOT / "packages" / "lab" / "src" / "contextune_lab" / "assets" / "README.md"


def test_readme_counts_people_items_and_requests() -> None:
    worlds = read_light_worlds()
    people, items = len(worlds), sum(len(world.items) for world in worlds)
    requests = sum(len(world.requests) for world in worlds)
    row = next(
        line for line in README.read_text("utf-8").splitlines() if "`training/light_worlds.jsonl.gz`" in line
    )
    assert row.endswith(f"| {people} people, {items:,} items, {requests:,} requests |")
