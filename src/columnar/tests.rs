//! Compares every read path with a naive model of the same rows in memory.

mod overlap;
mod shapes;
mod windows;

use std::cmp::Ordering;
use std::ops::Range;
use std::sync::Arc;

use proptest::prelude::*;

use super::*;
use crate::arrow::array::RecordBatch;
use crate::disk::{MemoryDisk, SharedDisk};
use crate::model::tables::data::{
    Column, ColumnFilter, ColumnType, DataFrame, DataType, DecimationDistribution,
    DecimationMethod, FilterOperation, column,
};
use crate::value::Control;
use crate::value::ranges::RangeSet;

type Cells = Vec<Option<String>>;

fn columns(index: DataType) -> Vec<Column> {
    vec![
        column("i", index, ColumnType::Index),
        column("f", DataType::Float64, ColumnType::Nullable),
        column("g", DataType::Float32, ColumnType::Normal),
        column("n", DataType::Int32, ColumnType::Nullable),
        column("m", DataType::Int64, ColumnType::Normal),
        column("b", DataType::Bool, ColumnType::Nullable),
        column("s", DataType::String, ColumnType::Nullable),
        column("t", DataType::TimestampMicros, ColumnType::Nullable),
    ]
}

fn float_cell() -> impl Strategy<Value = String> {
    prop_oneof![
        Just("NaN".to_owned()),
        Just("Infinity".to_owned()),
        Just("-Infinity".to_owned()),
        Just("-0".to_owned()),
        Just("0".to_owned()),
        (-4i32..4).prop_map(|v| v.to_string()),
    ]
}

/// A count of the unit of a time column, as text.
fn time_cell(data_type: DataType, count: i64) -> String {
    let mut text = String::new();
    super::ticks::write(count, super::ticks::unit_of(data_type).unwrap(), &mut text);
    text
}

/// `full` is the share of values that are not null, in columns that may have nulls.
fn row(index: DataType, spread: i64, full: f64) -> impl Strategy<Value = Cells> {
    let index = (0..spread).prop_map(move |v| match index {
        _ if index.is_time() => time_cell(index, v),
        _ => (v - 3).to_string(),
    });
    let small = || (-3i32..3).prop_map(|v| v.to_string());
    (
        index,
        proptest::option::weighted(full, float_cell()),
        float_cell(),
        proptest::option::weighted(full, small()),
        small(),
        proptest::option::weighted(full, any::<bool>().prop_map(|v| v.to_string())),
        proptest::option::weighted(full, "[ab]{0,2}"),
        proptest::option::weighted(
            full,
            (0i64..3).prop_map(|v| time_cell(DataType::TimestampMicros, v)),
        ),
    )
        .prop_map(|(i, f, g, n, m, b, s, t)| vec![Some(i), f, Some(g), n, Some(m), b, s, t])
}

fn frame(rows: &[Cells]) -> DataFrame {
    DataFrame { columns: None, data: rows.to_vec() }
}

/// A table in some state: appends, of which some are sealed, and adjacent segments may be merged.
struct Fixture {
    schema: Arc<TableSchema>,
    rows: Vec<Cells>,
    view: Arc<TableView>,
}

fn seal(disk: &SharedDisk, schema: &Arc<TableSchema>, id: u64, run: &MemoryRun) -> Arc<Segment> {
    let mut writer =
        SegmentWriter::new(disk.clone(), "t", id, schema.clone(), run.first_ordinal()).unwrap();
    let rows = run.batch().num_rows();
    // In two calls, so that state is carried over.
    let half = rows / 2;
    for range in [0..half, half..rows] {
        let ordinals = run.ordinals().map(|all| &all[range.clone()]);
        writer.write(&run.batch().slice(range.start, range.len()), ordinals).unwrap();
    }
    let meta = writer.finish().unwrap();
    Arc::new(Segment::open(disk, "t", meta, schema.clone()).unwrap())
}

/// Merges adjacent segments, as a merge of their table would.
fn merge(disk: &SharedDisk, schema: &Arc<TableSchema>, id: u64, group: Vec<Run>) -> Run {
    let first_ordinal = group.iter().map(Run::first_ordinal).min().unwrap();
    let view = Arc::new(TableView::new(schema.clone(), group));
    let columns = (0..schema.len()).collect();
    let mut scan = MergedScan::new(view.clone(), Arc::default(), columns, None, Control::default())
        .unwrap()
        .with_locators();
    let mut writer =
        SegmentWriter::new(disk.clone(), "t", id, schema.clone(), first_ordinal).unwrap();
    while let Some(chunk) = scan.next_chunk().unwrap() {
        let ordinals = view.ordinals(&chunk.locators).unwrap();
        let offsets: Vec<u32> =
            ordinals.into_iter().map(|ordinal| (ordinal - first_ordinal) as u32).collect();
        writer.write(&chunk.batch, Some(&offsets)).unwrap();
    }
    Run::from(Arc::new(Segment::open(disk, "t", writer.finish().unwrap(), schema.clone()).unwrap()))
}

