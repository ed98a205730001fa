// The report's behaviour: filter, figures, point tables, calculator, downloads. Everything from a run is set as text, never as markup.
"use strict";
dpubench.part("operators", ({ root, $, $$, data }) => {
  const { h, num, span, sizeText, words, numeric, plural, media, LIGHT, theme, SYMBOLS, DASHES, plain, alpha, ticks, tickText, blank, apart, library, CONFIG, save, saveSvg, failing, csv, latex, bracket, options, choice, onAppearance } = dpubench;
  const F = Object.fromEntries(data.fields.map((name, i) => [name, i]));
  const RF = Object.fromEntries(data.ratioFields.map((name, i) => [name, i]));
  const many = data.runs.length > 1;
  const base = data.baseline === null ? null : data.runs[data.baseline];
  let pairing = data.pairing;
  const MAX_LINES = 8;
  function paramText(op, name, value) {
    const unit = op.parameters.find((p) => p.name === name)?.unit;
    if (name === "size" && numeric(value)) return sizeText(Number(value));
    if (/_bits$/.test(name) && numeric(value)) return `${value} bit`;
    if (unit === "B" && numeric(value)) return `${words(name)} ${sizeText(Number(value))}`;
    return numeric(value) ? `${words(name)} ${value}` : value;
  }

  // ------------------------------------------------------------------ points
  const text = (i) => data.texts[i];
  function points(op) {
    if (!op.list) op.list = op.points.map((raw) => ({ raw, run: raw[F.run], engine: op.engines[raw[F.engine]], params: op.params[raw[F.params]], threads: raw[F.threads], burst: raw[F.burst], footprint: text(raw[F.footprint]) }));
    return op.list;
  }
  const get = (p, name) => p.raw[F[name]];
  /** Ratios to the baseline in the pairing that was chosen, as points: one a run and configuration. */
  function ratios(op) {
    op.ratioLists ||= {};
    return (op.ratioLists[pairing] ||= op.ratios.filter((r) => r[RF[pairing]] !== null).map((r) => {
      const of = (name) => r[RF[pairing + name]], weak = text(of("Weak"));
      const raw = [];
      for (const [name, value] of [["rounds", of("Rounds")], ["weak", of("Weak")], ["converged", /not converged/.test(weak) ? 0 : 1], ["ops", r[RF[pairing]]]]) raw[F[name]] = value;
      return { raw, run: r[0], engine: "", params: op.params[r[RF.params]], threads: r[RF.threads], burst: r[RF.burst], footprint: text(r[RF.footprint]), ratio: [r[RF[pairing]], of("Low"), of("High")], verdict: text(of("Verdict")), reason: text(of("Reason")), engines: text(of("Engines")) };
    }));
  }
  const shownBy = (op, state) => (state.quantity === "ratio" ? ratios(op) : points(op));
  const runText = (i) => data.runs[i].name + (data.runs[i].label ? ` (${data.runs[i].label})` : "");
  /** What has to stand beside figures of these runs. */
  const labelled = (indices) => [...new Set(indices)].filter((i) => data.runs[i].label).map(runText);
  const key = (p, name) => (name === "threads" || name === "burst" || name === "footprint" ? String(p[name]) : p.params[name] ?? "");
  /** Names of the figures, as the analysis judges each by itself; the rate and what follows from it alone go by the point. */
  const JUDGED = { cycles: "cycles_per_op", energy: "energy_nj_per_op" };
  const hollow = (p, quantity = "value") => (quantity in JUDGED ? text(get(p, "loose")).split(" ").includes(JUDGED[quantity]) : !get(p, "converged") || get(p, "rounds") < data.fewRounds);
  const distinct = (list, name) => {
    const values = [...new Set(list.map((p) => key(p, name)))];
    return values.every(numeric) ? values.sort((a, b) => a - b) : values;
  };
  const has = (op, name) => points(op).some((p) => get(p, name) !== null);
  /** Where an operator's cycles come from: a hardware counter, an estimate, or both. */
  const cyclesSources = (op) => [...new Set(points(op).filter((p) => get(p, "cycles") !== null).map((p) => text(get(p, "cyclesSource"))))].sort();
  const QUANTITIES = {
    value: { label: (op) => op.unit, name: "Rate", of: (p) => [get(p, "value"), get(p, "low"), get(p, "high")] },
    ns: { label: () => "ns per operation", name: "Time per operation", of: (p) => [get(p, "ns"), get(p, "nsLow"), get(p, "nsHigh")] },
    cycles: { short: (op) => `cycles (${cyclesSources(op).join(" or ")})`, label: (op) => `core cycles per operation, ${cyclesSources(op).join(" or ")}`, name: "Cycles per operation", of: (p) => [get(p, "cycles"), null, null] },
    ratio: { label: () => `rate / rate on ${base.name}`, short: () => `ratio to ${base.name}`, name: "Ratio to the baseline", of: (p) => p.ratio },
    energy: { label: () => "nJ per operation, package energy", name: "Package energy per operation", of: (p) => [get(p, "energy"), get(p, "energyLow"), get(p, "energyHigh")] },
  };

  // ------------------------------------------------------------------ selection of what an operator's figures show
  function dimensions(op) {
    const names = [...new Set(op.params.flatMap((p) => Object.keys(p)))];
    const order = (n) => { const i = op.parameters.findIndex((p) => p.name === n); return i < 0 ? 99 : i; };
    names.sort((a, b) => order(a) - order(b));
    const axes = names.filter((n) => {
      const entry = op.parameters.find((p) => p.name === n);
      const values = distinct(points(op), n);
      return values.length > 1 && values.every(numeric) && (entry ? entry.axis || /_bits$/.test(n) : n === "size");
    }).sort((a, b) => (b === "size") - (a === "size"));
    return { names, axes, all: [...names, "threads", "burst", "footprint"] };
  }
  function startState(op) {
    const d = dimensions(op);
    const state = { axis: d.axes[0] || "", quantity: "value", log: true, at: {} };
    const wanted = { ...op.start.params, threads: String(op.start.threads), burst: String(op.start.burst), footprint: op.start.footprint };
    for (const n of d.all) state.at[n] = wanted[n] ?? "";
    return settle(op, state, null);
  }
  /** Moves the selection to the nearest one that was measured, keeping `kept` as it is. */
  function settle(op, state, kept) {
    const d = dimensions(op);
    let top = null, score = -1;
    for (const p of points(op)) {
      if (kept && key(p, kept) !== state.at[kept]) continue;
      const s = d.all.reduce((sum, n) => sum + (key(p, n) === state.at[n] ? 1 : 0), 0);
      if (s > score) [top, score] = [p, s];
    }
    if (top) for (const n of d.all) state.at[n] = key(top, n);
    return state;
  }
  function matching(op, state, free) {
    return shownBy(op, state).filter((p) => dimensions_all(op).every((n) => free.includes(n) || key(p, n) === state.at[n]));
  }
  function dimensions_all(op) { return (op.dims ||= dimensions(op)).all; }

  /** Lines of a figure: one per engine (and run), at most eight; of every run its fastest first. */
  function lines(list, x, quantity, engineOf = (p) => p.engine) {
    const groups = new Map();
    for (const p of list) {
      const [v, low, high] = QUANTITIES[quantity].of(p);
      if (v === null || !(v > 0)) continue;
      const engine = engineOf(p), id = `${p.run}/${engine}`;
      if (!groups.has(id)) groups.set(id, { run: p.run, engine, label: [...(many ? [data.runs[p.run].name] : []), ...(engine ? [engine] : [])].join(": "), items: [] });
      groups.get(id).items.push({ x: x(p), v, low, high, p });
    }
    const all = [...groups.values()];
    for (const g of all) { g.items.sort((a, b) => (a.x > b.x) - (a.x < b.x)); g.best = Math.max(...g.items.map((i) => get(i.p, "ops"))); }
    all.sort((a, b) => b.best - a.best);
    const first = [], rest = [], seen = new Set();
    for (const g of all) (seen.has(g.run) ? rest : (seen.add(g.run), first)).push(g);
    const shown = [...first, ...rest].slice(0, MAX_LINES);
    return { shown, left: all.filter((g) => !shown.includes(g)) };
  }

  // ------------------------------------------------------------------ appearance of figures
  function look(op, line, th) {
    // A curve over jobs in flight is of an engine whose points are called after their number.
    const e = Math.max(0, op.engines.findIndex((x) => x === line.engine || x.startsWith(`${line.engine} ~`)));
    if (many) return { color: th.lines[line.run % 8], symbol: SYMBOLS[e % 8], dash: DASHES[e % 4] };
    if (line.engine === op.reference) return { color: th.ink, symbol: "circle", dash: "solid" };
    return { color: th.lines[e % 8], symbol: SYMBOLS[(e + 1) % 8], dash: "solid" };
  }

  /** A figure as Plotly data and layout. kind: "axis", "threads" or "flight" (jobs in flight). `paper` draws it for download. */
  function figure(op, state, kind, width, height, paper) {
    const th = paper ? LIGHT : theme();
    const overThreads = kind === "threads", overFlight = kind === "flight";
    const category = kind === "axis" && state.axis === "";
    const modes = op.dims.names.filter((n) => distinct(points(op), n).length > 1);
    const free = overThreads ? ["threads"] : overFlight ? [] : category ? modes : [state.axis];
    const all = matching(op, state, free);
    const list = overFlight ? curves(all) : leading(all);
    const name = (p) => modes.map((n) => paramText(op, n, p.params[n] ?? "")).join(", ") || op.name;
    const categories = category ? [...new Set(list.map(name))].slice(0, 12) : [];
    const x = overThreads ? (p) => p.threads : overFlight ? (p) => get(p, "flight") : category ? (p) => categories.indexOf(name(p)) : (p) => Number(p.params[state.axis]);
    const { shown, left } = lines(category ? list.filter((p) => x(p) >= 0) : list, x, state.quantity, overFlight ? (p) => text(get(p, "base")) : undefined);
    if (!shown.length) return null;
    const items = shown.flatMap((l) => l.items);
    const xs = [...new Set(items.map((i) => i.x))].sort((a, b) => a - b);
    const xlog = !overThreads && !category;
    const log = !overThreads && state.log;
    // Synchronous engines have no jobs in flight: the fastest of each run is a line across.
    const across = overFlight ? lines(all.filter((p) => !get(p, "flight")), () => 0, state.quantity).shown.filter((l, i, of) => of.findIndex((o) => o.run === l.run) === i) : [];
    const named = [...shown, ...across.map((l) => ({ ...l, label: `${l.label}, synchronous` }))];
    const tops = [...items, ...across.flatMap((l) => l.items)];
    let low = Math.min(...tops.map((i) => i.low ?? i.v)), high = Math.max(...tops.map((i) => i.high ?? i.v));
    if (state.quantity === "ratio") [low, high] = [Math.min(low, 1), Math.max(high, 1)];
    if (log) { low /= 1.12; high *= 1.12; if (high / low < 3) { const m = Math.sqrt(3 / (high / low)); low /= m; high *= m; } } else { low = 0; high *= 1.06; }
    const fraction = (v) => (log ? Math.log(v / low) / Math.log(high / low) : (v - low) / (high - low));

    const small = paper ? 12 : 11;
    const { axis, layout: basics } = blank(th, small, paper);
    const traces = [], annotations = [], shapes = [];
    const dodge = (k) => (category ? (k - (shown.length - 1) / 2) * Math.min(0.18, 0.7 / shown.length) : 0);
    shown.forEach((line, k) => {
      const { color, symbol, dash } = look(op, line, th);
      const px = line.items.map((i) => i.x + dodge(k));
      const known = line.items.every((i) => i.low !== null && i.high !== null);
      if (known && !category && line.items.length > 1)
        traces.push({ x: [...px, ...[...px].reverse()], y: [...line.items.map((i) => i.high), ...line.items.map((i) => i.low).reverse()], fill: "toself", fillcolor: alpha(color, 0.16), line: { width: 0, color: alpha(color, 0) }, mode: "lines", hoverinfo: "skip" });
      traces.push({
        x: px, y: line.items.map((i) => i.v), mode: category ? "markers" : "lines+markers", name: plain(line.label),
        line: { color, width: 1.6, dash }, hoverinfo: "text",
        marker: { symbol, size: 7, color: line.items.map((i) => (hollow(i.p, state.quantity) ? th.paper : color)), line: { color, width: 1.4 }, opacity: 1 },
        error_y: { type: "data", symmetric: false, color, thickness: 1.1, width: 3, array: line.items.map((i) => (i.high === null ? 0 : i.high - i.v)), arrayminus: line.items.map((i) => (i.low === null ? 0 : i.v - i.low)) },
        hovertext: line.items.map((i) => {
          const s = span(i.v, i.low, i.high);
          const where = overThreads ? plural(i.x, "thread") : overFlight ? `${plural(i.x, "job")} in flight` : category ? name(i.p) : paramText(op, state.axis, String(i.x));
          return `<b>${plain(line.label)}</b>, ${plain(where)}<br>${s.value} ${plain(QUANTITIES[state.quantity].label(op))}  [${s.range || "no interval"}]<br>measured, ${plural(get(i.p, "rounds"), "round")}${i.p.engines ? `, ${plain(i.p.engines)}<br>${plain(i.p.verdict)}` : ""}${data.runs[i.p.run].label ? `<br>${plain(data.runs[i.p.run].label)}` : ""}${text(get(i.p, "weak")) ? "<br>" + plain(text(get(i.p, "weak"))) : ""}`;
        }),
      });
    });
    // Labels stand beside the lines' ends, pushed apart until none covers another.
    const margin = { l: 52, t: paper ? 30 : 14, b: paper ? 66 : 42, r: 16 + Math.min(width * 0.34, Math.max(...named.map((l) => l.label.length)) * (small * 0.58)) };
    const room = height - margin.t - margin.b;
    const labels = named.map((l) => ({ l, at: fraction(l.items[l.items.length - 1].v) * room })).sort((a, b) => a.at - b.at);
    apart(labels, small + 3, room);
    const longest = Math.floor((margin.r - 12) / (small * 0.56));
    for (const s of labels) {
      const label = s.l.label.length > longest ? s.l.label.slice(0, longest - 1) + "…" : s.l.label;
      annotations.push({ xref: "paper", yref: "paper", x: 1, xshift: 7, y: s.at / room, xanchor: "left", yanchor: "middle", showarrow: false, text: plain(label), font: { size: small, color: look(op, s.l, th).color } });
    }
    const last = xs[xs.length - 1];
    if (overThreads) {
      const marks = new Map();
      data.runs.forEach((r, i) => {
        if (!shown.some((l) => l.run === i)) return;
        for (const [n, what] of [[r.physical, "core"], [r.logical, "CPU"]]) if (n && !(what === "CPU" && n === r.physical)) { const t = marks.get(n) || new Set(); t.add(plural(n, what)); marks.set(n, t); }
      });
      for (const [n, what] of marks) if (n <= last * 1.02) {
        shapes.push({ type: "line", x0: n, x1: n, y0: 0, y1: 1, yref: "paper", line: { color: th.soft, width: 1, dash: "dot" } });
        annotations.push({ x: n, y: 1, yref: "paper", yanchor: "bottom", xanchor: n > last * 0.85 ? "right" : "center", showarrow: false, text: [...what].join(" / "), font: { size: small - 1, color: th.soft } });
      }
      const top = shown[0].items;
      if (state.quantity !== "ratio" && top[0].x === 1 && top.length > 1) {
        const reach = Math.min(last, high / top[0].v);
        traces.unshift({ x: [1, reach], y: [top[0].v, top[0].v * reach], mode: "lines", hoverinfo: "skip", line: { color: th.soft, width: 1, dash: "dash" } });
        annotations.push({ x: reach * 0.62, y: top[0].v * reach * 0.62, xanchor: "right", yanchor: "bottom", showarrow: false, text: "linear", font: { size: small - 1, color: th.soft } });
      }
    }
    for (const l of across) {
      shapes.push({ type: "line", xref: "paper", x0: 0, x1: 1, y0: l.items[0].v, y1: l.items[0].v, line: { color: look(op, l, th).color, width: 1, dash: "dot" } });
    }
    if (state.quantity === "ratio") shapes.push({ type: "line", xref: "paper", x0: 0, x1: 1, y0: 1, y1: 1, line: { color: th.ink, width: 1 } });
    // Labels that would touch are left out, the last one never.
    const span_ = Math.log(last / xs[0]) || 1, pixel = (v) => ((Math.log(v / xs[0]) / span_) * (width - margin.l - margin.r)) / 1.08;
    const crowded = xlog ? [...xs].reverse().reduce((kept, v) => (kept.length && pixel(kept[kept.length - 1]) - pixel(v) < 44 ? kept : [...kept, v]), []) : xs;
    const xaxis = overThreads
      ? { ...axis, range: [0, last * 1.03], tickvals: xs, title: { text: "threads", standoff: 6 } }
      : category
        ? { ...axis, range: [-0.5, categories.length - 0.5], tickvals: categories.map((_, i) => i), ticktext: categories.map((c) => plain(categories.length > 4 ? c.replace(/, /g, "<br>") : c).replace(/&lt;br&gt;/g, "<br>")), showgrid: false, tickfont: { size: small - 1 } }
        : { ...axis, type: "log", range: [Math.log10(xs[0]) - 0.05 * (Math.log10(last / xs[0]) || 1), Math.log10(last) + 0.03 * (Math.log10(last / xs[0]) || 1)], tickvals: crowded, ticktext: crowded.map((v) => plain(state.axis === "size" && !overFlight ? sizeText(v) : String(v))), title: { text: plain(overFlight ? "jobs in flight" : state.axis === "size" ? "size of a message" : words(state.axis)), standoff: 6 } };
    const yt = log ? ticks(low, high) : null;
    const layout = {
      ...basics, width, height, margin, annotations, shapes, xaxis,
      yaxis: { ...axis, type: log ? "log" : "linear", range: log ? [Math.log10(low), Math.log10(high)] : [low, high], ...(log ? { tickvals: yt, ticktext: yt.map(tickText) } : { nticks: 7 }), title: { text: plain(QUANTITIES[state.quantity].label(op)), standoff: 4 }, showline: false },
    };
    const title = `${op.name}${describe(op, state, free) ? ": " + describe(op, state, free) : ""}`;
    if (paper) {
      annotations.push({ xref: "paper", yref: "paper", x: 0, y: 1, yshift: 8, xanchor: "left", yanchor: "bottom", showarrow: false, text: `<b>${plain(title)}</b>`, font: { size: 13, color: th.ink } });
      const origin = many ? plural(data.runs.length, "run") : `run ${data.runs[0].name}`;
      const beside = labelled(shown.map((l) => l.run));
      annotations.push({ xref: "paper", yref: "paper", x: 0, y: 0, yshift: -46, xanchor: "left", yanchor: "top", align: "left", showarrow: false, text: plain(`Measured; dpubench ${data.runs[0].study}, ${origin}. 95 % intervals; hollow: not converged or few rounds.`) + (beside.length ? `<br>${plain(beside.join("; "))}` : ""), font: { size: 9, color: th.soft } });
    }
    return { runs: shown.map((l) => l.run), data: traces, layout, left, title, weak: items.filter((i) => hollow(i.p, state.quantity)).length, total: items.length, rounds: [...new Set(items.map((i) => get(i.p, "rounds")))].sort((a, b) => a - b) };
  }
  /** Of an engine that was measured with several numbers of jobs in flight the one that reached most: the others are in a figure of their own. */
  function leading(list) {
    const best = new Map();
    const id = (p) => `${p.run}/${text(get(p, "base"))}`;
    for (const p of list) if (get(p, "flight") && !(best.get(id(p))?.ops >= get(p, "ops"))) best.set(id(p), { ops: get(p, "ops"), engine: p.engine });
    return list.filter((p) => !get(p, "flight") || best.get(id(p)).engine === p.engine);
  }
  /** Points of engines that were measured with several numbers of jobs in flight; of one number the explicit one. */
  function curves(list) {
    const found = new Map();
    for (const p of list) if (get(p, "flight")) { const id = `${p.run}/${text(get(p, "base"))}`; if (!found.has(id)) found.set(id, new Map()); const curve = found.get(id), n = get(p, "flight"); if (!curve.has(n) || / ~/.test(p.engine)) curve.set(n, p); }
    return [...found.values()].filter((curve) => curve.size > 1).flatMap((curve) => [...curve.values()]);
  }
  function describe(op, state, free) {
    const d = op.dims;
    const parts = d.names.filter((n) => !free.includes(n) && state.at[n] !== "").map((n) => paramText(op, n, state.at[n]));
    if (!free.includes("threads")) parts.push(plural(Number(state.at.threads), "thread"));
    parts.push(`burst ${state.at.burst}`, state.at.footprint);
    return parts.join(", ");
  }

  // ------------------------------------------------------------------ downloads
  async function saveFigure(op, state, kind, format) {
    library("lib-plotly");
    const [width, height] = [640, 420];
    const f = figure(op, state, kind, width, height, true);
    const url = await window.Plotly.toImage({ data: f.data, layout: f.layout }, { format: "svg", width, height });
    const svg = decodeURIComponent(url.slice(url.indexOf(",") + 1));
    await saveSvg(svg, width, height, `dpubench-${f.title}-${{ threads: "threads", flight: "jobs-in-flight" }[kind] || "rate"}`, format);
  }
  const origin = () => `Measured with dpubench, ${data.runs.map((_, i) => runText(i)).join(", ")}; 95 % intervals in brackets.`;

  function saveResults(format) {
    const { columns, rows } = data.table;
    if (format === "csv") return save("dpubench-results.csv", csv(columns, rows), "text/csv");
    const c = Object.fromEntries(columns.map((n, i) => [n, i]));
    const body = rows.filter((r) => r[c.value] !== null).map((r) => [
      r[c.operator], r[c.configuration], ...(many ? [r[c.run] + (r[c.label] ? ` (${r[c.label]})` : "")] : []), r[c.engine], `${bracket(r[c.value], r[c.low95], r[c.high95])} ${r[c.unit]}`, r[c.ratio_to_next_best] === null ? "" : `${bracket(r[c.ratio_to_next_best], r[c.next_low95], r[c.next_high95])} ${r[c.next_best]}`,
      ...(many ? [bracket(r[c.ratio_to_baseline], r[c.baseline_low95], r[c.baseline_high95]), r[c.verdict]] : [])]);
    save("dpubench-results.tex", latex(many ? "lllllrrl" : "lllrr", ["operator", "configuration", ...(many ? ["run"] : []), "best engine", "rate", "ratio to the next best", ...(many ? ["ratio to baseline", "verdict"] : [])].slice(0, many ? 8 : 5), body, origin()), "application/x-tex");
  }
  const heatName = (m) => `${m.run}${m.label ? ` (${m.label})` : ""}`;
  function saveHeat(index, format) {
    const m = data.heat[index], heads = [...m.sizes, "no size"];
    if (format === "csv") {
      const rows = m.rows.flatMap((r) => r.cells.map((c, i) => c && [r.operator, r.modes, heads[i], c[0], c[1], c[2], c[3], m.label]).filter(Boolean));
      return save(`dpubench-heat-${m.run}.csv`, csv(["operator", "modes", "size", "ratio", "low95", "high95", "verdict", "label"], rows), "text/csv");
    }
    save(`dpubench-heat-${m.run}.tex`, latex("l" + "r".repeat(heads.length), ["operator", ...heads], m.rows.map((r) => [r.operator, ...r.cells.map((c) => (c && c[0] !== null ? num(c[0]) : ""))]), `Ratio of ${heatName(m)} to ${base.name}, ${data.pairings[m.pairing]}. ` + origin()), "application/x-tex");
  }
  function heatSvg(index) {
    const m = data.heat[index], heads = [...m.sizes, "no size"];
    const [left, top, w, row] = [190, 48, 74, 30];
    const width = left + heads.length * w + 10, height = top + m.rows.length * row + 26;
    const NS = "http://www.w3.org/2000/svg";
    const svg = document.createElementNS(NS, "svg");
    const add = (tag, attributes, content) => { const e = document.createElementNS(NS, tag); for (const [k, v] of Object.entries(attributes)) e.setAttribute(k, v); if (content !== undefined) e.textContent = content; svg.append(e); };
    svg.setAttribute("viewBox", `0 0 ${width} ${height}`); svg.setAttribute("width", width); svg.setAttribute("height", height); svg.setAttribute("font-family", "Helvetica, Arial, sans-serif");
    add("rect", { width, height, fill: "#ffffff" });
    add("text", { x: 8, y: 18, "font-size": 13, "font-weight": "bold", fill: LIGHT.ink }, `${heatName(m)} against ${base.name}`);
    heads.forEach((t, i) => { add("text", { x: left + i * w + w / 2, y: 40, "font-size": 11, "text-anchor": "middle", fill: LIGHT.soft }, t); });
    m.rows.forEach((r, j) => {
      add("text", { x: 8, y: top + j * row + 18, "font-size": 11, fill: LIGHT.ink }, r.operator);
      r.cells.forEach((c, i) => {
        if (!c || c[0] === null) return;
        const base = c[4] > 0 ? [0, 98, 170] : [196, 84, 0], a = c[4] === 0 ? 0 : 0.08 + 0.42 * Math.abs(c[4]);
        const fill = c[4] === 0 ? "#eceff2" : `rgb(${base.map((v) => Math.round(255 - a * (255 - v))).join(",")})`;
        add("rect", { x: left + i * w + 1, y: top + j * row + 1, width: w - 2, height: row - 2, fill });
        add("text", { x: left + i * w + w / 2, y: top + j * row + 14, "font-size": 10.5, "font-weight": "bold", "text-anchor": "middle", fill: LIGHT.ink }, `${span(c[0], c[1], c[2]).value}×`);
        add("text", { x: left + i * w + w / 2, y: top + j * row + 24, "font-size": 7.5, "text-anchor": "middle", fill: LIGHT.ink }, span(c[0], c[1], c[2]).range);
      });
    });
    add("text", { x: 8, y: height - 9, "font-size": 9, fill: LIGHT.soft }, `Ratio of rates, ${data.pairings[m.pairing]}, measured, 95 % intervals; grey: undecided or the same.`);
    return { svg: new XMLSerializer().serializeToString(svg), width, height };
  }

  // ------------------------------------------------------------------ an operator's section
  const articles = $$("article.operator");
  function draw(article) {
    const op = data.operators[Number(article.dataset.index)];
    if (!op.start || !op.points.length) return;
    op.dims ||= dimensions(op);
    op.state ||= startState(op);
    article.dataset.drawn = "1";
    const state = op.state;
    const again = (name) => (value) => { state.at[name] = value; settle(op, state, name); draw(article); };
    const set = (name) => (value) => { state[name] = value; draw(article); };
    const controls = $(".controls", article), figures = $(".figures", article);
    const focused = document.activeElement && article.contains(document.activeElement) ? document.activeElement.getAttribute("aria-label") : null;
    const names = op.dims.all.filter((n) => n !== "threads" && n !== state.axis && !(state.axis === "" && op.dims.names.includes(n) && !hasThreads(op)) && distinct(points(op), n).length > 1);
    const quantities = ["value", "ns", ...["cycles", "energy"].filter((name) => has(op, name)), ...(op.ratios.length ? ["ratio"] : [])];
    controls.replaceChildren(
      ...names.map((n) => choice(words(n), distinct(points(op), n), state.at[n], (v) => (n === "size" && numeric(v) ? sizeText(Number(v)) : v), again(n))),
      op.dims.axes.length > 1 ? choice("over", op.dims.axes, state.axis, words, (v) => { state.axis = v; draw(article); }) : null,
      choice("show", quantities, state.quantity, (q) => (QUANTITIES[q].short || QUANTITIES[q].label)(op), set("quantity")));
    controls.replaceChildren(...[...controls.childNodes].filter((n) => n.nodeType === 1));
    const kinds = [];
    const over = state.axis === "" ? dimsVary(op) : true;
    if (over) kinds.push("axis");
    if (distinct(matching(op, state, ["threads"]), "threads").length >= 3) kinds.push("threads");
    if (state.quantity !== "ratio" && curves(matching(op, state, [])).length) kinds.push("flight");
    figures.className = `figures ${kinds.length === 1 ? "single" : kinds.length === 0 ? "none" : ""}`;
    figures.replaceChildren(...kinds.map((kind) => plot(op, article, kind, again)));
    if (!kinds.length) figures.append(singleValues(op, state));
    for (const kind of kinds) paint(op, article, kind);
    let rerun = $(".rerun", article);
    if (!rerun) $(".all-points", article).before((rerun = h("p", { class: "rerun" })));
    const command = rerunCommand(op, state);
    rerun.replaceChildren("Measure this selection again: ", h("code", {}, command), " ", h("button", { type: "button", class: "copy", "data-copy": command }, "Copy"));
    if (focused) { const back = $$("select, button", article).find((e) => e.getAttribute("aria-label") === focused); if (back) back.focus(); }
  }
  const hasThreads = (op) => distinct(points(op), "threads").length >= 3;
  const dimsVary = (op) => op.dims.names.some((n) => distinct(points(op), n).length > 1) || new Set(points(op).map((p) => p.engine)).size > 1;
  function plot(op, article, kind, again) {
    const state = op.state;
    const over = kind === "threads" ? "threads" : kind === "flight" ? "jobs in flight" : state.axis === "" ? "mode" : state.axis === "size" ? "size" : words(state.axis);
    const threads = distinct(points(op), "threads");
    const engines = over === "mode" && !op.dims.names.some((n) => distinct(points(op), n).length > 1);
    return h("figure", { class: "plot", "data-kind": kind },
      h("figcaption", {}, engines ? `${QUANTITIES[state.quantity].name} of each engine` : `${QUANTITIES[state.quantity].name} over ${over}`,
        kind === "axis" && threads.length > 1 ? choice("threads", threads, state.at.threads, (v) => v, again("threads")) : null,
        kind === "threads" && state.axis ? choice(`at ${over === "threads" ? words(state.axis) : over}`, distinct(points(op), state.axis), state.at[state.axis], (v) => paramText(op, state.axis, v), again(state.axis)) : null,
        kind !== "threads" ? h("span", { class: "seg", role: "group", "aria-label": "Scale" }, ...[["log", true], ["linear", false]].map(([label, v]) => h("button", { type: "button", "aria-label": `${label} scale`, "aria-pressed": String(state.log === v), click: () => { state.log = v; draw(article); } }, label))) : null,
        h("span", { class: "downloads" }, ...["svg", "png", "pdf"].map((f) => h("button", { type: "button", "data-figure-format": f, "aria-label": `Download figure over ${over} as ${f.toUpperCase()}`, click: () => saveFigure(op, state, kind, f).catch(failing("Download")) }, f.toUpperCase())))),
      h("div", { class: "canvas", role: "img" }), h("p", { class: "under" }));
  }
  function paint(op, article, kind) {
    const box = $(`.plot[data-kind="${kind}"]`, article), canvas = $(".canvas", box);
    const width = media.printing ? 490 : Math.max(280, canvas.clientWidth), height = media.printing ? 230 : 300;
    canvas.style.height = `${height}px`;
    const f = figure(op, op.state, kind, width, height, false);
    if (!f) { $(".under", box).replaceChildren(op.state.quantity === "ratio" ? "No ratio at this selection: the first table says why." : "Nothing was measured at this selection."); canvas.style.height = ""; canvas.style.minHeight = "0"; canvas.replaceChildren(); return; }
    library("lib-plotly");
    canvas.setAttribute("aria-label", `${f.title}: ${f.total} measured points; the numbers are in the table of all points below`);
    window.Plotly.newPlot(canvas, f.data, f.layout, CONFIG);
    const rounds = f.rounds.length === 1 ? plural(f.rounds[0], "round") : `${f.rounds[0]} to ${f.rounds[f.rounds.length - 1]} rounds`;
    const free = kind === "threads" ? ["threads"] : kind === "flight" ? [] : op.state.axis === "" ? op.dims.names.filter((n) => distinct(points(op), n).length > 1) : [op.state.axis];
    $(".under", box).replaceChildren(`Measured, ${rounds}; ${describe(op, op.state, free)}${op.state.quantity === "ratio" ? `; ${data.pairings[pairing]}` : ""}.`,
      ...labelled(f.runs).map((l) => ` ${l}.`),
      f.weak ? h("b", {}, ` ${f.weak} of ${f.total} points hollow.`) : "",
      f.left.length ? ` Not drawn, beyond ${MAX_LINES} lines: ${f.left.map((l) => l.label).join(", ")}.` : "");
  }
  function singleValues(op, state) {
    const list = matching(op, { ...state, quantity: "value" }, []);
    return h("div", { class: "single-value" }, h("table", {}, h("tbody", {}, ...list.map((p) => { const s = span(get(p, "value"), get(p, "low"), get(p, "high")); return h("tr", {}, h("th", { scope: "row" }, many ? `${runText(p.run)}: ${p.engine}` : p.engine), h("td", {}, h("b", {}, `${hollow(p) ? "○ " : ""}${s.value} ${op.unit}`)), h("td", { class: "ci" }, s.range), h("td", { class: "dim" }, `measured, ${plural(get(p, "rounds"), "round")}`)); }))));
  }
  const shellSafe = (w) => (/^[\w\-./=:,@%+]+$/.test(w) ? w : `'${w.replace(/'/g, "'\\''")}'`);
  function rerunCommand(op, state) {
    const r = data.runs[data.baseline ?? 0];
    const list = ["dpubench", "run", r.study, "--plan", r.plan, "--operator", op.name];
    for (const n of [...op.dims.names].sort()) if (state.at[n] !== "") list.push(...(n === "size" ? ["--size", `${state.at[n]}B`] : ["--param", `${n}=${state.at[n]}`]));
    list.push("--threads", state.at.threads, "--burst", state.at.burst, "--footprint", state.at.footprint);
    for (const kind of op.inputs) if (Object.entries(kind.only_with || {}).every(([n, v]) => state.at[n] === v)) for (const path of r.given[kind.name] || []) list.push("--input", `${kind.name}=${path}`);
    const flights = [...new Set(matching(op, { ...state, quantity: "value" }, []).map((p) => (p.engine.match(/ ~(\d+) in flight/) || [])[1]).filter(Boolean))].sort((a, b) => a - b);
    if (flights.length) list.push("--in-flight", flights.join(","));
    list.push(...r.tail);
    return list.map(shellSafe).join(" ");
  }

  // ------------------------------------------------------------------ ratios, operator by operator
  const ratioState = { size: "", threads: "" };
  const WHOLE = "best of each side";
  /** Ratios of default modes: {op, size, threads, items of every run}. */
  function defaults(op) {
    const same = (p, withThreads) => op.start && p.burst === op.start.burst && p.footprint === op.start.footprint && Object.entries(op.start.params).every(([n, v]) => n === "size" || p.params[n] === v) && (!withThreads || ratioState.threads === WHOLE || String(p.threads) === ratioState.threads);
    if (ratioState.threads !== WHOLE) return ratios(op).filter((p) => same(p, true));
    return op.whole.map(([run, params, burst, footprint, v, low, high, engines]) => ({ run, params: op.params[params], burst, footprint: text(footprint), ratio: [v, low, high], engines: text(engines), verdict: "", weak: "", whole: true })).filter((p) => same(p, false));
  }
  function ratioRows() {
    const rows = [], without = [];
    for (const op of data.operators) {
      if (!op.start || !op.points.length) continue;
      const list = defaults(op), sized = op.start.params.size !== undefined;
      const items = list.filter((p) => !sized || p.params.size === ratioState.size);
      if (items.length) rows.push({ op, items, size: sized ? ratioState.size : "" });
      else without.push(op.name);
    }
    return { rows, without };
  }
  function ratioFigure(width, paper) {
    const th = paper ? LIGHT : theme(), small = paper ? 12 : 11.5;
    const { rows, without } = ratioRows();
    const others = data.runs.map((_, i) => i).filter((i) => i !== data.baseline && rows.some((r) => r.items.some((p) => p.run === i)));
    if (!others.length) return { without };
    const narrow = width < 620, step = 17 * others.length + 9, traces = [], annotations = [], shapes = [];
    const items = rows.flatMap((r) => r.items);
    let low = Math.min(1, ...items.map((p) => p.ratio[1] ?? p.ratio[0])) / 1.15, high = Math.max(1, ...items.map((p) => p.ratio[2] ?? p.ratio[0])) * 1.15;
    if (high / low < 4) { low = Math.min(low, 0.5); high = Math.max(high, 2); }
    // The same engine on both sides is named once.
    const shortly = (engines) => { const [a, b] = engines.split(" / "); return a === b ? a : engines; };
    const longest = Math.max(...items.map((p) => shortly(p.engines).length));
    const margin = { l: narrow ? 84 : 104, r: narrow ? 58 : Math.min(width * 0.36, 66 + longest * small * 0.54), t: paper ? 58 : 26, b: paper ? 66 : 42 };
    const height = margin.t + margin.b + rows.length * step;
    const place = (row, k) => rows.length - 1 - row + (others.length - 1 - 2 * k) * (17 / step) / 2;
    others.forEach((run, k) => {
      const color = th.lines[run % 8], symbol = SYMBOLS[k % 8];
      const own = rows.flatMap((r, i) => r.items.filter((p) => p.run === run).map((p) => ({ p, y: place(i, k), name: r.op.name })));
      const open = ({ p }) => p.whole || !["faster", "slower"].includes(p.verdict) || hollow(p);
      traces.push({
        x: own.map((o) => o.p.ratio[0]), y: own.map((o) => o.y), mode: "markers", hoverinfo: "text", marker: { symbol, size: 8, color: own.map((o) => (open(o) ? th.paper : color)), line: { color, width: 1.5 }, opacity: 1 },
        error_x: { type: "data", symmetric: false, color, thickness: 1.4, width: 4, array: own.map(({ p }) => (p.ratio[2] === null ? 0 : p.ratio[2] - p.ratio[0])), arrayminus: own.map(({ p }) => (p.ratio[1] === null ? 0 : p.ratio[0] - p.ratio[1])) },
        hovertext: own.map(({ p, name }) => { const s = span(...p.ratio); return `<b>${plain(name)}</b>, ${plain(runText(run))}<br>${s.value}×  [${s.range}]<br>${plain(p.engines)}${p.verdict ? `<br>${plain(p.verdict)}` : ""}${p.reason ? `<br>${plain(p.reason)}` : ""}`; }),
      });
      for (const { p, y } of own) annotations.push({ xref: "paper", x: 1, xshift: 8, y, xanchor: "left", yanchor: "middle", align: "left", showarrow: false, text: `<b>${span(...p.ratio).value}×</b>${narrow ? "" : `  ${plain(shortly(p.engines))}`}`, font: { size: small - 0.5, color: others.length > 1 ? color : th.ink } });
    });
    rows.forEach((_, i) => { if (i) shapes.push({ type: "line", xref: "paper", x0: 0, x1: 1, y0: rows.length - i - 0.5, y1: rows.length - i - 0.5, line: { color: th.grid, width: 1 }, layer: "below" }); });
    shapes.push({ type: "line", yref: "paper", x0: 1, x1: 1, y0: 0, y1: 1, line: { color: th.ink, width: 1 } });
    annotations.push({ x: 0, xref: "x", yref: "paper", y: 1, yanchor: "bottom", yshift: 3, showarrow: false, text: plain(`as fast as ${base.name}`), font: { size: small - 1, color: th.soft } });
    const { axis, layout: basics } = blank(th, small, paper);
    const xt = ticks(low, high);
    if (paper) {
      annotations.push({ xref: "paper", yref: "paper", x: 0, xshift: -margin.l + 8, y: 1, yshift: 40, xanchor: "left", yanchor: "middle", showarrow: false, text: `<b>${plain(`Ratio to ${base.name}, ${data.pairings[pairing]}: ${ratioWhere()}`)}</b>`, font: { size: 13, color: th.ink } });
      annotations.push({ xref: "paper", yref: "paper", x: 0, xshift: -margin.l + 8, y: 1, yshift: 22, xanchor: "left", yanchor: "middle", showarrow: false, text: others.map((i, k) => `<span style="color:${th.lines[i % 8]}">${["●", "■", "◆", "▲"][k % 4]} ${plain(runText(i))}</span>`).join("   "), font: { size: 11, color: th.ink } });
      annotations.push({ xref: "paper", yref: "paper", x: 0, xshift: -margin.l + 8, y: 0, yshift: -46, xanchor: "left", yanchor: "top", showarrow: false, text: plain(`Measured; dpubench ${data.runs[0].study}. 95 % intervals from medians of independent rounds; hollow: undecided, the same, or not converged.`), font: { size: 9, color: th.soft } });
    }
    const layout = {
      ...basics, width, height, margin, annotations, shapes,
      xaxis: { ...axis, type: "log", range: [Math.log10(low), Math.log10(high)], tickvals: xt, ticktext: xt.map((v) => `${tickText(v)}×`), title: { text: plain(`rate / rate on ${base.name}`), standoff: 6 } },
      yaxis: { ...axis, range: [-0.5, rows.length - 0.5], tickvals: rows.map((_, i) => rows.length - 1 - i), ticktext: rows.map((r) => plain(r.op.name)), showgrid: false, showline: false, ticks: "", tickfont: { size: small, color: th.ink } },
    };
    return { data: traces, layout, without, height, total: items.length };
  }
  const ratioWhere = () => [...(ratioState.size ? [sizeText(Number(ratioState.size))] : []), ratioState.threads === WHOLE ? "each side at its best number of threads" : plural(Number(ratioState.threads), "thread")].join(", ");
  function drawRatios() {
    const section = $("#ratios");
    if (!section) return;
    const all = data.operators.filter((op) => op.start && op.points.length);
    const found = all.flatMap((op) => ratios(op).filter((p) => p.burst === op.start.burst && p.footprint === op.start.footprint && Object.entries(op.start.params).every(([n, v]) => n === "size" || p.params[n] === v)));
    const unique = (list) => [...new Set(list)].sort((a, b) => a - b);
    const sizes = unique(found.map((p) => p.params.size).filter((v) => v !== undefined)), threads = unique(found.map((p) => p.threads)).map(String);
    if (all.some((op) => op.whole.length)) threads.push(WHOLE);
    const usual = all.map((op) => op.start.params.size).filter((v) => sizes.includes(v));
    const often = usual.sort((a, b) => usual.filter((v) => v === b).length - usual.filter((v) => v === a).length)[0];
    if (!sizes.includes(ratioState.size)) ratioState.size = often ?? sizes[0] ?? "";
    if (!threads.includes(ratioState.threads)) ratioState.threads = threads[0] ?? "1";
    const set = (name) => (value) => { ratioState[name] = value; drawRatios(); };
    const controls = [sizes.length > 1 ? choice("size", sizes, ratioState.size, (v) => sizeText(Number(v)), set("size")) : null, threads.length > 1 ? choice("threads", threads, ratioState.threads, (v) => v, set("threads")) : null];
    $(".controls", section).replaceChildren(...controls.filter(Boolean));
    section.dataset.drawn = "1";
    $$(".legend span[data-run]", section).forEach((s, k) => { const i = $("i", s); i.style.color = theme().lines[Number(s.dataset.run) % 8]; i.textContent = ["●", "■", "◆", "▲", "▼", "⬟", "⬢", "★"][k % 8]; });
    const canvas = $(".canvas", section), f = ratioFigure(media.printing ? 980 : Math.max(300, canvas.clientWidth), false);
    canvas.style.height = `${f.height || 0}px`;
    if (f.layout) { library("lib-plotly"); window.Plotly.newPlot(canvas, f.data, f.layout, CONFIG); } else canvas.replaceChildren();
    canvas.setAttribute("aria-label", `Ratio to ${base.name} at ${ratioWhere()}: ${f.total || 0} ratios; the numbers are in the first table and in the CSV`);
    $(".under", section).replaceChildren(`Measured; ${ratioWhere()}; ${data.pairings[pairing]}; default modes. Engines: on the target / on ${base.name}.${ratioState.threads === WHOLE ? " Whole machines get no verdict: all markers are hollow." : ""}`, f.without.length ? ` No ratio here: ${f.without.join(", ")}; the first table says why.` : "");
  }
  async function saveRatios(format) {
    if (format === "csv") {
      const names = [...new Set(data.operators.flatMap((op) => op.params.flatMap((p) => Object.keys(p))))].sort();
      const rows = Object.keys(data.pairings).flatMap((kind) => data.operators.flatMap((op) => op.ratios.filter((r) => r[RF[kind]] !== null).map((r) => {
        const of = (n) => r[RF[kind + n]], p = op.params[r[RF.params]];
        return [op.name, ...names.map((n) => (n in p ? (numeric(p[n]) ? Number(p[n]) : p[n]) : "")), r[RF.threads], r[RF.burst], text(r[RF.footprint]), data.runs[r[0]].name, data.runs[r[0]].label, kind, r[RF[kind]], of("Low"), of("High"), text(of("Verdict")), text(of("Engines")), of("Rounds"), text(of("Reason"))];
      })));
      return save("dpubench-ratios.csv", csv(["operator", ...names, "threads", "burst", "footprint", "target", "label", "pairing", "ratio", "low95", "high95", "verdict", "engines", "rounds", "reason"], rows), "text/csv");
    }
    library("lib-plotly");
    const width = 760, f = ratioFigure(width, true);
    if (!f.layout) throw new Error("there is no ratio at this selection");
    const url = await window.Plotly.toImage({ data: f.data, layout: f.layout }, { format: "svg", width, height: f.height });
    await saveSvg(decodeURIComponent(url.slice(url.indexOf(",") + 1)), width, f.height, `dpubench-ratio-${pairing}-${ratioWhere()}`, format);
  }
  function choosePairing(chosen) {
    pairing = chosen;
    $("[data-pairing]").dataset.pairing = chosen;
    for (const b of $$("[data-pairing-choice]")) b.setAttribute("aria-pressed", String(b.dataset.pairingChoice === chosen));
    if ($("#ratios")?.dataset.drawn) drawRatios();
    for (const a of articles) if (a.dataset.drawn && data.operators[Number(a.dataset.index)].state.quantity === "ratio") draw(a);
  }

  // ------------------------------------------------------------------ all points of an operator
  function pointTable(op) {
    op.dims ||= dimensions(op);
    const shownParams = op.dims.names;
    const columns = [...(many ? ["run"] : []), ...(data.runs.some((r) => r.label) ? ["label"] : []), ...shownParams, "threads", "burst", "footprint", "engine"];
    // Columns of counters are there only where something counted; cycles of different sources say so in each row.
    const [withCycles, withEnergy, sources] = [has(op, "cycles"), has(op, "energy"), cyclesSources(op)];
    const cyclesCell = (p) => num(get(p, "cycles")) + (sources.length > 1 && get(p, "cycles") !== null ? ` (${text(get(p, "cyclesSource"))})` : "");
    const header = [...columns, op.unit, "95 % interval", "ns per operation", ...(withCycles ? [sources.length > 1 ? "cycles" : `cycles (${sources[0]})`] : []), ...(withEnergy ? ["nJ per operation (package energy)", "95 % interval"] : []), "× reference", "95 % interval", "× next best", "95 % interval", "rounds", ...op.metrics.map((m) => (m.name === "gbps" ? m.unit : words(m.name))), "path", "working set", "verified", "note"];
    const cell = (p, n) => (n === "run" ? data.runs[p.run].name : n === "label" ? data.runs[p.run].label : n === "engine" ? p.engine : key(p, n));
    const list = [...points(op)].sort((a, b) => { for (const n of columns) { const [u, v] = [cell(a, n), cell(b, n)]; if (u !== v) return numeric(u) && numeric(v) ? u - v : u < v ? -1 : 1; } return 0; });
    const row = (p) => {
      const v = span(get(p, "value"), get(p, "low"), get(p, "high")), e = span(get(p, "energy"), get(p, "energyLow"), get(p, "energyHigh")), r = span(get(p, "ratio"), get(p, "ratioLow"), get(p, "ratioHigh"));
      const wide = text(get(p, "loose")).split(" "), mark = (name, shown) => (shown !== "–" && wide.includes(name) ? "○ " : "") + shown;
      const x = span(get(p, "next"), get(p, "nextLow"), get(p, "nextHigh")), nextBest = text(get(p, "nextBest"));
      return [...columns.map((n) => (n === "size" ? sizeText(Number(cell(p, n))) : cell(p, n))), (hollow(p) ? "○ " : "") + v.value, v.range, num(get(p, "ns")), ...(withCycles ? [mark("cycles_per_op", cyclesCell(p))] : []), ...(withEnergy ? [mark("energy_nj_per_op", e.value), e.range] : []), mark("ratio_to_reference", r.value), r.range, nextBest ? mark("ratio_to_next_best", `${x.value} ${nextBest}`) : "", nextBest ? x.range : "", String(get(p, "rounds")), ...get(p, "metrics").map((m, i) => mark(op.metrics[i].name, num(m))), text(get(p, "path")), text(get(p, "extent")), text(get(p, "checked")), text(get(p, "weak"))];
    };
    const full = () => {
      const heads = [...columns, "unit", "value", "low95", "high95", "ops_per_s", "ops_low95", "ops_high95", "ns_per_op", "ns_low95", "ns_high95", "cycles_per_op", "cycles_source", "energy_nj_per_op", "energy_nj_low95", "energy_nj_high95", "ratio_to_reference", "ratio_low95", "ratio_high95", "ratio_to_next_best", "next_low95", "next_high95", "next_best", "rounds", "converged", "not_converged", "in_flight", ...op.metrics.map((m) => m.name), "path", "working set", "verified", "note"];
      const rows = list.map((p) => [...columns.map((n) => { const v = cell(p, n); return numeric(String(v)) ? Number(v) : v; }), op.unit, ...["value", "low", "high", "ops", "opsLow", "opsHigh", "ns", "nsLow", "nsHigh", "cycles", "cyclesSource", "energy", "energyLow", "energyHigh", "ratio", "ratioLow", "ratioHigh", "next", "nextLow", "nextHigh", "nextBest", "rounds", "converged", "loose", "flight"].map((n) => (["cyclesSource", "nextBest", "loose"].includes(n) ? text(get(p, n)) : get(p, n))), ...get(p, "metrics"), text(get(p, "path")), text(get(p, "extent")), text(get(p, "checked")), text(get(p, "weak"))]);
      return csv(heads, rows);
    };
    const first = columns.length;
    const numbers = 8 + (withCycles ? 1 : 0) + (withEnergy ? 2 : 0);
    const numericColumn = (i) => i >= first && i < first + numbers;
    const table = () => latex([...header.slice(0, first + numbers)].map((_, i) => (numericColumn(i) ? "r" : "l")).join(""), header.slice(0, first + numbers), list.map((p) => row(p).slice(0, first + numbers).map((v) => v.replace("○ ", ""))), `${op.name}. ${origin()}`);
    const body = h("tbody");
    const CHUNK = 400;
    let done = 0;
    const more = h("button", { type: "button", click: () => fill() });
    const fill = () => {
      for (const p of list.slice(done, done + CHUNK)) body.append(h("tr", {}, ...row(p).map((v, i) => h("td", { class: numericColumn(i) ? "num" : false }, v))));
      done = Math.min(list.length, done + CHUNK);
      more.hidden = done >= list.length;
      more.textContent = `Show ${Math.min(CHUNK, list.length - done)} more of ${list.length - done}`;
    };
    fill();
    return [
      h("div", { class: "points-tools downloads" }, `${plural(list.length, "point")}, measured`, h("button", { type: "button", "data-points-format": "csv", click: () => save(`dpubench-${op.name}.csv`, full(), "text/csv") }, "CSV"), h("button", { type: "button", "data-points-format": "tex", click: () => save(`dpubench-${op.name}.tex`, table(), "application/x-tex") }, "LaTeX")),
      h("table", { class: "values" }, h("thead", {}, h("tr", {}, ...header.map((t, i) => h("th", { scope: "col", class: numericColumn(i) ? "num" : false }, words(t))))), body), more];
  }

  // ------------------------------------------------------------------ calculator
  /** Cores for `gbps` of `size`-byte packets. curve: [{size, ns, low, high}] of one core; size null: one operation per packet. More cores than were
      `measured` together are extrapolated, and have no interval: that of one core says nothing of how well many add up. */
  function cores(gbps, size, layer, curve, measured) {
    const packets = (gbps * 1e9) / (8 * (size + (layer === "L1" ? 20 : 0)));
    let cost, note = "";
    if (curve[0].size === null) cost = curve[0];
    else {
      const i = curve.findIndex((c) => c.size >= size);
      if (i < 0 || (i === 0 && curve[0].size > size)) return { packets, outside: true };
      if (curve[i].size === size) cost = curve[i];
      else {
        const [a, b] = [curve[i - 1], curve[i]], t = (size - a.size) / (b.size - a.size);
        const mix = (n) => (a[n] === null || b[n] === null ? null : a[n] + t * (b[n] - a[n]));
        cost = { ns: mix("ns"), low: null, high: null, weak: a.weak || b.weak, rounds: Math.min(a.rounds, b.rounds) };
        note = `Interpolated: the time per operation is taken as linear in size between ${sizeText(a.size)} and ${sizeText(b.size)}; nothing was measured at ${size} B, so there is no interval.`;
      }
    }
    const of = (ns) => (ns === null ? null : packets * ns * 1e-9), high = of(cost.high);
    const extrapolated = Math.max(of(cost.ns), high ?? 0) > measured;
    return { packets, cores: of(cost.ns), low: extrapolated ? null : of(cost.low), high: extrapolated ? null : high, extrapolated, note, cost };
  }
  function setUpCalculator() {
    const form = $("#calc"), out = $("#calc-out");
    const usable = data.operators.filter((o) => o.points.length && o.start);
    if (!usable.length) { form.replaceWith(h("p", {}, "No operator was measured.")); return; }
    const state = { op: usable.find((o) => o.bytes) || usable[0], run: data.baseline ?? 0, gbps: "100", size: "1500", layer: "L1", config: "", engine: "" };
    const select = (id) => h("select", { id, "aria-label": id.replace("calc-", "") });
    const [runs, ops, configs, engines, layers] = ["calc-run", "calc-operator", "calc-configuration", "calc-engine", "calc-layer"].map(select);
    const gbps = h("input", { id: "calc-gbps", type: "number", min: "0", step: "any", value: state.gbps, "aria-label": "Gb/s" });
    const size = h("input", { id: "calc-size", type: "number", min: "1", max: "65536", step: "1", value: state.size, "aria-label": "packet size in bytes, with FCS" });
    runs.append(...options(data.runs.map((_, i) => String(i)), String(state.run), (i) => data.runs[i].name));
    ops.append(...options(usable.map((o) => o.name), state.op.name, (n) => n));
    layers.append(...options(["L1", "L2"], "L1", (l) => (l === "L1" ? "line rate (L1)" : "frames (L2)")));
    form.append(gbps, "Gb/s", layers, "of", size, "byte packets (with FCS) through", ops, configs, "on", engines, ...(many ? ["of", runs] : []), "needs");
    form.addEventListener("submit", (e) => e.preventDefault());
    const other = (op, p) => op.dims.names.filter((n) => n !== "size").map((n) => `${n}=${p.params[n] ?? ""}`).join(",");
    const otherText = (op, p) => op.dims.names.filter((n) => n !== "size" && p.params[n]).map((n) => paramText(op, n, p.params[n])).join(" · ") || "default";
    const here = () => points(state.op).filter((p) => p.run === state.run);
    function refill() {
      const op = state.op;
      op.dims ||= dimensions(op);
      const byConfig = new Map(here().map((p) => [other(op, p), otherText(op, p)]));
      const wanted = op.dims.names.filter((n) => n !== "size").map((n) => `${n}=${op.start.params[n] ?? ""}`).join(",");
      if (!byConfig.has(state.config)) state.config = byConfig.has(wanted) ? wanted : [...byConfig.keys()][0] ?? "";
      configs.replaceChildren(...options([...byConfig.keys()], state.config, (k) => byConfig.get(k)));
      configs.hidden = byConfig.size < 2;
      const rate = new Map();
      for (const p of here()) if (other(op, p) === state.config) rate.set(p.engine, Math.max(rate.get(p.engine) || 0, get(p, "ops") / p.threads));
      const ranked = [...rate.keys()].sort((a, b) => rate.get(b) - rate.get(a));
      if (!rate.has(state.engine)) state.engine = ranked[0] ?? "";
      engines.replaceChildren(...options(ranked, state.engine, (e) => e));
    }
    function answer() {
      const op = state.op, N = Number(gbps.value), S = Number(size.value);
      delete out.dataset.cores;
      if (!(N > 0) || !(S >= 1) || !Number.isFinite(N * S)) { out.replaceChildren(h("p", { class: "empty" }, "Enter a rate above 0 Gb/s and a packet size of at least 1 byte.")); return; }
      let list = here().filter((p) => p.engine === state.engine && other(op, p) === state.config && get(p, "ns") !== null);
      if (!list.length) { out.replaceChildren(h("p", { class: "empty" }, `${op.name} was not measured in this run.`)); return; }
      const pick = (name, usual) => { const values = distinct(list, name); const v = values.includes(String(usual)) ? String(usual) : values[0]; list = list.filter((p) => key(p, name) === v); return v; };
      const threads = Number(pick("threads", 1)), burst = pick("burst", op.start.burst), footprint = pick("footprint", op.start.footprint);
      const sized = op.dims.names.includes("size") && list.every((p) => numeric(p.params.size ?? ""));
      const curve = list.map((p) => ({ size: sized ? Number(p.params.size) : null, ns: get(p, "ns") * threads, low: get(p, "nsLow") === null ? null : get(p, "nsLow") * threads, high: get(p, "nsHigh") === null ? null : get(p, "nsHigh") * threads, weak: hollow(p), rounds: get(p, "rounds") })).sort((a, b) => a.size - b.size);
      const c = cores(N, S, state.layer, curve, threads), r = data.runs[state.run];
      const rate = `${num(c.packets / 1e6)} Mpps at ${N} Gb/s ${state.layer === "L1" ? "L1 (20 B of preamble and gap per frame)" : "L2"}, ${S} B frames with FCS`;
      if (c.outside) { out.replaceChildren(h("p", { class: "empty" }, `No rate for ${S} B: ${op.name} was measured from ${sizeText(curve[0].size)} to ${sizeText(curve[curve.length - 1].size)}, and nothing is extrapolated.`)); return; }
      const s = span(c.cores, c.low, c.high), whole = Math.ceil((c.high ?? c.cores) - 1e-9);
      out.dataset.cores = c.cores; out.dataset.low = c.low ?? ""; out.dataset.high = c.high ?? "";
      out.replaceChildren(
        h("div", { class: "answer" }, `${c.cost.weak ? "○ " : ""}${s.value}${c.extrapolated ? "*" : ""} cores `, h("span", { class: "ci" }, s.range === "no interval" ? `no interval; ${plural(whole, "whole core")}` : `95 % interval ${s.range}; ${plural(whole, "whole core")}`)),
        h("ul", {},
          h("li", {}, `${rate}; ${num(c.cost.ns)} ns per operation on one core of ${r.cpu}, ${state.engine}, burst ${burst}, ${footprint}${threads > 1 ? `, from a measurement of ${threads} threads` : ""}.`),
          h("li", {}, sized ? `Each packet is one operation on ${S} B: an upper bound, since headers and FCS are not subtracted.` : "Each packet is one operation, whatever its size."),
          c.note ? h("li", {}, h("b", {}, c.note)) : "",
          c.extrapolated ? h("li", {}, h("b", {}, `* Extrapolated from ${plural(threads, "core")}: more were not measured together, and no interval holds how well they add up.`)) : "",
          h("li", {}, `Computed from measured rates, assuming that cores add up linearly${r.physical ? `; this machine has ${plural(r.physical, "core")}` : ""}. The operator alone: no data movement, no packet input or output.${scaling(state, list, threads)}`),
          c.cost.weak ? h("li", {}, `The rate behind it did not converge or rests on few rounds (${c.cost.rounds}).`) : ""));
      for (const li of $$("li:empty", out)) li.remove();
    }
    /** What the run knows about how well cores add up. */
    function scaling(st, list, threads) {
      const one = list[list.length >> 1];
      const same = here().filter((p) => p.engine === st.engine && p.raw[F.params] === one.raw[F.params] && p.burst === one.burst && p.footprint === one.footprint && p.threads > threads);
      if (!same.length) return "";
      const top = same.reduce((a, b) => (b.threads > a.threads ? b : a));
      return ` Measured here: ${top.threads} threads reach ${num(get(top, "ops") / (get(one, "ops") / threads))} times the rate of one.`;
    }
    form.addEventListener("input", () => {
      state.op = usable.find((o) => o.name === ops.value); state.run = Number(runs.value); state.layer = layers.value; state.config = configs.value; state.engine = engines.value;
      refill(); answer();
    });
    refill(); answer();
  }

  // ------------------------------------------------------------------ the first table
  const bodies = $$("#results-table tbody");
  let scenario = "";
  const content = new Map(bodies.map((b) => [b, { head: `${b.dataset.operator} ${b.dataset.scenarios} ${$("tr.head", b).textContent}`.toLowerCase(), modes: $$("tr.mode", b).map((r) => [r, `${b.dataset.operator} ${b.dataset.scenarios} ${r.textContent}`.toLowerCase()]) }]));
  function fold(body, open) {
    const button = $(".fold", body);
    if (!button) return;
    button.setAttribute("aria-expanded", String(open));
    $("tr.head", body).classList.toggle("open", open);
    for (const r of $$("tr.mode", body)) r.hidden = !open;
  }
  function applyFilter() {
    const terms = $("#filter").value.toLowerCase().split(/\s+/).filter(Boolean);
    const hit = (t) => terms.every((w) => t.includes(w));
    let shown = 0;
    for (const body of bodies) {
      const c = content.get(body), inScenario = !scenario || body.dataset.scenarios.split(" ").includes(scenario);
      const head = hit(c.head), modes = terms.length ? c.modes.filter(([, t]) => hit(t)) : [];
      body.hidden = !(inScenario && (head || modes.length));
      if (!body.hidden) shown++;
      const open = $(".fold", body)?.getAttribute("aria-expanded") === "true";
      for (const [r] of c.modes) r.hidden = !open;
      if (!head) for (const [r] of modes) r.hidden = false;
      const article = articles.find((a) => data.operators[Number(a.dataset.index)].name === body.dataset.operator);
      if (article) article.hidden = body.hidden;
    }
    $("#shown").textContent = shown === bodies.length ? "" : `${shown} of ${plural(bodies.length, "operator")}`;
  }

  // ------------------------------------------------------------------ events
  root.addEventListener("click", (event) => {
    const button = event.target.closest("button");
    if (!button) return;
    if (button.classList.contains("fold")) fold(button.closest("tbody"), button.getAttribute("aria-expanded") !== "true");
    else if (button.classList.contains("chip")) { scenario = button.dataset.scenario; for (const c of $$(".chip")) c.setAttribute("aria-pressed", String(c === button)); applyFilter(); }
    else if (button.dataset.table) (button.dataset.table === "results" ? saveResults(button.dataset.format) : saveHeat(Number(button.dataset.table.slice(4)), button.dataset.format));
    else if (button.dataset.pairingChoice) choosePairing(button.dataset.pairingChoice);
    else if (button.dataset.ratioFormat) saveRatios(button.dataset.ratioFormat).catch(failing("Download"));
    else if (button.dataset.heatFormat) { const index = Number(button.closest(".heatmap").dataset.heat), s = heatSvg(index); saveSvg(s.svg, s.width, s.height, `dpubench-heat-${data.heat[index].run}-${data.heat[index].pairing}`, button.dataset.heatFormat).catch(failing("Download")); }
  });
  $("#filter")?.addEventListener("input", applyFilter);
  $("#expand")?.addEventListener("click", (e) => { const open = e.target.getAttribute("aria-pressed") !== "true"; e.target.setAttribute("aria-pressed", String(open)); e.target.textContent = open ? "Fold all" : "Expand all"; for (const b of bodies) fold(b, open); applyFilter(); });
  document.addEventListener("keydown", (e) => { if (e.key === "/" && !/^(INPUT|SELECT|TEXTAREA)$/.test(document.activeElement.tagName)) { e.preventDefault(); $("#filter")?.focus(); } });
  for (const details of $$("details.all-points")) details.addEventListener("toggle", () => { const box = $(".points-body", details); if (details.open && !box.firstChild) box.append(...pointTable(data.operators[Number(details.closest("article").dataset.index)])); });

  const seen = new IntersectionObserver((entries) => { for (const e of entries) if (e.isIntersecting && !e.target.dataset.drawn) draw(e.target); }, { rootMargin: "500px" });
  for (const a of articles) seen.observe(a);
  const ratioSection = $("#ratios");
  if (ratioSection) new IntersectionObserver((entries) => { if (entries.some((e) => e.isIntersecting) && !ratioSection.dataset.drawn) drawRatios(); }, { rootMargin: "500px" }).observe(ratioSection);
  const redraw = () => { if (ratioSection?.dataset.drawn) drawRatios(); for (const a of articles) if (a.dataset.drawn) draw(a); };
  onAppearance(redraw, () => { drawRatios(); for (const a of articles) draw(a); });
  if ($("#calc")) setUpCalculator();
});
