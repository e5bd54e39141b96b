#!/usr/bin/env python3
"""Small logs of jobs in the formats that clusters and published traces have, and what stands in them.

    scripts/make_job_logs.py FOLDER [--seed 1] [--jobs 300] [--nodes 8]

writes philly.json, helios.csv, cluster.swf, sacct.txt, batch_task.csv, batch_instance.csv and batch_task_2017.csv. Jobs come at random and
are served in order of arrival on nodes of 8 GPUs. Each log has what makes real ones hard to read: jobs without attempts, ends that are `None`,
steps and elements of arrays, times that are `Unknown`, fields of -1.

What it prints is JSON: by file how many jobs can be read, how many rows cannot, the time from the first to the last submission, the GPU time,
and the most GPUs in use at one time. It is found by reading the files again, by code that knows nothing of how they were written. The same seed
writes the same bytes. Standard library alone.
"""

import argparse
import csv
import datetime
import heapq
import json
import os
import random

NODE_GPUS = 8
EPOCH = datetime.datetime(1970, 1, 1)


class Cluster:
    """GPUs that are given to whoever comes first; nobody overtakes."""

    def __init__(self, size):
        self.free, self.ends, self.last = size, [], 0

    def place(self, ready, need, duration):
        """When a job that is ready at a time starts."""
        start = max(ready, self.last)
        while self.ends and (self.ends[0][0] <= start or self.free < need):
            end, gpus = heapq.heappop(self.ends)
            start, self.free = max(start, end), self.free + gpus
        self.free -= need
        heapq.heappush(self.ends, (start + duration, need))
        self.last = start
        return start


def drawn_jobs(rng, count, size):
    """Jobs as they ran: when they were submitted, started and ended, in whole seconds, and on how many GPUs."""
    cluster, now, jobs = Cluster(size), 0, []
    for number in range(count):
        now += int(rng.expovariate(1 / 240))
        need = rng.choice([1, 1, 1, 1, 2, 2, 4, 8, min(16, size)])
        duration = max(1, int(rng.lognormvariate(6.5, 1.3)))
        start = cluster.place(now, need, duration)
        jobs.append({"number": number, "submit": now, "start": start, "end": start + duration, "gpus": need,
                     "user": f"user{rng.randrange(9)}", "queue": rng.choice(["alpha", "beta"]), "trap": rng.random()})
    return jobs


def calendar(since, seconds, mark=" "):
    return (since + datetime.timedelta(seconds=seconds)).strftime(f"%Y-%m-%d{mark}%H:%M:%S")


def write(folder, name, text):
    with open(os.path.join(folder, name), "w", encoding="utf-8", newline="\n") as file:
        file.write(text)


def philly(jobs):
    since = datetime.datetime(2017, 10, 1, 23, 50)

    def time(seconds):
        return calendar(since, seconds)

    def detail(gpus, first):
        nodes = [min(NODE_GPUS, gpus - at) for at in range(0, gpus, NODE_GPUS)]
        return [{"ip": f"m{first + i}", "gpus": [f"gpu{g}" for g in range(n)]} for i, n in enumerate(nodes)]

    log = []
    for job in jobs:
        start, end, gpus, trap = job["start"], job["end"], job["gpus"], job["trap"]
        whole = {"start_time": time(start), "end_time": time(end), "detail": detail(gpus, job["number"] % 5)}
        status, attempts = "Pass", [whole]
        if trap < 0.04:
            status, attempts = "Killed", []
        elif trap < 0.08:
            status, attempts = "Failed", [{**whole, "end_time": "None" if trap < 0.06 else None}]
        elif trap < 0.1:
            status, attempts = "Killed", [{"start_time": "None", "end_time": time(end), "detail": []}]
        elif trap < 0.3 and end - start > 90:
            # It was tried twice, with half a minute between; what it ran on is where it last was.
            middle = start + (end - start) // 3
            first = {"start_time": time(start), "end_time": time(middle), "detail": detail(1, 0)}
            status, attempts = "Failed", [first, {**whole, "start_time": time(middle + 30)}]
        log.append({"status": status, "vc": job["queue"], "jobid": f"application_{job['number']}", "attempts": attempts,
                    "submitted_time": time(job["submit"]), "user": job["user"]})
    return json.dumps(log, indent=1)


