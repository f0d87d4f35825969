// Places on the x axis as text. A place is the distance from the first sample in ticks: a number to
// draw, or a BigInt to the last digit. Where x is of doubles, a place is x itself.
const times = { isLocal: false };

times.pad = function (number, digits) {
  return String(number).padStart(digits, "0");
};

// Whole minutes that the clock of the reader is ahead of UTC. Zones of the 19th century have seconds too,
// which are not written behind times.
times.ahead = function (milliseconds) {
  // A time that is beyond those of the browser is in no zone.
  return times.isLocal ? -Math.round(new Date(milliseconds).getTimezoneOffset()) || 0 : 0;
};

// Whether the browser has a date for a time; others are numbers of ticks.
times.isDate = function (ticks, ticksPerSecond) {
  return Math.abs(Number(ticks) / ticksPerSecond) < 8.64e12;
};

// The parts of a time, of ticks since 1970 as a BigInt.
times.parts = function (ticks, ticksPerSecond) {
  const each = BigInt(ticksPerSecond);
  let seconds = ticks / each;
  let rest = ticks % each;
  if (rest < 0n) {
    seconds -= 1n;
    rest += each;
  }
  const ahead = times.ahead(Number(seconds) * 1000);
  const date = new Date((Number(seconds) + ahead * 60) * 1000);
  const digits = String(ticksPerSecond).length - 1;
  return {
    day: date.getUTCFullYear() + "-" + times.pad(date.getUTCMonth() + 1, 2) + "-" + times.pad(date.getUTCDate(), 2),
    clock: times.pad(date.getUTCHours(), 2) + ":" + times.pad(date.getUTCMinutes(), 2) + ":" + times.pad(date.getUTCSeconds(), 2),
    fraction: times.pad(rest, digits),
    ahead,
  };
};

// The offset of the zone as it is written behind a time.
times.zone = function (ahead) {
  if (!times.isLocal) {
    return "Z";
  }
  const size = Math.abs(ahead);
  return (ahead < 0 ? "-" : "+") + times.pad(Math.floor(size / 60), 2) + ":" + times.pad(size % 60, 2);
};

// A place to the last digit: of a BigInt, or of a number where x is of doubles.
times.exact = function (x, place) {
  if (x.isFloat) {
    return String(place) + (x.unit ? " " + x.unit : "");
  }
  const ticks = BigInt(x.first) + place;
  if (x.ticksPerSecond && times.isDate(ticks, x.ticksPerSecond)) {
    const parts = times.parts(ticks, x.ticksPerSecond);
    return parts.day + "T" + parts.clock + "." + parts.fraction + times.zone(parts.ahead);
  }
  return ticks.toString() + (x.unit ? " " + x.unit : "");
};

// A distance between two places.
times.difference = function (x, from, to) {
  const between = to - from;
  if (x.isFloat || !x.ticksPerSecond) {
    return String(between) + (x.unit ? " " + x.unit : "");
  }
  const each = BigInt(x.ticksPerSecond);
  const size = between < 0n ? -between : between;
  const digits = String(x.ticksPerSecond).length - 1;
  return (between < 0n ? "-" : "") + (size / each) + "." + times.pad(size % each, digits) + " s";
};
