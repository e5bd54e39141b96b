// Comfort only: the page is complete without it.
(() => {
  const all = [...document.querySelectorAll("details")];
  for (const button of document.querySelectorAll("[data-open]")) {
    button.hidden = false;
    button.addEventListener("click", () => {
      const scope = button.closest("section").querySelectorAll("details");
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
  addEventListener("beforeprint", () => all.forEach((d) => { d.open = true; }));

  const tip = document.getElementById("tip");
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
