//! The page of a table.

use stationdb::serde_json::Value;
use stationdb_report::{Limits, PlotOptions, plot_html};

use crate::driver::{Browser, each_engine};
use crate::sizes;
use crate::stores::{Bench, FIRST_NS, STEP_NS, waves};

/// The value of the one sample that is a spike.
const SPIKE: f64 = 3.123_456_789_012_345;

/// The points of a chart that are in the picture: x as text, value as text.
fn drawn(browser: &Browser, chart: usize) -> Vec<(String, String)> {
    let rows = browser.run("return stationdb.waveforms[0].rowsOfView()");
    let name = browser.run(&format!("return stationdb.waveforms[0].charts[{chart}].column.name"));
    let rows = rows.as_array().unwrap().iter().skip(1).filter(|row| row[0] == name);
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    rows.map(|row| (text(&row[2]), text(&row[3]))).collect()
}

/// Pixels of a canvas that are not empty.
fn pixels(browser: &Browser, chart: usize) -> u64 {
    let count = browser.run(&format!(
        "const canvas = document.querySelectorAll('canvas')[{chart}];
         const all = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data;
         let count = 0;
         for (let at = 3; at < all.length; at += 4) {{ count += all[at] > 0; }}
         return count;"
    ));
    count.as_u64().unwrap()
}

fn time(row: u64) -> String {
    let time = stationdb::chrono::DateTime::from_timestamp_nanos(FIRST_NS + row as i64 * STEP_NS);
    time.to_rfc3339_opts(stationdb::chrono::SecondsFormat::Nanos, true)
}

#[test]
fn a_spike_of_one_sample_is_drawn_and_found_again() {
    let bench = Bench::new();
    // 20 million at night.
    let rows = sizes::size("report_rows");
    let spike = rows / 3 * 2 + 1;
    let table = waves(&bench.session, rows, (spike, SPIKE));
    let limits = Limits::new("Gain", Some(-2.6), Some(2.6)).of_column("volts");
    let options = PlotOptions::new().limits(limits);
    let page = plot_html(&bench.session, &table, &options).unwrap();
    assert!(page.len() < 6_000_000, "{}", page.len());
    let path = bench.write("waves.html", &page);
    each_engine(|browser| {
        browser.show_page(&path);
        spike_is_found(browser, spike);
    });
}

fn spike_is_found(browser: &Browser, row: u64) {
    assert_eq!(browser.run("return document.querySelectorAll('.plot canvas').length"), 3);
    for chart in 0..3 {
        assert!(pixels(browser, chart) > 10_000, "{chart}");
    }
    // Every drawn sample is a row; the spike is one of them in the first picture.
    let volts = drawn(browser, 0);
    assert!(volts.len() > 1_000, "{}", volts.len());
    let spike = (time(row), "3.123456789012345".to_owned());
    assert!(volts.contains(&spike), "{spike:?}");
    for (at, value) in &volts {
        let at = stationdb::chrono::DateTime::parse_from_rfc3339(at).unwrap();
        let at = (at.timestamp_nanos_opt().unwrap() - FIRST_NS) / STEP_NS;
        let expected = if at as u64 == row { SPIKE } else { (at as f64 * 6e-6).sin() * 2.5 };
        assert_eq!(value.parse::<f64>().unwrap(), expected, "{at}");
    }
    points_are_rows(browser);
    // The wheel zooms about the pointer, on the spike, until single samples are drawn.
    let place = row as i64 * STEP_NS;
    for _ in 0..60 {
        let x = browser.run(&format!(
            "const w = stationdb.waveforms[0]; const box = w.charts[0].plot.over.getBoundingClientRect();
             return [Math.round(box.left + ({place} - w.from) / (w.to - w.from) * box.width),
                     Math.round(box.top + 50), w.to - w.from]"
        ));
        if x[2].as_f64().unwrap() < 100.0 * STEP_NS as f64 {
            break;
        }
        browser.turn_wheel(&x[0], &x[1], -400);
    }
    let volts = drawn(browser, 0);
    assert!((50..110).contains(&volts.len()), "{volts:?}");
    points_are_rows(browser);
    let at = volts.iter().position(|point| *point == spike).unwrap();
    assert_eq!(volts[at + 1].0, time(row + 1));
    assert_eq!(
        browser.run("return stationdb.waveforms[0].charts[0].note.textContent"),
        "every sample is drawn"
    );
    // The cursors say the exact samples, and what is between them.
    browser.run(&format!(
        "const w = stationdb.waveforms[0];
         w.placeCursor('A', {place}); w.placeCursor('B', {place} + 2 * {STEP_NS});"
    ));
    let readout = browser.run("return document.querySelector('.readout').innerText");
    let readout = readout.as_str().unwrap();
    let between = ((row + 2) as f64 * 6e-6).sin() * 2.5 - SPIKE;
    for text in [&spike.0, &spike.1, "0.000100000 s", &between.to_string()] {
        assert!(readout.contains(text), "{text}: {readout}");
    }
}

