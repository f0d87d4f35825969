//! Pages, counts and values of steps.

use std::collections::BTreeSet;

use xxhash_rust::xxh3::xxh3_128;

use super::chunk_test::ChunkTest;
use super::convert;
use super::filter::{StepFilter, StepFilterField, StepRow, column_of, restricted};
use super::scan::{ColumnOrder, Found, FoundSteps, Position, Selection, each_found, each_step};
use super::top::{Top, too_long};
use super::workspace_of;
use crate::columnar::{Predicates, count_rows};
use crate::error::{Error, Result};
use crate::filter::{Comparison, Constant, Shape, check_substitutions};
use crate::model::TestResult;
use crate::model::answer::Page;
use crate::model::resource::Resource;
use crate::model::results::{
    QueryStepValuesRequest, QueryStepsRequest, Step, StepField, StepOrderBy,
};
use crate::model::steps::remains::RemainingSteps;
use crate::model::steps::rows::StepColumn;
use crate::model::steps::stored::StoredStep;
use crate::model::tables::store_table::STEPS;
use crate::services::lists;
use crate::services::queries::take_or;
use crate::session::tables::{all_chunks, sealed};
use crate::session::token::{self, Fingerprint};
use crate::session::{Plan, Query, View, Visibility, mark_after};
use crate::value::limits::{RESULTS_TAKE, TOKEN_POSITION_BYTES};
use crate::value::stored::{self, Members};
use crate::value::{Control, IdForm, RecordKey, Val, key, number, time};

const DEFAULT_TAKE: usize = 1000;

/// What is asked of the steps, checked.
pub(super) struct Question {
    pub(super) control: Control,
    pub(super) filter: StepFilter,
    pub(super) selection: Selection,
    order: Option<StepFilterField>,
    is_descending: bool,
}

/// The workspaces of results, looked up once for each result in a row.
pub(in crate::services::results) struct Workspaces<'v, 's> {
    view: &'v View<'s>,
    last: Option<(RecordKey, Option<String>)>,
}

impl<'v, 's> Workspaces<'v, 's> {
    pub(in crate::services::results) fn new(view: &'v View<'s>) -> Self {
        Self { view, last: None }
    }

    /// The workspace of a result as a filter reads it: empty if it does not, or if the caller may
    /// not see the result.
    pub(in crate::services::results) fn read_by(
        &mut self,
        filter: &StepFilter,
        result: RecordKey,
    ) -> Result<&str> {
        if filter.reads_workspace() { Ok(self.of(result)?.unwrap_or_default()) } else { Ok("") }
    }

    /// The workspace of a result; `None` if the caller may not see it.
    pub(super) fn of(&mut self, result: RecordKey) -> Result<Option<&str>> {
        if self.last.as_ref().is_none_or(|(known, _)| *known != result) {
            self.last = Some((result, workspace_of(self.view, result)?));
        }
        Ok(self.last.as_ref().and_then(|(_, workspace)| workspace.as_deref()))
    }
}

fn order_field(order: StepOrderBy) -> StepFilterField {
    match order {
        StepOrderBy::Name => StepFilterField::Name,
        StepOrderBy::StepType => StepFilterField::StepType,
        StepOrderBy::StepId => StepFilterField::StepId,
        StepOrderBy::ParentId => StepFilterField::ParentId,
        StepOrderBy::ResultId => StepFilterField::ResultId,
        StepOrderBy::Path => StepFilterField::Path,
        StepOrderBy::TotalTimeInSeconds => StepFilterField::TotalTime,
        StepOrderBy::StartedAt => StepFilterField::StartedAt,
        StepOrderBy::UpdatedAt => StepFilterField::UpdatedAt,
        StepOrderBy::DataModel => StepFilterField::DataModel,
    }
}

/// The results of some whose steps the caller may see. Asks for each of them alone, so the cost is
/// that of these.
fn visible_of(view: &View<'_>, mut results: BTreeSet<RecordKey>) -> Result<Selection> {
    if !matches!(view.visibility(TestResult::KIND), Visibility::All) {
        let mut hidden = Vec::new();
        for result in &results {
            if workspace_of(view, *result)?.is_none() {
                hidden.push(*result);
            }
        }
        for result in hidden {
            results.remove(&result);
        }
    }
    Ok(Selection::Of(results))
}

