//! One probe for every operation, with the effect of the owner's attempt.

use serde_json::{Value, json};
use stationdb::arrow::array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use stationdb::arrow::ipc::writer::StreamWriter;
use stationdb::prelude::*;
use stationdb::tables::{Column, ColumnType, DataType};
use stationdb::{Control, Error, ErrorKind, Result, Session};
use std::io::{Read, Write};
use std::sync::Arc;

use crate::calls::{call, filled, own_error};
use crate::rows::Rows;
use crate::world::{Ids, World, package, request};

pub(crate) use crate::calls::wire;

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

use Effect::{Changes, Describes, Shows};

type Own = fn(&Session, &World) -> Result<Value>;

/// How an operation is called.
#[derive(Clone, Copy)]
enum Attempt {
    /// With these arguments; `$product` is the id of the product in the hidden workspace.
    With(&'static str),
    Own(Own),
}

/// One operation, applied to records of the hidden workspace.
pub struct Probe {
    pub operation: &'static str,
    pub effect: Effect,
    attempt: Attempt,
}

impl Probe {
    /// Its arguments, if they are JSON.
    #[allow(dead_code, reason = "for the suite that calls by name")]
    pub fn arguments(&self, world: &World) -> Option<Vec<Value>> {
        match self.attempt {
            Attempt::With(arguments) => {
                let open = json!({"open_product": world.open.product});
                Some(filled(arguments, &[wire(&world.secret), open]))
            }
            Attempt::Own(_) => None,
        }
    }

