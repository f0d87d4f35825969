//! The spans and events of the feature `tracing`, as a host that collects them sees them.
#![cfg(feature = "tracing")]

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use stationdb::prelude::*;
use stationdb::products::CreateProductRequest;
use stationdb::tables::{
    AppendTableDataRequest, Column, ColumnType, CreateTableRequest, DataFrame, DataType,
};
use stationdb::{Control, Identity, Store};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Metadata, Subscriber};

/// The spans and events of the store, one line each.
#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<String>>>);

struct Collector {
    lines: Lines,
    next: AtomicU64,
}

struct Fields(String);

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.0.push_str(&format!(" {}={value:?}", field.name()));
    }
}

impl Subscriber for Collector {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target() == "stationdb"
    }

    fn new_span(&self, span: &Attributes<'_>) -> Id {
        let mut fields = Fields(format!("span {}", span.metadata().name()));
        span.record(&mut fields);
        self.lines.0.lock().unwrap().push(fields.0);
        Id::from_u64(self.next.fetch_add(1, Ordering::Relaxed) + 1)
    }

    fn event(&self, event: &Event<'_>) {
        let mut fields = Fields(format!("event {}", event.metadata().level()));
        event.record(&mut fields);
        assert_eq!(*event.metadata().level(), Level::ERROR);
        self.lines.0.lock().unwrap().push(fields.0);
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}
    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn enter(&self, _: &Id) {}
    fn exit(&self, _: &Id) {}
}

impl Lines {
    #[track_caller]
    fn assert_has(&self, start: &str) {
        let lines = self.0.lock().unwrap();
        assert!(lines.iter().any(|line| line.starts_with(start)), "no {start:?} in {lines:#?}");
    }

    /// Whether a line has all of the parts; the order of fields is that of the caller's macro.
    fn has_all(&self, parts: &[&str]) -> bool {
        let lines = self.0.lock().unwrap();
        lines.iter().any(|line| parts.iter().all(|part| line.contains(part)))
    }

    fn has(&self, start: &str) -> bool {
        self.0.lock().unwrap().iter().any(|line| line.starts_with(start))
    }
}

fn append(session: &stationdb::Session, table: &stationdb::tables::TableId, from: i64) {
    let data: Vec<_> = (from..from + 10).map(|t| vec![Some(t.to_string())]).collect();
    let frame = DataFrame::new().data(data);
    session.append_table_data(table, AppendTableDataRequest::new().frame(frame)).unwrap();
}

#[test]
fn calls_commits_seals_merges_and_checkpoints_are_spans_and_background_errors_are_events() {
    let lines = Lines::default();
    let collector = Collector { lines: lines.clone(), next: AtomicU64::new(0) };
    tracing::subscriber::set_global_default(collector).unwrap();

    let directory = tempfile::tempdir().unwrap();
    let root = directory.path().join("station");
    let store = Store::options().maintenance_thread(false).seal_rows(10).open(&root).unwrap();
    let session = store.session(Identity::user("ada"));
    let made = session.create_products(vec![CreateProductRequest::new("A")]).unwrap();
    assert_eq!(made.error, None);
    lines.assert_has("span call service=\"ProductService\" method=\"create_products\"");
    lines.assert_has("span commit sequence=");

    let column = Column::new("t", DataType::Int64).column_type(ColumnType::Index);
    let table = session.create_table(CreateTableRequest::new([column])).unwrap();
    // Two buffers whose ranges overlap become two segments, and then one.
    for from in [0, 5] {
        append(&session, &table, from);
        store.maintain(&Control::default()).unwrap();
    }
    lines.assert_has(&format!("span seal table=\"{table}\""));
    lines.assert_has(&format!("span merge table=\"{table}\" segments=2"));
    lines.assert_has("span maintenance is_idle=true");
    let _ = session.search(stationdb::search::SearchRequest::new().text("A")).unwrap();
    drop(session);
    store.close().unwrap();
    lines.assert_has("span checkpoint ");
    // The close moves what the journal has.
    lines.assert_has("span move bytes=");
    assert!(!lines.has("event"), "{:?}", lines.0.lock().unwrap());

    // The directory goes away below the open store: nobody but the thread notices.
    let store = Store::open(&root).unwrap();
    std::fs::rename(&root, directory.path().join("elsewhere")).unwrap();
    let until = Instant::now() + Duration::from_secs(30);
    while store.status().unwrap().maintenance.failed_passes == 0 {
        assert!(Instant::now() < until, "maintenance does not fail");
        std::thread::sleep(Duration::from_millis(20));
    }
    let parts = ["event ERROR", "attempt=\"maintaining the store\"", "kind=Latched"];
    assert!(lines.has_all(&parts), "no event of maintenance");
    assert!(lines.has_all(&["event ERROR", "refuses writes from now on"]), "no event of the latch");
}
