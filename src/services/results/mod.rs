//! Test results: queries, merging updates, lists of values, and the products that they are about.

mod append;
mod attached;
mod creation;
mod csv;
mod figures;
mod product_filter;
mod retention;
mod runs;
mod steps;

pub(crate) use retention::retain_results;
#[cfg(test)]
pub(crate) use retention::retain_results_with;
pub use runs::{Measured, Run, RunSequence, RunStart, RunStep};

use std::collections::BTreeSet;
use std::io::Write;

use crate::error::{Error, Result};
use crate::filter::check_substitutions;
use crate::model::answer::Outcome;
use crate::model::results::{
    Capability, CapabilityRequest, ControlChart, ControlChartRequest, FailurePareto,
    FailureParetoRequest, GageRequest, GageStudy, Histogram, HistogramRequest, Yields,
    YieldsRequest,
};
use crate::model::results::{
    CreateStepRequest, CreateStepsPartialSuccess, DeleteStepsPartialSuccess, PagedPaths,
    PagedSteps, QueryPathsRequest, QueryStepValuesRequest, QueryStepsRequest, ResultRetention,
    ResultRetentionReport, ResultWithSteps, ScanMeasurementsRequest, ScanStepsRequest, Step,
    StepIdResultIdPair, StepPath, UpdateStepRequest, UpdateStepsPartialSuccess,
};
use crate::model::tables::table::TableMetadata;
use crate::model::{
    CreateResultRequest, CreateResultsPartialSuccess, DeleteResultsPartialSuccess,
    OrderByComparisonType, PagedResults, QueryResultValuesRequest, QueryResultsRequest, Resource,
    ResponseFormat, ResultField, ResultOrderBy, TestMonitorApiInfo, TestResult, TestResultId,
    UpdateResultRequest, UpdateResultsPartialSuccess, text_of,
};
use crate::services::declare::service;
use crate::services::queries::{self, QueryRequest};
use crate::services::records::RecordStream;
use crate::services::service_record::{ServiceRecord, Umbrella, found, get};
use crate::services::{batch, values};
use crate::session::{Access, Draft, EntryOrder, Plan, Query, Settings, View, What};
use crate::value::{Control, Env, guarded, key, limits};
use creation::{create, create_product};
use product_filter::product_filter;

pub(crate) use steps::check::{mend as mend_steps, verify as verify_steps};
#[cfg(test)]
pub(in crate::services) use steps::{PATH_FIELDS, STEP_FIELDS};

const DEFAULT_TAKE: usize = 1000;

