// One stage per map: the layers of ours on it, their clock, and one tooltip for all of them.
(function (geodp) {
  "use strict";

  const PANES = 400; // layers lie between Leaflet's tiles (200) and its markers (600) and tooltips (650)
  const PAPER = 2; // pixels of a canvas per pixel of the page, on paper
  const stages = new WeakMap();

  // What a style sees of its map.
  geodp.View = class {
    constructor(layer) {
      this.layer = layer;
      this.projection = layer.projection;
    }

    get map() {
      return this.layer.stage.map;
    }

    get clock() {
      return this.layer.stage.clock;
    }

    get fitSize() {
      return this.layer.stage.fitSize;
    }

    get fitZoom() {
      return this.layer.stage.fitZoom;
    }

    get dark() {
      return this.layer.stage.dark;
    }

    get pixels() {
      return this.layer.stage.pixels;
    }

    ink(colour) {
      return this.dark ? geodp.lighten(colour) : colour;
    }
  };

  // Make the layer whose description and data stand in the page under a name.
  geodp.layer = function (name) {
    const { scene, layers } = JSON.parse(document.getElementById("geodp-layer-" + name).textContent);
    const made = layers.map((spec, number) => new geodp.CanvasLayer(spec, scene, name + "-" + number));
    return made.length === 1 ? made[0] : L.layerGroup(made);
  };

  geodp.stageOf = function (map) {
    if (!stages.has(map)) stages.set(map, new Stage(map));
    return stages.get(map);
  };

  geodp.titleOf = (spec) => (spec.group ? spec.group + ": " + spec.title : spec.title);

  // A layer in words, for those who do not see it.
  geodp.describe = function (spec) {
    const signs = spec.legend.filter((row) => row.text).map((row) => row.text);
    return geodp.titleOf(spec) + (signs.length ? ": " + signs.join("; ") : "");
  };

  class Stage {
    constructor(map) {
      this.map = map;
      this.entries = []; // the topmost layer comes first, in the panel and under the pointer
      this.clock = null;
      this.page = null;
      this.fitZoom = map.getZoom();
      this.fitSize = 1;
      this.dark = false; // only pages of ours follow the reader's choice: on another map the ground may be light
      this.printing = false;
      geodp.stage = geodp.stage || this;
    }

    // Pixels of a canvas per pixel of the page; paper takes more than a screen.
    get pixels() {
      return Math.max(window.devicePixelRatio || 1, this.printing ? PAPER : 1);
    }

    // Draw everything anew, now.
    repaint() {
      for (const entry of this.entries) {
        if (entry.layer.style && entry.layer.style.recolour) entry.layer.style.recolour();
        entry.layer._place();
        entry.legendState = undefined;
      }
      if (this.labels) this.labels.draw();
    }

    // Take a layer in; it is told apart by its source.
    join(layer) {
      const known = this.entries.find((entry) => entry.layer === layer);
      if (known) return known;
      const { map } = this;
      if (!map.getPane(layer.options.pane)) {
        const pane = map.createPane(layer.options.pane);
        pane.style.zIndex = PANES + layer.spec.level;
        pane.style.pointerEvents = "none"; // one handler asks all layers what is there
      }
      layer.stage = this;
      const entry = { spec: layer.spec, layer, visible: false, number: this.entries.length };
      this.entries.push(entry);
      this.entries.sort((a, b) => b.spec.level - a.spec.level || a.number - b.number);
      layer.on("add remove", (event) => this.changed(entry, event.type === "add"));
      layer.on("drawn", () => this.changed(entry, true));
      if (!this.clock) this.begin(layer.scene);
      else this.clock.cover(layer.scene);
      return entry;
    }

    begin(scene, clock) {
      const { map } = this;
      this.clock = clock || new geodp.Clock(scene);
      this.clock.onChange(() => this.update());
      const [west, south, east, north] = scene.box;
      if (map.getSize().x) this.fitZoom = map.getBoundsZoom([[south, west], [north, east]]);
      this.tooltip = new geodp.Tooltip(this);
      document.documentElement.dataset.geodp = "begun";
    }

    // A layer came or went, whoever ticked it.
    changed(entry, visible) {
      entry.visible = visible;
      if (this.page) this.page.changed(entry);
      else this.furnishLater();
      if (entry.spec.style === "ground" && entry.layer.style) this.graticule(visible && entry.layer.style.graticule);
    }

    // Until the page is read to its end, nobody knows whether it has a panel of ours.
    furnishLater() {
      if (document.readyState !== "loading") return this.page || this.furnish();
      document.addEventListener("DOMContentLoaded", () => this.page || this.furnish(), { once: true });
    }

    // On a map of somebody else: a legend, and a player where something moves.
    furnish() {
      if (!this.legends) this.legends = new geodp.LegendBox(this).addTo(this.map);
      this.legends.update();
      if (!this.player && this.entries.some((entry) => entry.spec.timed)) {
        this.player = L.control({ position: "bottomleft" });
        this.player.onAdd = () => {
          const strip = geodp.player(this);
          strip.classList.add("geodp-box");
          L.DomEvent.disableClickPropagation(strip);
          return strip;
        };
        this.player.addTo(this.map);
      }
    }

    graticule(visible) {
      this.labels = this.labels || new geodp.GraticuleLabels(this);
      this.labels.show(visible);
    }

    update() {
      for (const entry of this.entries) {
        if (!entry.visible || !entry.spec.timed) continue;
        entry.layer.redraw();
        if (entry.legend) geodp.drawLegend(entry.legend, entry, this.clock, this.dark);
      }
    }

    // Show or hide one layer; an error in one of them does not take the others with it.
    async show(entry, visible) {
      try {
        if (!visible) return entry.layer.remove();
        if (!this.map.hasLayer(entry.layer)) entry.layer.addTo(this.map);
        await entry.layer.load();
      } catch (error) {
        this.fail(entry.layer, error);
      }
    }

    fail(layer, error) {
      const entry = this.entries.find((each) => each.layer === layer);
      if (entry && entry.legend) entry.legend.textContent = "could not be drawn: " + error.message;
      geodp.complain(error);
    }
  }
})((window.geodp = window.geodp || {}));
