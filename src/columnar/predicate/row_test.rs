//! A filter of rows in the whole language, evaluated over many rows at once.
//!
//! Every test of one column gives a mask, and masks are joined bit by bit. There are two truth
//! values: null satisfies `!=` and `= null` only, NaN satisfies no comparison. What has no such
//! form is tested row by row, within the work that [`Work`] allows for one row.

use std::cmp::Ordering;
use std::sync::Arc;

use memchr::memmem::Finder;

use super::leaf::{Leaf, leaf};
use super::verdict::Verdict;
use crate::arrow::array::{Array, ArrayRef, StringArray};
use crate::arrow::buffer::{BooleanBuffer, NullBuffer};
use crate::columnar::column_slice::{CellValue, ColumnSlice, Level, nulls_of};
use crate::columnar::read::view::Run;
use crate::columnar::schema::TableSchema;
use crate::columnar::segment::{Block, Part, bits};
use crate::error::{Error, Result};
use crate::filter::{Comparison, How, Other, Shape};
use crate::model::tables::data::DataType;
use crate::value::{Control, Row, Val, Work};

/// The values of one column of a batch.
pub(in crate::columnar) struct Cells<'a> {
    column: usize,
    slice: ColumnSlice<'a>,
    is_time: bool,
    nulls: Option<&'a NullBuffer>,
}

impl<'a> Cells<'a> {
    /// The values of decoded rows of a column.
    pub(in crate::columnar) fn of_part(
        column: usize,
        data_type: DataType,
        part: &'a Part<'a>,
    ) -> Option<Self> {
        match part {
            Part::Array(array) => Self::of_array(column, data_type, array),
            Part::Numbers(slice) => Some(Self::new(column, data_type, *slice, None)),
        }
    }

    /// The values of an array of a column.
    pub(in crate::columnar) fn of_array(
        column: usize,
        data_type: DataType,
        array: &'a ArrayRef,
    ) -> Option<Self> {
        Some(Self::new(column, data_type, ColumnSlice::of(array)?, nulls_of(array)))
    }

    fn new(
        column: usize,
        data_type: DataType,
        slice: ColumnSlice<'a>,
        nulls: Option<&'a NullBuffer>,
    ) -> Self {
        Self { column, slice, is_time: data_type == DataType::Timestamp, nulls }
    }

    fn len(&self) -> usize {
        self.slice.len()
    }

