//! Bodies that are cut, clients that are slow, many clients, and the status of each kind of error.

use std::io::{Read, Write};
use std::net::Shutdown;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use stationdb::lab::{FreshIdRunner, JobRequest, JobRunner, NotebookRequest, QueueFailure};
use stationdb::{AccessPolicy, Action, Error, ErrorKind, Identity, Service, Store, Visibility};

use crate::client::{Server, form, reply, reply_after, wait};
use crate::package::package;

const FILES: &str = "/nifile/v1/service-groups/Default";
/// Rows of the table that is read slowly.
const SLOW_ROWS: usize = 60_000;
const ARROW: &str = "application/vnd.apache.arrow.stream";

fn table(server: &Server) -> String {
    let columns = json!([{"name": "t", "dataType": "INT64", "columnType": "INDEX"}, {"name": "v", "dataType": "FLOAT64"}]);
    let made = server.post("/nidataframe/v1/tables", &json!({"columns": columns, "name": "Loop"}));
    assert_eq!(made.status, 201);
    made.json()["id"].as_str().unwrap().to_owned()
}

fn rows(from: usize, count: usize) -> Value {
    let rows: Vec<Value> = (from..from + count).map(|t| json!([t.to_string(), "0.5"])).collect();
    json!({"frame": {"data": rows}})
}

#[test]
fn a_body_that_is_cut_leaves_nothing() {
    let server = Server::new();
    let feed =
        server.post("/nifeed/v1/feeds", &json!({"name": "f", "platform": "NI_LINUX_RT"})).json();
    let feed = feed["id"].as_str().unwrap();
    let session = server.post(&format!("{FILES}/upload-sessions/start"), &json!({})).json();
    let session = session["id"].as_str().unwrap();
    let table = table(&server);
    assert_eq!(
        server.post(&format!("/nidataframe/v1/tables/{table}/data"), &rows(0, 3)).status,
        204
    );
    let export = json!({"responseFormat": "ARROW_STREAM"});
    let arrow = server.post(&format!("/nidataframe/v1/tables/{table}/export-data"), &export).body;
    let (form_type, file) =
        form(&[("file", Some("a.bin"), &[7; 300_000]), ("metadata", None, b"{\"k\": \"v\"}")]);
    let (_, chunk) = form(&[("file", Some("file"), &[7; 300_000])]);
    let (_, archive) = form(&[("package", None, &[package("a"), vec![0; 300_000]].concat())]);
    let csv: String = (0..50_000).map(|t| format!("{t},0.5\n")).collect();
    for (path, kind, body) in [
        (format!("{FILES}/upload-files"), form_type.as_str(), file),
        (
            format!("{FILES}/upload-sessions/append?sessionId={session}&chunk=1&close=true"),
            form_type.as_str(),
            chunk,
        ),
        (format!("/nifeed/v1/feeds/{feed}/packages"), form_type.as_str(), archive),
        (format!("/nidataframe/v1/tables/{table}/data"), ARROW, arrow),
        (
            format!("/nidataframe/v1/tables/{table}/data"),
            "application/json",
            rows(9, 1000).to_string().into_bytes(),
        ),
        (
            "/stationdb/v1/import-csv?indexColumn=t".to_owned(),
            "text/csv",
            format!("t,v\n{csv}").into_bytes(),
        ),
    ] {
        // A form is whole with its closing delimiter, `--cut--`, whatever the line end after it:
        // the last cut is inside of the delimiter.
        let last = if kind == form_type { body.len() - 4 } else { body.len() - 1 };
        for part in [body.len() / 2, last] {
            let mut stream = server.head("POST", &path, &[("content-type", kind)], body.len());
            stream.write_all(&body[..part]).unwrap();
            let is_content = kind == form_type && !path.contains("append");
            if part == body.len() / 2 && is_content {
                wait("the content is not written while it arrives", || server.contents() == 1);
            }
            stream.shutdown(Shutdown::Write).unwrap();
            // The server may or may not answer a client that is gone; it has dropped the request
            // when it closes.
            let _ = stream.read_to_end(&mut Vec::new());
            wait("contents are left", || server.contents() == 0);
        }
    }
    // What is held as a whole is complete for its reader and not for HTTP: fewer bytes came than
    // the head of the request says.
    let export = json!({"responseFormat": "PARQUET"});
    let parquet = server.post(&format!("/nidataframe/v1/tables/{table}/export-data"), &export);
    let left = || {
        let products = server.get("/nitestmonitor/v2/products?returnCount=true").json();
        let tables = server.get("/nidataframe/v1/tables").json();
        (products["totalCount"].clone(), tables["tables"].as_array().unwrap().len())
    };
    let mut held = Vec::new();
    for (path, body) in [
        (
            "/nitestmonitor/v2/products",
            json!({"products": [{"partNumber": "P"}]}).to_string().into_bytes(),
        ),
        ("/stationdb/v1/import-parquet?indexColumn=t", parquet.body),
    ] {
        let kind = [("content-type", "application/json")];
        let mut stream = server.head("POST", path, &kind, body.len() + 10);
        stream.write_all(&body).unwrap();
        stream.shutdown(Shutdown::Write).unwrap();
        let _ = stream.read_to_end(&mut Vec::new());
        assert_eq!(left(), (json!(0), 1), "{path}");
        held.push((path, body));
    }
    for (path, body) in held {
        let whole = server.send("POST", path, &[("content-type", "application/json")], &body);
        assert!(whole.status < 300, "{path}: {whole:?}");
    }
    let count = |path: &str| server.get(path).json();
    assert_eq!(count(&format!("{FILES}/files"))["totalCount"], 0);
    assert_eq!(count(&format!("{FILES}/upload-sessions"))[0]["chunks"], json!([]));
    assert_eq!(count(&format!("/nifeed/v1/feeds/{feed}/packages"))["packages"], json!([]));
    assert_eq!(left(), (json!(1), 2), "the two that were whole");
    assert_eq!(count(&format!("/nidataframe/v1/tables/{table}"))["rowCount"], 3);
    // The same bodies are taken when they are whole.
    let (kind, file) =
        form(&[("file", Some("a.bin"), &[7; 300_000]), ("metadata", None, b"{\"k\": \"v\"}")]);
    assert_eq!(
        server
            .send("POST", &format!("{FILES}/upload-files"), &[("content-type", &kind)], &file)
            .status,
        201
    );
    assert_eq!(
        (server.contents(), count(&format!("{FILES}/files"))["totalCount"].clone()),
        (1, json!(1))
    );
}

