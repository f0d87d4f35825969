//! The scrub: what it finds, how fast it reads, and how it goes on.

use crate::store::tests::prelude::*;

use crate::session::outbox::verify::recorded_files;
use crate::status::*;
use crate::tables::{AppendTableDataRequest, DataFrame};

const DAY_MS: i64 = 24 * 60 * 60 * 1_000;

struct Bench {
    disk: SimDisk,
    clock: Arc<ManualClock>,
    rate: u64,
}

impl Bench {
    /// A closed store with rows, contents and a text index.
    fn new(rate: u64) -> Self {
        let start = time::parse("2026-03-01T12:00:00Z").unwrap();
        let clock = Arc::new(ManualClock::new(start));
        let bench = Self { disk: SimDisk::new(1), clock, rate };
        let store = bench.open();
        let session = ada(&store);
        let products = (0..50).map(|number| CreateProductRequest::new(format!("P-{number}")));
        session.create_products(products.collect()).unwrap().require_all().unwrap();
        let columns = vec![
            column("t", DataType::Int64, ColumnType::Index),
            column("v", DataType::Float64, ColumnType::Nullable),
        ];
        let request = CreateTableRequest { columns, ..Default::default() };
        let table = session.create_table(request).unwrap();
        let data = (0..2_000).map(|at| vec![Some(at.to_string()), Some((at % 7).to_string())]);
        let frame = Some(DataFrame { columns: None, data: data.collect() });
        let rows = AppendTableDataRequest { frame, end_of_data: Some(true) };
        session.append_table_data(&table, rows).unwrap();
        let bytes: Vec<u8> = (0..300_000_u32).map(|at| (at.wrapping_mul(31) >> 3) as u8).collect();
        let (request, control) = (UploadFileRequest::default(), Control::default());
        session.upload_file(&mut bytes.as_slice(), request, &control).unwrap();
        session.search(SearchRequest::new().text("P")).unwrap();
        drop(session);
        // Since when a scrub is due.
        bench.step(&store, 120_000);
        store.close().unwrap();
        assert!(walk(&bench.disk, "search").unwrap().len() > 2);
        assert!(walk(&bench.disk, "tables").unwrap().len() > 1);
        bench
    }

    fn open(&self) -> Store {
        let options =
            StoreOptions::default().maintenance_thread(false).seed(Some(1)).seal_rows(100);
        let options = options.shared_clock(self.clock.clone()).scrub_bytes_per_s(self.rate);
        options.open_on(Arc::new(self.disk.clone())).unwrap()
    }

    fn step(&self, store: &Store, ms: i64) {
        self.clock.advance_ms(ms);
        // Other steps of the pass may meet the damage that a test made.
        let _ = store.maintain(&Control::default());
    }

    /// The files below the directories of tables, contents and the text index that the store names.
    fn files(&self, store: &Store) -> Vec<String> {
        let walked = ["tables", "files"].into_iter().flat_map(|directory| {
            walk(&self.disk, directory).unwrap().into_iter().map(|(path, _)| path)
        });
        let text = recorded_files(store.engine()).unwrap().into_iter().map(|(path, ..)| path);
        walked.chain(text).collect()
    }

    /// Steps until a scrub has ended; returns their number.
    fn to_end(&self, store: &Store) -> u64 {
        let ended = || store.status().unwrap().scrub.last.and_then(|last| last.ended_at);
        let before = ended();
        self.step(store, 31 * DAY_MS);
        for steps in 1..100_000 {
            if ended() != before {
                return steps;
            }
            self.step(store, 1_000);
        }
        panic!("{:?}", store.status().unwrap().scrubbing);
    }
}

fn progress(store: &Store) -> Option<ScrubProgress> {
    store.status().unwrap().scrubbing.progress
}

fn flip(disk: &SimDisk, path: &str, at: u64) {
    let file = disk.open(path, Mode::ReadWrite).unwrap();
    let mut byte = [0];
    file.read_exact_at(&mut byte, at).unwrap();
    byte[0] ^= 1;
    file.write_all_at(&byte, at).unwrap();
}

#[test]
fn a_scrub_is_due_once_in_a_period_and_reads_every_file() {
    let bench = Bench::new(1 << 30);
    let store = bench.open();
    let due = store.status().unwrap().scrubbing.due_at.unwrap();
    assert_eq!(due, time::parse("2026-03-31T12:02:00Z").unwrap());
    bench.step(&store, 29 * DAY_MS);
    bench.step(&store, 1_000);
    assert_eq!((progress(&store), store.status().unwrap().scrub.last), (None, None));
    let reads = |path: &str| {
        let trace = bench.disk.trace();
        trace.iter().filter(|entry| entry.kind == OpKind::Read && &*entry.path == path).count()
    };
    let files = bench.files(&store);
    assert!(files.iter().any(|path| path.starts_with("search/")), "{files:?}");
    let before: Vec<usize> = files.iter().map(|path| reads(path)).collect();
    let journal = reads("journal.0") + reads("journal.1");
    bench.to_end(&store);
    for (path, before) in files.iter().zip(before) {
        assert!(reads(path) > before, "{path} was not read");
    }
    assert!(reads("journal.0") + reads("journal.1") > journal);
    let status = store.status().unwrap();
    let last = status.scrub.last.unwrap();
    assert_eq!((last.result, last.findings), (OutcomeResult::Succeeded, 0), "{last:?}");
    assert!(last.message.contains(&format!("{} files", files.len())), "{last:?} {files:?}");
    // The next one is due a period after the begin of this one.
    let due = status.scrubbing.due_at.unwrap();
    assert!(due > status.time + chrono::Duration::days(29), "{due}");
    assert!(status.attention.iter().all(|item| item.code == AttentionCode::BackupOverdue));
}

