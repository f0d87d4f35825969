//! Reads of rows: validates requests against the table, and passes them to the columnar engine.

use std::sync::Arc;

use crate::columnar::{
    After, Decimation, OrderColumn, RowQuery, RowStream, TableSchema, TableView, count_rows,
    decimate, read_page, touched,
};
use crate::error::{Error, Result};
use crate::model::{
    ColumnOrderBy, DecimationMethod, QueryDecimatedDataRequest, QueryTableDataRequest, ScanRequest,
    TableMetadata,
};
use crate::services::lists;
use crate::services::tables::metadata::found;
use crate::services::tables::row_filter::{RowFilter, row_filter};
use crate::services::tables::rows::{PagedTableRows, Rows, TablePlan, TableRows};
use crate::session::Access;
use crate::session::tables::{open_table, spill_place};
use crate::session::token::{self, Fingerprint};
use crate::value::{Control, guarded, limits};

/// Rows of a page if the caller does not specify `take`.
const DEFAULT_TAKE: u64 = 500;
/// Intervals if the caller does not specify a number.
const DEFAULT_INTERVALS: i64 = 1000;

/// The order of `get_table_data`, which has one direction for all columns.
pub(in crate::services) fn same_direction(
    columns: Vec<String>,
    descending: bool,
) -> Vec<ColumnOrderBy> {
    columns.into_iter().map(|column| ColumnOrderBy { column, descending }).collect()
}

pub(in crate::services) fn open<A: Access>(access: &A, id: &str) -> Result<Arc<TableView>> {
    access.read(|view| open_table(view, &found(id, view.get::<TableMetadata>(id)?)?))
}

fn check_take(take: Option<i64>, max: Option<u64>) -> Result<Option<u64>> {
    let Some(take) = take else { return Ok(None) };
    let checked = u64::try_from(take).map_err(|_| {
        Error::invalid(format!("take is {take}; it cannot be negative")).at_member("take")
    })?;
    match max {
        Some(max) if checked > max => Err(Error::invalid(format!(
            "take is {take}, more than the {max} rows of one page; read page by page"
        ))
        .at_member("take")),
        _ => Ok(Some(checked)),
    }
}

fn check_query(
    access: &impl Access,
    schema: &TableSchema,
    columns: Option<&[String]>,
    filter: RowFilter<'_>,
    order_by: Option<&[ColumnOrderBy]>,
) -> Result<RowQuery> {
    // Clients put two tests on each column and also bound a range. A wide table may have more
    // columns than [`QUERY_LIST`](limits::QUERY_LIST) allows entries.
    let most = limits::QUERY_LIST.max(schema.len().saturating_mul(4));
    lists::check_within("columns", columns.map_or(0, <[String]>::len), most)?;
    lists::check_within("orderBy", order_by.map_or(0, <[ColumnOrderBy]>::len), most)?;
    let mut order: Vec<OrderColumn> = Vec::new();
    let mut is_ordered = vec![false; schema.len()];
    for (at, term) in order_by.unwrap_or_default().iter().enumerate() {
        let column = schema
            .position(&term.column)
            .map_err(|error| error.at_member(format!("orderBy[{at}].column")))?;
        // Rows that are equal in a column tie in it again, so only its first place in the order has
        // an effect.
        if let Some(is_ordered) = is_ordered.get_mut(column).filter(|is_ordered| !**is_ordered) {
            *is_ordered = true;
            order.push(OrderColumn { column, descending: term.descending });
        }
    }
    Ok(RowQuery {
        columns: schema.projection(columns, "columns")?,
        predicates: Arc::new(filter.check(access, schema)?),
        order,
        take: None,
        memory_bytes: access.context().settings().query_memory_bytes,
        budget: access.context().engine.memory.clone(),
        spill: Some(spill_place(&access.context().engine)),
    })
}

