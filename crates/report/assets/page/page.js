// Comfort only: the page is complete without it.
(() => {
  for (const button of document.querySelectorAll("[data-open]")) {
    button.hidden = false;
    button.addEventListener("click", () => {
      const scope = button.closest("section").querySelectorAll("details:not(.fold)");
      for (const d of scope) d.open = button.dataset.open === "true";
    });
  }
  // A link to a folded branch opens it.
  const unfold = () => {
    const target = document.getElementById(location.hash.slice(1));
    for (let d = target && target.closest("details"); d; d = d.parentElement.closest("details")) d.open = true;
    if (target) target.scrollIntoView({ block: "nearest" });
  };
  addEventListener("hashchange", unfold);
  if (location.hash) unfold();
  // Paper shows everything; afterwards the page is as it was.
  let folded = [];
  addEventListener("beforeprint", () => {
    folded = [...document.querySelectorAll("details:not([open])")];
    for (const d of folded) d.open = true;
  });
  addEventListener("afterprint", () => { for (const d of folded) d.open = false; });

  const tip = document.getElementById("tip");
  // The browser's own tips would stand beside these; what they say stays for screen readers.
  for (const on of document.querySelectorAll("[data-tip]")) {
    const title = on.querySelector("title");
    if (title) on.setAttribute("aria-label", title.textContent);
    title?.remove();
    on.removeAttribute("title");
  }
  const show = (event) => {
    // A page that scrolls under a resting mouse does not take the tip from what has the keyboard.
    const under = event.target.closest && event.target.closest("[data-tip]");
    const on = under || document.querySelector("[data-tip]:focus-visible");
    tip.hidden = !on || !on.dataset.tip;
    if (tip.hidden) return;
    tip.textContent = on.dataset.tip;
    const at = on.getBoundingClientRect();
    const left = Math.max(8, Math.min(at.left, innerWidth - tip.offsetWidth - 8));
    const below = at.bottom + 6 + tip.offsetHeight < innerHeight;
    tip.style.left = left + "px";
    tip.style.top = (below ? at.bottom + 6 : at.top - tip.offsetHeight - 6) + "px";
  };
  for (const kind of ["mouseover", "focusin"]) document.addEventListener(kind, show);
  document.addEventListener("focusout", () => { tip.hidden = true; });
  document.addEventListener("keydown", (event) => { if (event.key === "Escape") tip.hidden = true; });
})();

// Columns of a table sort by a press on their heads: numbers first by size, words by letter.
(() => {
  const value = (cell) => {
    const text = cell.firstChild ? cell.firstChild.textContent.trim() : "";
    const number = Number.parseFloat(text.replace(/[,\u00a0\s]/g, "").replace("\u2212", "-"));
    return Number.isNaN(number) ? text : number;
  };
  const compare = (a, b) => (typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b)));
  for (const table of document.querySelectorAll("table.sortable")) {
    const heads = [...table.tHead.rows[0].cells];
    heads.forEach((head, column) => {
      const button = document.createElement("button");
      button.type = "button";
      button.append(...head.childNodes);
      head.append(button);
      button.addEventListener("click", () => {
        const down = head.getAttribute("aria-sort") === "ascending" || (!head.hasAttribute("aria-sort") && head.classList.contains("n"));
        for (const other of heads) other.removeAttribute("aria-sort");
        head.setAttribute("aria-sort", down ? "descending" : "ascending");
        const rows = [...table.tBodies[0].rows];
        rows.sort((a, b) => compare(value(a.cells[column]), value(b.cells[column])) * (down ? -1 : 1));
        table.tBodies[0].append(...rows);
      });
    });
  }
})();
