// The chart of one column: draws what its levels know of a range.
//
// uPlot has no axis for numbers of more than 17 digits, which nanoseconds of four years have, and the span
// of huge values is no double. So it gets parts of the range that is seen: from 0 to 1 in x and in y, and
// with each picture in turn from 1 to 2, because it draws anew only what has another scale.
class Chart {
  // `view` has the range that all charts of a waveform share.
  constructor(view, column, levels, parent, colour) {
    this.view = view;
    this.column = column;
    this.levels = levels;
    this.colour = colour;
    this.points = { x: [], y: [], keys: [], samples: 1 };
    this.low = 0;
    this.high = 1;
    this.base = 0;
    this.figure = document.createElement("figure");
    const caption = document.createElement("figcaption");
    caption.append(Chart.isolated(column.name), column.unit ? " (" : "");
    if (column.unit) {
      caption.append(Chart.isolated(column.unit), ")");
    }
    if (!view.x.ticksPerSecond) {
      caption.append(" over ", Chart.isolated(view.x.name), view.x.unit ? " (" : "");
      if (view.x.unit) {
        caption.append(Chart.isolated(view.x.unit), ")");
      }
    }
    this.note = document.createElement("span");
    this.note.className = "note";
    caption.append(" ", this.note);
    this.place = document.createElement("div");
    this.place.className = "plot";
    this.place.tabIndex = 0;
    this.place.setAttribute("role", "application");
    this.place.setAttribute("aria-label", column.name + " over " + view.x.name
      + ". Arrows move, plus and minus zoom, N and P go to violations, A and B place cursors, Home shows all.");
    this.figure.append(caption, this.place);
    parent.append(this.figure);
    this.plot = new uPlot(this.options(), [[], []], this.place);
  }

  static isolated(text) {
    const element = document.createElement("bdi");
    element.textContent = text;
    return element;
  }

  width() {
    return Math.max(200, Math.floor(this.figure.clientWidth));
  }

  options() {
    const ink = () => colours.of("ink");
    const grid = { stroke: () => colours.of("grid"), width: 1 };
    const x = this.view.x;
    return {
      width: this.width(),
      height: 240,
      // Half of the longest text of the x axis.
      padding: [null, 52, null, null],
      legend: { show: false },
      cursor: {
        drag: { x: true, y: false, setScale: false },
        points: { size: 7 },
        y: false,
        bind: { dblclick: () => null, mousedown: (plot, target, handler) => (event) => this.view.isPanning(event) || handler(event) },
      },
      scales: {
        x: { time: false, auto: false, range: () => [this.base, this.base + 1] },
        y: { auto: false, range: () => [this.base, this.base + 1] },
      },
      series: [{}, {
        stroke: () => colours.of(this.colour),
        width: 1,
        spanGaps: false,
        points: {
          show: () => this.points.x.length * 12 < this.plot.bbox.width,
          filter: (plot, series, areShown) => (areShown ? null : this.alone()),
          fill: () => colours.of(this.colour),
          size: 5,
        },
      }],
      axes: [
        {
          stroke: ink, grid, ticks: grid, size: 34, font: "12px system-ui, sans-serif",
          splits: () => {
            this.splits = axis.placesOfX(x, this.view.from, this.view.to, this.width() / 130);
            return this.splits.places.map((place) => this.partOfX(place));
          },
          values: () => this.splits.places.map((place) => axis.textOfX(x, place, this.splits.step)),
        },
        {
          stroke: ink, grid, ticks: grid, size: 88, font: "12px system-ui, sans-serif",
          splits: () => {
            this.splitsOfY = axis.placesOfY(this.low, this.high, 5);
            return this.splitsOfY.places.map((place) => this.partOfY(place));
          },
          values: () => {
            const { places, step } = this.splitsOfY;
            const most = Math.max(...places.map(Math.abs));
            return places.map((place) => numbers.tick(place, step, most));
          },
        },
      ],
      hooks: {
        drawClear: [(plot) => this.drawBands(plot)],
        draw: [(plot) => { this.drawLines(plot); this.drawCursors(plot); }],
        setSelect: [(plot) => this.view.select(plot)],
        setCursor: [(plot) => this.view.hover(this, plot)],
      },
    };
  }

