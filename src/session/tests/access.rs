//! Reads, writes and transactions of sessions.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use super::TestEngine;
use super::policy::GuestsRead;
use crate::disk::sim::{Fault, OpKind, Pick, SimDisk};
use crate::disk::{Disk as _, MemoryDisk};
use crate::error::{Error, ErrorKind, Result};
use crate::model::Resource;
use crate::session::{
    Access, AccessPolicy, Identity, OrderTerm, Query, Settings, View, Visibility, What,
};
use crate::value::{Action, Control, IdForm, Service, limits, stored};

/// A resource of the tests.
#[derive(Clone, Debug, Default, PartialEq, Resource)]
#[resource(kind = 200, name = "gadget", service = "gadgets", id(Guid))]
#[fields(name, rank, words, properties)]
#[index(1, unique(name))]
#[index(2, rank)]
#[index(3, words)]
pub(crate) struct Gadget {
    /// Id.
    pub id: String,
    /// Name.
    pub name: Option<String>,
    /// Rank.
    pub rank: i64,
    /// Workspace.
    pub workspace: String,
    /// Words.
    pub words: Vec<String>,
    /// Map.
    pub properties: BTreeMap<String, String>,
}

fn create(access: &impl Access, name: &str, rank: i64) -> Result<Gadget> {
    create_in(access, name, rank, "default")
}

fn create_in(access: &impl Access, name: &str, rank: i64, workspace: &str) -> Result<Gadget> {
    let (name, workspace) = (name.to_owned(), workspace.to_owned());
    access.write(move |draft| {
        let key = draft.new_key::<Gadget>()?;
        let gadget = Gadget {
            id: key.to_id(IdForm::Guid),
            name: Some(name),
            rank,
            workspace,
            ..Gadget::default()
        };
        draft.put(&gadget, What::Created)?;
        Ok(gadget)
    })
}

fn get(access: &impl Access, id: &str) -> Option<Gadget> {
    access.read(|view| view.get::<Gadget>(id)).unwrap()
}

fn all(access: &impl Access, query: &Query<'_>) -> Vec<i64> {
    let page = access.read(|view| view.query::<Gadget>(query)).unwrap();
    page.items.iter().map(|gadget| gadget.rank).collect()
}

#[test]
fn what_was_acknowledged_is_there_after_reopening() {
    let disk = Arc::new(MemoryDisk::new());
    let engine = TestEngine::open(&disk);
    let session = engine.session("ada");
    let gadget = create(&session, "a", 1).unwrap();
    drop((session, engine));
    let engine = TestEngine::open(&disk);
    let session = engine.session("ada");
    assert_eq!(get(&session, &gadget.id).unwrap(), gadget);
    let next = create(&session, "b", 2).unwrap();
    assert!(next.id > gadget.id, "ids are never reused and follow the order of creation");
}

#[test]
fn a_refused_plan_changes_nothing_and_unique_entries_stay_unique() {
    let engine = TestEngine::new();
    let session = engine.session("ada");
    let first = create(&session, "same", 1).unwrap();
    let error = create(&session, "same", 2).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Conflict);
    assert_eq!(error.resource(), Some(("gadget", first.id.as_str())));
    assert_eq!(all(&session, &Query { take: 10, ..Query::default() }), [1]);
    // After a rename the old name is free again.
    let mut renamed = first.clone();
    renamed.name = Some("other".to_owned());
    session.write(move |draft| draft.put(&renamed, What::Updated)).unwrap();
    create(&session, "same", 3).unwrap();
}

