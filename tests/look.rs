//! Processes that look into a store while another one writes it, and is killed.

#[path = "common/sizes.rs"]
mod sizes;

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, Instant};

use stationdb::files::{FileService, GetFilesRequest, UploadFileRequest};
use stationdb::products::{CreateProductRequest, ProductService};
use stationdb::tables::{
    AppendTableDataRequest, Column, ColumnType, CreateTableRequest, DataFrame, DataType,
    ListTablesRequest, TableId, TableService,
};
use stationdb::{BatchAnswer, Control, ErrorKind, Identity, Session, Store, VerifyLevel};

/// Set for the child: the directory of the store, and the bytes of its memory table.
const WRITER: &str = "STATIONDB_LOOK_WRITER";
const MEMORY: &str = "STATIONDB_LOOK_MEMORY";
/// Set for the child: the directory that it looks into.
const LOOKER: &str = "STATIONDB_LOOK_LOOKER";
const SAID: &str = "done ";
/// Memory tables, one owner after the other: most commits only in the journal, checkpoints all the
/// time, and each commit one of the record file.
const MEMORIES: [usize; 3] = [32 << 20, 20_000, 0];
/// Looks into one store, and at one of its owners.
const LOOKS_OF_STORE: u64 = 48;
const LOOKS_OF_OWNER: u64 = 8;
const ROWS: i64 = 5;
const FILE_BYTES: usize = 30_000;

fn say(number: i64) {
    // In one write, past the capture of the test harness.
    std::io::stdout().lock().write_all(format!("{SAID}{number}\n").as_bytes()).unwrap();
    std::io::stdout().flush().unwrap();
}

fn ada(store: &Store) -> Session {
    store.session(Identity::user("ada"))
}

fn content(number: i64) -> Vec<u8> {
    (0..FILE_BYTES as i64).map(|at| (at * 31 + number * 7) as u8).collect()
}

fn table(session: &Session) -> Option<(TableId, i64)> {
    let table = session.list_tables(ListTablesRequest::default()).unwrap().tables.pop()?;
    Some((table.id?, table.row_count.unwrap()))
}

/// The number of steps that the store has: each is one product and `ROWS` rows, in one commit.
fn steps(session: &Session) -> i64 {
    let page = session.get_products(None, Some(0), true).unwrap();
    page.total_count.unwrap().try_into().unwrap()
}

/// One commit with a product and rows, and every third time a file instead of the one before.
fn step(session: &Session, table: &TableId, number: i64) {
    session
        .transaction(|tx| {
            let product = CreateProductRequest::new(format!("P{number}"));
            tx.create_products(vec![product])?.into_result().map(drop)?;
            let data: Vec<_> =
                (0..ROWS).map(|at| vec![Some((number * ROWS + at).to_string())]).collect();
            let frame = Some(DataFrame::new().data(data));
            tx.append_table_data(table, AppendTableDataRequest::new().maybe_frame(frame))
        })
        .unwrap();
    if number % 3 == 0 {
        let files = session.get_files(GetFilesRequest::default()).unwrap().available_files;
        let request = UploadFileRequest::new().name(number.to_string());
        let bytes = content(number);
        session.upload_file(&mut bytes.as_slice(), request, &Control::default()).unwrap();
        files.into_iter().for_each(|file| session.delete_file(&file.id).unwrap());
    }
}

fn new_table(session: &Session) -> TableId {
    let column = Column::new("t", DataType::Int64).column_type(ColumnType::Index);
    let request = CreateTableRequest::new([column]);
    session.create_table(request).unwrap()
}

/// Not a separate test: the owner, which writes until it is killed.
#[test]
fn child_that_writes() {
    let Ok(directory) = std::env::var(WRITER) else { return };
    let memory = std::env::var(MEMORY).unwrap().parse().unwrap();
    let options = Store::options().seal_rows(40).small_blob_bytes(1_000).memory_table_bytes(memory);
    let store = options.open(directory).unwrap();
    let session = ada(&store);
    let table = table(&session).map_or_else(|| new_table(&session), |(id, _)| id);
    let mut number = steps(&session);
    loop {
        step(&session, &table, number);
        number += 1;
        say(number);
    }
}

