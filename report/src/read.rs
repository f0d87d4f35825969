//! Reads the columns of a waveform: their pyramids in one pass, and the rows of a few places.

use std::ops::{ControlFlow, Range};

use stationdb::arrow::array::{Array, ArrayRef, AsArray, BooleanArray, RecordBatch};
use stationdb::arrow::compute::filter_record_batch;
use stationdb::arrow::datatypes::{
    Float32Type, Float64Type, Int32Type, Int64Type, TimestampMicrosecondType,
    TimestampMillisecondType, TimestampNanosecondType,
};
use stationdb::prelude::*;
use stationdb::tables::{
    Column, ColumnFilter, ColumnOrderBy, ColumnType, DataType, FilterOperation, ScanRequest,
    TableId,
};
use stationdb::{Control, Error, Result, Session};

use crate::number::grouped;
use crate::pyramid::{Allowed, Bounds, Place, Pyramid};
use crate::x_axis::XAxis;

/// Values of a page with every row: some hundred megabytes of the file.
pub(crate) const FULL_VALUES_MAX: u64 = 1 << 26;

/// The pyramid of a column, of whichever type.
pub(crate) enum Heights {
    Doubles(Pyramid<f64>),
    Longs(Pyramid<i64>),
}

/// What is read.
pub(crate) struct Question<'q> {
    pub session: &'q Session,
    pub table: &'q TableId,
    pub x: &'q Column,
    pub ys: &'q [Column],
    pub filters: &'q [ColumnFilter],
}

/// What one pass knows.
pub(crate) struct Pass {
    pub x: XAxis,
    pub heights: Vec<Heights>,
    /// Where each interval of the pyramids begins, before they are merged further; nothing if they
    /// are single rows without a bound.
    pub starts: Vec<Start>,
    pub rows_each: u64,
    pub rows: u64,
    /// Rows without a place: their x is null, NaN or infinite.
    pub placeless: u64,
    /// The first row with the x of the last one.
    first_of_last: u64,
}

/// Where an interval begins.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Start {
    /// x of its first row.
    pub x: i64,
    /// The first row with this x, which may be of an earlier interval.
    pub first: u64,
}

