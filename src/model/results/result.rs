//! Test results: what a test program found about one unit.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};

use crate::error::{Error, Result};
use crate::model::resource::Resource;
use crate::model::resource::declare::{check_property_keys, fill, union, without_repeats};
use crate::model::results::status::{Status, StatusTypeSummary};
use crate::value::id::id_type;
use crate::value::{IdForm, Number};

id_type!(
    /// The id of a test result.
    TestResultId,
    IdForm::Guid
);

/// A test result; members that a projection omits are `None`.
#[derive(Clone, Debug, Default, PartialEq, Resource)]
#[resource(kind = 16, name = "TestResult", service(RESULTS), id(Guid), title(program_name))]
#[fields(id, program_name, status(status_type, status_name), system_id, host_name, operator)]
#[fields(serial_number, part_number, product_name(from(part_number), of(ProductName)))]
#[fields(started_at, started_within(within(started_at)))]
#[fields(updated_at, updated_within(within(updated_at)), total_time_in_seconds)]
#[fields(keywords, properties, file_ids, data_table_ids, workspace(also("workspaceId")))]
#[fields(workspace_name(from(workspace), of(WorkspaceName)))]
#[index(1, part_number, status(status_type), started_at, called(PART_NUMBER_STATUS))]
#[index(2, part_number, started_at)]
#[index(
    3,
    part_number,
    serial_number,
    program_name,
    started_at,
    include(status(status_type), status(status_name)),
    called(UNIT)
)]
#[index(4, status(status_type), started_at, called(STATUS))]
#[index(5, started_at)]
#[index(6, updated_at)]
#[index(7, program_name)]
#[index(8, operator)]
#[index(9, system_id)]
#[index(10, workspace)]
#[index(11, keywords)]
#[index(12, properties)]
#[text(part_number = 3.0, serial_number = 3.0, program_name = 2.0, keywords = 2.0)]
#[text(operator = 1.0, host_name = 1.0, properties = 1.0)]
#[order(ResultOrderBy(id, started_at, updated_at, program_name, system_id, host_name))]
#[order(ResultOrderBy(operator, serial_number, part_number, total_time_in_seconds))]
#[order(ResultOrderBy(properties, product_name = "PRODUCT"))]
#[order(ResultField(id, started_at, updated_at, program_name, system_id, host_name))]
#[order(ResultField(operator, serial_number, part_number, total_time_in_seconds))]
#[order(ResultField(product_name = "PRODUCT"))]
#[projection(ResultProjection(id, status, started_at, updated_at, program_name, system_id))]
#[projection(ResultProjection(host_name, operator, serial_number, part_number))]
#[projection(ResultProjection(total_time_in_seconds, keywords, properties, file_ids))]
#[projection(ResultProjection(data_table_ids, status_type_summary, workspace))]
#[request(CreateResultRequest = "A test result to create.")]
#[request(CreateResultRequest(
    program_name = "Name of the test program; required.",
    status = "Status; required."
))]
#[request(CreateResultRequest(
    part_number = "Part number of the product. A product with it is created if there is none.",
    serial_number,
    operator,
    system_id,
    host_name
))]
#[request(CreateResultRequest(
    started_at = "Time at which the test started; the time of the store when absent.",
    total_time_in_seconds(Option<Number>, "Duration of the test; 0 when absent."),
    keywords
))]
#[request(CreateResultRequest(
    properties = "Properties; one without a value is kept with null.",
    file_ids,
    data_table_ids
))]
#[request(CreateResultRequest(
    workspace = "Id of the workspace; the default workspace of the session when absent."
))]
#[request(UpdateResultRequest = "A change of a test result; absent members keep their values.")]
#[request(UpdateResultRequest(
    id(Option<String>, "Id of the result; required."),
    program_name = "New name of the test program.",
    status = "New status.",
    part_number = "New part number. A product with it is created if there is none."
))]
#[request(UpdateResultRequest(
    serial_number = "New serial number.",
    operator = "New operator.",
    system_id = "New system.",
    host_name = "New host."
))]
#[request(UpdateResultRequest(
    started_at = "New time of the start.",
    total_time_in_seconds(Option<Number>, "New duration."),
    keywords = "Keywords to add, or all keywords when replacing."
))]
#[request(UpdateResultRequest(
    properties = "Properties to set, or all properties when replacing; one without a value is kept \
                  with null.",
    file_ids = "Files to add, or all files when replacing.",
    data_table_ids = "Tables to add, or all tables when replacing."
))]
#[request(UpdateResultRequest(workspace = "New workspace."))]
#[non_exhaustive]
pub struct TestResult {
    /// Id in the store.
    pub id: Option<TestResultId>,
    /// Name of the test program.
    pub program_name: Option<String>,
    /// Status.
    pub status: Option<Status>,
    /// Part number of the product.
    pub part_number: Option<String>,
    /// Serial number of the unit.
    pub serial_number: Option<String>,
    /// The person who ran the test.
    pub operator: Option<String>,
    /// Id of the system that ran the test.
    pub system_id: Option<String>,
    /// Name of the host that ran the test.
    pub host_name: Option<String>,
    /// Time at which the test started.
    pub started_at: Option<DateTime<Utc>>,
    /// Duration of the test in seconds.
    pub total_time_in_seconds: Option<f64>,
    /// Keywords.
    pub keywords: Option<Vec<String>>,
    /// Properties; a value may be null.
    pub properties: Option<BTreeMap<String, Option<String>>>,
    /// Ids of files; their existence is not checked.
    pub file_ids: Option<Vec<String>>,
    /// Ids of tables; their existence is not checked.
    pub data_table_ids: Option<Vec<String>>,
    /// Id of the workspace.
    pub workspace: Option<String>,
    /// Time of creation, of the last update, or of the last change by a step.
    pub updated_at: Option<DateTime<Utc>>,
    /// Numbers of steps by the type of their status.
    pub status_type_summary: Option<StatusTypeSummary>,
    /// The sequence number of the next step.
    #[serde(skip)]
    pub(crate) steps_created: u64,
}