/// The results whose steps the caller may see. A policy that restricts costs a pass over the
/// workspaces of all results.
pub(super) fn visible(view: &View<'_>) -> Result<Selection> {
    let visibility = view.visibility(TestResult::KIND);
    if matches!(visibility, Visibility::All) {
        return Ok(Selection::All);
    }
    let mut results = BTreeSet::new();
    for (kind, index) in [
        (TestResult::KIND, TestResult::BY_WORKSPACE),
        (RemainingSteps::KIND, RemainingSteps::BY_WORKSPACE),
    ] {
        view.index_scan(kind, index, &[], |_, key, workspace| {
            if std::str::from_utf8(workspace).is_ok_and(|workspace| visibility.allows(workspace)) {
                results.insert(key);
            }
            Ok(true)
        })?;
        check_results(view, results.len(), "the policy lets the caller see")?;
    }
    Ok(Selection::Of(results))
}

fn check_results(view: &View<'_>, count: usize, why: &str) -> Result<()> {
    let most = view.context().settings().query_memory_bytes;
    if count.saturating_mul(2 * size_of::<RecordKey>()) > most {
        return Err(Error::limit(format!(
            "{why} {count} results, whose ids take more than the {most} bytes that \
             `query_memory_bytes` allows one query; narrow the filter"
        )));
    }
    Ok(())
}

/// The results that match a filter over results, and that the caller may see.
fn matching_results(
    view: &View<'_>,
    filter: &str,
    substitutions: &[serde_json::Value],
) -> Result<BTreeSet<RecordKey>> {
    check_substitutions(substitutions).map_err(|error| error.at_member("resultSubstitutions"))?;
    let query = Query { filter: Some(filter), substitutions, ..Query::default() };
    let mut results = BTreeSet::new();
    view.for_each_match::<TestResult>(&query, |result| results.extend(result.key()))
        .map_err(|error| error.at_member("resultFilter"))?;
    check_results(view, results.len(), "the result filter matches")?;
    Ok(results)
}

impl Question {
    /// The question for the steps that match a filter, of the results `among` if there are some.
    fn new(
        view: &View<'_>,
        filter: Option<&str>,
        substitutions: Option<&[serde_json::Value]>,
        among: impl FnOnce() -> Result<Option<BTreeSet<RecordKey>>>,
    ) -> Result<Self> {
        check_substitutions(substitutions.unwrap_or_default())?;
        let filter = StepFilter::new(view, filter, substitutions.unwrap_or_default())?;
        let selection = match (filter.results(), among()?) {
            (Some(results), Some(among)) => restricted(Selection::Of(among), results),
            (Some(results), None) => visible_of(view, results)?,
            (None, Some(among)) => Selection::Of(among),
            (None, None) => visible(view)?,
        };
        let control = view.context().control(&Control::default());
        Ok(Self { control, filter, selection, order: None, is_descending: false })
    }

    /// The question for the steps that match a filter, of the results that match another one.
    pub(super) fn among(
        view: &View<'_>,
        filter: (Option<&str>, Option<&[serde_json::Value]>),
        result_filter: (Option<&str>, Option<&[serde_json::Value]>),
    ) -> Result<Self> {
        let (result_filter, substitutions) = result_filter;
        let result_filter = result_filter.filter(|filter| !filter.trim().is_empty());
        let matching = |filter| matching_results(view, filter, substitutions.unwrap_or_default());
        Self::new(view, filter.0, filter.1, || result_filter.map(matching).transpose())
    }

    pub(super) fn of(view: &View<'_>, request: &QueryStepsRequest) -> Result<Self> {
        let mut question = Self::among(
            view,
            (request.filter.as_deref(), request.substitutions.as_deref()),
            (request.result_filter.as_deref(), request.result_substitutions.as_deref()),
        )?;
        question.order = request.order_by.map(order_field);
        question.is_descending = question.order.is_some() && request.descending == Some(true);
        Ok(question)
    }

    /// Reads under this control, too.
    pub(super) fn under(mut self, control: &Control) -> Self {
        self.control = control.clone();
        self
    }

    /// Whether the order is that of result and creation.
    pub(super) fn is_in_first_order(&self) -> bool {
        self.order.is_none()
    }

