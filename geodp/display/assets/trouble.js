// Says what went wrong, once, above the map; it stands first in the page, so that it hears everything.
(function (geodp) {
  "use strict";

  let missing = false;

  geodp.complain = function (error) {
    if (error) console.error(error);
    if (!document.body || document.getElementById("geodp-problem")) return;
    const box = document.createElement("div");
    box.id = "geodp-problem";
    box.setAttribute("role", "alert");
    box.textContent = missing
      ? "Something that was added to this map needs the network and is not shown; the rest is whole."
      : typeof DecompressionStream === "undefined"
        ? "This browser is too old for this map: it needs DecompressionStream (all major browsers since 2023)."
        : "Part of this map could not be drawn: " + (error && error.message ? error.message : error);
    const close = document.createElement("button");
    close.type = "button";
    close.setAttribute("aria-label", "Close this message");
    close.textContent = "×";
    close.addEventListener("click", () => box.remove());
    box.append(close);
    document.body.prepend(box);
  };

  window.addEventListener(
    "error",
    (event) => {
      const from = event.target;
      if (from && from !== window) {
        // A script or style from outside that did not come; images are tiles, which come and go.
        if (from.tagName === "SCRIPT" || from.tagName === "LINK") missing = true;
        return;
      }
      geodp.complain(missing ? null : event.error || event.message);
    },
    true,
  );
})((window.geodp = window.geodp || {}));
