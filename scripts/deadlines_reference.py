#!/usr/bin/env python3
"""A second model of the scenario `deadlines`, written from docs/deadlines.md alone, and random cases that it has worked out.

    scripts/deadlines_reference.py -o tests/deadlines_reference --summary

writes case-00.json ... case-19.json. Each has a workload, the seed of its luck, and for every policy what happened in order (a job begins or
gets another number of cores; a job is complete) and the figures. The cases are drawn from the number of the case: a second run writes the
same bytes. Standard library alone.

The model goes from moment to moment and is written for reading: what can be worked out anew is not kept. Times are in ms.
"""

import argparse
import json
import math
import os
import random

CASES = 20
POLICIES = ["fifo", "edf", "least-slack", "edf-test", "qos", "qos,autoscale=off", "hpa"]
WORD, GOLDEN, LUCK = 2**64 - 1, 0x9E3779B97F4A7C15, 0x4D45415355524544
LEAST_TIME, LEAST_SPREAD = 0.001, 0.02
MARGIN, AHEAD = 1.08, 0.15
HPA_TARGET, HPA_TOLERANCE, HPA_MEMORY = 0.8, 0.1, 300_000.0
QOS_RESTARTS = 50.0
UNKNOWN_MS = 1000.0


def total(values):
    """The sum from the first to the last: the built-in one rounds differently from one version of Python to another."""
    result = 0.0
    for value in values:
        result += value
    return result


# Luck


def mix(z):
    z = (z + GOLDEN) & WORD
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & WORD
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & WORD
    return z ^ (z >> 31)


def hash_words(*words):
    state = GOLDEN ^ len(words)
    for word in words:
        state = mix(state ^ mix((word + GOLDEN) & WORD))
    return state


def unit(x):
    return (x >> 11) / 2**53


def normal(seed, job, k):
    """The standard normal draw of measurement `k` of a job."""
    luck = hash_words(seed, LUCK)
    u, v = unit(hash_words(luck, job, k)), unit(hash_words(luck, job, k, 1))
    return math.sqrt(-2.0 * math.log(1.0 - u)) * math.cos(2.0 * math.pi * v)


# Law and prediction


def iteration(law, cores):
    return law["serial_ms"] + law["parallel_ms"] / cores + law["overhead_ms"] * cores


class Belief:
    """What is believed of the law of a program: the mean and the covariance of its three numbers."""

    def __init__(self, mean, covariance):
        self.mean, self.covariance = list(mean), [list(row) for row in covariance]

    def law(self, cores):
        return total(x * m for x, m in zip((1.0, 1.0 / cores, cores), self.mean))

    def time(self, cores):
        return max(self.law(cores), LEAST_TIME)

    def learn(self, cores, y, error):
        x = (1.0, 1.0 / cores, cores)
        g = [total(p * a for p, a in zip(row, x)) for row in self.covariance]
        v = max(total(a * b for a, b in zip(x, g)), 0.0) + (error * y) * (error * y)
        if v == 0.0:
            return
        surprise = y - self.law(cores)
        for i in range(3):
            self.mean[i] += g[i] * surprise / v
            for j in range(3):
                self.covariance[i][j] -= g[i] * g[j] / v


def belief_of_model(model, noise):
    """Belief about a new job of a model: least squares over the database, then how far jobs lie from that law, each as a whole.

    The measurements of the database are over a whole window each. Without any, an iteration is believed to take a second of one core.
    """
    jobs = model["earlier_jobs"]
    products = [cores * time for job in jobs for cores, time in job]
    w = total(products) / len(products) if products else UNKNOWN_MS
    belief = Belief((0.0, w, 0.0), ((w * w, 0.0, 0.0), (0.0, w * w, 0.0), (0.0, 0.0, (w / 100.0) * (w / 100.0))))
    for job in jobs:
        for cores, time in job:
            belief.learn(cores, time, max(noise, 1e-6))
    spread = 1.0
    if len(jobs) >= 2:
        offs = [total(time / belief.time(cores) - 1.0 for cores, time in job) / len(job) for job in jobs]
        spread = max(math.sqrt(total(q * q for q in offs) / (len(jobs) - 1)), LEAST_SPREAD)
    for i in range(3):
        for j in range(3):
            belief.covariance[i][j] += spread * spread * belief.mean[i] * belief.mean[j]
    return belief


