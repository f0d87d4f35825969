//! What the lake lacks of the rows of tables, and what it has too many.

use std::collections::{BTreeMap, BTreeSet};

use stationdb::{Control, Result};

use crate::checks::{Check, is_off};
use crate::layout::LakeTable;
use crate::ledger::{Extent, NamedColumn, named};
use crate::ordinals::{Ordinals, joined, minus, within};
use crate::root::Root;
use crate::rows::{RowsLogs, TableSend, hash_of, name_of, stored_schema, work};
use crate::sender::Batch;
use crate::source::{self, DeletedRows, SourceChanges, SourceTable};

/// What goes of a lake table, of rows of earlier batches.
#[derive(Debug, Default)]
pub(crate) struct RowRemovals {
    /// Tables, with first and last ordinals.
    pub ranges: Vec<(String, u64, u64)>,
    /// Tables of which all rows go, except for those that stay before an ordinal.
    pub whole: Vec<(String, Option<u64>)>,
}

/// The work on the rows of a root, by lake table.
#[derive(Debug, Default)]
pub(crate) struct RowsPlan {
    /// Rows to send, tables with the same columns one after another.
    pub work: BTreeMap<String, Vec<TableSend>>,
    /// What goes, also by the batch that has it.
    pub goes: BTreeMap<(String, u64), RowRemovals>,
    /// Whether a table stays in its lake table although the layout names another one.
    pub is_held: bool,
}

impl RowsPlan {
    pub(crate) fn is_empty(&self) -> bool {
        self.work.is_empty() && self.goes.is_empty()
    }

    fn ranges(&mut self, lake: &str, number: u64, table: &str, ranges: &[(u64, u64)]) {
        if !ranges.is_empty() {
            let goes = self.goes.entry((lake.to_owned(), number)).or_default();
            goes.ranges.extend(ranges.iter().map(|(from, to)| (table.to_owned(), *from, *to)));
        }
    }

    /// All rows before an ordinal and a batch go, except for those that stay.
    fn whole(&mut self, lake: &str, number: u64, table: &str, end: u64, stay: &[(u64, u64)]) {
        let has_some = stay.iter().any(|(first, _)| *first < end);
        // A statement without a range would not come into the lake, and no row has this ordinal.
        let ranges = if has_some {
            joined([minus(&within(&[(0, end)], 0, end), stay), vec![(end, end)]])
        } else {
            vec![(0, end.saturating_sub(1))]
        };
        self.ranges(lake, number, table, &ranges);
        let goes = self.goes.entry((lake.to_owned(), number)).or_default();
        goes.whole.push((table.to_owned(), has_some.then_some(end)));
    }
}

/// Compares the tables of the store, or those that changed, with what the lake has.
pub(crate) fn plan(
    root: &Root<'_>,
    news: &SourceChanges,
    is_all: bool,
    batch: Batch<'_>,
    logs: &mut BTreeMap<String, RowsLogs>,
    control: &Control,
) -> Result<RowsPlan> {
    let mut plan = RowsPlan::default();
    let changed = news.tables.as_ref().filter(|_| !is_all);
    let tables = source::tables(root.session, changed, control)?;
    let mut known: BTreeSet<String> = changed.cloned().unwrap_or_default();
    if is_all {
        known.extend(logs.values().flat_map(|logs| logs.rows.ledger.sent.keys().cloned()));
    }
    for table in &tables {
        control.check()?;
        known.remove(table.id.as_str());
        plan_table(root, news, batch, logs, table, &mut plan, control)?;
    }
    // These are deleted, or the identity does not see them any more.
    for id in known {
        goes_from_all(&id, batch, logs, &mut plan);
    }
    for work in plan.work.values_mut() {
        work.sort_by(|a, b| (&a.columns, a.id.as_str()).cmp(&(&b.columns, b.id.as_str())));
    }
    Ok(plan)
}

/// Every row of a table goes, also those that stayed when the others went.
fn goes_from_all(
    id: &str,
    batch: Batch<'_>,
    logs: &BTreeMap<String, RowsLogs>,
    plan: &mut RowsPlan,
) {
    for (name, logs) in logs {
        if let Some(end) = logs.end_of_all(id, batch.rows_from) {
            plan.whole(name, batch.number, id, end, &[]);
        }
    }
}