    /// Calls `f` with the matches after `after`, in order of result and creation.
    pub(super) fn each(
        &self,
        view: &View<'_>,
        after: Option<Position>,
        f: &mut dyn FnMut(RecordKey, StoredStep) -> Result<bool>,
    ) -> Result<()> {
        let mut workspaces = Workspaces::new(view);
        let (shapes, _) = self.filter.shapes();
        each_step(view, &self.selection, shapes, after, &self.control, &mut |result, step| {
            let workspace = workspaces.read_by(&self.filter, result)?;
            if self.filter.matches(view, result, workspace, &step)? {
                f(result, step)
            } else {
                Ok(true)
            }
        })
    }

    /// Matches after `after`, in order of result and creation: until they are `count`, which is at
    /// least one, or take so much memory.
    pub(super) fn part(
        &self,
        view: &View<'_>,
        after: Option<Position>,
        count: usize,
        bytes_max: usize,
    ) -> Result<Vec<(RecordKey, StoredStep)>> {
        let (mut found, mut bytes) = (Vec::new(), 0);
        let mut memory = view.context().call_memory();
        self.each(view, after, &mut |result, step| {
            bytes += step.memory_bytes();
            found.push((result, step));
            Ok(found.len() < count && bytes < bytes_max && memory.hold(bytes)?)
        })?;
        Ok(found)
    }

    /// The number of matches.
    fn count(&self, view: &View<'_>) -> Result<u64> {
        let (mut shapes, _) = self.filter.shapes();
        let mut count = 0;
        if !self.is_counted_by_columns() {
            self.each(view, None, &mut |_, _| {
                count += 1;
                Ok(true)
            })?;
            return Ok(count);
        }
        let test = ChunkTest::new(&shapes);
        let needed = (!test.has_all_tests()).then_some(Members::ALL);
        // The columns alone tell which sealed steps match.
        if let Some(table) = sealed(view, &STEPS)? {
            let position = StepColumn::Position as usize;
            shapes.push(Shape::Compare(position, Comparison::Eq, Constant::Int(0)));
            let predicates =
                Predicates::default().with_filter(&table.schema, Shape::All(shapes))?;
            count = count_rows(&table, &predicates, &self.control)?;
        }
        let mut whole = StoredStep::default();
        for chunk in all_chunks(view, &STEPS, None)? {
            view.context().check_deadline()?;
            let (result, chunk) = chunk?;
            test.each(&chunk, &mut |step, stored| {
                let step = match needed {
                    None => step,
                    Some(members) => {
                        stored::fill(&mut whole, stored, members)?;
                        &whole
                    }
                };
                count += u64::from(self.filter.matches(view, result, "", step)?);
                Ok(true)
            })?;
        }
        Ok(count)
    }

    /// Whether the columns of sealed steps tell the matches apart.
    fn is_counted_by_columns(&self) -> bool {
        self.filter.shapes().1 && matches!(self.selection, Selection::All)
    }

    /// How a page is read.
    fn plan(&self, view: &View<'_>, request: &QueryStepsRequest) -> Plan {
        let (shapes, is_exact) = self.filter.shapes();
        let tests = match shapes.len() {
            0 => String::new(),
            count => format!(", with {count} tests of columns"),
        };
        // The number of results would tell a caller that sees only some how many there are.
        let sees_all = matches!(view.visibility(TestResult::KIND), Visibility::All);
        let access = match self.selection.one_by_one() {
            Some(results) if sees_all => format!("steps of {} results, by result", results.len()),
            _ if !sees_all => "steps of visible results".to_owned(),
            _ => format!("one pass over all steps{tests}"),
        };
        let filter = request.filter.as_deref().map(str::trim).filter(|filter| !filter.is_empty());
        let is_by_result = self.selection.one_by_one().is_some();
        let take = take_or(DEFAULT_TAKE, request.take);
        let direction = if self.is_descending { " descending" } else { "" };
        let by = request.order_by.map_or("result and creation", StepOrderBy::as_str);
        let order = if self.is_in_first_order() {
            "by result and creation".to_owned()
        } else {
            format!("top {} by {by}{direction}", take.saturating_add(1))
        };
        let count = (request.return_count == Some(true)).then(|| {
            let source = if self.is_counted_by_columns() { "columns" } else { "every match" };
            source.to_owned()
        });
        Plan {
            access,
            residual: filter.filter(|_| is_by_result || !is_exact).map(str::to_owned),
            order,
            count,
            ..Plan::default()
        }
    }

