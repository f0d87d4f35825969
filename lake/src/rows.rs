//! The rows of tables: what the lake lacks of each, and how it gets there.

use std::sync::Arc;

use object_store::path::Path;
use stationdb::arrow::array::{ArrayRef, Int64Array, StringArray};
use stationdb::arrow::datatypes::{Field, Schema, SchemaRef};
use stationdb::prelude::*;
use stationdb::tables::{PartRows, RowsPart, ScanRequest, TableId};
use stationdb::{Control, Error, ErrorKind, Result, Session};

use crate::chunk::ConstantValue;
use crate::encoding::lake_values;
use crate::layout::LakeTable;
use crate::ledger::{Extent, NamedColumn, RetainedRows, Statement, named};
use crate::log::{CommitOutcome, LakeLog};
use crate::names::DELETED_ROWS;
use crate::ordinals::{self, Ordinals};
use crate::remote::Remote;
use crate::schema::{LakeColumn, needed, placed, row_identity, short_hash};
use crate::segment::{GroupRows, RowOrdinals, Segment};
use crate::sender::{Batch, SendTotals, Sender};
use crate::source::SourceTable;
use crate::splice::RowIdentity;

/// Rows that are encoded at a time.
const BATCH_ROWS: usize = 8 * 1024;
/// Row groups of a stored file that are prepared at the same time.
const GROUPS: usize = 4;

/// A table, and what the lake lacks of it.
#[derive(Debug)]
pub(crate) struct TableSend {
    pub id: TableId,
    pub workspace: String,
    /// The ordinals to send.
    pub from: u64,
    pub to: u64,
    pub columns: Vec<NamedColumn>,
    /// The numbers of the columns.
    pub numbers: Vec<u64>,
    /// Whether the lake table has earlier rows of the table, which go.
    pub is_again: bool,
    /// Rows that a retention has deleted, if the others are sent again.
    pub absent: Ordinals,
}

impl TableSend {
    /// Says that the rows before `end` were sent, and those from `from` on since the last commit.
    fn said(&self, statement: &mut Statement, from: u64, end: u64) {
        let id = self.id.to_string();
        let absent = ordinals::within(&self.absent, from, end);
        if !absent.is_empty() {
            statement.absent.insert(id.clone(), absent);
        }
        if self.is_again && from == self.from {
            statement.again.insert(id.clone());
        }
        if !self.numbers.iter().copied().eq(0..self.numbers.len() as u64) {
            statement.numbers.insert(id.clone(), self.numbers.clone());
        }
        statement.sent.insert(id, end);
    }
}

/// The logs of a lake table with rows, and of the rows that were deleted from it.
#[derive(Debug)]
pub(crate) struct RowsLogs {
    pub rows: LakeLog,
    pub deleted: LakeLog,
    /// Fields that the rows of the plan will add.
    planned: Vec<serde_json::Value>,
}

impl RowsLogs {
    pub(crate) fn open(
        remote: &Remote,
        root: &Path,
        name: &str,
        app: &str,
        control: &Control,
    ) -> Result<Self> {
        let rows = LakeLog::open(remote, root, name, app, control)?;
        let deleted = LakeLog::open(remote, root, &format!("{name}{DELETED_ROWS}"), app, control)?;
        Ok(Self::new(rows, deleted))
    }

    pub(crate) fn new(rows: LakeLog, deleted: LakeLog) -> Self {
        Self { rows, deleted, planned: Vec::new() }
    }

