//! Subscribers hold the change log within their own bounds, and a reader that lost its position has
//! the state of the store after a full pass.

use crate::store::tests::prelude::*;

use chrono::{DateTime, TimeDelta, Utc};

use super::open::{Store, StoreOptions};
use crate::value::limits::{self, PASS_PAGE_BYTES, SUBSCRIBER_HOLD_BYTES, SUBSCRIBER_HOLD_MS};
use crate::*;

/// A policy by which `guest` sees the workspace `open`, and has subscribers.
const GUESTS_SEE_OPEN: Rule = Rule(|who, service, _| match who.user_id() {
    "guest" if service != Service::CHANGES => Visibility::workspaces(["open"]),
    _ => Visibility::All,
});

struct World {
    store: Store,
    clock: Arc<ManualClock>,
    now: DateTime<Utc>,
}

impl World {
    fn new(log_entries_max: u64) -> Self {
        let now: DateTime<Utc> = "2024-03-01T00:00:00Z".parse().unwrap();
        let clock = Arc::new(ManualClock::new(now));
        let options = StoreOptions::default()
            .maintenance_thread(false)
            .shared_clock(clock.clone())
            .access_policy(GUESTS_SEE_OPEN)
            .log_entries_max(log_entries_max);
        Self { store: options.open_on(Arc::new(MemoryDisk::new())).unwrap(), clock, now }
    }

    fn ada(&self) -> Session {
        self.store.session(Identity::user("ada"))
    }

    fn later(&mut self, ms: i64) {
        self.now += TimeDelta::milliseconds(ms);
        self.clock.set(self.now);
    }

    /// Creates products, one in each commit.
    fn commit(&self, count: usize) {
        for _ in 0..count {
            self.create("P");
        }
    }

    fn create(&self, name: &str) -> ProductId {
        let number = format!("{name}-{}", self.ada().position().0);
        let made = self.ada().create_products(vec![CreateProductRequest::new(number)]).unwrap();
        made.products[0].id.clone().unwrap()
    }

    /// Maintains until the log gets no shorter.
    fn maintain(&self) -> MaintenanceReport {
        let mut all = MaintenanceReport::default();
        for _ in 0..4 {
            let report = self.store.maintain(&Control::default()).unwrap();
            all.log_entries_dropped += report.log_entries_dropped;
            all.subscribers_lost += report.subscribers_lost;
            all.subscribers_at_risk = report.subscribers_at_risk;
        }
        all
    }

    fn hold(&self, name: &str) -> HoldStatus {
        let all = self.store.subscribers().unwrap();
        all.into_iter().find(|subscriber| subscriber.name == name).unwrap().hold
    }
}

/// All items that are there.
fn drain(stream: &mut SyncStream) -> Vec<SyncItem> {
    std::iter::from_fn(|| stream.poll().unwrap()).collect()
}

#[test]
fn bounds_of_a_hold_have_limits() {
    let world = World::new(10);
    limits::holds_at(SUBSCRIBER_HOLD_MS, ErrorKind::LimitExceeded, |ms| {
        world.store.register_with("a", HoldBounds::new(ms as u64, 0))
    });
    limits::holds_at(SUBSCRIBER_HOLD_BYTES, ErrorKind::LimitExceeded, |bytes| {
        world.store.register_with("a", HoldBounds::new(0, bytes as u64))
    });
}

#[test]
fn a_hold_in_time_ends_when_it_was_told() {
    let mut world = World::new(10);
    let from = world.store.register_with("r", HoldBounds::new(1_000, 1 << 30)).unwrap();
    world.commit(40);
    world.maintain();
    assert_eq!(world.hold("r").entries, 40);
    assert_eq!(drain(&mut world.store.synchronise_subscriber("r").unwrap()).len(), 40);
    let held = world.hold("r");
    assert_eq!((held.state, held.since), (HoldState::Held, Some(world.now)));
    assert_eq!(held.ends, Some(world.now + TimeDelta::seconds(1)));
    world.later(799);
    assert_eq!(world.hold("r").state, HoldState::Held);
    assert_eq!(world.maintain().subscribers_at_risk, 0);
    world.later(1);
    assert_eq!(world.hold("r").state, HoldState::EndsSoon);
    let report = world.maintain();
    assert_eq!((report.subscribers_at_risk, report.log_entries_dropped), (1, 0));
    let told = drain(&mut world.store.synchronise_subscriber("r").unwrap());
    let SyncItem::HoldEnds(status) = &told[0] else { panic!("{:?}", told[0]) };
    assert_eq!((status.state, status.ends), (HoldState::EndsSoon, held.ends));
    assert_eq!(told.len(), 41, "it is told once");
    world.later(199);
    world.maintain();
    assert_eq!(world.store.register("r").unwrap(), from);
    world.later(1);
    assert_eq!(world.hold("r").state, HoldState::Ended);
    let report = world.maintain();
    assert_eq!((report.log_entries_dropped, report.subscribers_lost), (30, 1));
    assert_eq!(world.hold("r").state, HoldState::Lost);
    assert_eq!(world.store.register("r").unwrap_err().kind(), ErrorKind::Conflict);
}