    pub fn run(&self, session: &Session, world: &World) -> Result<Value> {
        let (_, name) = self.operation.split_once("::").unwrap();
        match self.attempt {
            Attempt::With(_) => call(session, name, &self.arguments(world).unwrap_or_default()),
            Attempt::Own(run) => run(session, world),
        }
    }
}

fn batch() -> RecordBatch {
    let index: ArrayRef = Arc::new(Int64Array::from(vec![7]));
    let value: ArrayRef = Arc::new(StringArray::from(vec!["seven"]));
    RecordBatch::try_from_iter([("t", index), ("v", value)]).unwrap()
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

/// The operations whose arguments are JSON: name, effect and arguments, in which `$product` is the
/// id of the product in the hidden workspace.
const OPERATIONS: &str = include_str!("../corpus/operations.txt");

/// The operations with arguments that are no JSON, or with an answer that has to be looked at.
const OWN: &[(&str, Effect, Own)] = &[
    ("AssetService::assets_in_use", Shows, |s, w| {
        let in_use = s.assets_in_use()?;
        Ok(json!({"shows": in_use.contains(&w.secret.asset).then_some("Zebra"), "answer": in_use}))
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
    ("ResultService::append_results", Changes, |s, w| {
        let result = request(json!({"programName": "new", "status": {"statusType": "PASSED"},
                "workspace": w.secret.workspace}));
        let step = request(json!({"name": "new"}));
        let item = stationdb::results::ResultWithSteps::new(result).step(step);
        s.append_results(&[item])?.into_result().map(wire)
    }),
    ("ResultService::apply_result_retention", Changes, |s, w| {
        let mark = if w.secret.workspace == "open" { "Plain" } else { "Zebra" };
        let policy = request(json!({"keep": [{"statuses": ["SKIPPED"]}],
                "partNumbers": [format!("{mark}-1")]}));
        s.apply_result_retention(policy, false, &Control::default()).map(wire)
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
        s.append_batches(&w.secret.table.as_str().into(), &mut std::iter::once(Ok(batch())), None)
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
    ("TableService::import_rows", Changes, |s, w| {
        let into = request(json!({"id": w.secret.table}));
        let mut rows = Rows::new(into, Vec::new(), vec![batch()]);
        s.import_rows(rows.request.clone(), &mut rows, &Control::default()).map(wire)
    }),
    ("TableService::import_tables", Changes, |s, w| {
        let new = request(json!({"table": {"name": "n", "workspace": w.secret.workspace}}));
        let column = |name: &str, data_type| Column::new(name, data_type);
        let index = column("t", DataType::Int64).column_type(ColumnType::Index);
        let columns = vec![index, column("v", DataType::String)];
        let mut rows = Rows::new(new, columns, vec![batch()]);
        s.import_tables(&mut rows, &Control::default()).map(wire)
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
    ("FileService::query_upload_sessions", Shows, |s, w| {
        let sessions = wire(s.query_upload_sessions()?);
        let shows = sessions.to_string().contains(&w.secret.upload).then_some("Zebra");
        Ok(json!({"shows": shows, "answer": sessions}))
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
        s.commit_package(&w.secret.feed.as_str().into(), content, None, false, &Control::default())
            .map(wire)
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
        done.map(|_| json!(String::from_utf8_lossy(&out)))
            .map_err(|error| Error::new(error.kind(), "refused"))
    }),
    ("FeedService::packages_index_gz", Shows, |s, w| {
        let bytes = s.packages_index_gz(&w.secret.feed.as_str().into())?;
        Ok(json!({"shows": (bytes.len() > 40).then_some("Zebra"), "bytes": bytes}))
    }),
    ("FeedService::export_feed", Shows, |s, w| {
        let target = w.dir.path().join(format!("export-{}", s.identity().user_id()));
        s.export_feed(&w.secret.feed.as_str().into(), &target, &Control::default())?;
        Ok(json!(std::fs::read_to_string(target.join("Packages")).unwrap()))
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
    ("SearchService::search", Shows, |s, _| {
        let answer = wire(s.search(request(
                json!({"text": "thing", "take": 100, "highlight": true, "facets": true, "returnCount": true}),
            ))?);
        let facets = answer.to_string().contains("secret").then_some("Zebra");
        Ok(json!({"answer": answer, "facets": facets}))
    }),
];

pub fn probes() -> Vec<Probe> {
    let listed = OPERATIONS.lines().map(|line| {
        let [operation, effect, arguments]: [&str; 3] =
            line.splitn(3, ' ').collect::<Vec<_>>().try_into().unwrap();
        let effect = match effect {
            "shows" => Shows,
            "changes" => Changes,
            "describes" => Describes,
            other => panic!("{operation} {other}"),
        };
        Probe { operation, effect, attempt: Attempt::With(arguments) }
    });
    let own = |&(operation, effect, run)| Probe { operation, effect, attempt: Attempt::Own(run) };
    listed.chain(OWN.iter().map(own)).collect()
}

/// Every operation that moves a record to the workspace `$to`.
pub const MOVES: &[(&str, &str)] = &[
    ("update_products", r#"[[{"id": "$product", "workspace": "$to"}], false]"#),
    ("update_results", r#"[[{"id": "$result", "workspace": "$to"}], false, false]"#),
    (
        "update_specs",
        r#"[{"specs": [{"id": "$spec", "productId": "$product", "specId": "moved",
            "type": "FUNCTIONAL", "workspace": "$to", "version": 0}]}]"#,
    ),
    ("update_assets", r#"[[{"id": "$asset", "workspace": "$to"}]]"#),
    ("update_work_items", r#"[{"workItems": [{"id": "$work_item", "workspace": "$to"}]}]"#),
    (
        "update_work_item_templates",
        r#"[{"workItemTemplates": [{"id": "$work_item_template", "workspace": "$to"}]}]"#,
    ),
    ("update_test_plans", r#"[{"testPlans": [{"id": "$test_plan", "workspace": "$to"}]}]"#),
    ("modify_table", r#"["$table", {"workspace": "$to"}]"#),
    ("modify_tables", r#"[{"tables": [{"id": "$table", "workspace": "$to"}]}]"#),
    (
        "update_metadata",
        r#"["$file", {"replaceExisting": false, "properties": {}, "workspace": "$to"}]"#,
    ),
    ("update_feed", r#"["$feed", {"workspace": "$to"}]"#),
];

/// Moves a record of these ids to another workspace.
pub fn run_move(session: &Session, at: (&str, &str), from: &Ids, to: &str) -> Result<Value> {
    call(session, at.0, &filled(at.1, &[wire(from), json!({"to": to})]))
}
