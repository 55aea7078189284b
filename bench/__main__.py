"""``make bench``: drain, lateness and size on every store, idling, commands and locks, each beside what gives it meaning.

Machines are noisy: every figure is the median of alternating runs, and speed is quoted as a ratio to a bare loop of the
same verbs in the same run.  Servers come up by ``noonmark.testing.servers``; a missing one is an error.
"""

from __future__ import annotations

import argparse
import os
import platform

from bench import commands, drain, idle, lateness, locks, size
from bench.places import MAKERS

WHAT = ("drain", "guard", "lateness", "size", "idle", "commands", "locks")


def main() -> None:
    """Run the benchmarks asked for and print one JSON line per figure."""
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("what", nargs="*", choices=[[], *WHAT], default=[])
    parser.add_argument("--store", action="append", choices=[*MAKERS], help="only this one (default: every store)")
    parser.add_argument("--runs", type=int, default=3, help="alternating runs per figure (default 3)")
    parser.add_argument("--idle-seconds", type=float, default=60.0, help="length of the idle window")
    options = parser.parse_args()
    wanted = options.what or list(WHAT)
    stores = options.store or list(MAKERS)
    print(
        f"# {platform.python_implementation()} {platform.python_version()}, {os.cpu_count()} cores,"
        f" load {os.getloadavg()[0]:.1f}",
        flush=True,
    )
    for name in stores:
        if "drain" in wanted:
            drain.measure(name, options.runs)
        if "guard" in wanted:
            drain.guard(name, options.runs)
        if "lateness" in wanted:
            lateness.measure(name, options.runs)
        if "size" in wanted:
            size.measure(name, options.runs)
        if "idle" in wanted and name == "sqlite":
            idle.measure(name, options.idle_seconds)
    if "commands" in wanted and not options.store:
        commands.measure(options.runs)
    if "locks" in wanted and not options.store:
        for kind, cycles in locks.CYCLES.items():
            locks.measure(kind, options.runs, cycles)


if __name__ == "__main__":
    main()
