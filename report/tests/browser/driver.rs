//! A browser without a window, by WebDriver: a few requests of HTTP over loopback.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{Ipv4Addr, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use stationdb::serde_json::{self, Value, json};

/// One browser, which is closed with this.
pub struct Browser {
    driver: Child,
    port: u16,
    session: String,
    _profile: tempfile::TempDir,
}

/// Whether the browser and its driver are installed. `STATIONDB_BROWSER=required` makes it an error
/// that they are not: the gate installs them.
pub fn is_installed() -> bool {
    let runs = |program: &str| {
        let mut command = Command::new(program);
        command.arg("--version").stdout(Stdio::null()).stderr(Stdio::null());
        command.status().is_ok_and(|status| status.success())
    };
    let is_there = runs("chromedriver") && (runs("chromium") || runs("google-chrome"));
    let is_required = std::env::var("STATIONDB_BROWSER").is_ok_and(|value| value == "required");
    assert!(is_there || !is_required, "chromium and its driver are required, and not installed");
    if !is_there {
        eprintln!("skipped: chromium and chromedriver are not installed");
    }
    is_there
}

impl Browser {
    pub fn open() -> Self {
        Self::with(&[])
    }

    /// A browser with more arguments.
    pub fn with(more: &[&str]) -> Self {
        let mut driver = Command::new("chromedriver")
            .arg("--port=0")
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(driver.stdout.take().unwrap()).lines();
        let port = lines.by_ref().map(|line| line.unwrap()).find_map(|line| {
            let port = line.split_once("started successfully on port ")?.1;
            port.trim_end_matches('.').parse().ok()
        });
        // Whoever does not read would stop the driver.
        std::thread::spawn(move || lines.for_each(drop));
        let profile = tempfile::tempdir().unwrap();
        let directory = format!("--user-data-dir={}", profile.path().display());
        let mut arguments = vec![
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--hide-scrollbars",
            "--force-device-scale-factor=1",
            "--window-size=1280,1000",
            "--lang=en-US",
            "--no-first-run",
            "--disable-background-networking",
            directory.as_str(),
        ];
        arguments.extend(more);
        let mut browser =
            Self { driver, port: port.unwrap(), session: String::new(), _profile: profile };
        let answer = browser.ask(
            "POST",
            "/session",
            &json!({"capabilities": {"alwaysMatch": {
                "browserName": "chrome",
                "goog:loggingPrefs": {"browser": "ALL", "performance": "ALL"},
                "goog:chromeOptions": {"args": arguments},
            }}}),
        );
        browser.session = answer["sessionId"].as_str().unwrap().to_owned();
        // The page that it begins with goes on loading.
        browser.command("POST", "/url", &json!({"url": "about:blank"}));
        browser
    }

    /// Opens a file, and waits until it is loaded.
    pub fn show(&self, path: &Path) {
        let url = format!("file://{}", path.display());
        self.command("POST", "/url", &json!({"url": url}));
    }

    /// Runs the body of a function, and returns what it returns.
    pub fn run(&self, script: &str) -> Value {
        self.command("POST", "/execute/sync", &json!({"script": script, "args": []}))
    }

    /// The entries of the console.
    pub fn console(&self) -> Vec<String> {
        let entries = self.command("POST", "/se/log", &json!({"type": "browser"}));
        let entries = entries.as_array().unwrap().iter();
        let texts = entries.map(|entry| entry["message"].as_str().unwrap().to_owned());
        // What tests do to read pixels, pages do not.
        texts.filter(|text| !text.contains("willReadFrequently")).collect()
    }

    /// The addresses that the page asked for since the last call.
    pub fn requests(&self) -> Vec<String> {
        let entries = self.command("POST", "/se/log", &json!({"type": "performance"}));
        let entries = entries.as_array().unwrap().iter();
        let requests = entries.filter_map(|entry| {
            let message: Value = serde_json::from_str(entry["message"].as_str()?).ok()?;
            let message = &message["message"];
            (message["method"] == "Network.requestWillBeSent")
                .then(|| message["params"]["request"]["url"].as_str().unwrap().to_owned())
        });
        // What the browser itself shows is no page of ours.
        requests.filter(|url| !url.starts_with("chrome://")).collect()
    }

    /// The picture of the window as a PNG file.
    pub fn picture(&self) -> Vec<u8> {
        STANDARD.decode(self.command("GET", "/screenshot", &json!({})).as_str().unwrap()).unwrap()
    }

    /// The page on paper, as a PDF file.
    pub fn print(&self) -> Vec<u8> {
        let printed = self.command("POST", "/print", &json!({"background": true}));
        STANDARD.decode(printed.as_str().unwrap()).unwrap()
    }

    /// A command of the protocol of the browser's developer tools.
    pub fn tool(&self, name: &str, parameters: &Value) -> Value {
        let body = json!({"cmd": name, "params": parameters});
        self.command("POST", "/goog/cdp/execute", &body)
    }

    /// Turns the wheel over an element.
    pub fn actions(&self, actions: &Value) {
        self.command("POST", "/actions", &json!({"actions": actions}));
    }

    fn command(&self, method: &str, path: &str, body: &Value) -> Value {
        self.ask(method, &format!("/session/{}{path}", self.session), body)
    }

    fn ask(&self, method: &str, path: &str, body: &Value) -> Value {
        let body = if method == "GET" { String::new() } else { body.to_string() };
        let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, self.port)).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(120))).unwrap();
        let length = body.len();
        write!(
            stream,
            "{method} {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\
             Content-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}"
        )
        .unwrap();
        let mut reader = BufReader::new(stream);
        let mut length = 0;
        let mut line = String::new();
        while reader.read_line(&mut line).unwrap() > 2 {
            if let Some(value) = line.to_lowercase().strip_prefix("content-length:") {
                length = value.trim().parse().unwrap();
            }
            line.clear();
        }
        let mut answer = vec![0; length];
        reader.read_exact(&mut answer).unwrap();
        let mut answer: Value = serde_json::from_slice(&answer).unwrap();
        let value = answer["value"].take();
        assert!(value.get("error").is_none(), "{method} {path}: {value}");
        value
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            self.command("DELETE", "", &json!({}));
        }
        self.driver.kill().unwrap();
        self.driver.wait().unwrap();
    }
}
