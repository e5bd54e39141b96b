"""What was measured, beside what was simulated, as `live.json` of a run directory (docs/run-directory.md)."""

import hashlib
import json
import os
import platform
from pathlib import Path

import pyspark

FORMAT = 1


def mean_s(file: Path) -> float:
    """Mean completion time of a run."""
    queries = json.loads(file.read_text())["queries"]
    return sum(query["took_s"] for query in queries) / len(queries)


def write(run: Path, cells: list[dict]) -> Path:
    """Writes it; `cells` are as the file has them."""
    student = hashlib.sha256((run / "student.json").read_bytes()).hexdigest()
    live = {
        "format_version": FORMAT,
        "student": student,
        "engine": f"Apache Spark {pyspark.__version__}",
        "machine": f"{os.cpu_count()} cores, {platform.machine()}",
        "work": "TPC-H queries",
        "cells": cells,
    }
    file = run / "live.json"
    file.write_text(json.dumps(live, indent=1) + "\n")
    return file
