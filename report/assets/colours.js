// Dark and light, and the colours of what scripts draw.
const colours = { changed: [] };

colours.of = function (name) {
  return getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim();
};

colours.isDark = function () {
  return colours.of("is-dark") === "1";
};

// `light`, `dark`, or an empty text for what the reader likes.
colours.set = function (theme) {
  document.documentElement.dataset.theme = theme;
  colours.changed.forEach((redraw) => redraw());
};

colours.start = function () {
  const media = matchMedia("(prefers-color-scheme: dark)");
  media.addEventListener("change", () => colours.changed.forEach((redraw) => redraw()));
};
