#!/usr/bin/env python3
"""A second model of the scenario `preemption`, written from docs/preemption.md alone, and random cases that it has worked out.

    scripts/preemption_reference.py

writes case00.json ... case19.json to tests/preemption_reference and prints how often what is delicate occurred. Each case has a workload, the
seed of its luck, and for every policy what happened in order and the figures. The cases are drawn from the number of the case: a second run
writes the same bytes. Standard library alone.

The model goes from moment to moment and is written for reading: what can be worked out anew is not kept. Times are in ms, data in GB.
The policy `random` is for tests only: it takes every kind of answer that the rules allow.
"""

import argparse
import collections
import json
import math
import os
import random

CASES = 20
WORD, GOLDEN = 2**64 - 1, 0x9E3779B97F4A7C15
START_LUCK, NODE_LUCK, ANSWERS = 0x535441525453, 0x4641494C, 7
RIDGE, UNKNOWN_MS = 0.001, 60_000.0
DATABASE_ERROR, COUNTER_ERROR = 0.08, 0.03
LOADING = ("container", "loads", "warms")
HOLDING = LOADING + ("computes", "saves")


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


def normal(*words):
    u, v = unit(hash_words(*words)), unit(hash_words(*words, 1))
    return math.sqrt(-2.0 * math.log(1.0 - u)) * math.cos(2.0 * math.pi * v)


# Prediction


def features(gpus, batch, samples):
    return (1.0, samples / gpus, samples / (batch * gpus), float(samples))


def law_of(profiles):
    """The law of a model, None without profiles.

    Solved for the products of each part with its scale: as they are, the parts differ by many powers of ten.
    """
    if not profiles:
        return None
    rows = [[x / p["epoch_ms"] for x in features(p["gpus"], p["batch"], p["samples"])] for p in profiles]
    scale = [total(row[k] for row in rows) / len(rows) for k in range(4)]
    rows = [[x / s for x, s in zip(row, scale)] for row in rows]
    system = [[total(r[i] * r[j] for r in rows) + RIDGE * (i == j) for j in range(4)] + [total(r[i] for r in rows)] for i in range(4)]
    for i in range(4):
        pivot = max(range(i, 4), key=lambda k: abs(system[k][i]))
        system[i], system[pivot] = system[pivot], system[i]
        for k in range(4):
            if k != i:
                factor = system[k][i] / system[i][i]
                system[k] = [a - factor * b for a, b in zip(system[k], system[i])]
    return [system[k][4] / system[k][k] / scale[k] for k in range(4)]


def gittins_index(earlier, service):
    """`earlier` ascending. The best ratio of jobs that end within a further service to the service that this takes."""
    longer = [s for s in earlier if s > service]
    best = 0.0
    for most in longer:
        ending = sum(s <= most for s in longer)
        best = max(best, ending / total(min(s, most) - service for s in longer))
    return best


# Cluster


class Job:
    def __init__(self, number, job, workload):
        self.__dict__.update(job)
        self.number, self.model = number, next(m for m in workload["models"] if m["name"] == job["model"])
        self.observe, self.slowdown = workload["observe"], 1.0 + workload["spread_slowdown"]
        law = law_of(self.model["profiles"])
        self.base_ms = UNKNOWN_MS * self.bias
        if law is not None:
            self.base_ms = max(total(a * b for a, b in zip(features(self.gpus, self.batch, self.samples), law)), 1.0) * self.bias
        self.stage = "to come"  # waits, then those of HOLDING, complete
        self.nodes, self.spread = [], False  # pairs of node and GPUs
        self.done_then, self.since, self.target = 0.0, 0.0, self.epochs  # epochs at the beginning of computing; where it stops
        self.due, self.order, self.end_v = math.inf, 0, None  # when its stage is over; the order of setting in motion; see Storage
        self.condemned_for = None
        self.starts, self.began, self.saving_since, self.after_preemption = 0, 0.0, 0.0, False
        self.served, self.computed, self.lost, self.preemptions, self.ended = 0.0, 0.0, 0.0, 0, None

    def holds(self):
        return self.stage in HOLDING

    def epoch_real(self):
        return self.epoch_ms * (self.slowdown if self.spread else 1.0)

    def done(self, now):
        return self.done_then + (now - self.since) / self.epoch_real() if self.stage == "computes" else self.done_then

    def whole(self, now):
        return math.floor(self.done(now) + 1e-9)

    def service(self, now):
        return self.served + (self.gpus * (now - self.began) if self.holds() else 0.0)

    def time_left(self, now):
        """What a scheduler predicts."""
        whole, e = self.whole(now), self.base_ms
        if whole >= self.declared_epochs:
            return 0.0
        if whole >= self.observe and self.counter_ms is not None:
            a, b = 1.0 / DATABASE_ERROR**2, 1.0 / COUNTER_ERROR**2
            e = (e * a + self.counter_ms * self.bias * b) / (a + b)
        if self.spread:
            e *= self.slowdown
        in_epoch = (self.done(now) - whole) * self.epoch_real() if self.stage == "computes" else 0.0
        return (self.declared_epochs - whole - 1) * e + max(e - in_epoch, 0.0)


