#!/usr/bin/env python3
"""Whether two builds of distill come to the same values, bit for bit: for a change that must not change results.

    python scripts/same_results.py OLD NEW [--tpch tpch_profiles.json.gz]     # two programs; needs polars

Compares, for all scenarios,

* every number that `simulate --json` prints, for four workloads and six policies each;
* every cell of the tables of a recorded trace;
* the models of the student that `fit` makes of it by default, in both programs;
* the decisions of a student of every kind, made by OLD and read by both: each schedules, and is recorded until there are
  100,000 rows of candidates (`--rows`).

What OLD calls otherwise is found by RENAMED. Prints a line per comparison; exit code 1 if one differs, with the first differences.
"""
import argparse
import json
import math
import pathlib
import struct
import subprocess
import sys
import tempfile

import polars as pl

# By scenario, names of OLD and what NEW calls them: levels, columns, keys of JSON.
RENAMED: dict[str, dict[str, str]] = {"dag": {"cluster": "amount"}}

ROWS = 100_000

LEARNERS = ["tree", "linear", "linear-tree", "logit", "spline-logit", "pairwise-tree"]

SCENARIOS = {
    "dag": {
        "workloads": [
            "builtin",
            "builtin,executors=25,jobs=100,rate=1e-4",
            "builtin,arrivals=bursty,edge=mix,executors=5",
            "builtin,edge=half-executors,delay=500,warmup=0",
        ],
        "policies": ["random", "weighted-fair", "sjf-cp,temperature=0.3,mode=sample", "srpt-fair", "decima", "fair"],
        "teacher": "sjf-cp,temperature=0.3,mode=sample",
        "recorded": ("builtin,jobs=30", 20),
        "structures": ["hierarchical", "flat"],
        "regime": "jobs_in_system",
        "guards": [
            "job: held_of_fair_share >= 1.4 last",
            "stage: unfinished_parents > 0 last",
            "cluster: executors_given > 4 never",  # as OLD calls it
        ],
    },
    "training": {
        "workloads": [
            "builtin",
            "builtin,dips=0.2",
            "builtin,nodes=24,jobs=90,arrivals=bursty,speed=analytic",
            "builtin,length-spread=1,epoch-error=0.2,speed-error=0.1",
        ],
        "policies": ["fifo", "srtf-time", "tetris", "optimus", "dl2", "drf"],
        "teacher": "dl2,mode=sample",
        "recorded": ("builtin,jobs=30", 6),
        "structures": ["hierarchical"],
        "regime": "jobs_in_system",
        "guards": ["cluster: is_none <= 0 and best_speedup <= 0.02 never"],
    },
    "deadlines": {
        "workloads": [
            "builtin",
            "builtin,arrivals=poisson,prediction-error=0.3,inflated=0.5",
            "builtin,nodes=3,node-cores=8,edge=hopeless,refuse=1",
            "builtin,edge=burst,noise=0.2,spread=0.2",
        ],
        "policies": ["fifo", "least-slack", "edf-test", "qos", "hpa", "scorer"],
        "teacher": "scorer,mode=sample",
        "recorded": ("builtin,jobs=30", 6),
        "structures": ["hierarchical"],
        "regime": "waiting",
        "guards": ["job: hopeless last"],
    },
    "preemption": {
        "workloads": [
            "builtin",
            "builtin,nodes=2,jobs=60,load=2,mtbf=6",
            "builtin,arrivals=batch,jobs=60,prediction-error=0.3,understated=0.5",
            "builtin,free=1,placement=most-free,edge=wide",
        ],
        "policies": ["fifo", "srtf", "srtf,times=true", "las", "pickyman", "scorer"],
        "teacher": "scorer,mode=sample",
        "recorded": ("builtin,jobs=60,nodes=4", 6),
        "structures": ["hierarchical"],
        "regime": "waiting",
        "guards": ["job: is_lent > 0 and is_back <= 0 never"],
    },
    "serving": {
        "workloads": [
            "builtin",
            "builtin,load=1.1,law=dynamic,accelerators=2",
            "builtin,mix=work,understated=0.5,queue=40",
            "builtin,edge=burst,timeout=8",
        ],
        "policies": ["tf-serving,timeout=4", "triton,delay=4", "clipper", "lazy", "dybatch", "scorer"],
        "teacher": "scorer,mode=sample",
        "recorded": ("builtin,seconds=0.5", 4),
        "structures": ["hierarchical"],
        "regime": "waiting",
        "guards": ["application: is_full > 0 first"],
    },
}


def run(program, *words, accepted=(0,)):
    done = subprocess.run([program, *words, "-q"], capture_output=True, text=True)
    if done.returncode not in accepted:
        sys.exit(f"{program} {' '.join(map(str, words))}: exit code {done.returncode}\n{done.stderr}")
    return done.stdout


def by_figure(policy):
    """A policy's figures under their names."""
    plain = {name: {"value": policy[name]} for name in ("utilisation", "jobs_in_system")}
    return {name: policy[name] for name in ("mean_jct_ms", "makespan_ms")} | plain


