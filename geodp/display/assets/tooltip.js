// One tooltip for the whole map: the topmost layer that knows something about the place pointed at says it.
(function (geodp) {
  "use strict";

  geodp.Tooltip = class {
    constructor(stage) {
      this.stage = stage;
      this.tooltip = L.tooltip({ className: "geodp-tooltip", opacity: 1, offset: [12, 0] });
      this.event = null;
      stage.map.on("mousemove", (event) => this.later(event));
      stage.map.on("mouseout dragstart zoomstart", () => this.clear());
      stage.map.on("click", (event) => this.look(event, true));
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
      if (over && over.closest && over.closest(".leaflet-control")) return this.clear();
      const world = this.stage.projection.fromLatLng(event.latlng);
      let found = null;
      for (const entry of this.stage.entries) {
        if (!entry.layer || !entry.visible) continue;
        const hit = found ? null : entry.layer.hit(world);
        const style = entry.layer.style;
        if (style.point && style.point(hit && "thing" in hit ? hit.thing : -1, pin)) entry.layer.redraw();
        if (hit) found = { ...hit, group: entry.spec.group };
      }
      if (!found) return this.close();
      this.tooltip.setContent(content(found)).setLatLng(event.latlng);
      if (!this.stage.map.hasLayer(this.tooltip)) this.tooltip.addTo(this.stage.map);
    }

    close() {
      this.tooltip.remove();
    }

    clear() {
      this.event = null;
      this.close();
      for (const entry of this.stage.entries) {
        if (entry.layer && entry.layer.style.point && entry.layer.style.point(-1, false)) entry.layer.redraw();
      }
    }
  };

  function content(hit) {
    const rows = hit.rows.map(([label, value]) => geodp.element("tr", {}, geodp.element("th", { scope: "row" }, label), geodp.element("td", {}, value)));
    const title = hit.group ? hit.title + " (" + hit.group + ")" : hit.title;
    return geodp.element("div", {}, geodp.element("b", {}, title), geodp.element("table", {}, ...rows));
  }
})((window.geodp = window.geodp || {}));
