//! The class of each list in a request, and a call with a list of a given length.

use stationdb::ErrorKind::{InvalidArgument, LimitExceeded, PartialFailure};
use stationdb::assets::*;
use stationdb::files::*;
use stationdb::prelude::*;
use stationdb::products::*;
use stationdb::scans::*;
use stationdb::search::*;
use stationdb::specifications::*;
use stationdb::tables::*;
use stationdb::test_plans::*;
use stationdb::work_items::*;
use stationdb::workspaces::*;
use stationdb::*;

/// Number of entries of a batch.
pub const BATCH: usize = 100_000;

/// The class of a list in a request.
pub enum Class {
    /// Controls the execution of a query. Its length is limited, and the error above the limit
    /// names the limit and the member.
    Steers {
        member: &'static str,
        kind: ErrorKind,
        /// Whether entries may be repeated.
        repeats: bool,
    },
    /// Records or ids to work on, limited only by bytes and memory, or by a limit in
    /// `docs/reference`; with the kind of the error, if any, for a batch whose entries name no
    /// record.
    Batch(Option<ErrorKind>),
    /// A part of a stored record, limited by the bytes of a record.
    Stored,
}

use Class::{Batch, Stored};

const fn steers(member: &'static str) -> Class {
    Class::Steers { member, kind: LimitExceeded, repeats: true }
}

const SUBSTITUTIONS: Class =
    Class::Steers { member: "substitutions", kind: InvalidArgument, repeats: true };
const COLUMNS: Class = Class::Steers { member: "columns", kind: LimitExceeded, repeats: false };

