//! The workloads: what the child does, and what has to be there after a cut.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use stationdb::arrow::array::{ArrayRef, Int64Array, RecordBatch};
use stationdb::files::UploadFileRequest;
use stationdb::prelude::*;
use stationdb::tables::{
    Column, ColumnType, CreateTableRequest, DataType, ImportTableRequest, ListTablesRequest,
    SourceTable, TableSource,
};
use stationdb::{Control, ErrorKind, Store, StoreOptions, VerifyLevel};

use crate::acks::{Acks, Tell};
use crate::harness::Child;
use crate::lane::{Lane, ada};
use crate::rows::Rows;

/// A workload. A check tells what it has seen, which later cuts have to keep.
pub struct Work {
    pub name: &'static str,
    pub processes: u64,
    pub refuses_links: bool,
    /// Changes of a life until the work has done what it is about.
    pub changes_min: u64,
    pub run: fn(&Child),
    pub check: fn(&Path, &Acks, &dyn Tell) -> Result<(), String>,
}

/// Memory tables: most commits only in the journal, checkpoints all the time, some of both, and
/// each commit one of the record file.
const MEMORIES: [usize; 4] = [32 << 20, 8_000, 100_000, 0];
const ONE: [Lane; 1] = [Lane('a')];
const SEVERAL: [Lane; 3] = [Lane('a'), Lane('b'), Lane('c')];

pub fn options(seed: u64) -> StoreOptions {
    let memory = MEMORIES[usize::try_from(seed % 4).unwrap()];
    let options = Store::options().seal_rows(40).small_blob_bytes(1_000).reserve_bytes(0);
    options.memory_table_bytes(memory).maintenance_thread(seed % 8 < 4)
}

pub fn text(error: stationdb::Error) -> String {
    format!("{:?}: {error}", error.kind())
}

fn is_sound(store: &Store) -> Result<(), String> {
    let report = store.verify(VerifyLevel::Checksums, &Control::default()).map_err(text)?;
    if report.is_sound() { Ok(()) } else { Err(format!("{:?}", report.findings)) }
}

/// Opens the store and tells what each lane shows: whoever read it relies on it.
fn open(path: &Path, seed: u64, lanes: &[Lane], acks: &Acks, tell: &dyn Tell) -> (Store, Vec<u64>) {
    let store = options(seed).open(path.join("store")).unwrap();
    let counts = lanes.iter().map(|lane| {
        let name = lane.0.to_string();
        let count = lane.steps(&store, acks.get(&name).unwrap_or(0)).unwrap();
        tell.tell(&name, count);
        count
    });
    let counts = counts.collect();
    (store, counts)
}

fn acks_of(child: &Child) -> Acks {
    Acks::read(&child.ack_path)
}

/// Works on one lane until it is killed; `between` may do something else after a step.
pub fn work_on_one(child: &Child, mut between: impl FnMut(&mut Store, u64)) {
    let (mut store, counts) = open(&child.mount, child.seed, &ONE, &acks_of(child), &child.acks);
    for step in counts[0].. {
        ONE[0].step(&store, step).unwrap();
        child.acks.tell("a", step + 1);
        between(&mut store, step);
    }
}

/// Checks the store in `name`: it opens, is sound, shows what was acknowledged, and takes a write.
fn check_lanes(
    directory: &Path,
    lanes: &[Lane],
    acks: &Acks,
    tell: &dyn Tell,
) -> Result<(), String> {
    let path = directory.join("store");
    let acked = |lane: &Lane| acks.get(&lane.0.to_string()).unwrap_or(0);
    let seed = lanes.iter().map(acked).sum();
    let store = options(seed)
        .maintenance_thread(false)
        .open(&path)
        .map_err(|error| format!("opening: {}", text(error)))?;
    is_sound(&store)?;
    for lane in lanes {
        let count = lane.steps(&store, acked(lane))?;
        tell.tell(&lane.0.to_string(), count);
        lane.step(&store, count).map_err(|error| format!("writing: {}", text(error)))?;
        tell.tell(&lane.0.to_string(), count + 1);
    }
    store.close().map_err(|error| format!("closing: {}", text(error)))
}

