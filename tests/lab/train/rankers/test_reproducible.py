"""Two training runs give the same bytes, whatever the hash seed and the number of threads."""

import json
import os
import subprocess
import sys

from tests.paths import ROOT

_THREADS = ("CONTEXTUNE_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")


def start(hash_seed: int, threads: int) -> subprocess.Popen[str]:
    env = {**os.environ, "PYTHONHASHSEED": str(hash_seed), **dict.fromkeys(_THREADS, str(threads))}
    command = [sys.executable, "-m", "tests.lab.train.rankers.training_digests"]
    return subprocess.Popen(command, cwd=ROOT, env=env, stdout=subprocess.PIPE, text=True)


def test_training_does_not_depend_on_hash_seed_or_threads() -> None:
    processes = [start(hash_seed=1, threads=1), start(hash_seed=2, threads=2)]
    one, other = (json.loads(process.communicate()[0]) for process in processes)
    assert one == other
    assert len(set(one.values())) == len(one)  # every stage was computed