class Storage:
    """All transfers run at the same rate: `v` is how much each would have got since there were none, `end_v` where one is through."""

    def __init__(self, workload):
        self.link, self.storage, self.jobs, self.v, self.then = workload["link_gbps"], workload["storage_gbps"], [], 0.0, 0.0

    def rate(self):
        return min(self.link, self.storage / len(self.jobs)) / 1000.0

    def change(self, now, job, size=None):
        """`job` begins to transfer `size`, or ends."""
        if self.jobs:
            self.v += (now - self.then) * self.rate()
        else:
            self.v = 0.0
        self.then = now
        if size is None:
            self.jobs.remove(job)
            job.end_v, job.due = None, math.inf
        else:
            self.jobs.append(job)
            job.end_v = self.v + size
        for other in self.jobs:
            other.due = now + max(other.end_v - self.v, 0.0) / self.rate()


class Node:
    def __init__(self, number, luck, workload):
        self.number, self.luck, self.mtbf, self.repair = number, luck, workload["mtbf_ms"], workload["repair_ms"]
        self.up, self.k, self.held = True, 0, []  # data held, the least recently used first
        self.due = math.inf if self.mtbf is None else self.lasts()

    def lasts(self):
        return -math.log(1.0 - unit(hash_words(self.luck, self.number, self.k, 0))) * self.mtbf

    def change(self):
        self.up = not self.up
        self.k += self.up
        self.due += self.lasts() if self.up else self.repair


