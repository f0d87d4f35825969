//! Marionette, the protocol of Firefox for its own tests: JSON with its length before it, over loopback.

use std::cell::{Cell, RefCell};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{Ipv4Addr, TcpStream};
use std::time::Duration;

use stationdb::serde_json::{self, Value, json};

/// A session of Firefox.
pub struct Marionette {
    stream: RefCell<BufReader<TcpStream>>,
    commands: Cell<u64>,
}

impl Marionette {
    /// Begins a session with the Firefox that listens at a port.
    pub fn begin(port: u16) -> Self {
        let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(120))).unwrap();
        stream.set_nodelay(true).unwrap();
        let session = Self { stream: RefCell::new(BufReader::new(stream)), commands: Cell::new(0) };
        assert_eq!(session.read()["marionetteProtocol"], 3);
        session.command("WebDriver:NewSession", &json!({}));
        session
    }

    /// Sends a command, and returns its value.
    pub fn command(&self, name: &str, parameters: &Value) -> Value {
        let number = self.commands.get() + 1;
        self.commands.set(number);
        let text = json!([0, number, name, parameters]).to_string();
        // In one piece: of small pieces, TCP holds each back until the one before has arrived.
        let message = format!("{}:{text}", text.len());
        self.stream.borrow_mut().get_mut().write_all(message.as_bytes()).unwrap();
        let mut answer = self.read();
        assert_eq!((&answer[0], &answer[1]), (&json!(1), &json!(number)), "{name}");
        assert!(answer[2].is_null(), "{name}: {}", answer[2]);
        let mut value = answer[3].take();
        if value.get("value").is_some() { value["value"].take() } else { value }
    }

    /// Runs the body of a function with the rights of the browser.
    pub fn run_as_browser(&self, script: &str) -> Value {
        self.command("Marionette:SetContext", &json!({"value": "chrome"}));
        let parameters = json!({"script": script, "args": [], "newSandbox": false});
        let value = self.command("WebDriver:ExecuteScript", &parameters);
        self.command("Marionette:SetContext", &json!({"value": "content"}));
        value
    }

    fn read(&self) -> Value {
        let mut stream = self.stream.borrow_mut();
        let mut length = Vec::new();
        stream.read_until(b':', &mut length).unwrap();
        let length = str::from_utf8(&length).unwrap().trim_end_matches(':').parse().unwrap();
        let mut text = vec![0; length];
        stream.read_exact(&mut text).unwrap();
        serde_json::from_slice(&text).unwrap()
    }
}
