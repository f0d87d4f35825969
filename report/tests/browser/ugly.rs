//! Stores that nobody would make, and that somebody gets by mail.

use std::collections::BTreeMap;
use std::sync::Arc;

use stationdb::Control;
use stationdb::arrow::array::{ArrayRef, Float64Array, Int64Array, RecordBatch};
use stationdb::arrow::datatypes::{
    TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType,
};
use stationdb::prelude::*;
use stationdb::results::{
    CreateResultRequest, CreateStepRequest, ResultWithSteps, StatusType, StepData, TestResultId,
};
use stationdb::serde_json::{Value, json};
use stationdb::tables::{Column, ColumnType, CreateTableRequest, DataType, TableId};
use stationdb_report::{
    Limits, PlotOptions, ProductOptions, RunOptions, plot_html, product_html, run_html, store_html,
};

use crate::checks::is_laid_out_well;
use crate::driver::{Browser, each_engine, each_engine_at_night};
use crate::stores::Bench;

const NAMES: [&str; 6] = [
    "درجة الحرارة",
    "🔥🧪👩‍🔬 power",
    "a name that is so long that no axis, no table and no button has room for it, and goes on",
    "</script><b>bold</b>",
    "x",
    "מתח\u{202e}abc",
];

/// A table with an index of times and columns of doubles.
fn table(
    bench: &Bench,
    name: &str,
    times: (DataType, ArrayRef),
    columns: &[(String, Vec<Option<f64>>)],
) -> TableId {
    let index = Column::new("t", times.0).column_type(ColumnType::Index);
    let others = columns
        .iter()
        .map(|(name, _)| Column::new(name, DataType::Float64).column_type(ColumnType::Nullable));
    let request = CreateTableRequest::new(std::iter::once(index).chain(others).collect::<Vec<_>>());
    let id = bench.session.create_table(request.name(name)).unwrap();
    let arrays = columns.iter().map(|(name, values)| {
        (name.as_str(), Arc::new(Float64Array::from(values.clone())) as ArrayRef)
    });
    let batch = RecordBatch::try_from_iter_with_nullable(
        std::iter::once(("t", times.1, false))
            .chain(arrays.map(|(name, array)| (name, array, true))),
    );
    if columns.first().is_some_and(|column| !column.1.is_empty()) {
        bench.session.append_batches(&id, &mut [Ok(batch.unwrap())].into_iter(), None).unwrap();
    }
    id
}

fn numbers(values: impl IntoIterator<Item = i64>) -> (DataType, ArrayRef) {
    (DataType::Int64, Arc::new(Int64Array::from_iter_values(values)))
}

fn plot(bench: &Bench, id: &TableId, options: &PlotOptions) -> String {
    plot_html(&bench.session, id, options).unwrap()
}