/// The body follows the head in a packet of its own, and may arrive at any moment of its reading.
#[test]
fn a_form_is_taken_whenever_its_body_arrives() {
    let server = Server::new();
    let path = format!("{FILES}/upload-files");
    let (kind, body) = form(&[("file", Some("a"), b"short")]);
    for upload in 0..1_000 {
        let reply = server.send("POST", &path, &[("content-type", &kind)], &body);
        assert_eq!(reply.status, 201, "upload {upload}: {:?}", reply.json());
    }
}

#[test]
fn a_file_whose_metadata_is_refused_leaves_nothing() {
    let server = Server::new();
    let path = format!("{FILES}/upload-files");
    let refused = |parts: &[(&str, Option<&str>, &[u8])], member: &str| {
        let (kind, body) = form(parts);
        let reply = server.send("POST", &path, &[("content-type", &kind)], &body);
        assert_eq!(reply.status, 400, "{member}");
        assert!(
            reply.json()["error"]["message"].as_str().unwrap().contains(member),
            "{member}: {:?}",
            reply.json()
        );
    };
    let content = [7; 300_000];
    refused(&[("file", Some("a"), &content), ("metadata", None, b"{\"k\": 7}")], "k");
    refused(&[("file", Some("a"), &content), ("metadata", None, b"{\"\": \"v\"}")], "metadata");
    refused(&[("file", Some("a"), &content), ("id", None, b"short")], "id");
    refused(&[("metadata", None, b"{}")], "file");
    wait("contents are left", || server.contents() == 0);
}

