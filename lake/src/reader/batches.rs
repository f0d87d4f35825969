//! The complete batches of each station, from the log of `batches` where it says so.

use std::collections::BTreeMap;
use std::sync::Arc;

use object_store::path::Path;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::ArrowReaderOptions;
use parquet::errors::ParquetError;
use stationdb::arrow::array::{AsArray, RecordBatch};
use stationdb::arrow::datatypes::Int64Type;
use stationdb::{Control, Error, Result};

use super::log::ReadLog;
use super::relations::LakeStation;
use crate::footer;
use crate::ranges::{Ranges, unread};
use crate::remote::Remote;

/// Columns that say which batches are complete.
const COLUMNS: [&str; 3] = ["_station", "_batch", "_rows_from"];

/// The last complete batch of each station, and the first one whose rows count.
///
/// A file of a publisher has one row, and its statistics are that row. Of the files of earlier
/// versions, whose statistics lack `_rows_from`, the last one of each station is read; and files
/// that another engine compacted are read all.
pub(crate) fn complete(
    remote: &Arc<Remote>,
    root: &Path,
    log: &ReadLog,
    control: &Control,
) -> Result<Vec<LakeStation>> {
    let mut known = StationBatches::default();
    // The last file of each station whose row is not known.
    let mut newest: BTreeMap<&str, (i64, &str, u64)> = BTreeMap::new();
    let mut compacted = Vec::new();
    for (path, file) in &log.files {
        match (&file.station, file.batches, file.rows_from) {
            (Some(station), Some((_, last)), Some(first)) => known.take(station, last, first),
            (Some(station), Some((least, last)), None) if least == last => {
                let known = newest.entry(station).or_insert((last, path, file.size));
                if known.0 < last {
                    *known = (last, path, file.size);
                }
            }
            _ => compacted.push((path.as_str(), file.size)),
        }
    }
    let last = newest.into_values().map(|(_, path, size)| (path, size));
    for (path, size) in last.chain(compacted) {
        let base = root.clone().join(log.name.as_str());
        let path = path.split('/').fold(base, |path, part| path.join(part));
        let broken = |error: ParquetError| unread(&path, error);
        let (remote, control) = (remote.clone(), control.clone());
        let file = Ranges { remote, path: path.clone(), size, control };
        for batch in open(file).map_err(broken)? {
            let batch = batch.map_err(|error| broken(error.into()))?;
            known.take_all(&batch).ok_or_else(|| {
                Error::corrupt(format!("{path} of the lake has not the columns of batches"))
            })?;
        }
    }
    Ok(known.stations())
}

fn open(
    file: Ranges,
) -> std::result::Result<
    impl Iterator<Item = std::result::Result<RecordBatch, stationdb::arrow::error::ArrowError>>,
    ParquetError,
> {
    let reader = footer::open(file, ArrowReaderOptions::new())?;
    let mask = ProjectionMask::columns(reader.parquet_schema(), COLUMNS);
    reader.with_projection(mask).build()
}

#[derive(Default)]
struct StationBatches(BTreeMap<String, (i64, i64)>);

impl StationBatches {
    fn take(&mut self, station: &str, last: i64, first: i64) {
        match self.0.get_mut(station) {
            Some(known) => *known = (known.0.max(last), known.1.max(first)),
            None => {
                self.0.insert(station.to_owned(), (last, first));
            }
        }
    }

    fn take_all(&mut self, batch: &RecordBatch) -> Option<()> {
        let [stations, batches, firsts] = COLUMNS.map(|name| batch.column_by_name(name));
        let batches = batches?.as_primitive_opt::<Int64Type>()?;
        let firsts = firsts?.as_primitive_opt::<Int64Type>()?;
        let stations = stations?.as_string_opt::<i32>()?;
        for ((station, last), first) in stations.iter().zip(batches).zip(firsts) {
            self.take(station?, last?, first?);
        }
        Some(())
    }

    fn stations(self) -> Vec<LakeStation> {
        let station =
            |(name, (last_batch, first_batch))| LakeStation { name, first_batch, last_batch };
        self.0.into_iter().map(station).collect()
    }
}
