// The other half of packing.py: base64, deflated JSON, whole numbers as differences.
(function (geodp) {
  "use strict";

  function sums(differences) {
    const values = new Float64Array(differences.length);
    let total = 0;
    for (let i = 0; i < differences.length; i++) {
      total += differences[i];
      values[i] = total;
    }
    return values;
  }

  function revive(value) {
    if (Array.isArray(value)) return value.map(revive);
    if (value === null || typeof value !== "object") return value;
    if (value.once) return sums(value.once);
    if (value.twice) return sums(sums(value.twice));
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, revive(item)]));
  }

  // Return the data that an element of the page holds; a layer that nobody looks at is never unpacked.
  const unpacked = new Map(); // a layer may be drawn on two maps beside one another

  geodp.unpack = function (source) {
    if (!unpacked.has(source)) unpacked.set(source, read(source));
    return unpacked.get(source);
  };

  async function read(source) {
    const text = atob(document.getElementById("geodp-data-" + source).textContent);
    const bytes = new Uint8Array(text.length);
    for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
    return revive(JSON.parse(await new Response(stream).text()));
  }
})((window.geodp = window.geodp || {}));
