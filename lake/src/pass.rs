//! A publish to one root of a lake: the batch that it lacks, and the order in which its parts are committed.

use std::collections::BTreeMap;
use std::sync::Arc;

use object_store::path::Path;
use stationdb::arrow::array::{ArrayRef, Int64Array, StringArray, TimestampMicrosecondArray};
use stationdb::scans::{RecordKind, RecordService, ScanRecordsRequest};
use stationdb::{Control, Result};

use crate::checks::{Check, is_off};
use crate::clock::now_ms;
use crate::log::{CommitOutcome, LakeLog};
use crate::names::{BATCHES, DELETED_ROWS, is_rows, table_of};
use crate::plan::{self, RowRemovals, RowsPlan};
use crate::position;
use crate::records::Records;
use crate::remote::Remote;
use crate::root::Root;
use crate::rows::{self, RowsLogs, TableSend};
use crate::schema::{batch_columns, deleted_columns, needed};
use crate::sender::{Batch, SendTotals, Sender};
use crate::source::{self, KINDS, RecordChanges, SourceChanges};
use crate::stations;
use crate::steps::{self, StepTable, Steps, StepsOutcome};

/// One try to publish to a root.
pub(crate) struct Pass<'a> {
    pub root: Root<'a>,
    /// Logs as they were last read.
    pub logs: &'a mut BTreeMap<Path, LakeLog>,
    pub sent: &'a mut SendTotals,
    /// Why all records were sent.
    pub full: Option<&'static str>,
}

