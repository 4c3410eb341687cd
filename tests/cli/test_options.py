"""Values that the command line copies, so that help imports nothing, are those of the library."""

import inspect

from contextune.cli import import_files, options, serve
from contextune.context import DEFAULT_METHOD as DEFAULT_CONTEXT_METHOD
from contextune.context import METHODS as CONTEXT_METHODS
from contextune.importers import READERS
from contextune.llm.from_env import MODEL_VARIABLE
from contextune.serve.http.run import ListenOptions
from contextune.tools import methods as tool_methods
from contextune_lab.bench.speed import import_mail
from contextune_lab.cli import generate
from contextune_lab.generate import quotas
from contextune_lab.generate.run import PARALLEL


def test_methods() -> None:
    assert tuple(CONTEXT_METHODS) == options.CONTEXT_METHODS
    assert tuple(tool_methods.METHODS) == options.TOOL_METHODS
    assert (options.DEFAULT_METHOD, options.DEFAULT_TOOL_METHOD) == (
        DEFAULT_CONTEXT_METHOD,
        tool_methods.DEFAULT_METHOD,
    )


def test_formats_of_import() -> None:
    assert tuple(reader.name for reader in READERS) == import_files.FORMATS


def test_defaults_of_serve() -> None:
    defaults = {name: option.default for name, option in inspect.signature(serve.serve).parameters.items()}
    listen = ListenOptions()
    assert (defaults["host"], defaults["port"], defaults["grace"]) == (listen.host, listen.port, listen.grace)


def test_defaults_of_generate() -> None:
    assert (generate.PAPER_PERSONAS, generate.PAPER_QUERIES) == (quotas.PERSONAS, quotas.QUERIES)
    assert generate.DEFAULT_PARALLEL == PARALLEL
    assert generate.MODEL_VARIABLE == MODEL_VARIABLE


def test_kinds_of_mail_in_the_import_benchmark() -> None:
    assert tuple(import_mail.SHARES) == ("plain", "both", "html", "attached")
