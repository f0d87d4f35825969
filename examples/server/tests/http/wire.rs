//! Every route once, with the whole request and the whole answer: the files in `wire/` are the wire
//! form.
//!
//! A step has `call`, and what of these it needs: `user`, `body` (JSON), `text` and `type`, `form`
//! (name, file name or null, text), `last` (the bytes of the last download, as `type`), `package`
//! (a package of this name, as a form). It ends with `status`, and `answer`: JSON, or what is known
//! of bytes.
//!
//! Generated ids are `<1>`, `<2>` and so on, in the order in which they are first answered; a
//! request may use them. `<token>` is the last continuation token. The clock of the store stands
//! still. The texts of messages, and what plans say, are no part of the wire form: `<message>`,
//! `<value>`.
//!
//! The requests are written by hand, from `docs/reference`. The answers were written with
//! `STATIONDB_WRITE_WIRE=1` and read over. `members.rs` holds their members against the pages, and
//! `sent.rs` the members of the requests. `refusals.json` has what each route refuses that the file
//! of its service does not refuse.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Duration;

use serde_json::{Map, Value, json};
use stationdb::{ManualClock, Store};
use stationdb_server_example::ROUTES;

use crate::client::{Reply, Server, form};
use crate::members::Checker;
use crate::package::package;
use crate::reference::Pages;
use crate::requests;
use crate::sent::SentMembers;

/// Operations that have nothing to refuse a caller who may do everything.
const UNREFUSED: &[&str] = &[
    "result_api_info",
    // An id that does not exist is deleted already.
    "delete_product",
    "delete_result",
    "specification_api_info",
    "asset_summary",
    "assets_in_use",
    "table_api_info",
    "file_api_info",
    "query_upload_sessions",
    "unfinished_runs",
];

const NOON: &str = "2024-05-01T12:00:00.000Z";

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/http/wire")
}

/// Ids in the order in which they were answered.
#[derive(Default)]
struct Ids {
    known: Vec<String>,
    token: String,
}

impl Ids {
    /// Where a generated id begins in `text`, and its length: a GUID, or 24 hexadecimal digits.
    fn find(text: &str) -> Option<(usize, usize)> {
        let is_part = |c: char| matches!(c, '0'..='9' | 'a'..='f' | '-');
        let mut at = 0;
        for run in text.split_inclusive(|c| !is_part(c)) {
            let run_len = run.trim_end_matches(|c| !is_part(c)).len();
            let parts: Vec<usize> = run[..run_len].split('-').map(str::len).collect();
            if parts == [24] || parts == [8, 4, 4, 4, 12] {
                return Some((at, run_len));
            }
            at += run.len();
        }
        None
    }

    fn hide(&mut self, text: &str) -> String {
        let Some((at, len)) = Self::find(text) else { return text.to_owned() };
        let id = &text[at..at + len];
        let number = self.known.iter().position(|known| known == id).unwrap_or_else(|| {
            self.known.push(id.to_owned());
            self.known.len() - 1
        });
        format!("{}<{}>{}", &text[..at], number + 1, self.hide(&text[at + len..]))
    }

    fn hide_in(&mut self, value: &mut Value) {
        match value {
            Value::String(text) => *text = self.hide(text),
            Value::Array(items) => items.iter_mut().for_each(|item| self.hide_in(item)),
            Value::Object(members) => {
                for (name, value) in members.iter_mut() {
                    if let ("continuationToken", Some(token)) = (name.as_str(), value.as_str()) {
                        self.token = token.to_owned();
                        *value = json!("<token>");
                    } else if name == "message" && value.is_string() {
                        *value = json!("<message>");
                    } else {
                        self.hide_in(value);
                    }
                }
            }
            _ => {}
        }
    }

    fn show(&self, text: &str) -> String {
        let mut text = text.replace("<token>", &self.token);
        for (at, id) in self.known.iter().enumerate() {
            text = text.replace(&format!("<{}>", at + 1), id);
        }
        text
    }
}