#[test]
fn a_transaction_is_seen_by_itself_at_once_and_by_others_after_it() {
    let engine = TestEngine::new();
    let session = engine.session("ada");
    let other = engine.session("bob");
    let gadget = session
        .transaction(|tx| {
            let gadget = create(tx, "a", 1)?;
            assert_eq!(get(tx, &gadget.id).as_ref(), Some(&gadget));
            assert_eq!(get(&other, &gadget.id), None);
            let error = create(&other, "b", 2).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Conflict);
            create(tx, "c", 3)?;
            Ok(gadget)
        })
        .unwrap();
    assert_eq!(get(&other, &gadget.id), Some(gadget));
    let failed = session.transaction(|tx| {
        create(tx, "d", 4)?;
        Err::<(), _>(Error::invalid("changed my mind"))
    });
    assert_eq!(failed.unwrap_err().message(), "changed my mind");
    assert_eq!(all(&session, &Query { take: 10, ..Query::default() }), [1, 3]);
    assert!(session.transaction(|_| Ok(())).is_ok());
    create(&session, "d", 5).unwrap();
}

#[test]
fn whoever_waits_for_a_turn_beyond_its_deadline_is_told_and_changes_nothing() {
    let engine = TestEngine::new();
    let session = engine.session("ada");
    let soon = || session.with_deadline(Instant::now() + Duration::from_millis(50));
    let (begin, begun) = std::sync::mpsc::channel();
    let (release, released) = std::sync::mpsc::channel();
    std::thread::scope(|scope| {
        let holder = &session;
        scope.spawn(move || {
            let held = holder.transaction(|tx| {
                create(tx, "held", 1)?;
                begin.send(()).unwrap();
                // The bound makes a store that waits without end fail instead of hang.
                let _ = released.recv_timeout(Duration::from_secs(5));
                Ok(())
            });
            held.unwrap();
        });
        begun.recv().unwrap();
        assert_eq!(create(&soon(), "late", 2).unwrap_err().kind(), ErrorKind::DeadlineExceeded);
        assert_eq!(soon().transaction(|_| Ok(())).unwrap_err().kind(), ErrorKind::DeadlineExceeded);
        release.send(()).unwrap();
    });
    let late = soon().transaction(|tx| {
        create(tx, "late", 3)?;
        std::thread::sleep(Duration::from_millis(60));
        Ok(())
    });
    assert_eq!(late.unwrap_err().kind(), ErrorKind::DeadlineExceeded);
    // The turn passes to the waiting writers.
    create(&session, "late", 4).unwrap();
    assert_eq!(all(&session, &Query { take: 10, ..Query::default() }), [1, 4]);
}

/// A call that works on an overdue transaction ends before it is taken back, and calls of the same
/// transaction do not wait for each other.
#[test]
fn an_overdue_transaction_is_taken_back_between_two_calls() {
    let settings = Settings { transaction_hold_ms: 50, ..Settings::default() };
    let engine = TestEngine::open_with(Arc::new(MemoryDisk::new()), settings);
    let session = engine.session("ada");
    let (begin, begun) = std::sync::mpsc::channel();
    std::thread::scope(|scope| {
        let waits = session.clone();
        let waiter = scope.spawn(move || {
            begun.recv().unwrap();
            create(&waits, "next", 2)
        });
        let held = session.transaction(|tx| {
            create(tx, "lost", 1)?;
            begin.send(()).unwrap();
            tx.read(|_| {
                let nested = create(tx, "nested", 3).unwrap_err();
                assert_eq!(nested.kind(), ErrorKind::Conflict, "{nested}");
                std::thread::sleep(Duration::from_millis(150));
                let nested = create(tx, "nested", 4).unwrap_err();
                assert_eq!(nested.kind(), ErrorKind::DeadlineExceeded, "{nested}");
                assert!(!waiter.is_finished(), "the turn was taken from a call that works");
                Ok(())
            })?;
            waiter.join().unwrap().unwrap();
            tx.read(|_| Ok(()))
        });
        assert_eq!(held.unwrap_err().kind(), ErrorKind::DeadlineExceeded);
    });
    assert_eq!(all(&session, &Query { take: 10, ..Query::default() }), [2]);
}

