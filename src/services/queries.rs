//! Pages of records, and plans, by the requests of services.

use crate::error::Result;
use crate::model::{CommonMembers, Page, RecordQuery};
use crate::services::lists;
use crate::services::service_record::ServiceRecord;
use crate::session::{Access, OrderTerm, Plan, Query, Settings};

/// A query of a service.
pub(crate) trait QueryRequest: RecordQuery<Record: ServiceRecord> {
    /// The query with the rules of the service; [`common`] makes it of the members that queries
    /// have in common.
    ///
    /// # Errors
    /// `InvalidArgument` and `LimitExceeded` at a member that breaks a rule.
    fn query(&self, settings: &Settings) -> Result<Query<'_>>;

    /// The record with the members of the projection, which has no entry twice.
    fn shown(&self, record: Self::Record, projection: &[Self::Member]) -> Self::Record {
        Self::project(record, projection)
    }
}

/// The query of the members that queries have in common, except `take` and `skip`, for which each
/// service has limits of its own. Without `order_by` the order is that of the ids.
///
/// # Errors
/// `LimitExceeded` for a projection that is too long.
pub(crate) fn common<Q: RecordQuery>(request: &Q) -> Result<Query<'_>> {
    common_of(request.common(), request.projection().len())
}

fn common_of(members: CommonMembers<'_>, projection: usize) -> Result<Query<'_>> {
    lists::check("projection", projection)?;
    let term = |path| OrderTerm { path, descending: members.descending };
    Ok(Query {
        filter: members.filter,
        substitutions: members.substitutions.unwrap_or_default(),
        order: members.order_by.map(term).into_iter().collect(),
        continuation_token: members.continuation_token,
        return_count: members.return_count,
        ..Query::default()
    })
}

/// As [`common`], but without `order_by` the order is that of its first value, ascending.
///
/// # Errors
/// As [`common`].
pub(crate) fn in_first_order<Q: RecordQuery>(request: &Q) -> Result<Query<'_>> {
    let mut query = common(request)?;
    if query.order.is_empty() {
        query.order.push(OrderTerm { path: request.common().first_order, descending: false });
    }
    Ok(query)
}

/// A page size; `default` when absent or negative.
pub(crate) fn take_or(default: usize, take: Option<i64>) -> usize {
    take.and_then(|take| usize::try_from(take).ok()).unwrap_or(default)
}

/// The page that a request asks for.
///
/// # Errors
/// Those of the request, and those of a query.
pub(crate) fn page<Q: QueryRequest>(access: &impl Access, request: &Q) -> Result<Page<Q::Record>> {
    run(access, request, &request.query(access.context().settings())?)
}

/// How the page of a request is found.
///
/// # Errors
/// As [`page`].
pub(crate) fn explain<Q: QueryRequest>(access: &impl Access, request: &Q) -> Result<Plan> {
    let query = request.query(access.context().settings())?;
    access.read(|view| Ok(view.query_with_plan::<Q::Record>(&query)?.1))
}

/// As [`page`], without a count. `token` is that of the previous page, and becomes that of the next
/// one.
///
/// # Errors
/// As [`page`].
pub(crate) fn next_page<Q: QueryRequest>(
    access: &impl Access,
    request: &Q,
    token: &mut Option<String>,
) -> Result<Vec<Q::Record>> {
    let before = token.take();
    let mut query = request.query(access.context().settings())?;
    query.continue_after(before.as_deref());
    query.return_count = false;
    let page = run(access, request, &query)?;
    *token = page.continuation_token;
    Ok(page.items)
}

fn run<Q: QueryRequest>(
    access: &impl Access,
    request: &Q,
    query: &Query<'_>,
) -> Result<Page<Q::Record>> {
    let projection = lists::distinct("projection", request.projection())?;
    access.read(|view| {
        let (page, env) = (view.query::<Q::Record>(query)?, view.env());
        Ok(page.map(|record| request.shown(record.in_answer(&env), &projection)))
    })
}
