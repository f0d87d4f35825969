//! The latest records of a kind.

use datafusion::arrow::datatypes::{DataType, Field, Schema};
use datafusion::common::Column;
use datafusion::error::Result;
use datafusion::functions::expr_fn::coalesce;
use datafusion::functions_aggregate::expr_fn::max;
use datafusion::functions_window::expr_fn::row_number;
use datafusion::logical_expr::{Expr, ExprFunctionExt, lit};
use datafusion::prelude::{DataFrame, JoinType};
use datafusion::scalar::ScalarValue;
use stationdb::scans::RecordKind;
use stationdb_lake::LakeRelation;

use super::plans::{Plans, as_type, column};
use crate::errors::external;

/// Columns before the data that are shown of a latest record.
pub(super) const IDENTITY: [(&str, DataType); 5] = [
    ("_station", DataType::Utf8),
    ("_workspace", DataType::Utf8),
    ("_batch", DataType::Int64),
    ("_sequence", DataType::Int64),
    ("_id", DataType::Utf8),
];

/// Whether changes have no id, so that each change sends all records of the kind again.
pub(super) fn has_no_id(kind: RecordKind) -> bool {
    matches!(kind, RecordKind::AssetUtilization | RecordKind::Workspace)
}

/// The latest change of each record of a kind that is there, with all columns of the lake table.
pub(super) fn latest(
    plans: &Plans,
    kind: RecordKind,
    relation: &LakeRelation,
) -> Result<DataFrame> {
    let changes = || plans.counted(relation, false, |_| true);
    let is_pass = column("_what").eq(lit("PASS"));
    let passes = changes()?.filter(is_pass.clone())?;
    let last = max(column("_batch")).alias(" pass");
    let passes = passes.aggregate(vec![column("_station").alias(" station")], vec![last])?;
    let later = passes.join_on(
        changes()?.filter(column("_what").not_eq(lit("PASS")))?,
        JoinType::Right,
        [column(" station").eq(column("_station"))],
    )?;
    let counts = column("_batch").gt_eq(coalesce(vec![column(" pass"), lit(0_i64)]));
    let mut latest = later.filter(counts)?;
    if !has_no_id(kind) {
        let order = [column("_batch"), column("_sequence")].map(|by| by.sort(false, false));
        let age = row_number()
            .partition_by(vec![column("_station"), column("_id")])
            .order_by(order.into())
            .build()?;
        latest = latest.window(vec![age.alias(" age")])?.filter(column(" age").eq(lit(1_u64)))?;
    }
    latest.filter(column("_what").not_eq(lit("DELETED")))
}

/// The latest records of a kind, with the columns before the data if `has_identity`.
pub(super) fn records(plans: &Plans, kind: RecordKind, has_identity: bool) -> Result<DataFrame> {
    let schema = kind.schema().map_err(external)?;
    let identity: &[_] = if has_identity { &IDENTITY } else { &[] };
    match plans.lake.changes(kind) {
        Some(relation) => shown(latest(plans, kind, relation)?, relation, identity, &schema),
        None => plans.nothing(&all_fields(identity, &schema)),
    }
}

/// Columns before the data, with their types.
pub(super) type Identity<'i> = &'i [(&'static str, DataType)];

/// The fields of a table with these columns before the data.
pub(super) fn all_fields(identity: Identity<'_>, schema: &Schema) -> Vec<Field> {
    let identity = identity.iter().map(|(name, of)| Field::new(*name, of.clone(), true));
    identity.chain(schema.fields().iter().map(|field| field.as_ref().clone())).collect()
}

/// Rows of a lake table with these columns before the data, and with the columns of a store.
pub(super) fn shown(
    rows: DataFrame,
    relation: &LakeRelation,
    identity: Identity<'_>,
    schema: &Schema,
) -> Result<DataFrame> {
    let value = |own: &Field| -> Result<Expr> {
        let found = relation.fields.iter().find(|field| field.stored.as_ref() == Some(own.name()));
        let value = match found {
            Some(found) => {
                as_type(column(found.field.name()), found.field.data_type(), own.data_type())?
            }
            None => lit(ScalarValue::try_new_null(own.data_type())?),
        };
        // A column of the same name goes on with its qualifier: under an alias, the optimizer that
        // pushes members of structures down adds it a second time, and refuses the two.
        Ok(match &value {
            Expr::Column(same) if same.name == *own.name() => value,
            _ => value.alias(own.name()),
        })
    };
    let own = identity.iter().map(|(name, _)| Expr::Column(Column::new_unqualified(*name)));
    let mut all: Vec<Expr> = own.collect();
    for field in schema.fields() {
        all.push(value(field)?);
    }
    rows.select(all)
}
