//! Browsers that go from one test to the next: starting one takes as long as a short test.

use std::sync::{Mutex, PoisonError};

use stationdb::serde_json::json;

use super::Browser;
use super::engine::{Engine, engines};
use crate::sizes;

/// The browsers that no test has, and how many tests there are.
struct Shared {
    idle: Vec<Browser>,
    tests: usize,
}

static SHARED: Mutex<Shared> = Mutex::new(Shared { idle: Vec::new(), tests: 0 });

fn with<T>(act: impl FnOnce(&mut Shared) -> T) -> T {
    act(&mut SHARED.lock().unwrap_or_else(PoisonError::into_inner))
}

/// A test that runs. Nothing tells the end of the program, so the last of those that run at a time
/// closes the browsers.
struct Test;

impl Test {
    fn begin() -> Self {
        with(|shared| shared.tests += 1);
        Self
    }
}

impl Drop for Test {
    fn drop(&mut self) {
        let closed = with(|shared| {
            shared.tests -= 1;
            if shared.tests == 0 { std::mem::take(&mut shared.idle) } else { Vec::new() }
        });
        drop(closed);
    }
}

fn take(engine: Engine) -> Browser {
    let found = with(|shared| {
        let at = shared.idle.iter().position(|browser| browser.engine == engine)?;
        Some(shared.idle.swap_remove(at))
    });
    found.unwrap_or_else(|| Browser::open(engine))
}

/// Keeps a browser for the next test, without a page and with the pointer where no page has a chart.
fn give_back(browser: Browser) {
    browser.show_nothing();
    browser.act(&json!([{
        "type": "pointer", "id": "mouse", "parameters": {"pointerType": "mouse"},
        "actions": [{"type": "pointerMove", "x": 1, "y": 1}],
    }]));
    with(|shared| shared.idle.push(browser));
}

/// Runs a test in a browser of each engine, one after the other.
pub fn each_engine(test: impl Fn(&Browser)) {
    in_engines(usize::MAX, test);
}

/// As [`each_engine`] at night; with each change in the first engine alone, because it takes long.
pub fn each_engine_at_night(test: impl Fn(&Browser)) {
    in_engines(if sizes::does("report_compared") { usize::MAX } else { 1 }, test);
}

fn in_engines(most: usize, test: impl Fn(&Browser)) {
    let _running = Test::begin();
    for engine in engines().into_iter().take(most) {
        let browser = take(engine);
        test(&browser);
        browser.says_nothing();
        give_back(browser);
    }
}
