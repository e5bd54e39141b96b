// Shows one decision at a time; the data were put into words and figures when the page was made.
(() => {
  const data = document.getElementById("decisions-data");
  const view = document.getElementById("decision-view");
  if (!data || !view) return;
  const decisions = JSON.parse(data.textContent);
  const { make, draw, percent, short, signed, counted, scroll } = dom;

  // What adds to the difference of two scores, as bars that begin where the one above ends.
  const waterfall = (d, rival) => {
    const [a, b] = [d.candidates[d.taken], d.candidates[rival]];
    const names = [...d.features, "all others"];
    const steps = names
      .map((name, i) => ({ name, by: a.shares[i] - b.shares[i], ours: a.values[i], theirs: b.values[i] }))
      .filter((s) => Math.abs(s.by) > 1e-9 * Math.max(1, Math.abs(a.score)));
    const total = a.score - b.score;
    if (!steps.length) return make("p", {}, "Their scores are equal: the first of equals is taken.");
    let at = 0;
    const ends = steps.map((s) => { const from = at; at += s.by; return [from, at]; });
    const all = [0, total, ...ends.flat()];
    const [low, high] = [Math.min(...all), Math.max(...all)];
    const title = `What tells ${a.name} from ${b.name}: score difference ${signed(total)}`;
    // Words stand beside the bars, or above them where the screen is narrow.
    const picture = (narrow) => {
      const [width, left, right] = narrow ? [340, 1, 1] : [720, 290, 110];
      const [pitch, above, thick] = narrow ? [44, 24, 14] : [28, 8, 20];
      const height = pitch * (steps.length + 1) + (narrow ? 4 : 24);
      const x = (v) => left + ((v - low) / (high - low || 1)) * (width - left - right);
      const svg = draw("svg", { viewBox: `0 0 ${width} ${height}`, width, height, role: "img", "aria-label": title, class: "waterfall" });
      const zero = (y1, y2) => svg.append(draw("line", { x1: x(0), x2: x(0), y1, y2, class: "zero" }));
      const row = (i, name, from, to, words, kind) => {
        const y = pitch * i + above;
        const [start, end] = [Math.min(x(from), x(to)), Math.max(x(from), x(to))];
        const label = name.length > 46 ? name.slice(0, 45) + "…" : name;
        const [before, after] = narrow ? [{ x: 0, y: y - 6 }, { x: width, y: y - 6, "text-anchor": "end" }]
          : [{ x: left - 8, y: y + 14, "text-anchor": "end" }, { x: end + 6, y: y + 14 }];
        svg.append(draw("g", {}, draw("title", {}, `${name}: ${words}`), draw("text", before, label),
          draw("rect", { x: start, y, width: Math.max(1, end - start), height: thick, class: kind }), draw("text", after, words)));
        // One line through all bars would cross the words.
        if (narrow) zero(y - 3, y + thick + 3);
      };
      steps.forEach((s, i) => row(i, s.name, ...ends[i], signed(s.by), s.by < 0 ? "minus" : "plus"));
      row(steps.length, "difference of the scores", 0, total, signed(total), "total");
      if (!narrow) zero(0, height - 16);
      return svg;
    };
    const table = make("table", {}, make("caption", {}, "The same as numbers"),
      make("thead", {}, make("tr", {}, ...["feature", "adds", a.name, b.name].map((h, i) => make("th", { scope: "col", class: i ? "n" : "" }, h)))),
      make("tbody", {}, ...steps.map((s) => make("tr", {}, make("th", { scope: "row" }, s.name), make("td", { class: "n" }, signed(s.by)),
        make("td", { class: "n" }, s.ours ?? ""), make("td", { class: "n" }, s.theirs ?? "")))));
    return make("figure", { class: "chart", style: "--w:720" },
      make("div", { class: "wide" }, picture(false)), make("div", { class: "narrow" }, picture(true)),
      make("figcaption", {}, `Bars with + (green) speak for ${a.name}, bars with \u2212 (orange) for ${b.name}; each begins where the one above ends. The last (blue) is their sum.`),
      make("details", {}, make("summary", {}, "The same as numbers"), scroll("Shares as numbers", table)));
  };

  let tried = null;
  const show = (d, rival = d.rival) => {
    const who = (i) => d.candidates[i].name;
    const head = ["candidate", "compare", "teacher", "student", "score", ...d.features];
    const row = (c, i) => {
      const role = [i === d.taken && "student's", i === d.best && "teacher's best", i === d.executed && "executed"].filter(Boolean).join(", ");
      const button = make("button", { type: "button", "aria-pressed": String(i === rival), "aria-label": `Compare with ${c.name}` }, "vs");
      button.addEventListener("click", () => {
        show(d, i);
        view.querySelector(`[aria-label="Compare with ${CSS.escape(c.name)}"]`)?.focus();
      });
      const bar = (p) => make("td", { class: "n" }, percent(p), make("span", { class: "bar", "aria-hidden": "true" }, make("i", { style: `--v:${100 * (p ?? 0)}` })));
      return make("tr", { class: i === d.taken ? "student" : "" },
        make("th", { scope: "row" }, c.name, make("small", {}, role)), make("td", {}, ...(i === d.taken ? [] : [button])),
        bar(c.teacher), bar(c.student), make("td", { class: "n" }, short(c.score)),
        ...c.values.map((v) => make("td", { class: "n" }, v)));
    };
    const table = make("table", { class: "dense" }, make("caption", {}, `${d.place}. ${d.kind_words[0].toUpperCase()}${d.kind_words.slice(1)}. Level ${d.level}, number ${d.id}.`),
      make("thead", {}, make("tr", {}, ...head.map((h, i) => make("th", { scope: "col", class: i > 1 ? "n" : "", title: d.columns[i - 5] ?? "" }, h)))),
      make("tbody", {}, ...d.candidates.map(row)));
    const parts = [make("p", { class: "verdict" }, d.verdict), scroll("Candidates", table)];
    if (rival !== d.taken) parts.push(make("h3", {}, `Why ${who(d.taken)} rather than ${who(rival)}?`), waterfall(d, rival));
    if (d.path.length) {
      const step = (text, i) => make("li", {}, text, ...(d.parts_after === i + 1 ? [make("b", {}, ` Here ${who(d.rival)} goes the other way.`)] : []));
      parts.push(make("h3", {}, `The way of ${who(d.taken)} through the tree`), make("ol", { class: "path" }, ...d.path.map(step)));
    }
    if (d.guards.length) parts.push(make("h3", {}, "Guards that had a say"), make("ul", {}, ...d.guards.map((g) => make("li", {}, g))));
    if (d.why_not.length) parts.push(make("h3", {}, "What would have changed it?"),
      make("ul", { class: "why-not" }, ...d.why_not.map(([, sentence]) => make("li", {}, sentence))));
    view.replaceChildren(...parts);
    // Another rival leaves changed figures as they are.
    if (tried === d) return;
    tried = d;
    document.getElementById("decision-what-if")?.replaceChildren(...(whatIf?.panel(d, waterfall) ?? []));
  };

  const form = document.getElementById("decision-picker");
  if (!form) return show(decisions[0]);
  const [level, kind, selection, pick] = ["level", "kind", "selection", "decision"].map((name) => form.elements[name]);
  let shown = decisions;
  const fill = (select, values, all) => {
    select.replaceChildren(...(all ? [make("option", { value: "" }, all)] : []), ...values.map(([value, text]) => make("option", { value }, text)));
  };
  const distinct = (of, words = of) => [...new Map(decisions.map((d) => [of(d), words(d)]))];
  const costs = (d) => (d.regret ? `, costs ${percent(d.regret)}` : "");
  const list = () => {
    shown = decisions.filter((d) => (!level.value || d.level === level.value) && (!kind.value || d.kind === kind.value)
      && (!selection.value || d.selection === selection.value));
    if (selection.value === "costly") shown.sort((a, b) => (b.regret ?? 0) - (a.regret ?? 0));
    fill(pick, shown.map((d) => [d.id, `${d.id} · ${d.kind} · ${d.candidates[d.taken].name}${d.taken === d.best ? "" : " ≠ " + d.candidates[d.best].name}${costs(d)}`]));
    document.getElementById("decision-count").textContent = shown.length ? `${shown.length} ${counted(shown.length, "decisions")}` : "No decision of this sort was kept.";
    if (shown.length) show(shown[0]); else for (const part of [view, document.getElementById("decision-what-if")]) part.replaceChildren();
  };
  const turn = (by) => {
    if (!shown.length) return;
    pick.selectedIndex = (pick.selectedIndex + by + shown.length) % shown.length;
    show(shown[pick.selectedIndex]);
  };
  fill(level, distinct((d) => d.level), "all levels");
  fill(kind, distinct((d) => d.kind, (d) => d.kind_words), "all kinds");
  fill(selection, [["costly", "costliest departures"], ["departs", "departures"], ["agrees", "agreements"]], "all");
  for (const select of [level, kind, selection]) select.addEventListener("change", list);
  pick.addEventListener("change", () => show(shown[pick.selectedIndex]));
  form.elements.before.addEventListener("click", () => turn(-1));
  form.elements.next.addEventListener("click", () => turn(1));
  form.addEventListener("submit", (event) => event.preventDefault());
  form.hidden = false;
  if (decisions.some((d) => d.selection === "costly")) selection.value = "costly";
  list();
})();