/// `sealed` says for each append whether it is a segment. If it has an even length, adjacent segments
/// are merged.
fn fixture(index: DataType, appends: &[Vec<Cells>], sealed: &[bool]) -> Fixture {
    let schema = Arc::new(TableSchema::with_default_limit(columns(index)).unwrap());
    let disk: SharedDisk = Arc::new(MemoryDisk::default());
    disk.create_dir_all("t").unwrap();
    let mut runs = Vec::new();
    let mut ordinal = 0;
    for (at, rows) in appends.iter().enumerate() {
        let batch = frame_to_batch(&schema, &frame(rows)).unwrap();
        let bytes = encode_batch(&schema, &batch).unwrap();
        let decoded = decode_batch(&schema, &bytes).unwrap();
        assert_eq!(batch, decoded);
        let half = rows.len() / 3;
        let parts = [decoded.slice(0, half), decoded.slice(half, rows.len() - half)];
        let run = MemoryRun::new(&schema, &parts, ordinal).unwrap();
        ordinal += rows.len() as u64;
        if sealed[at % sealed.len()] && !rows.is_empty() {
            runs.push(Run::from(seal(&disk, &schema, at as u64 + 1, &run)));
        } else {
            runs.push(Run::from(Arc::new(run)));
        }
    }
    if sealed.len().is_multiple_of(2) {
        let mut kept: Vec<Run> = Vec::new();
        let mut group: Vec<Run> = Vec::new();
        let mut merged = 0;
        let mut close = |group: &mut Vec<Run>, kept: &mut Vec<Run>| match group.len() {
            0 | 1 => kept.append(group),
            _ => {
                merged += 1;
                kept.push(merge(&disk, &schema, 1000 + merged, std::mem::take(group)));
            }
        };
        for run in runs {
            if matches!(run.stored(), RunStorage::Segment(_)) {
                group.push(run);
            } else {
                close(&mut group, &mut kept);
                kept.push(run);
            }
        }
        close(&mut group, &mut kept);
        runs = kept;
    }
    let view = Arc::new(TableView::new(schema.clone(), runs));
    Fixture { schema, rows: appends.concat(), view }
}

/// A cell as a value that can be ordered; `None` is null.
#[derive(Clone, Debug, PartialEq)]
enum Value {
    Int(i64),
    Float(f64),
    Bool(bool),
    Text(String),
}

fn value(schema: &TableSchema, column: usize, cell: Option<&String>) -> Option<Value> {
    let text = cell?;
    Some(match schema.columns()[column].data_type {
        DataType::Bool => Value::Bool(text == "true"),
        DataType::Float32 | DataType::Float64 => {
            Value::Float(super::cells::parse_f64(text).unwrap())
        }
        DataType::Int32 | DataType::Int64 => Value::Int(text.parse().unwrap()),
        DataType::Timestamp | DataType::TimestampMicros | DataType::TimestampNanos => {
            Value::Int(super::ticks::parse(schema.columns()[column].data_type, text).unwrap())
        }
        DataType::String => Value::Text(text.clone()),
    })
}

fn compare(a: &Value, b: &Value) -> Ordering {
    match (a, b) {
        (Value::Int(a), Value::Int(b)) => a.cmp(b),
        (Value::Bool(a), Value::Bool(b)) => a.cmp(b),
        (Value::Text(a), Value::Text(b)) => a.cmp(b),
        (Value::Float(a), Value::Float(b)) => match (a.is_nan(), b.is_nan()) {
            (false, false) => a.partial_cmp(b).unwrap(),
            (a, b) => a.cmp(&b),
        },
        _ => unreachable!(),
    }
}

