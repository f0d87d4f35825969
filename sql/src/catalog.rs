//! The tables of a context, by name.

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use datafusion::arrow::array::AsArray;
use datafusion::catalog::{CatalogProvider, SchemaProvider, TableProvider};
use datafusion::error::{DataFusionError, Result};
use datafusion::logical_expr::TableType;
use stationdb::scans::{RecordKind, RecordService, ScanRecordsRequest};
use stationdb::tables::TableId;
use stationdb::{Control, Session};

use crate::errors::external;
use crate::options::PUBLIC;
use crate::quotas;
use crate::record_read::{MEASUREMENTS, STEPS, Source};
use crate::records::RecordTable;
use crate::rows::{RowTable, StatisticsCache};

/// Name of the schema of measured rows.
pub(crate) const ROWS: &str = "rows";

/// The name of the table of a kind.
pub(crate) fn name_of(kind: RecordKind) -> &'static str {
    match kind {
        RecordKind::Product => "products",
        RecordKind::Specification => "specifications",
        RecordKind::Asset => "assets",
        RecordKind::AssetUtilization => "asset_utilizations",
        RecordKind::WorkItem => "work_items",
        RecordKind::WorkItemTemplate => "work_item_templates",
        RecordKind::TestPlan => "test_plans",
        RecordKind::TestPlanTemplate => "test_plan_templates",
        RecordKind::Table => "tables",
        RecordKind::File => "files",
        RecordKind::Feed => "feeds",
        RecordKind::Package => "packages",
        RecordKind::Workspace => "workspaces",
        RecordKind::TestResult => "results",
    }
}

/// The schemas of a context.
#[derive(Debug)]
pub(crate) struct Catalog {
    session: Session,
    /// The id of each measurement table that the caller may see, by id and by unique name.
    tables: Arc<BTreeMap<String, TableId>>,
    known: Arc<StatisticsCache>,
}

impl Catalog {
    pub(crate) fn new(session: &Session) -> stationdb::Result<Self> {
        let request = ScanRecordsRequest::new(RecordKind::Table).columns(["id", "name"]);
        let mut by_name: BTreeMap<String, Option<TableId>> = BTreeMap::new();
        let mut tables = BTreeMap::new();
        for batch in session.scan_records(request, &Control::default())? {
            let batch = batch?;
            let (ids, names) = (batch.column(0), batch.column(1));
            for (id, name) in ids.as_string::<i32>().iter().zip(names.as_string::<i32>()) {
                let Some(id) = id.map(TableId::from) else { continue };
                tables.insert(id.to_string(), id.clone());
                if let Some(name) = name {
                    by_name
                        .entry(name.to_owned())
                        .and_modify(|known| *known = None)
                        .or_insert(Some(id));
                }
            }
        }
        for (name, id) in by_name {
            if let Some(id) = id {
                // An id that another table has as its name stays the id.
                tables.entry(name).or_insert(id);
            }
        }
        Ok(Self { session: session.clone(), tables: Arc::new(tables), known: Arc::default() })
    }

    fn schema_of(&self, with_records: bool) -> Tables {
        let (session, tables) = (self.session.clone(), self.tables.clone());
        Tables { session, tables, known: self.known.clone(), with_records }
    }

    /// Opens the rows of a table by id or name. It blocks.
    pub(crate) fn rows(&self, name: &str) -> Option<stationdb::Result<RowTable>> {
        let id = self.tables.get(name)?;
        Some(RowTable::open(&self.session, name, id, &self.known))
    }
}

impl CatalogProvider for Catalog {
    fn schema_names(&self) -> Vec<String> {
        vec![PUBLIC.to_owned(), ROWS.to_owned()]
    }

    fn schema(&self, name: &str) -> Option<Arc<dyn SchemaProvider>> {
        match name {
            PUBLIC => Some(Arc::new(self.schema_of(true))),
            ROWS => Some(Arc::new(self.schema_of(false))),
            _ => None,
        }
    }
}

/// One schema.
#[derive(Debug)]
struct Tables {
    session: Session,
    tables: Arc<BTreeMap<String, TableId>>,
    known: Arc<StatisticsCache>,
    /// Whether it lists the kinds of records; if so it lists no rows, but finds them.
    with_records: bool,
}

impl Tables {
    fn source(&self, name: &str) -> Option<Source> {
        match name {
            _ if !self.with_records => None,
            STEPS => Some(Source::Steps),
            MEASUREMENTS => Some(Source::Measurements),
            _ => {
                let kind = RecordKind::ALL.iter().find(|kind| name_of(**kind) == name)?;
                Some(Source::Kind(*kind))
            }
        }
    }

    fn is_quotas(&self, name: &str) -> bool {
        self.with_records && name == quotas::NAME
    }
}

#[async_trait]
impl SchemaProvider for Tables {
    fn table_names(&self) -> Vec<String> {
        if self.with_records {
            let kinds = RecordKind::ALL.iter().map(|kind| name_of(*kind));
            kinds.chain([quotas::NAME, STEPS, MEASUREMENTS]).map(str::to_owned).collect()
        } else {
            self.tables.keys().cloned().collect()
        }
    }

    async fn table(&self, name: &str) -> Result<Option<Arc<dyn TableProvider>>> {
        if let Some(source) = self.source(name) {
            return Ok(Some(Arc::new(RecordTable::new(&self.session, source)?)));
        }
        if self.is_quotas(name) {
            return Ok(Some(Arc::new(quotas::table(&self.session))));
        }
        let Some(id) = self.tables.get(name).cloned() else { return Ok(None) };
        let (session, known) = (self.session.clone(), self.known.clone());
        let name = name.to_owned();
        let open = move || RowTable::open(&session, &name, &id, &known);
        let opened = tokio::task::spawn_blocking(open).await;
        let table = opened
            .map_err(|error| DataFusionError::External(Box::new(error)))?
            .map_err(external)?;
        Ok(Some(Arc::new(table)))
    }

    // Without opening the rows, which a list of many tables would do for each.
    async fn table_type(&self, name: &str) -> Result<Option<TableType>> {
        Ok(self.table_exist(name).then_some(TableType::Base))
    }

    fn table_exist(&self, name: &str) -> bool {
        self.source(name).is_some() || self.is_quotas(name) || self.tables.contains_key(name)
    }
}
