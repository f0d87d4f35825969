//! Steps on the wire, and steps as they are stored.

use std::borrow::{Borrow, Cow};
use std::collections::BTreeMap;

use chrono::{DateTime, Utc};

use super::set::{LEVELS, NewStep};
use crate::columnar::{parse_f64, write_f64};
use crate::error::{Error, Place, Result};
use crate::model::resource::declare::{check_property_keys, union, without_repeats};
use crate::model::results::result::total_time;
use crate::model::results::{
    CreateStepRequest, NamedValue, Status, StatusType, Step, StepData, UpdateStepRequest,
};
use crate::model::steps::stored::{StoredData, StoredParameter, StoredStep, millis};
use crate::value::limits::{JSON_DEPTH, RECORD_BYTES, STEP_ID_BYTES, STEP_PARAMETERS};
use crate::value::{IdForm, RecordKey, stored, time};

/// Bytes of the texts of a step that stand beside all of its parameters.
const EXPANDED_BYTES: usize = 256 << 20;
/// Bytes that are left for the place of a step in its tree, and for the chunk around it.
const PLACE_BYTES: usize = 64 * 1024;
/// A step of this size may be too large to be stored, so that it is measured.
const MEASURED_BYTES: usize = RECORD_BYTES / 8;

/// The time of a step that is made before the time of its commit is known. No time is so early.
pub(super) const LATER: i64 = i64::MIN;

/// A step to create, from the request of a caller.
///
/// # Errors
/// `InvalidArgument` and `LimitExceeded` at the member that breaks a rule.
pub(super) fn new_step(
    request: CreateStepRequest,
    result_id: &str,
    now: DateTime<Utc>,
) -> Result<NewStep> {
    new_step_at(request, result_id, millis(now))
}

/// [`new_step`] with the time of the store in milliseconds, see [`LATER`].
///
/// # Errors
/// As [`new_step`].
pub(super) fn new_step_at(
    request: CreateStepRequest,
    result_id: &str,
    now_ms: i64,
) -> Result<NewStep> {
    let children = |request: &mut CreateStepRequest| request.children.take().unwrap_or_default();
    tree_of(request, result_id, children, |mut request| {
        let data = request.data.take();
        step_without_children(request, now_ms, || data.map(stored_data).transpose())
    })
}

/// [`new_step_at`] of a request that stays as it is. Only what is stored is copied.
///
/// # Errors
/// As [`new_step`].
pub(super) fn new_step_of(
    request: &CreateStepRequest,
    result_id: &str,
    now_ms: i64,
) -> Result<NewStep> {
    fn children<'r>(request: &mut &'r CreateStepRequest) -> Vec<&'r CreateStepRequest> {
        request.children.iter().flatten().collect()
    }
    tree_of(request, result_id, children, |request| {
        let members = CreateStepRequest {
            step_id: request.step_id.clone(),
            parent_id: request.parent_id.clone(),
            name: request.name.clone(),
            step_type: request.step_type.clone(),
            status: request.status.clone(),
            started_at: request.started_at,
            total_time_in_seconds: request.total_time_in_seconds,
            data_model: request.data_model.clone(),
            inputs: request.inputs.clone(),
            outputs: request.outputs.clone(),
            keywords: request.keywords.clone(),
            properties: request.properties.clone(),
            ..CreateStepRequest::default()
        };
        let data = || request.data.as_ref().map(copied_data).transpose();
        step_without_children(members, now_ms, data)
    })
}

/// A request that is converted, with its place among the children of the one around it.
struct OpenStep<T> {
    place: usize,
    step: StoredStep,
    children: Vec<NewStep>,
    rest: std::iter::Enumerate<std::vec::IntoIter<T>>,
}

/// Converts a step and those below it, each before its children. The levels are kept in a list, so
/// that the stack does not grow with them.
fn tree_of<T: Borrow<CreateStepRequest>>(
    root: T,
    result_id: &str,
    children_of: impl Fn(&mut T) -> Vec<T>,
    step_of: impl Fn(T) -> Result<StoredStep>,
) -> Result<NewStep> {
    let mut open: Vec<OpenStep<T>> = Vec::new();
    let (mut place, mut request) = (0, root);
    loop {
        let rest = children_of(&mut request).into_iter().enumerate();
        let checked = if open.is_empty() {
            Ok(())
        } else {
            check_result_of_child(request.borrow(), result_id)
        };
        let step = checked.and_then(|()| step_of(request)).map_err(|error| {
            let places = open.iter().map(|around| around.place).chain([place]).skip(1);
            let path: Vec<_> = places.map(|place| format!("children[{place}]")).collect();
            if path.is_empty() { error } else { within(error, &path.join(".")) }
        })?;
        open.push(OpenStep { place, step, children: Vec::new(), rest });
        // Goes up until there is a step that was not converted.
        (place, request) = loop {
            let Some(OpenStep { place, step, children, mut rest }) = open.pop() else {
                return Err(Error::corrupt(
                    "internal error: a tree of steps has no root; report it",
                ));
            };
            if let Some(next) = rest.next() {
                open.push(OpenStep { place, step, children, rest });
                break next;
            }
            let done = NewStep { step, children };
            match open.last_mut() {
                Some(around) => around.children.push(done),
                None => return Ok(done),
            }
        };
    }
}

