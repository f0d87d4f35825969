//! Listing files: order, pages, and the two queries that are not filter expressions.

use std::collections::HashSet;

use crate::error::{Error, Result};
use crate::model::files::file::extension;
use crate::model::{
    FileLinqQueryOrderBy, FileLinqQueryResponse, FileQueryOperation, FileRecord, FileTotalCount,
    QueryFilesRequest, Resource, TotalCountRelation,
};
use crate::services::files::search::Search;
use crate::services::lists;
use crate::session::{OrderTerm, Page, View};
use crate::value::id::RecordKey;
use crate::value::{Work, key, limits, time};

/// Validates a page: skip and take.
pub(in crate::services) fn page(
    skip: Option<i64>,
    take: Option<i64>,
    zero_is_default: bool,
    max: usize,
) -> Result<(usize, usize)> {
    let number = |value: Option<i64>, member: &str| {
        usize::try_from(value.unwrap_or(0)).map_err(|_| {
            Error::invalid(format!("{member} is {}, which is negative", value.unwrap_or(0)))
                .at_member(member)
        })
    };
    let skip = number(skip, "skip")?;
    let take = match take {
        None => limits::FILES_TAKE_DEFAULT,
        Some(0) if zero_is_default => limits::FILES_TAKE_DEFAULT,
        take => number(take, "take")?,
    };
    if take > max {
        return Err(Error::invalid(format!(
            "take is {take}, more than the {max} files of one page; read page by page"
        ))
        .at_member("take"));
    }
    Ok((skip, take))
}

/// The order of an expression query or a search: by default the last change, newest first.
pub(in crate::services) fn linq_order(
    by: Option<FileLinqQueryOrderBy>,
    descending: Option<bool>,
) -> Vec<OrderTerm> {
    let path = by.unwrap_or_default().path();
    vec![OrderTerm { path, descending: descending.unwrap_or(true) }]
}

/// The response of an expression query or a search. `has_more` says whether files match after the
/// page. `total` is the number of all matches, if the caller requested it.
pub(in crate::services) fn linq_response(
    files: &[FileRecord],
    has_more: bool,
    total: Option<u64>,
) -> FileLinqQueryResponse {
    let has_more = has_more && total.is_none();
    FileLinqQueryResponse {
        available_files: files.iter().map(Into::into).collect(),
        total_count: FileTotalCount {
            relation: if has_more {
                TotalCountRelation::AtLeast
            } else {
                TotalCountRelation::Equal
            },
            value: total.unwrap_or(files.len() as u64),
        },
    }
}

/// One page of the files for which `matches` returns true, in the order of `term`, ties by id.
/// `matches` counts its steps.
///
/// Reads every file. Only the sort keys of all matches are kept in memory; the records of the page
/// are read again.
///
/// # Errors
/// `DeadlineExceeded` and `Cancelled`, also within one file; `LimitExceeded` for a file that takes
/// more work than [`limits::FILTER_WORK`].
pub(in crate::services) fn scan(
    view: &View<'_>,
    term: OrderTerm,
    (skip, take): (usize, usize),
    matches: impl Fn(&FileRecord, &Work<'_>) -> bool,
) -> Result<Page<FileRecord>> {
    let field = FileRecord::fields().iter().find(|field| field.decl.path == term.path);
    let env = view.env();
    let mut hits: Vec<(Vec<u8>, RecordKey)> = Vec::new();
    let check = || view.context().check_deadline();
    view.for_each::<FileRecord>(|file| {
        let work = Work::new(&check);
        let is_match = matches(&file, &work);
        work.finish()
            .map_err(|error| error.with_resource(FileRecord::KIND.name, file.id.as_str()))?;
        if is_match && let Some(record_key) = file.key() {
            let mut sort = Vec::new();
            if let Some(field) = field {
                key::push_val(&mut sort, &(field.get)(&file, &env));
            }
            if term.descending {
                sort.iter_mut().for_each(|byte| *byte = !*byte);
            }
            hits.push((sort, record_key));
        }
        Ok(true)
    })?;
    hits.sort_unstable();
    let total_count = Some(hits.len() as u64);
    let mut items = Vec::new();
    for (_, record_key) in hits.into_iter().skip(skip).take(take) {
        items.extend(view.by_key::<FileRecord>(record_key)?);
    }
    Ok(Page { items, continuation_token: None, total_count })
}

/// One page of the files that match a search expression.
pub(in crate::services) fn search(
    view: &View<'_>,
    search: &Search,
    term: OrderTerm,
    page: (usize, usize),
) -> Result<Page<FileRecord>> {
    scan(view, term, page, |file, work| search.matches(file, work))
}

/// A validated structured query.
pub(in crate::services) struct Structured<'q> {
    request: &'q QueryFilesRequest,
    /// The ids of its `idsQuery`, in lower case.
    ids: HashSet<String>,
}

