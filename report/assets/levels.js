// The levels of a column: what is known of its samples, and the points that are drawn of a range.
//
// The file has one level: the lowest and the highest sample of each interval, or every sample. Each
// coarser level has the extremes of four intervals of the one before. A point is always a sample; its
// key says which one.
const NONE = 0xffffffff;
const MERGED = 4;

class Levels {
  // `x` and `column` are what the file says; `rows` are the samples around marked places.
  constructor(x, column, rows) {
    this.x = x;
    this.column = column;
    this.count = column.intervals;
    this.isWhole = column.rowsEach === 1;
    this.values = bytes.values(column);
    this.step = x.step === null ? null : Number(x.step);
    const places = column.places;
    this.places = places.form === "none" ? null : bytes.distances(places.form, places.block);
    this.rows = rows;
    this.edges = new Map();
    this.levels = [this.finest()];
    while (this.levels[this.levels.length - 1].low.length > 256) {
      this.levels.push(this.coarser(this.levels[this.levels.length - 1]));
    }
    this.starts = this.startsOfIntervals();
  }

  // Keys of the lowest and the highest sample of each interval.
  finest() {
    const low = new Uint32Array(this.count);
    const high = new Uint32Array(this.count);
    for (let at = 0; at < this.count; at++) {
      const isKnown = !Number.isNaN(this.values.near[at]);
      low[at] = isKnown ? at : NONE;
      high[at] = isKnown ? (this.isWhole ? at : at + this.count) : NONE;
    }
    return { low, high, size: 1 };
  }

  coarser(finer) {
    const count = Math.ceil(finer.low.length / MERGED);
    const low = new Uint32Array(count).fill(NONE);
    const high = new Uint32Array(count).fill(NONE);
    const values = this.values.near;
    for (let at = 0; at < finer.low.length; at++) {
      if (finer.low[at] === NONE) {
        continue;
      }
      const into = Math.floor(at / MERGED);
      if (low[into] === NONE || values[finer.low[at]] < values[low[into]]) {
        low[into] = finer.low[at];
      }
      if (high[into] === NONE || values[finer.high[at]] > values[high[into]]) {
        high[into] = finer.high[at];
      }
    }
    return { low, high, size: finer.size * MERGED };
  }

  // Where each interval begins, at the latest; one without a value, where the last known one before it
  // does. `known` has the number of that one.
  startsOfIntervals() {
    if (this.step !== null) {
      return null;
    }
    const starts = new Float64Array(this.count);
    this.known = new Uint32Array(this.count);
    let last = this.x.from;
    let known = 0;
    for (let at = 0; at < this.count; at++) {
      if (!Number.isNaN(this.values.near[at])) {
        last = this.isWhole ? this.places.near[at] : Math.min(this.places.near[at], this.places.near[at + this.count]);
        known = at;
      }
      starts[at] = last;
      this.known[at] = known;
    }
    return starts;
  }

  // The numbers of the first and the last interval that may have samples of a range, with one on each
  // side where there is one. Many rows may have one x: then intervals behind each other begin there.
  intervalsOf(from, to) {
    const inside = (at) => Math.min(this.count - 1, Math.max(0, at));
    if (this.starts === null) {
      const each = this.column.rowsEach * this.step;
      return [inside(Math.floor(from / each) - 1), inside(Math.floor(to / each) + 1)];
    }
    const before = this.startsBefore((start) => start < from);
    const upTo = this.startsBefore((start) => start <= to);
    // The known one that begins last before the range reaches into it; that which begins first behind it
    // may have begun earlier, because `starts` are late.
    return [inside(this.known[inside(before - 1)] - 1), inside(upTo)];
  }

  // How many intervals begin where the question is true; behind one where it is not, none does.
  startsBefore(isBefore) {
    let from = 0;
    let to = this.count;
    while (from < to) {
      const middle = (from + to) >> 1;
      if (isBefore(this.starts[middle])) {
        from = middle + 1;
      } else {
        to = middle;
      }
    }
    return from;
  }

  // The row of a sample, where x says it.
  rowOf(key) {
    const interval = key % this.count;
    return interval * this.column.rowsEach + (this.isWhole ? 0 : this.places.near[key]);
  }

  // Where a sample is.
  placeOf(key) {
    return this.step === null ? this.places.near[key] : this.rowOf(key) * this.step;
  }

  // Where a sample is, to the last digit: a BigInt, or a number where x is of doubles.
  exactPlaceOf(key) {
    if (key < 0) {
      const exact = this.rows.places.exact[-key - 1];
      return this.x.isFloat ? exact : BigInt(exact);
    }
    if (this.step !== null) {
      return BigInt(this.rowOf(key)) * BigInt(this.x.step);
    }
    const exact = this.places.exact[key];
    return this.x.isFloat ? exact : BigInt(exact);
  }

  // The value of a sample: a BigInt where doubles do not do.
  valueOf(key) {
    const values = key < 0 ? this.rows.values : this.values;
    const at = key < 0 ? -key - 1 : key;
    return values.exact === null ? values.near[at] : values.exact[at];
  }

