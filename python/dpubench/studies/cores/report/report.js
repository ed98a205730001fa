// The page of study cores: one kind of figure (series over an axis, lines across), drawn from data that Python made; tables and downloads.
dpubench.part("cores", ({ root, $, $$, data }) => {
  const { h, num, span, plural, media, LIGHT, theme, DASHES, SYMBOLS, plain, ticks, tickText, blank, apart, library, CONFIG, save, saveSvg, failing, csv, latex } = dpubench;
  const simulated = `Modelled, not measured: simulated with dpubench ${data.study}, ${data.runs.map((r) => r.name).join(", ")}.`;
  const figureOf = (box) => data.runs[Number(box.dataset.run)].figures.find((f) => f.id === box.dataset.figure);

  // ------------------------------------------------------------------ a figure
  const look = (th, i) => ({ color: th.lines[i % th.lines.length], dash: DASHES[Math.floor(i / th.lines.length) % 4], symbol: SYMBOLS[i % SYMBOLS.length] });
  const hover = (f, s, [x, y, low, high, id]) => [`<b>${plain(s.name)}</b>`, plain(`${f.x}: ${num(x)}`), plain(`${f.y}: ${span(y, low, high).value}${low === null ? "" : ` [${span(y, low, high).range}]`}`), plain(id), plain(f.labels.join("; "))].join("<br>");
  function traces(f, th) {
    return f.series.flatMap((s, i) => {
      const { color, dash, symbol } = look(th, i);
      return [[s.points, "lines+markers", color], [s.apart, "markers", th.paper]].filter(([points]) => points.length).map(([points, mode, fill]) => ({
        x: points.map((p) => p[0]), y: points.map((p) => p[1]), mode, name: plain(s.name), hoverinfo: "text", hovertext: points.map((p) => hover(f, s, p)),
        line: { color, width: 1.7, dash }, marker: { symbol, size: 7, color: fill, line: { color, width: 1.4 } },
        error_y: { type: "data", symmetric: false, color, thickness: 1.1, width: 3, array: points.map((p) => (p[3] === null ? 0 : p[3] - p[1])), arrayminus: points.map((p) => (p[2] === null ? 0 : p[1] - p[2])) },
      }));
    });
  }
  const marks = (f) => f.series.flatMap((s) => [...s.points, ...s.apart]);
  /** Ends of an axis that hold `values`. */
  function reach(values, log, least) {
    let low = Math.min(...values), high = Math.max(...values);
    if (!log) return [Math.min(0, low), high > 0 ? high * 1.06 : 1];
    low /= 1.15; high *= 1.15;
    if (high / low < least) { const m = Math.sqrt(least / (high / low)); low /= m; high *= m; }
    return [low, high];
  }
  function layoutOf(f, width, height, paper) {
    const th = paper ? LIGHT : theme(), small = paper ? 12 : 11, { axis, layout } = blank(th, small, paper), annotations = [], shapes = [];
    const all = marks(f), ys = all.flatMap((p) => [p[1], p[2], p[3]]).filter((v) => v !== null && (!f.logY || v > 0));
    let [low, high] = reach(ys, f.logY, 3);
    // Lines across that are near belong to the answer; those far away would only press it flat.
    const near = f.references.filter(([, v]) => v > low / 12 && v < high * 12);
    if (f.logY && near.length) [low, high] = reach([...ys, ...near.map(([, v]) => v)], true, 3);
    const fraction = (v) => (f.logY ? Math.log(v / low) / Math.log(high / low) : (v - low) / (high - low));
    const names = f.series.map((s) => s.name), margin = { l: 58, t: paper ? 56 : 12, b: paper ? 104 : 42, r: 16 + Math.min(width * 0.36, Math.max(48, ...names.map((n) => n.length * small * 0.56))) };
    const room = height - margin.t - margin.b, longest = Math.floor((margin.r - 12) / (small * 0.54));
    const ends = f.series.map((s, i) => ({ i, name: s.name, last: (s.points.length ? s.points : s.apart).at(-1) })).filter((e) => e.last).map((e) => ({ ...e, at: fraction(e.last[1]) * room })).sort((a, b) => a.at - b.at);
    apart(ends, small + 3, room);
    for (const e of ends) annotations.push({ xref: "paper", yref: "paper", x: 1, xshift: 7, y: e.at / room, xanchor: "left", yanchor: "middle", showarrow: false, text: plain(e.name.length > longest ? `${e.name.slice(0, longest - 1)}…` : e.name), font: { size: small, color: look(th, e.i).color } });
    // Lines across have their names left of everything that is drawn, where no curve is.
    const aside = near.length ? Math.max(...near.map(([words]) => words.length)) * (small - 1) * 0.6 + 16 : 0;
    let named = -Infinity;
    for (const [words, value] of [...near].sort((a, b) => a[1] - b[1])) {
      shapes.push({ type: "line", xref: "paper", x0: 0, x1: 1, y0: value, y1: value, line: { color: th.soft, width: 1, dash: "dot" }, layer: "below" });
      if (fraction(value) * room - named < small + 1) continue; // its name would cover that of the line below
      named = fraction(value) * room;
      annotations.push({ xref: "paper", x: 0, xshift: 4, y: f.logY ? Math.log10(value) : value, yshift: 7, xanchor: "left", showarrow: false, text: plain(words), bgcolor: th.paper, borderpad: 1, font: { size: small - 1, color: th.soft } });
    }
    const xs = all.map((p) => p[0]), [x0, x1] = [Math.min(...xs), Math.max(...xs)], joined = f.series.flatMap((s) => s.points.map((p) => p[0]));
    const distinct = [...new Set(joined.length ? joined : xs)].sort((a, b) => a - b);
    const xt = f.logX && distinct.length > 9 ? ticks(x0, x1) : distinct.length > 12 ? undefined : distinct;
    const pad = f.logX ? 0.06 * (Math.log10(x1 / x0) || 1) : 0.06 * (x1 - x0 || 1), extent = (f.logX ? Math.log10(x1 / x0) : x1 - x0) + pad, across = width - margin.l - margin.r;
    const before = Math.max(pad, (extent * aside) / Math.max(across - aside, 0.4 * across)), yt = f.logY ? ticks(low, high) : undefined;
    if (paper) modelled.around(annotations, margin, th, f.title, [f.sweep, ...f.labels], [f.note, f.series.some((s) => s.points.some((p) => p[2] !== null)) ? "95 % intervals over sampled messages." : "", simulated]);
    return {
      ...layout, width, height, margin, annotations, shapes,
      xaxis: { ...axis, type: f.logX ? "log" : "linear", range: f.logX ? [Math.log10(x0) - before, Math.log10(x1) + pad] : [x0 - before, x1 + pad], ...(xt ? { tickvals: xt, ticktext: xt.map((v) => (v < 1e4 ? String(+v.toPrecision(4)) : tickText(v))) } : {}), tickangle: 0, title: { text: plain(f.x), standoff: 6 } },
      yaxis: { ...axis, type: f.logY ? "log" : "linear", range: f.logY ? [Math.log10(low), Math.log10(high)] : [low, high], ...(yt ? { tickvals: yt, ticktext: yt.map(tickText) } : { nticks: 7 }), showline: false, title: { text: plain(f.y), standoff: 4 } },
    };
  }
  const shownRows = (f) => ({ columns: ["series", f.x, `modelled ${f.y}`, "95 % interval"], rows: f.series.flatMap((s) => [...s.points, ...s.apart].map(([x, y, low, high]) => [s.name, num(x), num(y), low === null ? "none" : span(y, low, high).range])) });
  function draw(box) {
    const f = figureOf(box), canvas = $(".canvas", box), numbers = $("details.numbers", box);
    if (numbers.childElementCount === 1) numbers.append(modelled.table(shownRows(f)));
    if (!marks(f).length) { canvas.replaceChildren(h("p", { class: "empty" }, "Nothing to draw: the reasons are below.")); canvas.style.height = "auto"; return; }
    const width = media.printing ? 490 : Math.max(280, canvas.clientWidth), height = media.printing ? 230 : 300;
    canvas.style.height = `${height}px`;
    library("lib-plotly");
    window.Plotly.newPlot(canvas, traces(f, theme()), layoutOf(f, width, height, false), CONFIG);
  }
  const fileName = (f) => `dpubench-cores-${f.id.replace(/^figure-/, "")}`;
  async function saveFigure(f, format) {
    library("lib-plotly");
    const width = 680, height = 460, url = await window.Plotly.toImage({ data: traces(f, LIGHT), layout: layoutOf(f, width, height, true) }, { format: "svg", width, height });
    await saveSvg(decodeURIComponent(url.slice(url.indexOf(",") + 1)), width, height, fileName(f), format);
  }
  function saveNumbers(f) {
    const rows = f.series.flatMap((s) => [...s.points, ...s.apart].map(([x, y, low, high, id]) => [s.name, x, y, low, high, id, f.labels.join("; ")]));
    save(`${fileName(f)}.csv`, csv(["series", f.x, `modelled ${f.y}`, "low95", "high95", "point", "labels"], rows), "text/csv");
  }

  // ------------------------------------------------------------------ tables
  const range = (triple) => (triple[0] === null ? "–" : triple[1] === null ? "none" : span(...triple).range);
  const valued = (triple) => (triple[1] === null ? num(triple[0]) : `${span(...triple).value} [${span(...triple).range}]`);
  const COLUMNS = ["kernel", "what", "frame", "model", "organisation", "mhz", "variant", "messages_per_s", "messages_per_s_low95", "messages_per_s_high95", "line_gbps", "line_gbps_low95", "line_gbps_high95", "cycles_per_message", "ipc", "instructions_per_message", "mispredicted", "instruction_cache_miss_ratio", "data_cache_miss_ratio"];
  function everything(run) {
    const columns = [...COLUMNS, ...run.lines.flatMap((l) => [`${l} sustained`, `${l} cores`]), "why_empty", "labels", "id"];
    const rows = run.points.map((p) => [p.kernel, p.told, p.frame, p.model, p.organisation, p.mhz, p.variant, ...p.rate, ...p.gbps, p.cycles[0], p.ipc, p.instructions, p.mispredicted, ...p.misses, ...run.lines.flatMap((_, i) => p.lines[i] ?? ["", ""]), p.why, p.labels.join("; "), p.id]);
    return { columns, rows };
  }
  function pointTable(run) {
    const percent = (v) => (v === null ? "–" : `${num(100 * v)} %`);
    const shown = { columns: ["kernel", "frame", "model", "organisation", "MHz", "variant", "modelled messages/s", "95 % interval", "modelled Gb/s", "95 % interval", "modelled IPC", "modelled data cache misses", ...run.lines, "note"],
      rows: run.points.map((p) => [p.kernel, p.frame, p.model, p.organisation, String(p.mhz), p.variant, num(p.rate[0]), range(p.rate), num(p.gbps[0]), range(p.gbps), num(p.ipc), percent(p.misses[1]), ...run.lines.map((_, i) => p.lines[i]?.[1] ?? "–"), [p.why, ...p.labels].filter(Boolean).join("; ")]) };
    const all = everything(run);
    return [h("div", { class: "points-tools downloads" }, plural(run.points.length, "point"), h("button", { type: "button", "data-points-format": "csv", click: () => save(`dpubench-cores-${run.name}.csv`, csv(all.columns, all.rows), "text/csv") }, "CSV of everything")), modelled.table(shown).firstChild];
  }
  /** The first table as it stands in the page, with the cores of every line. */
  function saveLines(index, format) {
    const run = data.runs[index], { columns, rows } = everything(run);
    if (format === "csv") return save("dpubench-cores.csv", csv(columns, rows), "text/csv");
    const body = run.points.filter((p) => p.rate[0] !== null).map((p) => [p.kernel, p.frame, p.model, p.organisation, String(p.mhz), p.gbps[0] === null ? "headers" : valued(p.gbps), ...run.lines.map((_, i) => p.lines[i]?.[1] ?? "")]);
    save("dpubench-cores.tex", latex(`lllllr${"r".repeat(run.lines.length)}`, ["kernel", "frame", "model", "organisation", "MHz", "modelled Gb/s", ...run.lines], body, `Lines sustained, and processors that each line needs, 95 % intervals in brackets; ${[...new Set(run.points.flatMap((p) => p.labels))].join("; ")}. Modelled, not measured: simulated with dpubench, ${run.name}.`), "application/x-tex");
  }

  // ------------------------------------------------------------------ events
  root.addEventListener("click", (event) => {
    const button = event.target.closest("button");
    if (!button) return;
    if (button.dataset.figureFormat) {
      const f = figureOf(button.closest("figure"));
      if (button.dataset.figureFormat === "csv") saveNumbers(f); else saveFigure(f, button.dataset.figureFormat).catch(failing("Download"));
    } else if (button.dataset.table) saveLines(Number(button.dataset.run), button.dataset.table);
  });
  for (const select of $$("select.line-choice")) select.addEventListener("change", () => { const bar = select.closest(".bar"); $("table", bar.nextElementSibling).dataset.line = select.value; });
  for (const details of $$("details.all-points")) details.addEventListener("toggle", () => { const box = $(".points-body", details); if (details.open && !box.firstChild) box.append(...pointTable(data.runs[Number(details.dataset.run)])); });
  addEventListener("beforeprint", () => { for (const details of $$("details.more-claims")) details.open = true; });
  modelled.whenSeen($$("figure.plot"), draw);
});
