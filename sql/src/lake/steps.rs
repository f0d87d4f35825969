//! The steps and the measurements of the latest results.

use datafusion::arrow::datatypes::DataType;
use datafusion::error::Result;
use datafusion::functions::expr_fn::coalesce;
use datafusion::logical_expr::{Expr, lit, when};
use datafusion::prelude::{DataFrame, JoinType};
use datafusion::scalar::ScalarValue;
use stationdb::results::{ScanMeasurementsRequest, ScanStepsRequest};
use stationdb::scans::RecordKind;
use stationdb_lake::LakeRelation;

use super::plans::{Plans, column};
use super::records::{all_fields, latest, shown};
use crate::errors::external;
use crate::record_read::{MEASUREMENTS, STEPS};
use crate::spec_limits::{
    COMPARISON, HIGH, LOW, LOWER, LOWER_ALONE, UPPER, UPPER_ALONE, WITHOUT, measurements,
};

/// Columns before the data that are shown.
const IDENTITY: [(&str, DataType); 3] =
    [("_station", DataType::Utf8), ("_workspace", DataType::Utf8), ("_batch", DataType::Int64)];

/// The column by which the latest change of a result names its rows.
const SENDING: &str = "_sending";

/// What results consist of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OfResults {
    Steps,
    Measurements,
}

impl OfResults {
    pub(super) const ALL: [Self; 2] = [Self::Steps, Self::Measurements];

    /// The name of the table that a context over a store has.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Steps => STEPS,
            Self::Measurements => MEASUREMENTS,
        }
    }

    /// The name of the lake table.
    pub(super) fn lake_name(self) -> &'static str {
        match self {
            Self::Steps => "step_changes",
            Self::Measurements => "measurement_changes",
        }
    }

    fn relation(self, plans: &Plans) -> Option<&LakeRelation> {
        match self {
            Self::Steps => plans.lake.steps(),
            Self::Measurements => plans.lake.measurements(),
        }
    }

    /// Those that count, with the columns before the data if `has_identity`.
    pub(super) fn frame(self, plans: &Plans, has_identity: bool) -> Result<DataFrame> {
        let (schema, all) = match self {
            Self::Steps => (ScanStepsRequest::schema(), ScanStepsRequest::schema()),
            Self::Measurements => (ScanMeasurementsRequest::schema(), measurements()),
        };
        let (schema, all) = (schema.map_err(external)?, all.map_err(external)?);
        let identity: &[_] = if has_identity { &IDENTITY } else { &[] };
        let results = plans.lake.changes(RecordKind::TestResult);
        let names_sendings = |results: &&LakeRelation| {
            results.fields.iter().any(|field| field.field.name() == SENDING)
        };
        match (results.filter(names_sendings), self.relation(plans)) {
            (Some(results), Some(relation)) => {
                let rows = shown(counted(plans, results, relation)?, relation, identity, &schema)?;
                match self {
                    Self::Steps => Ok(rows),
                    Self::Measurements => {
                        let [lower, upper] = spec_limits()?;
                        rows.with_column(LOWER, lower)?.with_column(UPPER, upper)
                    }
                }
            }
            _ => plans.nothing(&all_fields(identity, &all)),
        }
    }
}

/// The limits as figures use them, of the columns of a measurement.
fn spec_limits() -> Result<[Expr; 2]> {
    let is_among = |names: &[&str]| {
        column(COMPARISON).in_list(names.iter().map(|name| lit(*name)).collect(), false)
    };
    let none = || lit(ScalarValue::Float64(None));
    // NaN is greater than infinity.
    let finite = |limit: Expr| {
        let is_finite =
            limit.clone().gt(lit(f64::NEG_INFINITY)).and(limit.clone().lt(lit(f64::INFINITY)));
        when(is_finite, limit).otherwise(none())
    };
    let lower = when(is_among(&[&WITHOUT[..], &UPPER_ALONE].concat()), none())
        .otherwise(finite(column(LOW))?)?;
    let upper = when(is_among(&[&WITHOUT[..], &LOWER_ALONE].concat()), none())
        .when(is_among(&UPPER_ALONE), finite(coalesce(vec![column(HIGH), column(LOW)]))?)
        .otherwise(finite(column(HIGH))?)?;
    Ok([lower, upper])
}

/// The rows that the latest change of their result names. The results are the left side of the
/// join, which it keeps in memory; rows stream.
fn counted(plans: &Plans, results: &LakeRelation, relation: &LakeRelation) -> Result<DataFrame> {
    let results = latest(plans, RecordKind::TestResult, results)?.select(vec![
        column("_station").alias(" station"),
        column("_id").alias(" id"),
        column(SENDING).alias(" sending"),
    ])?;
    results.join_on(
        plans.counted(relation, true, |_| true)?,
        JoinType::RightSemi,
        [
            column(" station").eq(column("_station")),
            column(" id").eq(column("result_id")),
            column(" sending").eq(column(SENDING)),
        ],
    )
}
