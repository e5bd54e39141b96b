#!/usr/bin/env python3
"""Small applications on a real Spark, their event logs without what is personal, and what is to be found in these.

    spark_logs.py make LOG RAW DIR     runs the application of a log, cleans what Spark wrote, and packs it again with Spark's codec
    spark_logs.py figures DIR          reads all logs and writes what is in them to DIR/expected.json
    spark_logs.py list VERSION         the logs of a version of Spark
    spark_logs.py queries DIR N        runs N queries that overlap, as users submit them, and leaves what Spark wrote of them in DIR

The first needs the PySpark of the log's version, the others any; scripts/make-spark-logs.sh installs both and calls this.

The figures are read from the packed logs, unpacked by Spark's codec, and by another way than the crate's: edges and stages that ran in
place of others come from the lineage of RDDs that each stage lists, not from the stages' parents and ids.
"""

import collections
import functools
import getpass
import json
import os
import pathlib
import random
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time

# The ids that applications get, by which Spark names their logs: version, what is set, whether the driver is killed.
PLAIN = {"spark.eventLog.compress": "false"}
ROLLING = {"spark.eventLog.rolling.enabled": "true", "spark.eventLog.rolling.maxFileSize": "10m"}


def packed(codec, **more):
    single = {"spark.eventLog.compress": "true", "spark.eventLog.compression.codec": codec}
    return single | {"spark.eventLog.rolling.enabled": "false"} | more


LOGS = {
    "plain-35": ("3.5.3", PLAIN, False),
    "lz4-35": ("3.5.3", packed("lz4"), False),
    "snappy-35": ("3.5.3", packed("snappy"), False),
    "rolling-35": ("3.5.3", packed("zstd") | ROLLING, False),
    # A small buffer has what is not yet flushed end anywhere.
    "killed-35": ("3.5.3", packed("lz4") | {"spark.eventLog.buffer.kb": "1"}, True),
    "defaults-43": ("4.3.0", {}, False),
    "lz4-43": ("4.3.0", packed("lz4"), False),
    "killed-43": ("4.3.0", {}, True),
}


# The applications


def session(raw, cores, settings):
    """A Spark of so many cores, whose event logs go to the folder `raw`."""
    from pyspark import SparkConf, SparkContext
    from pyspark.sql import SparkSession

    conf = SparkConf().setMaster(cores).setAppName("own")
    conf.setAll(
        {
            "spark.eventLog.enabled": "true",
            "spark.eventLog.dir": raw.as_uri(),
            "spark.ui.enabled": "false",
            "spark.ui.showConsoleProgress": "false",
            "spark.driver.host": "host-1",
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.sql.warehouse.dir": (raw / "warehouse").as_uri(),
            # With the default of 1 MB all that is so small would be one partition.
            "spark.sql.adaptive.coalescePartitions.minPartitionSize": "4k",
            "spark.task.cpus": "1",
        }.items()
    )
    conf.setAll(settings.items())
    context = SparkContext(conf=conf)
    context.setLogLevel("OFF")
    return context, SparkSession(context)


def run(log, raw):
    """An application; it does not end if it is one that is killed."""
    _, settings, is_killed = LOGS[log]
    context, spark = session(raw, "local[2,2]", {"spark.sql.shuffle.partitions": "4"} | settings)
    sales = "SELECT id, id % 300 AS shop, (id * 7919) % 997 AS amount FROM range(0, 30000, 1, 3)"
    spark.sql(sales).createOrReplaceTempView("sales")
    spark.sql("SELECT id AS shop, id % 12 AS region FROM range(0, 300, 1, 2)").createOrReplaceTempView("shops")
    spark.sql("SELECT id AS region, concat('region ', id) AS name FROM range(0, 12, 1, 1)").createOrReplaceTempView("regions")

    together(context, [(name, lambda query=query: spark.sql(query).collect()) for name, query in QUERIES.items()])
    with_cache(context, spark)
    with_rdds(context)
    if log == "rolling-35":
        roll(context)
    if is_killed:
        kill(context)
    failures(context, spark)
    spark.stop()