    fn val(&self, at: usize) -> Val<'_> {
        let is_null = at >= self.len() || self.nulls.is_some_and(|nulls| nulls.is_null(at));
        match self.slice.value(at).filter(|_| !is_null) {
            None => Val::Null,
            Some(CellValue::Bool(value)) => Val::Bool(value),
            Some(CellValue::Number(Level::Int(value))) if self.is_time => Val::Time(value),
            Some(CellValue::Number(Level::Int(value))) => Val::Int(value),
            Some(CellValue::Number(Level::Float(value))) => Val::Double(value),
            Some(CellValue::Text(text)) => Val::from(text),
        }
    }

    /// Which cells pass the test of one column.
    fn passes(&self, leaf: &Leaf) -> BooleanBuffer {
        let len = self.len();
        let valid =
            || self.nulls.map_or_else(|| BooleanBuffer::new_set(len), |all| all.inner().clone());
        let mask = match (leaf, &self.slice) {
            (Leaf::IsNull, _) => return !&valid(),
            (Leaf::NotNan | Leaf::Fixed { passes: true, .. }, ColumnSlice::F32(values)) => {
                bits(values, |value| !value.is_nan())
            }
            (Leaf::NotNan | Leaf::Fixed { passes: true, .. }, ColumnSlice::F64(values)) => {
                bits(values, |value| !value.is_nan())
            }
            (Leaf::NotNan | Leaf::Fixed { passes: true, .. }, _) => BooleanBuffer::new_set(len),
            (Leaf::Int(how, value), ColumnSlice::I32(values)) => match i32::try_from(*value) {
                Ok(value) => compare_all(values, *how, value),
                Err(_) => bits(values, |other| how.holds(i64::from(*other).cmp(value))),
            },
            (Leaf::Int(how, value), ColumnSlice::I64(values)) => compare_all(values, *how, *value),
            (Leaf::Ints(set, _), ColumnSlice::I32(values)) => {
                bits(values, |value| set.binary_search(&i64::from(*value)).is_ok())
            }
            (Leaf::Ints(set, _), ColumnSlice::I64(values)) => match set.as_slice() {
                few if few.len() <= 4 => bits(values, |value| few.contains(value)),
                _ => bits(values, |value| set.binary_search(value).is_ok()),
            },
            // The value of a test of 32-bit numbers is one of them.
            (Leaf::Float(how, value), ColumnSlice::F32(values)) => {
                compare_all(values, *how, *value as f32)
            }
            (Leaf::Float(how, value), ColumnSlice::F64(values)) => {
                compare_all(values, *how, *value)
            }
            (Leaf::Floats(set, _), ColumnSlice::F32(values)) => {
                bits(values, |value| is_in(set, f64::from(*value)))
            }
            (Leaf::Floats(set, _), ColumnSlice::F64(values)) => {
                bits(values, |value| is_in(set, *value))
            }
            (Leaf::Bool(wanted, _), ColumnSlice::Bool(values)) => {
                if *wanted {
                    values.values().clone()
                } else {
                    !values.values()
                }
            }
            (Leaf::Order(Comparison::Eq, text), ColumnSlice::Text(values)) => {
                texts(values, |value| *value == **text)
            }
            (Leaf::Order(Comparison::Ne, text), ColumnSlice::Text(values)) => {
                texts(values, |value| *value != **text)
            }
            (Leaf::Order(how, text), ColumnSlice::Text(values)) => {
                texts(values, |value| how.holds(value.as_bytes().cmp(text.as_bytes())))
            }
            (Leaf::Texts(set, _), ColumnSlice::Text(values)) => {
                texts(values, |value| set.binary_search_by(|known| (**known).cmp(value)).is_ok())
            }
            (Leaf::Find(How::Starts, part), ColumnSlice::Text(values)) => {
                texts(values, |value| value.starts_with(&**part))
            }
            (Leaf::Find(How::Ends, part), ColumnSlice::Text(values)) => {
                texts(values, |value| value.ends_with(&**part))
            }
            (Leaf::Find(How::Contains, part), ColumnSlice::Text(values)) => {
                let finder = Finder::new(part.as_bytes());
                texts(values, |value| finder.find(value.as_bytes()).is_some())
            }
            // A test was made for the type of its column.
            _ => BooleanBuffer::new_unset(len),
        };
        match self.nulls {
            None => mask,
            Some(nulls) if leaf.null_passes() => &mask | &!nulls.inner(),
            Some(nulls) => &mask & nulls.inner(),
        }
    }
}

fn compare_all<N: Copy + PartialOrd>(values: &[N], how: Comparison, value: N) -> BooleanBuffer {
    // One loop for each comparison, so that the compiler vectorises each of them.
    match how {
        Comparison::Eq => bits(values, |other| *other == value),
        // NaN is not unequal.
        Comparison::Ne => bits(values, |other| (*other < value) | (*other > value)),
        Comparison::Lt => bits(values, |other| *other < value),
        Comparison::Le => bits(values, |other| *other <= value),
        Comparison::Gt => bits(values, |other| *other > value),
        Comparison::Ge => bits(values, |other| *other >= value),
    }
}

fn is_in(set: &[f64], value: f64) -> bool {
    set.get(set.partition_point(|known| *known < value)).is_some_and(|known| *known == value)
}

fn texts(values: &StringArray, test: impl Fn(&str) -> bool) -> BooleanBuffer {
    BooleanBuffer::collect_bool(values.len(), |at| test(values.value(at)))
}

#[derive(Clone, Debug)]
enum Node {
    Const(bool),
    All(Vec<Node>),
    Any(Vec<Node>),
    Not(Box<Node>),
    Leaf(usize, Leaf),
    Other(Arc<Other>),
}

