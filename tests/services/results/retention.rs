//! The retention of results: what a policy keeps, compared with a plain list; the tables and files
//! that go along; and maintenance.

use super::*;

fn policy(keep: impl IntoIterator<Item = KeepResults>) -> ResultRetention {
    ResultRetention::new(keep.into_iter().collect::<Vec<_>>())
}

fn failed() -> KeepResults {
    KeepResults::new().statuses([StatusType::Failed])
}

fn apply(session: &Session, policy: &ResultRetention, dry_run: bool) -> ResultRetentionReport {
    session.apply_result_retention(policy.clone(), dry_run, &control()).unwrap()
}

fn upload(session: &Session, name: &str) -> String {
    let request = UploadFileRequest::new().name(name);
    session.upload_file(&mut &b"log"[..], request, &control()).unwrap().to_string()
}

fn table(session: &Session, of: Option<&str>) -> String {
    let columns = [Column::new("t", DataType::Int64).column_type(ColumnType::Index)];
    let mut request = CreateTableRequest::new(columns);
    request.test_result_id = of.map(str::to_owned);
    session.create_table(request).unwrap().to_string()
}

fn tables(session: &Session) -> BTreeSet<String> {
    let page = session.query_tables(QueryTablesRequest::new().filter("")).unwrap();
    page.tables.into_iter().filter_map(|table| table.id).map(|id| id.to_string()).collect()
}

fn files(session: &Session) -> BTreeSet<String> {
    let page = session.get_files(GetFilesRequest::new()).unwrap();
    page.available_files.into_iter().map(|file| file.id.to_string()).collect()
}

#[test]
fn a_policy_without_a_meaning_is_refused() {
    let store = TestStore::new();
    let session = store.session();
    for (policy, member, kind) in [
        (policy([]), "keep", ErrorKind::InvalidArgument),
        (policy([failed(), KeepResults::new()]), "keep[1]", ErrorKind::InvalidArgument),
        (
            policy([KeepResults::new().newest_of_product(0)]),
            "keep[0].newestOfProduct",
            ErrorKind::InvalidArgument,
        ),
        (
            policy([KeepResults::new().age_seconds(0)]),
            "keep[0].ageSeconds",
            ErrorKind::InvalidArgument,
        ),
        (
            policy([KeepResults::new().age_seconds(u64::MAX)]),
            "keep[0].ageSeconds",
            ErrorKind::LimitExceeded,
        ),
    ] {
        let error = session.apply_result_retention(policy.clone(), true, &control()).unwrap_err();
        assert_eq!((error.kind(), error.place()), (kind, Some(&Place::Member(member.to_owned()))));
        let options = StoreOptions::default().result_retention(policy);
        assert_eq!(options.open_disk(disk()).unwrap_err().kind(), kind, "at the opening");
    }
}

#[test]
fn tables_and_files_go_with_the_last_result_that_names_them() {
    let store = TestStore::new();
    let session = store.session();
    let file = |name: &str| upload(&session, name);
    let (own, both_gone, also_kept, of_product, other) =
        (file("own"), file("gone"), file("kept"), file("product"), file("other"));
    let (t_own, t_shared, t_kept) =
        (table(&session, None), table(&session, None), table(&session, None));
    let made = create(
        &session,
        vec![
            gain("P", "1")
                .file_ids([&own, &both_gone, &also_kept, &of_product])
                .data_table_ids([&t_own, &t_shared, &t_kept]),
            gain("P", "2").file_ids([&both_gone]).data_table_ids([&t_shared]),
            gain("P", "3").status(StatusType::Failed).file_ids([&also_kept]),
            gain("P", "4").status(StatusType::Running).data_table_ids([&t_kept]),
        ],
    );
    let t_of_first = table(&session, Some(id_of(&made[0]).as_str()));
    let t_of_third = table(&session, Some(id_of(&made[2]).as_str()));
    let change = UpdateResultRequest::new().id(id_of(&made[1])).data_table_ids([&t_of_third]);
    session.update_results(vec![change], false, false).unwrap().require_all().unwrap();
    let product = CreateProductRequest::new("Q").file_ids([&of_product]);
    session.create_products(vec![product]).unwrap().require_all().unwrap();
    let step = CreateStepRequest::new().name("s").result_id(id_of(&made[0]).to_string());
    session.create_steps(vec![step.clone(), step], false).unwrap().require_all().unwrap();

    let before = (tables(&session), files(&session));
    let would = apply(&session, &policy([failed()]), true);
    assert_eq!((tables(&session), files(&session)), before, "a dry run deletes nothing");
    assert_eq!(would.ids, [id_of(&made[0]), id_of(&made[1])]);
    let did = apply(&session, &policy([failed()]), false);
    assert_eq!((did.dry_run, would.dry_run), (false, true));
    let mut same = did.clone();
    same.dry_run = true;
    assert_eq!(same, would);
    assert_eq!((did.results, did.steps, did.tables, did.files, did.kept), (2, 2, 3, 2, 2));
    assert_eq!(serials(&session, QueryResultsRequest::new()), "3 4");
    assert_eq!(files(&session), BTreeSet::from([also_kept, of_product, other]));
    assert_eq!(tables(&session), BTreeSet::from([t_kept, t_of_third]));
    assert!(!tables(&session).contains(&t_of_first));
    assert_eq!(session.get_steps(None, Some(0), true).unwrap().total_count, Some(0));
    assert_eq!(apply(&session, &policy([failed()]), false).results, 0);
    store.assert_sound();
}

