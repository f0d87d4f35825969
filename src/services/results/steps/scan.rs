//! The steps of many results, in order of result and creation.
//!
//! What must hold: each step that is there comes once, whether it lies in a chunk or in sealed rows;
//! and memory is bounded by the steps of one page of rows, and by the numbers of the steps of one
//! result.

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

use crate::arrow::array::{Array as _, AsArray as _, RecordBatch};
use crate::arrow::datatypes::Int64Type;
use crate::columnar::{Locator, MergedScan, Predicates, TableView, fetch_rows, index_rows};
use crate::error::{Error, Result};
use crate::filter::{Comparison, Constant, Shape};
use crate::model::steps::rows::{StepColumn, steps_of};
use crate::model::steps::stored::{StepChunk, StoredStep, index_of, result_key};
use crate::model::tables::store_table::STEPS;
use crate::session::View;
use crate::session::tables::{RowChunk, all_chunks, chunks, sealed};
use crate::value::{Control, RecordKey};

/// Sealed steps that are fetched together.
const TOGETHER: usize = 256;
/// Up to so many results are read one by one; more are read in one pass over all of them.
const ONE_BY_ONE: usize = 512;

/// The place of a step in the order of result and creation.
pub(in crate::services::results) type Position = (RecordKey, u64);

/// Whose steps are read.
#[derive(Debug)]
pub(in crate::services::results) enum Selection {
    /// Those of all results.
    All,
    /// Those of these results.
    Of(BTreeSet<RecordKey>),
}

impl Selection {
    fn contains(&self, result: RecordKey) -> bool {
        match self {
            Self::All => true,
            Self::Of(results) => results.contains(&result),
        }
    }
}

/// Calls `f` with the steps after `after`, in order, until it returns false.
///
/// Steps that `shapes`, tests of the columns of the table, exclude may be left out.
///
/// # Errors
/// Those of `f`; `Corrupt`, `Io`, `DeadlineExceeded` and `Cancelled`.
pub(in crate::services::results) fn each_step(
    view: &View<'_>,
    selection: &Selection,
    shapes: Vec<Shape>,
    after: Option<Position>,
    f: &mut dyn FnMut(RecordKey, StoredStep) -> Result<bool>,
) -> Result<()> {
    match selection {
        Selection::Of(results) if results.len() <= ONE_BY_ONE => {
            one_by_one(view, results, after, f)
        }
        _ => Pass::new(view, selection, shapes, after)?.run(f),
    }
}

fn one_by_one(
    view: &View<'_>,
    results: &BTreeSet<RecordKey>,
    after: Option<Position>,
    f: &mut dyn FnMut(RecordKey, StoredStep) -> Result<bool>,
) -> Result<()> {
    let sealed = sealed(view, &STEPS)?;
    let from = after.map(|(result, _)| result);
    for result in results.iter().copied().filter(|result| from.is_none_or(|from| *result >= from)) {
        view.context().check_deadline()?;
        let mut steps = Vec::new();
        for chunk in chunks(view, &STEPS, result)? {
            steps.extend(chunk.value::<StepChunk>()?.steps);
        }
        if let Some(sealed) = &sealed {
            for rows in index_rows(sealed, index_of(result), None)? {
                let found = steps_of(&rows.batch)?.into_iter();
                steps.extend(found.filter(|(of, _)| *of == result).map(|(_, step)| step));
            }
        }
        steps.sort_by_key(|step| step.seq);
        for step in steps {
            if after.is_some_and(|after| (result, step.seq) <= after) {
                continue;
            }
            if !f(result, step)? {
                return Ok(());
            }
        }
    }
    Ok(())
}

/// A step of a result, or where its sealed rows are.
enum Found {
    Step(Box<StoredStep>),
    Rows { first: Locator, row_count: u32 },
}

/// A pass over the steps of many results.
struct Pass<'v, 's> {
    selection: &'v Selection,
    after: Option<Position>,
    chunks: Box<dyn Iterator<Item = Result<(RecordKey, RowChunk)>> + 'v>,
    next_chunk: Option<(RecordKey, RowChunk)>,
    sealed: Option<SealedSteps>,
    view: &'v View<'s>,
}

