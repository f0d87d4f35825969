//! The page of a table.

use std::path::Path;

use stationdb::prelude::*;
use stationdb::serde_json::{Value, json};
use stationdb::tables::{
    AppendTableDataRequest, Column, ColumnType, CreateTableRequest, DataFrame, DataType,
};
use stationdb_report::{Limits, PlotOptions, plot_html};

use crate::driver::{Browser, is_installed};
use crate::stores::{Bench, FIRST_NS, STEP_NS, waves};

/// Samples that the drawn page stands for, with the one that is a spike.
const ROWS: u64 = 3_000_000;
const SPIKE: (u64, f64) = (1_234_567, 3.123_456_789_012_345);

/// Opens a page that says nothing on the console and asks for nothing but itself.
#[track_caller]
fn show(browser: &Browser, path: &Path) {
    browser.requests();
    browser.show(path);
    assert_eq!(browser.console(), [""; 0]);
    let requests = browser.requests();
    let odd: Vec<_> = requests.iter().filter(|url| !url.ends_with(".html")).collect();
    assert!(odd.is_empty() && requests.len() == 1, "{requests:?}");
}

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
    if !is_installed() {
        return;
    }
    let bench = Bench::new();
    let table = waves(&bench.session, ROWS, SPIKE);
    let limits = Limits::new("Gain", Some(-2.6), Some(2.6)).of_column("volts");
    let options = PlotOptions::new().limits(limits);
    let page = plot_html(&bench.session, &table, &options).unwrap();
    assert!(page.len() < 6_000_000, "{}", page.len());
    let browser = Browser::open();
    show(&browser, &bench.write("waves.html", &page));
    assert_eq!(browser.run("return document.querySelectorAll('.plot canvas').length"), 3);
    for chart in 0..3 {
        assert!(pixels(&browser, chart) > 10_000, "{chart}");
    }
    // Every drawn sample is a row; the spike is one of them in the first picture.
    let volts = drawn(&browser, 0);
    assert!(volts.len() > 1_000, "{}", volts.len());
    let spike = (time(SPIKE.0), "3.123456789012345".to_owned());
    assert!(volts.contains(&spike), "{spike:?}");
    for (at, value) in &volts {
        let at = stationdb::chrono::DateTime::parse_from_rfc3339(at).unwrap();
        let row = (at.timestamp_nanos_opt().unwrap() - FIRST_NS) / STEP_NS;
        let expected =
            if row as u64 == SPIKE.0 { SPIKE.1 } else { (row as f64 * 6e-6).sin() * 2.5 };
        assert_eq!(value.parse::<f64>().unwrap(), expected, "{row}");
    }
    // The wheel zooms about the pointer, on the spike, until single samples are drawn.
    let place = SPIKE.0 as i64 * STEP_NS;
    for _ in 0..60 {
        let x = browser.run(&format!(
            "const w = stationdb.waveforms[0]; const box = w.charts[0].plot.over.getBoundingClientRect();
             return [Math.round(box.left + ({place} - w.from) / (w.to - w.from) * box.width),
                     Math.round(box.top + 50), w.to - w.from]"
        ));
        if x[2].as_f64().unwrap() < 100.0 * STEP_NS as f64 {
            break;
        }
        browser.actions(&json!([{"type": "wheel", "id": "wheel", "actions": [
            {"type": "scroll", "x": x[0], "y": x[1], "deltaX": 0, "deltaY": -400, "duration": 0}]}]));
    }
    let volts = drawn(&browser, 0);
    assert!((50..110).contains(&volts.len()), "{volts:?}");
    let at = volts.iter().position(|point| *point == spike).unwrap();
    assert_eq!(volts[at + 1].0, time(SPIKE.0 + 1));
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
    for text in [&spike.0, &spike.1, "0.000100000 s"] {
        assert!(readout.contains(text), "{text}: {readout}");
    }
    assert_eq!(browser.console(), [""; 0]);
}