/// Values as slices of one of two types.
enum Numbers<'a> {
    Doubles(std::borrow::Cow<'a, [f64]>),
    Longs(std::borrow::Cow<'a, [i64]>),
}

impl Question<'_> {
    fn request(&self, more: Vec<ColumnFilter>) -> ScanRequest {
        let mut columns = vec![self.x.name.clone()];
        for y in self.ys {
            if !columns.contains(&y.name) {
                columns.push(y.name.clone());
            }
        }
        let mut request = ScanRequest::new().columns(columns);
        request.filters = Some(self.filters.iter().cloned().chain(more).collect());
        if self.x.column_type != ColumnType::Index {
            request.order_by = Some(vec![ColumnOrderBy::new(self.x.name.clone())]);
        }
        request
    }

    /// Hands the rows to `take` in the order of x, until it breaks: x, then each column. Returns how
    /// many of the read rows had no place.
    fn scan(
        &self,
        more: Vec<ColumnFilter>,
        mut take: impl FnMut(&[i64], &[ArrayRef]) -> Result<ControlFlow<()>>,
    ) -> Result<u64> {
        let stream = self.session.scan(self.table, self.request(more), &Control::default())?;
        let mut placeless = 0;
        for batch in stream {
            let batch = batch?;
            let read = batch.num_rows();
            let batch = with_x(batch, &self.x.name)?;
            placeless += (read - batch.num_rows()) as u64;
            let xs = xs_of(column(&batch, &self.x.name)?)?;
            let ys = self.ys.iter().map(|y| column(&batch, &y.name).cloned());
            if take(&xs, &ys.collect::<Result<Vec<_>>>()?)?.is_break() {
                break;
            }
        }
        Ok(placeless)
    }

    /// Reads all rows once. The limits are those of each column.
    pub(crate) fn pass(&self, bounds: Bounds, limits: &[Vec<Allowed>]) -> Result<Pass> {
        let mut pass = Pass {
            x: XAxis::new(self.x),
            heights: self
                .ys
                .iter()
                .zip(limits)
                .map(|(y, allowed)| {
                    if is_long(y.data_type) {
                        Heights::Longs(Pyramid::new(bounds, allowed.clone()))
                    } else {
                        Heights::Doubles(Pyramid::new(bounds, allowed.clone()))
                    }
                })
                .collect(),
            starts: Vec::new(),
            rows_each: 1,
            rows: 0,
            placeless: 0,
            first_of_last: 0,
        };
        let placeless = self.scan(Vec::new(), |xs, ys| {
            let values = (pass.rows + xs.len() as u64).saturating_mul(self.ys.len() as u64);
            if values > bounds.values_max {
                return Err(Error::limit(format!(
                    "writing every row: the page would have more than {} values; name fewer columns \
                     or a range of rows, or do not ask for every row",
                    grouped(FULL_VALUES_MAX)
                )));
            }
            pass.start(xs, bounds.intervals_max);
            pass.x.extend(xs);
            for (heights, y) in pass.heights.iter_mut().zip(ys) {
                let nulls = y.nulls().filter(|nulls| nulls.null_count() > 0);
                let is_null = |at: usize| nulls.is_some_and(|nulls| nulls.is_null(at));
                match (heights, numbers(y)?) {
                    (Heights::Doubles(pyramid), Numbers::Doubles(values)) => {
                        pyramid.extend(xs, &values, is_null);
                    }
                    (Heights::Longs(pyramid), Numbers::Longs(values)) => {
                        pyramid.extend(xs, &values, is_null);
                    }
                    _ => return Err(Error::corrupt("a column has values of another type")),
                }
            }
            Ok(ControlFlow::Continue(()))
        })?;
        pass.placeless = placeless;
        Ok(pass)
    }

    /// Reads the rows of some intervals of the pass. A filter on x chooses at least these: rows before
    /// them with the x of the first one are passed over, and the first row behind them ends it.
    pub(crate) fn rows(&self, pass: &Pass, intervals: Range<usize>) -> Result<Rows> {
        let filter =
            |operation, x| ColumnFilter::new(self.x.name.clone(), operation).value(pass.x.text(x));
        let start = pass.starts[intervals.start];
        let last = pass.starts.get(intervals.end).map_or(pass.x.last, |start| start.x);
        let more = vec![
            filter(FilterOperation::GreaterThanEquals, start.x),
            filter(FilterOperation::LessThanEquals, last),
        ];
        let row = intervals.start as u64 * pass.rows_each;
        let end = pass.rows.min(intervals.end as u64 * pass.rows_each);
        let mut next = start.first;
        let mut rows = Rows {
            row,
            xs: Vec::new(),
            values: pass
                .heights
                .iter()
                .map(|heights| match heights {
                    Heights::Doubles(_) => Values::Doubles(Vec::new()),
                    Heights::Longs(_) => Values::Longs(Vec::new()),
                })
                .collect(),
        };
        self.scan(more, |xs, ys| {
            let place = |row: u64| (row.saturating_sub(next) as usize).min(xs.len());
            let taken = place(row)..place(end);
            next += xs.len() as u64;
            rows.xs.extend_from_slice(&xs[taken.clone()]);
            for (into, y) in rows.values.iter_mut().zip(ys) {
                let y = &y.slice(taken.start, taken.len());
                match (into, numbers(y)?) {
                    (Values::Doubles(into), Numbers::Doubles(values)) => {
                        let values = values.iter().enumerate();
                        into.extend(
                            values.map(|(at, &v)| if y.is_null(at) { f64::NAN } else { v }),
                        );
                    }
                    (Values::Longs(into), Numbers::Longs(values)) => {
                        let values = values.iter().enumerate();
                        into.extend(values.map(|(at, &v)| (!y.is_null(at)).then_some(v)));
                    }
                    _ => return Err(Error::corrupt("a column has values of another type")),
                }
            }
            Ok(if next < end { ControlFlow::Continue(()) } else { ControlFlow::Break(()) })
        })?;
        Ok(rows)
    }
}

/// Rows beside each other.
pub(crate) struct Rows {
    /// The number of the first one.
    pub row: u64,
    pub xs: Vec<i64>,
    pub values: Vec<Values>,
}

/// The values of a column; NaN and none where there is nothing to draw.
pub(crate) enum Values {
    Doubles(Vec<f64>),
    Longs(Vec<Option<i64>>),
}

