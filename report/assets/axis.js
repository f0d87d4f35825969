// Round places on the axes, and what is written at them.
const axis = {};

// The smallest of 1, 2 and 5 times a power of ten that is not below `least`.
axis.step = function (least) {
  // Powers of ten below all doubles are zero, and so would the step be.
  const power = Math.max(Math.pow(10, Math.floor(Math.log10(least))), Number.MIN_VALUE);
  for (const factor of [1, 2, 5]) {
    if (factor * power >= least * (1 - 1e-9)) {
      return factor * power;
    }
  }
  return 10 * power;
};

// Seconds between two places that are read easily on a clock.
axis.clockSteps = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200,
  86400, 172800, 604800, 1209600, 2592000, 7776000, 31536000];

// The step of the x axis in ticks, for places that are at least `least` ticks apart.
axis.stepOfX = function (x, least) {
  if (!x.ticksPerSecond) {
    const step = axis.step(least);
    return x.isFloat ? step : Math.max(1, step);
  }
  const seconds = least / x.ticksPerSecond;
  if (seconds <= 1) {
    return Math.max(1, axis.step(least));
  }
  const found = axis.clockSteps.find((step) => step >= seconds);
  return (found || axis.step(seconds)) * x.ticksPerSecond;
};

// The place before the first sample from which steps are counted, in ticks: whole days of the
// reader's clock, or zero.
axis.origin = function (x, step) {
  if (x.isFloat) {
    return 0;
  }
  const first = BigInt(x.first);
  if (!x.ticksPerSecond) {
    const each = BigInt(Math.max(1, Math.round(step)));
    return -Number(((first % each) + each) % each);
  }
  const day = 86400n * BigInt(x.ticksPerSecond);
  const ahead = BigInt(times.ahead(Number(first) / x.ticksPerSecond * 1000)) * 60n * BigInt(x.ticksPerSecond);
  const behind = (((first + ahead) % day) + day) % day;
  return -Number(behind);
};

// A place on a clock that is changed between the first sample and there, where steps are longer than the
// change.
axis.onClock = function (x, place, step) {
  if (!x.ticksPerSecond || step <= 3600 * x.ticksPerSecond) {
    return place;
  }
  const ahead = (at) => times.ahead((Number(x.first) + at) / x.ticksPerSecond * 1000);
  const moved = place + (ahead(0) - ahead(place)) * 60 * x.ticksPerSecond;
  return ahead(moved) === ahead(place) ? moved : place;
};

// The places of the x axis in a range.
axis.placesOfX = function (x, from, to, most) {
  const span = to - from;
  if (!(span > 0) || !isFinite(span)) {
    return { places: [from], step: 1 };
  }
  const step = axis.stepOfX(x, span / Math.max(1, most));
  const origin = axis.origin(x, step);
  const places = [];
  // A changed clock moves places by less than a step.
  const first = Math.ceil((from - origin) / step) - 1;
  const last = Math.floor((to - origin) / step) + 1;
  // Counted from the first: beside a number beyond 53 bits there is no next one.
  for (let count = 0; first + count <= last && count < 100; count++) {
    const at = first + count;
    const place = axis.onClock(x, origin + at * step, step);
    if (place >= from && place <= to) {
      places.push(place);
    }
  }
  return { places, step };
};

// What is written at a place of the x axis.
axis.textOfX = function (x, place, step) {
  if (x.isFloat) {
    return numbers.tick(place, step, Math.abs(place));
  }
  const exact = BigInt(Math.round(place));
  if (!x.ticksPerSecond) {
    return numbers.grouped(BigInt(x.first) + exact);
  }
  const ticks = BigInt(x.first) + exact;
  if (!times.isDate(ticks, x.ticksPerSecond)) {
    return numbers.grouped(ticks / BigInt(x.ticksPerSecond)) + " s";
  }
  const parts = times.parts(ticks, x.ticksPerSecond);
  const seconds = step / x.ticksPerSecond;
  if (seconds >= 86400) {
    return parts.day;
  }
  const digits = Math.max(0, -Math.floor(Math.log10(seconds) + 1e-9));
  const fraction = digits > 0 ? "." + parts.fraction.slice(0, digits) : "";
  const clock = seconds >= 60 ? parts.clock.slice(0, 5) : parts.clock + fraction;
  return /^[0:.]+$/.test(clock) ? parts.day : clock;
};

// The places of a y axis.
axis.placesOfY = function (from, to, most) {
  // Halves keep spans finite.
  const span = to / 2 - from / 2;
  if (!(span > 0)) {
    return { places: [from], step: Math.abs(from) || 1 };
  }
  const step = axis.step(span / Math.max(1, most) * 2);
  const places = [];
  const first = Math.ceil(from / step);
  const last = Math.floor(to / step);
  for (let count = 0; first + count <= last && count < 50; count++) {
    const at = first + count;
    // Beyond all doubles there is nothing to name.
    if (isFinite(at * step)) {
      places.push(at * step);
    }
  }
  return { places, step };
};
