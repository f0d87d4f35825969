//! The paths that occur among steps: one for each program, part number and path.
//!
//! They are computed from the steps that are there, so a path without steps is gone.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use serde_json::Value;
use xxhash_rust::xxh3::xxh3_128;

use super::filter::restricted;
use super::find::find;
use super::query::visible;
use super::scan::{Selection, each_step};
use crate::error::{Error, Result};
use crate::filter::{self, Condition, Constant, FieldTest, Filter, Schema, Times};
use crate::model::TestResult;
use crate::model::answer::Page;
use crate::model::resource::Resource;
use crate::model::results::{
    PathMeasurement, PathOrderBy, PathProjection, PathValue, PathValueType, QueryPathsRequest,
    StepPath,
};
use crate::model::steps::stored::StoredStep;
use crate::services::lists;
use crate::services::queries::take_or;
use crate::session::token::{self, Fingerprint};
use crate::session::{Query, View, mark_after};
use crate::value::limits::{RESULTS_TAKE, TOKEN_POSITION_BYTES};
use crate::value::{Control, FieldDecl, FieldType, IdForm, RecordKey, Row, Val, Work, key};

const DEFAULT_TAKE: usize = 1000;
/// Bytes that a path, and a name of it, counts in addition to its texts.
const PATH_BYTES: usize = 256;
const NAME_BYTES: usize = 192;

const ID: usize = 0;
const PROGRAM_NAME: usize = 1;
const PART_NUMBER: usize = 2;
const PATH: usize = 3;
const PATH_NAMES: usize = 4;

/// The fields of paths that filters may name.
pub(in crate::services) static FIELDS: LazyLock<[FieldDecl; 5]> = LazyLock::new(|| {
    [
        FieldDecl::new("id", FieldType::String),
        FieldDecl::new("programName", FieldType::String),
        FieldDecl::new("partNumber", FieldType::String),
        FieldDecl::new("path", FieldType::String),
        FieldDecl::new("pathNames", FieldType::Strings),
    ]
});

/// Program, part number and path.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct PathKey {
    program_name: String,
    part_number: Option<String>,
    path: String,
}

impl PathKey {
    fn id(&self) -> String {
        let mut bytes = Vec::new();
        for text in [Some(&self.program_name), self.part_number.as_ref(), Some(&self.path)] {
            match text {
                Some(text) => key::push_str(&mut bytes, text),
                None => bytes.push(0),
            }
        }
        let hash = xxh3_128(&bytes).to_be_bytes();
        RecordKey::from_bytes(IdForm::Guid, &hash)
            .map(|key| key.to_id(IdForm::Guid))
            .unwrap_or_default()
    }
}

/// The values of an input or output.
#[derive(Debug, Default)]
struct Values {
    of: Option<PathValueType>,
    range: Option<(f64, f64)>,
}

impl Values {
    fn add(&mut self, value: &Value) {
        let of = match value {
            Value::Null => PathValueType::Null,
            Value::Bool(_) => PathValueType::Boolean,
            Value::Number(_) => PathValueType::Number,
            Value::String(_) => PathValueType::String,
            Value::Array(_) => PathValueType::Array,
            Value::Object(_) => PathValueType::Object,
        };
        self.of = Some(match (self.of, of) {
            (None | Some(PathValueType::Null), of) => of,
            (Some(known), PathValueType::Null) => known,
            (Some(known), of) if known == of => known,
            _ => PathValueType::Mixed,
        });
        if let Some(number) = value.as_f64() {
            let (min, max) = self.range.unwrap_or((number, number));
            self.range = Some((min.min(number), max.max(number)));
        }
    }

    fn answer(self) -> PathValue {
        let range = self.range.filter(|_| self.of == Some(PathValueType::Number));
        PathValue {
            r#type: self.of,
            min: range.map(|(min, _)| min),
            max: range.map(|(_, max)| max),
        }
    }
}

