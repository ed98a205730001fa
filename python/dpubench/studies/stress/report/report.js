// The page of study stress: the box plot of all stressors, the class means, and downloads, from data that Python made.
dpubench.part("stress", ({ $, $$, data }) => {
  const { h, num, media, LIGHT, theme, ticks, tickText, save, saveSvg, failing, csv, options, onAppearance } = dpubench;
  const SVG = "http://www.w3.org/2000/svg";
  const state = { mark: data.mark, class: "" };
  const labels = [...new Set(data.labels.filter(Boolean))].join("; ");
  const source = `${labels ? `${labels}. ` : ""}dpubench stress, ${data.names.join(", ")}.`;

  function s(tag, attributes, ...children) {
    const element = document.createElementNS(SVG, tag);
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, typeof value === "number" ? +value.toFixed(2) : value);
    element.append(...children);
    return element;
  }
  const text = (x, y, size, fill, content, more = {}) => s("text", { x, y, "font-size": size, fill, ...more }, content);
  /** A logarithmic axis from `low` to `high` on `left`..`right`, with its grid down to `bottom`. */
  function axis(low, high, left, right, top, bottom, th) {
    const at = (v) => left + ((Math.log(Math.max(v, low)) - Math.log(low)) / (Math.log(high) - Math.log(low) || 1)) * (right - left);
    const group = s("g", {});
    for (const t of ticks(low, high)) group.append(s("line", { x1: at(t), x2: at(t), y1: top, y2: bottom, stroke: t === 1 ? th.soft : th.grid, "stroke-width": 1 }), text(at(t), top - 5, 10.5, th.soft, tickText(t), { "text-anchor": "middle" }));
    return { at, group };
  }
  const quantile = (sorted, q) => { const i = (sorted.length - 1) * q, a = Math.floor(i), b = Math.ceil(i); return sorted[a] + (sorted[b] - sorted[a]) * (i - a); };

  // ------------------------------------------------------------------ boxes
  /** Rows in the order of the marked target's rank, then of its relative performance; those without a rank come last. */
  function chosen() {
    const key = (row) => { const p = row.points[state.mark]; return p?.rank && p.relative[0] !== null ? [p.rank[0], -p.relative[0]] : [1e9, 0]; };
    return data.rows.filter((row) => (!state.class || row.classes.includes(state.class)) && row.points.some((p) => p && p.relative[0] !== null)).map((row) => [key(row), row]).sort(([a], [b]) => a[0] - b[0] || a[1] - b[1]).map(([, row]) => row);
  }
  function boxes(width, th, caption) {
    const rows = chosen(), step = 15, left = 108, right = width - 78, top = caption ? 62 : 26, height = top + rows.length * step + (caption ? 30 : 8);
    const all = rows.flatMap((row) => row.points.filter((p) => p && p.relative[0] !== null).map((p) => p.relative[0]));
    const low = Math.min(...all, 0.9) / 1.15, high = Math.max(...all, 1.1) * 1.15, { at, group } = axis(low, high, left, right, top, top + rows.length * step, th);
    const sheet = s("svg", { xmlns: SVG, width, height, viewBox: `0 0 ${width} ${height}`, "font-family": "Helvetica, Arial, sans-serif", role: "img", "aria-label": `Relative performance of ${rows.length} stressors; ${data.names[state.mark]} is marked` });
    if (caption) sheet.append(s("rect", { width, height, fill: th.paper }), text(8, 18, 14, th.ink, `Relative performance to ${data.names[data.reference]}; ${data.names[state.mark]} marked`, { "font-weight": 600 }), text(8, 34, 10, th.soft, "Box: quartiles of all targets; line: median; whiskers: lowest and highest; diamond: the marked target; right: its rank."), text(8, height - 8, 9, th.soft, source));
    sheet.append(group);
    rows.forEach((row, i) => {
      const y = top + i * step + step / 2, values = row.points.filter((p) => p && p.relative[0] !== null).map((p) => p.relative[0]).sort((a, b) => a - b), mark = row.points[state.mark];
      const told = row.points.map((p, t) => `${data.names[t]}: ${p && p.relative[0] !== null ? `${num(p.relative[0])}${p.rank ? `, rank ${p.rank[0]}` : ""}` : "no rate"}`).join("\n");
      const line = s("g", {}, s("title", {}, `${row.stressor}, ${row.seconds} s (${row.classes.join(", ")})\n${told}`), s("rect", { x: 0, y: y - step / 2, width, height: step, fill: "transparent" }));
      line.append(text(left - 8, y + 3.5, 10.5, th.ink, row.stressor, { "text-anchor": "end" }), s("line", { x1: at(values[0]), x2: at(values[values.length - 1]), y1: y, y2: y, stroke: th.soft, "stroke-width": 1 }));
      const a = at(quantile(values, 0.25)), b = at(quantile(values, 0.75)), middle = at(quantile(values, 0.5));
      line.append(s("rect", { x: a, y: y - 4, width: Math.max(b - a, 1), height: 8, fill: th.grid, stroke: th.soft, "stroke-width": 0.8 }), s("line", { x1: middle, x2: middle, y1: y - 4, y2: y + 4, stroke: th.ink, "stroke-width": 1.4 }));
      if (mark && mark.relative[0] !== null) { const x = at(mark.relative[0]); line.append(s("path", { d: `M${(x - 5).toFixed(2)} ${y.toFixed(2)}l5 -5l5 5l-5 5z`, fill: mark.noisy || !mark.rank ? th.paper : th.lines[1], stroke: th.lines[1], "stroke-width": 1.2 })); }
      const rank = mark?.rank ? `${mark.rank[0]}${mark.rank[1] !== null && mark.rank[1] !== mark.rank[2] ? ` [${mark.rank[1]}–${mark.rank[2]}]` : ""} of ${mark.rank[3]}` : "–";
      line.append(text(right + 8, y + 3.5, 10, mark?.noisy ? th.soft : th.ink, mark?.noisy ? "not ranked" : rank));
      sheet.append(line);
    });
    return [sheet, width, height];
  }

  // ------------------------------------------------------------------ class means
  function means(width, th, caption) {
    const others = data.names.map((_, i) => i).filter((i) => i !== data.reference), step = 11 * others.length + 12, left = 128, right = width - 20, top = caption ? 62 : 26, legend = 22, height = top + data.classes.length * step + legend + (caption ? 30 : 8);
    const ends = data.classes.flatMap((c) => others.flatMap((t) => { const [mean, deviation, geometric] = c.means[t]; return [mean + (deviation ?? 0), geometric, mean]; }));
    const low = Math.min(...ends, 0.9) / 1.3, high = Math.max(...ends, 1.1) * 1.15, { at, group } = axis(low, high, left, right, top, top + data.classes.length * step, th);
    const sheet = s("svg", { xmlns: SVG, width, height, viewBox: `0 0 ${width} ${height}`, "font-family": "Helvetica, Arial, sans-serif", role: "img", "aria-label": "Mean relative performance by class; the table below has the numbers" });
    if (caption) sheet.append(s("rect", { width, height, fill: th.paper }), text(8, 18, 14, th.ink, `Mean relative performance to ${data.names[data.reference]} by class of stressors`, { "font-weight": 600 }), text(8, 34, 10, th.soft, "Dot: arithmetic mean, with one standard deviation; ring: geometric mean; in brackets: number of stressors."), text(8, height - 8, 9, th.soft, source));
    sheet.append(group);
    data.classes.forEach((c, i) => {
      const y0 = top + i * step;
      sheet.append(s("line", { x1: 0, x2: width, y1: y0, y2: y0, stroke: th.grid, "stroke-width": 0.6 }), text(left - 8, y0 + step / 2 + 4, 11, th.ink, `${c.name} (${c.count})`, { "text-anchor": "end" }));
      others.forEach((t, n) => {
        const [mean, deviation, geometric] = c.means[t], y = y0 + 11 + n * 11, color = th.lines[n % th.lines.length], down = deviation !== null && mean > deviation ? mean - deviation : mean;
        sheet.append(s("g", {}, s("title", {}, `${data.names[t]}, ${c.name}: mean ${num(mean)}, deviation ${deviation === null ? "unknown" : num(deviation)}, geometric mean ${num(geometric)}, ${c.count} stressors`), s("line", { x1: at(down), x2: at(mean + (deviation ?? 0)), y1: y, y2: y, stroke: color, "stroke-width": 1.4 }), s("circle", { cx: at(mean), cy: y, r: 3.6, fill: color }), s("circle", { cx: at(geometric), cy: y, r: 3.2, fill: th.paper, stroke: color, "stroke-width": 1.4 })));
      });
    });
    let x = left;
    others.forEach((t, n) => { sheet.append(s("circle", { cx: x, cy: top + data.classes.length * step + 14, r: 3.6, fill: th.lines[n % th.lines.length] }), text(x + 8, top + data.classes.length * step + 18, 11, th.ink, data.names[t])); x += 26 + 6.6 * data.names[t].length; });
    return [sheet, width, height];
  }

  // ------------------------------------------------------------------ drawing and downloads
  const DRAW = { boxes, means };
  const draw = (box) => { const canvas = $(".canvas", box), width = media.printing ? 720 : Math.max(420, canvas.clientWidth); canvas.replaceChildren(DRAW[box.dataset.figure](width, theme(), false)[0]); };
  const figures = $$("figure.plot");
  const all = () => figures.forEach(draw);
  function rowsOf(figure) {
    if (figure === "means") return [["class", "stressors", "target", "mean", "deviation", "geometric_mean"], data.classes.flatMap((c) => c.means.map((m, t) => [c.name, c.count, data.names[t], ...m]))];
    return [["stressor", "duration_s", "classes", "target", "bogo_ops_per_s", "relative", "relative_low95", "relative_high95", "rank", "rank_low95", "rank_high95", "ranked_targets", "missing_targets", "too_noisy"], data.rows.flatMap((row) => row.points.map((p, t) => [row.stressor, row.seconds, row.classes.join(" "), data.names[t], p ? p.rate[0] : null, ...(p ? p.relative : [null, null, null]), ...(p?.rank ? p.rank : [null, null, null, null, null]), p ? String(p.noisy) : ""]))];
  }
  async function download(box, format) {
    const figure = box.dataset.figure, name = `dpubench-stress-${figure}-${data.names[state.mark]}`;
    if (format === "csv") return save(`${name}.csv`, csv(...rowsOf(figure)), "text/csv");
    const [sheet, width, height] = DRAW[figure](760, LIGHT, true);
    return saveSvg(new XMLSerializer().serializeToString(sheet), width, height, name, format);
  }
  for (const box of figures) for (const button of $$("[data-figure-format]", box)) button.addEventListener("click", () => download(box, button.dataset.figureFormat).catch(failing("Download")));
  const tools = $(".boxes .tools");
  if (tools) {
    const classes = [...new Set(data.rows.flatMap((row) => row.classes))].sort(), redraw = () => draw(tools.closest("figure"));
    tools.append(
      h("label", {}, "Mark", h("select", { id: "mark", change: (e) => { state.mark = Number(e.target.value); redraw(); } }, options(data.names.map((_, i) => i), state.mark, (i) => data.names[i]))),
      h("label", {}, "Class", h("select", { id: "class", change: (e) => { state.class = e.target.value; redraw(); } }, options(["", ...classes], state.class, (c) => c || "all"))),
    );
  }
  all();
  onAppearance(all, all);
});