fn send(server: &Server, ids: &Ids, step: &Map<String, Value>, last: &[u8]) -> Reply {
    let text = |name: &str| step.get(name).and_then(Value::as_str).map(|text| ids.show(text));
    let call = text("call").unwrap();
    let (verb, path) = call.split_once(' ').unwrap();
    let mut kind = text("type").unwrap_or_else(|| "application/json".to_owned());
    let mut body = Vec::new();
    if let Some(value) = step.get("body") {
        body = ids.show(&value.to_string()).into_bytes();
    } else if let Some(text) = text("text") {
        body = text.into_bytes();
    } else if step.contains_key("last") {
        body = last.to_vec();
    } else if let Some(name) = text("package") {
        (kind, body) = form(&[("package", Some(&format!("{name}.deb")), &package(&name))]);
    } else if let Some(parts) = step.get("form") {
        let parts: Vec<[Option<String>; 3]> = serde_json::from_value(parts.clone()).unwrap();
        let parts: Vec<_> = parts
            .iter()
            .map(|[name, file, text]| {
                (name.as_deref().unwrap(), file.as_deref(), text.as_deref().unwrap().as_bytes())
            })
            .collect();
        (kind, body) = form(&parts);
    }
    let user = text("user").unwrap_or_else(|| "ada".to_owned());
    server.send(verb, path, &[("content-type", &kind), ("x-user", &user)], &body)
}

/// A response as the file has it.
fn answer(reply: &Reply, ids: &mut Ids) -> Value {
    assert!(reply.is_whole, "{reply:?}");
    let kind = reply.headers.get("content-type").map_or("", String::as_str);
    if kind == "application/json" {
        let mut value = reply.json();
        ids.hide_in(&mut value);
        return value;
    }
    if reply.body.is_empty() && kind.is_empty() {
        return Value::Null;
    }
    let disposition = reply.headers.get("content-disposition").map(|value| ids.hide(value));
    match String::from_utf8(reply.body.clone()) {
        Ok(text) if !text.contains('\0') => {
            json!({"type": kind, "disposition": disposition, "text": ids.hide(&text)})
        }
        _ => json!({"type": kind, "disposition": disposition, "bytes": "<bytes>"}),
    }
}

/// The template of the route that a path takes.
fn route(call: &str) -> Option<(&'static str, &'static str)> {
    let (verb, path) = call.split_once(' ')?;
    let path = path.split('?').next()?;
    let fits = |template: &str| {
        let (given, wanted): (Vec<_>, Vec<_>) =
            (path.split('/').collect(), template.split('/').collect());
        given.len() == wanted.len()
            && given
                .iter()
                .zip(wanted)
                .all(|(given, wanted)| wanted.starts_with('{') || *given == wanted)
    };
    let mut found: Vec<_> =
        ROUTES.iter().filter(|(of, template, _)| *of == verb && fits(template)).collect();
    // A fixed part of a path goes before one that is not.
    found.sort_by_key(|(_, template, _)| template.matches('{').count());
    found.first().map(|(verb, template, _)| (*verb, *template))
}

/// The first operation of a route.
fn operation(verb: &str, path: &str) -> &'static str {
    let found = ROUTES.iter().find(|(of, template, _)| *of == verb && *template == path);
    found.and_then(|(_, _, operations)| operations.first()).copied().unwrap_or_default()
}

