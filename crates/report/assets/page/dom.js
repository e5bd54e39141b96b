// Elements and numbers, for the scripts that come after this one. Texts enter the page as texts, never as markup.
const dom = (() => {
  const fill = (node, attributes, children) => {
    for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
    node.append(...children);
    return node;
  };
  const make = (tag, attributes = {}, ...children) => fill(document.createElement(tag), attributes, children);
  const draw = (tag, attributes, ...children) => fill(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
  const percent = (p) => (p === null ? "–" : (100 * p).toFixed(1) + "\u00a0%");
  // Scores and their differences: three digits.
  const short = (v) => {
    const text = v.toPrecision(3);
    return (text.includes("e") ? String(Number(text)) : text).replaceAll("-", "\u2212");
  };
  const signed = (v) => (v < 0 ? "" : "+") + short(v);
  // A number as a field takes it, and as a person reads it.
  const digits = (v, n = 6) => String(Number(v.toPrecision(n)));
  const words = (v) => (Number.isFinite(v) ? digits(v, 4).replace("-", "\u2212") : String(v));
  // The unit of a number: of one thing in the singular. Units of time stay.
  const counted = (n, unit) => (n === 1 && /^[a-z]{2,}s$/i.test(unit) ? unit.slice(0, -1) : unit);
  // Inside something that scrolls sideways by keyboard too.
  const scroll = (label, ...children) => make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": label }, ...children);
  return { make, draw, percent, short, signed, digits, words, counted, scroll };
})();
