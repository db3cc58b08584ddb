// Rectangles coloured by count per area. Regular grids are drawn as one small picture, row by row, because rows
// that are equal in latitude are not equal on a Mercator map.
(function (geodp) {
  "use strict";

  const SMALLEST_OUTLINED = 5;

  geodp.styles.cells = class {
    constructor(data, stage) {
      this.data = data;
      this.opacity = 0.85;
      this.stage = stage;
      this.recolour();
    }

    recolour() {
      this.shades = geodp.shades(this.data.ramp, this.stage.dark);
      this.nothing = this.stage.dark ? [34, 39, 46] : [1, 3, 5].map((at) => parseInt(this.data.nothing.slice(at, at + 2), 16));
      this.prepared = this.data.frames.map(() => null);
    }

    colour(count, area_m2) {
      if (count <= 0) return this.nothing;
      return geodp.shadeOf(this.shades, (1e6 * count) / area_m2, this.data.top);
    }

    current(clock) {
      const number = geodp.frameAt(this.data.frames, clock.t);
      const frame = this.data.frames[number];
      if (!this.prepared[number]) this.prepared[number] = frame.columns ? this.picture(frame) : this.rectangles(frame);
      return { frame, number, prepared: this.prepared[number] };
    }

    picture(frame) {
      const [west, south, east, north] = frame.box;
      const area = ((east - west) * (north - south)) / (frame.columns * frame.rows);
      const canvas = document.createElement("canvas");
      canvas.width = frame.columns;
      canvas.height = frame.rows;
      const image = new ImageData(frame.columns, frame.rows);
      for (let i = 0; i < frame.count.length; i++) {
        image.data.set(this.colour(frame.count[i] * frame.step, area), 4 * i);
        image.data[4 * i + 3] = 255;
      }
      canvas.getContext("2d").putImageData(image, 0, 0); // row 0 of the picture is the southern row
      const edges = Array.from({ length: frame.rows + 1 }, (_, row) =>
        this.stage.projection.worldY(south + ((north - south) * row) / frame.rows),
      );
      return { canvas, edges, west: this.stage.projection.worldX(west), east: this.stage.projection.worldX(east) };
    }

    rectangles(frame) {
      const project = this.stage.projection;
      return Array.from(frame.count, (count, i) => {
        const area = (frame.east[i] - frame.west[i]) * (frame.north[i] - frame.south[i]);
        return {
          colour: "rgb(" + this.colour(count * frame.step, area).join(",") + ")",
          west: project.worldX(frame.west[i]),
          east: project.worldX(frame.east[i]),
          south: project.worldY(frame.south[i]),
          north: project.worldY(frame.north[i]),
        };
      });
    }

    draw(ctx, view, clock) {
      const { frame, prepared } = this.current(clock);
      const across = (world) => Math.round(world * view.scale + view.x);
      const down = (world) => Math.round(world * view.scale + view.y);
      ctx.imageSmoothingEnabled = false;
      if (frame.columns) {
        const left = prepared.west * view.scale + view.x;
        const width = (prepared.east - prepared.west) * view.scale;
        for (let row = 0; row < frame.rows; row++) {
          const top = down(prepared.edges[row + 1]);
          const bottom = down(prepared.edges[row]);
          if (bottom > 0 && top < view.height && bottom > top) {
            ctx.drawImage(prepared.canvas, 0, row, frame.columns, 1, left, top, width, bottom - top);
          }
        }
        return;
      }
      for (const cell of prepared) {
        const left = across(cell.west);
        const top = down(cell.north);
        ctx.fillStyle = cell.colour;
        ctx.fillRect(left, top, across(cell.east) - left, down(cell.south) - top);
      }
      this.outline(ctx, prepared, across, down);
    }

    // Cells of different sizes are told apart by their edges; those of a few pixels would be all edge.
    outline(ctx, cells, across, down) {
      ctx.globalAlpha = 0.3;
      ctx.strokeStyle = "#1d3f63";
      ctx.lineWidth = 1;
      ctx.beginPath();
      for (const cell of cells) {
        const left = across(cell.west);
        const top = down(cell.north);
        const width = across(cell.east) - left;
        const height = down(cell.south) - top;
        if (width >= SMALLEST_OUTLINED && height >= SMALLEST_OUTLINED) ctx.rect(left + 0.5, top + 0.5, width, height);
      }
      ctx.stroke();
    }

    cellAt(frame, place) {
      if (!frame.columns) {
        return frame.count.findIndex(
          (_, i) => place.x >= frame.west[i] && place.x < frame.east[i] && place.y >= frame.south[i] && place.y < frame.north[i],
        );
      }
      const [west, south, east, north] = frame.box;
      const column = Math.floor(((place.x - west) / (east - west)) * frame.columns);
      const row = Math.floor(((place.y - south) / (north - south)) * frame.rows);
      const inside = column >= 0 && column < frame.columns && row >= 0 && row < frame.rows;
      return inside ? row * frame.columns + column : -1;
    }

    hit(world, pixel, clock) {
      const { frame, number } = this.current(clock);
      const cell = this.cellAt(frame, this.stage.projection.metres(this.stage.projection.latLng(world.x, world.y)));
      if (cell < 0) return null;
      const rows = [[this.data.name, geodp.number(frame.count[cell] * frame.step, 1) + " " + this.data.unit]];
      const noise = frame.noise && frame.noise.length ? frame.noise[cell] / 10 : frame.noise;
      if (noise) rows.push(["Typical noise", "± " + geodp.number(noise) + " " + this.data.unit]);
      if (!frame.columns) {
        const metres = [frame.east[cell] - frame.west[cell], frame.north[cell] - frame.south[cell]];
        rows.push(["Size", metres.map((side) => geodp.number(side)).join(" × ") + " m"]);
      }
      if (this.data.frames.length > 1) rows.push(["Release", clock.text(frame.time) + " (" + (number + 1) + " of " + this.data.frames.length + ")"]);
      return { title: "Cell", rows };
    }
  };
})((window.geodp = window.geodp || {}));