class Job:
    """A job: what was declared, what is true, and what has become of it. It waits, then runs (it has a node), then has ended."""

    def __init__(self, number, description, belief, workload):
        self.__dict__.update(description)
        self.number, self.workload = number, workload
        self.belief = Belief(belief.mean, belief.covariance)
        self.most = min(self.largest, workload["node_cores"])
        self.given_up, self.node, self.held, self.elastic, self.ended_at = False, None, 0, False, None
        self.measurements, self.ahead, self.wanted = 0, 0, []
        self.allocated = self.usable = 0.0

    def used(self, cores, elastic):
        return min(cores, self.largest if elastic else self.threads)

    def rate(self):
        """Time of an iteration as it runs."""
        return iteration(self.law, self.used(self.held, self.elastic))

    def done(self, now):
        return 0.0 if self.node is None else self.done_then + max(now - self.resumes_at, 0.0) / self.rate()

    def get_cores(self, now, node, cores, elastic):
        """It begins, or is resized."""
        self.account(now)
        self.done_then = self.measured_to = self.done(now)
        self.resumes_at = now if self.node is None else now + self.workload["restart_ms"]
        self.got_at, self.node, self.held, self.elastic, self.ahead = now, node, cores, elastic, 0
        left, window = self.iterations - self.done_then, self.workload["window"]
        self.ends_at = self.resumes_at + left * self.rate()
        measured_first = self.measurements == 0 and left > window
        self.first_at = self.resumes_at + window * self.rate() if measured_first else math.inf

    def account(self, now):
        """Adds up the core time since it last got cores."""
        if self.node is not None:
            self.allocated += self.held * (now - self.got_at)
            self.usable += self.used(self.held, self.elastic) * (now - self.got_at)

    def measure(self, seed, n, done):
        """The last `n` iterations are measured; `done` are done."""
        error = self.workload["noise"] * math.sqrt(self.workload["window"] / n)
        y = self.rate() * self.bias * math.exp(error * normal(seed, self.number, self.measurements))
        self.belief.learn(self.used(self.held, self.elastic), y, error)
        self.measurements += 1
        self.measured_to = done

    # What follows from the prediction at the time `now`, with `cores` cores, elastic or as submitted.

    def work(self, now, cores, elastic):
        return max(self.declared_iterations - self.done(now), 0.0) * self.belief.time(self.used(cores, elastic))

    def pause(self, now, cores):
        if self.node is None:
            return 0.0
        return max(self.resumes_at - now, 0.0) if cores == self.held else self.workload["restart_ms"]

    def slack(self, now, cores, elastic):
        return self.declared_deadline_ms - now - self.pause(now, cores) - self.work(now, cores, elastic)

    def resized(self, cores):
        """Whether it is elastic with `cores` cores: as it is if it keeps its number of cores."""
        return self.elastic if cores == self.held else True

    def hopeless(self, now):
        return self.slack(now, self.most, self.resized(self.most)) < 0.0

    def size(self, now):
        for cores in range(1, self.most + 1):
            if self.pause(now, cores) + MARGIN * self.work(now, cores, self.resized(cores)) <= self.declared_deadline_ms - now:
                return cores
        return self.most


