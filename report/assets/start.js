// Starts the page: hides what is for browsers without scripts, and draws.
(function () {
  const data = JSON.parse(document.getElementById("data").textContent);
  document.documentElement.classList.add("drawn");
  document.getElementById("old").remove();
  colours.start();
  tables.start();
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
  const settings = document.getElementById("settings");
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
  // Paper is light, and as wide as it is.
  const size = () => waveforms.forEach((waveform) => waveform.charts.forEach((chart) => { chart.resize(); chart.draw(); }));
  addEventListener("beforeprint", size);
  addEventListener("afterprint", size);
  window.stationdb = { waveforms };
})();