/// One writer of every service.
pub fn station() -> Work {
    Work {
        name: "station",
        processes: 1,
        refuses_links: false,
        changes_min: 300,
        run: |child| work_on_one(child, |_, _| {}),
        check: check_station,
    }
}

/// Checks a store with one writer.
pub fn check_station(path: &Path, acks: &Acks, tell: &dyn Tell) -> Result<(), String> {
    check_lanes(path, &ONE, acks, tell)
}

/// Three writers in one process.
pub fn writers() -> Work {
    Work {
        name: "writers",
        run: |child| {
            let (store, counts) =
                open(&child.mount, child.seed, &SEVERAL, &acks_of(child), &child.acks);
            std::thread::scope(|scope| {
                for (lane, count) in SEVERAL.into_iter().zip(counts) {
                    let store = store.clone();
                    scope.spawn(move || {
                        for step in count.. {
                            lane.step(&store, step).unwrap();
                            child.acks.tell(&lane.0.to_string(), step + 1);
                        }
                    });
                }
            });
        },
        check: |path, acks, tell| check_lanes(path, &SEVERAL, acks, tell),
        ..station()
    }
}

/// A writer, and a process that looks into its store.
pub fn looks() -> Work {
    Work {
        name: "looks",
        processes: 2,
        run: |child| {
            if child.role == 0 {
                return work_on_one(child, |_, _| {});
            }
            loop {
                match Store::look(child.mount.join("store")) {
                    Ok(view) => drop(ada(&view)),
                    // There is no store yet, or none that can be told from a beginning.
                    Err(error) => assert!(
                        matches!(
                            error.kind(),
                            ErrorKind::NotFound
                                | ErrorKind::NotAStore
                                | ErrorKind::Conflict
                                | ErrorKind::Locked
                        ),
                        "{error}"
                    ),
                }
            }
        },
        check: |path, acks, tell| {
            check_lanes(path, &ONE, acks, tell)?;
            let store = path.join("store");
            let view = Store::look(&store).map_err(|error| format!("looking: {}", text(error)))?;
            is_sound(&view)?;
            let seen = acks.get("a").unwrap_or(0);
            let seen = Lane('a').steps(&view, seen).or_else(|_| Lane('a').steps(&view, seen + 1));
            seen.map_err(|problem| format!("looking: {problem}"))?;
            view.close().map_err(text)?;
            let left = store.join("views").read_dir().map_or(0, Iterator::count);
            if left == 0 { Ok(()) } else { Err(format!("{left} copies of looks are left")) }
        },
        ..station()
    }
}

/// The same on a file system that has no second names.
pub fn looks_by_copy() -> Work {
    Work { name: "looks_by_copy", refuses_links: true, ..looks() }
}

/// A writer that backs up after every few steps, to two directories in turn, and restores.
pub fn backups() -> Work {
    Work {
        name: "backups",
        changes_min: 600,
        run: |child| {
            work_on_one(child, |store, step| {
                if step % 2 == 0 {
                    return;
                }
                let turn = step / 2 % 2;
                let to = child.mount.join(format!("backup-{turn}"));
                child.acks.tell(&format!("begun-{turn}"), step + 1);
                store.backup(&to, &Control::default()).unwrap();
                child.acks.tell(&format!("backup-{turn}"), step + 1);
                if step % 8 == 3 {
                    restored(child, step + 1, |target| {
                        Store::restore(&to, target, &Control::default()).map(drop)
                    });
                }
            });
        },
        check: |path, acks, tell| {
            // A cut during an earlier check may have left it.
            let _ = std::fs::remove_dir_all(path.join("check"));
            check_lanes(path, &ONE, acks, tell)?;
            for turn in 0..2 {
                let whole = acks.get(&format!("backup-{turn}"));
                let begun = acks.get(&format!("begun-{turn}"));
                let (from, to) = (path.join(format!("backup-{turn}")), path.join("check"));
                let least = whole.unwrap_or(0);
                match Store::restore(&from, &to, &Control::default()) {
                    Ok(report) if report.findings.is_empty() => {
                        check_copy(&to, least, begun.unwrap_or(0))
                            .map_err(|problem| format!("restored from backup {turn}: {problem}"))?;
                        std::fs::remove_dir_all(&to).map_err(|error| error.to_string())?;
                    }
                    Ok(report) => return Err(format!("backup {turn}: {:?}", report.findings)),
                    Err(error) if whole == begun && whole.is_some() => {
                        return Err(format!("restoring backup {turn}: {}", text(error)));
                    }
                    // A backup that was not finished says so.
                    Err(error) => match error.kind() {
                        ErrorKind::NotFound | ErrorKind::NotAStore => {}
                        _ => return Err(format!("restoring backup {turn}: {}", text(error))),
                    },
                }
            }
            check_restored(path, acks)
        },
        ..station()
    }
}

