//! Every operation of every service asks the access policy.
//!
//! The operations are read from the source of the traits, so an operation without a probe fails the
//! test. Each probe uses records of a hidden workspace. A guest of the other workspace learns
//! nothing and changes nothing, a reader sees them and changes nothing, and a stranger can do
//! neither. The owner's attempt has to succeed, so that a probe with a wrong target is found.

mod by_name;
#[path = "../common/calls.rs"]
mod calls;
mod interference;
mod moves;
#[path = "../common/operations.rs"]
mod operations;
mod questions;
#[path = "../common/rows.rs"]
mod rows;
#[path = "../common/sources.rs"]
mod sources;
mod subscribers;
#[path = "../common/world.rs"]
mod world;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use operations::{Effect, Probe, probes};
use serde_json::{Value, json};
use sources::rust_files;
use stationdb::prelude::*;
use stationdb::search::{SearchRequest, SearchResponse};
use stationdb::{Control, ErrorKind, Identity, Position};
use world::{MARK, World, package, request};

/// Returns `ProductService::get_product`, … of every trait in the sources of the services, with its
/// parameters and result.
fn declared() -> BTreeMap<String, String> {
    let mut operations = BTreeMap::new();
    for (_, source) in rust_files("src/services") {
        let mut service = None;
        let mut open: Option<String> = None;
        for line in source.lines() {
            if let Some(signature) =
                open.take().or_else(|| line.starts_with("    fn ").then(String::new))
            {
                let signature = format!("{signature} {}", line.trim_end_matches(" {"));
                match (service, line.ends_with(" {")) {
                    (None, _) => {}
                    (Some(_), false) => open = Some(signature),
                    (Some(service), true) => {
                        let rest = signature.trim_start().strip_prefix("fn ").unwrap_or_default();
                        let name = rest.split(['(', '<']).next().unwrap();
                        operations.insert(format!("{service}::{name}"), signature);
                    }
                }
                continue;
            }
            if let Some(rest) = line.strip_prefix("pub trait ") {
                service = rest
                    .split([' ', ':', '{', '<'])
                    .next()
                    .filter(|name| name.ends_with("Service"));
            } else if line == "}" {
                service = None;
            }
        }
    }
    operations
}

#[test]
fn every_operation_has_a_probe() {
    let declared: BTreeSet<String> = declared().into_keys().collect();
    assert!(declared.len() > 80, "only {} operations were found", declared.len());
    let probed: BTreeSet<String> =
        probes().iter().map(|probe| probe.operation.to_owned()).collect();
    assert_eq!(
        declared.difference(&probed).collect::<Vec<_>>(),
        Vec::<&String>::new(),
        "operations without a probe"
    );
    assert_eq!(
        probed.difference(&declared).collect::<Vec<_>>(),
        Vec::<&String>::new(),
        "probes without an operation"
    );
}

/// Returns the answer as text, or the error.
fn attempt(probe: &Probe, world: &World, who: &str) -> Value {
    probe
        .run(&world.session(who), world)
        .unwrap_or_else(|error| json!({ "error": format!("{error}") }))
}

/// Checks that a count beside a list counts only records that the list contains.
fn counts_only_what_is_shown(value: &Value) -> bool {
    match value {
        Value::Object(members) => {
            let lists: Vec<usize> =
                members.values().filter_map(Value::as_array).map(Vec::len).collect();
            let counted = ["totalCount", "returnedCount", "availableCount"]
                .iter()
                .filter_map(|name| members.get(*name));
            counted
                .filter_map(Value::as_u64)
                .all(|count| lists.iter().any(|&shown| shown as u64 == count))
                && members.values().all(counts_only_what_is_shown)
        }
        Value::Array(items) => items.iter().all(counts_only_what_is_shown),
        _ => true,
    }
}

#[test]
fn a_hidden_workspace_is_neither_seen_nor_changed() {
    let mut world = World::new();
    let mut before = world.picture();
    assert!(before.to_string().contains(MARK));
    for probe in probes() {
        let name = probe.operation;
        let [guest, stranger, read] =
            ["guest", "stranger", "reader"].map(|who| attempt(&probe, &world, who));
        for (who, answer) in [("guest", &guest), ("stranger", &stranger)] {
            let shown = answer.to_string();
            assert!(
                !shown.contains(MARK) && !shown.contains("zebra"),
                "{name}: {who} learns {shown}"
            );
            assert!(
                counts_only_what_is_shown(answer),
                "{name}: the count for {who} includes hidden records: {shown}"
            );
        }
        // One look for all three: a look reads every kind.
        let after = world.picture();
        for (part, was) in before.as_object().unwrap() {
            assert_eq!(
                &after[part], was,
                "{name}: {part} was changed by a guest, who was answered {guest}, a stranger, who \
                 was answered {stranger}, or a reader, who was answered {read}"
            );
        }

        let answer = attempt(&probe, &world, "ada");
        let after = world.picture();
        match probe.effect {
            Effect::Shows => {
                let shown = answer.to_string();
                assert!(
                    shown.contains(MARK) || shown.contains("zebra"),
                    "{name} does not show the hidden record to its owner: {shown}"
                );
                assert_eq!(read, answer, "{name} gives a reader and the owner different answers");
            }
            Effect::Changes => {
                assert_ne!(after, before, "{name} changes nothing for its owner: {answer}");
            }
            Effect::Describes => assert!(answer.get("error").is_none(), "{name}: {answer}"),
        }
        if after != before {
            world = World::new();
            before = world.picture();
        }
    }
}

