//! Mouse, touch and keys, as the browser gets them from hands.

use std::time::Duration;

use stationdb::serde_json::{Value, json};
use stationdb_report::{Limits, PlotOptions, plot_html};

use crate::driver::{Browser, Engine, each_engine};
use crate::stores::{Bench, STEP_NS, waves};

const ROWS: u64 = 100_000;
/// The end of the samples of the test of keys, in parts of `ROWS`.
const ROWS_OF_KEYS: f64 = 0.1;
const SHIFT: &str = "\u{e008}";
const CONTROL: &str = "\u{e009}";

/// The place of the window at a part of the width of the first chart.
fn at(browser: &Browser, part: f64) -> [Value; 2] {
    let place = browser.run(&format!(
        "const box = stationdb.waveforms[0].charts[0].plot.over.getBoundingClientRect();
         return [Math.round(box.left + box.width * {part}), Math.round(box.top + 60)]"
    ));
    [place[0].clone(), place[1].clone()]
}

/// The range that is seen, in parts of all samples.
fn view(browser: &Browser) -> (f64, f64) {
    let view = browser.run("const w = stationdb.waveforms[0]; return [w.from, w.to]");
    let part = |value: &Value| value.as_f64().unwrap() / ((ROWS - 1) as f64 * STEP_NS as f64);
    (part(&view[0]), part(&view[1]))
}

#[track_caller]
fn sees(browser: &Browser, from: f64, to: f64) {
    let seen = view(browser);
    let is_near = (seen.0 - from).abs() < 0.005 && (seen.1 - to).abs() < 0.005;
    assert!(is_near, "{:?}: {seen:?} in place of {:?}", browser.engine, (from, to));
}

/// A pointer that goes down at the first place, and up at the last one; with a key, if there is one.
fn drag(browser: &Browser, parts: &[f64], key: Option<&str>) {
    let moved = |part: &f64| {
        let [x, y] = at(browser, *part);
        json!({"type": "pointerMove", "x": x, "y": y, "duration": 30})
    };
    let pause = || json!({"type": "pause"});
    let mut pointer = vec![pause(), moved(&parts[0]), json!({"type": "pointerDown", "button": 0})];
    pointer.extend(parts[1..].iter().map(moved));
    pointer.push(json!({"type": "pointerUp", "button": 0}));
    let mouse = json!({
        "type": "pointer", "id": "mouse", "parameters": {"pointerType": "mouse"}, "actions": pointer,
    });
    let Some(key) = key else {
        browser.act(&json!([mouse]));
        return;
    };
    let mut keys = vec![json!({"type": "keyDown", "value": key})];
    keys.resize_with(pointer.len(), pause);
    keys.push(json!({"type": "keyUp", "value": key}));
    browser.act(&json!([{"type": "key", "id": "keys", "actions": keys}, mouse]));
}

fn cursors(browser: &Browser) -> Value {
    browser.run("const c = stationdb.waveforms[0].cursors; return [c.A !== null, c.B !== null]")
}

#[test]
fn hands_zoom_move_and_place_cursors() {
    let bench = Bench::new();
    let table = waves(&bench.session, ROWS, (5_000, 9.0));
    let page = plot_html(&bench.session, &table, &PlotOptions::new().columns(["volts"])).unwrap();
    let path = bench.write("hands.html", &page);
    each_engine(|browser| {
        browser.show_page(&path);
        mouse(browser);
        keys(browser);
        if browser.engine != Engine::WebKit {
            fingers(browser);
        }
        touches(browser);
    });
}

