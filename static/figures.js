/* Draws the figures of a page. Each is JSON made on the server; this file adds only what the server can't know:
   the theme's colours, the width there is, and paper. */
"use strict";

(() => {
  const NARROW = 560; // px; below it a figure's own "narrow" values apply, unless it names another width
  const PAPER = 680; // px; fits a printed A4 page
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  const figures = new Map();

  /* plotly.js writes some styles of SVG text as an attribute, which the policy refuses; the same declaration set
     through the element's style object is allowed. */
  const setAttribute = Element.prototype.setAttribute;
  Element.prototype.setAttribute = function set(name, value) {
    if (name === "style" && this instanceof SVGElement) this.style.cssText = value;
    else setAttribute.call(this, name, value);
  };

  const isObject = (value) => value !== null && typeof value === "object" && !Array.isArray(value);

  /* "var(--name)" as a value in a figure is the stylesheet's colour of that name. */
  function themed(value, styles) {
    if (typeof value === "string") {
      const name = /^var\((--[a-z-]+)\)$/.exec(value);
      return name ? styles.getPropertyValue(name[1]).trim() : value;
    }
    if (Array.isArray(value)) return value.map((item) => themed(item, styles));
    if (isObject(value)) {
      return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, themed(item, styles)]));
    }
    return value;
  }

  function merged(base, changes) {
    if (!isObject(base) || !isObject(changes)) return changes;
    const result = { ...base };
    for (const [key, value] of Object.entries(changes)) {
      result[key] = key in base ? merged(base[key], value) : value;
    }
    return result;
  }

  function template(styles) {
    const axis = {
      gridcolor: "var(--grid)", linecolor: "var(--line)", zerolinecolor: "var(--muted)",
      tickcolor: "var(--line)", automargin: true,
    };
    return themed({
      layout: {
        paper_bgcolor: "rgba(0,0,0,0)",
        plot_bgcolor: "rgba(0,0,0,0)",
        font: { family: styles.fontFamily, size: 13, color: "var(--text)" },
        xaxis: axis,
        yaxis: axis,
        hoverlabel: {
          bgcolor: "var(--raised)", bordercolor: "var(--line)", align: "left",
          font: { family: styles.fontFamily, color: "var(--text)", size: 13 },
        },
        modebar: {
          bgcolor: "rgba(0,0,0,0)", color: "var(--muted)", activecolor: "var(--text)",
        },
        annotationdefaults: { font: { color: "var(--text)" } },
        shapedefaults: { line: { color: "var(--muted)" } },
      },
    }, styles);
  }

  const CONFIG = {
    displaylogo: false,
    modeBarButtons: [["toImage", "zoomIn2d", "zoomOut2d", "pan2d", "resetScale2d"]],
    responsive: false, // the observer below does it, together with the narrow form
  };

  function prepared(figure, width) {
    const styles = window.getComputedStyle(document.body);
    const narrow = width < (figure.layout?.meta?.narrow_below ?? NARROW);
    const part = (item) => (narrow && item.meta && item.meta.narrow ? merged(item, item.meta.narrow) : item);
    const layout = themed(part(figure.layout || {}), styles);
    const data = (figure.data || []).map((trace) => themed(part(trace), styles));
    return [data, { dragmode: false, ...layout, template: template(styles), width, autosize: false }];
  }

  /* Whether no axis can be moved. */
  function isFixed(layout) {
    const axes = Object.entries(layout).filter(([key]) => /^[xy]axis\d*$/.test(key));
    return axes.length > 0 && axes.every(([, axis]) => axis.fixedrange);
  }

  async function draw(element, figure, width = element.clientWidth) {
    if (!figures.has(element)) element.replaceChildren(); // what stood there for a browser without scripts
    if (figure) figures.set(element, figure);
    if (!width) return;
    const [data, layout] = prepared(figures.get(element), width);
    const name = element.closest("figure")?.id || "figure";
    // SVG: a vector, and no picture has to be loaded from a blob, which the policy refuses.
    const config = {
      ...CONFIG,
      displayModeBar: isFixed(layout) ? false : "hover", // its buttons would do nothing and be stops for Tab
      toImageButtonOptions: { format: "svg", filename: name },
    };
    await window.Plotly.react(element, data, layout, config);
    element.dataset.width = String(width);
    if (!element.dataset.ready) {
      element.dispatchEvent(new CustomEvent("figuredrawn", { bubbles: true, detail: figures.get(element) }));
    }
    element.dataset.ready = "true";
    // A loose heap of its words helps nobody who listens: a table on the page says the same in order.
    for (const picture of element.querySelectorAll("svg.main-svg")) picture.setAttribute("aria-hidden", "true");
  }

  const printing = () => document.documentElement.classList.contains("paper");

  function redrawAll(width) {
    for (const element of figures.keys()) draw(element, null, width || element.clientWidth);
  }

  function start() {
    const observer = new ResizeObserver((entries) => {
      if (printing()) return; // the height changes with the paper form, the width there is stays
      for (const { target } of entries) {
        if (target.clientWidth && String(target.clientWidth) !== target.dataset.width) draw(target, null);
      }
    });
    for (const element of document.querySelectorAll("[data-figure]")) {
      const source = document.getElementById(element.dataset.figure);
      if (!window.Plotly || !source) {
        element.textContent = "This chart could not be drawn; the table below holds the same numbers.";
        continue;
      }
      draw(element, JSON.parse(source.textContent)).then(() => observer.observe(element));
    }
    dark.addEventListener("change", () => redrawAll());
    document.addEventListener("themechange", () => redrawAll());
    window.addEventListener("beforeprint", () => {
      document.documentElement.classList.add("paper");
      redrawAll(PAPER);
    });
    window.addEventListener("afterprint", () => {
      document.documentElement.classList.remove("paper");
      redrawAll();
    });
  }

  window.siteFigures = { draw, figureOf: (element) => figures.get(element) };
  start();
})();