/// Every list of every request.
pub const LISTS: &[(&str, Class)] = &[
    ("AddColumnsRequest.columns", Batch(Some(LimitExceeded))),
    ("AggregateRecordsRequest.aggregates", steers("aggregates")),
    ("AggregateRecordsRequest.group_by", steers("groupBy")),
    ("AggregateRecordsRequest.substitutions", SUBSTITUTIONS),
    ("AggregateTableDataRequest.aggregates", steers("aggregates")),
    ("AggregateTableDataRequest.filters", steers("filters")),
    ("AggregateTableDataRequest.group_by", steers("groupBy")),
    ("AggregateTableDataRequest.substitutions", SUBSTITUTIONS),
    ("AssetService::create_assets(assets)", Batch(Some(LimitExceeded))),
    ("AssetService::delete_assets(ids)", Batch(Some(LimitExceeded))),
    ("AssetService::end_utilization(ids)", Batch(None)),
    ("AssetService::link_files(file_ids)", Batch(Some(LimitExceeded))),
    ("AssetService::update_assets(assets)", Batch(Some(LimitExceeded))),
    ("AssetService::utilization_heartbeat(ids)", Batch(None)),
    ("CreateSpecificationsRequest.specs", Batch(None)),
    ("DataFrame.columns", Batch(Some(InvalidArgument))),
    ("DataFrame.data", Batch(None)),
    ("DecimationOptions.y_columns", steers("decimation.yColumns")),
    ("DeleteRecordsRequest.substitutions", SUBSTITUTIONS),
    ("DeleteRowsRequest.filters", steers("filters")),
    ("DeleteRowsRequest.substitutions", SUBSTITUTIONS),
    ("DropColumnsRequest.columns", Batch(Some(InvalidArgument))),
    ("ExportTableDataRequest.columns", COLUMNS),
    ("ExportTableDataRequest.filters", steers("filters")),
    ("ExportTableDataRequest.order_by", steers("orderBy")),
    ("ExportTableDataRequest.substitutions", SUBSTITUTIONS),
    ("FeedService::delete_packages(package_ids)", Batch(Some(PartialFailure))),
    ("FileService::delete_files(ids)", Batch(Some(PartialFailure))),
    ("GetFilesRequest.ids", Batch(None)),
    ("GetTableDataRequest.columns", COLUMNS),
    ("GetTableDataRequest.order_by", steers("orderBy")),
    ("IdsQuery.ids", Batch(None)),
    ("ImportRecord.record", Stored),
    ("ImportRecordsRequest.choices", Batch(None)),
    ("ImportRecordsRequest.full", steers("full")),
    ("ImportRecordsRequest.records", Batch(None)),
    ("ImportRecordsRequest.workspaces", Batch(None)),
    ("ImportTableRequest.column_types", Batch(Some(InvalidArgument))),
    ("ImportTableRequest.null_texts", steers("nullTexts")),
    ("ListTablesRequest.id", Batch(None)),
    ("ListTablesRequest.workspace", steers("workspace")),
    ("ModifyTableRequest.columns", Batch(Some(InvalidArgument))),
    ("ModifyTablesRequest.tables", Batch(None)),
    ("ProductService::create_products(products)", Batch(None)),
    ("ProductService::delete_products(ids)", Batch(None)),
    ("ProductService::update_products(products)", Batch(None)),
    ("QueryAssetsRequest.projection", steers("projection")),
    ("QueryAssetsRequest.substitutions", SUBSTITUTIONS),
    ("QueryDecimatedDataRequest.columns", COLUMNS),
    ("QueryDecimatedDataRequest.filters", steers("filters")),
    ("QueryDecimatedDataRequest.substitutions", SUBSTITUTIONS),
    ("QueryFilesRequest.properties_query", steers("propertiesQuery")),
    ("QueryProductValuesRequest.substitutions", SUBSTITUTIONS),
    ("QueryProductsRequest.projection", steers("projection")),
    ("QueryProductsRequest.substitutions", SUBSTITUTIONS),
    ("QueryWorkspacesRequest.substitutions", SUBSTITUTIONS),
    ("QuerySpecificationsRequest.product_ids", steers("productIds")),
    ("QuerySpecificationsRequest.projection", steers("projection")),
    ("QuerySpecificationsRequest.substitutions", SUBSTITUTIONS),
    ("QueryTableDataRequest.columns", COLUMNS),
    ("QueryTableDataRequest.filters", steers("filters")),
    ("QueryTableDataRequest.order_by", steers("orderBy")),
    ("QueryTableDataRequest.substitutions", SUBSTITUTIONS),
    ("QueryTablesRequest.projection", steers("projection")),
    ("QueryTablesRequest.substitutions", SUBSTITUTIONS),
    ("QueryTestPlanTemplatesRequest.projection", steers("projection")),
    ("QueryTestPlanTemplatesRequest.substitutions", SUBSTITUTIONS),
    ("QueryTestPlansRequest.projection", steers("projection")),
    ("QueryTestPlansRequest.substitutions", SUBSTITUTIONS),
    ("QueryWorkItemTemplatesRequest.projection", steers("projection")),
    ("QueryWorkItemTemplatesRequest.substitutions", SUBSTITUTIONS),
    ("QueryWorkItemsRequest.projection", steers("projection")),
    ("QueryWorkItemsRequest.substitutions", SUBSTITUTIONS),
    ("ReadWaveformsRequest.columns", COLUMNS),
    ("RenameColumnsRequest.columns", Batch(Some(InvalidArgument))),
    ("ScanRecordsRequest.columns", steers("columns")),
    ("ScanRecordsRequest.substitutions", SUBSTITUTIONS),
    ("ScanRequest.columns", COLUMNS),
    ("ScanRequest.filters", steers("filters")),
    ("ScanRequest.order_by", steers("orderBy")),
    ("ScanRequest.substitutions", SUBSTITUTIONS),
    ("ScheduleTestPlansRequest.test_plans", Batch(None)),
    ("ScheduleWorkItemsRequest.work_items", Batch(None)),
    ("SearchRequest.fields", steers("fields")),
    ("SearchRequest.kinds", steers("kinds")),
    ("SearchRequest.workspaces", steers("workspaces")),
    ("SpecificationService::delete_specs(ids)", Batch(None)),
    ("StartUtilizationRequest.asset_identifications", Batch(Some(LimitExceeded))),
    ("TableService::delete_tables(ids)", Batch(None)),
    ("TestPlanService::create_test_plan_templates(test_plan_templates)", Batch(None)),
    ("TestPlanService::create_test_plans(test_plans)", Batch(None)),
    ("TestPlanService::delete_test_plan_templates(ids)", Batch(None)),
    ("TestPlanService::delete_test_plans(ids)", Batch(None)),
    ("UpdateSpecificationsRequest.specs", Batch(None)),
    ("UpdateTestPlansRequest.test_plans", Batch(None)),
    ("UpdateWorkItemTemplatesRequest.work_item_templates", Batch(None)),
    ("UpdateWorkItemsRequest.work_items", Batch(None)),
    ("WorkItemService::create_work_item_templates(work_item_templates)", Batch(None)),
    ("WorkItemService::create_work_items(work_items)", Batch(None)),
    ("WorkItemService::delete_work_item_templates(ids)", Batch(None)),
    ("WorkItemService::delete_work_items(ids)", Batch(None)),
    // TABLE_COLUMNS limits the columns of a new table.
    ("CreateTableRequest.columns", Stored),
    ("Column.properties", Stored),
    ("ColumnMetadataPatch.properties", Stored),
    ("CreateAssetRequest.file_ids", Stored),
    ("CreateAssetRequest.keywords", Stored),
    ("CreateAssetRequest.properties", Stored),
    ("CreateAssetRequest.temperature_sensors", Stored),
    ("CreateProductRequest.file_ids", Stored),
    ("CreateProductRequest.keywords", Stored),
    ("CreateProductRequest.properties", Stored),
    ("CreateSpecificationRequest.conditions", Stored),
    ("CreateSpecificationRequest.keywords", Stored),
    ("CreateSpecificationRequest.properties", Stored),
    ("CreateTableRequest.properties", Stored),
    ("CreateTestPlanRequest.execution_actions", Stored),
    ("CreateTestPlanRequest.file_ids_from_template", Stored),
    ("CreateTestPlanRequest.properties", Stored),
    ("CreateTestPlanTemplateRequest.execution_actions", Stored),
    ("CreateTestPlanTemplateRequest.file_ids", Stored),
    ("CreateTestPlanTemplateRequest.part_numbers", Stored),
    ("CreateTestPlanTemplateRequest.product_families", Stored),
    ("CreateTestPlanTemplateRequest.properties", Stored),
    ("CreateWorkItemRequest.execution_actions", Stored),
    ("CreateWorkItemRequest.file_ids_from_template", Stored),
    ("CreateWorkItemRequest.properties", Stored),
    ("CreateWorkItemTemplateRequest.execution_actions", Stored),
    ("CreateWorkItemTemplateRequest.file_ids", Stored),
    ("CreateWorkItemTemplateRequest.part_numbers", Stored),
    ("CreateWorkItemTemplateRequest.product_families", Stored),
    ("CreateWorkItemTemplateRequest.properties", Stored),
    ("Dashboard.variables", Stored),
    ("DashboardPatch.variables", Stored),
    ("ExternalCalibration.temperature_sensors", Stored),
    ("FileService::finish_upload_session(properties)", Stored),
    ("Job.arguments", Stored),
    ("Job.functions", Stored),
    ("Job.metadata", Stored),
    ("JobExecution.jobs", Stored),
    ("ModifyTableRequest.properties", Stored),
    ("NotebookExecution.parameters", Stored),
    ("NumericConditionValue.discrete", Stored),
    ("NumericConditionValue.range", Stored),
    ("ResourceDefinition.selections", Stored),
    ("ResourcePatch.selections", Stored),
    ("ScheduleResourceDefinition.selections", Stored),
    ("ScheduleSystemResourceDefinition.selections", Stored),
    ("ScheduleTestPlanRequest.fixture_ids", Stored),
    ("SelfCalibration.temperature_sensors", Stored),
    ("StringConditionValue.discrete", Stored),
    ("SystemResourceDefinition.selections", Stored),
    ("SystemResourcePatch.selections", Stored),
    ("TableMetadataModification.properties", Stored),
    ("UpdateAssetRequest.file_ids", Stored),
    ("UpdateAssetRequest.keywords", Stored),
    ("UpdateAssetRequest.properties", Stored),
    ("UpdateAssetRequest.temperature_sensors", Stored),
    ("UpdateMetadataRequest.properties", Stored),
    ("UpdateProductRequest.file_ids", Stored),
    ("UpdateProductRequest.keywords", Stored),
    ("UpdateProductRequest.properties", Stored),
    ("UpdateSpecificationRequest.conditions", Stored),
    ("UpdateSpecificationRequest.keywords", Stored),
    ("UpdateSpecificationRequest.properties", Stored),
    ("UpdateTestPlanRequest.execution_actions", Stored),
    ("UpdateTestPlanRequest.file_ids_from_template", Stored),
    ("UpdateTestPlanRequest.properties", Stored),
    ("UpdateWorkItemRequest.execution_actions", Stored),
    ("UpdateWorkItemRequest.file_ids_from_template", Stored),
    ("UpdateWorkItemRequest.properties", Stored),
    ("UpdateWorkItemTemplateRequest.execution_actions", Stored),
    ("UpdateWorkItemTemplateRequest.file_ids", Stored),
    ("UpdateWorkItemTemplateRequest.part_numbers", Stored),
    ("UpdateWorkItemTemplateRequest.product_families", Stored),
    ("UpdateWorkItemTemplateRequest.properties", Stored),
    ("UploadFileRequest.metadata", Stored),
    ("Waveform.y", Batch(Some(InvalidArgument))),
];

