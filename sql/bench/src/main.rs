//! The five reads of W3 as SQL: by the store's own calls, by SQL over the store, and by DataFusion
//! over a plain Parquet file of the same rows. Then what statements read of a store that was just
//! opened, and the time of looks into a store with many records.
//!
//! `BENCH_ROWS=20000000 BENCH_RECORDS=1000000 cargo run --release` prints one JSON line for each
//! figure, in the form of the other workloads. Every answer is compared with that of a naive pass.

#[path = "../../../benches/workloads/common.rs"]
#[allow(dead_code, reason = "the other workloads use the rest")]
mod common;
mod looks;
#[path = "../../../benches/workloads/measurements.rs"]
#[allow(dead_code, reason = "the other workloads use the rest")]
mod measurements;
mod reads;
mod untouched;

use std::fs::File;
use std::path::Path;

use arrow::array::{AsArray, RecordBatch};
use arrow::datatypes::{DataType, Int64Type, TimestampMillisecondType};
use datafusion::prelude::{ParquetReadOptions, SessionConfig, SessionContext};
// The files of the other workloads print with these.
use serde_json as _;
use stats_alloc as _;

use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::properties::WriterProperties;
use stationdb::prelude::*;
use stationdb::{Control, Identity, Session, Store};
use tokio::runtime::Runtime;

use common::{Res, Scale, median};
use measurements::{TS0, batches, create_table, repeat, schema};
use reads::{Answer, MeasuredRead, Rows};

/// Repetitions of each read at least; the median counts.
const TIMES: usize = 7;

fn main() -> Res<()> {
    let scale = Scale::from_environment()?;
    run(&scale, scale.repetitions.max(TIMES))
}

fn run(scale: &Scale, times: usize) -> Res<()> {
    let directory = scale.scratch("w3-sql")?;
    let store = Store::open(directory.join("store"))?;
    let session = store.session(Identity::user("bench"));
    let id = create_table(&session, true)?;
    let mut rows = batches(&schema(true), scale.rows);
    session.append_batches(&id.as_str().into(), &mut rows, Some(true))?;
    let file = directory.join("measurements.parquet");
    write(&file, scale.rows)?;

    let runtime = runtime()?;
    let own = stationdb_sql::context(&session)?;
    let plain = context(&runtime, &file, false)?;
    let pushing = context(&runtime, &file, true)?;
    let known = [
        ("stationdb SQL", &own),
        ("DataFusion on Parquet", &plain),
        ("DataFusion on Parquet, filters pushed down", &pushing),
    ];
    for read in reads::all(scale.rows)? {
        let calls = repeat(times, || check(&read, &by_calls(&session, &id, &read)?))?;
        emit(scale, "stationdb", &read, &calls);
        for (peer, context) in known {
            let taken = repeat(times, || check(&read, &by_sql(&runtime, context, &read)?))?;
            emit(scale, peer, &read, &taken);
            // DataFusion parses, resolves and optimises each statement anew.
            let planned = repeat(times, || {
                let plan =
                    async { context.sql(&read.statement).await?.create_physical_plan().await };
                runtime.block_on(plan)?;
                Ok(())
            })?;
            emit(scale, &format!("{peer}, planning alone"), &read, &planned);
            if peer == "stationdb SQL" {
                scale.emit(
                    "W3SQL",
                    &format!("{} times the store's own call", read.metric),
                    &[median(&taken) / median(&calls)],
                    "",
                    "medians",
                );
            }
        }
    }
    // The runtime waits for its scans, which hold the store.
    drop((own, plain, pushing, session, runtime));
    store.close()?;
    untouched::run(scale, times, &directory.join("store"))?;
    std::fs::remove_dir_all(&directory)?;
    looks::run(scale, times)
}

/// A thread for each processor, as DataFusion divides its plans.
fn runtime() -> Res<Runtime> {
    Ok(tokio::runtime::Builder::new_multi_thread().build()?)
}

fn emit(scale: &Scale, peer: &str, read: &MeasuredRead, taken: &[f64]) {
    scale.emit("W3SQL", &format!("{}, {peer}", read.metric), taken, "ms", "warm page cache");
}

/// Writes the rows as the peers' programs do: zstd-1, and otherwise the defaults of arrow-rs.
fn write(path: &Path, rows: usize) -> Res<()> {
    let properties =
        WriterProperties::builder().set_compression(Compression::ZSTD(ZstdLevel::try_new(1)?));
    let schema = schema(true);
    let file = File::create(path)?;
    let mut writer = ArrowWriter::try_new(file, schema.clone(), Some(properties.build()))?;
    for batch in batches(&schema, rows) {
        writer.write(&batch?)?;
    }
    writer.close()?;
    Ok(())
}

/// DataFusion over the file. `pushes` lets its reader test conditions, which is not its default.
fn context(runtime: &Runtime, file: &Path, pushes: bool) -> Res<SessionContext> {
    let config = SessionConfig::new()
        .set_bool("datafusion.execution.parquet.pushdown_filters", pushes)
        .set_bool("datafusion.execution.parquet.reorder_filters", pushes);
    let context = SessionContext::new_with_config(config);
    let path = file.to_str().ok_or("the directory's name is not Unicode")?;
    let options = ParquetReadOptions::default();
    runtime.block_on(context.register_parquet("measurements", path, options))?;
    Ok(context)
}

fn by_sql(runtime: &Runtime, context: &SessionContext, read: &MeasuredRead) -> Res<Answer> {
    let answer = runtime.block_on(async { context.sql(&read.statement).await?.collect().await })?;
    Ok(answer_of(&answer))
}

fn by_calls(session: &Session, id: &str, read: &MeasuredRead) -> Res<Answer> {
    match &read.rows {
        Rows::Scan(request) => {
            let stream = session.scan(&id.into(), request.clone(), &Control::default())?;
            let answer = stream.collect::<Result<Vec<_>, _>>()?;
            Ok(answer_of(&answer))
        }
        Rows::Count(request) => {
            let answer = session.query_table_data(&id.into(), request.clone())?;
            Ok((1, answer.total_row_count as i64))
        }
    }
}

/// The number of rows, and the sum of their times since [`TS0`]; of a count, its number.
fn answer_of(batches: &[RecordBatch]) -> Answer {
    let mut answer = (0, 0);
    for batch in batches {
        answer.0 += batch.num_rows() as u64;
        answer.1 += match batch.column(0).data_type() {
            DataType::Timestamp(..) => {
                let times = batch.column(0).as_primitive::<TimestampMillisecondType>().values();
                times.iter().map(|time| time - TS0).sum::<i64>()
            }
            _ => batch.column(0).as_primitive::<Int64Type>().values().iter().sum::<i64>(),
        };
    }
    answer
}

fn check(read: &MeasuredRead, answer: &Answer) -> Res<()> {
    assert_eq!(*answer, read.expected, "{}", read.metric);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_read_has_its_answer() {
        let scratch = tempfile::tempdir().unwrap();
        run(&Scale::small(scratch.path()), 1).unwrap();
    }
}
