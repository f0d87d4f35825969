//! Changes of records: the state of each changed one, and full passes.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use object_store::path::Path;
use stationdb::arrow::array::{
    Array, ArrayRef, AsArray, BooleanArray, Int64Array, RecordBatch, StringArray, new_null_array,
};
use stationdb::arrow::compute::filter_record_batch;
use stationdb::arrow::datatypes::{Field, Schema};
use stationdb::prelude::*;
use stationdb::scans::{RecordKind, ScanRecordsRequest};
use stationdb::{Control, ErrorKind, Result, Session};

use crate::encoding::{broken, lake_values};
use crate::layout::Layout;
use crate::log::{CommitOutcome, LakeLog};
use crate::remote::Remote;
use crate::schema::{LakeColumn, change_identity, needed, placed};
use crate::sender::{Batch, SendTotals, Sender};
use crate::source::{RecordChange, RecordChanges};

/// Ids that are looked up by a filter; of more, all records are read.
pub(crate) const LOOKED_UP: usize = 100;
/// What a row says before which no row of the station counts.
pub(crate) const PASS: &str = "PASS";
/// What a record of a full pass says.
const FULL: &str = "FULL";

/// A filter for records with these ids, and its substitutions.
pub(crate) fn of_ids<'i>(ids: impl Iterator<Item = &'i str>) -> (String, Vec<serde_json::Value>) {
    let ids: Vec<serde_json::Value> = ids.map(Into::into).collect();
    let tests: Vec<String> = (0..ids.len()).map(|at| format!("id == @{at}")).collect();
    (tests.join(" || "), ids)
}

/// The texts of a column; empty where it has none, and where there is no such column.
pub(crate) fn texts(batch: &RecordBatch, at: Option<usize>) -> Vec<String> {
    let values = at.and_then(|at| batch.columns().get(at)?.as_string_opt::<i32>());
    let text = |row| {
        let value = values.filter(|values| values.is_valid(row));
        value.map_or_else(String::new, |values| values.value(row).to_owned())
    };
    (0..batch.num_rows()).map(text).collect()
}

/// A number of the lake.
pub(crate) fn number(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// Where the records of one kind come from and go to.
pub(crate) struct Records<'a> {
    pub remote: &'a Remote,
    pub session: &'a Session,
    pub layout: &'a dyn Layout,
    pub root: &'a Path,
    pub kind: RecordKind,
    pub batch: Batch<'a>,
    /// The sending that brought the steps of these results; `None` if none of them has any.
    pub sending: Option<u64>,
}

/// The rows of one part of a change table.
struct Rows<'a> {
    workspaces: Vec<&'a str>,
    sequences: Vec<u64>,
    whats: Vec<&'a str>,
    ids: Vec<&'a str>,
}