#[test]
fn tables_and_files_stay_where_the_policy_says_so() {
    let store = TestStore::new();
    let session = store.session();
    let (file, table) = (upload(&session, "f"), table(&session, None));
    create(&session, vec![gain("P", "1").file_ids([&file]).data_table_ids([&table])]);
    let policy = policy([failed()]).keep_files(true).keep_tables(true);
    let report = apply(&session, &policy, false);
    assert_eq!((report.results, report.tables, report.files), (1, 0, 0));
    assert_eq!((tables(&session).len(), files(&session).len()), (1, 1));
    store.assert_sound();
}

#[test]
fn the_policy_of_access_is_asked() {
    let store = TestStore::with(|options| {
        options.access_policy(Rule(|who, service, action| match (who.user_id(), service, action) {
            ("guest", Service::FILES, Action::Delete) => Visibility::None,
            ("guest", _, Action::Delete) => Visibility::workspaces(["open"]),
            ("guest", _, Action::Read) => Visibility::workspaces(["open", "read"]),
            ("guest", ..) => Visibility::None,
            _ => Visibility::All,
        }))
    });
    let session = store.session();
    let guest = store.store.session(Identity::user("guest"));
    let request = UploadFileRequest::new().name("f").workspace("open");
    let file = session.upload_file(&mut &b"log"[..], request, &control()).unwrap().to_string();
    create(
        &session,
        vec![
            gain("P", "open").workspace("open").file_ids([&file]),
            gain("P", "read").workspace("read"),
            gain("P", "hidden").workspace("hidden"),
        ],
    );
    for dry_run in [true, false] {
        let report = apply(&guest, &policy([failed()]), dry_run);
        let counts = (report.results, report.refused, report.kept, report.files);
        assert_eq!(counts, (1, 1, 0, 0), "dry run {dry_run}");
    }
    assert_eq!(serials(&session, QueryResultsRequest::new()), "read hidden");
    assert_eq!(files(&session).len(), 1, "the guest may not delete it");
    store.assert_sound();
}

#[test]
fn maintenance_carries_out_the_policy_of_the_store() {
    let store = TestStore::with(|options| {
        let day = KeepResults::new().age_seconds(86_400);
        let policy = ResultRetention::new([KeepResults::new().statuses([StatusType::Failed]), day]);
        options.result_retention(policy).maintenance_thread(false)
    });
    let session = store.session();
    let file = upload(&session, "f");
    let old: Vec<_> = (0..250).map(|serial| gain("P", &serial.to_string())).collect();
    create(&session, old);
    create(&session, vec![gain("P", "failed").status(StatusType::Failed)]);
    create(&session, vec![gain("P", "with a file").file_ids([&file])]);
    let deleted = || store.store.maintain(&control()).unwrap().results_deleted;
    assert_eq!(deleted(), 0);
    store.clock.advance_ms(86_400_000);
    assert_eq!(deleted(), 0, "exactly one day");
    create(&session, vec![gain("P", "new")]);
    store.clock.advance_ms(1);
    assert_eq!((deleted(), deleted()), (251, 0));
    assert_eq!(serials(&session, QueryResultsRequest::new()), "failed new");
    assert_eq!(files(&session), BTreeSet::new());
    store.assert_sound();
}

/// A result of the model: product, start in seconds, status, and the files that it names.
#[derive(Clone, Debug)]
struct Plain {
    id: TestResultId,
    product: Option<String>,
    start_s: i64,
    status: StatusType,
    files: BTreeSet<usize>,
}

