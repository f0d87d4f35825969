// Wheel, dragging, touch and keys, as changes of the range of a waveform.
const gestures = {};

// The place under a pointer.
gestures.placeAt = function (view, plot, clientX) {
  const box = plot.over.getBoundingClientRect();
  return view.from + (clientX - box.left) / box.width * (view.to - view.from);
};

gestures.start = function (view, chart) {
  const over = chart.plot.over;
  const placeAt = (clientX) => gestures.placeAt(view, chart.plot, clientX);
  over.addEventListener("wheel", (event) => {
    event.preventDefault();
    if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
      view.pan(event.deltaX / over.clientWidth);
    } else {
      view.zoom(Math.pow(1.0015, event.deltaY), placeAt(event.clientX));
    }
  }, { passive: false });
  over.addEventListener("dblclick", () => view.showAll());
  gestures.drag(view, over);
  gestures.touch(view, over, placeAt);
  chart.place.addEventListener("keydown", (event) => gestures.key(view, chart, event));
};

// With the Shift key or the middle button, the pointer moves the curve.
gestures.drag = function (view, over) {
  let last = null;
  over.addEventListener("pointerdown", (event) => {
    if (event.pointerType === "mouse" && view.isPanning(event)) {
      last = event.clientX;
      over.setPointerCapture(event.pointerId);
      event.preventDefault();
    }
  });
  over.addEventListener("pointermove", (event) => {
    if (last !== null) {
      view.pan((last - event.clientX) / over.clientWidth);
      last = event.clientX;
    }
  });
  for (const end of ["pointerup", "pointercancel"]) {
    over.addEventListener(end, () => { last = null; });
  }
};

// One finger moves to the sides, two zoom. One finger up or down scrolls the page.
gestures.touch = function (view, over, placeAt) {
  let last = null;
  const read = (event) => {
    const [a, b] = event.touches;
    return b
      ? { middle: (a.clientX + b.clientX) / 2, apart: Math.abs(a.clientX - b.clientX), y: a.clientY }
      : { middle: a.clientX, apart: 0, y: a.clientY };
  };
  over.addEventListener("touchstart", (event) => { last = read(event); }, { passive: true });
  over.addEventListener("touchmove", (event) => {
    const now = read(event);
    if (event.touches.length === 1 && Math.abs(now.y - last.y) > Math.abs(now.middle - last.middle)) {
      last = now;
      return;
    }
    event.preventDefault();
    view.pan((last.middle - now.middle) / over.clientWidth);
    if (last.apart > 10 && now.apart > 10) {
      view.zoom(last.apart / now.apart, placeAt(now.middle));
    }
    last = now;
  }, { passive: false });
  over.addEventListener("touchend", (event) => { last = event.touches.length ? read(event) : null; }, { passive: true });
};

gestures.key = function (view, chart, event) {
  if (event.ctrlKey || event.metaKey || event.altKey) {
    return;
  }
  const middle = (view.from + view.to) / 2;
  const keys = {
    ArrowLeft: () => (event.shiftKey ? view.stepCursor(chart, -1) : view.pan(-0.1)),
    ArrowRight: () => (event.shiftKey ? view.stepCursor(chart, 1) : view.pan(0.1)),
    "+": () => view.zoom(0.5, middle),
    "=": () => view.zoom(0.5, middle),
    "-": () => view.zoom(2, middle),
    Home: () => view.showAll(),
    n: () => view.goToViolation(1),
    p: () => view.goToViolation(-1),
    a: () => view.placeCursor("A", view.hovered === null ? middle : view.hovered),
    b: () => view.placeCursor("B", view.hovered === null ? middle : view.hovered),
    Escape: () => view.clearCursors(),
  };
  const act = keys[event.key.length === 1 ? event.key.toLowerCase() : event.key];
  if (act) {
    event.preventDefault();
    act();
  }
};
