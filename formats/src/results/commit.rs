//! Writes the results of a file, in one commit.

use std::collections::VecDeque;
use std::io::Write as _;

use sha2::{Digest as _, Sha256};
use stationdb::files::{ContentWriter, FileId, UploadFileRequest};
use stationdb::prelude::*;
use stationdb::results::{
    CreateStepRequest, NamedValue, QueryResultsRequest, ResultProjection, TestResultId,
    UpdateResultRequest,
};
use stationdb::serde_json::Value;
use stationdb::tables::{AppendTableDataRequest, CreateTableRequest, TableId};
use stationdb::{Control, Error, Result, Session, Transaction};

use super::options::ResultOptions;
use super::report::ResultsReport;
use super::step::{NewResult, NewStep};
use super::text::hex;
use crate::result_format::ResultFormat;

/// What the files of a format are.
#[derive(Debug)]
pub(crate) struct Kind {
    pub(crate) format: ResultFormat,
    /// What a file is in messages, such as `the OpenHTF record`.
    pub(crate) noun: &'static str,
    /// The property that has the sum of the bytes.
    pub(crate) sum_property: &'static str,
    /// The end of the name of a file that has none.
    pub(crate) extension: &'static str,
    pub(crate) mime_type: &'static str,
}

/// The file that results come from.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Original<'o> {
    pub(crate) bytes: &'o [u8],
    /// Its name, if it has one.
    pub(crate) name: Option<&'o str>,
    pub(crate) kind: &'o Kind,
}

/// A content that was written, and the file that it becomes.
struct Content {
    writer: ContentWriter,
    request: UploadFileRequest,
}

/// Commits the results of a file. The report has no warnings.
///
/// # Errors
/// `Conflict` for a file that a visible result came from, with the id of that result, unless the
/// options say again; the errors of creating results, steps, tables and files. After an error
/// nothing was changed.
pub(crate) fn commit(
    session: &Session,
    original: Original<'_>,
    mut results: Vec<NewResult>,
    options: &ResultOptions,
) -> Result<ResultsReport> {
    let sum = hex(&Sha256::digest(original.bytes));
    let name = file_name(original, results.first());
    // Before the contents are written, and once more where nobody can come between.
    refuse_again(session, original, &sum, options)?;
    let contents = contents(session, original, &mut results, &name, options)?;
    session.transaction(|transaction| {
        refuse_again(transaction, original, &sum, options)?;
        create(transaction, original, results, contents, &sum, options)
    })
}

/// The name of the attached file: its own, or one of serial number and start.
fn file_name(original: Original<'_>, first: Option<&NewResult>) -> String {
    let of_result = || {
        let request = first.map(|result| &result.request);
        let serial = request.and_then(|request| request.serial_number.clone());
        let start = request.and_then(|request| request.started_at);
        let start = start.map_or(0, |start| start.timestamp_millis()).to_string();
        let parts = serial.into_iter().chain([start, original.kind.extension.to_owned()]);
        parts.collect::<Vec<_>>().join(".")
    };
    let name = original.name.map_or_else(of_result, str::to_owned);
    name.replace(['/', '\\'], "_")
}

fn refuse_again(
    results: &impl ResultService,
    original: Original<'_>,
    sum: &str,
    options: &ResultOptions,
) -> Result<()> {
    if options.again {
        return Ok(());
    }
    let query = QueryResultsRequest::new()
        .filter(format!("properties[\"{}\"] == @0", original.kind.sum_property))
        .substitutions([sum])
        .projection([ResultProjection::Id])
        .take(1);
    let Some(found) = results.query_results(query)?.results.into_iter().next() else {
        return Ok(());
    };
    let id = found.id.unwrap_or_default();
    Err(Error::conflict(format!(
        "{} was imported before, as the result {id}; import it again only to have it twice",
        original.kind.noun
    ))
    .with_resource("TestResult", id.as_str()))
}