#[test]
fn the_parts_of_a_form_are_bounded_and_come_once() {
    let server = Server::new();
    let path = format!("{FILES}/upload-files");
    let content = [7; 300_000];
    let file = ("file", Some("a"), content.as_slice());
    let metadata = |text: &'static [u8]| ("metadata", None, text);
    let long = vec![b'x'; 5 * 1024 * 1024];
    let cases: [(&[(&str, Option<&str>, &[u8])], &str); 7] = [
        (&[metadata(b"{}"), file, metadata(b"{}")], "twice (at metadata)"),
        (&[("id", None, b"0123456789abcdef01234567"), ("id", None, b""), file], "twice (at id)"),
        (&[file, file], "twice (at file)"),
        (&[file, ("other", Some("b"), b"x")], "twice (at other)"),
        (&[file, metadata(b"{\"k\": \"\xff\"}")], "not UTF-8 (at metadata)"),
        (&[file, ("id", None, &[0xc3])], "not UTF-8 (at id)"),
        (&[file, ("metadata", None, &long)], "above 4194304 bytes (at metadata)"),
    ];
    for (parts, words) in cases {
        let (kind, body) = form(parts);
        let reply = server.send("POST", &path, &[("content-type", &kind)], &body);
        let message = reply.json()["error"]["message"].to_string();
        assert!(reply.status == 400 && message.contains(words), "{words}: {reply:?}");
    }
    // Texts that are short one by one have the bound together.
    let names: Vec<String> = (0..6).map(|at| format!("n{at}")).collect();
    let parts: Vec<_> =
        names.iter().map(|name| (name.as_str(), None, &long[..1024 * 1024])).collect();
    let (kind, body) = form(&parts);
    let reply = server.send("POST", &path, &[("content-type", &kind)], &body);
    assert_eq!(reply.status, 400, "{reply:?}");
    wait("contents are left", || server.contents() == 0);
    assert_eq!(server.get(&format!("{FILES}/files")).json()["totalCount"], 0);
}

/// What is held as a whole has a bound: JSON, rows as JSON, and Parquet. Streams have none.
#[test]
fn bodies_that_are_held_are_bounded() {
    let server =
        Server::bounded(Store::options(), Duration::from_secs(60), Duration::from_secs(60), 20_000);
    let table = table(&server);
    let data = format!("/nidataframe/v1/tables/{table}/data");
    let parquet =
        |bytes: usize| server.send("POST", "/stationdb/v1/import-parquet", &[], &vec![b'P'; bytes]);
    let rows_of = |count: usize| server.post(&data, &rows(0, count));
    for (reply, words) in [
        (parquet(20_001), "above 20000 bytes"),
        (parquet(400_000), "above 20000 bytes"),
        (parquet(20_000), "Parquet"),
        (rows_of(2_000), "above 20000 bytes"),
        (
            server.post("/nitestmonitor/v2/query-products", &json!({"filter": "x".repeat(20_001)})),
            "length limit",
        ),
    ] {
        let message = reply.json()["error"]["message"].to_string();
        assert!(reply.status == 400 && message.contains(words), "{words}: {reply:?}");
    }
    assert_eq!(rows_of(100).status, 204);
    let (kind, body) = form(&[("file", Some("a"), &[7; 300_000])]);
    let stored =
        server.send("POST", &format!("{FILES}/upload-files"), &[("content-type", &kind)], &body);
    assert_eq!(stored.status, 201);
}

