//! Whether pictures say what the tables beside them say.

use std::collections::BTreeMap;

use stationdb::prelude::*;
use stationdb::results::{
    CreateResultRequest, CreateStepRequest, ResultWithSteps, StatusType, StepData,
};
use stationdb::serde_json::{Value, json};
use stationdb_report::{ProductOptions, product_html};

use crate::driver::each_engine;
use crate::stores::{Bench, results};

/// Each bar, dot and line of the page of a product is where its number is, which a table has.
#[test]
fn pictures_of_a_product_are_at_the_numbers_of_its_tables() {
    let bench = Bench::new();
    results(&bench);
    let page = product_html(&bench.session, "P-1", &ProductOptions::new()).unwrap();
    let path = bench.write("compared.html", &page);
    each_engine(|browser| {
        browser.show_page(&path);
        let compared = browser.run(COMPARED);
        let pictures = json!({
            "Yield": 1, "Failures": 1, "Histogram": 2, "Control chart of the values": 2,
            "Control chart of the ranges": 2,
        });
        assert_eq!(compared, json!([[], pictures]), "{:?}", browser.engine);
    });
}

/// Many points share an element. They are at their numbers as well, and so are those between them that
/// break a rule.
#[test]
fn many_points_are_at_the_numbers_of_their_table() {
    let bench = Bench::new();
    let run = |at: usize| {
        let value = if at == 250 { 3.5 } else { 3.3 + (at as f64 * 1.7).sin() / 50.0 };
        let members = [("name", "VOUT".to_owned()), ("measurement", value.to_string())];
        let members = members.map(|(key, text)| (key.to_owned(), text));
        let step = CreateStepRequest::new().name("supply").status(StatusType::Passed);
        let step = step.data(StepData::new().parameters([BTreeMap::from(members)]));
        let result = CreateResultRequest::new().program_name("final").part_number("P-1");
        ResultWithSteps::new(result.status(StatusType::Passed)).steps([step])
    };
    let runs: Vec<ResultWithSteps> = (0..400).map(run).collect();
    bench.session.append_results(&runs).unwrap().require_all().unwrap();
    let page = product_html(&bench.session, "P-1", &ProductOptions::new()).unwrap();
    assert_eq!(page.matches("class=\"points\"").count(), 2);
    assert!(page.contains("<circle class=\"bad\""));
    let path = bench.write("many.html", &page);
    each_engine(|browser| {
        browser.show_page(&path);
        let [problems, _]: [Value; 2] =
            stationdb::serde_json::from_value(browser.run(COMPARED)).unwrap();
        assert_eq!(problems, json!([]), "{:?}", browser.engine);
    });
}

/// Answers with what is elsewhere, and with how many pictures of each kind there are.
const COMPARED: &str = r"
    const problems = [];
    const number = (element, name) => Number(element.getAttribute(name));
    const texts = (table) => Array.from(table.rows, (row) => Array.from(row.cells, (cell) => cell.textContent)).slice(1);
    // The table behind a figure that is called so.
    const behind = (figure, name) => {
      for (let next = figure.nextElementSibling; next; next = next.nextElementSibling) {
        const found = Array.from(next.querySelectorAll('caption')).find((caption) => caption.textContent.startsWith(name));
        if (found) { return texts(found.parentNode); }
      }
      throw Error('no table ' + name);
    };
    const is = (text, one, other) => {
      if (!(Math.abs(one - other) < 0.3)) { problems.push(`${text}: ${one} in place of ${other}`); }
    };
    // The place of a value, where two values and their places are known.
    const scale = (a, at, b, bt) => (value) => at + (value - a) / (b - a) * (bt - at);
    const limits = (svg) => new Map(Array.from(svg.querySelectorAll('path.limit'), (line) =>
      [line.nextElementSibling.textContent, line.getAttribute('d').match(/[\d.]+/g).map(Number)]));
    const count = {};
    for (const figure of document.querySelectorAll('main figure')) {
      const svg = figure.querySelector('svg');
      const name = figure.textContent.match(/^(Yield|Failures|Histogram|Control chart of the values|Control chart of the ranges)/);
      if (!name) { continue; }
      count[name[1]] = (count[name[1]] || 0) + 1;
      const bars = Array.from(svg.querySelectorAll('rect'));
      const up = (most) => scale(0, 190, most, 14);
      if (name[1] === 'Yield') {
        const rows = behind(figure, 'The yield of each week');
        const dots = Array.from(svg.querySelectorAll('circle'));
        // A week without a first or a last test has none.
        for (const row of rows) {
          if (row[1] !== '\u2013') { is('first pass', number(bars.shift(), 'y'), Math.min(188.5, up(1)(Number(row[1])))); }
          if (row[2] !== '\u2013') { is('final', number(dots.shift(), 'cy'), up(1)(Number(row[2]))); }
        }
        if (bars.length + dots.length > 0) { problems.push('weeks that are not in the table'); }
      } else if (name[1] === 'Failures') {
        const rows = behind(figure, '');
        rows.forEach((row, at) => is('failures', number(bars[at], 'y'), up(Number(rows[0][1]))(Number(row[1]))));
      } else if (name[1] === 'Histogram') {
        const rows = behind(figure, 'The ranges').map((row) => row.map(Number));
        const most = Math.max(...rows.map((row) => row[2]));
        const last = bars[bars.length - 1];
        const x = scale(rows[0][0], number(bars[0], 'x'), rows[rows.length - 1][1], number(last, 'x') + number(last, 'width'));
        rows.forEach((row, at) => {
          is('range', number(bars[at], 'x'), x(row[0]));
          is('count', number(bars[at], 'y'), up(most)(row[2]));
        });
        const title = figure.previousElementSibling.textContent;
        const capability = Array.from(document.querySelectorAll('caption')).find((caption) => caption.textContent === 'Capability');
        const mine = texts(capability.parentNode).find((row) => title.startsWith(row[0]));
        for (const [of, cell] of [['low', mine[8]], ['high', mine[9]]]) {
          const line = limits(svg).get(of);
          if ((line === undefined) !== (cell === '\u2013')) { problems.push(`${of} limit of ${title}`); }
          if (line) { is(of + ' limit', line[0], x(Number(cell))); }
        }
      } else {
        const isRanges = name[1].endsWith('ranges');
        const [, center, lower, upper] = behind(figure, 'The control limits')[isRanges ? 1 : 0].map(Number);
        const lines = limits(svg);
        const y = scale(center, lines.get('center')[1], upper, lines.get('upper')[1]);
        if (!Number.isNaN(lower)) { is('lower', lines.get('lower')[1], y(lower)); }
        const points = behind(figure, 'The points').filter((row) => !isRanges || row[2] !== '\u2013');
        const alone = Array.from(svg.querySelectorAll('circle'), (dot) => [number(dot, 'cx'), number(dot, 'cy')]);
        const shared = svg.querySelector('path.points');
        const together = shared === null ? [] : shared.getAttribute('d').match(/[\d.]+ [\d.]+/g).map((at) => at.split(' ').map(Number));
        const dots = alone.concat(together).sort((a, b) => a[0] - b[0]);
        if (dots.length !== points.length) { problems.push(`${dots.length} dots of ${points.length}`); }
        points.forEach((row, at) => is('point', dots[at][1], y(Number(row[isRanges ? 2 : 1]))));
      }
    }
    return [problems.slice(0, 20), count];";