def with_figures(line):
    """A closed loop of schema version 1 as version 2 has it."""
    if line.get("schema_version") != 1 or line.get("type") != "closed_loop":
        return line
    policies = [
        {"policy": p["policy"], "role": p["role"], "stalled": p["stalled"], "figures": by_figure(p),
         "episode_objective": p["episode_jct_ms"], "completion_quantiles_ms": p.get("jct_quantiles_ms", [])}
        for p in line["policies"]
    ]  # fmt: skip
    comparisons = [
        {"policy": r["policy"], "baseline": r["baseline"], "figures": {"mean_jct_ms": r["jct"], "makespan_ms": r["makespan"]}}
        for r in line["ratios"]
    ]
    new = {key: line[key] for key in ("type", "workload", "split", "episodes")} | {"policies": policies, "comparisons": comparisons}
    if line.get("floor"):
        new["floor"] = {"objective": line["floor"]["mean_jct_ms"], "compared": line["floor"]["ratio"]}
    return new


def as_sum(value):
    """Models of the kinds of earlier versions as the sums of terms that they are now, wherever they stand."""
    if isinstance(value, list):
        return [as_sum(inner) for inner in value]
    if not isinstance(value, dict):
        return value
    kind = value.get("type")
    if kind == "spline_logit":
        return {"type": "additive", "terms": value["terms"]}
    if kind not in ("linear", "choice_logit"):
        return {key: as_sum(inner) for key, inner in value.items()}
    products = value.get("interactions", [])
    columns = [[column] for column in range(len(value["coefficient"]) - len(products))] + products
    terms = []
    for place, factors in enumerate(columns):
        if value["coefficient"][place] == 0 and len(factors) == 1:
            continue
        term = {"coefficient": value["coefficient"][place], "factors": [{"feature": f, "shape": "linear"} for f in factors], "sd": value["feature_sd"][place]}
        if "standard_error" in value:
            term["standard_error"] = value["standard_error"][place]
        terms.append(term)
    intercept = {"intercept": value["intercept"]} if value.get("intercept") else {}
    return {"type": "additive"} | intercept | {"terms": terms}


