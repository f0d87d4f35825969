//! A week of a small lab: templates, 200 work items on five systems, scheduling with conflicts that
//! the caller finds by query, execution with its own job runner, and a summary of counts by state;
//! then the results of some thousand tests, with their yields by day, the Pareto of their failures,
//! and the capability of a measurement that drifts.
//!
//! ```text
//! cargo run --example lab_week [directory]
//! ```

mod tests;

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Instant;

use chrono::{DateTime, Duration, Utc};
use stationdb::lab::{
    ExecutionDefinition, Job, JobExecution, JobRequest, JobRunner, ManualExecution,
    NotebookRequest, QueueFailure, SchedulePatch, ScheduleResourcesDefinition,
    ScheduleSystemResourceDefinition, State, TemplateTimelineDefinition,
};
use stationdb::prelude::*;
use stationdb::work_items::{
    CreateWorkItemRequest, CreateWorkItemTemplateRequest, QueryWorkItemsRequest,
    ScheduleWorkItemRequest, ScheduleWorkItemsRequest, WorkItem, WorkItemField,
};
use stationdb::{Error, Identity, Result, Session, Store};

const ITEMS: usize = 200;
const SYSTEMS: [&str; 5] = ["bench-1", "bench-2", "bench-3", "bench-4", "chamber"];
const MINUTES: i64 = 60;

/// The job runner of the station. It numbers the jobs, and the queue of one bench is sometimes
/// full.
#[derive(Debug, Default)]
struct StationRunner {
    next: AtomicU32,
}

impl JobRunner for StationRunner {
    fn queue(&self, request: &JobRequest<'_>) -> Result<Vec<String>, QueueFailure> {
        let mut queued = Vec::new();
        for _ in request.jobs {
            let number = self.next.fetch_add(1, Ordering::Relaxed);
            if request.system_id == "chamber" && number.is_multiple_of(7) {
                return Err(QueueFailure {
                    error: Error::conflict("the queue of the chamber is full"),
                    queued,
                });
            }
            queued.push(format!("{}-{number}", request.system_id));
        }
        Ok(queued)
    }

    fn cancel(&self, _job_ids: &[String]) -> Result<()> {
        Ok(())
    }

    fn run_notebook(&self, request: &NotebookRequest<'_>) -> Result<String> {
        Ok(format!("{}-{}", request.notebook_id, request.work_item_id))
    }
}

fn main() -> Result<()> {
    let scratch =
        tempfile::tempdir().map_err(|error| Error::io("making a scratch directory", error))?;
    let directory = std::env::args().nth(1).map_or_else(|| scratch.path().join("lab"), Into::into);
    let store = Store::options().job_runner(StationRunner::default()).open(&directory)?;
    let session = store.session(Identity::user("ada"));

    let template = make_template(&session)?;
    let items = make_items(&session, &template)?;
    println!("created {} work items from the template {template}", items.len());

    let monday = Utc::now() + Duration::days(1);
    let conflicts = schedule(&session, &items, monday)?;
    println!("scheduled them; {conflicts} found their bench taken and were moved to a later time");

    let refused = run_the_week(&session, &items)?;
    println!("ran them; the runner refused {refused}");

    println!("\nstate             items");
    for (state, count) in counts(&session)? {
        let bar = "#".repeat(usize::try_from(count / 4).unwrap_or_default());
        println!("{:<17} {count:>5}  {bar}", state.as_str());
    }

    let start = Instant::now();
    let count = tests::run(&session)?;
    let seconds = start.elapsed().as_secs_f64();
    println!("\nstored {count} results of tests with their steps in {seconds:.1} s");
    tests::tell(&session)
}

/// Creates a template whose START queues two jobs on the reserved system, and whose APPROVE closes
/// the item.
fn make_template(session: &Session) -> Result<String> {
    let job = |function: &str| {
        Job::new()
            .functions([function.to_owned()])
            .arguments([vec!["<partNumber>".into(), "<id>".into()]])
    };
    let manual = |action: &str| ExecutionDefinition::from(ManualExecution::new(action));
    let start = JobExecution::new("START").jobs([job("station.prepare"), job("station.measure")]);
    let request = CreateWorkItemTemplateRequest::new()
        .name("Burn-in")
        .template_group("Production")
        .r#type("testplan")
        .test_program("burn-in.seq")
        .timeline(TemplateTimelineDefinition::new().estimated_duration_in_seconds(45 * MINUTES))
        .execution_actions([start.into(), manual("APPROVE"), manual("ABORT")]);
    let response = session.create_work_item_templates(vec![request])?;
    let made = response.created_work_item_templates.into_iter().next();
    made.and_then(|template| template.id)
        .map(Into::into)
        .ok_or_else(|| Error::invalid("the template was refused"))
}