impl Pass {
    /// Notes where intervals begin, as the pyramids divide the rows. `x` has the rows before `xs`.
    fn start(&mut self, xs: &[i64], intervals_max: usize) {
        // The first row with the x of a row.
        let first_of = |pass: &Self, at: usize| {
            let before = xs[..at].partition_point(|&x| !pass.x.is_same(x, xs[at]));
            if before == 0 && pass.rows > 0 && pass.x.is_same(pass.x.last, xs[at]) {
                pass.first_of_last
            } else {
                pass.rows + before as u64
            }
        };
        let mut at = if intervals_max == usize::MAX { xs.len() } else { 0 };
        while at < xs.len() {
            let row = self.rows + at as u64;
            if row / self.rows_each >= intervals_max as u64 {
                self.starts = self.starts.iter().copied().step_by(2).collect();
                self.rows_each *= 2;
            }
            let behind = row % self.rows_each;
            if behind == 0 {
                self.starts.push(Start { x: xs[at], first: first_of(self, at) });
            }
            at += usize::try_from(self.rows_each - behind).unwrap_or(usize::MAX);
        }
        if !xs.is_empty() {
            self.first_of_last = first_of(self, xs.len() - 1);
        }
        self.rows += xs.len() as u64;
    }

    /// The number of the interval in which x is.
    pub(crate) fn interval_of(&self, x: i64) -> usize {
        let offset = self.x.offset(x);
        let after = self.starts.partition_point(|start| self.x.offset(start.x) <= offset);
        after.saturating_sub(1)
    }

    /// The interval of a row.
    pub(crate) fn interval_at(&self, place: Place) -> usize {
        usize::try_from(place.row / self.rows_each).unwrap_or(usize::MAX)
    }
}

/// Whether values of the type are whole numbers of eight bytes.
fn is_long(data_type: DataType) -> bool {
    data_type == DataType::Int64 || data_type.is_time()
}

fn column<'b>(batch: &'b RecordBatch, name: &str) -> Result<&'b ArrayRef> {
    batch
        .column_by_name(name)
        .ok_or_else(|| Error::invalid(format!("reading the waveform: no column {name:?}")))
}

/// The rows that have an x which can be drawn.
fn with_x(batch: RecordBatch, name: &str) -> Result<RecordBatch> {
    let xs = column(&batch, name)?;
    let mut is_drawn = vec![true; 0];
    if xs.null_count() > 0 {
        is_drawn = (0..xs.len()).map(|at| xs.is_valid(at)).collect();
    }
    if let Numbers::Doubles(values) = numbers(xs)?
        && values.iter().any(|value| !value.is_finite())
    {
        is_drawn.resize(xs.len(), true);
        for (is_drawn, value) in is_drawn.iter_mut().zip(values.iter()) {
            *is_drawn &= value.is_finite();
        }
    }
    if is_drawn.is_empty() {
        return Ok(batch);
    }
    filter_record_batch(&batch, &BooleanArray::from(is_drawn))
        .map_err(|error| Error::invalid(format!("leaving out rows without {name:?}: {error}")))
}

fn numbers(array: &ArrayRef) -> Result<Numbers<'_>> {
    if let Some(array) = array.as_primitive_opt::<Float64Type>() {
        return Ok(Numbers::Doubles(array.values()[..].into()));
    }
    if let Some(array) = array.as_primitive_opt::<Float32Type>() {
        return Ok(Numbers::Doubles(array.values().iter().map(|&v| f64::from(v)).collect()));
    }
    if let Some(array) = array.as_primitive_opt::<Int32Type>() {
        return Ok(Numbers::Doubles(array.values().iter().map(|&v| f64::from(v)).collect()));
    }
    let longs = array.as_primitive_opt::<Int64Type>().map(|array| &array.values()[..]);
    let millis =
        || array.as_primitive_opt::<TimestampMillisecondType>().map(|array| &array.values()[..]);
    let micros =
        || array.as_primitive_opt::<TimestampMicrosecondType>().map(|array| &array.values()[..]);
    let nanos =
        || array.as_primitive_opt::<TimestampNanosecondType>().map(|array| &array.values()[..]);
    let longs = longs.or_else(millis).or_else(micros).or_else(nanos);
    longs
        .map(|values| Numbers::Longs(values.into()))
        .ok_or_else(|| Error::invalid(format!("a column of {} has no numbers", array.data_type())))
}

