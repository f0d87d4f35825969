//! Rows by the C data and stream interfaces of Arrow.

use arrow_array::ffi::{FFI_ArrowArray, FFI_ArrowSchema};
use arrow_array::ffi_stream::FFI_ArrowArrayStream;

use crate::arrow::{Foreign, Taken, export_batch, export_stream, import_batch};
use crate::functions::append;
use crate::memory::{In, Out};
use crate::registry;

export! {
    fn sdb_rows_stream(rows: u64, stream: Out<FFI_ArrowArrayStream>) {
        stream.begin("stream", FFI_ArrowArrayStream::empty())?;
        export_stream(registry::rows(rows)?.take()?, stream);
        Ok(())
    }

    fn sdb_rows_batch(rows: u64, schema: Out<FFI_ArrowSchema>, array: Out<FFI_ArrowArray>) {
        schema.begin("schema", FFI_ArrowSchema::empty())?;
        array.begin("array", FFI_ArrowArray::empty())?;
        match registry::rows(rows)?.next()? {
            // The array of the end is released.
            None => Ok(()),
            Some(batch) => export_batch(batch, schema, array),
        }
    }

    fn sdb_append_stream(
        caller: u64,
        table: In<u8>,
        table_length: i64,
        stream: Taken<FFI_ArrowArrayStream>,
        end_of_data: i32,
    ) {
        // Taken before anything can fail, so that the caller never has to release it.
        let stream = stream.take("stream")?;
        let table = table.text("table", table_length)?;
        append::batches(caller, table, end_of_data, || Foreign::new(stream))
    }

    fn sdb_append_batch(
        caller: u64,
        table: In<u8>,
        table_length: i64,
        schema: Taken<FFI_ArrowSchema>,
        array: Taken<FFI_ArrowArray>,
        end_of_data: i32,
    ) {
        let (rows, columns) = (array.take("array"), schema.take("schema"));
        let batch = import_batch(rows?, &columns?)?;
        let table = table.text("table", table_length)?;
        append::batches(caller, table, end_of_data, || Ok(std::iter::once(Ok(batch))))
    }
}