class Episode:
    """A workload under one policy, from moment to moment."""

    def __init__(self, workload, seed, policy):
        self.workload, self.seed, self.policy = workload, seed, policy
        beliefs = {m["name"]: belief_of_model(m, workload["noise"]) for m in workload["models"]}
        self.jobs = [Job(i, job, beliefs[job["model"]], workload) for i, job in enumerate(workload["jobs"])]
        self.now, self.changes = -math.inf, []

    def running(self):
        return [j for j in self.jobs if j.node is not None and j.ended_at is None]

    def waiting(self, given_up):
        return [j for j in self.jobs if j.arrival_ms <= self.now and j.node is None and j.given_up == given_up]

    def free(self, node):
        return self.workload["node_cores"] - sum(j.held for j in self.running() if j.node == node)

    def most_free(self):
        return max(self.free(n) for n in range(self.workload["nodes"]))

    def room(self, job):
        return max(self.most_free(), self.free(job.node) + job.held)

    def place(self, job, cores, elastic):
        node = job.node
        if node is None or self.free(node) + job.held < cores:
            node = min((n for n in range(self.workload["nodes"]) if self.free(n) >= cores), key=lambda n: (self.free(n), n))
        job.get_cores(self.now, node, cores, elastic)
        self.changes.append({"time_ms": self.now, "job": job.number, "node": node, "cores": cores, "elastic": elastic})

    def run(self):
        while True:
            check = (math.floor(self.now / self.workload["check_ms"]) + 1) * self.workload["check_ms"] if self.running() else math.inf
            times = [check] + [j.arrival_ms for j in self.jobs] + [j.declared_deadline_ms for j in self.waiting(given_up=False)]
            times += [t for j in self.running() for t in (j.ends_at, j.first_at)]
            self.now = min((t for t in times if t > self.now), default=math.inf)
            if self.now == math.inf:
                break
            self.moment(check)
        assert all(j.ended_at is not None for j in self.jobs), "the cluster is stranded"
        n = len(self.jobs)
        return {
            "changes": self.changes,
            "on_time": sum(j.ended_at <= j.deadline_ms for j in self.jobs) / n,
            "tardiness_ms": total(max(j.ended_at - j.deadline_ms, 0.0) for j in self.jobs) / n,
            "cores_used": total(j.usable for j in self.jobs) / total(j.allocated for j in self.jobs),
        }

    def moment(self, check):
        now, window, asked = self.now, self.workload["window"], []
        for job in self.running():
            if job.ends_at == now:
                job.account(now)
                job.ended_at = now
                self.changes.append({"time_ms": now, "job": job.number, "end": True})
            elif job.first_at == now:
                job.measure(self.seed, window, job.done_then + window)
                asked.append(job)
        at_check = check == now and len(self.running()) > 0
        if at_check:
            asked = self.running()
            for job in asked:
                done = job.done(now)
                if job.measurements > 0 and done - job.measured_to >= 1.0:
                    job.measure(self.seed, done - job.measured_to, done)
                ahead = job.slack(now, job.held, job.elastic) > AHEAD * job.work(now, job.held, job.elastic)
                job.ahead = job.ahead + 1 if ahead else 0
            asked = [job for job in asked if job.resumes_at <= now - self.workload["check_ms"]]
        for job in asked:
            cores = resize(self.policy, self, job, at_check)
            assert cores == job.held or 1 <= cores <= min(max(job.largest, job.held), self.room(job)), "not an answer"
            if cores != job.held:
                self.place(job, cores, True)
        while self.waiting(given_up=False) and self.most_free() > 0:
            answer = start(self.policy, self, self.waiting(given_up=False))
            if answer is None:
                break
            job, cores, elastic = answer
            if cores is None:
                job.given_up = True
            else:
                self.place(job, cores, elastic)
        for job in self.waiting(given_up=True):
            cores = min(job.threads, self.workload["node_cores"])
            if cores <= self.most_free() and (not self.waiting(given_up=False) or not self.running()):
                self.place(job, cores, False)


# Policies


