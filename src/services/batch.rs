//! Partial success: what every batch operation has in common.
//!
//! Items are judged on their own and in order. A refused item is echoed as it came, with one inner error; a fault that
//! concerns the disk and not the item fails the whole call.

use crate::error::{ApiError, Error, ErrorKind, Place, Result};

/// The name and code that a service gives to the umbrella of a partial failure.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Umbrella {
    pub(crate) name: &'static str,
    pub(crate) code: i64,
}

impl Umbrella {
    /// Work items, test plans and others.
    pub(crate) const SKYLINE: Self = Self { name: "Skyline.OneOrMoreErrorsOccurred", code: -251_041 };
    /// Files and assets.
    pub(crate) const FILES_AND_ASSETS: Self = Self { name: "Skyline.OneOrMoreErrorsOccurred", code: -251_040 };
    /// Products.
    pub(crate) const PRODUCTS: Self = Self { name: "TestMonitorErrorCodes.OneOrMoreErrorsOccurred", code: -252_921 };
}

/// What became of the items of a batch.
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

/// Whether an error concerns one item of a batch, and not the store as a whole.
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

/// Runs `f` on each item in order. `f` must draft nothing when it refuses an item.
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

/// The wire form of the error about the item at `position`: resource and values behind the message are always filled.
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

/// The error about an item that exists, or is said to: it names the item, whatever else stood in its way. A `NotFound`
/// names what was not found already.
pub(crate) fn about(kind: &'static str, id: impl Into<String>) -> impl FnOnce(Error) -> Error {
    move |error| match (error.kind(), error.resource()) {
        (ErrorKind::NotFound, Some(_)) => error,
        _ => error.with_resource(kind, id),
    }
}

/// The error about an item that is to be created: it has no id yet, so its name or its position stands for it.
pub(crate) fn about_new(kind: &'static str, name: Option<String>, position: usize) -> impl FnOnce(Error) -> Error {
    about(kind, name.unwrap_or_else(|| position.to_string()))
}

/// As [`about_new`], unless the error names an item itself.
pub(crate) fn about_unnamed(kind: &'static str, name: Option<String>, position: usize) -> impl FnOnce(Error) -> Error {
    move |error| if error.resource().is_some() { error } else { about_new(kind, name, position)(error) }
}

/// The ids without repetitions, in order of first appearance.
pub(crate) fn distinct(ids: Vec<impl Into<String>>) -> Vec<String> {
    let mut seen = std::collections::HashSet::new();
    ids.into_iter().map(Into::into).filter(|id: &String| seen.insert(id.clone())).collect()
}

/// Refuses a call with more items than one call may bring.
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
