//! Row groups of stored files as row groups of the lake: most column chunks are taken over as bytes.

use parquet::arrow::arrow_writer::{
    ArrowColumnChunk, ArrowColumnWriter, ArrowRowGroupWriterFactory,
};
use parquet::column::writer::ColumnCloseResult;
use parquet::errors::ParquetError;
use parquet::schema::types::ColumnDescPtr;
use stationdb::arrow::datatypes::{Schema, SchemaRef};
use stationdb::{Error, Result};

use crate::chunk::{Chunk, ConstantValue, constant, counting, integers};
use crate::encoding::{ParquetResult, broken, encode, encoded, general, lake_values};
use crate::schema::LakeColumn;
use crate::segment::{GroupRows, RowOrdinals, SMALL_BYTES, Segment};

/// A row group of a stored file that is ready for a file of the lake.
pub(crate) struct PreparedGroup {
    pub pieces: Vec<ColumnPiece>,
    pub row_count: u64,
}

impl PreparedGroup {
    /// Bytes that are in memory.
    pub(crate) fn made_bytes(&self) -> u64 {
        let made = |piece: &ColumnPiece| match piece {
            ColumnPiece::Encoded(chunk) => chunk.close().bytes_written,
            ColumnPiece::Made(chunk) => chunk.close.bytes_written,
            ColumnPiece::Taken(close) if close.bytes_written > SMALL_BYTES => 0,
            ColumnPiece::Taken(close) => close.bytes_written,
        };
        self.pieces.iter().map(made).sum()
    }
}

pub(crate) enum ColumnPiece {
    Encoded(Box<ArrowColumnChunk>),
    Made(Box<Chunk>),
    Taken(Box<ColumnCloseResult>),
}

/// What is the same in all rows of a stored file: the columns before the one with the ordinals.
#[derive(Clone, Debug)]
pub(crate) struct RowIdentity<'a> {
    pub columns: [ConstantValue<'a>; 4],
}

impl GroupRows {
    /// The column at a place before those of the data.
    fn identity(
        &self,
        at: usize,
        identity: &RowIdentity<'_>,
        column: &ColumnDescPtr,
    ) -> ParquetResult<Chunk> {
        if let Some(value) = identity.columns.get(at) {
            return constant(column, *value, self.row_count);
        }
        let number = |number: u64| i64::try_from(number).map_err(|_| general("an ordinal"));
        match &self.ordinals {
            RowOrdinals::From(first) => counting(column, number(*first)?, self.row_count),
            RowOrdinals::Each(each) => {
                let each = each.iter().map(|ordinal| number(*ordinal));
                integers(column, &each.collect::<ParquetResult<Vec<i64>>>()?)
            }
        }
    }
}

/// What row groups are made for: the columns of a file of the lake.
pub(crate) struct GroupTarget<'a> {
    pub schema: &'a SchemaRef,
    pub columns: &'a [ColumnDescPtr],
    pub groups: &'a ArrowRowGroupWriterFactory,
    /// The number of the row group.
    pub number: usize,
}

impl GroupTarget<'_> {
    /// Prepares row groups of a stored file, several at a time: the columns before the data and those
    /// whose form differs in the lake are encoded, all others are taken over as bytes.
    pub(crate) fn prepare(
        &self,
        segment: &Segment,
        groups: &[GroupRows],
        identity: &RowIdentity<'_>,
        columns: &[LakeColumn],
        stored: &Schema,
    ) -> Result<Vec<PreparedGroup>> {
        let prepare = |rows: &GroupRows| self.prepare_one(segment, rows, identity, columns, stored);
        if let [rows] = groups {
            return Ok(vec![prepare(rows)?]);
        }
        std::thread::scope(|scope| {
            let prepare = &prepare;
            let started = groups.iter().map(|rows| {
                let started =
                    std::thread::Builder::new().spawn_scoped(scope, move || prepare(rows));
                started.map_err(|error| Error::io("starting a thread that encodes columns", error))
            });
            let started: Vec<_> = started.collect();
            let ended = started.into_iter().map(|thread| {
                let panicked = || broken(general("encoding a column panicked"));
                thread?.join().unwrap_or_else(|_| Err(panicked()))
            });
            ended.collect()
        })
    }

    fn prepare_one(
        &self,
        segment: &Segment,
        rows: &GroupRows,
        identity: &RowIdentity<'_>,
        columns: &[LakeColumn],
        stored: &Schema,
    ) -> Result<PreparedGroup> {
        let descriptors = self.columns;
        let of_identity = identity.columns.len() + 1;
        let mut pieces = Vec::with_capacity(descriptors.len());
        let mut encoders: Vec<Option<ArrowColumnWriter>> = Vec::new();
        for (at, field) in self.schema.fields().iter().enumerate() {
            let descriptor = descriptors.get(at).ok_or_else(|| broken(short()))?;
            if at < of_identity {
                let chunk = rows.identity(at, identity, descriptor).map_err(broken)?;
                pieces.push(ColumnPiece::Made(Box::new(chunk)));
                continue;
            }
            let column = columns.get(at - of_identity).ok_or_else(|| broken(short()))?;
            let from = stored.fields().get(column.from).ok_or_else(|| broken(short()))?;
            let leaf = segment.leaf(from.name())?;
            let piece = match segment.taken(rows.group, leaf, descriptor, column, from) {
                Some(close) => ColumnPiece::Taken(Box::new(close)),
                None => match segment.rescaled(rows, leaf, descriptor, column, from)? {
                    Some(chunk) => ColumnPiece::Made(Box::new(chunk)),
                    None => {
                        let values = lake_values(column, &segment.column(rows.group, leaf)?)?;
                        if encoders.is_empty() {
                            encoders = self.encoders().map_err(broken)?;
                        }
                        let writer = encoders.get_mut(at).and_then(Option::take);
                        let mut writer = (writer.ok_or_else(|| broken(short()))?, false);
                        encode(&mut writer, field, &values).map_err(broken)?;
                        ColumnPiece::Encoded(Box::new(encoded(writer).map_err(broken)?))
                    }
                },
            };
            pieces.push(piece);
        }
        Ok(PreparedGroup { pieces, row_count: rows.row_count })
    }

    /// Writers of all columns.
    fn encoders(&self) -> ParquetResult<Vec<Option<ArrowColumnWriter>>> {
        Ok(self.groups.create_column_writers(self.number)?.into_iter().map(Some).collect())
    }
}

fn short() -> ParquetError {
    general("a segment has other columns than its table")
}
