//! What a page shows as text, and what it may do.

use std::collections::BTreeMap;
use std::path::PathBuf;

use stationdb::Control;
use stationdb::files::UploadFileRequest;
use stationdb::prelude::*;
use stationdb::results::{
    CreateResultRequest, CreateStepRequest, NamedValue, ResultWithSteps, StatusType, StepData,
    TestResultId,
};
use stationdb::serde_json::{Value, json};
use stationdb::tables::{
    AppendTableDataRequest, Column, ColumnType, CreateTableRequest, DataFrame, DataType,
};
use stationdb_report::{
    Limits, PlotOptions, ProductOptions, RunOptions, plot_html, product_html, run_html, store_html,
};

use crate::checks::is_laid_out_well;
use crate::driver::{Browser, each_engine};
use crate::stores::{Bench, FIRST_NS, STEP_NS, waves};

/// Texts that would be markup, script or another direction.
fn hostile() -> [String; 11] {
    [
        "</script><script>window.broken = 1</script>",
        "<img src=x onerror=\"window.broken = 1\">",
        "\"'`; window.broken = 1; //",
        "<!--<script>",
        "]]></style><base href=//example.invalid>",
        "a\u{202e}cba\u{2066}",
        "\u{2028}\u{2029}\0\u{1b}[2J",
        "${window.broken = 1}{{1+1}}",
        "javascript:window.broken=1",
        "Ω µ 電圧 😀 é",
        &"x".repeat(1_000_000),
    ]
    .map(str::to_owned)
}

#[test]
fn hostile_texts_are_shown_as_text() {
    let bench = Bench::new();
    let (mut pages, mut pages_of_results) = (Vec::new(), Vec::new());
    for (number, text) in hostile().iter().enumerate() {
        let named = |name: &str, data_type| {
            Column::new(name, data_type).properties([("unit", text.as_str())])
        };
        let t =
            format!("{}t", &text[..text.len().min(1_000)].replace(|c: char| !c.is_ascii(), "é"));
        let columns = [
            named(&t, DataType::Int64).column_type(ColumnType::Index),
            named(text, DataType::Float64),
        ];
        let request = CreateTableRequest::new(columns).name(text);
        let table = bench.session.create_table(request).unwrap();
        let row = |cells: [&str; 2]| cells.map(|cell| Some(cell.to_owned())).to_vec();
        let rows = DataFrame::new().data([row(["0", "1"]), row(["1", "2"]), row(["3", "9"])]);
        let append = AppendTableDataRequest::new().frame(rows);
        bench.session.append_table_data(&table, append).unwrap();
        let options =
            PlotOptions::new().limits(Limits::new(text, Some(0.0), Some(3.0))).mark(text, "1");
        let page = plot_html(&bench.session, &table, &options).unwrap();
        assert!(!page.contains(['\u{202e}', '\u{2066}', '\u{2028}', '\0']));
        let scripts = page.matches("<script").count();
        pages.push((text.clone(), bench.write(&format!("hostile-{number}.html"), &page), scripts));
        pages_of_results.extend(of_results(&bench, number, text));
    }
    each_engine(|browser| {
        for (text, path, scripts) in &pages {
            browser.show_page(path);
            assert_eq!(browser.run("return window.broken === undefined"), true, "{text:.80}");
            let said = browser.run(
                "stationdb.waveforms[0].goToViolation(1);
                 return [document.title, document.querySelector('h2').textContent,
                         document.querySelector('figcaption bdi').textContent,
                         document.querySelectorAll('img, base, iframe, object, a').length,
                         document.scripts.length]",
            );
            let shown = said[1].as_str().unwrap();
            let first: String = text.chars().take_while(char::is_ascii_graphic).take(8).collect();
            assert!(shown.contains(&first), "{text:.80}: {shown:.80}");
            assert_eq!(said[2], said[1]);
            assert_eq!(said[3], 0, "{text:.80}");
            assert_eq!(said[4], *scripts, "{text:.80}");
            browser.says_nothing();
        }
        for (path, scripts) in &pages_of_results {
            browser.show_page(path);
            let said = browser.run(
                "return [window.broken === undefined, document.scripts.length,
                         document.querySelectorAll('img, base, iframe, object, a').length]",
            );
            assert_eq!(said, json!([true, scripts, 0]), "{}", path.display());
        }
    });
}

