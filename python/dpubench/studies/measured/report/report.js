// The charts that studies of figures declare, with their numbers and downloads. Several studies of a page may share this script.
for (const study of new Set([...document.querySelectorAll(".figures[data-of]")].map((holder) => holder.dataset.of))) dpubench.part(study, ({ $$, data }) => {
  const { h, num, span, sizeText, media, LIGHT, theme, SYMBOLS, DASHES, plain, ticks, tickText, blank, apart, library, CONFIG, save, saveSvg, failing, csv, onAppearance } = dpubench;
  const look = (index, th) => ({ color: th.lines[index % th.lines.length], dash: DASHES[Math.floor(index / th.lines.length) % DASHES.length], symbol: SYMBOLS[index % SYMBOLS.length] });
  const hover = (figure, line, p) => [`<b>${plain(line.name || figure.quantity)}</b>`, `${plain(figure.axis)}: ${plain(p.x)}`, plain(`${span(p.value, p.low, p.high).value}  ${p.low === null ? "" : `[${span(p.value, p.low, p.high).range}]`}, ${figure.quantity}`), ...(p.rough ? ["not converged or few rounds"] : [])].join("<br>");
  const errors = (points, color) => ({ type: "data", symmetric: false, color, thickness: 1.1, width: 3, array: points.map((p) => (p.high === null ? 0 : p.high - p.value)), arrayminus: points.map((p) => (p.low === null ? 0 : p.value - p.low)) });

  function traces(figure, th) {
    return figure.lines.map((line, index) => {
      const { color, dash, symbol } = look(index, th);
      const points = figure.numeric ? [...line.points].sort((a, b) => a.x - b.x) : line.points;
      const common = { name: plain(line.name), x: points.map((p) => (figure.numeric ? Number(p.x) : plain(p.x))), y: points.map((p) => p.value), hoverinfo: "text", hovertext: points.map((p) => hover(figure, line, p)), error_y: errors(points, figure.numeric ? color : th.ink) };
      if (!figure.numeric) return { ...common, type: "bar", marker: { color } };
      return { ...common, mode: figure.marks ? "markers" : "lines+markers", line: { color, width: 1.7, dash }, marker: { symbol, size: 7, color: points.map((p) => (p.rough ? th.paper : color)), line: { color, width: 1.4 } } };
    });
  }
  /** Lines are named at their ends, where names that would touch are pushed apart; bars have a legend. */
  function layout(figure, drawn, width, height, paper) {
    const th = paper ? LIGHT : theme(), small = paper ? 12 : 11, { axis, layout: basics } = blank(th, small, paper), annotations = [];
    const named = figure.lines.length > 1, longest = Math.max(0, ...figure.lines.map((l) => l.name.length));
    const margin = { l: 56, t: paper ? 56 : 12, b: paper ? 76 : 42, r: named && figure.numeric ? 16 + Math.min(width * 0.36, longest * small * 0.56) : 16 };
    const values = figure.lines.flatMap((l) => l.points.flatMap((p) => [p.value, p.low ?? p.value, p.high ?? p.value])).filter((v) => v > 0);
    let low = Math.min(...values) / 1.15, high = Math.max(...values) * 1.15;
    const log = figure.numeric && high / low > 3;
    if (!log) low = 0;
    const room = height - margin.t - margin.b, at = (v) => (log ? Math.log(v / low) / Math.log(high / low) : (v - low) / (high - low)) * room;
    if (named && figure.numeric) {
      const labels = drawn.map((t, index) => ({ index, at: at(t.y[t.y.length - 1]) })).sort((a, b) => a.at - b.at);
      apart(labels, small + 3, room);
      const most = Math.floor((margin.r - 12) / (small * 0.54));
      for (const l of labels) { const name = figure.lines[l.index].name; annotations.push({ xref: "paper", yref: "paper", x: 1, xshift: 7, y: l.at / room, xanchor: "left", yanchor: "middle", showarrow: false, text: plain(name.length > most ? `${name.slice(0, most - 1)}…` : name), font: { size: small, color: look(l.index, th).color } }); }
    }
    if (paper) {
      const text = (y, shift, words, size) => annotations.push({ xref: "paper", yref: "paper", x: 0, xshift: -margin.l + 8, y, yshift: shift, xanchor: "left", yanchor: "middle", showarrow: false, text: words, font: { size, color: size > 12 ? th.ink : th.soft } });
      text(1, 38, `<b>${plain(figure.title)}</b>`, 13);
      text(1, 20, plain([figure.label, figure.fixed].filter(Boolean).join("; ")), 10);
      text(0, -58, plain(`${figure.note}. dpubench ${data.study}, ${figure.run}.`), 9);
    }
    const y = { ...axis, type: log ? "log" : "linear", range: log ? [Math.log10(low), Math.log10(high)] : [0, high], showline: false, title: { text: plain(figure.quantity), standoff: 4 } };
    if (log) { y.tickvals = ticks(low, high); y.ticktext = y.tickvals.map(tickText); }
    const x = { ...axis, title: { text: plain(figure.axis), standoff: 6 } };
    if (figure.numeric) {
      const xs = drawn.flatMap((t) => t.x), [first, last] = [Math.min(...xs), Math.max(...xs)], reach = Math.log10(last / first) || 1;
      const place = (v) => (Math.log10(v / first) / reach) * (width - margin.l - margin.r);
      const marks = [...new Set(xs)].sort((a, b) => b - a).reduce((kept, v) => (kept.length && place(kept[kept.length - 1]) - place(v) < 44 ? kept : [...kept, v]), []);
      Object.assign(x, { type: "log", range: [Math.log10(first) - 0.06 * reach, Math.log10(last) + 0.06 * reach], tickvals: marks, ticktext: marks.map((v) => (figure.axis.endsWith(", B") ? sizeText(v).replace(" B", "") : v < 1e4 ? String(v) : tickText(v))) });
    }
    return { ...basics, width, height, margin, annotations, barmode: "group", showlegend: named && !figure.numeric, legend: { orientation: "h", y: 1.12, font: { size: small } }, xaxis: x, yaxis: y };
  }
  const columns = (figure) => ["series", figure.axis, figure.quantity, "low", "high", "note"];
  const rows = (figure) => figure.lines.flatMap((l) => l.points.map((p) => [l.name, p.x, p.value, p.low, p.high, p.rough ? "not converged or few rounds" : ""]));
  const fileName = (figure) => `dpubench-${data.study}-${figure.run}-${figure.title}`;

  async function download(figure, format) {
    if (format === "csv") return save(`${fileName(figure)}.csv`, csv([...columns(figure), "label"], rows(figure).map((r) => [...r, figure.label])), "text/csv");
    library("lib-plotly");
    const [width, height] = [720, 460], drawn = traces(figure, LIGHT);
    const url = await window.Plotly.toImage({ data: drawn, layout: layout(figure, drawn, width, height, true) }, { format: "svg", width, height });
    return saveSvg(decodeURIComponent(url.slice(url.indexOf(",") + 1)), width, height, fileName(figure), format);
  }
  function table(figure) {
    const cell = (v) => (typeof v === "number" ? num(v) : v ?? "–");
    return h("table", { class: "values" }, h("thead", {}, h("tr", {}, ...columns(figure).map((c) => h("th", { scope: "col" }, c)))), h("tbody", {}, ...rows(figure).map((r) => h("tr", {}, ...r.map((v) => h("td", { class: typeof v === "number" ? "num" : false }, cell(v)))))));
  }
  function draw(holder) {
    const figures = data.charts[Number(holder.dataset.index)];
    holder.replaceChildren(...figures.map((figure) => h("figure", { class: "plot" },
      h("figcaption", {}, figure.title, h("span", { class: "downloads" }, ...["svg", "png", "pdf", "csv"].map((format) => h("button", { type: "button", "aria-label": `Download ${figure.title} as ${format.toUpperCase()}`, click: () => download(figure, format).catch(failing("Download")) }, format.toUpperCase())))),
      h("div", { class: "canvas", role: "img", "aria-label": `${figure.title}. The numbers are in the table below the figure.` }),
      h("p", { class: "under" }, [figure.label, figure.fixed, figure.better === "neither" ? "" : `${figure.better} is better`].filter(Boolean).map((w, i, all) => (i === all.length - 1 ? `${w}.` : w)).join("; ")),
      h("details", { class: "numbers" }, h("summary", {}, "Numbers"), h("div", { class: "points-body", tabindex: "0", role: "region", "aria-label": `Numbers of ${figure.title}` }, table(figure))))));
    library("lib-plotly");
    $$(".canvas", holder).forEach((canvas, index) => {
      const width = media.printing ? 490 : Math.max(280, canvas.clientWidth), height = media.printing ? 230 : 300, drawn = traces(figures[index], theme());
      canvas.style.height = `${height}px`;
      window.Plotly.newPlot(canvas, drawn, layout(figures[index], drawn, width, height, false), CONFIG);
    });
  }
  const all = () => { for (const holder of $$(".figures")) draw(holder); };
  all();
  onAppearance(all, all);
});