/// What the steps of a path have.
#[derive(Debug, Default)]
struct Facts {
    names: Vec<String>,
    inputs: BTreeMap<String, Values>,
    outputs: BTreeMap<String, Values>,
    /// Of each measurement when the newest one was taken, and what it has.
    measurements: BTreeMap<String, (i64, PathMeasurement)>,
}

impl Facts {
    /// Adds what a step has, and to `bytes` the memory that it takes in addition.
    fn add(&mut self, step: &StoredStep, bytes: &mut usize) -> Result<()> {
        for (texts, values) in
            [(&step.inputs, &mut self.inputs), (&step.outputs, &mut self.outputs)]
        {
            for named in super::convert::named_values(texts.as_ref())? {
                if !values.contains_key(&named.name) {
                    *bytes += NAME_BYTES + named.name.len();
                }
                values.entry(named.name).or_default().add(&named.value);
            }
        }
        for parameter in step.parameters() {
            let Some(name) = parameter.name.as_ref().filter(|_| parameter.is_measurement()) else {
                continue;
            };
            if !self.measurements.contains_key(name) {
                *bytes += NAME_BYTES + name.len();
            }
            let (at, measurement) = self
                .measurements
                .entry(name.clone())
                .or_insert_with(|| (i64::MIN, PathMeasurement::default()));
            let count = measurement.count.unwrap_or_default() + 1;
            if *at <= step.started_at_ms {
                *at = step.started_at_ms;
                let text = |text: &Option<String>| text.as_ref().map_or(0, String::len);
                let texts = [&parameter.units, &parameter.low_limit, &parameter.high_limit];
                let known = [&measurement.units, &measurement.low_limit, &measurement.high_limit];
                *bytes += texts.map(text).iter().sum::<usize>();
                *bytes = bytes.saturating_sub(known.map(text).iter().sum());
                *measurement = PathMeasurement {
                    units: parameter.units.clone(),
                    low_limit: parameter.low_limit.clone(),
                    high_limit: parameter.high_limit.clone(),
                    ..PathMeasurement::default()
                };
            }
            measurement.count = Some(count);
        }
        Ok(())
    }

    fn answer(self, key: PathKey) -> StepPath {
        let values = |all: BTreeMap<String, Values>| {
            all.into_iter().map(|(name, values)| (name, values.answer())).collect()
        };
        StepPath {
            id: Some(key.id()),
            path: Some(key.path),
            program_name: Some(key.program_name),
            part_number: key.part_number,
            path_names: Some(self.names),
            inputs: Some(values(self.inputs)),
            outputs: Some(values(self.outputs)),
            measurements: Some(
                self.measurements.into_iter().map(|(name, (_, found))| (name, found)).collect(),
            ),
        }
    }
}

/// A path as filters and orders read it.
#[derive(Debug)]
struct PathRow<'r>(&'r StepPath);

impl Row for PathRow<'_> {
    fn val(&self, index: usize) -> Val<'_> {
        let Self(path) = self;
        match index {
            ID => path.id.as_ref().into(),
            PROGRAM_NAME => path.program_name.as_ref().into(),
            PART_NUMBER => path.part_number.as_ref().into(),
            PATH => path.path.as_ref().into(),
            PATH_NAMES => path.path_names.as_ref().into(),
            _ => Val::Null,
        }
    }
}

/// The results whose steps can have matching paths.
fn selection(view: &View<'_>, filter: Option<&Filter>) -> Result<Selection> {
    let mut selection = None;
    for condition in filter.iter().flat_map(|filter| filter.conjuncts()) {
        let Condition::Field(field, FieldTest::Eq(Constant::Text(text))) = condition else {
            continue;
        };
        let filter = match *field {
            PROGRAM_NAME => "programName == @0",
            PART_NUMBER => "partNumber == @0",
            _ => continue,
        };
        let substitutions = [Value::from(&**text)];
        let query =
            Query { filter: Some(filter), substitutions: &substitutions, ..Query::default() };
        let mut results = BTreeSet::new();
        // Those that the caller may see.
        view.for_each_match::<TestResult>(&query, |result| results.extend(result.key()))?;
        selection = Some(restricted(selection.unwrap_or(Selection::All), results));
    }
    selection.map_or_else(|| visible(view), Ok)
}

