//! Dark, light, and paper.

use stationdb::serde_json::json;
use stationdb_report::{Limits, PlotOptions, plot_html};

use crate::driver::{Browser, Engine, each_engine};
use crate::stores::{Bench, waves};

const LIGHT: &str = "rgb(255, 255, 255)";
const DARK: &str = "rgb(20, 24, 29)";

#[test]
fn a_page_prints_and_is_dark_or_light() {
    let bench = Bench::new();
    let table = waves(&bench.session, 100_000, (5_000, 9.0));
    let page = plot_html(&bench.session, &table, &PlotOptions::new()).unwrap();
    let path = bench.write("print.html", &page);
    let paper = "return getComputedStyle(document.body).backgroundColor";
    each_engine(|browser| {
        let engine = browser.engine;
        for (scheme, colour, other) in [("dark", DARK, LIGHT), ("light", LIGHT, DARK)] {
            // WebKit without a desktop likes it light.
            if !browser.prefer(scheme) && scheme == "dark" {
                continue;
            }
            browser.show_page(&path);
            assert_eq!(browser.run(paper), colour, "{engine:?}");
            prints_in_light(browser);
            assert_eq!(browser.run(paper), colour, "{engine:?}");
            browser.run(
                "Array.from(document.querySelectorAll('#settings button'))
                   .find(button => button.textContent.startsWith('Dark')).click()",
            );
            assert_eq!(browser.run(paper), other, "{engine:?}");
            browser.says_nothing();
        }
    });
}

/// Paper has the colours of a light page, also those that scripts draw with.
fn prints_in_light(browser: &Browser) {
    browser.run(
        "window.printed = null;
         addEventListener('beforeprint', () => {
           const { plot } = stationdb.waveforms[0].charts[0];
           const { data } = plot.ctx.getImageData(0, 0, plot.ctx.canvas.width, plot.ctx.canvas.height);
           let lines = 0;
           for (let at = 0; at < data.length; at += 4) {
             lines += data[at] === 223 && data[at + 1] === 228 && data[at + 2] === 234 && data[at + 3] === 255;
           }
           window.printed = [stationdb.colours.of('paper'), lines > 100];
         });",
    );
    // The driver of WebKit does not print.
    if let Some(printed) = browser.print() {
        assert!(printed.starts_with(b"%PDF") && printed.len() > 10_000, "{:?}", browser.engine);
    } else {
        assert_eq!(browser.engine, Engine::WebKit);
        browser
            .run("dispatchEvent(new Event('beforeprint')); dispatchEvent(new Event('afterprint'))");
    }
    assert_eq!(
        browser.run("return window.printed"),
        json!(["#ffffff", true]),
        "{:?}",
        browser.engine
    );
}

/// Above a high limit and below a low one, the paper is coloured, and nowhere else. Lines of limits,
/// cursors and samples are drawn where their values are.
#[test]
fn curves_bands_and_cursors_are_at_their_values() {
    let bench = Bench::new();
    let table = waves(&bench.session, 10_000, (5_000, 2.0));
    let limits = Limits::new("band", Some(-1.0), Some(1.0));
    let options = PlotOptions::new().columns(["volts"]).limits(limits);
    let page = plot_html(&bench.session, &table, &options).unwrap();
    let path = bench.write("bands.html", &page);
    each_engine(|browser| {
        browser.show_page(&path);
        let drawn = browser.run(PLACES);
        let expected = json!({
            "bands": [1, 0, 0, 1], "lines": [true, false, true, false],
            "cursor": [true, false], "samples": true, "moved": false,
        });
        assert_eq!(drawn, expected, "{:?}", browser.engine);
    });
}

/// Looks at the pixels where a value, a limit and a cursor are expected, and beside these.
const PLACES: &str = r"
    const w = stationdb.waveforms[0];
    const chart = w.charts[0];
    const { ctx, bbox } = chart.plot;
    // Drawn anew, in a range of half of all samples.
    w.zoom(0.5, (w.from + w.to) / 2);
    w.placeCursor('A', w.from + (w.to - w.from) * 0.25);
    w.show(w.from, w.to);
    const place = w.cursors.A;
    const x = (at) => Math.round(bbox.left + (at - w.from) / (w.to - w.from) * bbox.width);
    const y = (value) => Math.round(bbox.top + (1 - (value - chart.low) / (chart.high - chart.low)) * bbox.height);
    const { data, width } = ctx.getImageData(0, 0, ctx.canvas.width, ctx.canvas.height);
    const pixel = (left, top) => Array.from(data.subarray((top * width + left) * 4, (top * width + left) * 4 + 4));
    const near = (left, top, away, is) => {
      for (let across = -away; across <= away; across++) {
        for (let down = -away; down <= away; down++) {
          if (is(...pixel(left + across, top + down))) { return true; }
        }
      }
      return false;
    };
    const isLimit = (r, g, b, a) => a > 100 && r - b > 60;
    const isCursor = (r, g, b, a) => a > 100 && b - g > 40 && r - g > 20;
    const isCurve = (r, g, b, a) => a > 60 && b - r > 40;
    // From where no text is up to the end.
    const part = (top, is, away) => {
      let count = 0;
      for (let left = 150; left < bbox.width - 10; left++) { count += near(Math.round(bbox.left) + left, top, away, is); }
      return count / (bbox.width - 160);
    };
    const isColoured = (r, g, b, a) => a > 0;
    const column = (left) => [0.2, 0.4, 0.6, 0.8].every((at) => near(left, Math.round(bbox.top + bbox.height * at), 1, isCursor));
    const { points } = chart;
    const inside = points.x.map((at, n) => n).filter((n) => points.x[n] >= w.from && points.x[n] <= w.to);
    const samples = (by) => inside.filter((n) => near(x(points.x[n]), y(points.y[n]) + by, 2, isCurve)).length / inside.length;
    const rounded = (value, away) => Math.round(part(y(value) + away, isColoured, 0) * 4) / 4;
    return {
      bands: [rounded(1, -5), rounded(1, 5), rounded(-1, -5), rounded(-1, 5)],
      lines: [part(y(1), isLimit, 1) > 0.5, part(y(1) - 6, isLimit, 1) > 0.1, part(y(-1), isLimit, 1) > 0.5, part(y(-1) + 6, isLimit, 1) > 0.1],
      cursor: [column(x(place)), column(x(place) + 9)],
      samples: samples(0) > 0.97,
      moved: samples(12) > 0.5,
    };";
