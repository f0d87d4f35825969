//! One probe for every method of the handles of a store that are no services.

use std::io::{Read, Seek, SeekFrom, Write};
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::json;
use stationdb::arrow::error::ArrowError;
use stationdb::faults::{MemoryDisk, SharedDisk};
use stationdb::prelude::*;
use stationdb::tables::RowStream;
use stationdb::{
    ContentReader, Control, Error, HoldBounds, Identity, Items, Position, Result, Store,
    VerifyLevel,
};

use crate::disk::PanickingDisk;
use crate::options;
use crate::world::{World, request};

/// Prepares, calls [`PanickingDisk::begin`], and makes its call. The store is closed at the end.
type Run = fn(World, &PanickingDisk) -> Result<()>;

/// Probes that make no read.
pub const READ_NOTHING: &[&str] = &[
    "ChangeStream::position",
    "ContentReader::is_empty",
    "ContentReader::len",
    "ContentReader::seek",
    "ContentWriter::flush",
    "ContentWriter::is_empty",
    "ContentWriter::len",
    "RecordStream::schema",
    "RowStream::into_record_batches",
    "RowStream::schema",
    "Session::all_or_nothing",
    "Session::changes",
    "Session::identity",
    "Session::pinned",
    "Session::position",
    "Session::synchronise",
    "Session::with_control",
    "Session::with_deadline",
    "Session::with_default_workspace",
    "Store::changes",
    "Store::id",
    "Store::maintenance_error",
    "Store::maintenance_status",
    "Store::session",
    "Store::settings",
    "Store::synchronise",
    "StoredBytes::byte_count",
    "StoredRows::bytes",
    "StoredRows::is_in_append_order",
    "StoredRows::ordinals",
    "SyncStream::begin_pass",
    "SyncStream::hold",
    "SyncStream::point",
];

/// Methods without a probe, with the reason.
pub const OTHERS: &[(&str, &str)] = &[
    (
        "ContentReader::parts",
        "takes what cannot be named outside the crate; `FileService::open_file` calls it",
    ),
    ("ContentReader::small", "the same"),
    (
        "RowStream::new",
        "takes what cannot be named outside the crate; `TableService::scan` calls it",
    ),
    ("Store::open", "`StoreOptions::open_disk` on a disk of its own"),
    ("Store::options", "makes options"),
    ("Store::look", "directories of the system only; tests/look.rs"),
    ("StoreOptions::look", "directories of the system only; tests/look.rs"),
    ("Store::restore", "`Store::restore_disk` on disks of its own"),
    ("Store::salvage", "`Store::salvage_disk` on disks of its own"),
    ("StoreOptions::access_policy", "sets an option"),
    ("StoreOptions::clock", "sets an option"),
    ("StoreOptions::create", "sets an option"),
    ("StoreOptions::default_workspace", "sets an option"),
    ("StoreOptions::job_runner", "sets an option"),
    ("StoreOptions::open", "`StoreOptions::open_disk` on a disk of its own"),
    ("StoreOptions::settings", "sets options"),
    ("StoreOptions::shared_clock", "sets an option"),
    ("StoreOptions::shared_job_runner", "sets an option"),
    ("StoreOptions::vendor_prefix", "sets an option"),
];

fn empty() -> SharedDisk {
    Arc::new(MemoryDisk::new())
}

fn rows(w: &World) -> Result<RowStream> {
    w.session("ada").scan(&w.secret.table.as_str().into(), request(json!({})), &Control::default())
}

fn file(w: &World) -> Result<ContentReader> {
    w.session("ada").open_file(&w.secret.file.as_str().into())
}

fn own_error(error: std::io::Error) -> Error {
    let own = error.get_ref().and_then(|inner| inner.downcast_ref::<Error>()).cloned();
    own.unwrap_or_else(|| Error::io("reading", error))
}

