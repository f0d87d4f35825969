//! W5: a million work items, inserted in durable batches of 1,000, read, queried and changed.
//!
//! The work items go through the service, with its checks, indexes, change log and text index. They
//! have the fields of the peers' items, except that the store sets user and time: its clock is set
//! to the peers' creation times, so all items of a batch have one time.

mod items;
mod load;

use std::path::Path;
use std::sync::Arc;

use chrono::DateTime;
use stationdb::prelude::*;
use stationdb::search::SearchRequest;
use stationdb::work_items::{
    QueryWorkItemsRequest, UpdateWorkItemRequest, UpdateWorkItemsRequest, WorkItem, WorkItemOrderBy,
};
use stationdb::{Control, Identity, ManualClock, Session, Store};

use crate::common::{Res, Scale, anonymous_memory_mib, bytes_below, hash, median, quantile, timed};
use items::{BATCH, Items, STATES};

/// Batches of updates.
const UPDATES: usize = 30;
/// Returns the bytes that this process has allocated and not freed, in MiB; zero in a program
/// whose allocator does not count.
fn live_memory_mib() -> f64 {
    let stats = stats_alloc::INSTRUMENTED_SYSTEM.stats();
    (stats.bytes_allocated as f64 - stats.bytes_deallocated as f64) / (1024.0 * 1024.0)
}

/// The peak memory of the run and of the current step: resident, and allocated.
#[derive(Default)]
struct Memory {
    peak: f64,
    step: f64,
    live_peak: f64,
    live_step: f64,
}

impl Memory {
    fn look(&mut self) {
        self.step = anonymous_memory_mib().map_or(self.step, |mib| mib.max(self.step));
        self.peak = self.peak.max(self.step);
        self.live_step = self.live_step.max(live_memory_mib());
        self.live_peak = self.live_peak.max(self.live_step);
    }

    /// Prints the peak of the step that ends.
    fn tell(&mut self, scale: &Scale, step: &str) {
        self.look();
        let note = "largest seen in this step, of store and bench together";
        scale.emit("W5", &format!("anonymous_memory_{step}"), &[self.step], "MiB", note);
        if self.live_step > 0.0 {
            scale.emit("W5", &format!("allocated_memory_{step}"), &[self.live_step], "MiB", note);
        }
        (self.step, self.live_step) = (0.0, 0.0);
    }
}

fn open(scale: &Scale, path: &Path, clock: &Arc<ManualClock>) -> Res<Store> {
    let mut options = Store::options().shared_clock(clock.clone());
    if let Some(mib) = scale.record_cache_mib {
        options = options.record_cache_bytes(mib << 20);
    }
    Ok(options.open(path)?)
}

/// Runs the workload.
pub fn run(scale: &Scale) -> Res<()> {
    let directory = scale.scratch("w5-stationdb")?;
    let clock = Arc::new(ManualClock::new(items::moment(0)));
    let store = open(scale, &directory, &clock)?;
    let mut items = Items::new(scale.records);
    let mut memory = Memory::default();
    items.create_templates(&store)?;
    memory.look();

    insert(scale, &store, &clock, &mut items, &mut memory)?;
    memory.tell(scale, "insert");
    scale.emit(
        "W5",
        "disk",
        &[bytes_below(&directory) as f64 / scale.records as f64],
        "B/record",
        "with text index and change log",
    );
    let session = store.session(Identity::user("bench"));
    gets(scale, &session, &items)?;
    memory.tell(scale, "get");
    queries(scale, &session, &items, "", &mut memory)?;
    memory.tell(scale, "query");
    update(scale, &session, &clock, &mut items, &mut memory)?;
    memory.tell(scale, "update");
    queries(scale, &session, &items, "_after_updates", &mut memory)?;
    drop(session);
    drop(store);

    let (seconds, store) = timed(|| open(scale, &directory, &clock))?;
    scale.emit("W5", "open", &[seconds * 1e3], "ms", "after a clean close");
    let session = store.session(Identity::user("bench"));
    let (seconds, _) = timed(|| items.ask(&session, "q1_state_part_top100"))?;
    scale.emit("W5", "first_query_after_open", &[seconds * 1e3], "ms", "q1");
    let (seconds, _) = timed(|| items.ask(&session, "q4_contains_top100"))?;
    scale.emit(
        "W5",
        "first_contains_after_open",
        &[seconds * 1e3],
        "ms",
        "q4, which opens the text index or does without",
    );
    memory.look();
    items.check(&session)?;
    load::run(scale, &store, &mut memory)?;
    memory.tell(scale, "load");
    scale.emit("W5", "peak_anonymous_memory", &[memory.peak], "MiB", "of store and bench together");
    if memory.live_peak > 0.0 {
        scale.emit(
            "W5",
            "peak_allocated_memory",
            &[memory.live_peak],
            "MiB",
            "of store and bench together",
        );
    }
    drop(session);
    settle(scale, store, &directory)?;
    std::fs::remove_dir_all(&directory)?;
    Ok(())
}