#[test]
fn a_hold_in_bytes_ends_and_another_one_goes_on() {
    let world = World::new(10);
    world.store.register_with("none", HoldBounds::new(0, 0)).unwrap();
    world.store.register_with("small", HoldBounds::new(1_000, 1)).unwrap();
    world.store.register_with("large", HoldBounds::new(1_000, 1 << 20)).unwrap();
    world.commit(200);
    let report = world.maintain();
    assert_eq!(report.log_entries_dropped, 0, "the third holds");
    let large = world.hold("large");
    assert_eq!((large.state, large.entries), (HoldState::Held, 200));
    assert_eq!(large.bytes + large.bytes_left, 1 << 20);
    // The bytes are those of the entries, from each position on.
    let entries = |from: u64| {
        let snapshot = world.store.engine().snapshot();
        let source = crate::records::ReadSource::Snapshot(&snapshot);
        let from = (from + 1).to_be_bytes();
        let mut cursor = source.cursor(crate::records::Space::Log, &from, None).unwrap();
        let mut size = (0, 0);
        while let Some((key, value)) = cursor.next().unwrap() {
            size = (size.0 + 1, size.1 + (key.len() + value.len()) as u64);
        }
        size
    };
    for at in [5, 63, 64, 65, 130, 199, 203] {
        world.store.advance("large", Position(at)).unwrap();
        let held = world.hold("large");
        assert_eq!((held.entries, held.bytes), entries(at), "{at}");
    }
    assert_eq!(world.hold("large").since, None);
    let report = world.maintain();
    assert_eq!(report.subscribers_lost, 2);
    let held = world.hold("large");
    assert_eq!((held.state, held.entries), (HoldState::Held, 0));
    // Bounds that are raised count from the next pass on.
    let refused = world.store.register_with("small", HoldBounds::new(1_000, 1 << 20));
    assert_eq!(refused.unwrap_err().kind(), ErrorKind::Conflict);
    let listed = world.store.subscribers().unwrap();
    let small = listed.iter().find(|subscriber| subscriber.name == "small").unwrap();
    assert_eq!(small.bounds, HoldBounds::new(1_000, 1 << 20));
}

#[test]
fn a_subscriber_without_bounds_has_those_of_the_options() {
    let options = || StoreOptions::default().maintenance_thread(false).log_entries_max(10);
    let open = |options: StoreOptions| options.open_on(Arc::new(MemoryDisk::new())).unwrap();
    for (store, is_kept) in [
        (open(options()), true),
        (open(options().subscriber_hold_bytes(0)), false),
        (open(options().subscriber_hold_ms(0)), false),
    ] {
        store.register("r").unwrap();
        let ada = store.session(Identity::user("ada"));
        for at in 0..40 {
            let product = CreateProductRequest::new(format!("P-{at}"));
            assert_eq!(ada.create_products(vec![product]).unwrap().error, None);
        }
        store.maintain(&Control::default()).unwrap();
        assert_eq!(store.register("r").is_ok(), is_kept);
    }
}

#[test]
fn a_pass_goes_on_in_another_process_and_changes_follow() {
    let world = World::new(10);
    world.store.register_with("r", HoldBounds::new(0, 0)).unwrap();
    let gone = world.create("gone");
    let kept = world.create("kept");
    world.ada().delete_products(vec![gone]).unwrap();
    world.commit(40);
    world.maintain();
    let bounds = HoldBounds::new(1_000, 1 << 20);
    assert!(world.store.register_with("r", bounds).is_err());
    let mut stream = world.store.synchronise_subscriber("r").unwrap();
    let begun = stream.poll().unwrap().unwrap();
    assert_eq!(begun, SyncItem::PassBegins { position: world.ada().position() });
    world.store.advance("r", stream.point()).unwrap();
    let mut told = Vec::new();
    for _ in 0..20 {
        told.push(stream.poll().unwrap().unwrap());
    }
    world.store.advance("r", stream.point()).unwrap();
    drop(stream);
    // A reader of the old kind is not told that it has all.
    let refused = world.store.register("r").unwrap_err();
    assert!(refused.message().contains("full pass"), "{refused}");
    assert!(world.store.subscribers().unwrap()[0].is_in_pass);
    // Meanwhile the log grows beyond what the store keeps for everybody.
    world.ada().delete_products(vec![kept.clone()]).unwrap();
    world.commit(40);
    world.maintain();
    let mut stream = world.store.synchronise_subscriber("r").unwrap();
    told.extend(drain(&mut stream));
    let ids = |item: &SyncItem| match item {
        SyncItem::Present(record) => Some(record.id.clone()),
        _ => None,
    };
    let present: Vec<String> = told.iter().filter_map(ids).collect();
    // Those of later commits are behind in key order.
    assert_eq!(present.len(), 81);
    let distinct: std::collections::BTreeSet<&String> = present.iter().collect();
    assert_eq!(distinct.len(), 81, "a record is told twice");
    let ends = told.iter().position(|item| matches!(item, SyncItem::PassEnds { .. })).unwrap();
    let SyncItem::PassEnds { consistent_at } = told[ends] else { panic!() };
    assert!(consistent_at >= Position(80));
    let SyncItem::Change(first) = &told[ends + 1] else { panic!("{:?}", told[ends + 1]) };
    assert_eq!((first.id.as_str(), first.what), (&*kept.to_string(), What::Deleted));
    assert_eq!(told.len(), ends + 2 + 40);
    world.store.advance("r", stream.point()).unwrap();
    assert_eq!(world.store.register("r").unwrap(), stream.point().position());
}