/// Pages of tables, by what is ugly in them.
fn plots(bench: &Bench) -> Vec<(&'static str, String)> {
    let options = PlotOptions::new();
    let one = |name: &str, values: Vec<Option<f64>>| vec![(name.to_owned(), values)];
    let mut pages = Vec::new();
    let none = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY];
    let undrawn: Vec<(String, Vec<Option<f64>>)> = vec![
        ("all null".to_owned(), vec![None; 30]),
        ("all NaN".to_owned(), vec![Some(f64::NAN); 30]),
        ("none".to_owned(), (0..30).map(|at| Some(none[at % 3])).collect()),
        ("constant".to_owned(), vec![Some(-7.0); 30]),
        (
            "huge".to_owned(),
            (0..30).map(|at| Some(if at % 2 == 0 { f64::MAX } else { f64::MIN })).collect(),
        ),
        ("tiny".to_owned(), (0..30).map(|at| Some(f64::from(at) * 5e-324)).collect()),
    ];
    let id = table(bench, "Nothing to draw", numbers(0..30), &undrawn);
    pages.push(("undrawn", plot(bench, &id, &options)));
    let millions = (0..30).map(|at| Some(f64::from(at) * -300_000.0)).collect();
    let id = table(bench, "Millions", numbers(0..30), &one("counts", millions));
    pages.push(("millions", plot(bench, &id, &options)));
    let id = table(bench, "One row", numbers([5]), &one("volts", vec![Some(1.5)]));
    pages.push(("one row", plot(bench, &id, &options)));
    let id = table(bench, "No rows", numbers([]), &one("volts", vec![]));
    pages.push(("no rows", plot(bench, &id, &options)));
    let many: Vec<_> = (0..200)
        .map(|at| {
            (
                format!("{} {at}", NAMES[at % 6]),
                (0..40).map(|row| Some((at * row) as f64)).collect(),
            )
        })
        .collect();
    let id = table(bench, NAMES[1], numbers(0..40), &many);
    let names: Vec<String> = many.iter().take(64).map(|column| column.0.clone()).collect();
    pages.push(("many columns", plot(bench, &id, &options.clone().columns(names))));
    pages.push(("the first columns", plot(bench, &id, &options)));
    let values: Vec<Option<f64>> = (0..5_000).map(|at| Some(f64::from(at % 50))).collect();
    let id = table(bench, "Limits", numbers(0..5_000), &one("volts", values));
    let ten = (0..10).fold(options.clone(), |options, at| {
        options.limits(Limits::new(format!("{} {at}", NAMES[at % 6]), None, Some(48.0)))
    });
    pages.push(("ten limits at one place", plot(bench, &id, &ten)));
    let far = options.clone().limits(Limits::new("far", Some(-1e300), Some(1e300)));
    pages.push(("limits far away", plot(bench, &id, &far)));
    pages
}

/// Uses a page with hands that do not know what is on it.
fn is_used(browser: &Browser, name: &str) {
    let engine = browser.engine;
    let used = browser.run(
        "for (const w of stationdb.waveforms) {
           const keys = ['+', '+', 'a', 'ArrowRight', 'b', 'n', 'p', '-', 'Home', '-', 'ArrowLeft', 'Escape', 'n'];
           for (const key of keys) {
             const event = new KeyboardEvent('keydown', { key, bubbles: true, cancelable: true });
             w.charts[0].place.dispatchEvent(event);
             w.charts[0].place.dispatchEvent(new KeyboardEvent('keydown', { key: 'ArrowRight', shiftKey: true }));
           }
           const [first, last] = w.whole();
           for (let at = 0; at < 60; at++) { w.zoom(0.5, first + (last - first) * 0.3); }
           if (!(w.from < w.to && w.from >= first && w.to <= last)) { return 'the range is ' + [w.from, w.to]; }
           w.showAll();
           w.rowsOfView();
         }
         for (const details of document.querySelectorAll('details')) { details.open = true; }
         Array.from(document.querySelectorAll('#settings button')).filter((button) => button.textContent !== 'Print')
           .forEach((button) => { button.click(); button.click(); });
         return ''",
    );
    assert_eq!(used, "", "{engine:?}: {name}");
    browser.says_nothing();
}

#[test]
fn ugly_tables_are_drawn_as_well_as_others() {
    let bench = Bench::new();
    let pages = plots(&bench).into_iter().map(|(name, page)| {
        assert!(page.len() < 6_000_000, "{name}: {}", page.len());
        (name, bench.write(&format!("{}.html", name.replace(' ', "-")), &page))
    });
    let pages: Vec<_> = pages.collect();
    each_engine_at_night(|browser| {
        for (name, path) in &pages {
            browser.show_page(path);
            is_used(browser, name);
            is_laid_out_well(browser, name);
        }
    });
}