fn passes(schema: &TableSchema, row: &Cells, filter: &ColumnFilter) -> bool {
    use FilterOperation as Op;
    let column = schema.position(&filter.column).unwrap();
    let cell = value(schema, column, row[column].as_ref());
    let is_nan = |value: &Value| matches!(value, Value::Float(value) if value.is_nan());
    let Some(wanted) = filter.value.as_ref() else {
        return cell.is_none() == (filter.operation == Op::Equals);
    };
    let wanted = value(schema, column, Some(wanted)).unwrap();
    let negative = matches!(filter.operation, Op::NotEquals | Op::NotContains);
    let Some(cell) = cell else { return negative };
    if is_nan(&wanted) {
        return !is_nan(&cell);
    }
    if is_nan(&cell) {
        return negative;
    }
    let order = compare(&cell, &wanted);
    match filter.operation {
        Op::Equals => order.is_eq(),
        Op::NotEquals => order.is_ne(),
        Op::LessThan => order.is_lt(),
        Op::LessThanEquals => order.is_le(),
        Op::GreaterThan => order.is_gt(),
        Op::GreaterThanEquals => order.is_ge(),
        Op::Contains | Op::NotContains => match (&cell, &wanted) {
            (Value::Text(cell), Value::Text(wanted)) => cell.contains(wanted.as_str()) != negative,
            _ => unreachable!(),
        },
    }
}

fn filter() -> impl Strategy<Value = ColumnFilter> {
    use FilterOperation as Op;
    let order = || {
        prop_oneof![
            Just(Op::Equals),
            Just(Op::NotEquals),
            Just(Op::LessThan),
            Just(Op::LessThanEquals),
            Just(Op::GreaterThan),
            Just(Op::GreaterThanEquals)
        ]
    };
    let make = |column: &'static str| {
        move |(operation, value): (Op, String)| ColumnFilter {
            column: column.to_owned(),
            operation,
            value: Some(value),
        }
    };
    let number = || (-3i32..9).prop_map(|v| v.to_string());
    let finite = || prop_oneof![Just("Infinity".to_owned()), Just("-0".to_owned()), number()];
    prop_oneof![
        (order(), number()).prop_map(make("i")),
        (order(), finite()).prop_map(make("f")),
        (order(), finite()).prop_map(make("g")),
        (order(), number()).prop_map(make("n")),
        (order(), number()).prop_map(make("m")),
        (order(), any::<bool>().prop_map(|v| v.to_string())).prop_map(make("b")),
        (
            prop_oneof![
                Just(Op::Equals),
                Just(Op::NotEquals),
                Just(Op::Contains),
                Just(Op::NotContains)
            ],
            "[ab]{0,1}"
        )
            .prop_map(make("s")),
        (prop_oneof![Just("f"), Just("m"), Just("s"), Just("t")], any::<bool>()).prop_map(
            |(column, equal)| {
                let operation = if equal { Op::Equals } else { Op::NotEquals };
                ColumnFilter { column: column.to_owned(), operation, value: None }
            }
        ),
        prop_oneof![Just("f"), Just("g")].prop_map(|column| ColumnFilter {
            column: column.to_owned(),
            operation: Op::NotEquals,
            value: Some("NaN".to_owned())
        }),
    ]
}

/// Ordinals of deleted rows, mostly none.
fn deleted(rows: u64, most: u64) -> impl Strategy<Value = RangeSet> {
    let range = (0..rows, 1..=most).prop_map(|(from, len)| from..from + len);
    let some = proptest::collection::vec(range, 1..30).prop_map(RangeSet::new);
    prop_oneof![2 => Just(RangeSet::default()), 1 => some]
}

impl Fixture {
    /// The same table after these rows were deleted.
    fn without(self, deleted: &RangeSet) -> Self {
        let run = |run: &Run| run.clone().without(run.rows_with(deleted).unwrap());
        let runs = self.view.runs().iter().map(run).collect();
        let view = Arc::new(TableView::new(self.schema.clone(), runs));
        let is_left = |(ordinal, _): &(u64, Cells)| !deleted.contains(*ordinal);
        let rows = (0..).zip(self.rows).filter(is_left).map(|(_, row)| row).collect();
        Self { schema: self.schema, rows, view }
    }

    /// The rows that pass, in order; ties in append order.
    fn expected(&self, filters: &[ColumnFilter], order: &[OrderColumn]) -> Vec<Cells> {
        let mut rows: Vec<&Cells> = self
            .rows
            .iter()
            .filter(|row| filters.iter().all(|filter| passes(&self.schema, row, filter)))
            .collect();
        let by_index = [OrderColumn { column: 0, descending: false }];
        let order = if order.is_empty() { &by_index[..] } else { order };
        rows.sort_by(|a, b| {
            for term in order {
                let (a, b) = (
                    value(&self.schema, term.column, a[term.column].as_ref()),
                    value(&self.schema, term.column, b[term.column].as_ref()),
                );
                let ordering = match (a, b) {
                    (None, None) => Ordering::Equal,
                    (None, _) => Ordering::Greater,
                    (_, None) => Ordering::Less,
                    (Some(a), Some(b)) if term.descending => compare(&b, &a),
                    (Some(a), Some(b)) => compare(&a, &b),
                };
                if ordering.is_ne() {
                    return ordering;
                }
            }
            Ordering::Equal
        });
        rows.into_iter().cloned().collect()
    }

