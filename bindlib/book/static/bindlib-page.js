// Small repairs to what the tools around us write, for readers who use the keyboard or a screen reader.
(() => {
  "use strict";

  const BOXES = "div.math, mjx-container, .bd-article .pst-scrollable-table-container, .cell_output, pre";

  // The keyboard must reach what scrolls sideways on a narrow screen.
  function markScrollable() {
    for (const box of document.querySelectorAll(BOXES)) {
      const scrolls = box.scrollWidth > box.clientWidth && getComputedStyle(box).overflowX !== "visible";
      if (scrolls) box.tabIndex = 0;
    }
  }

  // Docutils calls the bibliography a list and its entries something else, which leaves a list without items.
  for (const list of document.querySelectorAll(".citation-list[role=list]")) list.removeAttribute("role");

  window.addEventListener("load", () => {
    (window.MathJax?.startup?.promise ?? Promise.resolve()).then(markScrollable);
  });
  window.addEventListener("resize", markScrollable);
})();