/// Told after a restore: the steps that the restored store has.
const RESTORED: &str = "restored";

/// Restores a store of so many steps, and tells it.
pub fn restored(child: &Child, count: u64, restore: impl FnOnce(&Path) -> stationdb::Result<()>) {
    let target = child.mount.join(format!("{RESTORED}-{count}"));
    let _ = std::fs::remove_dir_all(&target);
    restore(&target).unwrap();
    child.acks.tell(RESTORED, count);
}

/// Checks what [`restored`] has told last.
pub fn check_restored(path: &Path, acks: &Acks) -> Result<(), String> {
    match acks.get(RESTORED) {
        Some(count) => check_copy(&path.join(format!("{RESTORED}-{count}")), count, count)
            .map_err(|problem| format!("the restored store: {problem}")),
        None => Ok(()),
    }
}

/// Checks a copy of the store that was made when `least` to `most` steps were acknowledged.
pub fn check_copy(path: &Path, least: u64, most: u64) -> Result<(), String> {
    let store = Store::options()
        .create(false)
        .maintenance_thread(false)
        .open(path)
        .map_err(|error| format!("opening: {}", text(error)))?;
    is_sound(&store)?;
    let lane = Lane('a');
    let found = (least..=most.max(least)).find_map(|acked| lane.steps(&store, acked).ok());
    if found.is_none() {
        lane.steps(&store, least)?;
    }
    store.close().map_err(text)
}

/// A writer that closes its store, compacts it and goes on.
pub fn compactions() -> Work {
    Work {
        name: "compactions",
        run: |child| {
            work_on_one(child, |store, step| {
                if step % 5 == 4 {
                    store.compact().unwrap();
                }
            });
        },
        ..station()
    }
}

/// A writer whose record file becomes mostly free, so that maintenance rewrites it.
pub fn rewrites() -> Work {
    Work {
        name: "rewrites",
        run: |child| {
            let mut child_seed = child.seed;
            // The bytes are in the record file, and the thread leaves the rewrite to the steps.
            child_seed -= child_seed % 8;
            let store = options(child_seed + 3)
                .maintenance_thread(false)
                .small_blob_bytes(1 << 20)
                .open(child.mount.join("store"))
                .unwrap();
            let acked = acks_of(child).get("a").unwrap_or(0);
            let count = ONE[0].steps(&store, acked).unwrap();
            child.acks.tell("a", count);
            for step in count.. {
                ONE[0].step(&store, step).unwrap();
                child.acks.tell("a", step + 1);
                if step % 3 == 2 {
                    ballast(&store);
                    let report = store.maintain(&Control::default()).unwrap();
                    if report.record_file_bytes_returned > 0 {
                        child.acks.tell("rewritten", step + 1);
                    }
                }
            }
        },
        ..station()
    }
}

/// Files in the record file, of which all but the last go.
fn ballast(store: &Store) {
    const FILES: u64 = 6;
    let (ada, bytes) = (ada(store), vec![7; 900_000]);
    let id = |number: u64| format!("{:024x}", (1_u64 << 60) + number);
    let _ = ada.delete_file(&id(FILES - 1).as_str().into());
    for number in 0..FILES {
        let request = UploadFileRequest::new().id(id(number)).name("ballast");
        let _ = ada.delete_file(&id(number).as_str().into());
        ada.upload_file(&mut bytes.as_slice(), request, &Control::default()).unwrap();
    }
    for number in 0..FILES - 1 {
        ada.delete_file(&id(number).as_str().into()).unwrap();
    }
}

/// Tables one after the other, as one import.
struct Several(Vec<Rows>, Option<usize>);