#[test]
fn a_walk_by_tokens_is_one_big_query_in_every_order() {
    let disk = Arc::new(MemoryDisk::new());
    let engine = TestEngine::open(&disk);
    let session = engine.session("ada");
    for rank in 0..50 {
        create(&session, &format!("{rank}"), (rank * 7) % 10).unwrap();
    }
    for order in [
        vec![],
        vec![OrderTerm { path: "rank", descending: false }],
        vec![OrderTerm { path: "rank", descending: true }],
        vec![OrderTerm { path: "id", descending: true }],
        vec![
            OrderTerm { path: "name", descending: true },
            OrderTerm { path: "rank", descending: false },
        ],
    ] {
        for ties_follow_direction in [false, true] {
            let query = Query {
                take: 1000,
                order: order.clone(),
                ties_follow_direction,
                ..Query::default()
            };
            let whole = session.read(|view| view.query::<Gadget>(&query)).unwrap();
            assert_eq!(whole.items.len(), 50);
            assert_eq!(whole.continuation_token, None);
            let (mut walked, mut token, mut pages) = (Vec::new(), None::<String>, 0);
            loop {
                let query = Query {
                    take: 10,
                    continuation_token: token.as_deref(),
                    return_count: true,
                    ..query.clone()
                };
                let page = session.read(|view| view.query::<Gadget>(&query)).unwrap();
                assert_eq!(page.total_count, Some(50));
                walked.extend(page.items);
                pages += 1;
                token = page.continuation_token;
                if token.is_none() {
                    break;
                }
            }
            assert_eq!((walked, pages), (whole.items, 5), "{order:?}");
        }
    }
    let query = Query { take: 10, ..Query::default() };
    let token =
        session.read(|view| view.query::<Gadget>(&query)).unwrap().continuation_token.unwrap();
    let other = Query {
        continuation_token: Some(&token),
        order: vec![OrderTerm { path: "rank", descending: false }],
        ..query.clone()
    };
    let error = session.read(|view| view.query::<Gadget>(&other)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    drop((session, engine));
    let session = TestEngine::open(&disk).session("ada");
    let again = Query { continuation_token: Some(&token), ..query };
    assert_eq!(session.read(|view| view.query::<Gadget>(&again)).unwrap().items.len(), 10);
}

#[test]
fn an_order_with_an_index_reads_no_more_than_the_page() {
    let engine = TestEngine::new();
    let session = engine.session("ada");
    for rank in 0..200 {
        create(&session, &format!("{rank}"), rank).unwrap();
    }
    let query = Query {
        take: 5,
        order: vec![OrderTerm { path: "rank", descending: false }],
        ..Query::default()
    };
    let (page, plan) = session.read(|view| view.query_with_plan::<Gadget>(&query)).unwrap();
    assert_eq!(page.items.len(), 5);
    assert_eq!(plan.access, "index rank in order");
    assert!(plan.records_touched <= Some(6), "{plan}");
}

#[test]
fn what_may_not_be_seen_is_neither_returned_nor_counted_nor_changed() {
    let settings = Settings { policy: Arc::new(GuestsRead("lab-1")), ..Settings::default() };
    let engine = TestEngine::open_with(Arc::new(MemoryDisk::new()), settings);
    let admin = engine.session("ada");
    let seen = create_in(&admin, "a", 1, "lab-1").unwrap();
    let hidden = create_in(&admin, "b", 2, "lab-2").unwrap();
    let guest = engine.session("guest");
    assert_eq!(get(&guest, &hidden.id), None);
    assert_eq!(get(&guest, &seen.id), Some(seen.clone()));
    let query = Query { take: 10, return_count: true, ..Query::default() };
    let page = guest.read(|view| view.query::<Gadget>(&query)).unwrap();
    assert_eq!((page.items, page.total_count), (vec![seen.clone()], Some(1)));
    assert_eq!(create_in(&guest, "c", 3, "lab-1").unwrap_err().kind(), ErrorKind::PermissionDenied);
    let id = seen.id.clone();
    let denied = guest.write(move |draft| draft.delete::<Gadget>(&id)).unwrap_err();
    assert_eq!(denied.kind(), ErrorKind::PermissionDenied);
}

#[test]
fn many_threads_share_commits_and_exactly_one_gets_a_name() {
    let engine = TestEngine::new();
    let won = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for thread in 0..16 {
            let session = engine.session(&format!("user {thread}"));
            let won = &won;
            scope.spawn(move || {
                for round in 0..50 {
                    match create(&session, &format!("name {}", round % 5), round) {
                        Ok(_) => {
                            won.fetch_add(1, Ordering::SeqCst);
                        }
                        Err(error) => assert_eq!(error.kind(), ErrorKind::Conflict),
                    }
                    create(&session, &format!("{thread} {round}"), round).unwrap();
                }
            });
        }
    });
    assert_eq!(won.load(Ordering::SeqCst), 5);
    let session = engine.session("ada");
    assert_eq!(all(&session, &Query { take: 10_000, ..Query::default() }).len(), 16 * 50 + 5);
}

