//! What readers of foreign files share with the store: the spelling of cells, counts of time, the
//! frames of Parquet, and the guard around parsers.
//!
//! The readers of `stationdb-formats` stand on it; a program that only imports files needs none of
//! it. A reader gives its rows as a [`RowSource`](super::exchange::source::RowSource).

pub use super::cells::{parse_bool, parse_f32, parse_f64, parse_i64, parse_word};
pub use super::column_slice::array_of_words;
pub use super::exchange::foreign;
pub use super::exchange::frame::{batch_rows, frame_to_batch, shortened};
pub use super::exchange::source::{ROW_NUMBER, is_numbered};
pub use super::exchange::text_column::TextColumn;
pub use super::guard::guarded;
pub use super::parquet_format::thrift::Stop;
pub use super::parquet_format::{format as parquet_pages, runs as parquet_runs};
pub use super::schema::{UTC, arrow_type};
pub use super::ticks;
pub use super::write::coerce::{CUT, FINER_TIMES, fit_batch};
pub use crate::arrow::convert::unpack;
pub use crate::arrow::integers::to_int64;
pub use crate::arrow::text::of_cell;
pub use crate::value::byte_reader;
pub use crate::value::id::hex;
pub use crate::value::limits::{IMPORT_COLUMNS, IMPORT_METADATA_BYTES, IMPORT_OPEN_BYTES};
pub use crate::value::nearest::did_you_mean;

/// A number whose word a column of numbers stores.
pub trait Word {
    /// The word: a whole number itself, or the bits of a float.
    fn word(self) -> u64;
}

macro_rules! words {
    ($($number:ty)*) => {
        $(impl Word for $number {
            fn word(self) -> u64 {
                super::column_slice::Stored::word(self)
            }
        })*
    };
}

words! { i64 f32 f64 }