/// A result whose texts are all `name`, with a property, a file, and a step with what a step may say.
fn result_of(bench: &Bench, name: &str, text: &str) -> TestResultId {
    let file = UploadFileRequest::new().name(name);
    let file = bench.session.upload_file(&mut &b"x"[..], file, &Control::default()).unwrap();
    let parameter = [
        ("name", name),
        ("measurement", "1"),
        ("units", name),
        ("lowLimit", "0"),
        ("highLimit", "0.5"),
        ("comparisonType", name),
        ("status", name),
        (name, name),
    ];
    let parameter = parameter.map(|(key, value)| (key.to_owned(), value.to_owned()));
    let value = || NamedValue::new(name, json!(name));
    let step = CreateStepRequest::new()
        .name(name)
        .step_type(name)
        .status(StatusType::Failed)
        .data(StepData::new().text(text).parameters([BTreeMap::from(parameter)]))
        .inputs([value()])
        .outputs([value()]);
    let mut result = CreateResultRequest::new()
        .part_number(name)
        .serial_number(name)
        .program_name(name)
        .operator(name)
        .host_name(name)
        .system_id(name)
        .status(StatusType::Failed)
        .keywords([name])
        .file_ids([file.as_str()]);
    result.properties = Some(BTreeMap::from([(name.to_owned(), Some(text.to_owned()))]));
    let result = ResultWithSteps::new(result).steps([step]);
    let made = bench.session.append_results(&[result]).unwrap().into_result().unwrap();
    made.results[0].id.clone().unwrap()
}

/// Pages of a result, a product and a store that are all called like the text, and their scripts.
fn of_results(bench: &Bench, number: usize, text: &str) -> Vec<(PathBuf, usize)> {
    let name: String = text.chars().take(200).collect();
    let id = result_of(bench, &name, text);
    let pages = [
        ("run", run_html(&bench.session, &id, &RunOptions::new()).unwrap()),
        ("product", product_html(&bench.session, &name, &ProductOptions::new()).unwrap()),
        ("store", store_html(&bench.store, &bench.session, text, &Control::default()).unwrap()),
    ];
    let pages = pages.into_iter().map(|(of, page)| {
        let scripts = page.matches("<script").count();
        (bench.write(&format!("hostile-{of}-{number}.html"), &page), scripts)
    });
    pages.collect()
}

#[test]
fn tables_are_copied_and_saved_as_csv() {
    let bench = Bench::new();
    let table = waves(&bench.session, 50_000, (5_000, 9.0));
    let page = plot_html(&bench.session, &table, &PlotOptions::new().columns(["volts"])).unwrap();
    let path = bench.write("csv.html", &page);
    each_engine(|browser| {
        browser.show_page(&path);
        tables_are_csv(browser);
        tables_are_saved_and_copied(browser);
        is_laid_out_well(browser, "columns");
    });
}

