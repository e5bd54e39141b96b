#!/usr/bin/env python3
"""A second model of the scenario `serving`, written from docs/serving.md alone, and random cases that it has worked out.

    scripts/serving_reference.py

writes case00.json ... case19.json to tests/serving_reference and prints how often what is delicate occurred. Each case has a workload and for
every policy the batches in the order in which they began, the refused tasks and the figures. The cases are drawn from the number of the case:
a second run writes the same bytes. Standard library alone; of the sibling script only what has nothing to do with its scenario.

The model goes from moment to moment and is written for reading: what can be worked out anew is not kept. Times are in ms.
The policy `random` is for tests only: it takes every kind of answer that the rules allow.

In the even cases all times are small multiples of powers of 2, so that arrivals, ends and timeouts coincide exactly. Wherever else a decision
hangs on a comparison of times, the two must differ by more than rounding can do; a case where they do not is not written (see `clear`).
"""

import argparse
import collections
import itertools
import math
import os
import random

from preemption_reference import hash_words, text_of, total

CASES = 20
ANSWERS, RANDOM_WAIT_MS = 7, 0.75
POLICIES = ["tf-serving", "tf-serving,max=3,timeout=4", "triton", "triton,preferred=2/4,delay=3", "clipper", "lazy"]
POLICIES += ["dybatch", "dybatch,fair=off,age=2", "dybatch,by-size=off", "best-batch", "random"]


# Time of a batch


def along(xs, ys, x):
    """Linear between two measured ones; below the least as there; above the most along the last two, but not below the last."""
    if x <= xs[0] or len(xs) == 1:
        return ys[0]
    i = next((i for i in range(1, len(xs)) if x <= xs[i]), len(xs) - 1)
    y = ys[i - 1] + (ys[i] - ys[i - 1]) * (x - xs[i - 1]) / (xs[i] - xs[i - 1])
    return y if x <= xs[-1] else max(y, ys[-1])


class Application:
    def __init__(self, number, application, half_life=None):
        self.number, self.half_life, self.shapes, self.most_units = number, half_life, None, math.inf
        self.__dict__.update(application)
        ((self.kind, parameters),) = self.law.items()
        self.__dict__.update(parameters)
        self.waiting, self.begun = [], 0  # in order of arrival; batches
        self.had, self.had_then = 0.0, 0.0  # the accelerator time as of `had_then`

    def padded(self, n):
        return next(s for s in self.shapes if s >= n) if self.shapes else n

    def time(self, sizes):
        n, padded, largest = len(sizes), self.padded(len(sizes)), max(sizes)
        if self.kind == "padded":
            return self.alpha_ms + self.beta_ms * (padded * largest)
        if self.kind == "dynamic":
            return self.alpha_ms + self.beta_ms * sum(sizes) / min(n, self.parallel)
        return along(self.batches, [along(self.sizes, row, largest) for row in self.ms], padded)

    def units(self, sizes):
        return sum(sizes) if self.kind == "dynamic" else self.padded(len(sizes)) * max(sizes)

    def predicted(self, tasks):
        return self.time([t.declared_size for t in tasks])

    def holds(self, tasks):
        return len(tasks) <= self.most and self.units([t.declared_size for t in tasks]) <= self.most_units

    def had_at(self, now):
        return self.had * 0.5 ** ((now - self.had_then) / self.half_life)

    def has(self, now, time):
        self.had, self.had_then = self.had_at(now) + time, now


class Task:
    def __init__(self, number, task, applications):
        self.__dict__.update(task)
        self.number, self.of = number, applications[task["application"]]
        self.alone = self.of.time([self.size])
        self.refused, self.ended = False, None


class Batch:
    def __init__(self, of, tasks, accelerator, start):
        self.of, self.tasks, self.accelerator, self.start = of, tasks, accelerator, start
        self.predicted, self.takes = of.predicted(tasks), of.time([t.size for t in tasks])
        self.end, self.runs = start + self.takes, True

    def as_file(self):
        numbers = {"accelerator": self.accelerator, "application": self.of.number, "tasks": [t.number for t in self.tasks]}
        return {**numbers, "start_ms": self.start, "end_ms": self.end}


# Episode


