//! Listing files: order, page, and the two queries that are no filter expressions.

use super::file_search::Search;
use crate::error::{Error, Result};
use crate::model::file::extension;
use crate::model::{
    FileLinqQueryOrderBy, FileLinqQueryResponse, FileQueryOperation, FileRecord, FileTotalCount, QueryFilesRequest,
    Resource, TotalCountRelation,
};
use crate::session::{OrderTerm, Page, View};
use crate::value::id::RecordKey;
use crate::value::{key, limits, time};

/// A checked page: skip and take.
pub(super) fn page(skip: Option<i64>, take: Option<i64>, zero_is_default: bool, max: usize) -> Result<(usize, usize)> {
    let number = |value: Option<i64>, member: &str| {
        usize::try_from(value.unwrap_or(0)).map_err(|_| {
            Error::invalid(format!("{member} is {}, which is negative", value.unwrap_or(0))).at_member(member)
        })
    };
    let skip = number(skip, "skip")?;
    let take = match take {
        None => limits::FILES_TAKE_DEFAULT,
        Some(0) if zero_is_default => limits::FILES_TAKE_DEFAULT,
        take => number(take, "take")?,
    };
    if take > max {
        return Err(Error::invalid(format!("take is {take}, at most {max} files can be asked for")).at_member("take"));
    }
    Ok((skip, take))
}

/// The order of an expression query or a search: by default the last change, newest first.
pub(super) fn linq_order(by: Option<FileLinqQueryOrderBy>, descending: Option<bool>) -> Vec<OrderTerm> {
    let path = match by.unwrap_or(FileLinqQueryOrderBy::Updated) {
        FileLinqQueryOrderBy::Updated => "updated",
        FileLinqQueryOrderBy::Name => "name",
        FileLinqQueryOrderBy::Created => "created",
        FileLinqQueryOrderBy::Extension => "extension",
        FileLinqQueryOrderBy::Size => "size",
        FileLinqQueryOrderBy::Workspace => "workspace",
    };
    vec![OrderTerm { path, descending: descending.unwrap_or(true) }]
}

/// The answer of an expression query or a search.
pub(super) fn linq_response(page: &Page<FileRecord>) -> FileLinqQueryResponse {
    FileLinqQueryResponse {
        available_files: page.items.iter().map(Into::into).collect(),
        total_count: FileTotalCount {
            relation: TotalCountRelation::Equal,
            value: page.total_count.unwrap_or_default(),
        },
    }
}

/// One page of the files for which `matches` says so, in the order of `term`, ties by id.
///
/// Only sort keys are held for all matches; the records of the page are read again.
pub(super) fn scan(
    view: &View<'_>,
    term: OrderTerm,
    (skip, take): (usize, usize),
    matches: impl Fn(&FileRecord) -> bool,
) -> Result<Page<FileRecord>> {
    let field = FileRecord::fields().iter().find(|field| field.decl.path == term.path);
    let env = view.env();
    let mut hits: Vec<(Vec<u8>, RecordKey)> = Vec::new();
    view.for_each::<FileRecord>(|file| {
        if matches(&file)
            && let Some(record_key) = file.key()
        {
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

/// One page of the files that a search expression finds.
pub(super) fn search(
    view: &View<'_>,
    search: &Search,
    term: OrderTerm,
    page: (usize, usize),
) -> Result<Page<FileRecord>> {
    scan(view, term, page, |file| search.matches(file))
}

/// A structured query, checked: which operations each part knows.
pub(super) fn check_structured(request: &QueryFilesRequest) -> Result<()> {
    use FileQueryOperation as Op;
    let equality = [Op::Equal, Op::NotEqual];
    let comparison =
        [Op::Equal, Op::NotEqual, Op::GreaterThan, Op::GreaterThanOrEqual, Op::LessThan, Op::LessThanOrEqual];
    let property = [Op::Equal, Op::NotEqual, Op::Contains, Op::NotContains];
    let check = |operation: Option<Op>, known: &[Op], member: &str| match operation {
        Some(operation) if !known.contains(&operation) => {
            Err(Error::invalid(format!("{operation} cannot be used here")).at_member(format!("{member}.operation")))
        }
        _ => Ok(()),
    };
    check(request.ids_query.as_ref().map(|query| query.operation), &equality, "idsQuery")?;
    check(request.id_query.as_ref().map(|query| query.operation), &equality, "idQuery")?;
    check(request.extension_query.as_ref().map(|query| query.operation), &equality, "extensionQuery")?;
    check(request.size_min_query.as_ref().map(|query| query.operation), &comparison, "sizeMinQuery")?;
    check(request.size_max_query.as_ref().map(|query| query.operation), &comparison, "sizeMaxQuery")?;
    check(request.created_query.as_ref().map(|query| query.operation), &comparison, "createdQuery")?;
    for (index, query) in request.properties_query.iter().enumerate() {
        check(Some(query.operation), &property, &format!("propertiesQuery[{index}]"))?;
    }
    Ok(())
}

/// Whether a file matches every part of a structured query.
pub(super) fn matches_structured(request: &QueryFilesRequest, file: &FileRecord) -> bool {
    use FileQueryOperation as Op;
    let id = |id: &String| id.eq_ignore_ascii_case(file.id.as_str());
    let size = i64::try_from(file.content.size()).unwrap_or(i64::MAX);
    request.workspace.as_ref().is_none_or(|workspace| *workspace == file.workspace)
        && request.ids_query.as_ref().is_none_or(|query| query.ids.iter().any(id) == (query.operation == Op::Equal))
        && request.id_query.as_ref().is_none_or(|query| id(&query.value) == (query.operation == Op::Equal))
        && request
            .extension_query
            .as_ref()
            .is_none_or(|query| compare(query.operation, extension(file.display_name()), query.value.as_str()))
        && request.size_min_query.as_ref().is_none_or(|query| compare(query.operation, size, query.value))
        && request.size_max_query.as_ref().is_none_or(|query| compare(query.operation, size, query.value))
        && request
            .created_query
            .as_ref()
            .is_none_or(|query| compare(query.operation, file.created, time::truncate(query.value)))
        && request.properties_query.iter().all(|query| {
            let value = file.properties.get(&query.key);
            match query.operation {
                Op::Contains => value.is_some_and(|value| value.contains(&query.value)),
                Op::NotContains => value.is_none_or(|value| !value.contains(&query.value)),
                Op::NotEqual => value != Some(&query.value),
                _ => value == Some(&query.value),
            }
        })
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
