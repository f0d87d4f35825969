//! Browsers that run no scripts, or lack what the scripts need.

use stationdb::serde_json::json;
use stationdb_report::{Limits, PlotOptions, plot_html};

use crate::driver::each_engine;
use crate::stores::{Bench, waves};

/// A page with another one in a frame, so that this one can look at it whatever it runs.
fn framed(page: &str, sandbox: &str) -> String {
    let page = page.replace('&', "&amp;").replace('"', "&quot;");
    format!(
        "<!DOCTYPE html><title>around</title><iframe id=\"frame\" width=\"1200\" height=\"900\" \
         sandbox=\"{sandbox}\" srcdoc=\"{page}\"></iframe>"
    )
}

/// The page without its policy, which begins with another script.
fn beginning_with(page: &str, script: &str) -> String {
    let from = page.find("<meta http-equiv=\"Content-Security-Policy\"").unwrap();
    let to = from + page[from..].find('>').unwrap() + 1;
    format!("{}<script>{script}</script>{}", &page[..from], &page[to..])
}

#[test]
fn without_what_scripts_need_there_are_pictures_and_a_sentence() {
    let bench = Bench::new();
    let table = waves(&bench.session, 10_000, (5_000, 9.0));
    let limits = Limits::new("band", None, Some(3.0));
    let page = plot_html(&bench.session, &table, &PlotOptions::new().limits(limits)).unwrap();
    let with_scripts = "allow-same-origin allow-scripts";
    let lacks = |script: &str| framed(&beginning_with(&page, script), with_scripts);
    let pages = [
        ("all is there", framed(&page, with_scripts), true),
        ("all is there, without a policy", lacks("window.nothing = 1"), true),
        ("no scripts run", framed(&page, "allow-same-origin"), false),
        (
            "a syntax is unknown",
            framed(&page.replace("class Chart", "klass Chart"), with_scripts),
            false,
        ),
        ("no BigInt", lacks("window.BigInt = undefined"), false),
        ("no ResizeObserver", lacks("window.ResizeObserver = undefined"), false),
        ("no matchMedia", lacks("window.matchMedia = undefined"), false),
        ("no canvas", lacks("HTMLCanvasElement.prototype.getContext = () => null"), false),
        ("no language", lacks("Intl.NumberFormat = function () { throw RangeError('C') }"), false),
    ];
    each_engine(|browser| {
        let engine = browser.engine;
        for (name, page, is_drawn) in &pages {
            browser.show(&bench.write("old.html", page));
            let seen = browser.run(
                "const page = document.getElementById('frame').contentDocument;
                 const seen = (selector) => Array.from(page.querySelectorAll(selector))
                   .filter((element) => element.getClientRects().length > 0).length;
                 return [seen('#old'), seen('svg.picture'), seen('.plot canvas'), seen('.charts button') > 0,
                         seen('#settings button') > 0, seen('main table') > 0]",
            );
            let expected = if *is_drawn {
                json!([0, 0, 3, true, true, true])
            } else {
                json!([1, 3, 0, false, false, true])
            };
            assert_eq!(seen, expected, "{engine:?}: {name}");
            if !is_drawn {
                let curve = browser.run(
                    "const page = document.getElementById('frame').contentDocument;
                     return page.querySelector('svg .curve').getBoundingClientRect().height",
                );
                assert!(curve.as_f64().unwrap() > 100.0, "{engine:?}: {name}: {curve}");
            }
        }
        // The console says what is lacking.
        browser.console();
    });
}
