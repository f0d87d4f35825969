//! Text search through the service: freshness, visibility, recovery.

use crate::store::tests::prelude::*;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::search::{SearchRequest, SearchResponse};
use crate::session::Identity;

/// A resource with text.
#[derive(Clone, Debug, Default, PartialEq, Resource)]
#[resource(kind = 201, name = "long note", service = "notes", id(Guid), title(title))]
#[fields(title)]
#[text(name(4.0, from(title)), title = 0.1, body = 1.0)]
pub(crate) struct Note {
    /// Id.
    pub id: String,
    /// Title.
    pub title: String,
    /// Body.
    pub body: String,
    /// Workspace.
    pub workspace: String,
}

/// Another resource with text.
#[derive(Clone, Debug, Default, PartialEq, Resource)]
#[resource(kind = 202, name = "label", service = "labels", id(Decimal))]
#[text(name(2.0, from(title)))]
pub(crate) struct Label {
    /// Id.
    pub id: String,
    /// Title.
    pub title: String,
    /// Workspace.
    pub workspace: String,
}

static KINDS: [KindEntry; 2] = [KindEntry::of::<Note>(), KindEntry::of::<Label>()];

fn open_with(disk: &Arc<MemoryDisk>, options: StoreOptions) -> Store {
    open_on(disk.clone(), options)
}

fn open_on(disk: SharedDisk, options: StoreOptions) -> Store {
    let store = options.seed(Some(1)).maintenance_thread(false).open_on(disk).unwrap();
    store.engine().search.set_registry(&KINDS);
    store
}

fn open(disk: &Arc<MemoryDisk>) -> Store {
    open_with(disk, StoreOptions::default())
}

fn write(access: &impl Access, title: &str, body: &str, workspace: &str) -> Result<Note> {
    let mut note = Note {
        title: title.to_owned(),
        body: body.to_owned(),
        workspace: workspace.to_owned(),
        ..Note::default()
    };
    access.write(move |draft| {
        note.id = draft.new_key::<Note>()?.to_id(IdForm::Guid);
        draft.put(&note, What::Created)?;
        Ok(note)
    })
}

fn label(access: &impl Access, title: &str) -> Label {
    let mut label =
        Label { title: title.to_owned(), workspace: "w1".to_owned(), ..Label::default() };
    access
        .write(move |draft| {
            label.id = draft.new_key::<Label>()?.to_id(IdForm::Decimal);
            draft.put(&label, What::Created)?;
            Ok(label)
        })
        .unwrap()
}

fn ask(text: &str) -> SearchRequest {
    SearchRequest { text: Some(text.to_owned()), ..SearchRequest::default() }
}

fn names(access: &impl SearchService, text: &str) -> Vec<String> {
    let response = access.search(SearchRequest { take: Some(1000), ..ask(text) }).unwrap();
    assert_eq!(response.total, Some(response.hits.len() as u64));
    let mut names: Vec<String> = response.hits.into_iter().map(|hit| hit.name).collect();
    names.sort();
    names
}

#[test]
fn a_search_sees_every_write_before_it() {
    let disk = Arc::new(MemoryDisk::new());
    let store = open(&disk);
    let session = ada(&store);
    assert_eq!(names(&session, "amplifier"), Vec::<String>::new());
    let mut note = write(&session, "Amplifier DMM-4065", "low noise", "w1").unwrap();
    assert_eq!(names(&session, "4065"), ["Amplifier DMM-4065"]);
    note.body = "broken".to_owned();
    let changed = note.clone();
    session.write(move |draft| draft.put(&changed, What::Updated)).unwrap();
    assert_eq!(names(&session, "broken"), ["Amplifier DMM-4065"]);
    assert_eq!(names(&session, "noise"), Vec::<String>::new());
    store.maintain(&Control::default()).unwrap();
    assert_eq!(names(&session, "broken"), ["Amplifier DMM-4065"]);
    let id = note.id.clone();
    session.write(move |draft| draft.delete::<Note>(&id)).unwrap();
    assert_eq!(names(&session, "*"), Vec::<String>::new());
}

#[test]
fn a_transaction_searches_its_own_writes_and_leaves_nothing_when_it_fails() {
    let disk = Arc::new(MemoryDisk::new());
    let store = open(&disk);
    let session = ada(&store);
    let before = write(&session, "before", "amplifier", "w1").unwrap();
    let failed: Result<()> = session.transaction(|tx| {
        write(tx, "inside", "amplifier", "w1")?;
        assert_eq!(names(tx, "amplifier"), ["before", "inside"]);
        let id = before.id.clone();
        tx.write(move |draft| draft.delete::<Note>(&id))?;
        assert_eq!(names(tx, "amplifier"), ["inside"]);
        // Other sessions do not see it.
        assert_eq!(names(&session, "amplifier"), ["before"]);
        let service: &dyn SearchService = tx;
        assert_eq!(service.search(ask("amplifier"))?.total, Some(1));
        Err(crate::Error::invalid("taken back"))
    });
    assert!(failed.is_err());
    assert_eq!(names(&session, "amplifier"), ["before"]);
    session.transaction(|tx| write(tx, "kept", "amplifier", "w1")).unwrap();
    assert_eq!(names(&session, "amplifier"), ["before", "kept"]);
}

#[test]
fn reopening_resumes_from_the_checkpoint_or_catches_up() {
    let disk = Arc::new(MemoryDisk::new());
    let store = open(&disk);
    write(&ada(&store), "one", "amplifier", "w1").unwrap();
    assert_eq!(names(&ada(&store), "amplifier"), ["one"]);
    // Closing saves the index.
    drop(store);
    let files = disk.list("search").unwrap();
    assert!(files.iter().any(|file| file.name.starts_with("meta-")));
    let store = open(&disk);
    write(&ada(&store), "two", "amplifier", "w1").unwrap();
    assert_eq!(names(&ada(&store), "amplifier"), ["one", "two"]);
    // Without a clean close, the index resumes at the checkpoint and catches up.
    let copy = Arc::new(MemoryDisk::new());
    copy_all(&disk, &copy, "");
    let store = open(&copy);
    assert_eq!(names(&ada(&store), "amplifier"), ["one", "two"]);
}