fn tables_are_csv(browser: &Browser) {
    let csv = browser.run("return stationdb.tables.csv(stationdb.waveforms[0].rowsOfView())");
    let csv = csv.as_str().unwrap();
    assert!(
        csv.starts_with(
            "column,unit,t,value,samples it stands for\r\nvolts,V,2026-01-01T00:00:00.000000000Z,0,"
        ),
        "{csv:.200}"
    );
    let spike = stationdb::chrono::DateTime::from_timestamp_nanos(FIRST_NS + 5_000 * STEP_NS);
    let spike = spike.to_rfc3339_opts(stationdb::chrono::SecondsFormat::Nanos, true);
    assert!(csv.contains(&format!("volts,V,{spike},9,")));
    assert_eq!(
        browser.run(r#"return stationdb.tables.csv([['a,b', 'c"d', 'e']])"#),
        "\"a,b\",\"c\"\"d\",e\r\n"
    );
    let columns =
        browser.run("return stationdb.tables.csv(stationdb.tables.rowsOf(document.querySelector('main table')))");
    assert!(columns.as_str().unwrap().starts_with("Column,Unit,Samples,Lowest,at,"), "{columns}");
}

/// The button beside the first table, which is pressed.
fn tables_are_saved_and_copied(browser: &Browser) {
    let press = |name: &str| {
        browser.run(&format!(
            "const table = document.querySelector('main .wide table');
             const buttons = table.parentNode.nextElementSibling.querySelectorAll('button');
             const button = Array.from(buttons).find(button => button.textContent === '{name}');
             button.scrollIntoView();
             const box = button.getBoundingClientRect();
             return [Math.round(box.left + 8), Math.round(box.top + 8)]"
        ))
    };
    let click = |place: &Value| {
        browser.act(&json!([{
            "type": "pointer", "id": "mouse", "parameters": {"pointerType": "mouse"},
            "actions": [
                {"type": "pointerMove", "x": place[0], "y": place[1]},
                {"type": "pointerDown", "button": 0},
                {"type": "pointerUp", "button": 0},
            ],
        }]));
    };
    let said = || browser.run("return document.getElementById('said').textContent");
    click(&press("Save"));
    assert_eq!(said(), "Saved Columns.csv", "{:?}", browser.engine);
    if let Some(text) = browser.saved("Columns.csv") {
        assert!(text.starts_with("Column,Unit,Samples,Lowest,at,"), "{text}");
        // A number without the commas that it has in the page, so that programs read it.
        assert!(text.contains("\r\nvolts,V,50000,0,"), "{text}");
    }
    click(&press("Copy"));
    let begun = std::time::Instant::now();
    while said() != "Copied 1 row" {
        assert!(begun.elapsed().as_secs() < 30, "{:?}: {}", browser.engine, said());
    }
    // What was copied is pasted again.
    browser.run(
        "const area = document.createElement('textarea'); area.id = 'pasted';
         document.body.append(area); area.focus()",
    );
    browser.act(&json!([{"type": "key", "id": "keys", "actions": [
        {"type": "keyDown", "value": "\u{e009}"}, {"type": "keyDown", "value": "v"},
        {"type": "keyUp", "value": "v"}, {"type": "keyUp", "value": "\u{e009}"},
    ]}]));
    let pasted = browser.run("return document.getElementById('pasted').value");
    assert!(
        pasted.as_str().unwrap().contains("\nvolts,V,50000,0,"),
        "{:?}: {pasted}",
        browser.engine
    );
    browser.run("document.getElementById('pasted').remove()");
}

#[test]
fn times_are_in_utc_or_in_the_zone_of_the_reader() {
    let bench = Bench::new();
    let table = waves(&bench.session, 1_000, (500, 9.0));
    let page = plot_html(&bench.session, &table, &PlotOptions::new()).unwrap();
    let path = bench.write("zone.html", &page);
    each_engine(|browser| {
        let engine = browser.engine;
        browser.show_page(&path);
        let first = "const w = stationdb.waveforms[0];
            return [w.rowsOfView()[1][2], w.charts[0].plot.axes[0].values()[0]]";
        assert_eq!(
            browser.run(first),
            json!(["2026-01-01T00:00:00.000000000Z", "2026-01-01"]),
            "{engine:?}"
        );
        browser.run(
            "Array.from(document.querySelectorAll('#settings button'))
               .find(button => button.textContent.startsWith('Times')).click()",
        );
        assert_eq!(
            browser.run(first),
            json!(["2025-12-31T19:00:00.000000000-05:00", "19:00:00.00"]),
            "{engine:?}"
        );
    });
}

#[test]
fn the_policy_forbids_other_scripts_and_every_request() {
    let bench = Bench::new();
    let table = waves(&bench.session, 1_000, (500, 9.0));
    let page = plot_html(&bench.session, &table, &PlotOptions::new()).unwrap();
    let path = bench.write("policy.html", &page);
    each_engine(|browser| {
        browser.show_page(&path);
        let refused = browser.run(
            "return new Promise((done) => {
               const seen = [];
               document.addEventListener('securitypolicyviolation', (event) => {
                 seen.push(event.effectiveDirective);
                 if (seen.length === 4) { done(seen.sort()); }
               });
               const script = document.createElement('script');
               script.textContent = 'window.broken = 1';
               document.head.append(script);
               const image = new Image();
               image.src = 'http://127.0.0.1:1/image.png';
               const style = document.createElement('style');
               style.textContent = 'body { display: none }';
               document.head.append(style);
               fetch('http://127.0.0.1:1/').catch(() => null);
               setTimeout(() => done(seen.sort()), 5000);
             })",
        );
        assert_eq!(refused, json!(["connect-src", "img-src", "script-src-elem", "style-src-elem"]));
        assert_eq!(browser.run("return window.broken === undefined"), true);
        // The console says what was refused.
        browser.console();
    });
}
