// The panel beside the map: which arms and layers are shown, what their signs mean, and what lies beneath.
(function (geodp) {
  "use strict";

  const { element } = geodp;

  geodp.Panel = class {
    constructor(page) {
      this.page = page;
      this.stage = page.stage;
      const body = (this.body = element("div", { class: "geodp-body", id: "geodp-layers" }));
      this.fold = geodp.folder(body, "layers and legend");
      const head = element("header", {}, element("h2", {}, "Layers and legend"), this.fold);
      this.box = element("section", { class: "geodp-panel", role: "group", "aria-label": "Layers and legend" }, head, body);
      this.fill();
    }

    fill() {
      const { page, body, stage } = this;
      const { groups } = page.facts;
      if (page.arms) body.append(page.arms.controls());
      for (const group of [...groups, ""]) {
        const entries = stage.entries.filter((entry) => entry.spec.group === group);
        if (groups.length && entries.length) body.append(element("h3", { class: "geodp-group", "data-group": group }, group || "All arms"));
        for (const entry of entries) body.append(this.row(entry));
      }
      if (page.facts.tiles) body.append(this.ground());
    }

    // A row for a layer that came later.
    add(entry) {
      this.body.append(this.row(entry));
    }

    row(entry) {
      const tick = element("input", { type: "checkbox", onchange: () => this.page.want(entry, tick.checked) });
      entry.tick = tick;
      entry.legend = element("div", { class: "geodp-legend", hidden: true });
      const trust = element("span", { class: "geodp-trust " + (entry.spec.public ? "released" : "truth") }, entry.spec.public ? "released" : "private");
      const label = element("label", {}, tick, element("span", {}, entry.spec.title), trust);
      entry.row = element("div", { class: "geodp-layer", "data-kind": entry.spec.kind, "data-group": entry.spec.group }, label, entry.legend);
      return entry.row;
    }

    // Bring the rows of an entry up to what is shown.
    update(entry) {
      const shown = this.page.isShown(entry);
      entry.tick.checked = shown;
      entry.legend.hidden = !shown;
      entry.row.classList.toggle("geodp-off", !shown);
      if (shown) geodp.drawLegend(entry.legend, entry, this.stage.clock, this.stage.dark);
      if (!this.page.arms || !entry.spec.group) return;
      const there = this.page.arms.isThere(entry.spec.group);
      entry.row.hidden = !there;
      this.body.querySelector('h3[data-group="' + CSS.escape(entry.spec.group) + '"]').hidden = !there;
    }

    ground() {
      const { map, facts } = this.page;
      // Made here, added to the map only when chosen: until then it asks for nothing.
      const tiles = L.tileLayer(facts.tiles.url, { attribution: facts.tiles.attribution, maxZoom: 19 });
      const choice = (text, chosen, act) => {
        const radio = element("input", { type: "radio", name: "geodp-ground", onchange: act });
        radio.checked = chosen;
        return element("label", {}, radio, element("span", {}, text));
      };
      const choices = [choice("Plain ground", true, () => tiles.remove()), choice(facts.tiles.title, false, () => tiles.addTo(map))];
      return element("fieldset", {}, element("legend", {}, "Ground"), ...choices);
    }
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