/// x as whole numbers, or the bits of doubles.
fn xs_of(array: &ArrayRef) -> Result<std::borrow::Cow<'_, [i64]>> {
    if let Some(array) = array.as_primitive_opt::<Int32Type>() {
        return Ok(array.values().iter().map(|&x| i64::from(x)).collect());
    }
    match numbers(array)? {
        Numbers::Longs(values) => Ok(values),
        Numbers::Doubles(values) => Ok(values.iter().map(|value| value.to_bits() as i64).collect()),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use stationdb::arrow::array::{Float64Array, Int64Array};
    use stationdb::tables::{AppendTableDataRequest, CreateTableRequest, DataFrame};
    use stationdb::{ErrorKind, Identity, Store};

    use super::*;

    /// Rows of intervals are read by a filter on x, and rows of one x may be of several intervals.
    #[test]
    fn the_rows_of_intervals_are_these_rows() {
        const ROWS: usize = 5_000;
        let directory = tempfile::tempdir().unwrap();
        let store = Store::open(directory.path()).unwrap();
        let session = store.session(Identity::user("ada"));
        let columns = [
            Column::new("t", DataType::Int64).column_type(ColumnType::Index),
            Column::new("u", DataType::Float64),
            Column::new("row", DataType::Float64),
        ];
        for each in [1, 3, 100, 1_000, ROWS] {
            let request = CreateTableRequest::new(columns.clone()).name("Loop");
            let table = session.create_table(request).unwrap();
            for piece in (0..ROWS).collect::<Vec<_>>().chunks(700) {
                let place = |row: &usize| (row / each) as i64 - 2;
                // One place is both 0 and -0.
                let u = |row: &usize| [0.0, -0.0][row % 2] + (place(row) as f64).min(0.0);
                let u: Vec<f64> = piece.iter().map(u).collect();
                let rows: Vec<f64> = piece.iter().map(|&row| row as f64).collect();
                let batch = RecordBatch::try_from_iter([
                    ("t", Arc::new(piece.iter().map(place).collect::<Int64Array>()) as ArrayRef),
                    ("u", Arc::new(Float64Array::from(u))),
                    ("row", Arc::new(Float64Array::from(rows))),
                ]);
                session
                    .append_batches(&table, &mut [Ok(batch.unwrap())].into_iter(), None)
                    .unwrap();
            }
            for x in &columns[..2] {
                let ys = &columns[2..];
                let question = Question { session: &session, table: &table, x, ys, filters: &[] };
                let bounds = Bounds { intervals_max: 64, violations_max: 1, values_max: u64::MAX };
                let pass = question.pass(bounds, &[Vec::new()]).unwrap();
                assert_eq!((pass.rows, pass.rows_each, pass.starts.len()), (5_000, 128, 40));
                for intervals in [0..1, 0..40, 3..5, 20..21, 38..40] {
                    let rows = question.rows(&pass, intervals.clone()).unwrap();
                    let expected = intervals.start * 128..ROWS.min(intervals.end * 128);
                    assert_eq!(rows.row, expected.start as u64);
                    assert_eq!(rows.xs.len(), expected.len());
                    let Values::Doubles(found) = &rows.values[0] else { panic!() };
                    let found: Vec<usize> = found.iter().map(|&row| row as usize).collect();
                    assert!(found.iter().copied().eq(expected), "{each} {}: {found:?}", x.name);
                }
            }
        }
    }

    #[test]
    fn too_many_values_are_refused() {
        let directory = tempfile::tempdir().unwrap();
        let store = Store::open(directory.path()).unwrap();
        let session = store.session(Identity::user("ada"));
        let columns = [
            Column::new("t", DataType::Int64).column_type(ColumnType::Index),
            Column::new("volts", DataType::Float64),
            Column::new("amps", DataType::Int64),
        ];
        let request = CreateTableRequest::new(columns.clone()).name("Loop");
        let table = session.create_table(request).unwrap();
        let rows = (0..6).map(|at| vec![Some(at.to_string()); 3]);
        let append = AppendTableDataRequest::new().frame(DataFrame::new().data(rows));
        session.append_table_data(&table, append).unwrap();
        let [x, ys @ ..] = &columns;
        let question = Question { session: &session, table: &table, x, ys, filters: &[] };
        let pass = |values_max| {
            let bounds = Bounds { intervals_max: usize::MAX, violations_max: 1, values_max };
            question.pass(bounds, &[Vec::new(), Vec::new()])
        };
        assert_eq!(pass(12).unwrap().rows, 6);
        let error = pass(11).err().unwrap();
        assert_eq!(error.kind(), ErrorKind::LimitExceeded);
        assert!(error.message().contains("the page would have more than 67,108,864 values"));
    }
}
