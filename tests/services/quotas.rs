//! Quotas of workspaces: what counts, what is refused, and that the count stays exact.

use crate::prelude::*;
use std::io::{self, Read};
use std::sync::atomic::{AtomicU64, Ordering};

fn open(disk: &SharedDisk) -> (Store, Session) {
    let (store, session) = opened(
        Store::options().maintenance_thread(false).seal_rows(50).default_workspace("lab"),
        disk.clone(),
    );
    (store, session)
}

/// A part number that no other product of the process has.
fn part_number() -> String {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    format!("P{}", NEXT.fetch_add(1, Ordering::Relaxed))
}

/// Creates a product; the name of the error where it is refused.
fn product(session: &Session, workspace: &str) -> Option<String> {
    let request = read(&json!({ "partNumber": part_number(), "workspace": workspace }));
    let made = serde_json::to_value(session.create_products(vec![request]).unwrap()).unwrap();
    made.pointer("/error/innerErrors/0/name").and_then(Value::as_str).map(str::to_owned)
}

fn upload(session: &Session, workspace: &str, len: usize) -> stationdb::Result<()> {
    let request = read(&json!({ "name": "f", "workspace": workspace }));
    let bytes = vec![7; len];
    session.upload_file(&mut bytes.as_slice(), request, &Control::default()).map(drop)
}

fn table(session: &Session, workspace: &str) -> TableId {
    let columns = json!([{ "name": "t", "dataType": "INT64", "columnType": "INDEX" }]);
    let request: CreateTableRequest = read(&json!({ "columns": columns, "workspace": workspace }));
    session.create_table(request).unwrap()
}

fn append(session: &Session, id: &TableId, rows: i64) -> stationdb::Result<()> {
    let data: Vec<_> = (0..rows).map(|row| vec![Some(row.to_string())]).collect();
    let frame = DataFrame::new().data(data);
    session.append_table_data(id, AppendTableDataRequest::new().frame(frame))
}

fn used(quota: &Quota) -> (u64, u64, u64) {
    (quota.record_count, quota.content_bytes, quota.row_count)
}

fn exceeded(result: stationdb::Result<()>) {
    let error = result.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::LimitExceeded, "{error}");
    assert_eq!(error.api_error().name.as_deref(), Some("Workspaces.QuotaExceeded"), "{error}");
}

#[test]
fn what_is_above_a_quota_is_refused_and_the_rest_goes_on() {
    let (_store, session) = open(&disk());
    // What was there before counts.
    assert_eq!(product(&session, "lab"), None);
    upload(&session, "lab", 100).unwrap();
    upload(&session, "lab", 5_000_000).unwrap();
    let rows = table(&session, "lab");
    append(&session, &rows, 30).unwrap();
    let quota = session
        .set_quota(
            SetQuotaRequest::new("lab").records_max(6).content_bytes_max(5_000_150).rows_max(60),
        )
        .unwrap();
    assert_eq!(used(&quota), (4, 5_000_100, 30));

    assert_eq!(product(&session, "lab"), None);
    exceeded(upload(&session, "lab", 51));
    upload(&session, "lab", 50).unwrap();
    exceeded(append(&session, &rows, 31));
    append(&session, &rows, 30).unwrap();
    let refused = product(&session, "lab");
    assert_eq!(refused.as_deref(), Some("Workspaces.QuotaExceeded"));
    exceeded(upload(&session, "lab", 0));
    assert_eq!(used(&session.get_quota("lab").unwrap()), (6, 5_000_150, 60));
    // Another workspace has no bounds, and changes of what is there go on.
    assert_eq!(product(&session, "other"), None);
    let change = json!({ "name": "renamed" });
    session.modify_table(&rows, read(&change)).unwrap();

    // A lower bound refuses only what grows; deletes make room.
    session.set_quota(SetQuotaRequest::new("lab").records_max(2)).unwrap();
    append(&session, &rows, 100).unwrap();
    assert!(product(&session, "lab").is_some());
    session.delete_table(&rows).unwrap();
    assert_eq!(used(&session.get_quota("lab").unwrap()), (5, 5_000_150, 0));
    assert!(product(&session, "lab").is_some());
    session.delete_quota("lab").unwrap();
    assert_eq!(product(&session, "lab"), None);
    assert_eq!(session.get_quota("lab").unwrap_err().kind(), ErrorKind::NotFound);
    assert_eq!(session.delete_quota("lab").unwrap_err().kind(), ErrorKind::NotFound);
}