/// A lake table with rows of a table that were sent from the first ordinal on.
#[derive(Debug)]
struct Home {
    lake: String,
    begin: u64,
    end: u64,
    /// The batch of the last rows.
    batch: u64,
    /// Whether each of their columns is still there.
    continues: bool,
}

fn homes(
    table: &SourceTable,
    columns: &[NamedColumn],
    batch: Batch<'_>,
    logs: &BTreeMap<String, RowsLogs>,
) -> Vec<Home> {
    let of = |(name, logs): (&String, &RowsLogs)| -> Vec<Home> {
        let home = |extent: &Extent| Home {
            lake: name.clone(),
            begin: extent.begin,
            end: extent.end,
            batch: extent.batch,
            continues: extent.continues(columns, &table.numbers),
        };
        logs.extents(table.id.as_str(), batch.rows_from).map(home).collect()
    };
    logs.iter().flat_map(of).collect()
}

/// The home that new rows continue: the last one that was begun, if it takes them.
///
/// A batch that has rows in a home goes on there, whatever the layout says now: what goes from a lake
/// table are rows of earlier batches, so these would count in two lake tables.
fn continued<'h>(homes: &'h [Home], lake: &LakeTable, batch: Batch<'_>) -> Option<&'h Home> {
    let last = homes.iter().map(|home| home.begin).max()?;
    let is_begun = |home: &Home| home.batch == batch.number && !is_off(Check::HeldBatch);
    homes.iter().find(|home| {
        home.begin == last && home.continues && (lake.has(&home.lake) || is_begun(home))
    })
}

fn plan_table(
    root: &Root<'_>,
    news: &SourceChanges,
    batch: Batch<'_>,
    logs: &mut BTreeMap<String, RowsLogs>,
    table: &SourceTable,
    plan: &mut RowsPlan,
    control: &Control,
) -> Result<()> {
    let id = table.id.as_str();
    let columns = named(table.metadata.columns.as_deref().unwrap_or_default());
    let is_here = root.layout.root(&table.workspace).as_ref() == Some(root.path);
    let wanted = is_here.then(|| root.layout.rows(&table.metadata)).flatten();
    let Some(lake) = wanted else {
        goes_from_all(id, batch, logs, plan);
        return Ok(());
    };
    lake.check()?;
    let (target, end) = match continued(&homes(table, &columns, batch, logs), &lake, batch) {
        Some(home) => (home.lake.clone(), home.end),
        None => (name_of(&lake, &columns), 0),
    };
    // Columns that were added may not fit, and then the whole table goes elsewhere.
    let target =
        if table.next > end { with_room(root, target, table, logs, control)? } else { target };
    // A list that is out of date may lack the lake table: only its log says what it has.
    let homes = homes(table, &columns, batch, logs);
    let home = continued(&homes, &lake, batch).filter(|home| home.lake == target);
    plan.is_held |= home.is_some_and(|home| !lake.has(&home.lake));
    let end = home.map_or(0, |home| home.end);
    let retains = root.layout.retains(&table.metadata);
    let is_full = news.full.is_some() && table.has_deleted;
    let is_replaced = |other: &&Home| home.is_none_or(|home| !std::ptr::eq(home, *other));
    let mut goes: BTreeSet<&str> =
        homes.iter().filter(is_replaced).map(|home| home.lake.as_str()).collect();
    if is_full && !retains {
        // Rows may have stayed while the layout retained them.
        let is_other = |name: &&str| *name != target || home.is_none();
        goes.extend(logs.keys().map(String::as_str).filter(is_other));
    }
    // The station cannot send again what its retention has deleted.
    let is_begun = home.is_none_or(|home| home.begin > batch.complete);
    let had = logs.values().any(|logs| logs.had(id));
    let retired = if retains && table.has_deleted && had && (is_begun || !goes.is_empty()) {
        source::deleted_rows(root.session, &table.id, true)?
    } else {
        Ordinals::new()
    };
    let last = home.map(|home| (home.lake.as_str(), home.begin));
    replace(id, batch, logs, &goes, last, &retired, plan);
    let told = if is_full { Some(DeletedRows::UNKNOWN) } else { news.deleted.get(id).cloned() };
    if let Some(told) = told.filter(|_| end > 0) {
        let mut ranges = Vec::new();
        for (told, by_retention) in [(told.by_caller, false), (told.by_retention, true)] {
            if by_retention && retains {
                continue;
            }
            ranges.extend(match told {
                Some(ranges) => ranges,
                None => source::deleted_rows(root.session, &table.id, by_retention)?,
            });
        }
        // Rows that were not sent before are sent without those that are deleted.
        ranges.retain(|(first, _)| *first < end);
        plan.ranges(&target, batch.number, id, &ranges);
    }
    if table.next > end {
        let is_again = end == 0 && logs.get(&target).is_some_and(|logs| logs.had(id));
        let absent = if is_begun { retired } else { Ordinals::new() };
        plan.work.entry(target).or_default().push(TableSend {
            is_again,
            absent,
            ..work(table, end)
        });
    }
    Ok(())
}