fn mouse(browser: &Browser) {
    drag(browser, &[0.25, 0.5, 0.75], None);
    sees(browser, 0.25, 0.75);
    // The end of a drag is no click.
    assert_eq!(cursors(browser), json!([false, false]), "{:?}", browser.engine);
    drag(browser, &[0.6, 0.5, 0.4], Some(SHIFT));
    sees(browser, 0.35, 0.85);
    assert_eq!(cursors(browser), json!([false, false]), "{:?}", browser.engine);
    drag(browser, &[0.25], None);
    assert_eq!(cursors(browser), json!([true, false]), "{:?}", browser.engine);
    drag(browser, &[0.75], Some(CONTROL));
    assert_eq!(cursors(browser), json!([true, true]), "{:?}", browser.engine);
    // A quarter and three quarters of half of all samples are a quarter of them apart.
    let readout = browser.run(
        "return Array.from(document.querySelector('.readout table').rows[1].cells, cell => cell.innerText)",
    );
    // Column, A, B, what is between the values, and between the places.
    let apart = readout[6].as_str().unwrap().strip_suffix(" s").unwrap().parse::<f64>().unwrap();
    assert!((apart - 1.25).abs() < 0.02, "{readout}");
    let [x, y] = at(browser, 0.5);
    let click =
        || [json!({"type": "pointerDown", "button": 0}), json!({"type": "pointerUp", "button": 0})];
    let mut twice = vec![json!({"type": "pointerMove", "x": x, "y": y})];
    twice.extend(click());
    twice.extend(click());
    browser.act(&json!([{
        "type": "pointer", "id": "mouse", "parameters": {"pointerType": "mouse"}, "actions": twice,
    }]));
    sees(browser, 0.0, 1.0);
}

fn keys(browser: &Browser) {
    let press = |keys: &[&str]| {
        let down = keys.iter().map(|key| json!({"type": "keyDown", "value": key}));
        let up = keys.iter().rev().map(|key| json!({"type": "keyUp", "value": key}));
        let actions: Vec<Value> = down.chain(up).collect();
        browser.act(&json!([{"type": "key", "id": "keys", "actions": actions}]));
    };
    browser.run("stationdb.waveforms[0].clearCursors(); document.querySelector('.plot').focus()");
    press(&["+"]);
    sees(browser, 0.25, 0.75);
    press(&["\u{e014}"]);
    sees(browser, 0.3, 0.8);
    press(&["\u{e012}"]);
    press(&["-"]);
    sees(browser, 0.0, 1.0);
    press(&["a"]);
    assert_eq!(cursors(browser), json!([true, false]), "{:?}", browser.engine);
    // From one drawn sample to the next.
    let place = || browser.run("return stationdb.waveforms[0].cursors.A").as_f64().unwrap();
    let before = place();
    press(&[SHIFT, "\u{e014}"]);
    let next = place();
    let drawn = browser.run(&format!(
        "return stationdb.waveforms[0].charts[0].points.x.filter(x => x > {before} && x <= {next}).length"
    ));
    assert_eq!(drawn, 1, "{:?}", browser.engine);
    press(&["\u{e00c}"]);
    assert_eq!(cursors(browser), json!([false, false]), "{:?}", browser.engine);
}

fn fingers(browser: &Browser) {
    let finger = |id: &str, parts: [f64; 3]| {
        let moved = |part: f64, duration: u32| {
            let [x, y] = at(browser, part);
            json!({"type": "pointerMove", "x": x, "y": y, "duration": duration})
        };
        let actions = [
            moved(parts[0], 0),
            json!({"type": "pointerDown", "button": 0}),
            moved(parts[1], 60),
            moved(parts[2], 60),
            json!({"type": "pointerUp", "button": 0}),
        ];
        let parameters = json!({"pointerType": "touch"});
        json!({"type": "pointer", "id": id, "parameters": parameters, "actions": actions})
    };
    browser.run("stationdb.waveforms[0].showAll()");
    // Two fingers that go apart to twice their distance.
    browser.act(&json!([finger("one", [0.4, 0.35, 0.3]), finger("two", [0.6, 0.65, 0.7])]));
    let (from, to) = view(browser);
    assert!((to - from - 0.5).abs() < 0.05, "{:?}: {from} {to}", browser.engine);
    // One finger takes the curve along.
    browser.act(&json!([finger("one", [0.6, 0.5, 0.4])]));
    let (later, end) = view(browser);
    assert!(((end - later) - (to - from)).abs() < 1e-9, "{:?}", browser.engine);
    assert!((later - from - (to - from) * 0.2).abs() < 0.03, "{:?}: {later}", browser.engine);
    // A finger that goes up or down scrolls the page, and one that taps places a cursor.
    let [x, y] = at(browser, 0.5);
    let moved = |by: i64| json!({"type": "pointerMove", "x": x, "y": y.as_i64().unwrap() + by});
    let down = json!({"type": "pointerDown", "button": 0});
    let up = json!({"type": "pointerUp", "button": 0});
    let one = |actions: Value| {
        let parameters = json!({"pointerType": "touch"});
        browser.act(&json!([{"type": "pointer", "id": "one", "parameters": parameters, "actions": actions}]));
    };
    one(json!([moved(0), down, moved(-30), moved(-60), up]));
    assert_eq!(view(browser), (later, end), "{:?}", browser.engine);
    browser.run("scrollTo(0, 0)");
    one(json!([moved(0), down, up]));
    assert_eq!(cursors(browser), json!([true, false]), "{:?}", browser.engine);
}

