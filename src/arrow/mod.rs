//! The parts of Arrow that batches are made of, under the paths of the crate `arrow`.
//!
//! Batches that this crate takes and returns have these types. Every crate that stands on the same
//! version of `arrow-array` has them too, such as `arrow` and `parquet` 59. The kernels for
//! arithmetic, casts, comparison, order, CSV and JSON are not here: a program that needs them adds
//! `arrow` 59.
//!
//! ```
//! use std::sync::Arc;
//! use stationdb::arrow::array::{ArrayRef, Float64Array, RecordBatch};
//!
//! let volts: ArrayRef = Arc::new(Float64Array::from(vec![3.29, 3.31]));
//! let batch = RecordBatch::try_from_iter([("volts", volts)])?;
//! assert_eq!(batch.num_rows(), 2);
//! # Ok::<(), stationdb::arrow::error::ArrowError>(())
//! ```

pub(crate) mod convert;
pub(crate) mod integers;
pub(crate) mod text;

/// Arrays, their builders, and batches of rows.
pub mod array {
    pub use arrow_array::builder::*;
    pub use arrow_array::cast::*;
    pub use arrow_array::iterator::*;
    pub use arrow_array::*;
    pub use arrow_buffer::{ArrowNativeType, BooleanBufferBuilder};
    pub use arrow_data::{ArrayData, ArrayDataBuilder, ArrayDataRef};
}

/// The memory of arrays.
pub mod buffer {
    pub use arrow_buffer::buffer::*;
}

/// Kernels that choose rows.
pub mod compute {
    pub use arrow_select::concat::{concat, concat_batches};
    pub use arrow_select::filter::{filter, filter_record_batch};
    pub use arrow_select::interleave::{interleave, interleave_record_batch};
    pub use arrow_select::take::{TakeOptions, take, take_record_batch};
}

/// Types of arrays, fields and schemas.
pub mod datatypes {
    pub use arrow_array::types::*;
    pub use arrow_array::{ArrowNativeTypeOp, ArrowNumericType, ArrowPrimitiveType};
    pub use arrow_buffer::{ArrowNativeType, ToByteSlice, i256};
    pub use arrow_schema::{
        DataType, Field, FieldRef, Fields, IntervalUnit, Schema, SchemaBuilder, SchemaRef,
        TimeUnit, UnionFields, UnionMode,
    };
}

/// Errors of Arrow.
pub mod error {
    pub use arrow_schema::ArrowError;
}

/// The formats for exchange, as streams and files.
pub mod ipc {
    pub use arrow_ipc::*;
}

/// Batches of rows.
pub mod record_batch {
    pub use arrow_array::{
        RecordBatch, RecordBatchIterator, RecordBatchOptions, RecordBatchReader, RecordBatchWriter,
    };
}
