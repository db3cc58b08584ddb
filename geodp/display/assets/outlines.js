// Areas with an outline each, such as the regions of offers; as it happens, each while it is open. Areas that are steps
// of one thing are filled, each in its own colour, with its number; arrows are filled and have none.
(function (geodp) {
  "use strict";

  const REACH = 4; // pixels from an outline within which it is pointed at
  const scratch = document.createElement("canvas").getContext("2d");

  geodp.styles.outlines = class {
    constructor(data, stage) {
      this.stage = stage;
      this.data = data;
      this.paths = data.shapes.map((shape) => stage.projection.path(shape, true, data.step_m));
      this.boxes = data.shapes.map((shape) => {
        const { x, y } = stage.projection.places(shape.x, shape.y, data.step_m);
        return { west: Math.min(...x), east: Math.max(...x), north: Math.min(...y), south: Math.max(...y) };
      });
      this.pointed = -1;
    }

    isThere(i, clock) {
      return clock.wholeRun || (this.data.from[i] <= clock.t && (this.data.until[i] < 0 || clock.t <= this.data.until[i]));
    }

    draw(ctx, view, clock) {
      ctx.save();
      ctx.translate(view.x, view.y);
      ctx.scale(view.scale, view.scale);
      ctx.lineJoin = "round";
      for (let i = 0; i < this.paths.length; i++) {
        if (!this.isThere(i, clock)) continue;
        const pointed = i === this.pointed;
        ctx.fillStyle = this.stage.ink(this.data.colours[i]);
        if (this.data.filled) {
          ctx.globalAlpha = pointed ? 1 : 0.85;
          ctx.fill(this.paths[i], "evenodd");
          ctx.strokeStyle = pointed ? "#000000" : "#ffffff";
          ctx.lineWidth = (pointed ? 1.6 : 0.8) / view.scale;
          ctx.setLineDash([]);
          ctx.stroke(this.paths[i]);
          continue;
        }
        ctx.strokeStyle = this.data.steps ? "#5b3d00" : this.stage.ink(this.data.colours[i]);
        if (this.data.steps || pointed) {
          ctx.globalAlpha = this.data.steps ? (pointed ? 0.8 : 0.55) : 0.18;
          ctx.fill(this.paths[i], "evenodd");
        }
        ctx.globalAlpha = 0.95;
        ctx.lineWidth = (pointed ? 2.4 : 1.3) / view.scale;
        ctx.setLineDash(pointed || this.data.steps ? [] : [5 / view.scale, 3 / view.scale]);
        ctx.stroke(this.paths[i]);
      }
      ctx.restore();
      if (this.data.steps) this.numbers(ctx, view, clock);
    }

    // The number of each step in its middle, where there is room for it.
    numbers(ctx, view, clock) {
      ctx.font = "600 12px system-ui, sans-serif";
      ctx.textAlign = "center";
      ctx.textBaseline = "middle";
      ctx.lineWidth = 3;
      ctx.strokeStyle = "rgba(255, 255, 255, 0.9)";
      ctx.fillStyle = "#3a2700";
      for (let i = 0; i < this.boxes.length; i++) {
        if (!this.isThere(i, clock)) continue;
        const box = this.boxes[i];
        if (Math.min(box.east - box.west, box.south - box.north) * view.scale < 13) continue;
        const x = ((box.west + box.east) / 2) * view.scale + view.x;
        const y = ((box.north + box.south) / 2) * view.scale + view.y;
        ctx.strokeText(String(this.data.ids[i]), x, y);
        ctx.fillText(String(this.data.ids[i]), x, y);
      }
    }

    hit(world, pixel, clock) {
      scratch.lineWidth = 2 * REACH * pixel;
      for (let i = this.paths.length - 1; i >= 0; i--) {
        if (!this.isThere(i, clock)) continue;
        const found = this.data.steps || this.data.filled
          ? scratch.isPointInPath(this.paths[i], world.x, world.y, "evenodd")
          : scratch.isPointInStroke(this.paths[i], world.x, world.y);
        if (!found) continue;
        return { title: this.data.name + " " + this.data.ids[i], rows: geodp.factRows(this.data.facts, i, clock.start), thing: i };
      }
      return null;
    }

    point(thing) {
      const changed = thing !== this.pointed;
      this.pointed = thing;
      return changed;
    }
  };
})((window.geodp = window.geodp || {}));