/// A text of a form that clients send with a file name is the text, and not the file.
#[test]
fn every_request_and_answer_has_its_wire_form() {
    let write = std::env::var_os("STATIONDB_WRITE_WIRE").is_some();
    let read =
        || Pages::read(&PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference"));
    let (pages, mut sent) = (Checker::new(read()), SentMembers::new(read()));
    let (mut used, mut refused, mut partial) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
    let mut problems = Vec::new();
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    assert_eq!(files.len(), 13, "one for each service, of refusals, and of figures: {files:?}");
    for file in files {
        let clock = ManualClock::new(
            stationdb::chrono::DateTime::parse_from_rfc3339(NOON).unwrap().to_utc(),
        );
        let server = Server::start(Store::options().clock(clock), Duration::from_secs(600));
        let mut steps: Vec<Map<String, Value>> =
            serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
        let (mut ids, mut last) = (Ids::default(), Vec::new());
        let name = file.file_stem().unwrap().to_string_lossy().into_owned();
        for step in &mut steps {
            let call = step["call"].as_str().unwrap().to_owned();
            let reply = send(&server, &ids, step, &last);
            let mut answer = answer(&reply, &mut ids);
            if reply.headers.contains_key("content-disposition") {
                last.clone_from(&reply.body);
            }
            if reply.status < 300 {
                used.extend(route(&call));
            } else {
                refused.extend(route(&call));
            }
            let operation = route(&call).map_or("", |(verb, path)| operation(verb, path));
            if reply.status == 200 && answer.get("error").is_some_and(|error| !error.is_null()) {
                partial.insert(operation);
            }
            if let (Some(body), true, false) =
                (step.get("body"), reply.status < 300, call.contains("/explain/"))
            {
                problems.extend(requests::problems(operation, body));
            }
            sent.note(operation, step, reply.status);
            let is_projected =
                step.get("body").is_some_and(|body| body.get("projection").is_some());
            let unknown = pages.problems(operation, reply.status, &answer, is_projected);
            problems
                .extend(unknown.into_iter().map(|problem| format!("{name}: {call}: {problem}")));
            if call.contains("/explain/") && reply.status < 300 {
                answer
                    .as_object_mut()
                    .unwrap()
                    .values_mut()
                    .for_each(|value| *value = json!("<value>"));
            }
            if write {
                step.insert("status".to_owned(), json!(reply.status));
                step.insert("answer".to_owned(), answer);
                continue;
            }
            if Some(&json!(reply.status)) != step.get("status")
                || Some(&answer) != step.get("answer")
            {
                problems.push(format!(
                    "{name}: {call}: {} {answer}\n   not {:?} {:?}",
                    reply.status,
                    step.get("status"),
                    step.get("answer")
                ));
            }
        }
        if write {
            let mut text: Vec<String> = Vec::new();
            for step in &steps {
                let mut members = vec![];
                for key in [
                    "call", "user", "type", "body", "text", "form", "last", "package", "status",
                    "answer",
                ] {
                    members.extend(step.get(key).map(|value| format!("{}: {value}", json!(key))));
                }
                text.push(format!("{{{}}}", members.join(",\n  ")));
            }
            std::fs::write(&file, format!("[\n{}\n]\n", text.join(",\n"))).unwrap();
        }
    }
    problems.extend(sent.problems());
    assert!(
        pages.objects.get() > 600,
        "only {} objects were held against the pages",
        pages.objects.get()
    );
    println!(
        "{} objects, {} values, {} always",
        pages.objects.get(),
        pages.values.get(),
        pages.always.get()
    );
    assert!(pages.values.get() > 1500, "only {} values have a known type", pages.values.get());
    assert!(pages.always.get() > 250, "only {} members are always there", pages.always.get());
    assert!(problems.is_empty(), "{} problems:\n{}", problems.len(), problems.join("\n"));
    let unused: Vec<_> =
        ROUTES.iter().filter(|(verb, path, _)| !used.contains(&(*verb, *path))).collect();
    assert!(unused.is_empty(), "routes without a success: {unused:?}");
    let of = |routes: &BTreeSet<_>| -> Vec<&str> {
        let other = ROUTES.iter().filter(|(verb, path, _)| !routes.contains(&(*verb, *path)));
        other.map(|(_, _, operations)| operations[0]).collect()
    };
    assert_eq!(of(&refused), UNREFUSED, "operations that were never refused");
    let whole: Vec<&str> = ROUTES
        .iter()
        .map(|(_, _, operations)| operations[0])
        .filter(|operation| pages.is_partial(operation) && !partial.contains(operation))
        .collect();
    // Each of its outcomes is this record, with a status of its own.
    assert_eq!(whole, ["execute_work_item"], "operations without a partial success");
    assert!(partial.len() > 25, "{partial:?}");
}

#[test]
fn every_operation_has_a_route() {
    /// Operations that only Rust can call, and what the wire has instead.
    const OTHERS: [(&str, &str); 29] = [
        ("append_results", "create_results and create_steps"),
        ("product_api_info", "result_api_info: one answer for both"),
        ("append_batches", "append_arrow"),
        ("append_waveform", "append_arrow: the axis and the samples are columns"),
        ("read_waveforms", "export_table_data"),
        ("scan", "export_table_data as an Arrow stream"),
        ("export_segments", "export_table_data as Parquet"),
        ("export_segments_to", "export_segments; the directory would be one of the server"),
        ("export_rows", "export_table_data; ordinals are for copies that go on"),
        ("table_statistics", "for planners of queries in the process"),
        ("column_numbers", "for copies that go on"),
        ("record_schema", "for engines in the process"),
        ("scan_records", "the query of each kind"),
        ("scan_steps", "query_steps"),
        ("scan_measurements", "query_steps"),
        ("delete_records", "the deletion of each service, with the ids of its query"),
        ("import_records", "for importers beside the store, as the one of `stationdb-lake`"),
        ("import_rows", "import_csv, import_parquet or append_arrow"),
        ("import_tables", "import_csv or import_parquet; its source is one of the server"),
        ("import_file", "import_csv or import_parquet; the path would be one of the server"),
        (
            "import_directory",
            "import_csv or import_parquet; the directory would be one of the server",
        ),
        ("import_tdms", "import_tables, of a file that needs seeks"),
        ("import_source", "import_csv or import_parquet; the file would be one of the server"),
        ("import_results_source", "create_results; the file would be one of the server"),
        (
            "import_results_file",
            "create_results and create_steps; the path would be one of the server",
        ),
        ("open_file", "download_file"),
        ("open_package", "download_package"),
        ("upload_package", "upload_package_content; the path would be one of the server"),
        (
            "export_feed",
            "packages_index and download_package_file; the directory would be one of the server",
        ),
    ];
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..");
    // The readers of files add theirs to a session.
    let (mut operations, mut folders) =
        (BTreeSet::new(), vec![root.join("src/services"), root.join("formats/src")]);
    while let Some(folder) = folders.pop() {
        for path in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let mut is_service = false;
            for line in std::fs::read_to_string(&path).unwrap().lines() {
                if let Some(rest) = line.strip_prefix("pub trait ") {
                    is_service = rest.split([' ', ':', '{']).next().is_some_and(|name| {
                        name.ends_with("Service") || name.starts_with("Import")
                    });
                } else if line == "}" {
                    is_service = false;
                } else if let (true, Some(rest)) = (is_service, line.strip_prefix("    fn ")) {
                    operations.extend(rest.split(['(', '<']).next().map(str::to_owned));
                }
            }
        }
    }
    assert!(operations.len() > 90, "{operations:?}");
    let routed: BTreeSet<String> = ROUTES
        .iter()
        .flat_map(|(_, _, operations)| operations.iter().map(|name| (*name).to_owned()))
        .collect();
    let others: BTreeSet<String> = OTHERS.iter().map(|(name, _)| (*name).to_owned()).collect();
    let known: BTreeSet<String> = routed.union(&others).cloned().collect();
    assert_eq!(
        operations.difference(&known).collect::<Vec<_>>(),
        Vec::<&String>::new(),
        "operations without a route"
    );
    assert_eq!(
        known.difference(&operations).collect::<Vec<_>>(),
        Vec::<&String>::new(),
        "routes without an operation"
    );
    assert_eq!(
        routed.intersection(&others).collect::<Vec<_>>(),
        Vec::<&String>::new(),
        "both routed and not"
    );
    // Forms commit what they wrote; that is the wire's upload_file and upload_package_content.
    let source =
        std::fs::read_to_string(PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("src/routes.rs"))
            .unwrap();
    let forms = |name: &str| {
        [format!(".{name}("), format!(" {name}("), format!(" {name};"), format!(" {name} ? ")]
    };
    let called = |name: &str| forms(name).iter().any(|form| source.contains(form));
    let uncalled: Vec<_> = routed.iter().filter(|name| !called(name)).collect();
    assert_eq!(uncalled, ["upload_file", "upload_package_content"]);
}

#[test]
fn the_server_stays_thin() {
    let sources = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("src");
    let lines = |path: PathBuf| std::fs::read_to_string(path).unwrap().lines().count();
    let lines: usize =
        std::fs::read_dir(sources).unwrap().map(|entry| lines(entry.unwrap().path())).sum();
    assert!(lines < 900, "{lines} lines");
}
