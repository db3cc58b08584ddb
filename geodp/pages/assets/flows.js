"use strict";
// Zones by the hour, and flows from a size on: what is drawn follows from the sliders.
(() => {
  const round = (value) => Math.round(value).toLocaleString("en");
  for (const figure of document.querySelectorAll("figure.player")) {
    const { names, starts, colours, series } = JSON.parse(figure.dataset.series);
    const zones = [...figure.querySelectorAll("path.zone")];
    const slider = figure.querySelector("input[type=range]");
    const button = figure.querySelector("button");
    const choice = figure.querySelector("select");
    const clock = figure.querySelector("output");
    const told = figure.querySelector(".told");
    let chosen = -1;
    const days = () => series[choice ? Number(choice.value) : 0];
    const tell = () => {
      if (chosen < 0) return;
      const at = Number(slider.value);
      const { values, give } = days();
      told.textContent = `${names[chosen]}, ${starts[at]}: ${round(values[at][chosen])} ± ${round(give[at][chosen])} people`;
    };
    const paint = () => {
      const at = Number(slider.value);
      const { shades } = days();
      zones.forEach((zone, number) => zone.setAttribute("fill", colours[parseInt(shades[at][number], 36)]));
      clock.textContent = starts[at];
      slider.setAttribute("aria-valuetext", starts[at]);
      tell();
    };
    const choose = (event) => {
      const number = zones.indexOf(event.target);
      if (number < 0) return;
      if (chosen >= 0) zones[chosen].classList.remove("chosen");
      chosen = number;
      zones[number].classList.add("chosen");
      tell();
    };
    let ticking = null;
    const stop = () => { clearInterval(ticking); ticking = null; button.textContent = "Play"; };
    const step = () => { slider.value = (Number(slider.value) + 1) % starts.length; paint(); };
    button.addEventListener("click", () => {
      if (ticking !== null) { stop(); return; }
      button.textContent = "Pause";
      ticking = setInterval(step, 700);
    });
    slider.addEventListener("input", paint);
    if (choice) choice.addEventListener("change", paint);
    figure.querySelector("svg").addEventListener("click", choose);
    figure.querySelector("svg").addEventListener("pointerover", choose);
    addEventListener("beforeprint", stop);
    paint();
  }
  for (const figure of document.querySelectorAll("figure.flows")) {
    const flows = [...figure.querySelectorAll("g.flow")].map((mark) => ({ mark, size: Number(mark.dataset.size) }));
    const slider = figure.querySelector("input[type=range]");
    const shown = figure.querySelector("output");
    const told = figure.querySelector(".told");
    const sizes = flows.map((flow) => flow.size);
    const low = Math.max(Math.min(...sizes), 1), high = Math.max(...sizes, low);
    const draw = () => {
      const share = Number(slider.value) / Number(slider.max);
      const least = share === 0 ? 0 : low * (high / low) ** share * (1 - 1e-9);
      let many = 0;
      for (const { mark, size } of flows) {
        const seen = size >= least;
        many += seen;
        if (seen) mark.removeAttribute("display"); else mark.setAttribute("display", "none");
      }
      shown.textContent = `${many} of ${flows.length} flows, from ${round(Math.max(least, low))} people on`;
      slider.setAttribute("aria-valuetext", shown.textContent);
    };
    const say = (event) => {
      const mark = event.target.closest("g.flow");
      if (mark) told.textContent = mark.dataset.name;
    };
    slider.addEventListener("input", draw);
    figure.querySelector("svg").addEventListener("click", say);
    figure.querySelector("svg").addEventListener("pointerover", say);
    draw();
  }
})();