def leaves(value, names, path=()):
    """Every scalar of a JSON value by its path, with the names of NEW."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from leaves(inner, names, (*path, names.get(key, key)))
    elif isinstance(value, list):
        for place, inner in enumerate(value):
            yield from leaves(inner, names, (*path, place))
    else:
        yield path, names.get(value, value) if isinstance(value, str) else value


def same(a, b):
    if isinstance(a, float) and isinstance(b, (int, float)):
        return struct.pack("d", a) == struct.pack("d", b) or (math.isnan(a) and math.isnan(b))
    return a == b


class Report:
    def __init__(self):
        self.different = 0

    def compare(self, what, old, new):
        """Compares two lists of (place, value); what NEW has besides is no difference."""
        new, count, wrong = dict(new), 0, []
        for place, value in old:
            count += 1
            if place not in new or not same(value, new[place]):
                wrong.append(f"{place}: {value!r} has become {new.get(place, 'nothing')!r}")
        self.say(what, count, wrong)

    def say(self, what, count, wrong):
        verdict = f"{len(wrong):,} DIFFER" if wrong or not count else "same"
        print(f"{what:<72} {count:>11,} values  {verdict}", flush=True)
        for line in wrong[:3]:
            print(f"    {line}")
        self.different += bool(wrong) or not count


def tables(trace, known):
    """The columns of a trace: (table, column) and its cells."""
    manifest = json.loads((trace / "manifest.json").read_text())
    names = sorted({pathlib.PurePath(table["path"]).parts[0].removesuffix(".parquet") for table in manifest["tables"]})
    for name in names:
        paths = [trace / table["path"] for table in manifest["tables"] if pathlib.PurePath(table["path"]).parts[0].removesuffix(".parquet") == name]
        for column in pl.concat([pl.read_parquet(path) for path in paths]):
            yield (known.get(name, name), known.get(column.name, column.name)), column


def compare_traces(report, what, old, new, names):
    new, count, wrong = dict(tables(new, names)), 0, []
    for place, column in tables(old, names):
        count += len(column)
        other = new.get(place)
        if other is None or len(other) != len(column):
            wrong.append(f"{place}: {'missing' if other is None else f'{len(column)} rows have become {len(other)}'}")
        # Floats are compared by value: no cell of a trace is NaN or a negative zero that matters.
        elif not column.cast(other.dtype).eq_missing(other).all():
            row = (~column.cast(other.dtype).eq_missing(other)).arg_true()[0]
            wrong.append(f"{place}, row {row}: {column[row]!r} has become {other[row]!r}")
    report.say(what, count, wrong)


def rows_of(trace):
    manifest = json.loads((trace / "manifest.json").read_text())
    levels = [level["name"] for level in manifest["feature_set"]["levels"]]
    return sum(table["rows"] for table in manifest["tables"] if pathlib.PurePath(table["path"]).parts[0].removesuffix(".parquet") in levels)


def scenario(report, name, plan, old, new, extra, rows, folder):
    which, names = ["--scenario", name], RENAMED.get(name, {})
    for workload in plan["workloads"] + extra:
        policies = [word for policy in plan["policies"] for word in ("-p", policy)]
        printed = [run(p, "simulate", *which, "-w", workload, *policies, "-n", "6", "--json") for p in (old, new)]
        figures = [leaves([with_figures(json.loads(line)) for line in text.splitlines()], names) for text in printed]
        report.compare(f"{name}: simulate -w {workload}", *figures)

    traces, students = {}, {}
    workload, episodes = plan["recorded"]
    for side, program in (("old", old), ("new", new)):
        traces[side], students[side] = folder / f"{name}-{side}", folder / f"{name}-{side}.json"
        run(program, "record", *which, "-p", plan["teacher"], "-w", workload, "-n", str(episodes), "-o", traces[side])
        run(program, "fit", traces[side], "-o", students[side])
    compare_traces(report, f"{name}: record -p {plan['teacher']}", traces["old"], traces["new"], names)
    models = [leaves(as_sum(json.loads(students[side].read_text())["levels"]), names) for side in ("old", "new")]
    report.compare(f"{name}: fit, the models", *models)

    for label, policy in students_of_every_kind(old, traces["old"], plan, folder / name):
        needed = episodes
        while True:
            driven = {}
            for side, program in (("old", old), ("new", new)):
                driven[side] = folder / f"driven-{side}"
                words = ["-w", workload, "-n", str(needed), "-o", driven[side], "--force"]
                run(program, "record", *which, "-p", policy, *words)
            if rows_of(driven["old"]) >= rows:
                break
            needed *= 4
        compare_traces(report, f"{name}: decisions of a student, {label}", driven["old"], driven["new"], names)


def students_of_every_kind(program, trace, plan, start):
    """Label and policy of each."""
    for structure in plan["structures"]:
        path = f"{start}-{structure}.json"
        learners = LEARNERS if structure == "hierarchical" else LEARNERS[:1]
        run(program, "fit", trace, "-o", path, "--learner", ",".join(learners), "--structure", structure)
        for kind in learners:
            yield f"{kind}, {structure}", f"student:{path},model={kind}"
    guarded = f"{start}-guarded.json"
    guards = [word for guard in plan["guards"] for word in ("--guard", guard)]
    run(program, "patch", f"{start}-hierarchical.json", *guards, "-o", guarded, "-n", "1", accepted=(0, 1))
    if pathlib.Path(guarded).exists():
        yield "tree with guards", f"student:{guarded}"
    else:
        print(f"OLD refuses to patch with {plan['guards']}: no student with guards is compared")

    student = json.loads(pathlib.Path(f"{start}-hierarchical.json").read_text())
    for spec, level in zip(student["feature_set"]["levels"], student["levels"]):
        columns = [feature["name"] for feature in spec["features"]]
        if plan["regime"] in columns:
            level["models"] = [regime(level["models"][:2], columns.index(plan["regime"]))]
    path = pathlib.Path(f"{start}-regime.json")
    path.write_text(json.dumps(student))
    yield "regime", f"student:{path}"


def regime(models, column):
    """A model that takes the first of two up to ten of a feature, and the second above."""
    leaf = 2**32 - 1
    tree = {
        "operator": "<=", "feature": [column, 0, 0], "threshold": [10.0, 0.0, 0.0], "left": [1, leaf, leaf],
        "right": [2, leaf, leaf], "default_left": [True] * 3, "value": [0.0, 0.0, 1.0], "impurity": [0.0] * 3,
        "n_samples": [0] * 3, "weight": [0.0] * 3,
    }  # fmt: skip
    model = {"type": "regime", "tree": tree, "models": [each["model"] for each in models]}
    return {"name": models[0]["name"], "temperature": models[0]["temperature"], "model": model}


def main():
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("old", type=pathlib.Path)
    words.add_argument("new", type=pathlib.Path)
    words.add_argument("--tpch", type=pathlib.Path, help="TPC-H profiles, for one more workload")
    words.add_argument("--scenario", choices=SCENARIOS, help="one of them alone")
    words.add_argument("--rows", type=int, default=ROWS, help="so many rows of candidates that students are recorded for (default: %(default)s)")
    args = words.parse_args()
    report = Report()
    with tempfile.TemporaryDirectory() as folder:
        for name, plan in SCENARIOS.items():
            if args.scenario in (None, name):
                extra = [f"tpch:{args.tpch},jobs=30"] if args.tpch and name == "dag" else []
                scenario(report, name, plan, args.old.resolve(), args.new.resolve(), extra, args.rows, pathlib.Path(folder))
    sys.exit(1 if report.different else 0)


if __name__ == "__main__":
    main()
