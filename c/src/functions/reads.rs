//! Reads of tables: as a cursor over rows, and as plain arrays into buffers of the caller.

use std::sync::Arc;

use arrow_array::RecordBatch;
use stationdb::Error;
use stationdb::arrow::datatypes::Schema;
use stationdb::tables::{QueryDecimatedDataRequest, ScanRequest, TableId};

use crate::failure::{Failure, Outcome};
use crate::json;
use crate::memory::{Buffer, In, Out};
use crate::numbers::{plain_f64, to_f64};
use crate::registry::{self, Object};
use crate::rows::{Rows, Source};

/// The caller's array of columns: column `c` begins at `c * capacity`.
struct Grid<'o> {
    values: Buffer<'o, f64>,
    columns: usize,
    /// Rows that each column has room for.
    capacity: usize,
}

impl<'o> Grid<'o> {
    fn new(values: &'o mut Out<f64>, columns: i64, capacity: i64) -> Outcome<Self> {
        let counts = (usize::try_from(columns), usize::try_from(capacity));
        let (Ok(wide), Ok(high), Some(cells)) = (counts.0, counts.1, columns.checked_mul(capacity))
        else {
            return Err(Error::invalid(format!(
                "a buffer of {columns} columns with {capacity} rows is not possible"
            ))
            .into());
        };
        Ok(Self { values: values.buffer("values", cells)?, columns: wide, capacity: high })
    }

    /// Writes the columns of a batch from a row on.
    fn write(&mut self, row: usize, batch: &RecordBatch) -> Outcome<()> {
        let fields = batch.schema_ref().fields();
        if fields.len() != self.columns {
            let names: Vec<&str> = fields.iter().map(|field| field.name().as_str()).collect();
            return Err(Error::invalid(format!(
                "the answer has {} columns ({}), and the buffer has {}; name those that you want \
                 in the member columns",
                names.len(),
                names.join(", "),
                self.columns
            ))
            .into());
        }
        for (at, (field, array)) in fields.iter().zip(batch.columns()).enumerate() {
            let place = at * self.capacity + row;
            let fits = match plain_f64(array) {
                Some(plain) => self.values.write(place, plain),
                None => self.values.write(place, &to_f64(field.name(), array)?),
            };
            if !fits {
                return Err(Failure::internal("a column beyond its buffer"));
            }
        }
        Ok(())
    }
}

fn length(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

export! {
    fn sdb_scan(
        caller: u64,
        table: In<u8>,
        table_length: i64,
        request: In<u8>,
        request_length: i64,
        control: u64,
        rows: Out<u64>,
    ) {
        rows.begin("rows", 0)?;
        let table = TableId::from(table.text("table", table_length)?);
        let asked: ScanRequest = json::request("scan", request.text("request", request_length)?)?;
        let caller = registry::caller(caller)?;
        let watch = registry::optional_control(control)?;
        let begun = caller.begin(watch.as_deref())?;
        let stream = begun.services().scan(&table, asked, &begun.control)?;
        let control = begun.control.clone();
        let found = Rows::new(&caller.open, stream.schema(), Box::new(stream), control);
        rows.set(registry::put(Object::Rows(found))?);
        Ok(())
    }

    fn sdb_decimate(
        caller: u64,
        table: In<u8>,
        table_length: i64,
        request: In<u8>,
        request_length: i64,
        control: u64,
        rows: Out<u64>,
    ) {
        rows.begin("rows", 0)?;
        let table = TableId::from(table.text("table", table_length)?);
        let request = request.text("request", request_length)?;
        let asked: QueryDecimatedDataRequest = json::request("decimate", request)?;
        let caller = registry::caller(caller)?;
        let watch = registry::optional_control(control)?;
        let begun = caller.begin_by_session(watch.as_deref())?;
        let batches = begun.services().query_decimated_data(&table, asked)?.frame.batches;
        let schema = batches.first().map_or_else(|| Arc::new(Schema::empty()), RecordBatch::schema);
        let source: Source = Box::new(batches.into_iter().map(Ok));
        let found = Rows::new(&caller.open, schema, source, begun.control.clone());
        rows.set(registry::put(Object::Rows(found))?);
        Ok(())
    }

    fn sdb_decimate_f64(
        caller: u64,
        table: In<u8>,
        table_length: i64,
        request: In<u8>,
        request_length: i64,
        control: u64,
        values: Out<f64>,
        columns: i64,
        capacity: i64,
        rows: Out<i64>,
    ) {
        rows.begin("rows", 0)?;
        let mut values = values;
        let mut grid = Grid::new(&mut values, columns, capacity)?;
        let table = TableId::from(table.text("table", table_length)?);
        let request = request.text("request", request_length)?;
        let asked: QueryDecimatedDataRequest = json::request("decimate", request)?;
        let caller = registry::caller(caller)?;
        let watch = registry::optional_control(control)?;
        let begun = caller.begin_by_session(watch.as_deref())?;
        let batches = begun.services().query_decimated_data(&table, asked)?.frame.batches;
        let count = batches.iter().map(RecordBatch::num_rows).sum();
        rows.set(length(count));
        if count > grid.capacity {
            return Err(Failure::too_small("rows", count, grid.capacity));
        }
        let mut at = 0;
        for batch in &batches {
            grid.write(at, batch)?;
            at += batch.num_rows();
        }
        Ok(())
    }

    fn sdb_read_f64(
        caller: u64,
        table: In<u8>,
        table_length: i64,
        request: In<u8>,
        request_length: i64,
        control: u64,
        values: Out<f64>,
        columns: i64,
        capacity: i64,
        rows: Out<i64>,
    ) {
        rows.begin("rows", 0)?;
        let mut values = values;
        let mut grid = Grid::new(&mut values, columns, capacity)?;
        let table = TableId::from(table.text("table", table_length)?);
        let mut asked: ScanRequest =
            json::request("scan", request.text("request", request_length)?)?;
        asked.take = Some(asked.take.map_or(capacity, |take| take.min(capacity)));
        let caller = registry::caller(caller)?;
        let watch = registry::optional_control(control)?;
        let begun = caller.begin(watch.as_deref())?;
        let mut at = 0;
        for batch in begun.services().scan(&table, asked, &begun.control)? {
            let batch = batch?;
            grid.write(at, &batch)?;
            at += batch.num_rows();
        }
        rows.set(length(at));
        Ok(())
    }
}