class Episode:
    def __init__(self, workload, policy, exact):
        server = workload["server"]
        self.exact, self.horizon = exact, workload["horizon_ms"]
        self.applications = [Application(i, a, server["half_life_ms"]) for i, a in enumerate(server["applications"])]
        self.tasks = [Task(i, t, self.applications) for i, t in enumerate(workload["tasks"])]
        self.accelerators, self.batches, self.to_come = server["accelerators"], [], list(self.tasks)
        self.now, self.until, self.cost, self.counts = -math.inf, None, 0.0, collections.Counter()
        self.policy, *options = policy.split(",")
        self.options = dict(option.split("=") for option in options)
        self.last = -1  # the application whose batch began last
        self.up_to = 0  # tasks that the batch being formed is to have
        self.numbers = [1.0] * len(self.applications)  # of clipper
        self.asked = 0  # questions before, for random

    def clear(self, a, b, exact=True):
        """Whether a <= b, where rounding does not decide that: equal they may be only where times are exact."""
        self.counts["comparisons of equal times"] += a == b != 0.0
        assert a == b and (exact and self.exact or a == 0.0) or abs(a - b) > 1e-9 * max(abs(a), abs(b)), f"a near tie: {a} {b}"
        return a <= b

    # Moments

    def running(self):
        return [b for b in self.batches if b.runs]

    def idle(self):
        return [i for i in range(self.accelerators) if all(b.accelerator != i for b in self.running())]

    def with_waiting(self):
        return [a for a in self.applications if a.waiting]

    def moments(self):
        """Pairs of a time and what happens then."""
        result = [(t.arrival_ms, "arrival") for t in self.to_come[:1]] + [(b.end, "end") for b in self.running()]
        if self.idle() and self.with_waiting():
            times = [(a.waiting[0].arrival_ms + a.timeout_ms, "timeout") for a in self.with_waiting()]
            times += [(self.until, "until")] if self.until is not None else []
            result += [(time, what) for time, what in times if time > self.now]
        return result

    def run(self):
        while moments := self.moments():
            now = min(time for time, _ in moments)
            assert all(time == now or time > now + 1e-9 for time, _ in moments) and now > self.now + 1e-9, "moments nearly at once"
            there = [t for t in self.tasks if t not in self.to_come and not t.refused and t.ended is None]
            self.cost += total((now - self.now) / t.alone for t in there)
            self.now = now
            self.count_moment([what for time, what in moments if time == now])
            for batch in [b for b in self.running() if b.end == now]:
                self.end(batch)
            while self.to_come and self.to_come[0].arrival_ms == now:
                self.arrive(self.to_come.pop(0))
            begun = len(self.batches)
            self.questions()
            self.counts["moments at which several batches began"] += len(self.batches) > begun + 1
        assert all(t.refused or t.ended is not None for t in self.tasks)
        return self.results()

    def count_moment(self, kinds):
        for a, b in itertools.combinations(("arrival", "end", "timeout", "until"), 2):
            self.counts[f"moments of {a} and {b}"] += a in kinds and b in kinds
        self.counts["moments of several ends"] += kinds.count("end") > 1
        self.counts["moments of several arrivals"] += sum(t.arrival_ms == self.now for t in self.to_come) > 1
        self.counts["timeouts alone at which was asked"] += set(kinds) == {"timeout"}
        self.counts["untils alone at which was asked"] += set(kinds) == {"until"}

    def arrive(self, task):
        task.refused, task.begun_before = len(task.of.waiting) >= task.of.queue, task.of.begun
        if not task.refused:
            task.of.waiting.append(task)
        self.counts["refused"] += task.refused

    def begin(self, of, tasks):
        batch = Batch(of, tasks, self.idle()[0], self.now)
        self.count_batch(batch)
        self.batches.append(batch)
        of.has(self.now, batch.predicted)
        of.begun, self.last = of.begun + 1, of.number

    def count_batch(self, batch):
        of, n, largest = batch.of, batch.of.padded(len(batch.tasks)), max(t.size for t in batch.tasks)
        self.counts[f"batches of the law {of.kind}"] += 1
        self.counts["begun beside another"] += bool(self.running())
        self.counts["padded by shapes"] += n > len(batch.tasks)
        self.counts["ran longer than predicted"] += batch.takes > batch.predicted
        self.counts["ran shorter than predicted"] += batch.takes < batch.predicted
        self.counts["ran beyond the horizon"] += batch.start < self.horizon < batch.end
        self.counts["ended at the horizon"] += self.horizon == batch.end
        if of.kind == "measured":
            self.counts["below the least measured"] += n < of.batches[0] or largest < of.sizes[0]
            self.counts["above the most measured"] += n > of.batches[-1] or largest > of.sizes[-1]

    def end(self, batch):
        batch.runs = False
        batch.of.has(self.now, batch.takes - batch.predicted)
        self.counts["had less than nothing"] += batch.of.had < 0.0
        for task in batch.tasks:
            task.ended = self.now

    # Questions

    def questions(self):
        self.until = None
        while self.idle() and self.with_waiting():
            of = getattr(self, "application_" + self.policy.replace("-", "_"))(self.with_waiting())
            self.asked += 1
            if of is None:
                self.counts["waits with a time" if self.until is not None else "waits without a time"] += 1
                self.counts["waits beside a batch"] += bool(self.running())
                return
            self.form(of)

    def form(self, of):
        batch = []
        while candidates := self.candidates(of, batch):
            task = self.which_task(of, batch, candidates)
            self.asked += 1
            if task is None:
                self.counts["closed by the policy"] += 1
                break
            assert task in candidates
            of.waiting.remove(task)
            batch.append(task)
        else:
            reason = "nobody waits" if not of.waiting else "most" if len(batch) == of.most else "most_units"
            self.counts[f"closed without a question: {reason}"] += 1
        self.learn(of, batch)
        self.begin(of, batch)

    def candidates(self, of, batch):
        """The oldest waiting task of each size with which the batch holds, by size."""
        oldest = {}
        for task in of.waiting:
            oldest.setdefault(task.declared_size, task)
        return [oldest[size] for size in sorted(oldest) if of.holds(batch + [oldest[size]])]

    # Policies: of applications None is to wait, until `self.until` if that is not None; of tasks None is to close.

    def which_task(self, of, batch, candidates):
        if self.policy == "random":
            return self.at_random(candidates + ([None] if batch else []))
        if self.policy == "best-batch":
            _, joining = self.best(of, batch)
            return joining[0] if joining else None
        if self.policy == "dybatch" and self.options.get("by-size") != "off" and batch:
            return self.nearest(of, batch)
        oldest = of.waiting[0]
        if oldest not in candidates:
            self.counts["closed as the oldest did not fit"] += 1
            return None
        if self.policy == "lazy":
            return None if batch and self.makes_late(of, batch, oldest) else oldest
        return oldest if self.policy == "dybatch" or len(batch) < self.up_to else None

    def round(self):
        """Applications with waiting tasks."""
        return [a for a in self.applications[self.last + 1 :] + self.applications[: self.last + 1] if a.waiting]

    def has_waited(self, task, time):
        due = task.arrival_ms + time
        assert due == self.now or abs(due - self.now) > 1e-9
        return due <= self.now

    def application_tf_serving(self, waiting):
        timeout, most = float(self.options.get("timeout", 0.0)), float(self.options.get("max", math.inf))
        for a in self.round():
            self.up_to = min(most, a.most)
            if len(a.waiting) >= self.up_to or self.has_waited(a.waiting[0], timeout):
                return a
        self.until = min(a.waiting[0].arrival_ms + timeout for a in waiting)
        return None

    def application_triton(self, waiting):
        delay = float(self.options.get("delay", 0.0))
        preferred = [int(n) for n in self.options["preferred"].split("/")] if "preferred" in self.options else []
        least = {a.number: min(preferred + [a.most]) for a in waiting}
        ready = [a for a in waiting if len(a.waiting) >= least[a.number] or self.has_waited(a.waiting[0], delay)]
        if not ready:
            self.until = min(a.waiting[0].arrival_ms + delay for a in waiting)
            return None
        a = min(ready, key=lambda a: a.waiting[0].number)
        self.counts["triton: equal arrivals"] += [b.waiting[0].arrival_ms for b in ready].count(a.waiting[0].arrival_ms) > 1
        if len(a.waiting) >= a.most:
            kind, self.up_to = "most", a.most
        elif had := [n for n in preferred if n <= len(a.waiting)]:
            kind, self.up_to = "preferred", max(had)
            self.counts["triton: preferred number that does not hold"] += not a.holds(a.waiting[: max(had)])
        else:
            kind, self.up_to = "all", len(a.waiting)
        self.counts[f"triton: {kind}"] += 1
        return a

    def application_clipper(self, _):
        a = self.round()[0]
        self.up_to = math.floor(self.numbers[a.number])
        return a

    def learn(self, of, batch):
        """Clipper, when a batch is formed."""
        number = self.numbers[of.number]
        if self.policy != "clipper" or len(batch) < math.floor(number):
            return
        within = self.clear(of.predicted(batch), of.objective_ms)
        self.numbers[of.number] = min(max(number + 1.0 if within else number * 0.9, 1.0), float(of.most))
        self.counts["clipper: grows" if within else "clipper: shrinks"] += 1

    def application_lazy(self, waiting):
        def slack(a):
            return a.waiting[0].arrival_ms + a.objective_ms - a.predicted(a.waiting[:1])

        best = waiting[0]
        for a in waiting[1:]:
            self.counts["lazy: equal slacks"] += slack(a) == slack(best)
            if not self.clear(slack(best), slack(a)):
                best = a
        return best

    def makes_late(self, of, batch, task):
        without, with_it = self.now + of.predicted(batch), self.now + of.predicted(batch + [task])
        dues = [t.arrival_ms + of.objective_ms for t in batch]
        late = any(self.clear(without, due) and not self.clear(with_it, due) for due in dues)
        self.counts["lazy: closed as a task would be late"] += late
        return late

    def application_dybatch(self, _):
        best, *others = self.round()
        for a in others if self.options.get("fair") != "off" else []:
            x, y = (b.had_at(self.now) / b.weight for b in (best, a))
            self.counts["dybatch: had equally little"] += x == y
            if not self.clear(x, y, False):
                best = a
        return best

    def nearest(self, of, batch):
        oldest, largest = of.waiting[0], max(t.declared_size for t in batch)
        if "age" in self.options and of.begun - oldest.begun_before >= int(self.options["age"]) and of.holds(batch + [oldest]):
            self.counts["dybatch: joined by age"] += 1
            return oldest
        sizes, may = [t.declared_size for t in of.waiting], []
        for size in (max((s for s in sizes if s <= largest), default=None), min((s for s in sizes if s > largest), default=None)):
            task = next((t for t in of.waiting if t.declared_size == size), None)
            if task is not None and not of.holds(batch + [task]):
                smaller = [t for t in of.waiting if t.declared_size < size <= largest]
                self.counts["dybatch: one that does not fit though a smaller one would"] += any(of.holds(batch + [t]) for t in smaller)
            elif task is not None and self.may_join(of, batch, task):
                may.append(task)
        near = sorted((abs(t.declared_size - largest), t.declared_size, t.number) for t in may)
        for distance, size, number in near[:1]:
            self.counts["dybatch: equally near"] += len(near) == 2 and near[1][0] == distance
            self.counts["dybatch: joins " + ("smaller" if size < largest else "larger" if size > largest else "as large")] += 1
            return self.tasks[number]
        return None

    def may_join(self, of, batch, task):
        n, without, with_it = len(batch), of.predicted(batch), of.predicted(batch + [task])
        better, falls = self.clear(with_it, without + of.predicted([task])), self.clear(with_it / (n + 1), without / n)
        self.counts["dybatch: somebody worse off"] += not better
        self.counts["dybatch: time per task rises"] += not falls
        self.counts["dybatch: worse off though the time per task does not rise"] += falls and not better
        return better and falls

    def application_best_batch(self, waiting):
        best, *others = waiting
        for a in others:
            if self.more_merit(self.best(a, [])[0], self.best(best, [])[0]):
                best = a
        return best

    def best(self, of, batch):
        """The most merit that a batch can have, and the tasks that join it for that."""
        sizes = sorted({t.declared_size for t in of.waiting})
        found = [(self.merit(of, batch), [])] if batch else []
        for number in range(len(sizes)):
            joining = []
            for size in reversed(sizes[: number + 1]):
                alike = [t for t in of.waiting if t.declared_size == size]
                fit = next(n for n in range(len(alike), -1, -1) if of.holds(batch + joining + alike[:n]))
                if fit == 0:
                    break
                joining = joining + alike[:fit]
                found.append((self.merit(of, batch + joining), joining))
                self.counts["best-batch: of several sizes"] += len({t.declared_size for t in joining}) > 1
                if fit < len(alike):
                    self.counts["best-batch: no room for all of a size"] += 1
                    break
        best, *others = found
        for other in others:
            if self.more_merit(other[0], best[0]):
                best = other
        self.counts["best-batch: not the oldest"] += of.waiting[0] not in batch + best[1]
        self.counts["best-batch: as it is"] += not best[1]
        return best

    def more_merit(self, a, b):
        """Whether a > b, where what differs by rounding alone is equal."""
        self.counts["best-batch: as much merit"] += abs(a - b) <= 1e-14 * b
        assert abs(a - b) <= 1e-14 * b or abs(a - b) > 1e-9 * b, f"a near tie: {a} {b}"
        return a > b * (1.0 + 1e-12)

    def merit(self, of, batch):
        time, sizes = of.predicted(batch), [t.declared_size for t in batch]
        efficiency = total(of.time([size] * of.most) / of.most for size in sizes) / time
        waited = self.now - min(t.arrival_ms for t in batch)
        return len(batch) / time * efficiency**4 * math.sqrt(1.0 + waited)

    def application_random(self, waiting):
        answer = self.at_random(waiting + [None])
        if answer is None and not self.running():
            return waiting[0]
        if answer is None and self.asked % 2 == 0:
            self.until = self.now + RANDOM_WAIT_MS
        return answer

    def at_random(self, answers):
        return answers[hash_words(ANSWERS, self.asked) % len(answers)]

    # Figures

    def results(self):
        answered = [t for t in self.tasks if not t.refused]
        n, latencies = len(answered), sorted(t.ended - t.arrival_ms for t in answered)
        slowdown = total((t.ended - t.arrival_ms) / t.alone for t in answered) / n
        assert abs(self.cost - slowdown * n) <= 1e-9 * self.cost
        sizes = [[t.size for t in b.tasks] for b in self.batches]
        in_time = [self.clear(t.ended - t.arrival_ms, t.of.objective_ms) for t in answered]
        return {
            "batches": [b.as_file() for b in self.batches],
            "refused": [t.number for t in self.tasks if t.refused],
            "slowdown": slowdown,
            "p95_ms": latencies[-(-95 * n // 100) - 1],
            "p99_ms": latencies[-(-99 * n // 100) - 1],
            "throughput": sum(t.ended <= self.horizon for t in answered) / (self.horizon / 1000.0),
            "fairness": self.fairness(),
            "waste": 1.0 - sum(map(sum, sizes)) / sum(b.of.units(s) for b, s in zip(self.batches, sizes)),
            "in_time": sum(in_time) / len(self.tasks),
            "refused_share": (len(self.tasks) - n) / len(self.tasks),
            "cost": slowdown * n,
        }

    def fairness(self):
        had = {t.of.number: 0.0 for t in self.tasks}
        for b in self.batches:
            had[b.of.number] += max(min(b.end, self.horizon) - b.start, 0.0) / b.of.weight
        squares = total(x * x for x in had.values())
        return total(had.values()) ** 2 / (len(had) * squares) if squares > 0.0 else 1.0


# Cases


def random_law(rng, kind, exact):
    if kind != "measured":
        alpha, beta = (float(rng.randint(1, 6)), rng.choice([0.25, 0.25, 0.5])) if exact else (rng.uniform(1, 6), rng.uniform(0.02, 0.5))
        law = {"alpha_ms": round(alpha, 6), "beta_ms": round(beta, 6)}
        if kind == "dynamic":
            law["parallel"] = rng.choice([1, 2] if exact else [1, 2, 3, 4, 6])
        return {kind: law}
    sizes = rng.choice([[1], [4, 8, 16], [2, 4, 8, 16], [8, 24]]) if exact else rng.choice([[1], [3, 7, 20], [1, 5, 12, 17], [6, 15]])
    batches = rng.choice([[1, 2, 4], [2, 4], [1, 2, 4, 8]]) if exact else rng.choice([[1, 3], [2, 5], [1, 2, 4, 7]])
    alpha, beta = rng.uniform(1, 4), rng.uniform(0.05, 0.3)
    table = [[(alpha + beta * n**0.8 * size) * rng.uniform(0.8, 1.2) for size in sizes] for n in batches]
    table = [[max(round(ms, 0 if exact else 6), 1.0) for ms in row] for row in table]
    return {kind: {"sizes": sizes, "batches": batches, "ms": table}}


def random_application(rng, name, kind, exact):
    most = rng.choice([1, 2, 3, 4, 5, 6, 6, 8, 8, 10])
    application = {
        "name": name,
        "law": random_law(rng, kind, exact),
        "weight": round(rng.uniform(0.5, 3.0), 3),
        "objective_ms": rng.choice([8.0, 16.0, 16.0, 24.0]) if exact else round(rng.uniform(5, 40), 6),
        "timeout_ms": round(rng.uniform(0.6, 6), 0 if exact else 6),
        "most": most,
        "queue": rng.choice([2, 4, 6, 8, 12, 20]),
    }
    if kind != "dynamic" and rng.random() < 0.5:
        shapes = {rng.randint(1, most) for _ in range(rng.randint(1, 3))} | {most + rng.choice([0, 0, 1, 2])}
        application["shapes"] = sorted(shapes)
    return application


def random_sizes(rng, application, few):
    if application["law"].get("measured", {}).get("sizes") == [1]:
        return 1, 1
    size = rng.choice([4, 8, 8, 12, 16, 16, 20, 24]) if few else min(max(round(rng.lognormvariate(2.2, 0.6)), 1), 40)
    if rng.random() < 0.5:
        return size, size
    return size, rng.choice([4, 8, 12, 16, 24]) if few else max(1, round(size * rng.uniform(0.5, 1.6)))


def random_case(number):
    rng = random.Random(number)
    exact = number % 2 == 0
    kinds = [("padded", "dynamic", "measured")[(number // 2 + i) % 3] for i in range(1 + number // 2 % 4)]
    applications = [random_application(rng, "abcd"[i], kind, exact) for i, kind in enumerate(kinds)]
    popularity = [rng.uniform(0.5, 2.0) for _ in kinds]
    if number in (6, 13):
        popularity[-1] = 0.0  # an application that no task is asked of
    drawn = []
    for _ in range(rng.randint(40, 100)):
        application = rng.choices(range(len(kinds)), popularity)[0]
        drawn.append((application, *random_sizes(rng, applications[application], number % 4 == 0 or exact and rng.random() < 0.9)))
    for i, application in enumerate(applications):
        model, sizes = Application(i, application), [t[1:] for t in drawn if t[0] == i]
        if sizes and rng.random() < 0.6:
            mean = total(declared for _, declared in sizes) / len(sizes)
            units = round(mean * application["most"] * rng.uniform(0.3, 1.0))
            application["most_units"] = max([units] + [model.units([size]) for pair in sizes for size in pair])
    alone = total(Application(0, applications[a]).time([size]) for a, size, _ in drawn) / len(drawn)
    accelerators = 1 + number % 3
    arrival, gap, tasks = 0.0, alone / accelerators * rng.uniform(0.4, 1.6), []
    for application, size, declared in drawn:
        if len(tasks) > 4 and rng.random() < 0.8:  # otherwise together with the task before
            step = rng.expovariate(1.0 / gap)
            arrival = arrival + round(step) if exact else round(arrival + step, 4)
        tasks.append({"application": application, "arrival_ms": arrival, "size": size, "declared_size": declared})
    horizon = float(math.ceil(arrival) + rng.randint(1, 6))
    server = {"accelerators": accelerators, "half_life_ms": float(rng.choice([5, 10, 30, 100, 500])), "applications": applications}
    workload = {"server": server, "horizon_ms": horizon, "tasks": tasks}
    episodes = {policy: Episode(workload, policy, exact) for policy in POLICIES}
    results = {policy: episode.run() for policy, episode in episodes.items()}
    return {"workload": workload, "policies": results}, [episode.counts for episode in episodes.values()]


def main():
    root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    folder = os.path.join(root, "tests", "serving_reference")
    parser.add_argument("-o", "--output", default=folder, metavar="DIR", help="folder of the cases, made if it is missing")
    args = parser.parse_args()
    os.makedirs(args.output, exist_ok=True)
    counts = collections.Counter()
    for number in range(CASES):
        case, occurred = random_case(number)
        for of_policy in occurred:
            counts.update(of_policy)
        with open(os.path.join(args.output, f"case{number:02}.json"), "w", encoding="utf-8", newline="\n") as file:
            file.write(text_of(case) + "\n")
    print(", ".join(f"{what} {count}" for what, count in sorted(counts.items())))


if __name__ == "__main__":
    main()