#[test]
fn a_panicking_plan_is_an_error_and_the_store_goes_on() {
    let engine = TestEngine::new();
    let session = engine.session("ada");
    let error = session.write::<()>(|_| panic!("redb met a damaged page")).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corrupt);
    create(&session, "a", 1).unwrap();
}

#[test]
fn sixty_four_threads_share_the_syncs_of_a_slow_disk() {
    let disk = SimDisk::new(1);
    let engine = TestEngine::open_with(Arc::new(disk.clone()), Settings::default());
    disk.set_latency(OpKind::Sync, Duration::from_millis(4));
    let syncs_before = syncs(&disk);
    let start = Instant::now();
    std::thread::scope(|scope| {
        for thread in 0..64 {
            let session = engine.session("ada");
            scope.spawn(move || {
                for round in 0..25 {
                    create(&session, &format!("{thread} {round}"), round).unwrap();
                }
            });
        }
    });
    let per_second = 1600.0 / start.elapsed().as_secs_f64();
    let syncs = syncs(&disk) - syncs_before;
    println!(
        "64 threads, sync 4 ms: {per_second:.0} acknowledged creates a second, {syncs} syncs for 1600 creates"
    );
    // One sync for each create would make 1600 syncs. Their time depends on the machine, so the
    // number of syncs is asserted.
    assert!(syncs <= 400, "{syncs} syncs");
    let session = engine.session("ada");
    assert_eq!(all(&session, &Query { take: 10_000, ..Query::default() }).len(), 1600);
}

fn syncs(disk: &SimDisk) -> usize {
    disk.trace().iter().filter(|entry| entry.kind == OpKind::Sync).count()
}

#[test]
fn after_a_failed_sync_writes_are_refused_and_reads_go_on() {
    let disk = SimDisk::new(2);
    let engine = TestEngine::open_with(Arc::new(disk.clone()), Settings::default());
    let session = engine.session("ada");
    let kept = create(&session, "kept", 1).unwrap();
    disk.inject(Pick::kind(OpKind::Sync).once(), Fault::DropDirty);
    let error = create(&session, "lost", 2).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::OutcomeUnknown);
    assert_eq!(create(&session, "more", 3).unwrap_err().kind(), ErrorKind::Latched);
    assert_eq!(session.transaction(|_| Ok(())).unwrap_err().kind(), ErrorKind::Latched);
    assert_eq!(get(&session, &kept.id), Some(kept.clone()));
    drop((session, engine));
    let session = TestEngine::open_with(Arc::new(disk), Settings::default()).session("ada");
    assert_eq!(get(&session, &kept.id), Some(kept));
    create(&session, "more", 3).unwrap();
}

