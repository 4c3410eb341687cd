"""Stdio transport with a limit on the size of a message.

The SDK's transport buffers a line until it ends, so a server that writes one endless line takes all memory.
"""

import os
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

import anyio
from anyio.abc import ByteReceiveStream, ByteSendStream, Process
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.client.stdio import get_default_environment
from mcp.os.posix.utilities import terminate_posix_process_tree
from mcp.os.win32.utilities import (
    FallbackProcess,
    close_process_job,
    create_windows_process,
    get_windows_executable_command,
    terminate_windows_process_tree,
)
from mcp.shared.message import SessionMessage
from mcp_types import jsonrpc_message_adapter

from contextune.tools.mcp.config import McpServer

if TYPE_CHECKING:
    from mcp.client._transport import TransportStreams

MAX_MESSAGE = 16 * 1024 * 1024
"""Bytes of one message of a server."""
_EXIT_TIMEOUT = 2.0
"""Seconds for a server to exit after its input is closed, after SIGTERM, and after SIGKILL."""
_FLUSH_TIMEOUT = 0.5
_POLL_INTERVAL = 0.01
_CLOSED = (anyio.ClosedResourceError, anyio.BrokenResourceError, OSError)

_Incoming = SessionMessage | Exception
_Stoppable = Process | FallbackProcess


@asynccontextmanager
async def stdio_streams(
    server: McpServer, on_oversized: Callable[[], None]
) -> AsyncGenerator["TransportStreams"]:
    """Start a server's command and exchange messages with it, one line each, until the block ends.

    A line of more than `MAX_MESSAGE` bytes ends the connection and the server, after `on_oversized()`. The
    server's standard error is discarded.
    """
    with Path(os.devnull).open("w") as null:
        process = await _start(server, null)
    incoming, read = anyio.create_memory_object_stream[_Incoming](0)
    write, outgoing = anyio.create_memory_object_stream[SessionMessage](0)
    written = anyio.Event()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(_read, process, incoming, on_oversized)
        tasks.start_soon(_write, process.stdin, outgoing, incoming.aclose, written)
        try:
            yield read, write
        finally:
            with anyio.CancelScope(shield=True):
                read.close()
                write.close()
                with anyio.move_on_after(_FLUSH_TIMEOUT):
                    await written.wait()
                await _stop(process)
                for stream in (incoming, outgoing):
                    await stream.aclose()
            tasks.cancel_scope.cancel()


async def _read(
    process: _Stoppable,
    incoming: MemoryObjectSendStream[_Incoming],
    on_oversized: Callable[[], None],
) -> None:
    stdout = process.stdout
    if stdout is None:
        return

    def stop() -> None:
        on_oversized()
        with suppress(OSError):
            process.kill()

    with suppress(*_CLOSED, anyio.EndOfStream):
        async with incoming:
            await _read_lines(stdout, incoming, stop)
    with suppress(*_CLOSED, anyio.EndOfStream):
        while True:  # a server that writes into a full pipe cannot exit
            await stdout.receive()


async def _read_lines(
    stdout: ByteReceiveStream,
    incoming: MemoryObjectSendStream[_Incoming],
    on_oversized: Callable[[], None],
) -> None:
    """Pass on messages until the stream ends, or a line is too long."""
    line = bytearray()
    while True:
        *ends, rest = (await stdout.receive()).split(b"\n")
        for end in ends:
            line += end
            if len(line) > MAX_MESSAGE:
                return on_oversized()
            await incoming.send(_parse(bytes(line)))
            line.clear()
        line += rest
        if len(line) > MAX_MESSAGE:
            return on_oversized()


def _parse(line: bytes) -> _Incoming:
    try:
        return SessionMessage(jsonrpc_message_adapter.validate_json(line, by_name=False))
    except ValueError as error:
        return error


async def _write(
    stdin: ByteSendStream | None,
    outgoing: MemoryObjectReceiveStream[SessionMessage],
    end_reading: Callable[[], Awaitable[None]],
    written: anyio.Event,
) -> None:
    try:
        async with outgoing:
            async for message in outgoing:
                if stdin:
                    text = message.message.model_dump_json(by_alias=True, exclude_unset=True)
                    await stdin.send(f"{text}\n".encode())
    except _CLOSED:  # the session sees a closed connection
        await end_reading()
    finally:
        written.set()


async def _start(server: McpServer, errors: TextIO) -> _Stoppable:
    """Start the command in a process group of its own, with few environment variables."""
    environment = {**get_default_environment(), **server.env}
    if sys.platform == "win32":
        command = get_windows_executable_command(server.command)
        return await create_windows_process(command, list(server.args), environment, errors, server.cwd)
    return await anyio.open_process(
        [server.command, *server.args],
        env=environment,
        stderr=errors,
        cwd=server.cwd,
        start_new_session=True,
    )


async def _stop(process: _Stoppable) -> None:
    """Close the server's input, as the specification demands, and kill it if it does not exit."""
    try:
        if process.stdin:
            with suppress(*_CLOSED):
                await process.stdin.aclose()
        if not await _has_exited(process):
            if isinstance(process, FallbackProcess) or sys.platform == "win32":
                await terminate_windows_process_tree(process)
            else:
                await terminate_posix_process_tree(process, _EXIT_TIMEOUT)
            await _has_exited(process)
        if process.stdout:
            with suppress(*_CLOSED):
                await process.stdout.aclose()
    finally:  # also when the waiting is cancelled
        close_process_job(process)
        _close_transport(process)


def _close_transport(process: _Stoppable) -> None:
    """Close asyncio's transport, which a descendant that holds the pipe keeps open; kills the process."""
    transport = getattr(getattr(process, "_process", None), "_transport", None)
    if callable(close := getattr(transport, "close", None)):
        with suppress(PermissionError):
            close()


async def _has_exited(process: _Stoppable) -> bool:
    """Whether the process exits in time; `wait` would also wait for descendants that hold its pipes."""
    deadline = anyio.current_time() + _EXIT_TIMEOUT
    while process.returncode is None:
        if anyio.current_time() >= deadline:
            return False
        await anyio.sleep(_POLL_INTERVAL)
    return True
