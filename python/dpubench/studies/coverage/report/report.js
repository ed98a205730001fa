// The page of study coverage: radar charts, principal components, tables and downloads, from data that Python made.
dpubench.part("coverage", ({ root, $, $$, data }) => {
  const { h, num, span, plural, media, LIGHT, theme, plain, blank, library, CONFIG, save, saveSvg, failing, csv, latex } = dpubench;
  const origin = (run) => (run.modelled ? "modelled" : "measured");
  const simulated = (run) => `${run.modelled ? "Modelled, not measured: simulated" : "Measured"} with dpubench ${data.study}, ${run.name}.`;
  const runOf = (box) => data.runs[Number(box.dataset.run)];
  const there = (run) => run.points.filter((p) => p.values.some((v) => v !== null));
  const NAMES = { ipc: "IPC", itlb_miss_ratio: "iTLB", dtlb_miss_ratio: "dTLB", l1d_miss_ratio: "L1D", integer_share: "integer", branch_share: "branches", load_store_share: "load/store" };
  const shown = (key, v) => (v === null ? "not counted" : key === "ipc" ? num(v) : `${v === 0 ? "0" : num(100 * v)} %`);

  // ------------------------------------------------------------------ radar charts
  const SVG = "http://www.w3.org/2000/svg", WIDE = 236, HIGH = 208, X = 118, Y = 114, R = 66;
  function s(tag, attributes, ...children) {
    const element = document.createElementNS(SVG, tag);
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    element.append(...children);
    return element;
  }
  const corner = (i, n, r) => { const a = -Math.PI / 2 + (2 * Math.PI * i) / n; return [X + R * r * Math.cos(a), Y + R * r * Math.sin(a)]; };
  const place = ([x, y]) => `${x.toFixed(2)},${y.toFixed(2)}`;
  /** One chart: rings, spokes, and a polygon for each of `layers` ({ name, values, color, dash }). */
  function radar(run, title, layers, th) {
    const n = run.characteristics.length, group = s("g", { "font-family": "Helvetica, Arial, sans-serif" });
    group.append(s("text", { x: X, y: 13, "text-anchor": "middle", "font-size": 13.5, "font-weight": 600, fill: th.ink }, title.length > 30 ? `${title.slice(0, 29)}…` : title));
    for (const ring of [0.25, 0.5, 0.75, 1]) group.append(s("polygon", { points: run.characteristics.map((_, i) => place(corner(i, n, ring))).join(" "), fill: "none", stroke: th.grid, "stroke-width": 1 }));
    run.characteristics.forEach(([key], i) => {
      const [x, y] = corner(i, n, 1), [lx, ly] = corner(i, n, 1.13), anchor = Math.abs(lx - X) < 8 ? "middle" : lx > X ? "start" : "end";
      group.append(s("line", { x1: X, y1: Y, x2: x, y2: y, stroke: th.grid, "stroke-width": 1 }), s("text", { x: lx, y: ly + (i ? 4 : 0), "text-anchor": anchor, "font-size": 11, fill: th.soft }, NAMES[key]));
    });
    for (const { name, values, color, dash } of layers) {
      const at = values.map((v, i) => corner(i, n, v === null || !run.largest[i] ? 0 : Math.min(1, v / run.largest[i])));
      group.append(s("polygon", { points: at.map(place).join(" "), fill: color, "fill-opacity": dash ? 0 : 0.16, stroke: color, "stroke-width": 1.6, "stroke-linejoin": "round", ...(dash ? { "stroke-dasharray": "4 3" } : {}) }));
      at.forEach(([x, y], i) => { group.append(s("circle", { cx: x.toFixed(2), cy: y.toFixed(2), r: 3, fill: dash ? th.paper : color, stroke: color, "stroke-width": 1.2 }, s("title", {}, `${name}: ${run.characteristics[i][1]} ${shown(run.characteristics[i][0], values[i])}`))); });
    }
    return group;
  }
  /** The charts of a figure: title and layers of each. */
  function charts(box, th) {
    const run = runOf(box), [own, other] = th.lines;
    if (box.dataset.figure === "radars") return there(run).filter((p) => p.kind === "operator").map((p) => [p.name, [{ name: p.name, values: p.values, color: own }]]);
    const points = new Map(run.points.map((p) => [p.id, p]));
    return run.composed.map((c) => [points.get(c.id).name, [{ name: `${points.get(c.id).name}, whole`, values: points.get(c.id).values, color: own }, { name: `composed of ${c.weights.map(([w]) => w).join(", ")}`, values: c.values, color: other, dash: true }]]);
  }
  function drawRadars(box) {
    const th = theme(), canvas = $(".canvas", box), all = charts(box, th);
    canvas.replaceChildren(...(all.length ? all.map(([title, layers]) => s("svg", { viewBox: `0 0 ${WIDE} ${HIGH}`, role: "img", "aria-label": `${title}: ${layers.map((l) => runOf(box).characteristics.map(([key, words], i) => `${words} ${shown(key, l.values[i])}`).join(", ")).join("; ")}` }, radar(runOf(box), title, layers, th))) : [h("p", { class: "empty" }, "Nothing to draw: nothing of it was simulated.")]));
  }
  /** All charts of a figure on one sheet, with what stands around them on the page. */
  function radarSheet(box) {
    const run = runOf(box), all = charts(box, LIGHT), columns = Math.min(5, all.length), width = Math.max(columns * WIDE, 600), height = 46 + Math.ceil(all.length / columns) * (HIGH + 8) + 34;
    const sheet = s("svg", { xmlns: SVG, width, height, viewBox: `0 0 ${width} ${height}`, "font-family": "Helvetica, Arial, sans-serif" }, s("rect", { width, height, fill: LIGHT.paper }));
    const line = (x, y, size, text, weight) => s("text", { x, y, "font-size": size, fill: LIGHT.ink, "font-weight": weight }, text);
    sheet.append(line(10, 20, 14, box.dataset.figure === "radars" ? `Characteristics of each operator, ${origin(run)}` : `Whole applications (solid) and compositions of operators (dashed), ${origin(run)}`, 600), line(10, 37, 10, `${run.labels.join("; ")}. iTLB, dTLB, L1D: misses of accesses. Each spoke from 0 to the run's largest value.`, 400));
    all.forEach(([title, layers], i) => { const group = radar(run, title, layers, LIGHT); group.setAttribute("transform", `translate(${(i % columns) * WIDE},${46 + Math.floor(i / columns) * (HIGH + 8)})`); sheet.append(group); });
    sheet.append(line(10, height - 26, 9, `Largest values: ${run.characteristics.map(([key, words], i) => `${words} ${shown(key, run.largest[i])}`).join(", ")}.`, 400), line(10, height - 12, 9, simulated(run), 400));
    return [new XMLSerializer().serializeToString(sheet), width, height];
  }

  // ------------------------------------------------------------------ principal components
  const colors = (run, th) => new Map(there(run).filter((p) => p.kind !== "operator").map((p, i) => [p.id, th.lines[(i + 1) % th.lines.length]]));
  const hover = (run, p) => [`<b>${plain(p.name)}</b>`, plain(p.told), ...run.characteristics.map(([key, words], i) => plain(`${words}: ${shown(key, p.values[i])}`))].join("<br>");
  function componentTraces(run, th) {
    const of = colors(run, th), drawn = there(run).filter((p) => run.scores[p.id]), operators = drawn.filter((p) => p.kind === "operator"), wholes = drawn.filter((p) => p.kind !== "operator");
    const at = (points, i) => points.map((p) => run.scores[p.id][i]);
    return [
      ...wholes.filter((p) => run.phases[p.id]?.length).map((p) => ({ x: run.phases[p.id].map((r) => r[0]), y: run.phases[p.id].map((r) => r[1]), mode: "markers", name: plain(p.name), hoverinfo: "text", hovertext: plain(`${p.name}: a phase`), marker: { size: 4.5, color: of.get(p.id), opacity: 0.45 } })),
      { x: at(operators, 0), y: at(operators, 1), mode: "markers", name: "operators", hoverinfo: "text", hovertext: operators.map((p) => hover(run, p)), marker: { size: 9, color: th.paper, line: { color: th.lines[0], width: 2 } } },
      { x: at(wholes, 0), y: at(wholes, 1), mode: "markers", name: "whole programs", hoverinfo: "text", hovertext: wholes.map((p) => hover(run, p)), marker: { symbol: "diamond", size: 12, color: wholes.map((p) => of.get(p.id)), line: { color: th.paper, width: 1 } } },
    ];
  }
  /** Names beside their marks, those of whole programs first; one that would cover another is left to hovering. */
  function names(run, th, ranges, room, size) {
    const of = colors(run, th), taken = [], found = [];
    const marks = there(run).filter((p) => run.scores[p.id]).map((p) => ({ p, x: ((run.scores[p.id][0] - ranges.x[0]) / (ranges.x[1] - ranges.x[0])) * room.w, y: ((run.scores[p.id][1] - ranges.y[0]) / (ranges.y[1] - ranges.y[0])) * room.h }));
    const covers = (b, t) => b[0] < t[2] && t[0] < b[2] && b[1] < t[3] && t[1] < b[3], spots = marks.map((m) => [m.x - 6, m.y - 6, m.x + 6, m.y + 6]);
    for (const { p, x, y } of [...marks].sort((a, b) => (a.p.kind === "operator") - (b.p.kind === "operator"))) {
      const w = p.name.length * size * 0.56, tall = size + 1;
      for (const [dx, dy, anchor] of [[9, 0, "left"], [-9, 0, "right"], [0, 12, "center"], [0, -12, "center"]]) {
        const left = anchor === "left" ? x + dx : anchor === "right" ? x + dx - w : x - w / 2, b = [left, y + dy - tall / 2, left + w, y + dy + tall / 2];
        if (b[0] < 0 || b[2] > room.w || b[1] < 0 || b[3] > room.h || taken.some((t) => covers(b, t)) || (p.kind === "operator" && spots.some((t) => covers(b, t)))) continue;
        taken.push(b);
        found.push({ x: run.scores[p.id][0], y: run.scores[p.id][1], xshift: dx, yshift: dy, xanchor: anchor, yanchor: "middle", showarrow: false, text: plain(p.name), font: { size, color: p.kind === "operator" ? th.soft : of.get(p.id) } });
        break;
      }
    }
    return found;
  }
  function componentLayout(run, width, height, paper) {
    const th = paper ? LIGHT : theme(), size = paper ? 12 : 11, { axis, layout } = blank(th, size, paper), margin = { l: 52, r: 14, t: paper ? 56 : 10, b: paper ? 104 : 40 };
    const spread = (i) => {
      // A few phases far away would press all else flat: the axes hold the points, and phases as far again.
      const points = Object.values(run.scores).map((r) => r[i]), phases = Object.values(run.phases).flat().map((r) => r[i]), low = Math.min(...points), high = Math.max(...points), more = high - low || 1;
      const all = [...points, ...phases.filter((v) => v > low - more && v < high + more)], a = Math.min(...all), b = Math.max(...all), pad = 0.07 * (b - a || 1);
      return [a - pad, b + pad];
    };
    const ranges = { x: spread(0), y: spread(1) }, room = { w: width - margin.l - margin.r, h: height - margin.t - margin.b };
    const annotations = names(run, th, ranges, room, size);
    if (paper) modelled.around(annotations, margin, th, "Operators, whole programs and their phases on the first two components", run.labels, ["Circles: operators; diamonds: whole programs; dots: their phases.", simulated(run)]);
    const title = (i) => `component ${i + 1} (${num(100 * run.components[i][0])} % of the variance)`;
    const outside = Object.values(run.phases).flat().filter((r) => r[0] < ranges.x[0] || r[0] > ranges.x[1] || r[1] < ranges.y[0] || r[1] > ranges.y[1]).length;
    return { outside, layout: { ...layout, width, height, margin, annotations, xaxis: { ...axis, range: ranges.x, nticks: 8, title: { text: title(0), standoff: 6 } }, yaxis: { ...axis, range: ranges.y, nticks: 8, showline: true, title: { text: title(1), standoff: 4 } } } };
  }
  const componentRows = (run) => ({ columns: ["", "name", ...run.components.slice(0, 3).map((_, i) => `component ${i + 1}`)], rows: there(run).filter((p) => run.scores[p.id]).map((p) => [p.kind, p.name, ...run.scores[p.id].map(num)]) });
  function drawComponents(box) {
    const run = runOf(box), canvas = $(".canvas", box), numbers = $("details.numbers", box), width = media.printing ? 760 : Math.max(280, canvas.clientWidth), height = media.printing ? 300 : canvas.clientHeight || 460;
    if (numbers.childElementCount === 1) numbers.append(modelled.table(componentRows(run)));
    library("lib-plotly");
    const { layout, outside } = componentLayout(run, width, height, false), under = $(".under", box);
    window.Plotly.newPlot(canvas, componentTraces(run, theme()), layout, CONFIG);
    $(".gone", under)?.remove();
    if (outside) under.append(h("span", { class: "gone" }, `Not drawn: ${plural(outside, "phase")} farther away.`));
  }

  // ------------------------------------------------------------------ downloads
  const fileName = (box) => `dpubench-coverage-${runOf(box).name}-${box.dataset.figure}`;
  async function saveFigure(box, format) {
    if (box.dataset.figure !== "components") { const [svg, width, height] = radarSheet(box); return saveSvg(svg, width, height, fileName(box), format); }
    library("lib-plotly");
    const run = runOf(box), width = 680, height = 560, url = await window.Plotly.toImage({ data: componentTraces(run, LIGHT), layout: componentLayout(run, width, height, true).layout }, { format: "svg", width, height });
    return saveSvg(decodeURIComponent(url.slice(url.indexOf(",") + 1)), width, height, fileName(box), format);
  }
  function saveNumbers(box) {
    const run = runOf(box), keys = run.characteristics.map(([key]) => key);
    const points = new Map(run.points.map((p) => [p.id, p])), words = run.labels.join("; ");
    const rows = {
      radars: () => [["operator", ...keys, "labels"], there(run).filter((p) => p.kind === "operator").map((p) => [p.name, ...p.values, words])],
      composed: () => [["application", "which", ...keys, "shares_of_instructions", "distance", "labels"], run.composed.flatMap((c) => [[points.get(c.id).name, "whole", ...points.get(c.id).values, "", null, words], [points.get(c.id).name, "composed", ...c.values, c.weights.map(([n, w]) => `${n}=${w}`).join(","), c.distance, words]])],
      components: () => [["kind", "name", "component_1", "component_2", "labels"], [...there(run).filter((p) => run.scores[p.id]).map((p) => [p.kind, p.name, ...run.scores[p.id].slice(0, 2), words]), ...Object.entries(run.phases).flatMap(([id, list]) => list.map((r) => ["phase", points.get(id)?.name ?? id, ...r, words]))]],
    }[box.dataset.figure]();
    save(`${fileName(box)}.csv`, csv(...rows), "text/csv");
  }
  function everything(run) {
    return { columns: ["id", "kind", "name", "what", "origin", ...run.characteristics.map(([key]) => key), "ipc_low95", "ipc_high95", "instructions", "unknown_share", "why_empty", "labels"], rows: run.points.map((p) => [p.id, p.kind, p.name, p.told, p.origin, ...p.values, p.ipc[1], p.ipc[2], p.instructions, p.unknown, p.why, p.labels.join("; ")]) };
  }
  /** A characteristic as text, with its interval where it has one. */
  function cell(run, p, i) {
    const [key] = run.characteristics[i];
    return key === "ipc" && p.ipc[1] !== null ? `${span(...p.ipc).value} [${span(...p.ipc).range}]` : p.values[i] === null ? "–" : shown(key, p.values[i]);
  }
  function pointTable(run) {
    const rows = { columns: [origin(run), "name", "what", ...run.characteristics.map(([, words]) => words), "instructions", "note"], rows: run.points.map((p) => [p.kind, p.name, p.told, ...run.characteristics.map((_, i) => cell(run, p, i)), p.instructions.toLocaleString("en-US"), [p.origin, p.why].filter(Boolean).join("; ")]) };
    const all = everything(run);
    return [h("div", { class: "points-tools downloads" }, plural(run.points.length, "point"), h("button", { type: "button", "data-points-format": "csv", click: () => save(`dpubench-coverage-${run.name}.csv`, csv(all.columns, all.rows), "text/csv") }, "CSV of everything")), modelled.table(rows).firstChild];
  }
  /** The characteristics of everything, as the page's table has them. */
  function saveTable(run, format) {
    const { columns, rows } = everything(run);
    if (format === "csv") return save(`dpubench-coverage-${run.name}.csv`, csv(columns, rows), "text/csv");
    const body = there(run).map((p) => [p.kind, p.name, ...run.characteristics.map((_, i) => cell(run, p, i)), String(p.instructions)]);
    save(`dpubench-coverage-${run.name}.tex`, latex(`ll${"r".repeat(run.characteristics.length + 1)}`, ["", "name", ...run.characteristics.map(([, words]) => words), "instructions"], body, `Characteristics of operators and whole programs, ${origin(run)}, 95 % intervals in brackets; ${run.labels.join("; ")}. ${simulated(run)}`), "application/x-tex");
  }

  // ------------------------------------------------------------------ events
  root.addEventListener("click", (event) => {
    const button = event.target.closest("button");
    if (!button) return;
    if (button.dataset.figureFormat) {
      const box = button.closest("figure");
      if (button.dataset.figureFormat === "csv") saveNumbers(box); else saveFigure(box, button.dataset.figureFormat).catch(failing("Download"));
    } else if (button.dataset.table) saveTable(data.runs[Number(button.dataset.run)], button.dataset.table);
  });
  for (const details of $$("details.all-points")) details.addEventListener("toggle", () => { const box = $(".points-body", details); if (details.open && !box.firstChild) box.append(...pointTable(data.runs[Number(details.dataset.run)])); });
  modelled.whenSeen($$("figure.plot"), (box) => (box.dataset.figure === "components" ? drawComponents(box) : drawRadars(box)));
});