fn copy_all(from: &MemoryDisk, to: &MemoryDisk, path: &str) {
    to.create_dir_all(path).unwrap();
    for entry in from.list(path).unwrap() {
        let path =
            if path.is_empty() { entry.name.clone() } else { format!("{path}/{}", entry.name) };
        if entry.is_dir {
            copy_all(from, to, &path);
            continue;
        }
        let mut bytes = vec![0; entry.len as usize];
        from.open(&path, Mode::Read).unwrap().read_exact_at(&mut bytes, 0).unwrap();
        to.open(&path, Mode::CreateNew).unwrap().write_all_at(&bytes, 0).unwrap();
    }
}

#[test]
fn the_index_heals_when_it_is_deleted_damaged_or_cut_off_from_the_log() {
    let disk = Arc::new(MemoryDisk::new());
    let store = open(&disk);
    for number in 0..20 {
        write(&ada(&store), &format!("note {number:02}"), "amplifier", "w1").unwrap();
    }
    assert_eq!(names(&ada(&store), "amplifier").len(), 20);
    drop(store);

    disk.remove_dir_all("search").unwrap();
    let store = open(&disk);
    assert_eq!(names(&ada(&store), "amplifier").len(), 20);
    drop(store);

    for entry in disk.list("search").unwrap() {
        let path = format!("search/{}", entry.name);
        // Recovery replaces the files, so later names of this list may be gone.
        if disk.exists(&path).unwrap() {
            let file = disk.open(&path, Mode::ReadWrite).unwrap();
            let mut byte = [0];
            file.read_exact_at(&mut byte, entry.len / 2).unwrap();
            file.write_all_at(&[byte[0] ^ 4], entry.len / 2).unwrap();
        }
        let store = open(&disk);
        assert_eq!(names(&ada(&store), "amplifier").len(), 20, "{}", entry.name);
    }

    // The log no longer reaches back to the checkpoint.
    let store = open_with(&disk, StoreOptions::default().log_entries_max(2));
    for number in 20..30 {
        write(&ada(&store), &format!("note {number:02}"), "amplifier", "w1").unwrap();
    }
    let session = ada(&store);
    session.write(|draft| crate::session::feed::trim::trim(draft, 0, 1000)).unwrap();
    assert_eq!(names(&ada(&store), "note").len(), 30);
}

#[test]
fn verify_names_damaged_files_of_the_index_and_opening_mends_them() {
    let disk = Arc::new(MemoryDisk::new());
    let store = open(&disk);
    for number in 0..20 {
        write(&ada(&store), &format!("note {number:02}"), "amplifier", "w1").unwrap();
    }
    assert_eq!(names(&ada(&store), "amplifier").len(), 20);
    store.engine().search.save(&ada(&store)).unwrap();
    // The kinds of this test are in no registry that verification uses.
    let verify = |store: &Store, level| -> Vec<String> {
        let report = store.verify(level, &Control::default()).unwrap();
        let files = report.findings.into_iter().map(|finding| finding.file);
        files.filter(|file| file.starts_with("search/")).collect()
    };
    assert_eq!(verify(&store, VerifyLevel::Checksums), [""; 0]);
    let listed: Vec<_> = disk.list("search").unwrap();
    let files = store.verify(VerifyLevel::Headers, &Control::default()).unwrap().files;
    assert!(listed.len() > 3 && files >= listed.len() as u64, "{files}");
    drop(store);
    for entry in listed {
        let path = format!("search/{}", entry.name);
        let image = Arc::new(MemoryDisk::new());
        copy_all(&disk, &image, "");
        let flip = |at: u64| {
            let file = image.open(&path, Mode::ReadWrite).unwrap();
            let mut byte = [0];
            file.read_exact_at(&mut byte, at).unwrap();
            file.write_all_at(&[byte[0] ^ 16], at).unwrap();
        };
        // Opening the store does not open the index, so the damage is still there.
        let store = open(&image);
        for at in [0, entry.len / 2, entry.len - 1] {
            flip(at);
            assert_eq!(verify(&store, VerifyLevel::Checksums), [path.as_str()]);
            assert_eq!(verify(&store, VerifyLevel::Headers), [""; 0]);
            flip(at);
            assert_eq!(verify(&store, VerifyLevel::Checksums), [""; 0]);
        }
        image.open(&path, Mode::ReadWrite).unwrap().set_len(entry.len - 1).unwrap();
        assert_eq!(verify(&store, VerifyLevel::Headers), [path.as_str()]);
        image.remove_file(&path).unwrap();
        assert_eq!(verify(&store, VerifyLevel::Headers), [path.as_str()]);
        assert_eq!(names(&ada(&store), "amplifier").len(), 20, "{path}");
        drop(store);
        let store = open(&image);
        assert_eq!(names(&ada(&store), "amplifier").len(), 20, "{path}");
        store.engine().search.save(&ada(&store)).unwrap();
        assert_eq!(verify(&store, VerifyLevel::Checksums), [""; 0], "{path}");
    }
}

