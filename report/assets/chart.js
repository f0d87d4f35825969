// The chart of one column: draws what its levels know of a range.
class Chart {
  // `view` has the range that all charts of a waveform share.
  constructor(view, column, levels, parent, colour) {
    this.view = view;
    this.column = column;
    this.levels = levels;
    this.colour = colour;
    this.points = { x: [], y: [], keys: [], samples: 1 };
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
        x: { time: false, auto: false, range: () => [this.view.from, this.view.to] },
        y: { auto: false, range: () => this.rangeOfY() },
      },
      series: [{}, {
        stroke: () => colours.of(this.colour),
        width: 1,
        spanGaps: false,
        points: { show: () => this.points.x.length * 12 < this.plot.bbox.width, size: 5 },
      }],
      axes: [
        {
          stroke: ink, grid, ticks: grid, size: 34, font: "12px system-ui, sans-serif",
          splits: (plot, at, from, to) => {
            this.splits = axis.placesOfX(x, from, to, this.width() / 130);
            return this.splits.places;
          },
          values: (plot, places) => places.map((place) => axis.textOfX(x, place, this.splits.step)),
        },
        {
          stroke: ink, grid, ticks: grid, size: 76, font: "12px system-ui, sans-serif",
          splits: (plot, at, from, to) => {
            this.splitsOfY = axis.placesOfY(from, to, 5);
            return this.splitsOfY.places;
          },
          values: (plot, places) => {
            const most = Math.max(...places.map(Math.abs));
            return places.map((place) => numbers.tick(place, this.splitsOfY.step, most));
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
    const near = (high - low) * 3 || Math.abs(high) || 1;
    const lines = this.view.data.lines.map((line) => ({ low: line.value, high: null }));
    for (const limits of this.column.limits.concat(lines)) {
      for (const limit of [limits.low, limits.high]) {
        if (limit !== null && limit > low - near && limit < high + near) {
          low = Math.min(low, limit);
          high = Math.max(high, limit);
        }
      }
    }
    const space = (high - low) * 0.06 || Math.abs(high) * 0.06 || 1;
    return [low - space, high + space];
  }

  draw() {
    this.points = this.levels.points(this.view.from, this.view.to, this.width() * 3);
    this.plot.setData([this.points.x, this.points.y], false);
    this.plot.batch(() => {
      this.plot.setScale("x", { min: this.view.from, max: this.view.to });
      this.plot.setScale("y", { min: null, max: null });
    });
    this.note.textContent = this.points.samples === 1 ? "every sample is drawn" : this.whatAPixelIs();
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
        const y = plot.valToPos(limit, "y", true);
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
          this.drawLine(plot, plot.valToPos(limit, "y", true), text, !isLow);
        }
      }
    }
    for (const line of this.view.data.lines) {
      this.drawLine(plot, plot.valToPos(line.value, "y", true), line.text, false);
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
      const at = plot.valToPos(place, "x", true);
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