/// What is drawn of each sample is what is told of it.
#[track_caller]
fn points_are_rows(browser: &Browser) {
    let others = browser.run(
        "return stationdb.waveforms[0].charts.flatMap(({ levels, points }) => points.x.filter((x, at) => {
           const key = points.keys[at];
           return key !== null && (x !== Number(levels.exactPlaceOf(key)) || points.y[at] !== Number(levels.textOf(key)));
         }))",
    );
    assert_eq!(others.as_array().map(Vec::len), Some(0), "{:?}: {others}", browser.engine);
}

#[test]
fn violations_are_visited_in_turn() {
    let bench = Bench::new();
    let table = waves(&bench.session, 300_000, (200_000, 9.0));
    let limits = Limits::new("band", None, Some(2.499_999));
    let options = PlotOptions::new().columns(["volts"]).limits(limits);
    let page = plot_html(&bench.session, &table, &options).unwrap();
    let path = bench.write("violations.html", &page);
    each_engine(|browser| {
        browser.show_page(&path);
        violations_are_visited(browser);
    });
}

fn violations_are_visited(browser: &Browser) {
    let said = || browser.run("return document.getElementById('said').textContent");
    let view = || {
        let view = browser.run("const w = stationdb.waveforms[0]; return [w.from, w.to]");
        (view[0].as_f64().unwrap(), view[1].as_f64().unwrap())
    };
    let press = |key: &str| {
        browser.run(&format!(
            "document.querySelector('.plot').dispatchEvent(new KeyboardEvent('keydown', {{key: '{key}'}}))"
        ));
        view()
    };
    // The spike comes before the crest of the wave, whose rows are one violation.
    let (from, to) = press("n");
    let spike = 200_000.0 * STEP_NS as f64;
    assert!(from <= spike && spike <= to, "{from} {to}");
    assert_eq!(said(), format!("Violation 1 of 2: volts 9 at {}", time(200_000)));
    assert_eq!(drawn(browser, 0).iter().filter(|point| point.1 == "9").count(), 1);
    let (from, to) = press("p");
    assert!(spike < from, "{from} {to}");
    assert!(said().as_str().unwrap().starts_with("Violation 2 of 2: volts 2.4999999"));
    press("n");
    assert!(said().as_str().unwrap().starts_with("Violation 1 of 2: "));
    // Buttons do the same.
    browser.run(
        "Array.from(document.querySelectorAll('.charts button'))
           .find(button => button.textContent.startsWith('Violation')).click()",
    );
    assert!(said().as_str().unwrap().starts_with("Violation 2 of 2: "));
    let (from, to) = press("Home");
    assert_eq!((from, to), (0.0, 299_999.0 * STEP_NS as f64));
    let (from, to) = press("+");
    assert!((to - from - 149_999.5 * STEP_NS as f64).abs() < 1.0);
    let (later, _) = press("ArrowRight");
    assert!(later > from);
}
