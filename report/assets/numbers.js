// Numbers as text.
const numbers = {};

// All digits of a number, and none besides. A number of single precision has fewer.
numbers.exact = function (value, isSingle) {
  if (!isSingle || typeof value === "bigint") {
    return String(value);
  }
  for (let digits = 1; digits < 10; digits++) {
    const short = Number(value.toPrecision(digits));
    if (Math.fround(short) === value) {
      return String(short);
    }
  }
  return String(value);
};

// The distance between two values. Whole numbers are exact; one of them may be a BigInt alone.
numbers.difference = function (from, to) {
  if (typeof from === "bigint" || typeof to === "bigint") {
    return String(BigInt(to) - BigInt(from));
  }
  return String(to - from);
};

// A number with commas between groups of three digits before its point.
numbers.grouped = function (value) {
  const [whole, ...part] = String(value).split(".");
  return [whole.replace(/\B(?=(\d{3})+(?!\d))/g, ","), ...part].join(".");
};

// A number with few digits, as the span of an axis needs. `most` is the largest one of the axis, so that
// all are written in one form.
numbers.tick = function (value, step, most) {
  if (value === 0) {
    return "0";
  }
  const size = Math.abs(value);
  if (most >= 1e7 || most < 1e-4) {
    const digits = Math.max(0, Math.floor(Math.log10(size)) - Math.floor(Math.log10(step)));
    return value.toExponential(Math.min(digits, 15)).replace("e+", "e");
  }
  const places = Math.max(0, -Math.floor(Math.log10(step) + 1e-9));
  return numbers.grouped(value.toFixed(Math.min(places, 20)));
};
