//! Steps and measurements of results: all of a result are sent when it has changed.
//!
//! What must hold: a reader counts either what a result had before a change or what it has after
//! it, and each step once, wherever a publication was interrupted. So everything of one attempt has
//! the number of a sending, which no other attempt has, and the change of the result names that
//! number. Steps are committed before the change, so what counts is always there; those of an
//! attempt whose changes were not committed are named by nothing. The number is in the log of the
//! lake table, in the commit that has the steps.

use std::sync::Arc;

use object_store::path::Path;
use serde_json::{Value, json};
use stationdb::arrow::array::{
    Array, ArrayRef, BooleanArray, Int64Array, RecordBatch, StringArray,
};
use stationdb::arrow::compute::filter_record_batch;
use stationdb::arrow::datatypes::{Field, Schema, SchemaRef};
use stationdb::results::{ResultService, ScanMeasurementsRequest, ScanStepsRequest};
use stationdb::scans::RecordStream;
use stationdb::{Control, Error, Result, Session};

use crate::checks::{Check, is_off};
use crate::clock::now_ms;
use crate::encoding::{broken, lake_values};
use crate::layout::Layout;
use crate::log::{CommitOutcome, LakeLog};
use crate::names::{MEASUREMENTS, STEPS};
use crate::records::{LOOKED_UP, number, of_ids, texts};
use crate::remote::Remote;
use crate::schema::{LakeColumn, needed, placed, step_identity};
use crate::sender::{Batch, SendTotals, Sender};
use crate::source::RecordChanges;

/// Part of the application id of the last sending.
const SENDINGS: &str = "/sendings";

/// The column that says in which workspace the result is.
const WORKSPACE: &str = "workspace";
/// A column that measurements of every result have.
const PROGRAM: &str = "program_name";

/// A lake table of what results consist of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StepTable {
    Measurements,
    Steps,
}

impl StepTable {
    /// Those that the layout wants.
    pub(crate) fn of(layout: &dyn Layout) -> &'static [Self] {
        if layout.has_steps() { &[Self::Measurements, Self::Steps] } else { &[Self::Measurements] }
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Measurements => MEASUREMENTS,
            Self::Steps => STEPS,
        }
    }

    fn schema(self) -> Result<SchemaRef> {
        match self {
            Self::Measurements => ScanMeasurementsRequest::schema(),
            Self::Steps => ScanStepsRequest::schema(),
        }
    }

    /// Those of the results with these ids, or all.
    fn scan(
        self,
        session: &Session,
        ids: Option<&[&str]>,
        control: &Control,
    ) -> Result<RecordStream> {
        let filter = ids.map(|ids| of_ids(ids.iter().copied()));
        let (filter, substitutions) = filter.unzip();
        match self {
            Self::Measurements => {
                let mut request = ScanMeasurementsRequest::new();
                (request.result_filter, request.result_substitutions) = (filter, substitutions);
                session.scan_measurements(request, control)
            }
            Self::Steps => {
                let mut request = ScanStepsRequest::new();
                (request.result_filter, request.result_substitutions) = (filter, substitutions);
                session.scan_steps(request, control)
            }
        }
    }

    fn count(self, total: &mut SendTotals, rows: u64) {
        match self {
            Self::Measurements => total.measurements += rows,
            Self::Steps => total.steps += rows,
        }
    }
}

/// The number of the next sending.
pub(crate) fn next_sending(tables: &[(StepTable, LakeLog)], app: &str) -> u64 {
    if is_off(Check::OwnSending) {
        return 1;
    }
    let id = format!("{app}{SENDINGS}");
    let last = tables.iter().filter_map(|(_, log)| log.txns.get(&id)).max();
    last.and_then(|last| u64::try_from(*last).ok()).unwrap_or_default() + 1
}

/// How sending ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StepsOutcome {
    /// With the number that the results name; `None` if nothing was sent.
    Sent(Option<u64>),
    PlanAgain,
}

/// Where the steps of a root come from and go to.
pub(crate) struct Steps<'a> {
    pub remote: &'a Remote,
    pub session: &'a Session,
    pub layout: &'a dyn Layout,
    pub root: &'a Path,
    pub batch: Batch<'a>,
    pub sending: u64,
}