# Queries that run side by side, by name.
QUERIES = {
    # Both sides are shuffled, and so is what they are joined to.
    "merge join": """
        SELECT /*+ MERGE(sales, shops) */ region, sum(amount) AS total FROM sales JOIN shops ON sales.shop = shops.shop GROUP BY region""",
    # The small side is a job of its own, for which the large one waits.
    "broadcast join": """
        SELECT /*+ BROADCAST(shops) */ region, count(*) AS n FROM sales JOIN shops ON sales.shop = shops.shop GROUP BY region""",
    # Joins of both kinds.
    "three tables": """
        SELECT /*+ MERGE(sales, shops), BROADCAST(regions) */ name, max(amount) AS most
        FROM sales JOIN shops ON sales.shop = shops.shop JOIN regions ON shops.region = regions.region GROUP BY name""",
    # A subquery whose one value the rest needs.
    "scalar subquery": """
        SELECT shop, count(*) AS n FROM sales WHERE amount > (SELECT avg(amount) FROM sales WHERE shop < 100) GROUP BY shop""",
    # A sample is taken first, to know the bounds of the ranges.
    "sorted": "SELECT shop, sum(amount) AS total FROM sales GROUP BY shop ORDER BY total, shop",
    # Neither shuffled nor broadcast.
    "filtered": "SELECT * FROM sales WHERE amount = 3 AND shop = 5",
}


# Cores of the Spark that users share, queries of theirs that run at a time at most, and seconds from one to the next in the mean.
SHARED_CORES, AT_ONCE, BETWEEN_S = 2, 20, 1.1