fn make_items(session: &Session, template: &str) -> Result<Vec<WorkItem>> {
    let requests = (0..ITEMS)
        .map(|number| {
            CreateWorkItemRequest::new()
                .name(format!("Burn-in of unit {number}"))
                .template_id(template.to_owned())
                .part_number(format!("PN-{}", number % 8))
                .state("REVIEWED")
        })
        .collect();
    let response = session.create_work_items(requests)?;
    if let Some(error) = response.error {
        return Err(Error::invalid(error.message.unwrap_or_default()));
    }
    Ok(response.created_work_items)
}

/// Plans every item on a bench at a requested time. If the bench is taken then, the item is planned
/// after the items that take it.
fn schedule(session: &Session, items: &[WorkItem], monday: DateTime<Utc>) -> Result<usize> {
    let mut conflicts = 0;
    for (number, item) in items.iter().enumerate() {
        let system = SYSTEMS[number % SYSTEMS.len()];
        // All items request one of the 30 slots of the week, so they conflict.
        let mut start = monday
            + Duration::hours(i64::try_from(number / SYSTEMS.len() % 30).unwrap_or_default());
        let duration = Duration::seconds(45 * MINUTES);
        let mut moved = false;
        while let Some(end) = taken_until(session, system, start, start + duration)? {
            start = end;
            moved = true;
        }
        conflicts += usize::from(moved);
        let request = {
            ScheduleWorkItemRequest::new()
                .assigned_to(format!("operator {}", number % 3))
                .schedule(
                    SchedulePatch::new()
                        .planned_start_date_time(start)
                        .planned_end_date_time(start + duration)
                        .planned_duration_in_seconds(duration.num_seconds()),
                )
                .resources(
                    ScheduleResourcesDefinition::new()
                        .systems(ScheduleSystemResourceDefinition::of([system])),
                )
                .maybe_id(item.id.clone().map(Into::into))
        };
        let response =
            session.schedule_work_items(ScheduleWorkItemsRequest::new([request]).replace(true))?;
        if let Some(error) = response.error {
            return Err(Error::invalid(error.message.unwrap_or_default()));
        }
    }
    Ok(conflicts)
}

/// Returns the end of the last item that occupies the system in this interval, or `None` if it is
/// free.
fn taken_until(
    session: &Session,
    system: &str,
    from: DateTime<Utc>,
    to: DateTime<Utc>,
) -> Result<Option<DateTime<Utc>>> {
    let filter = "state = \"SCHEDULED\" and resources.systems.selections.Any(s => s.id == @0) \
                  and schedule.plannedStartDateTime < @1 and schedule.plannedEndDateTime > @2";
    let page = session.query_work_items(
        QueryWorkItemsRequest::new()
            .filter(filter.to_owned())
            .substitutions([system.to_owned(), to.to_rfc3339(), from.to_rfc3339()])
            .projection([WorkItemField::SchedulePlannedEndDateTime]),
    )?;
    let ends =
        page.work_items.iter().filter_map(|item| item.schedule.as_ref()?.planned_end_date_time);
    Ok(ends.max().map(Into::into))
}

/// Starts most items, ends most of those, approves about half of the ended ones, and aborts a few.
fn run_the_week(session: &Session, items: &[WorkItem]) -> Result<usize> {
    let mut refused = 0;
    for (number, item) in items.iter().enumerate() {
        let Some(id) = &item.id else { continue };
        if number % 10 == 9 {
            continue;
        }
        let answer = session.execute_work_item(id, "START")?;
        if answer.error.is_some() {
            refused += 1;
            continue;
        }
        match number % 20 {
            3 => drop(session.execute_work_item(id, "ABORT")?),
            4 | 5 => {}
            _ => {
                session.execute_work_item(id, "END")?;
                if number % 2 == 0 {
                    session.execute_work_item(id, "APPROVE")?;
                }
            }
        }
    }
    Ok(refused)
}

fn counts(session: &Session) -> Result<Vec<(State, u64)>> {
    State::ALL
        .iter()
        .map(|&state| {
            let page = session.query_work_items(
                QueryWorkItemsRequest::new()
                    .filter("state = @0")
                    .substitutions([state.as_str()])
                    .take(0)
                    .return_count(true),
            )?;
            Ok((state, page.total_count.unwrap_or_default()))
        })
        .collect()
}