#[test]
fn damage_that_comes_while_the_index_is_open_never_changes_an_answer() {
    let disk = Arc::new(MemoryDisk::new());
    let store = open(&disk);
    for number in 0..60 {
        let body = format!(
            "amplifier {} stage {number}",
            if number % 2 == 0 { "first" } else { "second" }
        );
        write(&ada(&store), &format!("note {number:02}"), &body, "w1").unwrap();
    }
    let answers = |store: &Store| {
        let session = ada(store);
        let words: Vec<Vec<String>> =
            ["amplifier", "\"second stage\"", "not* -first", "name:\"note 07\"", "stage 3*"]
                .iter()
                .map(|text| {
                    let request = SearchRequest { take: Some(100), ..ask(text) };
                    let response =
                        session.search(request).unwrap_or_else(|error| panic!("{text}: {error}"));
                    let mut names: Vec<String> =
                        response.hits.into_iter().map(|hit| hit.name).collect();
                    names.sort();
                    names
                })
                .collect();
        let filters = [
            "title.Contains(\"te 1\")",
            "search(\"\\\"first stage\\\"\") and title.Contains(\"note\")",
        ];
        let found: Vec<Vec<String>> = filters
            .iter()
            .map(|filter| {
                let query = crate::session::Query {
                    filter: Some(filter),
                    take: 100,
                    ..crate::session::Query::default()
                };
                let page = session
                    .read(|view| view.query::<Note>(&query))
                    .unwrap_or_else(|error| panic!("{error}"));
                page.items.into_iter().map(|note| note.title).collect()
            })
            .collect();
        (words, found)
    };
    let expected = answers(&store);
    assert_eq!(expected.0.iter().map(Vec::len).collect::<Vec<_>>(), [60, 30, 30, 1, 11]);
    assert_eq!(expected.1.iter().map(Vec::len).collect::<Vec<_>>(), [10, 30]);
    drop(store);
    let mut noticed = 0;
    for entry in disk.list("search").unwrap() {
        for at in [1, entry.len / 3, entry.len / 2, entry.len - 1] {
            let image = Arc::new(MemoryDisk::new());
            copy_all(&disk, &image, "");
            let store = open(&image);
            // Opens the index, and reads hardly any of it.
            assert_eq!(names(&ada(&store), "nothing"), [""; 0]);
            store.engine().search.forget_blocks();
            let file = image.open(&format!("search/{}", entry.name), Mode::ReadWrite).unwrap();
            let mut byte = [0];
            file.read_exact_at(&mut byte, at).unwrap();
            file.write_all_at(&[byte[0] ^ 1], at).unwrap();
            assert_eq!(answers(&store), expected, "{} at {at}", entry.name);
            let is_rebuilt = !image.exists(&format!("search/{}", entry.name)).unwrap();
            noticed += usize::from(is_rebuilt);
        }
    }
    assert!(noticed >= 4, "{noticed} places were read again");
}

#[test]
fn damage_met_while_searching_heals() {
    let disk = Arc::new(MemoryDisk::new());
    let store = open(&disk);
    for number in 0..40 {
        write(&ada(&store), &format!("note {number:02}"), "amplifier and more", "w1").unwrap();
    }
    assert_eq!(names(&ada(&store), "amplifier").len(), 40);
    store.maintain(&Control::default()).unwrap();
    for entry in disk.list("search").unwrap() {
        let file = disk.open(&format!("search/{}", entry.name), Mode::ReadWrite).unwrap();
        file.set_len(0).unwrap();
    }
    let request = SearchRequest { take: Some(100), ..ask("\"and more\"") };
    assert_eq!(ada(&store).search(request).unwrap().hits.len(), 40);
}

const GUESTS_SEE_W1: Rule = Rule(|who, service, action| match (who.user_id(), service.0, action) {
    ("guest", "labels", _) => Visibility::None,
    ("guest", _, Action::Read) => Visibility::workspaces(["w1"]),
    _ => Visibility::All,
});

#[test]
fn a_caller_finds_and_counts_only_what_the_policy_shows() {
    let disk = Arc::new(MemoryDisk::new());
    let store = open_with(&disk, StoreOptions::default().access_policy(GUESTS_SEE_W1));
    let session = ada(&store);
    write(&session, "open", "amplifier", "w1").unwrap();
    write(&session, "secret", "amplifier", "w2").unwrap();
    label(&session, "amplifier label");
    let guest = store.session(Identity::user("guest"));
    for is_committed in [false, true] {
        let mut request = ask("amplifier");
        request.facets = Some(true);
        let response = guest.search(request.clone()).unwrap();
        assert_eq!(
            response.hits.iter().map(|hit| hit.name.as_str()).collect::<Vec<_>>(),
            ["open"],
            "{is_committed}"
        );
        assert_eq!(response.total, Some(1));
        assert_eq!(response.facets.unwrap().workspaces.len(), 1);
        request.workspaces = vec!["w2".to_owned()];
        assert_eq!(guest.search(request.clone()).unwrap().total, Some(0));
        assert_eq!(session.search(request).unwrap().total, Some(1));
        assert_eq!(guest.search(ask("NOT open")).unwrap().total, Some(0));
        assert_eq!(session.search(ask("amplifier")).unwrap().total, Some(3));
        store.maintain(&Control::default()).unwrap();
    }
}

