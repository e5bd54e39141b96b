#!/usr/bin/env python3
"""Times single predictions of a 200-leaf, 8-class tree: ours, loaded and exported, beside compiled C of tl2cgen and m2cgen.

Set up:

    pip install numpy==2.4.6 scikit-learn==1.9.1 treelite==4.8.1 tl2cgen==1.0.0 m2cgen==0.10.0     # and gcc
    cargo run --release --no-default-features --example synthetic_data -- DATA_DIR 100k=100000 test100k=100000
    python scripts/time_predictors.py DATA_DIR

The tree is scikit-learn's, fitted on `100k`; a threshold becomes the largest 32-bit float that is not above it, so that
every 32-bit row takes the same way. All predictors are called in a native loop over the 100,000 rows of `test100k` in
random order, one row a call unless it says otherwise, processes in turn; each answers with the class and, unless it says
otherwise, the eight shares. Figures are medians of thread CPU time; a ratio is the median of the rounds' ratios to tl2cgen.
"""
import argparse
import hashlib
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parent.parent
LEVEL = "class"

# Calls a generated tree on every row; prints ns per row (thread CPU time) for each pass.
HARNESS = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
union Entry { int missing; double fvalue; int qvalue; }; /* tl2cgen's */
typedef void (*tl2cgen)(union Entry *, int, double *);
typedef void (*m2cgen)(double *, double *);
typedef int (*ours)(const float *, double *);
static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return t.tv_sec * 1e9 + t.tv_nsec;
}
static int largest(const double *v) {
  int best = 0;
  for (int k = 1; k < 8; k++) if (v[k] > v[best]) best = k;
  return best;
}
int main(int argc, char **argv) { /* KIND LIBRARY ROWS N WIDTH LABELS PASSES */
  if (argc != 8) return 1;
  char kind = argv[1][0];
  size_t n = atoi(argv[4]), width = atoi(argv[5]), size = kind == 'o' ? 4 : 8;
  char *x = malloc(n * width * size);
  FILE *file = fopen(argv[3], "rb");
  if (!file || fread(x, size, n * width, file) != n * width) return 2;
  void *library = dlopen(argv[2], RTLD_NOW);
  if (!library) { fprintf(stderr, "%s\n", dlerror()); return 3; }
  void *f = dlsym(library, kind == 't' ? "predict" : kind == 'm' ? "score" : "classify_class");
  if (!f) return 4;
  int32_t *label = malloc(4 * n);
  for (int pass = 0; pass < atoi(argv[7]); pass++) {
    double start = now();
    if (kind == 't')
      for (size_t i = 0; i < n; i++) {
        double out[8] = {0};
        ((tl2cgen)f)((union Entry *)x + i * width, 0, out);
        label[i] = largest(out);
      }
    else if (kind == 'm')
      for (size_t i = 0; i < n; i++) {
        double out[8];
        ((m2cgen)f)((double *)x + i * width, out);
        label[i] = largest(out);
      }
    else
      for (size_t i = 0; i < n; i++) {
        double out[8];
        label[i] = ((ours)f)((const float *)x + i * width, out);
      }
    printf("%.3f\n", (now() - start) / n);
  }
  file = fopen(argv[6], "wb");
  return !file || fwrite(label, 4, n, file) != n || fclose(file);
}
"""

# The exported function under C's calling convention; the rest of the library is the export as it is.
RUST_LIBRARY = """
mod student;
#[unsafe(no_mangle)]
pub unsafe extern "C" fn classify_class(x: *const [f32; 24], outputs: *mut [f64; 8]) -> i32 {
    unsafe { student::classify_class(&*x, &mut *outputs) as i32 }
}
"""


def preorder(tree):
    """scikit-learn's nodes, parents first and left before right."""
    order, stack = [], [0]
    while stack:
        node = stack.pop()
        order.append(node)
        if tree.children_left[node] >= 0:
            stack += [tree.children_right[node], tree.children_left[node]]
    return np.array(order)