/// Writes the contents of the attachments, in the order of the steps, and that of the file.
fn contents(
    session: &Session,
    original: Original<'_>,
    results: &mut [NewResult],
    name: &str,
    options: &ResultOptions,
) -> Result<VecDeque<Content>> {
    let steps = results.iter().flat_map(|result| &result.steps);
    let attachments = steps.flat_map(NewStep::all_attachments);
    let files = attachments.filter_map(|attachment| {
        let content = attachment.content.as_deref()?;
        Some((attachment.name.as_str(), attachment.mime_type.as_deref(), content))
    });
    let all = files.chain([(name, Some(original.kind.mime_type), original.bytes)]);
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
    original: Original<'_>,
    results: Vec<NewResult>,
    contents: VecDeque<Content>,
    sum: &str,
    options: &ResultOptions,
) -> Result<ResultsReport> {
    let files = contents
        .into_iter()
        .map(|Content { writer, request }| transaction.commit_file(writer, request));
    let files = files.collect::<Result<Vec<FileId>>>()?;
    let mut report =
        ResultsReport { files: files.clone(), ..ResultsReport::new(original.kind.format) };
    let Some((file, attached)) = files.split_last() else {
        return Err(Error::corrupt("internal error: a file was not written; report it"));
    };
    let mut attached = attached.iter();
    for result in results {
        let count = |of: fn(&NewStep) -> usize| result.steps.iter().map(of).sum::<usize>();
        report.steps += count(NewStep::count);
        report.measurements += count(NewStep::measurement_count);
        // Those of its steps come before those of the next result.
        let own = result.steps.iter().flat_map(NewStep::all_attachments);
        let own = own.filter(|attachment| attachment.content.is_some()).count();
        let own: Vec<&FileId> = attached.by_ref().take(own).collect();
        let mut request = result.request;
        let properties = request.properties.get_or_insert_default();
        properties.insert(original.kind.sum_property.to_owned(), Some(sum.to_owned()));
        request.workspace.clone_from(&options.workspace);
        let ids = own.iter().copied().chain([file]);
        let request = request.file_ids(ids.map(FileId::to_string));
        let created = transaction.create_results(vec![request])?.into_result()?.results;
        let result_id = created.into_iter().next().and_then(|result| result.id).unwrap_or_default();
        let mut made = Made {
            transaction,
            result_id: &result_id,
            workspace: options.workspace.as_ref(),
            files: own.into_iter(),
            tables: Vec::new(),
        };
        let steps = result.steps.into_iter().map(|step| made.step(step));
        let steps = steps.collect::<Result<Vec<_>>>()?;
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
        report.tables.extend(tables);
        report.results.push(result_id);
    }
    Ok(report)
}

/// What was made for the steps of a result so far.
struct Made<'m, 't> {
    transaction: &'m Transaction<'t>,
    result_id: &'m TestResultId,
    workspace: Option<&'m String>,
    /// The files of the attachments that are next.
    files: std::vec::IntoIter<&'m FileId>,
    tables: Vec<TableId>,
}

impl Made<'_, '_> {
    /// The request for a step, whose tables are created.
    fn step(&mut self, step: NewStep) -> Result<CreateStepRequest> {
        let mut parameters = step.parameters;
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
        let mut outputs = step.outputs;
        for attachment in step.attachments {
            let file = attachment.content.as_ref().and_then(|_| self.files.next());
            let value = file.map(|id| id.to_string()).or(attachment.sha1);
            let value = value.map_or(Value::Null, Value::from);
            outputs.push(NamedValue::new(format!("attachment.{}", attachment.name), value));
        }
        let children = step.children.into_iter().map(|child| self.step(child));
        let children = children.collect::<Result<Vec<_>>>()?;
        Ok(step
            .request
            .result_id(self.result_id.to_string())
            .maybe_data(NewStep::data(step.text, parameters))
            .outputs(outputs)
            .children(children))
    }
}
