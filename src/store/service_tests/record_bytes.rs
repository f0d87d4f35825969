//! What each part of a store of work items takes on disk. `STATIONDB_RECORDS=100000` with
//! `--nocapture` prints the figures of `docs/performance.md`.

use crate::store::tests::prelude::*;
use std::path::Path;

use chrono::{DateTime, Utc};
use redb::{ReadableDatabase, ReadableTableMetadata, TableHandle};

use crate::Session;
use crate::disk::RealDisk;
use crate::work_items::CreateWorkItemTemplateRequest;

const BATCH: u64 = 1_000;

fn drawn(column: u64, row: u64) -> u64 {
    let mut z = row.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15).wrapping_add(column << 40);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// One of 2,000 words of 6 to 12 letters.
fn word(column: u64, row: u64) -> String {
    let number = drawn(column, row) % 2_000;
    let letters = 6 + drawn(1, number) % 7;
    (0..letters)
        .map(|at| {
            let from: &[u8] = if at % 2 == 0 { b"bcdfghjklmnprstvwz" } else { b"aeiou" };
            from[(drawn(2 + at, number) % from.len() as u64) as usize] as char
        })
        .collect()
}

/// The ids of new templates.
fn templates(session: &Session) -> Vec<String> {
    let template = |number| CreateWorkItemTemplateRequest {
        name: Some(format!("Template {number}")),
        template_group: Some("bench".to_owned()),
        r#type: Some("testplan".to_owned()),
        ..CreateWorkItemTemplateRequest::default()
    };
    let made = session.create_work_item_templates((0..500).map(template).collect()).unwrap();
    made.created_work_item_templates.into_iter().map(|made| made.id.unwrap().to_string()).collect()
}

/// A work item as those of the benchmark: 20 members and five properties.
fn request(number: u64, templates: &[String]) -> CreateWorkItemRequest {
    let user = |column| format!("user-{:03}", drawn(column, number) % 300);
    let at = |days: i64| {
        DateTime::<Utc>::from_timestamp(1_700_000_000 + number as i64 + days * 86_400, 0)
    };
    let is_planned = drawn(20, number) % 10 < 7;
    let properties = BTreeMap::from([
        ("station".to_owned(), format!("STN-{:03}", drawn(30, number) % 200)),
        ("operator".to_owned(), user(31)),
        ("firmware".to_owned(), format!("{}.{}", drawn(32, number) % 50, drawn(33, number) % 20)),
        ("customer".to_owned(), word(35, number)),
        ("lot".to_owned(), format!("LOT{:06}", drawn(36, number) % 10_000)),
    ]);
    CreateWorkItemRequest {
        name: Some(format!("Verify {} {} {number}", word(10, number), word(11, number))),
        r#type: Some("testplan".to_owned()),
        state: Some(["NEW", "DEFINED", "CLOSED"][(drawn(15, number) % 3) as usize].to_owned()),
        description: Some((50..62).map(|at| word(at, number)).collect::<Vec<_>>().join(" ")),
        parent_id: drawn(28, number)
            .is_multiple_of(4)
            .then(|| (drawn(29, number) % (number + 1)).to_string()),
        template_id: Some(templates[drawn(27, number) as usize % templates.len()].clone()),
        assigned_to: Some(user(18)),
        requested_by: Some(user(19)),
        test_program: Some(format!("Program {}", word(26, number))),
        part_number: Some(format!("PN-{:05}", drawn(16, number) % 1_000)),
        workspace: Some(format!("ws-{:02}", drawn(25, number) % 20)),
        timeline: Some(TimelineDefinition {
            earliest_start_date_time: at(1).filter(|_| is_planned),
            due_date_time: at(2).filter(|_| is_planned),
            estimated_duration_in_seconds: Some((drawn(37, number) % 7_200) as i64),
        }),
        properties: Some(properties),
        ..CreateWorkItemRequest::default()
    }
}

/// Bytes by the name of a part.
type Parts = BTreeMap<String, u64>;

/// Keys and values of the store as they are before they are packed into blocks and pages.
fn contents(store: &Store) -> (Parts, Parts) {
    let snapshot = store.engine().snapshot();
    let (mut bytes, mut counts) = (Parts::new(), Parts::new());
    for space in Space::ALL {
        let mut cursor = ReadSource::Snapshot(&snapshot).cursor(space, &[], None).unwrap();
        while let Some((key, value)) = cursor.next().unwrap() {
            let index = |number| WorkItem::indexes().iter().find(|index| index.number == number);
            let name = match (space, key.as_slice()) {
                (Space::Index, [kind, number, ..]) if *kind == WorkItem::KIND.code => {
                    index(*number).map_or_else(String::new, |index| index.fields.join(", "))
                }
                _ => String::new(),
            };
            let name = format!("{} {name}", space.name());
            *bytes.entry(name.clone()).or_default() += (key.len() + value.len()) as u64;
            *counts.entry(name).or_default() += 1;
        }
    }
    (bytes, counts)
}

