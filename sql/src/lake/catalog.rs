//! The tables of a lake, by name.

use std::sync::Arc;

use async_trait::async_trait;
use datafusion::catalog::{CatalogProvider, SchemaProvider, TableProvider};
use datafusion::datasource::ViewTable;
use datafusion::error::Result;
use datafusion::logical_expr::TableType;
use datafusion::prelude::DataFrame;
use stationdb::scans::RecordKind;

use super::live::{OneTable, live};
use super::names::Names;
use super::plans::Plans;
use super::records::records;
use super::rows::rows;
use super::steps::OfResults;
use crate::catalog::{ROWS, name_of};
use crate::options::PUBLIC;

/// The schema of the lake tables.
const LAKE: &str = "lake";
/// The lake table with the complete batches.
const BATCHES: &str = "batches";

/// The schemas of a lake.
#[derive(Debug)]
pub(super) struct LakeCatalog {
    plans: Arc<Plans>,
    names: Arc<Names>,
}

impl LakeCatalog {
    pub(super) async fn new(plans: Arc<Plans>) -> stationdb::Result<Self> {
        let names = Arc::new(Names::read(&plans).await?);
        Ok(Self { plans, names })
    }
}

impl CatalogProvider for LakeCatalog {
    fn schema_names(&self) -> Vec<String> {
        [PUBLIC, ROWS, LAKE].map(str::to_owned).into()
    }

    fn schema(&self, name: &str) -> Option<Arc<dyn SchemaProvider>> {
        let of = match name {
            PUBLIC => SchemaTables::Records,
            ROWS => SchemaTables::Rows,
            LAKE => SchemaTables::Lake,
            _ => return None,
        };
        Some(Arc::new(Tables { of, plans: self.plans.clone(), names: self.names.clone() }))
    }
}

/// What a schema has.
#[derive(Clone, Copy, Debug)]
enum SchemaTables {
    /// The kinds of records; rows are found, and not listed.
    Records,
    Rows,
    /// Lake tables with the columns before the data.
    Lake,
}

#[derive(Debug)]
struct Tables {
    of: SchemaTables,
    plans: Arc<Plans>,
    names: Arc<Names>,
}

/// The name of a lake table with the changes of a kind.
fn changes_of(kind: RecordKind) -> String {
    format!("{}_changes", kind.to_string().to_lowercase())
}

impl Tables {
    fn kind(&self, name: &str) -> Option<RecordKind> {
        let mut kinds = RecordKind::ALL.iter().copied();
        match self.of {
            SchemaTables::Records => kinds.find(|kind| name_of(*kind) == name),
            SchemaTables::Rows => None,
            SchemaTables::Lake => kinds.find(|kind| changes_of(*kind) == name),
        }
    }

    fn of_results(&self, name: &str) -> Option<OfResults> {
        let mut all = OfResults::ALL.into_iter();
        match self.of {
            SchemaTables::Records => all.find(|of| of.name() == name),
            SchemaTables::Rows => None,
            SchemaTables::Lake => all.find(|of| of.lake_name() == name),
        }
    }

    fn frame(&self, name: &str) -> Result<Option<DataFrame>> {
        let is_lake = matches!(self.of, SchemaTables::Lake);
        if let Some(kind) = self.kind(name) {
            return records(&self.plans, kind, is_lake).map(Some);
        }
        if let Some(of) = self.of_results(name) {
            return of.frame(&self.plans, is_lake).map(Some);
        }
        if is_lake {
            if name == BATCHES {
                return self.plans.stations(["_station", "_rows_from", "_batch"]).map(Some);
            }
            let lake = self.plans.lake.rows().iter().find(|lake| lake.rows.name == name);
            return lake.map(|lake| live(&self.plans, lake, None)).transpose();
        }
        let Some(known) = self.names.get(name) else { return Ok(None) };
        let table = OneTable { station: &known.station, id: &known.id };
        rows(&self.plans, table, &known.columns).map(Some)
    }
}

#[async_trait]
impl SchemaProvider for Tables {
    fn table_names(&self) -> Vec<String> {
        let kinds = RecordKind::ALL.iter().copied();
        match self.of {
            SchemaTables::Records => {
                let of_results = OfResults::ALL.map(OfResults::name);
                kinds.map(name_of).chain(of_results).map(str::to_owned).collect()
            }
            SchemaTables::Rows => self.names.all().cloned().collect(),
            SchemaTables::Lake => {
                let rows = self.plans.lake.rows().iter().map(|lake| lake.rows.name.clone());
                let others = OfResults::ALL.map(OfResults::lake_name).into_iter().chain([BATCHES]);
                rows.chain(kinds.map(changes_of)).chain(others.map(str::to_owned)).collect()
            }
        }
    }

    async fn table(&self, name: &str) -> Result<Option<Arc<dyn TableProvider>>> {
        let Some(frame) = self.frame(name)? else { return Ok(None) };
        let plan = frame.into_unoptimized_plan();
        Ok(Some(Arc::new(ViewTable::new(plan, None)) as Arc<dyn TableProvider>))
    }

    // Without a plan of each, which a list of many tables would make.
    async fn table_type(&self, name: &str) -> Result<Option<TableType>> {
        Ok(self.table_exist(name).then_some(TableType::View))
    }

    fn table_exist(&self, name: &str) -> bool {
        let is_lake = matches!(self.of, SchemaTables::Lake);
        let has_rows = || self.plans.lake.rows().iter().any(|lake| lake.rows.name == name);
        self.kind(name).is_some()
            || self.of_results(name).is_some()
            || (is_lake && (name == BATCHES || has_rows()))
            || (!is_lake && self.names.get(name).is_some())
    }
}
