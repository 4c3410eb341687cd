"""What the search for tools is learnt from and measured on."""

from pathlib import Path

from contextune.cli import show
from contextune.errors import ContextuneError
from contextune.train.fold_vectors import bundled_folds
from contextune.train.tool_examples import ToolExample, people_examples, public_examples


def tool_data(public: Path | None, vectors: Path | None) -> tuple[list[ToolExample], list[ToolExample]]:
    """Requests of the personas in the package, and those of public catalogues, if a folder is named."""
    if (public is None) != (vectors is None):
        raise ContextuneError("--public and --vectors go together: texts, and what embedders made of them")
    # read first: a folder that is not there is told before minutes of work
    others = public_examples(public, vectors) if public and vectors else []
    with show.progress("Context of personas") as update:
        return people_examples(bundled_folds(), progress=update), others
