// What the pages of all studies share: elements, numbers as text, the appearance of figures, downloads. Everything from a run is set as text, never as markup.
"use strict";
// biome-ignore lint/correctness/noUnusedVariables: the pages' scripts use it
const dpubench = (() => {
  const $ = (selector, root = document) => root.querySelector(selector);
  const $$ = (selector, root = document) => [...root.querySelectorAll(selector)];

  /** An element with attributes (functions become listeners) and children. */
  function h(tag, attributes = {}, ...children) {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) {
      if (typeof value === "function") element.addEventListener(name, value);
      else if (value !== false && value !== null && value !== undefined) element.setAttribute(name, value === true ? "" : value);
    }
    element.append(...children.flat().filter((c) => c !== null && c !== undefined && c !== false));
    return element;
  }

  // ------------------------------------------------------------------ numbers as text (the same rules as words.py)
  const grouped = (v, places) => v.toLocaleString("en-US", { minimumFractionDigits: places, maximumFractionDigits: places });
  function places(value, half) {
    if (!Number.isFinite(value) || value === 0) return 2;
    let n = 2 - Math.floor(Math.log10(Math.abs(value)));
    if (Number.isFinite(half) && half > 0) n = Math.max(n, Math.min(n + 1, -Math.floor(Math.log10(half))));
    return Math.min(20, Math.max(n, 0));
  }
  const num = (v) => (v === null ? "–" : grouped(v, places(v, NaN)));
  function span(v, low, high) {
    if (v === null) return { value: "–", range: "" };
    if (low === null || high === null) return { value: num(v), range: "no interval" };
    const n = places(v, (high - low) / 2);
    return { value: grouped(v, n), range: `${grouped(low, n)}–${grouped(high, n)}` };
  }
  const sizeText = (b) => (b >= 1048576 && b % 1048576 === 0 ? `${b / 1048576} MiB` : b >= 1024 && b % 1024 === 0 ? `${b / 1024} KiB` : `${grouped(b, 0)} B`);
  const words = (name) => name.replace(/_/g, " ");
  const numeric = (text) => text !== "" && Number.isFinite(Number(text));
  const plural = (n, noun) => `${grouped(n, 0)} ${noun}${n === 1 ? "" : "s"}`;

  // ------------------------------------------------------------------ appearance of figures
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const media = { printing: false };
  const LIGHT = { ink: "#16191d", soft: "#515a66", grid: "#e6e9ed", paper: "#ffffff", lines: ["#0062aa", "#c45400", "#00785a", "#a8467f", "#8a6a00", "#4a53b8", "#3a8fb7", "#7d3f1d"] };
  const DARK = { ink: "#e7eaee", soft: "#b3bbc6", grid: "#2c333c", paper: "#14181d", lines: ["#5fb0f0", "#f0904a", "#3ecfa4", "#e08cc0", "#d8b640", "#a3a9f5", "#8fd0ea", "#d39a78"] };
  const theme = () => (dark.matches && !media.printing ? DARK : LIGHT);
  const SYMBOLS = ["circle", "square", "diamond", "triangle-up", "triangle-down", "pentagon", "hexagon", "star"];
  const DASHES = ["solid", "dash", "dot", "dashdot"];
  // Plotly reads a little markup in its texts; names come from runs.
  const plain = (s) => String(s).replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");
  const alpha = (hex, a) => `rgba(${parseInt(hex.slice(1, 3), 16)},${parseInt(hex.slice(3, 5), 16)},${parseInt(hex.slice(5, 7), 16)},${a})`;
  /** What all figures share: an axis, and a layout that knows nothing of sizes and data yet. `paper` draws for download. */
  function blank(th, size, paper) {
    const font = { family: paper ? "Helvetica, Arial, sans-serif" : getComputedStyle(document.body).fontFamily, size, color: th.soft };
    return {
      axis: { gridcolor: th.grid, linecolor: th.soft, tickcolor: th.soft, ticks: "outside", ticklen: 3, zeroline: false, showline: true, automargin: false },
      layout: { font, paper_bgcolor: th.paper, plot_bgcolor: th.paper, showlegend: false, hovermode: "closest", hoverlabel: { bgcolor: th.paper, bordercolor: th.soft, font: { color: th.ink, size: 12 }, align: "left" } },
    };
  }
  /** Pushes labels (in pixels, `at`, ascending) apart until none covers another, and back into `room`. */
  function apart(labels, gap, room) {
    for (let pass = 0; pass < 60; pass++) for (let i = 1; i < labels.length; i++) { const short = gap - (labels[i].at - labels[i - 1].at); if (short > 0.01) { labels[i].at += short / 2; labels[i - 1].at -= short / 2; } }
    const over = Math.max(0, ...labels.map((s) => s.at - room)) || Math.min(0, ...labels.map((s) => s.at));
    for (const s of labels) s.at -= over;
  }
  function ticks(low, high) {
    const found = [];
    const decades = Math.log10(high / low);
    const steps = decades > 3.2 ? [1] : decades > 1.6 ? [1, 3] : decades > 0.8 ? [1, 2, 5] : [1, 1.5, 2, 3, 4, 5, 6, 8];
    for (let e = Math.floor(Math.log10(low)) - 1; e <= Math.ceil(Math.log10(high)); e++) for (const s of steps) { const t = Number((s * 10 ** e).toPrecision(3)); if (t >= low * 0.999 && t <= high * 1.001) found.push(t); }
    return found;
  }
  const tickText = (v) => (v >= 1e6 ? `${+(v / 1e6).toPrecision(3)}M` : v >= 1e4 ? `${+(v / 1e3).toPrecision(3)}k` : String(+v.toPrecision(3)));

  // ------------------------------------------------------------------ libraries, loaded when first needed
  function library(id) {
    const holder = document.getElementById(id);
    if (holder.dataset.loaded) return;
    const script = document.createElement("script"); // allowed by its hash in the page's policy
    script.textContent = holder.textContent;
    document.head.append(script);
    holder.dataset.loaded = "1";
  }
  const CONFIG = { displayModeBar: false, responsive: false, doubleClick: false, scrollZoom: false };

  // ------------------------------------------------------------------ downloads
  function save(name, content, type) {
    const url = URL.createObjectURL(content instanceof Blob ? content : new Blob([content], { type }));
    const link = h("a", { href: url, download: name.replace(/[^A-Za-z0-9._-]+/g, "-") });
    document.body.append(link); link.click(); link.remove();
    setTimeout(() => URL.revokeObjectURL(url), 10000);
  }
  function toast(message) { const t = $("#toast"); t.textContent = message; t.classList.add("on"); clearTimeout(toast.timer); toast.timer = setTimeout(() => t.classList.remove("on"), 2200); }
  async function saveSvg(svg, width, height, name, format) {
    if (format === "svg") return save(`${name}.svg`, svg, "image/svg+xml");
    if (format === "png") {
      const image = new Image();
      image.src = "data:image/svg+xml;charset=utf-8," + encodeURIComponent(svg);
      await image.decode();
      const canvas = h("canvas", { width: width * 3, height: height * 3 });
      canvas.getContext("2d").drawImage(image, 0, 0, width * 3, height * 3);
      return save(`${name}.png`, await new Promise((done) => canvas.toBlob(done, "image/png")));
    }
    library("lib-pdf");
    const element = new DOMParser().parseFromString(svg, "image/svg+xml").documentElement;
    const points = 0.75; // a CSS pixel in PostScript points
    const pdf = new window.jspdf.jsPDF({ unit: "pt", format: [width * points, height * points], orientation: width >= height ? "landscape" : "portrait" });
    pdf.setProperties({ title: name, creator: "dpubench" });
    const holder = h("div", { style: "position:absolute;left:-9999px;top:0", "aria-hidden": "true" });
    holder.append(document.importNode(element, true));
    document.body.append(holder); // svg2pdf measures text in the document
    try { await window.svg2pdf.svg2pdf(holder.firstChild, pdf, { x: 0, y: 0, width: width * points, height: height * points }); } finally { holder.remove(); }
    save(`${name}.pdf`, pdf.output("blob"));
  }
  const failing = (what) => (error) => { toast(`${what} failed: ${error.message}`); throw error; };
  const csvCell = (v) => {
    if (v === null || v === undefined) return "";
    if (typeof v === "number") return String(v);
    const s = /^[=+\-@\t\r]/.test(v) ? "'" + v : v; // a spreadsheet must not take a name for a formula
    return /[",\n\r]/.test(s) ? `"${s.replace(/"/g, '""')}"` : s;
  };
  const csv = (columns, rows) => [columns, ...rows].map((r) => r.map(csvCell).join(",")).join("\r\n") + "\r\n";
  const TEX = { "\\": "\\textbackslash{}", "~": "\\textasciitilde{}", "^": "\\textasciicircum{}", "×": "$\\times$", "–": "--", "·": "$\\cdot$", "±": "$\\pm$" };
  const tex = (v) => String(v ?? "").replace(/[\\~^×–·±]|[#$%&_{}]/g, (c) => TEX[c] || "\\" + c);
  const latex = (align, columns, rows, caption) => `% needs \\usepackage{booktabs}\n\\begin{table}\n  \\centering\n  \\caption{${tex(caption)}}\n  \\begin{tabular}{${align}}\n    \\toprule\n    ${columns.map(tex).join(" & ")} \\\\\n    \\midrule\n${rows.map((r) => `    ${r.map(tex).join(" & ")} \\\\`).join("\n")}\n    \\bottomrule\n  \\end{tabular}\n\\end{table}\n`;
  const bracket = (v, low, high) => { const s = span(v, low, high); return v === null ? "" : `${s.value} [${s.range}]`; };

  // ------------------------------------------------------------------ controls
  const options = (values, chosen, label) => values.map((v) => h("option", { value: v, selected: v === chosen }, label(v)));
  function choice(label, values, chosen, show, change) {
    return h("label", {}, label, h("select", { change: (e) => change(e.target.value), "aria-label": label || "selection" }, options(values, chosen, show)));
  }
  async function copy(value) {
    try { await navigator.clipboard.writeText(value); } catch { // a file:// page may lack the clipboard API
      const area = h("textarea", { style: "position:fixed;left:-999px" }); area.value = value; document.body.append(area); area.select(); document.execCommand("copy"); area.remove();
    }
    toast("Copied");
  }
  document.addEventListener("click", (event) => { const button = event.target.closest("button.copy"); if (button) copy(button.dataset.copy); });
  const reveal = () => { const target = location.hash && document.getElementById(location.hash.slice(1)); if (target && target.tagName === "DETAILS") target.open = true; };
  addEventListener("hashchange", reveal); reveal();
  /** Calls `redraw` when what was drawn has to look different, `all` before printing: then nothing may be missing. */
  function onAppearance(redraw, all) {
    let timer, width = innerWidth;
    dark.addEventListener("change", redraw);
    addEventListener("resize", () => { clearTimeout(timer); timer = setTimeout(() => { if (innerWidth !== width && !media.printing) { width = innerWidth; redraw(); } }, 150); });
    addEventListener("beforeprint", () => { media.printing = true; all(); });
    addEventListener("afterprint", () => { media.printing = false; redraw(); });
  }
  /** Runs the script of a study on its part of the page: on the whole page, or on a section of a page of several studies, whose ids have a prefix. */
  function part(study, run) {
    const root = $$("[data-study]").find((e) => e.dataset.study === study) ?? document.body, prefix = root === document.body ? "" : `${root.id}-`;
    const own = (selector) => selector.replace(/#(?=[a-z])/g, `#${prefix}`);
    run({ root, $: (selector, of = root) => $(own(selector), of), $$: (selector, of = root) => $$(own(selector), of), data: JSON.parse(document.getElementById(`${prefix}data`).textContent) });
    document.documentElement.dataset.ready = "1";
  }
  return { part, h, grouped, num, span, sizeText, words, numeric, plural, media, LIGHT, theme, SYMBOLS, DASHES, plain, alpha, ticks, tickText, blank, apart, library, CONFIG, save, saveSvg, failing, csv, latex, bracket, options, choice, onAppearance };
})();