  // The value of a sample, to the last digit, as text.
  textOf(key) {
    return numbers.exact(this.valueOf(key), this.column.isSingle);
  }

  // The points of a range, with one on each side where there is one: at most about `most`.
  // `perPoint` says of how many samples one is drawn.
  points(from, to, most) {
    const [first, last] = this.intervalsOf(from, to);
    let level = 0;
    const each = this.isWhole ? 1 : 2;
    while (level + 1 < this.levels.length && (last - first + 1) / this.levels[level].size * each > most) {
      level++;
    }
    const points = { x: [], y: [], keys: [], samples: this.column.rowsEach * this.levels[level].size };
    if (this.count === 0) {
      return points;
    }
    if (level > 0 || this.isWhole || this.rows === null) {
      this.pushLevel(points, level, first, last, null);
      return points;
    }
    const inside = this.rows.ranges.find((range) => this.hasAll(range, from, to));
    if (inside) {
      this.pushRows(points, inside, from, to);
      points.samples = 1;
      return points;
    }
    this.pushLevel(points, level, first, last, this.rows.ranges.filter((range) => range.to >= from && range.from <= to));
    return points;
  }

  // Adds the extremes of intervals; in the ranges of known rows, the rows in their place.
  pushLevel(points, level, first, last, ranges) {
    const { low, high, size } = this.levels[level];
    let next = 0;
    const pushRows = () => this.pushRows(points, ranges[next++], -Infinity, Infinity);
    const push = (key, place) => {
      const value = this.values.near[key];
      if (ranges !== null) {
        while (next < ranges.length && place > ranges[next].to) {
          pushRows();
        }
        if (ranges.some((range) => this.hasSample(range, place, key))) {
          return;
        }
        if (next < ranges.length && place === ranges[next].to) {
          pushRows();
        }
      }
      points.x.push(place);
      points.y.push(value);
      points.keys.push(key);
    };
    for (let at = Math.floor(first / size); at <= Math.floor(last / size); at++) {
      if (low[at] === NONE) {
        // Known rows have gaps of their own, and those before this interval come before its gap.
        const begin = at * this.column.rowsEach;
        const end = begin + this.column.rowsEach;
        while (ranges !== null && next < ranges.length && ranges[next].row + ranges[next].rows <= end) {
          pushRows();
        }
        if (ranges === null || !ranges.some((range) => range.row <= begin && end <= range.row + range.rows)) {
          this.pushGap(points);
        }
        continue;
      }
      const [a, b] = [this.placeOf(low[at]), this.placeOf(high[at])];
      if (a <= b) {
        push(low[at], a);
        if (a !== b || this.values.near[low[at]] !== this.values.near[high[at]]) {
          push(high[at], b);
        }
      } else {
        push(high[at], b);
        push(low[at], a);
      }
    }
    while (ranges !== null && next < ranges.length) {
      pushRows();
    }
  }

  // Whether all samples of a range of x are among known rows. Rows with the x of the first or the last
  // known one may be outside of them, except at the ends of the waveform.
  hasAll(range, from, to) {
    const beginsBefore = range.row === 0 || range.from < from;
    const endsBehind = range.row + range.rows === this.rows.count || range.to > to;
    return beginsBefore && endsBehind && range.from <= from && to <= range.to;
  }

  // Whether a sample is among known rows. At the first and the last x of these its value tells.
  hasSample(range, place, key) {
    if (place <= range.from || place >= range.to) {
      return (place === range.from || place === range.to) && this.edgeOf(range).has(place + ": " + this.textOf(key));
    }
    return true;
  }

  // The samples of known rows at their first and their last x, as texts.
  edgeOf(range) {
    if (!this.edges.has(range)) {
      const texts = new Set();
      for (let at = range.start; at < range.start + range.rows; at++) {
        const place = this.rows.places.near[at];
        if ((place === range.from || place === range.to) && !Number.isNaN(this.rows.values.near[at])) {
          texts.add(place + ": " + this.textOf(-at - 1));
        }
      }
      this.edges.set(range, texts);
    }
    return this.edges.get(range);
  }

  // Adds known rows, with one on each side.
  pushRows(points, range, from, to) {
    const places = this.rows.places.near;
    let first = range.start;
    let last = range.start + range.rows - 1;
    while (first < last && places[first + 1] < from) {
      first++;
    }
    while (last > first && places[last - 1] > to) {
      last--;
    }
    for (let at = first; at <= last; at++) {
      const value = this.rows.values.near[at];
      if (Number.isNaN(value)) {
        this.pushGap(points);
      } else {
        points.x.push(places[at]);
        points.y.push(value);
        points.keys.push(-at - 1);
      }
    }
  }

  // Interrupts the line.
  pushGap(points) {
    const count = points.x.length;
    if (count > 0 && points.y[count - 1] !== null) {
      points.x.push(points.x[count - 1]);
      points.y.push(null);
      points.keys.push(null);
    }
  }
}
