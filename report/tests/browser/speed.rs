//! How long a page is, and how long it takes.

use std::path::Path;
use std::time::{Duration, Instant};

use stationdb_report::{PlotOptions, plot_html};

use crate::driver::{Browser, each_engine};
use crate::sizes;
use crate::stores::{Bench, waves};

const BYTES_MAX: usize = 6_000_000;
const WRITTEN_MAX: Duration = Duration::from_secs(2);
const FIRST_PICTURE_MS_MAX: f64 = 500.0;
const ZOOM_MS_MAX: f64 = 50.0;
const TIMES: usize = 20;

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// At night; with each change the bytes alone, of fewer samples. How long writing takes is a matter of
/// builds in release alone.
#[test]
fn many_samples_are_written_and_drawn_in_time() {
    let bench = Bench::new();
    let rows = sizes::size("report_rows");
    let spike = (rows / 3 * 2 + 1, 3.25);
    let table = waves(&bench.session, rows, spike);
    let mut page = String::new();
    let mut written = Vec::new();
    let is_timed = sizes::does("report_compared") && !cfg!(debug_assertions);
    for _ in 0..if is_timed { 5 } else { 1 } {
        let start = Instant::now();
        page = plot_html(&bench.session, &table, &PlotOptions::new()).unwrap();
        written.push(start.elapsed().as_secs_f64());
    }
    let written = median(written);
    println!("{rows} samples of three columns: {} bytes in {written:.3} s", page.len());
    assert!(page.len() <= BYTES_MAX, "{}", page.len());
    if !sizes::does("report_compared") {
        return;
    }
    assert!(!is_timed || written <= WRITTEN_MAX.as_secs_f64(), "{written}");
    let path = bench.write("speed.html", &page);
    each_engine(|browser| is_drawn_in_time(browser, &path));
}

fn is_drawn_in_time(browser: &Browser, path: &Path) {
    let number = |script: &str| browser.run(script).as_f64().unwrap();
    let mut pictures = Vec::new();
    for _ in 0..TIMES {
        browser.show(path);
        pictures.push(number("return performance.getEntriesByType('navigation')[0].loadEventEnd"));
    }
    let mut zooms = Vec::new();
    for at in 0..TIMES {
        let place = at as f64 / TIMES as f64;
        zooms.push(number(&format!(
            "const w = stationdb.waveforms[0];
             // A pixel that is read has been drawn; else the picture before would be drawn with this one.
             const drawn = () => w.charts.forEach(chart => chart.plot.ctx.getImageData(0, 0, 1, 1));
             w.showAll(); drawn();
             const begin = performance.now();
             w.zoom(0.01, w.from + (w.to - w.from) * {place}); drawn();
             return performance.now() - begin;"
        )));
    }
    let (picture, zoom) = (median(pictures), median(zooms));
    println!(
        "{:?}: medians of {TIMES}: first picture {picture:.0} ms, zoom {zoom:.1} ms",
        browser.engine
    );
    assert!(picture <= FIRST_PICTURE_MS_MAX, "{:?}: {picture}", browser.engine);
    assert!(zoom <= ZOOM_MS_MAX, "{:?}: {zoom}", browser.engine);
}
