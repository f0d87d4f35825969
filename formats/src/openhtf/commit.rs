//! Writes what a record becomes, in one commit.

use std::collections::VecDeque;
use std::io::Write as _;

use stationdb::files::{ContentWriter, FileId, UploadFileRequest};
use stationdb::prelude::*;
use stationdb::results::{
    CreateStepRequest, NamedValue, QueryResultsRequest, ResultProjection, TestResultId,
    UpdateResultRequest,
};
use stationdb::serde_json::Value;
use stationdb::tables::{AppendTableDataRequest, CreateTableRequest, TableId};
use stationdb::{Control, Error, Result, Session, Transaction};

use super::phase::NewStep;
use super::record::{Record, SUM};
use super::{ImportOptions, ImportReport};

/// The type of a record's file.
const JSON: &str = "application/json";

/// A content that was written, and the file that it becomes.
struct Content {
    writer: ContentWriter,
    request: UploadFileRequest,
}

/// Commits a record whose bytes are `bytes`.
///
/// # Errors
/// As [`import`](super::import).
pub(super) fn commit(
    session: &Session,
    bytes: &[u8],
    record: &Record,
    options: &ImportOptions,
) -> Result<ImportReport> {
    // Before the contents are written, and once more where nobody can come between.
    refuse_again(session, record, options)?;
    let contents = contents(session, bytes, record, options)?;
    session.transaction(|transaction| {
        refuse_again(transaction, record, options)?;
        create(transaction, record, contents, options)
    })
}

fn refuse_again(
    results: &impl ResultService,
    record: &Record,
    options: &ImportOptions,
) -> Result<()> {
    if options.again {
        return Ok(());
    }
    let query = QueryResultsRequest::new()
        .filter(format!("properties[\"{SUM}\"] == @0"))
        .substitutions([record.sum.as_str()])
        .projection([ResultProjection::Id])
        .take(1);
    let Some(found) = results.query_results(query)?.results.into_iter().next() else {
        return Ok(());
    };
    let id = found.id.unwrap_or_default();
    Err(Error::conflict(format!(
        "the OpenHTF record was imported before, as the result {id}; import it again only to have \
         it twice"
    ))
    .with_resource("TestResult", id.as_str()))
}

/// Writes the contents of the attachments, in the order of the steps, and that of the record.
fn contents(
    session: &Session,
    bytes: &[u8],
    record: &Record,
    options: &ImportOptions,
) -> Result<VecDeque<Content>> {
    let attachments = record.steps.iter().flat_map(NewStep::all_attachments);
    let files = attachments.filter_map(|attachment| {
        let content = attachment.content.as_deref()?;
        Some((attachment.name.as_str(), attachment.mime_type.as_deref(), content))
    });
    let all = files.chain([(record.file_name.as_str(), Some(JSON), bytes)]);
    all.map(|(name, mime_type, content)| {
        let mut writer = session.write_file(&Control::default())?;
        writer
            .write_all(content)
            .map_err(|error| Error::io(format_args!("writing the file {name:?}"), error))?;
        let request = UploadFileRequest::new()
            .name(name)
            .metadata(mime_type.map(|mime_type| ("mimetype", mime_type)))
            .maybe_workspace(options.workspace.clone());
        Ok(Content { writer, request })
    })
    .collect()
}

fn create(
    transaction: &Transaction<'_>,
    record: &Record,
    contents: VecDeque<Content>,
    options: &ImportOptions,
) -> Result<ImportReport> {
    let files = contents
        .into_iter()
        .map(|Content { writer, request }| transaction.commit_file(writer, request));
    let files = files.collect::<Result<Vec<FileId>>>()?;
    let request = record.result.clone().file_ids(files.iter().map(FileId::to_string));
    let created = transaction.create_results(vec![request])?.into_result()?.results;
    let result_id = created.into_iter().next().and_then(|result| result.id).unwrap_or_default();
    let mut made = Made {
        transaction,
        result_id: &result_id,
        workspace: options.workspace.as_ref(),
        files: files.iter(),
        tables: Vec::new(),
    };
    let steps = record.steps.iter().map(|step| made.step(step)).collect::<Result<Vec<_>>>()?;
    let tables = made.tables;
    if !steps.is_empty() {
        transaction.create_steps(steps, false)?.require_all()?;
    }
    if !tables.is_empty() {
        let change = UpdateResultRequest::new()
            .id(result_id.to_string())
            .data_table_ids(tables.iter().map(TableId::to_string));
        transaction.update_results(vec![change], false, false)?.require_all()?;
    }
    let count = |of: fn(&NewStep) -> usize| record.steps.iter().map(of).sum();
    Ok(ImportReport {
        steps: count(NewStep::count),
        measurements: count(NewStep::measurement_count),
        result_id,
        tables,
        files,
    })
}

/// What was made for the steps so far.
struct Made<'m, 't> {
    transaction: &'m Transaction<'t>,
    result_id: &'m TestResultId,
    workspace: Option<&'m String>,
    /// The files of the attachments that are next.
    files: std::slice::Iter<'m, FileId>,
    tables: Vec<TableId>,
}

impl Made<'_, '_> {
    /// The request for a step, whose tables are created.
    fn step(&mut self, step: &NewStep) -> Result<CreateStepRequest> {
        let mut parameters = step.parameters.clone();
        for parameter in &mut parameters {
            let Some(table) = parameter.table.take() else { continue };
            let request = CreateTableRequest::new(table.columns)
                .name(table.name)
                .test_result_id(self.result_id.to_string())
                .maybe_workspace(self.workspace.cloned());
            let id = self.transaction.create_table(request)?;
            let rows = AppendTableDataRequest::new().frame(table.rows).end_of_data(true);
            self.transaction.append_table_data(&id, rows)?;
            parameter.entry.insert("dataTableId".to_owned(), id.to_string());
            self.tables.push(id);
        }
        let mut outputs = Vec::new();
        for attachment in &step.attachments {
            let file = attachment.content.as_ref().and_then(|_| self.files.next());
            let value = file.map(FileId::to_string).or_else(|| attachment.sha1.clone());
            let value = value.map_or(Value::Null, Value::from);
            outputs.push(NamedValue::new(format!("attachment.{}", attachment.name), value));
        }
        let children = step.children.iter().map(|child| self.step(child));
        let children = children.collect::<Result<Vec<_>>>()?;
        Ok(step
            .request
            .clone()
            .result_id(self.result_id.to_string())
            .maybe_data(NewStep::data(step.text.clone(), parameters))
            .outputs(outputs)
            .children(children))
    }
}