/// Fingers as the page gets them, for the driver of WebKit has none.
fn touches(browser: &Browser) {
    let seen = browser.run(
        "const w = stationdb.waveforms[0];
         w.showAll();
         const { over } = w.charts[0].plot;
         const { left, top, width } = over.getBoundingClientRect();
         const touch = (type, ...fingers) => {
           const event = new Event(type, { bubbles: true, cancelable: true });
           event.touches = fingers.map(([x, y]) => ({ clientX: left + x * width, clientY: top + y }));
           over.dispatchEvent(event);
           return event.defaultPrevented;
         };
         const part = () => [w.from, w.to].map((place) => Math.round(place / w.x.to * 1000) / 1000);
         const seen = [];
         touch('touchstart', [0.4, 50], [0.6, 50]);
         seen.push(touch('touchmove', [0.3, 50], [0.7, 50]), ...part());
         touch('touchend');
         touch('touchstart', [0.6, 50]);
         seen.push(touch('touchmove', [0.4, 52]), ...part());
         // To the side and then down: the page scrolls.
         seen.push(touch('touchmove', [0.4, 90]), ...part());
         touch('touchend');
         return seen",
    );
    let expected = json!([true, 0.25, 0.75, true, 0.35, 0.85, false, 0.35, 0.85]);
    assert_eq!(seen, expected, "{:?}", browser.engine);
}

/// Whoever has no mouse reaches the chart, the violations and the table of the drawn samples.
#[test]
fn a_page_is_used_with_the_keyboard_alone() {
    let bench = Bench::new();
    let table = waves(&bench.session, 10_000, (5_000, 9.0));
    let limits = Limits::new("band", None, Some(3.0));
    let options = PlotOptions::new().columns(["volts"]).limits(limits);
    let path = bench.write("keys.html", &plot_html(&bench.session, &table, &options).unwrap());
    each_engine(|browser| {
        let engine = browser.engine;
        browser.show_page(&path);
        let said = || browser.run("return document.getElementById('said').textContent");
        let press = |key: &str| {
            browser.act(&json!([{"type": "key", "id": "keys", "actions": [
                {"type": "keyDown", "value": key}, {"type": "keyUp", "value": key}]}]));
        };
        let reach = |selector: &str| {
            for _ in 0..40 {
                press("\u{e004}");
                let script = format!("return document.activeElement.matches(\"{selector}\")");
                if browser.run(&script) == true {
                    // It is seen where the keyboard is.
                    let outline =
                        browser.run("return getComputedStyle(document.activeElement).outlineStyle");
                    assert_ne!(outline, "none", "{engine:?}: {selector}");
                    return;
                }
            }
            panic!("{engine:?}: the keyboard does not reach {selector}");
        };
        reach("#settings button");
        reach(".charts button[title^='Shows the next']");
        press("\u{e007}");
        assert!(
            said().as_str().unwrap().starts_with("Violation 1 of 1: volts 9 at "),
            "{engine:?}"
        );
        reach(".plot");
        press("\u{e011}");
        sees(browser, 0.0, ROWS_OF_KEYS);
        press("n");
        assert!(view(browser).1 < ROWS_OF_KEYS, "{engine:?}");
        assert_eq!(cursors(browser), json!([true, false]), "{engine:?}");
        reach("summary");
        press("\u{e007}");
        // The table is made after the element has told that it is open.
        let has_rows = || {
            let rows = browser.run("return document.querySelectorAll('.numbers tr').length");
            rows.as_u64() > Some(10) || {
                std::thread::sleep(Duration::from_millis(50));
                false
            }
        };
        assert!((0..100).any(|_| has_rows()), "{engine:?}");
        reach(".charts details button[title^='Saves']");
        press(" ");
        assert_eq!(said(), "Saved Waves.csv", "{engine:?}");
    });
}