/// What a token is bound to. A column is known by its name and the revision in which it got it, so
/// a walk does not go on with another column of that name.
fn fingerprint(
    operation: &str,
    id: &str,
    schema: &TableSchema,
    request: &QueryTableDataRequest,
) -> Fingerprint {
    let named = |print: Fingerprint, name: &str| match schema.named(name) {
        0 => print.with(name.as_bytes()),
        revision => print.with(name.as_bytes()).with(b"named").with(&revision.to_be_bytes()),
    };
    let mut print = Fingerprint::new(operation).with(id.to_ascii_lowercase().as_bytes());
    for column in request.columns.iter().flatten() {
        print = named(print.with(b"column"), column);
    }
    for filter in request.filters.iter().flatten() {
        print =
            named(print.with(b"filter"), &filter.column).with(filter.operation.as_str().as_bytes());
        print = match &filter.value {
            Some(value) => print.with(b"value").with(value.as_bytes()),
            None => print.with(b"null"),
        };
    }
    if let Some(filter) = &request.filter {
        print = print.with(b"text").with(filter.as_bytes());
    }
    for value in request.substitutions.iter().flatten() {
        print = print.with(b"substitution").with(value.to_string().as_bytes());
    }
    for term in request.order_by.iter().flatten() {
        print = named(print.with(b"order"), &term.column).with(&[u8::from(term.descending)]);
    }
    print
}

/// The table of a request for a page, and the request checked against it.
fn page_query(
    access: &impl Access,
    id: &str,
    request: &QueryTableDataRequest,
) -> Result<(Arc<TableView>, RowQuery)> {
    let take =
        check_take(request.take, Some(u64::from(limits::ROWS_TAKE)))?.unwrap_or(DEFAULT_TAKE);
    let view = open(access, id)?;
    let mut query = check_query(
        access,
        &view.schema,
        request.columns.as_deref(),
        row_filter!(request),
        request.order_by.as_deref(),
    )?;
    query.take = Some(take);
    Ok((view, query))
}

/// One page. The token contains the append ordinal of the page's last row and its place in the
/// order. Neither changes when rows are appended, sealed and merged, so each row that exists from
/// the start of a walk to its end is returned exactly once, also when the row of the token is
/// deleted.
pub(in crate::services) fn page<A: Access>(
    access: &A,
    id: &str,
    operation: &str,
    request: &QueryTableDataRequest,
) -> Result<PagedTableRows> {
    let (view, query) = page_query(access, id, request)?;
    let print = fingerprint(operation, id, &view.schema, request);
    let key = &access.context().engine.token_key;
    let after = token::open(key, &print, request.continuation_token.as_deref())?
        .map(|position| {
            After::from_bytes(&position).ok_or_else(|| {
                Error::invalid("the continuation token is malformed").at_member("continuationToken")
            })
        })
        .transpose()?;
    let control = access.context().control(&Control::default());
    let total_row_count = count_rows(&view, &query.predicates, &control)?;
    let page = read_page(&view, &query, after.as_ref(), &control)?;
    let continuation_token =
        page.next_after.map(|after| token::seal(key, &print, &after.to_bytes())).transpose()?;
    Ok(PagedTableRows { frame: Rows::new(page.batch), total_row_count, continuation_token })
}

/// Explains how a page is read.
pub(in crate::services) fn explain<A: Access>(
    access: &A,
    id: &str,
    request: &QueryTableDataRequest,
) -> Result<TablePlan> {
    let (view, query) = page_query(access, id, request)?;
    let within = query.predicates.int_bounds(view.schema.index());
    let order = match view.overlapping_within(within) {
        _ if !query.is_index_order(&view) => {
            let term = |term: &OrderColumn| {
                let name = &view.schema.column(term.column)?.name;
                Ok(format!("{name}{}", if term.descending { " descending" } else { "" }))
            };
            let terms: Vec<String> = query.order.iter().map(term).collect::<Result<_>>()?;
            format!(
                "first {} by {}",
                query.take.unwrap_or_default().saturating_add(1),
                terms.join(", ")
            )
        }
        0 => "in the order of the index".to_owned(),
        runs => format!("merged from {runs} overlapping runs"),
    };
    let touched =
        touched(&view, &query.predicates, &access.context().control(&Control::default()))?;
    Ok(TablePlan { order, touched })
}