#[test]
fn nothing_moves_into_or_out_of_a_hidden_workspace() {
    for &at in operations::MOVES {
        let (operation, _) = at;
        let world = World::new();
        let before = world.picture();
        let outcome = operations::run_move(&world.session("guest"), at, &world.open, "secret");
        assert_eq!(world.picture(), before, "{operation}: something was moved in: {outcome:?}");
        let outcome = operations::run_move(&world.session("guest"), at, &world.secret, "open");
        assert_eq!(world.picture(), before, "{operation}: something was moved out: {outcome:?}");
        let outcome = operations::run_move(&world.session("ada"), at, &world.secret, "open");
        assert_ne!(world.picture(), before, "{operation} moves nothing for its owner: {outcome:?}");
    }
}

#[test]
fn the_change_feed_tells_only_of_what_may_be_seen() {
    let world = World::new();
    for (who, expected) in [("ada", true), ("guest", false), ("stranger", false)] {
        let mut changes = world.session(who).changes(Position::START);
        let mut seen = Vec::new();
        while let Some(event) = changes.next(Duration::ZERO).unwrap() {
            seen.push(serde_json::to_value(&event).unwrap());
        }
        let text = json!(seen).to_string();
        assert_eq!(text.contains(MARK) || text.contains("secret"), expected, "{who}: {text}");
        assert_eq!(seen.is_empty(), who == "stranger", "{who}");
    }
}

#[test]
fn a_reader_is_refused_by_kind() {
    let world = World::new();
    let reader = world.store.session(Identity::user("reader"));
    assert_eq!(
        reader.delete_product(&world.open.product.as_str().into()).unwrap_err().kind(),
        ErrorKind::PermissionDenied
    );
    assert_eq!(
        reader.delete_table(&world.open.table.as_str().into()).unwrap_err().kind(),
        ErrorKind::PermissionDenied
    );
    assert_eq!(
        reader.delete_file(&world.open.file.as_str().into()).unwrap_err().kind(),
        ErrorKind::PermissionDenied
    );
    assert_eq!(
        reader.delete_feed(&world.open.feed.as_str().into()).unwrap_err().kind(),
        ErrorKind::PermissionDenied
    );
    let refused = reader.create_table(request(
        json!({"name": "t", "columns": [{"name": "i", "dataType": "INT32", "columnType": "INDEX"}]}),
    ));
    assert_eq!(refused.unwrap_err().kind(), ErrorKind::PermissionDenied);
}

#[test]
fn feeds_of_a_workspace_that_may_not_be_seen_are_refused() {
    let world = World::new();
    let query = |who: &str, workspace: &str| {
        let found = world.session(who).query_feeds(request(json!({"workspace": workspace})));
        found
            .map(|found| found.feeds.len())
            .map_err(|error| (error.kind(), error.api_error().name.unwrap_or_default()))
    };
    let refused = Err((ErrorKind::PermissionDenied, "Feeds.UnauthorizedWorkspaceError".to_owned()));
    assert_eq!((query("guest", "open"), query("guest", "secret")), (Ok(1), refused.clone()));
    // A workspace that is not registered is refused like any other, and as such where all are seen.
    let unknown = Err((ErrorKind::InvalidArgument, "Feeds.UnauthorizedWorkspaceError".to_owned()));
    assert_eq!((query("guest", "nowhere"), query("ada", "nowhere")), (refused.clone(), unknown));
    assert_eq!((query("stranger", "open"), query("reader", "secret")), (refused, Ok(1)));
    // A feed that may not be seen is an unknown one for every operation.
    let guest = world.session("guest");
    let control = Control::default();
    for (who, id) in [("a hidden feed", world.secret.feed.as_str()), ("no feed", "7")] {
        let id = &id.into();
        let path = world.dir.path().join("made.deb");
        std::fs::write(&path, package("made")).unwrap();
        let mut archive = &package("made")[..];
        let written = || {
            let mut writer = guest.write_package(&control).unwrap();
            std::io::Write::write_all(&mut writer, &package("made")).unwrap();
            writer
        };
        let outcomes: [(&str, Result<(), stationdb::Error>); 11] = [
            ("get_feed", guest.get_feed(id).map(drop)),
            ("update_feed", guest.update_feed(id, request(json!({"name": "n"}))).map(drop)),
            ("delete_feed", guest.delete_feed(id)),
            ("query_packages", guest.query_packages(id).map(drop)),
            ("upload_package", guest.upload_package(id, &path, false, &control).map(drop)),
            (
                "upload_package_content",
                guest.upload_package_content(id, &mut archive, None, false, &control).map(drop),
            ),
            (
                "commit_package",
                guest.commit_package(id, written(), None, false, &control).map(drop),
            ),
            ("packages_index", guest.packages_index(id).map(drop)),
            ("packages_index_gz", guest.packages_index_gz(id).map(drop)),
            (
                "download_package_file",
                guest.download_package_file(id, "x", &mut Vec::new(), &control).map(drop),
            ),
            (
                "export_feed",
                guest.export_feed(id, &world.dir.path().join("out"), &control).map(drop),
            ),
        ];
        for (operation, outcome) in outcomes {
            let error = outcome.expect_err(operation);
            let name = error.api_error().name;
            assert_eq!(name.as_deref(), Some("Feeds.FeedNotFoundError"), "{who}: {operation}");
            assert_eq!(error.kind(), ErrorKind::NotFound, "{who}: {operation}");
        }
    }
}