def start(policy, episode, waiting):
    """Which job begins: (job, cores, elastic); (job, None, None) if its deadline is given up; None to wait."""
    now, qos = episode.now, policy.startswith("qos")
    for job in waiting:
        if (qos and job.hopeless(now)) or (policy == "edf-test" and job.slack(now, job.requested, False) < 0.0):
            return job, None, None
    sizes = {j.number: j.size(now) if qos else j.requested for j in waiting}
    fitting = [j for j in waiting if sizes[j.number] <= episode.most_free()]
    if policy in ("fifo", "hpa"):
        order = lambda j: j.number
    elif policy == "least-slack":
        order = lambda j: (j.slack(now, j.requested, False), j.number)
    else:
        order = lambda j: (j.declared_deadline_ms, j.number)
    job = min(fitting, key=order, default=None)
    return None if job is None else (job, sizes[job.number], qos)


def resize(policy, episode, job, at_check):
    """The number of cores of a running job."""
    now, held = episode.now, job.held
    if policy == "qos" and not job.given_up:
        if job.slack(now, held, job.elastic) < 0.0 and not job.hopeless(now):
            return max(min(job.size(now), episode.room(job)), held)
        smaller = min(job.size(now), held)
        worth_it = job.work(now, smaller, True if smaller != held else job.elastic) >= QOS_RESTARTS * episode.workload["restart_ms"]
        if at_check and job.ahead >= 2 and worth_it:
            return smaller
    if policy == "hpa" and at_check:
        ratio = (job.used(held, job.elastic) / held) / HPA_TARGET
        wanted = held if abs(ratio - 1.0) <= HPA_TOLERANCE else min(math.ceil(held * ratio), max(2 * held, held + 4))
        job.wanted.append((now, wanted))
        recent = max(w for time, w in job.wanted if time >= now - HPA_MEMORY)
        return max(min(wanted if wanted > held else min(held, recent), job.most, episode.room(job)), 1)
    return held


# Cases


def random_model(rng, name, law, workload, earlier):
    """A model and its database. Without noise the jobs of the database have the law of the model exactly: nothing contradicts."""
    jobs, noise, node_cores = [], workload["noise"], workload["node_cores"]
    for _ in range(earlier):
        factor = rng.lognormvariate(0.0, 0.15) if noise > 0 else 1.0
        sizes = sorted(rng.sample(range(1, node_cores + 1), rng.randint(1, 3)))
        jobs.append([[c, iteration(law, c) * factor * math.exp(noise * rng.gauss(0.0, 1.0))] for c in sizes])
    return {"name": name, "earlier_jobs": jobs, "cores_used": [max(c for c, _ in job) for job in jobs]}


def random_job(rng, model, law, workload):
    """A job of a model, all but its times. Without noise its law is that of the model but for a factor."""
    node_cores, window, noise = workload["node_cores"], workload["window"], workload["noise"]
    factor = rng.lognormvariate(0.0, 0.2)
    law = {part: round(ms * factor * (rng.lognormvariate(0.0, 0.1) if noise > 0 else 1.0), 3) for part, ms in law.items()}
    iterations = rng.randint(2, 2 * window) if rng.random() < 0.12 else round(math.exp(rng.uniform(math.log(30), math.log(2000))))
    declared = iterations if rng.random() < 0.7 else max(1, round(iterations * rng.uniform(0.5, 1.6)))
    requested = rng.randint(1, node_cores)
    threads = rng.choice([requested, requested, max(1, requested - rng.choice([1, 1, 2, 4])), requested + rng.randint(1, 6)])
    largest = rng.choice([node_cores, 2 * node_cores, 256, rng.randint(1, node_cores), rng.randint(1, requested)])
    bias = 1.0 if rng.random() < 0.6 else round(rng.uniform(0.7, 1.6), 3)
    job = {"model": model, "arrival_ms": 0.0, "deadline_ms": 0.0, "declared_deadline_ms": 0.0, "iterations": iterations}
    job.update(declared_iterations=declared, requested=requested, threads=threads, largest=largest, law=law, bias=bias)
    return job


