"""docs/design.md names the modules that a request runs through: those of a traced request."""

import re
import sys
from collections.abc import Generator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from types import FrameType

from tests.model_memo import models_run_each_time
from tests.paths import ROOT

import contextune
from contextune.store import SQLiteStore
from contextune.tools import ToolRetriever, bundled_toolbox
from contextune.tuner import Tuner
from contextune.types import Contact, Item, Request, User

PACKAGE = Path(contextune.__file__).parent
START = "tuner.py"
VALUES = ("types/", "_internal/", "errors.py")
"""Not drawn: modules of values and helpers."""
LIBRARIES = ("embed/", "rank/", "reading/", "search/", "store/", "time_phrases/")
"""Drawn where a stage calls them; what they call in turn is not."""
_FIGURE = re.compile(r"^```text\n(tuner\.py.*?)^```$", re.MULTILINE | re.DOTALL)
_NUMBER = re.compile(r"passes (\d+) modules")


@contextmanager
def calls_between_modules(paths: dict[str, tuple[str, ...]]) -> Generator[None]:
    """Collect the modules that run in this thread, each with its shortest chain of calls from `START`."""

    def record(frame: FrameType, event: str, _: object) -> None:
        if event != "call" or not frame.f_code.co_filename.startswith(str(PACKAGE)):
            return
        chain: list[str] = []
        caller: FrameType | None = frame
        while caller is not None and chain[-1:] != [START]:
            file = Path(caller.f_code.co_filename)
            if file.is_relative_to(PACKAGE):
                module = file.relative_to(PACKAGE).as_posix()
                if chain[-1:] != [module]:
                    chain.append(module)
            caller = caller.f_back
        if chain[-1] == START and len(chain) < len(paths.get(chain[0], (*chain, ""))):
            paths[chain[0]] = tuple(reversed(chain))

    sys.setprofile(record)
    try:
        yield
    finally:
        sys.setprofile(None)


def traced_modules(store: SQLiteStore) -> list[str]:
    """The figure: what `Tuner.answer` calls, indented by what calls it; in the order of the first calls."""
    contacts = (Contact("Marta Sousa", email="marta@example.org", relation="sister"),)
    store.put_user(User("ines", contacts=contacts))
    mail = Item.mail(id="m1", subject="Kiln", author="marta@example.org", date="2024-05-13T09:00")
    note = Item.note(id="n1", title="Bread", content="Flour, water", modified="2024-05-12T10:00")
    store.put_items("ines", [mail, note])
    text = "Write to my sister that I need a kiln slot on Saturday"
    request = Request(text, "ines", datetime(2024, 5, 16, 17, 40))
    tuner = Tuner(store, tools=ToolRetriever(bundled_toolbox()))
    answer = tuner.answer(request)  # loads models and the user, which is no part of the path
    assert answer.context
    assert answer.plan
    paths: dict[str, tuple[str, ...]] = {}
    with models_run_each_time(), calls_between_modules(paths):
        tuner.answer(request)
    drawn = {module: path for module, path in paths.items() if not module.startswith(VALUES)}
    children = [module for module, path in drawn.items() if len(path) == 2]
    lines = [START]
    for child in children:
        lines.append(f"  {child}")
        if not child.startswith(LIBRARIES):
            lines += [f"    {module}" for module, path in drawn.items() if path[:-1] == (START, child)]
    return lines


def test_design_draws_the_modules_of_a_request(store: SQLiteStore) -> None:
    page = (ROOT / "docs" / "design.md").read_text(encoding="utf-8")
    figure = _FIGURE.search(page)
    number = _NUMBER.search(page)
    assert figure
    assert number
    drawn = [re.split(r"(?<=\.py) ", line)[0] for line in figure[1].splitlines()]
    traced = traced_modules(store)
    assert drawn == traced, "write this into the figure of docs/design.md:\n" + "\n".join(traced)
    assert int(number[1]) == len(traced)
