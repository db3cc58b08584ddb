// Straight ways, such as trips; as it happens somebody moves along them.
(function (geodp) {
  "use strict";

  const REACH = 5; // pixels within which a line is pointed at

  geodp.styles.lines = class {
    constructor(data, stage) {
      this.data = data;
      this.stage = stage;
      this.start = stage.projection.places(data.x, data.y);
      this.end = stage.projection.places(
        data.x.map((x, i) => x + data.dx[i]),
        data.y.map((y, i) => y + data.dy[i]),
      );
      this.pointed = -1;
    }

    // How much of line i has been travelled: -1 before the start.
    share(i, clock) {
      if (clock.wholeRun) return 1;
      const { from, until } = this.data;
      if (clock.t < from[i]) return -1;
      const end = until[i] >= 0 ? until[i] : clock.duration;
      return end > from[i] ? Math.min((clock.t - from[i]) / (end - from[i]), 1) : 1;
    }

    draw(ctx, view, clock) {
      const many = this.data.x.length > 600;
      ctx.strokeStyle = this.stage.ink(this.data.colour);
      ctx.fillStyle = this.stage.ink(this.data.colour);
      ctx.lineCap = "round";
      const onScreen = (places, i) => [places.x[i] * view.scale + view.x, places.y[i] * view.scale + view.y];
      for (let i = 0; i < this.data.x.length; i++) {
        const share = this.share(i, clock);
        if (share < 0) continue;
        const [x, y] = onScreen(this.start, i);
        const [toX, toY] = onScreen(this.end, i);
        const underWay = share < 1;
        ctx.globalAlpha = i === this.pointed || underWay ? 0.95 : clock.wholeRun ? (many ? 0.5 : 0.65) : 0.12;
        ctx.lineWidth = i === this.pointed ? 3 : many ? 1 : 1.4;
        ctx.beginPath();
        ctx.moveTo(x, y);
        ctx.lineTo(toX, toY);
        ctx.stroke();
        ctx.beginPath();
        ctx.arc(x, y, many ? 1.2 : 1.8, 0, 2 * Math.PI);
        ctx.fill();
        if (underWay) {
          geodp.drawMark(ctx, "circle", this.data.colour, x + share * (toX - x), y + share * (toY - y), 3.6);
          ctx.strokeStyle = this.stage.ink(this.data.colour);
          ctx.fillStyle = this.stage.ink(this.data.colour);
        }
      }
    }

    distance(world, i) {
      const dx = this.end.x[i] - this.start.x[i];
      const dy = this.end.y[i] - this.start.y[i];
      const along = ((world.x - this.start.x[i]) * dx + (world.y - this.start.y[i]) * dy) / (dx * dx + dy * dy || 1);
      const nearest = Math.max(0, Math.min(1, along));
      return Math.hypot(world.x - this.start.x[i] - nearest * dx, world.y - this.start.y[i] - nearest * dy);
    }

    hit(world, pixel, clock) {
      let best = -1;
      let least = REACH * pixel;
      for (let i = 0; i < this.data.x.length; i++) {
        if (this.share(i, clock) < 0) continue;
        const distance = this.distance(world, i);
        if (distance < least) {
          best = i;
          least = distance;
        }
      }
      if (best < 0) return null;
      return { title: this.data.name + " " + this.data.ids[best], rows: geodp.factRows(this.data.facts, best, clock.start), thing: best };
    }

    point(thing) {
      const changed = thing !== this.pointed;
      this.pointed = thing;
      return changed;
    }
  };
})((window.geodp = window.geodp || {}));
