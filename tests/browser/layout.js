// Measures of a page. Each returns what is wrong, in words.
({
  // What is wider than the window, or sticks out of it other than inside something that scrolls.
  sticksOut() {
    const room = document.documentElement.clientWidth, wide = document.scrollingElement.scrollWidth;
    const found = wide > room ? [`the page is ${wide} px wide in a window of ${room} px`] : [];
    for (const e of document.querySelectorAll("body *")) {
      const scrolls = e.parentElement.closest(".scroll, pre, svg");
      const r = e.getBoundingClientRect();
      if (scrolls || !e.checkVisibility() || r.width === 0) continue;
      if (r.left < -1 || r.right > room + 1) {
        found.push(`<${e.tagName} id="${e.id}" class="${e.className}"> from ${r.left} to ${r.right} of ${room}: ${e.textContent.slice(0, 60)}`);
      }
    }
    return found;
  },
  // Pictures wider than the window, and boxes with pictures that have to be scrolled sideways.
  chartsCut() {
    const found = [], room = document.documentElement.clientWidth;
    for (const svg of document.querySelectorAll("svg")) {
      const { left, right, width } = svg.getBoundingClientRect();
      if (!svg.checkVisibility() || width === 0) continue;
      if (right - left > room + 1) found.push(`${svg.closest("[id]").id}: ${width} px in a window of ${room} px`);
      const box = svg.closest(".scroll");
      if (box && box.scrollWidth > box.clientWidth) found.push(`${svg.closest("[id]").id} scrolls in its box`);
    }
    return found;
  },
  // Texts of charts that are cut off by the edge of their picture, stick out of their box, or lie on one another. Two units of
  // the picture are let pass.
  textsCollide() {
    const found = [];
    for (const svg of document.querySelectorAll("svg")) {
      const edge = svg.getBoundingClientRect();
      if (!svg.checkVisibility() || edge.width === 0) continue;
      const slack = 2 * edge.width / svg.viewBox.baseVal.width;
      const name = svg.closest("[id]").id;
      for (const box of svg.querySelectorAll("a > rect")) {
        const { left, right } = box.getBoundingClientRect();
        for (const e of box.parentElement.querySelectorAll("text")) {
          const r = e.getBoundingClientRect();
          if (r.left < left - slack || r.right > right + slack) found.push(`${name}: "${e.textContent}" sticks out of its box`);
        }
      }
      const texts = [...svg.querySelectorAll("text")].map((e) => ({ words: e.textContent.trim(), r: e.getBoundingClientRect() }));
      texts.forEach(({ words, r }, i) => {
        if (r.left < edge.left - slack || r.right > edge.right + slack || r.top < edge.top - slack || r.bottom > edge.bottom + slack) {
          found.push(`${name}: "${words}" is cut off`);
        }
        for (const other of texts.slice(i + 1)) {
          const across = Math.min(r.right, other.r.right) - Math.max(r.left, other.r.left);
          const down = Math.min(r.bottom, other.r.bottom) - Math.max(r.top, other.r.top);
          if (across > slack && down > slack) found.push(`${name}: "${words}" and "${other.words}" overlap`);
        }
      });
    }
    return found;
  },
})
