//! Rows that were not deleted.

use datafusion::error::Result;
use datafusion::functions_nested::expr_fn::range;
use datafusion::logical_expr::lit;
use datafusion::prelude::{DataFrame, JoinType};
use stationdb_lake::{LakeFile, LakeRows};

use super::plans::{Plans, column};

/// Ordinals of one key of the join with deleted ranges. A row is compared with the ranges of its
/// key alone, so that many small ranges do not make a join of all with all.
const KEY_ROWS: i64 = 4096;

/// A table of a station.
#[derive(Clone, Copy, Debug)]
pub(super) struct OneTable<'a> {
    pub station: &'a str,
    pub id: &'a str,
}

impl OneTable<'_> {
    fn of(self, frame: DataFrame) -> Result<DataFrame> {
        let is_station = column("_station").eq(lit(self.station));
        frame.filter(is_station.and(column("_table").eq(lit(self.id))))
    }
}

/// The live rows of a lake table, or those of one table in it.
///
/// The deleted ranges are the left side of the join, which it keeps in memory; rows stream.
pub(super) fn live(
    plans: &Plans,
    lake: &LakeRows,
    table: Option<OneTable<'_>>,
) -> Result<DataFrame> {
    let is_wanted =
        |file: &LakeFile| table.is_none_or(|table| file.may_have(table.station, table.id));
    let only = |frame: DataFrame| match table {
        Some(table) => table.of(frame),
        None => Ok(frame),
    };
    let rows = only(plans.counted(&lake.rows, true, is_wanted)?)?;
    let Some(deleted) = &lake.deleted else { return Ok(rows) };
    if !deleted.files.iter().any(is_wanted) {
        return Ok(rows);
    }
    let deleted = only(plans.counted(deleted, false, is_wanted)?)?;
    let key = |name: &str| column(name) / lit(KEY_ROWS);
    let keys = range(key("_row_from"), key("_row_to") + lit(1_i64), lit(1_i64));
    let deleted = deleted.select(vec![
        column("_station").alias(" station"),
        column("_table").alias(" table"),
        column("_row_from").alias(" from"),
        column("_row_to").alias(" to"),
        column("_batch").alias(" batch"),
        keys.alias(" key"),
    ])?;
    let deleted = deleted.unnest_columns(&["\" key\""])?;
    deleted.join_on(
        rows,
        JoinType::RightAnti,
        [
            column(" station").eq(column("_station")),
            column(" table").eq(column("_table")),
            column(" key").eq(key("_row")),
            column("_row").gt_eq(column(" from")),
            column("_row").lt_eq(column(" to")),
            column("_batch").lt(column(" batch")),
        ],
    )
}