impl Pass<'_> {
    /// A log as it is now.
    fn take(&mut self, name: &str, control: &Control) -> Result<LakeLog> {
        match self.logs.remove(&self.root.path.clone().join(name)) {
            Some(mut log) if !log.is_old() => {
                log.update(self.root.remote, control)?;
                Ok(log)
            }
            _ => self.root.open(name, control),
        }
    }

    fn keep(&mut self, log: LakeLog) {
        self.logs.insert(log.path.clone(), log);
    }

    pub(crate) fn publish(&mut self, control: &Control) -> Result<CommitOutcome> {
        let root = self.root;
        let is_first = !self.logs.contains_key(&root.path.clone().join(BATCHES));
        let mut batches = self.take(BATCHES, control)?;
        let position = position::read(&batches, root.app);
        root.check_station(&batches)?;
        if root.is_overtaken(&position) {
            return Ok(CommitOutcome::PlanAgain);
        }
        root.check_history(&position)?;
        let news = root.news(&position, control)?;
        self.full = news.full;
        let until = root.session.position().0;
        let known = position.sequence.unwrap_or_default();
        let sequence = match news.last {
            Some((sequence, _)) => sequence,
            None => until.max(known),
        };
        let batch = Batch {
            station: root.station,
            app: root.app,
            epoch: position.epoch,
            sequence,
            number: position.epoch << crate::EPOCH_BITS | sequence,
            rows_from: position.rows_from,
            complete: position.complete(),
        };
        let is_all = is_first || news.full.is_some();
        let mut rows_logs = self.rows_logs(&batches, is_all, control)?;
        let plan = plan::plan(&root, &news, is_all, batch, &mut rows_logs, control)?;
        let is_nothing = plan.is_empty() && news.last.is_none() && news.full.is_none();
        if !is_nothing {
            if is_off(Check::BatchesLast) {
                self.complete(&mut batches, batch, &news, control)?;
            }
            let is_named_late = is_off(Check::NamedFirst);
            if (!is_named_late && self.name(&mut batches, &plan, &rows_logs, control)?.is_late())
                || self.rows(&plan, batch, &mut rows_logs, control)?.is_late()
                || (is_named_late && self.name(&mut batches, &plan, &rows_logs, control)?.is_late())
                || self.records(&news, batch, control)?.is_late()
                || self.complete(&mut batches, batch, &news, control)?.is_late()
            {
                return Ok(CommitOutcome::PlanAgain);
            }
        }
        if plan.is_held {
            // Without logs the next call compares all tables, also those that did not change.
            return Ok(CommitOutcome::Done);
        }
        self.keep(batches);
        for logs in rows_logs.into_values() {
            self.keep(logs.rows);
            self.keep(logs.deleted);
        }
        Ok(CommitOutcome::Done)
    }

    /// The logs of lake tables with rows: those that the lake has, or that were read before.
    fn rows_logs(
        &mut self,
        batches: &LakeLog,
        is_all: bool,
        control: &Control,
    ) -> Result<BTreeMap<String, RowsLogs>> {
        let root = self.root;
        let names = if is_all {
            root.lake_tables(batches, control)?
        } else {
            let paths = self.logs.keys().filter(|path| path.prefix_matches(root.path));
            let logs = paths.filter_map(|path| self.logs.get(path));
            let read = logs.map(|log| log.name.clone()).filter(|name| is_rows(name));
            read.chain(position::tables(batches, root.app)).collect()
        };
        let mut found = BTreeMap::new();
        for name in names {
            let rows = self.take(&name, control)?;
            let deleted = self.take(&format!("{name}{DELETED_ROWS}"), control)?;
            found.insert(name, RowsLogs::new(rows, deleted));
        }
        Ok(found)
    }

    /// Names the station in `batches` before anything of it comes into the lake, and lake tables
    /// before rows come into them: the next publisher looks for them there, also if this one
    /// crashes before the batch is complete.
    fn name(
        &mut self,
        batches: &mut LakeLog,
        plan: &RowsPlan,
        logs: &BTreeMap<String, RowsLogs>,
        control: &Control,
    ) -> Result<CommitOutcome> {
        let root = self.root;
        let named = position::tables(batches, root.app);
        let has_rows = |name: &str| logs.get(name).is_some_and(|logs| logs.rows.has_statements());
        let new = logs.keys().filter(|name| plan.work.contains_key(*name) || has_rows(name));
        let new = new.filter(|name| !named.contains(*name));
        let mut actions: Vec<_> = new.map(|name| position::named(root.app, name)).collect();
        if !batches.stations.has(root.app, root.station) {
            actions.push(stations::named(root.app, root.station));
        }
        if actions.is_empty() {
            return Ok(CommitOutcome::Done);
        }
        ensure(batches, root.remote, &batch_columns(), control)?;
        let holds = |log: &LakeLog| root.check_station(log).is_ok();
        let outcome = batches.commit(root.remote, "NAME TABLES", actions, &holds, control)?;
        self.sent.commits += u64::from(!outcome.is_late());
        Ok(outcome)
    }

    /// What goes last: rows that are sent again are in the lake then, so a retention cannot delete
    /// them before they are.
    fn rows(
        &mut self,
        plan: &RowsPlan,
        batch: Batch<'_>,
        logs: &mut BTreeMap<String, RowsLogs>,
        control: &Control,
    ) -> Result<CommitOutcome> {
        let root = self.root;
        if is_off(Check::GoneLast) && self.all_deleted(plan, batch, logs, control)?.is_late() {
            return Ok(CommitOutcome::PlanAgain);
        }
        for (name, work) in &plan.work {
            let Some(logs) = logs.get_mut(name) else { continue };
            let same = |a: &TableSend, b: &TableSend| a.columns == b.columns;
            for work in work.chunk_by(same) {
                let (remote, session) = (root.remote, root.session);
                let outcome =
                    rows::send(remote, session, &mut logs.rows, batch, work, self.sent, control)?;
                if outcome == CommitOutcome::PlanAgain {
                    return Ok(outcome);
                }
            }
        }
        self.all_deleted(plan, batch, logs, control)
    }

    /// Sends what goes, by lake table, and in each by batch.
    fn all_deleted(
        &mut self,
        plan: &RowsPlan,
        batch: Batch<'_>,
        logs: &mut BTreeMap<String, RowsLogs>,
        control: &Control,
    ) -> Result<CommitOutcome> {
        for ((name, number), goes) in &plan.goes {
            let Some(logs) = logs.get_mut(name) else { continue };
            let batch = Batch { number: *number, ..batch };
            if self.deleted(&mut logs.deleted, goes, batch, control)?.is_late() {
                return Ok(CommitOutcome::PlanAgain);
            }
        }
        Ok(CommitOutcome::Done)
    }

    /// Sends what goes of a lake table, of rows of earlier batches.
    fn deleted(
        &mut self,
        lake: &mut LakeLog,
        RowRemovals { ranges, whole }: &RowRemovals,
        batch: Batch<'_>,
        control: &Control,
    ) -> Result<CommitOutcome> {
        let own = deleted_columns();
        let fields = needed(&own, &[])?;
        ensure(lake, self.root.remote, &own, control)?;
        let mut sender = Sender::new(self.root.remote, lake, batch, control, (own, fields));
        let number = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
        let numbers = |of: &dyn Fn(&(String, u64, u64)) -> u64| -> ArrayRef {
            Arc::new(Int64Array::from_iter_values(ranges.iter().map(|range| number(of(range)))))
        };
        sender.write(vec![
            texts(ranges.iter().map(|_| batch.station)),
            texts(ranges.iter().map(|(table, ..)| table.as_str())),
            numbers(&|range| range.1),
            numbers(&|range| range.2),
            numbers(&|_| batch.number),
        ])?;
        ranges.iter().for_each(|range| sender.known.has_table(&range.0));
        sender.statement.gone = whole.iter().map(|(table, _)| table.clone()).collect();
        sender.statement.stay =
            whole.iter().filter_map(|(table, end)| Some((table.clone(), (*end)?))).collect();
        let outcome = sender.commit()?;
        self.sent.commits += sender.sent.commits;
        Ok(outcome)
    }

    fn records(
        &mut self,
        news: &SourceChanges,
        batch: Batch<'_>,
        control: &Control,
    ) -> Result<CommitOutcome> {
        let root = self.root;
        for (at, changes) in &news.records {
            let Some(kind) = KINDS.get(*at).copied() else { continue };
            let mut lake = self.take(&table_of(kind), control)?;
            let done = lake.txns.get(&batch.epoch_app()).copied().unwrap_or_default();
            let done = u64::try_from(done).unwrap_or_default();
            let later = match changes {
                RecordChanges::All if done >= batch.sequence => None,
                RecordChanges::All => Some(RecordChanges::All),
                RecordChanges::Some(changed) => {
                    let later = changed.iter().filter(|(_, change)| change.sequence > done);
                    let later: BTreeMap<_, _> =
                        later.map(|(id, change)| (id.clone(), change.clone())).collect();
                    (!later.is_empty()).then_some(RecordChanges::Some(later))
                }
            };
            let is_empty = matches!(later, Some(RecordChanges::All))
                && !lake.exists()
                && self.has_none(kind)?;
            if let Some(later) = later.filter(|_| !is_empty) {
                let sending = match kind {
                    RecordKind::TestResult => match self.steps(&later, batch, control)? {
                        StepsOutcome::Sent(sending) => sending,
                        StepsOutcome::PlanAgain => return Ok(CommitOutcome::PlanAgain),
                    },
                    _ => None,
                };
                let records = Records {
                    remote: root.remote,
                    session: root.session,
                    layout: root.layout,
                    root: root.path,
                    kind,
                    batch,
                    sending,
                };
                if records.send(&mut lake, &later, self.sent, control)? == CommitOutcome::PlanAgain
                {
                    return Ok(CommitOutcome::PlanAgain);
                }
            }
            self.keep(lake);
        }
        Ok(CommitOutcome::Done)
    }

    /// Sends the steps and the measurements of results, before these name the sending.
    fn steps(
        &mut self,
        changes: &RecordChanges,
        batch: Batch<'_>,
        control: &Control,
    ) -> Result<StepsOutcome> {
        let root = self.root;
        let mut tables = Vec::new();
        for table in StepTable::of(root.layout) {
            tables.push((*table, self.take(table.name(), control)?));
        }
        let steps = Steps {
            remote: root.remote,
            session: root.session,
            layout: root.layout,
            root: root.path,
            batch,
            sending: steps::next_sending(&tables, root.app),
        };
        let outcome = steps.send(&mut tables, changes, self.sent, control)?;
        tables.into_iter().for_each(|(_, log)| self.keep(log));
        Ok(outcome)
    }

    /// Whether the store has no record of a kind.
    fn has_none(&self, kind: RecordKind) -> Result<bool> {
        let request = ScanRecordsRequest::new(kind).take(1);
        let mut stream = self.root.session.scan_records(request, &Control::default())?;
        Ok(stream.next().transpose()?.is_none_or(|batch| batch.num_rows() == 0))
    }

    /// Commits that the batch is complete.
    fn complete(
        &mut self,
        lake: &mut LakeLog,
        batch: Batch<'_>,
        news: &SourceChanges,
        control: &Control,
    ) -> Result<CommitOutcome> {
        let root = self.root;
        let own = batch_columns();
        let fields = needed(&own, &[])?;
        ensure(lake, root.remote, &own, control)?;
        let time = match news.last {
            Some((_, time)) => Some(time),
            None => source::time_of(root.session, batch.sequence)?,
        };
        let mut sender = Sender::new(root.remote, lake, batch, control, (own, fields));
        let number = |number: u64| -> ArrayRef {
            Arc::new(Int64Array::from(vec![i64::try_from(number).unwrap_or(i64::MAX)]))
        };
        sender.known.rows_from = Some(batch.rows_from);
        let published = TimestampMicrosecondArray::from(vec![now_ms().saturating_mul(1000)]);
        sender.write(vec![
            texts([batch.station].into_iter()),
            number(batch.number),
            number(batch.rows_from),
            number(batch.epoch),
            number(batch.sequence),
            Arc::new(published.with_timezone("UTC")),
        ])?;
        let time = time.and_then(|time| u64::try_from(time).ok()).unwrap_or_default();
        sender.actions = vec![
            position::txn(root.app, batch.epoch, "/time", time),
            position::txn(root.app, batch.epoch, "/rows_from", batch.rows_from),
        ];
        let outcome = sender.commit()?;
        self.sent.commits += sender.sent.commits;
        Ok(outcome)
    }
}

fn texts<'t>(texts: impl Iterator<Item = &'t str>) -> ArrayRef {
    Arc::new(StringArray::from_iter_values(texts))
}

fn ensure(
    lake: &mut LakeLog,
    remote: &Remote,
    own: &[stationdb::arrow::datatypes::Field],
    control: &Control,
) -> Result<()> {
    let wanted = |fields: &[serde_json::Value]| {
        crate::schema::placed(own, &[], fields).map(|(_, added)| added)
    };
    lake.ensure(remote, &wanted, control)
}
