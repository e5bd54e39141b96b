"""Runs of queries in Spark: one Java process, in which applications come and go, each with the settings of a policy."""

import hashlib
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from pyspark import InheritableThread, SparkConf, SparkContext
from pyspark.sql import SparkSession
from pyspark.sql.types import StructType

from live.tpch import QUERIES, TABLES

# Same for all policies. Spark makes 200 tasks of each shuffle otherwise, whatever there is to shuffle.
COMMON = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.sql.session.timeZone": "UTC",
    # The settings of a process's first application hold in all later ones that do not say otherwise.
    "spark.sql.adaptive.enabled": "true",
    # Code that is generated for queries is kept: of that of 100 operators, as many as Spark keeps otherwise, most would be made, and compiled, anew each time.
    "spark.sql.codegen.cache.maxEntries": "10000",
}


@dataclass(frozen=True)
class Arrival:
    """A query, at a size, that comes at a time of the run."""

    query: int
    size: str
    at_s: float

    @property
    def name(self) -> str:
        return f"q{self.query:02} {self.size}"


@dataclass
class Done:
    """What became of it."""

    name: str
    arrival_s: float
    took_s: float
    # A hash of the rows.
    rows: str


class Engine:
    """Spark in this process."""

    def __init__(self, data: dict[str, Path], class_path: list[Path], log: Path):
        self.data = data
        # Schemas of the tables, which would take a job each to find out in every application.
        self.schemas: dict[Path, StructType] = {}
        # Read when the first application starts, and never again.
        os.environ["PYSPARK_SUBMIT_ARGS"] = " ".join([
            "--driver-memory 5g",
            f"--driver-class-path {':'.join(map(str, class_path))}",
            f"--driver-java-options -Dlog4j2.configurationFile={log}",
            "pyspark-shell",
        ])

    @contextmanager
    def application(self, slots: int, factor: float, settings: dict[str, str], times: Path | None = None) -> Iterator["Application"]:
        """An application of so many slots. Tasks last longer by `factor` times what they take of a core: by `times`, which is made where it is not there."""
        plugins = ["distill.experiment.Dilate"] if factor > 0 or times else []
        conf = SparkConf().setMaster(f"local[{slots}]").setAppName("experiment")
        all_settings = {**COMMON, "spark.sql.shuffle.partitions": str(slots), "spark.dilate.factor": str(factor), **settings}
        if times:
            all_settings["spark.dilate.times"] = str(times)
        if "spark.plugins" in settings:
            plugins.append(settings["spark.plugins"])
        all_settings["spark.plugins"] = ",".join(plugins)
        for key, value in all_settings.items():
            conf.set(key, value)
        context = SparkContext(conf=conf)
        try:
            yield Application(context, self.data, self.schemas)
        finally:
            SparkSession(context).stop()


class Application:
    """Queries run here, each size in a session of its own."""

    def __init__(self, context: SparkContext, data: dict[str, Path], schemas: dict[Path, StructType]):
        self.context = context
        first = SparkSession(context)
        self.sessions = {size: first.newSession() for size in data}
        for size, folder in data.items():
            for table in TABLES:
                reader, path = self.sessions[size].read, folder / table
                if path in schemas:
                    reader = reader.schema(schemas[path])
                frame = reader.parquet(str(path))
                schemas[path] = frame.schema
                frame.createOrReplaceTempView(table)

    def ask(self, arrival: Arrival, pool: str | None = None, begin: float | None = None) -> Done:
        """Runs a query now, in this thread; it takes from `begin` on, from now if that is not told."""
        begin = time.monotonic() if begin is None else begin
        self.context.setJobDescription(arrival.name)
        if pool is not None:
            self.context.setLocalProperty("spark.scheduler.pool", pool)
        rows = self.sessions[arrival.size].sql(QUERIES[arrival.query]).collect()
        took = time.monotonic() - begin
        return Done(arrival.name, arrival.at_s, took, fingerprint(rows))

    def run(self, arrivals: list[Arrival], pools: bool) -> list[Done]:
        """Runs queries as they come, each in a thread."""
        done: list[Done | None] = [None] * len(arrivals)
        failed: list[Exception] = []
        begin = time.monotonic() + 0.2

        def serve(i: int) -> None:
            due = begin + arrivals[i].at_s
            time.sleep(max(0.0, due - time.monotonic()))
            try:
                done[i] = self.ask(arrivals[i], f"query-{i}" if pools else None, due)
            except Exception as error:  # noqa: BLE001 - of any kind; the run is told to have failed
                failed.append(error)

        threads = [InheritableThread(target=serve, args=(i,)) for i in range(len(arrivals))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if failed:
            raise failed[0]
        return [one for one in done if one is not None]


def fingerprint(rows: list) -> str:
    """Rows as text; sums of decimals are exact, those of floats are rounded, as their order is not given."""

    def cell(value: object) -> str:
        return f"{value:.6g}" if isinstance(value, float) else str(value)

    text = "\n".join("|".join(cell(value) for value in row) for row in rows)
    return hashlib.sha256(text.encode()).hexdigest()[:16]