/// Whole numbers that doubles do not keep, the smallest one and gaps: the page knows each of them.
#[test]
fn the_smallest_whole_number_is_no_gap() {
    let bench = Bench::new();
    let index = Column::new("t", DataType::Int64).column_type(ColumnType::Index);
    let ticks = Column::new("ticks", DataType::Int64).column_type(ColumnType::Nullable);
    let request = CreateTableRequest::new([index, ticks]).name("Long");
    let id = bench.session.create_table(request).unwrap();
    let values = [Some(i64::MIN), None, Some(i64::MAX), Some(i64::MIN + 1), Some(7)];
    let places: ArrayRef = Arc::new(Int64Array::from_iter_values(0..5));
    let ticks: ArrayRef = Arc::new(Int64Array::from(values.to_vec()));
    let columns = [("t", places, false), ("ticks", ticks, true)];
    let batch = RecordBatch::try_from_iter_with_nullable(columns).unwrap();
    bench.session.append_batches(&id, &mut [Ok(batch)].into_iter(), None).unwrap();
    let path = bench.write("smallest.html", &plot(&bench, &id, &PlotOptions::new()));
    each_engine(|browser| {
        browser.show_page(&path);
        let read = browser.run(
            "const { points, levels } = stationdb.waveforms[0].charts[0];
             return points.keys.map((key) => key === null ? null : levels.textOf(key))",
        );
        let texts = values.map(|value| value.map(|value| value.to_string()));
        assert_eq!(read, json!(texts), "{:?}", browser.engine);
    });
}

/// Many rows may have one x, more than an interval has: the lowest and the highest of them are drawn in
/// each picture that shows this x, and no row is drawn twice.
#[test]
fn rows_of_one_place_are_not_lost() {
    let bench = Bench::new();
    // No value stands twice; the extremes are in the middle of the rows of a place.
    let value = |row: usize, each: usize| match (row / each, row % each * 40 / each, row % 40) {
        (place, 17, 0) if row % each - each * 17 / 40 < 40 => 1e6 + place as f64,
        (place, 28, 0) if row % each - each * 28 / 40 < 40 => -1e6 - place as f64,
        _ => (row * 7_919 % 1_000_003) as f64 / 1e6,
    };
    // In the last two, the rows around one sample are known: around the highest, and around the border of
    // two places.
    let few = PlotOptions::new().column_bytes(200_000);
    let pages: Vec<_> = [
        (40_000, 1, 0, PlotOptions::new()),
        (40_000, 9, 1, PlotOptions::new()),
        (40_000, 9, 3, PlotOptions::new()),
        (4_000, 9, 3, few.clone()),
        (4_000, 9, 3, few.mark("border", "5")),
    ]
    .into_iter()
    .enumerate()
    .map(|(at, (each, places, step, options))| {
        let rows = places * each;
        let xs = numbers((0..rows).map(|row| (row / each * step) as i64 - 4));
        let values = (0..rows).map(|row| Some(value(row, each))).collect();
        let id = table(&bench, "Places", xs, &[("volts".to_owned(), values)]);
        let limits = Limits::new("top", None, Some(1e6 + 3.0));
        let page = plot(&bench, &id, &options.limits(limits));
        assert!(at < 3 || page.matches("\"row\":").count() > 1, "{at}: no rows are known");
        (places, step, bench.write(&format!("places-{at}.html"), &page))
    })
    .collect();
    each_engine(|browser| {
        for (places, step, path) in &pages {
            browser.show_page(path);
            for place in 0..*places {
                let seen = browser.run(&format!(
                    "const [w] = stationdb.waveforms;
                     const place = {};
                     const seen = [];
                     const draw = () => {{
                       const {{ x, y, keys }} = w.charts[0].points;
                       const ys = y.filter((value, at) => value !== null && x[at] === place);
                       const texts = keys.map((key, at) => key === null ? at : y[at]);
                       seen.push([Math.min(...ys), Math.max(...ys), new Set(texts).size === texts.length]);
                     }};
                     w.showAll(); draw();
                     w.show(place, place + 0.5); draw();
                     w.show(place - 0.5, place); draw();
                     w.show(place - 1.2, place + 1.4); draw();
                     return seen",
                    place * step
                ));
                let expected = json!([-1_000_000 - place as i64, 1_000_000 + place as i64, true]);
                let expected = json!(vec![expected; 4]);
                assert_eq!(seen, expected, "{:?}: {place} of {path:?}", browser.engine);
            }
            browser.says_nothing();
        }
    });
}