#[test]
fn a_flipped_bit_in_each_kind_of_file_is_found() {
    let mut tried = BTreeSet::new();
    for number in 0.. {
        let bench = Bench::new(1 << 30);
        let store = bench.open();
        let mut paths = vec!["records.redb".to_owned(), "FORMAT".to_owned()];
        paths.extend(bench.files(&store));
        let Some(path) = paths.get(number).cloned() else { break };
        tried.insert(path.rsplit(['.', '/']).next().unwrap_or_default().to_owned());
        let bytes = read_file(&bench.disk, &path, 1 << 30).unwrap();
        if path == "records.redb" {
            // Leaves that opening does not read, and earlier states of them.
            let found = bytes.windows(4).enumerate().filter(|(_, window)| *window == b"P-27");
            found.for_each(|(at, _)| flip(&bench.disk, &path, at as u64));
        } else {
            flip(&bench.disk, &path, bytes.len() as u64 / 2);
        }
        bench.to_end(&store);
        let status = store.status().unwrap();
        let last = status.scrub.last.unwrap();
        assert_eq!(last.result, OutcomeResult::Damaged, "{path}: {last:?}");
        assert!(last.message.contains(&path), "{path}: {last:?}");
        let item = status.attention.iter().find(|item| item.code == AttentionCode::Damage);
        assert!(item.unwrap().problem.contains(&path), "{path}: {:?}", status.attention);
    }
    let kinds = ["redb", "FORMAT", "parquet", "summary", "fast", "store", "term"];
    assert!(kinds.iter().all(|kind| tried.contains(*kind)), "{tried:?}");
}

/// Two pages are damaged far from each other. The scrub tells both, and everything behind them is
/// read.
#[test]
fn a_scrub_goes_on_behind_damaged_pages() {
    let bench = Bench::new(1 << 30);
    let options = || {
        let options = StoreOptions::default().maintenance_thread(false).seed(Some(1));
        let options = options.shared_clock(bench.clock.clone()).scrub_bytes_per_s(bench.rate);
        options.record_cache_bytes(0).open_on(Arc::new(bench.disk.clone())).unwrap()
    };
    let store = options();
    let product = |number| CreateProductRequest {
        part_number: format!("row {number:04}"),
        name: Some("n".repeat(400)),
        ..Default::default()
    };
    ada(&store).create_products((0..400).map(product).collect()).unwrap().require_all().unwrap();
    store.close().unwrap();
    let store = options();
    let file = bench.disk.open("records.redb", Mode::Read).unwrap();
    let bytes = read_file(&bench.disk, "records.redb", 1 << 30).unwrap();
    let pages = crate::records::salvage::page_map(&*file);
    for text in [b"row 0100", b"row 0300"] {
        let page = pages.iter().find(|page| {
            let place = page.place.start as usize..page.place.end as usize;
            page.entries.iter().any(|(space, _)| *space == Space::Records)
                && bytes[place].windows(text.len()).any(|part| part == text)
        });
        flip(&bench.disk, "records.redb", page.unwrap().place.start + 100);
    }
    let read = || store.status().unwrap().scrub.last.unwrap();
    bench.to_end(&store);
    let last = read();
    assert_eq!((last.result, last.findings), (OutcomeResult::Damaged, 2), "{last:?}");
    assert!(last.message.contains("keys between "), "{last:?}");
}

#[test]
fn damage_of_the_journal_is_found() {
    let bench = Bench::new(1 << 30);
    let store = bench.open();
    bench.step(&store, 31 * DAY_MS);
    // The step before gave no allowance yet, so that the next one reads everything.
    let session = ada(&store);
    let requests = vec![CreateProductRequest::new("journalled")];
    session.create_products(requests).unwrap().require_all().unwrap();
    let (mut found, names) = (None, ["journal.0", "journal.1"]);
    for name in names {
        let bytes = read_file(&bench.disk, name, 1 << 30).unwrap();
        let at = bytes.windows(10).rposition(|window| window == b"journalled");
        found = at.map(|at| (name, at as u64)).or(found);
    }
    let (name, at) = found.unwrap();
    flip(&bench.disk, name, at);
    let scrub = || {
        store.upkeep().scrubber.step(store.engine(), &store.upkeep().keeper, &Control::default())
    };
    for _ in 0..100 {
        bench.clock.advance_ms(1_000);
        if scrub().unwrap() {
            break;
        }
    }
    let last = store.status().unwrap().scrub.last.unwrap();
    assert!(last.message.contains(name), "{last:?}");
}

