//! Partial success: the parts that all batch operations share.
//!
//! Each item is validated on its own, in order. A rejected item is returned as it was sent, with
//! one inner error. An error that concerns the store and not the item fails the whole call.

use crate::error::{ApiError, Error, ErrorKind, Place, Result};
use crate::model::Outcome;
use crate::services::service_record::{ServiceRecord, Umbrella, found};
use crate::session::{Access, Draft};

/// The refused items of a batch of `count` items.
#[derive(Debug, Default)]
struct RefusedItems {
    /// The error of the first one, with its position in the batch.
    first: Option<(usize, Error)>,
    /// Positions of the others are not told anywhere else.
    positions: Vec<usize>,
    inner: Vec<ApiError>,
}

impl RefusedItems {
    /// Adds the item at `position`.
    ///
    /// # Errors
    /// An error that is not about the item.
    fn add(&mut self, position: usize, error: Error) -> Result<()> {
        if !is_item_error(&error) {
            return Err(error);
        }
        self.positions.push(position);
        self.inner.push(inner_error(&error, position));
        self.first.get_or_insert((position, error));
        Ok(())
    }

    /// What the batch of `count` items is answered with; `None` if no item was refused.
    /// `fails_whole`: whether one refused item refuses the batch. `place`: where an item stands in
    /// the call.
    ///
    /// # Errors
    /// That of the first refused item, if the batch fails as a whole.
    fn settle(
        self,
        umbrella: Umbrella,
        fails_whole: bool,
        count: usize,
        place: &dyn Fn(usize) -> String,
    ) -> Result<Option<ApiError>> {
        let Some((position, error)) = self.first else { return Ok(None) };
        let mut path = place(position);
        if let Some(Place::Member(member)) = error.place() {
            if !member.starts_with('[') {
                path.push('.');
            }
            path.push_str(member);
        }
        if !fails_whole {
            return Ok(Some(partial(umbrella, path, &self.positions, count, self.inner)));
        }
        let number = position + 1;
        let context =
            format!("item {number} of {count} was refused, and nothing of the batch was changed");
        Err(error.context(context).at_member(path).with_inner(self.inner))
    }
}

/// The error of a partially failed batch: one inner error for each failed item, in request order.
/// The message has the first of them, and the only argument is the place of the first.
fn partial(
    umbrella: Umbrella,
    path: String,
    positions: &[usize],
    count: usize,
    inner: Vec<ApiError>,
) -> ApiError {
    /// Items whose errors stand in the message.
    const TOLD: usize = 3;
    /// Characters of one error in the message.
    const SHOWN: usize = 500;
    let mut message = format!("{} of {count} items failed: ", inner.len());
    for (at, (position, error)) in positions.iter().zip(&inner).take(TOLD).enumerate() {
        let text = error.message.as_deref().unwrap_or_default();
        let (separator, number) = (if at > 0 { "; " } else { "" }, position + 1);
        message.push_str(&format!("{separator}item {number}: "));
        message.extend(text.chars().take(SHOWN));
    }
    if inner.len() > TOLD {
        message.push_str(&format!("; and {} more, see the inner errors", inner.len() - TOLD));
    }
    ApiError {
        name: Some(umbrella.name.to_owned()),
        code: Some(umbrella.code),
        message: Some(message),
        args: vec![path],
        inner_errors: inner,
        ..ApiError::default()
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
/// The first error that does not concern an item; that of the first rejected item if the session
/// lets batches fail as a whole.
pub(crate) fn run<I: Clone, S>(
    draft: &mut Draft<'_>,
    umbrella: Umbrella,
    items: Vec<I>,
    f: impl FnMut(&mut Draft<'_>, usize, I) -> Result<S>,
) -> Result<Outcome<S, I>> {
    run_at(draft, umbrella, items, &|position| format!("[{position}]"), f)
}

/// As [`run`], where `place` tells where the item at a position stands in the call.
///
/// # Errors
/// As [`run`].
pub(crate) fn run_at<I: Clone, S>(
    draft: &mut Draft<'_>,
    umbrella: Umbrella,
    items: Vec<I>,
    place: &dyn Fn(usize) -> String,
    mut f: impl FnMut(&mut Draft<'_>, usize, I) -> Result<S>,
) -> Result<Outcome<S, I>> {
    let mut outcome = Outcome::default();
    let (mut refused, count) = (RefusedItems::default(), items.len());
    for (position, item) in items.into_iter().enumerate() {
        match f(draft, position, item.clone()) {
            Ok(value) => outcome.succeeded.push(value),
            Err(error) => {
                refused.add(position, error)?;
                outcome.failed.push(item);
            }
        }
    }
    outcome.error = refused.settle(umbrella, draft.context().fails_whole, count, place)?;
    Ok(outcome)
}

/// Creates records of a kind. `name` names an item in its error.
///
/// # Errors
/// As [`run`].
pub(crate) fn create<R: ServiceRecord, I: Clone, S>(
    draft: &mut Draft<'_>,
    items: Vec<I>,
    name: fn(&I) -> Option<&String>,
    f: fn(&mut Draft<'_>, I) -> Result<S>,
) -> Result<Outcome<S, I>> {
    run(draft, R::UMBRELLA, items, |draft, position, item| {
        let name = name(&item).cloned();
        f(draft, item).map_err(about_new(R::KIND.name, name, position))
    })
}

/// Deletes the records of a kind with these ids; each id counts once.
///
/// # Errors
/// As [`run`].
pub(crate) fn delete<R: ServiceRecord>(
    draft: &mut Draft<'_>,
    ids: Vec<impl Into<String>>,
) -> Result<Outcome<String, String>> {
    delete_with(draft, ids, |_, _: &R| Ok(()))
}

/// As [`delete`]; `also` deletes what belongs to a record.
///
/// # Errors
/// As [`run`].
pub(crate) fn delete_with<R: ServiceRecord>(
    draft: &mut Draft<'_>,
    ids: Vec<impl Into<String>>,
    mut also: impl FnMut(&mut Draft<'_>, &R) -> Result<()>,
) -> Result<Outcome<String, String>> {
    run(draft, R::UMBRELLA, distinct(ids), |draft, _, id| {
        let deleted = draft.delete::<R>(&id).map_err(about(R::KIND.name, &id))?;
        also(draft, &found(&id, deleted)?)?;
        Ok(id)
    })
}

/// Deletes the records with these ids by `delete`, for a call without an answer.
///
/// # Errors
/// As [`run`]; `PartialFailure` if an item failed.
pub(crate) fn delete_or_fail<R: ServiceRecord>(
    access: &impl Access,
    ids: Vec<String>,
    delete: fn(&mut Draft<'_>, &str) -> Result<()>,
) -> Result<()> {
    if ids.is_empty() {
        return Ok(());
    }
    let outcome = access.write(move |draft| {
        run(draft, R::UMBRELLA, ids, |draft, position, id| {
            let deleted = delete(draft, &id);
            deleted.map_err(about_unnamed(R::KIND.name, Some(id), position))
        })
    })?;
    outcome.error.map_or(Ok(()), |error| Err(Error::partial(error)))
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