/// A filter of rows, and the columns that it reads.
#[derive(Clone, Debug)]
pub(in crate::columnar) struct RowTest {
    node: Node,
    /// Positions and types, ascending by position.
    columns: Vec<(usize, DataType)>,
    /// Position of the index.
    index: usize,
}

impl RowTest {
    /// A test of the columns of this table.
    ///
    /// # Errors
    /// `Corrupt` when the shape was made for another table.
    pub(in crate::columnar) fn new(shape: Shape, schema: &TableSchema) -> Result<Self> {
        let node = node(shape, schema)?;
        let mut read = Vec::new();
        node.columns(&mut read);
        read.sort_unstable();
        read.dedup();
        let typed = |at: usize| Ok((at, schema.column(at)?.data_type));
        let columns = read.into_iter().map(typed).collect::<Result<_>>()?;
        Ok(Self { node, columns, index: schema.index() })
    }

    /// The columns that it reads, ascending.
    pub(in crate::columnar) fn columns(&self) -> Vec<usize> {
        self.columns.iter().map(|(at, _)| *at).collect()
    }

    /// The column that it reads and its type, if it reads exactly one.
    pub(in crate::columnar) fn only_column(&self) -> Option<(usize, DataType)> {
        match self.columns.as_slice() {
            [only] => Some(*only),
            _ => None,
        }
    }

    /// The test, if it is one comparison of a column, and whether it is negated.
    pub(in crate::columnar) fn as_leaf(&self) -> Option<(usize, &Leaf, bool)> {
        match &self.node {
            Node::Leaf(column, leaf) => Some((*column, leaf, false)),
            Node::Not(inner) => match &**inner {
                Node::Leaf(column, leaf) => Some((*column, leaf, true)),
                _ => None,
            },
            _ => None,
        }
    }

    /// The comparisons of which a row must pass one; `None` if it has another form.
    pub(super) fn alternatives(&self) -> Option<Vec<&Leaf>> {
        fn leaf(node: &Node) -> Option<&Leaf> {
            if let Node::Leaf(_, leaf) = node { Some(leaf) } else { None }
        }
        match &self.node {
            Node::Any(nodes) => nodes.iter().map(leaf).collect(),
            node => Some(vec![leaf(node)?]),
        }
    }

    /// Which values of its only column pass.
    ///
    /// # Errors
    /// `LimitExceeded` beyond the work on one row; the errors of `control`.
    pub(in crate::columnar) fn evaluate_part(
        &self,
        part: &Part<'_>,
        control: &Control,
    ) -> Result<BooleanBuffer> {
        let Some((column, data_type)) = self.columns.first() else {
            return Err(no_column());
        };
        let cells = Cells::of_part(*column, *data_type, part).ok_or_else(no_column)?;
        let len = cells.len();
        self.node.mask(&[cells], len, control)
    }

    /// Which rows of a batch with its columns, ascending by position, pass.
    ///
    /// # Errors
    /// As [`RowTest::evaluate_part`].
    pub(in crate::columnar) fn evaluate(
        &self,
        arrays: &[ArrayRef],
        len: usize,
        control: &Control,
    ) -> Result<BooleanBuffer> {
        let columns = self.columns.iter().zip(arrays);
        let cells: Option<Vec<Cells<'_>>> = columns
            .map(|((column, data_type), array)| Cells::of_array(*column, *data_type, array))
            .collect();
        self.node.mask(&cells.ok_or_else(no_column)?, len, control)
    }

    /// What the range of its index shows about all rows of a run. It is known without its files.
    pub(super) fn judge_run(&self, run: &Run) -> Verdict {
        let (min, max) = run.index_range();
        let (min, max) = (Level::Int(min), Level::Int(max));
        let block = Block { min, max, min_at: 0, max_at: 0, rows: 1, nulls: 0, nans: 0 };
        self.node.judge(&|column| (column == self.index).then_some(block))
    }