/// A client that stalls without closing is given up, and its thread and snapshot are free again.
#[test]
fn a_client_that_stalls_is_given_up() {
    let patience = Duration::from_millis(300);
    let server = Server::bounded(Store::options(), Duration::from_secs(600), patience, 1 << 28);
    let content: Vec<u8> = (0..30_000_000_u32).map(|at| (at >> 8) as u8).collect();
    let (kind, body) = form(&[("file", Some("long.bin"), &content)]);
    let upload = format!("{FILES}/upload-files");
    let made = server.send("POST", &upload, &[("content-type", &kind)], &body);
    assert_eq!(made.status, 201, "a client that is slow and does not stall is served");
    let uri = made.json()["uri"].as_str().unwrap().to_owned();
    let before = server.contents();
    // It sends half of a form, of a chunk or of a JSON body, and then nothing.
    let session = server.post(&format!("{FILES}/upload-sessions/start"), &json!({})).json();
    let id = session["id"].as_str().unwrap();
    let chunk = format!("{FILES}/upload-sessions/append?sessionId={id}&chunk=1&close=true");
    for (path, kind) in [
        (upload.as_str(), kind.as_str()),
        (chunk.as_str(), kind.as_str()),
        ("/nitestmonitor/v2/query-products", "application/json"),
    ] {
        let mut stream = server.head("POST", path, &[("content-type", kind)], body.len());
        stream.write_all(&body[..400_000]).unwrap();
        let began = Instant::now();
        let reply = reply(&mut stream);
        assert!(reply.status >= 400, "{path}: {reply:?}");
        assert!(began.elapsed() < Duration::from_secs(20), "{path}");
    }
    wait("contents are left", || server.contents() == before);
    // It takes the first bytes of a download, and then nothing. Its file can go for good: nobody
    // holds it.
    let mut stalled = server.head("GET", &format!("{uri}/data"), &[], 0);
    let mut first = [0; 1000];
    stalled.read_exact(&mut first).unwrap();
    assert_eq!(server.send("DELETE", &uri, &[], b"").status, 204);
    std::thread::sleep(patience * 4);
    // What it still reads is cut: no client takes a part for the whole.
    let mut rest = first.to_vec();
    let _ = stalled.read_to_end(&mut rest);
    assert!(rest.len() < content.len(), "{} bytes", rest.len());
    assert!(!rest.ends_with(b"\r\n0\r\n\r\n"));
}

#[test]
fn writers_go_on_while_a_reader_is_slow() {
    let server = Server::new();
    let content: Vec<u8> = (0..30_000_000_u32).map(|at| (at >> 8) as u8).collect();
    let (kind, body) = form(&[("file", Some("long.bin"), &content)]);
    let made =
        server.send("POST", &format!("{FILES}/upload-files"), &[("content-type", &kind)], &body);
    let uri = made.json()["uri"].as_str().unwrap().to_owned();
    // As many bytes of rows as no buffer between the two takes.
    let text = "x".repeat(300);
    let csv: String = (0..SLOW_ROWS).map(|t| format!("{t},{text}\n")).collect();
    let csv = format!("t,s\n{csv}");
    let made = server.send(
        "POST",
        "/stationdb/v1/import-csv?indexColumn=t",
        &[("content-type", "text/csv")],
        csv.as_bytes(),
    );
    assert_eq!(made.json()["rowCount"], SLOW_ROWS, "{made:?}");
    let table = made.json()["id"].as_str().unwrap().to_owned();
    let mut slow = server.head("GET", &format!("{uri}/data"), &[], 0);
    let mut first = [0; 1000];
    slow.read_exact(&mut first).unwrap();
    let export = json!({"responseFormat": "CSV"}).to_string();
    let mut slow_rows = server.head(
        "POST",
        &format!("/nidataframe/v1/tables/{table}/export-data"),
        &[],
        export.len(),
    );
    slow_rows.write_all(export.as_bytes()).unwrap();
    let mut first_of_rows = vec![0];
    slow_rows.read_exact(&mut first_of_rows).unwrap();
    // Everything else is answered meanwhile: writes of the same table, and the deletion of what is
    // read.
    for at in 0..20 {
        let row = json!([(SLOW_ROWS + at).to_string(), "later"]);
        let row = json!({"frame": {"columns": ["t", "s"], "data": [row]}});
        let appended = server.post(&format!("/nidataframe/v1/tables/{table}/data"), &row);
        assert_eq!(appended.status, 204, "{appended:?}");
        let product = json!({"products": [{"partNumber": format!("P{at}")}]});
        assert_eq!(server.post("/nitestmonitor/v2/products", &product).status, 201);
    }
    assert_eq!(server.send("DELETE", &uri, &[], b"").status, 204);
    // The reader gets what was there when it began.
    let mut rest = first.to_vec();
    slow.read_to_end(&mut rest).unwrap();
    let at = rest.windows(4).position(|end| end == b"\r\n\r\n").unwrap();
    assert!(
        rest.len() - at > content.len() && rest.ends_with(b"\r\n0\r\n\r\n"),
        "{} bytes",
        rest.len()
    );
    let read = reply_after(first_of_rows, &mut slow_rows);
    assert!(read.is_whole);
    let read = String::from_utf8(read.body).unwrap();
    assert!(read.len() > 15_000_000, "{} bytes are too few for this test", read.len());
    assert_eq!(read.lines().count(), SLOW_ROWS + 1, "the line of names, and the rows of the start");
    assert!(!read.contains("later"));
    // A reader that goes away ends its work, and nothing waits for it.
    let mut gone = server.head(
        "POST",
        &format!("/nidataframe/v1/tables/{table}/export-data"),
        &[],
        export.len(),
    );
    gone.write_all(export.as_bytes()).unwrap();
    drop(gone);
    assert_eq!(
        server.get(&format!("/nidataframe/v1/tables/{table}")).json()["rowCount"],
        SLOW_ROWS + 20
    );
}