#[test]
fn a_pass_that_takes_longer_than_its_hold_begins_again() {
    let world = World::new(10);
    world.commit(1_100);
    world.store.register_with("r", HoldBounds::new(0, 0)).unwrap();
    let mut stream = world.store.synchronise_subscriber("r").unwrap();
    stream.begin_pass();
    stream.poll().unwrap();
    for _ in 0..1_000 {
        stream.poll().unwrap();
    }
    world.commit(40);
    world.maintain();
    let told = drain(&mut stream);
    let begins = told.iter().filter(|item| matches!(item, SyncItem::PassBegins { .. })).count();
    assert_eq!(begins, 1, "the changes since the begin of the first pass are gone");
    let at = told.iter().position(|item| matches!(item, SyncItem::PassBegins { .. })).unwrap();
    assert_eq!(told.len() - at, 1 + 1_140 + 1);
}

#[test]
fn a_position_after_the_last_commit_needs_a_pass() {
    let world = World::new(10);
    world.commit(3);
    let mut stream = world.store.synchronise(Position(1_000));
    let told = drain(&mut stream);
    assert!(matches!(told[0], SyncItem::PassBegins { position } if position < Position(1_000)));
    assert_eq!(told.len(), 5);
}

#[test]
fn a_page_of_a_pass_is_bounded_in_bytes() {
    let world = World::new(10);
    let name = |bytes: usize| "n".repeat(bytes);
    let make = |bytes: usize| {
        let mut request = CreateProductRequest::new(format!("P-{}", world.ada().position().0));
        request.name = Some(name(bytes));
        assert_eq!(world.ada().create_products(vec![request]).unwrap().error, None);
    };
    for _ in 0..3 {
        make(PASS_PAGE_BYTES);
    }
    let mut stream = world.store.synchronise(Position::START);
    stream.begin_pass();
    stream.poll().unwrap();
    stream.poll().unwrap();
    assert_eq!(stream.ready(), 0, "one page has more than one long name");
    assert_eq!(drain(&mut stream).len(), 3);
}

/// A reader that stores its state with its point, and crashes.
#[derive(Clone, Debug, Default)]
struct Replica {
    point: SyncPoint,
    /// Name, workspace and rows by kind and id.
    records: BTreeMap<(String, String), (String, String)>,
    is_in_pass: bool,
}

impl Replica {
    fn take(&mut self, item: SyncItem) {
        match item {
            SyncItem::PassBegins { .. } => {
                self.records.clear();
                self.is_in_pass = true;
            }
            SyncItem::Present(record) => {
                let key = (record.kind.to_owned(), record.id);
                self.records.insert(key, (record.name, record.workspace));
            }
            SyncItem::PassEnds { .. } => self.is_in_pass = false,
            SyncItem::Change(event) => {
                assert!(!self.is_in_pass, "a change in a pass");
                let key = (event.kind.to_owned(), event.id);
                match event.what {
                    What::Deleted => drop(self.records.remove(&key)),
                    _ => drop(self.records.insert(key, (event.name, event.workspace))),
                }
            }
            SyncItem::HoldEnds(_) => {}
        }
    }
}