/// A store with a table and an asset.
pub struct World {
    pub session: Session,
    pub table: String,
    pub asset: String,
    _store: Store,
    _directory: tempfile::TempDir,
}

/// Number of rows of the table: as many as a sort compares at a time.
const ROWS: usize = 8_192;

impl World {
    pub fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let store = Store::open(directory.path()).unwrap();
        let session = store.session(Identity::user("ada"));
        let index = Column::new("i", DataType::Int64).column_type(ColumnType::Index);
        let value = Column::new("v", DataType::Float64);
        let request = CreateTableRequest::new([index, value]);
        let table = session.create_table(request).unwrap().to_string();
        let data = (0..ROWS).map(|row| vec![Some(row.to_string()), Some((row % 7).to_string())]);
        append(&session, &table, DataFrame::new().data(data)).unwrap();
        let asset = serde_json::json!([{
            "name": "DMM", "modelName": "PXI-4071", "vendorName": "A", "serialNumber": "1", "busType": "PCI_PXI",
            "location": {"minionId": "station-1", "state": {"assetPresence": "PRESENT"}},
        }]);
        let made = session.create_assets(serde_json::from_value(asset).unwrap()).unwrap();
        let asset = made.assets.iter().flatten().next().and_then(|asset| asset.id.clone());
        let asset = asset.unwrap_or_else(|| panic!("{made:?}")).to_string();
        Self { session, table, asset, _store: store, _directory: directory }
    }
}

