// Draws the figures of a page from the specifications inside it. Needs vegaEmbed; asks the network for nothing.
(() => {
  "use strict";

  const QUIET_MS = 400; // how long a slider must rest before its readouts are spoken

  function debounce(action, milliseconds) {
    let timer;
    return () => {
      clearTimeout(timer);
      timer = setTimeout(action, milliseconds);
    };
  }

  function show(readout, value, locale) {
    readout.dataset.value = String(value);
    readout.textContent = Number.isFinite(value) ? locale.format(readout.dataset.format)(value) : String(value ?? "");
    readout.toggleAttribute("data-words", !readout.dataset.format || /\s/.test(readout.textContent));
  }

  function follow(figure, view) {
    const readouts = [...figure.querySelectorAll("[data-signal]")];
    const spoken = figure.querySelector("[role=status]");
    const sentence = () => readouts.map((r) => `${r.previousElementSibling.textContent}: ${r.textContent}`).join("; ");
    const speak = debounce(() => { spoken.textContent = sentence(); }, QUIET_MS);
    for (const readout of readouts) {
      show(readout, view.signal(readout.dataset.signal), view.locale());
      view.addSignalListener(readout.dataset.signal, (_name, value) => {
        show(readout, value, view.locale());
        speak();
      });
    }
  }

  // Vega writes a label around each control but puts the changing value inside it too; a name should stay put.
  function nameControls(figure) {
    for (const bind of figure.querySelectorAll(".vega-bind")) {
      const name = bind.querySelector(".vega-bind-name")?.textContent.trim();
      for (const input of bind.querySelectorAll("input[type=range], select")) input.setAttribute("aria-label", name);
      bind.querySelector("input[type=range] + span")?.setAttribute("aria-hidden", "true");
    }
  }

  // Vega itself follows the window alone, not a sidebar that opens or a style that arrives late.
  // Forced: after a layout the signal holds the width within the padding, and may equal the new one around it.
  function fit(chart, view) {
    if (chart.classList.contains("bindlib-figure__chart--fixed")) return;
    const resize = () => view.signal("width", chart.clientWidth, { force: true }).runAsync();
    new ResizeObserver(resize).observe(chart);
  }

  async function draw(figure) {
    const chart = figure.querySelector(".bindlib-figure__chart");
    const spec = JSON.parse(figure.querySelector(".bindlib-figure__spec").textContent);
    try {
      const { view } = await vegaEmbed(chart.firstElementChild, spec, {
        actions: false,
        bind: figure.querySelector(".bindlib-figure__controls"),
        defaultStyle: false,
        renderer: "svg",
      });
      if (chart.scrollWidth > chart.clientWidth) chart.tabIndex = 0;
      fit(chart, view);
      nameControls(figure);
      follow(figure, view);
      figure.dataset.drawn = "";
    } catch (error) {
      chart.innerHTML = figure.querySelector("noscript").textContent;
      figure.querySelector(".bindlib-figure__controls").replaceChildren();
      console.error(error);
    }
  }

  document.querySelectorAll("figure.bindlib-figure").forEach(draw);
})();
