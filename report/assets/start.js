// Starts the page: draws, and hides what is for browsers without scripts. A browser that lacks what
// drawing needs goes on showing that.
(function () {
  const root = document.documentElement;
  const settings = document.getElementById("settings");
  const draw = function () {
    const data = JSON.parse(document.getElementById("data").textContent);
    colours.start();
    tables.start();
    steps.start();
    const waveforms = Array.from(document.querySelectorAll("section.waveform"), (section) =>
      new Waveform(section, data.waveforms[Number(section.dataset.waveform)]));
    for (const waveform of waveforms) {
      for (const chart of waveform.charts) {
        chart.plot.over.addEventListener("click", (event) => {
          if (!event.shiftKey) {
            waveform.placeCursor(event.ctrlKey || event.metaKey ? "B" : "A", gestures.placeAt(waveform, chart.plot, event.clientX));
          }
        });
      }
    }
    const redraw = () => waveforms.forEach((waveform) => {
      waveform.charts.forEach((chart) => chart.draw());
      waveform.writeReadout();
    });
    colours.changed.push(redraw);
    settings.append(tables.button("Dark / light", () => colours.set(colours.isDark() ? "light" : "dark")));
    if (data.waveforms.some((waveform) => waveform.x.ticksPerSecond)) {
      const zone = tables.button("Times in UTC", () => {
        times.isLocal = !times.isLocal;
        zone.textContent = times.isLocal ? "Times of this computer" : "Times in UTC";
        redraw();
      }, "Changes between UTC and the zone of this computer");
      settings.append(zone);
    }
    settings.append(tables.button("Print", () => print()));
    // Paper is light, whatever the screen is.
    let theme = null;
    addEventListener("beforeprint", () => {
      theme = theme === null ? root.dataset.theme || "" : theme;
      colours.set("light");
    });
    addEventListener("afterprint", () => {
      colours.set(theme || "");
      theme = null;
    });
    window.stationdb = { waveforms, tables, colours, bytes, Levels };
  };
  root.classList.add("drawn");
  try {
    draw();
  } catch (error) {
    root.classList.remove("drawn");
    for (const element of document.querySelectorAll("#settings, .charts")) {
      element.textContent = "";
    }
    throw error;
  }
})();
