// Making elements and writing numbers. Words of the user only ever become text, never markup.
(function (geodp) {
  "use strict";

  geodp.element = function (tag, attributes, ...children) {
    const made = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes || {})) {
      if (value === false || value === null || value === undefined) continue;
      if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
      else made.setAttribute(name, value === true ? "" : value);
    }
    made.append(...children.filter((child) => child !== null && child !== undefined));
    return made;
  };

  const SHADES = 64;
  const parts = (colour) => [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16));

  // A ramp of colours as many fine steps; on dark ground it runs from dark to light.
  geodp.shades = function (ramp, dark) {
    const anchors = ramp.map(parts);
    if (dark) anchors.reverse();
    return Array.from({ length: SHADES }, (_, n) => {
      const place = (n / (SHADES - 1)) * (anchors.length - 1);
      const from = Math.min(Math.floor(place), anchors.length - 2);
      return anchors[from].map((part, channel) => Math.round(part + (anchors[from + 1][channel] - part) * (place - from)));
    });
  };

  // The colour of a value on a scale that ends at `top`; as colours.density_share.
  geodp.shadeOf = (shades, value, top) => shades[Math.round(Math.sqrt(Math.max(0, Math.min(value / top, 1))) * (SHADES - 1))];

  // Dark signs on dark ground are drawn lighter.
  geodp.lighten = function (colour) {
    if (!/^#[0-9a-f]{6}$/i.test(colour)) return colour;
    const [r, g, b] = parts(colour);
    const light = (0.2126 * r + 0.7152 * g + 0.0722 * b) / 255;
    if (light > 0.35) return colour;
    const share = 0.4 + (0.35 - light);
    return "#" + [r, g, b].map((part) => Math.round(part + (255 - part) * share).toString(16).padStart(2, "0")).join("");
  };

  // 1234.5 -> "1,235"; small numbers keep three figures.
  geodp.number = function (value, digits) {
    if (digits === undefined) digits = Math.abs(value) >= 100 || value === 0 ? 0 : Math.abs(value) >= 10 ? 1 : 2;
    return value.toLocaleString("en", { minimumFractionDigits: 0, maximumFractionDigits: digits });
  };

  // For legends: 12400 -> "12k".
  geodp.short = function (value) {
    if (value >= 9995) return geodp.number(value / 1000, 0) + "k";
    if (value >= 1000) return geodp.number(value / 1000, 1) + "k";
    return geodp.number(value, value >= 10 ? 0 : 1);
  };

  // Seconds after midnight as time of day; a day later says so.
  geodp.clockText = function (seconds, withSeconds) {
    const days = Math.floor(seconds / 86400);
    const rest = Math.floor(seconds - 86400 * days);
    const two = (part) => String(part).padStart(2, "0");
    const text = two(Math.floor(rest / 3600)) + ":" + two(Math.floor(rest / 60) % 60);
    return text + (withSeconds ? ":" + two(rest % 60) : "") + (days ? " +" + days + " d" : "");
  };

  // The lines of a tooltip for thing number i.
  geodp.factRows = function (facts, i, startSeconds) {
    const rows = [];
    for (const fact of facts) {
      const value = fact.values[i];
      if (fact.form === "words") {
        if (fact.words[value]) rows.push([fact.label, fact.words[value]]);
      } else if (value >= 0) {
        const text =
          fact.form === "clock"
            ? geodp.clockText(startSeconds + value, true)
            : geodp.number(value / 10 ** fact.digits, fact.digits) + (fact.unit ? " " + fact.unit : "");
        rows.push([fact.label, text]);
      }
    }
    return rows;
  };

  // Draw one mark; `size` is its half-width in pixels. White edges keep it apart from any ground.
  geodp.drawMark = function (ctx, shape, colour, x, y, size, dark) {
    ctx.beginPath();
    if (shape === "cross") {
      const arm = size * 0.85;
      ctx.moveTo(x - arm, y - arm);
      ctx.lineTo(x + arm, y + arm);
      ctx.moveTo(x - arm, y + arm);
      ctx.lineTo(x + arm, y - arm);
      ctx.lineCap = "round";
      ctx.lineWidth = size * 0.6 + Math.min(2, size * 0.5);
      ctx.strokeStyle = "#fff";
      ctx.stroke();
      ctx.lineWidth = size * 0.6;
      ctx.strokeStyle = colour;
      ctx.stroke();
      return;
    }
    if (shape === "square") ctx.rect(x - size * 0.85, y - size * 0.85, size * 1.7, size * 1.7);
    else if (shape === "diamond" || shape === "triangle") {
      const corners =
        shape === "diamond"
          ? [[0, -1.2], [1.2, 0], [0, 1.2], [-1.2, 0]]
          : [[0, -1.15], [1.1, 0.85], [-1.1, 0.85]];
      corners.forEach(([dx, dy], n) => (n ? ctx.lineTo(x + dx * size, y + dy * size) : ctx.moveTo(x + dx * size, y + dy * size)));
      ctx.closePath();
    } else ctx.arc(x, y, size, 0, 2 * Math.PI);
    // A triangle is hollow: dark on white, where everything else is colour within white.
    const hollow = shape === "triangle";
    ctx.lineJoin = "round";
    ctx.lineWidth = hollow ? Math.max(1.2, size * 0.4) : Math.max(0.5, size * 0.25);
    ctx.fillStyle = hollow ? (dark ? "#1b1f24" : "#fff") : colour;
    ctx.strokeStyle = hollow ? colour : "#fff";
    ctx.fill();
    ctx.stroke();
  };
})((window.geodp = window.geodp || {}));
