//! One probe for every method of the handles of a store that are no services.

use std::io::{Read, Seek, SeekFrom, Write};
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::json;
use stationdb::arrow::error::ArrowError;
use stationdb::chrono::{DateTime, Utc};
use stationdb::faults::{MemoryDisk, SharedDisk};
use stationdb::files::ContentWriter;
use stationdb::prelude::*;
use stationdb::scans::{RecordKind, RecordStream, ScanRecordsRequest};
use stationdb::tables::{PartRows, RowStream, RowsPart, StoredRows};
use stationdb::{
    ContentReader, Control, Error, HoldBounds, Identity, Items, Position, Result, Session,
    SetBackupOptions, Store, SyncStream, VerifyLevel,
};

use crate::calls::own_error;
use crate::disk::PanickingDisk;
use crate::options;
use crate::world::{World, request};

/// Prepares, calls [`PanickingDisk::begin`], and makes its call. The store is closed at the end.
type Run = fn(World, &PanickingDisk) -> Result<()>;

/// Other probes that make no read: they look at segments that are open already.
const OF_OPEN_SEGMENTS: [&str; 4] = [
    "StoredBytes::byte_count",
    "StoredRows::bytes",
    "StoredRows::is_in_append_order",
    "StoredRows::ordinals",
];

/// Whether a probe makes no read.
pub fn reads_nothing(name: &str) -> bool {
    OF_OPEN_SEGMENTS.contains(&name)
        || silent_probes().into_iter().any(|(silent, _)| silent == name)
}

/// Methods without a probe, with the reason.
pub const OTHERS: &[(&str, &str)] = &[
    (
        "ContentReader::parts",
        "takes what cannot be named outside the crate; `FileService::open_file` calls it",
    ),
    ("ContentReader::small", "the same"),
    ("OwnedTransaction::use_here", "reads nothing; it only asks whether the turn is still held"),
    (
        "RowStream::new",
        "takes what cannot be named outside the crate; `TableService::scan` calls it",
    ),
    ("RunStart::operator", "sets a part of what is stored later"),
    ("RunStart::system_id", "sets a part of what is stored later"),
    ("RunStart::host_name", "sets a part of what is stored later"),
    ("RunStart::workspace", "sets a part of what is stored later"),
    ("RunStart::started_at", "sets a part of what is stored later"),
    ("RunStart::keyword", "sets a part of what is stored later"),
    ("RunStart::property", "sets a part of what is stored later"),
    ("RunStep::measure", "sets a part of what is stored later"),
    ("RunStep::measure_text", "sets a part of what is stored later"),
    ("RunStep::measure_bool", "sets a part of what is stored later"),
    ("RunStep::limits", "sets a part of what is stored later"),
    ("RunStep::at_least", "sets a part of what is stored later"),
    ("RunStep::at_most", "sets a part of what is stored later"),
    ("RunStep::equals", "sets a part of what is stored later"),
    ("RunStep::spec", "sets a part of what is stored later"),
    ("RunStep::condition", "sets a part of what is stored later"),
    ("RunStep::input", "sets a part of what is stored later"),
    ("RunStep::output", "sets a part of what is stored later"),
    ("RunStep::file", "sets a part of what is stored later"),
    ("RunStep::table", "sets a part of what is stored later"),
    ("RunStep::step_type", "sets a part of what is stored later"),
    ("RunStep::text", "sets a part of what is stored later"),
    ("RunStep::keyword", "sets a part of what is stored later"),
    ("RunStep::property", "sets a part of what is stored later"),
    ("RunStep::started_at", "sets a part of what is stored later"),
    ("RunStep::total_time_in_seconds", "sets a part of what is stored later"),
    ("RunStep::status", "sets a part of what is stored later"),
    ("Run::begin", "reads nothing, and stores nothing before `RunStart::start`"),
    ("RunSequence::id", "reads nothing"),
    ("RunSequence::step", "reads nothing, and stores nothing before `RunStep::finish`"),
    ("Store::open", "`StoreOptions::open_disk` on a disk of its own"),
    ("Store::options", "makes options"),
    ("Store::look", "directories of the system only; tests/look.rs"),
    ("StoreOptions::look", "directories of the system only; tests/look.rs"),
    ("Store::restore", "`Store::restore_disk` on disks of its own"),
    ("Store::salvage", "`Store::salvage_disk` on disks of its own"),
    ("Store::repair", "`Store::repair_disk`"),
    ("Store::repair_disk", "needs a set; reads as `Store::verify` does"),
    ("Store::list_backups", "reads a set and no store; src/store/set/tests"),
    ("Store::list_backups_disk", "reads a set and no store; src/store/set/tests"),
    ("Store::verify_set", "reads a set and no store; src/store/set/tests"),
    ("Store::verify_set_disk", "reads a set and no store; src/store/set/tests"),
    ("Store::prune_set", "reads a set and no store; src/store/set/tests"),
    ("Store::prune_set_disk", "reads a set and no store; src/store/set/tests"),
    ("Store::restore_from_set", "reads a set; opens the copy as `Store::restore_disk` does"),
    ("Store::restore_from_set_disk", "reads a set; opens the copy as `Store::restore_disk` does"),
    ("StoreOptions::access_policy", "sets an option"),
    ("StoreOptions::clock", "sets an option"),
    ("StoreOptions::create", "sets an option"),
    ("StoreOptions::default_workspace", "sets an option"),
    ("StoreOptions::job_runner", "sets an option"),
    ("StoreOptions::open", "`StoreOptions::open_disk` on a disk of its own"),
    ("StoreOptions::settings", "sets options"),
    ("StoreOptions::shared_clock", "sets an option"),
    ("StoreOptions::shared_job_runner", "sets an option"),
    ("StoreOptions::result_retention", "sets an option"),
    ("Run::first_ordinal", "of a run of rows, which has the name inside the crate"),
    ("Run::has_dead", "of a run of rows, which has the name inside the crate"),
    ("Run::index_range", "of a run of rows, which has the name inside the crate"),
    ("Run::live_count", "of a run of rows, which has the name inside the crate"),
    ("Run::ordinal_range", "of a run of rows, which has the name inside the crate"),
    ("Run::row_count", "of a run of rows, which has the name inside the crate"),
    ("Run::stored", "of a run of rows, which has the name inside the crate"),
    ("StoreOptions::vendor_prefix", "sets an option"),
];