/// The sealed steps that a scan finds, by the index values of their results.
struct SealedSteps {
    table: Arc<TableView>,
    scan: MergedScan,
    /// Rows that were read: result, number of the step, first row, number of rows.
    waiting: VecDeque<(RecordKey, u64, Locator, u32)>,
    is_done: bool,
    control: Control,
}

fn compare(column: StepColumn, comparison: Comparison, value: i64) -> Shape {
    Shape::Compare(column as usize, comparison, Constant::Int(value))
}

impl SealedSteps {
    fn new(
        table: Arc<TableView>,
        mut shapes: Vec<Shape>,
        from: Option<RecordKey>,
        control: &Control,
    ) -> Result<Self> {
        shapes.push(compare(StepColumn::Position, Comparison::Eq, 0));
        if let Some(from) = from {
            shapes.push(compare(StepColumn::Result, Comparison::Ge, index_of(from)));
        }
        let predicates = Predicates::default().with_filter(&table.schema, Shape::All(shapes))?;
        let columns =
            [StepColumn::Result, StepColumn::ResultRest, StepColumn::Seq, StepColumn::Rows];
        let columns = columns.map(|column| column as usize).to_vec();
        let (view, predicates) = (table.clone(), Arc::new(predicates));
        let scan =
            MergedScan::new(view, predicates, columns, None, control.clone())?.with_locators();
        Ok(Self { table, scan, waiting: VecDeque::new(), is_done: false, control: control.clone() })
    }

    /// Reads on until all steps of the next result are there.
    fn fill(&mut self) -> Result<()> {
        let is_whole = |waiting: &VecDeque<(RecordKey, u64, Locator, u32)>| {
            let (first, last) = (waiting.front(), waiting.back());
            first.zip(last).is_some_and(|(first, last)| index_of(first.0) != index_of(last.0))
        };
        while !self.is_done && !is_whole(&self.waiting) {
            let Some(chunk) = self.scan.next_chunk()? else {
                self.is_done = true;
                break;
            };
            let numbers = |at: usize| {
                let column = chunk.batch.columns().get(at);
                column.and_then(|column| column.as_primitive_opt::<Int64Type>()).ok_or_else(damaged)
            };
            let (index, rest, seq, rows) = (numbers(0)?, numbers(1)?, numbers(2)?, numbers(3)?);
            for (row, locator) in chunk.locators.iter().enumerate() {
                if rows.is_null(row) {
                    return Err(damaged());
                }
                let key = result_key(index.value(row), rest.value(row)).ok_or_else(damaged)?;
                let row_count = u32::try_from(rows.value(row)).map_err(|_| damaged())?;
                self.waiting.push_back((key, seq.value(row).cast_unsigned(), *locator, row_count));
            }
        }
        Ok(())
    }

    /// The result of the next step.
    fn next_result(&mut self) -> Result<Option<RecordKey>> {
        self.fill()?;
        // Results with one index value are told apart by the rest of their keys.
        let Some(first) = self.waiting.front() else { return Ok(None) };
        let index = index_of(first.0);
        let same = self.waiting.iter().take_while(|(key, ..)| index_of(*key) == index);
        Ok(same.map(|(key, ..)| *key).min())
    }

    /// Takes the steps of a result out.
    fn take(&mut self, result: RecordKey) -> Vec<(u64, Found)> {
        let index = index_of(result);
        let same = self.waiting.iter().take_while(|(key, ..)| index_of(*key) == index).count();
        let mut taken = Vec::new();
        let mut left = VecDeque::new();
        for (key, seq, first, row_count) in self.waiting.drain(..same) {
            if key == result {
                taken.push((seq, Found::Rows { first, row_count }));
            } else {
                left.push_back((key, seq, first, row_count));
            }
        }
        for step in left.into_iter().rev() {
            self.waiting.push_front(step);
        }
        taken
    }