fn check_result_of_child(child: &CreateStepRequest, result_id: &str) -> Result<()> {
    match &child.result_id {
        Some(other) if other != result_id => {
            let error = Error::invalid("a child belongs to the result of its parent");
            Err(error.at_member("resultId"))
        }
        _ => Ok(()),
    }
}

fn step_without_children(
    request: CreateStepRequest,
    now_ms: i64,
    data: impl FnOnce() -> Result<Option<StoredData>>,
) -> Result<StoredStep> {
    let name = request.name.ok_or_else(|| {
        Error::invalid("a step needs a name, which may be empty").at_member("name")
    })?;
    let step_id = request.step_id.filter(|id| !id.is_empty());
    check_id(step_id.as_deref())?;
    let mut step = StoredStep {
        step_id,
        parent_id: request.parent_id.filter(|id| !id.is_empty()),
        name,
        started_at_ms: request.started_at.map_or(now_ms, millis),
        updated_at_ms: now_ms,
        total_time: total_time(request.total_time_in_seconds)?.unwrap_or_default(),
        step_type: request.step_type,
        data: data()?,
        data_model: request.data_model,
        inputs: json(request.inputs.as_deref())?,
        outputs: json(request.outputs.as_deref())?,
        keywords: without_repeats(request.keywords.unwrap_or_default()),
        properties: with_values(request.properties.unwrap_or_default())?,
        ..StoredStep::default()
    };
    set_status(&mut step, request.status);
    check_size(&step)?;
    Ok(step)
}

/// Moves the place of an error below a member of the request.
pub(in crate::services::results) fn within(error: Error, member: &str) -> Error {
    let place = match error.place() {
        Some(Place::Member(inner)) => format!("{member}.{inner}"),
        _ => member.to_owned(),
    };
    error.at_member(place)
}

/// How an update treats lists and maps.
#[derive(Clone, Copy, Debug)]
pub(in crate::services::results) struct Replace {
    pub(in crate::services::results) keywords: bool,
    pub(in crate::services::results) properties: bool,
}

/// A checked change of one step, without its children.
#[derive(Debug)]
pub(super) struct StepChange {
    request: UpdateStepRequest,
    total_time: Option<f64>,
    data: Option<StoredData>,
    inputs: Option<Option<String>>,
    outputs: Option<Option<String>>,
    properties: Option<BTreeMap<String, String>>,
}

impl StepChange {
    /// Checks a request. Children that it still has are nested too deep.
    ///
    /// # Errors
    /// `InvalidArgument` and `LimitExceeded` at the member that breaks a rule.
    pub(super) fn new(mut request: UpdateStepRequest) -> Result<Self> {
        if request.children.as_ref().is_some_and(|children| !children.is_empty()) {
            return Err(Error::limit(format!(
                "changes of steps are nested in more than {LEVELS} levels; send the deeper ones by \
                 themselves, with the id of their result"
            ))
            .at_member("children"));
        }
        let total_time = total_time(request.total_time_in_seconds)?;
        let given = |values: Option<Vec<NamedValue>>| match values {
            Some(values) => json(Some(&values)).map(Some),
            None => Ok(None),
        };
        Ok(Self {
            total_time,
            data: request.data.take().map(stored_data).transpose()?,
            inputs: given(request.inputs.take())?,
            outputs: given(request.outputs.take())?,
            properties: request.properties.take().map(with_values).transpose()?,
            request,
        })
    }

    /// The new parent, if there is one.
    pub(super) fn parent_id(&self) -> Option<String> {
        self.request.parent_id.clone().filter(|id| !id.is_empty())
    }

    /// Changes a step. Absent members keep their values.
    pub(super) fn apply(self, step: &mut StoredStep, replace: Replace, now: DateTime<Utc>) {
        let Self { request, total_time, data, inputs, outputs, properties } = self;
        set(&mut step.name, request.name);
        set(&mut step.step_type, request.step_type.map(Some));
        set(&mut step.data_model, request.data_model.map(Some));
        set(&mut step.started_at_ms, request.started_at.map(millis));
        set(&mut step.total_time, total_time);
        set(&mut step.data, data.map(Some));
        set(&mut step.inputs, inputs);
        set(&mut step.outputs, outputs);
        if request.status.is_some() {
            set_status(step, request.status);
        }
        if let Some(keywords) = request.keywords {
            step.keywords = if replace.keywords {
                without_repeats(keywords)
            } else {
                union(Some(std::mem::take(&mut step.keywords)), keywords)
            };
        }
        if let Some(properties) = properties {
            if replace.properties {
                step.properties.clear();
            }
            step.properties.extend(properties);
        }
        step.updated_at_ms = step.updated_at_ms.max(millis(now));
    }
}

