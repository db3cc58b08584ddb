// What the signs of a layer mean; shown below the layer's tick while the layer is shown.
(function (geodp) {
  "use strict";

  function sign(row) {
    const ratio = window.devicePixelRatio || 1;
    const canvas = geodp.element("canvas", { width: 18 * ratio, height: 14 * ratio, "aria-hidden": "true" });
    const ctx = canvas.getContext("2d");
    ctx.scale(ratio, ratio);
    if (row.shape === "line") {
      ctx.strokeStyle = row.colour;
      ctx.lineWidth = 2;
      ctx.moveTo(1, 7);
      ctx.lineTo(17, 7);
      ctx.stroke();
    } else if (row.shape === "ring") {
      ctx.strokeStyle = row.colour;
      ctx.lineWidth = 1.5;
      ctx.setLineDash([3, 2]);
      ctx.arc(9, 7, 5.5, 0, 2 * Math.PI);
      ctx.stroke();
    } else if (row.shape === "fill") {
      ctx.fillStyle = row.colour;
      ctx.strokeStyle = "#b9bdc3";
      ctx.fillRect(2.5, 2.5, 13, 9);
      ctx.strokeRect(2.5, 2.5, 13, 9);
    } else geodp.drawMark(ctx, row.shape === "dot" ? "circle" : row.shape, row.colour, 9, 7, row.shape === "dot" ? 3.2 : 4.4);
    return canvas;
  }

  // Labels below the bounds of a bar: [share of the bar, text].
  function labels(ticks) {
    const made = ticks.map(([share, text]) => geodp.element("span", { style: "left:" + (100 * share).toFixed(1) + "%" }, text));
    return geodp.element("div", { class: "geodp-ticks" }, ...made);
  }

  // One box per band, its lower level written below its left edge.
  function steps(bands, unit) {
    if (!bands.length) return geodp.element("div", {}, "no line is reached");
    const boxes = bands.map((band) => geodp.element("i", { style: "background:" + band.colour }));
    const every = Math.ceil(bands.length / 6);
    const ticks = bands.map((band, n) => [n / bands.length, geodp.short(band.low)]).filter((_, n) => n % every === 0);
    return geodp.element("div", {}, geodp.element("div", { class: "geodp-bar" }, ...boxes), labels(ticks), geodp.element("div", { class: "geodp-unit" }, unit + " or more"));
  }

  function ramp(row) {
    const bar = geodp.element("div", { class: "geodp-bar", style: "background:linear-gradient(90deg," + row.ramp.join(",") + ")" });
    // Colours follow the square root, so the middle of the bar is a quarter of its end.
    const ticks = [0, 0.5, 1].map((share) => [share, geodp.short(row.top * share * share) + (share === 1 ? "+" : "")]);
    return geodp.element("div", { class: "geodp-ramp" }, bar, labels(ticks), geodp.element("div", { class: "geodp-unit" }, row.unit));
  }

  // Fill `place` with the legend of an entry at the time of the clock, unless it stands there already.
  geodp.drawLegend = function (place, entry, clock) {
    const state = entry.layer && entry.layer.style.steps ? entry.layer.style.steps(clock) : clock.wholeRun;
    if (entry.legendState === state) return;
    entry.legendState = state;
    const rows = entry.spec.legend.map((row) => {
      if (row.moment && clock.wholeRun) return null;
      if (row.steps) return entry.layer ? steps(entry.layer.style.steps(clock), row.unit) : null;
      if (row.ramp) return ramp(row);
      return geodp.element("div", { class: "geodp-sign" }, sign(row), geodp.element("span", {}, row.text));
    });
    place.replaceChildren(...rows.filter((row) => row !== null));
  };
})((window.geodp = window.geodp || {}));
