//! The changes of steps of one call, a parent before its children.
//!
//! Each is an update of its own step, which succeeds or fails alone. What failed is answered as it
//! was sent: with its children, and only as part of the outermost change that failed.

use super::set::LEVELS;
use crate::error::ApiError;
use crate::model::results::UpdateStepRequest;

/// A change, without those of its children.
#[derive(Debug)]
struct Change {
    /// As it was sent. The children are taken out, and an empty list stands for them.
    own: UpdateStepRequest,
    /// The result of the changes around it, where it names none.
    result_id: Option<String>,
    /// The change that it is part of.
    parent: Option<usize>,
    /// Position in the list that it stands in.
    position: usize,
    /// The changes behind it that are part of it, on all levels.
    inner: usize,
}

/// The changes of one call, depth first.
#[derive(Debug)]
pub(super) struct StepChanges(Vec<Change>);

impl StepChanges {
    pub(super) fn new(steps: Vec<UpdateStepRequest>) -> Self {
        let mut changes = Self(Vec::with_capacity(steps.len()));
        changes.add(steps, None, None, 1);
        changes
    }

    fn add(
        &mut self,
        steps: Vec<UpdateStepRequest>,
        parent: Option<usize>,
        result_id: Option<&str>,
        level: usize,
    ) {
        for (position, mut own) in steps.into_iter().enumerate() {
            let at = self.0.len();
            // Deeper ones are left to the request, which fails there.
            let children = match &mut own.children {
                Some(children) if level < LEVELS => std::mem::take(children),
                _ => Vec::new(),
            };
            let result_id = own.result_id.as_deref().or(result_id).map(str::to_owned);
            self.0.push(Change { own, result_id: result_id.clone(), parent, position, inner: 0 });
            self.add(children, Some(at), result_id.as_deref(), level + 1);
            let inner = self.0.len() - at - 1;
            if let Some(change) = self.0.get_mut(at) {
                change.inner = inner;
            }
        }
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// The change at `at`, with the result that it inherits and without its children.
    pub(super) fn request(&self, at: usize) -> UpdateStepRequest {
        let Some(change) = self.0.get(at) else { return UpdateStepRequest::new() };
        UpdateStepRequest { result_id: change.result_id.clone(), ..change.own.clone() }
    }

    /// Where a change stands in the call, such as `[2].children[0]`.
    pub(super) fn place(&self, at: usize) -> String {
        let mut positions = Vec::new();
        let mut next = self.0.get(at);
        while let Some(change) = next {
            positions.push(format!("[{}]", change.position));
            next = change.parent.and_then(|parent| self.0.get(parent));
        }
        positions.reverse();
        positions.join(".children")
    }

    /// The changes that failed, as they were sent. One inside another one is answered with that,
    /// and its error becomes an inner error of the other's: each change is answered once.
    pub(super) fn into_sent(
        self,
        failed: &[usize],
        error: Option<&mut ApiError>,
    ) -> Vec<UpdateStepRequest> {
        let mut none = ApiError::default();
        let error = error.unwrap_or(&mut none);
        let told = std::mem::take(&mut error.inner_errors);
        let mut changes = self.0.into_iter().enumerate();
        let (mut sent, mut end) = (Vec::new(), 0);
        for (at, told) in failed.iter().zip(told) {
            if let Some(outer) = error.inner_errors.last_mut().filter(|_| *at < end) {
                outer.inner_errors.push(told);
                continue;
            }
            error.inner_errors.push(told);
            if let Some((_, change)) = changes.by_ref().find(|(of, _)| of == at) {
                end = at + change.inner + 1;
                sent.push(whole(change, &mut changes));
            }
        }
        sent
    }
}

/// A change with those of its children, which come next.
fn whole(change: Change, next: &mut impl Iterator<Item = (usize, Change)>) -> UpdateStepRequest {
    let Change { mut own, mut inner, .. } = change;
    let mut children = Vec::new();
    while inner > 0 {
        let Some((_, child)) = next.next() else { break };
        inner -= child.inner + 1;
        children.push(whole(child, next));
    }
    if !children.is_empty() {
        own.children = Some(children);
    }
    own
}
