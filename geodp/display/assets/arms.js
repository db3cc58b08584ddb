// Arms of a comparison: one alone, two by swipe on one map, or two side by side on two maps that move together.
(function (geodp) {
  "use strict";

  const { element } = geodp;
  const LONG = 14; // letters of an arm's name that find room beside another one
  const TAG = 16; // pixels around the name of an arm on the map
  const MODES = { swipe: "Swipe between two arms", side: "Two arms side by side", one: "One arm" };

  geodp.Arms = class {
    constructor(page) {
      this.page = page;
      this.map = page.map;
      this.mode = "swipe";
      [this.left, this.right] = page.facts.groups;
      this.share = 0.5; // of the map's width that belongs to the left arm
      this.map.on("move resize zoomend viewreset", () => this.clip());
    }

    isThere(group) {
      return group === this.left || (this.mode !== "one" && group === this.right);
    }

    // Where layers of a group are drawn on the first map: null nowhere.
    isOnFirst(group) {
      return group === this.left || (this.mode === "swipe" && group === this.right);
    }

    controls() {
      const choose = (label, value, choices, act) => {
        const options = Object.entries(choices).map(([key, text]) => element("option", { value: key, selected: key === value }, text));
        const select = element("select", { "aria-label": label, onchange: () => act(select.value) }, ...options);
        return select;
      };
      const names = Object.fromEntries(this.page.facts.groups.map((group) => [group, group]));
      this.view = choose("How arms are compared", this.mode, MODES, (mode) => this.set({ mode }));
      this.first = choose("Left arm", this.left, names, (left) => this.set(left === this.right ? { left, right: this.left } : { left }));
      this.second = choose("Right arm", this.right, names, (right) => this.set(right === this.left ? { right, left: this.right } : { right }));
      const long = this.page.facts.groups.some((group) => group.length > LONG);
      this.pair = element("span", { class: "geodp-pair" + (long ? " geodp-long" : "") }, this.first, element("span", { "aria-hidden": "true" }, "|"), this.second);
      return element("div", { class: "geodp-arms", role: "group", "aria-label": "Arms" }, this.view, this.pair);
    }

    set(changes) {
      Object.assign(this, changes);
      this.view.value = this.mode;
      this.first.value = this.left;
      this.second.value = this.right;
      return this.page.apply();
    }

    // Lay out the maps for the mode; layers are then shown by the page.
    async arrange() {
      this.second.hidden = this.mode === "one";
      const { maps } = this.page;
      maps.dataset.mode = this.mode;
      if (this.mode === "side" && !this.twin) this.makeTwin();
      if (this.twin) this.twin.slot.hidden = this.mode !== "side";
      if (!this.handle) this.makeHandle();
      this.handle.hidden = this.mode !== "swipe";
      this.names[0].textContent = this.left;
      this.names[1].textContent = this.right;
      this.tags[0].hidden = this.tags[1].hidden = this.mode === "swipe";
      this.tags[0].textContent = this.left;
      this.tags[1].textContent = this.right;
      this.map.invalidateSize({ pan: false, animate: false });
      if (this.mode === "side") await this.showTwin();
      this.clip();
    }

    // The divider: dragged, or moved with the arrow keys.
    makeHandle() {
      const line = element("div", { class: "geodp-swipe-line" });
      this.grip = element("div", {
        class: "geodp-grip", role: "slider", tabindex: 0, "aria-label": "Divider between the two arms", "aria-valuemin": 0, "aria-valuemax": 100,
      }, "◂▸");
      this.names = [element("span", { class: "geodp-arm left" }), element("span", { class: "geodp-arm right" })];
      this.handle = element("div", { class: "geodp-swipe" }, line, ...this.names, this.grip);
      this.page.slot.append(this.handle);
      this.tags = [this.page.slot, this.page.maps].map((place) => {
        const tag = element("div", { class: "geodp-arm-tag" });
        if (place === this.page.slot) place.append(tag);
        return tag;
      });
      if (this.twin) this.twin.slot.append(this.tags[1]);
      L.DomEvent.disableClickPropagation(this.handle);
      const move = (event) => {
        const box = this.page.slot.getBoundingClientRect();
        this.share = Math.max(0.02, Math.min(0.98, (event.clientX - box.left) / box.width));
        this.clip();
      };
      this.grip.addEventListener("pointerdown", (event) => {
        this.grip.setPointerCapture(event.pointerId);
        this.grip.onpointermove = move;
        event.preventDefault();
        this.grip.focus();
      });
      this.grip.addEventListener("pointerup", () => (this.grip.onpointermove = null));
      this.grip.addEventListener("keydown", (event) => {
        const step = { ArrowLeft: -0.05, ArrowRight: 0.05, Home: -1, End: 1 }[event.key];
        if (step === undefined) return;
        this.share = Math.max(0.02, Math.min(0.98, this.share + step));
        this.clip();
        event.preventDefault();
        event.stopPropagation();
      });
    }

    // In swipe mode each arm is cut at the divider.
    clip() {
      if (!this.handle) return;
      const size = this.map.getSize();
      const cut = this.share * size.x;
      this.handle.style.left = 100 * this.share + "%";
      [cut, size.x - cut].forEach((room, side) => (this.names[side].style.maxWidth = Math.max(0, room - TAG) + "px"));
      this.grip.setAttribute("aria-valuenow", Math.round(100 * this.share));
      this.grip.setAttribute("aria-valuetext", this.left + " left, " + this.right + " right of " + Math.round(100 * this.share) + " %");
      const corner = this.map.containerPointToLayerPoint([0, 0]);
      for (const entry of this.page.stage.entries) {
        const pane = this.map.getPane(entry.layer.options.pane);
        const swiped = this.mode === "swipe" && entry.spec.group;
        entry.side = swiped ? (entry.spec.group === this.left ? [-Infinity, cut] : [cut, Infinity]) : null;
        if (!pane) continue;
        const [from, to] = swiped ? [Math.max(0, entry.side[0]), Math.min(size.x, entry.side[1])] : [0, 0];
        pane.style.clip = swiped
          ? "rect(" + [corner.y, corner.x + to, corner.y + size.y, corner.x + from].map((edge) => edge + "px").join(",") + ")"
          : "";
      }
    }

    makeTwin() {
      const container = element("div", { class: "folium-map geodp-second" });
      const slot = element("div", { class: "geodp-slot" }, container);
      this.page.maps.append(slot);
      const { map } = this;
      const second = L.map(container, { center: map.getCenter(), zoom: map.getZoom(), zoomControl: false, zoomSnap: 0.1, minZoom: map.options.minZoom, maxZoom: map.options.maxZoom });
      second.attributionControl.setPrefix(false);
      const stage = geodp.stageOf(second);
      stage.page = { changed: () => {} }; // the first map has the panel
      stage.dark = this.page.stage.dark;
      stage.begin(this.page.facts.scene, this.page.stage.clock);
      stage.facts = this.page.facts;
      this.twin = { map: second, stage, slot, layers: new Map() };
      if (this.tags) slot.append(this.tags[1]);
      geodp.nameMap(second, "Map of the right arm: " + document.title);
      this.link(map, second);
    }

    // Two maps show the same place.
    link(one, other) {
      let busy = false;
      const follow = (from, to) => () => {
        if (busy || this.mode !== "side") return;
        busy = true;
        to.setView(from.getCenter(), from.getZoom(), { animate: false });
        busy = false;
      };
      one.on("move zoomend", follow(one, other));
      other.on("move zoomend", follow(other, one));
    }

    async showTwin() {
      const { map, stage, layers } = this.twin;
      map.invalidateSize({ pan: false, animate: false });
      map.options.zoomSnap = 0.1;
      map.setView(this.map.getCenter(), this.map.getZoom(), { animate: false });
      stage.fitZoom = this.page.stage.fitZoom;
      stage.fitSize = this.page.stage.fitSize;
      const shown = [];
      for (const entry of this.page.stage.entries) {
        const wanted = entry.wanted && (entry.spec.group === this.right || entry.spec.group === "");
        let layer = layers.get(entry);
        if (wanted && !layer) {
          layer = new geodp.CanvasLayer(entry.spec, entry.layer.scene, entry.layer.source);
          layers.set(entry, layer);
        }
        if (!layer) continue;
        if (!wanted) layer.remove();
        else {
          if (!map.hasLayer(layer)) layer.addTo(map);
          shown.push(layer.load());
        }
      }
      await Promise.allSettled(shown);
    }
  };
})((window.geodp = window.geodp || {}));
