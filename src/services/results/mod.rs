//! Test results: queries, merging updates, lists of values, and the products that they are about.

mod csv;
mod steps;

use std::collections::BTreeSet;
use std::io::Write;

use crate::error::{Error, Result};
use crate::filter::check_substitutions;
use crate::model::answer::Outcome;
use crate::model::{
    CreateProductRequest, CreateResultRequest, CreateResultsPartialSuccess,
    DeleteResultsPartialSuccess, OrderByComparisonType, PagedResults, Product,
    QueryResultValuesRequest, QueryResultsRequest, Resource, ResponseFormat, ResultField,
    ResultOrderBy, TestMonitorApiInfo, TestResult, TestResultId, UpdateResultRequest,
    UpdateResultsPartialSuccess, text_of,
};
use crate::services::declare::service;
use crate::services::queries::{self, QueryRequest};
use crate::services::service_record::{ServiceRecord, Umbrella, found, get};
use crate::services::{batch, products, values};
use crate::session::{Access, Draft, EntryOrder, Plan, ProductFilter, Query, Settings, View, What};
use crate::value::{Control, Env, guarded, key, limits};

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
    fn delete_results(
        &self,
        ids: Vec<TestResultId>,
        delete_steps: bool,
    ) -> Result<Option<DeleteResultsPartialSuccess>> {
        let also = if delete_steps { steps::delete_of } else { |_: &mut Draft<'_>, _: &_| Ok(()) };
        self.write(move |draft| batch::delete_with::<TestResult>(draft, ids, also))
            .map(Outcome::unless_all_succeeded)
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
        let substitutions = self.product_substitutions.as_deref().unwrap_or_default();
        check_substitutions(substitutions)
            .map_err(|error| error.at_member("productSubstitutions"))?;
        let product_filter = self.product_filter.as_deref();
        let products =
            product_filter.filter(|filter| !filter.trim().is_empty()).map(|filter| ProductFilter {
                path: ResultOrderBy::PartNumber.path(),
                filter: Some(filter),
                substitutions,
            });
        Ok(Query {
            ties_follow_direction: true,
            take,
            entry,
            products,
            ..queries::in_first_order(self)?
        })
    }
}

fn create(draft: &mut Draft<'_>, request: CreateResultRequest) -> Result<TestResult> {
    let mut result = TestResult::create(request, draft.now(), draft.context().default_workspace())?;
    // Checked before an id is drawn, so that a rejected batch drafts nothing and costs no commit.
    draft.require(None, &result, What::Created)?;
    result.id = Some(draft.new_key::<TestResult>()?.into());
    draft.put_new(&result, What::Created)?;
    create_product(draft, &result)?;
    Ok(result.answered())
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
    if determine_status_from_steps {
        result.status = steps::status_of(draft, &result)?.or(result.status);
    }
    draft.put_changed(old, &result, What::Updated)?;
    if has_part_number {
        create_product(draft, &result)?;
    }
    Ok(result.answered())
}

/// Creates the product of a drafted result if no product has its part number. A product that the
/// caller may not create, or for which there is no room, is left out.
fn create_product(draft: &mut Draft<'_>, result: &TestResult) -> Result<()> {
    let part_number = result.part_number.as_deref().unwrap_or_default();
    if part_number.trim().is_empty() || !draft.context().settings().results_create_products {
        return Ok(());
    }
    let mut entry = Vec::new();
    key::push_str(&mut entry, part_number);
    if draft.find::<Product>(Product::BY_PART_NUMBER, &entry)?.is_some() {
        return Ok(());
    }
    let product = CreateProductRequest::new(part_number).workspace(result.workspace());
    match products::create(draft, product) {
        Err(error) if !batch::is_item_error(&error) => Err(error),
        _ => Ok(()),
    }
}

/// Drafts the deletion of a result, if there is one.
pub(super) fn delete(draft: &mut Draft<'_>, id: &str, delete_steps: bool) -> Result<()> {
    match draft.delete::<TestResult>(id)? {
        Some(result) if delete_steps => steps::delete_of(draft, &result),
        _ => Ok(()),
    }
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