#[test]
fn pages_facets_snippets_and_refusals() {
    let disk = Arc::new(MemoryDisk::new());
    let store = open(&disk);
    let session = ada(&store);
    for number in 0..30 {
        write(&session, &format!("note {number:02}"), &"ä amplifier ".repeat(1 + number % 3), "w1")
            .unwrap();
    }
    label(&session, "amplifier label");
    let mut request = SearchRequest {
        take: Some(4),
        highlight: Some(true),
        facets: Some(true),
        ..ask("amplifier")
    };
    let mut walked = Vec::new();
    let mut first: Option<SearchResponse> = None;
    loop {
        let page = session.search(request.clone()).unwrap();
        walked.extend(page.hits.iter().map(|hit| hit.id.clone()));
        request.continuation_token = page.continuation_token.clone();
        first.get_or_insert(page);
        if request.continuation_token.is_none() {
            break;
        }
        store.maintain(&Control::default()).unwrap();
    }
    assert_eq!(walked.len(), 31);
    walked.sort();
    walked.dedup();
    assert_eq!(walked.len(), 31);
    let first = first.unwrap();
    assert_eq!(first.total, Some(31));
    let facets = first.facets.unwrap();
    let counts: Vec<(&str, u64)> =
        facets.kinds.iter().map(|facet| (facet.value.as_str(), facet.count)).collect();
    assert_eq!(counts, [("long note", 30), ("label", 1)]);
    let best = &first.hits[0];
    assert_eq!((best.kind.as_str(), best.snippets[0].field.as_str()), ("label", "name"));
    let snippet = &first.hits[1].snippets[0];
    let start = snippet.highlights[0].start as usize;
    assert_eq!(snippet.text.chars().skip(start).take(9).collect::<String>(), "amplifier");

    let kinds = SearchRequest { kinds: vec!["LongNotes".to_owned()], ..ask("amplifier") };
    assert_eq!(session.search(kinds).unwrap().total, Some(30));
    let token =
        session.search(SearchRequest { take: Some(1), ..ask("note") }).unwrap().continuation_token;
    for (request, kind) in [
        (ask("(amplifier"), ErrorKind::InvalidArgument),
        (SearchRequest { take: Some(-1), ..ask("") }, ErrorKind::InvalidArgument),
        (SearchRequest { take: Some(1001), ..ask("") }, ErrorKind::InvalidArgument),
        (SearchRequest { kinds: vec!["chair".into()], ..ask("") }, ErrorKind::InvalidArgument),
        (SearchRequest { fields: vec!["tint".into()], ..ask("") }, ErrorKind::InvalidArgument),
        (SearchRequest { continuation_token: token, ..ask("other") }, ErrorKind::InvalidArgument),
        (ask(&"(".repeat(20)), ErrorKind::LimitExceeded),
    ] {
        assert_eq!(session.search(request).unwrap_err().kind(), kind);
    }
}

#[test]
fn searches_beside_writers_see_whole_commits() {
    let disk = Arc::new(MemoryDisk::new());
    let store = open(&disk);
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let writers: Vec<_> = (0..2)
            .map(|writer| {
                let session = ada(&store);
                scope.spawn(move || {
                    for number in 0..40 {
                        // Two notes in one commit: a reader must never see only one of them.
                        session
                            .transaction(|tx| {
                                write(tx, &format!("pair{writer}x{number}"), "twin", "w1")?;
                                write(tx, &format!("pair{writer}x{number}"), "twin", "w1")
                            })
                            .unwrap();
                    }
                })
            })
            .collect();
        let session = ada(&store);
        let (done, store) = (&done, &store);
        scope.spawn(move || {
            let mut last = 0;
            while !done.load(Ordering::Relaxed) {
                let total = session.search(ask("twin")).unwrap().total.unwrap();
                assert_eq!(total % 2, 0);
                assert!(total >= last);
                last = total;
                store.maintain(&Control::default()).unwrap();
            }
        });
        writers.into_iter().for_each(|writer| writer.join().unwrap());
        done.store(true, Ordering::Relaxed);
    });
    assert_eq!(ada(&store).search(ask("twin")).unwrap().total, Some(160));
}

#[test]
fn a_search_beside_an_index_that_is_given_up_misses_nothing() {
    let disk = Arc::new(MemoryDisk::new());
    let store = open(&disk);
    for number in 0..10 {
        write(&ada(&store), &format!("note {number}"), "twin", "w1").unwrap();
    }
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                let session = ada(&store);
                while !done.load(Ordering::Relaxed) {
                    assert_eq!(session.search(ask("twin")).unwrap().total, Some(10));
                    let query = crate::session::Query {
                        filter: Some("search(\"twin\")"),
                        take: 20,
                        ..crate::session::Query::default()
                    };
                    assert_eq!(
                        session.read(|view| view.query::<Note>(&query)).unwrap().items.len(),
                        10
                    );
                }
            });
        }
        let session = ada(&store);
        let search = &store.engine().search;
        for _ in 0..60 {
            search.rebuild(session.context(), search.beginnings()).unwrap();
        }
        // An index that another caller has discarded since is not discarded again.
        let before = search.beginnings();
        search.rebuild(session.context(), before).unwrap();
        search.rebuild(session.context(), before).unwrap();
        assert_eq!(search.beginnings(), before + 1);
        done.store(true, Ordering::Relaxed);
    });
}

#[test]
fn a_search_waits_for_the_index_as_long_as_its_session_may() {
    let disk = Arc::new(MemoryDisk::new());
    let store = open(&disk);
    let session = ada(&store);
    write(&session, "note", "twin", "w1").unwrap();
    let search = &store.engine().search;
    let feeding = search.feeding(session.context()).unwrap();
    let hurried =
        session.with_deadline(std::time::Instant::now() + std::time::Duration::from_millis(20));
    assert_eq!(hurried.search(ask("twin")).unwrap_err().kind(), ErrorKind::DeadlineExceeded);
    drop(feeding);
    let patient =
        session.with_deadline(std::time::Instant::now() + std::time::Duration::from_secs(600));
    assert_eq!(patient.search(ask("twin")).unwrap().total, Some(1));
}

#[test]
fn a_walk_shows_nothing_that_left_the_workspaces_asked_for() {
    let disk = Arc::new(MemoryDisk::new());
    let store = open(&disk);
    let session = ada(&store);
    let mut notes: Vec<Note> = (0..6)
        .map(|number| write(&session, &format!("note {number}"), "twin", "w1").unwrap())
        .collect();
    let mut request =
        SearchRequest { take: Some(2), workspaces: vec!["w1".to_owned()], ..ask("twin") };
    let first = session.search(request.clone()).unwrap();
    request.continuation_token = first.continuation_token;
    for note in &mut notes[2..4] {
        note.workspace = "w2".to_owned();
        let moved = note.clone();
        session.write(move |draft| draft.put(&moved, What::Updated)).unwrap();
    }
    let second = session.search(request.clone()).unwrap();
    assert!(second.hits.is_empty(), "{:?}", second.hits);
    request.continuation_token = second.continuation_token;
    assert_eq!(session.search(request).unwrap().hits.len(), 2);
}

