/* What stands below each figure: its data as a table, every mark as a link, CSV, PNG and SVG. And a mark that
   stands for a record leads to it. */
"use strict";

(() => {
  const SCALE = 2; // a PNG has twice the pixels of the page
  const KEYS = ["ctrlKey", "metaKey", "shiftKey"];

  const plain = (value) => String(value ?? "").replace(/<br>/g, " ").replace(/<[^>]+>/g, "").replace(/&lt;/g, "<").replace(/&gt;/g, ">").replace(/&amp;/g, "&");

  /* A figure says itself what its table holds, or its marks are listed as they are drawn. */
  function table(figure) {
    const given = figure.layout?.meta?.data;
    if (given) return given;
    const title = (axis) => plain(axis?.title?.text ?? axis?.title ?? "");
    const columns = ["Series", title(figure.layout?.xaxis) || "x", title(figure.layout?.yaxis) || "y", "Words"];
    const rows = [];
    const links = [];
    for (const trace of figure.data || []) {
      if (trace.hoverinfo === "skip" || trace.mode === "lines") continue;
      const [x, y] = [trace.x ?? [], trace.y ?? []];
      for (let i = 0; i < Math.max(x.length, y.length); i += 1) {
        if (x[i] === null || y[i] === null) continue;
        const words = trace.hovertext?.[i] ?? trace.customdata?.[i] ?? trace.text?.[i] ?? "";
        rows.push([plain(trace.name), x[i], y[i], plain(Array.isArray(words) ? words.join(" · ") : words)]);
        links.push(trace.meta?.links?.[i] ?? "");
      }
    }
    return { columns, rows, links };
  }

  const quoted = (value) => {
    const text = String(value ?? "");
    return /[",\n]/.test(text) ? `"${text.replace(/"/g, '""')}"` : text;
  };

  function save(name, blob) {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(blob);
    link.download = name;
    link.click();
    window.setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
  }

  /* The picture as SVG text. Plotly gives it as an address with the text inside, which needs no request. */
  async function svg(plot) {
    const { offsetWidth: width, offsetHeight: height } = plot;
    const address = await window.Plotly.toImage(plot, { format: "svg", width, height });
    return { text: decodeURIComponent(address.slice(address.indexOf(",") + 1)), address, width, height };
  }

  async function png(plot) {
    const { address, width, height } = await svg(plot);
    const picture = new Image();
    picture.src = address;
    await picture.decode();
    const canvas = document.createElement("canvas");
    [canvas.width, canvas.height] = [width * SCALE, height * SCALE];
    const paper = canvas.getContext("2d");
    paper.fillStyle = window.getComputedStyle(document.body).backgroundColor;
    paper.fillRect(0, 0, canvas.width, canvas.height);
    paper.drawImage(picture, 0, 0, canvas.width, canvas.height);
    return new Promise((resolve) => { canvas.toBlob(resolve, "image/png"); });
  }

  function button(text, action) {
    const made = document.createElement("button");
    made.type = "button";
    made.className = "button";
    made.textContent = text;
    made.addEventListener("click", action);
    return made;
  }

  function fill(box, plot, figure, name, title) {
    const { columns, rows, links } = table(figure);
    const line = (cells) => cells.map(quoted).join(",");
    const csv = () => [line(columns), ...rows.map(line)].join("\r\n");
    const bar = document.createElement("p");
    bar.append(
      button("CSV", () => save(`${name}.csv`, new Blob([`${csv()}\r\n`], { type: "text/csv;charset=utf-8" }))), " ",
      button("PNG", async () => save(`${name}.png`, await png(plot))), " ",
      button("SVG", async () => save(`${name}.svg`, new Blob([(await svg(plot)).text], { type: "image/svg+xml" }))),
    );
    const scroll = document.createElement("div");
    scroll.className = "scroll";
    const shown = scroll.appendChild(document.createElement("table"));
    shown.createCaption().textContent = title;
    const head = shown.createTHead().insertRow();
    for (const column of columns) {
      const cell = head.appendChild(document.createElement("th"));
      cell.scope = "col";
      cell.textContent = column;
    }
    const body = shown.createTBody();
    rows.forEach((cells, at) => {
      const row = body.insertRow();
      cells.forEach((value, place) => {
        const cell = row.appendChild(document.createElement(place === 0 ? "th" : "td"));
        if (place === 0) cell.scope = "row";
        if (typeof value === "number") cell.className = "number";
        if (place === 0 && links?.[at]) {
          const link = cell.appendChild(document.createElement("a"));
          link.href = links[at];
          link.textContent = String(value ?? "");
        } else cell.textContent = typeof value === "number" ? value.toLocaleString("en") : String(value ?? "");
      });
    });
    box.append(bar, scroll);
  }

  function offer(plot, figure) {
    const holder = plot.closest("figure");
    if (!holder || holder.querySelector(".figure-data")) return;
    const box = document.createElement("details");
    box.className = "figure-data";
    const summary = box.appendChild(document.createElement("summary"));
    const linked = (figure.data || []).some((trace) => trace.meta?.links);
    summary.textContent = linked ? "Data, each mark as a link, CSV, PNG, SVG" : "Data, CSV, PNG, SVG";
    const title = holder.querySelector("figcaption")?.textContent ?? "";
    box.addEventListener("toggle", () => {
      box.replaceChildren(summary);
      if (box.open) fill(box, plot, window.siteFigures.figureOf(plot) ?? figure, holder.id || "figure", title);
    });
    holder.append(box);
  }

  const linkOf = (event) => {
    const point = event.points?.[0];
    return point?.data?.meta?.links?.[point.pointNumber] ?? "";
  };

  function lead(plot) {
    plot.on("plotly_click", (event) => {
      const address = linkOf(event);
      if (!address) return;
      if (KEYS.some((key) => event.event?.[key]) || event.event?.button === 1) window.open(address, "_blank", "noopener");
      else window.location.assign(address);
    });
    plot.on("plotly_hover", (event) => plot.classList.toggle("leads", Boolean(linkOf(event))));
    plot.on("plotly_unhover", () => plot.classList.remove("leads"));
  }

  document.addEventListener("figuredrawn", (event) => {
    offer(event.target, event.detail);
    lead(event.target);
  });
})();
