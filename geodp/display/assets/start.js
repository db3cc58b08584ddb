// Puts the page together.
(function (geodp) {
  "use strict";

  const PANES = 400; // layers lie between Leaflet's tiles (200) and its tooltips (650)

  geodp.start = function (map) {
    const facts = JSON.parse(document.getElementById("geodp-page").textContent);
    const stage = new Stage(map, facts);
    geodp.stage = stage;
    geodp.ready = stage.open().catch((error) => {
      complain(error);
      throw error;
    });
  };

  class Stage {
    constructor(map, facts) {
      this.map = map;
      this.facts = facts;
      this.projection = new geodp.Projection(facts);
      this.clock = new geodp.Clock(facts);
      // The topmost layer comes first, in the panel and under the pointer.
      this.entries = facts.layers
        .map((spec, number) => ({ spec, number, layer: null, visible: spec.shown }))
        .sort((a, b) => b.spec.level - a.spec.level || a.number - b.number);
      facts.layers.forEach((spec, number) => {
        spec.pane = "geodp-" + number;
        map.createPane(spec.pane).style.zIndex = PANES + spec.level;
        map.getPane(spec.pane).style.pointerEvents = "none"; // one handler asks all layers what is there
      });
    }

    async open() {
      const { map, facts, clock } = this;
      const about = document.getElementById("geodp-caption");
      about.remove(); // out of the flow of the page first: the map takes its place
      if (facts.layers.some((layer) => layer.timed)) map.getContainer().after(geodp.player(this));
      map.options.minZoom = 3;
      map.options.maxZoom = 19;
      map.attributionControl.setPrefix('<a href="https://leafletjs.com">Leaflet</a>');
      map.invalidateSize({ pan: false });
      const caption = this.caption(about);
      const panel = new geodp.Panel(this).addTo(map);
      L.control.scale({ imperial: false, maxWidth: 140 }).addTo(map);
      L.control.zoom({ position: "bottomleft" }).addTo(map);
      // Legends decide how wide the panel is, and the panel where the region fits.
      const first = this.entries.filter((entry) => entry.visible);
      await Promise.allSettled(first.map((entry) => this.load(entry)));
      this.fit(caption, panel.getContainer());
      // Until somebody has touched the map, it keeps fitting a window that changes its size.
      for (const event of ["pointerdown", "wheel", "keydown"]) map.getContainer().addEventListener(event, () => (this.touched = true), { passive: true });
      map.on("resize", () => this.touched || this.fit(caption, panel.getContainer()));
      this.labels = new geodp.GraticuleLabels(this);
      await Promise.all(first.map((entry) => this.show(entry, true)));
      new geodp.Tooltip(this);
      clock.onChange(() => this.update());
      document.documentElement.dataset.geodp = "ready";
      geodp.readyMs = performance.now();
    }

    async load(entry) {
      if (!entry.loading) {
        entry.loading = geodp.unpack(entry.number).then((data) => {
          const style = new geodp.styles[entry.spec.style](data, this);
          entry.layer = new geodp.CanvasLayer(entry.spec, style, this);
          geodp.drawLegend(entry.legend, entry, this.clock);
        });
      }
      await entry.loading;
    }

    // Show or hide one layer; an error in one of them does not take the others with it.
    async show(entry, visible) {
      entry.visible = visible;
      entry.tick.checked = visible;
      entry.legend.hidden = !visible;
      if (entry.groupTick) entry.groupTick.checked = this.entries.some((each) => each.groupTick === entry.groupTick && each.visible);
      try {
        if (visible) await this.load(entry);
        if (!entry.layer) return;
        if (entry.visible) entry.layer.addTo(this.map);
        else entry.layer.remove();
        geodp.drawLegend(entry.legend, entry, this.clock);
        if (entry.spec.style === "ground") this.labels.show(entry.visible && entry.layer.style.graticule);
      } catch (error) {
        entry.legend.textContent = "could not be drawn: " + error.message;
        complain(error);
      }
    }

    // Kinds that are shown first: what the first arm shows, every arm shows.
    usual(entries) {
      const first = this.facts.groups[0];
      const shown = this.facts.layers.filter((layer) => layer.group === first && layer.shown).map((layer) => layer.kind);
      return new Set(shown.length ? shown : entries.map((entry) => entry.spec.kind));
    }

    // Show in one arm what is shown in any, and nothing in the others.
    showOnly(group) {
      const arms = this.entries.filter((entry) => entry.spec.group);
      const kinds = new Set(arms.filter((entry) => entry.visible).map((entry) => entry.spec.kind));
      const wanted = kinds.size ? kinds : this.usual(arms);
      for (const entry of arms) {
        geodp.foldGroup([entry], entry.spec.group !== group);
        this.show(entry, entry.spec.group === group && wanted.has(entry.spec.kind));
      }
    }

    update() {
      for (const entry of this.entries) {
        if (!entry.layer || !entry.visible || !entry.spec.timed) continue;
        entry.layer.redraw();
        geodp.drawLegend(entry.legend, entry, this.clock);
      }
    }

    // The caption is in the page already; it becomes a control, folded where the window is small.
    caption(box) {
      const body = box.querySelector(".geodp-body");
      const button = geodp.folder(body, "details");
      box.querySelector("header").append(button);
      box.classList.add("geodp-box");
      const size = this.map.getSize();
      if (size.x < 1000 || size.y < 620) button.fold(false);
      const control = L.control({ position: "topleft" });
      control.onAdd = () => {
        L.DomEvent.disableClickPropagation(box);
        L.DomEvent.disableScrollPropagation(box);
        return box;
      };
      control.addTo(this.map);
      return box;
    }

    // Fit the region beside the boxes: below the caption or to its right, whichever leaves it larger.
    fit(caption, panel) {
      const [west, south, east, north] = this.facts.box;
      const bounds = L.latLngBounds([south, west], [north, east]);
      const right = panel.offsetWidth + 24;
      const plans = [
        { paddingTopLeft: [caption.offsetWidth + 24, 14], paddingBottomRight: [right, 34] },
        { paddingTopLeft: [48, caption.offsetHeight + 24], paddingBottomRight: [right, 34] },
        { paddingTopLeft: [48, 14], paddingBottomRight: [14, 34] },
      ];
      this.map.options.zoomSnap = 0.1; // a close fit first, steps that one can feel afterwards
      const zooms = plans.map((plan) => this.map.getBoundsZoom(bounds, false, L.point(plan.paddingTopLeft).add(plan.paddingBottomRight)));
      // Lying under the boxes is accepted only where it makes the region much larger.
      const best = zooms[2] > Math.max(zooms[0], zooms[1]) + 1 ? 2 : zooms[0] >= zooms[1] ? 0 : 1;
      this.map.fitBounds(bounds, { ...plans[best], animate: false });
      this.map.options.zoomSnap = 0.5;
      this.fitZoom = this.map.getZoom();
      const corners = [bounds.getSouthWest(), bounds.getNorthEast()].map((corner) => this.map.latLngToContainerPoint(corner));
      const side = Math.min(corners[1].x - corners[0].x, corners[0].y - corners[1].y);
      this.fitSize = Math.max(0.6, Math.min(1, side / 700)); // marks are smaller where the region is
    }
  }

  function complain(error) {
    console.error(error);
    if (document.getElementById("geodp-problem")) return;
    const text =
      typeof DecompressionStream === "undefined"
        ? "This browser is too old for this map: it needs DecompressionStream (all major browsers since 2023)."
        : "Part of this map could not be drawn: " + (error && error.message ? error.message : error);
    document.body.prepend(geodp.element("div", { id: "geodp-problem", role: "alert" }, text));
  }

  window.addEventListener("error", (event) => complain(event.error || event.message));
})((window.geodp = window.geodp || {}));