/// Lets the rows of a table go from lake tables, after they were sent again: to `last`, a lake table
/// and the batch with which that began, or from now on.
///
/// Of retired rows the last copy stays. When sending again was interrupted, it is among the rows
/// that were sent then, if the retention deleted the row later; else it is where it was before.
fn replace(
    id: &str,
    batch: Batch<'_>,
    logs: &BTreeMap<String, RowsLogs>,
    goes: &BTreeSet<&str>,
    last: Option<(&str, u64)>,
    retired: &[(u64, u64)],
    plan: &mut RowsPlan,
) {
    if goes.is_empty() {
        return;
    }
    let begun = logs
        .iter()
        .flat_map(|(name, logs)| logs.begun(id, batch).map(move |extent| (name.as_str(), extent)));
    let mut begun: Vec<_> = begun.collect();
    begun.sort_by_key(|(_, extent)| std::cmp::Reverse(extent.begin));
    let mut copied = Ordinals::new();
    // The rows of which each of these has the last copy.
    let mut copies: Vec<((&str, u64), Ordinals)> = Vec::new();
    for (name, extent) in begun {
        let mut has = within(retired, 0, extent.end);
        if !is_off(Check::RetiredBefore) {
            has = minus(&has, &extent.absent);
        }
        copies.push(((name, extent.begin), minus(&has, &copied)));
        copied = joined([copied, has]);
    }
    for name in goes {
        let Some(logs) = logs.get(*name) else { continue };
        let Some(end) = logs.end_of_all(id, batch.rows_from) else { continue };
        let mut stay = minus(retired, &copied);
        for (at, last_copies) in copies.iter().filter(|(at, _)| at.0 == *name && Some(*at) != last)
        {
            // Earlier copies in the same lake table.
            if logs.extents(id, batch.rows_from).any(|extent| extent.begin < at.1) {
                plan.ranges(name, at.1, id, last_copies);
            }
            stay = joined([stay, last_copies.clone()]);
        }
        let number = last.filter(|last| last.0 == *name).map_or(batch.number, |last| last.1);
        plan.whole(name, number, id, end, &stay);
    }
}

/// The lake table that takes the columns of a table: `name`, or one beside it if a column has
/// another type there.
fn with_room(
    root: &Root<'_>,
    name: String,
    table: &SourceTable,
    logs: &mut BTreeMap<String, RowsLogs>,
    control: &Control,
) -> Result<String> {
    let schema = stored_schema(root.session, &table.id)?;
    let columns = named(table.metadata.columns.as_deref().unwrap_or_default());
    let beside = format!("{name}_{}", hash_of(&columns));
    for name in [name, beside.clone()] {
        if !logs.contains_key(&name) {
            let opened = RowsLogs::open(root.remote, root.path, &name, root.app, control)?;
            logs.insert(name.clone(), opened);
        }
        if let Some(logs) = logs.get_mut(&name) {
            if logs.takes(&schema)? {
                return Ok(name);
            }
        }
    }
    Err(stationdb::Error::conflict(format!(
        "neither lake table takes the columns of the table {}; the second is {beside}",
        table.id
    )))
}
