//! The engines of browsers, whether they are installed, and how they are started.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use stationdb::serde_json::json;

use super::http::WebDriver;
use super::marionette::Marionette;

/// An engine that browsers have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Engine {
    /// Chrome and Edge have it.
    Chromium,
    Firefox,
    /// Safari has it.
    WebKit,
}

/// A connection to a browser.
pub enum Wire {
    WebDriver(WebDriver),
    Marionette(Marionette),
}

/// A program that ends with this.
pub struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

const ALL: [Engine; 3] = [Engine::Chromium, Engine::Firefox, Engine::WebKit];
/// The zone of the reader: pages begin with UTC all the same.
const ZONE: &str = "America/New_York";
const WINDOW: (u32, u32) = (1280, 1000);
/// Time that a browser has to begin on a busy machine.
const BEGIN_MAX: Duration = Duration::from_secs(120);
const PREFERENCES: &[&str] = &[
    r#""marionette.port", 0"#,
    r#""browser.shell.checkDefaultBrowser", false"#,
    r#""browser.startup.page", 0"#,
    r#""datareporting.policy.dataSubmissionEnabled", false"#,
    r#""toolkit.telemetry.reportingpolicy.firstRun", false"#,
    r#""browser.download.folderList", 2"#,
    r#""browser.download.alwaysOpenPanel", false"#,
    r#""intl.accept_languages", "en-US""#,
    // Otherwise pages have no events of touch where the screen has none.
    r#""dom.w3c_touch_events.enabled", 1"#,
];

/// The engines that pages are tried in: those that `STATIONDB_BROWSER` names, with commas between
/// them, which have to be there, or else Chromium and Firefox where they are installed. WebKit takes
/// longer, and is for the night.
pub fn engines() -> Vec<Engine> {
    let Ok(names) = std::env::var("STATIONDB_BROWSER") else {
        let each_time = [Engine::Chromium, Engine::Firefox].into_iter();
        let found: Vec<Engine> = each_time.filter(|engine| engine.is_installed()).collect();
        if found.is_empty() {
            eprintln!("skipped: there is no Chromium with its driver, and no Firefox");
        }
        return found;
    };
    let named = names.split(',').map(|name| {
        let engine = ALL.into_iter().find(|engine| engine.name() == name);
        let engine = engine.unwrap_or_else(|| panic!("STATIONDB_BROWSER: no engine {name:?}"));
        assert!(engine.is_installed(), "{name} and its driver are required, and not installed");
        engine
    });
    named.collect()
}

fn runs(program: &str) -> bool {
    let mut command = Command::new(program);
    command.arg("--version").stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

/// The browser of WebKit for GTK, which is beside its library.
fn mini_browser() -> Option<PathBuf> {
    let directories = |path: &Path| fs::read_dir(path).into_iter().flatten().flatten();
    let mut found = directories(Path::new("/usr/lib"))
        .flat_map(|system| fs::read_dir(system.path()).into_iter().flatten().flatten())
        .filter(|entry| entry.file_name().to_string_lossy().starts_with("webkit2gtk-"))
        .map(|entry| entry.path().join("MiniBrowser"))
        .filter(|path| path.is_file());
    found.next()
}

impl Engine {
    fn name(self) -> &'static str {
        match self {
            Self::Chromium => "chromium",
            Self::Firefox => "firefox",
            Self::WebKit => "webkit",
        }
    }

    fn is_installed(self) -> bool {
        match self {
            Self::Chromium => runs("chromedriver") && (runs("chromium") || runs("google-chrome")),
            Self::Firefox => firefox().is_some(),
            Self::WebKit => {
                // Both answer `--version` with an error.
                let is_there = |program: &str| Path::new("/usr/bin").join(program).is_file();
                ["Xvfb", "WebKitWebDriver"].into_iter().all(is_there) && mini_browser().is_some()
            }
        }
    }

    /// Starts the engine with a profile in an empty directory.
    pub fn start(self, home: &Path) -> (Wire, Vec<Running>) {
        match self {
            Self::Chromium => start_chromium(home),
            Self::Firefox => start_firefox(home),
            Self::WebKit => start_webkit(),
        }
    }
}

/// The word behind `before` in what a program writes.
fn said(program: &mut Child, before: &str) -> String {
    let mut lines = BufReader::new(program.stdout.take().unwrap()).lines();
    let word = lines.by_ref().map(|line| line.unwrap()).find_map(|line| {
        let (_, word) = line.split_once(before)?;
        Some(word.trim().trim_end_matches('.').to_owned())
    });
    // Whoever does not read would stop the program.
    std::thread::spawn(move || lines.for_each(drop));
    word.unwrap()
}

fn start_chromium(home: &Path) -> (Wire, Vec<Running>) {
    let mut driver = Command::new("chromedriver");
    driver.arg("--port=0").env("TZ", ZONE).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut driver = driver.spawn().unwrap();
    let port = said(&mut driver, "started successfully on port ").parse().unwrap();
    let running = vec![Running(driver)];
    let arguments = [
        "--headless=new",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-dev-shm-usage",
        "--hide-scrollbars",
        "--force-device-scale-factor=1",
        &format!("--window-size={},{}", WINDOW.0, WINDOW.1),
        "--lang=en-US",
        "--no-first-run",
        "--disable-background-networking",
        &format!("--user-data-dir={}", home.display()),
    ];
    let capabilities = json!({
        "browserName": "chrome",
        "goog:loggingPrefs": {"browser": "ALL", "performance": "ALL"},
        "goog:chromeOptions": {
            "args": arguments,
            "prefs": {"download.default_directory": home},
        },
    });
    (Wire::WebDriver(WebDriver::begin(port, &capabilities)), running)
}