    /// Whether the lake table takes these columns beside those of the plan; then they are of the
    /// plan too.
    pub(crate) fn takes(&mut self, schema: &Schema) -> Result<bool> {
        let fields = [self.rows.fields.as_slice(), &self.planned].concat();
        match placed(&row_identity(), schema.fields(), &fields) {
            Ok((_, added)) => {
                self.planned.extend(added);
                Ok(true)
            }
            Err(error) if error.kind() == ErrorKind::Conflict => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// What the lake table has of a table: rows after which the table did not go, in the order in
    /// which they were sent.
    pub(crate) fn extents(&self, id: &str, rows_from: u64) -> impl Iterator<Item = &Extent> {
        let extents = self.rows.ledger.extents(id, rows_from);
        extents.filter(move |extent| !self.is_gone(id, extent))
    }

    fn is_gone(&self, id: &str, extent: &Extent) -> bool {
        self.deleted.ledger.gone.get(id).is_some_and(|gone| *gone > extent.batch)
    }

    /// What was sent from the first ordinal on after the last complete batch. Of rows that went
    /// meanwhile some stay, or they are not here.
    pub(crate) fn begun(&self, id: &str, batch: Batch<'_>) -> impl Iterator<Item = &Extent> {
        let has_stay = self.stay(id, batch.rows_from).is_some();
        let extents = self.rows.ledger.extents(id, batch.rows_from);
        let begun = extents.filter(move |extent| extent.begin > batch.complete);
        begun.filter(move |extent| has_stay || !self.is_gone(id, extent))
    }

    fn stay(&self, id: &str, rows_from: u64) -> Option<&RetainedRows> {
        self.deleted.ledger.stay.get(id).filter(|stay| stay.batch >= rows_from)
    }

    /// The end of all rows of a table that count: of those that the lake table has, and of those
    /// that stayed when the others went.
    pub(crate) fn end_of_all(&self, id: &str, rows_from: u64) -> Option<u64> {
        let has = self.extents(id, rows_from).map(|extent| extent.end).max();
        has.max(self.stay(id, rows_from).map(|stay| stay.end))
    }

    /// Whether the lake table had rows of a table.
    pub(crate) fn had(&self, id: &str) -> bool {
        self.rows.ledger.sent.contains_key(id)
    }
}

/// The name of the lake table for a table with these columns, which has none yet.
pub(crate) fn name_of(lake: &LakeTable, columns: &[NamedColumn]) -> String {
    if lake.is_by_columns {
        format!("{}_{}", lake.name, hash_of(columns))
    } else {
        lake.name.clone()
    }
}

/// A short name of a set of columns.
pub(crate) fn hash_of(columns: &[NamedColumn]) -> String {
    let mut sorted = columns.to_vec();
    sorted.sort();
    short_hash(&format!("{sorted:?}"))
}

/// The columns of a table as Arrow has them.
pub(crate) fn stored_schema(session: &Session, id: &TableId) -> Result<SchemaRef> {
    let nothing = ScanRequest::new().take(0);
    Ok(session.scan(id, nothing, &Control::default())?.schema())
}

/// The work on a table in a lake table that has `end` of it, in which no row is sent again.
pub(crate) fn work(table: &SourceTable, end: u64) -> TableSend {
    TableSend {
        is_again: false,
        absent: Ordinals::new(),
        id: table.id.clone(),
        workspace: table.workspace.clone(),
        from: end,
        to: table.next,
        columns: named(table.metadata.columns.as_deref().unwrap_or_default()),
        numbers: table.numbers.clone(),
    }
}

/// Sends the rows of tables with the same columns. Adds what was sent to `total`.
pub(crate) fn send(
    remote: &Remote,
    session: &Session,
    lake: &mut LakeLog,
    batch: Batch<'_>,
    work: &[TableSend],
    total: &mut SendTotals,
    control: &Control,
) -> Result<CommitOutcome> {
    let Some(first) = work.first() else { return Ok(CommitOutcome::Done) };
    let stored = stored_schema(session, &first.id)?;
    let own = row_identity();
    let wanted = |fields: &[serde_json::Value]| {
        placed(&own, stored.fields(), fields).map(|(_, added)| added)
    };
    lake.ensure(remote, &wanted, control)?;
    let (columns, _) = placed(&own, stored.fields(), &lake.fields)?;
    let needed = needed(&own, &columns)?;
    let data = columns.iter().map(|column| column.field.clone());
    let fields: Vec<Field> = own.iter().cloned().chain(data).collect();
    let mut sender = Sender::new(remote, lake, batch, control, (fields, needed));
    sender.statement.columns.clone_from(&first.columns);
    let before = total.rows;
    for table in work {
        // A commit inside of a table ends the work on it when others were first.
        let mut again = false;
        let mut from = table.from;
        let mut pass = |part: RowsPart<'_>| {
            let end = part.first_ordinal + part.row_count;
            write_part(&mut sender, table, part, &columns, &stored)?;
            control.report(before + sender.sent.rows, None, "rows");
            if sender.is_full() {
                table.said(&mut sender.statement, from, end);
                from = end;
                if sender.commit()? == CommitOutcome::PlanAgain {
                    again = true;
                    return Err(Error::conflict("another publisher of the station was first"));
                }
            }
            Ok(())
        };
        let exported = session.export_rows(&table.id, table.from..table.to, &mut pass, control);
        if again {
            return Ok(CommitOutcome::PlanAgain);
        }
        exported?;
        table.said(&mut sender.statement, from, table.to);
    }
    let outcome = sender.commit()?;
    let SendTotals { rows, files, bytes, taken, commits, .. } = sender.sent;
    total.rows += rows;
    total.files += files;
    total.bytes += bytes;
    total.taken += taken;
    total.commits += commits;
    Ok(outcome)
}

/// The identity of rows with these ordinals.
fn identity(batch: Batch<'_>, table: &TableSend, ordinals: Vec<u64>) -> Vec<ArrayRef> {
    let rows = ordinals.len();
    let text = |text: &str| -> ArrayRef {
        Arc::new(StringArray::from_iter_values(std::iter::repeat_n(text, rows)))
    };
    let number = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
    vec![
        text(batch.station),
        text(&table.workspace),
        text(table.id.as_str()),
        Arc::new(Int64Array::from(vec![number(batch.number); rows])),
        Arc::new(Int64Array::from_iter_values(ordinals.into_iter().map(number))),
    ]
}

fn write_part(
    sender: &mut Sender<'_>,
    table: &TableSend,
    part: RowsPart<'_>,
    columns: &[LakeColumn],
    stored: &Schema,
) -> Result<()> {
    let batch = sender.batch;
    match part.rows {
        PartRows::Batch(rows) => {
            for at in (0..rows.num_rows()).step_by(BATCH_ROWS) {
                let rows = rows.slice(at, BATCH_ROWS.min(rows.num_rows() - at));
                let first = part.first_ordinal + at as u64;
                let ordinals = (first..first + rows.num_rows() as u64).collect();
                let mut arrays = identity(batch, table, ordinals);
                for column in columns {
                    let values = rows.columns().get(column.from).ok_or_else(|| {
                        Error::corrupt("rows of one table have different columns")
                    })?;
                    arrays.push(lake_values(column, values)?);
                }
                sender.write(arrays)?;
                sender.known.has_table(table.id.as_str());
            }
        }
        PartRows::Segment(segment) => {
            let open = Segment::open(segment.bytes())?;
            let mut groups = Vec::new();
            let mut row = 0;
            for (group, row_count) in open.groups().into_iter().enumerate() {
                let rows = row..row + row_count;
                row += row_count;
                let ordinals = if segment.is_in_append_order() {
                    RowOrdinals::From(part.first_ordinal + rows.start)
                } else {
                    RowOrdinals::Each(segment.ordinals(rows)?)
                };
                groups.push(GroupRows { group, row_count, ordinals });
            }
            let identity = RowIdentity {
                columns: [
                    ConstantValue::Text(batch.station),
                    ConstantValue::Text(&table.workspace),
                    ConstantValue::Text(table.id.as_str()),
                    ConstantValue::Number(i64::try_from(batch.number).unwrap_or(i64::MAX)),
                ],
            };
            for groups in groups.chunks(GROUPS) {
                sender.control.check()?;
                let ready =
                    sender.file()?.form().prepare(&open, groups, &identity, columns, stored)?;
                for group in ready {
                    sender.splice(&open, group)?;
                    sender.known.has_table(table.id.as_str());
                }
            }
        }
        _ => return Err(Error::unsupported("rows came in a form that is not known here")),
    }
    Ok(())
}