/// Prints what the closed store takes once everything is merged, moved and compacted.
fn settle(scale: &Scale, mut store: Store, directory: &Path) -> Res<()> {
    const PASSES_MAX: usize = 200;
    for _ in 0..PASSES_MAX {
        store.maintain(&Control::default())?;
    }
    let (seconds, _) = timed(|| Ok(store.compact()?))?;
    store.close()?;
    let per_record = |bytes: u64| bytes as f64 / scale.records as f64;
    let settled = per_record(bytes_below(directory));
    let text = per_record(bytes_below(&directory.join("search")));
    let records = per_record(std::fs::metadata(directory.join("records.redb"))?.len());
    let note = format!(
        "after maintenance, {seconds:.2} s of compaction and a close: \
         record file {records:.0}, text index {text:.0}"
    );
    scale.emit("W5", "disk_settled", &[settled], "B/record", &note);
    Ok(())
}

/// Prints rates and latencies of a pass. Its thirds count as repetitions, because the store grows.
fn thirds(scale: &Scale, name: &str, seconds: &[f64], note: &str) {
    let parts: Vec<&[f64]> = seconds.chunks(seconds.len().div_ceil(3).max(1)).collect();
    let each = |f: &dyn Fn(&[f64]) -> f64| parts.iter().map(|part| f(part)).collect::<Vec<f64>>();
    let rate = |part: &[f64]| part.len() as f64 * BATCH as f64 / part.iter().sum::<f64>();
    scale.emit("W5", &format!("{name}_per_s"), &each(&rate), "records/s", note);
    scale.emit(
        "W5",
        &format!("{name}_batch_p50"),
        &each(&|part| quantile(part, 0.5) * 1e3),
        "ms",
        note,
    );
    scale.emit(
        "W5",
        &format!("{name}_batch_p99"),
        &each(&|part| quantile(part, 0.99) * 1e3),
        "ms",
        note,
    );
}

fn insert(
    scale: &Scale,
    store: &Store,
    clock: &ManualClock,
    items: &mut Items,
    memory: &mut Memory,
) -> Res<()> {
    let sessions: Vec<Session> =
        (0..300).map(|user| store.session(Identity::user(format!("user-{user:03}")))).collect();
    let mut seconds = Vec::new();
    for start in (0..scale.records).step_by(BATCH) {
        let requests = items.requests(start, BATCH.min(scale.records - start));
        clock.set(items::moment(start));
        let session = &sessions[(hash(21, start as u64) % 300) as usize];
        let count = requests.len();
        let (took, answer) = timed(|| Ok(session.create_work_items(requests)?))?;
        seconds.push(took);
        assert!(
            answer.error.is_none() && answer.created_work_items.len() == count,
            "{:?}",
            answer.error
        );
        items.created(&answer.created_work_items);
        memory.look();
    }
    let text = || SearchRequest::new().text("nosuchword").take(1);
    let (caught_up, found) = timed(|| Ok(store.session(Identity::user("bench")).search(text())?))?;
    assert!(found.hits.is_empty());
    let (maintained, _) = timed(|| Ok(store.maintain(&Control::default())?))?;
    memory.look();
    let total = seconds.iter().sum::<f64>();
    let what = "9 indexes, 5 properties each an entry, change log; through the service";
    thirds(
        scale,
        "insert",
        &seconds,
        &format!(
            "{} records, batches of 1000; {what}; medians over thirds of the pass",
            scale.records
        ),
    );
    let all = scale.records as f64 / (total + caught_up);
    let note = format!(
        "{} records from the first batch until the text index had them all: {total:.2} s and {caught_up:.2} s",
        scale.records
    );
    scale.emit("W5", "insert_until_searchable_per_s", &[all], "records/s", &note);
    scale.emit(
        "W5",
        "maintenance_after_insert",
        &[maintained],
        "s",
        "one pass right after, not part of the rates",
    );
    Ok(())
}

