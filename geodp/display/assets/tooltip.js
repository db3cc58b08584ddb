// One tooltip for the whole map: the topmost layer that knows something about the place pointed at says it.
// It never leaves the map, and who cannot point asks for the middle of the map with Enter.
(function (geodp) {
  "use strict";

  const GAP = 12; // pixels between the pointer and the tooltip

  geodp.Tooltip = class {
    constructor(stage) {
      this.stage = stage;
      this.event = null;
      const { map } = stage;
      this.box = geodp.element("div", { class: "geodp-tooltip", role: "tooltip", hidden: true });
      this.voice = geodp.element("div", { class: "geodp-unseen", role: "status", "aria-live": "polite" });
      map.getContainer().append(this.box, this.voice);
      map.on("mousemove", (event) => this.later(event));
      map.on("mouseout dragstart zoomstart", () => this.clear());
      map.on("click", (event) => this.look(event, true));
      map.getContainer().addEventListener("keydown", (event) => this.key(event));
    }

    key(event) {
      if (event.target !== this.stage.map.getContainer()) return;
      if (event.key === "Escape") this.clear();
      if (event.key !== "Enter") return;
      const { map } = this.stage;
      this.look({ latlng: map.getCenter(), containerPoint: map.getSize().divideBy(2) }, true);
      this.voice.textContent = this.box.hidden ? "Nothing is drawn here." : words(this.box);
      event.preventDefault();
    }

    later(event) {
      const waiting = this.event !== null;
      this.event = event;
      if (waiting) return;
      requestAnimationFrame(() => {
        const latest = this.event;
        this.event = null;
        if (latest) this.look(latest, false);
      });
    }

    look(event, pin) {
      const over = event.originalEvent && event.originalEvent.target;
      if (over && over.closest && over.closest(".leaflet-control, .geodp-swipe")) return this.clear();
      let found = null;
      for (const entry of this.stage.entries) {
        if (!entry.visible || !entry.layer.style || !isOnSide(entry, event.containerPoint)) continue;
        const hit = found ? null : entry.layer.hit(event.latlng);
        const style = entry.layer.style;
        if (style.point && style.point(hit && "thing" in hit ? hit.thing : -1, pin)) entry.layer.redraw();
        if (hit) found = { ...hit, group: entry.spec.group };
      }
      if (!found) return this.close();
      this.box.replaceChildren(content(found));
      this.box.hidden = false;
      this.place(event.containerPoint);
    }

    // Beside the pointer, on whichever side there is room, and never beyond the edges of the map.
    place(point) {
      const size = this.stage.map.getSize();
      const { offsetWidth: width, offsetHeight: height } = this.box;
      const right = point.x + GAP + width <= size.x - 4;
      const left = right ? point.x + GAP : point.x - GAP - width;
      const within = (value, room) => Math.max(4, Math.min(value, room - 4));
      this.box.style.left = within(left, size.x - width) + "px";
      this.box.style.top = within(point.y - height / 2, size.y - height) + "px";
    }

    close() {
      this.box.hidden = true;
    }

    clear() {
      this.event = null;
      this.close();
      for (const entry of this.stage.entries) {
        if (entry.layer.style && entry.layer.style.point && entry.layer.style.point(-1, false)) entry.layer.redraw();
      }
    }
  };

  // Where two arms share a map, each answers on its own side.
  function isOnSide(entry, point) {
    return !entry.side || !point || (point.x >= entry.side[0] && point.x < entry.side[1]);
  }

  function words(box) {
    const rows = [...box.querySelectorAll("tr")].map((row) => [...row.children].map((cell) => cell.textContent).join(" "));
    return [box.querySelector("b").textContent, ...rows].join("; ");
  }

  function content(hit) {
    const rows = hit.rows.map(([label, value]) => geodp.element("tr", {}, geodp.element("th", { scope: "row" }, label), geodp.element("td", {}, value)));
    const title = hit.group ? hit.title + " (" + hit.group + ")" : hit.title;
    return geodp.element("div", {}, geodp.element("b", {}, title), geodp.element("table", {}, ...rows));
  }
})((window.geodp = window.geodp || {}));