#[test]
fn sixty_four_clients_at_once_each_find_their_own() {
    let server = Arc::new(Server::new());
    let table = table(&server);
    let clients: Vec<_> = (0..64)
        .map(|client| {
            let (server, table) = (server.clone(), table.clone());
            std::thread::spawn(move || {
                let number = format!("P-{client}");
                let made = server.post(
                    "/nitestmonitor/v2/products",
                    &json!({"products": [{"partNumber": number}]}),
                );
                assert_eq!(made.status, 201);
                let id = made.json()["products"][0]["id"].as_str().unwrap().to_owned();
                let found = server.get(&format!("/nitestmonitor/v2/products/{id}")).json();
                assert_eq!(found["partNumber"], json!(number));
                let appended = server
                    .post(&format!("/nidataframe/v1/tables/{table}/data"), &rows(client * 10, 10));
                assert_eq!(appended.status, 204);
                let content = vec![client as u8; 20_000];
                let (kind, body) = form(&[("file", Some("c.bin"), &content)]);
                let made = server.send(
                    "POST",
                    &format!("{FILES}/upload-files"),
                    &[("content-type", &kind)],
                    &body,
                );
                let uri = made.json()["uri"].as_str().unwrap().to_owned();
                assert_eq!(server.get(&format!("{uri}/data")).body, content);
            })
        })
        .collect();
    for client in clients {
        client.join().unwrap();
    }
    assert_eq!(
        server.get("/nitestmonitor/v2/products?returnCount=True&take=1").json()["totalCount"],
        64
    );
    assert_eq!(server.get(&format!("/nidataframe/v1/tables/{table}")).json()["rowCount"], 640);
    assert_eq!(server.get(&format!("{FILES}/files?take=100")).json()["totalCount"], 64);
}

#[derive(Debug)]
pub struct NobodyWrites;

impl AccessPolicy for NobodyWrites {
    fn visible(&self, who: &Identity, _: Service, action: Action) -> Visibility {
        if who.user_id() == "guest" && action != Action::Read {
            Visibility::None
        } else {
            Visibility::All
        }
    }
}

/// Jobs run, notebooks do not.
#[derive(Debug)]
struct NoNotebooks(FreshIdRunner);

impl JobRunner for NoNotebooks {
    fn queue(&self, request: &JobRequest<'_>) -> Result<Vec<String>, QueueFailure> {
        self.0.queue(request)
    }

    fn cancel(&self, job_ids: &[String]) -> stationdb::Result<()> {
        self.0.cancel(job_ids)
    }

    fn run_notebook(&self, _: &NotebookRequest<'_>) -> stationdb::Result<String> {
        Err(Error::new(ErrorKind::Io, "the notebooks are out of order"))
    }
}

/// A Parquet file with a column of lists, which tables do not have.
fn nested() -> Vec<u8> {
    use stationdb::arrow::array::{ArrayRef, Int64Array, ListArray, RecordBatch};
    use stationdb::arrow::datatypes::Int64Type;
    let index: ArrayRef = Arc::new(Int64Array::from(vec![1]));
    let lists: ArrayRef =
        Arc::new(ListArray::from_iter_primitive::<Int64Type, _, _>([Some([Some(1)])]));
    let batch = RecordBatch::try_from_iter([("t", index), ("v", lists)]).unwrap();
    let mut bytes = Vec::new();
    let mut writer =
        parquet::arrow::ArrowWriter::try_new(&mut bytes, batch.schema(), None).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
    bytes
}

