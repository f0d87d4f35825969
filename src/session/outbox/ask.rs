//! Reads of the text index for queries and searches, over exactly the state that their view sees.

use std::collections::HashSet;
use std::sync::Arc;

use super::state::SearchOutbox;
use crate::error::{Error, ErrorKind, Result};
use crate::records::ReadSource;
use crate::session::access::identity::Visibility;
use crate::session::view::View;
use crate::text::{self, Ask, DocKey, Index, Request, Scope};
use crate::value::RecordKey;
use crate::value::id::Kind;
use crate::value::limits::{SEARCH_FEED_CHANGES, SEARCH_OVERLAY_CHANGES};

impl SearchOutbox {
    /// The index, and a view of it that shows exactly what `view` sees: no later commit, and the
    /// writes of its open transaction.
    pub(in crate::session) fn state_at(&self, view: &View<'_>) -> Result<(Arc<Index>, text::View)> {
        let (index, state) = self.caught_up(view)?;
        // Must be taken after the state of the index: then its log reaches at least as far as that
        // state.
        let newest = view.context().engine.snapshot();
        let mut touched = HashSet::new();
        match view.source() {
            ReadSource::Snapshot(seen) if seen.sequence < state.sequence() => {
                let later = View::of(&newest, view.context());
                later.log_after(seen.sequence, |sequence, entry| {
                    touched.extend(self.touched(&entry.events).map(|(key, _)| key));
                    Ok(sequence < state.sequence())
                })?;
            }
            ReadSource::Snapshot(_) => {}
            _ => self.touched_in_turn(view, newest.sequence, &mut touched)?,
        }
        // Documents that changed since are overlaid with what `view` sees.
        let keys: Vec<(DocKey, bool)> = touched.into_iter().map(|key| (key, false)).collect();
        let changes = self.changes(index.shape(), view, &keys)?;
        Ok((index, state.with(&changes)))
    }

    /// The index and its newest state, which is at least as new as the last commit.
    fn caught_up(&self, view: &View<'_>) -> Result<(Arc<Index>, text::View)> {
        /// A state falls back only when another caller meets an error of the index.
        const TRIES: usize = 16;
        for _ in 0..TRIES {
            let (index, snapshot) = self.catch_up(view.context())?;
            let state = index.view();
            if state.sequence() >= snapshot.sequence {
                return Ok((index, state));
            }
        }
        Err(Error::new(
            ErrorKind::Io,
            "the text index in the directory `search` failed repeatedly; check the disk",
        ))
    }