impl Records<'_> {
    /// Sends what changed.
    pub(crate) fn send(
        &self,
        lake: &mut LakeLog,
        changes: &RecordChanges,
        total: &mut SendTotals,
        control: &Control,
    ) -> Result<CommitOutcome> {
        let schema = self.session.record_schema(self.kind)?;
        let own = change_identity(self.kind);
        let wanted = |fields: &[serde_json::Value]| {
            placed(&own, schema.fields(), fields).map(|(_, added)| added)
        };
        lake.ensure(self.remote, &wanted, control)?;
        let (columns, _) = placed(&own, schema.fields(), &lake.fields)?;
        let needed = needed(&own, &columns)?;
        // A row about a record that is gone has the identity alone.
        let data = columns.iter().map(|column| column.field.clone().with_nullable(true));
        let fields: Vec<Field> = own.iter().cloned().chain(data).collect();
        let mut sender = Sender::new(self.remote, lake, self.batch, control, (fields, needed));
        match changes {
            RecordChanges::All => {
                let rows = Rows {
                    workspaces: vec![""],
                    sequences: vec![self.batch.sequence],
                    whats: vec![PASS],
                    ids: vec![""],
                };
                self.write(&mut sender, &rows, None, &columns)?;
                self.pass(&mut sender, &schema, &columns, None, control)?;
            }
            RecordChanges::Some(changed) => {
                let gone: Vec<(&String, &RecordChange)> =
                    changed.iter().filter(|(_, change)| change.is_gone).collect();
                for gone in gone.chunks(10_000) {
                    let rows = Rows {
                        workspaces: gone
                            .iter()
                            .map(|(_, change)| change.workspace.as_str())
                            .collect(),
                        sequences: gone.iter().map(|(_, change)| change.sequence).collect(),
                        whats: gone.iter().map(|(_, change)| change.what.as_str()).collect(),
                        ids: gone.iter().map(|(id, _)| id.as_str()).collect(),
                    };
                    self.write(&mut sender, &rows, None, &columns)?;
                }
                self.pass(&mut sender, &schema, &columns, Some(changed), control)?;
            }
        }
        let outcome = sender.commit()?;
        total.files += sender.sent.files;
        total.bytes += sender.sent.bytes;
        total.commits += sender.sent.commits;
        Ok(outcome)
    }

    /// Sends the records of this root with these ids, or all.
    fn pass(
        &self,
        sender: &mut Sender<'_>,
        schema: &Schema,
        columns: &[LakeColumn],
        changed: Option<&BTreeMap<String, RecordChange>>,
        control: &Control,
    ) -> Result<()> {
        let mut request = ScanRecordsRequest::new(self.kind);
        if let Some(changed) = changed {
            let ids: BTreeSet<&String> =
                changed.iter().filter(|(_, change)| !change.is_gone).map(|(id, _)| id).collect();
            if ids.is_empty() {
                return Ok(());
            }
            if ids.len() <= LOOKED_UP {
                let (filter, substitutions) = of_ids(ids.into_iter().map(String::as_str));
                (request.filter, request.substitutions) = (Some(filter), Some(substitutions));
            }
        }
        let stream = match self.session.scan_records(request, control) {
            // A kind whose filters know no id.
            Err(error) if error.kind() == ErrorKind::InvalidArgument => {
                self.session.scan_records(ScanRecordsRequest::new(self.kind), control)?
            }
            stream => stream?,
        };
        let place = |name| schema.column_with_name(name).map(|(at, _)| at);
        let (id_at, workspace_at) = (place("id"), place("workspace"));
        for batch in stream {
            let batch = batch?;
            let (ids, workspaces) = (texts(&batch, id_at), texts(&batch, workspace_at));
            let is_wanted = |row: usize| {
                let workspace = workspaces.get(row).map(String::as_str).unwrap_or_default();
                let is_here = self.layout.root(workspace).as_ref() == Some(self.root);
                let id = ids.get(row);
                let is_changed = changed.is_none_or(|changed| {
                    id.and_then(|id| changed.get(id)).is_some_and(|change| !change.is_gone)
                });
                is_here && is_changed
            };
            let wanted: Vec<bool> = (0..batch.num_rows()).map(is_wanted).collect();
            let kept = filter_record_batch(&batch, &BooleanArray::from(wanted.clone()));
            let kept = kept.map_err(broken)?;
            if kept.num_rows() == 0 {
                continue;
            }
            let of = |texts: &'_ [String]| -> Vec<String> {
                let pairs = texts.iter().zip(&wanted);
                pairs.filter(|(_, wanted)| **wanted).map(|(text, _)| text.clone()).collect()
            };
            let (ids, workspaces) = (of(&ids), of(&workspaces));
            let change = |id: &String| changed.and_then(|changed| changed.get(id));
            let rows = Rows {
                workspaces: workspaces.iter().map(String::as_str).collect(),
                sequences: ids
                    .iter()
                    .map(|id| change(id).map_or(self.batch.sequence, |change| change.sequence))
                    .collect(),
                whats: ids
                    .iter()
                    .map(|id| change(id).map_or(FULL, |change| change.what.as_str()))
                    .collect(),
                ids: ids.iter().map(String::as_str).collect(),
            };
            self.write(sender, &rows, Some(kept.columns()), columns)?;
        }
        Ok(())
    }

    fn write(
        &self,
        sender: &mut Sender<'_>,
        rows: &Rows<'_>,
        data: Option<&[ArrayRef]>,
        columns: &[LakeColumn],
    ) -> Result<()> {
        let count = rows.ids.len();
        if count == 0 {
            return Ok(());
        }
        let station = std::iter::repeat_n(self.batch.station, count);
        let mut arrays: Vec<ArrayRef> = vec![
            Arc::new(StringArray::from_iter_values(station)),
            Arc::new(StringArray::from_iter_values(&rows.workspaces)),
            Arc::new(Int64Array::from(vec![number(self.batch.number); count])),
            Arc::new(Int64Array::from_iter_values(rows.sequences.iter().copied().map(number))),
            Arc::new(StringArray::from_iter_values(&rows.whats)),
            Arc::new(StringArray::from_iter_values(&rows.ids)),
        ];
        if self.kind == RecordKind::TestResult {
            let sending = self.sending.filter(|_| data.is_some()).map(number);
            arrays.push(Arc::new(Int64Array::from(vec![sending; count])));
        }
        for column in columns {
            let values = data.and_then(|data| data.get(column.from));
            arrays.push(match values {
                Some(values) => lake_values(column, values)?,
                None => new_null_array(column.field.data_type(), count),
            });
        }
        sender.write(arrays)
    }
}