fn random(seed: &mut u64, below: u64) -> u64 {
    *seed = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mixed = (*seed ^ *seed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    (mixed ^ mixed >> 31) % below
}

/// What a session sees, by queries.
fn seen(session: &Session) -> BTreeMap<(String, String), (String, String)> {
    let products = session.query_products(Default::default()).unwrap().products;
    let products = products.into_iter().map(|product| {
        let key = ("product".to_owned(), product.id.unwrap().to_string());
        (key, (product.name.unwrap_or_default(), product.workspace.unwrap()))
    });
    let tables = session.list_tables(Default::default()).unwrap().tables;
    let tables = tables.into_iter().map(|table| {
        let key = ("table".to_owned(), table.id.unwrap().to_string());
        (key, (table.name.unwrap_or_default(), table.workspace.unwrap()))
    });
    products.chain(tables).collect()
}

/// One random change of the store.
fn change(world: &World, seed: &mut u64, made: &mut Vec<ProductId>, tables: &mut Vec<TableId>) {
    let ada = world.ada();
    let workspace = ["open", "closed"][random(seed, 2) as usize];
    match random(seed, 6) {
        0..=2 => {
            let mut request = CreateProductRequest::new(format!("P-{}", ada.position().0));
            request.name = Some(format!("name {}", random(seed, 1_000)));
            request.workspace = Some(workspace.to_owned());
            made.extend(ada.create_products(vec![request]).unwrap().products.remove(0).id);
        }
        3 if !made.is_empty() => {
            let id = made.swap_remove(random(seed, made.len() as u64) as usize);
            ada.delete_products(vec![id]).unwrap();
        }
        4 if !made.is_empty() => {
            let id = &made[random(seed, made.len() as u64) as usize];
            let request = json!({ "id": id, "name": format!("other {}", random(seed, 1_000)) });
            let request = serde_json::from_value(request).unwrap();
            assert_eq!(ada.update_products(vec![request], false).unwrap().error, None);
        }
        _ => {
            let columns = json!([{ "name": "t", "dataType": "INT64", "columnType": "INDEX" }]);
            let name = format!("table {}", random(seed, 1_000));
            let table = json!({ "name": name, "workspace": workspace, "columns": columns });
            tables.push(ada.create_table(serde_json::from_value(table).unwrap()).unwrap());
            if tables.len() > 5 {
                ada.delete_table(&tables.remove(0)).unwrap();
            }
        }
    }
}

/// Random commits, trims, holds, crashes and passes: whenever the reader has all items, it has the
/// state of the store that its identity may see.
#[test]
fn a_reader_has_the_state_of_the_store_whatever_happened() {
    let (mut passes, mut resumed, mut compared) = (0, 0, 0);
    for run in 0..16 {
        let mut seed = 1_000 + run;
        let mut world = World::new(8);
        let who = ["guest", "ada"][run as usize % 2];
        let session = world.store.session(Identity::user(who));
        let (mut made, mut tables) = (Vec::new(), Vec::new());
        let bounds = HoldBounds::new(random(&mut seed, 400), random(&mut seed, 40_000));
        let from = session.register_subscriber_with("r", bounds).unwrap();
        let mut replica = Replica { point: from.into(), ..Replica::default() };
        for _ in 0..80 {
            for _ in 0..random(&mut seed, 8) {
                change(&world, &mut seed, &mut made, &mut tables);
            }
            world.later(random(&mut seed, 60) as i64);
            if random(&mut seed, 3) == 0 {
                world.store.maintain(&Control::default()).unwrap();
            }
            // Reads on from what it stored, and stores what it has from time to time.
            let stored = world.store.subscribers().unwrap().remove(0);
            assert_eq!(stored.is_in_pass, replica.point.is_in_pass());
            resumed += u64::from(replica.point.is_in_pass());
            let mut stream = session.synchronise_subscriber("r").unwrap();
            assert_eq!(*stream.point(), replica.point);
            let mut reading = replica.clone();
            for _ in 0..random(&mut seed, 30) {
                let Some(item) = stream.poll().unwrap() else {
                    assert_eq!(reading.records, seen(&session), "run {run}");
                    compared += 1;
                    break;
                };
                passes += u64::from(matches!(item, SyncItem::PassBegins { .. }));
                reading.take(item);
                // What happens while it reads.
                if random(&mut seed, 10) == 0 {
                    change(&world, &mut seed, &mut made, &mut tables);
                }
                if random(&mut seed, 4) == 0 {
                    reading.point = stream.point().clone();
                    session.advance_subscriber("r", &reading.point).unwrap();
                    replica = reading.clone();
                }
            }
        }
        let mut stream = session.synchronise_subscriber("r").unwrap();
        while let Some(item) = stream.poll().unwrap() {
            replica.take(item);
        }
        assert_eq!(replica.records, seen(&session), "run {run}");
    }
    println!("{passes} passes, {resumed} times one was resumed, {compared} states compared");
    assert!(passes > 20 && resumed > 20 && compared > 20, "{passes} {resumed} {compared}");
}
