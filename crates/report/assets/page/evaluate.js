// Decides as a student does: scores of every kind of model, guards, and what a level takes of the probabilities. Students are
// those of the student file; rows are arrays of 32-bit floats, one per candidate. Comparisons are made in 32-bit floats, sums
// in 64, in the order of the terms; a missing value is NaN.
const evaluator = (() => {
  const LEAF = 4294967295;
  const single = Math.fround;

  // The nodes that a row passes, root and leaf included; `value` says what stands in a column.
  const way = (tree, value) => {
    const nodes = [0];
    for (let node = 0; tree.left[node] !== LEAF; nodes.push(node)) {
      const x = value(tree.feature[node]);
      const left = Number.isNaN(x) ? tree.default_left[node] : x <= single(tree.threshold[node]);
      node = left ? tree.left[node] : tree.right[node];
    }
    return nodes;
  };
  const of = (row) => (column) => row[column];
  const at_leaf = (tree, leaf, row) => {
    if (!tree.linear) return tree.value[leaf * (tree.outputs ?? 1)];
    const { intercept, start, feature, coefficient } = tree.linear;
    let sum = -0;
    for (let i = start[leaf]; i < start[leaf + 1]; i++) sum += coefficient[i] * row[feature[i]];
    return intercept[leaf] + sum;
  };
  const predict = (tree, row) => at_leaf(tree, way(tree, of(row)).at(-1), row);

  const shapes = {
    linear: (x) => x,
    log: (x) => (x > 0 ? Math.log1p(x) : 0),
    above: (x, threshold) => (x > threshold ? 1 : 0),
    excess: (x, threshold) => (x - threshold > 0 ? x - threshold : 0),
  };
  const factor = (f, row) => shapes[f.shape](row[f.feature], single(f.threshold ?? 0));
  const term = (t, row) => t.factors.reduce((product, f) => product * factor(f, row), 1);
  const total = (model, row) => model.terms.reduce((sum, t) => sum + t.coefficient * term(t, row), -0) + (model.intercept ?? 0);

  // The chance that a row wins against another one: columns behind the last feature are differences.
  const beats = (tree, row, other) => {
    const width = row.length;
    const value = (column) => (column < width ? row[column] : single(row[column - width] - other[column - width]));
    return at_leaf(tree, way(tree, value).at(-1), row);
  };

  // The model that scores a choice: of a regime, the one for this state.
  const model_for = (model, rows) => (model.type === "regime" ? model.models[predict(model.tree, rows[0])] : model);

  const score = (model, rows) => {
    const m = model_for(model, rows);
    switch (m.type) {
      case "tree": return rows.map((row) => predict(m, row));
      case "additive": return rows.map((row) => total(m, row));
      case "pairwise": return rows.map((row, i) => rows.reduce((sum, other, j) => (i === j ? sum : sum + beats(m.tree, row, other)), -0));
      default: throw Error(`a model of type ${m.type}`);
    }
  };

  const operators = { ">": (x, v) => x > v, ">=": (x, v) => x >= v, "<": (x, v) => x < v, "<=": (x, v) => x <= v };

  // Candidates that a guard rules out get the score minus infinity; at least one remains. Who gives nothing does not meet a
  // guard unless it names the flag, and is none of the others.
  const restrict = (guard, names, rows, scores) => {
    const flag = guard.when.some((c) => c.feature === "is_none") ? -1 : names.indexOf("is_none");
    const none = (row) => flag >= 0 && row[flag] > 0.5;
    const when = guard.when.map((c) => [names.indexOf(c.feature), operators[c.operator], single(c.value)]);
    const meets = (row) => !none(row) && when.every(([column, holds, value]) => holds(row[column], value));
    const open = rows.map((row, i) => scores[i] > -Infinity && !none(row));
    const met = rows.map((row, i) => open[i] && meets(row));
    const first = met.indexOf(true);
    if (first < 0) return;
    const all = open.every((is_open, i) => !is_open || met[i]);
    if (all && guard.action !== "never") return;
    rows.forEach((row, i) => {
      const out = all ? i !== first && !none(row) : meets(row) !== (guard.action === "first");
      if (out) scores[i] = -Infinity;
    });
  };

  // The first of the largest; NaN never is.
  const first_max = (scores) => {
    let best = 0, most = -Infinity;
    scores.forEach((s, i) => { if (s > most) [best, most] = [i, s]; });
    return best;
  };
  const median = (scores, temperature) => {
    const most = first_max(scores);
    const shares = scores.map((s) => Math.exp((s - scores[most]) / temperature));
    const half = shares.reduce((sum, share) => sum + share, -0) / 2;
    let sum = 0;
    const found = shares.findIndex((share) => { sum += share; return sum >= half; });
    return found < 0 ? most : found;
  };
  const log_sum_exp = (scores) => {
    const most = scores.reduce((most, s) => (s > most ? s : most), -Infinity);
    return most + Math.log(scores.reduce((sum, s) => sum + Math.exp(s - most), -0));
  };

  const level_of = (student, name) => {
    const level = student.levels.find((l) => l.level === name);
    const spec = student.feature_set.levels.find((l) => l.name === name);
    const named = level.models.find((m) => m.name === level.use);
    const guards = (student.guards ?? []).filter((g) => g.level === name);
    return { names: spec.features.map((f) => f.name), model: named.model, temperature: named.temperature, pick: level.pick, guards };
  };

  // What a level makes of the candidates of a choice: the scores of its model, those that its guards leave, the
  // probabilities, and the place of the candidate that is taken. One candidate alone is not scored.
  const choose = (level, rows) => {
    const scores = rows.length > 1 ? score(level.model, rows) : rows.map(() => 0);
    const left = [...scores];
    if (rows.length > 1) for (const guard of level.guards) restrict(guard, level.names, rows, left);
    const most = left[first_max(left)];
    const odds = left.map((s) => Math.exp((s - most) / level.temperature));
    const sum = odds.reduce((sum, p) => sum + p, -0);
    const taken = level.pick === "median" ? median(left, level.temperature) : first_max(left);
    return { scores, left, probabilities: odds.map((p) => p / sum), taken };
  };

  const before = (a, b) => {
    const i = a.findIndex((v, i) => v !== b[i]);
    return i < 0 ? a.length < b.length : i >= b.length ? false : a[i] < b[i];
  };

  // A whole decision: the places of the candidates taken, level by level. `rows_at` gives the candidates behind a path, none
  // where the path is a whole decision. A flat student takes the most probable path through the levels above the amount.
  const decide = (student, rows_at) => {
    const specs = student.feature_set.levels;
    const levels = specs.map((spec) => level_of(student, spec.name));
    const is_amount = (spec) => spec.entities.at(-1) === "amount";
    const found = specs.findIndex(is_amount);
    const above = found < 0 ? specs.length : found;
    let path = [];
    if (student.structure === "flat") {
      let best = [], most = -Infinity;
      const search = (path, so_far) => {
        const rows = path.length < above ? rows_at(path) : [];
        if (!rows.length) {
          if (so_far > most || (so_far === most && before(path, best))) [best, most] = [path, so_far];
          return;
        }
        const level = levels[path.length];
        const scaled = choose(level, rows).left.map((s) => s / level.temperature);
        const [sum, first] = [log_sum_exp(scaled), first_max(scaled)];
        // The best candidate first: no path is more probable than its beginning.
        for (const candidate of [first, ...rows.keys()].filter((c, i) => i === 0 || c !== first)) {
          const with_it = so_far + (scaled[candidate] - sum);
          if (with_it >= most) search([...path, candidate], with_it);
        }
      };
      search([], 0);
      path = best;
    }
    while (path.length < levels.length) {
      const rows = rows_at(path);
      if (!rows.length) break;
      path = [...path, choose(levels[path.length], rows).taken];
    }
    return path;
  };

  // What each feature adds to the score of one row above that of another, of a sum of terms.
  const shares = (model, a, b) => {
    const share = new Array(a.length).fill(0);
    for (const { coefficient, factors: [f, g] } of model.terms) {
      const [fa, fb] = [factor(f, a), factor(f, b)];
      const [ga, gb] = g ? [factor(g, a), factor(g, b)] : [1, 1];
      share[f.feature] += coefficient * (fa - fb) * (ga + gb) / 2;
      if (g) share[g.feature] += coefficient * (ga - gb) * (fa + fb) / 2;
    }
    return share;
  };

  return { way: (tree, row) => way(tree, of(row)), predict, beats, model_for, score, level_of, choose, decide, shares };
})();
