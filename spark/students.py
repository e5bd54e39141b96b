#!/usr/bin/env python3
"""Students to compare decisions with: students.py STUDENT FOLDER

Writes to FOLDER what STUDENT (tests/compat/dag/student.json) is with each of its models in use, hierarchical, flat and by
medians; and drawn ones with models, guards and structures of every kind. Names of the files say what they are.
"""

import copy
import json
import pathlib
import random
import sys

LEAF = 4294967295


def threshold(feature, s):
    """A number that the feature may be above or below."""
    name, unit = feature["name"], feature["unit"]
    if unit == "0/1":
        return 0.5
    if name.endswith("_rank"):
        return float(s.randrange(8))
    if name.endswith("_ratio"):
        return round(1 + s.expovariate(0.5), 3)
    if unit == "ms":
        return round(10 ** s.uniform(1, 7), 1)
    if unit == "1":
        return round(s.uniform(0, 1.5), 3)
    return float(s.randrange(20)) + s.choice([0, 0.5])


def scale(feature):
    return 1e5 if feature["unit"] == "ms" and not feature["name"].endswith(("_rank", "_ratio")) else 10.0


def tree(features, s, depth, outputs=1, linear=False, value=lambda s: round(s.gauss(0, 1), 2), pairs=False):
    """Random tests, or of single features the thresholds that they may have."""
    t = {"operator": "<=", "feature": [], "threshold": [], "left": [], "right": [], "default_left": [], "value": []}
    terms = {"intercept": [], "start": [0], "feature": [], "coefficient": []}

    def grow(depth):
        node = len(t["feature"])
        inner = depth > 0 and s.random() < 0.9
        column = s.randrange(len(features) * (2 if pairs else 1)) if inner else 0
        feature = features[column % len(features)]
        sign = s.choice([-1, 0, 1]) if column >= len(features) else 1
        t["feature"].append(column)
        t["threshold"].append(sign * threshold(feature, s) if inner else 0.0)
        t["left"].append(LEAF)
        t["right"].append(LEAF)
        t["default_left"].append(s.random() < 0.5)
        t["value"] += [value(s) for _ in range(outputs)]
        terms["intercept"].append(round(s.gauss(0, 1), 3))
        columns = sorted(s.sample(range(len(features)), 3)) if linear and not inner else []
        terms["feature"] += columns
        terms["coefficient"] += [s.gauss(0, 1) / scale(features[c]) for c in columns]
        terms["start"].append(len(terms["feature"]))
        if inner:
            t["left"][node] = grow(depth - 1)
            t["right"][node] = grow(depth - 1)
        return node

    grow(depth)
    n = len(t["feature"])
    t.update(impurity=[0.0] * n, n_samples=[1] * n, weight=[1.0] * n)
    if outputs > 1:
        t["outputs"] = outputs
    if linear:
        t["linear"] = terms
    return t


def additive(features, s, shapes):
    """A sum of random terms of one or two factors."""

    def factor(column):
        shape = s.choice(shapes)
        f = {"feature": column, "shape": shape}
        if shape in ("above", "excess"):
            f["threshold"] = threshold(features[column], s)
        return f, {"log": 5.0, "above": 1.0}.get(shape, scale(features[column]))

    terms = []
    for _ in range(14):
        factors = [factor(s.randrange(len(features))) for _ in range(s.choice([1, 1, 2]))]
        size = 1.0
        for _, each in factors:
            size *= each
        terms.append({"coefficient": s.choice([0.0, 1, 1, 1]) * s.gauss(0, 2) / size, "factors": [f for f, _ in factors],
                      "sd": 1.0})
    return {"type": "additive", "intercept": round(s.gauss(0, 1), 3), "terms": terms}


def model(features, s, kind):
    if kind == "tree":
        return {"type": "tree", **tree(features, s, 7)}
    if kind == "outputs":
        return {"type": "tree", **tree(features, s, 5, outputs=3)}
    if kind == "linear-tree":
        return {"type": "tree", **tree(features, s, 4, linear=True)}
    if kind == "linear":
        return additive(features, s, ["linear"])
    if kind == "spline":
        return additive(features, s, ["linear", "log", "log", "above", "excess"])
    if kind == "pairwise":
        chance = lambda s: round(s.random(), 3)
        return {"type": "pairwise", "tree": tree(features, s, 5, value=chance, pairs=True)}
    kinds = ["tree", "spline", "pairwise", "linear-tree"]
    place = lambda s: float(s.randrange(len(kinds)))
    return {"type": "regime", "tree": tree(features, s, 3, value=place), "models": [model(features, s, k) for k in kinds]}


KINDS = ["tree", "outputs", "linear-tree", "linear", "spline", "pairwise", "regime"]


def guard(level, s):
    conditions = []
    for feature in s.sample(level["features"], s.choice([1, 1, 2])):
        operator = s.choice([">", ">=", "<", "<="])
        conditions.append({"feature": feature["name"], "operator": operator, "value": threshold(feature, s)})
    return {"level": level["name"], "when": conditions, "action": s.choice(["first", "last", "never"])}


def drawn(base, s, kinds, structure, pick, abstains):
    """A student of drawn models, one kind for each level."""
    student = copy.deepcopy(base)
    student.update(abstains=abstains, guards=[], patches=[], structure=structure)
    for place, (level, spec, kind) in enumerate(zip(student["levels"], student["feature_set"]["levels"], kinds)):
        level["models"] = [{"name": "drawn", "temperature": round(10 ** s.uniform(-1, 1), 3),
                            "model": model(spec["features"], s, kind)}]
        level["use"] = "drawn"
        if pick == "median" and (place == 2 or structure == "hierarchical"):
            level["pick"] = "median"
    specs = student["feature_set"]["levels"]
    student["guards"] = [guard(s.choice(specs), s) for _ in range(s.choice([0, 0, 1, 4]))]
    return student


def main():
    base = json.loads(pathlib.Path(sys.argv[1]).read_text())
    folder = pathlib.Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)

    def write(name, student):
        (folder / f"{name}.json").write_text(json.dumps(student, ensure_ascii=False))

    names = sorted({m["name"] for level in base["levels"] for m in level["models"]})
    for name in names:
        for structure in ("hierarchical", "flat"):
            for abstains in (False, True):
                student = copy.deepcopy(base)
                student.update(structure=structure, abstains=abstains, patches=[])
                for level in student["levels"]:
                    if name in [m["name"] for m in level["models"]]:
                        level["use"] = name
                # Guards stay in half of them, and medians come into the others.
                if abstains:
                    student["guards"] = []
                    student["levels"][2]["pick"] = "median"
                write(f"compat-{name}-{structure}{'-abstains-median' if abstains else ''}", student)
    s = random.Random(7)
    for number in range(21):
        kinds = [KINDS[number % 7], KINDS[(number + 1 + number // 7) % 7], KINDS[(number * 3 + 2) % 7]]
        structure = ["hierarchical", "flat"][number % 2]
        pick = ["mode", "median"][number // 2 % 2]
        abstains = number % 3 == 0
        name = "-".join(["drawn", f"{number:02}", *kinds, structure, pick] + ["abstains"] * abstains)
        write(name, drawn(base, s, kinds, structure, pick, abstains))


main()