def student(tree, width):
    """A student file with scikit-learn's tree at its only level."""
    order = preorder(tree)
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(len(order))
    left, right = tree.children_left[order], tree.children_right[order]
    leaf = left < 0
    threshold = tree.threshold[order].astype(np.float32)
    above = threshold.astype(np.float64) > tree.threshold[order]
    threshold[above] = np.nextafter(threshold[above], np.float32(-np.inf))
    weight = tree.weighted_n_node_samples[order]
    names = [f"f{i}" for i in range(width)]
    rows = [["synthetic", LEVEL, name, "1", "absolute", 1] for name in names]
    features = [{"name": n, "unit": "1", "meaning": "Synthetic.", "scope": "absolute", "version": 1} for n in names]
    level = {"name": LEVEL, "question": "Which class?", "entities": [], "features": features}
    child = lambda side: np.where(leaf, 2**32 - 1, place[side]).tolist()
    model = {
        "type": "tree",
        "operator": "<=",
        "feature": np.where(leaf, 0, tree.feature[order]).tolist(),
        "threshold": [float(t) for t in np.where(leaf, np.float32(0), threshold)],
        "left": child(left),
        "right": child(right),
        "default_left": [bool(d) for d in leaf | (weight[place[left]] >= weight[place[right]])],
        "outputs": int(tree.value.shape[2]),
        "value": tree.value[order, 0].ravel().tolist(),
        "impurity": tree.impurity[order].tolist(),
        "n_samples": tree.n_node_samples[order].tolist(),
        "weight": weight.tolist(),
    }
    return {
        "format_version": 1,
        "scenario": "synthetic",
        "abstains": False,
        "feature_set_hash": hashlib.sha256(json.dumps(rows, separators=(",", ":")).encode()).hexdigest(),
        "feature_set": {"scenario": "synthetic", "levels": [level]},
        "levels": [{"level": LEVEL, "use": "cart", "models": [{"name": "cart", "temperature": 1.0, "model": model}]}],
        "provenance": {"trace_hash": "", "teacher": "", "workload": "", "crate_version": "", "parameters": None, "fidelity": {}},
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=pathlib.Path, help="folder with 100k_*.npy and test100k_*.npy")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--passes", type=int, default=5, help="passes a process and round; the first is left out")
    args = parser.parse_args()

    import m2cgen
    import tl2cgen
    import treelite
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.tree import DecisionTreeClassifier

    x, y = (np.load(args.data / f"100k_{part}.npy") for part in "Xy")
    rows = np.load(args.data / "test100k_X.npy")
    rows = np.ascontiguousarray(rows[np.random.default_rng(0).permutation(len(rows))])
    width = rows.shape[1]
    cart = DecisionTreeClassifier(max_leaf_nodes=200, random_state=0).fit(x, y)
    # treelite reads forests only: one tree without bootstrap is the same tree.
    forest = RandomForestClassifier(1, bootstrap=False, max_features=None, max_leaf_nodes=200, random_state=0).fit(x, y)
    labels = cart.predict(rows).astype(np.int32)
    assert (forest.predict(rows) == labels).all()
    distinct = len(np.unique(rows, axis=0))
    print(f"{cart.get_n_leaves()} leaves, depth {cart.get_depth()}, {len(rows)} rows, {distinct} of them distinct, mean path "
          f"{cart.decision_path(rows).sum() / len(rows) - 1:.2f} tests")

    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        run = lambda *command: subprocess.run([str(c) for c in command], check=True, cwd=folder, text=True, stdout=subprocess.PIPE).stdout
        rows.tofile(folder / "rows32")
        rows.astype(np.float64).tofile(folder / "rows64")
        (folder / "student.json").write_text(json.dumps(student(cart.tree_, width)))
        build = ["cargo", "build", "--quiet", "--release", "--no-default-features", "--example", "time_predictors"]
        subprocess.run(build, check=True, cwd=ROOT)
        metadata = ["cargo", "metadata", "--format-version", "1", "--no-deps", "--offline"]
        target = json.loads(subprocess.run(metadata, check=True, cwd=ROOT, stdout=subprocess.PIPE).stdout)["target_directory"]
        example = pathlib.Path(target) / "release/examples/time_predictors"

        run(example, "export", "student.json", folder)
        (folder / "rust.rs").write_text(RUST_LIBRARY)
        (folder / "harness.c").write_text(HARNESS)
        (folder / "m2cgen.c").write_text(m2cgen.export_to_c(cart))
        gcc = ["gcc", "-O2", "-shared", "-fPIC", "-o"]
        run("gcc", "-O2", "-o", "harness", "harness.c", "-ldl")
        run(*gcc, "c.so", "student.c")
        run(*gcc, "m2cgen.so", "m2cgen.c")
        run("rustc", "--edition", "2024", "-O", "--crate-type", "cdylib", "-o", "rust.so", "rust.rs")
        model = treelite.sklearn.import_model(forest)
        tl2cgen.export_lib(model, toolchain="gcc", libpath=folder / "tl2cgen.so", params={"parallel_comp": 0})

        def harness(kind, library, rows):
            return [folder / "harness", kind, library, rows, len(labels), width, "found", args.passes]

        def loaded(how):
            return [example, "time", how, "student.json", "rows32", "found", args.passes]

        predictors = {
            "tl2cgen C": harness("tl2cgen", "./tl2cgen.so", "rows64"),
            "m2cgen C": harness("m2cgen", "./m2cgen.so", "rows64"),
            "loaded, walked as stored": loaded("tree"),
            "loaded, compiled, class only": loaded("one"),
            "loaded, compiled": loaded("outputs"),
            "exported C": harness("ours", "./c.so", "rows32"),
            "exported Rust": harness("ours", "./rust.so", "rows32"),
            "loaded, compiled, class only, all rows in one call": loaded("rows"),
        }
        ns = {name: [] for name in predictors}
        for _ in range(args.rounds):
            for name, command in predictors.items():
                passes = [float(line) for line in run(*command).split()]
                ns[name].append(statistics.median(passes[1:] or passes))
                found = np.fromfile(folder / "found", dtype=np.int32)
                if (found != labels).any():
                    sys.exit(f"{name}: {(found != labels).sum()} of {len(labels)} classes differ from scikit-learn's")

    print(f"\n| {'one row a call':50} | ns a row: median (least to most) | ratio to tl2cgen (quartiles) |\n| --- | ---: | ---: |")
    for name, times in ns.items():
        ratios = np.percentile(np.array(times) / np.array(ns["tl2cgen C"]), [25, 50, 75])
        print(f"| {name:50} | {statistics.median(times):.1f} ({min(times):.1f} to {max(times):.1f}) | "
              f"{ratios[1]:.2f} ({ratios[0]:.2f} to {ratios[2]:.2f}) |")


if __name__ == "__main__":
    main()