    /// Offers all matches to `top`.
    fn fill(&self, view: &View<'_>, top: &mut Top) -> Result<()> {
        self.each(view, None, &mut |result, step| {
            let sort = self.sort_key(result, &step);
            top.offer(sort, (result, step.seq, Found::Step(Box::new(step))))?;
            Ok(true)
        })
    }

    /// The column that tells the order, or none if result and number do. `None` if a pass over
    /// columns cannot tell which steps match and how they are ordered, or is not worth it.
    fn order_column(&self) -> Option<Option<StepColumn>> {
        let is_pass = self.filter.shapes().1 && self.selection.one_by_one().is_none();
        let column = match self.order {
            None | Some(StepFilterField::ResultId) => None,
            Some(StepFilterField::StepId) => Some(StepColumn::StepId),
            Some(field) => Some(column_of(field)?),
        };
        is_pass.then_some(column)
    }

    /// The sort key of a step: its value, and its place in the order of result and creation.
    pub(super) fn sort_key(&self, result: RecordKey, step: &StoredStep) -> Vec<u8> {
        let mut sort = Vec::new();
        if let Some(field) = self.order {
            key::push_val(&mut sort, &StepRow::new(result, step).value(field));
        }
        sort.extend_from_slice(result.as_bytes());
        sort.extend_from_slice(&step.seq.to_be_bytes());
        if self.is_descending {
            sort.iter_mut().for_each(|byte| *byte = !*byte);
        }
        sort
    }
}

/// The parts of a query that its tokens are bound to.
fn fingerprint(request: &QueryStepsRequest) -> Fingerprint {
    let mut fingerprint = Fingerprint::new("steps");
    for (filter, substitutions) in [
        (&request.filter, &request.substitutions),
        (&request.result_filter, &request.result_substitutions),
    ] {
        let substitutions = substitutions.as_deref().unwrap_or_default();
        fingerprint = fingerprint
            .with(filter.as_deref().unwrap_or_default().trim().as_bytes())
            .with(&(substitutions.len() as u64).to_le_bytes());
        for value in substitutions {
            fingerprint = fingerprint.with(value.to_string().as_bytes());
        }
    }
    let order = request.order_by.map_or("", StepOrderBy::as_str);
    fingerprint.with(order.as_bytes()).with(&[u8::from(request.descending == Some(true))])
}

/// A position in a token: the place of the last step, and what parts it from the next step
/// ([`mark_after`]). Where there is no short mark, it is a hash of the sort key.
fn position_bytes((result, seq): Position, sort: &[u8], next: &[u8]) -> Vec<u8> {
    let mut bytes = result.as_bytes().to_vec();
    bytes.extend_from_slice(&seq.to_be_bytes());
    let most = TOKEN_POSITION_BYTES - bytes.len() - 1;
    match mark_after(sort, next, 24, most) {
        Some(mark) => {
            bytes.push(0);
            bytes.extend_from_slice(&mark);
        }
        None => {
            bytes.push(1);
            bytes.extend_from_slice(&xxh3_128(sort).to_be_bytes());
        }
    }
    bytes
}

/// The place and the sort key after which a page begins.
fn read_position(
    view: &View<'_>,
    question: &Question,
    bytes: &[u8],
) -> Result<(Position, Vec<u8>)> {
    let malformed =
        || Error::invalid("the continuation token is malformed").at_member("continuationToken");
    let (result, rest) = bytes.split_at_checked(16).ok_or_else(malformed)?;
    let result = RecordKey::from_bytes(IdForm::Guid, result).ok_or_else(malformed)?;
    let (seq, rest) = rest.split_first_chunk::<8>().ok_or_else(malformed)?;
    let seq = u64::from_be_bytes(*seq);
    let (form, rest) = rest.split_first().ok_or_else(malformed)?;
    if *form == 0 {
        return Ok(((result, seq), rest.to_vec()));
    }
    let mut sort = None;
    let selection = Selection::Of(BTreeSet::from([result]));
    each_step(view, &selection, Vec::new(), None, &question.control, &mut |_, step| {
        if step.seq == seq {
            sort = Some(question.sort_key(result, &step));
        }
        Ok(sort.is_none())
    })?;
    match sort.filter(|sort| xxh3_128(sort).to_be_bytes() == *rest) {
        Some(sort) => Ok(((result, seq), sort)),
        None => Err(Error::invalid(
            "the last step of the previous page has changed since, and its sort value is too long \
             for a continuation token; start the query again without one",
        )
        .at_member("continuationToken")),
    }
}