/// Rows as a stream.
pub(in crate::services) fn scan<A: Access>(
    access: &A,
    id: &str,
    request: ScanRequest,
    control: &Control,
) -> Result<RowStream> {
    let take = check_take(request.take, None)?;
    let view = open(access, id)?;
    let mut query = check_query(
        access,
        &view.schema,
        request.columns.as_deref(),
        row_filter!(request),
        request.order_by.as_deref(),
    )?;
    query.take = take;
    guarded("reading rows", || RowStream::new(view, query, access.context().control(control)))
}

fn axis(schema: &TableSchema, name: &str, member: &str) -> Result<usize> {
    let position = schema.position(name).map_err(|error| error.at_member(member))?;
    let data_type = schema.column(position)?.data_type;
    if !data_type.is_numeric() {
        return Err(Error::invalid(format!(
            "column {name:?} of type {data_type} is not numeric, so it cannot be decimated"
        ))
        .with_args([name])
        .at_member(member));
    }
    Ok(position)
}

/// Decimated rows.
pub(in crate::services) fn decimated<A: Access>(
    access: &A,
    id: &str,
    request: &QueryDecimatedDataRequest,
) -> Result<TableRows> {
    let view = open(access, id)?;
    let schema = &view.schema;
    let query =
        check_query(access, schema, request.columns.as_deref(), row_filter!(request), None)?;
    let options = request.decimation.clone().unwrap_or_default();
    let x = match &options.x_column {
        Some(name) => axis(schema, name, "decimation.xColumn")?,
        None => schema.index(),
    };
    let names = options.y_columns.as_deref().unwrap_or_default();
    let most = limits::QUERY_LIST.max(schema.len().saturating_mul(4));
    lists::check_within("decimation.yColumns", names.len(), most)?;
    let mut y: Vec<usize> = Vec::new();
    let mut is_taken = vec![false; schema.len()];
    for (at, name) in names.iter().enumerate() {
        let member = format!("decimation.yColumns[{at}]");
        let column = match options.method {
            // This method ignores y columns, so only the name is validated.
            DecimationMethod::Lossy => {
                schema.position(name).map_err(|error| error.at_member(member))?
            }
            _ => axis(schema, name, &member)?,
        };
        // A column is used once, even if it is named several times.
        if let Some(is_taken) = is_taken.get_mut(column).filter(|is_taken| !**is_taken) {
            *is_taken = true;
            y.push(column);
        }
    }
    if options.method != DecimationMethod::Lossy && y.is_empty() {
        return Err(Error::invalid(format!(
            "{} needs y columns, whose extremes it keeps",
            options.method
        ))
        .at_member("decimation.yColumns"));
    }
    let intervals = options.intervals.unwrap_or(DEFAULT_INTERVALS);
    let intervals = u64::try_from(intervals)
        .ok()
        .filter(|count| (1..=u64::from(u32::MAX)).contains(count))
        .ok_or_else(|| {
            Error::invalid(format!(
                "intervals is {intervals}; it must be at least 1 and fit in 32 bits"
            ))
            .at_member("decimation.intervals")
        })?;
    let decimation = Decimation {
        x,
        y: if options.method == DecimationMethod::Lossy { Vec::new() } else { y },
        intervals,
        method: options.method,
        distribution: options.distribution,
        memory_bytes: query.memory_bytes,
        budget: query.budget.clone(),
    };
    let control = access.context().control(&Control::default());
    let batch = decimate(&view, &decimation, &query.predicates, &query.columns, &control)?;
    Ok(TableRows { frame: Rows::new(batch) })
}
