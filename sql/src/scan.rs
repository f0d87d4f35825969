//! Reads of the store as plans of DataFusion.

use std::fmt;
use std::sync::Arc;

use datafusion::arrow::array::{RecordBatch, RecordBatchOptions};
use datafusion::arrow::compute::SortOptions;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::common::stats::Precision;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{Statistics, internal_err};
use datafusion::error::Result;
use datafusion::execution::TaskContext;
use datafusion::execution::memory_pool::MemoryConsumer;
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_expr::{
    EquivalenceProperties, LexOrdering, Partitioning, PhysicalExpr, PhysicalSortExpr,
};
use datafusion::physical_plan::execution_plan::{
    Boundedness, EmissionType, ReplaceChildrenOptions,
};
use datafusion::physical_plan::metrics::{ExecutionPlanMetricsSet, MetricBuilder, MetricsSet};
use datafusion::physical_plan::statistics::StatisticsArgs;
use datafusion::physical_plan::stream::{RecordBatchReceiverStream, RecordBatchStreamAdapter};
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties, SendableRecordBatchStream,
};
use futures::StreamExt;
use stationdb::Control;
use stationdb::tables::ColumnOrderBy;

use crate::batches::{BatchesOpener, Memory};
use crate::errors::external;
use crate::exact::settled;
use crate::prepared::Held;
use crate::record_read::RecordRead;

/// Batches that wait for the query at most.
const WAITING: usize = 2;

/// The schema of the columns that a plan wants, and their positions. All if it names none.
pub(crate) fn project(
    all: &SchemaRef,
    wanted: Option<&Vec<usize>>,
) -> Result<(SchemaRef, Vec<usize>)> {
    let columns = wanted.cloned().unwrap_or_else(|| (0..all.fields().len()).collect());
    Ok((Arc::new(all.project(&columns)?), columns))
}

/// The columns that a read of the store has to name. A plan without columns wants the number of
/// rows alone, which the column `least` is read for.
pub(crate) fn names(schema: &SchemaRef, least: &str) -> Vec<String> {
    match schema.fields().len() {
        0 => vec![least.to_owned()],
        _ => schema.fields().iter().map(|field| field.name().clone()).collect(),
    }
}

/// The label and the read of the first rows of an order.
pub(crate) type TopRowsOpener =
    Arc<dyn Fn(&[ColumnOrderBy], usize) -> (String, BatchesOpener) + Send + Sync>;

/// Rows at most that the store selects by an order of the statement. It keeps them in memory, and
/// DataFusion can spill.
const FIRST_MAX: usize = 10_000;

/// What a read begins with.
#[derive(Clone)]
enum Open {
    Any(BatchesOpener),
    Records(Arc<RecordRead>),
}

/// One read of the store.
#[derive(Clone)]
pub(crate) struct StoreScan {
    /// What is read, for `explain`.
    label: String,
    open: Open,
    first: Option<TopRowsOpener>,
    /// Whether rows are counted, and none is read.
    is_count: bool,
    statistics: Statistics,
    properties: Arc<PlanProperties>,
    metrics: ExecutionPlanMetricsSet,
}

impl StoreScan {
    /// A read that returns batches of this schema, or with more columns if it has none.
    pub(crate) fn new(label: String, schema: SchemaRef, open: BatchesOpener) -> Self {
        let known = EquivalenceProperties::new(schema);
        Self::with_properties(label, Open::Any(open), known)
    }

    /// A read of records, which returns batches as [`Self::new`] says.
    pub(crate) fn of_records(schema: SchemaRef, read: RecordRead) -> Self {
        let (label, is_count) = (read.label(), read.is_count);
        let known = EquivalenceProperties::new(schema);
        let scan = Self::with_properties(label, Open::Records(Arc::new(read)), known);
        Self { is_count, ..scan }
    }

    fn with_properties(label: String, open: Open, known: EquivalenceProperties) -> Self {
        Self {
            label,
            open,
            first: None,
            is_count: false,
            statistics: Statistics::new_unknown(known.schema()),
            properties: properties(known),
            metrics: ExecutionPlanMetricsSet::new(),
        }
    }

    /// The number of rows is told, and none is read.
    pub(crate) fn counted(mut self) -> Self {
        self.is_count = true;
        self
    }

    /// The records that are read, if these are records.
    pub(crate) fn records(&self) -> Option<&RecordRead> {
        match &self.open {
            Open::Records(read) => Some(read),
            Open::Any(_) => None,
        }
    }

    /// The same columns of another read of records.
    pub(crate) fn with_records(&self, read: RecordRead) -> Self {
        let (label, open) = (read.label(), Open::Records(Arc::new(read)));
        Self { label, open, metrics: ExecutionPlanMetricsSet::new(), ..self.clone() }
    }

    /// With a read of the first rows of any order of its columns, in which nulls come last.
    pub(crate) fn with_first(mut self, first: TopRowsOpener) -> Self {
        self.first = Some(first);
        self
    }

    /// The read of the first rows of this order, if the store can select them.
    pub(crate) fn first(&self, order: &LexOrdering, take: usize) -> Option<Self> {
        let first = self.first.as_ref().filter(|_| take <= FIRST_MAX)?;
        let schema = self.schema();
        let column = |sort: &PhysicalSortExpr| {
            let column = sort.expr.downcast_ref::<Column>()?;
            let known = self.statistics.column_statistics.get(column.index())?;
            let field = schema.fields().get(column.index())?;
            let has_nulls = field.is_nullable() && known.null_count != Precision::Exact(0);
            if sort.options.nulls_first && has_nulls {
                return None;
            }
            Some(ColumnOrderBy::new(field.name().clone()).descending(sort.options.descending))
        };
        let columns = order.iter().map(column).collect::<Option<Vec<_>>>()?;
        let (label, open) = first(&columns, take);
        let known = EquivalenceProperties::new_with_orderings(schema, [order.clone()]);
        Some(Self::with_properties(label, Open::Any(open), known))
    }