/// Matches of a question in its order, from where the part before ended.
pub(super) struct Parts {
    after: After,
    is_done: bool,
}

enum After {
    Position(Option<Position>),
    Sort(Option<Vec<u8>>),
}

impl Parts {
    pub(super) fn new(question: &Question) -> Self {
        let after =
            if question.is_in_first_order() { After::Position(None) } else { After::Sort(None) };
        Self { after, is_done: false }
    }

    /// The next matches: at most `count` in the first order, and as many as the memory of a query
    /// holds in another one, which costs a pass over all steps. None after the last one.
    ///
    /// # Errors
    /// Those of reading.
    pub(super) fn next(
        &mut self,
        view: &View<'_>,
        question: &Question,
        count: usize,
    ) -> Result<Vec<(RecordKey, StoredStep)>> {
        if self.is_done {
            return Ok(Vec::new());
        }
        let bytes_max = view.context().settings().query_memory_bytes;
        let found = match &mut self.after {
            After::Position(after) => {
                let found = question.part(view, *after, count, bytes_max)?;
                *after = found.last().map(|(result, step)| (*result, step.seq));
                found
            }
            After::Sort(after) => {
                let mut top = Top::new(view, after.take(), usize::MAX, true);
                question.fill(view, &mut top)?;
                *after = top.last().cloned();
                top.into_steps(&FoundSteps::default())?
            }
        };
        self.is_done = found.is_empty();
        Ok(found)
    }
}

/// How many steps a page has at most.
///
/// # Errors
/// `LimitExceeded` for more than one page may have.
fn page_len(request: &QueryStepsRequest) -> Result<usize> {
    let take = take_or(DEFAULT_TAKE, request.take);
    if take > RESULTS_TAKE {
        return Err(Error::limit(format!(
            "a page has at most {RESULTS_TAKE} steps; take fewer, and go on with the token"
        ))
        .at_member("take"));
    }
    Ok(take)
}

/// How a page is read.
///
/// # Errors
/// As [`page`].
pub(in crate::services::results) fn explain(
    view: &View<'_>,
    request: &QueryStepsRequest,
) -> Result<Plan> {
    lists::distinct("projection", request.projection.as_deref().unwrap_or_default())?;
    page_len(request)?;
    let fingerprint = fingerprint(request);
    let token_key = view.context().engine.token_key;
    token::open(&token_key, &fingerprint, request.continuation_token.as_deref())?;
    Ok(Question::of(view, request)?.plan(view, request))
}

/// One page of the steps that match.
///
/// # Errors
/// `InvalidArgument` for an invalid filter or token; `LimitExceeded` for a page that is too long;
/// those of reading.
pub(in crate::services::results) fn page(
    view: &View<'_>,
    request: &QueryStepsRequest,
) -> Result<Page<Step>> {
    let projection =
        lists::distinct("projection", request.projection.as_deref().unwrap_or_default())?;
    let take = page_len(request)?;
    let fingerprint = fingerprint(request);
    let token_key = view.context().engine.token_key;
    let after = token::open(&token_key, &fingerprint, request.continuation_token.as_deref())?;
    let question = Question::of(view, request)?;
    let after = after.map(|bytes| read_position(view, &question, &bytes)).transpose()?;
    let total_count =
        if request.return_count == Some(true) { Some(question.count(view)?) } else { None };
    let mut found = if take == 0 {
        Vec::new()
    } else if question.is_in_first_order() {
        first(view, &question, after.map(|(position, _)| position), take + 1)?
    } else {
        sorted(view, &question, after.map(|(_, sort)| sort), take + 1)?
    };
    let next = (found.len() > take).then(|| found.pop()).flatten();
    let continuation_token = match found.last().zip(next) {
        Some(((result, step), (next_result, next))) => {
            let sort = question.sort_key(*result, step);
            let next = question.sort_key(next_result, &next);
            let position = position_bytes((*result, step.seq), &sort, &next);
            Some(token::seal(&token_key, &fingerprint, &position)?)
        }
        None => None,
    };
    let mut workspaces = Workspaces::new(view);
    let mut items = Vec::with_capacity(found.len());
    for (result, step) in found {
        let workspace = workspaces.of(result)?.unwrap_or_default();
        items.push(convert::answered(result, workspace, step)?.project(&projection));
    }
    Ok(Page { items, continuation_token, total_count })
}

