//! A browser without a window: Chromium and WebKit by WebDriver, Firefox by Marionette.

mod engine;
mod http;
mod marionette;
mod shared;

use std::cell::Cell;
use std::panic::AssertUnwindSafe;
use std::path::Path;
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use stationdb::serde_json::{self, Value, json};

pub use engine::{Engine, engines};
use engine::{Running, Wire, console_of_webkit};
pub use shared::{each_engine, each_engine_at_night};

/// One browser, which is closed with this.
pub struct Browser {
    pub engine: Engine,
    wire: Wire,
    // Ends before its profile is removed.
    _running: Vec<Running>,
    home: tempfile::TempDir,
    /// Where the wheel is.
    turned: Cell<i32>,
}

/// Time that a download has.
const SAVED_MAX: Duration = Duration::from_secs(60);

/// A command: its method and path of WebDriver, and its name of Marionette.
struct Command(&'static str, &'static str, &'static str);

const NAVIGATE: Command = Command("POST", "/url", "WebDriver:Navigate");
const RUN: Command = Command("POST", "/execute/sync", "WebDriver:ExecuteScript");
const PICTURE: Command = Command("GET", "/screenshot", "WebDriver:TakeScreenshot");
const PRINT: Command = Command("POST", "/print", "WebDriver:Print");
const ACT: Command = Command("POST", "/actions", "WebDriver:PerformActions");
const END: Command = Command("DELETE", "", "WebDriver:DeleteSession");

impl Browser {
    pub fn open(engine: Engine) -> Self {
        let home = tempfile::tempdir().unwrap();
        let (wire, running) = engine.start(home.path());
        let browser = Self { engine, wire, _running: running, home, turned: Cell::new(0) };
        // The page that it begins with goes on loading.
        browser.show_nothing();
        browser
    }

    /// Leaves the page.
    fn show_nothing(&self) {
        self.command(&NAVIGATE, &json!({"url": "about:blank"}));
    }

    /// Opens a file, and waits until it is loaded.
    pub fn show(&self, path: &Path) {
        let url = format!("file://{}", path.display());
        self.command(&NAVIGATE, &json!({"url": url}));
        if self.engine == Engine::WebKit {
            self.run(
                "window.failures = [];
                 const note = (event) => failures.push(event.type + ': '
                   + (event.message || event.reason || event.violatedDirective));
                 for (const type of ['error', 'unhandledrejection']) { addEventListener(type, note); }",
            );
        }
    }

    /// Opens a page that says nothing on the console, and asks for nothing.
    #[track_caller]
    pub fn show_page(&self, path: &Path) {
        self.console();
        self.log_of_requests();
        self.show(path);
        self.says_nothing();
        if self.engine == Engine::WebKit {
            assert_eq!(console_of_webkit(path), [""; 0]);
        }
        let (is_logged, asked) = self.requests(path);
        assert!(is_logged, "{:?} does not tell its requests", self.engine);
        assert_eq!(asked, [""; 0], "{:?}", self.engine);
    }

    /// Runs the body of a function, and returns what it returns.
    pub fn run(&self, script: &str) -> Value {
        let sandbox = Value::Null;
        self.command(&RUN, &json!({"script": script, "args": [], "sandbox": sandbox}))
    }

    /// Whether nothing is on the console since the last call.
    #[track_caller]
    pub fn says_nothing(&self) {
        assert_eq!(self.console(), [""; 0], "{:?}", self.engine);
    }

    /// The entries of the console since the last call. Firefox tells errors and warnings alone, and WebKit
    /// errors after loading.
    pub fn console(&self) -> Vec<String> {
        let texts = match (&self.wire, self.engine) {
            (Wire::Marionette(session), _) => session.run_as_browser(
                "const texts = Services.console.getMessageArray().map((message) => {
                   try { message.QueryInterface(Ci.nsIScriptError); } catch { return null; }
                   const isOfPage = /^file:/.test(message.sourceName) || /CSP/.test(message.category);
                   return isOfPage ? message.errorMessage : null;
                 });
                 Services.console.reset();
                 return texts.filter((text) => text !== null);",
            ),
            (Wire::WebDriver(_), Engine::WebKit) => {
                self.run("return (window.failures || []).splice(0)")
            }
            (Wire::WebDriver(session), _) => {
                let entries = session.command("POST", "/se/log", &json!({"type": "browser"}));
                entries.as_array().unwrap().iter().map(|entry| entry["message"].clone()).collect()
            }
        };
        let texts = texts.as_array().unwrap().iter().map(|text| text.as_str().unwrap().to_owned());
        // What tests do to read pixels, pages do not.
        texts.filter(|text| !text.contains("willReadFrequently")).collect()
    }

    /// Whether the log has the page itself, and the other addresses that were asked for since the last
    /// call.
    fn requests(&self, page: &Path) -> (bool, Vec<String>) {
        let page = format!("file://{}", page.display());
        let all = self.log_of_requests();
        let is_logged = all.contains(&page);
        (is_logged, all.into_iter().filter(|url| *url != page).collect())
    }

    fn log_of_requests(&self) -> Vec<String> {
        if let (Wire::WebDriver(session), Engine::Chromium) = (&self.wire, self.engine) {
            let entries = session.command("POST", "/se/log", &json!({"type": "performance"}));
            let entries = entries.as_array().unwrap().iter();
            let requests = entries.filter_map(|entry| {
                let message: Value = serde_json::from_str(entry["message"].as_str()?).ok()?;
                let message = &message["message"];
                (message["method"] == "Network.requestWillBeSent")
                    .then(|| message["params"]["request"]["url"].as_str().unwrap().to_owned())
            });
            // What the browser itself shows is no page of ours.
            return requests.filter(|url| !url.starts_with("chrome://")).collect();
        }
        let asked = self.run(
            "const loaded = performance.getEntriesByType('resource').map((entry) => entry.name);
             return [location.href].concat(loaded)",
        );
        let mut asked: Vec<String> = serde_json::from_value(asked).unwrap();
        if let Wire::Marionette(session) = &self.wire {
            let sent = session.run_as_browser("return window.stationdbAsked.splice(0)");
            let sent: Vec<String> = serde_json::from_value(sent).unwrap();
            asked.extend(sent);
        }
        asked
    }

    /// The text of a file that the page saves; none where nobody can say where that is.
    pub fn saved(&self, name: &str) -> Option<String> {
        if self.engine == Engine::WebKit {
            return None;
        }
        let path = self.home.path().join(name);
        let begun = Instant::now();
        loop {
            match std::fs::read_to_string(&path) {
                Ok(text) if !text.is_empty() => {
                    // Another one of this name would get another name.
                    std::fs::remove_file(&path).unwrap();
                    return Some(text);
                }
                other => assert!(begun.elapsed() < SAVED_MAX, "{}: {other:?}", path.display()),
            }
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// The picture of the window as a PNG file.
    pub fn picture(&self) -> Vec<u8> {
        STANDARD.decode(self.command(&PICTURE, &json!({"full": false})).as_str().unwrap()).unwrap()
    }

    /// The page on paper, as a PDF file; none where the driver cannot.
    pub fn print(&self) -> Option<Vec<u8>> {
        if self.engine == Engine::WebKit {
            return None;
        }
        let printed = self.command(&PRINT, &json!({"background": true}));
        Some(STANDARD.decode(printed.as_str().unwrap()).unwrap())
    }

    /// Says to pages whether the reader likes it `light` or `dark`; returns whether the engine can.
    pub fn prefer(&self, scheme: &str) -> bool {
        match (&self.wire, self.engine) {
            (Wire::Marionette(session), _) => {
                let name = "layout.css.prefers-color-scheme.content-override";
                let number = u8::from(scheme == "light");
                let script = format!("Services.prefs.setIntPref('{name}', {number})");
                session.run_as_browser(&script);
                true
            }
            (Wire::WebDriver(_), Engine::WebKit) => false,
            (Wire::WebDriver(session), _) => {
                let features = json!([{"name": "prefers-color-scheme", "value": scheme}]);
                let parameters = json!({"features": features});
                let body = json!({"cmd": "Emulation.setEmulatedMedia", "params": parameters});
                session.command("POST", "/goog/cdp/execute", &body);
                true
            }
        }
    }

    /// What hands do: keys, pointers and wheels.
    pub fn act(&self, actions: &Value) {
        self.command(&ACT, &json!({"actions": actions}));
    }

    /// Turns the wheel at a place of the window.
    pub fn turn_wheel(&self, x: &Value, y: &Value, by: i32) {
        // The driver of WebKit turns to a place of the wheel, and others by a distance.
        let by = if self.engine == Engine::WebKit { self.turned.get() + by } else { by };
        self.turned.set(by);
        self.act(&json!([{"type": "wheel", "id": "wheel", "actions": [
            {"type": "scroll", "x": x, "y": y, "deltaX": 0, "deltaY": by, "duration": 0}]}]));
    }

    fn command(&self, command: &Command, body: &Value) -> Value {
        let Command(method, path, name) = command;
        match &self.wire {
            Wire::WebDriver(session) => session.command(method, path, body),
            Wire::Marionette(session) => session.command(name, body),
        }
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // Also after a test that failed: the driver alone would leave its browser.
        let end = AssertUnwindSafe(|| self.command(&END, &json!({})));
        let ended = std::panic::catch_unwind(end);
        assert!(ended.is_ok() || std::thread::panicking());
    }
}
