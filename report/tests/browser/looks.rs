//! Dark, light, and paper.

use stationdb::serde_json::json;
use stationdb_report::{Limits, PlotOptions, plot_html};

use crate::driver::{Browser, Engine, engines};
use crate::stores::{Bench, waves};

const LIGHT: &str = "rgb(255, 255, 255)";
const DARK: &str = "rgb(20, 24, 29)";

#[test]
fn a_page_prints_and_is_dark_or_light() {
    let engines = engines();
    if engines.is_empty() {
        return;
    }
    let bench = Bench::new();
    let table = waves(&bench.session, 100_000, (5_000, 9.0));
    let page = plot_html(&bench.session, &table, &PlotOptions::new()).unwrap();
    let path = bench.write("print.html", &page);
    let paper = "return getComputedStyle(document.body).backgroundColor";
    for engine in engines {
        let browser = Browser::open(engine);
        for (scheme, colour, other) in [("dark", DARK, LIGHT), ("light", LIGHT, DARK)] {
            // WebKit without a desktop likes it light.
            if !browser.prefer(scheme) && scheme == "dark" {
                continue;
            }
            browser.show_page(&path);
            assert_eq!(browser.run(paper), colour, "{engine:?}");
            prints_in_light(&browser);
            assert_eq!(browser.run(paper), colour, "{engine:?}");
            browser.run(
                "Array.from(document.querySelectorAll('#settings button'))
                   .find(button => button.textContent.startsWith('Dark')).click()",
            );
            assert_eq!(browser.run(paper), other, "{engine:?}");
            browser.says_nothing();
        }
    }
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

/// Above a high limit and below a low one, the paper is coloured, and nowhere else.
#[test]
fn bands_are_beyond_the_limits() {
    let engines = engines();
    if engines.is_empty() {
        return;
    }
    let bench = Bench::new();
    let table = waves(&bench.session, 10_000, (5_000, 2.0));
    let limits = Limits::new("band", Some(-1.0), Some(1.0));
    let options = PlotOptions::new().columns(["volts"]).limits(limits);
    let page = plot_html(&bench.session, &table, &options).unwrap();
    let path = bench.write("bands.html", &page);
    for engine in engines {
        let browser = Browser::open(engine);
        browser.show_page(&path);
        // The part of a line of pixels that is coloured: above the limit, below it, and so on.
        let coloured = browser.run(
            "const { plot } = stationdb.waveforms[0].charts[0];
             const part = (value, away) => {
               const y = Math.round(plot.valToPos(value, 'y', true)) + away;
               const { data } = plot.ctx.getImageData(plot.bbox.left + 150, y, plot.bbox.width - 160, 1);
               let count = 0;
               for (let at = 3; at < data.length; at += 4) { count += data[at] > 0; }
               return Math.round(count / data.length * 40) / 10; };
             return [part(1, -4), part(1, 4), part(-1, -4), part(-1, 4)]",
        );
        assert_eq!(coloured, json!([1, 0, 0, 1]), "{engine:?}");
    }
}
