// What Folium's own elements lean on, as far as they need it, so that they show with no network: the pictures of
// Leaflet's marker, the few calls of jQuery in Folium's templates, and coloured pins. Where the real libraries are
// loaded by somebody's plug-in, they take the place of these.
(function () {
  "use strict";

  L.Icon.Default.imagePath = "";
  L.Icon.Default.mergeOptions(window.geodpIcons);

  function wrap(found) {
    const list = Array.from(found);
    const display = (value) => {
      for (const each of list) each.style.display = value;
      return list;
    };
    list.show = () => display("");
    list.hide = () => display("none");
    list.ready = (act) => {
      if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", act);
      else act();
      return list;
    };
    return list;
  }

  function find(what) {
    if (typeof what === "function") return wrap([document]).ready(what);
    if (typeof what !== "string") return wrap([what]);
    if (!what.trim().startsWith("<")) return wrap(document.querySelectorAll(what));
    const template = document.createElement("template");
    template.innerHTML = what.trim();
    return wrap(template.content.children);
  }

  find.extend = (target, ...others) => Object.assign(target, ...others);
  find.ajax = (url) => {
    const request = new XMLHttpRequest();
    request.open("GET", url, false);
    request.send();
    const made = { done: (act) => (act(JSON.parse(request.responseText)), made), fail: () => made };
    return made;
  };
  if (!window.jQuery) window.$ = window.jQuery = find;

  const COLOURS = {
    red: "#d63e2a", darkred: "#a23336", lightred: "#ff8e7f", orange: "#f69730", beige: "#ffca92", green: "#72b026",
    darkgreen: "#728224", lightgreen: "#bbf970", blue: "#38aadd", darkblue: "#0067a3", lightblue: "#8adaff",
    cadetblue: "#436978", purple: "#d252b9", darkpurple: "#5b396b", pink: "#ff91ea", white: "#fbfbfb", gray: "#575757",
    lightgray: "#a3a3a3", black: "#303030",
  };

  // A pin in the colour that was asked for; its glyph would need a font from outside, so a dot stands for it.
  function pin(options) {
    const colour = COLOURS[options.markerColor] || COLOURS.blue;
    const dot = options.iconColor && CSS.supports("color", options.iconColor) ? options.iconColor : "white";
    const drawing =
      '<svg xmlns="http://www.w3.org/2000/svg" width="30" height="42" viewBox="0 0 30 42" aria-hidden="true">' +
      '<path d="M15 1C7 1 1 7 1 15c0 9 9 15 14 26 5-11 14-17 14-26C29 7 23 1 15 1z" fill="' + colour + '" stroke="#0006"/>' +
      '<circle cx="15" cy="15" r="5.5" fill="' + dot + '"/></svg>';
    return L.divIcon({ html: drawing, className: "geodp-pin", iconSize: [30, 42], iconAnchor: [15, 41], popupAnchor: [0, -36], tooltipAnchor: [14, -24] });
  }

  if (!L.AwesomeMarkers) {
    L.AwesomeMarkers = { icon: pin, Icon: L.DivIcon };
  }
})();