fn set<T>(member: &mut T, value: Option<T>) {
    if let Some(value) = value {
        *member = value;
    }
}

fn set_status(step: &mut StoredStep, status: Option<Status>) {
    step.status_type = status.as_ref().map(|status| status.status_type.as_str().to_owned());
    step.status_name = status.and_then(|status| status.status_name);
}

fn check_id(id: Option<&str>) -> Result<()> {
    match id {
        Some(id) if id.len() > STEP_ID_BYTES => Err(Error::limit(format!(
            "the id of the step has {} bytes, more than the {STEP_ID_BYTES} that it may have",
            id.len()
        ))
        .at_member("stepId")),
        _ => Ok(()),
    }
}

/// Fails for a step that is larger than a record may be.
pub(super) fn check_size(step: &StoredStep) -> Result<()> {
    // Each row of a sealed step has its texts.
    let texts = [&step.step_id, &step.step_type, &step.status_name].into_iter().flatten();
    let texts = step.name.len() + step.path.len() + texts.map(String::len).sum::<usize>();
    if texts.saturating_mul(step.parameters().len()) > EXPANDED_BYTES {
        return Err(Error::limit(format!(
            "the step has {} parameters, and {texts} bytes of name, id and type that stand beside \
             each of them; shorten these, or store the data as a table",
            step.parameters().len()
        )));
    }
    if step.memory_bytes() < MEASURED_BYTES {
        return Ok(());
    }
    let bytes = stored::to_bytes(step)?.len();
    // Its place in the tree, which is not known yet, and the chunk around it take bytes too.
    if bytes > RECORD_BYTES - PLACE_BYTES {
        return Err(Error::limit(format!(
            "the step takes {bytes} bytes, more than the {RECORD_BYTES} that it may take; store \
             its data as a table or a file"
        )));
    }
    Ok(())
}

fn with_values(properties: BTreeMap<String, Option<String>>) -> Result<BTreeMap<String, String>> {
    check_property_keys(Some(&properties))?;
    let value = |(key, value): (String, Option<String>)| match value {
        Some(value) => Ok((key, value)),
        None => Err(Error::invalid(format!("the property {key:?} has no value"))
            .at_member(format!("properties.{key}"))),
    };
    properties.into_iter().map(value).collect()
}

/// The JSON text of named values; none for an empty list.
fn json(values: Option<&[NamedValue]>) -> Result<Option<String>> {
    let Some(values) = values.filter(|values| !values.is_empty()) else { return Ok(None) };
    // The parser that reads the text back has a bound.
    if values.iter().any(|named| stored::is_deeper(&named.value, JSON_DEPTH)) {
        return Err(Error::limit(format!(
            "an input or output of the step nests in more than {JSON_DEPTH} levels; send the value \
             as a text"
        )));
    }
    serde_json::to_string(values)
        .map(Some)
        .map_err(|error| Error::invalid("a value of the step is no JSON").with_source(error))
}

pub(super) fn named_values(text: Option<&String>) -> Result<Vec<NamedValue>> {
    let Some(text) = text else { return Ok(Vec::new()) };
    serde_json::from_str(text).map_err(|error| {
        Error::corrupt(
            "the inputs or outputs of a step are damaged; restore the store from a backup",
        )
        .with_source(error)
    })
}

fn stored_data(data: StepData) -> Result<StoredData> {
    check_parameters(&data)?;
    let owned = |entry: BTreeMap<String, String>| {
        stored_parameter(entry.into_iter().map(|(key, text)| (Cow::Owned(key), text)))
    };
    let parameters = data.parameters.map(|entries| entries.into_iter().map(owned).collect());
    Ok(StoredData { text: data.text, parameters })
}

/// [`stored_data`] of data that stay as they are.
fn copied_data(data: &StepData) -> Result<StoredData> {
    check_parameters(data)?;
    let copied = |entry: &BTreeMap<String, String>| {
        stored_parameter(entry.iter().map(|(key, text)| (Cow::Borrowed(&**key), &**text)))
    };
    let parameters = data.parameters.as_ref().map(|all| all.iter().map(copied).collect());
    Ok(StoredData { text: data.text.clone(), parameters })
}

