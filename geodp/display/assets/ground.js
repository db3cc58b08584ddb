// The region's outline over a shade outside it, the graticule, and the user's own basemap.
(function (geodp) {
  "use strict";

  const STEPS = [20, 10, 5, 2, 1, 0.5, 0.2, 0.1, 0.05, 0.02, 0.01, 0.005, 0.002, 0.001, 0.0005, 0.0002, 0.0001];
  const APART = 95; // pixels between neighbouring lines, at least

  // Meridians and parallels of the window: [{degrees, at, text}] with `at` in pixels of the window.
  function graticule(map) {
    const bounds = map.getBounds();
    const size = map.getSize();
    const step = STEPS.filter((each) => (size.x * each) / (bounds.getEast() - bounds.getWest()) >= APART).pop() || STEPS[0];
    const digits = Math.max(0, Math.ceil(-Math.log10(step) - 1e-9));
    const lines = { step, meridians: [], parallels: [] };
    for (let n = Math.ceil(bounds.getWest() / step); n * step <= bounds.getEast(); n++) {
      const at = map.latLngToContainerPoint([map.getCenter().lat, n * step]).x;
      const text = Math.abs(n * step).toFixed(digits) + "°" + (n < 0 ? "W" : n > 0 ? "E" : "");
      lines.meridians.push({ degrees: n * step, at, text });
    }
    for (let n = Math.ceil(bounds.getSouth() / step); n * step <= bounds.getNorth(); n++) {
      const at = map.latLngToContainerPoint([n * step, map.getCenter().lng]).y;
      const text = Math.abs(n * step).toFixed(digits) + "°" + (n < 0 ? "S" : n > 0 ? "N" : "");
      lines.parallels.push({ degrees: n * step, at, text });
    }
    return lines;
  }

  geodp.styles.ground = class {
    constructor(data, stage) {
      this.stage = stage;
      this.outline = stage.projection.path(data, true);
      this.graticule = data.graticule;
    }

    draw(ctx, view) {
      const outside = new Path2D();
      const far = Math.max(view.width, view.height) / view.scale;
      outside.rect(-view.x / view.scale - far, -view.y / view.scale - far, 4 * far, 4 * far);
      outside.addPath(this.outline);
      ctx.save();
      ctx.translate(view.x, view.y);
      ctx.scale(view.scale, view.scale);
      ctx.fillStyle = this.stage.dark ? "rgba(0, 0, 0, 0.28)" : "rgba(90, 98, 110, 0.10)";
      ctx.fill(outside, "evenodd");
      ctx.restore();
      if (this.graticule) this.drawGraticule(ctx, view);
      ctx.translate(view.x, view.y);
      ctx.scale(view.scale, view.scale);
      ctx.lineWidth = 1.4 / view.scale;
      ctx.strokeStyle = this.stage.ink("#5a5f66");
      ctx.stroke(this.outline);
    }

    drawGraticule(ctx, view) {
      const size = this.stage.map.getSize();
      const left = (view.width - size.x) / 2;
      const top = (view.height - size.y) / 2;
      const lines = graticule(this.stage.map);
      ctx.beginPath();
      for (const line of lines.meridians) {
        const x = Math.round(line.at + left) + 0.5;
        ctx.moveTo(x, 0);
        ctx.lineTo(x, view.height);
      }
      for (const line of lines.parallels) {
        const y = Math.round(line.at + top) + 0.5;
        ctx.moveTo(0, y);
        ctx.lineTo(view.width, y);
      }
      ctx.lineWidth = 1;
      ctx.strokeStyle = this.stage.dark ? "rgba(170, 185, 205, 0.2)" : "rgba(80, 90, 105, 0.22)";
      ctx.stroke();
    }
  };

  geodp.styles.backdrop = class {
    constructor(data, stage) {
      this.stage = stage;
      this.areas = data.areas && stage.projection.path(data.areas, true);
      this.lines = data.lines && stage.projection.path(data.lines, false);
      this.main = data.main && stage.projection.path(data.main, false);
    }

    draw(ctx, view) {
      const { dark } = this.stage;
      ctx.translate(view.x, view.y);
      ctx.scale(view.scale, view.scale);
      ctx.lineJoin = "round";
      if (this.areas) {
        ctx.fillStyle = dark ? "rgba(150, 160, 175, 0.16)" : "rgba(120, 126, 135, 0.13)";
        ctx.fill(this.areas, "evenodd");
        ctx.strokeStyle = dark ? "rgba(170, 180, 195, 0.4)" : "rgba(105, 110, 120, 0.55)";
        ctx.lineWidth = 0.8 / view.scale;
        ctx.stroke(this.areas);
      }
      // Streets lie above the density and must not outshout it; they grow with the map.
      const wide = Math.min(4, Math.max(0.6, 0.8 * 1.45 ** (view.zoom - this.stage.fitZoom)));
      ctx.strokeStyle = dark ? "rgba(225, 232, 240, 0.20)" : "rgba(60, 66, 76, 0.20)";
      ctx.lineWidth = wide / view.scale;
      if (this.lines) ctx.stroke(this.lines);
      ctx.strokeStyle = dark ? "rgba(235, 240, 246, 0.34)" : "rgba(50, 56, 66, 0.36)";
      ctx.lineWidth = (1.6 * wide) / view.scale;
      if (this.main) ctx.stroke(this.main);
    }
  };

  // Where the graticule's labels stand, in pixels of a layer's canvas: [left, top, right, bottom] of each.
  function besideGraticule(map, view) {
    const size = map.getSize();
    const left = (view.width - size.x) / 2;
    const top = (view.height - size.y) / 2;
    const lines = graticule(map);
    const widest = 60;
    return [
      ...lines.parallels.map((line) => [left, top + line.at - 18, left + widest, top + line.at]),
      ...lines.meridians.map((line) => [left + line.at, top + size.y - 20, left + line.at + widest, top + size.y]),
    ];
  }

  // Names of places: the most important come first, and a name that finds no room is left out.
  geodp.styles.labels = class {
    constructor(data, stage) {
      this.data = data;
      this.stage = stage;
      this.places = stage.projection.places(data.x, data.y);
    }

    draw(ctx, view) {
      const { dark } = this.stage;
      const taken = besideGraticule(this.stage.map, view);
      const before = taken.length;
      ctx.font = "600 12px system-ui, 'Segoe UI', 'Liberation Sans', sans-serif";
      ctx.textAlign = "center";
      ctx.lineJoin = "round";
      ctx.lineWidth = 3.5;
      ctx.strokeStyle = dark ? "rgba(16, 20, 25, 0.85)" : "rgba(255, 255, 255, 0.88)";
      ctx.fillStyle = dark ? "#e8ecf1" : "#20262e";
      this.data.names.forEach((name, n) => {
        const x = this.places.x[n] * view.scale + view.x;
        const y = this.places.y[n] * view.scale + view.y;
        const half = ctx.measureText(name).width / 2 + 4;
        const box = [x - half, y - 9, x + half, y + 9];
        if (box[2] < 0 || box[0] > view.width || box[3] < 0 || box[1] > view.height) return;
        if (taken.some((other) => box[0] < other[2] && box[2] > other[0] && box[1] < other[3] && box[3] > other[1])) return;
        taken.push(box);
        ctx.strokeText(name, x, y + 4);
        ctx.fillText(name, x, y + 4);
      });
      this.written = taken.length - before;
    }
  };

  // Labels stand at the left and bottom edge of the window, and give way to every control.
  geodp.GraticuleLabels = class {
    constructor(stage) {
      this.stage = stage;
      this.visible = false;
      this.canvas = geodp.element("canvas", { class: "geodp-graticule-labels", "aria-hidden": "true" });
      stage.map.getContainer().append(this.canvas);
      stage.map.on("move zoom viewreset resize moveend", () => this.draw());
      const watcher = new ResizeObserver(() => this.draw());
      for (const control of this.controls()) watcher.observe(control);
    }

    controls() {
      return [...this.stage.map.getContainer().querySelectorAll(".leaflet-control")];
    }

    show(visible) {
      this.visible = visible;
      this.draw();
    }

    draw() {
      const map = this.stage.map;
      const size = map.getSize();
      const ratio = this.stage.pixels;
      const { dark } = this.stage;
      this.canvas.width = size.x * ratio;
      this.canvas.height = size.y * ratio;
      if (!this.visible) return;
      const frame = map.getContainer().getBoundingClientRect();
      const taken = this.controls().map((control) => control.getBoundingClientRect());
      const ctx = this.canvas.getContext("2d");
      ctx.scale(ratio, ratio);
      ctx.font = "11px system-ui, sans-serif";
      ctx.fillStyle = dark ? "#b9c2cd" : "#4b535e";
      ctx.strokeStyle = dark ? "rgba(16, 20, 25, 0.9)" : "rgba(255, 255, 255, 0.9)";
      ctx.lineWidth = 3;
      ctx.lineJoin = "round";
      const write = (text, x, baseline) => {
        const width = ctx.measureText(text).width;
        const box = { left: frame.left + x - 4, right: frame.left + x + width + 4, top: frame.top + baseline - 14, bottom: frame.top + baseline + 4 };
        const clash = (other) => box.left < other.right && box.right > other.left && box.top < other.bottom && box.bottom > other.top;
        if (x < 2 || x + width > size.x - 2 || baseline < 14 || baseline > size.y - 2 || taken.some(clash)) return;
        taken.push(box);
        ctx.strokeText(text, x, baseline);
        ctx.fillText(text, x, baseline);
      };
      const lines = graticule(map);
      for (const line of lines.meridians) write(line.text, line.at + 4, size.y - 6);
      for (const line of lines.parallels) write(line.text, 6, line.at - 4);
    }
  };
})((window.geodp = window.geodp || {}));
