//! Subscribers of the change feed belong to the user who registered them, or to nobody. Their
//! owner, an unrestricted identity and the host of the store can use them. For others they do not
//! exist.

use std::collections::BTreeSet;
use std::path::Path;

use stationdb::prelude::*;
use stationdb::{
    Action, ErrorKind, HoldBounds, Identity, Position, Service, Session, Store, StoreOptions,
    Subscriber, SyncItem, Visibility,
};

use crate::world::{MARK, Rule, World, request};

const GRANTS: Rule = Rule(|who, service, action| match (who.user_id(), service, action) {
    // Reads everything and has subscribers, and nothing else.
    ("replica", Service::CHANGES, _) | ("replica" | "reader", _, Action::Read) => Visibility::All,
    // May do everything with the feed, but does not see the files of one workspace.
    ("half", Service::FILES, _) => Visibility::workspaces(["open"]),
    ("half" | "ada", _, _) => Visibility::All,
    ("guest", _, _) => Visibility::workspaces(["open"]),
    _ => Visibility::None,
});

type Outcome = Result<String, ErrorKind>;
type Call = fn(&Session, &Subscriber) -> stationdb::Result<String>;

/// Every call that takes a subscriber: its method, and the call for a given subscriber, by its name
/// or as listed.
const CALLS: [(&str, Call); 8] = [
    ("subscribers", |session, _| {
        let told = session.subscribers()?.into_iter();
        Ok(told
            .map(|told| format!("{} of {}; ", told.name, told.owner.unwrap_or_default()))
            .collect())
    }),
    ("synchronise_subscriber", |session, of| {
        session.synchronise_subscriber(&of.name).map(|stream| stream.point().to_string())
    }),
    ("register_subscriber", |session, of| {
        let now = session.position();
        session
            .register_subscriber(&of.name)
            .map(|at| if at == now { "new".into() } else { "found".into() })
    }),
    ("register_subscriber_with", |session, of| {
        let now = session.position();
        session
            .register_subscriber_with(&of.name, HoldBounds::new(1_000, 1_000))
            .map(|at| if at == now { "new".into() } else { "found".into() })
    }),
    ("advance_subscriber", |session, of| {
        session.advance_subscriber(&of.name, session.position()).map(|()| String::new())
    }),
    ("advance_subscriber", |session, of| {
        session.advance_subscriber(of, session.position()).map(|()| String::new())
    }),
    ("remove_subscriber", |session, of| {
        session.remove_subscriber(&of.name).map(|()| String::new())
    }),
    ("remove_subscriber", |session, of| session.remove_subscriber(of).map(|()| String::new())),
];

/// Returns the outcome of each call.
fn attempts(session: &Session, of: &Subscriber) -> Vec<Outcome> {
    CALLS.iter().map(|(_, call)| call(session, of).map_err(|error| error.kind())).collect()
}

fn denied() -> Vec<Outcome> {
    vec![Err(ErrorKind::PermissionDenied); CALLS.len()]
}

/// Returns the only subscriber of this owner.
fn owned(store: &Store, owner: Option<&str>) -> Subscriber {
    let all = store.subscribers().unwrap();
    let mut owned = all.into_iter().filter(|told| told.owner.as_deref() == owner);
    let found = owned.next().unwrap_or_else(|| panic!("{owner:?} has no subscriber"));
    assert_eq!(owned.next(), None);
    found
}

#[test]
fn every_call_with_a_subscriber_is_tried() {
    let text: String = ["subscribers", "synchronise"]
        .map(|name| format!("src/session/feed/{name}.rs"))
        .map(|path| Path::new(env!("CARGO_MANIFEST_DIR")).join(path))
        .map(|path| std::fs::read_to_string(path).unwrap())
        .concat();
    let public =
        text.lines().filter_map(|line| line.strip_prefix("    pub fn ")?.split(['(', '<']).next());
    let public = public.filter(|name| name.contains("subscriber"));
    let tried: BTreeSet<&str> = CALLS.iter().map(|(name, _)| *name).collect();
    assert_eq!(public.collect::<BTreeSet<_>>(), tried);
}