def shared(raw, n):
    """Queries of users who share a Spark and do not wait for each other: small ones, most of them, and some that are hundreds of times as large."""
    context, spark = session(raw, f"local[{SHARED_CORES}]", {"spark.sql.shuffle.partitions": "8"})
    spark.sql("SELECT id AS shop, id % 12 AS region FROM range(0, 300, 1, 2)").createOrReplaceTempView("shops")
    spark.sql("SELECT id AS region, concat('region ', id) AS name FROM range(0, 12, 1, 1)").createOrReplaceTempView("regions")
    # A table for each size, a quarter of an order of magnitude apart.
    sizes = [int(300_000 * 10 ** (step / 4)) for step in range(11)]
    for size in sizes:
        parts = max(2, min(24, size // 1_000_000))
        sales = f"SELECT id, id % 300 AS shop, (id * 7919) % 997 AS amount FROM range(0, {size}, 1, {parts})"
        spark.sql(sales).createOrReplaceTempView(f"sales_{size}")
    chance, places = random.Random(1), threading.Semaphore(AT_ONCE)

    def submit(query):
        with places:
            spark.sql(query).write.format("noop").mode("overwrite").save()

    users = []
    for _ in range(n):
        name, query = chance.choice(list(QUERIES.items()))
        # Sizes of which each is met 0.7 times as often as the one before.
        size = chance.choices(sizes, [0.7**step for step in range(len(sizes))])[0]
        query = re.sub(r"\bsales\b", f"sales_{size}", query)
        users.append(start(context, f"{name} of {size} rows", functools.partial(submit, query)))
        time.sleep(chance.expovariate(1 / BETWEEN_S))
    for user in users:
        user.join()
    spark.stop()


def start(context, name, function):
    """Runs a named function in a thread of its own."""
    from pyspark import InheritableThread

    def named():
        context.setJobDescription(name)
        function()

    thread = InheritableThread(target=named)
    thread.start()
    return thread


def together(context, tasks):
    """Runs each of the named functions in a thread of its own."""
    for thread in [start(context, name, function) for name, function in tasks]:
        thread.join()
    context.setJobDescription(None)


def with_cache(context, spark):
    """Queries of a table that the first of them computes and keeps, and a command with another inside."""
    kept = spark.sql("SELECT shop, sum(amount) AS total FROM sales GROUP BY shop").cache()
    kept.createOrReplaceTempView("kept")
    for name, query in {
        "cached first": "SELECT count(*) FROM kept WHERE total > 10",
        "cached again": "SELECT region, sum(total) FROM kept JOIN shops ON kept.shop = shops.shop GROUP BY region",
        "cached table": "CACHE TABLE few AS SELECT region, count(*) AS n FROM shops GROUP BY region",
    }.items():
        context.setJobDescription(name)
        spark.sql(query).collect()
    context.setJobDescription("written")
    spark.sql("SELECT region, count(*) AS n FROM shops GROUP BY region").write.format("noop").mode("overwrite").save()


def with_rdds(context):
    """Jobs outside SQL: a shuffle that two of them read, and a task that fails once."""
    context.setJobDescription("RDD first")
    counts = context.parallelize(range(1000), 4).map(lambda n: (n % 7, n)).reduceByKey(lambda a, b: a + b, 3)
    counts.collect()
    context.setJobDescription("RDD again")
    counts.count()
    context.setJobDescription("task repeated")
    context.parallelize(range(30), 3).mapPartitionsWithIndex(fails_first).sum()


def fails_first(place, items):
    from pyspark import TaskContext

    if place == 1 and TaskContext.get().attemptNumber() == 0:
        raise ValueError("the first attempt fails")
    return items


def failures(context, spark):
    """A job and a query that fail."""
    from pyspark.errors import PySparkException
    from py4j.protocol import Py4JJavaError

    context.setJobDescription("failing job")
    try:
        context.parallelize(range(4), 2).map(lambda n: 1 // (n - 3)).count()
        sys.exit("a job that should fail has not")
    except (PySparkException, Py4JJavaError):
        pass
    context.setJobDescription("failing query")
    try:
        spark.sql("SELECT shop, count(if(id = 29999, raise_error('the last row'), id)) FROM sales GROUP BY shop").collect()
        sys.exit("a query that should fail has not")
    except (PySparkException, Py4JJavaError):
        pass


def roll(context):
    """A log goes on in another file before an event that alone has more text than a file may."""
    context.setJobDescription("rolled")
    context.setLocalProperty("long", "x" * (11 << 20))
    context.parallelize(range(8), 2).count()
    context.setLocalProperty("long", None)
    context.setJobDescription("after")
    context.parallelize(range(8), 2).count()


def kill(context):
    """Ends the driver in the midst of a job, when one of its two stages is complete, with nothing tidied up."""
    from pyspark import InheritableThread

    def slow():
        context.setJobDescription("unfinished")
        context.parallelize(range(400), 3).map(lambda n: (n, n)).groupByKey(60).map(slowly).count()

    InheritableThread(target=slow, daemon=True).start()
    while tasks_done(context) < 20:
        time.sleep(0.05)
    # What waits for an answer learns that there is nobody any more.
    sys.stderr = open(os.devnull, "w")
    try:
        context._jvm.java.lang.Runtime.getRuntime().halt(137)
    finally:
        os._exit(0)


def slowly(pair):
    time.sleep(0.02)
    return pair


def tasks_done(context):
    """How many tasks of stages that run have ended."""
    tracker = context.statusTracker()
    stages = [tracker.getStageInfo(stage) for stage in tracker.getActiveStageIds()]
    return sum(stage.numCompletedTasks for stage in stages if stage)


# Logs without what is personal or long and not needed

# Settings and properties of jobs that stay.
SETTINGS = re.compile(
    r"spark\.(task\.cpus|scheduler\.(mode|pool)|job\.(description|tags)|jobGroup\.id|sql\.execution\.(root\.)?id)"
)
LONGEST_PLAN = 40


def without(event):
    """An event without stacks, counters that are 0, settings, long plans, and most of what is said of RDDs."""
    kind = event["Event"].rsplit(".", 1)[-1]
    if kind == "SparkListenerEnvironmentUpdate":
        for key in event:
            if key not in ("Event", "Spark Properties"):
                event[key] = {}
        event["Spark Properties"] = settings(event["Spark Properties"])
    if kind == "SparkListenerJobStart":
        event["Properties"] = settings(event["Properties"])
    if kind == "SparkListenerStageSubmitted":
        event["Properties"] = {}
    for stage in event.get("Stage Infos", []) + [event.get("Stage Info")]:
        if stage:
            stage["Stage Name"] = re.sub("(?<= at )/\\S*/", "", stage["Stage Name"])
            stage["Details"], stage["Accumulables"] = "", []
            stage["RDD Info"] = [{key: rdd[key] for key in RDD} for rdd in stage["RDD Info"] if kind == "SparkListenerJobStart"]
            shorten(stage, "Failure Reason")
    if kind == "SparkListenerTaskEnd":
        event["Task Info"]["Accumulables"] = []
        event["Task Executor Metrics"] = {}
        event["Task Metrics"] = event["Task Metrics"] and counted(event["Task Metrics"])
        reason = event["Task End Reason"]
        for key in ("Stack Trace", "Accumulator Updates"):
            if key in reason:
                reason[key] = []
        for key in ("Description", "Full Stack Trace", "Kill Reason"):
            shorten(reason, key)
        if "Metrics" in reason:
            reason["Metrics"] = counted(reason["Metrics"])
    if kind == "SparkListenerJobEnd" and "Exception" in event["Job Result"]:
        shorten(event["Job Result"]["Exception"], "Message")
        event["Job Result"]["Exception"]["Stack Trace"] = []
    if "sparkPlanInfo" in event:
        event["physicalPlanDescription"] = event["physicalPlanDescription"][:LONGEST_PLAN]
        event["sparkPlanInfo"]["children"] = event["sparkPlanInfo"]["metrics"] = []
        event["sparkPlanInfo"]["metadata"] = {}
    for key in ("details", "modifiedConfigs", "accumUpdates", "sqlPlanMetrics"):
        if key in event:
            event[key] = type(event[key])()
    shorten(event, "errorMessage")
    return event


# What stays of an RDD, and only where a job begins: the same again at each event of its stages is a tenth of a small log.
RDD = ("RDD ID", "Parent IDs")


def counted(metrics):
    """Metrics that are not 0, but for those of reading and writing."""
    return {key: value for key, value in metrics.items() if value and not isinstance(value, dict)}


def settings(properties):
    return {key: value for key, value in properties.items() if SETTINGS.fullmatch(key)}


def shorten(event, key):
    """Keeps the first line of a text; the others are stacks."""
    if event.get(key):
        event[key] = event[key].split("\n", 1)[0]


def cleaned(text, app_id, log):
    """The whole lines of a text, each with the name of its event and written as Spark does, with another id of the application."""
    here = str(pathlib.Path(__file__).resolve().parent) + "/"
    for line in text.split("\n")[:-1]:
        event = without(json.loads(line))
        line = json.dumps(event, separators=(",", ":"), ensure_ascii=False)
        yield event["Event"], line.replace(here, "").replace(app_id, log)


def check(name, text):
    """Ends the program if anything personal is left in a log."""
    words = {socket.gethostname(), getpass.getuser(), str(pathlib.Path.home()), os.getcwd()} - {"user"}
    patterns = [r"(?<!\w)" + re.escape(word) + r"(?!\w)" for word in words]
    # A log may say that an execution is the root of another.
    text = re.sub(r"execution[.-]root[.-]id", "", text)
    patterns += [r"(?<![\w.])(\d{1,3}\.){3}\d{1,3}(?![\w.])", r"(?<![\w:.*])/[a-z]+/[\w.]+"]
    for pattern in patterns:
        found = re.search(pattern, text)
        if found:
            at = found.start()
            sys.exit(f"{name}: has {found[0]!r} in {text[max(at - 200, 0) : at + 200]!r}")


class Codec:
    """Streams as Spark's writer of logs makes them, in a Java machine without an application."""

    def __init__(self):
        from pyspark.java_gateway import launch_gateway

        self.gateway = launch_gateway()
        self.jvm = self.gateway.jvm
        self.conf = self.jvm.org.apache.spark.SparkConf(False)

    def of(self, path):
        """The codec that the name of a file says."""
        found = re.search(r"\.(lz4|snappy|zstd)(?:\.inprogress)?$", path.name)
        return found and self.jvm.org.apache.spark.io.CompressionCodec.createCodec(self.conf, found[1])

    def read(self, path, scratch):
        """The text of a file, up to where it is cut."""
        from py4j.protocol import Py4JJavaError

        stream, codec = self.jvm.java.io.FileInputStream(str(path)), self.of(path)
        out = self.jvm.java.io.FileOutputStream(str(scratch))
        try:
            if codec:
                stream = codec.compressedContinuousInputStream(stream)
            stream.transferTo(out)
        except Py4JJavaError as error:
            # The end of a log that was cut.
            if "EOFException" not in str(error) and "Stream ended prematurely" not in str(error):
                raise
        out.close()
        return scratch.read_bytes().decode("utf-8", errors="replace")

    def write(self, path, lines, is_cut):
        """Packs lines, flushed where Spark does; where the driver was killed, nothing is written after the last flush."""
        out, codec = self.jvm.java.io.FileOutputStream(str(path)), self.of(path)
        stream = codec.compressedContinuousOutputStream(out) if codec else out
        for event, line in lines:
            stream.write((line + "\n").encode())
            if not re.fullmatch("SparkListener(Task.*|StageSubmitted|EnvironmentUpdate)", event):
                stream.flush()
        # Task ends that were not flushed are there where a buffer was full, which ends within a line.
        if not is_cut:
            stream.close()
        out.close()


def make(log, raw, target):
    version, _, is_killed = LOGS[log]
    import pyspark

    if pyspark.__version__ != version:
        sys.exit(f"{log} is of Spark {version}; this is {pyspark.__version__}")
    raw, target = raw.resolve() / log, target.resolve()
    shutil.rmtree(raw, ignore_errors=True)
    raw.mkdir(parents=True)
    environment = os.environ | {"SPARK_LOCAL_HOSTNAME": "host-1", "SPARK_USER": "user", "SPARK_LOCAL_DIRS": str(raw / "local")}
    environment |= {"PYSPARK_PYTHON": sys.executable, "PYTHONDONTWRITEBYTECODE": "1"}
    here = pathlib.Path(__file__).resolve()
    done = subprocess.run([sys.executable, here.name, "run", log, str(raw)], cwd=here.parent, env=environment)
    if done.returncode != 0:
        sys.exit(f"{log}: the application ended with {done.returncode}")
    found = [path for path in raw.iterdir() if re.match(r"(eventlog_v2_)?local-\d", path.name)]
    if len(found) != 1:
        sys.exit(f"{log}: Spark wrote {len(found)} logs")
    app_id = re.search(r"local-\d+", found[0].name)[0]
    codec = Codec()
    aim = target / found[0].name.replace(app_id, log)
    shutil.rmtree(aim) if aim.is_dir() else aim.unlink(missing_ok=True)
    files = [(found[0], aim)]
    if found[0].is_dir():
        aim.mkdir()
        names = sorted((path.name for path in found[0].iterdir() if not path.name.endswith(".crc")), key=number)
        files = [(found[0] / name, aim / name.replace(app_id, log)) for name in names]
    for file, to in files:
        if file.name.startswith("appstatus"):
            to.touch()
            continue
        codec.write(to, cleaned(codec.read(file, raw / "text"), app_id, log), is_killed)
    codec.gateway.shutdown()


def number(name):
    found = re.match(r"events_(\d+)_", name)
    return int(found[1]) if found else 0


# What is in a log


def expected(text):
    """The figures of a log. A line without an end is left out."""
    events = [json.loads(line) for line in text.split("\n")[:-1]]
    of = collections.defaultdict(list)
    for event in events:
        of[event["Event"].rsplit(".", 1)[-1].removeprefix("SparkListener")].append(event)
    jobs = of["JobStart"]
    ends = of["TaskEnd"]
    completed = {(info["Stage ID"], info["Stage Attempt ID"]): info for info in (e["Stage Info"] for e in of["StageCompleted"])}
    attempts = {(e["Stage Info"]["Stage ID"], e["Stage Info"]["Stage Attempt ID"]) for e in of["StageSubmitted"]}
    names = {e["executionId"]: e["description"] for e in of["SQLExecutionStart"]}
    result = {
        "version": of["LogStart"][0]["Spark Version"],
        "is_cut": not text.endswith("\n"),
        "has_ended": bool(of["ApplicationEnd"]),
        "jobs": len(jobs),
        "failed_jobs": sum(e["Job Result"]["Result"] != "JobSucceeded" for e in of["JobEnd"]),
        "stages_run": len(attempts),
        "sql_executions": len(names),
        "tasks_started": len(of["TaskStart"]),
        "task_ends": len(ends),
        "failed_tasks": sum(e["Task End Reason"]["Reason"] not in ("Success", "TaskKilled") for e in ends),
        "run_time_ms": sum(e["Task Metrics"]["Executor Run Time"] for e in ends if e.get("Task Metrics")),
    }
    return result | dags(jobs, ends, of["JobEnd"], completed, names)


def dags(jobs, ends, job_ends, completed, names):
    """The DAGs, whose edges follow from which RDD is made of which."""
    stages, job_of = {}, {}
    for job in jobs:
        for info in job["Stage Infos"]:
            stages.setdefault(info["Stage ID"], info)
            job_of.setdefault(info["Stage ID"], job)
    tasks = collections.Counter()
    for key in {(e["Stage ID"], e["Stage Attempt ID"], e["Task Info"]["Index"]) for e in ends if e["Task End Reason"]["Reason"] == "Success"}:
        tasks[key[0]] += 1
    submitted = {e["Stage ID"] for e in ends} | {stage for stage, _ in completed}
    ended_ms = {stage: info["Completion Time"] for (stage, _), info in completed.items()}
    writes = {e["Stage ID"] for e in ends if e["Task Type"] == "ShuffleMapTask"}

    # The RDD that a stage computes is the one of which it makes no other.
    def result_of(stage):
        rdds = stages[stage]["RDD Info"]
        used = {parent for rdd in rdds for parent in rdd["Parent IDs"]}
        last = [rdd["RDD ID"] for rdd in rdds if rdd["RDD ID"] not in used]
        assert len(last) == 1, (stage, last)
        return last[0]

    makers = collections.defaultdict(list)
    for stage in sorted(tasks):
        makers[result_of(stage)].append(stage)
    skipped = [stage for stage in stages if stage not in submitted]
    whole = {stage for (stage, _), info in completed.items() if "Failure Reason" not in info}
    matched = [stage for stage in skipped if whole.intersection(makers[result_of(stage)])]

    groups = collections.defaultdict(list)
    for stage in sorted(tasks):
        groups[group(job_of[stage])].append(stage)
    outside, found = 0, []
    for (kind, of_group), members in groups.items():
        edges = set()
        for child in members:
            own = {rdd["RDD ID"] for rdd in stages[child]["RDD Info"]}
            for rdd in {parent for rdd in stages[child]["RDD Info"] for parent in rdd["Parent IDs"]} - own:
                # No RDD is shuffled twice in these applications.
                of = [stage for stage in makers[rdd] if stage in writes]
                assert len(of) == 1, (child, rdd, of)
                if of[0] in members:
                    edges.add((of[0], child))
                else:
                    outside += 1
        description = job_of[members[0]]["Properties"].get("spark.job.description")
        found.append(
            {
                "name": names[of_group] if kind == "sql" else description,
                "tasks": [[stage, tasks[stage]] for stage in members],
                "edges": sorted(edges),
                "assumed": sorted(assumed(members, edges, ended_ms, job_of)),
                "jobs": sum(group(job) == (kind, of_group) for job in jobs),
            }
        )
    return {"skipped": len(skipped), "matched": len(matched), "outside_edges": outside, "dags": sorted(found, key=lambda dag: dag["tasks"])}


def group(job):
    """What a job belongs to: a SQL execution, or nothing but itself."""
    sql = job["Properties"].get("spark.sql.execution.id")
    return ("sql", int(sql)) if sql else ("job", job["Job ID"])


def assumed(members, edges, ended_ms, job_of):
    """Edges to what begins a job, from what no other stage reads and was complete before, but for those that follow from other edges."""

    def began_ms(stage):
        return job_of[stage]["Submission Time"]

    read = {parent for parent, _ in edges}
    for child in members:
        if any(end == child and job_of[parent] is job_of[child] for parent, end in edges):
            continue
        before = [s for s in members if s not in read and s in ended_ms and ended_ms[s] <= began_ms(child)]
        nearer = before + [parent for parent, end in edges if end == child]
        for parent in before:
            if not any(ended_ms[parent] < began_ms(other) for other in nearer):
                yield parent, child


def figures(target):
    codec, lines = Codec(), []
    with tempfile.TemporaryDirectory() as scratch:
        for log in LOGS:
            [path] = target.glob(f"*{log}*")
            files = sorted(path.glob("events_*"), key=lambda file: number(file.name)) if path.is_dir() else [path]
            text = "".join(codec.read(file, pathlib.Path(scratch) / "text") for file in files)
            check(log, text)
            found = {"path": path.name} | expected(text)
            lines.append(f"{json.dumps(log)}: {json.dumps(found, separators=(',', ':'))}")
    codec.gateway.shutdown()
    (target / "expected.json").write_text("{\n" + ",\n".join(lines) + "\n}\n")


def main():
    match sys.argv[1:]:
        case ["run", log, raw]:
            run(log, pathlib.Path(raw))
        case ["make", log, raw, target]:
            make(log, pathlib.Path(raw), pathlib.Path(target))
        case ["figures", target]:
            figures(pathlib.Path(target).resolve())
        case ["queries", target, n]:
            target = pathlib.Path(target).resolve()
            target.mkdir(parents=True, exist_ok=True)
            shared(target, int(n))
        case ["list", version]:
            print(*(log for log, (of, *_) in LOGS.items() if of == version))
        case _:
            sys.exit(__doc__)


if __name__ == "__main__":
    main()
