"""Waits for conditions, with limits that hold on a busy machine too."""

import socket
import subprocess
from collections.abc import Callable
from time import monotonic, sleep
from typing import Any

PATIENCE = 300.0
"""Seconds; no test waits that long unless something is broken."""


def wait_until(condition: Callable[[], bool], describe: Callable[[], str] = str) -> None:
    """Wait until the condition holds; fail with the description after `PATIENCE`."""
    end = monotonic() + PATIENCE
    while not condition():
        assert monotonic() < end, describe()
        sleep(0.02)


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]


def wait_for_port(port: int, process: "subprocess.Popen[Any]") -> None:
    """Wait until the process accepts connections at the port."""

    def listening() -> bool:
        assert process.poll() is None, f"the process ended with {process.returncode}"
        with socket.socket() as connection:
            return connection.connect_ex(("127.0.0.1", port)) == 0

    wait_until(listening)
