//! An append that is longer than a sort in memory and than one write, so it makes several segments
//! with several writes each. Every operation on them fails in turn, and the power is cut after
//! each.

use crate::prelude::*;

use stationdb::arrow::array::{ArrayRef, Float64Array, Int64Array, RecordBatch};
use stationdb::tables::ScanRequest;

use crate::tables;

/// Twice the rows of one sort, so that there are two segments.
const ROWS: i64 = 2 * 256 * 1024;

/// Rows whose index decreases in the middle, with values that do not compress.
fn batches() -> Vec<RecordBatch> {
    let half = ROWS / 2;
    let noise = |at: i64| (at as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) as f64;
    let batch = |from: i64| {
        let index: ArrayRef =
            Arc::new(Int64Array::from_iter_values((0..half).map(|at| at * 2 + from)));
        let values: ArrayRef =
            Arc::new(Float64Array::from_iter_values((0..half).map(|at| noise(at * 2 + from))));
        RecordBatch::try_from_iter([("t", index), ("v", values)]).unwrap()
    };
    vec![batch(0), batch(1)]
}

fn append(store: &Store, id: &str, batches: &[RecordBatch]) -> Result<(), Error> {
    ada(store).append_batches(&id.into(), &mut batches.iter().cloned().map(Ok), None)
}

fn open(disk: &SimDisk) -> Result<Store, Error> {
    options().open_disk(Arc::new(disk.clone()))
}

fn files(disk: &SimDisk, path: &str) -> usize {
    let entries = disk.list(path).unwrap_or_default();
    entries
        .iter()
        .map(|entry| if entry.is_dir { files(disk, &format!("{path}/{}", entry.name)) } else { 1 })
        .sum()
}

/// The table has none of the rows or all of them, and every file has a name.
fn none_or_all(disk: &SimDisk, id: &str) -> Result<bool, String> {
    let store = open(disk).map_err(|error| format!("{error:?}"))?;
    let text = |error: Error| format!("{error:?}");
    let count = ada(&store).get_table_metadata(&id.into()).map_err(text)?.row_count;
    match count {
        Some(0) if files(disk, "tables") == 0 => Ok(false),
        Some(ROWS) => {
            let rows = ada(&store)
                .scan(&id.into(), ScanRequest::default(), &Control::default())
                .map_err(text)?;
            let rows = rows
                .map(|batch| Ok(batch?.num_rows() as i64))
                .sum::<Result<i64, Error>>()
                .map_err(text)?;
            let report = store.verify(VerifyLevel::Checksums, &Control::default()).map_err(text)?;
            if rows == ROWS && report.is_sound() {
                Ok(true)
            } else {
                Err(format!("{rows} rows, {report:?}"))
            }
        }
        _ => Err(format!("{count:?} rows, {} files", files(disk, "tables"))),
    }
}

#[test]
fn every_operation_of_a_long_append_may_fail() {
    let batches = batches();
    let empty = SimDisk::new(first_seed());
    let id = {
        let store = open(&empty).unwrap();
        tables::create(&ada(&store), "long").unwrap()
    };
    let run = |fault: Option<(Pick, Fault)>| {
        let disk = empty.survivors(0, Survival::All);
        let store = open(&disk).unwrap();
        let before = disk.ops();
        if let Some((pick, fault)) = fault {
            disk.inject(pick, fault);
        }
        let outcome = append(&store, &id, &batches);
        (disk, before, store, outcome)
    };
    let (whole, before, store, outcome) = run(None);
    outcome.unwrap();
    drop(store);
    assert!(none_or_all(&whole, &id).unwrap());
    let trace = whole.trace();
    let on_tables = trace
        .iter()
        .filter(|entry| entry.op >= before && entry.path.starts_with("tables/") && !entry.failed);
    let operations: Vec<_> = on_tables.map(|entry| (entry.op, entry.kind)).collect();
    let writes = operations.iter().filter(|(_, kind)| *kind == OpKind::Write).count();
    assert!(writes >= 6, "two segments of several writes each: {operations:?}");
    let mut failed = 0;
    for (turn, (op, kind)) in operations.iter().enumerate().step_by(one_in_operations(2)) {
        let faults = [Fault::Io, Fault::NoSpace, Fault::PartialWrite];
        let one_in = count("crash_faults_append");
        let has_turn = |at: usize| at % one_in == turn % one_in;
        let faults = faults.into_iter().enumerate().filter(|(at, _)| has_turn(*at));
        for (_, fault) in faults {
            let place = format!("{fault:?} at operation {op} ({kind:?})");
            let (disk, _, store, outcome) = run(Some((Pick::op(*op), fault)));
            // A fault that does not apply to an operation has no effect.
            let struck = disk.trace().iter().any(|entry| entry.failed);
            failed += u64::from(struck);
            if let Err(error) = &outcome {
                assert!(
                    [
                        ErrorKind::Io,
                        ErrorKind::NoSpace,
                        ErrorKind::OutcomeUnknown,
                        ErrorKind::Latched
                    ]
                    .contains(&error.kind()),
                    "{place}: {error:?}"
                );
            }
            disk.heal();
            drop(store);
            for survival in [Survival::All, Survival::None] {
                let left = disk.survivors(u64::from(turn as u32), survival);
                let found = none_or_all(&left, &id)
                    .unwrap_or_else(|problem| panic!("{place}, then {survival:?}: {problem}"));
                match &outcome {
                    Ok(()) => {
                        assert!(found, "{place}, then {survival:?}: acknowledged rows are lost");
                    }
                    Err(error) if error.kind() == ErrorKind::OutcomeUnknown => {}
                    Err(_) => {
                        assert!(!found, "{place}, then {survival:?}: refused rows are stored");
                    }
                }
            }
        }
    }
    counted(failed, "faults");
    assert!(failed > 3);
}