#[test]
fn a_move_counts_in_both_workspaces() {
    let (_store, session) = open(&disk());
    for workspace in ["lab", "full"] {
        session.set_quota(SetQuotaRequest::new(workspace).records_max(1)).unwrap();
    }
    assert_eq!(product(&session, "full"), None);
    let made = session.create_products(vec![read(&json!({ "partNumber": "Q" }))]).unwrap();
    let id = made.products[0].id.clone().unwrap();
    let to = |workspace: &str| {
        let change = json!({ "id": id, "workspace": workspace });
        let answer = session.update_products(vec![read(&change)], false).unwrap();
        serde_json::to_value(answer).unwrap()
    };
    let refused = to("full");
    assert_eq!(refused["error"]["innerErrors"][0]["name"], "Workspaces.QuotaExceeded", "{refused}");
    let count = |workspace: &str| session.get_quota(workspace).unwrap().record_count;
    assert_eq!((count("lab"), count("full")), (1, 1));
    to("elsewhere");
    assert_eq!((count("lab"), count("full")), (0, 1));
    to("lab");
    assert_eq!((count("lab"), count("full")), (1, 1));
}

#[test]
fn a_transaction_is_refused_as_a_whole() {
    let (_store, session) = open(&disk());
    session.set_quota(SetQuotaRequest::new("lab").content_bytes_max(10)).unwrap();
    let request = || read(&json!({ "name": "f" }));
    let error = session
        .transaction(|tx| {
            tx.upload_file(&mut [0_u8; 8].as_slice(), request(), &Control::default())?;
            tx.upload_file(&mut [0_u8; 8].as_slice(), request(), &Control::default())
        })
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::LimitExceeded, "{error}");
    assert_eq!(used(&session.get_quota("lab").unwrap()), (0, 0, 0));
}

#[test]
fn bad_quotas_are_refused() {
    let (_store, session) = open(&disk());
    let kind = |request| session.set_quota(request).unwrap_err().kind();
    assert_eq!(kind(SetQuotaRequest::new(" ").rows_max(1)), ErrorKind::InvalidArgument);
    assert_eq!(kind(SetQuotaRequest::new("lab")), ErrorKind::InvalidArgument);
    let long = "x".repeat(stationdb::faults::limits::WORKSPACE_BYTES + 1);
    assert_eq!(kind(SetQuotaRequest::new(long).rows_max(1)), ErrorKind::LimitExceeded);
    let negative = json!({ "workspace": "lab", "rowsMax": -1 });
    let negative = from_json::<SetQuotaRequest>(negative.to_string().as_bytes()).unwrap_err();
    assert_eq!(negative.kind(), ErrorKind::InvalidArgument);
}

#[test]
fn quotas_are_listed_by_workspace() {
    let (_store, session) = open(&disk());
    // A quota does not ask the registry.
    session.create_workspace(CreateWorkspaceRequest::new("Registered").id("a")).unwrap();
    for workspace in ["c", "a", "b"] {
        session.set_quota(SetQuotaRequest::new(workspace).rows_max(5)).unwrap();
    }
    let mut seen = Vec::new();
    let mut request = ListQuotasRequest::new().take(2);
    loop {
        let page = session.list_quotas(request.clone()).unwrap();
        seen.extend(page.quotas.into_iter().map(|quota| quota.workspace));
        let Some(token) = page.continuation_token else { break };
        request = request.continuation_token(token);
    }
    assert_eq!(seen, ["a", "b", "c"]);
}