    /// The steps at these rows, in this order.
    fn fetch(&self, rows: &[(Locator, u32)]) -> Result<Vec<StoredStep>> {
        let all = rows.iter().flat_map(|(first, row_count)| {
            (first.row..first.row.saturating_add(*row_count))
                .map(|row| Locator { run: first.run, row })
        });
        let locators: Vec<Locator> = all.collect();
        let columns: Vec<usize> = (0..self.table.schema.len()).collect();
        let batch: RecordBatch = fetch_rows(&self.table, &locators, &columns, &self.control)?;
        Ok(steps_of(&batch)?.into_iter().map(|(_, step)| step).collect())
    }
}

fn damaged() -> Error {
    Error::corrupt("the table of steps is damaged; restore the store from a backup")
}

impl<'v, 's> Pass<'v, 's> {
    fn new(
        view: &'v View<'s>,
        selection: &'v Selection,
        shapes: Vec<Shape>,
        after: Option<Position>,
    ) -> Result<Self> {
        let first = match selection {
            Selection::All => None,
            Selection::Of(results) => results.first().copied(),
        };
        let from = after.map(|(result, _)| result).max(first);
        let control = view.context().control(&Control::default());
        let sealed = sealed(view, &STEPS)?
            .map(|table| SealedSteps::new(table, shapes, from, &control))
            .transpose()?;
        let mut chunks = Box::new(all_chunks(view, &STEPS, from)?);
        let next_chunk = chunks.next().transpose()?;
        Ok(Self { selection, after, chunks, next_chunk, sealed, view })
    }

    fn run(mut self, f: &mut dyn FnMut(RecordKey, StoredStep) -> Result<bool>) -> Result<()> {
        let mut open: Vec<(RecordKey, u64, Found)> = Vec::new();
        loop {
            self.view.context().check_deadline()?;
            let in_chunks = self.next_chunk.as_ref().map(|(result, _)| *result);
            let in_rows = match &mut self.sealed {
                Some(sealed) => sealed.next_result()?,
                None => None,
            };
            let next = match (in_chunks, in_rows) {
                (Some(one), Some(other)) => Some(one.min(other)),
                (one, other) => one.or(other),
            };
            let Some(result) = next else { break };
            let mut steps = match &mut self.sealed {
                Some(sealed) if in_rows == Some(result) => sealed.take(result),
                _ => Vec::new(),
            };
            while let Some((_, chunk)) = self.next_chunk.take_if(|(of, _)| *of == result) {
                let found = chunk.value::<StepChunk>()?.steps.into_iter();
                steps.extend(found.map(|step| (step.seq, Found::Step(Box::new(step)))));
                self.next_chunk = self.chunks.next().transpose()?;
            }
            if !self.selection.contains(result) {
                continue;
            }
            steps.sort_by_key(|(seq, _)| *seq);
            let is_new = |seq: u64| self.after.is_none_or(|after| (result, seq) > after);
            for (seq, found) in steps.into_iter().filter(|(seq, _)| is_new(*seq)) {
                open.push((result, seq, found));
                if open.len() >= TOGETHER && !flush(self.sealed.as_ref(), &mut open, f)? {
                    return Ok(());
                }
            }
        }
        flush(self.sealed.as_ref(), &mut open, f).map(drop)
    }
}

/// Passes the steps on; those that are sealed are fetched together.
fn flush(
    sealed: Option<&SealedSteps>,
    open: &mut Vec<(RecordKey, u64, Found)>,
    f: &mut dyn FnMut(RecordKey, StoredStep) -> Result<bool>,
) -> Result<bool> {
    let rows: Vec<(Locator, u32)> = open
        .iter()
        .filter_map(|(_, _, found)| match found {
            Found::Rows { first, row_count } => Some((*first, *row_count)),
            Found::Step(_) => None,
        })
        .collect();
    let mut fetched = match sealed.filter(|_| !rows.is_empty()) {
        Some(sealed) => sealed.fetch(&rows)?.into_iter(),
        None => Vec::new().into_iter(),
    };
    for (result, seq, found) in open.drain(..) {
        let step = match found {
            Found::Step(step) => *step,
            Found::Rows { .. } => {
                fetched.next().filter(|step| step.seq == seq).ok_or_else(damaged)?
            }
        };
        if !f(result, step)? {
            return Ok(false);
        }
    }
    Ok(true)
}