#[test]
fn the_rate_bounds_what_a_step_reads() {
    const RATE: u64 = 20_000;
    let bench = Bench::new(RATE);
    let store = bench.open();
    bench.step(&store, 31 * DAY_MS);
    let begun = store.status().unwrap().time;
    let (mut read, mut steps) = (0, 0);
    while let Some(now) = progress(&store) {
        let seconds = (store.status().unwrap().time - begun).num_seconds() as u64 + 1;
        // A block of a content is read as a whole, and paid for afterwards.
        assert!(now.bytes <= seconds * RATE + 65_536, "{now:?} after {seconds} s");
        assert!(now.bytes >= read, "{now:?}");
        read = now.bytes;
        steps += 1;
        bench.step(&store, if steps % 3 == 0 { 500 } else { 1_000 });
    }
    assert!(read > 300_000 && steps > 15, "{read} bytes in {steps} steps");
    // A clock that jumps gives a second, not more.
    bench.step(&store, 31 * DAY_MS);
    assert!(progress(&store).unwrap().bytes <= RATE + 65_536);
}

#[test]
fn a_scrub_goes_on_where_the_store_was_closed() {
    let bench = Bench::new(5_000);
    let mut store = bench.open();
    bench.step(&store, 31 * DAY_MS);
    let (mut last, mut closes) = (None::<ScrubProgress>, 0);
    loop {
        bench.step(&store, 1_000);
        let Some(now) = progress(&store) else { break };
        store.close().unwrap();
        store = bench.open();
        assert_eq!(progress(&store), Some(now.clone()));
        // The first step after an open earns nothing: nobody knows for how long it was closed.
        bench.step(&store, 0);
        assert_eq!(progress(&store), Some(now.clone()));
        closes += 1;
        assert!(closes < 500, "{now:?}");
        let is_in_files = !now.part.starts_with("space");
        last = Some(now);
        if is_in_files {
            break;
        }
    }
    assert!(closes > 2 && last.is_some(), "{closes} {last:?}");
    bench.to_end_of_this(&store);
    let status = store.status().unwrap();
    assert_eq!(status.scrub.last.unwrap().result, OutcomeResult::Succeeded);
}

impl Bench {
    fn to_end_of_this(&self, store: &Store) {
        for _ in 0..100_000 {
            if progress(store).is_none() {
                return;
            }
            self.step(store, 1_000);
        }
        panic!("{:?}", progress(store));
    }
}

#[test]
fn a_file_that_goes_while_it_is_read_is_no_damage() {
    let bench = Bench::new(30_000);
    let store = bench.open();
    bench.step(&store, 31 * DAY_MS);
    while progress(&store).is_some_and(|now| now.part != "files") {
        bench.step(&store, 1_000);
    }
    bench.step(&store, 1_000);
    let session = ada(&store);
    let files = session.query_files(crate::files::QueryFilesRequest::new()).unwrap();
    let id = files.available_files[0].id.clone();
    session.delete_file(&id).unwrap();
    drop(session);
    bench.to_end_of_this(&store);
    let last = store.status().unwrap().scrub.last.unwrap();
    assert_eq!(last.result, OutcomeResult::Succeeded, "{last:?}");
}

#[test]
fn a_scrub_that_is_too_slow_is_told_and_a_period_of_none_reads_nothing() {
    let bench = Bench::new(10);
    let store = bench.open();
    bench.step(&store, 31 * DAY_MS);
    bench.step(&store, 31 * DAY_MS);
    let codes: Vec<_> = store.status().unwrap().attention.iter().map(|item| item.code).collect();
    assert!(codes.contains(&AttentionCode::ScrubLate), "{codes:?}");
    drop(store);
    let options = StoreOptions::default().maintenance_thread(false).scrub_days(0);
    let options = options.shared_clock(bench.clock.clone());
    let store = options.open_on(Arc::new(bench.disk.clone())).unwrap();
    bench.step(&store, 31 * DAY_MS);
    let before = progress(&store);
    bench.step(&store, 1_000);
    assert_eq!(progress(&store), before);
    assert_eq!(store.status().unwrap().scrubbing.due_at, None);
}

#[test]
fn a_clock_that_was_set_back_begins_the_period_anew() {
    let bench = Bench::new(1 << 30);
    let store = bench.open();
    bench.to_end(&store);
    bench.clock.advance_ms(-300 * DAY_MS);
    bench.step(&store, 0);
    let due = store.status().unwrap().scrubbing.due_at.unwrap();
    let now = store.engine().clock_now();
    assert_eq!(due, now + chrono::Duration::days(30));
}
