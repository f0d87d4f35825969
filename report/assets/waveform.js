// A waveform: its charts, the range that they share, the cursors and the violations of limits.
class Waveform {
  constructor(section, data) {
    this.data = data;
    this.x = data.x;
    this.marks = data.marks;
    this.cursors = { A: null, B: null };
    this.hovered = null;
    this.violation = -1;
    this.charts = [];
    this.parent = section.querySelector(".charts");
    this.parent.append(this.buttons(), this.readout());
    const rows = this.rowsAroundPlaces();
    data.columns.forEach((column, at) => {
      const levels = new Levels(this.x, column, rows === null ? null : rows(at));
      this.charts.push(new Chart(this, column, levels, this.parent, "curve-" + (at % 6 + 1)));
    });
    this.charts.forEach((chart) => gestures.start(this, chart));
    this.violations = data.columns
      .flatMap((column, at) => column.violations.map((violation) => ({ ...violation, chart: this.charts[at] })))
      .sort((a, b) => a.worst.at.offset - b.worst.at.offset);
    this.parent.append(this.numbersOfView());
    this.showAll();
    new ResizeObserver(() => this.charts.forEach((chart) => { chart.resize(); chart.draw(); })).observe(this.parent);
  }

  // The rows around marked places, of each column.
  rowsAroundPlaces() {
    const { ranges, x, columns } = this.data.windows;
    if (ranges.length === 0) {
      return null;
    }
    let start = 0;
    for (const range of ranges) {
      range.start = start;
      start += range.rows;
    }
    const places = bytes.distances(x.form, x.block);
    return (at) => ({ ranges, places, values: bytes.values(columns[at]), count: this.data.rows });
  }

  buttons() {
    const line = document.createElement("div");
    line.className = "buttons";
    const middle = () => (this.from + this.to) / 2;
    line.append(
      tables.button("All", () => this.showAll(), "Shows all samples (Home)"),
      tables.button("+", () => this.zoom(0.5, middle()), "Zooms in (+)"),
      tables.button("\u2212", () => this.zoom(2, middle()), "Zooms out (-)"),
      tables.button("\u25c0", () => this.pan(-0.25), "Moves to the left (arrow left)"),
      tables.button("\u25b6", () => this.pan(0.25), "Moves to the right (arrow right)"));
    if (this.data.columns.some((column) => column.violations.length > 0)) {
      line.append(
        tables.button("\u25c0 Violation", () => this.goToViolation(-1), "Shows the violation before (P)"),
        tables.button("Violation \u25b6", () => this.goToViolation(1), "Shows the next violation (N)"));
    }
    line.append(tables.button("No cursors", () => this.clearCursors(), "Takes the cursors away (Escape)"));
    const hint = document.createElement("span");
    hint.className = "note";
    hint.textContent = "Drag to zoom, Shift and drag to move, wheel to zoom; click for cursor A, Ctrl and click for B.";
    line.append(hint);
    return line;
  }

  readout() {
    this.readoutPlace = document.createElement("div");
    this.readoutPlace.className = "readout wide";
    return this.readoutPlace;
  }

  show(from, to) {
    const [first, last] = this.whole();
    // Some steps of doubles at least: places that are one have nothing between them.
    const least = Math.max(this.x.isFloat ? (last - first) * 1e-12 : 2, Math.max(-first, last) * 1e-14);
    let span = Math.min(Math.max(to - from, least), last - first);
    const start = Math.min(Math.max(from, first), last - span);
    this.from = start;
    this.to = Math.min(start + span, last);
    this.charts.forEach((chart) => chart.draw());
    this.writeReadout();
  }

  whole() {
    const { from, to } = this.x;
    const around = Math.max(1, Math.abs(from) * 1e-9);
    return to > from ? [from, to] : [from - around, to + around];
  }

  showAll() {
    this.show(...this.whole());
  }

  zoom(factor, about) {
    this.show(about - (about - this.from) * factor, about + (this.to - about) * factor);
  }

  pan(part) {
    const by = (this.to - this.from) * part;
    this.show(this.from + by, this.to + by);
  }

  isPanning(event) {
    return event.shiftKey || event.button === 1;
  }

  // A range that was dragged over; a click places a cursor.
  select(plot) {
    const { left, width } = plot.select;
    if (width > 4) {
      const each = (this.to - this.from) / plot.over.clientWidth;
      const from = this.from + left * each;
      plot.setSelect({ left: 0, width: 0, top: 0, height: 0 }, false);
      this.show(from, from + width * each);
    }
  }

  hover(chart, plot) {
    const { left } = plot.cursor;
    this.hovered = left < 0 ? null : this.from + left / plot.over.clientWidth * (this.to - this.from);
    this.writeReadout();
  }

  placeCursor(name, place) {
    this.cursors[name] = place;
    this.charts.forEach((chart) => chart.plot.redraw(false));
    this.writeReadout();
  }

  clearCursors() {
    this.cursors = { A: null, B: null };
    this.charts.forEach((chart) => chart.plot.redraw(false));
    this.writeReadout();
  }

  // Moves cursor A to the next drawn sample of a chart.
  stepCursor(chart, by) {
    const { x, y } = chart.points;
    const inside = [];
    for (let at = 0; at < x.length; at++) {
      if (y[at] !== null && x[at] >= this.from && x[at] <= this.to) {
        inside.push(x[at]);
      }
    }
    if (inside.length === 0) {
      return;
    }
    const now = this.cursors.A === null ? (this.from + this.to) / 2 : this.cursors.A;
    const next = by > 0 ? inside.find((place) => place > now) : inside.reverse().find((place) => place < now);
    this.placeCursor("A", next === undefined ? now : next);
  }