/// A sample between two gaps has no line, and is seen all the same.
#[test]
fn samples_between_gaps_are_seen() {
    let bench = Bench::new();
    let values = (0..1_000).map(|at| (at % 2 == 0).then(|| (f64::from(at) / 80.0).sin()));
    let columns = [("volts".to_owned(), values.collect())];
    let id = table(&bench, "Gaps", numbers(0..1_000), &columns);
    let path = bench.write("gaps.html", &plot(&bench, &id, &PlotOptions::new()));
    each_engine(|browser| {
        browser.show_page(&path);
        let seen = browser.run(
            "const chart = stationdb.waveforms[0].charts[0];
             const { plot, points } = chart;
             const { data, width } = plot.ctx.getImageData(0, 0, plot.ctx.canvas.width, plot.ctx.canvas.height);
             const samples = points.x.map((x, at) => at).filter((at) => points.y[at] !== null);
             return [samples.length, samples.filter((at) => {
               const left = Math.round(plot.valToPos(chart.partOfX(points.x[at]), 'x', true));
               const top = Math.round(plot.valToPos(chart.partOfY(points.y[at]), 'y', true));
               const [r, , b, a] = data.subarray((top * width + left) * 4);
               return a > 100 && b - r > 40;
             }).length]",
        );
        assert_eq!(seen, json!([500, 500]), "{:?}", browser.engine);
    });
}

/// Times before 1970, on the days on which New York changes its clock, and all that a column may have.
#[test]
fn times_of_all_ages_are_on_the_axis() {
    const HOUR: i64 = 3_600_000_000_000;
    let bench = Bench::new();
    let hours = |from: &str, count: i64| {
        let from = stationdb::chrono::DateTime::parse_from_rfc3339(from).unwrap();
        let from = from.timestamp_nanos_opt().unwrap();
        let times = Int64Array::from_iter_values((0..count).map(|at| from + at * HOUR));
        let times = times.reinterpret_cast::<TimestampNanosecondType>().with_timezone("UTC");
        (DataType::TimestampNanos, Arc::new(times) as ArrayRef)
    };
    let values =
        |count: usize| vec![("v".to_owned(), (0..count).map(|at| Some(at as f64)).collect())];
    let far = |times: &[i64]| {
        let times = Int64Array::from_iter_values(times.iter().copied());
        let times = times.reinterpret_cast::<TimestampMicrosecondType>().with_timezone("UTC");
        (DataType::TimestampMicros, Arc::new(times) as ArrayRef)
    };
    let millis = |times: &[i64]| {
        let times = Int64Array::from_iter_values(times.iter().copied());
        let times = times.reinterpret_cast::<TimestampMillisecondType>().with_timezone("UTC");
        (DataType::Timestamp, Arc::new(times) as ArrayRef)
    };
    let day = |text: &str| text.to_owned();
    // The days of the reader's clock that the axis names, where it is expected to name days alone.
    let tables: [(&str, (DataType, ArrayRef), usize, Option<[String; 2]>); 6] = [
        (
            "before",
            hours("1969-12-29T00:00:00Z", 144),
            144,
            Some([day("1969-12-29"), day("1970-01-03")]),
        ),
        (
            "autumn",
            hours("2026-10-29T12:00:00Z", 144),
            144,
            Some([day("2026-10-30"), day("2026-11-04")]),
        ),
        (
            "spring",
            hours("2026-03-05T12:00:00Z", 144),
            144,
            Some([day("2026-03-06"), day("2026-03-11")]),
        ),
        ("one day", hours("2026-11-01T04:00:00Z", 24), 24, None),
        ("micros", far(&[-62_135_596_800_000_000, 0, 253_402_300_799_999_999]), 3, None),
        ("millis", millis(&[-62_135_596_800_000, 0, 253_402_300_799_999]), 3, None),
    ];
    let pages: Vec<_> = tables
        .into_iter()
        .map(|(name, times, count, days)| {
            let id = table(&bench, name, times, &values(count));
            (
                name,
                bench.write(
                    &format!("{}.html", name.replace(' ', "-")),
                    &plot(&bench, &id, &PlotOptions::new()),
                ),
                days,
            )
        })
        .collect();
    each_engine(|browser| {
        let engine = browser.engine;
        for (name, path, days) in &pages {
            browser.show_page(path);
            is_used(browser, name);
            browser.run(
                "Array.from(document.querySelectorAll('#settings button'))
                   .find(button => button.textContent.startsWith('Times')).click()",
            );
            let places = browser.run(
                "const { plot, splits } = stationdb.waveforms[0].charts[0];
                 return splits.places.map((place, at) => [plot.axes[0].values()[at],
                   new Date((Number(stationdb.waveforms[0].x.first) + place) / 1e6).toTimeString().slice(0, 8)])",
            );
            let places: Vec<[String; 2]> = stationdb::serde_json::from_value(places).unwrap();
            let texts: Vec<&String> = places.iter().map(|place| &place[0]).collect();
            assert!(texts.len() >= 3, "{engine:?}: {name}: {texts:?}");
            assert!(
                texts.windows(2).all(|pair| pair[0] != pair[1]),
                "{engine:?}: {name}: {texts:?}"
            );
            if let Some([first, last]) = days {
                assert_eq!((texts[0], texts[texts.len() - 1]), (first, last), "{engine:?}: {name}");
                assert!(
                    places.iter().all(|place| place[1] == "00:00:00"),
                    "{engine:?}: {name}: {places:?}"
                );
            }
            browser.says_nothing();
        }
    });
}

