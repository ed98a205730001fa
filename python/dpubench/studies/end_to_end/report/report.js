// The page of study end-to-end: figures over rate, frame size and latency, loss by place, cost per stage; their tables and downloads.
dpubench.part("end-to-end", ({ root, $, $$, data }) => {
  const { h, grouped, num, span, plural, media, LIGHT, theme, DASHES, plain, alpha, ticks, tickText, blank, apart, library, CONFIG, save, saveSvg, failing, csv, latex, choice, onAppearance } = dpubench;
  const PERCENTILE = { p50: "p50", p90: "p90", p99: "p99", p99_9: "p99.9", max: "maximum" };
  const NOT_THE_SERVER = ["client-limited", "stall-limited"];
  /** Mark of a point. That a search ended at the server's limit is what it was for: no mark of overload. */
  const symbolOf = (p) => SYMBOL[isSearch(p) && p.limit === "server-limited" ? "" : p.limit] || "circle";
  const isSearch = (p) => p.kind === "NDR" || p.kind === "PDR";
  const SYMBOL = { "": "circle", "server-limited": "triangle-down", "client-limited": "x", "stall-limited": "cross" };
  const SPREAD = "p50 to p99.9";
  const NONE = [null, null, null];
  const scaled = (triple, factor) => triple.map((v) => (v === null ? null : v * factor));

  // ------------------------------------------------------------------ quantities of a point: [value, low, high]
  const UNITS = {
    mpps: { label: "Mpps", of: (p) => scaled(p.pps, 1e-6), offered: (p) => p.offered * 1e-6 },
    gbps: { label: "Gb/s (L2)", of: (p) => p.gbps, offered: (p) => p.offered * p.frameBytes * 8e-9 },
  };
  const latencyOf = (p, name) => (p.latency ? scaled(p.latency[name], 1e-3) : NONE);
  /** How late the client itself was when it sent: a part of the latency. */
  const lagOf = (p, name) => (p.lag ? scaled(p.lag[name], 1e-3) : NONE);
  const lagText = (p, name) => (p.lag ? `${num2(lagOf(p, name)[0])}` : "not known");
  const withheldAt = (points, name) => points.filter((p) => usable(p) && p.latencyWithheld[name]).map((p) => ({ p, why: `${PERCENTILE[name]} is withheld: ${p.latencyWithheld[name]}` }));
  const usable = (p) => p.why === "" && p.pps[0] !== null;
  const silent = (p) => NOT_THE_SERVER.includes(p.limit);
  /** Each figure is judged by its own interval; what the throughput alone decides goes by the point. */
  const hollow = (p, figure) => (figure === "throughput_pps" ? p.weak !== "" : p.loose.includes(figure));
  const marked = (p, figure, [value, ...rest]) => [(value !== "–" && value !== "" && p.loose.includes(figure) ? "○ " : "") + value, ...rest];
  /** The x axes that points at an offered rate can stand over. */
  const OVER = {
    rate: { label: (unit) => `offered rate, ${UNITS[unit].label}`, of: (p, unit) => UNITS[unit].offered(p), text: (v, unit) => `${num(v)} ${UNITS[unit].label}` },
    interval: { label: () => "interval between packets, ns", of: (p) => 1e9 / p.offered, text: (v) => `every ${num(v)} ns` },
  };

  // ------------------------------------------------------------------ a part: points, state
  const parts = data.parts.map((part) => ({ ...part, state: { frame: part.frames[0], over: "rate", unit: "mpps", percentile: SPREAD, load: "" } }));
  const variantOf = (part, p) => part.variants[p.variant];
  const frameWords = (part, frame) => part.frameWords[part.frames.indexOf(frame)];
  const atFrame = (part) => part.points.filter((p) => p.frame === part.state.frame);
  const offered = (part) => atFrame(part).filter((p) => p.kind === "rate" && p.offered !== null);
  /** Loads at the chosen frame size, in the order of the run: for figures of one load. */
  const loads = (part) => [...new Set(atFrame(part).filter((p) => p.stages.length).map((p) => p.load))];

  function look(part, index, th) {
    const v = part.variants[index];
    if (v.isNull) return { color: th.soft, dash: ["dash", "longdash", "dashdot", "longdashdot"][part.variants.slice(0, index).filter((o) => o.isNull).length % 4], width: 1.3 };
    const own = part.variants.map((_, i) => i).filter((i) => !part.variants[i].isNull).indexOf(index);
    return { color: th.lines[own % th.lines.length], dash: v.correctnessOnly ? "dot" : DASHES[Math.floor(own / th.lines.length) % 4], width: 1.7 };
  }
  const nameOf = (part, index) => part.variants[index].label + (part.variants[index].correctnessOnly ? " (correctness only)" : "");
  function hover(part, p, lines) {
    const v = variantOf(part, p);
    return [`<b>${plain(nameOf(part, p.variant))}</b>, ${plain(frameWords(part, p.frame) ?? p.frame)}, ${plain(p.load)}`, ...lines.map(plain),
      plain(`measured, ${plural(p.rounds, "round")}, ${plural(p.trials, "trial")} of ${num(p.trialS)} s${part.isVirtual ? ", virtual link" : ""}`),
      ...(p.seen ? [plain(p.seen)] : []), ...(p.weak ? [plain(p.weak)] : []), ...(noteOf(p) ? [plain(noteOf(p))] : []), ...(v.correctnessOnly ? ["too few CPUs: proves correctness only"] : [])].join("<br>");
  }
  const spanText = (triple, unit) => { const s = span(...triple); return `${s.value} ${unit}  [${s.range || "no interval"}]`; };

  // ------------------------------------------------------------------ figures: {traces, x, y, labels, table, note}
  /** One line per variant; points that say nothing of the server stand apart from it. `items`: {x, v: triple, p, lines}. */
  function lineTraces(part, index, items, th) {
    const { color, dash, width } = look(part, index, th), band = [], traces = [];
    const good = items.filter((i) => !silent(i.p)), bad = items.filter((i) => silent(i.p));
    const fill = variantFill(part, index);
    if (good.length > 1 && good.every((i) => i.v[1] !== null && i.v[2] !== null) && !fill.none)
      band.push({ x: [...good.map((i) => i.x), ...good.map((i) => i.x).reverse()], y: [...good.map((i) => i.v[2]), ...good.map((i) => i.v[1]).reverse()], fill: "toself", fillcolor: alpha(color, 0.14), line: { width: 0, color: alpha(color, 0) }, mode: "lines", hoverinfo: "skip" });
    for (const [list, mode] of [[good, "lines+markers"], [bad, "markers"]]) {
      if (!list.length) continue;
      traces.push({
        x: list.map((i) => i.x), y: list.map((i) => i.v[0]), mode, name: plain(nameOf(part, index)), hoverinfo: "text", hovertext: list.map((i) => hover(part, i.p, i.lines)),
        line: { color, width, dash }, opacity: part.variants[index].correctnessOnly ? 0.65 : 1,
        marker: { symbol: list.map((i) => symbolOf(i.p)), size: list.map((i) => (silent(i.p) ? 9 : 7)), color: list.map((i) => (hollow(i.p, i.figure) && !silent(i.p) ? th.paper : color)), line: { color, width: 1.4 }, opacity: 1 },
        error_y: { type: "data", symmetric: false, color, thickness: 1.1, width: 3, array: list.map((i) => (i.v[2] === null ? 0 : i.v[2] - i.v[0])), arrayminus: list.map((i) => (i.v[1] === null ? 0 : i.v[0] - i.v[1])) },
      });
    }
    return [...band, ...traces];
  }
  const variantFill = (part, index) => ({ none: part.variants[index].isNull || part.variants[index].correctnessOnly });
  /** Items of every variant: a map from its index, in the order of the part. */
  function byVariant(points, x, v, lines, figure = "throughput_pps") {
    const groups = new Map();
    for (const p of points) {
      const value = v(p), at = x(p);
      if (!usable(p) || value[0] === null || !(at > 0)) continue;
      if (!groups.has(p.variant)) groups.set(p.variant, []);
      groups.get(p.variant).push({ x: at, v: value, p, lines: lines(p), figure });
    }
    for (const items of groups.values()) items.sort((a, b) => a.x - b.x);
    return new Map([...groups].sort((a, b) => a[0] - b[0]));
  }
  /** Points that a figure leaves out, with the reason: that of the point, or else `why`. */
  const leftOut = (points, why) => points.map((p) => ({ p, why: p.why || why }));
  const missing = (points) => leftOut(points.filter((p) => !usable(p)), "it has no throughput");

  const FIGURES = {
    frames: {
      title: () => "NDR and PDR over frame size", file: "ndr-pdr",
      build(part, th) {
        const unit = UNITS[part.state.unit], traces = [], ends = [], rows = [];
        const searched = part.points.filter(isSearch);
        for (const kind of ["PDR", "NDR"]) {
          const groups = byVariant(searched.filter((p) => p.kind === kind), (p) => p.frameBytes, unit.of, (p) => [`${kind}: ${spanText(unit.of(p), unit.label)}`, `loss ${lossText(p)}`]);
          for (const [index, items] of groups) {
            const made = lineTraces(part, index, items, th);
            if (kind === "PDR") for (const t of made) { t.line = { ...t.line, width: Math.min(t.line.width, 1), dash: t.fill ? undefined : "dot" }; if (t.marker) t.marker = { ...t.marker, size: 5, symbol: t.marker.symbol.map((s) => (s === "circle" ? "diamond" : s)) }; }
            traces.push(...made);
            if (kind === "NDR") ends.push({ index, at: items[items.length - 1].v[0] });
          }
        }
        for (const p of searched) rows.push([nameOf(part, p.variant), frameWords(part, p.frame), p.kind, ...cells(scaled(p.pps, 1e-6)), ...cells(p.gbps), p.loss[0] === null ? "" : lossText(p), p.due ? num(p.due * 1e-6) : "", p.counted, p.limitText, p.why || noteOf(p)]);
        return { traces, ends, intervals: true, ylog: true, xname: (v) => (Number.isInteger(v) ? String(v) : frameWords(part, searched.find((p) => p.frameBytes === v).frame).split(" ")[0]), xtitle: "frame with FCS, B", ytitle: unit.label, xticks: part.frames.map((f) => searched.find((p) => p.frame === f)?.frameBytes).filter(Boolean), gone: missing(searched),
          note: "NDR: round marks and solid lines; PDR (0.5 %): small diamonds and dotted lines.", table: { columns: ["variant", "frame", "search", "Mpps", "95 % interval", "Gb/s (L2)", "95 % interval", "loss at this rate", "packets, M", "trials at this rate", "limits of its rounds", "note"], rows } };
      },
    },
    stages: {
      title: (part) => `Cost per stage at ${part.state.load || "no load"}`, file: "stages", bars: true,
      build(part, th) {
        const at = atFrame(part).filter((p) => p.load === part.state.load);
        const shown = at.filter((p) => p.stages.length && usable(p)), rows = [], traces = [], sums = [], legend = [];
        const names = [...new Set(shown.flatMap((p) => p.stages.map((s) => s.name)))].sort((a, b) => order(shown, a) - order(shown, b));
        const y = shown.map((_, i) => shown.length - 1 - i);
        const most = Math.max(...shown.map((p) => p.stages.reduce((t, s) => t + (s.perPacket[0] ?? 0), 0)));
        names.forEach((name, k) => {
          const own = isOwn(shown, name), color = own ? alpha(th.soft, [0.3, 0.55, 0.42, 0.65][names.filter((n) => isOwn(shown, n)).indexOf(name) % 4]) : th.lines[(k + 1) % th.lines.length];
          legend.push({ name, color });
          const found = shown.map((p) => p.stages.find((s) => s.name === name));
          traces.push({
            type: "bar", orientation: "h", name: plain(name), y, x: found.map((s) => s?.perPacket[0] ?? 0), marker: { color, line: { color: th.paper, width: 1 } }, hoverinfo: "text", textposition: "inside", insidetextanchor: "middle",
            textfont: { size: 10.5, color: own ? th.ink : th.paper }, textangle: 0, text: found.map((s) => (s ? fitting(`${name} ${num(s.perPacket[0])}`, s.perPacket[0] / most) : "")),
            hovertext: found.map((s, i) => (s ? hover(part, shown[i], [`${name}${s.engine ? ` (${s.engine})` : ""}: ${spanText(s.perPacket, "ns per packet of the server")}`, `${spanText(s.ns, "ns per packet of the stage")}, ${shareText(s.share)} of the packets`, `timed on ${plural(s.sampled, "packet")}`, ...(s.path ? [s.path] : [])]) : "")),
          });
        });
        shown.forEach((p, i) => { const sum = p.stages.reduce((t, s) => t + (s.perPacket[0] ?? 0), 0); sums.push({ y: y[i], sum }); });
        for (const p of at) {
          for (const s of p.stages) rows.push([nameOf(part, p.variant), s.name, s.engine, ...marked(p, `stage ${s.name}`, cells(s.perPacket)), ...marked(p, `stage ${s.name}`, cells(s.ns)), shareText(s.share), s.sampled, s.buildNs === null ? "" : num(s.buildNs / 1e6), s.memoryBytes === null ? "" : num(s.memoryBytes / 1048576), s.path, s.verified]);
          if (!p.stages.length) rows.push([nameOf(part, p.variant), "", "", "", "", "", "", "", "", "", "", p.why || "none of its stages was timed here", ""]);
        }
        const hidden = leftOut(at.filter((p) => !shown.includes(p)), "none of its stages was timed here");
        return { traces, sums, legend, categories: shown.map((p) => nameOf(part, p.variant)), y, xtitle: "ns of server CPU per packet received", gone: hidden, ends: [],
          note: "Sampled on some bursts; a stage's cost is spread over all packets that the server received, so that stages add up. The null workload's bar is the floor.",
          table: { columns: ["variant", "stage", "engine", "ns per packet of the server", "95 % interval", "ns per packet of the stage", "95 % interval", "share of packets", "packets timed", "build, ms", "memory, MiB", "path", "verified"], rows } };
      },
    },
    throughput: {
      title: () => "Throughput over offered rate", file: "throughput", over: true,
      build(part, th) {
        const { state } = part, unit = UNITS[state.unit], points = offered(part);
        const f = overRate(part, th, points, unit.of, (p) => [spanText(unit.of(p), unit.label), `loss ${lossText(p)}`]);
        const ordered = points.map((p) => ({ x: OVER[state.over].of(p, state.unit), y: unit.offered(p) })).sort((a, b) => a.x - b.x);
        f.traces.unshift({ x: ordered.map((o) => o.x), y: ordered.map((o) => o.y), mode: "lines", hoverinfo: "skip", line: { color: th.soft, width: 1, dash: "dot" } });
        f.extra = ordered.map((o) => o.y);
        f.gone.push(...leftOut(atFrame(part).filter((p) => !isSearch(p) && !points.includes(p)), "it has no offered rate; its throughput is in the table of all points"));
        return { ...f, ylog: true, ytitle: `${unit.label} that came back`, note: "Dotted: the offered rate.",
          table: { columns: ["variant", "load", "offered, Mpps", "Mpps", "95 % interval", "Gb/s (L2)", "95 % interval", "loss", "limits of its rounds", "note"], rows: points.map((p) => [nameOf(part, p.variant), p.load, num(p.offered * 1e-6), ...cells(scaled(p.pps, 1e-6)), ...cells(p.gbps), p.loss[0] === null ? "" : lossText(p), p.limitText, p.why || p.remarks]) } };
      },
    },
    cpu: {
      title: () => "Server CPU share over offered rate", file: "server-cpu", over: true,
      build(part, th) {
        const points = offered(part), of = (p) => scaled(p.cpu, 100);
        const withheld = points.filter((p) => p.cpuWithheld);
        return { ...overRate(part, th, points, of, (p) => cpuLines(p), "server_cpu_share"), ylog: false, ytop: 100, ytitle: "% of the server's CPUs", gone: [...points.filter((p) => usable(p) && p.cpu[0] === null).map((p) => ({ p, why: p.cpuWithheld ? `withheld: ${p.cpuWithheld}` : "its CPU share was not measured" })), ...missing(points)],
          note: withheld.length ? `Withheld for ${plural(withheld.length, "point")}: ${[...new Set(withheld.map((p) => p.cpuWithheld))].join("; ")}.` : "In the measured part: the application's time and the kernel's receive work for it.",
          table: { columns: ["variant", "load", "offered, Mpps", "server CPU, %", "95 % interval", "application, %", "kernel's receive work, %", "ns per packet", "95 % interval", "inserts, % of packets", "limits of its rounds", "note"], rows: points.map((p) => [nameOf(part, p.variant), p.load, num(p.offered * 1e-6), ...marked(p, "server_cpu_share", cells(of(p))), percentText(p.application), percentText(p.receiveWork), ...cells(p.cpuNs), percentText(p.inserted), p.limitText, p.why || (p.cpuWithheld ? `withheld: ${p.cpuWithheld}` : p.remarks)]) } };
      },
    },
    latency: {
      title: (part) => `Latency over offered rate, ${part.state.percentile === SPREAD ? SPREAD : PERCENTILE[part.state.percentile]}`, file: "latency", over: true, percentile: true,
      build(part, th) {
        const { state } = part, points = offered(part), spread = state.percentile === SPREAD, shown = spread ? "p50" : state.percentile;
        const told = (p) => [...data.percentiles.map((n) => `${PERCENTILE[n]} ${p.latencyWithheld[n] ? "withheld" : spanText(latencyOf(p, n), "us")}, client's lag ${lagText(p, n)}${p.lag ? " us" : ""}`), `${plural(p.behind ?? 0, "packet")} beyond p99.9 in the round with the fewest`];
        const f = overRate(part, th, points, (p) => latencyOf(p, shown), told, `latency.${shown}`);
        if (spread) {
          for (const t of f.traces) { delete t.error_y; if (t.fill) t.fillcolor = "rgba(0,0,0,0)"; }
          f.extra = [];
          const many = f.groups.size, at = [...f.groups.values()].flat().map((i) => i.x);
          const step = (Math.log10(Math.max(...at) / Math.min(...at)) || 1) * 0.022; // of the axis: stems of variants stand beside each other
          [...f.groups].forEach(([index, items], k) => {
            const { color } = look(part, index, th), shift = 10 ** ((k - (many - 1) / 2) * step);
            const column = (name) => items.map((i) => latencyOf(i.p, name)[0]);
            // To the highest one that is not withheld.
            const [low, top] = [column("p50"), items.map((i) => ["p99_9", "p99", "p90", "p50"].map((n) => latencyOf(i.p, n)[0]).find((v) => v !== null))];
            f.extra.push(...top.filter((v) => v !== null));
            // A stem from p50 to p99.9, with a dash at p90 and one at p99.
            f.traces.push({ x: items.flatMap((i) => [i.x * shift, i.x * shift, null]), y: items.flatMap((_, j) => [low[j], top[j], null]), mode: "lines", hoverinfo: "skip", line: { color: alpha(color, 0.55), width: 1.3 } });
            for (const [name, size] of [["p90", 5], ["p99", 8], ["p99_9", 5]]) f.traces.push({ x: items.map((i) => i.x * shift), y: column(name), mode: "markers", hoverinfo: "text", hovertext: items.map((i) => hover(part, i.p, i.lines)), marker: { symbol: name === "p99_9" ? "triangle-up" : "line-ew-open", size, color, line: { color, width: 1.4 } } });
          });
        }
        const gone = [...leftOut(points.filter((p) => usable(p) && !p.latency), "its latency was not measured"), ...(spread ? ["p50", "p90", "p99", "p99_9"] : [shown]).flatMap((n) => withheldAt(points, n)), ...missing(points)];
        return { ...f, gone, intervals: !spread, ylog: true, ytitle: "us", note: `${spread ? "Line: p50; stems end at p99.9 with dashes at p90 and p99 (choose one percentile to see its intervals). " : ""}From due time to receive burst; a latency is withheld if more than a tenth of it may be the client's own lag. ${behindText(points)}${[...new Set(points.map((p) => p.timestamps).filter(Boolean))].join("; ") || "timestamps: none"}. Floor: the null workload.`,
          table: { columns: ["variant", "load", "offered, Mpps", ...data.percentiles.flatMap((n) => [`${PERCENTILE[n]}, us`, "95 % interval", `client's lag ${PERCENTILE[n]}, us`]), "packets behind p99.9", "p50 of the floor, us", "residence p50, us", "residence p99, us", "limits of its rounds", "note"],
            rows: points.map((p) => [nameOf(part, p.variant), p.load, num(p.offered * 1e-6), ...data.percentiles.flatMap((n) => [...marked(p, `latency.${n}`, cells(latencyOf(p, n))), lagText(p, n)]), p.behind ?? "–", p.floor === null ? "" : num(latencyOf(part.points[p.floor], "p50")[0]), ...["p50", "p99"].map((n) => (p.residence ? marked(p, `residence.${n}`, [num(p.residence[n][0] / 1e3)])[0] : "–")), p.limitText, p.why || noteOf(p)]) } };
      },
    },
    curve: {
      title: (part) => `Throughput over latency (${PERCENTILE[chosenPercentile(part)]})`, file: "throughput-over-latency", percentile: true,
      build(part, th) {
        const unit = UNITS[part.state.unit], name = chosenPercentile(part), points = atFrame(part);
        const groups = byVariant(points, (p) => latencyOf(p, name)[0], unit.of, (p) => [spanText(unit.of(p), unit.label), `${PERCENTILE[name]} ${spanText(latencyOf(p, name), "us")}`]);
        for (const items of groups.values()) items.sort((a, b) => a.v[0] - b.v[0]);
        const traces = [], ends = [];
        for (const [index, items] of groups) {
          traces.push(...lineTraces(part, index, items, th).filter((t) => !t.fill));
          const good = items.filter((i) => !silent(i.p));
          if (good.length) ends.push({ index, at: good[good.length - 1].v[0] });
        }
        const rows = points.filter((p) => p.latency).map((p) => [nameOf(part, p.variant), p.load, ...cells(latencyOf(p, name)), lagText(p, name), ...cells(scaled(p.pps, 1e-6)), ...cells(p.gbps), p.limitText, noteOf(p)]);
        return { traces, ends, intervals: true, ylog: true, xtitle: `latency ${PERCENTILE[name]}, us`, ytitle: `${unit.label} that came back`, gone: [...leftOut(points.filter((p) => !p.latency || !usable(p)), "its latency was not measured (a flood has no due times)"), ...withheldAt(points, name)], note: "A point for each load, joined from the lowest to the highest.",
          table: { columns: ["variant", "load", `${PERCENTILE[name]}, us`, "95 % interval", "client's lag, us", "Mpps", "95 % interval", "Gb/s (L2)", "95 % interval", "limits of its rounds", "note"], rows } };
      },
    },
    loss: {
      title: () => "Loss by place", file: "loss", wide: true, bars: true,
      build(part, th) {
        const points = atFrame(part).filter((p) => !isSearch(p)).sort((a, b) => a.variant - b.variant || (a.offered ?? Infinity) - (b.offered ?? Infinity));
        const shown = points.filter((p) => usable(p) && p.places.some((v) => v[0] !== null));
        let at = 0; const x = [], groups = [];
        shown.forEach((p, i) => { if (i && shown[i - 1].variant !== p.variant) at += 1; if (!groups.length || groups[groups.length - 1].index !== p.variant) groups.push({ index: p.variant, from: at, to: at }); groups[groups.length - 1].to = at; x.push(at++); });
        const traces = data.places.map((place, k) => ({ type: "bar", name: plain(place), x, y: shown.map((p) => 100 * (p.places[k][0] ?? 0)), marker: { color: shown.map((p) => (silent(p) ? alpha(placeColor(th, k), 0.4) : placeColor(th, k))), line: { color: th.paper, width: 0.5 } }, hoverinfo: "text", hovertext: shown.map((p) => hover(part, p, [`lost at ${place}: ${spanText(scaled(p.places[k], 100), "% of the packets due")}`, `in all ${lossText(p)}`])) }));
        traces.push({ type: "scatter", mode: "markers", x, y: shown.map((p) => 100 * (p.loss[0] ?? 0)), hoverinfo: "skip", marker: { symbol: shown.map((p) => (silent(p) ? SYMBOL[p.limit] : "line-ew-open")), size: shown.map((p) => (silent(p) ? 8 : 1)), color: th.ink },
          error_y: { type: "data", symmetric: false, color: th.ink, thickness: 1, width: 3, array: shown.map((p) => (p.loss[2] ? 100 * (p.loss[2] - p.loss[0]) : 0)), arrayminus: shown.map((p) => (p.loss[1] !== null ? 100 * (p.loss[0] - p.loss[1]) : 0)) } });
        const clean = shown.filter((p) => p.loss[0] === 0).length;
        return { traces, x, nothing: shown.length && clean === shown.length ? `No packet was lost: ${plural(clean, "point")}; a loss below ${Math.max(...shown.map((p) => p.resolvable ?? 0)).toExponential(1)} would not show at every point.` : "", ticks: shown.map((p) => (p.offered ? shortRate(p.offered) : p.load)), groups, ends: [], ytitle: "% of the packets due", gone: leftOut(points.filter((p) => !shown.includes(p)), "the places of its losses are not known"), legend: data.places.map((name, k) => ({ name, color: placeColor(th, k) })), intervals: true,
          note: `${clean} of ${plural(shown.length, "point")} lost no packet (the table of all points has the smallest loss that so many packets can show). Pale bars with ✕ or ✚: limited by the client or a stall, they say nothing about the server.`,
          table: { columns: ["variant", "load", "lost, %", "95 % interval", ...data.places.map((n) => `${n}, %`), "limits of its rounds", "note"], rows: points.map((p) => [nameOf(part, p.variant), p.load, ...cells(scaled(p.loss, 100)), ...p.places.map((v) => (v[0] === null ? "–" : num2(100 * v[0]))), p.limitText, p.why || p.remarks]) } };
      },
    },
  };
  /** Text for a bar that takes `share` of a plot, where it fits. */
  const fitting = (text, share) => (share * 400 > text.length * 5.6 ? plain(text) : "");
  /** Colours of places: not those of the first variants. */
  const placeColor = (th, k) => th.lines[(k + 3) % th.lines.length];
  /** Whether a stage is the loop's own: all but the workload's have no engine. */
  const isOwn = (points, name) => points.every((p) => p.stages.every((s) => s.name !== name || s.engine === ""));
  const order = (points, name) => { for (const p of points) { const i = p.stages.findIndex((s) => s.name === name); if (i >= 0) return name === "transmit" ? 99 : i; } return 98; };
  const cells = (triple) => { const s = span(...triple); return [s.value, s.range]; };
  const withheldOf = (p) => Object.entries(p.latencyWithheld).map(([n, why]) => `${PERCENTILE[n] ?? n} is withheld: ${why}`).join("; ");
  /** What weakens a point, with what of its latency is withheld and which trials were discarded. */
  const noteOf = (p) => [withheldOf(p), p.remarks, p.discarded].filter(Boolean).join("; ");
  function behindText(points) {
    const known = points.map((p) => p.behind).filter((n) => n !== null);
    if (!known.length) return "";
    const [low, high] = [Math.min(...known), Math.max(...known)];
    return `p99.9 rests on ${low === high ? "" : `${grouped(low, 0)} to `}${plural(high, "packet")} a round. `;
  }
  const percentText = (triple) => (triple[0] === null ? "–" : num2(100 * triple[0]));
  const cpuLines = (p) => [spanText(scaled(p.cpu, 100), "% of the server's CPUs"), ...(p.application[0] === null ? [] : [`application ${percentText(p.application)} %`]), ...(p.receiveWork[0] === null ? [] : [`kernel's receive work ${percentText(p.receiveWork)} %`]), ...(p.cpuNs[0] === null ? [] : [`${num(p.cpuNs[0])} ns per packet`])];
  const num2 = (v) => (v === 0 ? "0" : num(v));
  const shareText = (v) => (v === null ? "–" : `${num(100 * v)} %`);
  /** Where nothing was lost: the smallest loss that so many packets can show. */
  const lossText = (p) => (p.loss[0] === null ? "not known" : p.loss[0] === 0 ? p.lossText : `${spanText(scaled(p.loss, 100), "%")}`);
  const shortRate = (pps) => (pps >= 1e6 ? `${+(pps / 1e6).toPrecision(3)}M` : `${+(pps / 1e3).toPrecision(3)}k`);
  const chosenPercentile = (part) => (part.state.percentile === SPREAD ? "p99" : part.state.percentile);

  /** Everything of a figure over the offered rate (or interval) but its y axis. */
  function overRate(part, th, points, of, lines, figure) {
    const { state } = part, over = OVER[state.over];
    const groups = byVariant(points, (p) => over.of(p, state.unit), of, lines, figure);
    const traces = [], ends = [];
    for (const [index, items] of groups) {
      traces[part.variants[index].isNull ? "unshift" : "push"](...lineTraces(part, index, items, th));
      const good = items.filter((i) => !silent(i.p));
      if (good.length) ends.push({ index, at: good[good.length - 1].v[0] });
    }
    return { traces, ends, groups, intervals: true, xtitle: over.label(state.unit), xticks: [...new Set(points.map((p) => Number(over.of(p, state.unit).toPrecision(3))))].sort((a, b) => a - b), gone: missing(points) };
  }

  // ------------------------------------------------------------------ layout
  /** Ends of lines are named beside the plot; names that would touch are pushed apart. */
  function layoutOf(part, key, f, width, height, paper) {
    const th = paper ? LIGHT : theme(), small = paper ? 12 : 11, { axis, layout: basics } = blank(th, small, paper), annotations = [], shapes = [];
    const head = paper ? 52 : 12, foot = paper ? 108 : 42;
    let layout;
    if (key === "stages") layout = stageLayout(f, th, small, axis, width, annotations, paper);
    else if (key === "loss") layout = lossLayout(part, f, th, small, axis, width, annotations, shapes, paper);
    else {
      const names = f.ends.map((e) => nameOf(part, e.index));
      const margin = { l: 54, t: head, b: foot, r: 16 + Math.min(width * 0.34, Math.max(40, ...names.map((n) => n.length * small * 0.56))) };
      const values = [...f.traces.flatMap((t) => t.y.flatMap((v, i) => [v, v + (t.error_y?.array?.[i] ?? 0), v - (t.error_y?.arrayminus?.[i] ?? 0)])), ...(f.extra ?? [])].filter((v) => v !== null && v > 0);
      let low = Math.min(...values), high = Math.max(...values);
      if (f.ylog) { low /= 1.15; high *= 1.15; if (high / low < 3) { const m = Math.sqrt(3 / (high / low)); low /= m; high *= m; } } else { low = 0; high = f.ytop ? f.ytop * 1.04 : high * 1.06; }
      const room = height - margin.t - margin.b, fraction = (v) => (f.ylog ? Math.log(v / low) / Math.log(high / low) : v / high);
      const labels = f.ends.map((e) => ({ ...e, at: fraction(e.at) * room })).sort((a, b) => a.at - b.at);
      apart(labels, small + 3, room);
      const longest = Math.floor((margin.r - 12) / (small * 0.54));
      for (const l of labels) { const name = nameOf(part, l.index); annotations.push({ xref: "paper", yref: "paper", x: 1, xshift: 7, y: l.at / room, xanchor: "left", yanchor: "middle", showarrow: false, text: plain(name.length > longest ? `${name.slice(0, longest - 1)}…` : name), font: { size: small, color: look(part, l.index, th).color } }); }
      const xs = f.traces.flatMap((t) => t.x).filter((v) => v !== null), [x0, x1] = [Math.min(...xs), Math.max(...xs)];
      const reach = Math.log10(x1 / x0) || 1, pixel = (v) => (Math.log10(v / x0) / reach) * (width - margin.l - margin.r) / 1.12;
      const marks = f.xticks ?? ticks(x0, x1), wanted = marks.length ? marks : [Number(x0.toPrecision(3))];
      const crowded = [...wanted].reverse().reduce((kept, v) => (kept.length && pixel(kept[kept.length - 1]) - pixel(v) < 40 ? kept : [...kept, v]), []);
      const yt = f.ylog ? ticks(low, high) : [0, 20, 40, 60, 80, 100];
      layout = { margin, xaxis: { ...axis, type: "log", range: [Math.log10(x0) - 0.06 * reach, Math.log10(x1) + 0.06 * reach], tickvals: crowded, ticktext: crowded.map((v) => f.xname?.(v) ?? (v < 1e4 ? String(+v.toPrecision(3)) : tickText(v))), title: { text: plain(f.xtitle), standoff: 6 } },
        yaxis: { ...axis, type: f.ylog ? "log" : "linear", range: f.ylog ? [Math.log10(low), Math.log10(high)] : [low, high], tickvals: yt, ticktext: yt.map(tickText), showline: false, title: { text: plain(f.ytitle), standoff: 4 } } };
    }
    if (paper) paperTexts(part, key, f, annotations, layout.margin, th);
    return { ...basics, width, height, annotations, shapes, barmode: "stack", bargap: key === "stages" ? Math.max(0.25, 1 - (24 * f.categories.length) / (height - layout.margin.t - layout.margin.b)) : 0.25, ...layout };
  }
  function stageLayout(f, th, small, axis, width, annotations, paper) {
    const left = Math.min(width * 0.34, 14 + Math.max(...f.categories.map((c) => c.length * small * 0.56), 60));
    const most = Math.max(...f.sums.map((s) => s.sum), 1), longest = Math.floor((left - 12) / (small * 0.53));
    for (const s of f.sums) annotations.push({ x: s.sum, y: s.y, xanchor: "left", xshift: 4, showarrow: false, text: `<b>${num(s.sum)}</b>`, font: { size: small, color: th.ink } });
    return { margin: { l: left, r: 46, t: paper ? 70 : 8, b: paper ? 100 : 38 }, xaxis: { ...axis, range: [0, most * 1.06], nticks: 6, title: { text: plain(f.xtitle), standoff: 6 } },
      yaxis: { ...axis, showgrid: false, showline: false, ticks: "", range: [-0.6, f.categories.length - 0.4], tickvals: f.y, ticktext: f.categories.map((c) => plain(c.length > longest ? `${c.slice(0, longest - 1)}…` : c)), tickfont: { size: small, color: th.ink } } };
  }
  function lossLayout(part, f, th, small, axis, width, annotations, shapes, paper) {
    const most = Math.max(0.1, ...f.x.map((_, i) => f.traces.slice(0, -1).reduce((sum, t) => sum + t.y[i], 0)), ...f.traces[f.traces.length - 1].y.map((v, i) => v + f.traces[f.traces.length - 1].error_y.array[i]));
    const last = Math.max(1, ...f.x), inner = width - 70, step = inner / (last + 1), thin = Math.max(1, Math.ceil(30 / step));
    for (const g of f.groups) {
      const name = nameOf(part, g.index), room = Math.max(4, Math.floor(((g.to - g.from + 1.6) * step) / (small * 0.56)));
      annotations.push({ x: (g.from + g.to) / 2, y: 1, yref: "paper", yanchor: "bottom", showarrow: false, text: plain(name.length > room ? `${name.slice(0, room - 1)}…` : name), font: { size: small, color: look(part, g.index, th).color } });
      if (g.from > 0) shapes.push({ type: "line", x0: g.from - 1, x1: g.from - 1, y0: 0, y1: 1, yref: "paper", line: { color: th.grid, width: 1 } });
    }
    return { margin: { l: 54, r: 16, t: paper ? 92 : 22, b: paper ? 100 : 42 }, xaxis: { ...axis, showgrid: false, range: [-0.8, last + 0.8], tickvals: f.x.filter((_, i) => i % thin === 0), ticktext: f.ticks.filter((_, i) => i % thin === 0).map(plain), tickangle: 0, title: { text: "offered rate, pps", standoff: 6 } },
      yaxis: { ...axis, range: [0, Math.min(100, most * 1.08)], nticks: 6, showline: false, title: { text: plain(f.ytitle), standoff: 4 } } };
  }
  /** What stands around a figure on the page has to be in a downloaded one. */
  function paperTexts(part, key, f, annotations, margin, th) {
    const at = (y, shift, text, size, anchor) => annotations.push({ xref: "paper", yref: "paper", x: 0, xshift: -margin.l + 8, y, yshift: shift, xanchor: "left", yanchor: anchor, align: "left", showarrow: false, text, font: { size, color: size > 12 ? th.ink : th.soft } });
    at(1, margin.t - 18, `<b>${plain(`${part.workload}: ${FIGURES[key].title(part)}`)}</b>`, 13, "middle");
    at(1, margin.t - 36, plain(under(part, key)), 10, "middle");
    if (f.legend) at(1, margin.t - 54, f.legend.map((l) => `<span style="color:${l.color}">■</span> ${plain(l.name)}`).join("   "), 10, "middle");
    const said = [f.note, f.intervals ? "95 % intervals over rounds." : "", f.ends.length ? "▼ server-limited, ✕ client-limited, ✚ stall-limited; hollow: not converged or few rounds." : "", `Measured with dpubench ${data.study}, ${data.runs.join(", ")}.`];
    at(0, -46, plain(said.filter(Boolean).join(" ")).replace(/(.{95,120}?) /g, "$1<br>"), 9, "top");
  }
  /** The labels and conditions of a figure, in words. */
  function under(part, key) {
    const frames = key === "frames" ? "frames with FCS" : `${frameWords(part, part.state.frame)} frames with FCS`;
    return [`${part.links}${part.labels.length ? `: ${part.labels.join("; ")}` : ""}`, frames].join("; ");
  }

  // ------------------------------------------------------------------ drawing
  const sections = $$("section.part");
  function draw(section) {
    const part = parts[Number(section.dataset.index)], { state } = part;
    section.dataset.drawn = "1";
    const focused = document.activeElement && section.contains(document.activeElement) ? document.activeElement.getAttribute("aria-label") : null;
    const opened = $$("details.numbers[open]", section).map((d) => d.dataset.kind);
    const known = loads(part);
    if (!known.includes(state.load)) state.load = known.includes("NDR") ? "NDR" : known[known.length - 1] ?? "";
    const set = (name) => (value) => { state[name] = value; draw(section); };
    const segment = (label, name, values) => h("span", { class: "seg", role: "group", "aria-label": label }, ...values.map(([value, text]) => h("button", { type: "button", "aria-label": `${label}: ${text}`, "aria-pressed": String(state[name] === value), click: () => set(name)(value) }, text)));
    $(".controls", section).replaceChildren(
      ...(part.frames.length > 1 ? [choice("frame", part.frames, state.frame, (f) => frameWords(part, f), set("frame"))] : []),
      segment("over", "over", [["rate", "rate"], ["interval", "packet interval"]]),
      segment("rates in", "unit", [["mpps", "Mpps"], ["gbps", "Gb/s (L2)"]]),
      choice("latency", [SPREAD, ...data.percentiles], state.percentile, (v) => PERCENTILE[v] ?? v, set("percentile")),
      ...(known.length > 1 ? [choice("stages at", known, state.load, (v) => v, set("load"))] : []));
    $(".figures", section).replaceChildren(...Object.keys(FIGURES).filter((key) => hasAny(part, key)).map((key) => plot(part, key)));
    for (const key of Object.keys(FIGURES)) if ($(`.plot[data-kind="${key}"]`, section)) paint(section, part, key);
    for (const kind of opened) { const details = $(`details.numbers[data-kind="${kind}"]`, section); if (details) details.open = true; }
    if (focused) { const back = $$("select, button", section).find((e) => e.getAttribute("aria-label") === focused); if (back) back.focus(); }
  }
  /** Whether the run has anything that a figure could show: what was not in the plan has no empty frame. */
  function hasAny(part, key) {
    const has = { frames: isSearch, stages: (p) => p.stages.length, latency: (p) => p.kind === "rate" && p.latency, curve: (p) => p.latency, loss: (p) => !isSearch(p) };
    return part.points.some(has[key] ?? ((p) => p.kind === "rate"));
  }
  function plot(part, key) {
    const figure = FIGURES[key], title = figure.title(part);
    return h("figure", { class: `plot${figure.wide ? " wide" : ""}`, "data-kind": key },
      h("figcaption", {}, title, h("span", { class: "downloads" }, ...["svg", "png", "pdf"].map((f) => h("button", { type: "button", "aria-label": `Download ${figure.file} as ${f.toUpperCase()}`, "data-figure-format": f, click: () => saveFigure(part, key, f).catch(failing("Download")) }, f.toUpperCase())), h("button", { type: "button", "aria-label": `Download ${figure.file} as CSV`, "data-figure-format": "csv", click: () => saveTable(part, key) }, "CSV"))),
      h("div", { class: "canvas", role: "img" }), h("p", { class: "under" }), h("details", { class: "numbers", "data-kind": key }, h("summary", {}, "Numbers")));
  }
  function paint(section, part, key) {
    const box = $(`.plot[data-kind="${key}"]`, section), canvas = $(".canvas", box), f = FIGURES[key].build(part, theme());
    const width = media.printing ? (FIGURES[key].wide ? 1000 : 490) : Math.max(280, canvas.clientWidth);
    const height = key === "stages" ? Math.max(media.printing ? 150 : 220, 52 + 34 * f.categories.length) : media.printing ? 230 : 300;
    const gone = new Map();
    for (const { p, why } of f.gone) { const id = `${nameOf(part, p.variant)}: ${why}`; gone.set(id, [...(gone.get(id) ?? []), key === "frames" ? `${p.kind} at ${frameWords(part, p.frame)}` : p.load]); }
    $(".under", box).replaceChildren(`${under(part, key)}. ${f.note}`,
      ...(f.legend ? [h("span", { class: "places" }, ...f.legend.map((l) => { const i = h("i", {}, "■"); i.style.color = l.color; return h("span", {}, i, ` ${l.name}`); }))] : []),
      ...[...gone].map(([id, where]) => h("span", { class: "gone" }, `Not drawn: ${id.length > 150 ? `${id.slice(0, 149)}…` : id} (${where.slice(0, 4).join(", ")}${where.length > 4 ? ` and ${where.length - 4} more` : ""}).`)));
    $("details.numbers", box).append(table(f.table));
    const empty = f.nothing || (f.traces.some((t) => t.name && t.x.length && t.y.length) ? "" : "Nothing to draw at this selection: the reasons are below.");
    if (empty) { canvas.replaceChildren(h("p", { class: f.nothing ? "note" : "empty" }, empty)); canvas.style.height = "auto"; return; }
    canvas.style.height = `${height}px`;
    library("lib-plotly");
    canvas.setAttribute("aria-label", `${part.workload}, ${FIGURES[key].title(part)}; ${under(part, key)}. The numbers are in the table below the figure.`);
    window.Plotly.newPlot(canvas, f.traces, layoutOf(part, key, f, width, height, false), CONFIG);
  }
  function table({ columns, rows }) {
    const numeric = columns.map((_, i) => rows.length && rows.every((r) => typeof r[i] === "number" || /^[–0-9.,]*( %)?$/.test(String(r[i]))));
    return h("div", { class: "points-body", tabindex: "0", role: "region", "aria-label": "Numbers of the figure" }, h("table", { class: "values" }, h("thead", {}, h("tr", {}, ...columns.map((c, i) => h("th", { scope: "col", class: numeric[i] ? "num" : false }, c)))), h("tbody", {}, ...rows.map((r) => h("tr", {}, ...r.map((v, i) => h(i ? "td" : "th", { scope: i ? false : "row", class: numeric[i] ? "num" : false }, String(v))))))));
  }
  const fileName = (part, key, frame = true) => `dpubench-${part.workload}${part.isVirtual ? "-virtual-link" : ""}-${FIGURES[key].file}${frame && key !== "frames" ? `-${part.state.frame}` : ""}`;
  async function saveFigure(part, key, format) {
    library("lib-plotly");
    const f = FIGURES[key].build(part, LIGHT), width = FIGURES[key].wide ? 900 : 680, height = key === "stages" ? 210 + 36 * f.categories.length : 460;
    const url = await window.Plotly.toImage({ data: f.traces, layout: layoutOf(part, key, f, width, height, true) }, { format: "svg", width, height });
    await saveSvg(decodeURIComponent(url.slice(url.indexOf(",") + 1)), width, height, fileName(part, key), format);
  }
  function saveTable(part, key) {
    const { columns, rows } = FIGURES[key].build(part, LIGHT).table;
    save(`${fileName(part, key)}.csv`, csv([...columns, "link", "labels"], rows.map((r) => [...r, part.links, part.labels.join("; ")])), "text/csv");
  }

  // ------------------------------------------------------------------ all points
  const TRIPLES = [["throughput_pps", (p) => p.pps], ["throughput_gbps", (p) => p.gbps], ["loss_ratio", (p) => p.loss], ...data.places.map((name, k) => [`lost_${name.replace(/ /g, "_")}`, (p) => p.places[k]]), ["server_cpu_share", (p) => p.cpu], ["server_application_share", (p) => p.application], ["server_receive_work_share", (p) => p.receiveWork], ["server_cpu_ns_per_packet", (p) => p.cpuNs], ["inserted_share", (p) => p.inserted],
    ...data.percentiles.map((n) => [`latency_${n}_ns`, (p) => p.latency?.[n] ?? NONE]), ...data.percentiles.map((n) => [`lag_${n}_ns`, (p) => p.lag?.[n] ?? NONE]), ...data.percentiles.map((n) => [`residence_${n}_ns`, (p) => p.residence?.[n] ?? NONE])];
  function allPoints(part) {
    const columns = ["workload", "variant", "link", "frame", "load", "kind", "offered_pps", ...TRIPLES.flatMap(([n]) => [n, `${n}_low95`, `${n}_high95`]), "packets_due", "packets_lost", "resolvable_loss_ratio", "trials_counted", "trials_over_goal", "exceed_ratio", "limit", "limits", "rounds", "trials", "trials_client_limited", "trials_stall_limited", "trials_tried_again", "trial_s", "weak", "not_converged", "why_empty", "cpu_withheld", "latency_withheld", "packets_behind_p99_9", "remarks", "labels", "id"];
    const rows = part.points.map((p) => [part.variants[p.variant].isNull ? "null workload" : part.workload, variantOf(part, p).told, part.isVirtual ? "virtual" : "line", p.frame, p.load, p.kind, p.offered, ...TRIPLES.flatMap(([, of]) => of(p)), p.due, p.lost, p.resolvable, p.counted, p.overGoal, p.exceedRatio, p.limit, p.limitText, p.rounds, p.trials, p.tried[2], p.tried[3], p.triedAgain, p.trialS, p.weak, p.loose.join(" "), p.why, p.cpuWithheld, Object.entries(p.latencyWithheld).map(([n, why]) => `${n}: ${why}`).join("; "), p.behind, p.remarks, part.labels.join("; "), p.id]);
    return { columns, rows };
  }
  function pointTable(part) {
    const all = allPoints(part);
    const shown = { columns: ["variant", "frame", "load", "Mpps", "95 % interval", "Gb/s (L2)", "loss", "packets, M", "CPU, %", "CPU, ns per packet", "inserts, %", ...["p50", "p99", "p99_9", "max"].flatMap((n) => [`${PERCENTILE[n]}, us`, "lag, us"]), "behind p99.9", "rounds", "trials", "discarded: client", "stalls", "limits of its rounds", "note"],
      rows: part.points.map((p) => [nameOf(part, p.variant), frameWords(part, p.frame), p.load, ...marked(p, "throughput_pps", cells(scaled(p.pps, 1e-6))), num(p.gbps[0]), ...marked(p, "loss_ratio", [p.loss[0] === null ? "–" : p.lossText]), p.due ? num(p.due * 1e-6) : "–", ...marked(p, "server_cpu_share", [percentText(p.cpu)]), p.cpuNs[0] === null ? "–" : num(p.cpuNs[0]), percentText(p.inserted), ...["p50", "p99", "p99_9", "max"].flatMap((n) => [...marked(p, `latency.${n}`, [num(latencyOf(p, n)[0])]), lagText(p, n)]), p.behind ?? "–", p.rounds, p.trials, p.tried[2], p.tried[3], p.limitText, [p.why, p.weak, withheldOf(p), p.remarks].filter(Boolean).join("; ")]) };
    return [h("div", { class: "points-tools downloads" }, plural(part.points.length, "point"), h("button", { type: "button", "data-points-format": "csv", click: () => save(`dpubench-${part.workload}${part.isVirtual ? "-virtual-link" : ""}.csv`, csv(all.columns, all.rows), "text/csv") }, "CSV of everything")), table(shown).firstChild];
  }

  // ------------------------------------------------------------------ the first table
  /** Its rows as they stand in the page, for downloads. */
  function saveSustained(format) {
    const columns = ["workload", "variant", "link", "frame", "search", "Mpps", "low95", "high95", "Gb/s (L2)", "gbps_low95", "gbps_high95", "limits", "note", "labels"];
    const rows = parts.flatMap((part) => part.points.filter((p) => p.kind === "NDR" || p.kind === "PDR").map((p) => [part.workload, nameOf(part, p.variant), part.isVirtual ? "virtual" : "line", p.frame, p.kind, ...scaled(p.pps, 1e-6), ...p.gbps, p.limitText, p.why || p.remarks, part.labels.join("; ")]));
    if (format === "csv") return save("dpubench-end-to-end.csv", csv(columns, rows), "text/csv");
    const body = rows.map((r) => [r[0], r[1], r[3], r[4], r[5] === null ? "–" : `${span(r[5], r[6], r[7]).value} [${span(r[5], r[6], r[7]).range}]`, r[5] === null ? r[12] : r[11]]);
    save("dpubench-end-to-end.tex", latex("lllrrl", ["workload", "variant", "frame", "search", "Mpps", "limits"], body, `NDR and PDR, frames with FCS (L2), 95 % intervals in brackets; ${[...new Set(parts.flatMap((p) => p.labels))].join("; ")}. Measured with dpubench, ${data.runs.join(", ")}.`), "application/x-tex");
  }

  // ------------------------------------------------------------------ events
  root.addEventListener("click", (event) => {
    const button = event.target.closest("button");
    if (!button) return;
    if (button.dataset.unitChoice) {
      $("[data-unit]").dataset.unit = button.dataset.unitChoice;
      for (const b of $$("[data-unit-choice]")) b.setAttribute("aria-pressed", String(b === button));
    } else if (button.dataset.table) saveSustained(button.dataset.table);
  });
  for (const details of $$("details.all-points")) details.addEventListener("toggle", () => { const box = $(".points-body", details); if (details.open && !box.firstChild) box.append(...pointTable(parts[Number(details.closest("section").dataset.index)])); });
  const seen = new IntersectionObserver((entries) => { for (const e of entries) if (e.isIntersecting && !e.target.dataset.drawn) draw(e.target); }, { rootMargin: "500px" });
  for (const s of sections) seen.observe(s);
  onAppearance(() => { for (const s of sections) if (s.dataset.drawn) draw(s); }, () => { for (const s of sections) draw(s); });
});
