"""Nodes of a Ray cluster on this machine, for tests."""

import socket
from contextlib import ExitStack
from typing import Any


def free_ports() -> dict[str, int]:
    """Free ports for the agents of a node, which the node then need not wait for."""
    names = (
        "metrics_agent_port",
        "metrics_export_port",
        "runtime_env_agent_port",
        "dashboard_agent_listen_port",
    )
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in names]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return {name: each.getsockname()[1] for name, each in zip(names, sockets, strict=True)}


def add_node(cluster: Any, **settings: Any) -> Any:
    """Add a node; a busy machine may need more attempts, as a node waits 15 seconds for its agents."""
    for attempt in range(4):
        try:
            return cluster.add_node(**settings)
        except Exception:
            if attempt == 3:
                raise
    raise AssertionError("unreachable")