service! {
/// Test results: what test programs found about units.
///
/// A result names its product by the part number, and need not name one that exists: a product
/// that is missing is created with the result. Items of a batch are validated one by one; failed
/// items are returned as they were sent, each with one inner error.
///
/// Methods may be added until version 1.0.
pub trait ResultService {
    /// The operations of products, test results and steps.
    ///
    /// # Errors
    /// None.
    ///
    /// ```
    #[doc = include_str!("example.txt")]
    /// assert!(session.result_api_info()?.operations.create_results.available);
    /// # Ok::<(), stationdb::Error>(())
    /// ```
    fn result_api_info(&self) -> Result<TestMonitorApiInfo> {
        Ok(TestMonitorApiInfo::current())
    }

    /// Creates test results.
    ///
    /// A result with a part number that no product has creates the product with it, in the
    /// workspace of the result, unless the policy or a quota refuses the product, or the option
    /// [`results_create_products`](crate::Settings::results_create_products) is off.
    ///
    /// # Errors
    /// In the response, for each item: `InvalidArgument` for a blank program name, a missing
    /// status, a total time that is negative or not finite, and a property with an empty key;
    /// `PermissionDenied`. For the call: errors of the disk.
    ///
    /// ```
    /// # fn main() -> stationdb::Result<()> {
    /// # let dir = tempfile::tempdir().map_err(|e| stationdb::Error::io("temp", e))?;
    /// use stationdb::prelude::*;
    /// use stationdb::results::{CreateResultRequest, QueryResultsRequest, StatusType};
    /// use stationdb::{Identity, Store};
    ///
    /// let store = Store::open(dir.path())?;
    /// let session = store.session(Identity::user("ada"));
    /// let gain = CreateResultRequest::new()
    ///     .program_name("Gain")
    ///     .status(StatusType::Failed)
    ///     .part_number("156502A-11L")
    ///     .serial_number("SN-1")
    ///     .total_time_in_seconds(29.9);
    /// let answer = session.create_results(vec![gain])?.into_result()?;
    /// assert_eq!(answer.results[0].part_number.as_deref(), Some("156502A-11L"));
    ///
    /// let query = QueryResultsRequest::new()
    ///     .filter(r#"status.statusType == "FAILED" && startedWithin <= "1.00:00:00""#)
    ///     .return_count(true);
    /// assert_eq!(session.query_results(query)?.total_count, Some(1));
    /// # Ok(())
    /// # }
    /// ```
    #[writes]
    fn create_results(
        &self,
        results: Vec<CreateResultRequest>,
    ) -> Result<CreateResultsPartialSuccess> {
        self.write(move |draft| {
            batch::run(draft, TestResult::UMBRELLA, results, |draft, position, request| {
                let name = request.program_name.clone().filter(|name| !name.trim().is_empty());
                let created = create(draft, request);
                created.map_err(batch::about_new(TestResult::KIND.name, name, position))
            })
        })
        .map(Into::into)
    }

    /// Creates test results together with their steps, tables and the rows of these, in one commit.
    ///
    /// Each result comes with all that it was given, or not at all. As in
    /// [`create_results`](ResultService::create_results), a result that is refused does not stop
    /// the others; [`Session::all_or_nothing`](crate::Session::all_or_nothing) makes it stop them.
    /// Files are uploaded before, and named among the members of the result. A result has no steps
    /// to read yet, so this is the cheapest way to store many.
    ///
    /// # Errors
    /// In the response, for each item: those of
    /// [`create_results`](ResultService::create_results),
    /// [`create_steps`](ResultService::create_steps),
    /// [`create_table`](crate::tables::TableService::create_table) and
    /// [`append_batches`](crate::tables::TableService::append_batches), with the place in the item;
    /// `InvalidArgument` for a step that names a result. `failed` has the results without their
    /// steps. For the call: `LimitExceeded` for more bytes than one commit may write, and for a
    /// quota that is reached between a result and one of its tables; errors of the disk.
    ///
    /// ```
    #[doc = include_str!("example.txt")]
    /// let run = CreateResultRequest::new().program_name("Gain").status(StatusType::Passed);
    /// let vout = [("name", "VOUT"), ("measurement", "12.01"), ("status", "Passed")]
    ///     .map(|(key, text)| (key.to_owned(), text.to_owned()));
    /// let vout: std::collections::BTreeMap<_, _> = vout.into_iter().collect();
    /// let power = CreateStepRequest::new()
    ///     .name("Power")
    ///     .status(StatusType::Passed)
    ///     .data(StepData::new().parameters([vout]));
    /// let made = session.append_results(&[ResultWithSteps::new(run).step(power)])?.into_result()?;
    /// assert_eq!(made.results[0].status_type_summary.as_ref().map(|all| all.passed), Some(1));
    /// # Ok::<(), stationdb::Error>(())
    /// ```
    #[writes]
    fn append_results(
        &self,
        results: &[ResultWithSteps],
    ) -> Result<CreateResultsPartialSuccess> {
        append::append(self, results).map(Into::into)
    }

    /// Returns the results of runs that nobody has ended, in the order of their start: those that a
    /// [`Run`] began, that are still RUNNING, and that the caller may see. Runs in progress are
    /// among them, so a station calls it before it begins any. A RUNNING result that another client
    /// stored is not.
    ///
    /// Each is carried on with [`Run::resume`], or ended with [`Run::terminate`].
    ///
    /// # Errors
    /// Those of the disk.
    ///
    /// ```
    #[doc = include_str!("example.txt")]
    /// let run = Run::begin("156502A-11L", "SN-2", "Gain").start(&session)?;
    /// run.step("Power").measure("VOUT", 12.01, "V").limits(11.8, 12.2).finish()?;
    /// drop(run); // as a crash does
    /// let left = &session.unfinished_runs()?[0];
    /// assert_eq!(left.status_type_summary.as_ref().map(|all| all.passed), Some(1));
    /// Run::resume(&session, left.id.as_ref().unwrap_or(&id))?.terminate()?;
    /// assert_eq!(session.unfinished_runs()?, []);
    /// # Ok::<(), stationdb::Error>(())
    /// ```
    fn unfinished_runs(&self) -> Result<Vec<TestResult>> {
        self.read(|view| runs::unfinished(view))
    }

    /// Returns one page of all test results, in order of creation.
    ///
    /// # Errors
    /// `InvalidArgument` for a token that is malformed or belongs to another query; `LimitExceeded`
    /// for a page of more than 100,000 results.
    ///
    /// ```
    #[doc = include_str!("example.txt")]
    /// let page = session.get_results(None, Some(100), true)?;
    /// assert_eq!(page.total_count, Some(1));
    /// # Ok::<(), stationdb::Error>(())
    /// ```
    fn get_results(
        &self,
        continuation_token: Option<String>,
        take: Option<i64>,
        return_count: bool,
    ) -> Result<PagedResults> {
        let return_count = Some(return_count);
        self.query_results(QueryResultsRequest {
            continuation_token,
            take,
            return_count,
            ..Default::default()
        })
    }

    /// Returns the test result with this id.
    ///
    /// # Errors
    /// `NotFound` if no result that the caller may see has this id.
    ///
    /// ```
    #[doc = include_str!("example.txt")]
    /// assert_eq!(session.get_result(&id)?.serial_number.as_deref(), Some("SN-1"));
    /// # Ok::<(), stationdb::Error>(())
    /// ```
    fn get_result(&self, id: &TestResultId) -> Result<TestResult> {
        get(self, id)
    }

    /// Returns one page of the test results that match.
    ///
    /// # Errors
    /// `InvalidArgument` for an invalid filter, with its position, for an invalid substitution or
    /// token, for the order `PROPERTIES` without `orderByKey`, and for the response format `CSV`,
    /// which [`query_results_csv`](ResultService::query_results_csv) answers; `LimitExceeded` for a
    /// page of more than 100,000 results.
    ///
    /// ```
    #[doc = include_str!("example.txt")]
    /// let query = QueryResultsRequest::new()
    ///     .filter("partNumber == @0")
    ///     .substitutions(["156502A-11L"])
    ///     .order_by(ResultOrderBy::Properties)
    ///     .order_by_key("lot")
    ///     .order_by_comparison_type(OrderByComparisonType::Numeric);
    /// assert_eq!(session.query_results(query)?.results.len(), 1);
    /// # Ok::<(), stationdb::Error>(())
    /// ```
    fn query_results(&self, query: QueryResultsRequest) -> Result<PagedResults> {
        if query.response_format == Some(ResponseFormat::Csv) {
            return Err(Error::invalid(
                "query_results answers with records; query_results_csv answers with CSV",
            )
            .at_member("responseFormat"));
        }
        queries::page(self, &query).map(Into::into)
    }

    /// Returns one page of the test results that match as CSV: a header, then one line for each
    /// result, whatever the response format of the query.
    ///
    /// The columns are the members of the projection in its own order, the status as one text, and
    /// then one column for each type of status of `statusTypeSummary` and for each property of the
    /// page. Lists are JSON.
    ///
    /// # Errors
    /// As [`query_results`](ResultService::query_results).
    ///
    /// ```
    #[doc = include_str!("example.txt")]
    /// let members = [ResultProjection::SerialNumber, ResultProjection::Status];
    /// let query = QueryResultsRequest::new().projection(members);
    /// assert_eq!(session.query_results_csv(query)?, "status,serialNumber\nPASSED,SN-1\n");
    /// # Ok::<(), stationdb::Error>(())
    /// ```
    fn query_results_csv(&self, query: QueryResultsRequest) -> Result<String> {
        csv::page(self, &query)
    }

    /// Writes all test results that match as CSV, in the form and order of
    /// [`query_results_csv`](ResultService::query_results_csv), over one consistent state. Returns
    /// their number. The token and the size of the page have no effect.
    ///
    /// # Errors
    /// As [`query_results`](ResultService::query_results); errors of the writer;
    /// `DeadlineExceeded` and `Cancelled` from the control.
    ///
    /// ```
    #[doc = include_str!("example.txt")]
    /// let mut text = Vec::new();
    /// let written =
    ///     session.export_results(QueryResultsRequest::new(), &mut text, &Control::default())?;
    /// assert_eq!(written, 1);
    /// # Ok::<(), stationdb::Error>(())
    /// ```
    fn export_results(
        &self,
        query: QueryResultsRequest,
        out: &mut (dyn Write + Send),
        control: &Control,
    ) -> Result<u64> {
        guarded("exporting results", || csv::export(self, &query, out, control))
    }

    /// Explains how a query is executed, and how many records it reads.
    ///
    /// # Errors
    /// As [`query_results`](ResultService::query_results).
    ///
    /// ```
    #[doc = include_str!("example.txt")]
    /// let query = QueryResultsRequest::new().filter("partNumber == \"156502A-11L\"");
    /// println!("{}", session.explain_query_results(query)?);
    /// # Ok::<(), stationdb::Error>(())
    /// ```
    fn explain_query_results(&self, query: QueryResultsRequest) -> Result<Plan> {
        queries::explain(self, &query)
    }

    /// Returns the distinct values of a field over the test results that match, in ascending text
    /// order, without nulls.
    ///
    /// Without a filter the values of programs, part numbers, operators, systems and times are read
    /// from an index, and the cost grows with their number.
    ///
    /// # Errors
    /// `InvalidArgument` without a field, and for an invalid filter.
    ///
    /// ```
    #[doc = include_str!("example.txt")]
    /// let query = QueryResultValuesRequest::new().field(ResultField::ProgramName);
    /// assert_eq!(session.query_result_values(query)?, ["Gain"]);
    /// # Ok::<(), stationdb::Error>(())
    /// ```
    fn query_result_values(&self, query: QueryResultValuesRequest) -> Result<Vec<String>> {
        let field = query
            .field
            .ok_or_else(|| Error::invalid("a query of values needs a field").at_member("field"))?;
        check_substitutions(query.substitutions.as_deref().unwrap_or_default())?;
        let prefix = query.starts_with.as_deref().unwrap_or_default();
        self.read(|view| {
            let values = values_of(view, &query, field, prefix)?;
            Ok(values.into_iter().filter(|value| value.starts_with(prefix)).collect())
        })
    }

    /// Updates test results. Scalars are replaced; keywords, properties, files and tables are
    /// merged, or replaced if `replace` is set; absent members keep their values.
    ///
    /// With `determine_status_from_steps` each result gets the status of the most severe of its
    /// steps. A result of which no step has a status keeps its own.
    ///
    /// # Errors
    /// In the response, for each item: `NotFound`, `InvalidArgument` as in
    /// [`create_results`](ResultService::create_results), `PermissionDenied`. For the call: errors
    /// of the disk.
    ///
    /// ```
    #[doc = include_str!("example.txt")]
    /// let change = UpdateResultRequest::new().id(id.clone()).status(StatusType::Terminated);
    /// let changed = session.update_results(vec![change], false, false)?;
    /// assert_eq!(changed.results[0].status, Some(StatusType::Terminated.into()));
    /// # Ok::<(), stationdb::Error>(())
    /// ```
    #[writes]
    fn update_results(
        &self,
        results: Vec<UpdateResultRequest>,
        replace: bool,
        determine_status_from_steps: bool,
    ) -> Result<UpdateResultsPartialSuccess> {
        self.write(move |draft| {
            let ids = results.iter().filter_map(|request| request.id.as_deref());
            draft.expect_reads::<TestResult>(ids);
            batch::run(draft, TestResult::UMBRELLA, results, |draft, _, request| {
                let id = request.id.clone().unwrap_or_default();
                update(draft, &id, request, replace, determine_status_from_steps)
                    .map_err(batch::about(TestResult::KIND.name, id))
            })
        })
        .map(Into::into)
    }

    /// Deletes a test result, with its steps if `delete_steps` is set. A result that does not exist
    /// is not an error. Its product, tables and files remain.
    ///
    /// # Errors
    /// `PermissionDenied`.
    ///
    /// ```
    #[doc = include_str!("example.txt")]
    /// session.delete_result(&id, true)?;
    /// assert!(session.get_result(&id).is_err());
    /// # Ok::<(), stationdb::Error>(())
    /// ```
    #[writes]
    fn delete_result(&self, id: &TestResultId, delete_steps: bool) -> Result<()> {
        let id = id.to_owned();
        self.write(move |draft| delete(draft, &id, delete_steps))
    }

    /// Deletes test results, with their steps if `delete_steps` is set; returns `None` if all were
    /// deleted.
    ///
    /// # Errors
    /// In the response, for each id: `NotFound`, `PermissionDenied`. For the call: errors of the
    /// disk.
    ///
    /// ```
    #[doc = include_str!("example.txt")]
    /// assert_eq!(session.delete_results(vec![id], true)?, None);
    /// # Ok::<(), stationdb::Error>(())
    /// ```
    #[writes]
    fn delete_results(
        &self,
        ids: Vec<TestResultId>,
        delete_steps: bool,
    ) -> Result<Option<DeleteResultsPartialSuccess>> {
        self.write(move |draft| {
            let mut gone = steps::DeletedSteps::default();
            let outcome = batch::delete_with::<TestResult>(draft, ids, |draft, result| {
                if delete_steps { gone.add(draft, result) } else { steps::keep_of(draft, result) }
            })?;
            gone.save(draft)?;
            Ok(outcome)
        })
        .map(Outcome::unless_all_succeeded)
    }

    /// Deletes the test results that a policy does not keep, with their steps, and with the tables
    /// and files that only these results name; with `dry_run` only tells what would go.
    ///
    /// Results are deleted in commits of 100, so other writers do not wait long. A result that
    /// changes meanwhile stays. A table goes with its last result that is named by it or names it,
    /// a file with the last result that names it, unless a product, an asset, a work item, a test
    /// plan or a template names it. Of results that the caller may not see or not delete none goes,
    /// and tables and files that the caller may not delete stay. The newest of a product are
    /// counted among the results that the caller may see.
    ///
    /// With [`Settings::result_retention`](crate::Settings::result_retention) maintenance carries
    /// out a policy by itself.
    ///
    /// # Errors
    /// `InvalidArgument` for a policy without an entry, and for an entry without a member or with a
    /// 0; `LimitExceeded` for newest results that take more memory than `query_memory_bytes`;
    /// `DeadlineExceeded` and `Cancelled` from the control: what was deleted until then stays
    /// deleted.
    ///
    /// ```
    #[doc = include_str!("example.txt")]
    /// let keep = KeepResults::new().statuses([StatusType::Failed]);
    /// let policy = ResultRetention::new([keep, KeepResults::new().age_seconds(86_400)]);
    /// let would = session.apply_result_retention(policy, true, &Control::default())?;
    /// assert_eq!((would.results, would.kept), (0, 1));
    /// # Ok::<(), stationdb::Error>(())
    /// ```
    #[writes]
    fn apply_result_retention(
        &self,
        retention: ResultRetention,
        dry_run: bool,
        control: &Control,
    ) -> Result<ResultRetentionReport> {
        guarded("carrying out the retention of results", || {
            retention::apply_for_caller(self, &retention, dry_run, control)
        })
    }

    /// Creates steps of test results, each with the steps that are part of it.
    ///
    /// A step is created with all its children or not at all. All steps of a call are one commit.
    /// With `update_result_total_time` each result gets the sum of the times of its top steps; a
    /// step without a time counts as its children do. The status of a result and of a parent never
    /// follows by itself.
    ///
    /// # Errors
    /// In the response, for each item: `NotFound` for an unknown result; `InvalidArgument` without
    /// a name, for a total time that is negative or not finite, for a property without a value, and
    /// for a child that names another parent or result; `Conflict` for an id that another step of
    /// the result has; `LimitExceeded` for a step of more than 4 MiB or 100,000 parameters, and for
    /// more than 100 levels; `PermissionDenied`. For the call: errors of the disk.
    ///
    /// ```
    #[doc = include_str!("step_example.txt")]
    /// let vout = [("name", "VOUT"), ("measurement", "12.01"), ("units", "V")]
    ///     .map(|(key, text)| (key.to_owned(), text.to_owned()));
    /// let vout: std::collections::BTreeMap<_, _> = vout.into_iter().collect();
    /// let measured = CreateStepRequest::new()
    ///     .name("Output")
    ///     .status(StatusType::Passed)
    ///     .data(StepData::new().parameters([vout]));
    /// let supply = CreateStepRequest::new()
    ///     .result_id(id.to_string())
    ///     .name("Supply")
    ///     .children(vec![measured]);
    /// let made = session.create_steps(vec![supply], false)?.into_result()?;
    /// assert_eq!(made.steps[1].path.as_deref(), Some("Supply\nOutput"));
    /// # Ok::<(), stationdb::Error>(())
    /// ```
    #[writes]
    fn create_steps(
        &self,
        steps: Vec<CreateStepRequest>,
        update_result_total_time: bool,
    ) -> Result<CreateStepsPartialSuccess> {
        self.write(move |draft| steps::create(draft, steps, update_result_total_time))
            .map(Into::into)
    }

    /// Returns one page of all steps, in order of result and creation.
    ///
    /// # Errors
    /// As [`query_steps`](ResultService::query_steps).
    ///
    /// ```
    #[doc = include_str!("step_example.txt")]
    /// assert_eq!(session.get_steps(None, Some(1), true)?.total_count, Some(1));
    /// # Ok::<(), stationdb::Error>(())
    /// ```
    fn get_steps(
        &self,
        continuation_token: Option<String>,
        take: Option<i64>,
        return_count: bool,
    ) -> Result<PagedSteps> {
        let return_count = Some(return_count);
        self.query_steps(QueryStepsRequest {
            continuation_token,
            take,
            return_count,
            ..Default::default()
        })
    }

    /// Returns the step with these ids.
    ///
    /// # Errors
    /// `NotFound` if no step that the caller may see has them.
    ///
    /// ```
    #[doc = include_str!("step_example.txt")]
    /// assert_eq!(session.get_step(&id, "power")?.name.as_deref(), Some("Power"));
    /// # Ok::<(), stationdb::Error>(())
    /// ```
    fn get_step(&self, result_id: &TestResultId, step_id: &str) -> Result<Step> {
        steps::get(self, result_id, step_id)
    }

    /// Returns one page of the steps that match.
    ///
    /// Steps of one result are found by the result; others by a pass over the columns that the
    /// filter names.
    ///
    /// # Errors
    /// `InvalidArgument` for an invalid filter, with its position, for an invalid substitution or
    /// token; `LimitExceeded` for a page of more than 100,000 steps, or of more memory than
    /// `query_memory_bytes`.
    ///
    /// ```
    #[doc = include_str!("step_example.txt")]
    /// let query = QueryStepsRequest::new()
    ///     .filter("name == \"Power\" && status.statusType == \"PASSED\"")
    ///     .result_filter("programName == \"Gain\"");
    /// assert_eq!(session.query_steps(query)?.steps.len(), 1);
    /// # Ok::<(), stationdb::Error>(())
    /// ```
    fn query_steps(&self, query: QueryStepsRequest) -> Result<PagedSteps> {
        if query.response_format == Some(ResponseFormat::Csv) {
            return Err(Error::invalid(
                "query_steps answers with records; query_steps_csv answers with CSV",
            )
            .at_member("responseFormat"));
        }
        self.read(|view| steps::page(view, &query)).map(Into::into)
    }

    /// Returns one page of the steps that match as CSV: a header, then one line for each step,
    /// whatever the response format of the query.
    ///
    /// The columns are the members of the projection in the order of its enumeration, the status as
    /// one text, and then one column for each input, output and property of the page. Lists and
    /// data are JSON. Of several inputs, or outputs, of a step with one name, the first is shown.
    ///
    /// # Errors
    /// As [`query_steps`](ResultService::query_steps).
    ///
    /// ```
    #[doc = include_str!("step_example.txt")]
    /// let members = [StepProjection::Status, StepProjection::Name];
    /// let query = QueryStepsRequest::new().projection(members);
    /// assert_eq!(session.query_steps_csv(query)?, "name,status\nPower,PASSED\n");
    /// # Ok::<(), stationdb::Error>(())
    /// ```
    fn query_steps_csv(&self, query: QueryStepsRequest) -> Result<String> {
        self.read(|view| steps::csv_page(view, &query))
    }

    /// Writes all steps that match as CSV, in the form and order of
    /// [`query_steps_csv`](ResultService::query_steps_csv), over one consistent state. Returns
    /// their number. The token and the size of the page have no effect.
    ///
    /// In an order other than that of result and creation, all steps are read once for each part
    /// that `query_memory_bytes` holds.
    ///
    /// # Errors
    /// As [`query_steps`](ResultService::query_steps); `LimitExceeded` for names of inputs, outputs
    /// and properties of more memory than `query_memory_bytes`; errors of the writer;
    /// `DeadlineExceeded` and `Cancelled` from the control.
    ///
    /// ```
    #[doc = include_str!("step_example.txt")]
    /// let mut text = Vec::new();
    /// let written =
    ///     session.export_steps(QueryStepsRequest::new(), &mut text, &Control::default())?;
    /// assert_eq!(written, 1);
    /// # Ok::<(), stationdb::Error>(())
    /// ```
    fn export_steps(
        &self,
        query: QueryStepsRequest,
        out: &mut (dyn Write + Send),
        control: &Control,
    ) -> Result<u64> {
        guarded("exporting steps", || steps::export(self, &query, out, control))
    }

    /// Explains how a query of steps is executed.
    ///
    /// # Errors
    /// As [`query_steps`](ResultService::query_steps).
    ///
    /// ```
    #[doc = include_str!("step_example.txt")]
    /// let query = QueryStepsRequest::new().filter("name == \"Power\"");
    /// println!("{}", session.explain_query_steps(query)?);
    /// # Ok::<(), stationdb::Error>(())
    /// ```
    fn explain_query_steps(&self, query: QueryStepsRequest) -> Result<Plan> {
        self.read(|view| steps::explain(view, &query))
    }

    /// Returns the distinct values of a field over the steps that match, in ascending text order,
    /// without nulls.
    ///
    /// # Errors
    /// `InvalidArgument` without a field, and for an invalid filter; `LimitExceeded` for values of
    /// more memory than `query_memory_bytes`.
    ///
    /// ```
    #[doc = include_str!("step_example.txt")]
    /// let query = QueryStepValuesRequest::new().field(StepField::Name);
    /// assert_eq!(session.query_step_values(query)?, ["Power"]);
    /// # Ok::<(), stationdb::Error>(())
    /// ```
    fn query_step_values(&self, query: QueryStepValuesRequest) -> Result<Vec<String>> {
        self.read(|view| steps::values(view, &query))
    }

    /// Updates steps, and those of their children that are listed, each by itself: a child is
    /// changed also where the one around it fails. Absent members keep their values. Data, inputs
    /// and outputs are replaced as a whole; keywords and properties are merged, or replaced with
    /// `replace_keywords` and `replace_properties`.
    ///
    /// A change that failed is answered as it was sent, with its children. One that is part of
    /// another one that failed is answered as part of that, and its error is an inner error of the
    /// other's.
    ///
    /// # Errors
    /// In the response, for each item: `NotFound` for ids that no step has; `InvalidArgument` as in
    /// [`create_steps`](ResultService::create_steps), and for a parent that is below the step;
    /// `LimitExceeded`, `PermissionDenied`. For the call: errors of the disk.
    ///
    /// ```
    #[doc = include_str!("step_example.txt")]
    /// let change = UpdateStepRequest::new()
    ///     .result_id(id.to_string())
    ///     .step_id("power")
    ///     .status(StatusType::Failed);
    /// let changed = session.update_steps(vec![change], false, false, false)?.into_result()?;
    /// assert_eq!(changed.steps[0].status, Some(StatusType::Failed.into()));
    /// # Ok::<(), stationdb::Error>(())
    /// ```
    #[writes]
    fn update_steps(
        &self,
        steps: Vec<UpdateStepRequest>,
        update_result_total_time: bool,
        replace_keywords: bool,
        replace_properties: bool,
    ) -> Result<UpdateStepsPartialSuccess> {
        let replace =
            steps::Replace { keywords: replace_keywords, properties: replace_properties };
        self.write(move |draft| steps::update(draft, steps, update_result_total_time, replace))
            .map(Into::into)
    }

    /// Deletes a step; its children stay.
    ///
    /// # Errors
    /// `NotFound` for ids that no step has; `PermissionDenied`.
    ///
    /// ```
    #[doc = include_str!("step_example.txt")]
    /// session.delete_step(&id, "power", false)?;
    /// assert!(session.get_step(&id, "power").is_err());
    /// # Ok::<(), stationdb::Error>(())
    /// ```
    #[writes]
    fn delete_step(
        &self,
        result_id: &TestResultId,
        step_id: &str,
        update_result_total_time: bool,
    ) -> Result<()> {
        let (result_id, step_id) = (result_id.to_owned(), step_id.to_owned());
        self.write(move |draft| {
            steps::delete_one(draft, &result_id, &step_id, update_result_total_time)
        })
    }

    /// Deletes steps; their children stay. Returns `None` if all were deleted.
    ///
    /// # Errors
    /// In the response, for each item: `NotFound`, `PermissionDenied`. For the call: errors of the
    /// disk.
    ///
    /// ```
    #[doc = include_str!("step_example.txt")]
    /// let pair = StepIdResultIdPair::new("power", id.to_string());
    /// assert_eq!(session.delete_steps(vec![pair], false)?, None);
    /// # Ok::<(), stationdb::Error>(())
    /// ```
    #[writes]
    fn delete_steps(
        &self,
        steps: Vec<StepIdResultIdPair>,
        update_result_total_time: bool,
    ) -> Result<Option<DeleteStepsPartialSuccess>> {
        self.write(move |draft| steps::delete(draft, steps, update_result_total_time))
            .map(Outcome::unless_all_succeeded)
    }

    /// Returns one page of all paths.
    ///
    /// # Errors
    /// As [`query_paths`](ResultService::query_paths).
    ///
    /// ```
    #[doc = include_str!("step_example.txt")]
    /// assert_eq!(session.get_paths(None, None, true)?.total_count, Some(1));
    /// # Ok::<(), stationdb::Error>(())
    /// ```
    fn get_paths(
        &self,
        continuation_token: Option<String>,
        take: Option<i64>,
        return_count: bool,
    ) -> Result<PagedPaths> {
        let return_count = Some(return_count);
        self.query_paths(QueryPathsRequest {
            continuation_token,
            take,
            return_count,
            ..Default::default()
        })
    }

    /// Returns the path with this id.
    ///
    /// # Errors
    /// `NotFound` if no step that the caller may see has it.
    ///
    /// ```
    #[doc = include_str!("step_example.txt")]
    /// let page = session.get_paths(None, None, false)?;
    /// let id = page.paths[0].id.clone().unwrap_or_default();
    /// assert_eq!(session.get_path(&id)?.path.as_deref(), Some("Power"));
    /// # Ok::<(), stationdb::Error>(())
    /// ```
    fn get_path(&self, id: &str) -> Result<StepPath> {
        self.read(|view| steps::paths::get(view, id))
    }

    /// Returns one page of the paths that match: one for each program, part number and path that
    /// occurs among steps, with the inputs, outputs and measurements that they have.
    ///
    /// Paths are computed from the steps that are there. A filter on program or part number reads
    /// only the steps of these.
    ///
    /// # Errors
    /// `InvalidArgument` for an invalid filter, with its position, for an invalid substitution or
    /// token; `LimitExceeded` for a page of more than 100,000 paths, and for paths of more memory
    /// than `query_memory_bytes`.
    ///
    /// ```
    #[doc = include_str!("step_example.txt")]
    /// let query = QueryPathsRequest::new().filter("programName == \"Gain\"");
    /// assert_eq!(session.query_paths(query)?.paths[0].path.as_deref(), Some("Power"));
    /// # Ok::<(), stationdb::Error>(())
    /// ```
    fn query_paths(&self, query: QueryPathsRequest) -> Result<PagedPaths> {
        self.read(|view| steps::paths::page(view, &query)).map(Into::into)
    }

    /// Computes yields: the shares of good units and results, by group, and over the programs of
    /// each part number.
    ///
    /// Results of `PASSED` are good, those of `FAILED`, `ERRORED`, `TERMINATED` and `TIMED_OUT` are
    /// bad, all others are counted by type. A unit is a part number, a serial number and a program.
    /// No record is read unless a filter or a group needs it.
    ///
    /// # Errors
    /// `InvalidArgument` for an invalid filter, with its position, for an unknown group or zone,
    /// and for a status type that is good and bad; `LimitExceeded` for too many groups, and for
    /// matches of more memory than `query_memory_bytes`; `DeadlineExceeded` and `Cancelled`.
    ///
    /// ```
    #[doc = include_str!("step_example.txt")]
    /// use stationdb::results::YieldsRequest;
    ///
    /// let request = YieldsRequest::new().group_by(["WEEK".to_owned()]);
    /// let yields = session.yields(request, &Control::default())?;
    /// assert_eq!(yields.groups.len(), 1);
    /// # Ok::<(), stationdb::Error>(())
    /// ```
    fn yields(&self, request: YieldsRequest, control: &Control) -> Result<Yields> {
        guarded("computing yields", || {
            self.read(|view| figures::yields(view, &request, control))
        })
    }

    /// Counts the failures of results by the steps that failed, the most frequent first.
    ///
    /// A failing step has a bad status, and no step below it has one. A result without a failing
    /// step counts under the key null.
    ///
    /// # Errors
    /// `InvalidArgument` for an invalid filter, with its position, and for a status type that is
    /// good and bad; `LimitExceeded` for too many keys, and for matches of more memory than
    /// `query_memory_bytes`; `DeadlineExceeded` and `Cancelled`.
    ///
    /// ```
    #[doc = include_str!("step_example.txt")]
    /// use stationdb::results::FailureParetoRequest;
    ///
    /// let pareto = session.failure_pareto(FailureParetoRequest::new(), &Control::default())?;
    /// assert_eq!(pareto.total, pareto.results);
    /// # Ok::<(), stationdb::Error>(())
    /// ```
    fn failure_pareto(
        &self,
        request: FailureParetoRequest,
        control: &Control,
    ) -> Result<FailurePareto> {
        guarded("counting failures", || {
            self.read(|view| figures::failure_pareto(view, &request, control))
        })
    }

    /// Computes the capability of one measurement: mean, deviations, and the ratios to the limits.
    ///
    /// Only the columns that are needed are read, of the rows with the name. Values come in order
    /// of start and id of the result, step order, and position. Steps that outlived their result,
    /// and steps with `SKIPPED`, take no part.
    ///
    /// # Errors
    /// `InvalidArgument` for an invalid filter, with its position, for values of several units or
    /// paths that the request does not choose from, and for subgroups without constants;
    /// `LimitExceeded` for values of more memory than `query_memory_bytes`; `DeadlineExceeded` and
    /// `Cancelled`.
    ///
    /// ```
    #[doc = include_str!("step_example.txt")]
    /// use stationdb::results::CapabilityRequest;
    ///
    /// let request = CapabilityRequest::new("VOUT").low_limit(9.4).high_limit(10.6);
    /// assert_eq!(session.capability(request, &Control::default())?.n, 0);
    /// # Ok::<(), stationdb::Error>(())
    /// ```
    fn capability(&self, request: CapabilityRequest, control: &Control) -> Result<Capability> {
        guarded("computing a capability", || {
            self.read(|view| figures::capability(view, &request, control))
        })
    }

    /// Counts the values of one measurement by ranges.
    ///
    /// Without bins and ends they follow from the number and the extremes of the values.
    ///
    /// # Errors
    /// `InvalidArgument` for an invalid filter, with its position, for values of several units or
    /// paths that the request does not choose from, and for ends that make no ranges;
    /// `LimitExceeded` for values of more memory than `query_memory_bytes`; `DeadlineExceeded` and
    /// `Cancelled`.
    ///
    /// ```
    #[doc = include_str!("step_example.txt")]
    /// use stationdb::results::HistogramRequest;
    ///
    /// let request = HistogramRequest::new("VOUT").bins(4_i64);
    /// assert_eq!(session.histogram(request, &Control::default())?.n, 0);
    /// # Ok::<(), stationdb::Error>(())
    /// ```
    fn histogram(&self, request: HistogramRequest, control: &Control) -> Result<Histogram> {
        guarded("computing a histogram", || {
            self.read(|view| figures::histogram(view, &request, control))
        })
    }

    /// Computes the control chart of one measurement: center, limits, and a page of its points with
    /// the rules that they break.
    ///
    /// The limits are those of all points, whatever page is asked for.
    ///
    /// # Errors
    /// `InvalidArgument` for an invalid filter, with its position, for values of several units or
    /// paths that the request does not choose from, and for a token of another chart;
    /// `LimitExceeded` for values of more memory than `query_memory_bytes`; `DeadlineExceeded` and
    /// `Cancelled`.
    ///
    /// ```
    #[doc = include_str!("step_example.txt")]
    /// use stationdb::results::ControlChartRequest;
    ///
    /// let request = ControlChartRequest::new("VOUT").take(100_i64);
    /// assert_eq!(session.control_chart(request, &Control::default())?.points, []);
    /// # Ok::<(), stationdb::Error>(())
    /// ```
    fn control_chart(
        &self,
        request: ControlChartRequest,
        control: &Control,
    ) -> Result<ControlChart> {
        guarded("computing a control chart", || {
            self.read(|view| figures::control_chart(view, &request, control))
        })
    }

    /// Computes how much of the deviation of one measurement the gage makes, from a crossed and
    /// balanced study: parts are serial numbers, appraisers are operators.
    ///
    /// # Errors
    /// `InvalidArgument` for an invalid filter, with its position, for values of several units or
    /// paths that the request does not choose from, and for a study that is not balanced;
    /// `LimitExceeded` for values of more memory than `query_memory_bytes`; `DeadlineExceeded` and
    /// `Cancelled`.
    ///
    /// ```
    #[doc = include_str!("step_example.txt")]
    /// use stationdb::results::GageRequest;
    ///
    /// let nothing = session.gage(GageRequest::new("VOUT"), &Control::default());
    /// assert_eq!(nothing.unwrap_err().kind(), stationdb::ErrorKind::InvalidArgument);
    /// # Ok::<(), stationdb::Error>(())
    /// ```
    fn gage(&self, request: GageRequest, control: &Control) -> Result<GageStudy> {
        guarded("computing a gage study", || {
            self.read(|view| figures::gage(view, &request, control))
        })
    }

    /// Returns the ids of the tables of a result: those that its dataTableIds name, in their order,
    /// then the tables that the caller may see whose testResultId is the id of the result.
    ///
    /// # Errors
    /// `NotFound` for an unknown result.
    ///
    /// ```
    #[doc = include_str!("step_example.txt")]
    /// assert!(session.tables_of_result(&id)?.is_empty());
    /// # Ok::<(), stationdb::Error>(())
    /// ```
    fn tables_of_result(&self, id: &TestResultId) -> Result<Vec<String>> {
        self.read(|view| tables_of(view, id.as_str()))
    }

    /// Returns steps that the caller may see, in order of result and creation, as a stream of
    /// batches over one consistent state.
    ///
    /// The columns are the fields of steps in snake case, then `record` with the whole step as
    /// JSON; inputs and outputs are lists of `name` and `value`, which is JSON text.
    /// [`ScanStepsRequest::schema`] has them all.
    ///
    /// # Errors
    /// `InvalidArgument` for an unknown column, for a negative `take` and for an invalid filter,
    /// with its position; `Unsupported` in a transaction.
    ///
    /// ```
    #[doc = include_str!("step_example.txt")]
    /// let request = ScanStepsRequest::new().columns(["step_id", "status"]);
    /// let steps = session.scan_steps(request, &Control::default())?;
    /// assert_eq!(steps.map(|batch| batch.map_or(0, |batch| batch.num_rows())).sum::<usize>(), 1);
    /// # Ok::<(), stationdb::Error>(())
    /// ```
    fn scan_steps(&self, request: ScanStepsRequest, control: &Control) -> Result<RecordStream> {
        check_scan(self.is_transaction())?;
        guarded("reading steps", || steps::scan_steps(self.context(), &request, control))
    }

    /// Returns the measurements of steps that the caller may see, with members of their steps and
    /// results, as a stream of batches over one consistent state. Their order is not defined.
    ///
    /// Name and path select among columns, and so do the filters of steps that read only members
    /// that columns have. `started_at` is the start of the step. Steps that outlive their result
    /// have its last workspace, and nulls in its other columns. [`ScanMeasurementsRequest::schema`]
    /// has all columns.
    ///
    /// # Errors
    /// As [`scan_steps`](ResultService::scan_steps).
    ///
    /// ```
    #[doc = include_str!("step_example.txt")]
    /// let request = ScanMeasurementsRequest::new().name("VOUT").columns(["serial_number", "value"]);
    /// assert_eq!(session.scan_measurements(request, &Control::default())?.count(), 0);
    /// # Ok::<(), stationdb::Error>(())
    /// ```
    fn scan_measurements(
        &self,
        request: ScanMeasurementsRequest,
        control: &Control,
    ) -> Result<RecordStream> {
        check_scan(self.is_transaction())?;
        guarded("reading measurements", || {
            steps::scan_measurements(self.context(), &request, control)
        })
    }
}
}