#[test]
fn each_kind_of_outcome_has_its_status() {
    let options =
        Store::options().access_policy(NobodyWrites).job_runner(NoNotebooks(FreshIdRunner));
    let server = Server::start(options, Duration::from_secs(60));
    let products = "/nitestmonitor/v2/products";
    let one = json!({"products": [{"partNumber": "P"}]});
    // Success, partial success, nothing that succeeded, nothing to answer.
    assert_eq!(server.post(products, &one).status, 201);
    assert_eq!(
        server
            .post(products, &json!({"products": [{"partNumber": "P"}, {"partNumber": "Q"}]}))
            .status,
        200
    );
    let failed = server.post(products, &one);
    assert_eq!((failed.status, failed.json()["products"].clone()), (200, json!([])));
    assert_eq!(server.send("DELETE", &format!("{products}/x"), &[], b"").status, 204);
    assert_eq!(
        server
            .post(&format!("{FILES}/delete-files"), &json!({"ids": ["0123456789abcdef01234567"]}))
            .status,
        200
    );
    // Refusals of each kind.
    let refused = |reply: crate::client::Reply, status: u16, name: &str| {
        assert_eq!(reply.status, status, "{reply:?}");
        assert_eq!(reply.json()["error"]["name"], json!(name));
    };
    refused(
        server.post(products, &json!({"products": [{"name": 1}]})),
        400,
        "StationDb.InvalidArgument",
    );
    let guest = server.send(
        "POST",
        &format!("{FILES}/upload-sessions/start"),
        &[("x-user", "guest")],
        b"{}",
    );
    refused(guest, 403, "Skyline.InsufficientPrivileges");
    refused(server.get(&format!("{products}/x")), 404, "TestMonitor.InvalidId");
    refused(server.get("/nowhere"), 404, "StationDb.NotFound");
    let table = table(&server);
    let data = format!("/nidataframe/v1/tables/{table}/data");
    assert_eq!(server.post(&data, &json!({"endOfData": true})).status, 204);
    refused(server.post(&data, &rows(0, 1)), 409, "DataFrame.TableClosed");
    refused(server.get("/nidataframe/v1/tables/short"), 400, "DataFrame.InvalidTableId");
    // Executions: finished, triggered, refused, failed.
    let actions = json!([{"type": "MANUAL", "action": "A"}, {"type": "NOTEBOOK", "action": "N", "notebookId": "n"},
        {"type": "JOB", "action": "J", "jobs": [{"functions": ["f"], "arguments": [[]]}]}]);
    let item = json!({"workItems": [{"name": "n", "executionActions": actions, "resources": {"systems": {"selections": [{"id": "s"}]}}}]});
    let made = server.post("/niworkitem/v1/workitems", &item).json();
    let id = made["createdWorkItems"][0]["id"].as_str().unwrap().to_owned();
    let execute = |action: &str| {
        server.post(&format!("/niworkitem/v1/workitems/{id}/execute"), &json!({"action": action}))
    };
    let both = |reply: &crate::client::Reply| {
        (reply.json().get("error").is_some(), reply.json().get("result").is_some())
    };
    for (action, status) in [("A", 200), ("J", 202), ("N", 500), ("none of these", 404)] {
        let reply = execute(action);
        assert!(both(&reply) == (true, true), "{action}: {reply:?}");
        assert_eq!(reply.status, status, "{action}: {reply:?}");
    }
    let unknown = server.post("/niworkitem/v1/workitems/7/execute", &json!({"action": "A"}));
    assert_eq!((unknown.status, unknown.json()["result"].clone()), (404, Value::Null));
    // The store and the server have limits of their own.
    let full = Server::start(Store::options().reserve_bytes(u64::MAX / 2), Duration::from_secs(60));
    refused(full.post(products, &one), 503, "StationDb.NoSpace");
    let late = Server::start(Store::options(), Duration::ZERO);
    refused(late.post(products, &one), 504, "StationDb.DeadlineExceeded");
    refused(late.get(&format!("{products}?take=1")), 504, "StationDb.DeadlineExceeded");
    refused(
        server.send("POST", "/stationdb/v1/import-parquet", &[], &nested()),
        501,
        "StationDb.Unsupported",
    );
}
