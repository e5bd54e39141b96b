#!/usr/bin/env python3
"""How long it takes to read an event log of Spark, beside Python's json on the same lines, and how much memory.

    time_logs.py PROGRAM LOG [TURNS]

LOG is a file without packing. `PROGRAM inspect LOG`, which reads it, puts the DAGs of its jobs together and describes them, and a Python
that parses each line and keeps none, take turns (3 unless said otherwise); figures are of whole processes, medians.
"""

import os
import statistics
import subprocess
import sys
import time

PARSE = "import json, sys\nfor line in open(sys.argv[1], 'rb'):\n    json.loads(line)\n"


def timed(command):
    """Seconds and the most memory, MB."""
    begun = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    if status != 0:
        sys.exit(f"{command[0]} ended with {status}")
    return time.perf_counter() - begun, usage.ru_maxrss / 1e3


def main():
    if len(sys.argv) not in (3, 4):
        sys.exit(__doc__)
    program, log = sys.argv[1:3]
    commands = {"distill": [program, "--quiet", "inspect", log], "json": [sys.executable, "-c", PARSE, log]}
    found = {name: [] for name in commands}
    for _ in range(int(sys.argv[3]) if len(sys.argv) > 3 else 3):
        for name, command in commands.items():
            found[name].append(timed(command))
    size = os.path.getsize(log)
    medians = {name: [statistics.median(figure) for figure in zip(*runs)] for name, runs in found.items()}
    for name, (seconds, memory) in medians.items():
        print(f"{name:<8} {seconds:8.1f} s  {size / 1e6 / seconds:7.0f} MB/s  {memory:7.0f} MB of memory")
    print(f"{size / 1e9:.2f} GB; {medians['json'][0] / medians['distill'][0]:.1f} times as fast as json")


if __name__ == "__main__":
    main()
