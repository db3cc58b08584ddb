// Puts the page together: caption and panel beside the map, the player below it; the same on a phone and on paper.
(function (geodp) {
  "use strict";

  const { element } = geodp;

  geodp.openPage = function (map, layers) {
    const facts = JSON.parse(document.getElementById("geodp-page").textContent);
    const stage = geodp.stageOf(map);
    geodp.stage = stage;
    stage.page = new Page(map, stage, facts);
    geodp.ready = stage.page.open(layers).catch((error) => {
      geodp.complain(error);
      throw error;
    });
  };

  // Say what a map is to those who do not see it.
  geodp.nameMap = function (map, title) {
    const container = map.getContainer();
    container.setAttribute("role", "application");
    container.setAttribute("aria-roledescription", "map");
    container.setAttribute("aria-label", title + ". Arrow keys move the map, plus and minus zoom, Enter tells what lies in the middle.");
  };

  class Page {
    constructor(map, stage, facts) {
      this.map = map;
      this.stage = stage;
      this.facts = facts;
      stage.facts = facts;
      stage.projection = new geodp.Projection(facts.scene);
    }

    async open(layers) {
      const { map, facts, stage } = this;
      this.watchLight();
      for (const layer of layers.flatMap((each) => (each.getLayers ? each.getLayers() : [each]))) stage.join(layer);
      if (stage.dark) stage.repaint(); // a layer may have been unpacked before anybody knew
      if (!stage.clock) stage.begin(facts.scene);
      this.layOut();
      map.options.minZoom = 3;
      map.options.maxZoom = 19;
      map.attributionControl.setPrefix('<a href="https://leafletjs.com">Leaflet</a>');
      geodp.nameMap(map, "Map: " + document.title);
      L.control.scale({ imperial: false, maxWidth: 140 }).addTo(map);
      L.control.zoom({ position: "bottomleft" }).addTo(map);
      // What the first arm shows, every arm shows; and what the first arm does not have, as its layer has it.
      const first = stage.entries.filter(({ spec }) => spec.group === facts.groups[0]).map(({ spec }) => spec);
      const known = new Set(first.map((spec) => spec.kind));
      const usual = new Set(first.filter((spec) => spec.shown).map((spec) => spec.kind));
      const atFirst = (spec) => (known.has(spec.kind) ? usual.has(spec.kind) : spec.story);
      for (const entry of stage.entries) entry.wanted = entry.spec.group ? atFirst(entry.spec) : entry.spec.shown;
      map.invalidateSize({ pan: false, animate: false });
      this.fit();
      // Until somebody has touched the map, it keeps fitting a window that changes its size.
      for (const event of ["pointerdown", "wheel", "keydown"]) map.getContainer().addEventListener(event, () => (this.touched = true), { passive: true });
      map.on("resize", () => this.touched || this.fit());
      await this.apply();
      this.watchPaper();
      document.documentElement.dataset.geodp = "ready";
      geodp.readyMs = performance.now();
    }

    layOut() {
      const { map, facts, stage } = this;
      const about = document.getElementById("geodp-caption");
      this.slot = element("div", { class: "geodp-slot" });
      this.maps = element("div", { id: "geodp-maps" });
      this.side = element("aside", { id: "geodp-side" });
      const main = element("main", { id: "geodp-main" }, this.maps);
      const container = map.getContainer();
      container.before(element("div", { id: "geodp-frame" }, this.side, main));
      this.slot.append(container);
      this.maps.append(this.slot);
      if (facts.groups.length > 1) this.arms = new geodp.Arms(this);
      this.panel = new geodp.Panel(this);
      this.side.append(about, this.panel.box);
      if (stage.entries.some((entry) => entry.spec.timed)) main.append(geodp.player(stage));
      const small = window.matchMedia("(max-width: 720px)");
      // Paper may be as narrow as a phone; what is printed stays unfolded.
      const foldPanel = () => this.printing || this.panel.fold.fold(!small.matches);
      small.addEventListener("change", foldPanel);
      foldPanel();
    }

    isShown(entry) {
      return entry.wanted && (!entry.spec.group || !this.arms || this.arms.isThere(entry.spec.group));
    }

    // Somebody ticks a layer: the arms that are compared show the same.
    want(entry, wanted) {
      const same = ({ spec }) => spec.kind === entry.spec.kind && spec.title === entry.spec.title && spec.group && entry.spec.group;
      for (const each of this.stage.entries) if (each === entry || same(each)) each.wanted = wanted;
      return this.apply();
    }

    // Show what is wanted, where it belongs.
    async apply() {
      this.applying = true;
      try {
        if (this.arms) await this.arms.arrange();
        const here = (entry) => this.isShown(entry) && (!entry.spec.group || !this.arms || this.arms.isOnFirst(entry.spec.group));
        await Promise.all(this.stage.entries.map((entry) => this.stage.show(entry, here(entry))));
      } finally {
        this.applying = false;
      }
      if (this.arms) this.arms.clip();
      for (const entry of this.stage.entries) this.panel.update(entry);
    }

    // A layer came or went, perhaps by somebody else's control.
    changed(entry) {
      if (!this.panel) return;
      if (!entry.row) this.panel.add(entry);
      if (!this.applying && document.documentElement.dataset.geodp === "ready") entry.wanted = entry.visible;
      if (!this.applying) this.panel.update(entry);
    }

    fit() {
      const [west, south, east, north] = this.facts.scene.box;
      const bounds = L.latLngBounds([south, west], [north, east]);
      this.map.options.zoomSnap = 0.1; // a close fit first, steps that one can feel afterwards
      this.map.fitBounds(bounds, { padding: [10, 10], animate: false });
      this.map.options.zoomSnap = this.arms && this.arms.mode === "side" ? 0.1 : 0.5;
      this.stage.fitZoom = this.map.getZoom();
      const corners = [bounds.getSouthWest(), bounds.getNorthEast()].map((corner) => this.map.latLngToContainerPoint(corner));
      const side = Math.min(corners[1].x - corners[0].x, corners[0].y - corners[1].y);
      this.stage.fitSize = Math.max(0.6, Math.min(1, side / 700)); // marks are smaller where the region is
    }

    get stages() {
      return [this.stage, ...(this.arms && this.arms.twin ? [this.arms.twin.stage] : [])];
    }

    repaint() {
      for (const stage of this.stages) {
        stage.dark = this.light.matches && !this.printing;
        stage.printing = Boolean(this.printing);
        stage.repaint();
      }
      if (this.panel) for (const entry of this.stage.entries) this.panel.update(entry);
    }

    // Follow the reader's choice of dark or light.
    watchLight() {
      this.light = window.matchMedia("(prefers-color-scheme: dark)");
      this.stage.dark = this.light.matches;
      this.light.addEventListener("change", () => this.repaint());
    }

    // On paper: the whole region, everything unfolded, sharp and light.
    watchPaper() {
      const root = document.documentElement;
      window.addEventListener("beforeprint", () => {
        if (this.printing) return;
        const folds = [...document.querySelectorAll("#geodp-caption details")];
        this.printing = { view: [this.map.getCenter(), this.map.getZoom()], open: folds.map((fold) => fold.open), panel: !this.panel.body.hidden };
        root.classList.add("geodp-print");
        for (const fold of folds) fold.open = true;
        this.panel.fold.fold(true);
        // Where not all words find room, they are set smaller; where that does not help, the fold keeps the rest.
        const fits = () => ["", "small", "smaller"].some((size) => {
          root.dataset.words = size;
          return this.side.scrollHeight <= this.side.clientHeight;
        });
        if (!fits()) {
          for (const fold of folds) fold.open = false;
          if (!fits()) this.shrinkSide();
        }
        this.resize();
      });
      window.addEventListener("afterprint", () => {
        if (!this.printing) return;
        const { view, open, panel } = this.printing;
        this.printing = null;
        root.classList.remove("geodp-print");
        this.side.style.zoom = this.side.style.width = this.side.style.height = "";
        [...document.querySelectorAll("#geodp-caption details")].forEach((fold, n) => (fold.open = open[n]));
        this.panel.fold.fold(panel);
        this.resize();
        if (this.touched) this.map.setView(...view, { animate: false });
      });
    }

    // On paper the legend is whole in any case, however many words the arms need.
    shrinkSide() {
      const { side } = this;
      const share = side.clientHeight / side.scrollHeight;
      Object.assign(side.style, { zoom: share, width: side.offsetWidth / share + "px", height: side.offsetHeight / share + "px" });
    }

    resize() {
      this.map.invalidateSize({ pan: false, animate: false });
      if (this.arms && this.arms.twin) this.arms.twin.map.invalidateSize({ pan: false, animate: false });
      this.fit();
      this.repaint();
      if (this.arms) this.arms.clip();
    }
  }
})((window.geodp = window.geodp || {}));