/// A result of 5,000 steps, 98 of each hundred in a sequence of a sequence, and of 500 measurements.
fn five_thousand_steps(bench: &Bench) -> TestResultId {
    let named = |at: usize| format!("{} {at}", NAMES[at % 6]);
    let step = |name: String| CreateStepRequest::new().name(name).status(StatusType::Passed);
    let measured = |at: usize| {
        let value = [0.5, f64::MAX, -1e-300, 2.0][at % 4];
        // The first have a measurement of their own, and the others one together.
        let name = if at < 500 { named(at) } else { "again".to_owned() };
        let parameter = [
            ("name", name),
            ("measurement", value.to_string()),
            ("units", "مللي".to_owned()),
            ("lowLimit", "-1e308".to_owned()),
            ("highLimit", "1e308".to_owned()),
        ];
        let parameter = parameter.map(|(key, text)| (key.to_owned(), text));
        step(named(at)).data(StepData::new().parameters([BTreeMap::from(parameter)]))
    };
    let sequences = (0..50).map(|at| {
        let steps: Vec<_> = (at * 98..(at + 1) * 98).map(measured).collect();
        step(named(at)).children([step(named(at + 1)).children(steps)])
    });
    let result = CreateResultRequest::new()
        .part_number(NAMES[0])
        .serial_number(NAMES[5])
        .program_name(NAMES[1])
        .operator(NAMES[2])
        .status(StatusType::Passed);
    let result = ResultWithSteps::new(result).steps(sequences);
    let made = bench.session.append_results(&[result]).unwrap().into_result().unwrap();
    made.results[0].id.clone().unwrap()
}

#[test]
fn ugly_results_are_shown_as_well_as_others() {
    let bench = Bench::new();
    let id = five_thousand_steps(&bench);
    let product = ProductOptions::new();
    let pages = [
        ("run", run_html(&bench.session, &id, &RunOptions::new()).unwrap()),
        ("product", product_html(&bench.session, NAMES[0], &product).unwrap()),
        (
            "all measurements",
            product_html(&bench.session, NAMES[0], &product.measurements_max(500)).unwrap(),
        ),
        ("store", store_html(&bench.store, &bench.session, NAMES[1], &Control::default()).unwrap()),
    ];
    for (name, page) in &pages {
        assert!(page.len() < 7_000_000, "{name}: {}", page.len());
    }
    let pages = pages.map(|(name, page)| {
        (name, bench.write(&format!("ugly-{}.html", name.replace(' ', "-")), &page))
    });
    each_engine_at_night(|browser| {
        for (name, path) in &pages {
            browser.show_page(path);
            is_laid_out_well(browser, name);
            let seen = browser.run("return document.querySelectorAll('main table').length");
            assert!(seen.as_u64() > Some(2), "{:?}: {name}", browser.engine);
            let marked: Value = browser.run("return document.querySelectorAll('main b').length");
            assert_eq!(marked, json!(0));
        }
    });
}
