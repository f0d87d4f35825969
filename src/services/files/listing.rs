//! The pages of files: what a request asks for as a query, and what is answered.

use crate::error::Result;
use crate::filter::Clause;
use crate::model::files::file::listing_links;
use crate::model::{
    FileLinqQueryRequest, FileLinqQueryResponse, FileMetadata, FileQueryResponse, FileRecord,
    GetFilesRequest, Page, SearchFilesRequest,
};
use crate::services::files::query::{linq_order, linq_response, page};
use crate::services::files::search;
use crate::services::queries::{self, QueryRequest};
use crate::session::{Access, OrderTerm, Query, Settings};
use crate::value::limits;

/// The answer of a listing.
pub(super) fn response(page: Page<FileRecord>) -> FileQueryResponse {
    FileQueryResponse {
        links: listing_links(),
        available_files: page.items.iter().map(FileMetadata::from).collect(),
        total_count: page.total_count.unwrap_or_default(),
    }
}

impl QueryRequest for FileLinqQueryRequest {
    fn query(&self, _settings: &Settings) -> Result<Query<'_>> {
        let (skip, take) = page(self.skip, self.take, false, usize::MAX)?;
        Ok(Query {
            no_substitutions: true,
            order: linq_order(self.order_by, self.order_by_descending),
            // One more than the page size: an extra match shows that more follow.
            take: take.saturating_add(1),
            skip,
            ..queries::common(self)?
        })
    }
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
        // One more than the page size, as in the query by a filter.
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

impl QueryRequest for GetFilesRequest {
    fn query(&self, _settings: &Settings) -> Result<Query<'_>> {
        let (skip, take) = page(self.skip, self.take, true, limits::FILES_TAKE)?;
        Ok(Query {
            take,
            skip,
            return_count: true,
            ids: (!self.ids.is_empty()).then_some(self.ids.as_slice()),
            ..queries::in_first_order(self)?
        })
    }
}
