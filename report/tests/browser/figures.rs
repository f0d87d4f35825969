//! The pages of a result, a product and a store, whose charts are pictures.

use std::path::PathBuf;

use stationdb::Control;
use stationdb::prelude::*;
use stationdb::serde_json::json;
use stationdb_report::{ProductOptions, RunOptions, product_html, run_html, store_html};

use crate::checks::is_laid_out_well;
use crate::driver::each_engine;
use crate::stores::{Bench, results};

/// The pages of a store with some weeks of results, and how many pictures each has at least.
fn pages(bench: &Bench) -> [(&'static str, PathBuf, u64); 3] {
    let result = results(bench);
    let session = &bench.session;
    let pages = [
        ("run", run_html(session, &result, &RunOptions::new()).unwrap(), 1),
        ("product", product_html(session, "P-1", &ProductOptions::new()).unwrap(), 8),
        ("store", store_html(&bench.store, session, "bench", &Control::default()).unwrap(), 1),
    ];
    pages
        .map(|(name, page, pictures)| (name, bench.write(&format!("{name}.html"), &page), pictures))
}

#[test]
fn pages_of_figures_are_laid_out_well_and_print() {
    let bench = Bench::new();
    let pages = pages(&bench);
    each_engine(|browser| {
        let engine = browser.engine;
        for (name, path, pictures) in &pages {
            browser.show_page(path);
            is_laid_out_well(browser, name);
            let seen = browser.run(
                "return Array.from(document.querySelectorAll('svg'))
                   .filter((svg) => svg.getBoundingClientRect().height > 10).length",
            );
            assert!(seen.as_u64().unwrap() >= *pictures, "{engine:?}: {name}: {seen}");
            // Each table is saved with what it shows.
            let saved = browser.run(
                "const tables = Array.from(document.querySelectorAll('main table'));
                 const buttons = document.querySelectorAll('main .buttons').length;
                 return [buttons === tables.length, tables.every((table) =>
                   stationdb.tables.csv(stationdb.tables.rowsOf(table)).split('\\r\\n').length > table.rows.length)]",
            );
            assert_eq!(saved, json!([true, true]), "{engine:?}: {name}");
            if let Some(printed) = browser.print() {
                assert!(
                    printed.starts_with(b"%PDF") && printed.len() > 10_000,
                    "{engine:?}: {name}"
                );
            }
        }
    });
}

/// Sequences that passed are folded on the screen. Paper has all steps, and the screen is then as it
/// was.
#[test]
fn paper_has_the_steps_that_are_folded() {
    const OPEN: &str =
        "return Array.from(document.querySelectorAll('details.step'), (step) => step.open)";
    let bench = Bench::new();
    let run = Run::begin("P-1", "SN-1", "final").start(&bench.session).unwrap();
    for (name, value) in [("Power", 3.3), ("Ripple", 9.9)] {
        let sequence = run.sequence(name).unwrap();
        sequence.step("Inner").measure("VOUT", value, "V").limits(3.2, 3.4).finish().unwrap();
        sequence.finish().unwrap();
    }
    let id = run.id().clone();
    run.finish().unwrap();
    let page = run_html(&bench.session, &id, &RunOptions::new()).unwrap();
    let path = bench.write("folded.html", &page);
    each_engine(|browser| {
        let engine = browser.engine;
        browser.show_page(&path);
        let open = |when: &str| {
            assert_eq!(browser.run(OPEN), json!([false, true, true, true]), "{engine:?} {when}");
        };
        open("at first");
        browser.run(&format!(
            "window.printed = [];
             addEventListener('beforeprint', () => printed.push((() => {{ {OPEN} }})()));"
        ));
        if browser.print().is_none() {
            // The driver of WebKit does not print.
            browser.run(
                "dispatchEvent(new Event('beforeprint')); dispatchEvent(new Event('afterprint'))",
            );
        }
        let printed = browser.run("return window.printed");
        let printed = printed.as_array().unwrap();
        assert!(!printed.is_empty(), "{engine:?}");
        for once in printed {
            assert_eq!(once, &json!([true, true, true, true]), "{engine:?}");
        }
        open("after the print");
        // Twice before, as some browsers say it.
        browser.run(
            "for (const type of ['beforeprint', 'beforeprint', 'afterprint']) { dispatchEvent(new Event(type)); }",
        );
        open("after two");
        browser.says_nothing();
    });
}
