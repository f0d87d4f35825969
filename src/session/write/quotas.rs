//! The quotas of workspaces as writes see them.
//!
//! What must hold: the row `quota <workspace>` of [`Space::Meta`] is the sum of what the records of
//! the workspace count ([`Usage::of`]). Each draft of a record changes the row with the record, in
//! the same commit. A row that is missing is made by counting all records: after the first
//! `set_quota`, and in a store that a salvage wrote. Workspaces without a quota have no row, and a
//! store without quotas pays one look-up a plan.

use super::draft::Draft;
use crate::error::Result;
use crate::model::quotas::QuotaRecord;
use crate::model::quotas::charge::Usage;
use crate::model::{Resource, by_code};
use crate::records::{Space, envelope};
use crate::session::view::View;
use crate::value::key;
use crate::value::stored::Payload;

/// The prefix of the keys of all quotas.
const RECORDS: [u8; 1] = [QuotaRecord::KIND.code];

/// The workspace of a record, and what it counts; nothing in no workspace without a record.
fn counted<R: Resource>(record: Option<&R>) -> (&str, Usage) {
    record.map(|record| (record.workspace(), Usage::of(record))).unwrap_or_default()
}

fn usage_key(workspace: &str) -> Vec<u8> {
    format!("quota {workspace}").into_bytes()
}

fn usage_row(workspace: &str, usage: &Usage) -> Result<(Vec<u8>, Vec<u8>)> {
    let key = usage_key(workspace);
    let row = envelope::to_row(&key, usage)?;
    Ok((key, row))
}

impl View<'_> {
    /// How much of a workspace's quota is used. Reads all records if no row says so.
    ///
    /// # Errors
    /// `Corrupt` for a damaged row or record.
    pub(crate) fn usage(&self, workspace: &str) -> Result<Usage> {
        self.usage_in(workspace, self.raw(Space::Meta, &usage_key(workspace))?)
    }

    /// The usage that a row says; counted if there is none.
    fn usage_in(&self, workspace: &str, row: Option<Vec<u8>>) -> Result<Usage> {
        match row {
            Some(row) => envelope::from_row(&usage_key(workspace), &row),
            None => self.count_usage(workspace),
        }
    }

    /// Refuses what would take a workspace above its quota, for content whose bytes are still to
    /// come. Returns how many bytes of content have room besides; `None` without a bound.
    ///
    /// # Errors
    /// `LimitExceeded` for `more` that there is no room for; `Corrupt` for a damaged row or record.
    pub(crate) fn room(&self, workspace: &str, more: &Usage) -> Result<Option<u64>> {
        let entry = key::of_str(workspace);
        for key in self.index_keys::<QuotaRecord>(QuotaRecord::BY_WORKSPACE, &entry)? {
            let Some(quota) = self.any_by_key::<QuotaRecord>(key)? else { continue };
            let used = self.usage(workspace)?;
            let after = used.plus(more);
            quota.check(&used, &after)?;
            return Ok(quota
                .content_bytes_max
                .map(|most| most.saturating_sub(after.content_bytes)));
        }
        Ok(None)
    }

    /// Sums what the records of a workspace count.
    fn count_usage(&self, workspace: &str) -> Result<Usage> {
        let mut usage = Usage::default();
        let mut records = self.cursor(Space::Records, &[])?;
        while let Some((full_key, value)) = records.next()? {
            self.context().check_deadline()?;
            let Some(registered) = full_key.first().and_then(|code| by_code(*code)) else {
                continue;
            };
            let code = registered.kind.code;
            let state = self.raw(Space::RecordState, &full_key)?;
            let open = |bytes| -> Result<Payload<'_>> { envelope::open(&full_key, code, bytes) };
            let state = state.as_deref().map(open).transpose()?;
            let (of, counted) = (registered.usage)(open(&value)?, state)?;
            if of == workspace {
                usage = usage.plus(&counted);
            }
        }
        Ok(usage)
    }
}

impl Draft<'_> {
    /// Counts a change of a record towards the quotas of its workspaces. Must be called once for
    /// each change, with the stored record as `old`, before the change is drafted; a refusal
    /// drafts nothing. Without `may_refuse` the change is counted whatever the bounds are.
    ///
    /// # Errors
    /// `LimitExceeded` for a change that takes a workspace above its quota.
    pub(in crate::session) fn count<R: Resource>(
        &mut self,
        old: Option<&R>,
        new: Option<&R>,
        may_refuse: bool,
    ) -> Result<()> {
        self.count_between(counted(old), counted(new), may_refuse)
    }

    /// As [`Self::count`], compiled once for all kinds.
    fn count_between(
        &mut self,
        old: (&str, Usage),
        new: (&str, Usage),
        may_refuse: bool,
    ) -> Result<()> {
        if old == new || !self.has_quotas()? {
            return Ok(());
        }
        let mut workspaces = vec![old.0];
        if new.0 != old.0 {
            workspaces.push(new.0);
        }
        let mut rows = Vec::new();
        for workspace in workspaces {
            let Some(quota) = self.quota(workspace)? else { continue };
            let before = self.usage(workspace)?;
            let mut after = before.clone();
            if old.0 == workspace {
                after = after.minus(&old.1);
            }
            if new.0 == workspace {
                after = after.plus(&new.1);
            }
            if may_refuse {
                quota.check(&before, &after)?;
            }
            rows.push(usage_row(workspace, &after)?);
        }
        for (key, row) in rows {
            self.put_raw(Space::Meta, key, row);
        }
        Ok(())
    }

    /// How much of a workspace's quota is used, with this draft's changes. Each change of this
    /// draft in the workspace has written the row, so without one the view has all records.
    fn usage(&self, workspace: &str) -> Result<Usage> {
        self.view().usage_in(workspace, self.raw(Space::Meta, &usage_key(workspace))?)
    }

    /// Drafts the row of a workspace that has just got a quota, and returns its content.
    ///
    /// # Errors
    /// `Corrupt` for a damaged record.
    pub(crate) fn begin_usage(&mut self, workspace: &str) -> Result<Usage> {
        let usage = self.usage(workspace)?;
        let (key, row) = usage_row(workspace, &usage)?;
        self.put_raw(Space::Meta, key, row);
        Ok(usage)
    }

    /// Drafts that a workspace has no quota any more.
    pub(crate) fn end_usage(&mut self, workspace: &str) {
        self.delete_raw(Space::Meta, usage_key(workspace));
    }

    /// Whether the store has a quota. A plan that changes quotas puts no other records, so what
    /// this draft has changed does not count.
    pub(in crate::session) fn has_quotas(&mut self) -> Result<bool> {
        if let Some(any) = self.has_quotas {
            return Ok(any);
        }
        let any = self.view().cursor(Space::Records, &RECORDS)?.next()?.is_some();
        self.has_quotas = Some(any);
        Ok(any)
    }

    fn quota(&mut self, workspace: &str) -> Result<Option<QuotaRecord>> {
        if let Some(found) = self.quotas.get(workspace) {
            return Ok(found.clone());
        }
        let key = self.find::<QuotaRecord>(QuotaRecord::BY_WORKSPACE, &key::of_str(workspace))?;
        let found = key.map(|key| self.any_by_key::<QuotaRecord>(key)).transpose()?.flatten();
        self.quotas.insert(workspace.to_owned(), found.clone());
        Ok(found)
    }
}