/// Compares a stranger, a colleague with the same rights, an owner and an unrestricted identity, in
/// a store where the owner has a subscriber of the name and in one where it has none.
#[test]
fn only_its_owner_and_an_unrestricted_identity_use_a_subscriber() {
    let mut answers = Vec::new();
    for is_there in [true, false] {
        let world = World::new();
        let mut theirs = Subscriber::default();
        theirs.name = "theirs".into();
        theirs.owner = Some("member".into());
        world.store.register("theirs").unwrap();
        if is_there {
            world.session("member").register_subscriber("theirs").unwrap();
        } else {
            world.session("ada").register_subscriber("other").unwrap();
        }
        let before = world.store.subscribers().unwrap();
        for who in ["guest", "stranger", "stationdb", "nobody", ""] {
            assert_eq!(attempts(&world.session(who), &theirs), denied(), "{who}");
            assert_eq!(world.store.subscribers().unwrap(), before, "{who} changed something");
        }
        // Each right alone: users who see everything and may only list, create or delete.
        for (who, allowed) in [("reader", 0..2), ("maker", 0..3), ("cleaner", 0..2)] {
            let outcomes = attempts(&world.session(who), &theirs);
            for (at, outcome) in outcomes.iter().enumerate().filter(|(at, _)| *at < 6) {
                assert_eq!(
                    outcome.is_ok(),
                    allowed.contains(&at),
                    "{who}, {}: {outcome:?}",
                    CALLS[at].0
                );
            }
        }
        let left = world.store.subscribers().unwrap();
        assert!(
            left.iter().all(|told| told.name == "other"),
            "the cleaner, which is unrestricted, left {left:?}"
        );
        world.store.register("theirs").unwrap();
        if is_there {
            world.session("member").register_subscriber("theirs").unwrap();
        }

        // A colleague gets the same answer whether the name is taken or not.
        let before = world.store.subscribers().unwrap();
        let colleague = world.session("colleague");
        let mut told = Vec::new();
        let mut ask = || {
            told.extend(CALLS.iter().map(|(_, call)| match call(&colleague, &theirs) {
                Ok(text) => text,
                Err(error) => format!("{:?} {error}", error.kind()),
            }));
        };
        ask();
        assert_eq!(world.store.subscribers().unwrap(), before, "a colleague changed something");
        ask();
        answers.push(told);
    }
    assert_eq!(
        answers[0], answers[1],
        "answers to a colleague depend on the subscribers of others"
    );
    let text = answers[0].join("; ");
    assert!(!text.contains("member"), "{text}");
    // By name it uses its own: listed, registered, moved, removed. The member's is refused.
    let kinds =
        answers[0].iter().map(|text| text.starts_with("PermissionDenied")).collect::<Vec<_>>();
    let once = [false, false, false, false, false, true, false, true];
    assert_eq!(kinds, [once, once].concat(), "{text}");

    let world = World::new();
    let member = world.session("member");
    let from = member.register_subscriber("theirs").unwrap();
    world.store.register("theirs").unwrap();
    let _ = world
        .session("ada")
        .create_products(vec![request(serde_json::json!({"partNumber": "x"}))])
        .unwrap();
    let now = member.position();
    assert!(now > from);
    // The owner lists, finds and moves it; the position of nobody's subscriber does not change.
    assert_eq!(member.subscribers().unwrap(), [owned(&world.store, Some("member"))]);
    assert_eq!(member.register_subscriber("theirs").unwrap(), from);
    member.advance_subscriber("theirs", now).unwrap();
    assert_eq!(owned(&world.store, Some("member")).position, now);
    assert!(owned(&world.store, None).position < now);
    let refused = member.advance_subscriber(&owned(&world.store, None), now).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::PermissionDenied, "{refused}");
    // By name an unrestricted identity means nobody's subscriber until it owns one. It reaches the
    // member's as listed.
    let ada = world.session("ada");
    ada.advance_subscriber("theirs", now).unwrap();
    assert_eq!(owned(&world.store, None).position, now);
    let theirs = owned(&world.store, Some("member"));
    ada.advance_subscriber(&theirs, ada.position()).unwrap();
    assert!(owned(&world.store, Some("member")).position > now);
    ada.remove_subscriber(&theirs).unwrap();
    assert_eq!(ada.subscribers().unwrap(), [owned(&world.store, None)]);
    ada.remove_subscriber("theirs").unwrap();
    assert_eq!(ada.subscribers().unwrap(), []);
    // The owner removes its own.
    member.register_subscriber("theirs").unwrap();
    member.remove_subscriber("theirs").unwrap();
    assert_eq!(world.store.subscribers().unwrap(), []);
}