/// Rows that the store writes for an operation need no right of their own.
#[test]
fn whoever_may_only_create_or_only_delete_finishes_what_it_starts() {
    let world = World::new();
    let control = Control::default();
    let maker = world.session("maker");
    let started = |count: usize| assert_eq!(maker.query_upload_sessions().unwrap().len(), count);
    let waiting = maker.query_upload_sessions().unwrap().len();
    let upload = || {
        let id = maker.start_upload_session(Some("open".to_owned())).unwrap().id;
        maker
            .append_to_upload_session(
                &id.as_str().into(),
                1,
                &mut b"bytes".as_slice(),
                true,
                &control,
            )
            .unwrap();
        started(waiting + 1);
        id
    };
    let file = maker
        .finish_upload_session(&upload().as_str().into(), "made.txt", Default::default())
        .unwrap();
    started(waiting);
    maker.cancel_upload_session(&upload().as_str().into()).unwrap();
    started(waiting);
    let feed = &world.open.feed;
    let put = |who: &stationdb::Session, overwrite| {
        who.upload_package_content(
            &feed.into(),
            &mut package("made").as_slice(),
            None,
            overwrite,
            &control,
        )
    };
    let made = put(&maker, false).unwrap();
    assert_eq!(maker.get_feed(&feed.into()).unwrap().updated_at, made.updated_at);

    // Only that is allowed.
    let refused = |outcome: stationdb::Result<()>| {
        assert_eq!(outcome.unwrap_err().kind(), ErrorKind::PermissionDenied);
    };
    refused(put(&maker, true).map(drop));
    refused(maker.delete_package(&made.id));
    refused(maker.delete_file(&file));
    refused(maker.update_metadata(
        &file,
        request(json!({"replaceExisting": false, "properties": {"k": "v"}})),
    ));
    refused(maker.update_feed(&feed.into(), request(json!({"name": "other"}))).map(drop));
    let cleaner = world.session("cleaner");
    refused(put(&cleaner, true).map(drop));
    refused(cleaner.cancel_upload_session(&world.open.open_upload.as_str().into()));
    refused(
        cleaner
            .finish_upload_session(&world.open.upload.as_str().into(), "n", Default::default())
            .map(drop),
    );
    cleaner.delete_package(&made.id).unwrap();
    cleaner.delete_file(&file).unwrap();
    assert_eq!(maker.query_packages(&feed.into()).unwrap().packages.len(), 1);
}

#[test]
fn a_deadline_that_has_passed_stops_every_operation() {
    let world = World::new();
    let before = world.picture();
    let late = world.session("ada").with_deadline(Instant::now());
    for probe in probes() {
        if let Effect::Shows | Effect::Changes = probe.effect {
            let kind = probe.run(&late, &world).map_err(|error| error.kind());
            assert_eq!(kind, Err(ErrorKind::DeadlineExceeded), "{}", probe.operation);
        }
    }
    assert_eq!(world.picture(), before);
}

/// A decorator that a server or a test may use instead of a session.
struct Counting<S> {
    inner: S,
    calls: AtomicUsize,
}

impl<S: SearchService> SearchService for Counting<S> {
    fn search(&self, request: SearchRequest) -> stationdb::Result<SearchResponse> {
        self.calls.fetch_add(1, Ordering::SeqCst);
        self.inner.search(request)
    }
}

#[test]
fn a_decorator_takes_the_place_of_a_service() {
    let world = World::new();
    let counting = Arc::new(Counting { inner: world.session("ada"), calls: AtomicUsize::new(0) });
    let service: Arc<dyn SearchService + Send + Sync> = counting.clone();
    let found =
        std::thread::spawn(move || service.search(SearchRequest::default())).join().unwrap();
    assert_eq!(
        (found.is_ok(), counting.calls.load(Ordering::SeqCst)),
        (cfg!(feature = "search"), 1)
    );
}
