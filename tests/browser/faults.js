// What is wrong with a page, by kind: run inside it by the browser tests.
() => {
  const label = (node) => node.outerHTML.slice(0, 160);
  const article = document.querySelector("article.bd-article") ?? document.createElement("article");
  const shown = (node) => node.getClientRects().length > 0;

  const named = (node) =>
    node.closest("[aria-hidden=true], button, summary") || node.getAttribute("role") === "presentation" || node.alt === "" ||
    (node.alt ?? node.getAttribute("aria-label") ?? node.getAttribute("aria-labelledby") ?? "").trim() ||
    node.querySelector(":scope > title, :scope > figcaption")?.textContent.trim();

  const luminance = (color) => {
    const [r, g, b] = color.match(/[\d.]+/g).slice(0, 3).map((part) => part / 255)
      .map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const page = luminance(getComputedStyle(document.body).backgroundColor);
  const contrast = (color) => {
    const [low, high] = [luminance(color), page].sort((a, b) => a - b);
    return (high + 0.05) / (low + 0.05);
  };

  const figures = [...document.querySelectorAll("figure.bindlib-figure")];
  // Vega keeps the labels it drops, at opacity 0.
  const words = figures.flatMap((f) => [...f.querySelectorAll("svg text")]
    .filter((t) => t.textContent.trim() && getComputedStyle(t).opacity > 0));
  const clipped = (text) => {
    const [word, picture] = [text.getBoundingClientRect(), text.ownerSVGElement.getBoundingClientRect()];
    return word.left < picture.left - 2 || word.right > picture.right + 2 ||
      word.top < picture.top - 2 || word.bottom > picture.bottom + 2;
  };

  // Ink on paper is dark in either mode, and what cannot be moved there is not shown.
  const pale = figures.flatMap((f) => [...f.querySelectorAll("svg text")].slice(0, 1))
    .filter((t) => getComputedStyle(t).fill !== "rgb(34, 40, 50)").map(label);
  const useless = figures.filter((f) => shown(f.querySelector(".bindlib-figure__controls")) ||
    !shown(f.querySelector(".bindlib-figure__chart svg"))).map(label);
  if (matchMedia("print").matches) return { pale, useless };

  const root = document.documentElement;
  return {
    overflow: root.scrollWidth > window.innerWidth + 1 ? [`${root.scrollWidth} > ${window.innerWidth} px`] : [],
    unnamed: [...article.querySelectorAll("img, svg, figure")].filter((n) => shown(n) && !named(n)).map(label),
    // A picture of the page's own, as opposed to decoration, needs words even if alt="" is valid.
    wordless: [...article.querySelectorAll("img")].filter((n) => shown(n) && !n.alt).map(label),
    undrawn: figures.filter((f) => !f.querySelector(
      "svg .mark-line path, svg .mark-area path, svg .mark-symbol path, svg .mark-rect path, svg .mark-rule line, svg .mark-arc path, svg .mark-image image",
    )).map(label),
    silent: figures.flatMap((f) => [...f.querySelectorAll("[data-signal]")])
      .filter((r) => !r.textContent.trim() || !r.dataset.value || r.dataset.value === "undefined").map(label),
    faint: words.filter((t) => contrast(getComputedStyle(t).fill) < 4.5).map(label),
    clipped: words.filter(clipped).map((t) => t.textContent),
    misfit: figures.map((f) => [f.querySelector(".bindlib-figure__chart:not(.bindlib-figure__chart--fixed)"), f.querySelector("svg")])
      .filter(([box, svg]) => box && svg && Math.abs(svg.getBoundingClientRect().width - box.clientWidth) > 2)
      .map(([box, svg]) => `${svg.getBoundingClientRect().width} px in ${box.clientWidth} px`),
    scripts: [...document.querySelectorAll("script[src]")].map((s) => s.src).filter((s) => s.includes("thebe")),
    unset: [...article.querySelectorAll(".math")].filter((m) => !m.querySelector("mjx-container")).map(label),
    misset: [...document.querySelectorAll("mjx-merror, [data-mjx-error]")].map(label),
  };
}
