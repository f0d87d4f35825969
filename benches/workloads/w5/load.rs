//! Eight readers and four writers: how long readers wait, with and without writers.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use stationdb::prelude::*;
use stationdb::work_items::{UpdateWorkItemRequest, UpdateWorkItemsRequest};
use stationdb::{Identity, Store};

use super::{Memory, micros, newest};
use crate::common::{Res, Scale, hash};

const READERS: u64 = 8;
const WRITERS: u64 = 4;
/// Items of one part number, which a writer moves together between two revisions.
const GROUP: usize = 20;

/// Runs both phases.
pub fn run(scale: &Scale, store: &Store, memory: &mut Memory) -> Res<()> {
    let time =
        if scale.records < 100_000 { Duration::from_millis(300) } else { Duration::from_secs(4) };
    let groups = groups(store)?;
    let (alone, _) = phase(store, &groups, 0, time)?;
    memory.look();
    let (beside, commits) = phase(store, &groups, WRITERS, time)?;
    memory.look();
    let note = format!(
        "{READERS} readers, each a page of {GROUP} and a look-up; every page shows one snapshot"
    );
    for (name, values) in [("alone", &alone), ("beside_writers", &beside)] {
        let (p50, p99) = micros(values);
        scale.emit("W5", &format!("read_{name}_p50"), &[p50], "us", &note);
        scale.emit("W5", &format!("read_{name}_p99"), &[p99], "us", &note);
        let longest = values.iter().copied().fold(0.0, f64::max) * 1e6;
        scale.emit("W5", &format!("read_{name}_max"), &[longest], "us", &note);
        scale.emit(
            "W5",
            &format!("read_{name}_per_s"),
            &[values.len() as f64 / time.as_secs_f64()],
            "reads/s",
            &note,
        );
    }
    let rate = commits as f64 / time.as_secs_f64();
    scale.emit(
        "W5",
        "commits_beside_readers_per_s",
        &[rate],
        "commits/s",
        &format!("{WRITERS} writers, {GROUP} items a commit"),
    );
    Ok(())
}

/// Returns the groups that are written: items with a part number of their own, all of one name.
fn groups(store: &Store) -> Res<Vec<(String, Vec<String>)>> {
    let session = store.session(Identity::user("bench"));
    (0..WRITERS)
        .map(|writer| {
            let part = format!("LOAD-{writer}");
            let request = |_| {
                stationdb::work_items::CreateWorkItemRequest::new()
                    .name("0")
                    .part_number(part.clone())
                    .r#type("load")
            };
            let answer = session.create_work_items((0..GROUP).map(request).collect())?;
            let id = |item: &stationdb::work_items::WorkItem| {
                item.id.as_ref().map(|id| id.as_str().to_owned())
            };
            Ok((part.clone(), answer.created_work_items.iter().filter_map(id).collect()))
        })
        .collect()
}

fn phase(
    store: &Store,
    groups: &[(String, Vec<String>)],
    writers: u64,
    time: Duration,
) -> Res<(Vec<f64>, u64)> {
    let end = Instant::now() + time;
    let stop = AtomicBool::new(false);
    let commits = AtomicU64::new(0);
    std::thread::scope(|scope| -> Res<(Vec<f64>, u64)> {
        let writing: Vec<_> = (0..writers)
            .map(|writer| {
                let (stop, commits) = (&stop, &commits);
                scope.spawn(move || -> Res<()> {
                    let session = store.session(Identity::user(format!("writer-{writer}")));
                    let (_, ids) = &groups[writer as usize];
                    let mut revision = 0u64;
                    while !stop.load(Ordering::Relaxed) {
                        revision += 1;
                        let update = |id: &String| {
                            UpdateWorkItemRequest::new().id(id.clone()).name(revision.to_string())
                        };
                        let work_items: Vec<_> = ids.iter().map(update).collect();
                        session
                            .update_work_items(UpdateWorkItemsRequest::new(work_items))?
                            .require_all()?;
                        commits.fetch_add(1, Ordering::Relaxed);
                    }
                    Ok(())
                })
            })
            .collect();
        let reading: Vec<_> = (0..READERS)
            .map(|reader| {
                scope.spawn(move || -> Res<Vec<f64>> {
                    let session = store.session(Identity::user(format!("reader-{reader}")));
                    let mut seconds = Vec::new();
                    let mut turn = 0u64;
                    while Instant::now() < end {
                        turn += 1;
                        let (part, ids) =
                            &groups[(hash(reader, turn) % groups.len() as u64) as usize];
                        let query = newest(format!("partNumber == \"{part}\""));
                        let began = Instant::now();
                        let page = session.query_work_items(query)?;
                        let one = session
                            .get_work_item(&ids[(turn % GROUP as u64) as usize].as_str().into())?;
                        seconds.push(began.elapsed().as_secs_f64());
                        assert_eq!(page.work_items.len(), GROUP);
                        // A commit writes a whole group, so a page with two revisions would show a
                        // part of a commit.
                        assert!(
                            page.work_items.iter().all(|item| item.name == page.work_items[0].name)
                        );
                        assert!(one.part_number.as_deref() == Some(part));
                    }
                    Ok(seconds)
                })
            })
            .collect();
        let mut all = Vec::new();
        for reader in reading {
            all.extend(reader.join().map_err(|_| "a reader failed")??);
        }
        stop.store(true, Ordering::Relaxed);
        for writer in writing {
            writer.join().map_err(|_| "a writer failed")??;
        }
        Ok((all, commits.load(Ordering::Relaxed)))
    })
}
