//! Live rows and latest records as SQL for other engines.
//!
//! Joins are by equality alone, and ranges are in `where`: some engines have no other joins.

use stationdb::scans::RecordKind;

use super::{Lake, LakeRelation, LakeRows};
use crate::names::CHANGES;

/// A view that an engine creates over the lake tables.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LakeView {
    /// The name of the view.
    pub name: String,
    /// The statement that it is.
    pub sql: String,
}

/// A name in quotes, as standard SQL has it.
fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

impl Lake {
    /// The views of a lake in standard SQL, for engines that read its Delta tables under their
    /// names: `<lake table>_live` has the live rows of a lake table, and `<kind>_latest` the latest
    /// records, as `product_latest`. `measurement_latest` and `step_latest` have what the latest
    /// results consist of. All have the columns before the data.
    ///
    /// The statements name all columns of their tables through `*`, so they hold until a lake
    /// table, or the first deleted rows of one, are new.
    #[must_use]
    pub fn views(&self) -> Vec<LakeView> {
        let rows = self.rows.iter().map(live);
        let records = self.changes.values().map(|changes| LakeView {
            name: format!("{}_latest", kind_of(changes)),
            sql: latest(changes, "select * from latest where age = 1 and _what <> 'DELETED'"),
        });
        let results = self.changes(RecordKind::TestResult);
        let steps = [self.measurements(), self.steps()].into_iter().flatten();
        let steps = results.into_iter().flat_map(|results| {
            steps.clone().map(|steps| LakeView {
                name: format!("{}_latest", kind_of(steps)),
                sql: of_results(results, steps),
            })
        });
        rows.chain(records).chain(steps).collect()
    }
}

fn live(lake: &LakeRows) -> LakeView {
    let rows = quoted(&lake.rows.name);
    let complete = "with complete as (
  select _station, max(_batch) as newest, max(_rows_from) as oldest
  from batches group by _station
), counted as (
  select r.* from";
    let joined = "as r join complete as c on r._station = c._station
  where r._batch between c.oldest and c.newest
)";
    let sql = match &lake.deleted {
        None => format!("{complete} {rows} {joined}\nselect * from counted"),
        Some(deleted) => format!(
            "{complete} {rows} {joined}, gone as (
  select distinct r._station as gone_station, r._table as gone_table, r._row as gone_row,
    r._batch as gone_batch
  from counted as r
  join {} as d on r._station = d._station and r._table = d._table
  join complete as c on d._station = c._station
  where d._batch <= c.newest and r._batch < d._batch
    and r._row >= d._row_from and r._row <= d._row_to
)
select r.* from counted as r left join gone as g
  on r._station = g.gone_station and r._table = g.gone_table and r._row = g.gone_row
    and r._batch = g.gone_batch
where g.gone_row is null",
            quoted(&deleted.name)
        ),
    };
    LakeView { name: format!("{}_live", lake.rows.name), sql }
}

/// The name of a lake table without what those of changes end with.
fn kind_of(changes: &LakeRelation) -> &str {
    changes.name.trim_end_matches(CHANGES)
}

/// A statement over the latest changes, which `latest` has by their age, from 1 on.
fn latest(changes: &LakeRelation, statement: &str) -> String {
    let table = quoted(&changes.name);
    // Each change of one that has no id sends all of the kind again.
    let by = match kind_of(changes) {
        "asset_utilization" | "workspace" => "p.record",
        _ => "p._id",
    };
    format!(
        "with complete as (
  select _station, max(_batch) as newest from batches group by _station
), passes as (
  select p._station, max(p._batch) as oldest
  from {table} as p join complete as c on p._station = c._station
  where p._batch <= c.newest and p._what = 'PASS' group by p._station
), latest as (
  select p.*, row_number() over (
    partition by p._station, {by} order by p._batch desc, p._sequence desc) as age
  from {table} as p join complete as c on p._station = c._station
  left join passes as f on p._station = f._station
  where p._batch <= c.newest and p._what <> 'PASS' and p._batch >= coalesce(f.oldest, 0)
)
{statement}"
    )
}

/// The steps or measurements of the latest results.
fn of_results(results: &LakeRelation, steps: &LakeRelation) -> String {
    let statement = format!(
        "select s.* from {} as s join latest as r
  on s._station = r._station and s._sending = r._sending and s.result_id = r._id
where r.age = 1 and r._what <> 'DELETED'",
        quoted(&steps.name)
    );
    latest(results, &statement)
}
