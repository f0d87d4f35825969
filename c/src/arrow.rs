//! The C data and stream interfaces of Arrow: structs of the caller that are taken or filled.
//!
//! Their layout and ownership are those of the Arrow specification. What a struct of the caller
//! leads to cannot be checked as a handle can: its callbacks and buffers are as the specification
//! demands, which its maker has promised. Lengths, types, texts and offsets are checked.
#![allow(
    unsafe_code,
    reason = "moves structs of Arrow, calls their callbacks, and reads their arrays"
)]

use std::ffi::{CStr, c_char, c_void};
use std::ptr;
use std::sync::Arc;

use arrow_array::ffi::{FFI_ArrowArray, FFI_ArrowSchema, from_ffi_and_data_type, to_ffi};
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{Array, RecordBatch, RecordBatchOptions, StructArray};
use stationdb::Error;
use stationdb::arrow::datatypes::{DataType, Schema, SchemaRef};
use stationdb::arrow::error::ArrowError;

use crate::failure::{Failure, Outcome};
use crate::memory::Out;
use crate::rows::{Reader, Rows};

/// A struct of the caller that is taken: the caller's copy is released then.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub struct Taken<T>(*mut T);

/// A struct with a released form.
pub trait Released {
    fn released() -> Self;
    fn is_released(&self) -> bool;
}

impl Released for FFI_ArrowArrayStream {
    fn released() -> Self {
        Self::empty()
    }

    fn is_released(&self) -> bool {
        self.release.is_none()
    }
}

impl Released for FFI_ArrowArray {
    fn released() -> Self {
        Self::empty()
    }

    fn is_released(&self) -> bool {
        FFI_ArrowArray::is_released(self)
    }
}

impl Released for FFI_ArrowSchema {
    fn released() -> Self {
        Self::empty()
    }

    fn is_released(&self) -> bool {
        // SAFETY: Both types have the layout of the specification, and the same size. The struct is
        // initialised, and only its callback is looked at.
        unsafe { (*ptr::from_ref(self).cast::<SchemaLayout>()).release.is_none() }
    }
}

/// A schema as the specification has it; the callback of the other type is private.
#[repr(C)]
struct SchemaLayout {
    texts: [*const c_char; 3],
    flags: i64,
    n_children: i64,
    children: *mut c_void,
    dictionary: *mut c_void,
    release: Option<unsafe extern "C" fn(*mut FFI_ArrowSchema)>,
    private_data: *mut c_void,
}

const _: () = assert!(size_of::<SchemaLayout>() == size_of::<FFI_ArrowSchema>());

impl<T: Released> Taken<T> {
    /// Moves the struct out of the caller's memory.
    ///
    /// # Errors
    /// `InvalidArgument` for a null or misaligned pointer, and a struct that is released already.
    pub fn take(&self, what: &str) -> Outcome<T> {
        if self.0.is_null() || !self.0.is_aligned() {
            let told = format!("the pointer {what} is null or misaligned; pass the address of one");
            return Err(Error::invalid(told).into());
        }
        // SAFETY: The pointer is not null and is aligned, and the caller has promised that it leads
        // to an initialised struct of this type that nobody else uses during the call. Moving it
        // is what the specification says of a struct that another owner takes.
        let taken = unsafe { ptr::replace(self.0, T::released()) };
        if taken.is_released() {
            return Err(Error::invalid(format!("{what} is released already")).into());
        }
        Ok(taken)
    }
}

/// Fills the caller's stream with the rows that are left.
pub fn export_stream(rows: Arc<Rows>, stream: Out<FFI_ArrowArrayStream>) {
    stream.set(FFI_ArrowArrayStream::new(Box::new(Reader(rows))));
}

/// Fills the caller's schema and array with a batch, as a struct of its columns.
pub fn export_batch(
    batch: RecordBatch,
    schema: Out<FFI_ArrowSchema>,
    array: Out<FFI_ArrowArray>,
) -> Outcome<()> {
    let told =
        |error: &ArrowError| Failure::from(Error::unsupported(format!("exporting: {error}")));
    let columns = FFI_ArrowSchema::try_from(batch.schema_ref().as_ref());
    let columns = columns.map_err(|error| told(&error))?;
    let rows = to_ffi(&StructArray::from(batch).into_data()).map_err(|error| told(&error))?.0;
    schema.set(columns);
    array.set(rows);
    Ok(())
}

/// Whether the length of an array is one that memory can have.
fn check_length(array: &FFI_ArrowArray) -> Result<(), ArrowError> {
    let is_count = |value: usize| u64::try_from(value).is_ok_and(|value| value < 1 << 48);
    if is_count(array.len()) && is_count(array.offset()) {
        return array.dictionary().map_or(Ok(()), check_length);
    }
    let told = "an array has a length or an offset that no memory has";
    Err(ArrowError::CDataInterface(told.to_owned()))
}