    /// What summaries show about blocks of a run, if the range of its index does not decide; `None`
    /// if it has none of these columns.
    pub(in crate::columnar) fn judge(
        &self,
        run: &Run,
        first: usize,
        count: usize,
    ) -> Result<Option<Vec<Verdict>>> {
        let whole = self.judge_run(run);
        if whole != Verdict::Some {
            return Ok(Some(vec![whole; count]));
        }
        let mut summaries = Vec::new();
        for (column, _) in &self.columns {
            if let Some(summary) = run.summary(*column)? {
                summaries.push((*column, summary));
            }
        }
        if summaries.is_empty() && !self.columns.is_empty() {
            return Ok(None);
        }
        let judged = (first..first + count).map(|block| {
            self.node.judge(&|column| {
                let (_, summary) = summaries.iter().find(|(known, _)| *known == column)?;
                summary.block(block)
            })
        });
        Ok(Some(judged.collect()))
    }
}

fn no_column() -> Error {
    Error::corrupt("internal error: a filter of rows reads no column; report it")
}

fn node(shape: Shape, schema: &TableSchema) -> Result<Node> {
    let each = |shapes: Vec<Shape>| {
        shapes.into_iter().map(|shape| node(shape, schema)).collect::<Result<Vec<_>>>()
    };
    Ok(match shape {
        Shape::Const(value) => Node::Const(value),
        Shape::All(shapes) => Node::All(each(shapes)?),
        Shape::Any(shapes) => Node::Any(each(shapes)?),
        Shape::Not(inner) => Node::Not(Box::new(node(*inner, schema)?)),
        Shape::Other(other) => Node::Other(Arc::new(other)),
        Shape::Compare(at, ..)
        | Shape::In(at, ..)
        | Shape::IsNull(at)
        | Shape::NotNan(at)
        | Shape::Text(at, ..) => Node::Leaf(at, leaf(&shape, schema.column(at)?.data_type)?),
    })
}

/// A row of a batch for tests that are evaluated row by row.
struct BatchRow<'a> {
    cells: &'a [Cells<'a>],
    at: usize,
}

impl std::fmt::Debug for BatchRow<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("BatchRow").field("at", &self.at).finish_non_exhaustive()
    }
}

impl Row for BatchRow<'_> {
    fn val(&self, index: usize) -> Val<'_> {
        self.cells
            .iter()
            .find(|cells| cells.column == index)
            .map_or(Val::Null, |cells| cells.val(self.at))
    }
}

impl Node {
    fn columns(&self, out: &mut Vec<usize>) {
        match self {
            Self::Const(_) => {}
            Self::All(nodes) | Self::Any(nodes) => nodes.iter().for_each(|node| node.columns(out)),
            Self::Not(node) => node.columns(out),
            Self::Leaf(column, _) => out.push(*column),
            Self::Other(other) => out.extend_from_slice(&other.fields),
        }
    }

