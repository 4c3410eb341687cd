"""Work on the parts of a run on a Ray cluster, by a pipeline of Ray Data with a pool of actors."""

import json
import logging
import os
import socket
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from typing import Any, cast

from contextune._internal.postgres_url import is_postgres
from contextune.embed.onnx import THREADS_VARIABLE
from contextune.errors import ContextuneError, InvalidRequestError, MissingExtraError
from contextune.fleet.parts import Execute, Part, PartResult, Work, run_part

_WINDOW = 2000
"""Parts given to one pipeline: bounds the memory of the process that starts it."""
_OBJECT_STORE_BYTES = 256 * 1024**2
_CONNECT_SECONDS = 5.0
_CLIENT_PORT = "10001"
"""Of `ray://` addresses without a port."""
_BLOCK_BYTES = 1024**2
"""Ray Data plans with results of this size; it would run few actors at once if it expected its default."""
_ACTOR_CORES = 0.5
"""A node has one worker per core, and room for those of a node that is lost."""
# read when Ray is imported and when its processes start
_ENVIRONMENT = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_ENABLE_UV_RUN_RUNTIME_ENV": "0",
    "RAY_enable_metrics_collection": "0",
}


def _import_ray() -> Any:
    for name, value in _ENVIRONMENT.items():
        os.environ.setdefault(name, value)
    try:
        ray = cast("Any", import_module("ray"))
        import_module("ray.data")
    except ImportError as error:
        raise MissingExtraError("work on a Ray cluster (or pass --workers 0)", "ray") from error
    return ray


@contextmanager
def ray_cluster(address: str | None, workers: int | None, files: Sequence[str] = ()) -> Generator[Execute]:
    """Connect to the cluster at `address`, or start Ray on this machine; yields how to execute work on it.

    Ray on this machine listens on localhost only, without dashboard and usage statistics, and is stopped at
    the end. `workers` defaults to the number of cores. `files` are the stores and catalogues that workers
    open; one that is a file is refused if the cluster has several machines.
    """
    ray = _import_ray()
    options: dict[str, Any] = {"logging_level": logging.ERROR, "log_to_driver": False}
    if address:
        _check_port(address)
        options["address"] = address
    else:
        options |= {
            "num_cpus": workers or os.cpu_count() or 1,
            "include_dashboard": False,
            "object_store_memory": _OBJECT_STORE_BYTES,
            "_node_ip_address": "127.0.0.1",
        }
    _start(ray, options)
    try:
        machines = {node["NodeManagerAddress"] for node in ray.nodes() if node["Alive"]}
        local = [file for file in files if not is_postgres(file)]
        if local and len(machines) > 1:
            raise InvalidRequestError(
                f"{local[0]!r} is a file, but the cluster has {len(machines)} machines: copy a store to "
                "PostgreSQL with 'contextune store copy', and embed catalogues on one machine"
            )
        count = workers or max(1, int(ray.cluster_resources().get("CPU", 1)))
        yield lambda work, parts: _execute(ray, count, work, parts)
    finally:
        ray.shutdown()


def _check_port(address: str) -> None:
    """Raise `ContextuneError` if nobody listens at the address: Ray itself would wait for minutes."""
    scheme, separator, rest = address.rpartition("://")
    if address in ("auto", "local") or (separator and scheme != "ray"):
        return
    host, colon, port = rest.rpartition(":")
    if separator and not colon:
        host, port = rest, _CLIENT_PORT
    if not host or not port.isdecimal():
        raise InvalidRequestError(
            f"not an address of Ray: {address!r} (write auto, HOST:PORT or ray://HOST:PORT)"
        )
    try:
        socket.create_connection((host.strip("[]"), int(port)), _CONNECT_SECONDS).close()
    except (OSError, OverflowError) as error:
        reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
        raise ContextuneError(
            f"no Ray cluster at {address!r}: {reason} (check the address; 'ray start --head' starts one)"
        ) from None


def _start(ray: Any, options: dict[str, Any]) -> None:
    """Start or connect; on an overloaded machine Ray may give up on its own processes, so try twice."""
    address = options.get("address")
    for attempt in (1, 2):
        try:
            ray.init(**options)
        except Exception as error:  # Ray raises many kinds
            ray.shutdown()
            if attempt == 1 and address is None:
                continue
            where = f"at {address!r}" if address else "on this machine"
            remedy = "check the address" if address else "is it overloaded? --workers 0 works without Ray"
            raise ContextuneError(f"Ray cannot be used {where}: {error} ({remedy})") from error
        return


def _execute(ray: Any, workers: int, work: Work, parts: Sequence[Part]) -> Iterator[PartResult]:
    """Run a pipeline over each window of parts.

    Ray Data holds back parts while actors are busy, restarts the actors of a lost node on others, and gives
    them the parts whose results were lost.
    """
    logging.getLogger("ray.data").setLevel(logging.ERROR)
    data = ray.data.DataContext.get_current()
    data.enable_progress_bars = data.print_on_execution_start = False
    data.target_max_block_size = _BLOCK_BYTES
    for start in range(0, len(parts), _WINDOW):
        window = parts[start : start + _WINDOW]
        rows = [{"key": part.key, "payload": json.dumps(part.payload)} for part in window]
        size = min(workers, len(rows))
        results = ray.data.from_items(rows, override_num_blocks=len(rows)).map_batches(
            _Worker,
            fn_constructor_args=(work,),
            compute=ray.data.ActorPoolStrategy(size=size),
            num_cpus=_ACTOR_CORES,
            batch_size=None,
            batch_format="pyarrow",
        )
        try:
            for batch in results.iter_batches(batch_size=None, batch_format="pyarrow", prefetch_batches=0):
                for row in batch.to_pylist():
                    yield PartResult(row["key"], row["content"], row["error"] or None)
        except ray.exceptions.RayTaskError as error:
            # neither the message nor the trace: they may hold personal data
            cause = type(error.cause).__name__ if getattr(error, "cause", None) else "an error"
            raise ContextuneError(f"a worker stopped with {cause}: see it with --workers 0") from None


class _Worker:
    """An actor: opens its work once, then works on parts."""

    def __init__(self, work: Work) -> None:
        # as many processes as cores: threads of their own would compete
        os.environ[THREADS_VARIABLE] = "1"
        self._handler = work.open()

    def __call__(self, batch: Any) -> Any:
        """Work on the parts of a table, and return a table of their results."""
        pyarrow = cast("Any", import_module("pyarrow"))
        results = [
            run_part(self._handler, Part(row["key"], json.loads(row["payload"]))) for row in batch.to_pylist()
        ]
        return pyarrow.table(
            {
                "key": [result.key for result in results],
                "content": pyarrow.array([result.content for result in results], pyarrow.binary()),
                "error": [result.error or "" for result in results],
            }
        )
