//! The pages of files: what a request asks for as a query, and what is answered.

use crate::error::Result;
use crate::filter::Clause;
use crate::model::files::file::listing_links;
use crate::model::{
    FileLinqMetadata, FileLinqQueryRequest, FileLinqQueryResponse, FileMetadata, FileQueryOrderBy,
    FileQueryResponse, FileRecord, GetFilesRequest, SearchFilesRequest,
};
use crate::services::files::query::{linq_order, linq_response, page};
use crate::services::files::search;
use crate::session::{Access, OrderTerm, Page, Query};
use crate::value::limits;

pub(super) fn response(page: &Page<FileRecord>) -> FileQueryResponse {
    FileQueryResponse {
        links: listing_links(),
        available_files: page.items.iter().map(FileMetadata::from).collect(),
        total_count: page.total_count.unwrap_or_default(),
    }
}

pub(super) fn linq_query(request: &FileLinqQueryRequest) -> Result<Query<'_>> {
    let (skip, take) = page(request.skip, request.take, false, usize::MAX)?;
    Ok(Query {
        filter: request.filter.as_deref(),
        no_substitutions: true,
        order: linq_order(request.order_by, request.order_by_descending),
        // One more than the page size: an extra match shows that more follow.
        take: take.saturating_add(1),
        skip,
        return_count: request.exact_total_count,
        ..Query::default()
    })
}

/// The page and the condition of a search.
pub(super) fn parsed(request: &SearchFilesRequest) -> Result<((usize, usize), Clause)> {
    let page = page(request.skip, request.take, false, usize::MAX)?;
    let clause = search::parse(request.filter.as_deref())
        .map_err(|error| error.with_name("Files.InvalidSearch", None))?;
    Ok((page, clause))
}

pub(super) fn search_query<'q>(
    request: &SearchFilesRequest,
    (skip, take): (usize, usize),
    clause: &'q Clause,
) -> Query<'q> {
    Query {
        clause: Some(clause),
        order: linq_order(request.order_by, request.order_by_descending),
        // One more than the page size, as in `linq_query`.
        take: take.saturating_add(1),
        skip,
        return_count: request.exact_total_count,
        ..Query::default()
    }
}

/// The answer to a query that takes one file more than the page has.
pub(super) fn linq_answer(
    access: &impl Access,
    query: &Query<'_>,
) -> Result<FileLinqQueryResponse> {
    let mut page = access.read(|view| view.query::<FileRecord>(query))?;
    let has_more = page.items.len() == query.take;
    page.items.truncate(query.take.saturating_sub(1));
    Ok(linq_response(&page.items, has_more, page.total_count))
}

pub(super) fn structured_query((skip, take): (usize, usize), clause: &Clause) -> Query<'_> {
    Query {
        clause: Some(clause),
        order: vec![OrderTerm { path: "created", descending: false }],
        take,
        skip,
        return_count: true,
        ..Query::default()
    }
}

pub(super) fn list_query(request: &GetFilesRequest) -> Result<Query<'_>> {
    let (skip, take) = page(request.skip, request.take, true, limits::FILES_TAKE)?;
    let path = match request.order_by.unwrap_or(FileQueryOrderBy::Created) {
        FileQueryOrderBy::Created => "created",
        FileQueryOrderBy::Id => "id",
        FileQueryOrderBy::Size => "size",
        FileQueryOrderBy::LastUpdatedTimestamp => "updated",
    };
    // Without a sort key the direction is ignored.
    let descending = request.order_by.is_some() && request.order_by_descending.unwrap_or(false);
    Ok(Query {
        order: vec![OrderTerm { path, descending }],
        take,
        skip,
        return_count: true,
        ids: (!request.ids.is_empty()).then_some(request.ids.as_slice()),
        ..Query::default()
    })
}

/// The page of an expression query after `token`, and whether another one follows.
pub(in crate::services) fn linq_page(
    access: &impl Access,
    request: &FileLinqQueryRequest,
    token: &mut Option<String>,
) -> Result<(Vec<FileLinqMetadata>, bool)> {
    next_page(access, linq_query(request)?, token)
}

/// The page of a list after `token`, and whether another one follows.
pub(in crate::services) fn listed_page(
    access: &impl Access,
    request: &GetFilesRequest,
    token: &mut Option<String>,
) -> Result<(Vec<FileMetadata>, bool)> {
    next_page(access, list_query(request)?, token)
}

fn next_page<T>(
    access: &impl Access,
    query: Query<'_>,
    token: &mut Option<String>,
) -> Result<(Vec<T>, bool)>
where
    T: for<'f> From<&'f FileRecord>,
{
    let before = token.take();
    let mut query = query;
    query.continue_after(before.as_deref());
    query.return_count = false;
    let page = access.read(|view| view.query::<FileRecord>(&query))?;
    *token = page.continuation_token;
    Ok((page.items.iter().map(T::from).collect(), token.is_some()))
}
