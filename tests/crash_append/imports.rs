//! Imports of several tables: they are one commit, in buffers and in segments.

use crate::prelude::*;
use std::ops::Range;

use stationdb::arrow::array::{ArrayRef, Float64Array, Int64Array, RecordBatch};
use stationdb::tables::{CreateTableRequest, ImportTableRequest, SourceTable, TableSource};

use crate::rows::Rows;
use crate::tables::{append, create, id_of};

/// Rows of one sort, and some more: they go to segments while they are read.
const LONG: i64 = 256 * 1024 + 10;

/// Tables one after the other.
struct Several {
    tables: Vec<Rows>,
    at: Option<usize>,
}

impl Several {
    fn new(tables: Vec<Rows>) -> Self {
        Self { tables, at: None }
    }
}

impl TableSource for Several {
    fn advance(&mut self, _: &Control) -> Result<bool, Error> {
        let at = self.at.map_or(0, |at| at + 1);
        self.at = Some(at);
        Ok(at < self.tables.len())
    }

    fn table(&mut self) -> Result<SourceTable<'_>, Error> {
        self.tables[self.at.unwrap()].table()
    }
}

fn rows(request: ImportTableRequest, rows: Range<i64>) -> Rows {
    let column = |name, data_type| Column::new(name, data_type);
    let columns = vec![
        column("t", DataType::Int64).column_type(ColumnType::Index),
        column("v", DataType::Float64),
    ];
    let arrays: [(_, ArrayRef); 2] = [
        ("t", Arc::new(Int64Array::from_iter_values(rows.clone()))),
        ("v", Arc::new(Float64Array::from_iter_values(rows.map(|at| (at % 10) as f64)))),
    ];
    Rows::new(request, columns, vec![RecordBatch::try_from_iter(arrays).unwrap()])
}

/// Rows of a table that there is.
fn of(store: &Store, name: &str, range: Range<i64>) -> Result<Rows, Error> {
    Ok(rows(ImportTableRequest::new().id(id_of(store, name)?), range))
}

/// Rows of a new table.
fn new(name: &str, range: Range<i64>) -> Rows {
    let table = CreateTableRequest::new([]).name(name.to_owned());
    rows(ImportTableRequest::new().table(table), range)
}

fn import(store: &Store, tables: Vec<Rows>) -> Result<(), Error> {
    let mut source = Several::new(tables);
    ada(store).import_tables(&mut source, &Control::default()).map(|_| ())
}

/// Imports whose rows wait in memory.
struct Imports;

impl Steps for Imports {
    fn options(&self) -> StoreOptions {
        options().seal_rows(12).clock(ManualClock::new(Default::default()))
    }

    fn steps(&self) -> Vec<Step> {
        vec![
            ("a table with rows", |store| {
                ada(store).transaction(|tx| {
                    let id = create(tx, "a")?;
                    append(tx, &id, 0..5, false)
                })
            }),
            ("rows of it and two new tables, of which one is closed", |store| {
                let mut closed = new("closed", 0..3);
                closed.request = closed.request.end_of_data(true);
                import(store, vec![of(store, "a", 5..8)?, new("sealed", 0..30), closed])
            }),
            // A fault at the end of the last table refuses all of them.
            (MAINTAIN, |store| {
                let mut faulty = new("y", 0..20);
                faulty.fault = Some(Error::invalid("the last line has too many values"));
                let tables = vec![new("x", 0..20), of(store, "a", 8..12)?, faulty];
                assert!(import(store, tables).is_err());
                Ok(())
            }),
            ("rows of it twice and a new table", |store| {
                let twice = [of(store, "a", 8..10)?, of(store, "a", 10..14)?];
                import(store, twice.into_iter().chain([new("last", 0..2)]).collect())
            }),
            (REOPEN, |_| Ok(())),
            (MAINTAIN, |store| store.maintain(&Control::default()).map(|_| ())),
        ]
    }

    fn observe(&self, store: &Store) -> Result<Observation, Error> {
        Tables.observe(store)
    }
}

#[test]
fn every_change_of_importing_tables_can_be_the_last() {
    must_hold("imports of tables", &Sequence::new(Imports));
}

#[test]
fn the_nth_operation_of_importing_tables_fails() {
    errors::operations_fail("imports of tables", &Sequence::new(Imports), 6);
}

/// Whether a disk has all tables of the import; otherwise it has none of them.
fn has_all(disk: &SimDisk) -> Result<bool, String> {
    let text = |error: Error| format!("the store is refused: {error:?}");
    let store = options().open_disk(Arc::new(disk.clone())).map_err(text)?;
    let tables = ada(&store).list_tables(ListTablesRequest::default()).map_err(text)?.tables;
    let counts: BTreeMap<String, i64> = tables
        .into_iter()
        .map(|table| (table.name.unwrap_or_default(), table.row_count.unwrap_or_default()))
        .collect();
    let report = store.verify(VerifyLevel::Checksums, &Control::default()).map_err(text)?;
    let segments = disk.list("tables").unwrap_or_default().len();
    let told: Vec<(&str, i64)> = counts.iter().map(|(name, rows)| (name.as_str(), *rows)).collect();
    match told.as_slice() {
        [("a", 5)] if report.is_sound() && segments == 0 => Ok(false),
        [("a", 8), ("long", LONG), ("small", 7)] if report.is_sound() => Ok(true),
        _ => Err(format!("{told:?} with {segments} directories of segments, {report:?}")),
    }
}

#[test]
fn every_change_of_an_import_in_segments_can_be_the_last() {
    let disk = SimDisk::new(first_seed());
    let store = options().open_disk(Arc::new(disk.clone())).unwrap();
    let id = create(&ada(&store), "a").unwrap();
    append(&ada(&store), &id, 0..5, false).unwrap();
    let before = disk.changes();
    let tables = vec![of(&store, "a", 5..8).unwrap(), new("long", 0..LONG), new("small", 0..7)];
    import(&store, tables).unwrap();
    let acknowledged = disk.changes();
    drop(store);
    let mut replay = disk.replay();
    let mut random = Random::new(first_seed());
    let (mut changes, mut found) = (0, [0, 0]);
    while let Some((op, kind, path)) = replay.advance() {
        changes += 1;
        if changes < before {
            continue;
        }
        for survival in [Survival::None, Survival::Random, Survival::All] {
            let seed = random.next_u64();
            let place = format!("after operation {op} ({kind:?} {path:?}), {survival:?}");
            let all = has_all(&replay.survivors(seed, survival))
                .unwrap_or_else(|problem| panic!("{place} with seed {seed}: {problem}"));
            assert!(all || changes < acknowledged, "{place}: the acknowledged import is lost");
            found[usize::from(all)] += 1;
        }
    }
    counted(found.iter().sum(), "images");
    assert!(found[0] > 20 && found[1] > 0, "{found:?}");
}