#[test]
fn violations_are_visited_in_turn() {
    if !is_installed() {
        return;
    }
    let bench = Bench::new();
    let table = waves(&bench.session, 300_000, (200_000, 9.0));
    let limits = Limits::new("band", None, Some(2.499_999));
    let options = PlotOptions::new().columns(["volts"]).limits(limits);
    let page = plot_html(&bench.session, &table, &options).unwrap();
    let browser = Browser::open();
    show(&browser, &bench.write("violations.html", &page));
    let said = || browser.run("return document.getElementById('said').textContent");
    let press = |key: &str| {
        browser.run(&format!(
            "document.querySelector('.plot').dispatchEvent(new KeyboardEvent('keydown', {{key: '{key}'}}))"
        ));
        let view = browser.run("const w = stationdb.waveforms[0]; return [w.from, w.to]");
        (view[0].as_f64().unwrap(), view[1].as_f64().unwrap())
    };
    // The spike comes before the crest of the wave, whose rows are one violation.
    let (from, to) = press("n");
    let spike = 200_000.0 * STEP_NS as f64;
    assert!(from <= spike && spike <= to, "{from} {to}");
    assert_eq!(said(), format!("Violation 1 of 2: volts 9 at {}", time(200_000)));
    assert_eq!(drawn(&browser, 0).iter().filter(|point| point.1 == "9").count(), 1);
    let (from, to) = press("p");
    assert!(spike < from, "{from} {to}");
    assert!(said().as_str().unwrap().starts_with("Violation 2 of 2: volts 2.4999999"));
    press("n");
    assert!(said().as_str().unwrap().starts_with("Violation 1 of 2: "));
    let (from, to) = press("Home");
    assert_eq!((from, to), (0.0, 299_999.0 * STEP_NS as f64));
    let (from, to) = press("+");
    assert!((to - from - 149_999.5 * STEP_NS as f64).abs() < 1.0);
    let (later, _) = press("ArrowRight");
    assert!(later > from);
}

#[test]
fn hostile_texts_are_shown_as_text() {
    if !is_installed() {
        return;
    }
    let long = "x".repeat(1_000_000);
    let bench = Bench::new();
    let browser = Browser::open();
    for text in [
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
        long.as_str(),
    ] {
        let named =
            |name: &str, data_type| Column::new(name, data_type).properties([("unit", text)]);
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
        show(&browser, &bench.write("hostile.html", &page));
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
        let scripts = page.matches("<script").count();
        assert_eq!(said[4], scripts, "{text:.80}");
        assert_eq!(browser.console(), [""; 0], "{text:.80}");
    }
}

#[test]
fn without_scripts_there_are_pictures_and_a_sentence() {
    if !is_installed() {
        return;
    }
    let bench = Bench::new();
    let table = waves(&bench.session, 10_000, (5_000, 9.0));
    let page = plot_html(&bench.session, &table, &PlotOptions::new()).unwrap();
    let path = bench.write("old.html", &page);
    let browser = Browser::open();
    let seen = "const seen = (selector) => { const e = document.querySelector(selector);
                  return e !== null && e.getClientRects().length > 0; };
                return [seen('#old'), seen('svg.picture'), seen('.plot canvas')]";
    browser.show(&path);
    assert_eq!(browser.run(seen), json!([false, false, true]));
    browser.tool("Emulation.setScriptExecutionDisabled", &json!({"value": true}));
    browser.show(&path);
    browser.tool("Emulation.setScriptExecutionDisabled", &json!({"value": false}));
    assert_eq!(browser.run(seen), json!([true, true, false]));
    let curve =
        browser.run("return document.querySelector('svg .curve').getBoundingClientRect().height");
    assert!(curve.as_f64().unwrap() > 100.0, "{curve}");
}

