//! A server on the loopback address, and a plain HTTP client.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use serde_json::Value;
use stationdb::{Store, StoreOptions};
use stationdb_server_example::{App, serve};

/// A server over a store in a directory of its own.
pub struct Server {
    pub address: SocketAddr,
    pub directory: tempfile::TempDir,
    runtime: Option<tokio::runtime::Runtime>,
}

/// What came back.
#[derive(Debug)]
pub struct Reply {
    pub status: u16,
    pub headers: BTreeMap<String, String>,
    pub body: Vec<u8>,
    /// Whether the body came to its end.
    pub is_whole: bool,
}

impl Reply {
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }
}

impl Server {
    pub fn start(options: StoreOptions, deadline: Duration) -> Self {
        Self::bounded(options, deadline, Duration::from_secs(60), 256 * 1024 * 1024)
    }

    /// A server with these bounds.
    pub fn bounded(
        options: StoreOptions,
        deadline: Duration,
        patience: Duration,
        body_bytes: usize,
    ) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let store = options.open(directory.path()).unwrap();
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()
            .unwrap();
        let listener = runtime.block_on(tokio::net::TcpListener::bind("127.0.0.1:0")).unwrap();
        let address = listener.local_addr().unwrap();
        runtime.spawn(serve(listener, App { store, deadline, patience, body_bytes }));
        Self { address, directory, runtime: Some(runtime) }
    }

    pub fn new() -> Self {
        Self::start(Store::options(), Duration::from_secs(60))
    }

    pub fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(300))).unwrap();
        stream
    }

    /// Sends the head of a request whose body has this length.
    pub fn head(&self, verb: &str, path: &str, headers: &[(&str, &str)], len: usize) -> TcpStream {
        let mut stream = self.connect();
        let mut head = format!("{verb} {path} HTTP/1.1\r\nhost: loopback\r\nconnection: close\r\n");
        for (name, value) in headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        head.push_str(&format!("content-length: {len}\r\n\r\n"));
        stream.write_all(head.as_bytes()).unwrap();
        stream
    }

    pub fn send(&self, verb: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Reply {
        let mut stream = self.head(verb, path, headers, body.len());
        stream.write_all(body).unwrap();
        reply(&mut stream)
    }

    pub fn post(&self, path: &str, body: &Value) -> Reply {
        self.send(
            "POST",
            path,
            &[("content-type", "application/json")],
            body.to_string().as_bytes(),
        )
    }

    pub fn get(&self, path: &str) -> Reply {
        self.send("GET", path, &[], b"")
    }

    /// Contents of files and packages on the disk.
    pub fn contents(&self) -> usize {
        self.content_paths().len()
    }

    pub fn content_paths(&self) -> Vec<PathBuf> {
        let folders = std::fs::read_dir(self.directory.path().join("files")).unwrap().flatten();
        let folders = folders.map(|folder| folder.path()).filter(|folder| folder.is_dir());
        let files = folders.flat_map(|folder| folder.read_dir().unwrap().flatten());
        files.map(|file| file.path()).collect()
    }

    /// Connections that the server holds, and itself. Calls on threads that may block are none.
    pub fn tasks(&self) -> usize {
        self.runtime.as_ref().unwrap().metrics().num_alive_tasks()
    }

    /// Waits until all calls have ended, and closes the store.
    pub fn stop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_timeout(Duration::from_secs(60));
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

/// Waits until `is` holds: work that nobody waits for ends by itself.
pub fn wait(what: &str, is: impl Fn() -> bool) {
    let began = Instant::now();
    while !is() {
        assert!(began.elapsed() < Duration::from_secs(30), "{what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// A form with these parts: name, file name, content.
pub fn form(parts: &[(&str, Option<&str>, &[u8])]) -> (String, Vec<u8>) {
    let mut body = Vec::new();
    for (name, file_name, content) in parts {
        let file_name = file_name.map(|name| format!("; filename=\"{name}\"")).unwrap_or_default();
        body.extend(
            format!("--cut\r\ncontent-disposition: form-data; name=\"{name}\"{file_name}\r\n\r\n")
                .bytes(),
        );
        body.extend_from_slice(content);
        body.extend(b"\r\n");
    }
    body.extend(b"--cut--\r\n");
    ("multipart/form-data; boundary=cut".to_owned(), body)
}

/// Reads a response to its end, in pieces with lengths of their own or not.
pub fn reply(stream: &mut TcpStream) -> Reply {
    reply_after(Vec::new(), stream)
}

/// As [`reply`], where the first bytes were read before.
pub fn reply_after(mut bytes: Vec<u8>, stream: &mut TcpStream) -> Reply {
    // A connection that is cut may end with an error.
    let _ = stream.read_to_end(&mut bytes);
    let at = bytes
        .windows(4)
        .position(|end| end == b"\r\n\r\n")
        .unwrap_or_else(|| panic!("no head: {bytes:?}"));
    let head = String::from_utf8_lossy(&bytes[..at]).into_owned();
    let mut lines = head.split("\r\n");
    let status = lines.next().and_then(|line| line.split(' ').nth(1)?.parse().ok()).unwrap();
    let headers: BTreeMap<String, String> = lines
        .filter_map(|line| line.split_once(": "))
        .map(|(name, value)| (name.to_lowercase(), value.to_owned()))
        .collect();
    let rest = &bytes[at + 4..];
    let (body, is_whole) = match headers.get("transfer-encoding") {
        Some(_) => pieces(rest),
        None => {
            let len = headers.get("content-length").map_or(0, |len| len.parse().unwrap());
            (rest.to_vec(), rest.len() == len)
        }
    };
    Reply { status, headers, body, is_whole }
}

fn pieces(mut rest: &[u8]) -> (Vec<u8>, bool) {
    let mut body = Vec::new();
    while let Some(at) = rest.windows(2).position(|end| end == b"\r\n") {
        let Ok(len) = usize::from_str_radix(&String::from_utf8_lossy(&rest[..at]), 16) else {
            break;
        };
        if len == 0 {
            return (body, true);
        }
        let Some(piece) = rest.get(at + 2..at + 2 + len) else { break };
        body.extend_from_slice(piece);
        rest = rest.get(at + 2 + len + 2..).unwrap_or_default();
    }
    (body, false)
}