impl Steps<'_> {
    /// Sends all of the results that changed and are there.
    pub(crate) fn send(
        &self,
        tables: &mut [(StepTable, LakeLog)],
        changes: &RecordChanges,
        total: &mut SendTotals,
        control: &Control,
    ) -> Result<StepsOutcome> {
        let ids: Option<Vec<&str>> = match changes {
            RecordChanges::All => None,
            RecordChanges::Some(changed) => {
                let here = changed.iter().filter(|(_, change)| !change.is_gone);
                Some(here.map(|(id, _)| id.as_str()).collect())
            }
        };
        let mut sending = None;
        for (table, log) in tables {
            let (outcome, rows) = self.table(*table, log, ids.as_deref(), total, control)?;
            if outcome.is_late() {
                return Ok(StepsOutcome::PlanAgain);
            }
            sending = sending.or((rows > 0).then_some(self.sending));
        }
        Ok(StepsOutcome::Sent(sending))
    }

    fn txn(&self) -> Value {
        let id = format!("{}{SENDINGS}", self.batch.app);
        json!({ "txn": { "appId": id, "version": number(self.sending), "lastUpdated": now_ms() } })
    }

    /// Sends to one lake table, which is made for the first row. Returns how many rows.
    fn table(
        &self,
        table: StepTable,
        lake: &mut LakeLog,
        ids: Option<&[&str]>,
        total: &mut SendTotals,
        control: &Control,
    ) -> Result<(CommitOutcome, u64)> {
        let schema = table.schema()?;
        let mut batches = self.batches(table, &schema, ids, control).peekable();
        if batches.peek().is_none() {
            return Ok((CommitOutcome::Done, 0));
        }
        let own = step_identity();
        let wanted =
            |fields: &[Value]| placed(&own, schema.fields(), fields).map(|(_, added)| added);
        lake.ensure(self.remote, &wanted, control)?;
        let (columns, _) = placed(&own, schema.fields(), &lake.fields)?;
        let needed = needed(&own, &columns)?;
        let data = columns.iter().map(|column| column.field.clone());
        let fields: Vec<Field> = own.into_iter().chain(data).collect();
        let mut sender = Sender::new(self.remote, lake, self.batch, control, (fields, needed));
        sender.actions.push(self.txn());
        for batch in batches {
            self.write(&mut sender, &schema, &batch?, &columns)?;
            control.report(sender.sent.rows, None, table.name());
        }
        // One commit: what is in the lake of an interrupted sending would count never.
        let outcome = sender.commit()?;
        let SendTotals { rows, files, bytes, commits, .. } = sender.sent;
        table.count(total, rows);
        total.files += files;
        total.bytes += bytes;
        total.commits += commits;
        Ok((outcome, rows))
    }

    /// What this root gets of the results with these ids, or of all; no batch is empty.
    fn batches<'s>(
        &'s self,
        table: StepTable,
        schema: &'s Schema,
        ids: Option<&'s [&'s str]>,
        control: &'s Control,
    ) -> impl Iterator<Item = Result<RecordBatch>> + 's {
        let parts: Vec<Option<&[&str]>> = match ids {
            None => vec![None],
            Some(ids) => ids.chunks(LOOKED_UP).map(Some).collect(),
        };
        let read = move |ids| -> Box<dyn Iterator<Item = Result<RecordBatch>>> {
            match table.scan(self.session, ids, control) {
                Ok(stream) => Box::new(stream),
                Err(error) => Box::new(std::iter::once(Err(error))),
            }
        };
        let found = parts.into_iter().flat_map(read);
        let kept = found.map(move |batch| self.kept(schema, &batch?));
        kept.filter(|batch| batch.as_ref().map_or(true, |batch| batch.num_rows() > 0))
    }

    /// The rows of this root. Steps that outlived their result are not in the lake.
    fn kept(&self, schema: &Schema, batch: &RecordBatch) -> Result<RecordBatch> {
        let workspaces = texts(batch, place(schema, WORKSPACE));
        let programs = place(schema, PROGRAM).and_then(|at| batch.columns().get(at));
        let is_kept = |(row, workspace): (usize, &String)| {
            let has_result = programs.is_none_or(|programs| programs.is_valid(row));
            has_result && self.layout.root(workspace).as_ref() == Some(self.root)
        };
        let kept: Vec<bool> = workspaces.iter().enumerate().map(is_kept).collect();
        if kept.iter().all(|kept| *kept) {
            return Ok(batch.clone());
        }
        filter_record_batch(batch, &BooleanArray::from(kept)).map_err(broken)
    }

    fn write(
        &self,
        sender: &mut Sender<'_>,
        schema: &Schema,
        batch: &RecordBatch,
        columns: &[LakeColumn],
    ) -> Result<()> {
        let count = batch.num_rows();
        let station = std::iter::repeat_n(self.batch.station, count);
        let mut arrays: Vec<ArrayRef> = vec![
            Arc::new(StringArray::from_iter_values(station)),
            Arc::new(StringArray::from_iter_values(texts(batch, place(schema, WORKSPACE)))),
            Arc::new(Int64Array::from(vec![number(self.batch.number); count])),
            Arc::new(Int64Array::from(vec![number(self.sending); count])),
        ];
        for column in columns {
            let values = batch
                .columns()
                .get(column.from)
                .ok_or_else(|| Error::corrupt("steps of one store have different columns"))?;
            arrays.push(lake_values(column, values)?);
        }
        sender.write(arrays)
    }
}

fn place(schema: &Schema, name: &str) -> Option<usize> {
    schema.column_with_name(name).map(|(at, _)| at)
}