/// Hidden records use no memory of the caller's query, so they cannot influence its answer.
#[test]
fn a_search_in_a_filter_looks_only_at_what_the_policy_shows() {
    let disk = Arc::new(MemoryDisk::new());
    let options =
        StoreOptions::default().access_policy(GUESTS_SEE_W1).query_memory_bytes(16 * 1024);
    let store = open_with(&disk, options);
    let session = ada(&store);
    write(&session, "open", "amplifier probe", "w1").unwrap();
    let guest = store.session(Identity::user("guest"));
    let filter = "search(\"amplifier\") and search(\"probe\")";
    let query = |session: &Session| {
        let query = crate::session::Query {
            filter: Some(filter),
            take: 1,
            ..crate::session::Query::default()
        };
        let page = session.read(|view| view.query::<Note>(&query))?;
        Ok::<_, crate::Error>(page.items.into_iter().map(|note| note.title).collect::<Vec<_>>())
    };
    assert_eq!(query(&guest).unwrap(), ["open"]);
    session
        .write(|draft| {
            (0..2_000).try_for_each(|number| {
                let id = draft.new_key::<Note>()?.to_id(IdForm::Guid);
                let (title, body) = (format!("hidden {number}"), "amplifier probe".into());
                draft.put(&Note { id, title, body, workspace: "w2".into() }, What::Created)
            })
        })
        .unwrap();
    // A caller that sees them is refused because of their memory.
    assert_eq!(query(&session).unwrap_err().kind(), ErrorKind::LimitExceeded);
    assert_eq!(query(&guest).unwrap(), ["open"]);
}

#[test]
fn a_filter_may_search_and_sees_the_state_of_its_view() {
    let disk = Arc::new(MemoryDisk::new());
    let store = open(&disk);
    let session = ada(&store);
    for number in 0..6 {
        write(&session, &format!("note {number}"), ["amplifier", "probe"][number % 2], "w1")
            .unwrap();
    }
    label(&session, "amplifier");
    let query = |view: &crate::session::View<'_>, filter: &str| -> Result<Vec<String>> {
        let query = crate::session::Query {
            filter: Some(filter),
            take: 100,
            ..crate::session::Query::default()
        };
        let (page, plan) = view.query_with_plan::<Note>(&query)?;
        let touched = plan.records_touched.unwrap();
        assert!(touched as usize == page.items.len() || !filter.starts_with("search"), "{plan}");
        Ok(page.items.into_iter().map(|note| note.title).collect())
    };
    let find = |filter: &str| session.read(|view| query(view, filter)).unwrap();
    assert_eq!(find("search(\"amplifier\")"), ["note 0", "note 2", "note 4"]);
    assert_eq!(find("title = \"note 1\" or search(\"name:4\")"), ["note 1", "note 4"]);
    assert_eq!(find("title != \"note 1\" and !search(\"amplifier\")"), ["note 3", "note 5"]);
    let error = session.read(|view| query(view, "search(\"(amplifier\")")).unwrap_err();
    assert_eq!(error.place(), Some(&crate::Place::Offset(8)), "{error}");

    // A view that is older than the index, and a transaction.
    let read = session.read(|view| {
        let other = ada(&store);
        let late = write(&other, "late", "amplifier", "w1")?;
        other.write(move |draft| draft.delete::<Note>(&late.id)).unwrap();
        write(&other, "later", "amplifier", "w1")?;
        assert_eq!(names(&other, "later"), ["later"]);
        query(view, "search(\"amplifier\")")
    });
    assert_eq!(read.unwrap(), ["note 0", "note 2", "note 4"]);
    let inside = session.transaction(|tx| {
        write(tx, "inside", "amplifier", "w1")?;
        tx.read(|view| query(view, "search(\"amplifier\")"))
    });
    assert_eq!(inside.unwrap(), ["note 0", "note 2", "note 4", "later", "inside"]);
}

#[test]
fn parts_of_texts_take_their_candidates_from_an_open_index() {
    let disk = Arc::new(MemoryDisk::new());
    let store = open(&disk);
    let session = ada(&store);
    for number in 0..40 {
        write(
            &session,
            &format!("{} {number}", if number < 4 { "Amplifier" } else { "Probe" }),
            "",
            "w1",
        )
        .unwrap();
    }
    let query = |view: &crate::session::View<'_>, filter: &str| {
        let query = crate::session::Query {
            filter: Some(filter),
            take: 100,
            ..crate::session::Query::default()
        };
        let (page, plan) = view.query_with_plan::<Note>(&query)?;
        Ok((page.items.len(), plan.records_touched.unwrap()))
    };
    let find = |filter: &str| session.read(|view| query(view, filter)).unwrap();
    assert_eq!(find("title.Contains(\"mplif\")"), (4, 40), "the index is not open");
    assert_eq!(names(&session, "probe").len(), 36);
    store.maintain(&Control::default()).unwrap();
    assert_eq!(find("title.Contains(\"mplif\")"), (4, 4));
    assert_eq!(find("title.Contains(\"MPLIF\")"), (0, 4));
    assert_eq!(find("title.ToLower().Contains(\"be 3\")"), (10, 10));
    assert_eq!(find("title.ToUpper().Contains(\"MPLIF\")"), (4, 40));
    write(&session, "New amplifier", "", "w1").unwrap();
    assert_eq!(find("title.Contains(\"mplif\")"), (5, 5));
    let inside = session.transaction(|tx| {
        write(tx, "inside amplifier", "", "w1")?;
        tx.read(|view| query(view, "title.Contains(\"mplif\")"))
    });
    assert_eq!(inside.unwrap(), (6, 6));
    // Folded spellings are candidates, and no more than that.
    write(&session, "Große Größe", "", "w1").unwrap();
    write(&session, "GROSSE grosse", "", "w1").unwrap();
    store.maintain(&Control::default()).unwrap();
    assert_eq!(names(&session, "große"), ["GROSSE grosse", "Große Größe"]);
    assert_eq!(find("title.Contains(\"grosse\")"), (1, 2));
    assert_eq!(find("title.Contains(\"röße\")"), (1, 2));
    assert_eq!(find("title.ToLower().Contains(\"grosse\")"), (1, 2));
    assert_eq!(find("title.Contains(\"grösse\")"), (0, 2));
}

