//! Plans without the state of the store that they were made over.

use std::sync::Arc;

use datafusion::arrow::datatypes::SchemaRef;
use datafusion::catalog::TableProvider;
use datafusion::common::ParamValues;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode, TreeNodeRecursion};
use datafusion::datasource::{provider_as_source, source_as_provider};
use datafusion::error::Result;
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::{
    Expr, LogicalPlan, TableProviderFilterPushDown, TableSource, TableType, Volatility,
};
use stationdb::tables::{DecimationOptions, TableId};
use stationdb::{ErrorKind, Session};

use super::parameters::{self, Parameters};
use crate::catalog::Catalog;
use crate::decimate::DecimatedTable;
use crate::door::{Meter, again};
use crate::errors::external;
use crate::pages::{PageList, Pages};
use crate::record_read::Source;
use crate::records::RecordTable;
use crate::rows::{RowTable, StatisticsCache};

/// A table without the session that it is read by.
#[derive(Clone, Debug)]
enum KeptTable {
    Records(Source),
    /// The name or id that the statement has, and the table that it was.
    Rows(String, TableId),
    Decimated(String, TableId, DecimationOptions),
    Pages(PageList),
}

/// The place of a table in a plan.
struct Vacancy {
    /// Which of the tables of the plan it is.
    place: usize,
    schema: SchemaRef,
    /// How far the table tests its filters, which the plan leaves to it.
    support: Vec<TableProviderFilterPushDown>,
}

impl TableSource for Vacancy {
    fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }

    fn table_type(&self) -> TableType {
        TableType::Temporary
    }
}

/// What a call reads: its snapshot, and the names of tables in it once something asks for them.
pub(super) struct Snapshot {
    pub session: Session,
    names: Option<Arc<Catalog>>,
}

impl Snapshot {
    pub(super) fn new(session: &Session) -> Self {
        Self { session: session.pinned(), names: None }
    }

    pub(super) fn names(&mut self) -> stationdb::Result<Arc<Catalog>> {
        Ok(match &self.names {
            Some(names) => names.clone(),
            None => self.names.insert(Arc::new(Catalog::new(&self.session)?)).clone(),
        })
    }

    /// The rows that a name stands for; none if these are others than those of the plan.
    fn rows(&mut self, name: &str, id: &TableId) -> stationdb::Result<Option<RowTable>> {
        if name == id.as_str() {
            // An id is the table's whatever the names of others are.
            return match RowTable::open(&self.session, name, id, &StatisticsCache::default()) {
                Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
                rows => rows.map(Some),
            };
        }
        let rows = self.names()?.rows(name).transpose()?;
        Ok(rows.filter(|rows| rows.id == *id))
    }
}

impl KeptTable {
    fn of(provider: &dyn TableProvider) -> Option<Self> {
        if let Some(records) = provider.downcast_ref::<RecordTable>() {
            return Some(Self::Records(records.source));
        }
        if let Some(rows) = provider.downcast_ref::<RowTable>() {
            return Some(Self::Rows(rows.name.clone(), rows.id.clone()));
        }
        if let Some(DecimatedTable { rows, options }) = provider.downcast_ref() {
            return Some(Self::Decimated(rows.name.clone(), rows.id.clone(), options.clone()));
        }
        provider.downcast_ref::<Pages>().map(|pages| Self::Pages(pages.list.clone()))
    }

    fn open(&self, snapshot: &mut Snapshot) -> Result<Option<Arc<dyn TableProvider>>> {
        Ok(match self {
            Self::Records(source) => Some(Arc::new(RecordTable::new(&snapshot.session, *source)?)),
            Self::Rows(name, id) => match snapshot.rows(name, id).map_err(external)? {
                Some(rows) => Some(Arc::new(rows)),
                None => None,
            },
            Self::Decimated(name, id, options) => {
                match snapshot.rows(name, id).map_err(external)? {
                    Some(rows) => Some(Arc::new(DecimatedTable { rows, options: options.clone() })),
                    None => None,
                }
            }
            Self::Pages(list) => Some(Arc::new(list.clone().read_by(&snapshot.session))),
        })
    }
}

/// An optimised plan whose tables, open values and bounds are those of each call.
#[derive(Debug)]
pub(super) struct KeptPlan {
    plan: LogicalPlan,
    tables: Vec<(KeptTable, SchemaRef)>,
    pub parameters: Parameters,
}

impl KeptPlan {
    /// The plan, which [`is_kept`] allows.
    pub(super) fn new(plan: LogicalPlan, parameters: Parameters) -> Result<Self> {
        let mut tables = Vec::new();
        let vacate = |node: LogicalPlan| {
            let LogicalPlan::TableScan(mut scan) = node else { return Ok(Transformed::no(node)) };
            let provider = source_as_provider(&scan.source)?;
            let Some(table) = KeptTable::of(provider.as_ref()) else {
                return Ok(Transformed::no(LogicalPlan::TableScan(scan)));
            };
            let (place, schema) = (tables.len(), provider.schema());
            let support =
                provider.supports_filters_pushdown(&scan.filters.iter().collect::<Vec<_>>())?;
            tables.push((table, schema.clone()));
            scan.source = Arc::new(Vacancy { place, schema, support });
            Ok(Transformed::yes(LogicalPlan::TableScan(scan)))
        };
        let plan = plan.transform_up_with_subqueries(vacate).data()?;
        Ok(Self { plan, tables, parameters })
    }