    fn mask(&self, cells: &[Cells<'_>], len: usize, control: &Control) -> Result<BooleanBuffer> {
        let join = |nodes: &[Self], is_all: bool| {
            let mut joined: Option<BooleanBuffer> = None;
            for node in nodes {
                // There may be thousands of tests, on long texts.
                control.check()?;
                let mask = node.mask(cells, len, control)?;
                joined = Some(match joined {
                    None => mask,
                    Some(known) if is_all => &known & &mask,
                    Some(known) => &known | &mask,
                });
            }
            Ok(joined.unwrap_or_else(|| constant(is_all, len)))
        };
        match self {
            Self::Const(value) => Ok(constant(*value, len)),
            Self::All(nodes) => join(nodes, true),
            Self::Any(nodes) => join(nodes, false),
            Self::Not(node) => Ok(!&node.mask(cells, len, control)?),
            Self::Leaf(column, leaf) => cells
                .iter()
                .find(|cells| cells.column == *column)
                .map(|cells| cells.passes(leaf))
                .ok_or_else(no_column),
            Self::Other(other) => {
                let check = || control.check();
                let mut passes = Vec::with_capacity(len);
                for at in 0..len {
                    if at % 1024 == 0 {
                        control.check()?;
                    }
                    let work = Work::new(&check);
                    let row = BatchRow { cells, at };
                    let holds = other.holds(&row, &work);
                    work.finish().map_err(|error| error.at_member("filter"))?;
                    passes.push(holds);
                }
                Ok(BooleanBuffer::from(passes))
            }
        }
    }

    /// What is known about rows whose columns have these summaries.
    fn judge(&self, known: &dyn Fn(usize) -> Option<Block<Level>>) -> Verdict {
        let each = |nodes: &[Self]| nodes.iter().map(|node| node.judge(known)).collect::<Vec<_>>();
        match self {
            Self::Const(true) => Verdict::All,
            Self::Const(false) => Verdict::None,
            Self::All(nodes) => each(nodes).into_iter().min().unwrap_or(Verdict::All),
            Self::Any(nodes) => each(nodes).into_iter().max().unwrap_or(Verdict::None),
            Self::Not(node) => match node.judge(known) {
                Verdict::None => Verdict::All,
                Verdict::Some => Verdict::Some,
                Verdict::All => Verdict::None,
            },
            Self::Leaf(column, leaf) => {
                known(*column).map_or(Verdict::Some, |block| leaf.judge(&block))
            }
            Self::Other(_) => Verdict::Some,
        }
    }
}

fn constant(value: bool, len: usize) -> BooleanBuffer {
    if value { BooleanBuffer::new_set(len) } else { BooleanBuffer::new_unset(len) }
}

impl Comparison {
    /// Whether it holds for two values in this order.
    fn holds(self, order: Ordering) -> bool {
        match self {
            Self::Eq => order.is_eq(),
            Self::Ne => order.is_ne(),
            Self::Lt => order.is_lt(),
            Self::Le => order.is_le(),
            Self::Gt => order.is_gt(),
            Self::Ge => order.is_ge(),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::filter::Constant;

    const ALL: [Comparison; 6] = [
        Comparison::Eq,
        Comparison::Ne,
        Comparison::Lt,
        Comparison::Le,
        Comparison::Gt,
        Comparison::Ge,
    ];

    fn passing(
        how: Comparison,
        value: Constant,
        data_type: DataType,
        part: &Part<'_>,
    ) -> Vec<bool> {
        let leaf = leaf(&Shape::Compare(0, how, value), data_type).unwrap();
        Cells::of_part(0, data_type, part).unwrap().passes(&leaf).iter().collect()
    }

    proptest! {
        #[test]
        fn a_wider_value_compares_as_itself(
            value in prop_oneof![any::<f64>(), -2.0..2.0f64, Just(f64::MAX), Just(f64::INFINITY)],
            int in prop_oneof![any::<i64>(), (1i64 << 53)..(1i64 << 53) + 9],
            bits: u32,
        ) {
            let around = |near: f32| [near.next_down(), near, near.next_up()];
            let mut cells = vec![f32::NAN, -0.0, 0.0, f32::MAX, f32::NEG_INFINITY, f32::from_bits(bits)];
            cells.extend(around(value as f32).into_iter().chain(around(int as f32)));
            for how in ALL {
                let expected = |order: &dyn Fn(f64) -> Option<Ordering>| -> Vec<bool> {
                    let holds = |cell: &f32| order(f64::from(*cell)).is_some_and(|o| how.holds(o));
                    cells.iter().map(holds).collect()
                };
                let found = |value| passing(how, value, DataType::Float32, &Part::Numbers(ColumnSlice::F32(&cells)));
                prop_assert_eq!(
                    found(Constant::Double(value)),
                    expected(&|cell| cell.partial_cmp(&value))
                );
                // Each 32-bit number of this size is exact as a 128-bit integer or has a fraction.
                let with_int = |cell: f64| match cell {
                    cell if cell.is_nan() => None,
                    cell if cell.abs() < 9e18 => {
                        let whole = cell.floor();
                        let order = (whole as i128).cmp(&i128::from(int));
                        Some(order.then(if cell > whole { Ordering::Greater } else { order }))
                    }
                    cell => cell.partial_cmp(&(int as f64)),
                };
                if int.unsigned_abs() < 9_000_000_000_000_000_000 {
                    prop_assert_eq!(found(Constant::Int(int)), expected(&with_int));
                }
            }
        }
    }
}