/// Spellings of three words.
const SPELLINGS: [&str; 8] =
    ["Größe", "GROSSE", "größe", "grosse", "Re\u{301}sume\u{301}", "resume", "Œuvre", "oeuvre"];

#[test]
fn every_spelling_finds_every_other_one_until_the_option_is_off() {
    let disk = Arc::new(MemoryDisk::new());
    let open = |folds| open_with(&disk, StoreOptions::default().search_folds_diacritics(folds));
    let sorted = |titles: &[&str]| {
        let mut titles: Vec<String> = titles.iter().map(|&title| title.to_owned()).collect();
        titles.sort();
        titles
    };
    let in_filter = |session: &Session, text: &str| {
        let filter = format!("search(\"{text}\")");
        let query = crate::session::Query {
            filter: Some(&filter),
            take: 100,
            ..crate::session::Query::default()
        };
        let page = session.read(|view| view.query_with_plan::<Note>(&query)).unwrap().0;
        let mut titles: Vec<String> = page.items.into_iter().map(|note| note.title).collect();
        titles.sort();
        titles
    };
    let check = |session: &Session, folds: bool| {
        for (at, word) in SPELLINGS.iter().enumerate() {
            let alike: &[&str] = match (folds, at) {
                (true, 0..4) => &SPELLINGS[0..4],
                (true, 4..6) => &SPELLINGS[4..6],
                (true, _) => &SPELLINGS[6..8],
                (false, 0 | 2) => &["Größe", "größe"],
                (false, 1 | 3) => &["GROSSE", "grosse"],
                (false, _) => &SPELLINGS[at..=at],
            };
            assert_eq!(names(session, word), sorted(alike), "{word} {folds}");
            assert_eq!(
                in_filter(session, &format!("name:{word}")),
                sorted(alike),
                "{word} {folds}"
            );
        }
        let with = |folded: &[&str], exact: &[&str]| sorted(if folds { folded } else { exact });
        assert_eq!(names(session, "GRÖ*"), with(&SPELLINGS[0..4], &["Größe", "größe"]));
        // A kept mark comes after its letter, so a prefix that ends in the letter finds it too.
        assert_eq!(names(session, "gro*"), sorted(&SPELLINGS[0..4]));
        assert_eq!(names(session, "gros*"), with(&SPELLINGS[0..4], &["GROSSE", "grosse"]));
        assert_eq!(names(session, "\"die hohe\""), with(&SPELLINGS, &[]));
        assert_eq!(names(session, "\"die hö\"*"), sorted(&SPELLINGS));
        let others = ["Größe", "größe", "Re\u{301}sume\u{301}", "Œuvre", "oeuvre"];
        assert_eq!(names(session, "-grosse -resume"), with(&SPELLINGS[6..8], &others));
        let mut request = ask("\"die hohe\" OR grosse");
        request.highlight = Some(true);
        let response = session.search(request).unwrap();
        let mut marked: Vec<String> = Vec::new();
        for snippet in response.hits.iter().flat_map(|hit| &hit.snippets) {
            let characters: Vec<char> = snippet.text.chars().collect();
            let ranges = snippet.highlights.iter();
            marked.extend(ranges.map(|mark| {
                characters[mark.start as usize..mark.end as usize].iter().collect::<String>()
            }));
        }
        marked.sort();
        marked.dedup();
        assert_eq!(
            marked,
            with(&["GROSSE", "Größe", "größe", "grosse", "die", "Höhe"], &["GROSSE", "grosse"])
        );
    };

    // Not yet in the index, then in it, then read from the disk.
    let store = open(true);
    for title in SPELLINGS {
        write(&ada(&store), title, "die Höhe", "w1").unwrap();
    }
    check(&ada(&store), true);
    store.maintain(&Control::default()).unwrap();
    assert_eq!(differences(&store), Vec::<String>::new());
    check(&ada(&store), true);
    drop(store);
    for (folds, is_resumed) in
        [(true, true), (false, false), (false, true), (true, false), (true, true)]
    {
        let store = open(folds);
        check(&ada(&store), folds);
        let opened = store.engine().search.opened();
        assert_eq!(
            opened == Some(crate::text::OpenOutcome::Resumed),
            is_resumed,
            "{folds} {opened:?}"
        );
    }
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig { cases: 24, ..Default::default() })]

    /// A filter compares texts exactly, while the index that gives its candidates folds them.
    #[test]
    fn a_filter_on_parts_of_texts_finds_what_a_scan_finds(
        titles in proptest::collection::vec("[aoößsSœI\u{130}\u{301} -]{1,9}", 4..24),
        pieces in proptest::collection::vec(
            (proptest::prelude::any::<proptest::sample::Index>(), 0..9usize, 1..4usize),
            6,
        ),
        foreign in proptest::collection::vec("[oösßœe\u{301}]{1,3}", 4),
        folds in proptest::prelude::any::<bool>(),
    ) {
        let disk = Arc::new(MemoryDisk::new());
        let store = open_with(&disk, StoreOptions::default().search_folds_diacritics(folds));
        let session = ada(&store);
        for title in &titles {
            write(&session, title, "", "w1").unwrap();
        }
        assert_eq!(names(&session, "*").len(), titles.len());
        store.maintain(&Control::default()).unwrap();
        let from_titles = pieces.iter().map(|(title, skip, take)| {
            let title = title.get(&titles);
            let skip = skip % title.chars().count();
            title.chars().skip(skip).take(*take).collect::<String>()
        });
        for piece in from_titles.chain(foreign.iter().cloned()) {
            let contains = |title: &str| title.contains(&piece);
            let tests: [(String, &dyn Fn(&str) -> bool); 3] = [
                (format!("title.Contains(\"{piece}\")"), &contains),
                (format!("!title.Contains(\"{piece}\")"), &|title| !contains(title)),
                (format!("title.StartsWith(\"{piece}\")"), &|title| title.starts_with(&piece)),
            ];
            for (filter, is_wanted) in tests {
                let query = crate::session::Query {
                    filter: Some(&filter),
                    take: 100,
                    ..Default::default()
                };
                let (page, _) = session.read(|view| view.query_with_plan::<Note>(&query)).unwrap();
                let mut found: Vec<String> =
                    page.items.into_iter().map(|note| note.title).collect();
                let mut wanted: Vec<String> =
                    titles.iter().filter(|title| is_wanted(title)).cloned().collect();
                found.sort();
                wanted.sort();
                proptest::prop_assert_eq!(found, wanted, "{}", filter);
            }
        }
    }
}