    fn query(&self, filters: &[ColumnFilter], order: &[OrderColumn]) -> RowQuery {
        RowQuery {
            columns: (0..self.schema.len()).collect(),
            predicates: Arc::new(Predicates::new(&self.schema, filters).unwrap()),
            order: order.to_vec(),
            take: None,
            memory_bytes: 1,
            ..RowQuery::default()
        }
    }

    /// The rows that decimation keeps according to `docs/reference/tables.md`.
    fn decimated(&self, filters: &[ColumnFilter], d: &Decimation) -> Vec<Cells> {
        let by_x = [OrderColumn { column: d.x, descending: false }];
        let mut rows = self.expected(filters, &by_x);
        rows.retain(|row| match value(&self.schema, d.x, row[d.x].as_ref()) {
            None => false,
            Some(Value::Float(value)) => !value.is_nan(),
            Some(_) => true,
        });
        let n = rows.len();
        if n == 0 {
            return rows;
        }
        let k = (d.intervals as usize).min(n);
        if d.method == DecimationMethod::Lossy {
            let at = |i: usize| if k == 1 { 0 } else { i * (n - 1) / (k - 1) };
            return (0..k).map(|i| rows[at(i)].clone()).collect();
        }
        let mut cuts: Vec<Range<usize>> = Vec::new();
        if d.distribution == DecimationDistribution::EqualFrequency {
            let mut from = 0;
            for i in 0..k {
                let len = n / k + usize::from(i < n % k);
                cuts.push(from..from + len);
                from += len;
            }
        } else {
            let x = |row: &Cells| value(&self.schema, d.x, row[d.x].as_ref()).unwrap();
            let span = |row: &Cells| match (x(row), x(&rows[0]), x(&rows[n - 1])) {
                (Value::Int(v), Value::Int(low), Value::Int(high)) if high > low => {
                    ((v - low) as u64 * d.intervals / (high - low) as u64).min(d.intervals - 1)
                }
                (Value::Float(v), Value::Float(low), Value::Float(high)) => {
                    let share = (v / 2.0 - low / 2.0) / (high / 2.0 - low / 2.0);
                    if share.is_finite() {
                        ((share * d.intervals as f64) as u64).min(d.intervals - 1)
                    } else {
                        0
                    }
                }
                _ => 0,
            };
            let mut from = 0;
            for at in 1..=n {
                if at == n || span(&rows[at]) != span(&rows[from]) {
                    cuts.push(from..at);
                    from = at;
                }
            }
        }
        let mut kept = Vec::new();
        for cut in cuts {
            let mut chosen = Vec::new();
            if d.method == DecimationMethod::EntryExit {
                chosen.extend([cut.start, cut.end - 1]);
            }
            for &y in &d.y {
                let mut best: Option<(usize, Value, usize, Value)> = None;
                for at in cut.clone() {
                    let Some(v) = value(&self.schema, y, rows[at][y].as_ref()) else { continue };
                    if matches!(v, Value::Float(v) if v.is_nan()) {
                        continue;
                    }
                    match &mut best {
                        None => best = Some((at, v.clone(), at, v)),
                        Some((min_at, min, max_at, max)) => {
                            if compare(&v, min).is_lt() {
                                (*min_at, *min) = (at, v.clone());
                            }
                            if compare(&v, max).is_gt() {
                                (*max_at, *max) = (at, v);
                            }
                        }
                    }
                }
                chosen.extend(best.iter().flat_map(|best| [best.0, best.2]));
            }
            chosen.sort_unstable();
            chosen.dedup();
            kept.extend(chosen.into_iter().map(|at| rows[at].clone()));
        }
        kept
    }
}

fn index_type() -> impl Strategy<Value = DataType> {
    prop_oneof![
        Just(DataType::Int32),
        Just(DataType::Int64),
        Just(DataType::Timestamp),
        Just(DataType::TimestampNanos)
    ]
}

/// Tables of a few appends with many equal index values.
fn small_table() -> impl Strategy<Value = (DataType, Vec<Vec<Cells>>, Vec<bool>)> {
    let full = prop_oneof![2 => Just(0.5), 1 => Just(0.001), 1 => Just(0.95), 1 => Just(0.999)];
    (index_type(), full).prop_flat_map(|(index, full)| {
        let appends =
            proptest::collection::vec(proptest::collection::vec(row(index, 9, full), 0..20), 0..6);
        (Just(index), appends, proptest::collection::vec(any::<bool>(), 1..6))
    })
}

