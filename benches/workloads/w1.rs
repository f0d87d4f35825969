//! W1: one large append from batches in memory, durable when it returns.

use std::fs::File;
use std::path::Path;

use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, Encoding};
use parquet::file::properties::WriterProperties;
use parquet::schema::types::ColumnPath;
use stationdb::arrow::array::RecordBatch;
use stationdb::prelude::*;

use crate::common::{Res, Scale, bytes_below, timed};
use crate::measurements::{batches, create_table, open, schema, with_peak_memory};

/// Writes the encodings that the store chooses for these columns, with the plain Parquet writer.
fn bare(path: &Path, batches: &[RecordBatch]) -> Res<()> {
    let path_of = |name: &str| ColumnPath::new(vec![name.to_owned()]);
    let mut properties = WriterProperties::builder()
        .set_compression(Compression::UNCOMPRESSED)
        .set_data_page_row_count_limit(4096)
        .set_write_batch_size(4096)
        .set_max_row_group_row_count(Some(256 * 1024))
        .set_column_dictionary_enabled(path_of("ts"), false)
        .set_column_encoding(path_of("ts"), Encoding::DELTA_BINARY_PACKED);
    for name in ["v1", "v3"] {
        properties = properties
            .set_column_dictionary_enabled(path_of(name), false)
            .set_column_encoding(path_of(name), Encoding::PLAIN);
    }
    let schema = batches.first().ok_or("no rows")?.schema();
    let mut writer = ArrowWriter::try_new(File::create(path)?, schema, Some(properties.build()))?;
    for batch in batches {
        writer.write(batch)?;
    }
    writer.into_inner()?.sync_all()?;
    Ok(())
}

pub fn run(scale: &Scale) -> Res<()> {
    let made = batches(&schema(true), scale.rows).collect::<Result<Vec<_>, _>>()?;
    let rows = scale.rows as f64;
    let (mut seconds, mut memory, mut bytes) = (Vec::new(), Vec::new(), 0);
    let mut bare_seconds = Vec::new();
    for _ in 0..scale.repetitions {
        let dir = scale.scratch("w1-bare")?;
        bare_seconds.push(timed(|| bare(&dir.join("a.parquet"), &made))?.0);
        std::fs::remove_dir_all(&dir)?;

        let dir = scale.scratch("w1")?;
        let session = open(&dir)?;
        let id = create_table(&session, true)?;
        let mut source = made.iter().cloned().map(Ok);
        let append = || {
            timed(|| Ok(session.append_batches(&id.as_str().into(), &mut source, Some(true))?))
        };
        let (peak, (taken, ())) = with_peak_memory(append)?;
        seconds.push(taken);
        memory.extend(peak);
        assert_eq!(
            session.get_table_metadata(&id.as_str().into())?.row_count,
            Some(scale.rows as i64)
        );
        bytes = bytes_below(&dir.join("tables"));
    }
    let note = "Arrow batches in memory; files, directories and commit synced; summaries and checksums included";
    let rate = |seconds: &[f64]| seconds.iter().map(|taken| rows / taken).collect::<Vec<_>>();
    let scaled =
        |seconds: &[f64]| seconds.iter().map(|taken| taken * 20e6 / rows).collect::<Vec<_>>();
    scale.emit("W1", "rows_per_s", &rate(&seconds), "rows/s", note);
    scale.emit("W1", "seconds_per_20M", &scaled(&seconds), "s", note);
    scale.emit("W1", "bytes_per_row", &[bytes as f64 / rows], "B/row", note);
    scale.emit(
        "W1",
        "peak_memory",
        &memory,
        "MiB",
        "above the batches and what the program held before",
    );
    let note = "the arrow-rs Parquet writer alone, same encodings, 1 thread, synced";
    scale.emit("W1", "bare writer seconds_per_20M", &scaled(&bare_seconds), "s", note);
    Ok(())
}
