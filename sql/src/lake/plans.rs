//! Lake tables as plans: scans of their files by name, without rows that do not count.

use std::sync::Arc;

use datafusion::arrow::datatypes::{DataType, Field, Schema};
use datafusion::common::Column;
use datafusion::datasource::file_format::parquet::ParquetFormat;
use datafusion::datasource::listing::{
    ListingOptions, ListingTable, ListingTableConfig, ListingTableUrl,
};
use datafusion::datasource::object_store::ObjectStoreUrl;
use datafusion::datasource::provider_as_source;
use datafusion::error::{DataFusionError, Result};
use datafusion::functions::expr_fn::isnan;
use datafusion::logical_expr::{Expr, LogicalPlan, LogicalPlanBuilder, cast, lit, try_cast, when};
use datafusion::prelude::{DataFrame, JoinType, SessionContext};
use datafusion::scalar::ScalarValue;
use stationdb_lake::{Lake, LakeFile, LakeRelation};
use url::Url;

/// Bytes that are read first of the end of a file: of files that a condition leaves out, no more.
/// A longer footer costs a second request.
const FOOTER_BYTES: usize = 64 * 1024;

/// A snapshot of a lake, and what plans it.
#[derive(Clone)]
pub(super) struct Plans {
    pub lake: Lake,
    base: Url,
    pub session: SessionContext,
}

impl std::fmt::Debug for Plans {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Plans").field("base", &self.base.as_str()).finish_non_exhaustive()
    }
}

/// A column by its exact name. No name of a lake table has spaces, so those with a space are of
/// plans alone.
pub(super) fn column(name: &str) -> Expr {
    Expr::Column(Column::new_unqualified(name))
}

impl Plans {
    pub(super) fn new(lake: Lake, url: &ObjectStoreUrl, session: SessionContext) -> Self {
        let base: &Url = url.as_ref();
        Self { lake, base: base.clone(), session }
    }

    pub(super) fn frame(&self, plan: LogicalPlan) -> DataFrame {
        DataFrame::new(self.session.state(), plan)
    }

    /// The rows that count of some files of a lake table. `is_rows` leaves out rows of histories
    /// that were given up.
    ///
    /// Where the log says that all rows of a file count, the file is read as it is. Rows of the
    /// others, which another engine has written, are compared with the complete batches.
    pub(super) fn counted(
        &self,
        relation: &LakeRelation,
        is_rows: bool,
        is_wanted: impl Fn(&LakeFile) -> bool,
    ) -> Result<DataFrame> {
        let wanted = relation.files.iter().filter(|file| is_wanted(file));
        let (whole, others): (Vec<_>, Vec<_>) = wanted.partition(|file| file.is_whole);
        let whole = (!whole.is_empty()).then(|| self.scan(relation, &whole)).transpose()?;
        let others = if others.is_empty() {
            None
        } else {
            Some(self.compared(self.scan(relation, &others)?, is_rows)?)
        };
        match (whole, others) {
            (Some(whole), Some(others)) => whole.union(others),
            (Some(one), None) | (None, Some(one)) => Ok(one),
            (None, None) => {
                let fields = relation.fields.iter().map(|own| own.field.clone());
                self.nothing(&fields.collect::<Vec<_>>())
            }
        }
    }

    fn scan(&self, relation: &LakeRelation, files: &[&LakeFile]) -> Result<DataFrame> {
        let address = |file: &&LakeFile| {
            let mut url = self.base.clone();
            // The parts of a path have been escaped once, and a URL escapes them again.
            let mut parts = url.path_segments_mut().map_err(|()| {
                DataFusionError::Plan(format!("{} has no place for paths", self.base))
            })?;
            parts.clear().extend(file.path.parts().map(|part| part.as_ref().to_owned()));
            drop(parts);
            ListingTableUrl::try_new(url, None)
        };
        let paths = files.iter().map(address).collect::<Result<Vec<_>>>()?;
        let fields: Vec<Field> = relation.fields.iter().map(|own| own.field.clone()).collect();
        let options = ListingOptions::new(Arc::new(
            ParquetFormat::default().with_metadata_size_hint(Some(FOOTER_BYTES)),
        ));
        let config = ListingTableConfig::new_with_multi_paths(paths)
            .with_listing_options(options)
            .with_schema(Arc::new(Schema::new(fields)));
        let table = provider_as_source(Arc::new(ListingTable::try_new(config)?));
        Ok(self.frame(LogicalPlanBuilder::scan(quoted(&relation.name), table, None)?.build()?))
    }

    /// A table without rows.
    pub(super) fn nothing(&self, fields: &[Field]) -> Result<DataFrame> {
        let null = |field: &Field| {
            let value = ScalarValue::try_new_null(field.data_type())?;
            Ok(lit(value).alias(field.name()))
        };
        let nulls = fields.iter().map(null).collect::<Result<Vec<_>>>()?;
        let plan = LogicalPlanBuilder::empty(true).project(nulls)?.filter(lit(false))?.build()?;
        Ok(self.frame(plan))
    }

    /// The complete batches of each station.
    pub(super) fn stations(&self, names: [&str; 3]) -> Result<DataFrame> {
        let stations = self.lake.stations();
        if stations.is_empty() {
            let types = [DataType::Utf8, DataType::Int64, DataType::Int64];
            let fields = names.iter().zip(types).map(|(name, of)| Field::new(*name, of, true));
            return self.nothing(&fields.collect::<Vec<_>>());
        }
        let row = |station: &stationdb_lake::LakeStation| {
            vec![lit(station.name.as_str()), lit(station.first_batch), lit(station.last_batch)]
        };
        let values = LogicalPlanBuilder::values(stations.iter().map(row).collect())?;
        let columns = ["column1", "column2", "column3"].iter().zip(names);
        let columns = columns.map(|(from, to)| column(from).alias(to));
        Ok(self.frame(values.project(columns)?.build()?))
    }

    fn compared(&self, rows: DataFrame, is_rows: bool) -> Result<DataFrame> {
        let complete = self.stations([" station", " first", " last"])?;
        let mut on = vec![
            column(" station").eq(column("_station")),
            column("_batch").lt_eq(column(" last")),
        ];
        if is_rows {
            on.push(column("_batch").gt_eq(column(" first")));
        }
        complete.join_on(rows, JoinType::RightSemi, on)
    }
}

/// The name of a scan in plans.
fn quoted(name: &str) -> datafusion::common::TableReference {
    datafusion::common::TableReference::bare(name)
}

/// A column of a type, null where it cannot have it.
///
/// Floats have one zero and one NaN, the positive ones, as in a context over a store.
pub(super) fn as_type(value: Expr, has: &DataType, wanted: &DataType) -> Result<Expr> {
    let is_settled = |value: Expr| -> Result<Expr> {
        let (nan, zero) = match wanted {
            DataType::Float32 => (lit(f32::NAN), lit(0.0_f32)),
            _ => (lit(f64::NAN), lit(0.0_f64)),
        };
        when(isnan(value.clone()), nan).otherwise(value + zero)
    };
    let is_same = has == wanted;
    let is_plain = matches!((has, wanted), (DataType::Int64, DataType::Timestamp(..)))
        || matches!((has, wanted), (DataType::Timestamp(..), DataType::Timestamp(..)))
        || wanted.is_nested();
    let cast_value = match (is_same, is_plain) {
        (true, _) => value,
        (false, true) => cast(value, wanted.clone()),
        (false, false) => try_cast(value, wanted.clone()),
    };
    match wanted {
        DataType::Float32 | DataType::Float64 => is_settled(cast_value),
        _ => Ok(cast_value),
    }
}