    /// With statistics of its columns.
    pub(crate) fn with_statistics(mut self, statistics: Statistics) -> Self {
        self.statistics = statistics;
        self
    }

    /// The rows are in ascending order of the column at this position, which has no nulls.
    pub(crate) fn ordered_by(mut self, name: &str, position: usize) -> Self {
        let column = Arc::new(Column::new(name, position)) as Arc<dyn PhysicalExpr>;
        let options = SortOptions { descending: false, nulls_first: false };
        let order = [PhysicalSortExpr::new(column, options)];
        let known = EquivalenceProperties::new_with_orderings(self.schema(), [order]);
        self.properties = properties(known);
        self
    }
}

fn properties(known: EquivalenceProperties) -> Arc<PlanProperties> {
    Arc::new(PlanProperties::new(
        known,
        Partitioning::UnknownPartitioning(1),
        EmissionType::Incremental,
        Boundedness::Bounded,
    ))
}

impl fmt::Debug for StoreScan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StoreScan").field("label", &self.label).finish_non_exhaustive()
    }
}

impl DisplayAs for StoreScan {
    fn fmt_as(&self, _form: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "StoreScan: {}", self.label)
    }
}

/// Cancels a read when the stream of its batches is dropped.
struct Stop(Control);

impl Drop for Stop {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

/// The batch under the schema of the plan, which has metadata that batches lack, or no columns.
fn fitted(batch: RecordBatch, schema: &SchemaRef) -> Result<RecordBatch> {
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    let columns = match schema.fields().len() {
        0 => Vec::new(),
        _ => batch.columns().iter().map(settled).collect(),
    };
    Ok(RecordBatch::try_new_with_options(schema.clone(), columns, &options)?)
}

impl ExecutionPlan for StoreScan {
    fn name(&self) -> &str {
        "StoreScan"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        Vec::new()
    }

    fn apply_expressions(
        &self,
        _f: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn metrics(&self) -> Option<MetricsSet> {
        Some(self.metrics.clone_inner())
    }

    fn replace_children(
        self: Arc<Self>,
        _children: Vec<Arc<dyn ExecutionPlan>>,
        _options: ReplaceChildrenOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        Ok(self)
    }

    fn with_new_children(
        self: Arc<Self>,
        _children: Vec<Arc<dyn ExecutionPlan>>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        Ok(self)
    }

    fn statistics_from_inputs(
        &self,
        _inputs: &[Arc<Statistics>],
        _args: &StatisticsArgs,
    ) -> Result<Arc<Statistics>> {
        Ok(Arc::new(self.statistics.clone()))
    }

    fn execute(
        &self,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        if partition != 0 {
            return internal_err!("a read of the store has one partition, not {partition}");
        }
        let read = MetricBuilder::new(&self.metrics).counter("rows_read", partition);
        let read = (!self.is_count).then_some(read);
        let returned = MetricBuilder::new(&self.metrics).output_rows(partition);
        let memory: Memory =
            Arc::new(MemoryConsumer::new(self.name()).register(context.memory_pool()));
        let held = context.session_config().get_extension::<Held>();
        let (schema, open) = (self.schema(), self.open.clone());

        let control = Control::default();
        let stop = Stop(control.clone());
        let mut builder = RecordBatchReceiverStream::builder(schema.clone(), WAITING);
        let (sender, form) = (builder.tx(), schema.clone());
        builder.spawn_blocking(move || {
            // Dropped behind what reads the store.
            let (_held, open) = (held, open);
            let batches = match &open {
                Open::Any(open) => open(&control, &memory),
                Open::Records(read) => read.open(&control),
            };
            for batch in batches.map_err(external)? {
                let batch = fitted(batch.map_err(external)?, &form)?;
                returned.add(batch.num_rows());
                if let Some(read) = &read {
                    read.add(batch.num_rows());
                }
                // The query has ended.
                if sender.blocking_send(Ok(batch)).is_err() {
                    break;
                }
            }
            Ok(())
        });
        let batches = builder.build().inspect(move |_| {
            let _until_the_end = &stop;
        });
        Ok(Box::pin(RecordBatchStreamAdapter::new(schema, batches)))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::time::Duration;

    use datafusion::arrow::datatypes::Schema;

    use super::*;
    use crate::batches::Batches;

    #[tokio::test]
    async fn a_read_is_cancelled_when_its_stream_is_dropped() {
        let ended = Arc::new(AtomicBool::new(false));
        let seen = ended.clone();
        let open: BatchesOpener = Arc::new(move |control, _| {
            let (control, seen) = (control.clone(), seen.clone());
            // A read that finds nothing for long; it ends, so that a failure does not hang.
            let begun = std::time::Instant::now();
            let batches = std::iter::from_fn(move || {
                while begun.elapsed() < Duration::from_secs(20) {
                    if let Err(error) = control.check() {
                        seen.store(true, Ordering::SeqCst);
                        return Some(Err(error));
                    }
                    std::thread::sleep(Duration::from_millis(1));
                }
                None
            });
            Ok(Box::new(batches) as Batches)
        });
        let scan = StoreScan::new("test".to_owned(), Arc::new(Schema::empty()), open);
        let mut stream = scan.execute(0, Arc::new(TaskContext::default())).unwrap();
        let waited = tokio::time::timeout(Duration::from_millis(50), stream.next()).await;
        assert!(waited.is_err() && !ended.load(Ordering::SeqCst));
        drop(stream);
        for _ in 0..1000 {
            if ended.load(Ordering::SeqCst) {
                return;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        panic!("the read goes on");
    }
}