fn order() -> impl Strategy<Value = Vec<OrderColumn>> {
    let term = (0usize..8, any::<bool>())
        .prop_map(|(column, descending)| OrderColumn { column, descending });
    proptest::collection::vec(term, 0..3)
}

fn all_rows(stream: impl Iterator<Item = crate::Result<RecordBatch>>) -> Vec<Cells> {
    stream.flat_map(|batch| batch_rows(&batch.unwrap())).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 192, ..ProptestConfig::default() })]

    #[test]
    fn scans_equal_the_model(
        (index, appends, sealed) in small_table(),
        filters in proptest::collection::vec(filter(), 0..3),
        order in order(),
        take in proptest::option::of(0u64..40),
        deleted in deleted(100, 9),
    ) {
        prop_assume!(!index.is_time() || filters.iter().all(|filter| filter.column != "i"));
        let fixture = fixture(index, &appends, &sealed).without(&deleted);
        let mut expected = fixture.expected(&filters, &order);
        let mut query = fixture.query(&filters, &order);
        prop_assert_eq!(
            count_rows(&fixture.view, &query.predicates, &Control::default()).unwrap(),
            expected.len() as u64
        );
        query.take = take;
        expected.truncate(take.map_or(usize::MAX, |take| take as usize));
        let stream = RowStream::new(fixture.view.clone(), query, Control::default()).unwrap();
        prop_assert_eq!(all_rows(stream), expected);
    }

    #[test]
    fn pages_equal_the_model(
        (index, appends, sealed) in small_table(),
        filters in proptest::collection::vec(filter(), 0..2),
        order in order(),
        take in 1u64..9,
        deleted in deleted(100, 9),
    ) {
        prop_assume!(!index.is_time() || filters.iter().all(|filter| filter.column != "i"));
        let fixture = fixture(index, &appends, &sealed).without(&deleted);
        let mut query = fixture.query(&filters, &order);
        query.take = Some(take);
        let mut walked = Vec::new();
        let mut after = None;
        loop {
            let page = read_page(&fixture.view, &query, after.as_ref(), &Control::default()).unwrap();
            prop_assert!(page.batch.num_rows() as u64 <= take);
            walked.extend(batch_rows(&page.batch));
            after = page.next_after;
            if after.is_none() {
                break;
            }
            prop_assert_eq!(page.batch.num_rows() as u64, take);
        }
        prop_assert_eq!(walked, fixture.expected(&filters, &order));
    }

    /// With so little memory that every unit is a run in a file, or with enough for all rows.
    #[test]
    fn sorts_by_way_of_files_equal_the_model(
        (index, appends, sealed) in small_table(),
        filters in proptest::collection::vec(filter(), 0..2),
        order in order(),
        take in proptest::option::of(0u64..40),
        memory_bytes in prop_oneof![Just(1usize), Just(1000), Just(20_000), Just(1 << 20)],
        columns in proptest::sample::subsequence((0usize..8).collect::<Vec<_>>(), 1..=8),
    ) {
        prop_assume!(!index.is_time() || filters.iter().all(|filter| filter.column != "i"));
        let fixture = fixture(index, &appends, &sealed);
        let disk: SharedDisk = Arc::new(MemoryDisk::default());
        let place = SpillPlace { disk: disk.clone(), dir: "tmp", numbers: Arc::default(), bytes_max: u64::MAX, reserve_bytes: 0 };
        let query = RowQuery {
            columns: columns.clone(), take, memory_bytes, spill: Some(place), ..fixture.query(&filters, &order)
        };
        let mut expected = fixture.expected(&filters, &order);
        expected.truncate(take.map_or(usize::MAX, |take| take as usize));
        let expected: Vec<Cells> =
            expected.into_iter().map(|row| columns.iter().map(|&column| row[column].clone()).collect()).collect();
        let stream = RowStream::new(fixture.view.clone(), query, Control::default()).unwrap();
        prop_assert_eq!(all_rows(stream), expected);
        // No file is left.
        let left = disk.list("tmp").map(|entries| entries.len()).unwrap_or_default();
        prop_assert_eq!(left, 0);
    }

    #[test]
    fn decimation_equals_the_model(
        (index, appends, sealed) in small_table(),
        filters in proptest::collection::vec(filter(), 0..2),
        x in prop_oneof![3 => Just(0usize), 1 => Just(1), 1 => Just(2), 1 => Just(3), 1 => Just(7)],
        y in proptest::collection::vec(prop_oneof![Just(0usize), Just(1), Just(2), Just(3), Just(4), Just(7)], 1..4),
        intervals in prop_oneof![1u64..12, Just(u64::from(u32::MAX / 2))],
        method in prop_oneof![
            Just(DecimationMethod::Lossy), Just(DecimationMethod::MaxMin), Just(DecimationMethod::EntryExit)],
        equal_width: bool,
        deleted in deleted(100, 9),
    ) {
        prop_assume!(!index.is_time() || filters.iter().all(|filter| filter.column != "i"));
        let fixture = fixture(index, &appends, &sealed).without(&deleted);
        let distribution =
            if equal_width { DecimationDistribution::EqualWidth } else { DecimationDistribution::EqualFrequency };
        let (budget, memory_bytes) = (Arc::default(), 1);
        let decimation = Decimation { x, y, intervals, method, distribution, memory_bytes, budget };
        let predicates = Arc::new(Predicates::new(&fixture.schema, &filters).unwrap());
        let columns: Vec<usize> = (0..fixture.schema.len()).collect();
        let kept = decimate(&fixture.view, &decimation, &predicates, &columns, &Control::default()).unwrap();
        prop_assert_eq!(batch_rows(&kept), fixture.decimated(&filters, &decimation));
    }

    #[test]
    fn damaged_buffers_are_found(rows in proptest::collection::vec(row(DataType::Int64, 9, 0.5), 1..9), at: usize, bit in 0u8..8) {
        let schema = TableSchema::with_default_limit(columns(DataType::Int64)).unwrap();
        let batch = frame_to_batch(&schema, &frame(&rows)).unwrap();
        let mut bytes = encode_batch(&schema, &batch).unwrap();
        let at = at % bytes.len();
        bytes[at] ^= 1 << bit;
        prop_assert!(decode_batch(&schema, &bytes).is_err());
    }
}