#[test]
fn what_the_log_cannot_hold_is_refused_alone() {
    let disk = Arc::new(MemoryDisk::new());
    let open = || TestEngine::open(&disk);
    let engine = open();
    let session = engine.session("ada");
    let gadget = create(&session, "a", 1).unwrap();
    fn change(access: &impl Access, gadget: &Gadget, bytes: usize) -> Result<()> {
        let gadget = gadget.clone();
        access.write(move |draft| {
            draft.put(&gadget, What::Updated)?;
            draft.log(&gadget, What::Updated, Some("w".repeat(bytes)), None);
            Ok(())
        })
    }
    change(&session, &gadget, 100_000).unwrap();
    let mut rest = 0;
    let measure = |view: &View<'_>| {
        view.log_after(0, |_, entry| {
            rest = stored::to_bytes(&entry)?.len();
            Ok(true)
        })
    };
    session.read(measure).unwrap();
    rest -= 100_000;
    let sequence = || session.read(|view| Ok(view.context().engine.snapshot().sequence)).unwrap();
    let before = sequence();
    limits::holds_at(limits::LOG_ENTRY_BYTES, ErrorKind::LimitExceeded, |bytes| {
        change(&session, &gadget, bytes - rest)
    });
    assert_eq!(sequence(), before + 2);
    // Together they exceed the limit, and the transaction is rolled back.
    let refused = session.transaction(|tx| {
        change(tx, &gadget, limits::LOG_ENTRY_BYTES / 2)?;
        change(tx, &gadget, limits::LOG_ENTRY_BYTES / 2)
    });
    assert_eq!(refused.unwrap_err().kind(), ErrorKind::LimitExceeded);
    // Other writers are not affected.
    create(&session, "b", 2).unwrap();
    drop((session, engine));
    let session = open().session("ada");
    let mut entries = 0;
    let count = |view: &View<'_>| {
        view.log_after(0, |_, _| {
            entries += 1;
            Ok(true)
        })
    };
    session.read(count).unwrap();
    assert_eq!(entries, 5);
}

#[test]
fn an_almost_full_disk_refuses_what_grows_and_lets_deletes_through() {
    let disk = SimDisk::new(3);
    let settings = Settings { reserve_bytes: 1 << 23, ..Settings::default() };
    let session = TestEngine::open_with(Arc::new(disk.clone()), settings).session("ada");
    let gadget = create(&session, "a", 1).unwrap();
    let free_at = |free: u64| {
        disk.set_capacity(Some(1 << 40));
        let used = (1u64 << 40) - disk.free_bytes().unwrap().unwrap();
        disk.set_capacity(Some(used + free));
    };
    // More bytes are needed than the record file has free.
    free_at(1 << 22);
    assert_eq!(create(&session, "b", 2).unwrap_err().kind(), ErrorKind::NoSpace);
    let id = gadget.id.clone();
    assert!(session.write(move |draft| draft.delete::<Gadget>(&id)).unwrap().is_some());
    free_at(1 << 30);
    create(&session, "b", 2).unwrap();
}

/// Cancels the call that asks it, as a server does whose client has gone.
#[derive(Debug)]
struct Cancels(Control);

impl AccessPolicy for Cancels {
    fn visible(&self, who: &Identity, _: Service, _: Action) -> Visibility {
        if who.user_id() == "gone" {
            self.0.cancel();
        }
        Visibility::All
    }
}

#[test]
fn a_write_that_is_cancelled_while_it_is_planned_changes_nothing() {
    let control = Control::default();
    let policy = Arc::new(Cancels(control.clone()));
    let settings = Settings { policy, ..Settings::default() };
    let engine = TestEngine::open_with(Arc::new(MemoryDisk::new()), settings);
    let gone = engine.session("gone").with_control(&control);
    let before = engine.0.snapshot().sequence;
    let error = create(&gone, "a", 1).unwrap_err();
    assert_eq!((error.kind(), engine.0.snapshot().sequence), (ErrorKind::Cancelled, before));
    create(&engine.session("ada"), "a", 1).expect("the name is not taken");
}
