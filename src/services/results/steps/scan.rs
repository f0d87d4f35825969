//! The steps of many results, in order of result and creation.
//!
//! What must hold: each step that is there comes once, whether it lies in a chunk or in sealed
//! rows; and memory is bounded by the steps of one page of rows, and by the numbers of the steps of
//! one result.

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

use super::arrays::{Arrays, damaged, text};
use super::chunk_test::ChunkTest;
use super::save::CHUNK_STEPS;
use super::set::severity;
use crate::arrow::array::{Array as _, RecordBatch};
use crate::columnar::{Locator, MergedScan, Predicates, TableView, fetch_rows, index_rows};
use crate::error::Result;
use crate::filter::{Comparison, Constant, Shape};
use crate::model::steps::links::{links, links_of};
use crate::model::steps::remains::RemainingSteps;
use crate::model::steps::rows::{StepColumn, steps_of};
use crate::model::steps::stored::{StoredStep, index_of, rest_of, result_key};
use crate::model::tables::store_table::STEPS;
use crate::model::{TestResult, places};
use crate::session::View;
use crate::session::tables::{RowChunk, all_chunks, chunks, sealed};
use crate::value::{Control, RecordKey, Stored as _};

/// Sealed steps that are fetched together.
const TOGETHER: usize = 256;
/// Up to so many results are read one by one; more are read in one pass over all of them.
const ONE_BY_ONE: usize = 512;