#[test]
fn a_page_prints_and_is_dark_or_light() {
    if !is_installed() {
        return;
    }
    let bench = Bench::new();
    let table = waves(&bench.session, 100_000, (5_000, 9.0));
    let page = plot_html(&bench.session, &table, &PlotOptions::new()).unwrap();
    let path = bench.write("print.html", &page);
    let browser = Browser::open();
    let paper = "return getComputedStyle(document.body).backgroundColor";
    for (scheme, colour) in [("dark", "rgb(20, 24, 29)"), ("light", "rgb(255, 255, 255)")] {
        let features = json!({"features": [{"name": "prefers-color-scheme", "value": scheme}]});
        browser.tool("Emulation.setEmulatedMedia", &features);
        show(&browser, &path);
        assert_eq!(browser.run(paper), colour);
        let printed = browser.print();
        assert!(printed.starts_with(b"%PDF") && printed.len() > 10_000, "{}", printed.len());
        browser.run(
            "Array.from(document.querySelectorAll('#settings button'))
                       .find(button => button.textContent.startsWith('Dark')).click()",
        );
        assert_ne!(browser.run(paper), colour);
        assert_eq!(browser.console(), [""; 0]);
    }
}

#[test]
fn tables_are_copied_as_csv_and_controls_have_names() {
    if !is_installed() {
        return;
    }
    let bench = Bench::new();
    let table = waves(&bench.session, 50_000, (5_000, 9.0));
    let page = plot_html(&bench.session, &table, &PlotOptions::new().columns(["volts"])).unwrap();
    let browser = Browser::open();
    show(&browser, &bench.write("csv.html", &page));
    let csv = browser.run("return tables.csv(stationdb.waveforms[0].rowsOfView())");
    let csv = csv.as_str().unwrap();
    assert!(
        csv.starts_with(
            "column,unit,t,value,samples it stands for\r\nvolts,V,2026-01-01T00:00:00.000000000Z,0,"
        ),
        "{csv:.200}"
    );
    assert!(csv.contains(&format!("volts,V,{},9,", time(5_000))));
    assert_eq!(
        browser.run(r#"return tables.csv([['a,b', 'c"d', 'e']])"#),
        "\"a,b\",\"c\"\"d\",e\r\n"
    );
    let columns =
        browser.run("return tables.csv(tables.rowsOf(document.querySelector('main table')))");
    assert!(columns.as_str().unwrap().starts_with("Column,Unit,Samples,Lowest,at,"), "{columns}");
    // Everything that takes the keyboard has a name, and can be reached.
    let nameless = browser.run(
        "return Array.from(document.querySelectorAll('button, summary, [tabindex]'))
           .filter(e => !(e.textContent.trim() || e.getAttribute('aria-label')) || e.tabIndex < 0).length",
    );
    assert_eq!(nameless, 0);
    assert!(browser.run("return document.querySelectorAll('button').length").as_u64().unwrap() > 8);
    // Text is readable on its paper: a contrast of at least 4.5, in both schemes.
    let contrast = "const rgb = (name) => { const e = document.createElement('i'); e.style.color = `var(--${name})`;
           document.body.append(e); const c = getComputedStyle(e).color.match(/[\\d.]+/g).map(Number); e.remove(); return c; };
         const light = (c) => c.slice(0, 3).map(v => v / 255).map(v => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
           .reduce((sum, v, at) => sum + v * [0.2126, 0.7152, 0.0722][at], 0);
         return ['ink', 'faint', 'limit', 'cursor', 'mark', 'good', 'bad', 'curve-1', 'curve-2', 'curve-3', 'curve-4', 'curve-5', 'curve-6'].map(name => {
           const [a, b] = [light(rgb(name)), light(rgb('paper'))].sort((x, y) => y - x);
           return [name, (a + 0.05) / (b + 0.05)]; })";
    for theme in ["light", "dark"] {
        browser.run(&format!("colours.set('{theme}')"));
        let pairs = browser.run(contrast);
        for pair in pairs.as_array().unwrap() {
            assert!(pair[1].as_f64().unwrap() >= 4.5, "{theme}: {pair}");
        }
    }
}

#[test]
fn the_policy_forbids_other_scripts_and_every_request() {
    if !is_installed() {
        return;
    }
    let bench = Bench::new();
    let table = waves(&bench.session, 1_000, (500, 9.0));
    let page = plot_html(&bench.session, &table, &PlotOptions::new()).unwrap();
    let browser = Browser::open();
    show(&browser, &bench.write("policy.html", &page));
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
}