fn append(session: &Session, table: &str, frame: DataFrame) -> Result<()> {
    session.append_table_data(&table.into(), AppendTableDataRequest::new().frame(frame))
}

fn substitutions(len: usize) -> Option<Vec<serde_json::Value>> {
    Some(vec![serde_json::Value::from("a"); len])
}

/// Ids of work items, plans or templates.
fn numbers(len: usize) -> Vec<String> {
    (0..len).map(|at| (1_000_000 + at).to_string()).collect()
}

fn names<I: From<String>>(len: usize) -> Vec<I> {
    (0..len).map(|at| format!("nothing-{at}").into()).collect()
}

/// Ids of tables or files.
fn hexes(len: usize) -> Vec<String> {
    (0..len).map(|at| format!("{at:024x}")).collect()
}

fn guids(len: usize) -> Vec<String> {
    (0..len).map(|at| format!("00000000-0000-8000-8000-{at:012x}")).collect()
}

/// Makes a request whose list has `len` entries.
pub fn probe(world: &World, list: &str, len: usize) -> Result<()> {
    let World { session, table, asset, .. } = world;
    let columns = || {
        Some(["i", "v"].iter().cycle().take(len).map(|name| (*name).to_owned()).collect::<Vec<_>>())
    };
    let filters = || {
        let filter = ColumnFilter::new("v", FilterOperation::NotEquals).value("3");
        Some(vec![filter; len])
    };
    let order_by = || {
        let term = |at: usize| {
            ColumnOrderBy::new(if at.is_multiple_of(2) { "v" } else { "i" }.to_owned())
                .descending(false)
        };
        Some((0..len).map(term).collect::<Vec<_>>())
    };
    let sink = &mut Vec::new();
    let control = Control::default();
    let decimated = |request: QueryDecimatedDataRequest| {
        session.query_decimated_data(&table.into(), request).map(drop)
    };
    let rows =
        |request: QueryTableDataRequest| session.query_table_data(&table.into(), request).map(drop);
    let aggregated = |request: AggregateTableDataRequest| {
        session.aggregate_table_data(&table.into(), request).map(drop)
    };
    let scan = |request: ScanRequest| {
        session.scan(&table.into(), request, &control)?.try_for_each(|batch| batch.map(drop))
    };
    let records = |request: ScanRecordsRequest| session.scan_records(request, &control).map(drop);
    let text = |request: SearchRequest| match session.search(request) {
        // A build without the feature.
        Err(error) if error.kind() == ErrorKind::Unsupported => Ok(()),
        outcome => outcome.map(drop),
    };
    match list {
        "AssetService::create_assets(assets)" => {
            session.create_assets(vec![CreateAssetRequest::default(); len]).map(drop)
        }
        "AssetService::delete_assets(ids)" => session.delete_assets(names(len)).map(drop),
        "AssetService::end_utilization(ids)" => session.end_utilization(names(len), None).map(drop),
        "AssetService::link_files(file_ids)" => {
            session.link_files(&asset.into(), names(len)).map(drop)
        }
        "AssetService::update_assets(assets)" => {
            session.update_assets(vec![UpdateAssetRequest::default(); len]).map(drop)
        }
        "AssetService::utilization_heartbeat(ids)" => {
            session.utilization_heartbeat(names(len), None).map(drop)
        }
        "StartUtilizationRequest.asset_identifications" => session
            .start_utilization(StartUtilizationRequest::new(vec![
                AssetIdentification::default();
                len
            ]))
            .map(drop),
        "QueryAssetsRequest.projection" => session
            .query_assets(QueryAssetsRequest::new().projection(vec![AssetField::default(); len]))
            .map(drop),

        "QueryAssetsRequest.substitutions" => session
            .query_assets(QueryAssetsRequest::new().maybe_substitutions(substitutions(len)))
            .map(drop),

        "DataFrame.columns" => append(session, table, DataFrame::new().maybe_columns(columns())),
        "DataFrame.data" => {
            let data = (0..len).map(|row| vec![Some(row.to_string()), Some("1".to_owned())]);
            append(session, table, DataFrame::new().data(data))
        }
        "DecimationOptions.y_columns" => decimated(QueryDecimatedDataRequest::new().decimation(
            DecimationOptions::new(DecimationMethod::MaxMin).y_columns(vec!["v".to_owned(); len]),
        )),
        "AddColumnsRequest.columns" => {
            let new =
                |name: String| Column::new(name, DataType::Bool).column_type(ColumnType::Nullable);
            let columns: Vec<Column> = names::<String>(len).into_iter().map(new).collect();
            session.add_columns(&table.into(), AddColumnsRequest::new(columns))
        }
        "DropColumnsRequest.columns" => {
            session.drop_columns(&table.into(), DropColumnsRequest::new(names::<String>(len)))
        }
        "RenameColumnsRequest.columns" => {
            let change = |name: String| ColumnRename::new(name, "other");
            let columns: Vec<ColumnRename> = names::<String>(len).into_iter().map(change).collect();
            session.rename_columns(&table.into(), RenameColumnsRequest::new(columns))
        }
        "DeleteRowsRequest.filters" => {
            let request = DeleteRowsRequest::new().maybe_filters(filters());
            session.delete_rows(&table.into(), request).map(drop)
        }
        "DeleteRowsRequest.substitutions" => {
            let request = DeleteRowsRequest::new()
                .filter("@0 == \"a\"")
                .maybe_substitutions(substitutions(len));
            session.delete_rows(&table.into(), request).map(drop)
        }
        "QueryDecimatedDataRequest.columns" => {
            decimated(QueryDecimatedDataRequest::new().maybe_columns(columns()))
        }
        "QueryDecimatedDataRequest.filters" => {
            decimated(QueryDecimatedDataRequest::new().maybe_filters(filters()))
        }
        "ExportTableDataRequest.columns"
        | "ExportTableDataRequest.filters"
        | "ExportTableDataRequest.order_by" => {
            let mut request = ExportTableDataRequest::default();
            match list.rsplit('.').next() {
                Some("columns") => request.columns = columns(),
                Some("filters") => request.filters = filters(),
                _ => request.order_by = order_by(),
            }
            session.export_table_data(&table.into(), request, sink, &control).map(drop)
        }
        "GetTableDataRequest.columns" => session
            .get_table_data(&table.into(), GetTableDataRequest::new().maybe_columns(columns()))
            .map(drop),
        "GetTableDataRequest.order_by" => {
            let order_by =
                order_by().map(|terms| terms.into_iter().map(|term| term.column).collect());
            session
                .get_table_data(&table.into(), GetTableDataRequest::new().maybe_order_by(order_by))
                .map(drop)
        }
        "QueryTableDataRequest.columns" => {
            rows(QueryTableDataRequest::new().maybe_columns(columns()))
        }
        "QueryTableDataRequest.filters" => {
            rows(QueryTableDataRequest::new().maybe_filters(filters()))
        }
        "QueryTableDataRequest.order_by" => {
            rows(QueryTableDataRequest::new().maybe_order_by(order_by()))
        }
        "Waveform.y" => {
            let mut waveform = Waveform::new(WaveformAxis::Count { t0: 0, dt: 1 });
            waveform.y = vec![("v", (&[0.5]).into()); len];
            session.append_waveform(&table.into(), &waveform)
        }
        "ReadWaveformsRequest.columns" => {
            let request = ReadWaveformsRequest::new().maybe_columns(columns());
            session.read_waveforms(&table.into(), request, &control).map(drop)
        }
        "ScanRecordsRequest.columns" => records(
            ScanRecordsRequest::new(RecordKind::Product)
                .columns(["name", "family"].into_iter().cycle().take(len)),
        ),
        "ScanRecordsRequest.substitutions" => records(
            ScanRecordsRequest::new(RecordKind::Product)
                .filter("name == @0")
                .substitutions((0..len).map(|at| at.to_string())),
        ),
        "ScanRequest.columns" => scan(ScanRequest::new().maybe_columns(columns())),
        "ScanRequest.filters" => scan(ScanRequest::new().maybe_filters(filters())),
        "ScanRequest.substitutions" => {
            scan(ScanRequest::new().filter("@0 == \"a\"").maybe_substitutions(substitutions(len)))
        }
        "QueryTableDataRequest.substitutions" => rows(
            QueryTableDataRequest::new()
                .filter("@0 == \"a\"")
                .maybe_substitutions(substitutions(len)),
        ),
        "AggregateRecordsRequest.aggregates" => {
            let count = Aggregate::new(AggregateFunction::Count).column("name");
            let request = AggregateRecordsRequest::new(RecordKind::Product);
            session.aggregate_records(request.aggregates(vec![count; len])).map(drop)
        }
        "AggregateRecordsRequest.group_by" => {
            let key = AggregateRecordsKey::new("name");
            let request = AggregateRecordsRequest::new(RecordKind::Product);
            session.aggregate_records(request.group_by(vec![key; len])).map(drop)
        }
        "AggregateRecordsRequest.substitutions" => {
            let mut request = AggregateRecordsRequest::new(RecordKind::Product);
            (request.filter, request.substitutions) =
                (Some("name == @0".to_owned()), substitutions(len));
            session.aggregate_records(request).map(drop)
        }
        "DeleteRecordsRequest.substitutions" => {
            let mut request = DeleteRecordsRequest::new(RecordKind::Product);
            (request.filter, request.substitutions) =
                (Some("name == @0".to_owned()), substitutions(len));
            session.delete_records(request, &control).map(drop)
        }
        "AggregateTableDataRequest.aggregates" => {
            let mean = Aggregate::new(AggregateFunction::Mean).column("v");
            aggregated(AggregateTableDataRequest::new().aggregates(vec![mean; len]))
        }
        "AggregateTableDataRequest.filters" => {
            aggregated(AggregateTableDataRequest::new().maybe_filters(filters()))
        }
        "AggregateTableDataRequest.group_by" => {
            let key = AggregateKey::new("v");
            aggregated(AggregateTableDataRequest::new().group_by(vec![key; len]))
        }
        "AggregateTableDataRequest.substitutions" => aggregated(
            AggregateTableDataRequest::new()
                .filter("@0 == \"a\"")
                .maybe_substitutions(substitutions(len)),
        ),
        "QueryDecimatedDataRequest.substitutions" => decimated(
            QueryDecimatedDataRequest::new()
                .filter("@0 == \"a\"")
                .maybe_substitutions(substitutions(len)),
        ),
        "ExportTableDataRequest.substitutions" => session
            .export_table_data(
                &table.into(),
                {
                    ExportTableDataRequest::new(ExportFormat::Csv)
                        .filter("@0 == \"a\"")
                        .maybe_substitutions(substitutions(len))
                },
                sink,
                &control,
            )
            .map(drop),
        "ScanRequest.order_by" => scan(ScanRequest::new().maybe_order_by(order_by())),
        "ListTablesRequest.id" => {
            session.list_tables(ListTablesRequest::new().id(hexes(len))).map(drop)
        }
        "ListTablesRequest.workspace" => {
            session.list_tables(ListTablesRequest::new().workspace(names::<String>(len))).map(drop)
        }
        "ModifyTableRequest.columns" => {
            let patch = |name: String| ColumnMetadataPatch::new(name);
            let columns: Vec<_> = names(len).into_iter().map(patch).collect();
            let request = ModifyTableRequest::new().columns(columns);
            session.modify_table(&table.into(), request)
        }
        "ModifyTablesRequest.tables" => {
            let change = |id: String| TableMetadataModification::new(id);
            let tables: Vec<_> = hexes(len).into_iter().map(change).collect();
            session.modify_tables(ModifyTablesRequest::new(tables)).map(drop)
        }
        "TableService::delete_tables(ids)" => {
            session.delete_tables(hexes(len).into_iter().map(Into::into).collect()).map(drop)
        }
        "ImportRecordsRequest.choices" => {
            let keep = |id| ImportChoice::new(RecordKind::Product, id, ImportDecision::Keep);
            let choices = guids(len).into_iter().map(keep);
            session.import_records(ImportRecordsRequest::new("s").choices(choices)).map(drop)
        }
        "ImportRecordsRequest.full" => {
            let request = ImportRecordsRequest::new("s").position("1");
            session.import_records(request.full(vec![RecordKind::Product; len])).map(drop)
        }
        "ImportRecordsRequest.records" => {
            let gone = guids(len).into_iter().map(|id| ImportRecord::new(RecordKind::Product, id));
            let request = ImportRecordsRequest::new("s").position("1").records(gone);
            session.import_records(request).map(drop)
        }
        "ImportRecordsRequest.workspaces" => {
            let map = hexes(len).into_iter().map(|id| (id.clone(), id));
            session.import_records(ImportRecordsRequest::new("s").workspaces(map)).map(drop)
        }
        "ImportTableRequest.column_types" => session
            .import_csv(
                ImportTableRequest::new()
                    .column_types(hexes(len).into_iter().map(|name| (name, DataType::Int64))),
                &mut &b"a\n1\n"[..],
                &Control::default(),
            )
            .map(drop),
        "ImportTableRequest.null_texts" => session
            .import_csv(
                ImportTableRequest::new().null_texts(vec!["NA"; len]),
                &mut &b"a\n1\n"[..],
                &Control::default(),
            )
            .map(drop),
        "QueryTablesRequest.projection" => session
            .query_tables(
                QueryTablesRequest::new().projection(vec![TableProjection::default(); len]),
            )
            .map(drop),
        "QueryTablesRequest.substitutions" => session
            .query_tables(QueryTablesRequest::new().maybe_substitutions(substitutions(len)))
            .map(drop),

        "FeedService::delete_packages(package_ids)" => session.delete_packages(names(len)),
        "FileService::delete_files(ids)" => {
            session.delete_files(hexes(len).into_iter().map(Into::into).collect())
        }
        "GetFilesRequest.ids" => {
            session.get_files(GetFilesRequest::new().ids(hexes(len))).map(drop)
        }
        "IdsQuery.ids" => {
            let ids_query = Some(IdsQuery::new(FileQueryOperation::Equal, hexes(len)));
            session.query_files(QueryFilesRequest::new().maybe_ids_query(ids_query)).map(drop)
        }
        "QueryFilesRequest.properties_query" => {
            let one = PropertyQuery::new(String::new(), FileQueryOperation::Equal, String::new());
            let properties_query = vec![one; len];
            session
                .query_files(QueryFilesRequest::new().properties_query(properties_query))
                .map(drop)
        }

        "ProductService::create_products(products)" => {
            session.create_products(vec![CreateProductRequest::default(); len]).map(drop)
        }
        "ProductService::delete_products(ids)" => session.delete_products(names(len)).map(drop),
        "ProductService::update_products(products)" => {
            session.update_products(vec![UpdateProductRequest::default(); len], false).map(drop)
        }
        "QueryProductsRequest.projection" => {
            session
                .query_products(
                    QueryProductsRequest::new().projection(vec![ProductProjection::default(); len]),
                )
                .map(drop)
        }
        "QueryProductsRequest.substitutions" => session
            .query_products(QueryProductsRequest::new().maybe_substitutions(substitutions(len)))
            .map(drop),
        "QueryWorkspacesRequest.substitutions" => session
            .query_workspaces(QueryWorkspacesRequest::new().maybe_substitutions(substitutions(len)))
            .map(drop),
        "QueryProductValuesRequest.substitutions" => session
            .query_product_values(
                QueryProductValuesRequest::new()
                    .field(ProductField::Name)
                    .maybe_substitutions(substitutions(len)),
            )
            .map(drop),

        "CreateSpecificationsRequest.specs" => {
            let specs = Some(vec![CreateSpecificationRequest::default(); len]);
            session.create_specs(CreateSpecificationsRequest::new().maybe_specs(specs)).map(drop)
        }
        "UpdateSpecificationsRequest.specs" => {
            let specs = Some(vec![UpdateSpecificationRequest::default(); len]);
            session.update_specs(UpdateSpecificationsRequest::new().maybe_specs(specs)).map(drop)
        }
        "SpecificationService::delete_specs(ids)" => session.delete_specs(names(len)).map(drop),
        "QuerySpecificationsRequest.product_ids" => session
            .query_specs(QuerySpecificationsRequest::new().product_ids(names::<String>(len)))
            .map(drop),
        "QuerySpecificationsRequest.projection" => session
            .query_specs(
                QuerySpecificationsRequest::new()
                    .product_ids(names::<String>(1))
                    .projection(vec![SpecificationProjection::default(); len]),
            )
            .map(drop),

        "QuerySpecificationsRequest.substitutions" => session
            .query_specs(
                QuerySpecificationsRequest::new()
                    .product_ids(names::<String>(1))
                    .maybe_substitutions(substitutions(len)),
            )
            .map(drop),

        "SearchRequest.fields" => text(SearchRequest::new().fields(vec!["name".to_owned(); len])),
        "SearchRequest.kinds" => text(SearchRequest::new().kinds(vec!["product".to_owned(); len])),
        "SearchRequest.workspaces" => text(SearchRequest::new().workspaces(names::<String>(len))),
        _ => lab(session, list, len),
    }
}