impl<'q> Structured<'q> {
    /// Checks the operation of each part, and the number of conditions on properties.
    ///
    /// # Errors
    /// `InvalidArgument` at a part with an operation that it does not support; `LimitExceeded` at
    /// `propertiesQuery`.
    pub(in crate::services) fn new(request: &'q QueryFilesRequest) -> Result<Self> {
        use FileQueryOperation as Op;
        lists::check("propertiesQuery", request.properties_query.len())?;
        let equality = [Op::Equal, Op::NotEqual];
        let comparison = [
            Op::Equal,
            Op::NotEqual,
            Op::GreaterThan,
            Op::GreaterThanOrEqual,
            Op::LessThan,
            Op::LessThanOrEqual,
        ];
        let property = [Op::Equal, Op::NotEqual, Op::Contains, Op::NotContains];
        let check = |operation: Option<Op>, known: &[Op], member: &str| match operation {
            Some(operation) if !known.contains(&operation) => Err(Error::invalid(format!(
                "this part of the query does not support the operation {operation}"
            ))
            .at_member(format!("{member}.operation"))),
            _ => Ok(()),
        };
        check(request.ids_query.as_ref().map(|query| query.operation), &equality, "idsQuery")?;
        check(request.id_query.as_ref().map(|query| query.operation), &equality, "idQuery")?;
        check(
            request.extension_query.as_ref().map(|query| query.operation),
            &equality,
            "extensionQuery",
        )?;
        check(
            request.size_min_query.as_ref().map(|query| query.operation),
            &comparison,
            "sizeMinQuery",
        )?;
        check(
            request.size_max_query.as_ref().map(|query| query.operation),
            &comparison,
            "sizeMaxQuery",
        )?;
        check(
            request.created_query.as_ref().map(|query| query.operation),
            &comparison,
            "createdQuery",
        )?;
        for (index, query) in request.properties_query.iter().enumerate() {
            check(Some(query.operation), &property, &format!("propertiesQuery[{index}]"))?;
        }
        let ids = request
            .ids_query
            .iter()
            .flat_map(|query| &query.ids)
            .map(|id| id.to_ascii_lowercase())
            .collect();
        Ok(Self { request, ids })
    }

    /// Whether a file matches every part.
    pub(in crate::services) fn matches(&self, file: &FileRecord, work: &Work<'_>) -> bool {
        use FileQueryOperation as Op;
        let request = self.request;
        let is_among = || self.ids.contains(&file.id.as_str().to_ascii_lowercase());
        let is_id = |id: &String| id.eq_ignore_ascii_case(file.id.as_str());
        let size = i64::try_from(file.content.size()).unwrap_or(i64::MAX);
        request.workspace.as_ref().is_none_or(|workspace| *workspace == file.workspace)
            && request
                .ids_query
                .as_ref()
                .is_none_or(|query| is_among() == (query.operation == Op::Equal))
            && request
                .id_query
                .as_ref()
                .is_none_or(|query| is_id(&query.value) == (query.operation == Op::Equal))
            && request.extension_query.as_ref().is_none_or(|query| {
                compare(query.operation, extension(file.display_name()), query.value.as_str())
            })
            && request
                .size_min_query
                .as_ref()
                .is_none_or(|query| compare(query.operation, size, query.value))
            && request
                .size_max_query
                .as_ref()
                .is_none_or(|query| compare(query.operation, size, query.value))
            && request.created_query.as_ref().is_none_or(|query| {
                compare(query.operation, file.created, time::truncate(query.value))
            })
            && request.properties_query.iter().all(|query| {
                let value = file.properties.get(&query.key);
                work.spend(1)
                    && work.scan(query.key.len().saturating_add(value.map_or(0, String::len)))
                    && match query.operation {
                        Op::Contains => value.is_some_and(|value| value.contains(&query.value)),
                        Op::NotContains => value.is_none_or(|value| !value.contains(&query.value)),
                        Op::NotEqual => value != Some(&query.value),
                        _ => value == Some(&query.value),
                    }
            })
    }
}

fn compare<T: PartialOrd>(operation: FileQueryOperation, left: T, right: T) -> bool {
    use FileQueryOperation as Op;
    match operation {
        Op::Equal | Op::Contains => left == right,
        Op::NotEqual | Op::NotContains => left != right,
        Op::GreaterThan => left > right,
        Op::GreaterThanOrEqual => left >= right,
        Op::LessThan => left < right,
        Op::LessThanOrEqual => left <= right,
    }
}
