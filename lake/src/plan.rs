//! What the lake lacks of the rows of tables, and what it has too many.

use std::collections::{BTreeMap, BTreeSet};

use stationdb::{Control, Result};

use crate::ledger::{Named, named};
use crate::root::Root;
use crate::rows::{RowsLogs, Work, hash_of, name_of, stored_schema, work};
use crate::sender::Batch;
use crate::source::{self, Deleted, News, TableState};

/// The work on the rows of a root, by lake table.
#[derive(Debug, Default)]
pub(crate) struct Plan {
    /// Rows to send, tables with the same columns one after another.
    pub work: BTreeMap<String, Vec<Work>>,
    /// Deleted rows to send: table, first and last ordinal.
    pub deleted: BTreeMap<String, Vec<(String, u64, u64)>>,
    /// Tables of which all rows go, except for those that stay before an ordinal.
    pub gone: BTreeMap<String, Vec<(String, Option<u64>)>>,
}

impl Plan {
    pub(crate) fn is_empty(&self) -> bool {
        self.work.is_empty() && self.deleted.is_empty()
    }

    /// All rows before an ordinal go, except for those in ranges that stay.
    fn goes(&mut self, lake: &str, table: &str, end: u64, stay: &[(u64, u64)]) {
        let deleted = self.deleted.entry(lake.to_owned()).or_default();
        let has_some = stay.iter().any(|(first, _)| *first < end);
        match has_some {
            true => deleted.extend(others(end, stay).map(|(a, b)| (table.to_owned(), a, b))),
            false => deleted.push((table.to_owned(), 0, end.saturating_sub(1))),
        }
        let gone = self.gone.entry(lake.to_owned()).or_default();
        gone.push((table.to_owned(), has_some.then_some(end)));
    }
}

/// The ordinals up to `end` that are in none of the ranges, which are in order, as ranges. `end`
/// itself is always there: a statement without a range would not come into the lake, and no row of
/// this ordinal was sent.
fn others(end: u64, ranges: &[(u64, u64)]) -> impl Iterator<Item = (u64, u64)> + '_ {
    let before = ranges.iter().filter(move |(first, _)| *first < end);
    let before = before.map(move |(first, last)| (*first, (*last).min(end.saturating_sub(1))));
    let mut from = 0;
    let bounds = before.chain(std::iter::once((end + 1, end + 1)));
    bounds.filter_map(move |(first, last)| {
        let gap = (from, first.saturating_sub(1));
        let is_gap = from < first;
        from = last + 1;
        is_gap.then_some(gap)
    })
}

/// Compares the tables of the store, or those that changed, with what the lake has.
pub(crate) fn plan(
    root: &Root<'_>,
    news: &News,
    is_all: bool,
    batch: Batch<'_>,
    logs: &mut BTreeMap<String, RowsLogs>,
    control: &Control,
) -> Result<Plan> {
    let mut plan = Plan::default();
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
fn goes_from_all(id: &str, batch: Batch<'_>, logs: &BTreeMap<String, RowsLogs>, plan: &mut Plan) {
    for (name, logs) in logs {
        if let Some(end) = logs.end_of_all(id, batch.rows_from) {
            plan.goes(name, id, end, &[]);
        }
    }
}

/// A lake table with rows of a table, their end, and whether new rows continue them.
type Home = (String, u64, bool);

fn homes(
    id: &str,
    columns: &[Named],
    batch: Batch<'_>,
    logs: &BTreeMap<String, RowsLogs>,
) -> Vec<Home> {
    let home = |(name, logs): (&String, &RowsLogs)| {
        let (end, _) = logs.has(id, batch.rows_from)?;
        Some((name.clone(), end, logs.continues(id, batch.rows_from, columns)))
    };
    logs.iter().filter_map(home).collect()
}

fn plan_table(
    root: &Root<'_>,
    news: &News,
    batch: Batch<'_>,
    logs: &mut BTreeMap<String, RowsLogs>,
    table: &TableState,
    plan: &mut Plan,
    control: &Control,
) -> Result<()> {
    let id = table.id.as_str();
    let columns = named(table.metadata.columns.as_deref().unwrap_or_default());
    let is_here = root.layout.root(&table.workspace).as_ref() == Some(root.path);
    let wanted = is_here.then(|| root.layout.rows(&table.metadata)).flatten();
    let homes = homes(id, &columns, batch, logs);
    let Some(lake) = wanted else {
        goes_from_all(id, batch, logs, plan);
        return Ok(());
    };
    lake.check()?;
    let stays = |home: &&Home| home.2 && lake.has(&home.0);
    let (target, end) = match homes.iter().find(stays) {
        Some((home, end, _)) => (home.clone(), *end),
        None => (name_of(&lake, &columns), 0),
    };
    // Columns that were added may not fit, and then the whole table goes elsewhere.
    let target = match table.next > end {
        true => with_room(root, target, table, logs, control)?,
        false => target,
    };
    // A list that is out of date may lack the lake table: only its log says what it has.
    let homes = self::homes(id, &columns, batch, logs);
    let end = homes.iter().find(|home| home.2 && home.0 == target).map_or(0, |home| home.1);
    let retains = root.layout.retains(&table.metadata);
    let is_full = news.full.is_some() && table.has_deleted;
    let is_replaced = |name: &&str| *name != target || end == 0;
    let homes = homes.iter().map(|home| home.0.as_str());
    let mut goes: BTreeSet<&str> = homes.filter(is_replaced).collect();
    // The station cannot send again what its retention has deleted.
    let stay = match retains && table.has_deleted && !goes.is_empty() {
        true => source::deleted_rows(root.session, &table.id, true)?,
        false => Vec::new(),
    };
    if is_full && !retains {
        // Rows may have stayed while the layout retained them.
        goes.extend(logs.keys().map(String::as_str).filter(is_replaced));
    }
    for name in goes {
        let end = logs.get(name).and_then(|logs| logs.end_of_all(id, batch.rows_from));
        if let Some(end) = end {
            plan.goes(name, id, end, &stay);
        }
    }
    let told = match is_full {
        true => Some(Deleted::UNKNOWN),
        false => news.deleted.get(id).cloned(),
    };
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
        let sent = ranges.into_iter().filter(|(first, _)| *first < end);
        let sent: Vec<_> = sent.map(|(first, last)| (id.to_owned(), first, last)).collect();
        if !sent.is_empty() {
            plan.deleted.entry(target.clone()).or_default().extend(sent);
        }
    }
    if table.next > end {
        plan.work.entry(target).or_default().push(work(table, end));
    }
    Ok(())
}

/// The lake table that takes the columns of a table: `name`, or one beside it if a column has
/// another type there.
fn with_room(
    root: &Root<'_>,
    name: String,
    table: &TableState,
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