impl TableSource for Several {
    fn advance(&mut self, _: &Control) -> stationdb::Result<bool> {
        let at = self.1.map_or(0, |at| at + 1);
        self.1 = Some(at);
        Ok(at < self.0.len())
    }

    fn table(&mut self) -> stationdb::Result<SourceTable<'_>> {
        let rows = self.1.and_then(|at| self.0.get_mut(at));
        rows.ok_or_else(|| stationdb::Error::invalid("there is no table"))?.table()
    }
}

const BASE: &str = "base";
/// Rows that an import appends to a table that there is.
const APPENDED: u64 = 7;

fn rows(request: ImportTableRequest, rows: Range<u64>) -> Rows {
    let column = Column::new("t", DataType::Int64).column_type(ColumnType::Index);
    let values = rows.map(|at| i64::try_from(at).unwrap());
    let array: ArrayRef = Arc::new(Int64Array::from_iter_values(values));
    Rows::new(request, vec![column], vec![RecordBatch::try_from_iter([("t", array)]).unwrap()])
}

fn new_table(name: &str) -> ImportTableRequest {
    ImportTableRequest::new().table(CreateTableRequest::new([]).name(name.to_owned()))
}

/// Rows of the table that an import makes: in the buffer, in a segment, and more than a sort holds.
fn made_rows(number: u64) -> u64 {
    match number % 8 {
        5 => 256 * 1024 + 10,
        at if at % 2 == 0 => 90,
        _ => 9,
    }
}

fn import(store: &Store, number: u64) -> stationdb::Result<()> {
    let ada = ada(store);
    let tables = ada.list_tables(ListTablesRequest::default().take(1_000))?.tables;
    let base = tables.into_iter().find(|table| table.name.as_deref() == Some(BASE));
    let into = match base.and_then(|table| table.id) {
        Some(id) => ImportTableRequest::new().id(id),
        None => new_table(BASE),
    };
    let tables = vec![
        rows(into, number * APPENDED..(number + 1) * APPENDED),
        rows(new_table(&format!("made {number}")), 0..made_rows(number)),
    ];
    ada.import_tables(&mut Several(tables, None), &Control::default()).map(drop)
}

/// The number of imports that a store shows, each of which has to be whole.
fn imports_in(store: &Store, acked: u64) -> Result<u64, String> {
    let tables = ada(store).list_tables(ListTablesRequest::default().take(1_000)).map_err(text)?;
    let counts: BTreeMap<String, u64> = tables
        .tables
        .into_iter()
        .map(|table| (table.name.unwrap_or_default(), table.row_count.unwrap_or(0)))
        .map(|(name, count)| (name, u64::try_from(count).unwrap()))
        .collect();
    let count = (0..).take_while(|at| counts.contains_key(&format!("made {at}"))).count() as u64;
    let right = (0..count).all(|at| counts[&format!("made {at}")] == made_rows(at))
        && counts.get(BASE).copied().unwrap_or(0) == count * APPENDED
        && counts.len() as u64 == if count == 0 { 0 } else { count + 1 };
    if right && (acked..=acked + 1).contains(&count) {
        Ok(count)
    } else {
        Err(format!("{acked} imports were acknowledged, there is {counts:?}"))
    }
}

/// Imports of several tables as one commit, in buffers and in segments.
pub fn imports() -> Work {
    Work {
        name: "imports",
        run: |child| {
            let store = options(child.seed).open(child.mount.join("store")).unwrap();
            let count = imports_in(&store, acks_of(child).get("import").unwrap_or(0)).unwrap();
            child.acks.tell("import", count);
            for number in count.. {
                import(&store, number).unwrap();
                child.acks.tell("import", number + 1);
            }
        },
        check: |path, acks, tell| {
            let acked = acks.get("import").unwrap_or(0);
            let store = options(acked)
                .maintenance_thread(false)
                .open(path.join("store"))
                .map_err(|error| format!("opening: {}", text(error)))?;
            is_sound(&store)?;
            let count = imports_in(&store, acked)?;
            tell.tell("import", count);
            import(&store, count).map_err(text)?;
            tell.tell("import", count + 1);
            store.close().map_err(text)
        },
        ..station()
    }
}
