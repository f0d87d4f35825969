//! A server that speaks S3, on loopback: moto's, for the interpreter that `STATIONDB_PYTHON` names.
#![allow(dead_code, reason = "each suite uses a part")]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

use object_store::aws::AmazonS3Builder;

use super::Objects;

/// Takes a free port, prints it, and ends with its standard input, which the test holds.
///
/// It carries out one request at a time, so that a conditional put is one step whatever moto locks:
/// the publisher is tested here, and not the server. Connections have threads, because a client keeps
/// some that it does not use.
const SERVER: &str = r#"
import os, sys, threading
from moto.server import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import make_server
from werkzeug.test import Client
app = DomainDispatcherApplication(create_backend_app)
key = "AWS4-HMAC-SHA256 Credential=key/20240101/us-east-1/s3/aws4_request"
made = Client(app).put("/lakes", base_url="http://127.0.0.1", headers={"Authorization": key})
assert made.status_code == 200, made.get_data()
lock = threading.Lock()
calls = set()
def one_at_a_time(environ, start_response):
    if environ["PATH_INFO"] == "/calls":
        told = " ".join(sorted(calls)).encode()
        start_response("200 OK", [("Content-Length", str(len(told)))])
        return [told]
    signed = environ.get("HTTP_AUTHORIZATION", "")
    if "Credential=" in signed:
        is_list = "list-type=" in environ["QUERY_STRING"]
        what = "LIST" if is_list else environ["REQUEST_METHOD"]
        calls.add(signed.split("Credential=")[1].split("/")[0] + ":" + what)
    with lock:
        return app(environ, start_response)
server = make_server("127.0.0.1", 0, one_at_a_time, threaded=True)
def end_with_the_test():
    sys.stdin.read()
    os._exit(0)
threading.Thread(target=end_with_the_test, daemon=True).start()
print(server.port, flush=True)
server.serve_forever()
"#;

/// A server, which ends with the test.
pub struct Server {
    process: Child,
    port: u16,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Server {
    /// `None` where moto is not installed and nobody said that it is.
    pub fn start() -> Option<Self> {
        let named = std::env::var("STATIONDB_PYTHON").ok();
        let python = named.clone().unwrap_or_else(|| "python3".to_owned());
        let has_moto = Command::new(&python).args(["-c", "import moto.server"]).output();
        if !has_moto.is_ok_and(|output| output.status.success()) {
            assert!(named.is_none(), "{python}, which STATIONDB_PYTHON names, has no moto[server]");
            println!("skipped: {python} has no moto[server]; STATIONDB_PYTHON may name another");
            return None;
        }
        let mut process = Command::new(&python)
            .args(["-c", SERVER])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let port = line.trim().parse();
        Some(Self { process, port: port.expect("the server printed no port") })
    }

    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// The key ids by which requests were signed, each with a method or LIST, as `key:GET`; in order.
    pub fn calls(&self) -> Vec<String> {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        stream.write_all(b"GET /calls HTTP/1.0\r\n\r\n").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let (_, calls) = answer.split_once("\r\n\r\n").unwrap();
        calls.split_whitespace().map(str::to_owned).collect()
    }

    /// The bucket of the server, as a caller of the publisher configures it.
    pub fn objects(&self) -> Objects {
        let store = AmazonS3Builder::new()
            .with_endpoint(self.url())
            .with_allow_http(true)
            .with_region("us-east-1")
            .with_bucket_name("lakes")
            .with_access_key_id("key")
            .with_secret_access_key("secret");
        Arc::new(store.build().unwrap())
    }
}