/// Checks what can be checked before an array is read: its lengths, and that it has the columns of
/// its schema, none of which has arrays in it.
fn check(array: &FFI_ArrowArray, schema: &Schema) -> Result<(), ArrowError> {
    check_length(array)?;
    let (found, fields) = (array.num_children(), schema.fields());
    if found != fields.len() {
        return Err(ArrowError::CDataInterface(format!(
            "the array has {found} columns, and its schema has {}",
            fields.len()
        )));
    }
    for (at, field) in fields.iter().enumerate() {
        if field.data_type().is_nested() {
            return Err(ArrowError::CDataInterface(format!(
                "the column {:?} is of the type {}, which no table has",
                field.name(),
                field.data_type()
            )));
        }
        check_length(array.child(at))?;
    }
    Ok(())
}

/// The rows of an array of the caller, which is a struct of columns.
fn batch_of(array: FFI_ArrowArray, schema: &SchemaRef) -> Result<RecordBatch, ArrowError> {
    check(&array, schema)?;
    // SAFETY: The array is not released, and its maker has promised that it agrees with the schema
    // that came with it, as the specification of the C data interface says. The lengths are in
    // range, and its texts and offsets are checked below before anything reads them.
    let data = unsafe { from_ffi_and_data_type(array, DataType::Struct(schema.fields().clone())) }?;
    data.validate_full()?;
    if data.null_count() > 0 {
        return Err(ArrowError::CDataInterface("a row is null as a whole".to_owned()));
    }
    let options = RecordBatchOptions::new().with_row_count(Some(data.len()));
    let columns = StructArray::from(data).into_parts().1;
    RecordBatch::try_new_with_options(schema.clone(), columns, &options)
}

/// The rows of an array and its schema, which are released.
pub fn import_batch(array: FFI_ArrowArray, schema: &FFI_ArrowSchema) -> Outcome<RecordBatch> {
    let told = |error: ArrowError| Failure::from(Error::invalid(format!("the rows: {error}")));
    let schema = Arc::new(Schema::try_from(schema).map_err(told)?);
    batch_of(array, &schema).map_err(told)
}

/// A stream of the caller.
pub struct Foreign {
    stream: FFI_ArrowArrayStream,
    schema: SchemaRef,
    /// Whether it had a batch, or the one without rows that stands for none.
    has_begun: bool,
    is_done: bool,
}

impl Foreign {
    /// # Errors
    /// `InvalidArgument` for a stream whose columns cannot be read.
    pub fn new(mut stream: FFI_ArrowArrayStream) -> Outcome<Self> {
        let told =
            |what: &str| Failure::from(Error::invalid(format!("the stream of rows: {what}")));
        let (Some(get_schema), Some(_)) = (stream.get_schema, stream.get_next) else {
            return Err(told("a callback is null"));
        };
        let mut schema = FFI_ArrowSchema::empty();
        // SAFETY: The stream is not released, and its maker has promised that the callback takes
        // the stream and a place for a schema. Both live here and are initialised.
        let code = unsafe { get_schema(&raw mut stream, &raw mut schema) };
        if code != 0 {
            let error = last_error(&mut stream, code);
            return Err(told(&error.to_string()));
        }
        let schema = Schema::try_from(&schema).map_err(|error| told(&error.to_string()))?;
        Ok(Self { stream, schema: Arc::new(schema), has_begun: false, is_done: false })
    }
}

/// What a stream says of the failure of its last callback.
fn last_error(stream: &mut FFI_ArrowArrayStream, code: i32) -> ArrowError {
    let told = stream.get_last_error.and_then(|get_last_error| {
        // SAFETY: The stream is not released, and its last callback failed, after which this one
        // may be called. The stream lives here and is initialised.
        let text = unsafe { get_last_error(ptr::from_mut(stream)) };
        // SAFETY: The text is null or ends with a zero byte, and lives until the next callback.
        (!text.is_null()).then(|| unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned())
    });
    let told = told.unwrap_or_else(|| "without a text".to_owned());
    ArrowError::CDataInterface(format!("the callback failed with {code}: {told}"))
}

impl Iterator for Foreign {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.is_done {
            return None;
        }
        let get_next = self.stream.get_next?;
        let mut array = FFI_ArrowArray::empty();
        // SAFETY: The stream is not released, and its maker has promised that the callback takes
        // the stream and a place for an array. Both live here and are initialised.
        let code = unsafe { get_next(&raw mut self.stream, &raw mut array) };
        if code != 0 {
            self.is_done = true;
            return Some(Err(last_error(&mut self.stream, code)));
        }
        if array.is_released() {
            self.is_done = true;
            // An append of no rows, whose columns are looked at.
            return (!self.has_begun).then(|| Ok(RecordBatch::new_empty(self.schema.clone())));
        }
        self.has_begun = true;
        Some(batch_of(array, &self.schema))
    }
}