class Episode:
    """A workload under one policy, from moment to moment."""

    def __init__(self, workload, seed, policy):
        self.workload, self.policy, self.is_free = workload, policy, workload["free"]
        self.luck = hash_words(seed, START_LUCK)
        self.jobs = [Job(i, job, workload) for i, job in enumerate(workload["jobs"])]
        self.nodes = [Node(i, hash_words(seed, NODE_LUCK), workload) for i in range(workload["nodes"])]
        self.storage, self.now, self.order, self.asked = Storage(workload), -math.inf, 0, 0
        self.claims, self.to_begin, self.passed = [], [], []  # the last two of this moment
        self.changes, self.counts = [], collections.Counter()

    # What follows from the state

    def there(self):
        return [j for j in self.jobs if j.stage not in ("to come", "complete")]

    def waiting(self):
        """Who may be asked about."""
        aside = self.claims + self.to_begin + self.passed
        return [j for j in self.jobs if j.stage == "waits" and j not in aside]

    def can_be_condemned(self):
        stages = LOADING + ("computes",) if self.is_free else ("computes",)
        return [j for j in self.jobs if j.stage in stages and j.condemned_for is None]

    def condemned_for(self, claim):
        return [j for j in self.jobs if j.condemned_for is claim]

    def free_on(self, node):
        if not node.up:
            return 0
        free = self.workload["node_gpus"] - sum(g for j in self.jobs for n, g in j.nodes if n == node.number)
        assert free >= 0, "a GPU is used twice"
        return free

    def free(self):
        """Without those of jobs that are to begin at the end of the moment."""
        return sum(self.free_on(n) for n in self.nodes) - gpus_of(self.to_begin)

    def shares(self):
        left, shares = self.free(), []
        for claim in self.claims:
            shares.append(min(claim.gpus, left))
            left -= shares[-1]
        return shares

    def unreserved(self):
        return self.free() - sum(self.shares())

    # Stages

    def record(self, job, what, **more):
        self.changes.append({"time_ms": self.now, "job": job.number, "what": what, **more})

    def set_in_motion(self, job, stage):
        job.stage, job.order = stage, self.order
        self.order += 1

    def stage_of(self, job, stage, ms):
        self.set_in_motion(job, stage)
        job.due = self.now + ms
        if ms == 0.0:
            self.finish(job)

    def transfer(self, job, stage, size):
        self.set_in_motion(job, stage)
        if size == 0.0:
            self.finish(job)
        else:
            self.storage.change(self.now, job, size)

    def place(self, job):
        """The nodes of a job and how many GPUs it takes of each."""
        free, need, taken = {n: self.free_on(n) for n in self.nodes}, job.gpus, []
        packed = self.workload["placement"] == "packed"
        enough = [n for n in self.nodes if free[n] >= need]
        if packed and enough:
            return [[min(enough, key=lambda n: (job not in n.held, free[n], n.number)).number, need]]
        while need > 0:
            node = min(self.nodes, key=lambda n: (-free[n], packed and job not in n.held, n.number))
            take = min(need, free[node])
            taken.append([node.number, take])
            need, free[node] = need - take, 0
        return sorted(taken)

    def begin(self, job):
        job.nodes = self.place(job)
        job.spread = len(job.nodes) > -(-job.gpus // self.workload["node_gpus"])
        self.counts["spread"] += job.spread
        job.began, job.noise = self.now, math.exp(self.workload["start_noise"] * normal(self.luck, job.number, job.starts))
        job.starts += 1
        self.record(job, "begins", nodes=job.nodes)
        self.stage_of(job, "container", job.model["container_ms"] * job.noise)

    def to_load(self, job):
        if self.is_free:
            return 0.0
        hold = sum(job in self.nodes[n].held for n, _ in job.nodes)
        self.counts["cache hits"] += hold > 0
        size = job.data_gb * (len(job.nodes) - hold) / len(job.nodes)
        return size + job.checkpoint_gb if job.whole(self.now) >= 1 else size

    def cache(self, job):
        sizes = {j: j.data_gb for j in self.jobs}
        for node in (self.nodes[n] for n, _ in job.nodes):
            node.held = [j for j in node.held if j is not job] + [job]
            while total(sizes[j] for j in node.held) > self.workload["cache_gb"]:
                node.held.pop(0)
                self.counts["forgotten"] += 1

    def finish(self, job):
        """The stage of a job is over."""
        if job.stage == "container":
            job.due = math.inf
            self.transfer(job, "loads", self.to_load(job))
        elif job.stage == "loads":
            if job.end_v is not None:
                self.storage.change(self.now, job)
            self.cache(job)
            self.stage_of(job, "warms", job.model["warm_ms"] * job.noise)
        elif job.stage == "warms":
            self.end_loading(job)
            job.since = self.now
            self.set_in_motion(job, "computes")
            self.compute_to(job, job.epochs)
            self.record(job, "computes")
        elif job.stage == "computes":
            self.stop(job, float(job.target))
            if job.target == job.epochs:
                self.release(job, "complete")
                job.ended = self.now
                for node in self.nodes:
                    node.held = [j for j in node.held if j is not job]
                self.record(job, "ends")
            else:
                job.saving_since, job.preemptions, job.after_preemption = self.now, job.preemptions + 1, True
                self.record(job, "saves")
                self.transfer(job, "saves", job.checkpoint_gb)
        elif job.stage == "saves":
            self.end_saving(job)
            self.release(job, "waits")
            self.record(job, "suspended")

    def compute_to(self, job, epochs):
        job.target, job.due = epochs, job.since + (epochs - job.done_then) * job.epoch_real()

    def stop(self, job, done):
        job.done_then, job.computed = done, job.computed + (self.now - job.since)
        job.due = math.inf

    def end_loading(self, job):
        if job.after_preemption:
            job.lost += job.gpus * (self.now - job.began)
        job.after_preemption = False

    def end_saving(self, job):
        if job.end_v is not None:
            self.storage.change(self.now, job)
        job.lost += job.gpus * (self.now - job.saving_since)

    def release(self, job, stage):
        job.served = job.service(self.now)
        job.stage, job.nodes, job.spread, job.condemned_for, job.due = stage, [], False, None, math.inf

    def interrupt(self, job, done):
        """It loses its GPUs in whatever stage it is."""
        if job.stage in LOADING:
            if job.end_v is not None:
                self.storage.change(self.now, job)
            self.end_loading(job)
        elif job.stage == "saves":
            self.end_saving(job)
        else:
            self.stop(job, done)
        job.after_preemption = False
        self.release(job, "waits")

    def fail(self, node):
        node.held = []
        for job in self.jobs:
            if any(n == node.number for n, _ in job.nodes):
                self.counts["failures"] += 1
                self.counts["failures while saving"] += job.stage == "saves"
                self.counts["failures of condemned"] += job.condemned_for is not None
                self.interrupt(job, float(job.whole(self.now)))
                self.record(job, "failed")

    # Condemning

    def condemn(self, job, claim):
        self.counts["condemned"] += 1
        if self.is_free:
            self.interrupt(job, job.done(self.now))
            job.preemptions, job.after_preemption = job.preemptions + 1, True
            self.passed.append(job)
            self.record(job, "suspended")
        else:
            job.condemned_for = claim
            self.compute_to(job, job.whole(self.now) + 1)
            self.set_in_motion(job, "computes")

    def pardon(self, job):
        self.counts["pardons"] += 1
        job.condemned_for = None
        self.compute_to(job, job.epochs)

    def settle(self):
        """Claims take their shares, and who can be done without is pardoned."""
        for claim, share in zip(list(self.claims), self.shares()):
            condemned = self.condemned_for(claim)
            if share == claim.gpus:
                self.claims.remove(claim)
                self.to_begin.append(claim)
                for job in condemned:
                    if job.stage == "computes":
                        self.pardon(job)
                    job.condemned_for = None
                continue
            while True:
                condemned = self.condemned_for(claim)
                spare = share + gpus_of(condemned) - claim.gpus
                without = [j for j in condemned if j.stage == "computes" and j.gpus <= spare]
                if not without:
                    break
                self.pardon(max(without, key=lambda j: (j.gpus, j.number)))

    # Moments

    def next_time(self):
        check = self.workload["check_ms"]
        waiting = [j for j in self.jobs if j.stage == "waits" and j not in self.claims]
        checks = bool(self.there()) if self.is_free else bool(waiting) and any(j.holds() for j in self.jobs)
        times = [(math.floor(self.now / check) + 1) * check] if checks else []
        times += [j.arrival_ms for j in self.jobs if j.stage == "to come"] + [j.due for j in self.jobs] + [n.due for n in self.nodes]
        return min(times)

    def run(self):
        while any(j.stage != "complete" for j in self.jobs):
            now = self.next_time()
            assert self.now < now < math.inf, "the cluster is stranded"
            self.now, self.passed = now, []
            for job in self.jobs:
                if job.stage == "to come" and job.arrival_ms == now:
                    job.stage = "waits"
            for job in sorted((j for j in self.jobs if j.due == now), key=lambda j: j.order):
                self.finish(job)
            for node in self.nodes:
                if node.due == now:
                    node.change()
                    if not node.up:
                        self.fail(node)
            self.settle()
            self.questions()
            for job in self.to_begin:
                self.begin(job)
            self.to_begin = []
        return {"changes": self.changes, **self.figures()}

    def figures(self):
        n, spans = len(self.jobs), [j.ended - j.arrival_ms for j in self.jobs]
        waiting = sorted(span - j.computed for span, j in zip(spans, self.jobs))
        return {
            "mean_waiting_ms": total(waiting) / n,
            "mean_completion_ms": total(spans) / n,
            "makespan_ms": max(j.ended for j in self.jobs) - min(j.arrival_ms for j in self.jobs),
            "p99_waiting_ms": waiting[-(-99 * n // 100) - 1],
            "gpu_time_lost_ms": total(j.lost for j in self.jobs) / n,
            "preemptions": sum(j.preemptions for j in self.jobs) / n,
        }

    def questions(self):
        while True:
            free, unreserved = self.free(), self.unreserved()
            most = max(free, unreserved + gpus_of(self.can_be_condemned()))
            can_be_served = [j for j in self.waiting() if j.gpus <= most]
            if not can_be_served and not (self.is_free and self.there()):
                return
            job = self.who_is_served(can_be_served, unreserved)
            if job is None:
                return
            if job.gpus <= free:
                self.counts["lent"] += job.gpus > unreserved
                self.to_begin.append(job)
            else:
                self.open_claim(job, job.gpus - unreserved)

    def open_claim(self, claim, need):
        condemned = []
        self.claims.append(claim)
        while gpus_of(condemned) < need:
            candidates = self.can_be_condemned()
            enough = gpus_of(condemned) + gpus_of(candidates) >= need
            job = self.who_is_condemned(candidates, claim) if enough else None
            if job is None:
                self.counts["dropped"] += 1
                self.claims.remove(claim)
                self.passed.append(claim)
                for job in self.condemned_for(claim):
                    self.pardon(job)
                return
            self.condemn(job, claim)
            condemned.append(job)
        self.settle()
        self.counts["claims"] += 1
        self.counts["claims for several"] += len(self.condemned_for(claim)) > 1

    # Policies

    def key(self, job):
        """Who is served first has the least one."""
        if self.policy in ("sjf", "srtf"):
            return job.time_left(self.now)
        if self.policy == "gittins":
            return -gittins_index(self.workload["earlier_gpu_ms"], job.service(self.now))
        return int(job.service(self.now) >= 1000.0 * float(self.policy.removeprefix("las,limit=")))

    def at_random(self, candidates):
        self.asked += 1
        return (candidates + [None])[hash_words(ANSWERS, self.asked - 1) % (len(candidates) + 1)]

    def who_is_served(self, can_be_served, unreserved):
        if self.policy == "random":
            job = self.at_random(can_be_served)
            if job is None and can_be_served and not any(j.holds() for j in self.jobs):
                return can_be_served[0]
            return job
        waiting = self.waiting()
        if self.policy == "fifo":
            return waiting[0] if waiting and waiting[0].gpus <= unreserved else None
        for job in sorted(waiting, key=lambda j: (self.key(j), j.number)):
            if job.gpus <= unreserved or self.policy != "sjf" and job.gpus - unreserved <= gpus_of(self.behind(job)):
                return job
        return None

    def behind(self, job):
        """Those that can be condemned for a job."""
        return [j for j in self.can_be_condemned() if self.key(j) > self.key(job)]

    def who_is_condemned(self, candidates, claim):
        if self.policy == "random":
            return self.at_random(candidates)
        return max(self.behind(claim), key=lambda j: (self.key(j), j.number), default=None)


def gpus_of(jobs):
    return sum(j.gpus for j in jobs)


# Cases


def random_model(rng, name, profiles, node_gpus, empty):
    """A model, and the law from which its jobs and its profiles are drawn."""
    law = (rng.uniform(1000, 9000), rng.uniform(0.3, 2.0), rng.uniform(3, 30), rng.uniform(0.0, 0.3))
    model = {"name": name, "container_ms": round(rng.uniform(4000, 15000), 2), "warm_ms": round(rng.uniform(1000, 9000), 2), "profiles": []}
    if empty:
        model.update(container_ms=0.0, warm_ms=0.0)
    for _ in range(profiles):
        size = {"gpus": rng.choice([1, 2, node_gpus]), "batch": rng.choice([16, 32, 64, 128]), "samples": rng.randint(8000, 60000)}
        model["profiles"].append({**size, "epoch_ms": random_epoch(rng, law, size)})
    return model, law


def random_epoch(rng, law, size):
    time = total(a * b for a, b in zip(features(size["gpus"], size["batch"], size["samples"]), law)) * rng.lognormvariate(0.0, 0.08)
    return round(min(max(time, 10_000 * rng.uniform(1.0, 1.5)), 180_000 * rng.uniform(0.8, 1.0)), 3)


def random_job(rng, model, law, nodes, node_gpus):
    most = nodes * node_gpus
    gpus = rng.choice([1, 1, 2, 2, 3, node_gpus // 2, node_gpus, node_gpus + 1, 2 * node_gpus, most, rng.randint(1, most)])
    job = {"model": model, "arrival_ms": 0.0, "gpus": min(gpus, most), "samples": rng.randint(8000, 60000), "batch": rng.choice([16, 32, 64, 128])}
    epochs = min(30, max(2, round(math.exp(rng.uniform(math.log(2), math.log(32))))))
    declared = epochs if rng.random() < 0.7 else max(1, round(epochs * rng.uniform(0.5, 1.8)))
    epoch_ms = random_epoch(rng, law, job)
    counter = None if rng.random() < 0.3 else round(epoch_ms * rng.gauss(1.0, 0.03), 3)
    bias = 1.0 if rng.random() < 0.75 else round(rng.uniform(0.6, 1.7), 3)
    job.update(epochs=epochs, declared_epochs=declared, epoch_ms=epoch_ms, counter_ms=counter, bias=bias)
    job.update(data_gb=round(rng.uniform(2, 60), 3), checkpoint_gb=round(rng.uniform(0.5, 20), 3))
    return job


def random_case(number):
    rng = random.Random(number)
    is_free, fails = number % 5 == 3, number % 3 == 1
    nodes, node_gpus = rng.randint(1 + (number % 4 > 0), 4), rng.choice([2, 4, 8])
    if number % 4 == 2:
        node_gpus = rng.choice([4, 8])
    workload = {
        "nodes": nodes,
        "node_gpus": node_gpus,
        "storage_gbps": round(rng.uniform(0.4, 2.5), 3),
        "link_gbps": round(rng.uniform(0.3, 1.2), 3),
        "cache_gb": round(rng.uniform(30, 130), 2),
        "spread_slowdown": round(rng.uniform(0.05, 0.5), 3),
        "check_ms": 1000.0 * rng.choice([20, 30, 45, 60, 90, 120]),
        "observe": rng.randint(1, 4),
        "start_noise": 0.0 if number % 7 == 5 else round(rng.uniform(0.02, 0.3), 3),
        "placement": "most-free" if number % 4 == 2 or number % 20 in (7, 8) else "packed",
        "free": is_free,
        "mtbf_ms": None,
        "repair_ms": round(rng.uniform(60_000, 900_000), 2),
    }
    names = "abc"[: rng.randint(1, 3)]
    models, laws = [], {}
    for i, name in enumerate(names):
        profiles = 0 if number % 6 == 5 and i == 0 else rng.choice([1, 2, 4, 4, 4, 6])
        model, laws[name] = random_model(rng, name, profiles, node_gpus, number == 13 and i == 0)
        models.append(model)
    count = rng.randint(6, 8 if is_free else 14)  # `random` is long-winded where preemption is free
    jobs = [random_job(rng, m, laws[m], nodes, node_gpus) for m in rng.choices(names, k=count)]
    services = [j["gpus"] * j["epochs"] * j["epoch_ms"] for j in jobs]
    length = total(services) / (nodes * node_gpus)  # of the episode, were no GPU ever idle
    if fails:
        workload["mtbf_ms"] = round(length * rng.uniform(0.6, 2.0), 2)
    arrival, gap = 0.0, length / len(jobs) * rng.uniform(0.1, 0.8)
    for job in jobs:
        if rng.random() < 0.85:  # otherwise together with the job before
            arrival = round(arrival + rng.expovariate(1.0 / gap), 3)
        job["arrival_ms"] = arrival
    earlier = [rng.choice(services) * rng.lognormvariate(0.0, 0.7) for _ in range(0 if number == 9 else rng.randint(5, 30))]
    workload.update(earlier_gpu_ms=sorted(round(s, 2) for s in earlier), models=models, jobs=jobs)
    limit = int(min(max(sorted(services)[len(jobs) // 2] / 1000.0 * rng.uniform(0.2, 0.7), 300), 3000))
    seed, counts, results = rng.randrange(2**32), collections.Counter(), {}
    for policy in ("fifo", "sjf", "srtf", f"las,limit={limit}", "gittins", "random"):
        episode = Episode(workload, seed, policy)
        results[policy] = episode.run()
        counts.update(episode.counts)
        counts["preemptions"] += sum(j.preemptions for j in episode.jobs)
    return {"seed": seed, "workload": as_file(workload), "policies": results}, counts


def as_file(workload):
    """The workload as `json:FILE` takes it; of earlier jobs only the services count."""
    cluster = {k: v for k, v in workload.items() if k not in ("jobs", "earlier_gpu_ms")}
    cluster["earlier"] = [{"gpus": 1, "epochs": 1, "epoch_ms": s, "ran_ms": s} for s in workload["earlier_gpu_ms"]]
    return {"cluster": cluster, "jobs": workload["jobs"]}


def text_of(value, depth=0):
    """JSON with what has no room on a line broken into parts."""
    line = json.dumps(value, separators=(",", ":"))
    if len(line) <= 200 or not isinstance(value, (dict, list)):
        return line
    parts = [text_of(v, depth + 1) for v in (value.values() if isinstance(value, dict) else value)]
    if isinstance(value, dict):
        parts = [f"{json.dumps(key)}:{part}" for key, part in zip(value, parts)]
    begin, end = "{}" if isinstance(value, dict) else "[]"
    return begin + "\n" + ",\n".join(parts) + "\n" + end


def main():
    root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    folder = os.path.join(root, "tests", "preemption_reference")
    parser.add_argument("-o", "--output", default=folder, metavar="DIR", help="folder of the cases, made if it is missing")
    args = parser.parse_args()
    os.makedirs(args.output, exist_ok=True)
    counts = collections.Counter()
    for number in range(CASES):
        case, occurred = random_case(number)
        counts.update(occurred)
        with open(os.path.join(args.output, f"case{number:02}.json"), "w", encoding="utf-8", newline="\n") as file:
            file.write(text_of(case) + "\n")
    print(", ".join(f"{what} {count}" for what, count in sorted(counts.items())))


if __name__ == "__main__":
    main()