/// The pages of the closed record file: rows, offsets and checksums, and unused bytes of pages, of
/// each table; then pages of redb's own, and free ones.
fn pages(path: &Path) -> Parts {
    let database = redb::Database::open(path).unwrap();
    let read = database.begin_read().unwrap();
    let mut parts = Parts::new();
    let mut tables = 0;
    for table in read.list_tables().unwrap() {
        let name = table.name().to_owned();
        let stats = read.open_untyped_table(table).unwrap().stats().unwrap();
        let each = [stats.stored_bytes(), stats.metadata_bytes(), stats.fragmented_bytes()];
        for (part, bytes) in ["rows", "offsets and sums", "unused"].into_iter().zip(each) {
            parts.insert(format!("{name}: {part}"), bytes);
            tables += bytes;
        }
    }
    drop(read);
    let stats = database.begin_write().unwrap();
    let allocated = stats.stats().unwrap().allocated_pages() * 4096;
    stats.abort().unwrap();
    parts.insert("pages of redb's own".to_owned(), allocated - tables);
    parts.insert("free pages and headers".to_owned(), path.metadata().unwrap().len() - allocated);
    parts
}

#[test]
fn what_each_part_of_a_work_item_takes() {
    let count: u64 =
        std::env::var("STATIONDB_RECORDS").ok().and_then(|text| text.parse().ok()).unwrap_or(2_000);
    let directory = tempfile::tempdir().unwrap();
    let clock = Arc::new(ManualClock::new(Default::default()));
    // Several checkpoints, so that rows arrive before others also where there are few.
    let memory = usize::try_from(count * 200).unwrap().min(32 << 20);
    let options = || {
        let options = Store::options().maintenance_thread(false).memory_table_bytes(memory);
        options.shared_clock(clock.clone())
    };
    let mut store = options().open(directory.path()).unwrap();
    let session = store.session(Identity::user("bench"));
    let templates = templates(&session);
    for start in (0..count).step_by(BATCH as usize) {
        clock.set(DateTime::<Utc>::from_timestamp(1_700_000_000 + start as i64, 0).unwrap());
        let batch =
            (start..count.min(start + BATCH)).map(|number| request(number, &templates)).collect();
        let made = session.create_work_items(batch).unwrap();
        assert!(made.error.is_none(), "{:?}", made.error);
    }
    drop(session);
    // Each pass merges a bounded number of index entries.
    for _ in 0..40 {
        store.maintain(&Control::default()).unwrap();
    }
    let before = directory.path().join("records.redb").metadata().unwrap().len();
    store.compact().unwrap();
    let (bytes, counts) = contents(&store);
    store.close().unwrap();
    let len = directory.path().join("records.redb").metadata().unwrap().len();
    let pages = pages(&directory.path().join("records.redb"));
    let mut files = Parts::new();
    for (path, len) in walk(&*RealDisk::open(directory.path()).unwrap(), "").unwrap() {
        let kind = path.split_once('/').map_or(path.as_str(), |(directory, _)| directory);
        let kind = match path.rsplit_once('.') {
            Some((_, extension)) if kind == "search" => format!("search .{extension}"),
            _ => kind.to_owned(),
        };
        *files.entry(kind).or_default() += len;
    }
    let each = |bytes: u64| bytes as f64 / count as f64;
    println!("{count} work items; records.redb {:.0} B each before compaction", each(before));
    for (title, parts) in [("contents", &bytes), ("pages", &pages), ("files", &files)] {
        println!("{title}:");
        let parts = parts.iter().filter(|(_, bytes)| each(**bytes) >= 0.05);
        parts.for_each(|(name, bytes)| println!("  {name}: {:.1}", each(*bytes)));
    }
    println!("all files: {:.0} B each", each(files.values().sum()));
    counts.iter().for_each(|(name, rows)| println!("  {name}: {:.2} rows", each(*rows)));
    assert_eq!(pages.values().sum::<u64>(), len, "every byte of the file is one of these");
    assert_eq!(counts.get("index properties, updatedAt"), Some(&(5 * count)), "{counts:?}");
    let entries: u64 =
        bytes.iter().filter(|(name, _)| name.starts_with("index ")).map(|(_, bytes)| bytes).sum();
    let packed = pages.get("index: rows").unwrap();
    assert!(packed * 2 < entries, "blocks share prefixes: {packed} of {entries}");
    let [rows, unused] = ["rows", "unused"].map(|part| pages[&format!("records: {part}")]);
    assert!(unused * 7 < rows, "compaction fills pages: {unused} bytes beside {rows} are unused");
    let journal: u64 = ["journal.0", "journal.1"].iter().map(|name| files[*name]).sum();
    assert!(journal <= 2 << 20, "a closed store has {journal} bytes of journal");
}