/// Firefox as its package calls it.
fn firefox() -> Option<&'static str> {
    ["firefox-esr", "firefox"].into_iter().find(|name| runs(name))
}

fn start_firefox(home: &Path) -> (Wire, Vec<Running>) {
    let directory = format!("\"browser.download.dir\", {}", json!(home));
    let preferences = PREFERENCES.iter().copied().chain([directory.as_str()]);
    let lines: String =
        preferences.map(|preference| format!("user_pref({preference});\n")).collect();
    fs::write(home.join("user.js"), lines).unwrap();
    let mut command = Command::new(firefox().unwrap());
    command
        .args(["--headless", "--marionette", "--remote-allow-system-access", "--no-remote"])
        .arg(format!("--width={}", WINDOW.0))
        .arg(format!("--height={}", WINDOW.1))
        .arg("--profile")
        .arg(home)
        .env("TZ", ZONE)
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let running = vec![Running(command.spawn().unwrap())];
    let begun = Instant::now();
    let port = loop {
        let text = fs::read_to_string(home.join("MarionetteActivePort")).unwrap_or_default();
        if let Ok(port) = text.trim().parse() {
            break port;
        }
        assert!(begun.elapsed() < BEGIN_MAX, "Firefox does not listen");
        std::thread::sleep(Duration::from_millis(50));
    };
    let session = Marionette::begin(port);
    session.run_as_browser(
        // What Firefox asks for by itself is of no page.
        "window.stationdbAsked = [];
         Services.obs.addObserver((subject) => {
           const channel = subject.QueryInterface(Ci.nsIChannel);
           if (!channel.loadInfo.triggeringPrincipal.isSystemPrincipal) {
             window.stationdbAsked.push(channel.URI.spec);
           }
         }, 'http-on-opening-request');",
    );
    (Wire::Marionette(session), running)
}

/// An X server without a screen, and its number.
pub fn start_display() -> (Running, String) {
    let mut display = Command::new("Xvfb")
        .args(["-displayfd", "1", "-screen", "0", "1400x1200x24", "-nolisten", "tcp", "-noreset"])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let number = said(&mut display, "");
    (Running(display), format!(":{number}"))
}

/// What WebKit needs of its surroundings. Without a language of the system it says the language "C" to
/// pages, which is none.
fn of_webkit(program: impl AsRef<std::ffi::OsStr>, display: &str) -> Command {
    let mut command = Command::new(program);
    command.env("DISPLAY", display).env("GDK_BACKEND", "x11").env("LC_ALL", "en_US.UTF-8");
    command.env("TZ", ZONE).stderr(Stdio::null());
    command
}

fn start_webkit() -> (Wire, Vec<Running>) {
    let (display, number) = start_display();
    // The driver does not say which port it takes.
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = free.local_addr().unwrap().port();
    drop(free);
    let mut driver = of_webkit("WebKitWebDriver", &number);
    driver.arg(format!("--port={port}")).stdout(Stdio::null());
    let running = vec![Running(driver.spawn().unwrap()), display];
    let begun = Instant::now();
    while std::net::TcpStream::connect(("127.0.0.1", port)).is_err() {
        assert!(begun.elapsed() < BEGIN_MAX, "WebKitWebDriver does not listen");
        std::thread::sleep(Duration::from_millis(20));
    }
    let capabilities = json!({
        "browserName": "MiniBrowser",
        "webkitgtk:browserOptions": {
            "binary": mini_browser().unwrap(),
            "args": ["--automation", "--private"],
        },
    });
    let session = WebDriver::begin(port, &capabilities);
    let rectangle = json!({"width": WINDOW.0, "height": WINDOW.1});
    session.command("POST", "/window/rect", &rectangle);
    (Wire::WebDriver(session), running)
}

/// What a page writes on the console of WebKit while it is loaded. The driver does not tell it, so a
/// browser without a driver shows the page in a frame of another one, which says when it is there.
pub fn console_of_webkit(page: &Path) -> Vec<String> {
    const LOADED: &str = "the frame is loaded";
    let home = tempfile::tempdir().unwrap();
    let around = home.path().join("around.html");
    let address = format!("file://{}", page.display());
    let text = format!(
        "<!DOCTYPE html><title>around</title><script>function said() {{
           setTimeout(() => console.log('{LOADED}'), 200); }}</script>
         <iframe src=\"{address}\" width=\"1200\" height=\"900\" onload=\"said()\"></iframe>"
    );
    fs::write(&around, text).unwrap();
    let (_display, number) = start_display();
    // A private window has other settings, so its files go to a home of its own.
    let mut browser = of_webkit(mini_browser().unwrap(), &number)
        .arg("--enable-write-console-messages-to-stdout=true")
        .arg(format!("file://{}", around.display()))
        .env("HOME", home.path())
        .env("XDG_DATA_HOME", home.path())
        .env("XDG_CACHE_HOME", home.path())
        .env("XDG_CONFIG_HOME", home.path())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let output = BufReader::new(browser.stderr.take().unwrap());
    let _browser = Running(browser);
    let (send, lines) = std::sync::mpsc::channel();
    std::thread::spawn(move || output.lines().try_for_each(|line| send.send(line.unwrap())));
    let mut said = Vec::new();
    loop {
        let line = lines.recv_timeout(BEGIN_MAX);
        let line = line.unwrap_or_else(|_| panic!("WebKit did not load {address}: {said:?}"));
        if line.contains(LOADED) {
            return said;
        }
        if line.contains("CONSOLE") {
            said.push(line);
        }
    }
}
