// Ways through many places, such as trips along streets; as it happens somebody moves along each.
(function (geodp) {
  "use strict";

  const REACH = 5; // pixels within which a way is pointed at

  geodp.styles.ways = class {
    constructor(data, stage) {
      this.data = data;
      this.stage = stage;
      this.places = stage.projection.places(data.x, data.y);
      this.first = [0];
      for (const length of data.lengths) this.first.push(this.first[this.first.length - 1] + length);
      this.pointed = -1;
    }

    // The last place reached on way i, as a number that may lie between two places: -1 before the start.
    reached(i, clock) {
      const begin = this.first[i];
      const end = this.first[i + 1] - 1;
      if (clock.wholeRun) return end;
      const { time } = this.data;
      if (clock.t < time[begin]) return -1;
      let k = begin;
      while (k < end && time[k + 1] <= clock.t) k++;
      return k === end ? end : k + (clock.t - time[k]) / (time[k + 1] - time[k]);
    }

    at(reached) {
      const { x, y } = this.places;
      const k = Math.floor(reached);
      const share = reached - k;
      return share > 0 ? [x[k] + share * (x[k + 1] - x[k]), y[k] + share * (y[k + 1] - y[k])] : [x[k], y[k]];
    }

    draw(ctx, view, clock) {
      const many = this.data.lengths.length > 300;
      const { x, y } = this.places;
      ctx.lineCap = "round";
      ctx.lineJoin = "round";
      for (let i = 0; i < this.data.lengths.length; i++) {
        const reached = this.reached(i, clock);
        if (reached < 0) continue;
        const end = this.first[i + 1] - 1;
        const underWay = reached < end;
        ctx.strokeStyle = this.stage.ink(this.data.colour);
        ctx.globalAlpha = i === this.pointed || underWay ? 0.95 : clock.wholeRun ? (many ? 0.28 : 0.5) : 0.07;
        ctx.lineWidth = i === this.pointed ? 3.2 : underWay ? 1.8 : 1.2;
        ctx.beginPath();
        ctx.moveTo(x[this.first[i]] * view.scale + view.x, y[this.first[i]] * view.scale + view.y);
        for (let k = this.first[i] + 1; k <= Math.floor(reached); k++) ctx.lineTo(x[k] * view.scale + view.x, y[k] * view.scale + view.y);
        const [nowX, nowY] = this.at(reached);
        ctx.lineTo(nowX * view.scale + view.x, nowY * view.scale + view.y);
        ctx.stroke();
        if (underWay) geodp.drawMark(ctx, "circle", this.data.colour, nowX * view.scale + view.x, nowY * view.scale + view.y, 3.2);
      }
      ctx.globalAlpha = 1;
    }

    distance(world, i) {
      const { x, y } = this.places;
      let least = Infinity;
      for (let k = this.first[i]; k < this.first[i + 1] - 1; k++) {
        const dx = x[k + 1] - x[k];
        const dy = y[k + 1] - y[k];
        const along = ((world.x - x[k]) * dx + (world.y - y[k]) * dy) / (dx * dx + dy * dy || 1);
        const nearest = Math.max(0, Math.min(1, along));
        least = Math.min(least, Math.hypot(world.x - x[k] - nearest * dx, world.y - y[k] - nearest * dy));
      }
      return least;
    }

    hit(world, pixel, clock) {
      let best = -1;
      let least = REACH * pixel;
      for (let i = 0; i < this.data.lengths.length; i++) {
        if (this.reached(i, clock) < 0) continue;
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
