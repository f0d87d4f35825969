//! Test results that are stored together with their steps and tables.
//!
//! What must hold: a result comes with all its steps, tables and rows, or not at all. What can be
//! refused is checked before the first change is drafted. What can be found only later fails the
//! call, and so drafts nothing.

use crate::columnar::TableSchema;
use crate::error::{Error, Result};
use crate::model::answer::Outcome;
use crate::model::results::{CreateResultRequest, ResultTable, ResultWithSteps, TestResult};
use crate::model::steps::stored::millis;
use crate::model::{Resource, TableId, TableMetadata};
use crate::services::results::creation::create_product;
use crate::services::results::steps::{NewSteps, change_counts, within};
use crate::services::service_record::ServiceRecord as _;
use crate::services::{batch, tables};
use crate::session::tables::{NewRows, seal_appended};
use crate::session::{Access, Draft, What};

/// A result with what can be prepared before it is known when it is committed.
struct Prepared {
    request: CreateResultRequest,
    steps: NewSteps,
    tables: Vec<PreparedTable>,
}

struct PreparedTable {
    request: crate::model::CreateTableRequest,
    rows: NewRows,
    closes: bool,
}

/// A created result, and the tables whose buffers have to be sealed: with their ids, and whether
/// they are closed.
struct Appended {
    result: TestResult,
    due: Vec<(TableId, bool)>,
}

/// Creates results with their steps and tables.
pub(super) fn append(
    access: &impl Access,
    results: &[ResultWithSteps],
) -> Result<Outcome<TestResult, CreateResultRequest>> {
    let settings = access.context().settings();
    let (columns_max, rows_max) = (settings.table_columns_max, settings.table_rows_max);
    let prepared: Vec<Option<Result<Prepared>>> =
        results.iter().map(|result| Some(prepare(result, columns_max, rows_max))).collect();
    let outcome = access.write(move |draft| draft_all(draft, prepared))?;
    let Outcome { succeeded, failed, error } = outcome;
    let due = succeeded.iter().flat_map(|appended| &appended.due);
    if !access.is_transaction() {
        for (id, closes) in due {
            seal_appended(access, id, *closes);
        }
    }
    let failed = failed.into_iter().filter_map(|at| results.get(at));
    Ok(Outcome {
        succeeded: succeeded.into_iter().map(|appended| appended.result).collect(),
        failed: failed.map(|failed| failed.result.clone()).collect(),
        error,
    })
}

fn draft_all(
    draft: &mut Draft<'_>,
    mut prepared: Vec<Option<Result<Prepared>>>,
) -> Result<Outcome<Appended, usize>> {
    let positions = (0..prepared.len()).collect();
    let mut broken = None;
    let outcome =
        batch::run(draft, TestResult::UMBRELLA, positions, |draft, position, at: usize| {
            let Some(item) = prepared.get_mut(at).and_then(Option::take) else {
                return Err(Error::corrupt("internal error: a result was taken twice; report it"));
            };
            let name = item.as_ref().ok().and_then(|item| item.request.program_name.clone());
            let name = name.filter(|name| !name.trim().is_empty());
            item.and_then(|item| append_one(draft, item, &mut broken)).map_err(batch::about_new(
                TestResult::KIND.name,
                name,
                position,
            ))
        });
    // An item that had drafted something when it failed.
    broken.map_or(outcome, Err)
}

fn prepare(result: &ResultWithSteps, columns_max: usize, rows_max: u64) -> Result<Prepared> {
    let steps = NewSteps::checked(&result.steps)?;
    let table = |(at, table): (usize, &ResultTable)| {
        let prepared = || {
            let schema = TableSchema::new(table.table.columns.clone(), columns_max)?;
            Ok(PreparedTable {
                request: table.table.clone(),
                rows: NewRows::encoded(&schema, &table.batches, rows_max)?,
                closes: table.end_of_data,
            })
        };
        prepared().map_err(|error: Error| within(error, &format!("tables[{at}]")))
    };
    let tables = result.tables.iter().enumerate().map(table).collect::<Result<_>>()?;
    Ok(Prepared { request: result.result.clone(), steps, tables })
}

/// Drafts a result. An error after the first change goes into `broken`.
fn append_one(
    draft: &mut Draft<'_>,
    item: Prepared,
    broken: &mut Option<Error>,
) -> Result<Appended> {
    let Prepared { request, steps, tables } = item;
    let mut result = TestResult::create(request, draft.now(), draft.context().default_workspace())?;
    draft.require(None, &result, What::Created)?;
    let mut tables = tables;
    for (at, table) in tables.iter_mut().enumerate() {
        let place = |error: Error| within(error, &format!("tables[{at}]"));
        table.request.workspace.get_or_insert_with(|| result.workspace().to_owned());
        let checked = tables::check_new_table(draft.context(), &table.request);
        checked.map_err(place)?;
        let stub = TableMetadata {
            workspace: table.request.workspace.clone(),
            ..TableMetadata::default()
        };
        draft.require(None, &stub, What::Created).map_err(place)?;
    }
    let key = draft.new_key::<TestResult>()?;
    let steps = steps.numbered(key, millis(draft.now()))?;
    result.id = Some(key.into());
    result.steps_created = steps.next_seq;
    result.status_type_summary = Some(steps.summary.clone());
    let mut ids = Vec::with_capacity(tables.len());
    for _ in &tables {
        ids.push(TableId::from(draft.new_key::<TableMetadata>()?));
    }
    if !ids.is_empty() {
        result.data_table_ids.get_or_insert_default().extend(ids.iter().map(ToString::to_string));
    }
    draft.put_new(&result, What::Created)?;
    let drafted = || -> Result<Vec<(TableId, bool)>> {
        let created = steps.next_seq;
        if created > 0 {
            steps.save(draft, key)?;
            let detail = change_counts(created, 0, 0);
            draft.log(&result, What::StepsChanged, None, Some(detail));
        }
        let mut due = Vec::new();
        for (id, table) in ids.into_iter().zip(tables) {
            let PreparedTable { mut request, rows, closes } = table;
            request.test_result_id = result.id.as_ref().map(ToString::to_string);
            let table = tables::create_table_as(draft, id.clone(), request)?;
            if rows.append(draft, table, closes)? || closes {
                due.push((id, closes));
            }
        }
        create_product(draft, &result)?;
        Ok(due)
    };
    match drafted() {
        Ok(due) => Ok(Appended { result: result.answered(), due }),
        Err(error) => {
            *broken = Some(error.clone());
            Err(error)
        }
    }
}