    /// The keys of the records of a kind that a text query finds, among those that the caller may
    /// see. Its cost depends only on those, and so reveals nothing about others.
    ///
    /// # Errors
    /// As [`super::search`].
    pub(in crate::session) fn matching(
        &self,
        view: &View<'_>,
        kind: Kind,
        text: &str,
    ) -> Result<HashSet<RecordKey>> {
        let mut is_rebuilt = false;
        loop {
            let beginnings = self.beginnings();
            let (index, state) = self.state_at(view)?;
            let mut request = Request::new(text::parse(text, index.shape())?, 0);
            let workspaces: Option<Arc<[String]>> = match view.visibility(kind) {
                Visibility::All => None,
                Visibility::None => return Ok(HashSet::new()),
                Visibility::Workspaces(ids) => Some(ids.iter().cloned().collect()),
            };
            request.scopes = Some(vec![Scope { kinds: vec![kind.code], workspaces }]);
            match state.matching(&request) {
                Ok(keys) => return Ok(keys.into_iter().map(|found| found.key).collect()),
                Err(error) if !is_rebuilt && error.is_damage() => {
                    self.rebuild(view.context(), beginnings)?;
                    is_rebuilt = true;
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// The keys of the records of a kind whose filter field `path` may contain `piece`, ignoring
    /// case; no record that contains it is left out. `None` if the index cannot answer, or is not
    /// ready: a filter never waits for it.
    ///
    /// A text field with the name of a filter field contains the text of that field.
    pub(in crate::session) fn containing(
        &self,
        view: &View<'_>,
        kind: Kind,
        path: &str,
        piece: &str,
    ) -> Option<Vec<RecordKey>> {
        let registered = self.by_code(kind.code)?;
        if !(registered.text_fields)().iter().any(|field| field.name == path) {
            return None;
        }
        let state = self.at_hand(view)?;
        // A damaged index must not make a filter fail.
        let keys = state.containing(kind.code, path, piece).ok()??;
        Some(keys.into_iter().map(|found| found.key).collect())
    }

    /// The number of the column that contains a field of a kind; `None` if there is none.
    pub(in crate::session) fn column(
        &self,
        view: &View<'_>,
        kind: Kind,
        path: &str,
    ) -> Option<usize> {
        self.by_code(kind.code)?;
        let index = self.opened_index(view)?;
        // Maintenance builds an index that is still empty.
        (index.view().sequence() > 0).then(|| index.shape().column(kind.code, path)).flatten()
    }

    /// Counts the records of a kind whose cells satisfy every `Ask` and that `visibility` allows.
    /// Also returns the keys of records that must be read and tested because the index does not
    /// contain their present form. `None` if the index cannot answer, or is not ready.
    pub(in crate::session) fn count_cells(
        &self,
        view: &View<'_>,
        kind: Kind,
        asks: &[Ask],
        visibility: &Visibility,
    ) -> Option<(u64, Vec<RecordKey>)> {
        let scopes = match visibility {
            Visibility::All => None,
            Visibility::None => return Some((0, Vec::new())),
            Visibility::Workspaces(ids) => Some(vec![Scope {
                kinds: vec![kind.code],
                workspaces: Some(ids.iter().cloned().collect()),
            }]),
        };
        let state = self.at_hand(view)?;
        let count = state.count_cells(asks, scopes.as_deref()).ok()?;
        let unsettled = state.unsettled().into_iter().filter(|found| found.kind == kind.code);
        Some((count, unsettled.map(|found| found.key).collect()))
    }

    /// The index; opens it if a checkpoint exists, so that opening need not rebuild it.
    fn opened_index(&self, view: &View<'_>) -> Option<Arc<Index>> {
        if cfg!(not(feature = "search")) {
            return None;
        }
        if let Some(index) = self.open_index() {
            return Some(index);
        }
        let snapshot = view.context().engine.snapshot();
        let newest = View::of(&snapshot, view.context());
        Self::recorded(&newest).ok()??;
        self.index(&newest, snapshot.sequence).ok()
    }

    /// A view of the index that shows exactly what `view` sees, if few changes are missing in the
    /// index; a filter never waits for more.
    fn at_hand(&self, view: &View<'_>) -> Option<text::View> {
        let index = self.opened_index(view)?;
        let engine = &view.context().engine;
        // The last commit that the view sees. An open transaction sees the newest commit.
        let snapshot = engine.snapshot();
        let committed = match view.source() {
            ReadSource::Snapshot(seen) => seen.sequence,
            _ => snapshot.sequence,
        };
        let newest = View::of(&snapshot, view.context());
        if let Ok(_feeding) = self.feeding.try_lock() {
            let from = index.view().sequence();
            // Maintenance builds an index that is still empty.
            let most = SEARCH_FEED_CHANGES;
            let missing = (from > 0)
                .then(|| self.touched_between(&newest, from, snapshot.sequence, most))
                .flatten()?;
            if !missing.is_empty() {
                self.feed(&index, &newest, snapshot.sequence).ok()?;
            }
        }
        let state = index.view();
        // Must be taken after the state of the index: then its log reaches at least as far as that
        // state.
        let snapshot = engine.snapshot();
        let newest = View::of(&snapshot, view.context());
        let (first, last) = (state.sequence().min(committed), state.sequence().max(committed));
        // Overlays the documents that changed between the state of the index and that of the view,
        // in either direction, with what the view sees.
        let mut touched = if state.sequence() == 0 {
            None
        } else {
            self.touched_between(&newest, first, last, SEARCH_OVERLAY_CHANGES)
        }?;
        self.touched_in_turn(view, committed, &mut touched).ok()?;
        let keys: Vec<(DocKey, bool)> = touched.into_iter().map(|key| (key, false)).collect();
        let changes = self.changes(index.shape(), view, &keys).ok()?;
        Some(state.with(&changes))
    }

    /// Adds the documents that an open turn changed: those of the events that its transaction has
    /// not logged yet, and those of plans that ran before it in the group, which are logged.
    fn touched_in_turn(
        &self,
        view: &View<'_>,
        committed: u64,
        touched: &mut HashSet<DocKey>,
    ) -> Result<()> {
        if !matches!(view.source(), ReadSource::Snapshot(_)) {
            touched.extend(self.touched(view.pending()).map(|(key, _)| key));
            view.log_after(committed, |_, entry| {
                touched.extend(self.touched(&entry.events).map(|(key, _)| key));
                Ok(true)
            })?;
        }
        Ok(())
    }

    /// The documents that the commits after `from` and up to `to` changed; `None` if there are more
    /// than `most`, or if the log no longer contains these commits.
    fn touched_between(
        &self,
        view: &View<'_>,
        from: u64,
        to: u64,
        most: usize,
    ) -> Option<HashSet<DocKey>> {
        let mut touched = HashSet::new();
        if from == to {
            return Some(touched);
        }
        let outcome = view.log_after(from, |sequence, entry| {
            if sequence <= to {
                touched.extend(self.touched(&entry.events).map(|(key, _)| key));
            }
            Ok(sequence < to && touched.len() <= most)
        });
        (outcome.is_ok() && touched.len() <= most).then_some(touched)
    }
}
