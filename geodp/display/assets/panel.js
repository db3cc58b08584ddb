// The panel at the top right: which layers are shown, what their signs mean, and what lies beneath.
(function (geodp) {
  "use strict";

  const { element } = geodp;

  geodp.Panel = L.Control.extend({
    options: { position: "topright" },

    initialize: function (stage) {
      this.stage = stage;
    },

    onAdd: function () {
      const body = element("div", { class: "geodp-body", id: "geodp-layers" });
      const box = element("div", { class: "geodp-box geodp-panel leaflet-control-layers", role: "group", "aria-label": "Layers and legend" });
      const head = element("header", {}, element("h2", {}, "Layers and legend"), geodp.folder(body, "layers and legend"));
      if (this.stage.facts.tiles) body.append(this._ground());
      for (const group of ["", ...this.stage.facts.groups]) {
        const entries = this.stage.entries.filter((entry) => entry.spec.group === group);
        if (group && entries.length) body.append(this._groupHead(group, entries));
        for (const entry of entries) body.append(this._row(entry));
        if (group) geodp.foldGroup(entries, !entries.some((entry) => entry.visible));
      }
      // Layers shared by all arms come last: they lie beneath the others.
      if (this.stage.facts.groups.length) body.append(element("div", { class: "geodp-group" }, element("b", {}, "all arms")));
      body.querySelectorAll('.geodp-layer[data-group=""]').forEach((row) => body.append(row));
      box.append(head, body);
      L.DomEvent.disableClickPropagation(box);
      L.DomEvent.disableScrollPropagation(box);
      return box;
    },

    _row: function (entry) {
      const tick = element("input", { type: "checkbox", onchange: () => this.stage.show(entry, tick.checked) });
      tick.checked = entry.visible;
      entry.tick = tick;
      entry.legend = element("div", { class: "geodp-legend", hidden: !entry.visible });
      const trust = element("span", { class: "geodp-trust " + (entry.spec.public ? "released" : "truth") }, entry.spec.public ? "released" : "private");
      const label = element("label", {}, tick, element("span", {}, entry.spec.title), trust);
      entry.row = element("div", { class: "geodp-layer", "data-kind": entry.spec.kind, "data-group": entry.spec.group }, label, entry.legend);
      return entry.row;
    },

    _groupHead: function (group, entries) {
      const tick = element("input", { type: "checkbox", "aria-label": "All layers of " + group });
      const usual = this.stage.usual(entries);
      tick.addEventListener("change", () => {
        geodp.foldGroup(entries, !tick.checked);
        for (const entry of entries) this.stage.show(entry, tick.checked && usual.has(entry.spec.kind));
      });
      const only = element("button", { type: "button", title: "Show " + group + " and hide the other arms" }, "only");
      only.addEventListener("click", () => this.stage.showOnly(group));
      for (const entry of entries) entry.groupTick = tick;
      tick.checked = entries.some((entry) => entry.visible);
      return element("div", { class: "geodp-group", "data-group": group }, element("label", {}, tick, element("b", {}, group)), only);
    },

    _ground: function () {
      const { map, facts } = this.stage;
      // Made here, added to the map only when chosen: until then it asks for nothing.
      const tiles = L.tileLayer(facts.tiles.url, { attribution: facts.tiles.attribution, maxZoom: 19 });
      const choice = (text, chosen, act) => {
        const radio = element("input", { type: "radio", name: "geodp-ground", onchange: act });
        radio.checked = chosen;
        return element("label", {}, radio, element("span", {}, text));
      };
      return element("fieldset", {}, choice("Plain ground", true, () => tiles.remove()), choice(facts.tiles.title, false, () => tiles.addTo(map)));
    },
  });

  // An arm that is switched off as a whole is folded to its name.
  geodp.foldGroup = function (entries, folded) {
    for (const entry of entries) entry.row.hidden = folded;
  };

  // A button that folds a box away.
  geodp.folder = function (body, what) {
    const button = element("button", { type: "button", class: "geodp-fold", "aria-controls": body.id });
    const set = (open) => {
      body.hidden = !open;
      button.setAttribute("aria-expanded", String(open));
      button.setAttribute("aria-label", (open ? "Hide " : "Show ") + what);
      button.textContent = open ? "–" : "+";
    };
    button.addEventListener("click", () => set(body.hidden));
    set(true);
    button.fold = set;
    return button;
  };
})((window.geodp = window.geodp || {}));