/// The names of a step and of those above it, the top one first.
fn names_of(view: &View<'_>, result: RecordKey, step: &StoredStep) -> Result<Vec<String>> {
    let parts: Vec<String> = step.path.split('\n').map(str::to_owned).collect();
    if parts.len() == step.ancestor_ids.len() + 1 {
        return Ok(parts);
    }
    // A name has a line feed. A step that is gone left no name.
    let mut names = Vec::new();
    for id in &step.ancestor_ids {
        match find(view, result, id)? {
            Some(above) => names.push(above.name),
            None => return Ok(parts),
        }
    }
    names.push(step.name.clone());
    // A path keeps the names that its steps had when they got their places.
    Ok(if names.join("\n") == step.path { names } else { parts })
}

/// All paths of the steps of a selection.
fn paths_of(view: &View<'_>, selection: &Selection) -> Result<BTreeMap<PathKey, Facts>> {
    let mut memory = view.context().call_memory();
    let bytes_max = memory.most();
    let mut paths: BTreeMap<PathKey, Facts> = BTreeMap::new();
    let mut last: Option<(RecordKey, Option<TestResult>)> = None;
    let mut bytes = 0;
    let control = view.context().control(&Control::default());
    each_step(view, selection, Vec::new(), None, &control, &mut |key, step| {
        if last.as_ref().is_none_or(|(known, _)| *known != key) {
            last = Some((key, view.by_key::<TestResult>(key)?));
        }
        // Steps that outlived their result have no program.
        let Some((_, Some(result))) = &last else { return Ok(true) };
        let path = PathKey {
            program_name: result.program_name.clone().unwrap_or_default(),
            part_number: result.part_number.clone(),
            path: step.path.clone(),
        };
        if !paths.contains_key(&path) {
            let part_number = path.part_number.as_ref().map_or(0, String::len);
            bytes += PATH_BYTES + 2 * path.path.len() + path.program_name.len() + part_number;
        }
        let facts = paths.entry(path).or_default();
        if facts.names.is_empty() {
            facts.names = names_of(view, key, &step)?;
        }
        facts.add(&step, &mut bytes)?;
        if !memory.hold(bytes)? {
            return Err(Error::limit(format!(
                "the paths take more than the {bytes_max} bytes that `query_memory_bytes` allows \
                 one query; ask for those of one program or part number"
            )));
        }
        Ok(true)
    })?;
    Ok(paths)
}

fn order_field(order: PathOrderBy) -> usize {
    match order {
        PathOrderBy::Id => ID,
        PathOrderBy::ProgramName => PROGRAM_NAME,
        PathOrderBy::PartNumber => PART_NUMBER,
        PathOrderBy::Path => PATH,
    }
}

fn sort_key(path: &StepPath, field: usize, is_descending: bool) -> Vec<u8> {
    let mut sort = Vec::new();
    for field in [field, ID] {
        key::push_val(&mut sort, &PathRow(path).val(field));
    }
    if is_descending {
        sort.iter_mut().for_each(|byte| *byte = !*byte);
    }
    sort
}

