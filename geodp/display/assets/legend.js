// What the signs of a layer mean; shown below the layer's tick while the layer is shown.
(function (geodp) {
  "use strict";

  function sign(row, dark) {
    const ratio = Math.max(2, window.devicePixelRatio || 1);
    const colour = !dark ? row.colour : row.nothing ? "#22272e" : geodp.lighten(row.colour);
    const canvas = geodp.element("canvas", { width: 18 * ratio, height: 14 * ratio, "aria-hidden": "true" });
    const ctx = canvas.getContext("2d");
    ctx.scale(ratio, ratio);
    if (row.shape === "line") {
      ctx.strokeStyle = colour;
      ctx.lineWidth = 2;
      ctx.moveTo(1, 7);
      ctx.lineTo(17, 7);
      ctx.stroke();
    } else if (row.shape === "ring") {
      ctx.strokeStyle = colour;
      ctx.lineWidth = 1.5;
      ctx.setLineDash([3, 2]);
      ctx.arc(9, 7, 5.5, 0, 2 * Math.PI);
      ctx.stroke();
    } else if (row.shape === "fill") {
      ctx.fillStyle = colour;
      ctx.strokeStyle = "#b9bdc3";
      ctx.fillRect(2.5, 2.5, 13, 9);
      ctx.strokeRect(2.5, 2.5, 13, 9);
    } else geodp.drawMark(ctx, row.shape === "dot" ? "circle" : row.shape, colour, 9, 7, row.shape === "dot" ? 3.2 : 4.4, dark);
    return canvas;
  }

  // Labels below the bounds of a bar: [share of the bar, text].
  function labels(ticks) {
    const made = ticks.map(([share, text]) => geodp.element("span", { style: "left:" + (100 * share).toFixed(1) + "%" }, text));
    return geodp.element("div", { class: "geodp-ticks" }, ...made);
  }

  function ramp(row, dark) {
    const colours = dark ? [...row.ramp].reverse() : row.ramp;
    const bar = geodp.element("div", { class: "geodp-bar", style: "background:linear-gradient(90deg," + colours.join(",") + ")" });
    // Colours follow the square root, so the middle of the bar is a quarter of its end.
    const ticks = [0, 0.5, 1].map((share) => [share, geodp.short(row.top * share * share) + (share === 1 ? "+" : "")]);
    return geodp.element("div", { class: "geodp-ramp" }, bar, labels(ticks), geodp.element("div", { class: "geodp-unit" }, row.unit));
  }

  // Fill `place` with the legend of an entry at the time of the clock, unless it stands there already.
  geodp.drawLegend = function (place, entry, clock, dark) {
    const state = [clock.wholeRun, dark].join();
    if (entry.legendState === state) return;
    entry.legendState = state;
    const rows = entry.spec.legend.map((row) => {
      if (row.moment && clock.wholeRun) return null;
      if (row.ramp) return ramp(row, dark);
      return geodp.element("div", { class: "geodp-sign" }, sign(row, dark), geodp.element("span", {}, row.text));
    });
    place.replaceChildren(...rows.filter((row) => row !== null));
  };

  // A box with the legends of the layers that are shown, for maps that have no panel of ours.
  geodp.LegendBox = L.Control.extend({
    options: { position: "bottomright" },

    initialize: function (stage) {
      this.stage = stage;
    },

    onAdd: function () {
      const box = geodp.element("div", { class: "geodp-box geodp-legends", role: "group", "aria-label": "Legend" });
      L.DomEvent.disableClickPropagation(box);
      L.DomEvent.disableScrollPropagation(box);
      return box;
    },

    update: function () {
      const shown = this.stage.entries.filter((entry) => entry.visible && entry.spec.legend.length);
      for (const entry of shown) {
        if (!entry.legend) entry.legend = geodp.element("div", { class: "geodp-legend" });
        geodp.drawLegend(entry.legend, entry, this.stage.clock, this.stage.dark);
      }
      const parts = shown.flatMap((entry) => [geodp.element("b", {}, geodp.titleOf(entry.spec)), entry.legend]);
      this.getContainer().replaceChildren(...parts);
      this.getContainer().hidden = !parts.length;
    },
  });
})((window.geodp = window.geodp || {}));