impl ServiceRecord for TestResult {
    const UMBRELLA: Umbrella = Umbrella::TEST_MONITOR;
    const ABSENT: (&'static str, Option<i64>) = ("TestMonitor.InvalidId", Some(-253_700));

    fn in_answer(self, _env: &Env) -> Self {
        self.answered()
    }
}

impl QueryRequest for QueryResultsRequest {
    fn query(&self, _settings: &Settings) -> Result<Query<'_>> {
        let take = queries::take_or(DEFAULT_TAKE, self.take);
        if take > limits::RESULTS_TAKE {
            return Err(Error::limit(format!(
                "take is {take}; RESULTS_TAKE allows {}",
                limits::RESULTS_TAKE
            ))
            .at_member("take"));
        }
        let entry = match (self.order_by, self.order_by_key.as_deref()) {
            (Some(ResultOrderBy::Properties), None) => {
                return Err(Error::invalid("the order PROPERTIES needs the key of a property")
                    .at_member("orderByKey"));
            }
            (Some(ResultOrderBy::Properties), Some(key)) => Some(EntryOrder {
                key,
                as_number: self.order_by_comparison_type == Some(OrderByComparisonType::Numeric),
            }),
            _ => None,
        };
        let substitutions = self.product_substitutions.as_deref();
        Ok(Query {
            ties_follow_direction: true,
            take,
            entry,
            products: product_filter(self.product_filter.as_deref(), substitutions)?,
            ..queries::in_first_order(self)?
        })
    }
}