/// Rows whose values form a wave, so that blocks, pages and row groups of a segment differ.
fn wave(rows: Range<i64>, step: i64) -> Vec<Cells> {
    rows.map(|i| {
        let at = i * step;
        let y = (at as f64 / 700.0).sin() * 100.0 + ((at * 7919) % 13) as f64;
        vec![
            Some(at.to_string()),
            (at % 5 != 0).then(|| y.to_string()),
            Some(((at % 1000) as f32 * 0.5).to_string()),
            (at % 11 != 0).then(|| (at % 64).to_string()),
            Some((-at).to_string()),
            Some((at % 2 == 0).to_string()),
            Some(format!("SN-{:04}", at % 100)),
            None,
        ]
    })
    .collect()
}

#[test]
fn a_sort_leaves_the_disk_its_reserve() {
    let fixture =
        fixture(DataType::Int64, &[wave(0..3000, 1), wave(3000..6000, 1)], &[true, false]);
    let order = [OrderColumn { column: 1, descending: true }];
    let sort = |reserve_bytes: u64| {
        let disk = crate::disk::sim::SimDisk::new(1);
        disk.set_capacity(Some(10_000_000));
        let place = SpillPlace {
            disk: Arc::new(disk.clone()),
            dir: "tmp",
            numbers: Arc::default(),
            bytes_max: u64::MAX,
            reserve_bytes,
        };
        let query = RowQuery { spill: Some(place), ..fixture.query(&[], &order) };
        let mut stream = RowStream::new(fixture.view.clone(), query, Control::default()).unwrap();
        let first = stream.next().unwrap();
        (first.map(drop).map_err(|error| error.kind()), disk.changes())
    };
    assert!(sort(1_000_000).0.is_ok());
    // It asks before it writes anything.
    assert_eq!(sort(9_999_999), (Err(crate::ErrorKind::NoSpace), 0));
}