/// One page of the paths that match.
///
/// # Errors
/// `InvalidArgument` for an invalid filter or token; `LimitExceeded` for a page that is too long
/// and for paths of too much memory; those of reading.
pub(in crate::services::results) fn page(
    view: &View<'_>,
    request: &QueryPathsRequest,
) -> Result<Page<StepPath>> {
    let projection =
        lists::distinct("projection", request.projection.as_deref().unwrap_or_default())?;
    let take = take_or(DEFAULT_TAKE, request.take);
    if take > RESULTS_TAKE {
        return Err(Error::limit(format!(
            "a page has at most {RESULTS_TAKE} paths; take fewer, and go on with the token"
        ))
        .at_member("take"));
    }
    let substitutions = request.substitutions.as_deref().unwrap_or_default();
    filter::check_substitutions(substitutions)?;
    let schema = Schema { fields: &*FIELDS, accept_substitutions: true, ..Schema::default() };
    let times = Times::new(view.now(), None);
    let filter = filter::compile(request.filter.as_deref(), substitutions, &schema, &times)?;
    let is_descending = request.order_by.is_some() && request.descending == Some(true);
    let order = request.order_by.unwrap_or(PathOrderBy::Id);
    let mut fingerprint = Fingerprint::new("paths")
        .with(request.filter.as_deref().unwrap_or_default().trim().as_bytes())
        .with(order.as_str().as_bytes())
        .with(&[u8::from(is_descending)]);
    for value in substitutions {
        fingerprint = fingerprint.with(value.to_string().as_bytes());
    }
    let token_key = view.context().engine.token_key;
    let after = token::open(&token_key, &fingerprint, request.continuation_token.as_deref())?;
    let check = || view.context().check_deadline();
    let work = Work::new(&check);
    let mut found: Vec<(Vec<u8>, StepPath)> = paths_of(view, &selection(view, filter.as_ref())?)?
        .into_iter()
        .map(|(key, facts)| facts.answer(key))
        .filter(|path| {
            let matches = |filter: &Filter| filter.matches_with(&PathRow(path), &|_| false, &work);
            filter.as_ref().is_none_or(matches)
        })
        .map(|path| (sort_key(&path, order_field(order), is_descending), path))
        .collect();
    work.finish().map_err(|error| error.at_member("filter"))?;
    let total_count = (request.return_count == Some(true)).then_some(found.len() as u64);
    found.sort_by(|(one, _), (other, _)| one.cmp(other));
    if let Some(after) = after {
        found.retain(|(sort, _)| *sort > after);
    }
    let next = found.get(take).map(|(sort, _)| sort.clone());
    found.truncate(take);
    let continuation_token = match found.last().zip(next) {
        Some(((sort, _), next)) => {
            let mark = mark_after(sort, &next, 16, TOKEN_POSITION_BYTES);
            let mark = mark.ok_or_else(|| {
                Error::limit(
                    "the paths at the end of the page have more bytes in common than a \
                     continuation token has room for; order by id",
                )
                .at_member("orderBy")
            })?;
            Some(token::seal(&token_key, &fingerprint, &mark)?)
        }
        None => None,
    };
    let items = found.into_iter().map(|(_, path)| project(path, &projection)).collect();
    Ok(Page { items, continuation_token, total_count })
}

/// The path with this id.
///
/// # Errors
/// `NotFound` if no step has it.
pub(in crate::services::results) fn get(view: &View<'_>, id: &str) -> Result<StepPath> {
    let found = paths_of(view, &visible(view)?)?.into_iter().find(|(key, _)| key.id() == id);
    let (key, facts) = found.ok_or_else(|| Error::not_found("Path", id))?;
    Ok(facts.answer(key))
}

fn project(path: StepPath, projection: &[PathProjection]) -> StepPath {
    if projection.is_empty() {
        return path;
    }
    let has = |member: PathProjection| projection.contains(&member);
    StepPath {
        id: path.id.filter(|_| has(PathProjection::Id)),
        path: path.path.filter(|_| has(PathProjection::Path)),
        program_name: path.program_name.filter(|_| has(PathProjection::ProgramName)),
        part_number: path.part_number.filter(|_| has(PathProjection::PartNumber)),
        path_names: path.path_names.filter(|_| has(PathProjection::PathNames)),
        inputs: path.inputs.filter(|_| has(PathProjection::Inputs)),
        outputs: path.outputs.filter(|_| has(PathProjection::Outputs)),
        measurements: path.measurements.filter(|_| has(PathProjection::Measurements)),
    }
}
