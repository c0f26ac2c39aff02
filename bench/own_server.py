"""Servers that a bench program starts itself, with the processes of tests/e2e. Standard library only."""

import contextlib
import os
import sys
import tempfile

from server_client import ServerError

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "tests", "e2e"))
import harness  # noqa: E402

SHOWN_LINES = 4


def use_programs(parser, folder):
    """Takes the programs of --bin. Without them no server could be started: a wrong option."""
    for name in ("hearth-cpu-tier", "hearth-gpu-worker", "hearth-gateway"):
        if not os.access(os.path.join(folder, name), os.X_OK):
            parser.error(f"--bin: {folder} has no {name}; run scripts/build.sh release")
    harness.BIN = os.path.abspath(folder)


def why_not_ready(server):
    """The end of the log that tells it; the log itself stays, the server's other files go with it."""
    ended = next((name for name, process in server.processes.items() if process.poll() is not None), None)
    name = ended or "worker"
    log = server.log(name)
    with tempfile.NamedTemporaryFile("w", prefix=f"hearth-{name}.", suffix=".log", delete=False) as kept:
        kept.write(log)
    state = f"ended with {server.processes[name].returncode}" if ended else "is not ready in time"
    lines = log.rstrip().split("\n")[-SHOWN_LINES:]
    return "\n  ".join([f"the {name} {state}; the end of its log, {kept.name}:", *lines])


@contextlib.contextmanager
def started(**options):
    """A harness.Server that is ready, or ServerError."""
    with harness.Server(**options, wait=False) as server:
        try:
            server.wait_ready(with_tier=options.get("tier", True))
        except AssertionError:
            raise ServerError(why_not_ready(server)) from None
        yield server