/// Makes a request about work items, test plans or templates.
fn lab(session: &Session, list: &str, len: usize) -> Result<()> {
    let nonsense = Some("nonsense".to_owned());
    match list {
        "WorkItemService::create_work_items(work_items)" => {
            let item = CreateWorkItemRequest::new().maybe_state(nonsense);
            session.create_work_items(vec![item; len]).map(drop)
        }
        "TestPlanService::create_test_plans(test_plans)" => {
            let plan = CreateTestPlanRequest::new().maybe_state(nonsense);
            session.create_test_plans(vec![plan; len]).map(drop)
        }
        "WorkItemService::create_work_item_templates(work_item_templates)" => session
            .create_work_item_templates(vec![CreateWorkItemTemplateRequest::default(); len])
            .map(drop),
        "TestPlanService::create_test_plan_templates(test_plan_templates)" => session
            .create_test_plan_templates(vec![CreateTestPlanTemplateRequest::default(); len])
            .map(drop),
        "UpdateWorkItemsRequest.work_items" => session
            .update_work_items(UpdateWorkItemsRequest::new(vec![
                UpdateWorkItemRequest::default();
                len
            ]))
            .map(drop),
        "UpdateTestPlansRequest.test_plans" => session
            .update_test_plans(UpdateTestPlansRequest::new(vec![
                UpdateTestPlanRequest::default();
                len
            ]))
            .map(drop),
        "UpdateWorkItemTemplatesRequest.work_item_templates" => session
            .update_work_item_templates(UpdateWorkItemTemplatesRequest::new(
                vec![UpdateWorkItemTemplateRequest::default(); len],
            ))
            .map(drop),
        "ScheduleWorkItemsRequest.work_items" => session
            .schedule_work_items(ScheduleWorkItemsRequest::new(
                vec![ScheduleWorkItemRequest::default(); len],
            ))
            .map(drop),
        "ScheduleTestPlansRequest.test_plans" => session
            .schedule_test_plans(ScheduleTestPlansRequest::new(
                vec![ScheduleTestPlanRequest::default(); len],
            ))
            .map(drop),
        "WorkItemService::delete_work_items(ids)" => {
            session.delete_work_items(numbers(len).into_iter().map(Into::into).collect()).map(drop)
        }
        "WorkItemService::delete_work_item_templates(ids)" => session
            .delete_work_item_templates(numbers(len).into_iter().map(Into::into).collect())
            .map(drop),
        "TestPlanService::delete_test_plans(ids)" => {
            session.delete_test_plans(numbers(len).into_iter().map(Into::into).collect()).map(drop)
        }
        "TestPlanService::delete_test_plan_templates(ids)" => session
            .delete_test_plan_templates(numbers(len).into_iter().map(Into::into).collect())
            .map(drop),
        "QueryWorkItemsRequest.projection" => session
            .query_work_items(
                QueryWorkItemsRequest::new().projection(vec![WorkItemField::default(); len]),
            )
            .map(drop),
        "QueryWorkItemsRequest.substitutions" => session
            .query_work_items(QueryWorkItemsRequest::new().maybe_substitutions(substitutions(len)))
            .map(drop),
        "QueryWorkItemTemplatesRequest.projection" => {
            session
                .query_work_item_templates(
                    QueryWorkItemTemplatesRequest::new()
                        .projection(vec![WorkItemTemplateField::default(); len]),
                )
                .map(drop)
        }
        "QueryWorkItemTemplatesRequest.substitutions" => session
            .query_work_item_templates(
                QueryWorkItemTemplatesRequest::new().maybe_substitutions(substitutions(len)),
            )
            .map(drop),
        "QueryTestPlansRequest.projection" => session
            .query_test_plans(
                QueryTestPlansRequest::new().projection(vec![TestPlanField::default(); len]),
            )
            .map(drop),
        "QueryTestPlansRequest.substitutions" => session
            .query_test_plans(QueryTestPlansRequest::new().maybe_substitutions(substitutions(len)))
            .map(drop),
        "QueryTestPlanTemplatesRequest.projection" => {
            session
                .query_test_plan_templates(
                    QueryTestPlanTemplatesRequest::new()
                        .projection(vec![TestPlanTemplateField::default(); len]),
                )
                .map(drop)
        }
        "QueryTestPlanTemplatesRequest.substitutions" => session
            .query_test_plan_templates(
                QueryTestPlanTemplatesRequest::new().maybe_substitutions(substitutions(len)),
            )
            .map(drop),
        _ => panic!("{list} has no probe"),
    }
}