/// Sets with a backup, and a commit after it that the archive has.
fn archived_to(w: &World, set: &SharedDisk) -> Result<()> {
    let (options, control) = (SetBackupOptions::new(), Control::default());
    w.store.set_archive_bytes(1 << 30)?;
    w.store.backup_to_set_disk(set, &options, &control)?;
    w.store.backup_to_set(w.dir.path().join("set"), &options, &control)?;
    w.session("ada").delete_product(&w.secret.product.as_str().into())
}

fn archived(w: &World) -> Result<()> {
    archived_to(w, &empty())
}

fn archived_disk(w: &World) -> Result<SharedDisk> {
    let set = empty();
    archived_to(w, &set).map(|()| set)
}

fn empty() -> SharedDisk {
    Arc::new(MemoryDisk::new())
}

fn rows(w: &World) -> Result<RowStream> {
    w.session("ada").scan(&w.secret.table.as_str().into(), request(json!({})), &Control::default())
}

fn file(w: &World) -> Result<ContentReader> {
    w.session("ada").open_file(&w.secret.file.as_str().into())
}

/// Three probes of each page iterator, through a session and both forms of a transaction. Each
/// reads all pages of the query that follows the name, and what it meets is the last item.
macro_rules! page_probes {
    ($($name:ident(|$world:ident| $query:expr);)*) => {
        [$(
            (concat!("Session::", stringify!($name)), |$world: World, disk: &PanickingDisk| {
                let (session, query) = ($world.session("ada"), request($query));
                disk.begin();
                read_pages(session.$name(query))
            }),
            (concat!("Transaction::", stringify!($name)), |$world: World, disk: &PanickingDisk| {
                let (session, query) = ($world.session("ada"), request($query));
                disk.begin();
                session.transaction(|tx| read_pages(tx.$name(query)))
            }),
            (
                concat!("OwnedTransaction::", stringify!($name)),
                |$world: World, disk: &PanickingDisk| {
                    let (session, query) = ($world.session("ada"), request($query));
                    disk.begin();
                    let transaction = session.begin()?;
                    read_pages(transaction.$name(query))
                },
            ),
        )*]
    };
}