/// All steps of a result with at most so many are read at once; of one with more, a page after
/// another.
const AT_ONCE: u64 = 2_048;

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
    pub(super) fn contains(&self, result: RecordKey) -> bool {
        match self {
            Self::All => true,
            Self::Of(results) => results.contains(&result),
        }
    }

    /// The results, if their steps are read one result after the other.
    pub(super) fn one_by_one(&self) -> Option<&BTreeSet<RecordKey>> {
        match self {
            Self::Of(results) if results.len() <= ONE_BY_ONE => Some(results),
            _ => None,
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
    control: &Control,
    f: &mut dyn FnMut(RecordKey, StoredStep) -> Result<bool>,
) -> Result<()> {
    match selection.one_by_one() {
        Some(results) => one_by_one(view, results, shapes, after, control, f),
        None => Pass::new(view, selection, shapes, after, Reads::Places, control)?.run(f).map(drop),
    }
}

fn one_by_one(
    view: &View<'_>,
    results: &BTreeSet<RecordKey>,
    shapes: Vec<Shape>,
    after: Option<Position>,
    control: &Control,
    f: &mut dyn FnMut(RecordKey, StoredStep) -> Result<bool>,
) -> Result<()> {
    let sealed = sealed(view, &STEPS)?;
    let test = ChunkTest::new(&shapes);
    let from = after.map(|(result, _)| result);
    for result in results.iter().copied().filter(|result| from.is_none_or(|from| *result >= from)) {
        control.check()?;
        if steps_created(view, result)? > AT_ONCE {
            let selection = Selection::Of(BTreeSet::from([result]));
            let shapes = shapes.clone();
            let pass = Pass::new(view, &selection, shapes, after, Reads::Places, control)?;
            if !pass.run(f)? {
                return Ok(());
            }
            continue;
        }
        let mut steps = Vec::new();
        for chunk in chunks(view, &STEPS, result)? {
            steps.extend(test.steps(&chunk)?);
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

/// How many steps a result has got; none if there is neither the result nor what is left of it.
fn steps_created(view: &View<'_>, result: RecordKey) -> Result<u64> {
    let wanted = places(TestResult::members(), &mut std::iter::once(Some("stepsCreated")));
    if let Some(result) = view.part_by_key::<TestResult>(result, wanted)? {
        return Ok(result.steps_created);
    }
    let remains = view.any_by_key::<RemainingSteps>(result)?;
    Ok(remains.map_or(0, |remains| remains.steps_created))
}

/// A step of a result, or where its sealed rows are.
pub(super) enum Found {
    Step(Box<StoredStep>),
    Rows {
        first: Locator,
        row_count: u32,
        rank: Option<u8>,
        /// The sort key of the step, if the pass has an order.
        sort: Vec<u8>,
        /// The row in the batch that was read, if the pass reads members.
        seen: Option<(Arc<RecordBatch>, usize)>,
    },
}

/// A step that was found: its result, its number, and the rest.
pub(super) type FoundStep = (RecordKey, u64, Found);

/// An order of steps that one column tells.
pub(super) struct ColumnOrder<'o> {
    /// The column; none if the key of the result and the number of the step tell the order.
    pub(super) column: Option<StepColumn>,
    /// The sort key of a step, of which only this member and the number are there.
    pub(super) sort_key: &'o dyn Fn(RecordKey, &StoredStep) -> Vec<u8>,
}

/// Calls `f` as [`each_step`] does. Steps in sealed rows have only their number and the members in
/// these columns.
///
/// # Errors
/// As [`each_step`].
pub(in crate::services::results) fn each_part(
    view: &View<'_>,
    selection: &Selection,
    shapes: Vec<Shape>,
    columns: &[StepColumn],
    control: &Control,
    f: &mut dyn FnMut(RecordKey, &StoredStep) -> Result<bool>,
) -> Result<()> {
    if selection.one_by_one().is_some() {
        return each_step(view, selection, shapes, None, control, &mut |result, step| {
            f(result, &step)
        });
    }
    let mut pass = Pass::new(view, selection, shapes, None, Reads::Members(columns), control)?;
    let read: Vec<StepColumn> = FOUND_BY.iter().chain(columns).copied().collect();
    let mut part = StoredStep::default();
    while let Some((result, seq, found)) = pass.next()? {
        let goes_on = match found {
            Found::Step(step) => f(result, &step)?,
            Found::Rows { seen, .. } => {
                let (batch, row) = seen.ok_or_else(damaged)?;
                let arrays = Arrays::new(batch.columns(), &read);
                part.seq = seq;
                columns
                    .iter()
                    .try_for_each(|column| arrays.read_member(*column, row, &mut part))?;
                f(result, &part)?
            }
        };
        if !goes_on {
            break;
        }
    }
    Ok(())
}

/// What a pass reads of sealed steps in addition to their places.
#[derive(Clone, Copy)]
enum Reads<'r> {
    Places,
    Order(&'r ColumnOrder<'r>),
    Members(&'r [StepColumn]),
}

/// Calls `f` with the steps of a selection, in order of result and creation. Of those in sealed
/// rows it reads what the order needs. Returns what reads the rest of them.
///
/// # Errors
/// As [`each_step`].
pub(super) fn each_found(
    view: &View<'_>,
    selection: &Selection,
    shapes: Vec<Shape>,
    order: &ColumnOrder<'_>,
    control: &Control,
    f: &mut dyn FnMut(FoundStep) -> Result<()>,
) -> Result<FoundSteps> {
    let mut pass = Pass::new(view, selection, shapes, None, Reads::Order(order), control)?;
    while let Some(step) = pass.next()? {
        f(step)?;
    }
    Ok(FoundSteps(pass.sealed.map(|sealed| (sealed.table, sealed.control))))
}

/// Reads the steps that a pass found, in the state that it read.
#[derive(Default)]
pub(super) struct FoundSteps(Option<(Arc<TableView>, Control)>);

impl FoundSteps {
    /// The steps, in this order.
    ///
    /// # Errors
    /// `Corrupt`, `Io`, and those of the control.
    pub(super) fn read(&self, found: Vec<FoundStep>) -> Result<Vec<(RecordKey, StoredStep)>> {
        let sealed = self.0.as_ref().map(|(table, control)| (&**table, control));
        let mut steps = Vec::with_capacity(found.len());
        let mut open = Vec::new();
        let mut found = found.into_iter().peekable();
        while let Some(step) = found.next() {
            open.push(step);
            if open.len() >= TOGETHER || found.peek().is_none() {
                flush(sealed, &mut open, &mut |result, step| {
                    steps.push((result, step));
                    Ok(true)
                })?;
            }
        }
        Ok(steps)
    }
}

/// What a pass over columns says of the steps of a result.
#[derive(Debug, Default)]
pub(super) struct Tally {
    /// The number of each step, and its type of status by the position in
    /// [`STATUS_TYPES`](super::set::STATUS_TYPES).
    pub(super) steps: Vec<(u64, Option<usize>)>,
    /// The links of the steps.
    pub(super) links: Vec<u64>,
}

/// Calls `f` with each result that has steps, in order.
///
/// # Errors
/// As [`each_step`].
pub(super) fn each_tally(
    view: &View<'_>,
    control: &Control,
    f: &mut dyn FnMut(RecordKey, Tally) -> Result<()>,
) -> Result<()> {
    let named = [StepColumn::StepId, StepColumn::ParentId];
    let reads = Reads::Members(&named);
    let read: Vec<StepColumn> = FOUND_BY.iter().chain(&named).copied().collect();
    let mut pass = Pass::new(view, &Selection::All, Vec::new(), None, reads, control)?;
    let mut open: Option<(RecordKey, Tally)> = None;
    while let Some((result, seq, found)) = pass.next()? {
        if open.as_ref().is_none_or(|(of, _)| *of != result)
            && let Some((of, tally)) = open.replace((result, Tally::default()))
        {
            f(of, tally)?;
        }
        let Some((_, tally)) = &mut open else { continue };
        let rank = match found {
            Found::Step(step) => {
                tally.links.extend(links_of(&step));
                step.status_type.as_deref().and_then(severity)
            }
            Found::Rows { rank, seen, .. } => {
                let (batch, row) = seen.ok_or_else(damaged)?;
                let arrays = Arrays::new(batch.columns(), &read);
                let id = text(arrays.texts(StepColumn::StepId)?, row);
                let parent = text(arrays.texts(StepColumn::ParentId)?, row);
                tally.links.extend(links(seq, id, parent));
                rank.map(usize::from)
            }
        };
        tally.steps.push((seq, rank));
    }
    open.map_or(Ok(()), |(of, tally)| f(of, tally))
}

/// A pass over the steps of many results.
struct Pass<'v> {
    selection: &'v Selection,
    after: Option<Position>,
    /// The last result that is selected, if that is known.
    last: Option<RecordKey>,
    /// What steps of chunks have to pass.
    test: ChunkTest,
    /// The chunks that were not looked at, one that was but begins too late, and the steps of the
    /// open one.
    chunks: Box<dyn Iterator<Item = Result<(RecordKey, RowChunk)>> + 'v>,
    closed: Option<(RecordKey, RowChunk)>,
    open: VecDeque<(RecordKey, StoredStep)>,
    is_done: bool,
    sealed: Option<SealedSteps<'v>>,
    control: &'v Control,
}

/// The sealed steps that a scan finds, by the index values of their results.
struct SealedSteps<'o> {
    table: Arc<TableView>,
    scan: MergedScan,
    columns: Vec<StepColumn>,
    reads: Reads<'o>,
    /// Steps that were read: result, number of the step, its rows.
    waiting: VecDeque<FoundStep>,
    /// How many of them are in order: all with the first index value, or none.
    in_order: usize,
    is_done: bool,
    control: Control,
}

pub(super) fn compare(column: StepColumn, comparison: Comparison, value: i64) -> Shape {
    Shape::Compare(column as usize, comparison, Constant::Int(value))
}

/// The columns that tell whose a sealed step is, and where.
const FOUND_BY: [StepColumn; 5] = [
    StepColumn::Result,
    StepColumn::ResultRest,
    StepColumn::Seq,
    StepColumn::Rows,
    StepColumn::StatusType,
];

impl<'o> SealedSteps<'o> {
    fn new(
        table: Arc<TableView>,
        mut shapes: Vec<Shape>,
        reads: Reads<'o>,
        control: &Control,
    ) -> Result<Self> {
        shapes.push(compare(StepColumn::Position, Comparison::Eq, 0));
        let predicates = Predicates::default().with_filter(&table.schema, Shape::All(shapes))?;
        let mut columns = FOUND_BY.to_vec();
        match reads {
            Reads::Places => {}
            Reads::Order(order) => columns.extend(order.column),
            Reads::Members(wanted) => columns.extend(wanted),
        }
        let places = columns.iter().map(|column| *column as usize).collect();
        let (view, predicates) = (table.clone(), Arc::new(predicates));
        let mut scan =
            MergedScan::new(view, predicates, places, None, control.clone())?.with_locators();
        if !matches!(reads, Reads::Places) {
            // All rows are wanted.
            scan = scan.expecting(usize::MAX);
        }
        Ok(Self {
            table,
            scan,
            columns,
            reads,
            waiting: VecDeque::new(),
            in_order: 0,
            is_done: false,
            control: control.clone(),
        })
    }

    /// Reads on until all steps of the next result are there.
    fn fill(&mut self) -> Result<()> {
        let is_whole = |waiting: &VecDeque<FoundStep>| {
            let (first, last) = (waiting.front(), waiting.back());
            first.zip(last).is_some_and(|(first, last)| index_of(first.0) != index_of(last.0))
        };
        while !self.is_done && !is_whole(&self.waiting) {
            let Some(chunk) = self.scan.next_chunk()? else {
                self.is_done = true;
                break;
            };
            let arrays = Arrays::new(chunk.batch.columns(), &self.columns);
            let (index, rest) =
                (arrays.ints(StepColumn::Result)?, arrays.ints(StepColumn::ResultRest)?);
            let (seq, rows) = (arrays.ints(StepColumn::Seq)?, arrays.ints(StepColumn::Rows)?);
            let statuses = arrays.texts(StepColumn::StatusType)?;
            let mut part = StoredStep::default();
            let batch = match self.reads {
                Reads::Members(_) => Some(Arc::new(chunk.batch.clone())),
                Reads::Places | Reads::Order(_) => None,
            };
            for (row, locator) in chunk.locators.iter().enumerate() {
                if rows.is_null(row) {
                    return Err(damaged());
                }
                let key = result_key(index.value(row), rest.value(row)).ok_or_else(damaged)?;
                let row_count = u32::try_from(rows.value(row)).map_err(|_| damaged())?;
                let rank =
                    text(statuses, row).and_then(severity).and_then(|rank| u8::try_from(rank).ok());
                let seq = seq.value(row).cast_unsigned();
                let mut sort = Vec::new();
                if let Reads::Order(order) = self.reads {
                    part.seq = seq;
                    if let Some(column) = order.column {
                        arrays.read_member(column, row, &mut part)?;
                    }
                    sort = (order.sort_key)(key, &part);
                }
                let seen = batch.clone().map(|batch| (batch, row));
                self.waiting.push_back((
                    key,
                    seq,
                    Found::Rows { first: *locator, row_count, rank, sort, seen },
                ));
            }
        }
        Ok(())
    }

    /// The place of the next step.
    fn peek(&mut self) -> Result<Option<Position>> {
        if self.in_order == 0 {
            self.fill()?;
            // Results with one index value are told apart by the rest of their keys, and a step
            // that was changed was appended after those with greater numbers.
            let index = self.waiting.front().map(|(result, ..)| index_of(*result));
            let is_first = |(result, ..): &&FoundStep| Some(index_of(*result)) == index;
            self.in_order = self.waiting.iter().take_while(is_first).count();
            let steps = self.waiting.make_contiguous();
            if let Some(first) = steps.get_mut(..self.in_order) {
                first.sort_by_key(|(result, seq, _)| (*result, *seq));
            }
        }
        Ok(self.waiting.front().map(|(result, seq, _)| (*result, *seq)))
    }

    fn pop(&mut self) -> Option<FoundStep> {
        self.in_order = self.in_order.saturating_sub(1);
        self.waiting.pop_front()
    }
}

/// The steps at these rows, in this order.
fn fetch(table: &TableView, rows: &[(Locator, u32)], control: &Control) -> Result<Vec<StoredStep>> {
    let all = rows.iter().flat_map(|(first, row_count)| {
        (first.row..first.row.saturating_add(*row_count)).map(|row| Locator { run: first.run, row })
    });
    let locators: Vec<Locator> = all.collect();
    let columns: Vec<usize> = (0..table.schema.len()).collect();
    let batch: RecordBatch = fetch_rows(table, &locators, &columns, control)?;
    Ok(steps_of(&batch)?.into_iter().map(|(_, step)| step).collect())
}

impl<'v> Pass<'v> {
    fn new(
        view: &'v View<'_>,
        selection: &'v Selection,
        mut shapes: Vec<Shape>,
        after: Option<Position>,
        reads: Reads<'v>,
        control: &'v Control,
    ) -> Result<Self> {
        let test = ChunkTest::new(&shapes);
        let (first, last) = match selection {
            Selection::All => (None, None),
            Selection::Of(results) => (results.first().copied(), results.last().copied()),
        };
        let from = after.map(|(result, _)| result).max(first);
        if let Some(from) = from {
            shapes.push(compare(StepColumn::Result, Comparison::Ge, index_of(from)));
        }
        if let Some(last) = last {
            shapes.push(compare(StepColumn::Result, Comparison::Le, index_of(last)));
        }
        // The numbers of a chunk follow each other, so none before this one is in a chunk with it.
        let mut from_first = 0;
        if let Some((result, seq)) = after.filter(|(result, _)| from == Some(*result)) {
            from_first = seq.saturating_sub(CHUNK_STEPS as u64);
            if from == last {
                let seq = seq.cast_signed();
                shapes.push(Shape::Any(vec![
                    compare(StepColumn::Seq, Comparison::Gt, seq),
                    // Another result with the same index value.
                    Shape::Not(Box::new(compare(
                        StepColumn::ResultRest,
                        Comparison::Eq,
                        rest_of(result),
                    ))),
                ]));
            }
        }
        let sealed = sealed(view, &STEPS)?
            .map(|table| SealedSteps::new(table, shapes, reads, control))
            .transpose()?;
        let chunks = Box::new(all_chunks(view, &STEPS, from.map(|from| (from, from_first)))?);
        let (open, is_done) = (VecDeque::new(), false);
        Ok(Self {
            selection,
            after,
            last,
            test,
            chunks,
            closed: None,
            open,
            is_done,
            sealed,
            control,
        })
    }

    /// Opens the next chunk with steps to read, unless it begins after this place.
    fn open_chunk(&mut self, upto: Option<Position>) -> Result<()> {
        while self.open.is_empty() && !self.is_done {
            self.control.check()?;
            let next = match self.closed.take() {
                Some(closed) => Some(closed),
                None => self.chunks.next().transpose()?,
            };
            let Some((result, chunk)) = next else {
                self.is_done = true;
                break;
            };
            if upto.is_some_and(|upto| (result, chunk.first) > upto) {
                self.closed = Some((result, chunk));
                break;
            }
            self.is_done = self.last.is_some_and(|last| result > last);
            // Chunks of other results are not decoded.
            if !self.is_done && self.selection.contains(result) {
                let steps = self.test.steps(&chunk)?.into_iter();
                let after = self.after;
                let is_new =
                    |step: &StoredStep| after.is_none_or(|after| (result, step.seq) > after);
                self.open.extend(steps.filter(is_new).map(|step| (result, step)));
            }
        }
        Ok(())
    }

    /// The next step.
    fn next(&mut self) -> Result<Option<FoundStep>> {
        loop {
            let in_rows = match &mut self.sealed {
                Some(sealed) => sealed.peek()?,
                None => None,
            };
            self.open_chunk(in_rows)?;
            let in_chunk = self.open.front().map(|(result, step)| (*result, step.seq));
            let Some(sealed) = &mut self.sealed else { return Ok(self.pop()) };
            if in_rows.is_none_or(|rows| in_chunk.is_some_and(|chunk| chunk <= rows)) {
                return Ok(self.pop());
            }
            let Some((result, seq, found)) = sealed.pop() else { return Ok(None) };
            if self.selection.contains(result)
                && self.after.is_none_or(|after| (result, seq) > after)
            {
                return Ok(Some((result, seq, found)));
            }
        }
    }

    /// The sealed rows.
    fn rows(&self) -> Option<(&TableView, &Control)> {
        self.sealed.as_ref().map(|sealed| (&*sealed.table, &sealed.control))
    }

    /// Takes the next step of the open chunk.
    fn pop(&mut self) -> Option<FoundStep> {
        let (result, step) = self.open.pop_front()?;
        Some((result, step.seq, Found::Step(Box::new(step))))
    }

    /// Calls `f` with each step, until it returns false, which it then does too.
    fn run(mut self, f: &mut dyn FnMut(RecordKey, StoredStep) -> Result<bool>) -> Result<bool> {
        let mut open: Vec<FoundStep> = Vec::new();
        while let Some(step) = self.next()? {
            open.push(step);
            if open.len() >= TOGETHER && !flush(self.rows(), &mut open, f)? {
                return Ok(false);
            }
        }
        flush(self.rows(), &mut open, f)
    }
}

/// Passes the steps on; those that are sealed are fetched together.
fn flush(
    sealed: Option<(&TableView, &Control)>,
    open: &mut Vec<FoundStep>,
    f: &mut dyn FnMut(RecordKey, StoredStep) -> Result<bool>,
) -> Result<bool> {
    let rows: Vec<(Locator, u32)> = open
        .iter()
        .filter_map(|(_, _, found)| match found {
            Found::Rows { first, row_count, .. } => Some((*first, *row_count)),
            Found::Step(_) => None,
        })
        .collect();
    let mut fetched = match sealed.filter(|_| !rows.is_empty()) {
        Some((table, control)) => fetch(table, &rows, control)?.into_iter(),
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