def random_case(number):
    rng = random.Random(number)
    workload = {
        "nodes": rng.randint(1, 4),
        "node_cores": rng.randint(4, 12),
        "check_ms": 1000.0 * rng.choice([20, 30, 45, 60, 90, 120]),
        "restart_ms": rng.choice([0.0, round(rng.uniform(1000, 30000), 1), round(rng.uniform(1000, 30000), 1)]),
        "window": rng.randint(5, 20),
        "noise": 0.0 if number % 5 == 0 else round(rng.uniform(0.02, 0.2), 3),
    }
    ranges = {"serial_ms": (20, 300), "parallel_ms": (400, 5000), "overhead_ms": (0, 30)}
    laws = {f"m{i}": {part: round(rng.uniform(*r), 3) for part, r in ranges.items()} for i in range(rng.randint(1, 3))}
    earlier = [0 if number % 7 == 6 and name == "m0" else rng.choice([1, 2, 3, 4, 6]) for name in laws]
    workload["models"] = [random_model(rng, name, laws[name], workload, n) for name, n in zip(laws, earlier)]
    workload["jobs"] = jobs = [random_job(rng, m, laws[m], workload) for m in rng.choices(list(laws), k=rng.choice([4, 6, 8, 10, 12, 12]))]
    times = [j["iterations"] * iteration(j["law"], min(j["requested"], j["threads"])) for j in jobs]
    core_time = total(t * j["requested"] for t, j in zip(times, jobs)) / len(jobs)
    gap = core_time / (workload["nodes"] * workload["node_cores"]) * rng.uniform(0.05, 0.7)
    arrival = deadline = 0.0
    for job, time in zip(jobs, times):
        way = rng.random()
        if way < 0.1:  # together with a check
            arrival = math.ceil(arrival / workload["check_ms"]) * workload["check_ms"]
        elif way < 0.85:  # otherwise together with the job before
            arrival = round(arrival + rng.expovariate(1.0 / gap), 1)
        if rng.random() < 0.85 or deadline <= arrival:  # otherwise the deadline of the job before
            deadline = round(arrival + time * rng.uniform(0.3, 4.0), 1)
        wrong = rng.uniform(0.6, 1.7) if rng.random() < 0.3 else 1.0
        declared = deadline if wrong == 1.0 else round(arrival + (deadline - arrival) * wrong, 1)
        job.update(arrival_ms=arrival, deadline_ms=deadline, declared_deadline_ms=declared)
    seed = rng.randrange(2**32)
    return {"workload": workload, "seed": seed, "policies": {p: Episode(workload, seed, p).run() for p in POLICIES}}


def text_of(value, depth=0):
    """JSON with what has no room on a line broken into parts."""
    line = json.dumps(value)
    if len(line) <= 300 or not isinstance(value, (dict, list)):
        return line
    parts = [text_of(v, depth + 1) for v in (value.values() if isinstance(value, dict) else value)]
    if isinstance(value, dict):
        parts = [f"{json.dumps(key)}: {part}" for key, part in zip(value, parts)]
    begin, end = "{}" if isinstance(value, dict) else "[]"
    indent = "\n" + " " * depth
    return begin + ",".join(indent + " " + part for part in parts) + indent + end


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("-o", "--output", required=True, metavar="DIR", help="folder of the cases, made if it is missing")
    parser.add_argument("--summary", action="store_true", help="print the share of jobs on time by case and policy")
    args = parser.parse_args()
    os.makedirs(args.output, exist_ok=True)
    if args.summary:
        print("case  jobs  " + "  ".join(POLICIES))
    for number in range(CASES):
        case = random_case(number)
        with open(os.path.join(args.output, f"case-{number:02}.json"), "w", encoding="utf-8", newline="\n") as file:
            file.write(text_of(case) + "\n")
        if args.summary:
            shares = "  ".join(f"{case['policies'][p]['on_time']:{len(p)}.2f}" for p in POLICIES)
            print(f"{number:4}  {len(case['workload']['jobs']):4}  {shares}")


if __name__ == "__main__":
    main()