/// Bytes that are counted as they are taken; `at_half` is called once half of them are.
struct Counted<'s> {
    len: usize,
    taken: usize,
    at_half: Option<Box<dyn FnOnce() + 's>>,
}

fn counted(len: usize) -> Counted<'static> {
    Counted { len, taken: 0, at_half: None }
}

impl Read for Counted<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = buffer.len().min(self.len - self.taken).min(64 * 1024);
        buffer[..count].fill(7);
        self.taken += count;
        if self.taken > self.len / 2 {
            self.at_half.take().into_iter().for_each(|call| call());
        }
        Ok(count)
    }
}

#[test]
fn an_upload_without_room_is_refused_before_all_of_it_has_come() {
    const ROOM: usize = 1_000_000;
    const LONG: usize = 20_000_000;
    let (_store, session) = open(&disk());
    let control = Control::default();
    let file = || read(&json!({ "name": "f", "workspace": "lab" }));
    session.set_quota(SetQuotaRequest::new("lab").content_bytes_max(ROOM as u64)).unwrap();
    let early = |source: &Counted<'_>| assert!(source.taken < ROOM + 200_000, "{}", source.taken);

    let mut source = counted(LONG);
    exceeded(session.upload_file(&mut source, file(), &control).map(drop));
    early(&source);
    let mut source = counted(LONG);
    let refused = session.transaction(|tx| tx.upload_file(&mut source, file(), &control));
    exceeded(refused.map(drop));
    early(&source);

    // A chunk counts with the chunks before it, and not with the one that it replaces.
    let chunk = stationdb::faults::limits::UPLOAD_CHUNK_BYTES as usize;
    session.set_quota(SetQuotaRequest::new("lab").content_bytes_max(chunk as u64 + 10)).unwrap();
    let upload = session.start_upload_session(Some("lab".to_owned())).unwrap().id.into();
    let send = |index, source: &mut Counted<'_>| {
        session.append_to_upload_session(&upload, index, source, index > 1, &control)
    };
    send(1, &mut counted(chunk)).unwrap();
    send(1, &mut counted(chunk)).unwrap();
    let mut source = counted(chunk);
    exceeded(send(2, &mut source));
    early(&source);
    send(2, &mut counted(10)).unwrap();
    session.cancel_upload_session(&upload).unwrap();
    session.set_quota(SetQuotaRequest::new("lab").content_bytes_max(ROOM as u64)).unwrap();

    // Packages; what is no package is not looked at. One that replaces another is judged by its
    // commit, which knows how much the other one leaves.
    let feed = json!({ "name": "f", "platform": "NI_LINUX_RT", "workspace": "lab" });
    let feed = session.create_feed(read(&feed)).unwrap().id;
    let mut source = counted(LONG);
    let name = Some("a.deb");
    exceeded(session.upload_package_content(&feed, &mut source, name, false, &control).map(drop));
    early(&source);
    let replaced = session.upload_package_content(&feed, &mut counted(LONG), name, true, &control);
    assert_eq!(replaced.unwrap_err().api_error().name.as_deref(), Some("Feeds.InvalidPackage"));
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("b.deb");
    std::fs::write(&path, vec![7; ROOM + 1]).unwrap();
    exceeded(session.upload_package(&feed, &path, false, &control).map(drop));

    // Content that was written before its workspace is known.
    let mut content = session.write_file(&control).unwrap();
    io::copy(&mut counted(ROOM + 1), &mut content).unwrap();
    exceeded(session.commit_file(content, file()).map(drop));

    // Others make room meanwhile.
    let mut held = counted(ROOM - 8_000);
    let held = session.upload_file(&mut held, file(), &control).unwrap();
    let mut source = counted(10_000);
    source.at_half = Some(Box::new(|| session.delete_file(&held).unwrap()));
    session.upload_file(&mut source, file(), &control).unwrap();
    assert_eq!(session.get_quota("lab").unwrap().content_bytes, 10_000);

    // Without room for one more record nothing is read.
    session.set_quota(SetQuotaRequest::new("lab").records_max(1)).unwrap();
    let mut source = counted(LONG);
    exceeded(session.upload_file(&mut source, file(), &control).map(drop));
    assert_eq!(source.taken, 0);
    // Another workspace has room.
    session
        .upload_file(&mut source, read(&json!({ "name": "f", "workspace": "other" })), &control)
        .unwrap();
}

