// Points with a mark each: all of the run, or as it happens (appear, wait, be decided, fade).
(function (geodp) {
  "use strict";

  const REACH = 9; // pixels within which a point is pointed at

  geodp.styles.points = class {
    constructor(data, stage) {
      this.data = data;
      this.stage = stage;
      this.places = stage.projection.places(data.x, data.y);
      this.sprites = new Map();
      this.pointed = -1;
      this.pinned = -1;
    }

    size(view) {
      const base = this.data.x.length > 2000 ? 2.4 : this.data.x.length > 500 ? 3.8 : 4.6;
      return Math.min(8, Math.max(2, base * this.stage.fitSize * 1.18 ** (view.zoom - this.stage.fitZoom)));
    }

    sprite(mark, size) {
      const colour = this.stage.ink(mark.colour);
      const key = mark.shape + colour + size + this.stage.pixels;
      if (!this.sprites.has(key)) {
        const ratio = this.stage.pixels;
        const half = Math.ceil(size * 1.4 + 2);
        const canvas = document.createElement("canvas");
        canvas.width = canvas.height = 2 * half * ratio;
        const ctx = canvas.getContext("2d");
        ctx.scale(ratio, ratio);
        geodp.drawMark(ctx, mark.shape, colour, half, half, size, this.stage.dark);
        this.sprites.set(key, { canvas, half });
      }
      return this.sprites.get(key);
    }

    isWaiting(i, clock) {
      return !clock.wholeRun && this.data.waiting && !(this.data.decided[i] >= 0 && this.data.decided[i] <= clock.t);
    }

    isThere(i, clock) {
      return clock.wholeRun || this.data.appears[i] <= clock.t;
    }

    draw(ctx, view, clock) {
      const size = Math.round(this.size(view) * 4) / 4;
      const { x, y } = this.places;
      const waiting = [];
      const one = (i, mark) => {
        const px = x[i] * view.scale + view.x;
        const py = y[i] * view.scale + view.y;
        if (px < -20 || py < -20 || px > view.width + 20 || py > view.height + 20) return;
        const sprite = this.sprite(mark, size);
        ctx.drawImage(sprite.canvas, px - sprite.half, py - sprite.half, 2 * sprite.half, 2 * sprite.half);
      };
      for (let i = 0; i < x.length; i++) {
        if (!this.isThere(i, clock)) continue;
        if (this.isWaiting(i, clock)) {
          waiting.push(i);
          continue;
        }
        const age = clock.wholeRun ? 0 : clock.t - Math.max(this.data.decided[i], this.data.appears[i]);
        ctx.globalAlpha = age > clock.duration / 20 ? 0.4 : 1;
        one(i, this.data.marks[this.data.mark[i]]);
      }
      ctx.globalAlpha = 1;
      for (const i of waiting) {
        this.pulse(ctx, view, i, clock, size);
        one(i, this.data.waiting);
      }
      for (const i of new Set([this.pinned, this.pointed])) if (i >= 0) this.drawCircle(ctx, view, i, size);
    }

    // A ring that widens while the point is new.
    pulse(ctx, view, i, clock, size) {
      const age = (clock.t - this.data.appears[i]) / (clock.duration / 40);
      if (age < 0 || age > 1) return;
      ctx.globalAlpha = 1 - age;
      ctx.beginPath();
      ctx.arc(this.places.x[i] * view.scale + view.x, this.places.y[i] * view.scale + view.y, size * (1 + 2.5 * age), 0, 2 * Math.PI);
      ctx.lineWidth = 1.6;
      ctx.strokeStyle = this.stage.ink("#5c5300");
      ctx.stroke();
      ctx.globalAlpha = 1;
    }

    drawCircle(ctx, view, i, size) {
      const px = this.places.x[i] * view.scale + view.x;
      const py = this.places.y[i] * view.scale + view.y;
      ctx.strokeStyle = this.stage.ink("#1b1f24");
      ctx.lineWidth = 2;
      ctx.beginPath();
      ctx.arc(px, py, size + 3, 0, 2 * Math.PI);
      ctx.stroke();
      if (!this.data.radius || this.data.radius[i] <= 0) return;
      const [rx, ry] = this.stage.projection.circle(this.data.y[i], this.data.radius[i]);
      ctx.beginPath();
      ctx.ellipse(px, py, rx * view.scale, ry * view.scale, 0, 0, 2 * Math.PI);
      ctx.fillStyle = "rgba(184, 134, 11, 0.12)";
      ctx.fill();
      ctx.strokeStyle = "#8a6408";
      ctx.lineWidth = 1.6;
      ctx.stroke();
    }

    nearest(world, pixel, clock) {
      let best = -1;
      let least = (REACH * pixel) ** 2;
      for (let i = 0; i < this.places.x.length; i++) {
        const distance = (this.places.x[i] - world.x) ** 2 + (this.places.y[i] - world.y) ** 2;
        if (distance < least && this.isThere(i, clock)) {
          best = i;
          least = distance;
        }
      }
      return best;
    }

    hit(world, pixel, clock) {
      const i = this.nearest(world, pixel, clock);
      if (i < 0) return null;
      let rows = geodp.factRows(this.data.facts, i, clock.start);
      if (this.isWaiting(i, clock)) rows = [rows[0], ["Now", this.data.waiting.name]];
      return { title: this.data.name + " " + this.data.ids[i], rows, thing: i };
    }

    // Returns whether the picture changes.
    point(thing, pin) {
      const before = [this.pointed, this.pinned].join();
      this.pointed = thing;
      if (pin) this.pinned = thing === this.pinned ? -1 : thing;
      return before !== [this.pointed, this.pinned].join();
    }
  };
})((window.geodp = window.geodp || {}));