#[test]
fn a_restricted_owner_reads_what_the_policy_shows_it_from_its_position_on() {
    let world = World::new();
    let member = world.session("member");
    let from = member.register_subscriber("theirs").unwrap();
    let ada = world.session("ada");
    for (number, workspace) in
        ["secret", "open", "secret", "open", "secret"].into_iter().enumerate()
    {
        let name = if workspace == "secret" { MARK } else { "Plain" };
        let product = serde_json::json!({"partNumber": format!("{name} {number}"), "name": name, "workspace": workspace});
        let _ = ada.create_products(vec![request(product)]).unwrap();
    }
    let mut changes = member.changes(from);
    let mut seen = Vec::new();
    while let Some(event) = changes.poll().unwrap() {
        seen.push((event.workspace, event.name));
        // A reader that is interrupted after each event, and continues from the position that it
        // stored.
        member.advance_subscriber("theirs", changes.position()).unwrap();
        changes = member.changes(member.register_subscriber("theirs").unwrap());
    }
    assert_eq!(seen, vec![("open".to_owned(), "Plain".to_owned()); 2]);
    // The position passes events that it was not shown.
    member.advance_subscriber("theirs", changes.position()).unwrap();
    assert!(owned(&world.store, Some("member")).position >= Position(from.0 + 5));
}

#[test]
fn a_policy_can_grant_the_feed_to_a_reader_of_everything() {
    let dir = tempfile::tempdir().unwrap();
    let store = StoreOptions::default().access_policy(GRANTS).open(dir.path()).unwrap();
    store.register("theirs").unwrap();
    let before = store.subscribers().unwrap();
    let theirs = owned(&store, None);
    for who in ["guest", "stranger"] {
        assert_eq!(attempts(&store.session(Identity::user(who)), &theirs), denied(), "{who}");
    }
    let reader = attempts(&store.session(Identity::user("reader")), &theirs);
    assert_eq!((&reader[0], &reader[2..]), (&Ok("theirs of ; ".to_owned()), &denied()[2..]));
    assert!(reader[1].is_ok(), "{reader:?}");
    // A user who does not see everything has its own subscribers, and cannot use nobody's.
    let half = attempts(&store.session(Identity::user("half")), &theirs);
    let is_ok: Vec<bool> = half.iter().map(Result::is_ok).collect();
    assert_eq!(is_ok, [true, false, true, true, true, false, true, false], "{half:?}");
    assert_eq!(store.subscribers().unwrap(), before);
    let replica = attempts(&store.session(Identity::user("replica")), &theirs);
    assert!(replica.iter().all(Result::is_ok), "{replica:?}");
    assert_eq!(store.subscribers().unwrap(), []);
}

/// A full pass tells what the policy shows, and its points name no record that it does not.
#[test]
fn a_full_pass_tells_what_the_policy_shows() {
    let world = World::new();
    let member = world.session("member");
    let ada = world.session("ada");
    let mut hosts = world.store.synchronise(Position::START);
    hosts.begin_pass();
    let all: Vec<SyncItem> = std::iter::from_fn(|| hosts.poll().unwrap()).collect();
    let mut stream = member.synchronise(Position::START);
    stream.begin_pass();
    let (mut shown, mut points) = (0, BTreeSet::new());
    while let Some(item) = stream.poll().unwrap() {
        if let SyncItem::Present(record) = &item {
            assert_eq!(record.workspace, "open", "{record:?}");
            assert!(!format!("{record:?}").contains(MARK), "{record:?}");
            assert!(points.insert(stream.point().to_string()), "a point stands for two records");
            shown += 1;
        }
    }
    let is_open =
        |item: &&SyncItem| matches!(item, SyncItem::Present(record) if record.workspace == "open");
    assert_eq!(shown, all.iter().filter(is_open).count());
    let present = all.iter().filter(|item| matches!(item, SyncItem::Present(_))).count();
    assert!(shown > 10 && present > shown, "{shown} of {present}");
    // An unrestricted identity is told what the host is.
    let mut unrestricted = ada.synchronise(Position::START);
    unrestricted.begin_pass();
    let told: Vec<SyncItem> = std::iter::from_fn(|| unrestricted.poll().unwrap()).collect();
    assert_eq!(told, all);
}
