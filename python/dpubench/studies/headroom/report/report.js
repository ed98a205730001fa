// The page of study headroom: the rate over the delay, with its edge; the share of CPU over the packet size.
dpubench.part("headroom", ({ $, $$, data }) => {
  const { h, num, span, media, LIGHT, theme, DASHES, SYMBOLS, plain, blank, library, CONFIG, save, saveSvg, failing, csv, choice, onAppearance } = dpubench;
  const told = (run) => `${run.imported ? "Imported into" : "Measured with"} dpubench ${data.study}, ${run.name}.`;
  const runOf = (box) => data.runs[Number(box.dataset.run)];
  const kinds = { delay: { of: (run) => run.curves, name: (one) => one.title }, share: { of: (run) => run.shares, name: (one) => `rate ${one.rate}` } };
  const groups = (box) => kinds[box.dataset.figure].of(runOf(box));
  const chosen = (box) => groups(box)[Number(box.dataset.chosen || 0)];
  const nameOf = (box) => kinds[box.dataset.figure].name(chosen(box));
  const threshold = (run, line) => (line.wanted === null ? null : line.wanted * (1 - run.tolerance));
  const bars = (triples, color) => ({ type: "data", symmetric: false, color, thickness: 1, width: 3, array: triples.map(([v, , high]) => (high === null ? 0 : high - v)), arrayminus: triples.map(([v, low]) => (low === null ? 0 : v - low)) });

  // ------------------------------------------------------------------ figures: {traces, shapes, x, y}
  const FIGURES = {
    delay(run, group, th) {
      const color = (i) => th.lines[i % th.lines.length];
      const traces = group.lines.map((line, i) => ({
        x: line.samples.map((s) => s[0]), y: line.samples.map((s) => s[1]), mode: "lines+markers", name: plain(line.work), line: { color: color(i), width: 1.6, dash: DASHES[Math.floor(i / th.lines.length) % 4] },
        marker: { symbol: SYMBOLS[i % SYMBOLS.length], size: 7, color: color(i) }, error_y: bars(line.samples.map((s) => [s[1], s[2], s[3]]), color(i)), hoverinfo: "text",
        hovertext: line.samples.map((s) => plain(`${line.work}, ${num(s[0])} us: ${num(s[1])} Gb/s, ${s[4]} samples; edge ${num(line.edge[0])} us`)),
      }));
      const edges = group.lines.flatMap((line, i) => (line.edge[0] === null ? [] : [{ type: "line", x0: line.edge[0], x1: line.edge[0], yref: "paper", y0: 0, y1: 1, line: { color: color(i), width: 1, dash: "dash" } }]));
      const wanted = group.lines.length && threshold(run, group.lines[0]);
      const level = wanted ? [{ type: "line", xref: "paper", x0: 0, x1: 1, y0: wanted, y1: wanted, line: { color: th.soft, width: 1, dash: "dot" } }] : [];
      return { traces, shapes: [...edges, ...level], x: { title: { text: "delay per burst, us", standoff: 6 }, rangemode: "tozero" }, y: { title: { text: "rate, Gb/s", standoff: 6 }, rangemode: "tozero" } };
    },
    share(_run, group, th) {
      const traces = group.lines.map((line, i) => ({
        x: line.points.map((p) => p[0]), y: line.points.map((p) => p[1]), mode: "lines+markers", name: plain(line.name), line: { color: th.lines[i % th.lines.length], width: 1.6, dash: DASHES[Math.floor(i / th.lines.length) % 4] },
        marker: { symbol: SYMBOLS[i % SYMBOLS.length], size: 7, color: th.lines[i % th.lines.length] }, error_y: bars(line.points.map((p) => p.slice(1)), th.lines[i % th.lines.length]), hoverinfo: "text",
        hovertext: line.points.map((p) => { const s = span(p[1], p[2], p[3]); return plain(`${line.name}, ${p[0]} B: ${s.value} % left [${s.range || "no interval"}]`); }),
      }));
      const sizes = [...new Set(group.lines.flatMap((line) => line.points.map((p) => p[0])))].sort((a, b) => a - b);
      return { traces, shapes: [], x: { title: { text: "packet size, B", standoff: 6 }, type: "log", tickvals: sizes, ticktext: sizes.map(String) }, y: { title: { text: "CPU left, %", standoff: 6 }, rangemode: "tozero" } };
    },
  };
  function drawing(box, width, height, paper) {
    const th = paper ? LIGHT : theme(), run = runOf(box), { axis, layout } = blank(th, paper ? 12 : 11, paper), figure = FIGURES[box.dataset.figure](run, chosen(box), th);
    const notes = [`${nameOf(box)}${run.label ? `; ${run.label}` : ""}`, told(run)].map((text, i) => ({ xref: "paper", yref: "paper", x: 0, xanchor: "left", y: i ? -0.3 : 1.12, showarrow: false, text: plain(text), font: { size: i ? 9 : 13, color: i ? th.soft : th.ink } }));
    return {
      data: figure.traces,
      layout: { ...layout, width, height, showlegend: figure.traces.length > 1, legend: { orientation: "h", y: -0.16, font: { color: th.ink } }, margin: { l: 60, r: 16, t: paper ? 56 : 12, b: paper ? 110 : 70 }, shapes: figure.shapes, annotations: paper ? notes : [], xaxis: { ...axis, ...figure.x }, yaxis: { ...axis, ...figure.y } },
    };
  }
  function draw(box) {
    const canvas = $(".canvas", box);
    if (!groups(box).length) return canvas.replaceChildren(h("p", { class: "empty" }, "Nothing was measured."));
    library("lib-plotly");
    const { data: traces, layout } = drawing(box, media.printing ? 760 : Math.max(280, canvas.clientWidth), media.printing ? 320 : canvas.clientHeight || 380, false);
    return window.Plotly.newPlot(canvas, traces, layout, CONFIG);
  }
  function pick(box) {
    const all = groups(box), name = kinds[box.dataset.figure].name;
    $(".pick", box).replaceChildren(all.length > 1 ? choice("", all.map((_, i) => String(i)), box.dataset.chosen || "0", (i) => name(all[Number(i)]), (i) => { box.dataset.chosen = i; draw(box); }) : all.length ? name(all[0]) : "");
  }

  // ------------------------------------------------------------------ downloads
  function numbers(box) {
    const group = chosen(box);
    if (box.dataset.figure === "delay") return csv(["setting", "work", "delay_us", "gbps", "gbps_low95", "gbps_high95", "samples", "edge_us"], group.lines.flatMap((l) => l.samples.map((s) => [group.title, l.work, ...s, l.edge[0]])));
    return csv(["rate", "series", "packet_bytes", "left_percent", "left_percent_low", "left_percent_high"], group.lines.flatMap((l) => l.points.map((p) => [group.rate, l.name, ...p])));
  }
  async function saveFigure(box, format) {
    const name = `dpubench-headroom-${runOf(box).name}-${box.dataset.figure}`;
    if (format === "csv") return save(`${name}.csv`, numbers(box), "text/csv");
    library("lib-plotly");
    const width = 720, height = 460, url = await window.Plotly.toImage(drawing(box, width, height, true), { format: "svg", width, height });
    return saveSvg(decodeURIComponent(url.slice(url.indexOf(",") + 1)), width, height, name, format);
  }
  document.addEventListener("click", (event) => {
    const button = event.target.closest("button[data-figure-format]");
    if (button && chosen(button.closest("figure"))) saveFigure(button.closest("figure"), button.dataset.figureFormat).catch(failing("The download"));
  });

  const boxes = $$("figure.plot");
  boxes.forEach(pick);
  const seen = new IntersectionObserver((entries) => entries.filter((e) => e.isIntersecting).forEach((e) => { seen.unobserve(e.target); draw(e.target); }), { rootMargin: "200px" });
  for (const box of boxes) seen.observe(box);
  onAppearance(() => boxes.filter((box) => $(".plot-container", box)).forEach(draw), () => boxes.forEach(draw));
});
