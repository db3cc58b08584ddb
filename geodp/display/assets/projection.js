// From metres about the region's centre to the map and back.
//
// Layers draw in "world" units: Web Mercator pixels at BASE_ZOOM, counted from the region's centre, so that numbers
// stay small and one scale factor leads to the screen. Rows of a grid are equal in latitude, not on the map.
(function (geodp) {
  "use strict";

  const BASE_ZOOM = 12;

  geodp.Projection = class {
    constructor(facts) {
      [this.lon, this.lat] = facts.centre;
      this.step = facts.step_m;
      this.degreesNorth = 180 / (Math.PI * facts.earth_radius_m);
      this.degreesEast = this.degreesNorth / Math.cos((this.lat * Math.PI) / 180);
      this.origin = L.CRS.EPSG3857.latLngToPoint(L.latLng(this.lat, this.lon), BASE_ZOOM);
      this.east = (256 * 2 ** BASE_ZOOM * this.degreesEast) / 360;
    }

    worldX(x_m) {
      return x_m * this.east;
    }

    worldY(y_m) {
      const latitude = this.lat + y_m * this.degreesNorth;
      return L.CRS.EPSG3857.latLngToPoint(L.latLng(latitude, this.lon), BASE_ZOOM).y - this.origin.y;
    }

    // Arrays of whole steps, as packed, to world units.
    places(x, y, step = this.step) {
      return {
        x: Float64Array.from(x, (value) => this.worldX(value * step)),
        y: Float64Array.from(y, (value) => this.worldY(value * step)),
      };
    }

    // Half-axes, in world units, of a circle of radius_m about a place given in whole steps.
    circle(y, radius_m) {
      const middle = y * this.step;
      return [this.worldX(radius_m), (this.worldY(middle - radius_m) - this.worldY(middle + radius_m)) / 2];
    }

    latLng(worldX, worldY) {
      return L.CRS.EPSG3857.pointToLatLng(L.point(worldX + this.origin.x, worldY + this.origin.y), BASE_ZOOM);
    }

    fromLatLng(latlng) {
      const point = L.CRS.EPSG3857.latLngToPoint(latlng, BASE_ZOOM);
      return { x: point.x - this.origin.x, y: point.y - this.origin.y };
    }

    metres(latlng) {
      return { x: (latlng.lng - this.lon) / this.degreesEast, y: (latlng.lat - this.lat) / this.degreesNorth };
    }

    // How world units lie on the screen now: layer point = world * scale + (x, y).
    view(map) {
      const scale = map.getZoomScale(map.getZoom(), BASE_ZOOM);
      const origin = map.getPixelOrigin();
      return { scale, x: this.origin.x * scale - origin.x, y: this.origin.y * scale - origin.y };
    }

    // Build one path of closed rings (or open lines) from packed coordinates.
    path(shape, closed, step) {
      const { x, y } = this.places(shape.x, shape.y, step);
      const path = new Path2D();
      let at = 0;
      for (const length of shape.lengths) {
        for (let i = 0; i < length; i++, at++) {
          if (i === 0) path.moveTo(x[at], y[at]);
          else path.lineTo(x[at], y[at]);
        }
        if (closed) path.closePath();
      }
      return path;
    }
  };
})((window.geodp = window.geodp || {}));
