//! Pictures of the pages, light and dark, compared with those in `tests/pictures`.
//!
//! `STATIONDB_WRITE_PICTURES=1` writes them: look at them before they are committed.

use std::path::PathBuf;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use stationdb::Control;
use stationdb_report::{
    Limits, PlotOptions, ProductOptions, RunOptions, plot_html, product_html, run_html, store_html,
};

use crate::driver::{Browser, Engine, engines};
use crate::sizes;
use crate::stores::{Bench, results, waves};

/// Versions of a browser draw the edges of letters and lines differently: how far the means of a square
/// may be apart, of 255, and the part of squares that may be further apart.
const APART_MAX: u32 = 8;
const DIFFERENT_MAX: f64 = 0.002;
/// Pixels along a square. A word of an axis fills two of them.
const SQUARE: u32 = 16;

/// Takes away what each run has another of: ids, durations, and months of today.
const SETTLED: &str = "
    for (const row of document.querySelectorAll('tr')) {
      if (/^(Seconds|Id|20..-..)$/.test(row.cells[0].innerText)) { row.cells[0].textContent = row.cells[1].textContent = '-'; }
    }
    for (const text of document.querySelectorAll('svg text')) {
      if (/^20..-..$/.test(text.textContent)) { text.textContent = '-'; }
    }
    for (const note of document.querySelectorAll('summary .note')) { note.textContent = ''; }";

fn file(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/pictures").join(name)
}

/// The part of squares whose means differ, as the browser reads both files; 1 for other sizes.
fn difference(browser: &Browser, one: &[u8], other: &[u8]) -> f64 {
    let [one, other] = [one, other].map(|bytes| STANDARD.encode(bytes));
    let script = format!(
        "const read = async (text) => {{
           const image = new Image(); image.src = 'data:image/png;base64,' + text; await image.decode();
           const canvas = document.createElement('canvas');
           canvas.width = image.width; canvas.height = image.height;
           const context = canvas.getContext('2d'); context.drawImage(image, 0, 0);
           return context.getImageData(0, 0, image.width, image.height); }};
         const means = (image) => {{
           const across = Math.ceil(image.width / {SQUARE});
           const sums = new Float64Array(across * Math.ceil(image.height / {SQUARE}) * 4);
           for (let at = 0; at < image.width * image.height; at++) {{
             const x = at % image.width, y = Math.floor(at / image.width);
             const square = (Math.floor(y / {SQUARE}) * across + Math.floor(x / {SQUARE})) * 4;
             for (let c = 0; c < 3; c++) {{ sums[square + c] += image.data[at * 4 + c]; }}
             sums[square + 3] += 1;
           }}
           return sums; }};
         return Promise.all([read('{one}'), read('{other}')]).then((images) => {{
           const [a, b] = images;
           if (a.width !== b.width || a.height !== b.height) {{ return 1; }}
           const [left, right] = images.map(means);
           let count = 0;
           for (let at = 0; at < left.length; at += 4) {{
             const away = [0, 1, 2].map(c => Math.abs(left[at + c] - right[at + c]) / left[at + 3]);
             count += Math.max(...away) > {APART_MAX};
           }}
           return count / (left.length / 4); }});"
    );
    browser.run(&script).as_f64().unwrap()
}

#[test]
fn pages_look_as_before() {
    let is_written = std::env::var("STATIONDB_WRITE_PICTURES").is_ok();
    if !(sizes::does("report_compared") || is_written) || !engines().contains(&Engine::Chromium) {
        return;
    }
    let bench = Bench::new();
    let table = waves(&bench.session, 300_000, (123_456, 9.0));
    let limits = Limits::new("Gain", Some(-3.0), Some(3.0)).of_column("volts");
    let options = PlotOptions::new().limits(limits).mark("plug pulled", "2026-01-01T00:00:10Z");
    let result = results(&bench);
    let plot = plot_html(&bench.session, &table, &options).unwrap();
    let run = run_html(&bench.session, &result, &RunOptions::new()).unwrap();
    let product = product_html(&bench.session, "P-1", &ProductOptions::new()).unwrap();
    let store = store_html(&bench.store, &bench.session, "bench", &Control::default()).unwrap();
    // With what is done before the picture.
    let pages = [
        ("plot", &plot, ""),
        ("plot-violation", &plot, "stationdb.waveforms[0].goToViolation(1)"),
        (
            "run",
            &run,
            "document.querySelectorAll('details').forEach((step) => { step.open = true; })",
        ),
        ("product", &product, ""),
        (
            "product-charts",
            &product,
            "Array.from(document.querySelectorAll('h3')).find((title) => title.innerText.includes('VOUT')).scrollIntoView()",
        ),
        ("store", &store, ""),
        // Without the health, of which much differs.
        (
            "store-growth",
            &store,
            "document.querySelectorAll('section')[1].remove(); scrollTo(0, 1e6)",
        ),
    ];
    let browser = Browser::open(Engine::Chromium);
    let mut problems = Vec::new();
    for (name, page, before) in pages {
        let path = bench.write(&format!("{name}.html"), page);
        for scheme in ["light", "dark"] {
            assert!(browser.prefer(scheme));
            browser.show_page(&path);
            browser.run(SETTLED);
            browser.run(before);
            let picture = browser.picture();
            let file = file(&format!("{name}-{scheme}.png"));
            if is_written {
                std::fs::create_dir_all(file.parent().unwrap()).unwrap();
                std::fs::write(&file, &picture).unwrap();
                continue;
            }
            let empty = bench.write("empty.html", "<!DOCTYPE html><title>empty</title>");
            browser.show(&empty);
            let different = difference(&browser, &std::fs::read(&file).unwrap(), &picture);
            println!("{name} {scheme}: {:.2} % of the squares differ", different * 100.0);
            if different > DIFFERENT_MAX {
                problems.push(format!("{name} {scheme}: {different}"));
            }
        }
    }
    assert!(problems.is_empty(), "{problems:?}");
}
