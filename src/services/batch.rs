//! Partial success: the parts that all batch operations share.
//!
//! Each item is validated on its own, in order. A rejected item is returned as it was sent, with
//! one inner error. An error that concerns the store and not the item fails the whole call.

use crate::error::{ApiError, Error, ErrorKind, Place, Result};

/// The name and code of the error that a service returns for a partial failure.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Umbrella {
    pub(crate) name: &'static str,
    pub(crate) code: i64,
}

impl Umbrella {
    /// Work items, test plans and others.
    pub(crate) const SKYLINE: Self =
        Self { name: "Skyline.OneOrMoreErrorsOccurred", code: -251_041 };
    /// Files and assets.
    pub(crate) const FILES_AND_ASSETS: Self =
        Self { name: "Skyline.OneOrMoreErrorsOccurred", code: -251_040 };
    /// Products.
    pub(crate) const PRODUCTS: Self =
        Self { name: "TestMonitorErrorCodes.OneOrMoreErrorsOccurred", code: -252_921 };
}

/// The results of the items of a batch.
#[derive(Debug)]
pub(crate) struct Outcome<S, F> {
    pub(crate) succeeded: Vec<S>,
    pub(crate) failed: Vec<F>,
    pub(crate) error: Option<ApiError>,
}

impl<S, F> Outcome<S, F> {
    /// The failed items, or `None` when nothing failed.
    pub(crate) fn failed_or_none(&mut self) -> Option<Vec<F>> {
        let failed = std::mem::take(&mut self.failed);
        (!failed.is_empty()).then_some(failed)
    }
}

/// Whether an error concerns one item of a batch, and not the whole store.
pub(crate) fn is_item_error(error: &Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::InvalidArgument
            | ErrorKind::NotFound
            | ErrorKind::Conflict
            | ErrorKind::LimitExceeded
            | ErrorKind::Unsupported
            | ErrorKind::PermissionDenied
    )
}

/// Calls `f` on each item in order. `f` must draft nothing if it rejects an item.
///
/// # Errors
/// The first error that does not concern an item.
pub(crate) fn run<I: Clone, S>(
    umbrella: Umbrella,
    items: Vec<I>,
    mut f: impl FnMut(usize, I) -> Result<S>,
) -> Result<Outcome<S, I>> {
    let mut outcome = Outcome { succeeded: Vec::new(), failed: Vec::new(), error: None };
    let mut inner = Vec::new();
    for (position, item) in items.into_iter().enumerate() {
        match f(position, item.clone()) {
            Ok(value) => outcome.succeeded.push(value),
            Err(error) if is_item_error(&error) => {
                inner.push(inner_error(&error, position));
                outcome.failed.push(item);
            }
            Err(error) => return Err(error),
        }
    }
    if !inner.is_empty() {
        outcome.error = Some(ApiError::umbrella(umbrella.name, umbrella.code, inner));
    }
    Ok(outcome)
}

/// The wire form of the error about the item at `position`. Resource id and message arguments are
/// always filled.
fn inner_error(error: &Error, position: usize) -> ApiError {
    let mut api = error.api_error();
    let id = api.resource_id.get_or_insert_with(|| position.to_string());
    if api.args.is_empty() {
        api.args = match error.place() {
            Some(Place::Member(path)) => vec![path.clone(), error.message().to_owned()],
            _ => vec![id.clone()],
        };
    }
    api
}

/// Adds the item to an error about an existing (or supposedly existing) item, whatever the error
/// is. A `NotFound` that already names a resource keeps it.
pub(crate) fn about(kind: &'static str, id: impl Into<String>) -> impl FnOnce(Error) -> Error {
    move |error| match (error.kind(), error.resource()) {
        (ErrorKind::NotFound, Some(_)) => error,
        _ => error.with_resource(kind, id),
    }
}

/// As [`about`], for an item that is to be created. It has no id yet, so its name or its position
/// identifies it.
pub(crate) fn about_new(
    kind: &'static str,
    name: Option<String>,
    position: usize,
) -> impl FnOnce(Error) -> Error {
    about(kind, name.unwrap_or_else(|| position.to_string()))
}

/// As [`about_new`], unless the error already names a resource.
pub(crate) fn about_unnamed(
    kind: &'static str,
    name: Option<String>,
    position: usize,
) -> impl FnOnce(Error) -> Error {
    move |error| {
        if error.resource().is_some() { error } else { about_new(kind, name, position)(error) }
    }
}

/// The ids without duplicates, in order of first appearance.
pub(crate) fn distinct(ids: Vec<impl Into<String>>) -> Vec<String> {
    let mut seen = std::collections::HashSet::new();
    ids.into_iter().map(Into::into).filter(|id: &String| seen.insert(id.clone())).collect()
}

/// Rejects a call with more items than one call may have.
///
/// # Errors
/// `LimitExceeded`.
pub(crate) fn check_len(what: &str, len: usize, max: usize) -> Result<()> {
    if len > max {
        return Err(Error::limit(format!(
            "{len} {what} in one call are more than the {max} that are allowed; split the call"
        )));
    }
    Ok(())
}