/// The names of all notes, read without the index.
fn scanned(session: &Session) -> Vec<String> {
    let mut names = Vec::new();
    let scan = |view: &crate::session::View<'_>| {
        view.for_each::<Note>(|note| {
            names.push(note.title);
            Ok(true)
        })
    };
    session.read(scan).unwrap();
    names.sort();
    names
}

#[test]
fn after_every_power_cut_search_finds_what_the_records_hold() {
    let disk = SimDisk::new(7);
    let store = open_on(Arc::new(disk.clone()), StoreOptions::default());
    let session = ada(&store);
    let search = &store.engine().search;
    let mut saved_op = None;
    for round in 0..4 {
        for number in 0..3 {
            let note =
                write(&session, &format!("note {round} {number}"), "amplifier", "w1").unwrap();
            if number == 1 {
                session.write(move |draft| draft.delete::<Note>(&note.id)).unwrap();
            }
        }
        assert_eq!(names(&session, "amplifier"), scanned(&session));
        search.save(&session).unwrap();
        saved_op.get_or_insert(disk.ops());
    }
    write(&session, "last", "amplifier", "w1").unwrap();

    let (mut images, mut resumed) = (0, 0);
    let mut replay = disk.replay();
    while let Some((op, ..)) = replay.advance() {
        if op % 3 != 0 {
            continue;
        }
        for (seed, survival) in [(0, Survival::None), (0, Survival::All), (op, Survival::Random)] {
            let image = replay.survivors(seed, survival);
            let Ok(store) =
                StoreOptions::default().maintenance_thread(false).open_on(Arc::new(image))
            else {
                // Not yet created.
                continue;
            };
            store.engine().search.set_registry(&KINDS);
            let session = ada(&store);
            assert_eq!(names(&session, "amplifier"), scanned(&session), "op {op} {survival:?}");
            images += 1;
            let is_resumed =
                store.engine().search.opened() == Some(crate::text::OpenOutcome::Resumed);
            resumed += usize::from(is_resumed);
            assert!(
                is_resumed || Some(replay.until_op()) < saved_op,
                "a recorded checkpoint was lost at {op} {survival:?}"
            );
        }
    }
    println!("{images} images, {resumed} resumed from a checkpoint");
    assert!(images > 100 && resumed > 50);
}

#[test]
fn a_failing_index_never_harms_writes_and_recovers() {
    for nth in (1..).step_by(6) {
        let disk = SimDisk::new(nth);
        let store = open_on(Arc::new(disk.clone()), StoreOptions::default());
        let session = ada(&store);
        write(&session, "before", "amplifier", "w1").unwrap();
        assert_eq!(names(&session, "amplifier").len(), 1);
        let before = disk.trace().len();
        let of_search = |entry: &crate::disk::sim::TraceEntry| entry.path.starts_with("search");
        disk.inject(Pick::any().on_path("search").nth(nth).once(), Fault::Io);
        for number in 0..3 {
            write(&session, &format!("note {number}"), "amplifier", "w1").unwrap();
            if let Ok(response) = session.search(ask("amplifier")) {
                assert_eq!(response.total, Some(number + 2), "{nth}");
            }
            let _ = store.maintain(&Control::default());
            let _ = store.engine().search.save(&session);
        }
        assert_eq!(names(&session, "amplifier"), scanned(&session), "{nth}");
        let seen = disk.trace().iter().skip(before).filter(|entry| of_search(entry)).count() as u64;
        drop((session, store));
        let store = open_on(Arc::new(disk), StoreOptions::default());
        assert_eq!(names(&ada(&store), "amplifier").len(), 4, "{nth}");
        if seen < nth {
            println!("{nth} places of failure");
            break;
        }
    }
}

/// A change that gives a note another form than its record has.
fn false_note(note: &Note, body: &str, is_new: bool) -> crate::text::Change {
    let key = crate::text::DocKey {
        kind: 201,
        key: crate::value::RecordKey::parse(IdForm::Guid, &note.id).unwrap(),
    };
    let texts = vec![(0, note.title.clone()), (1, note.title.clone()), (2, body.to_owned())];
    let document =
        crate::text::Document { key, workspace: note.workspace.clone(), texts, cells: Vec::new() };
    crate::text::Change { key, document: Some(document), is_new }
}

fn differences(store: &Store) -> Vec<String> {
    let report = store.verify(VerifyLevel::Checksums, &Control::default()).unwrap();
    // The kinds of this test are in no registry that the other checks use.
    let findings = report.findings.into_iter().filter(|finding| finding.file == "search");
    findings.map(|finding| format!("{}: {}", finding.place, finding.problem)).collect()
}