fn check_parameters(data: &StepData) -> Result<()> {
    let count = data.parameters.as_ref().map_or(0, Vec::len);
    if count > STEP_PARAMETERS {
        return Err(Error::limit(format!(
            "the step has {count} parameters, more than the {STEP_PARAMETERS} that it may have; \
             store its data as a table"
        ))
        .at_member("data.parameters"));
    }
    Ok(())
}

fn stored_parameter<'k, T: AsRef<str> + Into<String>>(
    entry: impl Iterator<Item = (Cow<'k, str>, T)>,
) -> StoredParameter {
    let mut parameter = StoredParameter::default();
    for (key, text) in entry {
        let member = match &*key {
            "name" => &mut parameter.name,
            "units" => &mut parameter.units,
            "lowLimit" => &mut parameter.low_limit,
            "highLimit" => &mut parameter.high_limit,
            "nominalValue" => &mut parameter.nominal_value,
            "comparisonType" => &mut parameter.comparison,
            "status" => &mut parameter.status,
            "specId" => &mut parameter.spec_id,
            "measurement" => {
                parameter.value = number(text.as_ref());
                let is_shortest =
                    parameter.value.is_some_and(|value| number_text(value) == text.as_ref());
                if is_shortest {
                    continue;
                }
                &mut parameter.text
            }
            _ => {
                parameter.extra.insert(key.into_owned(), text.into());
                continue;
            }
        };
        *member = Some(text.into());
    }
    parameter
}

/// The number that a text of a parameter is.
pub(crate) fn number(text: &str) -> Option<f64> {
    parse_f64(text.trim_matches([' ', '\t', '\n', '\r']))
}

pub(in crate::services::results) fn number_text(value: f64) -> String {
    let mut text = String::new();
    write_f64(value, &mut text);
    text
}

/// The entry that a parameter was sent as.
pub(super) fn entry(parameter: StoredParameter) -> BTreeMap<String, String> {
    let mut entry = parameter.extra;
    let measurement = parameter.text.or_else(|| parameter.value.map(number_text));
    // In the order of the map, which then moves nothing to make room.
    for (key, text) in [
        ("comparisonType", parameter.comparison),
        ("highLimit", parameter.high_limit),
        ("lowLimit", parameter.low_limit),
        ("measurement", measurement),
        ("name", parameter.name),
        ("nominalValue", parameter.nominal_value),
        ("specId", parameter.spec_id),
        ("status", parameter.status),
        ("units", parameter.units),
    ] {
        entry.extend(text.map(|text| (key.to_owned(), text)));
    }
    entry
}

/// The status of a step.
pub(super) fn status(step: &StoredStep) -> Option<Status> {
    let status_type: StatusType = step.status_type.as_deref()?.parse().ok()?;
    Some(Status { status_name: step.status_name.clone(), ..Status::new(status_type) })
}

/// A step as the service answers with it.
///
/// # Errors
/// `Corrupt`.
pub(super) fn answered(result: RecordKey, workspace: &str, step: StoredStep) -> Result<Step> {
    let id = step.id(result);
    let status = status(&step);
    let (inputs, outputs) =
        (named_values(step.inputs.as_ref())?, named_values(step.outputs.as_ref())?);
    let mut path_ids = step.ancestor_ids;
    path_ids.push(id.clone());
    Ok(Step {
        step_id: Some(id),
        result_id: Some(result.to_id(IdForm::Guid)),
        parent_id: step.parent_id,
        name: Some(step.name),
        step_type: step.step_type,
        status,
        started_at: Some(time::from_millis(step.started_at_ms)),
        total_time_in_seconds: Some(step.total_time),
        data: step.data.map(|data| StepData {
            text: data.text,
            parameters: data.parameters.map(|all| all.into_iter().map(entry).collect()),
        }),
        data_model: step.data_model,
        inputs: Some(inputs),
        outputs: Some(outputs),
        keywords: Some(step.keywords),
        properties: Some(step.properties),
        path: Some(step.path),
        path_ids: Some(path_ids),
        has_children: Some(step.has_children),
        workspace: Some(workspace.to_owned()),
        updated_at: Some(time::from_millis(step.updated_at_ms)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;
    use crate::value::limits;

    #[test]
    fn ids_and_parameters_of_a_step_are_bounded() {
        let new = |request: CreateStepRequest| new_step_at(request.name("n"), "", 0);
        let of_id = |bytes: usize| new(CreateStepRequest::new().step_id("i".repeat(bytes)));
        limits::holds_at(limits::STEP_ID_BYTES, ErrorKind::LimitExceeded, of_id);
        let of_parameters = |count: usize| {
            let data = StepData::new().parameters(vec![BTreeMap::new(); count]);
            new(CreateStepRequest::new().data(data))
        };
        limits::holds_at(limits::STEP_PARAMETERS, ErrorKind::LimitExceeded, of_parameters);
    }
}
