//! One probe for every operation, with the effect of the owner's attempt.

use serde::Serialize;
use serde_json::{Value, json};
use stationdb::arrow::array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use stationdb::arrow::ipc::writer::StreamWriter;
use stationdb::prelude::*;
use stationdb::{Control, Error, ErrorKind, Result, Session};
use std::io::{Read, Write};
use std::sync::Arc;

use crate::world::{Ids, World, package, request};

/// The effect of an operation for a caller who may use it.
#[derive(Clone, Copy, Debug)]
pub enum Effect {
    /// Its answer contains records of the hidden workspace.
    Shows,
    /// It changes records of the hidden workspace.
    Changes,
    /// It describes the service or the plan, not records.
    Describes,
}

type Run = fn(&Session, &World) -> Result<Value>;

/// One operation, applied to records of the hidden workspace.
pub struct Probe {
    pub operation: &'static str,
    pub effect: Effect,
    pub run: Run,
}

pub fn wire(value: impl Serialize) -> Value {
    serde_json::to_value(value).unwrap()
}

fn ids<I: From<String>>(id: &str) -> Vec<I> {
    vec![id.to_owned().into()]
}

fn text(bytes: &[u8]) -> Value {
    json!(String::from_utf8_lossy(bytes))
}

fn all() -> Value {
    json!({"take": 100, "returnCount": true})
}

fn batch() -> RecordBatch {
    let index: ArrayRef = Arc::new(Int64Array::from(vec![7]));
    let value: ArrayRef = Arc::new(StringArray::from(vec!["seven"]));
    RecordBatch::try_from_iter([("t", index), ("v", value)]).unwrap()
}

/// Returns the store's own error that a reader wrapped in an I/O error.
fn own_error(error: std::io::Error) -> Error {
    let own = error.get_ref().and_then(|inner| inner.downcast_ref::<Error>()).cloned();
    own.unwrap_or_else(|| Error::io("reading", error))
}

/// The rows of a Parquet file as text.
fn rows_of(file: &mut dyn Read) -> Result<Vec<String>> {
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes).map_err(own_error)?;
    let reader = parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder::try_new(
        bytes::Bytes::from(bytes),
    );
    Ok(reader.unwrap().build().unwrap().map(|batch| format!("{:?}", batch.unwrap())).collect())
}

fn content(mut reader: impl Read) -> Result<Value> {
    let mut bytes = Vec::new();
    reader.read_to_end(&mut bytes).map_err(own_error)?;
    Ok(text(&bytes))
}

