#!/usr/bin/env python3
"""An application that knows nothing of distill: queries of TPC-H as they come, each in a thread.

    spark-submit [--conf ...] spark/queries.py DATA

makes the tables in the folder DATA if they are not there (`pip install tpchgen-cli`), and says how long queries took in the mean. The same seed gives the same
queries at the same times, and the same rows, whoever orders their stages.
"""

import argparse
import hashlib
import sys
from pathlib import Path

from pyspark import SparkContext

from live.engine import Application, Arrival
from live.tpch import PARTS, SCALES, SHARES, generate
from live.workload import draw


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, help="folder of the tables")
    parser.add_argument("--queries", type=int, default=100, help="queries that come (default: %(default)s)")
    parser.add_argument("--gap", type=float, metavar="S", help="time from one to the next, in the mean, s (default: 3 divided by the slots)")
    parser.add_argument("--seed", type=int, default=1, help="of what comes when (default: %(default)s)")
    options = parser.parse_args()
    data = {size: options.data / size for size in SCALES}
    for size, folder in data.items():
        generate(folder, SCALES[size], PARTS)
    context = SparkContext.getOrCreate()
    application = Application(context, data, {})
    # What Java has not compiled yet takes ten times as long, and is not what is asked about.
    for arrival in draw(0, 30, 0.0, SHARES):
        application.ask(arrival)
    gap = 3.0 / context.defaultParallelism if options.gap is None else options.gap
    arrivals: list[Arrival] = draw(options.seed, options.queries, gap, SHARES)
    done = application.run(arrivals, pools=False)
    took = sorted(one.took_s for one in done)
    rows = hashlib.sha256("".join(one.rows for one in done).encode()).hexdigest()[:8]
    print(f"{len(done)} queries: {sum(took) / len(took):.2f} s in the mean, half within {took[len(took) // 2]:.2f} s, "
          f"nine in ten within {took[len(took) * 9 // 10]:.2f} s; rows {rows}")
    context.stop()


if __name__ == "__main__":
    sys.exit(main())