    /// The tables as the snapshot has them. None if the schema has changed, so that the plan is of
    /// no use. It blocks.
    pub(super) fn open(
        &self,
        snapshot: &mut Snapshot,
    ) -> Result<Option<Vec<Arc<dyn TableProvider>>>> {
        let mut opened = Vec::with_capacity(self.tables.len());
        for (table, schema) in &self.tables {
            match table.open(snapshot)? {
                Some(found) if found.schema() == *schema => opened.push(found),
                _ => return Ok(None),
            }
        }
        Ok(Some(opened))
    }

    /// The plan over these tables, with the values and the bounds of a call. None if a table does
    /// not test a condition that the plan leaves to it.
    pub(super) fn bound(
        &self,
        tables: &[Arc<dyn TableProvider>],
        values: Option<&ParamValues>,
        meter: &Arc<Meter>,
    ) -> Result<Option<LogicalPlan>> {
        let plan = parameters::mapped(self.plan.clone(), |expr, _| {
            Ok(match expr {
                Expr::Placeholder(ref place) => match parameters::opened(place, values) {
                    Some(value) => Transformed::yes(value),
                    None => Transformed::no(expr),
                },
                Expr::ScalarFunction(ScalarFunction { func, args }) => match again(&func, meter) {
                    Some(func) => Transformed::yes(Expr::ScalarFunction(ScalarFunction {
                        func: Arc::new(func),
                        args,
                    })),
                    None => Transformed::no(Expr::ScalarFunction(ScalarFunction { func, args })),
                },
                other => Transformed::no(other),
            })
        })?;
        let mut is_whole = true;
        let fill = |node: LogicalPlan| {
            let LogicalPlan::TableScan(mut scan) = node else { return Ok(Transformed::no(node)) };
            let table = scan.source.downcast_ref::<Vacancy>();
            let found = table.and_then(|it| Some((it, tables.get(it.place)?)));
            let Some((vacancy, provider)) = found else {
                is_whole = false;
                return Ok(Transformed::no(LogicalPlan::TableScan(scan)));
            };
            let filters: Vec<&Expr> = scan.filters.iter().collect();
            let support = provider.supports_filters_pushdown(&filters)?;
            is_whole &= support.len() == vacancy.support.len()
                && support.iter().zip(&vacancy.support).all(|(now, then)| is_enough(now, then));
            scan.source = provider_as_source(provider.clone());
            Ok(Transformed::yes(LogicalPlan::TableScan(scan)))
        };
        let plan = plan.transform_up_with_subqueries(fill).data()?;
        Ok(is_whole.then_some(plan))
    }
}

/// Whether a plan that leaves a condition so far to the table holds. A condition that DataFusion tests
/// again may be tested by the table alone for some values.
fn is_enough(now: &TableProviderFilterPushDown, then: &TableProviderFilterPushDown) -> bool {
    let (exact, inexact) =
        (TableProviderFilterPushDown::Exact, TableProviderFilterPushDown::Inexact);
    now == then || (*then == inexact && *now == exact)
}

/// Whether the plan of a statement answers it later, too: all its tables are opened again by name, and
/// none of its functions answers by the time of the call. A placeholder without a value is told by the
/// call.
pub(super) fn is_kept(plan: &LogicalPlan) -> Result<bool> {
    let mut is_kept = plan.get_parameter_names()?.is_empty();
    plan.apply_with_subqueries(|node| {
        is_kept &= match node {
            LogicalPlan::TableScan(scan) => source_as_provider(&scan.source)
                .is_ok_and(|provider| KeptTable::of(provider.as_ref()).is_some()),
            LogicalPlan::Explain(_)
            | LogicalPlan::Analyze(_)
            | LogicalPlan::DescribeTable(_)
            | LogicalPlan::Statement(_)
            | LogicalPlan::Extension(_)
            | LogicalPlan::RecursiveQuery(_) => false,
            _ => true,
        };
        node.apply_expressions(|expr| {
            is_kept &= !expr.exists(|part| Ok(is_of_the_call(part)))?;
            Ok(TreeNodeRecursion::Continue)
        })
    })?;
    Ok(is_kept)
}

/// Whether the value is one of the call, as `now()`, which planning replaces by a literal.
fn is_of_the_call(part: &Expr) -> bool {
    match part {
        Expr::ScalarFunction(call) => call.func.signature().volatility == Volatility::Stable,
        Expr::ScalarVariable(..) => true,
        _ => false,
    }
}