#[test]
fn a_sort_takes_just_the_bytes_that_it_may() {
    let fixture =
        fixture(DataType::Int64, &[wave(0..3000, 1), wave(3000..6000, 1)], &[true, false]);
    let order = [OrderColumn { column: 1, descending: true }];
    let sort = |bytes_max: u64| {
        let disk: SharedDisk = Arc::new(MemoryDisk::default());
        let place = SpillPlace {
            disk: disk.clone(),
            dir: "tmp",
            numbers: Arc::default(),
            bytes_max,
            reserve_bytes: 0,
        };
        let query = RowQuery { spill: Some(place), ..fixture.query(&[], &order) };
        let mut stream = RowStream::new(fixture.view.clone(), query, Control::default()).unwrap();
        // The sort is complete when its first rows are returned.
        let first = stream.next().unwrap();
        let files = disk.list("tmp").unwrap_or_default();
        let len = |name: &str| {
            disk.open(&format!("tmp/{name}"), crate::disk::Mode::Read).unwrap().len().unwrap()
        };
        let bytes: u64 = files.iter().map(|file| len(&file.name)).sum();
        (
            first
                .map(|first| all_rows(std::iter::once(Ok(first)).chain(stream)))
                .map_err(|error| error.kind()),
            bytes,
        )
    };
    let (rows, needed) = sort(u64::MAX);
    assert_eq!(rows.unwrap(), fixture.expected(&[], &order));
    assert!(needed > 100_000, "{needed}");
    assert_eq!(sort(needed).0.unwrap().len(), 6000);
    for less in [needed - 1, needed / 2, 0] {
        let (refused, left) = sort(less);
        assert_eq!(
            (refused, left),
            (Err(crate::ErrorKind::LimitExceeded), 0),
            "{less} of {needed}"
        );
    }
}

#[test]
fn large_segments_equal_the_model() {
    // Two disjoint segments and a buffered tail; then the same rows with an overlapping late
    // append.
    let disjoint = vec![wave(0..9000, 1), wave(9000..14_000, 1), wave(14_000..14_500, 1)];
    let overlapping = vec![wave(0..5000, 2), wave(100..3000, 3), wave(9000..9100, 1)];
    for appends in [disjoint, overlapping] {
        let fixture = fixture(DataType::Int64, &appends, &[true, true, false]);
        let filters = |list: &[(&str, FilterOperation, &str)]| -> Vec<ColumnFilter> {
            list.iter()
                .map(|(column, operation, value)| ColumnFilter {
                    column: (*column).to_owned(),
                    operation: *operation,
                    value: Some((*value).to_owned()),
                })
                .collect()
        };
        use FilterOperation as Op;
        for filters in [
            vec![],
            filters(&[("i", Op::GreaterThan, "3000"), ("i", Op::LessThanEquals, "9100")]),
            filters(&[("f", Op::GreaterThan, "50")]),
            filters(&[("s", Op::Equals, "SN-0042"), ("m", Op::LessThan, "-2000")]),
            filters(&[("n", Op::Equals, "7")]),
        ] {
            let query = fixture.query(&filters, &[]);
            let stream =
                RowStream::new(fixture.view.clone(), query.clone(), Control::default()).unwrap();
            assert_eq!(all_rows(stream), fixture.expected(&filters, &[]));
            let order = [
                OrderColumn { column: 1, descending: true },
                OrderColumn { column: 6, descending: false },
            ];
            let mut ordered = fixture.query(&filters, &order);
            ordered.take = Some(50);
            let page = read_page(&fixture.view, &ordered, None, &Control::default()).unwrap();
            let expected = fixture.expected(&filters, &order);
            assert_eq!(batch_rows(&page.batch), expected[..expected.len().min(50)]);
            for (method, intervals) in [
                (DecimationMethod::Lossy, 100),
                (DecimationMethod::MaxMin, 1),
                (DecimationMethod::MaxMin, 37),
                (DecimationMethod::MaxMin, 5000),
                (DecimationMethod::EntryExit, 10),
            ] {
                for distribution in
                    [DecimationDistribution::EqualFrequency, DecimationDistribution::EqualWidth]
                {
                    for x in [0, 4] {
                        let decimation = Decimation {
                            x,
                            y: vec![1, 2, 3],
                            intervals,
                            method,
                            distribution,
                            memory_bytes: 1 << 20,
                            budget: Arc::default(),
                        };
                        let columns: Vec<usize> = (0..fixture.schema.len()).collect();
                        let kept = decimate(
                            &fixture.view,
                            &decimation,
                            &query.predicates,
                            &columns,
                            &Control::default(),
                        )
                        .unwrap();
                        assert_eq!(
                            batch_rows(&kept),
                            fixture.decimated(&filters, &decimation),
                            "{decimation:?}"
                        );
                    }
                }
            }
        }
    }
}