  // The samples between gaps, to which no line leads.
  alone() {
    const { y } = this.points;
    const isGap = (at) => y[at] === null || y[at] === undefined;
    return y.map((value, at) => at).filter((at) => !isGap(at) && isGap(at - 1) && isGap(at + 1));
  }

  partOfX(place) {
    return this.base + (place - this.view.from) / (this.view.to - this.view.from);
  }

  // Halves keep spans finite.
  partOfY(value) {
    return this.base + (value / 2 - this.low / 2) / (this.high / 2 - this.low / 2);
  }

  // Where a value is on the canvas, or outside of it.
  heightOf(value) {
    const { top, height } = this.plot.bbox;
    const y = this.plot.valToPos(this.partOfY(value), "y", true);
    return Math.min(Math.max(y, top - height), top + 2 * height);
  }

  // What is seen, with the limits where they are near.
  rangeOfY() {
    let low = Infinity;
    let high = -Infinity;
    for (let at = 0; at < this.points.x.length; at++) {
      const value = this.points.y[at];
      if (value !== null && this.points.x[at] >= this.view.from && this.points.x[at] <= this.view.to) {
        low = Math.min(low, value);
        high = Math.max(high, value);
      }
    }
    if (low > high) {
      // A line may cross a range without a point in it.
      for (const value of this.points.y) {
        if (value !== null) {
          low = Math.min(low, value);
          high = Math.max(high, value);
        }
      }
    }
    if (low > high) {
      return [0, 1];
    }
    // Quarters keep spans finite.
    const near = (high / 4 - low / 4) * 12 || Math.abs(high) || 1;
    const lines = this.view.data.lines.map((line) => ({ low: line.value, high: null }));
    for (const limits of this.column.limits.concat(lines)) {
      for (const limit of [limits.low, limits.high]) {
        if (limit !== null && limit > low - near && limit < high + near) {
          low = Math.min(low, limit);
          high = Math.max(high, limit);
        }
      }
    }
    const space = (high / 4 - low / 4) * 0.24 || Math.abs(high) * 0.06 || 1;
    return [Math.max(low - space, -Number.MAX_VALUE), Math.min(high + space, Number.MAX_VALUE)];
  }

  draw() {
    this.points = this.levels.points(this.view.from, this.view.to, this.width() * 3);
    [this.low, this.high] = this.rangeOfY();
    this.base = 1 - this.base;
    const { x, y } = this.points;
    this.plot.setData([
      x.map((place) => this.partOfX(place)),
      y.map((value) => (value === null ? null : this.partOfY(value)))], false);
    this.plot.batch(() => {
      this.plot.setScale("x", { min: this.base, max: this.base + 1 });
      this.plot.setScale("y", { min: this.base, max: this.base + 1 });
    });
    this.note.textContent = this.column.lowest === null ? "there is no value to draw"
      : this.points.samples === 1 ? "every sample is drawn" : this.whatAPixelIs();
  }

  // How many samples are behind what is seen.
  whatAPixelIs() {
    const [first, last] = this.view.whole();
    const each = (this.view.to - this.view.from) / (last - first) * this.view.data.rows / this.plot.over.clientWidth;
    return "a pixel stands for " + numbers.grouped(Math.max(1, Math.round(each))) + " samples; drawn are the lowest and the highest of each "
      + numbers.grouped(this.points.samples);
  }

  resize() {
    this.plot.setSize({ width: this.width(), height: 240 });
  }

  // Outside of limits.
  drawBands(plot) {
    const { ctx, bbox } = plot;
    ctx.save();
    ctx.beginPath();
    ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
    ctx.clip();
    const bottom = bbox.top + bbox.height;
    for (const limits of this.column.limits) {
      for (const [limit, isLow] of [[limits.low, true], [limits.high, false]]) {
        if (limit === null) {
          continue;
        }
        const y = this.heightOf(limit);
        ctx.fillStyle = colours.of("beyond");
        if (isLow) {
          ctx.fillRect(bbox.left, y, bbox.width, Math.max(0, bottom - y));
        } else {
          ctx.fillRect(bbox.left, bbox.top, bbox.width, Math.max(0, y - bbox.top));
        }
      }
    }
    ctx.restore();
  }