/// Not a separate test: a process that looks until it is killed.
#[test]
fn child_that_looks() {
    let Ok(directory) = std::env::var(LOOKER) else { return };
    say(0);
    loop {
        let view = Store::look(&directory).unwrap();
        assert!(table(&ada(&view)).is_some());
    }
}

fn child(test: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["--exact", test, "--nocapture", "--test-threads=1"])
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    command
}

fn numbers(output: ChildStdout) -> impl Iterator<Item = i64> {
    BufReader::new(output)
        .lines()
        .map_while(Result::ok)
        .filter_map(|line| line.rsplit_once(SAID).and_then(|(_, number)| number.parse().ok()))
}

/// The owner, and the number of steps that it has acknowledged.
struct Owner {
    child: Child,
    acked: Arc<AtomicI64>,
    output: std::thread::JoinHandle<()>,
}

impl Owner {
    fn start(path: &Path, memory: usize) -> Self {
        let mut child = child("child_that_writes");
        let mut child = child.env(WRITER, path).env(MEMORY, memory.to_string()).spawn().unwrap();
        let mut output = numbers(child.stdout.take().unwrap());
        let acked = Arc::new(AtomicI64::new(output.next().unwrap()));
        let seen = acked.clone();
        let output = std::thread::spawn(move || {
            output.for_each(|number| seen.store(number, Ordering::SeqCst));
        });
        Self { child, acked, output }
    }

    fn kill(mut self) -> i64 {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
        self.output.join().unwrap();
        self.acked.load(Ordering::SeqCst)
    }
}

/// Checks that a view shows one commit, which has at least `least` steps. Returns its steps.
fn check(view: &Store, least: i64) -> i64 {
    let session = ada(view);
    let steps = steps(&session);
    assert!(steps >= least, "{steps} steps are there, and {least} were acknowledged");
    assert_eq!(table(&session).unwrap().1, steps * ROWS, "rows and records of different commits");
    let files = session.get_files(GetFilesRequest::default()).unwrap().available_files;
    assert!(!files.is_empty(), "each file is there until the next one is");
    for file in files {
        let mut bytes = Vec::new();
        session.download_file(&file.id, &mut bytes, &Control::default()).unwrap();
        assert!(bytes == content(file.properties["Name"].parse().unwrap()), "another content");
    }
    let report = view.verify(VerifyLevel::Checksums, &Control::default()).unwrap();
    assert!(report.is_sound(), "{:?}", report.findings);
    steps
}

fn private_copies(path: &Path) -> usize {
    path.join("views").read_dir().map_or(0, Iterator::count)
}

#[test]
fn each_look_beside_a_writer_shows_one_commit() {
    let mut looked = 0;
    while looked < sizes::size("looks") {
        // A new store: the time of a check grows with the store.
        looked += looks_into_one_store(sizes::size("looks") - looked);
    }
    println!("counted: {looked} looks");
}

/// Looks into a new store beside one owner after the other. Returns the number of looks.
fn looks_into_one_store(most: u64) -> u64 {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store");
    let (mut looked, mut seen, mut owners) = (0, 0, 0);
    while looked < most.min(LOOKS_OF_STORE) {
        let owner = Owner::start(&path, MEMORIES[owners % MEMORIES.len()]);
        owners += 1;
        for _ in 0..LOOKS_OF_OWNER {
            let least = owner.acked.load(Ordering::SeqCst).max(seen);
            let view = Store::look(&path).unwrap();
            // The owner goes on: what it merges and deletes stays in the view.
            std::thread::sleep(Duration::from_millis(looked % 20));
            seen = check(&view, least);
            looked += 1;
        }
        let acked = owner.kill();
        // Nobody has the store open now.
        seen = check(&Store::look(&path).unwrap(), acked.max(seen));
    }
    assert_eq!(private_copies(&path), 0);
    assert_eq!(check(&Store::open(&path).unwrap(), seen), seen);
    assert!(seen > owners as i64 * 3, "the owners hardly wrote anything: {seen}");
    looked
}