fn check_program_name(program_name: &str) -> Result<()> {
    if program_name.trim().is_empty() {
        return Err(Error::invalid("a result needs a program name that is not blank")
            .at_member("programName"));
    }
    Ok(())
}

/// The duration of a request, which may not be negative, infinite or not a number.
///
/// # Errors
/// `InvalidArgument` at the member.
pub(crate) fn total_time(seconds: Option<Number>) -> Result<Option<f64>> {
    let seconds = seconds.map(Number::as_f64);
    if seconds.is_some_and(|seconds| !seconds.is_finite() || seconds < 0.0) {
        return Err(Error::invalid("a total time is a finite number that is not negative")
            .at_member("totalTimeInSeconds"));
    }
    Ok(seconds)
}

impl TestResult {
    /// The record of a create request, without an id.
    ///
    /// # Errors
    /// `InvalidArgument` if the program name is blank, the status is missing, the total time is
    /// negative or not finite, or a property has an empty key.
    pub(crate) fn create(
        request: CreateResultRequest,
        now: DateTime<Utc>,
        default_workspace: &str,
    ) -> Result<Self> {
        check_program_name(request.program_name.as_deref().unwrap_or_default())?;
        if request.status.is_none() {
            return Err(Error::invalid("a result needs a status").at_member("status"));
        }
        let seconds = total_time(request.total_time_in_seconds)?;
        check_property_keys(request.properties.as_ref())?;
        let mut result = request.into_record();
        result.started_at.get_or_insert(now);
        result.total_time_in_seconds = Some(seconds.unwrap_or_default());
        result.keywords = result.keywords.map(without_repeats);
        result.file_ids = result.file_ids.map(without_repeats);
        result.data_table_ids = result.data_table_ids.map(without_repeats);
        result.workspace.get_or_insert_with(|| default_workspace.to_owned());
        result.updated_at = Some(now);
        result.status_type_summary = Some(StatusTypeSummary::default());
        Ok(result)
    }

    /// Applies an update request: scalars are replaced; collections are merged, or replaced if
    /// `replace` is set; absent members keep their values in both cases.
    ///
    /// # Errors
    /// As [`TestResult::create`], for the members that the request has.
    pub(crate) fn update(
        &mut self,
        mut request: UpdateResultRequest,
        replace: bool,
        now: DateTime<Utc>,
    ) -> Result<()> {
        request.program_name.as_deref().map_or(Ok(()), check_program_name)?;
        let seconds = total_time(request.total_time_in_seconds)?;
        check_property_keys(request.properties.as_ref())?;
        for (target, list) in [
            (&mut self.keywords, request.keywords.take()),
            (&mut self.file_ids, request.file_ids.take()),
            (&mut self.data_table_ids, request.data_table_ids.take()),
        ] {
            if let Some(list) = list {
                *target =
                    Some(if replace { without_repeats(list) } else { union(target.take(), list) });
            }
        }
        if let Some(properties) = request.properties.take() {
            let mut merged = self.properties.take().filter(|_| !replace).unwrap_or_default();
            merged.extend(properties);
            self.properties = Some(merged);
        }
        request.apply_to(self);
        self.total_time_in_seconds = seconds.or(self.total_time_in_seconds);
        // If the clock was set back, the time of an update must not be before the previous one.
        self.updated_at = self.updated_at.max(Some(now));
        Ok(())
    }

    /// The record as a response contains it: absent lists and maps are replaced by empty ones.
    #[must_use]
    pub(crate) fn answered(mut self) -> Self {
        fill(&mut self.keywords);
        fill(&mut self.properties);
        fill(&mut self.file_ids);
        fill(&mut self.data_table_ids);
        fill(&mut self.status_type_summary);
        self
    }
}
