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
  geodp.drawMark = function (ctx, shape, colour, x, y, size) {
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
    ctx.fillStyle = hollow ? "#fff" : colour;
    ctx.strokeStyle = hollow ? colour : "#fff";
    ctx.fill();
    ctx.stroke();
  };
})((window.geodp = window.geodp || {}));