/// Random writes of several kinds: after each, the row that the writes keep equals a count of all
/// records, also after reopening.
#[test]
fn the_count_stays_exact() {
    let workspaces = ["lab", "other", "third"];
    for seed in 0..8 {
        let disk = disk();
        let (mut store, mut session) = open(&disk);
        let mut random = Random::new(seed);
        let mut pick = |below: u64| random.next_u64() % below;
        session.set_quota(SetQuotaRequest::new("lab").records_max(9).rows_max(200)).unwrap();
        session.set_quota(SetQuotaRequest::new("other").content_bytes_max(400)).unwrap();
        let (mut tables, mut products, mut files) = (Vec::new(), Vec::new(), Vec::new());
        for step in 0..60 {
            let workspace = workspaces[pick(3) as usize];
            match pick(9) {
                0 => {
                    let columns =
                        json!([{ "name": "t", "dataType": "INT64", "columnType": "INDEX" }]);
                    let request = json!({ "columns": columns, "workspace": workspace });
                    tables.extend(session.create_table(read(&request)).ok());
                }
                1 | 2 => {
                    if let Some(id) = tables.get(pick(4) as usize) {
                        let _ = append(&session, id, pick(80) as i64 + 1);
                    }
                }
                3 if !tables.is_empty() => {
                    let id = tables.swap_remove(pick(tables.len() as u64) as usize);
                    session.delete_table(&id).unwrap();
                }
                4 => {
                    let request = json!({ "partNumber": part_number(), "workspace": workspace });
                    let made = session.create_products(vec![read(&request)]).unwrap();
                    products.extend(made.products.into_iter().filter_map(|made| made.id));
                }
                5 if !products.is_empty() => {
                    let id = &products[pick(products.len() as u64) as usize];
                    let change = json!({ "id": id, "workspace": workspace });
                    let _ = session.update_products(vec![read(&change)], false).unwrap();
                }
                6 => {
                    let request = read(&json!({ "name": "f", "workspace": workspace }));
                    let bytes = vec![1; pick(90) as usize];
                    let control = Control::default();
                    files
                        .extend(session.upload_file(&mut bytes.as_slice(), request, &control).ok());
                }
                7 if !files.is_empty() => {
                    let id = files.swap_remove(pick(files.len() as u64) as usize);
                    session.delete_file(&id).unwrap();
                }
                8 if pick(3) == 0 => {
                    drop(session);
                    store.close().unwrap();
                    (store, session) = open(&disk);
                    store.maintain(&Control::default()).unwrap();
                }
                _ => {}
            }
            for workspace in ["lab", "other"] {
                let kept = session.get_quota(workspace).unwrap();
                // Without its row, all records are counted again.
                let counted = session
                    .transaction(|tx| {
                        tx.delete_quota(workspace)?;
                        tx.set_quota(SetQuotaRequest::new(workspace).rows_max(1))?;
                        let counted = tx.get_quota(workspace)?;
                        Err::<(), _>(stationdb::Error::invalid(format!("{:?}", used(&counted))))
                    })
                    .unwrap_err();
                assert!(
                    counted.message().contains(&format!("{:?}", used(&kept))),
                    "seed {seed}, step {step}, {workspace}: {:?}, {counted}",
                    used(&kept)
                );
                assert!(kept.record_count <= 9 || workspace == "other");
                assert!(kept.content_bytes <= 400 || workspace == "lab");
            }
        }
        let report = store.verify(VerifyLevel::Checksums, &Control::default()).unwrap();
        assert!(report.is_sound(), "{:?}", report.findings);
    }
}
