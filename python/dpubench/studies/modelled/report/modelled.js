// What the pages of studies of modelled processors share: tables of numbers, what stands around a downloaded figure, drawing when seen.
// biome-ignore lint/correctness/noUnusedVariables: the pages' scripts use it
const modelled = (() => {
  const { h, plain, onAppearance } = dpubench;
  /** A table of numbers, columns of nothing but numbers flush right. */
  function table({ columns, rows }) {
    const numeric = columns.map((_, i) => rows.length && rows.every((r) => typeof r[i] === "number" || /^[–0-9.,]*( %)?\*?$/.test(String(r[i]))));
    return h("div", { class: "points-body", tabindex: "0", role: "region", "aria-label": "Numbers" }, h("table", { class: "values" }, h("thead", {}, h("tr", {}, ...columns.map((c, i) => h("th", { scope: "col", class: numeric[i] ? "num" : false }, c)))), h("tbody", {}, ...rows.map((r) => h("tr", {}, ...r.map((v, i) => h(i ? "td" : "th", { scope: i ? false : "row", class: numeric[i] ? "num" : false }, String(v))))))));
  }
  /** What stands around a figure on the page has to be in a downloaded one: its title, words above it, words below it. */
  function around(annotations, margin, th, title, above, below) {
    const at = (y, shift, text, size, anchor) => annotations.push({ xref: "paper", yref: "paper", x: 0, xshift: -margin.l + 8, y, yshift: shift, xanchor: "left", yanchor: anchor, align: "left", showarrow: false, text, font: { size, color: size > 12 ? th.ink : th.soft } });
    at(1, margin.t - 18, `<b>${plain(title)}</b>`, 13, "middle");
    at(1, margin.t - 36, plain(above.join("; ")), 10, "middle");
    at(0, -46, plain(below.filter(Boolean).join(" ")).replace(/(.{95,120}?) /g, "$1<br>"), 9, "top");
  }
  /** Calls `draw` with each box when it comes into view, with the others when the page is idle, and again when one has to look different. */
  function whenSeen(boxes, draw) {
    const show = (box) => { box.dataset.drawn = "1"; draw(box); };
    const seen = new IntersectionObserver((entries) => { for (const e of entries) if (e.isIntersecting && !e.target.dataset.drawn) show(e.target); }, { rootMargin: "500px" });
    for (const box of boxes) seen.observe(box);
    const idle = window.requestIdleCallback ?? ((task) => setTimeout(task, 50));
    const next = () => { const box = [...boxes].find((b) => !b.dataset.drawn); if (box) { show(box); idle(next); } };
    idle(next);
    onAppearance(() => { for (const box of boxes) if (box.dataset.drawn) show(box); }, () => { for (const box of boxes) show(box); });
  }
  return { table, around, whenSeen };
})();