/// Two probes of each page iterator, one through a session and one through a transaction. Each reads
/// all pages of the query that follows the name, and what it meets is the last item.
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
    let table: [(&'static str, Run); 32] = page_probes! {
        products(|w| json!({"take": 1}));
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

pub fn probes() -> Vec<(&'static str, Run)> {
    let table: &[(&'static str, Run)] = &[
        ("StoreOptions::open_disk", |w, d| {
            drop(w);
            d.begin();
            options().open_disk(d.shared()).map(drop)
        }),
        ("Store::session", |w, d| {
            d.begin();
            let _ = w.store.session(Identity::user("ada"));
            d.disarm();
            Ok(())
        }),
        ("Store::id", |w, d| {
            d.begin();
            let _ = w.store.id();
            d.disarm();
            Ok(())
        }),
        ("Store::settings", |w, d| {
            d.begin();
            let _ = w.store.settings().seal_rows;
            d.disarm();
            Ok(())
        }),
        ("Session::all_or_nothing", |w, d| {
            let ada = w.session("ada");
            d.begin();
            let _ = ada.all_or_nothing();
            d.disarm();
            Ok(())
        }),
        ("Store::maintenance_status", |w, d| {
            d.begin();
            let _ = w.store.maintenance_status();
            d.disarm();
            Ok(())
        }),
        ("Store::maintenance_error", |w, d| {
            d.begin();
            let _ = w.store.maintenance_error();
            d.disarm();
            Ok(())
        }),
        ("Store::close", |w, d| {
            // Something to save.
            w.session("ada").delete_product(&w.open.product.as_str().into())?;
            d.begin();
            w.store.close()
        }),
        ("Store::maintain", |w, d| {
            let ada = w.session("ada");
            ada.delete_file(&w.secret.file.as_str().into())?;
            ada.delete_table(&w.open.table.as_str().into())?;
            drop(ada);
            d.begin();
            w.store.maintain(&Control::default()).map(drop)
        }),
        ("Store::take_present_time", |w, d| {
            d.begin();
            w.store.take_present_time().map(drop)
        }),
        ("Store::trim_changes", |w, d| {
            let late = stationdb::chrono::DateTime::<stationdb::chrono::Utc>::MAX_UTC;
            d.begin();
            w.store.trim_changes(late, &Control::default()).map(drop)
        }),
        ("Store::verify", |w, d| {
            d.begin();
            // A panic becomes a finding.
            w.store.verify(VerifyLevel::Checksums, &Control::default()).map(drop)
        }),
        ("Store::verify_pages", |mut w, d| {
            d.begin();
            w.store.verify_pages(&Control::default()).map(drop)
        }),
        ("Store::compact", |mut w, d| {
            d.begin();
            w.store.compact().map(drop)
        }),
        ("Store::backup", |w, d| {
            d.begin();
            w.store.backup(w.dir.path().join("backup"), &Control::default()).map(drop)
        }),
        ("Store::backup_disk", |w, d| {
            d.begin();
            w.store.backup_disk(&empty(), &Control::default()).map(drop)
        }),
        ("Store::restore_disk", |w, d| {
            drop(w);
            d.begin();
            Store::restore_disk(&d.shared(), &empty(), &Control::default()).map(drop)
        }),
        ("Store::salvage_disk", |w, d| {
            drop(w);
            d.begin();
            Store::salvage_disk(&d.shared(), &empty(), &Control::default()).map(drop)
        }),
        ("Store::changes", |w, d| {
            d.begin();
            let _ = w.store.changes(Position::START);
            d.disarm();
            Ok(())
        }),
        ("Store::synchronise", |w, d| {
            d.begin();
            let _ = w.store.synchronise(Position::START);
            d.disarm();
            Ok(())
        }),
        ("Store::synchronise_subscriber", |w, d| {
            w.store.register("replica")?;
            d.begin();
            w.store.synchronise_subscriber("replica").map(drop)
        }),
        ("Store::register_with", |w, d| {
            d.begin();
            w.store.register_with("replica", HoldBounds::new(1, 1)).map(drop)
        }),
        ("Store::register", |w, d| {
            d.begin();
            w.store.register("replica").map(drop)
        }),
        ("Store::subscribers", |w, d| {
            d.begin();
            w.store.subscribers().map(drop)
        }),
        ("Store::unregister", |w, d| {
            w.store.register("replica")?;
            d.begin();
            w.store.unregister("replica")
        }),
        ("Store::advance", |w, d| {
            let at = w.store.register("replica")?;
            d.begin();
            w.store.advance("replica", at)
        }),
        ("Session::with_default_workspace", |w, d| {
            d.begin();
            let _ = w.session("ada").with_default_workspace("open");
            d.disarm();
            Ok(())
        }),
        ("Session::pinned", |w, d| {
            d.begin();
            let _ = w.session("ada").pinned();
            d.disarm();
            Ok(())
        }),
        ("RecordStream::next", |w, d| {
            let asked =
                stationdb::scans::ScanRecordsRequest::new(stationdb::scans::RecordKind::Product);
            let mut stream = w.session("ada").scan_records(asked, &Control::default())?;
            d.begin();
            let first = stream.next();
            let outcome = first.map_or(Ok(()), |batch| batch.map(drop));
            if outcome.is_err() {
                assert!(stream.next().is_none(), "a batch after an error");
            }
            outcome
        }),
        ("StoredRows::ordinals", |w, d| {
            let each = &mut |part: stationdb::tables::RowsPart<'_>| match part.rows {
                stationdb::tables::PartRows::Segment(stored) => {
                    d.begin();
                    let _ = stored.is_in_append_order();
                    let ordinals = stored.ordinals(0..part.row_count).map(drop);
                    d.disarm();
                    ordinals
                }
                _ => Ok(()),
            };
            let id = w.secret.table.as_str().into();
            w.session("ada").export_rows(&id, 0..u64::MAX, each, &Control::default()).map(drop)
        }),
        ("StoredBytes::read_at", |w, d| {
            let each = &mut |part: stationdb::tables::RowsPart<'_>| match part.rows {
                stationdb::tables::PartRows::Segment(stored) => {
                    d.begin();
                    let bytes = stored.bytes();
                    let mut out = vec![0; usize::try_from(bytes.byte_count()).unwrap()];
                    let read = bytes.read_at(0, &mut out);
                    d.disarm();
                    read
                }
                _ => Ok(()),
            };
            let id = w.secret.table.as_str().into();
            w.session("ada").export_rows(&id, 0..u64::MAX, each, &Control::default()).map(drop)
        }),
        ("StoredRows::bytes", |w, d| {
            let each = &mut |part: stationdb::tables::RowsPart<'_>| {
                if let stationdb::tables::PartRows::Segment(stored) = part.rows {
                    d.begin();
                    let _ = stored.bytes();
                    d.disarm();
                }
                Ok(())
            };
            let id = w.secret.table.as_str().into();
            w.session("ada").export_rows(&id, 0..u64::MAX, each, &Control::default()).map(drop)
        }),
        ("StoredBytes::byte_count", |w, d| {
            let each = &mut |part: stationdb::tables::RowsPart<'_>| {
                if let stationdb::tables::PartRows::Segment(stored) = part.rows {
                    d.begin();
                    let _ = stored.bytes().byte_count();
                    d.disarm();
                }
                Ok(())
            };
            let id = w.secret.table.as_str().into();
            w.session("ada").export_rows(&id, 0..u64::MAX, each, &Control::default()).map(drop)
        }),
        ("StoredRows::is_in_append_order", |w, d| {
            let each = &mut |part: stationdb::tables::RowsPart<'_>| {
                if let stationdb::tables::PartRows::Segment(stored) = part.rows {
                    d.begin();
                    let _ = stored.is_in_append_order();
                    d.disarm();
                }
                Ok(())
            };
            let id = w.secret.table.as_str().into();
            w.session("ada").export_rows(&id, 0..u64::MAX, each, &Control::default()).map(drop)
        }),
        ("RecordStream::schema", |w, d| {
            let asked =
                stationdb::scans::ScanRecordsRequest::new(stationdb::scans::RecordKind::Product);
            let stream = w.session("ada").scan_records(asked, &Control::default())?;
            d.begin();
            let _ = stream.schema();
            d.disarm();
            Ok(())
        }),
        ("Session::with_deadline", |w, d| {
            d.begin();
            let _ = w.session("ada").with_deadline(Instant::now());
            d.disarm();
            Ok(())
        }),
        ("Session::identity", |w, d| {
            d.begin();
            let _ = w.session("ada").identity().user_id().len();
            d.disarm();
            Ok(())
        }),
        ("Session::transaction", |w, d| {
            d.begin();
            w.session("ada").transaction(|tx| {
                tx.delete_product(&w.secret.product.as_str().into())?;
                tx.delete_file(&w.secret.file.as_str().into())?;
                tx.query_products(request(json!({"take": 10}))).map(drop)
            })
        }),
        ("Session::changes", |w, d| {
            d.begin();
            let _ = w.session("ada").changes(Position::START);
            d.disarm();
            Ok(())
        }),
        ("Session::position", |w, d| {
            d.begin();
            let _ = w.session("ada").position();
            d.disarm();
            Ok(())
        }),
        ("Session::with_control", |w, d| {
            d.begin();
            let _ = w.session("ada").with_control(&Control::default());
            d.disarm();
            Ok(())
        }),
        ("Session::register_subscriber", |w, d| {
            d.begin();
            w.session("ada").register_subscriber("replica").map(drop)
        }),
        ("Session::register_subscriber_with", |w, d| {
            d.begin();
            w.session("ada").register_subscriber_with("r", HoldBounds::new(1, 1)).map(drop)
        }),
        ("Session::synchronise", |w, d| {
            d.begin();
            let _ = w.session("ada").synchronise(Position::START);
            d.disarm();
            Ok(())
        }),
        ("Session::synchronise_subscriber", |w, d| {
            let ada = w.session("ada");
            ada.register_subscriber("replica")?;
            d.begin();
            ada.synchronise_subscriber("replica").map(drop)
        }),
        ("SyncStream::point", |w, d| {
            let stream = w.store.synchronise(Position::START);
            d.begin();
            let _ = stream.point();
            d.disarm();
            Ok(())
        }),
        ("SyncStream::hold", |w, d| {
            let stream = w.store.synchronise(Position::START);
            d.begin();
            let _ = stream.hold();
            d.disarm();
            Ok(())
        }),
        ("SyncStream::begin_pass", |w, d| {
            let mut stream = w.store.synchronise(Position::START);
            d.begin();
            stream.begin_pass();
            d.disarm();
            Ok(())
        }),
        ("SyncStream::poll", |w, d| {
            let mut stream = w.store.synchronise(Position::START);
            stream.begin_pass();
            d.begin();
            while stream.poll()?.is_some() {}
            Ok(())
        }),
        ("SyncStream::next", |w, d| {
            let mut stream = w.session("ada").synchronise(Position::START);
            stream.begin_pass();
            d.begin();
            while stream.next(Duration::ZERO)?.is_some() {}
            Ok(())
        }),
        ("Session::subscribers", |w, d| {
            d.begin();
            w.session("ada").subscribers().map(drop)
        }),
        ("Session::advance_subscriber", |w, d| {
            let ada = w.session("ada");
            let at = ada.register_subscriber("replica")?;
            d.begin();
            ada.advance_subscriber("replica", at)
        }),
        ("Session::remove_subscriber", |w, d| {
            let ada = w.session("ada");
            ada.register_subscriber("replica")?;
            d.begin();
            ada.remove_subscriber("replica")
        }),
        ("ChangeStream::position", |w, d| {
            let changes = w.store.changes(Position::START);
            d.begin();
            let _ = changes.position();
            d.disarm();
            Ok(())
        }),
        ("ChangeStream::poll", |w, d| {
            let mut changes = w.store.changes(Position::START);
            d.begin();
            while changes.poll()?.is_some() {}
            Ok(())
        }),
        ("ChangeStream::next", |w, d| {
            let mut changes = w.session("ada").changes(Position::START);
            d.begin();
            while changes.next(Duration::ZERO)?.is_some() {}
            Ok(())
        }),
        ("RowStream::schema", |w, d| {
            let rows = rows(&w)?;
            d.begin();
            let _ = rows.schema();
            d.disarm();
            Ok(())
        }),
        ("RowStream::next", |w, d| {
            let rows = rows(&w)?;
            d.begin();
            rows.collect::<Result<Vec<_>>>().map(drop)
        }),
        ("RowStream::into_record_batches", |w, d| {
            let rows = rows(&w)?;
            d.begin();
            let _ = rows.into_record_batches();
            d.disarm();
            Ok(())
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
        ("ContentReader::len", |w, d| {
            let file = file(&w)?;
            d.begin();
            assert_eq!(file.len(), 5);
            d.disarm();
            Ok(())
        }),
        ("ContentReader::is_empty", |w, d| {
            let file = file(&w)?;
            d.begin();
            assert!(!file.is_empty());
            d.disarm();
            Ok(())
        }),
        ("ContentReader::read_at", |w, d| {
            let mut file = file(&w)?;
            d.begin();
            file.read_at(&mut [0; 3], 1).map(drop)
        }),
        ("ContentReader::copy_to", |w, d| {
            let mut file = file(&w)?;
            d.begin();
            file.copy_to(&mut Vec::new(), &Control::default()).map(drop)
        }),
        ("ContentReader::verify", |w, d| {
            let mut file = file(&w)?;
            d.begin();
            file.verify(&Control::default())
        }),
        ("ContentReader::read", |w, d| {
            let mut file = file(&w)?;
            d.begin();
            file.read(&mut [0; 9]).map(drop).map_err(own_error)
        }),
        ("ContentWriter::write", |w, d| {
            let mut content = w.session("ada").write_file(&Control::default())?;
            d.begin();
            // Too long for the record file, so a number for a blob is drawn.
            content.write_all(&[7; 100_000]).map_err(own_error)
        }),
        ("ContentWriter::flush", |w, d| {
            let mut content = w.session("ada").write_file(&Control::default())?;
            d.begin();
            content.flush().map_err(own_error)?;
            d.disarm();
            Ok(())
        }),
        ("ContentWriter::len", |w, d| {
            let content = w.session("ada").write_file(&Control::default())?;
            d.begin();
            assert_eq!(content.len(), 0);
            d.disarm();
            Ok(())
        }),
        ("ContentWriter::is_empty", |w, d| {
            let content = w.session("ada").write_file(&Control::default())?;
            d.begin();
            assert!(content.is_empty());
            d.disarm();
            Ok(())
        }),
        ("ContentReader::seek", |w, d| {
            let mut file = file(&w)?;
            d.begin();
            file.seek(SeekFrom::End(-1)).map_err(own_error)?;
            d.disarm();
            Ok(())
        }),
    ];
    table.iter().copied().chain(page_probes()).collect()
}