fn check_scan(in_transaction: bool) -> Result<()> {
    if in_transaction {
        return Err(Error::unsupported(
            "a stream of steps or measurements cannot be part of a transaction, because it reads a \
             snapshot without the transaction's writes; call it on the session",
        ));
    }
    Ok(())
}

fn update(
    draft: &mut Draft<'_>,
    id: &str,
    request: UpdateResultRequest,
    replace: bool,
    determine_status_from_steps: bool,
) -> Result<TestResult> {
    let old = found(id, draft.get::<TestResult>(id)?)?;
    let has_part_number = request.part_number.is_some();
    let mut result = old.clone();
    result.update(request, replace, draft.now())?;
    runs::keep_in_progress(&old, &mut result);
    if determine_status_from_steps {
        result.status = steps::status_of(draft, &result)?.or(result.status);
    }
    draft.put_changed(old, &result, What::Updated)?;
    if has_part_number {
        create_product(draft, &result)?;
    }
    Ok(result.answered())
}

/// Drafts the deletion of a result, if there is one.
pub(super) fn delete(draft: &mut Draft<'_>, id: &str, delete_steps: bool) -> Result<()> {
    match draft.delete::<TestResult>(id)? {
        Some(result) if delete_steps => steps::delete_of(draft, &result),
        Some(result) => steps::keep_of(draft, &result),
        None => Ok(()),
    }
}