fn gets(scale: &Scale, session: &Session, items: &Items) -> Res<()> {
    let count = (scale.records / 4).min(50_000);
    let (mut means, mut p99s) = (Vec::new(), Vec::new());
    for repetition in 0..4u64 {
        let mut micros = Vec::with_capacity(count);
        for draw in 0..count as u64 {
            let number = (hash(60 + repetition, draw) % scale.records as u64) as usize;
            let id = items.id(number).to_string();
            let (took, item) = timed(|| Ok(session.get_work_item(&id.as_str().into())?))?;
            micros.push(took * 1e6);
            assert_eq!(item.properties.as_ref().map(std::collections::BTreeMap::len), Some(5));
            assert_eq!(
                item.id.as_ref().map(stationdb::work_items::WorkItemId::as_str),
                Some(id.as_str())
            );
        }
        if repetition > 0 {
            means.push(micros.iter().sum::<f64>() / count as f64);
            p99s.push(quantile(&micros, 0.99));
        }
    }
    let note = "random id, whole record decoded, through the service, warm";
    scale.emit("W5", "get_by_id_mean", &means, "us", note);
    scale.emit("W5", "get_by_id_p99", &p99s, "us", note);
    Ok(())
}

fn queries(
    scale: &Scale,
    session: &Session,
    items: &Items,
    suffix: &str,
    memory: &mut Memory,
) -> Res<()> {
    items.check(session)?;
    for name in items::QUERIES {
        let mut millis = Vec::new();
        let mut got = 0;
        for repetition in 0..8 {
            let (took, count) = timed(|| items.ask(session, name))?;
            got = count;
            if repetition > 0 {
                millis.push(took * 1e3);
            }
        }
        let plan = session.explain_query_work_items(items.query(name))?;
        scale.emit(
            "W5",
            &format!("{name}{suffix}"),
            &millis,
            "ms",
            &format!("warm; result {got}; {plan}"),
        );
        memory.look();
    }
    Ok(())
}

fn update(
    scale: &Scale,
    session: &Session,
    clock: &ManualClock,
    items: &mut Items,
    memory: &mut Memory,
) -> Res<()> {
    let mut seconds = Vec::new();
    for batch in 0..UPDATES {
        let mut numbers: Vec<usize> = (0..BATCH as u64)
            .map(|draw| (hash(70 + batch as u64, draw) % scale.records as u64) as usize)
            .collect();
        numbers.sort_unstable();
        numbers.dedup();
        let at = items::moment(scale.records + batch);
        clock.set(at);
        let updates: Vec<UpdateWorkItemRequest> = numbers
            .iter()
            .map(|&number| {
                UpdateWorkItemRequest::new()
                    .id(items.id(number).to_string())
                    .state(STATES[(number + batch) % 5].to_owned())
                    .properties([("firmware".to_owned(), "9.9.9".to_owned())])
            })
            .collect();
        let request = UpdateWorkItemsRequest::new(updates);
        let count = numbers.len();
        let (took, answer) = timed(|| Ok(session.update_work_items(request)?))?;
        // The rate counts distinct records: a batch names each once.
        seconds.push(took * BATCH as f64 / count as f64);
        assert_eq!(answer.updated_work_items.map(|items| items.len()), Some(count));
        items.updated(&numbers, batch, at);
        memory.look();
    }
    thirds(
        scale,
        "update",
        &seconds,
        "durable batches of 1000 random ids: state, one property, who and when; all indexes kept",
    );
    Ok(())
}

/// A query for at most 100 items, last changed first.
fn newest(filter: String) -> QueryWorkItemsRequest {
    QueryWorkItemsRequest::new()
        .filter(filter)
        .take(100)
        .order_by(WorkItemOrderBy::UpdatedAt)
        .descending(true)
}

/// A query for only the number of matches.
fn count_of(filter: String) -> QueryWorkItemsRequest {
    QueryWorkItemsRequest::new().filter(filter).take(0).return_count(true)
}

/// Returns the number in an id that the store generated.
fn number_of(item: &WorkItem) -> Res<u64> {
    Ok(item.id.as_ref().ok_or("an item without id")?.as_str().parse()?)
}

fn millis(at: i64) -> DateTime<chrono::Utc> {
    DateTime::from_timestamp_millis(at).unwrap_or_default()
}

fn micros(values: &[f64]) -> (f64, f64) {
    (median(values) * 1e6, quantile(values, 0.99) * 1e6)
}
