// Filled bands, such as contours: at any time those of the last release.
(function (geodp) {
  "use strict";

  const scratch = document.createElement("canvas").getContext("2d");

  geodp.styles.areas = class {
    constructor(data, stage) {
      this.data = data;
      this.opacity = 0.85;
      this.stage = stage;
      this.paths = data.frames.map(() => null);
      this.recolour();
    }

    recolour() {
      this.shades = geodp.shades(this.data.ramp, this.stage.dark);
    }

    current(clock) {
      const number = geodp.frameAt(this.data.frames, clock.t);
      if (!this.paths[number]) {
        this.paths[number] = this.data.frames[number].bands.map((band) => this.stage.projection.path(band, true, this.data.step_m));
      }
      return { frame: this.data.frames[number], paths: this.paths[number], number };
    }

    draw(ctx, view, clock) {
      const { frame, paths } = this.current(clock);
      ctx.translate(view.x, view.y);
      ctx.scale(view.scale, view.scale);
      ctx.lineJoin = "round";
      ctx.strokeStyle = this.stage.dark ? "rgba(190, 215, 240, 0.4)" : "rgba(10, 40, 80, 0.45)";
      ctx.lineWidth = 0.7 / view.scale;
      // Each band reaches under the next, so no hairline shows between them.
      frame.bands.forEach((band, n) => {
        ctx.fillStyle = "rgb(" + geodp.shadeOf(this.shades, band.low, this.data.top).join(",") + ")";
        ctx.fill(paths[n], "evenodd");
        ctx.stroke(paths[n]);
      });
    }

    hit(world, pixel, clock) {
      const { frame, paths, number } = this.current(clock);
      for (let n = paths.length - 1; n >= 0; n--) {
        if (!scratch.isPointInPath(paths[n], world.x, world.y, "evenodd")) continue;
        const band = frame.bands[n];
        const range =
          band.high === null
            ? "over " + geodp.number(band.low)
            : geodp.number(band.low) + " to " + geodp.number(band.high);
        const rows = [["Between lines", range + " " + this.data.unit]];
        if (this.data.frames.length > 1) rows.push(["Release", this.stage.clock.text(frame.time) + " (" + (number + 1) + " of " + this.data.frames.length + ")"]);
        return { title: this.data.name, rows };
      }
      return null;
    }
  };
})((window.geodp = window.geodp || {}));