/// Reads all pages of one item, of which there are at least two where nothing panics.
fn read_pages<T>(mut items: Items<'_, T>) -> Result<()> {
    let mut count = 0;
    while let Some(item) = items.next() {
        if let Err(error) = item {
            assert!(items.next().is_none(), "an item after the error {error}");
            return Err(error);
        }
        count += 1;
    }
    assert!(count >= 2, "{count} items");
    Ok(())
}

fn page_probes() -> impl IntoIterator<Item = (&'static str, Run)> {
    let table: [(&'static str, Run); 57] = page_probes! {
        products(|w| json!({"take": 1}));
        results(|w| json!({"take": 1}));
        steps(|w| json!({"take": 1}));
        step_paths(|w| json!({"take": 1}));
        specifications(|w| json!({"productIds": [w.open.product, w.secret.product], "take": 1}));
        assets(|w| json!({"take": 1}));
        utilizations(|w| json!({"take": 1}));
        work_items(|w| json!({"take": 1}));
        work_item_templates(|w| json!({"take": 1}));
        test_plans(|w| json!({"take": 1}));
        test_plan_templates(|w| json!({"take": 1}));
        tables(|w| json!({"filter": "", "take": 1}));
        listed_tables(|w| json!({"take": 1}));
        files(|w| json!({"take": 1}));
        listed_files(|w| json!({"take": 1}));
        matching_files(|w| json!({"take": 1}));
        found_files(|w| json!({"filter": "", "take": 1}));
        workspaces(|w| json!({"take": 1}));
        hits(|w| json!({"text": "thing", "take": 1}));
    };
    table
}

/// Probes of one call each: `"name" => call, where made = preparation`, in which `w` and `d` are the
/// world and its disk. The panic may come after the preparation.
macro_rules! calls {
    ($end:ident |$w:ident, $d:ident| $(
        $name:literal => $call:expr $(, where $made:pat_param = $prepare:expr)?;
    )*) => {
        [$(($name, |$w: World, $d: &PanickingDisk| {
            $(let $made = $prepare;)?
            $d.begin();
            $end!($d, $call)
        }),)*]
    };
}

/// The end of a call that reads, and fails where the read panics.
macro_rules! reads {
    ($disk:ident, $call:expr) => {
        $call.map(drop)
    };
}

/// The end of a call that makes no read.
macro_rules! reads_nothing {
    ($disk:ident, $call:expr) => {{
        let _ = $call;
        $disk.disarm();
        Ok(())
    }};
}

fn products(w: &World) -> Result<RecordStream> {
    w.session("ada").scan_records(ScanRecordsRequest::new(RecordKind::Product), &Control::default())
}

/// A run in progress of the hidden workspace.
fn run(w: &World) -> Result<stationdb::results::Run> {
    let ada = w.session("ada");
    let mut left = ada.unfinished_runs()?;
    left.retain(|result| result.workspace.as_deref() == Some(w.secret.workspace.as_str()));
    stationdb::results::Run::resume(&ada, &left.remove(0).id.unwrap())
}

/// A run with the id of a sequence in progress.
fn sequence(w: &World) -> Result<(stationdb::results::Run, String)> {
    let run = run(w)?;
    let id = run.sequence("s")?.id().to_owned();
    Ok((run, id))
}

fn writer(w: &World) -> Result<ContentWriter> {
    w.session("ada").write_file(&Control::default())
}

fn subscriber(w: &World) -> Result<(Session, Position)> {
    let ada = w.session("ada");
    let at = ada.register_subscriber("replica")?;
    Ok((ada, at))
}

/// Leaves something to maintain.
fn delete(w: &World) -> Result<()> {
    let ada = w.session("ada");
    ada.delete_file(&w.secret.file.as_str().into())?;
    ada.delete_table(&w.open.table.as_str().into())
}

/// Exports the rows of a table, and makes a call with what is stored of them.
fn stored(w: &World, mut call: impl FnMut(&StoredRows<'_>, u64) -> Result<()>) -> Result<()> {
    let each = &mut |part: RowsPart<'_>| match part.rows {
        PartRows::Segment(rows) => call(&rows, part.row_count),
        _ => Ok(()),
    };
    let id = w.secret.table.as_str().into();
    w.session("ada").export_rows(&id, 0..u64::MAX, each, &Control::default()).map(drop)
}

/// Reads a stream to its end.
fn drained<T>(mut next: impl FnMut() -> Result<Option<T>>) -> Result<()> {
    while next()?.is_some() {}
    Ok(())
}

/// The stream at the begin of a full pass.
fn pass(mut stream: SyncStream) -> SyncStream {
    stream.begin_pass();
    stream
}

fn silent_probes() -> impl IntoIterator<Item = (&'static str, Run)> {
    let table: [(&'static str, Run); 30] = calls! { reads_nothing |w, d|
        "Store::session" => w.store.session(Identity::user("ada"));
        "Store::id" => w.store.id();
        "Store::archive_status" => w.store.archive_status();
        "Store::settings" => w.store.settings().seal_rows;
        "Session::all_or_nothing" => ada.all_or_nothing(), where ada = w.session("ada");
        "Store::changes" => w.store.changes(Position::START);
        "Store::synchronise" => w.store.synchronise(Position::START);
        "Run::id" => run.id().len(), where run = run(&w)?;
        "Run::step" => drop(run.step("s")), where run = run(&w)?;
        "Session::with_default_workspace" => w.session("ada").with_default_workspace("open");
        "Session::pinned" => w.session("ada").pinned();
        "RecordStream::schema" => stream.schema(), where stream = products(&w)?;
        "Session::with_deadline" => w.session("ada").with_deadline(Instant::now());
        "Session::identity" => w.session("ada").identity().user_id().len();
        "Session::changes" => w.session("ada").changes(Position::START);
        "Session::position" => w.session("ada").position();
        "Session::with_control" => w.session("ada").with_control(&Control::default());
        "Session::synchronise" => w.session("ada").synchronise(Position::START);
        "SyncStream::point" => stream.point(), where stream = w.store.synchronise(Position::START);
        "SyncStream::hold" => stream.hold(), where stream = w.store.synchronise(Position::START);
        "SyncStream::begin_pass" => stream.begin_pass(),
            where mut stream = w.store.synchronise(Position::START);
        "ChangeStream::position" => changes.position(),
            where changes = w.store.changes(Position::START);
        "RowStream::schema" => rows.schema(), where rows = rows(&w)?;
        "RowStream::into_record_batches" => rows.into_record_batches(), where rows = rows(&w)?;
        "ContentReader::len" => assert_eq!(file.len(), 5), where file = file(&w)?;
        "ContentReader::is_empty" => assert!(!file.is_empty()), where file = file(&w)?;
        "ContentWriter::flush" => content.flush().map_err(own_error)?,
            where mut content = writer(&w)?;
        "ContentWriter::len" => assert_eq!(content.len(), 0), where content = writer(&w)?;
        "ContentWriter::is_empty" => assert!(content.is_empty()), where content = writer(&w)?;
        "ContentReader::seek" => file.seek(SeekFrom::End(-1)).map_err(own_error)?,
            where mut file = file(&w)?;
    };
    table
}

fn call_probes() -> impl IntoIterator<Item = (&'static str, Run)> {
    let table: [(&'static str, Run); 59] = calls! { reads |w, d|
        "RunStart::start" => start.start(&w.session("ada")),
            where start = stationdb::results::Run::begin("P", "S", "G");
        "Run::resume" => stationdb::results::Run::resume(&ada, &left[0].id.clone().unwrap()),
            where (ada, left) = (w.session("ada"), w.session("ada").unfinished_runs()?);
        "Run::result" => run.result(), where run = run(&w)?;
        "Run::open_sequences" => run.open_sequences(), where run = run(&w)?;
        "Run::sequence" => run.sequence("s"), where run = run(&w)?;
        "Run::resume_sequence" => run.resume_sequence(&id),
            where (run, id) = sequence(&w)?;
        "Run::attach_file" => run.attach_file(&w.secret.file.as_str().into()),
            where run = run(&w)?;
        "Run::attach_table" => run.attach_table(&w.secret.table.as_str().into()),
            where run = run(&w)?;
        "Run::create_table" => run.create_table(request(json!({"columns": [
            {"name": "t", "dataType": "INT64", "columnType": "INDEX"}]}))), where run = run(&w)?;
        "Run::finish" => run.finish(), where run = run(&w)?;
        "Run::finish_as" => run.finish_as(stationdb::results::StatusType::Done),
            where run = run(&w)?;
        "Run::terminate" => run.terminate(), where run = run(&w)?;
        "RunStep::finish" => run.step("s").measure("m", 1, "V").limits(0, 2).finish(),
            where run = run(&w)?;
        "RunSequence::sequence" => run.resume_sequence(&id)?.sequence("inner"),
            where (run, id) = sequence(&w)?;
        "RunSequence::finish" => run.resume_sequence(&id)?.finish(),
            where (run, id) = sequence(&w)?;
        "RunSequence::finish_as" =>
            run.resume_sequence(&id)?.finish_as(stationdb::results::StatusType::Done),
            where (run, id) = sequence(&w)?;
        "StoreOptions::open_disk" => options().open_disk(d.shared()), where () = drop(w);
        // Something to save.
        "Store::close" => w.store.close(),
            where () = w.session("ada").delete_product(&w.open.product.as_str().into())?;
        "Store::maintain" => w.store.maintain(&Control::default()), where () = delete(&w)?;
        "Store::take_present_time" => w.store.take_present_time();
        "Store::trim_changes" => w.store.trim_changes(late, &Control::default()),
            where late = DateTime::<Utc>::MAX_UTC;
        // It tells of what it could not read.
        "Store::status" => w.store.status();
        // A panic becomes a finding.
        "Store::verify" => w.store.verify(VerifyLevel::Checksums, &Control::default());
        "Store::verify_pages" => opened.store.verify_pages(&Control::default()),
            where mut opened = w;
        "Store::compact" => opened.store.compact(), where mut opened = w;
        "Store::backup" => w.store.backup(w.dir.path().join("backup"), &Control::default());
        "Store::backup_disk" => w.store.backup_disk(&empty(), &Control::default());
        "Store::backup_to_set" => w.store.backup_to_set(
            w.dir.path().join("set"), &SetBackupOptions::new(), &Control::default());
        "Store::backup_to_set_disk" =>
            w.store.backup_to_set_disk(&empty(), &SetBackupOptions::new(), &Control::default());
        "Store::archive_to_set" => w.store.archive_to_set(
            w.dir.path().join("set"), &SetBackupOptions::new(), &Control::default()),
            where () = archived(&w)?;
        "Store::archive_to_set_disk" => w.store.archive_to_set_disk(
            &set, &SetBackupOptions::new(), &Control::default()),
            where set = archived_disk(&w)?;
        "Store::set_archive_bytes" => w.store.set_archive_bytes(1 << 20);
        "Store::restore_disk" => Store::restore_disk(&d.shared(), &empty(), &Control::default()),
            where () = drop(w);
        "Store::salvage_disk" => Store::salvage_disk(&d.shared(), &empty(), &Control::default()),
            where () = drop(w);
        "Store::synchronise_subscriber" => w.store.synchronise_subscriber("replica"),
            where _ = w.store.register("replica")?;
        "Store::register_with" => w.store.register_with("replica", HoldBounds::new(1, 1));
        "Store::register" => w.store.register("replica");
        "Store::subscribers" => w.store.subscribers();
        "Store::unregister" => w.store.unregister("replica"),
            where _ = w.store.register("replica")?;
        "Store::advance" => w.store.advance("replica", at), where at = w.store.register("replica")?;
        "Session::transaction" => ada.transaction(|tx| {
            tx.delete_product(&w.secret.product.as_str().into())?;
            tx.delete_file(&w.secret.file.as_str().into())?;
            tx.query_products(request(json!({"take": 10}))).map(drop)
        }), where ada = w.session("ada");
        "OwnedTransaction::commit" => transaction.commit(), where transaction = {
            let transaction = w.session("ada").begin()?;
            transaction.delete_product(&w.secret.product.as_str().into())?;
            transaction.delete_file(&w.secret.file.as_str().into())?;
            transaction
        };
        "Session::begin" => {
            let transaction = ada.begin()?;
            transaction.delete_product(&w.secret.product.as_str().into())?;
            transaction.query_products(request(json!({"take": 10}))).map(drop)
        }, where ada = w.session("ada");
        "Session::register_subscriber" => w.session("ada").register_subscriber("replica");
        "Session::register_subscriber_with" =>
            w.session("ada").register_subscriber_with("r", HoldBounds::new(1, 1));
        "Session::synchronise_subscriber" => ada.synchronise_subscriber("replica"),
            where (ada, _) = subscriber(&w)?;
        "Session::subscribers" => w.session("ada").subscribers();
        "Session::advance_subscriber" => ada.advance_subscriber("replica", at),
            where (ada, at) = subscriber(&w)?;
        "Session::remove_subscriber" => ada.remove_subscriber("replica"),
            where (ada, _) = subscriber(&w)?;
        "RowStream::next" => rows.collect::<Result<Vec<_>>>(), where rows = rows(&w)?;
        "ContentReader::read_at" => file.read_at(&mut [0; 3], 1), where mut file = file(&w)?;
        "ContentReader::copy_to" => file.copy_to(&mut Vec::new(), &Control::default()),
            where mut file = file(&w)?;
        "ContentReader::verify" => file.verify(&Control::default()), where mut file = file(&w)?;
        "ContentReader::read" => file.read(&mut [0; 9]).map(drop).map_err(own_error),
            where mut file = file(&w)?;
        // Too long for the record file, so a number for a blob is drawn.
        "ContentWriter::write" => content.write_all(&[7; 100_000]).map_err(own_error),
            where mut content = writer(&w)?;
        "SyncStream::poll" => drained(|| stream.poll()),
            where mut stream = pass(w.store.synchronise(Position::START));
        "SyncStream::next" => drained(|| stream.next(Duration::ZERO)),
            where mut stream = pass(w.session("ada").synchronise(Position::START));
        "ChangeStream::poll" => drained(|| changes.poll()),
            where mut changes = w.store.changes(Position::START);
        "ChangeStream::next" => drained(|| changes.next(Duration::ZERO)),
            where mut changes = w.session("ada").changes(Position::START);
    };
    table
}

pub fn probes() -> Vec<(&'static str, Run)> {
    let table: &[(&'static str, Run)] = &[
        ("RecordStream::next", |w, d| {
            let mut stream = products(&w)?;
            d.begin();
            let first = stream.next();
            let outcome = first.map_or(Ok(()), |batch| batch.map(drop));
            if outcome.is_err() {
                assert!(stream.next().is_none(), "a batch after an error");
            }
            outcome
        }),
        ("RecordBatches::next", |w, d| {
            let batches = rows(&w)?.into_record_batches();
            d.begin();
            for batch in batches {
                batch.map_err(|error| match error {
                    ArrowError::ExternalError(own) => {
                        own.downcast_ref::<Error>().cloned().unwrap_or_else(|| panic!("{own}"))
                    }
                    other => panic!("{other}"),
                })?;
            }
            Ok(())
        }),
        ("StoredRows::ordinals", |w, d| {
            stored(&w, |rows, count| {
                d.begin();
                let _ = rows.is_in_append_order();
                let ordinals = rows.ordinals(0..count).map(drop);
                d.disarm();
                ordinals
            })
        }),
        ("StoredBytes::read_at", |w, d| {
            stored(&w, |rows, _| {
                d.begin();
                let bytes = rows.bytes();
                let mut out = vec![0; usize::try_from(bytes.byte_count()).unwrap()];
                let read = bytes.read_at(0, &mut out);
                d.disarm();
                read
            })
        }),
        ("StoredRows::bytes", |w, d| {
            stored(&w, |rows, _| {
                d.begin();
                let _ = rows.bytes();
                d.disarm();
                Ok(())
            })
        }),
        ("StoredBytes::byte_count", |w, d| {
            stored(&w, |rows, _| {
                d.begin();
                let _ = rows.bytes().byte_count();
                d.disarm();
                Ok(())
            })
        }),
        ("StoredRows::is_in_append_order", |w, d| {
            stored(&w, |rows, _| {
                d.begin();
                let _ = rows.is_in_append_order();
                d.disarm();
                Ok(())
            })
        }),
    ];
    let calls = silent_probes().into_iter().chain(call_probes());
    calls.chain(table.iter().copied()).chain(page_probes()).collect()
}
