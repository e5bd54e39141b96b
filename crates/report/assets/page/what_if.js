// "What if it were different?" below a decision: figures of candidates are changed, ranks and ratios follow, and the student
// decides again. What the page holds of the student and of recorded choices is read here.
const whatIf = (() => {
  const element = document.getElementById("what-if-data");
  if (!element) return null;
  const { make, percent, short, digits, words, counted, scroll } = dom;
  const { student, levels } = JSON.parse(element.textContent);

  // All that is known of a level: of the page, of the student, and of its features.
  const prepared = new Map();
  const level_of = (index) => {
    if (!prepared.has(index)) {
      const level = levels[index];
      const spec = student.feature_set.levels.find((l) => l.name === level.level);
      const columns = level.features.map((name) => spec.features.findIndex((f) => f.name === name));
      prepared.set(index, { ...level, spec, columns, none: spec.features.findIndex((f) => f.name === "is_none") });
    }
    return prepared.get(index);
  };

  const takes_part = (level, row) => level.none < 0 || row[level.none] !== 1;

  // Makes the rank and the ratio of a quantity again, in all candidates, as the definitions of features say.
  const follow = (level, rows, family) => {
    const { base, rank, ratio, time } = family;
    const part = rows.filter((row) => takes_part(level, row));
    const least = part.reduce((least, row) => (row[base] < least ? row[base] : least), Infinity);
    for (const row of part) {
      const own = row[base];
      if (rank !== null) row[rank] = part.filter((other) => other[base] < own).length;
      if (ratio !== null) row[ratio] = time ? own / Math.max(least, 1) : (own + 1) / (least + 1);
    }
  };

  // One array per candidate with a place for each feature of the level; those that are not kept are 0 and never looked at.
  const rows_of = (level, choice) => {
    const rows = Array.from({ length: choice.candidates }, () => new Float32Array(level.spec.features.length));
    level.columns.forEach((column, i) => {
      const values = choice.columns[i];
      if (values !== null) rows.forEach((row, candidate) => { row[column] = Number(Array.isArray(values) ? values[candidate] : values); });
    });
    // Ranks and ratios that follow from their quantities are not kept.
    for (const family of level.families) {
      const missing = { ...family };
      for (const part of ["rank", "ratio"]) if (choice.columns[level.columns.indexOf(family[part])] !== null) missing[part] = null;
      if (missing.rank !== null || missing.ratio !== null) follow(level, rows, missing);
    }
    return rows;
  };
  // What every choice that is kept has the same in all its candidates belongs to the cluster, not to one of them.
  const shared = (level) => {
    level.shared ??= new Set(level.columns.filter((column) => level.choices.every((choice) => {
      level.rows ??= new Map();
      if (!level.rows.has(choice)) level.rows.set(choice, rows_of(level, choice).filter((row) => takes_part(level, row)));
      const [first, ...others] = level.rows.get(choice);
      return !first || others.every((row) => row[column] === first[column]);
    })));
    return level.shared;
  };

  // How a value of a feature is written: times in the largest unit that keeps it at 2 or more, shares in per cent.
  const unit_of = (feature, value) => {
    const { unit, scope } = feature;
    if (scope === "share" && (unit === "1" || unit === "")) return { scale: 0.01, name: "%" };
    if (unit === "ms" || unit.startsWith("ms·")) {
      const size = Math.abs(value);
      const [scale, name] = size < 1e3 ? [1, "ms"] : size < 120e3 ? [1e3, "s"] : size < 7200e3 ? [6e4, "min"] : [3.6e6, "h"];
      return { scale, name: name + unit.slice(2) };
    }
    return { scale: 1, name: unit === "1" || unit === "0/1" ? "" : unit };
  };
  const said = (feature, value) => {
    if (feature.unit === "0/1" && (value === 0 || value === 1)) return value ? "yes" : "no";
    const { scale, name } = unit_of(feature, value);
    return name ? `${words(value / scale)}\u00a0${counted(value / scale, name)}` : words(value);
  };

  const name_of = (level, choice, candidate) => {
    const of = (column) => (Array.isArray(column) ? column[candidate] : column);
    const parts = level.spec.entities.map((name, i) => {
      const value = of(choice.entities[i]);
      return value === 4294967295 ? `no ${name}` : `${name} ${value}`;
    });
    return parts.reverse().join(" of ") || `candidate ${candidate}`;
  };

  // A field for one figure. `changed` gets the raw value, or null where the field holds no number.
  const field = (feature, label, value, least, changed) => {
    const { scale, name } = unit_of(feature, value);
    const unit = make("span", {}, counted(value / scale, name));
    const input = make("input", { type: "number", step: feature.whole ? "1" : "any", value: digits(value / scale), ...least });
    input.addEventListener("input", () => {
      const number = input.valueAsNumber;
      const raw = Math.fround(number * scale);
      const fine = Number.isFinite(raw) && input.validity.valid;
      input.setAttribute("aria-invalid", String(!fine));
      unit.textContent = counted(number, name);
      changed(fine ? raw : null);
    });
    return make("label", {}, make("span", {}, label), input, unit);
  };
  const flag = (label, value, changed) => {
    const input = make("input", { type: "checkbox" });
    input.checked = value === 1;
    input.addEventListener("change", () => changed(input.checked ? 1 : 0));
    return make("label", {}, input, make("span", {}, label));
  };

  // Why one candidate and not another, after the change.
  const difference = (level, rows, result, [a, b], name, waterfall) => {
    const { model } = evaluator.level_of(student, level.level);
    const scorer = evaluator.model_for(model, rows);
    const ruled_out = result.left[b] === -Infinity && result.scores[b] !== -Infinity;
    const parts = [];
    if (ruled_out) parts.push(make("p", {}, `A guard rules out ${name(b)}.`));
    if (scorer.type === "additive") {
      const by = evaluator.shares(scorer, rows[a], rows[b]);
      const columns = level.columns.filter((c) => by[c] !== 0).sort((x, y) => Math.abs(by[y]) - Math.abs(by[x]));
      const of = (i, sign) => ({
        name: name(i), score: result.scores[i], values: columns.map((c) => said(level.spec.features[c], rows[i][c])),
        shares: columns.map((c) => (sign ? by[c] : 0)).concat(0),
      });
      const view = { features: columns.map((c) => level.labels[c]), candidates: [of(a, true), of(b, false)], taken: 0 };
      return [...parts, waterfall(view, 1)];
    }
    if (scorer.type === "tree") {
      const place = model.type === "regime" ? evaluator.predict(model.tree, rows[0]) : 0;
      const tests = level.tests[place];
      const [ours, theirs] = [a, b].map((i) => evaluator.way(scorer, rows[i]));
      const parts_at = ours.findIndex((node, i) => node !== theirs[i]);
      const went = (nodes, i) => tests[nodes[i]][nodes[i + 1] === scorer.left[nodes[i]] ? 0 : 1];
      const is = (i, node) => {
        const column = scorer.feature[node];
        return ` (it is ${said(level.spec.features[column], rows[i][column])})`;
      };
      const step = (node, i) => make("li", {}, went(ours, i) + is(a, node),
        ...(i + 1 === parts_at ? [make("b", {}, ` Here ${name(b)} goes the other way: ${went(theirs, i)}${is(b, node)}.`)] : []));
      const same = parts_at < 0 ? `Both reach the same leaf of the tree.` : `The way of ${name(a)} through the tree:`;
      return [...parts, make("p", {}, same), make("ol", { class: "path" }, ...ours.slice(0, -1).map(step))];
    }
    const chance = scorer.type === "pairwise" ? ` Asked about these two alone, the tree gives ${name(a)} a chance of ${percent(evaluator.beats(scorer.tree, rows[a], rows[b]))}.` : "";
    return [...parts, make("p", {}, `The score of ${name(a)} is ${short(result.scores[a])}, that of ${name(b)} ${short(result.scores[b])}.${chance}`)];
  };

  // The part of a decision's view in which its figures can be changed; null if they are not in the page.
  const panel = (d, waterfall) => {
    const index = levels.findIndex((l) => d.id.startsWith(`${l.level}:`) && /^\d+$/.test(d.id.slice(l.level.length + 1)));
    if (index < 0) return null;
    const level = level_of(index);
    const number = Number(d.id.slice(level.level.length + 1));
    const choice = level.choices.find((c) => c.choice === number && c.entities);
    if (!choice) return null;
    const decider = evaluator.level_of(student, level.level);
    const features = level.spec.features;
    const original = rows_of(level, choice);
    const at_first = evaluator.choose(decider, original);
    const name = (i) => name_of(level, choice, i);
    // Raw values by "candidate column".
    const changes = new Map();
    const is_shared = (column) => shared(level).has(column);
    const families = new Map(level.families.flatMap((f) => [f.base, f.rank, f.ratio].filter((c) => c !== null).map((c) => [c, f])));

    const changed_rows = () => {
      const rows = original.map((row) => row.slice());
      for (const [key, value] of changes) {
        const [candidate, column] = key.split(" ").map(Number);
        const all = is_shared(column) ? rows.filter((row) => takes_part(level, row)) : [rows[candidate]];
        for (const row of all) row[column] = value;
      }
      const moved = new Set([...changes.keys()].map((key) => Number(key.split(" ")[1])));
      for (const column of moved) if (families.has(column)) follow(level, rows, families.get(column));
      return rows;
    };

    const pick = make("select", { name: "candidate" }, ...original.map((row, i) => {
      const role = [i === at_first.taken && "the student's", i === choice.best && "the teacher's best"].filter(Boolean).join(", ");
      return make("option", { value: String(i) }, name(i) + (role ? ` (${role})` : ""));
    }));
    const figures = make("div", { class: "figures" });
    const followers = make("p", { class: "muted followers" });
    const outcome = make("div", { class: "outcome" });
    const verdict = make("p", { class: "verdict", role: "status", "aria-live": "polite" });
    const reset = make("button", { type: "button", name: "reset" }, "Take all changes back");

    const set = (candidate, column, value) => {
      const key = `${is_shared(column) ? 0 : candidate} ${column}`;
      const was = original.find((row, i) => (is_shared(column) ? takes_part(level, row) : i === candidate))[column];
      if (value === null || Object.is(value, was)) changes.delete(key); else changes.set(key, value);
      show();
    };
    // The fields of one candidate. Those of ranks and ratios are not there: they follow.
    const fill = () => {
      const candidate = Number(pick.value);
      const row = changed_rows()[candidate];
      if (!takes_part(level, row)) return figures.replaceChildren(make("p", { class: "muted" }, `${name(candidate)}: to give nothing has no figures of its own.`));
      figures.replaceChildren(...level.columns.filter((c) => c !== level.none && level.free.includes(c)).map((column) => {
        const feature = features[column];
        const label = level.labels[column] + (is_shared(column) ? " (of all candidates)" : "");
        const changed = (value) => set(candidate, column, value);
        const negative = original.some((r) => r[column] < 0);
        const entry = feature.unit === "0/1" ? flag(label, row[column], changed) : field(feature, label, row[column], negative ? {} : { min: "0" }, changed);
        entry.dataset.feature = feature.name;
        return entry;
      }));
    };

    const show = () => {
      const rows = changed_rows();
      const candidate = Number(pick.value);
      const result = evaluator.choose(decider, rows);
      const { taken, probabilities, scores } = result;
      const derived = level.columns.filter((c) => !level.free.includes(c) && c !== level.none);
      followers.replaceChildren(...(derived.length && takes_part(level, rows[candidate])
        ? [`Ranks and ratios are not changed by hand, they follow their quantity. Of ${name(candidate)}: `, ...derived.flatMap((c, i) => {
          const value = make("b", { "data-feature": features[c].name }, said(features[c], rows[candidate][c]));
          return [i ? "; " : "", `${level.labels[c]} `, value, families.has(c) ? "" : " (stays: its quantity is no feature)"];
        }), "."] : []));
      const was = at_first.taken;
      const median = decider.pick === "median" ? " (the median of the probabilities)" : "";
      verdict.textContent = !changes.size ? `Nothing is changed: the student takes ${name(taken)}${median}.`
        : taken === was ? `The student still takes ${name(taken)}${median}.`
          : `The student takes ${name(taken)} instead of ${name(was)}${median}.`;
      const list = [...changes].map(([key, value]) => {
        const [i, column] = key.split(" ").map(Number);
        const who = is_shared(column) ? "all candidates" : name(i);
        const before = original.find((row, place) => (is_shared(column) ? takes_part(level, row) : place === i))[column];
        return make("li", {}, `${who}: ${level.labels[column]} ${said(features[column], value)}, was ${said(features[column], before)}`);
      });
      // The best first; of equals the first of the choice.
      const order = rows.map((row, i) => i).sort((a, b) => probabilities[b] - probabilities[a] || a - b);
      const lines = order.filter((i, place) => place < 12 || i === taken || i === was || i === candidate).map((i) => make("tr", { class: i === taken ? "student" : "" },
        make("td", { class: "n" }, String(order.indexOf(i) + 1)), make("th", { scope: "row" }, name(i)),
        make("td", { class: "n" }, percent(probabilities[i])), make("td", { class: "n" }, percent(at_first.probabilities[i])),
        make("td", { class: "n" }, short(scores[i])), make("td", { class: "n" }, short(at_first.scores[i]))));
      const head = ["place", "candidate", "probability", "it was", "score", "it was"].map((h, i) => make("th", { scope: "col", class: i === 1 ? "" : "n" }, h));
      const table = make("table", { class: "dense" }, make("caption", {}, `What the student makes of the ${rows.length} ${counted(rows.length, "candidates")} now`),
        make("thead", {}, make("tr", {}, ...head)), make("tbody", {}, ...lines));
      const other = taken !== was ? was : order.find((i) => i !== taken) ?? taken;
      const why = changes.size && other !== taken ? [make("h4", {}, `What tells ${name(taken)} from ${name(other)} now`), ...difference(level, rows, result, [taken, other], name, waterfall)] : [];
      outcome.replaceChildren(...(list.length ? [make("ul", { class: "changes" }, ...list)] : []),
        ...(changes.size ? [scroll("Candidates after the change", table)] : []), ...why);
    };
    pick.value = String(original.findIndex((row, i) => i !== at_first.taken && i === choice.best) >= 0 ? choice.best : at_first.taken);
    pick.addEventListener("change", () => { fill(); show(); });
    reset.addEventListener("click", () => { changes.clear(); fill(); show(); });
    fill();
    show();
    const form = make("form", { class: "what-if" }, make("p", {}, make("label", {}, "figures of ", pick), " ", reset), figures, followers, verdict, outcome);
    form.addEventListener("submit", (event) => event.preventDefault());
    const amounts = level.spec.entities.at(-1) === "amount"
      ? " Figures of amounts hang together in ways that the page does not know: each is changed by itself here." : "";
    const intro = `Change a figure, and the student decides again among all ${choice.candidates} ${counted(choice.candidates, "candidates")}.${amounts}`;
    return [make("h3", {}, "What if it were different?"), make("p", {}, intro), form];
  };

  return { student, levels, level_of, rows_of, unit_of, said, panel };
})();
