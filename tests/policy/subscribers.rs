//! Subscribers of the change feed belong to nobody: only an unrestricted identity uses them, and the host of the store.

use stationdb::prelude::*;
use stationdb::{
    AccessPolicy, Action, ErrorKind, Identity, Position, Service, Session, Store, StoreOptions, Visibility,
};

use crate::world::World;

#[derive(Debug)]
struct Grants;

impl AccessPolicy for Grants {
    fn visible(&self, who: &Identity, service: Service, action: Action) -> Visibility {
        match (who.user_id(), service, action) {
            // Reads everything and moves positions; nothing else.
            ("replica", Service::CHANGES, _) | ("replica" | "reader", _, Action::Read) => Visibility::All,
            // May do all with the feed, and does not see the files of one workspace.
            ("half", Service::FILES, _) => Visibility::workspaces(["open"]),
            ("half" | "ada", _, _) => Visibility::All,
            ("guest", _, _) => Visibility::workspaces(["open"]),
            _ => Visibility::None,
        }
    }
}

/// What each of the three calls ends with.
fn attempts(session: &Session) -> [Option<ErrorKind>; 4] {
    let to = session.position();
    [
        session.register_subscriber("theirs").map(drop),
        session.register_subscriber("new").map(drop),
        session.advance_subscriber("theirs", to),
        session.remove_subscriber("theirs"),
    ]
    .map(|outcome| outcome.err().map(|error| error.kind()))
}

fn picture(store: &Store) -> Vec<(String, Position)> {
    store.subscribers().unwrap().into_iter().map(|subscriber| (subscriber.name, subscriber.position)).collect()
}

#[test]
fn a_restricted_identity_neither_registers_nor_moves_nor_removes_a_subscriber() {
    let world = World::new();
    let session = |who: &str| world.session(who);
    let from = session("ada").register_subscriber("theirs").unwrap();
    session("ada").create_products(vec![crate::world::request(serde_json::json!({"partNumber": "x"}))]).unwrap();
    let before = picture(&world.store);
    assert_eq!(before, [("theirs".to_owned(), from)]);
    for who in ["guest", "stranger", "reader", "maker", "stationdb", "cleaner"] {
        let session = session(who);
        let [found, registered, advanced, removed] = attempts(&session);
        let denied = Some(ErrorKind::PermissionDenied);
        // The maker may create what it sees, which is everything; it moves and removes nothing.
        let creates = if who == "maker" { None } else { denied };
        let deletes = if who == "cleaner" { None } else { denied };
        assert_eq!((found, registered, advanced, removed), (creates, creates, denied, deletes), "{who}");
        world.store.unregister("new").unwrap();
        if who == "cleaner" {
            assert_eq!(picture(&world.store), []);
            world.store.register("theirs").unwrap();
        } else {
            assert_eq!(picture(&world.store), before, "{who} changed something");
        }
        // Whether a name is taken is not told either.
        if who == "guest" {
            let text = |name: &str| session.advance_subscriber(name, Position(u64::MAX)).unwrap_err().to_string();
            assert_eq!(text("theirs"), text("other"));
        }
    }
    assert_eq!(attempts(&session("ada")), [None; 4]);
}

#[test]
fn a_policy_can_grant_the_feed_to_a_reader_of_everything() {
    let dir = tempfile::tempdir().unwrap();
    let store = StoreOptions::default().access_policy(Grants).open(dir.path()).unwrap();
    store.register("theirs").unwrap();
    let before = picture(&store);
    let denied = Some(ErrorKind::PermissionDenied);
    for who in ["half", "guest", "reader", "stranger"] {
        assert_eq!(attempts(&store.session(Identity::user(who))), [denied; 4], "{who}");
        assert_eq!(picture(&store), before, "{who}");
    }
    assert_eq!(attempts(&store.session(Identity::user("replica"))), [None; 4]);
    let left: Vec<String> = picture(&store).into_iter().map(|(name, _)| name).collect();
    assert_eq!(left, ["new"]);
}