pub fn probes() -> Vec<Probe> {
    use Effect::{Changes, Describes, Shows};
    let table: &[(&'static str, Effect, Run)] = &[
        ("ProductService::product_api_info", Describes, |s, _| s.product_api_info().map(wire)),
        ("ProductService::create_products", Changes, |s, w| {
            s.create_products(vec![request(
                json!({"partNumber": "new", "workspace": w.secret.workspace}),
            )])
            .map(wire)
        }),
        ("ProductService::get_product", Shows, |s, w| {
            s.get_product(&w.secret.product.as_str().into()).map(wire)
        }),
        ("ProductService::get_products", Shows, |s, _| {
            s.get_products(None, Some(100), true).map(wire)
        }),
        ("ProductService::query_products", Shows, |s, _| {
            s.query_products(request(all())).map(wire)
        }),
        ("ProductService::explain_query_products", Describes, |s, _| {
            s.explain_query_products(request(json!({})))
                .map(|plan| text(plan.to_string().as_bytes()))
        }),
        ("ProductService::query_product_values", Shows, |s, _| {
            s.query_product_values(request(json!({"field": "FAMILY"}))).map(wire)
        }),
        ("ProductService::update_products", Changes, |s, w| {
            s.update_products(
                vec![request(json!({"id": w.secret.product, "name": "other"}))],
                false,
            )
            .map(wire)
        }),
        ("ProductService::delete_product", Changes, |s, w| {
            s.delete_product(&w.secret.product.as_str().into()).map(wire)
        }),
        ("ProductService::delete_products", Changes, |s, w| {
            s.delete_products(ids(&w.secret.product)).map(wire)
        }),
        ("SpecificationService::specification_api_info", Describes, |s, _| {
            s.specification_api_info().map(wire)
        }),
        ("SpecificationService::create_specs", Changes, |s, w| {
            let spec = json!({"productId": w.secret.product, "specId": "N", "type": "FUNCTIONAL", "workspace": "secret"});
            s.create_specs(request(json!({ "specs": [spec] }))).map(wire)
        }),
        ("SpecificationService::query_specs", Shows, |s, w| {
            s.query_specs(request(json!({"productIds": [w.secret.product], "take": 10}))).map(wire)
        }),
        ("SpecificationService::explain_query_specs", Describes, |s, w| {
            let plan =
                s.explain_query_specs(request(json!({"productIds": [w.open.product], "take": 10})));
            plan.map(|plan| text(plan.to_string().as_bytes()))
        }),
        ("SpecificationService::get_spec", Shows, |s, w| {
            s.get_spec(&w.secret.spec.as_str().into()).map(wire)
        }),
        ("SpecificationService::update_specs", Changes, |s, w| {
            let spec = json!({"id": w.secret.spec, "productId": w.secret.product, "specId": "N", "type": "FUNCTIONAL",
                "workspace": "secret", "version": 0, "name": "other"});
            s.update_specs(request(json!({ "specs": [spec] }))).map(wire)
        }),
        ("SpecificationService::delete_specs", Changes, |s, w| {
            s.delete_specs(ids(&w.secret.spec)).map(wire)
        }),
        ("AssetService::create_assets", Changes, |s, w| {
            s.create_assets(vec![request(json!({
                "modelName": "N", "vendorName": "V", "serialNumber": "9", "busType": "ACCESSORY", "workspace": w.secret.workspace,
                "location": {"physicalLocation": "shelf", "state": {"assetPresence": "UNKNOWN"}},
            }))])
            .map(wire)
        }),
        ("AssetService::get_asset", Shows, |s, w| {
            s.get_asset(&w.secret.asset.as_str().into()).map(wire)
        }),
        ("AssetService::query_assets", Shows, |s, _| {
            s.query_assets(request(json!({"take": 100, "returnCount": true}))).map(wire)
        }),
        ("AssetService::explain_query_assets", Describes, |s, _| {
            s.explain_query_assets(request(json!({}))).map(|plan| text(plan.to_string().as_bytes()))
        }),
        ("AssetService::update_assets", Changes, |s, w| {
            s.update_assets(vec![request(json!({"id": w.secret.asset, "name": "other"}))]).map(wire)
        }),
        ("AssetService::delete_assets", Changes, |s, w| {
            s.delete_assets(ids(&w.secret.asset)).map(wire)
        }),
        ("AssetService::link_files", Changes, |s, w| {
            s.link_files(&w.secret.asset.as_str().into(), ids(&w.secret.loose_file)).map(wire)
        }),
        ("AssetService::unlink_file", Changes, |s, w| {
            s.unlink_file(&w.secret.asset.as_str().into(), &w.secret.file.as_str().into()).map(wire)
        }),
        ("AssetService::start_utilization", Changes, |s, w| {
            s.start_utilization(request(json!({
                "utilizationIdentifier": "00000009-0000-4000-8000-000000000000", "minionId": "system",
                "assetIdentifications": [{"modelName": "M", "vendorName": "V", "serialNumber": w.secret.serial, "busType": "ACCESSORY"}],
                "utilizationCategory": "other", "taskName": "t", "userName": "u",
            })))
            .map(wire)
        }),
        ("AssetService::utilization_heartbeat", Changes, |s, w| {
            s.utilization_heartbeat(
                ids(&w.secret.utilization),
                Some("2024-03-01T01:00:00Z".parse().unwrap()),
            )
            .map(wire)
        }),
        ("AssetService::end_utilization", Changes, |s, w| {
            s.end_utilization(
                ids(&w.secret.utilization),
                Some("2024-03-01T01:00:00Z".parse().unwrap()),
            )
            .map(wire)
        }),
        ("AssetService::query_asset_utilization_history", Shows, |s, _| {
            s.query_asset_utilization_history(request(json!({"take": 100}))).map(wire)
        }),
        ("AssetService::explain_query_asset_utilization_history", Describes, |s, _| {
            let plan = s.explain_query_asset_utilization_history(request(json!({})));
            plan.map(|plan| text(plan.to_string().as_bytes()))
        }),
        ("AssetService::assets_in_use", Shows, |s, w| {
            let in_use = s.assets_in_use()?;
            Ok(
                json!({"shows": in_use.contains(&w.secret.asset).then_some("Zebra"), "answer": in_use}),
            )
        }),
        ("AssetService::asset_summary", Shows, |s, _| {
            let summary = wire(s.asset_summary()?);
            let shows = (summary["total"].as_u64() > Some(1)).then_some("Zebra");
            Ok(json!({"shows": shows, "answer": summary}))
        }),
        ("AssetService::set_system_connection", Describes, |s, _| {
            match s.set_system_connection("nowhere", None) {
                Err(error)
                    if matches!(error.kind(), ErrorKind::Corrupt | ErrorKind::OutcomeUnknown) =>
                {
                    Err(error)
                }
                Err(error) if s.identity().user_id() != "ada" => {
                    Ok(json!({"refused": error.api_error()}))
                }
                answer => answer.map(wire),
            }
        }),
        ("WorkItemService::create_work_items", Changes, |s, w| {
            let item = json!({"name": "n", "type": "testplan", "state": "NEW", "workspace": w.secret.workspace});
            s.create_work_items(vec![request(item)]).map(wire)
        }),
        ("WorkItemService::query_work_items", Shows, |s, _| {
            s.query_work_items(request(all())).map(wire)
        }),
        ("WorkItemService::explain_query_work_items", Describes, |s, _| {
            s.explain_query_work_items(request(json!({})))
                .map(|plan| text(plan.to_string().as_bytes()))
        }),
        ("WorkItemService::get_work_item", Shows, |s, w| {
            s.get_work_item(&w.secret.work_item.as_str().into()).map(wire)
        }),
        ("WorkItemService::update_work_items", Changes, |s, w| {
            s.update_work_items(request(
                json!({"workItems": [{"id": w.secret.work_item, "name": "other"}]}),
            ))
            .map(wire)
        }),
        ("WorkItemService::schedule_work_items", Changes, |s, w| {
            s.schedule_work_items(request(
                json!({"workItems": [{"id": w.secret.work_item, "assignedTo": "other"}]}),
            ))
            .map(wire)
        }),
        ("WorkItemService::delete_work_items", Changes, |s, w| {
            s.delete_work_items(ids(&w.secret.work_item)).map(wire)
        }),
        ("WorkItemService::execute_work_item", Changes, |s, w| {
            s.execute_work_item(&w.secret.work_item.as_str().into(), "START").map(wire)
        }),
        ("WorkItemService::create_work_item_templates", Changes, |s, w| {
            let template = json!({"name": "n", "type": "testplan", "templateGroup": "g", "workspace": w.secret.workspace});
            s.create_work_item_templates(vec![request(template)]).map(wire)
        }),
        ("WorkItemService::query_work_item_templates", Shows, |s, _| {
            s.query_work_item_templates(request(json!({"take": 100}))).map(wire)
        }),
        ("WorkItemService::explain_query_work_item_templates", Describes, |s, _| {
            s.explain_query_work_item_templates(request(json!({})))
                .map(|plan| text(plan.to_string().as_bytes()))
        }),
        ("WorkItemService::update_work_item_templates", Changes, |s, w| {
            let update = json!({"workItemTemplates": [{"id": w.secret.work_item_template, "name": "other"}]});
            s.update_work_item_templates(request(update)).map(wire)
        }),
        ("WorkItemService::delete_work_item_templates", Changes, |s, w| {
            s.delete_work_item_templates(ids(&w.secret.work_item_template)).map(wire)
        }),
        ("TestPlanService::create_test_plans", Changes, |s, w| {
            let plan = json!({"name": "n", "state": "NEW", "partNumber": "p", "workspace": w.secret.workspace});
            s.create_test_plans(vec![request(plan)]).map(wire)
        }),
        ("TestPlanService::delete_test_plans", Changes, |s, w| {
            s.delete_test_plans(ids(&w.secret.test_plan)).map(wire)
        }),
        ("TestPlanService::query_test_plans", Shows, |s, _| {
            s.query_test_plans(request(all())).map(wire)
        }),
        ("TestPlanService::explain_query_test_plans", Describes, |s, _| {
            s.explain_query_test_plans(request(json!({})))
                .map(|plan| text(plan.to_string().as_bytes()))
        }),
        ("TestPlanService::schedule_test_plans", Changes, |s, w| {
            s.schedule_test_plans(request(
                json!({"testPlans": [{"id": w.secret.test_plan, "assignedTo": "other"}]}),
            ))
            .map(wire)
        }),
        ("TestPlanService::update_test_plans", Changes, |s, w| {
            s.update_test_plans(request(
                json!({"testPlans": [{"id": w.secret.test_plan, "name": "other"}]}),
            ))
            .map(wire)
        }),
        ("TestPlanService::get_test_plan", Shows, |s, w| {
            s.get_test_plan(&w.secret.test_plan.as_str().into()).map(wire)
        }),
        ("TestPlanService::create_test_plan_templates", Changes, |s, w| {
            let template =
                json!({"name": "n", "templateGroup": "g", "workspace": w.secret.workspace});
            s.create_test_plan_templates(vec![request(template)]).map(wire)
        }),
        ("TestPlanService::query_test_plan_templates", Shows, |s, _| {
            s.query_test_plan_templates(request(json!({"take": 100}))).map(wire)
        }),
        ("TestPlanService::explain_query_test_plan_templates", Describes, |s, _| {
            s.explain_query_test_plan_templates(request(json!({})))
                .map(|plan| text(plan.to_string().as_bytes()))
        }),
        ("TestPlanService::delete_test_plan_templates", Changes, |s, w| {
            s.delete_test_plan_templates(ids(&w.secret.test_plan_template)).map(wire)
        }),
        ("TableService::table_api_info", Describes, |s, _| s.table_api_info().map(wire)),
        ("TableService::list_tables", Shows, |s, _| {
            s.list_tables(request(json!({"take": 100}))).map(wire)
        }),
        ("TableService::create_table", Changes, |s, w| {
            let columns = json!([{"name": "t", "dataType": "INT64", "columnType": "INDEX"}]);
            s.create_table(request(
                json!({"name": "n", "workspace": w.secret.workspace, "columns": columns}),
            ))
            .map(wire)
        }),
        ("TableService::query_tables", Shows, |s, _| {
            s.query_tables(request(json!({"take": 100}))).map(wire)
        }),
        ("TableService::explain_query_tables", Describes, |s, _| {
            s.explain_query_tables(request(json!({}))).map(|plan| text(plan.to_string().as_bytes()))
        }),
        ("TableService::get_table_metadata", Shows, |s, w| {
            s.get_table_metadata(&w.secret.table.as_str().into()).map(wire)
        }),
        ("TableService::modify_table", Changes, |s, w| {
            s.modify_table(&w.secret.table.as_str().into(), request(json!({"name": "other"})))
                .map(wire)
        }),
        ("TableService::modify_tables", Changes, |s, w| {
            s.modify_tables(request(json!({"tables": [{"id": w.secret.table, "name": "other"}]})))
                .map(wire)
        }),
        ("TableService::delete_table", Changes, |s, w| {
            s.delete_table(&w.secret.table.as_str().into()).map(wire)
        }),
        ("TableService::delete_tables", Changes, |s, w| {
            s.delete_tables(ids(&w.secret.table)).map(wire)
        }),
        ("TableService::add_columns", Changes, |s, w| {
            let new = json!([{"name": "x", "dataType": "BOOL", "columnType": "NULLABLE"}]);
            let request = request(json!({ "columns": new }));
            s.add_columns(&w.secret.table.as_str().into(), request).map(wire)
        }),
        ("TableService::rename_columns", Changes, |s, w| {
            let columns = json!([{"name": "v", "newName": "other"}]);
            let request = request(json!({ "columns": columns }));
            s.rename_columns(&w.secret.table.as_str().into(), request).map(wire)
        }),
        ("TableService::drop_columns", Changes, |s, w| {
            let request = request(json!({ "columns": ["v"] }));
            s.drop_columns(&w.secret.table.as_str().into(), request).map(wire)
        }),
        ("TableService::delete_rows", Changes, |s, w| {
            let all = json!({"indexFrom": "-9223372036854775808"});
            s.delete_rows(&w.secret.table.as_str().into(), request(all)).map(wire)
        }),
        ("TableService::list_deleted_rows", Describes, |s, w| {
            s.list_deleted_rows(&w.secret.table.as_str().into(), request(json!({}))).map(wire)
        }),
        ("TableService::set_retention", Changes, |s, w| {
            let one = json!({"rowsMax": 1_000_000});
            s.set_retention(&w.secret.table.as_str().into(), request(one)).map(wire)
        }),
        ("TableService::get_retention", Describes, |s, w| {
            s.get_retention(&w.secret.table.as_str().into()).map(wire)
        }),
        ("TableService::delete_retention", Changes, |s, w| {
            s.delete_retention(&w.secret.table.as_str().into()).map(wire)
        }),
        ("TableService::get_table_data", Shows, |s, w| {
            s.get_table_data(&w.secret.table.as_str().into(), request(json!({}))).map(wire)
        }),
        ("TableService::append_table_data", Changes, |s, w| {
            let frame = json!({"frame": {"columns": ["t", "v"], "data": [["9", "nine"]]}});
            s.append_table_data(&w.secret.table.as_str().into(), request(frame)).map(wire)
        }),
        ("TableService::append_arrow", Changes, |s, w| {
            let batch = batch();
            let mut stream = Vec::new();
            let mut writer = StreamWriter::try_new(&mut stream, &batch.schema()).unwrap();
            writer.write(&batch).unwrap();
            writer.finish().unwrap();
            drop(writer);
            s.append_arrow(&w.secret.table.as_str().into(), &mut stream.as_slice(), None).map(wire)
        }),
        ("TableService::append_batches", Changes, |s, w| {
            s.append_batches(
                &w.secret.table.as_str().into(),
                &mut std::iter::once(Ok(batch())),
                None,
            )
            .map(wire)
        }),
        ("TableService::append_waveform", Changes, |s, w| {
            let axis = stationdb::tables::WaveformAxis::Count { t0: 9, dt: 1 };
            let table = request(json!({"columns": [
                {"name": "t", "dataType": "INT64", "columnType": "INDEX"},
                {"name": "y", "dataType": "FLOAT64"},
            ], "workspace": w.secret.workspace}));
            s.transaction(|tx| {
                let id = tx.create_table(table)?;
                tx.append_waveform(&id, &stationdb::tables::Waveform::new(axis).y("y", &[0.5]))
            })
            .map(wire)
        }),
        ("TableService::read_waveforms", Shows, |s, w| {
            let id = w.secret.table.as_str().into();
            let found = s.read_waveforms(&id, request(json!({})), &Control::default())?;
            Ok(json!(format!("{found:?}")))
        }),
        ("TableService::import_csv", Changes, |s, w| {
            let table = json!({"table": {"name": "n", "workspace": w.secret.workspace}});
            s.import_csv(request(table), &mut b"t\n1\n".as_slice(), &Control::default()).map(wire)
        }),
        ("TableService::import_parquet", Changes, |s, w| {
            let batch = batch();
            let mut file = Vec::new();
            let mut writer =
                parquet::arrow::ArrowWriter::try_new(&mut file, batch.schema(), None).unwrap();
            writer.write(&batch).unwrap();
            writer.close().unwrap();
            let into = request(json!({"id": w.secret.table}));
            s.import_parquet(into, Box::new(std::io::Cursor::new(file)), &Control::default())
                .map(wire)
        }),
        ("TableService::explain_query_table_data", Describes, |s, w| {
            s.explain_query_table_data(&w.secret.table.as_str().into(), request(json!({})))
                .map(|plan| text(plan.to_string().as_bytes()))
        }),
        ("TableService::export_segments", Shows, |s, w| {
            let mut seen = Vec::new();
            let each = &mut |file: stationdb::tables::SegmentFile<'_>| {
                seen.extend(rows_of(file.data)?);
                Ok(())
            };
            s.export_segments(&w.secret.table.as_str().into(), each, &Control::default())?;
            Ok(json!(seen))
        }),
        ("TableService::export_segments_to", Shows, |s, w| {
            let directory = tempfile::tempdir().map_err(own_error)?;
            let id = w.secret.table.as_str().into();
            s.export_segments_to(&id, directory.path(), &Control::default()).map(wire)
        }),
        ("TableService::export_rows", Shows, |s, w| {
            let mut seen = Vec::new();
            let each = &mut |part: stationdb::tables::RowsPart<'_>| {
                use stationdb::tables::PartRows::{Batch, Segment};
                match part.rows {
                    Batch(batch) => seen.push(format!("{batch:?}")),
                    Segment(stored) => seen.extend(rows_of(stored.file.data)?),
                    _ => {}
                }
                Ok(())
            };
            let id = w.secret.table.as_str().into();
            s.export_rows(&id, 0..u64::MAX, each, &Control::default())?;
            Ok(json!(seen))
        }),
        ("TableService::table_statistics", Describes, |s, w| {
            s.table_statistics(&w.secret.table.as_str().into()).map(wire)
        }),
        ("TableService::column_numbers", Describes, |s, w| {
            s.column_numbers(&w.secret.table.as_str().into()).map(wire)
        }),
        ("TableService::query_table_data", Shows, |s, w| {
            s.query_table_data(&w.secret.table.as_str().into(), request(json!({}))).map(wire)
        }),
        ("TableService::export_table_data", Shows, |s, w| {
            let mut out = Vec::new();
            let format = request(json!({"responseFormat": "CSV"}));
            s.export_table_data(
                &w.secret.table.as_str().into(),
                format,
                &mut out,
                &Control::default(),
            )
            .map(|_| text(&out))
        }),
        ("TableService::aggregate_table_data", Shows, |s, w| {
            let by_value = json!({"groupBy": [{"column": "v"}]});
            s.aggregate_table_data(&w.secret.table.as_str().into(), request(by_value)).map(wire)
        }),
        ("TableService::query_decimated_data", Shows, |s, w| {
            let decimation = json!({"decimation": {"intervals": 10, "method": "LOSSY"}});
            s.query_decimated_data(&w.secret.table.as_str().into(), request(decimation)).map(wire)
        }),
        ("TableService::scan", Shows, |s, w| {
            let mut seen = Vec::new();
            for batch in
                s.scan(&w.secret.table.as_str().into(), request(json!({})), &Control::default())?
            {
                seen.push(format!("{:?}", batch?));
            }
            Ok(json!(seen))
        }),
        ("FileService::file_api_info", Describes, |s, _| s.file_api_info().map(wire)),
        ("FileService::get_files", Shows, |s, _| {
            s.get_files(request(json!({"take": 100}))).map(wire)
        }),
        ("FileService::query_files", Shows, |s, _| {
            s.query_files(request(json!({"take": 100}))).map(wire)
        }),
        ("FileService::query_files_linq", Shows, |s, _| {
            s.query_files_linq(request(json!({"take": 100}))).map(wire)
        }),
        ("FileService::explain_query_files_linq", Describes, |s, _| {
            s.explain_query_files_linq(request(json!({})))
                .map(|plan| text(plan.to_string().as_bytes()))
        }),
        ("FileService::explain_query_files", Describes, |s, _| {
            s.explain_query_files(request(json!({"workspace": "w"})))
                .map(|plan| text(plan.to_string().as_bytes()))
        }),
        ("FileService::explain_search_files", Describes, |s, _| {
            s.explain_search_files(request(json!({"filter": "name:(\"n*\")"})))
                .map(|plan| text(plan.to_string().as_bytes()))
        }),
        ("FileService::search_files", Shows, |s, _| {
            s.search_files(request(json!({"take": 100}))).map(wire)
        }),
        ("FileService::upload_file", Changes, |s, w| {
            let upload = request(json!({"name": "n", "workspace": w.secret.workspace}));
            s.upload_file(&mut b"bytes".as_slice(), upload, &Control::default()).map(wire)
        }),
        ("FileService::write_file", Describes, |s, _| {
            let mut content = s.write_file(&Control::default())?;
            content.write_all(b"bytes").map_err(own_error)?;
            Ok(json!(content.len()))
        }),
        ("FileService::commit_file", Changes, |s, w| {
            let mut content = s.write_file(&Control::default())?;
            content.write_all(b"bytes").map_err(own_error)?;
            s.commit_file(content, request(json!({"name": "n", "workspace": w.secret.workspace})))
                .map(wire)
        }),
        ("FileService::download_file", Shows, |s, w| {
            let mut out = Vec::new();
            s.download_file(&w.secret.file.as_str().into(), &mut out, &Control::default())
                .map(|_| text(&out))
        }),
        ("FileService::open_file", Shows, |s, w| {
            s.open_file(&w.secret.file.as_str().into()).and_then(content)
        }),
        ("FileService::update_metadata", Changes, |s, w| {
            s.update_metadata(
                &w.secret.file.as_str().into(),
                request(json!({"replaceExisting": false, "properties": {"k": "other"}})),
            )
            .map(wire)
        }),
        ("FileService::delete_file", Changes, |s, w| {
            s.delete_file(&w.secret.file.as_str().into()).map(wire)
        }),
        ("FileService::delete_files", Changes, |s, w| {
            s.delete_files(ids(&w.secret.file)).map(wire)
        }),
        ("FileService::start_upload_session", Changes, |s, w| {
            s.start_upload_session(Some(w.secret.workspace.clone())).map(wire)
        }),
        ("FileService::append_to_upload_session", Changes, |s, w| {
            let more = &mut b"more".as_slice();
            s.append_to_upload_session(
                &w.secret.open_upload.as_str().into(),
                1,
                more,
                true,
                &Control::default(),
            )
            .map(wire)
        }),
        ("FileService::query_upload_sessions", Shows, |s, w| {
            let sessions = wire(s.query_upload_sessions()?);
            let shows = sessions.to_string().contains(&w.secret.upload).then_some("Zebra");
            Ok(json!({"shows": shows, "answer": sessions}))
        }),
        ("FileService::finish_upload_session", Changes, |s, w| {
            s.finish_upload_session(&w.secret.upload.as_str().into(), "n", Default::default())
                .map(wire)
        }),
        ("FileService::cancel_upload_session", Changes, |s, w| {
            s.cancel_upload_session(&w.secret.upload.as_str().into()).map(wire)
        }),
        ("FeedService::create_feed", Changes, |s, w| {
            let feed = json!({"name": "n", "platform": "WINDOWS", "workspace": w.secret.workspace});
            s.create_feed(request(feed)).map(wire)
        }),
        ("FeedService::query_feeds", Shows, |s, _| s.query_feeds(request(json!({}))).map(wire)),
        ("FeedService::get_feed", Shows, |s, w| {
            s.get_feed(&w.secret.feed.as_str().into()).map(wire)
        }),
        ("FeedService::update_feed", Changes, |s, w| {
            s.update_feed(&w.secret.feed.as_str().into(), request(json!({"description": "other"})))
                .map(wire)
        }),
        ("FeedService::delete_feed", Changes, |s, w| {
            s.delete_feed(&w.secret.feed.as_str().into()).map(wire)
        }),
        ("FeedService::upload_package", Changes, |s, w| {
            let path = w.dir.path().join("new.deb");
            std::fs::write(&path, package("new")).unwrap();
            s.upload_package(&w.secret.feed.as_str().into(), &path, false, &Control::default())
                .map(wire)
        }),
        ("FeedService::upload_package_content", Changes, |s, w| {
            let bytes = package("new");
            s.upload_package_content(
                &w.secret.feed.as_str().into(),
                &mut bytes.as_slice(),
                None,
                false,
                &Control::default(),
            )
            .map(wire)
        }),
        ("FeedService::write_package", Describes, |s, _| {
            let mut content = s.write_package(&Control::default())?;
            content.write_all(b"bytes").map_err(own_error)?;
            Ok(json!(content.len()))
        }),
        ("FeedService::commit_package", Changes, |s, w| {
            let mut content = s.write_package(&Control::default())?;
            content.write_all(&package("new")).map_err(own_error)?;
            s.commit_package(
                &w.secret.feed.as_str().into(),
                content,
                None,
                false,
                &Control::default(),
            )
            .map(wire)
        }),
        ("FeedService::query_packages", Shows, |s, w| {
            s.query_packages(&w.secret.feed.as_str().into()).map(wire)
        }),
        ("FeedService::get_package", Shows, |s, w| {
            s.get_package(&w.secret.package.as_str().into()).map(wire)
        }),
        ("FeedService::delete_package", Changes, |s, w| {
            s.delete_package(&w.secret.package.as_str().into()).map(wire)
        }),
        ("FeedService::delete_packages", Changes, |s, w| {
            s.delete_packages(ids(&w.secret.package)).map(wire)
        }),
        ("FeedService::download_package", Shows, |s, w| {
            let mut out = Vec::new();
            s.download_package(&w.secret.package.as_str().into(), &mut out, &Control::default())
                .map(|_| text(&out))
        }),
        ("FeedService::download_package_file", Shows, |s, w| {
            let mut out = Vec::new();
            let done = s.download_package_file(
                &w.secret.feed.as_str().into(),
                &w.secret.package_file,
                &mut out,
                &Control::default(),
            );
            // The caller chooses the file name here, so the error may contain it.
            done.map(|_| text(&out)).map_err(|error| Error::new(error.kind(), "refused"))
        }),
        ("FeedService::open_package", Shows, |s, w| {
            s.open_package(&w.secret.package.as_str().into()).and_then(content)
        }),
        ("FeedService::packages_index", Shows, |s, w| {
            s.packages_index(&w.secret.feed.as_str().into()).map(wire)
        }),
        ("FeedService::packages_index_gz", Shows, |s, w| {
            let bytes = s.packages_index_gz(&w.secret.feed.as_str().into())?;
            Ok(json!({"shows": (bytes.len() > 40).then_some("Zebra"), "bytes": bytes}))
        }),
        ("FeedService::export_feed", Shows, |s, w| {
            let target = w.dir.path().join(format!("export-{}", s.identity().user_id()));
            s.export_feed(&w.secret.feed.as_str().into(), &target, &Control::default())?;
            Ok(text(&std::fs::read(target.join("Packages")).unwrap()))
        }),
        ("WorkspaceService::create_workspace", Changes, |s, _| {
            s.create_workspace(request(json!({"id": "secret too", "name": "new"}))).map(wire)
        }),
        ("WorkspaceService::query_workspaces", Shows, |s, _| {
            s.query_workspaces(request(all())).map(wire)
        }),
        ("WorkspaceService::explain_query_workspaces", Describes, |s, _| {
            s.explain_query_workspaces(request(json!({})))
                .map(|plan| text(plan.to_string().as_bytes()))
        }),
        ("WorkspaceService::set_quota", Changes, |s, w| {
            s.set_quota(request(json!({"workspace": w.secret.workspace, "rowsMax": 9}))).map(wire)
        }),
        ("WorkspaceService::get_quota", Shows, |s, w| {
            let quota = s.get_quota(&w.secret.workspace)?;
            Ok(json!({"shows": "Zebra", "quota": wire(quota)}))
        }),
        ("WorkspaceService::list_quotas", Shows, |s, w| {
            let page = wire(s.list_quotas(request(json!({})))?);
            let shows = page.to_string().contains(&w.secret.workspace).then_some("Zebra");
            Ok(json!({"shows": shows, "page": page}))
        }),
        ("WorkspaceService::delete_quota", Changes, |s, w| {
            s.delete_quota(&w.secret.workspace).map(wire)
        }),
        ("WorkspaceService::delete_workspace", Changes, |s, w| {
            s.delete_workspace(&w.secret.workspace).map(wire)
        }),
        ("RecordService::record_schema", Describes, |s, _| {
            s.record_schema(stationdb::scans::RecordKind::Product)
                .map(|schema| text(format!("{schema:?}").as_bytes()))
        }),
        ("RecordService::aggregate_records", Shows, |s, _| {
            let by = json!({"kind": "PRODUCT", "groupBy": [{"field": "partNumber"}]});
            s.aggregate_records(request(by)).map(wire)
        }),
        ("RecordService::delete_records", Changes, |s, w| {
            let filter = format!("workspace = \"{}\"", w.secret.workspace);
            let asked = json!({"kind": "WORK_ITEM", "filter": filter});
            s.delete_records(request(asked), &Control::default()).and_then(|deleted| {
                // Who sees none of them deletes none, and that is no error.
                match deleted.deleted_count {
                    0 => Err(stationdb::Error::not_found("work item", "of the workspace")),
                    _ => Ok(wire(deleted)),
                }
            })
        }),
        ("RecordService::import_records", Changes, |s, w| {
            let id = "018f6d2a-0000-8000-8000-000000000001";
            let record = json!({"id": id, "partNumber": "of another store",
                "workspace": w.secret.workspace});
            let asked = json!({"source": "centre", "position": "1", "full": ["PRODUCT"],
                "records": [{"kind": "PRODUCT", "id": id, "record": record}]});
            s.import_records(request(asked)).map(wire)
        }),
        ("RecordService::scan_records", Shows, |s, _| {
            let mut seen = Vec::new();
            let asked =
                stationdb::scans::ScanRecordsRequest::new(stationdb::scans::RecordKind::Product);
            for batch in s.scan_records(asked, &Control::default())? {
                seen.push(format!("{:?}", batch?));
            }
            Ok(json!(seen))
        }),
        ("SearchService::search", Shows, |s, _| {
            let answer = wire(s.search(request(
                json!({"text": "thing", "take": 100, "highlight": true, "facets": true, "returnCount": true}),
            ))?);
            let facets = answer.to_string().contains("secret").then_some("Zebra");
            Ok(json!({"answer": answer, "facets": facets}))
        }),
    ];
    table.iter().map(|&(operation, effect, run)| Probe { operation, effect, run }).collect()
}

