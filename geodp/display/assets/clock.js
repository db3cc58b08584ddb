// The clock of the run and its player: one time for all layers.
(function (geodp) {
  "use strict";

  const { element } = geodp;
  const RUN_SECONDS = 40; // a whole run plays in this time at speed 1
  const STEPS = 1000;

  geodp.Clock = class {
    constructor(scene) {
      this.start = scene.start_s;
      this.duration = scene.duration_s;
      this.releases = scene.release_times;
      this.t = 0;
      this.wholeRun = true;
      this.playing = false;
      this.speed = 1;
      this.listeners = [];
    }

    // Cover the time of another scene, too.
    cover(scene) {
      this.duration = Math.max(this.duration, scene.duration_s);
      if (!this.releases.length) this.releases = scene.release_times;
    }

    text(t) {
      return geodp.clockText(this.start + t, this.duration < 1200);
    }

    onChange(listener) {
      this.listeners.push(listener);
    }

    set(t) {
      this.t = Math.max(0, Math.min(this.duration, t));
      this.changed();
    }

    setWholeRun(wholeRun) {
      this.wholeRun = wholeRun;
      this.changed();
    }

    changed() {
      for (const listener of this.listeners) listener(this);
    }

    play() {
      if (this.playing) return;
      if (this.t >= this.duration) this.t = 0;
      this.playing = true;
      this.wholeRun = false; // to play is to see it happen; the box brings the whole run back
      let before = performance.now();
      const tick = (now) => {
        if (!this.playing) return;
        const passed = Math.min(Math.max(now - before, 0), 250); // a tab in the background does not leap
        before = now;
        const next = this.t + ((passed / 1000) * this.duration * this.speed) / RUN_SECONDS;
        if (next >= this.duration) this.playing = false;
        this.set(next);
        if (this.playing) requestAnimationFrame(tick);
      };
      requestAnimationFrame(tick);
      this.changed();
    }

    pause() {
      this.playing = false;
      this.changed();
    }
  };

  // The strip below the map; it never lies over anything.
  geodp.player = function (stage) {
    const { clock } = stage;
    const play = element("button", { type: "button", class: "geodp-play", onclick: () => (clock.playing ? clock.pause() : clock.play()) });
    const range = element("input", { type: "range", min: 0, max: STEPS, value: 0, "aria-label": "Time of day" });
    range.addEventListener("input", () => clock.set((range.value / STEPS) * clock.duration));
    const now = element("output", { class: "geodp-clock", "aria-live": "off" });
    const release = element("span", { class: "geodp-release" });
    const speed = element("select", { "aria-label": "Speed of the player", onchange: () => (clock.speed = Number(speed.value)) });
    for (const factor of [0.5, 1, 2, 4]) speed.append(element("option", { value: factor, selected: factor === 1 }, factor + "×"));
    const whole = element("input", { type: "checkbox", onchange: () => clock.setWholeRun(whole.checked) });
    const history = stage.entries.some((entry) => entry.spec.history);
    const marks = clock.releases.map((time) => element("i", { style: "left:" + ((100 * time) / clock.duration).toFixed(2) + "%" }));
    const track = element("div", { class: "geodp-track" }, range, element("div", { class: "geodp-marks", "aria-hidden": "true" }, ...marks));
    const strip = element("div", { id: "geodp-player", class: "geodp-player", role: "group", "aria-label": "Time player" }, play, now, track, release, speed);
    if (history) strip.append(element("label", { title: "Show the tasks, offers and trips of the whole run, not only those of the moment" }, whole, element("span", {}, "whole run")));
    const update = () => {
      play.textContent = clock.playing ? "❚❚" : "▶";
      play.setAttribute("aria-label", clock.playing ? "Pause" : "Play");
      play.title = clock.playing ? "Pause" : "Play";
      range.value = Math.round((clock.t / clock.duration) * STEPS);
      range.setAttribute("aria-valuetext", clock.text(clock.t));
      now.textContent = clock.text(clock.t);
      whole.checked = clock.wholeRun;
      const number = clock.releases.filter((time) => time <= clock.t + 1e-9).length;
      release.textContent = clock.releases.length ? "release " + Math.max(number, 1) + " of " + clock.releases.length : "";
    };
    clock.onChange(update);
    update();
    return strip;
  };
})((window.geodp = window.geodp || {}));