  goToViolation(by) {
    if (this.violations.length === 0) {
      return;
    }
    const count = this.violations.length;
    this.violation = this.violation < 0 ? (by > 0 ? 0 : count - 1) : (this.violation + by + count) % count;
    const found = this.violations[this.violation];
    // Where the rows around it are known, they fill the picture.
    const known = this.data.windows.ranges.find((range) => range.from <= found.worst.at.offset && found.worst.at.offset <= range.to);
    const span = (found.to - found.from) * 4;
    const [first, last] = this.whole();
    const each = (last - first) / Math.max(1, this.data.rows);
    const around = Math.max(span, known ? (known.to - known.from) * 0.5 : each * found.chart.column.rowsEach * 100);
    this.cursors.A = found.worst.at.offset;
    this.show(found.worst.at.offset - around / 2, found.worst.at.offset + around / 2);
    const all = this.data.columns.reduce((sum, column) => sum + column.violationCount, 0);
    const of = all === count ? count : "the first " + numbers.grouped(count) + " of " + numbers.grouped(all);
    tables.say("Violation " + (this.violation + 1) + " of " + of + ": " + found.chart.column.name + " "
      + found.worst.text + " at " + found.worst.at.text);
  }

  // Exact values at the pointer and at the cursors, of the nearest drawn sample.
  writeReadout() {
    const isThere = (place) => place[1] !== null;
    const cursors = Object.entries(this.cursors).filter(isThere);
    const pointer = [["pointer", this.hovered]].filter(isThere);
    const table = document.createElement("table");
    const row = (cells, name) => {
      const line = table.insertRow();
      for (const text of cells) {
        const cell = document.createElement(name);
        cell.textContent = text;
        line.append(cell);
      }
    };
    // The pointer comes last: with both cursors, the row may be longer than the window.
    const both = this.cursors.A !== null && this.cursors.B !== null;
    const heads = ([name]) => [name + ": sample at", "value"];
    row(["Column", ...cursors.flatMap(heads), ...(both ? ["B \u2212 A", "of x"] : []), ...pointer.flatMap(heads)], "th");
    for (const chart of this.charts) {
      const texts = ([, place]) => {
        const key = chart.nearest(place);
        return key === null ? ["\u2013", "\u2013"] : [times.exact(this.x, chart.levels.exactPlaceOf(key)), chart.levels.textOf(key)];
      };
      row([chart.column.name, ...cursors.flatMap(texts), ...(both ? this.between(chart) : []), ...pointer.flatMap(texts)], "td");
    }
    this.readoutPlace.replaceChildren(cursors.length + pointer.length === 0 ? Waveform.text("Point at a curve, or press A and B, for exact values.") : table);
  }

  // What the cursors have between them of a chart: of the values, and of x.
  between(chart) {
    const [a, b] = [this.cursors.A, this.cursors.B].map((place) => chart.nearest(place));
    if (a === null || b === null) {
      return ["\u2013", "\u2013"];
    }
    const { levels } = chart;
    return [
      numbers.difference(levels.valueOf(a), levels.valueOf(b)),
      times.difference(this.x, levels.exactPlaceOf(a), levels.exactPlaceOf(b))];
  }

  static text(text) {
    const line = document.createElement("p");
    line.className = "note";
    line.textContent = text;
    return line;
  }

  // The drawn samples as rows of texts, in the order of x.
  rowsOfView() {
    const rows = [["column", "unit", this.x.name, "value", "samples it stands for"]];
    for (const chart of this.charts) {
      const { x, y, keys, samples } = chart.points;
      for (let at = 0; at < x.length; at++) {
        if (y[at] !== null && x[at] >= this.from && x[at] <= this.to) {
          const of = keys[at] < 0 ? 1 : samples;
          rows.push([chart.column.name, chart.column.unit || "", times.exact(this.x, chart.levels.exactPlaceOf(keys[at])),
            chart.levels.textOf(keys[at]), String(of)]);
        }
      }
    }
    return rows;
  }

  // The same numbers as the charts.
  numbersOfView() {
    const details = document.createElement("details");
    const summary = document.createElement("summary");
    summary.textContent = "The drawn samples as a table";
    const place = document.createElement("div");
    place.className = "wide numbers";
    const write = () => {
      const rows = this.rowsOfView();
      const table = document.createElement("table");
      rows.slice(0, 501).forEach((cells, at) => {
        const line = table.insertRow();
        for (const text of cells) {
          const cell = document.createElement(at === 0 ? "th" : "td");
          cell.textContent = text;
          line.append(cell);
        }
      });
      const more = rows.length - 501;
      place.replaceChildren(table, Waveform.text(more > 0 ? numbers.grouped(more) + " more are in the saved file." : ""));
    };
    details.addEventListener("toggle", () => { if (details.open) { write(); } });
    const line = document.createElement("div");
    line.className = "buttons";
    const name = tables.fileName(this.data.title);
    line.append(
      tables.button("Copy", () => tables.copy(this.rowsOfView()), "Copies the drawn samples as CSV"),
      tables.button("Save", () => tables.save(name, this.rowsOfView()), "Saves the drawn samples as CSV"),
      tables.button("As drawn now", write, "Writes the table again"));
    details.append(summary, line, place);
    return details;
  }
}
