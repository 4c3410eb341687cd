"""Async code, called from code that is not."""

import asyncio
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

_Given = TypeVar("_Given")


def run_sync(work: Coroutine[Any, Any, _Given]) -> _Given:
    """What it gives back, also where a loop runs in this thread already, as in a notebook or a server."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, work).result()
