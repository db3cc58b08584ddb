// Circles on the ground, such as those of offers; as it happens, each while it is open.
(function (geodp) {
  "use strict";

  const REACH = 4; // pixels from the rim within which a circle is pointed at

  geodp.styles.circles = class {
    constructor(data, stage) {
      this.stage = stage;
      this.data = data;
      this.places = stage.projection.places(data.x, data.y);
      this.axes = Array.from(data.radius, (radius, i) => stage.projection.circle(data.y[i], radius));
      this.pointed = -1;
    }

    isThere(i, clock) {
      return clock.wholeRun || (this.data.from[i] <= clock.t && (this.data.until[i] < 0 || clock.t <= this.data.until[i]));
    }

    draw(ctx, view, clock) {
      ctx.strokeStyle = this.stage.ink(this.data.colour);
      ctx.fillStyle = this.stage.ink(this.data.colour);
      for (let i = 0; i < this.axes.length; i++) {
        if (!this.isThere(i, clock)) continue;
        const [rx, ry] = this.axes[i];
        ctx.beginPath();
        ctx.ellipse(this.places.x[i] * view.scale + view.x, this.places.y[i] * view.scale + view.y, rx * view.scale, ry * view.scale, 0, 0, 2 * Math.PI);
        if (i === this.pointed) {
          ctx.globalAlpha = 0.18; // only one at a time: fills that overlap would tint what lies beneath
          ctx.fill();
        }
        ctx.globalAlpha = 0.95;
        ctx.lineWidth = i === this.pointed ? 2.4 : 1.3;
        ctx.setLineDash(i === this.pointed ? [] : [5, 3]);
        ctx.stroke();
      }
    }

    hit(world, pixel, clock) {
      for (let i = 0; i < this.axes.length; i++) {
        if (!this.isThere(i, clock)) continue;
        const [rx, ry] = this.axes[i];
        const share = Math.hypot((world.x - this.places.x[i]) / rx, (world.y - this.places.y[i]) / ry);
        if (Math.abs(share - 1) * rx > REACH * pixel) continue;
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
