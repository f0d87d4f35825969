//! The points that a chart draws of a range, compared with plain rows.

use stationdb::serde_json::json;
use stationdb_report::{PlotOptions, plot_html};

use crate::driver::each_engine;
use crate::sizes;
use crate::stores::{Bench, waves};

/// Random rows, with ties of x, gaps, float x and known rows around places, and random ranges of them:
/// the extremes of each interval in the range are drawn, and each known row; nothing else, and nothing
/// twice. A line crosses no interval without values, and only rows without values interrupt it.
#[test]
fn what_is_drawn_of_a_range_is_what_its_rows_say() {
    let bench = Bench::new();
    let table = waves(&bench.session, 100, (50, 9.0));
    let page = plot_html(&bench.session, &table, &PlotOptions::new()).unwrap();
    let path = bench.write("levels.html", &page);
    let cases = if sizes::does("report_compared") { 20_000 } else { 5_000 };
    each_engine(|browser| {
        browser.show_page(&path);
        let found = browser.run(&DRAWN.replace("CASES", &cases.to_string()));
        assert_eq!(found, json!({"cases": cases, "problems": {}}), "{:?}", browser.engine);
        browser.says_nothing();
    });
}

/// Answers with the number of cases, and with the first input of each kind of problem.
const DRAWN: &str = r"
    const { bytes, Levels } = stationdb;
    const read = { values: bytes.values, distances: bytes.distances };
    bytes.values = (column) => column.plain;
    bytes.distances = (form, block) => block;
    let state = 12345;
    const below = (count) => {
      state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
      return Math.floor(state / 4294967296 * count);
    };
    const plain = (numbers) => ({ near: Float64Array.from(numbers), exact: null });
    const places = (numbers) => ({ near: Float64Array.from(numbers), exact: Float64Array.from(numbers) });

    // Rows with ascending x from 0 on; null where there is no value. No value stands twice.
    const rows = (isFloat) => {
      const all = [];
      const kind = below(3);
      const count = 1 + below(60);
      let x = isFloat ? below(9) - 4 : 0;
      let hole = 0;
      for (let row = 0; row < count; row++) {
        hole = hole > 0 ? hole - 1 : below(12) === 0 ? below(25) : 0;
        const isNull = hole > 0 || below(6) === 0;
        all.push({ x: isFloat && x === 0 && below(2) === 0 ? -0 : x, y: isNull ? null : below(8) + row / 1000, row });
        x += kind === 0 ? 1 : kind === 1 ? below(2) : below(6) === 0 ? below(4) : 0;
      }
      return all;
    };
    const extremes = (some) => {
      const known = some.filter((row) => row.y !== null);
      const best = (isBetter) => known.reduce((best, row) => (best === null || isBetter(row.y, best.y) ? row : best), null);
      return [best((a, b) => a < b), best((a, b) => a > b)];
    };
    const levels = (all, each, isFloat, windows) => {
      const intervals = [];
      for (let at = 0; at < all.length; at += each) { intervals.push(all.slice(at, at + each)); }
      const both = intervals.map(extremes);
      const points = both.map((pair) => pair[0]).concat(each === 1 ? [] : both.map((pair) => pair[1]));
      const steps = all.slice(1).map((row, at) => row.x - all[at].x);
      const isRegular = !isFloat && steps.length > 0 && steps[0] > 0 && steps.every((step) => step === steps[0]);
      let last = all[0].x;
      const where = isRegular
        ? points.map((point, at) => (point === null ? 0 : point.row - at % intervals.length * each))
        : points.map((point) => (last = point === null ? last : point.x));
      const form = isRegular && each === 1 ? 'none' : 'any';
      const column = {
        intervals: intervals.length, rowsEach: each, plain: plain(points.map((point) => (point === null ? NaN : point.y))),
        places: { form, block: places(where) },
      };
      const x = { step: isRegular ? String(steps[0]) : null, from: all[0].x, to: all[all.length - 1].x, isFloat };
      if (windows.length === 0) { return new Levels(x, column, null); }
      let start = 0;
      const ranges = windows.map(([from, to]) => {
        const range = { from: all[from].x, to: all[to - 1].x, row: from, rows: to - from, start };
        start += to - from;
        return range;
      });
      const known = windows.flatMap(([from, to]) => all.slice(from, to));
      const values = plain(known.map((row) => (row.y === null ? NaN : row.y)));
      return new Levels(x, column, { ranges, values, places: places(known.map((row) => row.x)), count: all.length });
    };

    const problems = {};
    const cases = CASES;
    for (let number = 0; number < cases; number++) {
      const isFloat = below(3) === 0;
      const all = rows(isFloat);
      const each = 1 + below(6);
      const windows = [];
      // As the page has them: of whole intervals of one, two or three rows, and none beside another.
      for (let at = below(all.length); below(3) > 0 && at < all.length && windows.length < 3; at += 1 + below(15)) {
        const end = Math.min(all.length, at + 1 + below(12));
        windows.push([at, end]);
        at = end;
      }
      const from = all[0].x + (all[all.length - 1].x - all[0].x) * below(101) / 100;
      const to = from + (all[all.length - 1].x + 1 - from) * below(101) / 100;
      const drawn = levels(all, each, isFloat, windows).points(from, to, 1e9);
      const tell = (kind, row) => { problems[kind] = problems[kind] || JSON.stringify({ all, each, windows, from, to, row }); };
      const times = new Map();
      drawn.y.forEach((y, at) => {
        if (y === null) { return; }
        times.set(y, (times.get(y) || 0) + 1);
        const row = all.find((row) => row.y === y);
        if (row === undefined || row.x !== drawn.x[at]) { tell('invented', y); }
        if (times.get(y) > 1) { tell('doubled', row); }
      });
      drawn.x.forEach((x, at) => { if (at > 0 && x < drawn.x[at - 1]) { tell('unsorted', x); } });
      const isSeen = (row) => row !== null && row.y !== null && row.x >= from && row.x <= to;
      for (let at = 0; at < all.length; at += each) {
        extremes(all.slice(at, at + each)).filter((row) => isSeen(row) && !times.has(row.y)).forEach((row) => tell('lost', row));
      }
      const known = each === 1 ? [] : windows.flatMap(([first, end]) => all.slice(first, end));
      known.concat(drawn.samples === 1 ? all : []).filter((row) => isSeen(row) && !times.has(row.y))
        .forEach((row) => tell('not whole', row));
      // Between two drawn samples beside each other. At one x, they have no order.
      if (all.some((row, at) => at > 0 && row.x === all[at - 1].x)) { continue; }
      const isDrawn = (row) => times.has(row.y);
      let before = null;
      let isGap = false;
      for (const y of drawn.y) {
        if (y === null) { isGap = true; continue; }
        const row = all.find((row) => row.y === y);
        if (before !== null) {
          const between = all.slice(Math.min(before.row, row.row) + 1, Math.max(before.row, row.row));
          const hasHole = [...between.keys()].some((at) => {
            const one = between.slice(at, at + each);
            return one.length === each && one[0].row % each === 0 && one.every((row) => row.y === null);
          });
          if (hasHole && !isGap) { tell('joined', [before, row]); }
          if (isGap && !between.some((row) => row.y === null)) { tell('interrupted', [before, row]); }
        }
        before = row;
        isGap = false;
      }
    }
    Object.assign(bytes, read);
    return { cases, problems };";
