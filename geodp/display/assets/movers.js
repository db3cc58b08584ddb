// Things that move with the clock: positions at a few times, straight lines between.
(function (geodp) {
  "use strict";

  const REACH = 7;

  geodp.styles.movers = class {
    constructor(data, stage) {
      this.data = data;
      this.stage = stage;
      this.places = stage.projection.places(data.x, data.y);
    }

    // Number of the recorded time at or before t, and the share of the way to the next.
    moment(t) {
      const { times } = this.data;
      let k = 0;
      while (k < times.length - 1 && times[k + 1] <= t) k++;
      if (k === times.length - 1) return [k, 0];
      return [k, Math.max(0, (t - times[k]) / (times[k + 1] - times[k]))];
    }

    place(thing, k, share) {
      const at = thing * this.data.times.length + k;
      const { x, y } = this.places;
      return share > 0 ? [x[at] + share * (x[at + 1] - x[at]), y[at] + share * (y[at + 1] - y[at])] : [x[at], y[at]];
    }

    isBusy(thing, k) {
      return this.data.busy[thing * this.data.times.length + k] > 0;
    }

    draw(ctx, view, clock) {
      const [k, share] = this.moment(clock.t);
      const size = 2.5 * this.stage.fitSize;
      for (const busy of [false, true]) {
        ctx.fillStyle = this.stage.ink(this.data.marks[busy ? 1 : 0].colour);
        ctx.strokeStyle = this.stage.dark ? "#14181d" : "#fff";
        ctx.lineWidth = 1;
        for (let thing = 0; thing < this.data.things; thing++) {
          if (this.isBusy(thing, k) !== busy) continue;
          const [x, y] = this.place(thing, k, share);
          ctx.beginPath();
          ctx.arc(x * view.scale + view.x, y * view.scale + view.y, busy ? size + 0.8 : size, 0, 2 * Math.PI);
          ctx.stroke();
          ctx.fill();
        }
      }
    }

    hit(world, pixel, clock) {
      const [k, share] = this.moment(clock.t);
      let best = -1;
      let least = REACH * pixel;
      for (let thing = 0; thing < this.data.things; thing++) {
        const [x, y] = this.place(thing, k, share);
        const distance = Math.hypot(x - world.x, y - world.y);
        if (distance < least) {
          best = thing;
          least = distance;
        }
      }
      if (best < 0) return null;
      return { title: "A worker", rows: [["At " + clock.text(clock.t), this.data.marks[this.isBusy(best, k) ? 1 : 0].name]] };
    }
  };
})((window.geodp = window.geodp || {}));