/// Whether an entry keeps a result, read off the list of all.
fn keeps(keep: &KeepResults, all: &[Plain], one: &Plain, now_s: i64) -> bool {
    let is_about = |other: &Plain| {
        keep.statuses.as_ref().is_none_or(|statuses| statuses.contains(&other.status))
            && keep.part_numbers.as_ref().is_none_or(|numbers| {
                other.product.as_ref().is_some_and(|own| numbers.contains(own))
            })
    };
    let newer = all.iter().filter(|other| {
        other.product == one.product
            && is_about(other)
            && (other.start_s, &other.id) > (one.start_s, &one.id)
    });
    is_about(one)
        && keep.age_seconds.is_none_or(|age| now_s - one.start_s <= age as i64)
        && keep.newest_of_product.is_none_or(|newest| (newer.count() as u64) < newest)
}

#[test]
fn random_policies_agree_with_a_plain_list() {
    let statuses = [StatusType::Passed, StatusType::Failed, StatusType::Done, StatusType::Running];
    for seed in 0..25 {
        let mut random = Random::new(seed);
        let mut below = |bound: u64| random.below(bound);
        let store = TestStore::new();
        let session = store.session();
        let start = "2024-03-01T00:00:00Z".parse::<stationdb::chrono::DateTime<_>>().unwrap();
        let names: Vec<String> = (0..6).map(|at| upload(&session, &at.to_string())).collect();
        let mut all = Vec::new();
        let mut requests = Vec::new();
        for _ in 0..(20 + below(40)) {
            let product = Some(["A", "B", "C"][below(3) as usize]).filter(|_| below(6) > 0);
            let (start_s, status) = (-(below(50) as i64), statuses[below(4) as usize]);
            let files: BTreeSet<usize> = (0..below(3)).map(|_| below(6) as usize).collect();
            let mut request = CreateResultRequest::new().program_name("P").status(status);
            request.part_number = product.map(str::to_owned);
            request.started_at = Some(start + stationdb::chrono::TimeDelta::seconds(start_s));
            request.file_ids = Some(files.iter().map(|at| names[*at].clone()).collect());
            requests.push(request);
            let product = product.map(str::to_owned);
            all.push(Plain { id: "".into(), product, start_s, status, files });
        }
        for (plain, made) in all.iter_mut().zip(create(&session, requests)) {
            plain.id = id_of(&made);
        }
        let mut keep = Vec::new();
        for _ in 0..(1 + below(3)) {
            let mut entry = KeepResults::new();
            if below(2) == 0 {
                entry = entry.statuses([statuses[below(4) as usize]]);
            }
            if below(3) == 0 {
                entry = entry.part_numbers(["A", "B"]);
            }
            if below(3) == 0 {
                entry = entry.age_seconds(1 + below(50));
            }
            if below(2) == 0 || entry == KeepResults::new() {
                entry = entry.newest_of_product(1 + below(6));
            }
            keep.push(entry);
        }
        let mut policy = policy(keep.clone());
        if below(3) == 0 {
            policy = policy.part_numbers(["A", "C"]);
        }
        let about: Vec<Plain> = all
            .iter()
            .filter(|plain| {
                let numbers = policy.part_numbers.as_ref();
                numbers
                    .is_none_or(|all| plain.product.as_ref().is_some_and(|own| all.contains(own)))
            })
            .cloned()
            .collect();
        let stays = |plain: &Plain| {
            plain.status == StatusType::Running
                || keep.iter().any(|entry| keeps(entry, &about, plain, 0))
        };
        let gone: BTreeSet<TestResultId> =
            about.iter().filter(|plain| !stays(plain)).map(|plain| plain.id.clone()).collect();
        let named_by = |is_gone: bool| -> BTreeSet<usize> {
            let some = all.iter().filter(|plain| gone.contains(&plain.id) == is_gone);
            some.flat_map(|plain| plain.files.clone()).collect()
        };
        let files_gone = named_by(true).difference(&named_by(false)).count();

        let would = apply(&session, &policy, true);
        assert_eq!(would.ids.iter().cloned().collect::<BTreeSet<_>>(), gone, "{seed} {policy:?}");
        assert_eq!(would.kept as usize, about.len() - gone.len(), "{seed}");
        assert_eq!(would.files as usize, files_gone, "{seed}");
        let did = apply(&session, &policy, false);
        assert_eq!(did.clone().dry_run(true), would, "{seed}");
        let left: BTreeSet<TestResultId> = session
            .query_results(QueryResultsRequest::new())
            .unwrap()
            .results
            .iter()
            .map(id_of)
            .collect();
        let expected = all.iter().map(|plain| plain.id.clone()).filter(|id| !gone.contains(id));
        assert_eq!(left, expected.collect(), "{seed} {policy:?}");
        assert_eq!(files(&session).len(), names.len() - files_gone, "{seed}");
        assert_eq!(apply(&session, &policy, false).results, 0, "nothing is left to do: {seed}");
        store.assert_sound();
    }
}
