//! Clients that go away before their answer, contents that are damaged, and a store that accepts no
//! more writes.

use std::io::{Read, Seek, SeekFrom, Write};
use std::net::Shutdown;
use std::path::Path;
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use serde_json::json;
use stationdb::{AccessPolicy, Action, Identity, Service, Store, Visibility};

use crate::client::{Server, form, wait};

const FILES: &str = "/nifile/v1/service-groups/Default";
const ARROW: &str = "application/vnd.apache.arrow.stream";
const PRODUCTS: &str = "/nitestmonitor/v2/products";

/// Says when it is asked about `slow`, and lets `slow` wait until the other end of `go` is dropped.
#[derive(Debug)]
struct Waits {
    asked: Sender<()>,
    go: Mutex<Receiver<()>>,
}

impl AccessPolicy for Waits {
    fn visible(&self, who: &Identity, _: Service, _: Action) -> Visibility {
        if who.user_id() == "slow" {
            let _ = self.asked.send(());
            let _ = self.go.lock().unwrap().recv();
        }
        Visibility::All
    }
}

/// The whole request was sent and its call has begun when the client goes away: its writes do not
/// happen, and the server answers others as before.
#[test]
fn the_writes_of_a_client_that_goes_away_do_not_happen() {
    let ((asked, is_asked), (release, go)) = (channel(), channel());
    let options = Store::options().access_policy(Waits { asked, go: Mutex::new(go) });
    let mut server = Server::start(options, Duration::from_secs(60));
    let product = |number: &str| json!({"products": [{"partNumber": number}]}).to_string();
    let body = product("of a client that is gone");
    let headers = [("content-type", "application/json"), ("x-user", "slow")];
    let tasks = server.tasks();
    let mut gone = server.head("POST", PRODUCTS, &headers, body.len());
    gone.write_all(body.as_bytes()).unwrap();
    is_asked.recv_timeout(Duration::from_secs(30)).expect("the call does not begin");
    gone.shutdown(Shutdown::Write).unwrap();
    // The server closes the connection without an answer, and drops the request. The task of the
    // connection holds the request, so that it is dropped for sure when the task has ended.
    let mut answer = Vec::new();
    let _ = gone.read_to_end(&mut answer);
    assert_eq!(answer, b"", "a client that is gone was answered");
    wait("the request is not dropped", || server.tasks() == tasks);
    drop(release);
    for who in ["ada", "slow"] {
        let headers = [("content-type", "application/json"), ("x-user", who)];
        let made = server.send("POST", PRODUCTS, &headers, product(who).as_bytes());
        assert_eq!(made.status, 201, "{made:?}");
    }
    // All calls have ended when the store is open again.
    server.stop();
    let store = Store::open(server.directory.path()).unwrap();
    let session = store.session(Identity::user("ada"));
    let found = stationdb::prelude::ProductService::query_products(
        &session,
        stationdb::products::QueryProductsRequest::new(),
    );
    let mut numbers: Vec<_> =
        found.unwrap().products.into_iter().filter_map(|product| product.part_number).collect();
    numbers.sort_unstable();
    assert_eq!(numbers, ["ada", "slow"]);
}

/// Clients send a whole body before they read: they find a refusal that comes early, too.
#[test]
fn an_early_refusal_of_a_long_body_is_found() {
    let minute = Duration::from_secs(60);
    let server = Server::bounded(Store::options(), minute, minute, 20_000);
    let long = vec![b'x'; 30_000_000];
    let (kind, parts) = form(&[("id", None, b"\xff"), ("file", Some("a"), &long)]);
    for (path, kind, body, status) in [
        (format!("{FILES}/upload-sessions/append?chunk=1"), kind.as_str(), &parts, 400),
        (format!("{FILES}/upload-files"), kind.as_str(), &parts, 400),
        ("/nidataframe/v1/tables/short/data".to_owned(), ARROW, &long, 400),
        ("/nidataframe/v1/tables/short/data".to_owned(), "application/json", &long, 400),
        ("/stationdb/v1/import-csv?indexColumn=t".to_owned(), "text/csv", &long, 400),
        (PRODUCTS.to_owned(), "application/json", &long, 400),
    ] {
        let reply = server.send("POST", &path, &[("content-type", kind)], body);
        assert_eq!((reply.status, reply.is_whole), (status, true), "{path}: {reply:?}");
        assert!(reply.json()["error"]["name"].is_string(), "{path}");
    }
    wait("contents are left", || server.contents() == 0);
}

/// Changes one byte, counted from the end of the file.
fn damage(path: &Path, from_end: i64) {
    let mut file = std::fs::OpenOptions::new().read(true).write(true).open(path).unwrap();
    file.seek(SeekFrom::End(-from_end)).unwrap();
    let mut byte = [0];
    file.read_exact(&mut byte).unwrap();
    file.seek(SeekFrom::End(-from_end)).unwrap();
    file.write_all(&[byte[0] ^ 1]).unwrap();
}

/// An error before the first byte has its status and the envelope. After it the connection is cut:
/// what came before is right, and no client takes it for the whole.
#[test]
fn a_damaged_content_is_an_error_or_a_connection_that_is_cut() {
    let server = Server::new();
    let upload = |len: u32| {
        let before = server.content_paths();
        let content: Vec<u8> = (0..len).map(|at| (at >> 8) as u8).collect();
        let (kind, body) = form(&[("file", Some("a.bin"), &content)]);
        let headers = [("content-type", kind.as_str())];
        let made = server.send("POST", &format!("{FILES}/upload-files"), &headers, &body);
        assert_eq!(made.status, 201);
        let path = server.content_paths().into_iter().find(|path| !before.contains(path)).unwrap();
        let data = format!("{}/data", made.json()["uri"].as_str().unwrap());
        (content, path, data)
    };
    let (content, path, data) = upload(300_000);
    assert_eq!(server.get(&data).body, content);
    // In the first block.
    let len = std::fs::metadata(&path).unwrap().len();
    damage(&path, i64::try_from(len).unwrap() - 100);
    let refused = server.get(&data);
    assert_eq!(refused.status, 500, "{refused:?}");
    assert_eq!(refused.json()["error"]["name"], "StationDb.Corrupt");
    assert!(refused.is_whole && refused.headers["content-type"] == "application/json");
    // In the last of many blocks.
    let (content, path, data) = upload(30_000_000);
    damage(&path, 100);
    let cut = server.get(&data);
    assert_eq!((cut.status, cut.is_whole), (200, false), "{} bytes", cut.body.len());
    assert!(cut.body.len() < content.len() && content.starts_with(&cut.body));
    assert!(!cut.body.is_empty());
}

/// Windows does not let go of the name of an open file.
#[cfg(unix)]
#[test]
fn a_store_that_lost_its_record_file_is_unavailable() {
    let server = Server::new();
    let product = |number: &str| json!({"products": [{"partNumber": number}]});
    assert_eq!(server.post(PRODUCTS, &product("P")).status, 201);
    let path = server.directory.path().join("records.redb");
    std::fs::rename(&path, path.with_extension("moved")).unwrap();
    for _ in 0..2 {
        let refused = server.post(PRODUCTS, &product("Q"));
        assert_eq!(refused.status, 503, "{refused:?}");
        assert_eq!(refused.json()["error"]["name"], "StationDb.Latched");
    }
    let read = server.get(&format!("{PRODUCTS}?returnCount=true"));
    assert_eq!((read.status, read.json()["totalCount"].clone()), (200, json!(1)));
}
