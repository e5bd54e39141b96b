// "What if a number were different?" below the rules of a level: thresholds, scores and coefficients are changed, guards are
// switched off, and the student decides again on the choices that the page holds.
(() => {
  if (!whatIf) return;
  const { make, percent, digits, words, counted, scroll } = dom;
  const { student, level_of, rows_of, unit_of, said } = whatIf;

  const at = (root, path) => path.reduce((node, step) => node[step], root);
  const put = (root, path, value) => { at(root, path.slice(0, -1))[path.at(-1)] = value; };

  // As few digits as tell a 32-bit float from its neighbours; the command takes them.
  const shortest = (place, value) => {
    if (!place.single) return String(value);
    for (let n = 1; n < 9; n++) if (Math.fround(Number(value.toPrecision(n))) === value) return String(Number(value.toPrecision(n)));
    return String(Number(value.toPrecision(9)));
  };
  // What a flag is compared with is no flag.
  const shown = (place, value) => (place.unit === "0/1" ? words(value) : said(place, value));
  const quoted = (word) => (/^[\w./:=,+@%-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`);

  const block = (details) => {
    const level = level_of(Number(details.dataset.level));
    const drawn = level.choices.filter((c) => c.drawn);
    const rows = drawn.map((choice) => rows_of(level, choice));
    const taken_by = (student) => {
      const decider = evaluator.level_of(student, level.level);
      return rows.map((rows) => evaluator.choose(decider, rows).taken);
    };
    const before = taken_by(student);
    // New values by place, and guards that are switched off by their number.
    const changes = new Map();
    const off = new Set();

    const edited = () => {
      const copy = structuredClone(student);
      for (const [place, value] of changes) put(copy, place.at, value);
      copy.guards = (copy.guards ?? []).filter((g, i) => !off.has(i));
      return copy;
    };
    // Guards are taken out first, and those behind them move up.
    const place_name = (place) => {
      if (place.guard === null) return place.place;
      return place.place.replace(/^guard\[\d+\]/, `guard[${place.guard - [...off].filter((g) => g < place.guard).length}]`);
    };
    const command = () => {
      const dropped = [...off].sort((a, b) => a - b).flatMap((g) => ["--drop-guard", String(g)]);
      const set = [...changes].filter(([place]) => !off.has(place.guard)).flatMap(([place, value]) => ["--set", `${place_name(place)}=${shortest(place, value)}`]);
      return ["distill", "patch", "student.json", ...dropped, ...set, "-o", "new.json"].map(quoted).join(" ");
    };

    const groups = [...new Set(level.places.map((p) => p.group))];
    const pick = make("select", { name: "place" }, ...groups.map((group) => make("optgroup", { label: group },
      ...level.places.flatMap((p, i) => (p.group === group ? [make("option", { value: String(i) }, p.words)] : [])))));
    const value = make("input", { type: "number", name: "value", step: "any" });
    const unit = make("span");
    const slide = make("input", { type: "range", name: "slide", min: "0", step: "1", "aria-label": "the same, moved past the values that there are" });
    const status = make("p", { class: "verdict", role: "status", "aria-live": "polite" });
    const list = make("ul", { class: "changes" });
    const table = make("tbody");
    const code = make("code");
    const copy = make("button", { type: "button", name: "copy" }, "Copy the command");
    const priced = make("div", {}, make("p", {}, "Choices are not schedules. What the change does to schedules is measured, before it is written, by"),
      make("pre", { tabindex: "0" }, code), make("p", {}, copy));
    const reset = make("button", { type: "button", name: "reset" }, "Take all changes back");
    const guards = level.guards.map(({ guard, words }) => {
      const box = make("input", { type: "checkbox", "data-guard": String(guard) });
      box.checked = true;
      box.addEventListener("change", () => { if (box.checked) off.delete(guard); else off.add(guard); show(); });
      return make("label", {}, box, make("span", {}, ` ${words}`));
    });

    // Where a slider stops: the values of a feature that occur, for other numbers an even scale around what it is.
    const stops = (place) => {
      level.stops ??= new Map();
      if (level.stops.has(place)) return level.stops.get(place);
      let found;
      if (place.column !== null) {
        const all = Array.from(new Set(rows.flatMap((rows) => rows.map((row) => row[place.column])))).filter(Number.isFinite).sort((a, b) => a - b);
        found = all.length <= 200 ? all : Array.from({ length: 201 }, (_, i) => all[Math.round(i * (all.length - 1) / 200)]);
      } else {
        const [low, high] = place.range;
        found = Array.from({ length: 201 }, (_, i) => low + i * (high - low) / 200);
      }
      found = [...new Set([...found, place.now])].sort((a, b) => a - b);
      level.stops.set(place, found);
      return found;
    };
    const place_at = () => level.places[Number(pick.value)];
    const now = (place) => changes.get(place) ?? place.now;
    const scale_of = (place) => unit_of(place, place.now);
    const show_unit = (place) => {
      const { scale, name } = scale_of(place);
      unit.textContent = counted(now(place) / scale, name);
    };
    const fill = () => {
      const place = place_at();
      if (!place) return;
      value.value = digits(now(place) / scale_of(place).scale);
      show_unit(place);
      const list = stops(place);
      slide.max = String(list.length - 1);
      slide.value = String(list.findLastIndex((v) => v <= now(place)));
    };
    const set = (place, raw) => {
      const exact = place.single ? Math.fround(raw) : raw;
      if (exact === place.now || !Number.isFinite(exact)) changes.delete(place); else changes.set(place, exact);
      show_unit(place);
      show();
    };

    const show = () => {
      const student_now = edited();
      const after = changes.size || off.size ? taken_by(student_now) : before;
      const of = (kind) => {
        const places = drawn.flatMap((c, i) => (kind === null || c.kind === kind ? [i] : []));
        const count = (holds) => places.filter(holds).length;
        return {
          n: places.length, changed: count((i) => after[i] !== before[i]),
          was: count((i) => before[i] === drawn[i].best), is: count((i) => after[i] === drawn[i].best),
        };
      };
      const all = of(null);
      const share = (k, n) => percent(n ? k / n : null);
      status.textContent = changes.size || off.size
        ? `The student decides differently in ${all.changed} of ${all.n} ${counted(all.n, "choices")} (${share(all.changed, all.n)}). It agrees with the teacher in ${share(all.is, all.n)}; before, in ${share(all.was, all.n)}.`
        : `Nothing is changed. The student agrees with the teacher in ${share(all.was, all.n)} of ${all.n} ${counted(all.n, "choices")}.`;
      const line = (name, { n, changed, was, is }) => make("tr", {}, make("th", { scope: "row" }, name),
        ...[String(n), `${changed} of ${n}`, share(was, n), share(is, n)].map((text) => make("td", { class: "n" }, text)));
      const kinds = level.kinds.map((name, kind) => [name, of(kind)]).filter(([, { n }]) => n);
      table.replaceChildren(...kinds.map(([name, figures]) => line(name, figures)), ...(kinds.length > 1 ? [line("all", all)] : []));
      list.replaceChildren(...[...off].map((guard) => make("li", {}, `switched off: ${level.guards.find((g) => g.guard === guard).words}`)),
        ...[...changes].map(([place, v]) => make("li", {}, `${place.words}; now ${shown(place, v)}, was ${shown(place, place.now)}`)));
      code.textContent = command();
      priced.hidden = !changes.size && !off.size;
    };

    pick.addEventListener("change", fill);
    value.addEventListener("input", () => {
      const place = place_at();
      const number = value.valueAsNumber;
      value.setAttribute("aria-invalid", String(!Number.isFinite(number)));
      if (Number.isFinite(number)) set(place, number * scale_of(place).scale);
      slide.value = String(stops(place).findLastIndex((v) => v <= now(place)));
    });
    slide.addEventListener("input", () => {
      const place = place_at();
      set(place, stops(place)[Number(slide.value)]);
      value.value = digits(now(place) / scale_of(place).scale);
    });
    reset.addEventListener("click", () => {
      changes.clear();
      off.clear();
      for (const box of details.querySelectorAll("[data-guard]")) box.checked = true;
      fill();
      show();
    });
    copy.addEventListener("click", async () => {
      try {
        await navigator.clipboard.writeText(code.textContent);
        copy.textContent = "Copied";
      } catch {
        // A page from a file may not be allowed to: then the words are marked, ready for the keyboard.
        getSelection().selectAllChildren(code);
        copy.textContent = "Marked; copy with the keyboard";
      }
    });
    const head = ["kind", "choices", "decided differently", "agreed before", "agrees now"].map((h, i) => make("th", { scope: "col", class: i ? "n" : "" }, h));
    const figures = make("table", { class: "dense" }, make("caption", {}, "By kind of choice, on the choices in this page"), make("thead", {}, make("tr", {}, ...head)), table);
    const numbers = level.places.length ? [make("p", {}, make("label", { class: "wide" }, "number ", pick)),
      make("p", {}, make("label", {}, "value ", value, " ", unit), " ", slide)] : [];
    const switches = guards.length ? [make("fieldset", {}, make("legend", {}, "guards that are on"), ...guards)] : [];
    const form = make("form", { class: "what-if" }, ...numbers, ...switches, make("p", {}, reset), list, status,
      scroll("Decisions and agreement by kind", figures), priced);
    form.addEventListener("submit", (event) => event.preventDefault());
    fill();
    show();
    details.append(form);
  };

  for (const details of document.querySelectorAll("details[data-level]")) {
    details.hidden = false;
    details.addEventListener("toggle", () => block(details), { once: true });
  }
})();