/// The ids of the tables that a result names, and of those that name it.
fn tables_of(view: &View<'_>, id: &str) -> Result<Vec<String>> {
    let result = found(id, view.get::<TestResult>(id)?)?;
    let mut ids = result.data_table_ids.unwrap_or_default();
    let known: BTreeSet<String> = ids.iter().cloned().collect();
    let own = result.id.as_ref().map_or(id, |id| id.as_str());
    let index = TableMetadata::BY_TEST_RESULT_ID;
    for key in view.index_keys::<TableMetadata>(index, &key::of_str(own))? {
        let table = view.by_key::<TableMetadata>(key)?;
        ids.extend(table.map(|table| table.id().to_owned()).filter(|id| !known.contains(id)));
    }
    Ok(ids)
}

/// The distinct values of a field; those that do not start with `prefix` may be among them.
fn values_of(
    view: &View<'_>,
    request: &QueryResultValuesRequest,
    field: ResultField,
    prefix: &str,
) -> Result<BTreeSet<String>> {
    let is_unfiltered = request.filter.as_deref().is_none_or(|filter| filter.trim().is_empty());
    let text_of_all = |index| values::distinct(view, TestResult::KIND, index, Some(prefix), &mut 0);
    let time_of_all = |index| values::distinct(view, TestResult::KIND, index, None, &mut 0);
    match field {
        ResultField::Product => {
            let part_numbers = values_of(view, request, ResultField::PartNumber, "")?;
            let names = view.product_names()?;
            Ok(part_numbers.iter().filter_map(|number| names.get(number).cloned()).collect())
        }
        _ if !is_unfiltered => filtered_values(view, request, field),
        // Every result has an update time, so its index names them all.
        ResultField::Id => values::ids(view, TestResult::KIND, TestResult::BY_UPDATED_AT),
        ResultField::ProgramName => text_of_all(TestResult::BY_PROGRAM_NAME),
        ResultField::PartNumber => text_of_all(TestResult::BY_PART_NUMBER_STARTED_AT),
        ResultField::Operator => text_of_all(TestResult::BY_OPERATOR),
        ResultField::SystemId => text_of_all(TestResult::BY_SYSTEM_ID),
        ResultField::StartedAt => time_of_all(TestResult::BY_STARTED_AT),
        ResultField::UpdatedAt => time_of_all(TestResult::BY_UPDATED_AT),
        ResultField::HostName | ResultField::SerialNumber | ResultField::TotalTimeInSeconds => {
            filtered_values(view, request, field)
        }
    }
}

fn filtered_values(
    view: &View<'_>,
    request: &QueryResultValuesRequest,
    field: ResultField,
) -> Result<BTreeSet<String>> {
    let query = Query {
        filter: request.filter.as_deref(),
        substitutions: request.substitutions.as_deref().unwrap_or_default(),
        ..Query::default()
    };
    let mut values = BTreeSet::new();
    view.for_each_match::<TestResult>(&query, |result| {
        values.extend(text_of(&result, field.path()));
    })?;
    Ok(values)
}