  // Limits and lines of the caller, with their names.
  drawLines(plot) {
    const { ctx, bbox } = plot;
    ctx.save();
    ctx.beginPath();
    ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
    ctx.clip();
    for (const limits of this.column.limits) {
      for (const [limit, isLow] of [[limits.low, true], [limits.high, false]]) {
        if (limit !== null) {
          const text = limits.name + (isLow ? " \u2265 " : " \u2264 ") + limit;
          this.drawLine(plot, this.heightOf(limit), text, !isLow);
        }
      }
    }
    for (const line of this.view.data.lines) {
      this.drawLine(plot, this.heightOf(line.value), line.text, false);
    }
    ctx.restore();
  }

  // A line across, with a text below or above it.
  drawLine(plot, y, text, isBelow) {
    const { ctx, bbox } = plot;
    ctx.strokeStyle = ctx.fillStyle = colours.of("limit");
    ctx.lineWidth = devicePixelRatio;
    ctx.setLineDash([6, 4]);
    ctx.beginPath();
    ctx.moveTo(bbox.left, y);
    ctx.lineTo(bbox.left + bbox.width, y);
    ctx.stroke();
    ctx.setLineDash([]);
    ctx.font = 11 * devicePixelRatio + "px system-ui, sans-serif";
    // On the other side where there is no room.
    const room = 17 * devicePixelRatio;
    const goesBelow = isBelow ? y + room < bbox.top + bbox.height : y - room < bbox.top;
    this.drawText(ctx, text, bbox.left + 6 * devicePixelRatio, y + (goesBelow ? 3 : -14) * devicePixelRatio, 11);
  }

  // A text that curves do not cross, from its upper left corner.
  drawText(ctx, text, x, y, size) {
    const colour = ctx.fillStyle;
    ctx.fillStyle = colours.of("paper");
    ctx.globalAlpha = 0.8;
    ctx.fillRect(x - 2 * devicePixelRatio, y - devicePixelRatio, ctx.measureText(text).width + 4 * devicePixelRatio, (size + 3) * devicePixelRatio);
    ctx.globalAlpha = 1;
    ctx.fillStyle = colour;
    ctx.textAlign = "left";
    ctx.textBaseline = "top";
    ctx.fillText(text, x, y);
  }

  // The cursors and the marks of the caller.
  drawCursors(plot) {
    const { ctx, bbox } = plot;
    const line = (place, text, colour) => {
      if (place < this.view.from || place > this.view.to) {
        return;
      }
      const at = plot.valToPos(this.partOfX(place), "x", true);
      ctx.strokeStyle = ctx.fillStyle = colours.of(colour);
      ctx.lineWidth = devicePixelRatio;
      ctx.beginPath();
      ctx.moveTo(at, bbox.top);
      ctx.lineTo(at, bbox.top + bbox.height);
      ctx.stroke();
      ctx.font = "bold " + 12 * devicePixelRatio + "px system-ui, sans-serif";
      this.drawText(ctx, text, at + 4 * devicePixelRatio, bbox.top + 2 * devicePixelRatio, 12);
    };
    ctx.save();
    for (const mark of this.view.marks) {
      line(mark.x, mark.text, "mark");
    }
    for (const name of ["A", "B"]) {
      const cursor = this.view.cursors[name];
      if (cursor !== null) {
        line(cursor, name, "cursor");
      }
    }
    ctx.restore();
  }

  // The key of the drawn sample nearest to a place; null if nothing is drawn.
  nearest(place) {
    let best = null;
    let distance = Infinity;
    for (let at = 0; at < this.points.x.length; at++) {
      const away = Math.abs(this.points.x[at] - place);
      if (this.points.y[at] !== null && away < distance) {
        distance = away;
        best = this.points.keys[at];
      }
    }
    return best;
  }
}