def helios(jobs):
    since = datetime.datetime(2020, 4, 1)
    lines = ["job_id,user,vc,gpu_num,cpu_num,node_num,state,submit_time,start_time,end_time,duration,queue"]
    for job in jobs:
        submit, start, end, gpus, trap = job["submit"], job["start"], job["end"], job["gpus"], job["trap"]
        times = [calendar(since, start), calendar(since, end), str(end - start), str(start - submit)]
        state = "COMPLETED"
        if trap < 0.05:
            state, times = "CANCELLED", ["None", "None", "", ""]
        elif trap < 0.08:
            state, times = "RUNNING", [calendar(since, start), "", "", str(start - submit)]
        elif trap < 0.2:
            gpus = 0
        elif trap < 0.3:
            state = "FAILED"
        nodes = max(1, -(-gpus // NODE_GPUS))
        cells = [str(job["number"]), job["user"], job["queue"], str(gpus), str(4 * gpus + 2), str(nodes), state]
        lines.append(",".join([*cells, calendar(since, submit), *times]))
    return "\n".join(lines) + "\n"


def swf(jobs, size):
    lines = ["; Computer: made", "; UnixStartTime: 1500000000", "; MaxNodes: %d" % (size // NODE_GPUS), f"; MaxProcs: {size}"]
    for job in jobs:
        submit, wait, run, trap = job["submit"], job["start"] - job["submit"], job["end"] - job["start"], job["trap"]
        cores, asked, status = job["gpus"], job["gpus"], 1
        if trap < 0.05:
            wait, run, cores, status = -1, -1, -1, 5
        elif trap < 0.1:
            wait = -1
        elif trap < 0.2:
            cores = -1
        elif trap < 0.25:
            status = 0
        fields = [job["number"] + 1, submit, wait, run, cores, -1, -1, asked, 2 * max(run, 1), -1, status, int(job["user"][4:]) + 1,
                  -1, -1, 1 if job["queue"] == "alpha" else 2, -1, -1, -1]
        lines.append(" ".join(map(str, fields)))
        if 0.25 <= trap < 0.3:
            # A part of that job that ended at a checkpoint.
            lines.append(" ".join(map(str, fields[:10] + [2] + fields[11:])))
        if trap > 0.98:
            lines.append("not a job")
    return "\n".join(lines) + "\n"


def elapsed(seconds):
    days, rest = divmod(seconds, 86_400)
    clock = f"{rest // 3600:02}:{rest // 60 % 60:02}:{rest % 60:02}"
    return f"{days}-{clock}" if days else clock


def sacct(jobs):
    since = datetime.datetime(2024, 5, 1)

    def time(seconds):
        return calendar(since, seconds, "T")

    lines = ["JobID|User|Partition|State|Submit|Start|End|Elapsed|ReqTRES|AllocTRES"]
    for job in jobs:
        submit, start, end, gpus, trap = job["submit"], job["start"], job["end"], job["gpus"], job["trap"]
        name = f"{900 + job['number']}_{job['number'] % 7}" if trap > 0.8 else str(900 + job["number"])
        tres = f"billing=9,cpu={4 * gpus},gres/gpu={gpus},mem={16 * gpus}G,node={-(-gpus // NODE_GPUS)}"
        given, state, times, took = tres, "COMPLETED", [time(start), time(end)], elapsed(end - start)
        if trap < 0.04:
            state, times, took, given = "PENDING", ["Unknown", "Unknown"], elapsed(0), ""
        elif trap < 0.07:
            state, times, took, given = "CANCELLED by 1000", ["None", time(end)], elapsed(0), ""
        elif trap < 0.1:
            state, times, took = "RUNNING", [time(start), "Unknown"], elapsed(end - start + 5)
        elif trap < 0.2:
            given = tres = f"cpu={4 * gpus},mem=8G,node=1"
        elif trap < 0.3:
            state, given = "TIMEOUT", tres.replace("gres/gpu=", "gres/gpu:a100=")
        lines.append("|".join([name, job["user"], job["queue"], state, time(submit), *times, took, tres, given]))
        if given:
            for step in ("batch", "extern", "0"):
                lines.append("|".join([f"{name}.{step}", "", "", state, time(start), *times, took, "", given]))
    return "\n".join(lines) + "\n"


def alibaba(rng, count, size):
    """The tasks and instances of DAGs, and the same tasks as the trace of 2017 writes them."""
    cluster, now = Cluster(size), 86_400
    tasks, instances, old = [], [], []
    for number in range(count):
        now += int(rng.expovariate(1 / 90))
        ends, job = {}, f"j_{number + 1}"
        for task in range(1, rng.choice([1, 1, 2, 3, 5]) + 1):
            parents = sorted(rng.sample(range(1, task), rng.randrange(min(task, 3)))) if task > 1 else []
            name = "_".join([rng.choice("MRJ") + str(task), *map(str, reversed(parents))])
            width, duration = rng.randrange(1, size // 2 + 1), int(rng.expovariate(1 / 60))
            start = cluster.place(max([now, *(ends[parent] for parent in parents)]), width, duration)
            ends[task] = start + duration
            trap, end = rng.random(), start + duration
            status = "Terminated"
            if trap < 0.03:
                status, end = "Running", 0
            elif trap < 0.06:
                # A number that nothing else in this job has.
                name += "_99"
            elif trap < 0.12 and task == 1:
                name = "task_" + format(rng.getrandbits(40), "010x")
            tasks.append(f"{name},{width},{job},1,{status},{start},{end},{100 if trap < 0.5 else 50},0.39")
            for place in range(width):
                # Not all begin at once, and the last one ends with its task.
                late = min(duration, rng.randrange(3)) if place else 0
                instances.append(f"ins_{place},{name},{job},1,{status},{start + late},{end},m_{place},1,1,90,110,0.2,0.3")
            old.append(f"{start},{start + duration},{number + 1},{task},{width},{status},1.0,0.01")
        if rng.random() < 0.03:
            tasks.append(f"M1,0,{job},1,Failed,{now},{now},100,0.39")
            tasks.append(f"M9,1,{job},1,Failed,{now}")
    return ["\n".join(lines) + "\n" for lines in (tasks, instances, old)]


# What stands in the files, by code that does not know how they were made.


def seconds(text, form):
    return int((datetime.datetime.strptime(text, form) - EPOCH).total_seconds())


def totals(jobs, skipped, gpus="gpu_s"):
    """Of jobs as (submission, start, end, duration, GPUs); a start and an end may be unknown."""
    changes = []
    for _, start, end, _, count in jobs:
        if start is not None and end is not None and end > start:
            changes += [(start, 1, count), (end, 0, -count)]
    used = most = 0
    for _, _, change in sorted(changes):
        used += change
        most = max(most, used)
    submitted = [job[0] for job in jobs]
    return {"jobs": len(jobs), "skipped": skipped, "span_s": max(submitted) - min(submitted),
            gpus: sum(duration * count for *_, duration, count in jobs), "most_used": most}


def read_philly(text):
    form, jobs, skipped = "%Y-%m-%d %H:%M:%S", [], 0
    for job in json.loads(text):
        runs = [[None if t in (None, "None") else seconds(t, form) for t in (a["start_time"], a["end_time"])] for a in job["attempts"]]
        known = [end - start for start, end in runs if start is not None and end is not None]
        if not runs or runs[-1][1] is None or not known:
            skipped += 1
            continue
        lists = [sum(len(node["gpus"]) for node in a["detail"]) for a in job["attempts"] if a["detail"]]
        starts = [start for start, _ in runs if start is not None]
        jobs.append((seconds(job["submitted_time"], form), starts[0], runs[-1][1], sum(known), lists[-1]))
    return totals(jobs, skipped)


def read_helios(text):
    form, jobs, skipped = "%Y-%m-%d %H:%M:%S", [], 0
    for row in csv.DictReader(text.splitlines()):
        if not row["duration"]:
            skipped += 1
            continue
        start, end = (seconds(row[name], form) for name in ("start_time", "end_time"))
        jobs.append((seconds(row["submit_time"], form), start, end, int(row["duration"]), int(row["gpu_num"])))
    return totals(jobs, skipped)


def read_swf(text):
    jobs, skipped, size = [], 0, {}
    for line in text.splitlines():
        if line.startswith(";"):
            label, value = line[1:].split(":")
            size[label.strip()] = value.strip()
            continue
        fields = line.split()
        if len(fields) != 18 or fields[10] in ("2", "3", "4") or fields[3] == "-1":
            skipped += 1
            continue
        submit, wait, run = (int(fields[i]) for i in (1, 2, 3))
        start = None if wait < 0 else submit + wait
        cores = int(fields[4]) if fields[4] != "-1" else int(fields[7])
        jobs.append((submit, start, None if start is None else start + run, run, cores))
    found = totals(jobs, skipped, "core_s")
    return {**found, "cluster_nodes": int(size["MaxNodes"]), "cluster_cpus": int(size["MaxProcs"])}


def read_sacct(text):
    lines = [line.split("|") for line in text.splitlines()]
    rows, form, jobs, skipped = [dict(zip(lines[0], line)) for line in lines[1:]], "%Y-%m-%dT%H:%M:%S", [], 0
    for row in rows:
        if "." in row["JobID"] or not row["Start"].startswith("2") or not row["End"].startswith("2"):
            skipped += 1
            continue
        days, clock = row["Elapsed"].split("-") if "-" in row["Elapsed"] else ("0", row["Elapsed"])
        hours, minutes, rest = map(int, clock.split(":"))
        took = 86_400 * int(days) + 3600 * hours + 60 * minutes + rest
        gpus = [part.split("=")[1] for part in row["AllocTRES"].split(",") if part.startswith("gres/gpu")]
        submit, start, end = (seconds(row[name], form) for name in ("Submit", "Start", "End"))
        jobs.append((submit, start, end, took, int(gpus[0]) if gpus else 0))
    return totals(jobs, skipped)


def read_tasks(text):
    by_job, skipped, missing, starts, work = {}, 0, 0, [], 0
    for line in text.splitlines():
        cells = line.split(",")
        if len(cells) != 9 or int(cells[1]) < 1:
            skipped += 1
            continue
        name, width, start, end = cells[0], int(cells[1]), int(cells[5]), int(cells[6])
        first, *parents = name.split("_")
        number = None if name.startswith("task_") else int(first[1:])
        by_job.setdefault(cells[2], []).append((number, [int(p) for p in parents] if number else []))
        starts.append(start)
        work += width * (end - start) if end else 0
    edges = 0
    for tasks in by_job.values():
        numbers = {number for number, _ in tasks}
        for _, parents in tasks:
            edges += sum(parent in numbers for parent in parents)
            missing += sum(parent not in numbers for parent in parents)
    return {"jobs": len(by_job), "tasks": sum(map(len, by_job.values())), "edges": edges, "missing": missing, "skipped": skipped,
            "span_s": max(starts) - min(starts), "instance_s": work}


def read_instances(text):
    rows = [line.split(",") for line in text.splitlines()]
    return {"cells": len(rows[0]), "instances": len(rows),
            "instance_s": sum(int(row[6]) - int(row[5]) for row in rows if row[6] != "0")}


def read_old(text):
    rows = [line.split(",") for line in text.splitlines()]
    return {"cells": len(rows[0]), "tasks": len(rows), "jobs": len({row[2] for row in rows})}


READERS = {"philly.json": read_philly, "helios.csv": read_helios, "cluster.swf": read_swf, "sacct.txt": read_sacct,
           "batch_task.csv": read_tasks, "batch_instance.csv": read_instances, "batch_task_2017.csv": read_old}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("folder")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=300)
    parser.add_argument("--nodes", type=int, default=8, help="of 8 GPUs")
    args = parser.parse_args()
    rng, size = random.Random(args.seed), NODE_GPUS * args.nodes
    jobs = drawn_jobs(rng, args.jobs, size)
    os.makedirs(args.folder, exist_ok=True)
    texts = [philly(jobs), helios(jobs), swf(jobs, size), sacct(jobs), *alibaba(rng, args.jobs, size)]
    found = {"size": size}
    for (name, reader), text in zip(READERS.items(), texts):
        write(args.folder, name, text)
        with open(os.path.join(args.folder, name), encoding="utf-8") as file:
            found[name] = reader(file.read())
    print(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
