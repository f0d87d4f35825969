//! Listing files: order, pages, and the structured query as a condition.

use crate::error::{Error, Result};
use crate::filter::{Clause, Comparison, Constant};
use crate::model::{
    FileLinqQueryOrderBy, FileLinqQueryResponse, FileQueryOperation, FileRecord, FileTotalCount,
    PropertyQuery, QueryFilesRequest, TotalCountRelation,
};
use crate::services::lists;
use crate::session::OrderTerm;
use crate::value::limits;

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

/// The condition of a structured query: all of its parts.
///
/// # Errors
/// `InvalidArgument` at a part with an operation that it does not support; `LimitExceeded` at
/// `propertiesQuery`.
pub(in crate::services) fn structured(request: &QueryFilesRequest) -> Result<Clause> {
    check(request)?;
    let ids = request.ids_query.as_ref().map(|query| {
        let texts = query.ids.iter().map(|id| id.to_ascii_lowercase().into()).collect();
        negated(query.operation, Clause::OneOf { field: "id", texts })
    });
    let id = request.id_query.as_ref().map(|query| {
        compared("id", query.operation, text(query.value.to_ascii_lowercase().as_str()))
    });
    let extension = request
        .extension_query
        .as_ref()
        .map(|query| compared("extension", query.operation, text(&query.value)));
    let sizes = [&request.size_min_query, &request.size_max_query].into_iter().flatten();
    let sizes = sizes.map(|query| compared("size", query.operation, Constant::Int(query.value)));
    let created = request.created_query.as_ref().map(|query| {
        let value = Constant::Time(query.value.timestamp_millis());
        compared("created", query.operation, value)
    });
    let workspace = request
        .workspace
        .as_ref()
        .map(|workspace| compared("workspace", FileQueryOperation::Equal, text(workspace)));
    let properties = request.properties_query.iter().map(property);
    let one = [workspace, ids, id, extension, created].into_iter().flatten();
    Ok(Clause::All(one.chain(sizes).chain(properties).collect()))
}

fn text(text: &str) -> Constant {
    Constant::Text(text.into())
}

fn compared(field: &'static str, operation: FileQueryOperation, value: Constant) -> Clause {
    use FileQueryOperation as Op;
    let comparison = match operation {
        Op::Equal | Op::Contains => Comparison::Eq,
        Op::NotEqual | Op::NotContains => Comparison::Ne,
        Op::GreaterThan => Comparison::Gt,
        Op::GreaterThanOrEqual => Comparison::Ge,
        Op::LessThan => Comparison::Lt,
        Op::LessThanOrEqual => Comparison::Le,
    };
    Clause::Compare { field, comparison, value }
}

/// The clause, or its opposite for the operations that are named so. A file without a property is
/// among those that do not have its value.
fn negated(operation: FileQueryOperation, clause: Clause) -> Clause {
    match operation {
        FileQueryOperation::NotEqual | FileQueryOperation::NotContains => {
            Clause::Not(Box::new(clause))
        }
        _ => clause,
    }
}

fn property(query: &PropertyQuery) -> Clause {
    let (map, key, value) = ("properties", query.key.as_str().into(), query.value.as_str().into());
    let clause = match query.operation {
        FileQueryOperation::Contains | FileQueryOperation::NotContains => {
            Clause::EntryContains { map, key, part: value }
        }
        _ => Clause::Entry { map, key, value },
    };
    negated(query.operation, clause)
}

/// Checks the operation of each part, and the number of conditions on properties.
fn check(request: &QueryFilesRequest) -> Result<()> {
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
    for (operation, known, member) in [
        (request.ids_query.as_ref().map(|query| query.operation), &equality[..], "idsQuery"),
        (request.id_query.as_ref().map(|query| query.operation), &equality, "idQuery"),
        (
            request.extension_query.as_ref().map(|query| query.operation),
            &equality,
            "extensionQuery",
        ),
        (request.size_min_query.as_ref().map(|query| query.operation), &comparison, "sizeMinQuery"),
        (request.size_max_query.as_ref().map(|query| query.operation), &comparison, "sizeMaxQuery"),
        (request.created_query.as_ref().map(|query| query.operation), &comparison, "createdQuery"),
    ] {
        check(operation, known, member)?;
    }
    for (index, query) in request.properties_query.iter().enumerate() {
        check(Some(query.operation), &property, &format!("propertiesQuery[{index}]"))?;
    }
    Ok(())
}