/// The first matches after a place, in order of result and creation.
fn first(
    view: &View<'_>,
    question: &Question,
    after: Option<Position>,
    count: usize,
) -> Result<Vec<(RecordKey, StoredStep)>> {
    let mut memory = view.context().call_memory();
    let (mut found, mut bytes) = (Vec::new(), 0);
    question.each(view, after, &mut |result, step| {
        bytes += step.memory_bytes();
        found.push((result, step));
        if !memory.hold(bytes)? {
            return Err(too_long(memory.most()));
        }
        Ok(found.len() < count)
    })?;
    Ok(found)
}

/// The first matches after a sort key, in the order of the question.
fn sorted(
    view: &View<'_>,
    question: &Question,
    after: Option<Vec<u8>>,
    count: usize,
) -> Result<Vec<(RecordKey, StoredStep)>> {
    let mut top = Top::new(view, after, count, false);
    let Some(column) = question.order_column() else {
        question.fill(view, &mut top)?;
        return top.into_steps(&FoundSteps::default());
    };
    let sort_key = |result: RecordKey, step: &StoredStep| question.sort_key(result, step);
    let order = ColumnOrder { column, sort_key: &sort_key };
    let (shapes, _) = question.filter.shapes();
    let (selection, control) = (&question.selection, &question.control);
    let found =
        each_found(view, selection, shapes, &order, control, &mut |(result, seq, mut found)| {
            let sort = match &mut found {
                Found::Rows { sort, .. } => std::mem::take(sort),
                Found::Step(step) => {
                    if !question.filter.matches(view, result, "", step)? {
                        return Ok(());
                    }
                    question.sort_key(result, step)
                }
            };
            top.offer(sort, (result, seq, found))
        })?;
    top.into_steps(&found)
}

fn value_field(field: StepField) -> StepFilterField {
    match field {
        StepField::Name => StepFilterField::Name,
        StepField::StepType => StepFilterField::StepType,
        StepField::StepId => StepFilterField::StepId,
        StepField::ParentId => StepFilterField::ParentId,
        StepField::ResultId => StepFilterField::ResultId,
        StepField::Path => StepFilterField::Path,
        StepField::TotalTimeInSeconds => StepFilterField::TotalTime,
        StepField::StartedAt => StepFilterField::StartedAt,
        StepField::UpdatedAt => StepFilterField::UpdatedAt,
        StepField::DataModel => StepFilterField::DataModel,
    }
}

/// The distinct values of a field over the matches, ascending as text.
///
/// # Errors
/// `InvalidArgument` without a field, and for an invalid filter; `LimitExceeded` for too many
/// values.
pub(in crate::services::results) fn values(
    view: &View<'_>,
    request: &QueryStepValuesRequest,
) -> Result<Vec<String>> {
    let field = request
        .field
        .ok_or_else(|| Error::invalid("a query of values needs a field").at_member("field"))?;
    let field = value_field(field);
    let prefix = request.starts_with.as_deref().unwrap_or_default();
    let (filter, substitutions) = (request.filter.as_deref(), request.substitutions.as_deref());
    let question = Question::new(view, filter, substitutions, || Ok(None))?;
    let mut memory = view.context().call_memory();
    let bytes_max = memory.most();
    let (mut values, mut bytes) = (BTreeSet::new(), 0);
    question.each(view, None, &mut |result, step| {
        let row = StepRow::new(result, &step);
        let text = match row.value(field) {
            Val::Str(text) => text.into_owned(),
            Val::Time(ms) => time::format(time::from_millis(ms)),
            Val::Double(value) => number::shortest(value),
            _ => return Ok(true),
        };
        if text.starts_with(prefix) && !values.contains(&text) {
            bytes += text.len() + 64;
            if !memory.hold(bytes)? {
                return Err(Error::limit(format!(
                    "the values take more than the {bytes_max} bytes that `query_memory_bytes` \
                     allows one query; narrow the filter, or ask for values that start with a text"
                )));
            }
            values.insert(text);
        }
        Ok(true)
    })?;
    Ok(values.into_iter().collect())
}