type Move = fn(&Session, &World, &Ids, &str) -> Result<Value>;

/// Returns every operation that moves a record to another workspace.
pub fn moves() -> Vec<(&'static str, Move)> {
    vec![
        ("update_products", |s, _, from, to| {
            s.update_products(vec![request(json!({"id": from.product, "workspace": to}))], false)
                .map(wire)
        }),
        ("update_specs", |s, _, from, to| {
            let spec = json!({"id": from.spec, "productId": from.product, "specId": "moved", "type": "FUNCTIONAL", "workspace": to, "version": 0});
            s.update_specs(request(json!({ "specs": [spec] }))).map(wire)
        }),
        ("update_assets", |s, _, from, to| {
            s.update_assets(vec![request(json!({"id": from.asset, "workspace": to}))]).map(wire)
        }),
        ("update_work_items", |s, _, from, to| {
            s.update_work_items(request(
                json!({"workItems": [{"id": from.work_item, "workspace": to}]}),
            ))
            .map(wire)
        }),
        ("update_work_item_templates", |s, _, from, to| {
            let update =
                json!({"workItemTemplates": [{"id": from.work_item_template, "workspace": to}]});
            s.update_work_item_templates(request(update)).map(wire)
        }),
        ("update_test_plans", |s, _, from, to| {
            s.update_test_plans(request(
                json!({"testPlans": [{"id": from.test_plan, "workspace": to}]}),
            ))
            .map(wire)
        }),
        ("modify_table", |s, _, from, to| {
            s.modify_table(&from.table.as_str().into(), request(json!({"workspace": to}))).map(wire)
        }),
        ("modify_tables", |s, _, from, to| {
            s.modify_tables(request(json!({"tables": [{"id": from.table, "workspace": to}]})))
                .map(wire)
        }),
        ("update_metadata", |s, _, from, to| {
            s.update_metadata(
                &from.file.as_str().into(),
                request(json!({"replaceExisting": false, "properties": {}, "workspace": to})),
            )
            .map(wire)
        }),
        ("update_feed", |s, _, from, to| {
            s.update_feed(&from.feed.as_str().into(), request(json!({"workspace": to}))).map(wire)
        }),
    ]
}
