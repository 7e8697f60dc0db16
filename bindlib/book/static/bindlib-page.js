// Small repairs to what the tools around us write, for readers who use the keyboard or a screen reader.
(() => {
  "use strict";

  const BOXES = {
    ".math": "formula",
    ".bd-article .pst-scrollable-table-container": "table",
    ".bindlib-table": "table of values",
    ".bindlib-figure__chart--fixed": "",
    ".cell_output": "output",
    pre: "code",
  };

  // What is wider than its box scrolls there: its edges fade where more follows, and the keyboard reaches it.
  function mark(box) {
    const more = { left: box.scrollLeft > 1, right: box.scrollLeft + box.clientWidth < shownWidth(box) - 1 };
    box.dataset.more = Object.keys(more).filter((side) => more[side]).join(" ");
  }

  // The formula for screen readers, which is wider than the one that is seen, does not count.
  function shownWidth(box) {
    const formula = box.matches(".math") && box.querySelector("mjx-math");
    return formula ? formula.getBoundingClientRect().right - box.getBoundingClientRect().left + box.scrollLeft : box.scrollWidth;
  }

  const sizes = new ResizeObserver((entries) => entries.forEach(({ target }) => reach(target)));

  function reach(box) {
    if (getComputedStyle(box).display === "inline") return;
    mark(box);
    const label = Object.entries(BOXES).find(([kind]) => box.matches(kind))[1];
    if (!box.dataset.more || box.tabIndex === 0) return;
    box.tabIndex = 0;
    if (!box.role && label) Object.assign(box, { role: "group", ariaLabel: `${label}, scrolls sideways` });
    box.addEventListener("scroll", () => mark(box), { passive: true });
  }

  function markScrollable() {
    for (const box of document.querySelectorAll(Object.keys(BOXES).join())) sizes.observe(box);
  }

  // Docutils calls the bibliography a list and its entries something else, which leaves a list without items.
  for (const list of document.querySelectorAll(".citation-list[role=list]")) list.removeAttribute("role");

  window.addEventListener("load", () => {
    (window.MathJax?.startup?.promise ?? Promise.resolve()).then(markScrollable);
  });
})();