#[test]
fn verify_tells_documents_that_are_not_as_the_records_and_they_are_mended() {
    for is_reopened in [false, true] {
        let disk = Arc::new(MemoryDisk::new());
        let store = open(&disk);
        let session = ada(&store);
        let notes: Vec<Note> = (0..30)
            .map(|number| write(&session, &format!("note {number:02}"), "amplifier", "w1").unwrap())
            .collect();
        let gone = write(&session, "gone", "amplifier", "w1").unwrap();
        // Without an index there is nothing to compare.
        assert_eq!(differences(&store), [""; 0]);
        assert_eq!(names(&session, "amplifier").len(), 31);
        let id = gone.id.clone();
        session.write(move |draft| draft.delete::<Note>(&id)).unwrap();
        assert_eq!(differences(&store), [""; 0]);

        let missing = crate::text::Change { document: None, ..false_note(&notes[3], "", false) };
        store.engine().search.falsify(&[
            false_note(&gone, "amplifier", true),
            missing,
            false_note(&notes[4], "amplifier", true),
            false_note(&notes[5], "resistor", false),
        ]);
        let found = ada(&store).search(ask("amplifier")).unwrap().total;
        assert_eq!(found, Some(30), "one too many twice, and one too few twice");
        let mut expected = [
            format!("long note {}: the document has no record", gone.id),
            format!("long note {}: the record has no document", notes[3].id),
            format!("long note {}: the record has several documents", notes[4].id),
            format!(
                "long note {}: the words of the document differ from those of the record",
                notes[5].id
            ),
        ];
        expected.sort();
        let mut told = differences(&store);
        told.sort();
        assert_eq!(told, expected);

        // The index was discarded: no search uses it any more.
        let (store, session) = if is_reopened {
            drop((store, session));
            let store = open(&disk);
            let session = ada(&store);
            (store, session)
        } else {
            store.maintain(&Control::default()).unwrap();
            (store, session)
        };
        assert_eq!(names(&session, "amplifier").len(), 30);
        assert_eq!(differences(&store), [""; 0]);
    }
}

#[test]
fn an_index_of_an_earlier_build_is_built_anew_by_maintenance() {
    let disk = Arc::new(MemoryDisk::new());
    let store = open(&disk);
    let session = ada(&store);
    let note = write(&session, "note", "amplifier", "w1").unwrap();
    assert_eq!(names(&session, "amplifier"), ["note"]);
    // A wrong document, as an older build could leave it.
    store.engine().search.falsify(&[false_note(&note, "amplifier", true)]);
    store.engine().search.save(&session).unwrap();
    let row = session
        .read(|view| view.raw(crate::records::Space::Positions, b"text index"))
        .unwrap()
        .unwrap();
    let mut checkpoint = crate::text::Checkpoint::from_bytes(&row).unwrap();
    checkpoint.fingerprint ^= 1;
    let row = checkpoint.to_bytes().unwrap();
    let put = move |draft: &mut crate::session::Draft<'_>| {
        draft.put_raw(crate::records::Space::Positions, b"text index".to_vec(), row);
        Ok(())
    };
    session.write(put).unwrap();
    let copy = Arc::new(MemoryDisk::new());
    copy_all(&disk, &copy, "");
    let store = open(&copy);
    // Nothing was written since the checkpoint, so verification leaves the index alone.
    assert_eq!(differences(&store), [""; 0]);
    assert_eq!(store.engine().search.opened(), None);
    store.maintain(&Control::default()).unwrap();
    assert!(matches!(store.engine().search.opened(), Some(crate::text::OpenOutcome::Anew(_))));
    assert_eq!(names(&ada(&store), "amplifier"), ["note"]);
    assert_eq!(differences(&store), [""; 0]);
}

#[test]
fn a_comparison_beside_writers_and_maintenance_finds_nothing() {
    let disk = Arc::new(MemoryDisk::new());
    let store = open(&disk);
    let session = ada(&store);
    write(&session, "first", "amplifier", "w1").unwrap();
    assert_eq!(names(&session, "amplifier").len(), 1);
    let is_over = AtomicBool::new(false);
    let told = std::thread::scope(|scope| {
        for writer in 0..2 {
            let (store, is_over) = (&store, &is_over);
            scope.spawn(move || {
                let session = ada(store);
                let mut notes = Vec::new();
                for number in 0usize.. {
                    if is_over.load(Ordering::Relaxed) {
                        break;
                    }
                    notes.push(
                        write(&session, &format!("note {writer} {number}"), "amplifier", "w1")
                            .unwrap(),
                    );
                    let mut note = notes[number / 2].clone();
                    note.body = format!("changed by {number}");
                    session.write(move |draft| draft.put(&note, What::Updated)).unwrap();
                    if number % 3 == 2 {
                        let id = notes.swap_remove(0).id;
                        notes.push(write(&session, "another", "amplifier", "w1").unwrap());
                        session.write(move |draft| draft.delete::<Note>(&id)).unwrap();
                    }
                }
            });
        }
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                store.maintain(&Control::default()).unwrap();
                let _ = ada(&store).search(ask("amplifier")).unwrap();
            }
        });
        let began = std::time::Instant::now();
        let mut told = Vec::new();
        for round in 0.. {
            told = differences(&store);
            if !told.is_empty()
                || (round >= 10 && began.elapsed() >= std::time::Duration::from_secs(1))
            {
                break;
            }
        }
        // The other threads must end before anything is asserted.
        is_over.store(true, Ordering::Relaxed);
        told
    });
    assert_eq!(told, [""; 0]);
    let cancelled = Control::default();
    cancelled.cancel();
    let refused = store.verify(VerifyLevel::Checksums, &cancelled).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Cancelled);
}
