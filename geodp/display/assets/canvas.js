// A Leaflet layer that is one canvas: it follows the map and asks its style to draw.
//
// A style is a class with `constructor(data, view)`, `draw(ctx, view, clock)` and, where it has tooltips,
// `hit(world, pixel, clock)`, which returns {title, rows} or null.
(function (geodp) {
  "use strict";

  const MARGIN = 0.15; // drawn beyond each edge of the window, so that a pan does not show a blank at once

  geodp.styles = {};

  geodp.CanvasLayer = L.Layer.extend({
    // `source` names the element of the page that holds the packed data.
    initialize: function (spec, scene, source) {
      L.setOptions(this, { pane: "geodp-" + source });
      this.spec = spec;
      this.scene = scene;
      this.source = source;
      this.projection = new geodp.Projection(scene);
      this.style = null;
    },

    getEvents: function () {
      return {
        viewreset: this._place,
        moveend: this._place,
        resize: this._place,
        zoom: this._onZoom,
        zoomanim: this._onZoomAnimation,
      };
    },

    beforeAdd: function (map) {
      geodp.stageOf(map).join(this);
    },

    onAdd: function () {
      this.load().then(
        () => this._map && !this._canvas && this._open(),
        (error) => this.stage.fail(this, error),
      );
    },

    onRemove: function () {
      cancelAnimationFrame(this._waiting);
      this._waiting = 0;
      if (this._canvas) this._canvas.remove();
      this._canvas = null;
    },

    // Unpack the data and prepare to draw it, once.
    load: function () {
      if (!this._loading) {
        this._loading = geodp.unpack(this.source).then((data) => {
          this.style = new geodp.styles[this.spec.style](data, new geodp.View(this));
        });
      }
      return this._loading;
    },

    _open: function () {
      this._canvas = L.DomUtil.create("canvas", "geodp-canvas leaflet-zoom-animated", this.getPane());
      this._canvas.dataset.kind = this.spec.kind;
      this._canvas.setAttribute("role", "img");
      this._canvas.setAttribute("aria-label", geodp.describe(this.spec));
      this._canvas.style.opacity = this.style.opacity || 1; // of the whole picture: parts that overlap do not add up
      this._place();
      this.fire("drawn");
    },

    // Draw again soon; many calls within one frame draw once.
    redraw: function () {
      if (!this._canvas || this._waiting) return;
      this._waiting = requestAnimationFrame(() => {
        this._waiting = 0;
        if (this._canvas) this._paint();
      });
    },

    _place: function () {
      if (!this._canvas) return;
      const map = this._map;
      const size = map.getSize();
      this._corner = map.containerPointToLayerPoint(size.multiplyBy(-MARGIN)).round();
      this._centre = map.getCenter();
      this._zoom = map.getZoom();
      const ratio = this.stage.pixels;
      const padded = size.multiplyBy(1 + 2 * MARGIN).round();
      if (this._canvas.width !== padded.x * ratio || this._canvas.height !== padded.y * ratio) {
        this._canvas.width = padded.x * ratio;
        this._canvas.height = padded.y * ratio;
        this._canvas.style.width = padded.x + "px";
        this._canvas.style.height = padded.y + "px";
      }
      L.DomUtil.setPosition(this._canvas, this._corner);
      this._paint();
    },

    _paint: function () {
      const ratio = this.stage.pixels;
      const ctx = this._canvas.getContext("2d");
      // Browsers print a canvas stroke by stroke, and a stroke that clears would clear what lies beneath as well.
      if (this.stage.printing) this._canvas.width = this._canvas.width;
      ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
      const width = this._canvas.width / ratio;
      const height = this._canvas.height / ratio;
      if (!this.stage.printing) ctx.clearRect(0, 0, width, height);
      const { scale, x, y } = this.projection.view(this._map);
      const view = { scale, x: x - this._corner.x, y: y - this._corner.y, width, height, zoom: this._zoom };
      ctx.save();
      this.style.draw(ctx, view, this.stage.clock);
      ctx.restore();
    },

    _onZoom: function () {
      this._stretch(this._map.getCenter(), this._map.getZoom());
    },

    _onZoomAnimation: function (event) {
      this._stretch(event.center, event.zoom);
    },

    // While a zoom is under way the drawn picture is stretched; it is drawn afresh at the end.
    _stretch: function (centre, zoom) {
      if (!this._canvas) return;
      const map = this._map;
      const scale = map.getZoomScale(zoom, this._zoom);
      const half = map.getSize().multiplyBy(0.5);
      const origin = map.project(centre, zoom).subtract(half).add(L.DomUtil.getPosition(map.getPane("mapPane"))).round();
      const corner = map
        .project(this._centre, zoom)
        .subtract(half.multiplyBy(scale * (1 + 2 * MARGIN)))
        .subtract(origin);
      L.DomUtil.setTransform(this._canvas, corner, scale);
    },

    hit: function (latlng) {
      if (!this._canvas || !this.style.hit) return null;
      const world = this.projection.fromLatLng(latlng);
      const { scale } = this.projection.view(this._map);
      return this.style.hit(world, 1 / scale, this.stage.clock);
    },
  });

  // The last frame whose time has come (the first one before that).
  geodp.frameAt = function (frames, t) {
    let found = 0;
    for (let i = 0; i < frames.length; i++) if (frames[i].time <= t + 1e-9) found = i;
    return found;
  };
})((window.geodp = window.geodp || {}));