#[test]
fn every_flipped_byte_of_a_segment_is_found() {
    let schema = Arc::new(TableSchema::with_default_limit(columns(DataType::Int64)).unwrap());
    let disk: SharedDisk = Arc::new(MemoryDisk::default());
    disk.create_dir_all("t").unwrap();
    let batch = frame_to_batch(&schema, &frame(&wave(0..1500, 1))).unwrap();
    let run = MemoryRun::new(&schema, &[batch], 0).unwrap();
    let meta = seal(&disk, &schema, 1, &run).meta().clone();
    let read = || -> crate::Result<()> {
        let segment = Segment::open(&disk, "t", meta.clone(), schema.clone())?;
        for column in 0..schema.len() {
            segment.summary(column)?;
            if segment.summary(column)?.is_some() && column != schema.index() {
                segment.read_extreme_rows(
                    column,
                    &[(0, false), (0, true), (1, false), (1, true)],
                    &mut Vec::new(),
                )?;
            }
        }
        let all: Vec<usize> = (0..schema.len()).collect();
        segment.read(&all, std::slice::from_ref(&(0..1500))).map(|_| ())
    };
    read().unwrap();
    for (name, len) in [(data_name(1), meta.data_bytes), (summary_name(1), meta.summary_bytes)] {
        let file = disk.open(&format!("t/{name}"), crate::disk::Mode::ReadWrite).unwrap();
        for at in (0..len).step_by(97).chain([len - 1, len - 4, len - 8]) {
            let mut byte = [0];
            file.read_exact_at(&mut byte, at).unwrap();
            file.write_all_at(&[byte[0] ^ 0x10], at).unwrap();
            let outcome = read();
            assert_eq!(
                outcome.map_err(|error| error.kind()),
                Err(crate::ErrorKind::Corrupt),
                "{name} at {at}"
            );
            file.write_all_at(&byte, at).unwrap();
        }
    }
    read().unwrap();
}

#[test]
fn hostile_streams_are_refused() {
    let schema = Arc::new(TableSchema::with_default_limit(columns(DataType::Int64)).unwrap());
    let batch = frame_to_batch(&schema, &frame(&wave(0..50, 1))).unwrap();
    let mut bytes = Vec::new();
    export_ipc(schema.arrow(), [Ok(batch.clone())].into_iter(), &mut bytes).unwrap();
    let mut seen = Vec::new();
    read_stream(&mut &bytes[..], |batch| {
        seen.push(coerce_batch(&schema, &batch, 0)?);
        Ok(())
    })
    .unwrap();
    assert_eq!(seen, [batch]);
}

#[test]
fn frames_are_refused_with_row_and_column() {
    let schema = TableSchema::with_default_limit(columns(DataType::Int64)).unwrap();
    let mut rows = wave(0..3, 1);
    rows[1][3] = Some("1.5".to_owned());
    let error = frame_to_batch(&schema, &frame(&rows)).unwrap_err();
    assert_eq!(error.place(), Some(&crate::Place::Cell { row: 1, column: "n".to_owned() }));
    rows[1][3] = None;
    rows[2][4] = None;
    let error = frame_to_batch(&schema, &frame(&rows)).unwrap_err();
    assert_eq!(error.place(), Some(&crate::Place::Cell { row: 2, column: "m".to_owned() }));
    rows[2].pop();
    assert!(frame_to_batch(&schema, &frame(&rows)).is_err());
    let named = |names: &[&str], data: Vec<Cells>| DataFrame {
        columns: Some(names.iter().map(|name| (*name).to_owned()).collect()),
        data,
    };
    let row = || vec![Some("1".to_owned()), Some("2".to_owned()), Some("3".to_owned())];
    assert!(frame_to_batch(&schema, &named(&["m", "i", "g"], vec![row()])).is_ok());
    assert!(frame_to_batch(&schema, &named(&["m", "i", "i"], vec![row()])).is_err());
    assert!(frame_to_batch(&schema, &named(&["m", "i", "x"], vec![row()])).is_err());
    assert!(frame_to_batch(&schema, &named(&["m", "i", "f"], vec![row()])).is_err());
}

#[test]
fn csv_follows_its_form() {
    let columns = vec![
        Column {
            name: "i,x".into(),
            data_type: DataType::Int64,
            column_type: ColumnType::Index,
            ..Column::default()
        },
        Column {
            name: "s".into(),
            data_type: DataType::String,
            column_type: ColumnType::Nullable,
            ..Column::default()
        },
    ];
    let schema = TableSchema::with_default_limit(columns).unwrap();
    let rows: Vec<Cells> = [Some("a\"b"), Some(""), None, Some("x\ny")]
        .into_iter()
        .map(|text| vec![Some("1".to_owned()), text.map(str::to_owned)])
        .collect();
    let batch = frame_to_batch(&schema, &frame(&rows)).unwrap();
    let mut out = Vec::new();
    export_csv(String::new(), schema.arrow(), [Ok(batch)].into_iter(), &mut out).unwrap();
    assert_eq!(
        String::from_utf8(out).unwrap(),
        "\"i,x\",s\n1,\"a\"\"b\"\n1,\"\"\n1,\n1,\"x\ny\"\n"
    );
}