#[test]
fn a_killed_looker_leaves_nothing_that_lasts() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store");
    let owner = Owner::start(&path, MEMORIES[1]);
    for kill in 0..6 {
        let mut looker = child("child_that_looks").env(LOOKER, &path).spawn().unwrap();
        let mut output = numbers(looker.stdout.take().unwrap());
        assert_eq!(output.next(), Some(0));
        std::thread::sleep(Duration::from_millis(7 * kill));
        looker.kill().unwrap();
        looker.wait().unwrap();
        let least = owner.acked.load(Ordering::SeqCst);
        let view = Store::look(&path).unwrap();
        assert_eq!(private_copies(&path), 1, "the copies of killed processes are removed");
        check(&view, least);
    }
    // The owner is not held up by killed processes.
    let acked = owner.acked.load(Ordering::SeqCst);
    let until = Instant::now() + Duration::from_secs(60);
    while owner.acked.load(Ordering::SeqCst) < acked + 20 {
        assert!(Instant::now() < until, "the owner stands still");
        std::thread::sleep(Duration::from_millis(5));
    }
    owner.kill();
}

/// Windows and macOS take names that differ by case alone for one name.
#[test]
fn no_two_names_of_a_store_with_a_view_differ_by_case_alone() {
    let directory = tempfile::tempdir().unwrap();
    let _owner = Store::open(directory.path()).unwrap();
    let _view = Store::look(directory.path()).unwrap();
    assert_eq!(private_copies(directory.path()), 1);
    let entries = directory.path().read_dir().unwrap();
    let names: Vec<_> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    let distinct: BTreeSet<_> = names.iter().map(|name| name.to_lowercase()).collect();
    assert_eq!(distinct.len(), names.len(), "{names:?}");
}

#[test]
fn a_view_takes_no_writes_and_outlives_its_owner() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store");
    let write = |session: &Session, name: &str| {
        let product = CreateProductRequest::new(name.to_owned());
        session.create_products(vec![product]).and_then(|answer| answer.into_result().map(drop))
    };
    assert_eq!(Store::look(&path).unwrap_err().kind(), ErrorKind::NotFound);
    std::fs::create_dir(&path).unwrap();
    assert_eq!(Store::look(&path).unwrap_err().kind(), ErrorKind::NotAStore);
    assert_eq!(path.read_dir().unwrap().count(), 0, "a refused look changes nothing");
    let owner = Store::open(&path).unwrap();
    write(&ada(&owner), "one").unwrap();
    let view = Store::look(&path).unwrap();
    let refused = write(&ada(&view), "two").unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Unsupported, "{refused}");
    assert!(refused.message().contains("Store::open"), "{refused}");
    let mut view = view;
    assert_eq!(view.compact().unwrap_err().kind(), ErrorKind::Unsupported);
    write(&ada(&owner), "three").unwrap();
    assert_eq!(steps(&ada(&view)), 1, "a view stays at its commit");
    assert_eq!(steps(&ada(&Store::look(&path).unwrap())), 2);
    owner.close().unwrap();
    assert_eq!(steps(&ada(&view)), 1);
    let session = ada(&view);
    assert_eq!(view.close().unwrap_err().kind(), ErrorKind::Conflict);
    drop(session);
    assert_eq!(private_copies(&path), 0);
    // A store that an earlier build has closed has no gate.
    std::fs::remove_file(path.join("LOOK")).unwrap();
    assert_eq!(steps(&ada(&Store::look(&path).unwrap())), 2);
}
