//! What is written in long steps asks for its space first, and leaves the disk its reserve.

use crate::store::tests::prelude::*;

use crate::arrow::array::{Float64Array, Int64Array, RecordBatch};
use crate::disk::Disk as _;
use crate::session::Access as _;
use crate::session::tables::{self as session_tables, Rewrite, SORT_ROWS};
use crate::tables::{DeleteRowsRequest, DropColumnsRequest};
use crate::{ErrorKind, Result, Session};

const RESERVE: u64 = 1 << 20;

struct Bench {
    disk: SimDisk,
    _store: Store,
    session: Session,
    id: TableId,
}

impl Bench {
    /// A table with an index, a column of values that has NaN, and another one.
    fn new() -> Self {
        let disk = SimDisk::new(1);
        let (store, session) = opened(
            Store::options().maintenance_thread(false).reserve_bytes(RESERVE),
            Arc::new(disk.clone()),
        );
        let columns = vec![
            column("t", DataType::Int64, ColumnType::Index),
            column("v", DataType::Float64, ColumnType::Nullable),
            column("w", DataType::Float64, ColumnType::Nullable),
        ];
        let id =
            session.create_table(CreateTableRequest { columns, ..Default::default() }).unwrap();
        Self { disk, _store: store, session, id }
    }

    /// Appends rows of which no two appends have the same index, and all overlap.
    fn append(&self, number: i64, rows: usize) -> Result<()> {
        let index = Int64Array::from_iter_values((0..rows as i64).map(|row| row * 10 + number));
        let values = || {
            let value = |row| if row % 7 == 3 { f64::NAN } else { row as f64 };
            Arc::new(Float64Array::from_iter_values((0..rows).map(value)))
        };
        let batch = RecordBatch::try_from_iter([
            ("t", Arc::new(index) as _),
            ("v", values() as _),
            ("w", values() as _),
        ])
        .unwrap();
        self.session.append_batches(&self.id, &mut std::iter::once(Ok(batch)), None)
    }

    fn seal(&self) -> Result<bool> {
        session_tables::seal(&self.session, self.id.as_ref(), &Control::default())
            .map(|sealed| sealed > 0)
    }

    fn merge(&self, rewrite: Rewrite) -> Result<bool> {
        session_tables::merge(&self.session, self.id.as_ref(), rewrite, &Control::default())
    }

    fn segments(&self) -> Vec<SegmentMeta> {
        let rows = self.session.read(|view| view.raw_prefix(Space::Segments, &[])).unwrap();
        rows.iter().map(|(key, row)| envelope::from_row(key, row).unwrap()).collect()
    }

    /// Gives the disk this many free bytes beside what is on it.
    fn set_free(&self, bytes: u64) {
        let all = 1 << 40;
        self.disk.set_capacity(Some(all));
        let used = all - self.disk.free_bytes().unwrap().unwrap();
        self.disk.set_capacity(Some(used + bytes));
    }

    /// The step is refused and changes nothing where nothing is free, and where the reserve is and
    /// a part of what it writes. It does its work where there is room for both. `written` is what
    /// it writes at least.
    fn asks_first(&self, step: &str, written: u64, run: impl Fn() -> Result<bool>) {
        for free in [0, RESERVE - 1, RESERVE, RESERVE + written / 2] {
            self.set_free(free);
            let changes = self.disk.changes();
            let outcome = run().map_err(|error| error.kind());
            assert_eq!(outcome, Err(ErrorKind::NoSpace), "{step} with {free} bytes");
            assert_eq!(self.disk.changes(), changes, "{step} with {free} bytes wrote something");
        }
        // The record file grows in steps of its own.
        self.set_free(RESERVE + 3 * written + (1 << 20));
        assert_eq!(run().map_err(|error| error.to_string()), Ok(true), "{step}");
        self.disk.set_capacity(None);
    }
}

fn files(metas: &[SegmentMeta]) -> u64 {
    metas.iter().map(|meta| meta.data_bytes + meta.summary_bytes).sum()
}

#[test]
fn seals_and_merges_ask_for_space_first() {
    let bench = Bench::new();
    bench.append(0, 500).unwrap();
    assert!(bench.seal().unwrap());
    bench.append(1, 500).unwrap();
    let len = files(&bench.segments());
    bench.asks_first("a seal", len / 2, || bench.seal());
    let len = files(&bench.segments());
    bench.asks_first("a merge", len, || bench.merge(Rewrite::Due));
    assert_eq!(bench.segments().len(), 1);
}

#[test]
fn rewrites_for_readers_ask_for_space_first() {
    let bench = Bench::new();
    bench.append(0, 500).unwrap();
    assert!(bench.seal().unwrap());
    let request = DeleteRowsRequest { index_before: Some("100".to_owned()), ..Default::default() };
    assert_eq!(bench.session.delete_rows(&bench.id, request).unwrap().row_count, 10);
    let len = files(&bench.segments());
    bench.asks_first("a rewrite without rows", len, || bench.merge(Rewrite::ForReaders));
    bench.session.drop_columns(&bench.id, DropColumnsRequest::new(["w".to_owned()])).unwrap();
    let len = files(&bench.segments());
    bench.asks_first("a rewrite without a column", len, || bench.merge(Rewrite::ForReaders));
}

#[test]
fn a_long_append_asks_for_space_first() {
    let bench = Bench::new();
    let len = SORT_ROWS as u64 * 24;
    bench.asks_first("a long append", len, || bench.append(0, SORT_ROWS).map(|()| true));
    assert_eq!(bench.segments().len(), 1);
}
