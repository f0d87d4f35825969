//! The recipe of docs/architecture.md, "Adding a resource type", compiled as it is and tested.

#[path = "../../../docs/recipe/fixture.rs"]
#[allow(unreachable_pub)]
mod fixture;
#[path = "../../../docs/recipe/fixtures.rs"]
mod fixtures;

use fixture::{
    CreateFixtureRequest, Fixture, FixtureField, FixtureOrderBy, QueryFixturesRequest,
    UpdateFixtureRequest,
};
use fixtures::FixtureService;

use super::test_store::TestStore;
use crate::error::ApiError;
#[cfg(feature = "search")]
use crate::search::SearchRequest;
use crate::session::Identity;
use crate::store::tests::prelude::*;

static KINDS: [KindEntry; 1] = [KindEntry::of::<Fixture>()];

/// Guests may read one workspace and change nothing.
const GUESTS_READ: Rule = Rule(|who, service, action| {
    assert_eq!(service, Service("fixtures"));
    match (who.user_id(), action) {
        ("guest", Action::Read) => Visibility::workspaces(["open"]),
        ("guest", _) => Visibility::None,
        _ => Visibility::All,
    }
});

fn request(name: &str, slot_count: i32, workspace: &str) -> CreateFixtureRequest {
    CreateFixtureRequest {
        name: Some(name.to_owned()),
        slot_count: Some(slot_count),
        workspace: Some(workspace.to_owned()),
        ..CreateFixtureRequest::default()
    }
}

fn names(session: &Session, filter: &str) -> Vec<String> {
    let query = QueryFixturesRequest {
        filter: Some(filter.to_owned()),
        order_by: Some(FixtureOrderBy::Name),
        projection: Some(vec![FixtureField::Name]),
        ..QueryFixturesRequest::default()
    };
    let page = session.query_fixtures(query).unwrap();
    assert!(
        page.fixtures.iter().all(|fixture| fixture.id.is_none() && fixture.slot_count.is_none())
    );
    page.fixtures.into_iter().filter_map(|fixture| fixture.name).collect()
}

fn store() -> TestStore {
    let store =
        TestStore::with(|options| options.access_policy(GUESTS_READ).maintenance_thread(false));
    store.store.engine().search.set_registry(&KINDS);
    store
}

#[test]
fn a_resource_takes_two_files_of_together_at_most_157_lines() {
    let files = [
        include_str!("../../../docs/recipe/fixture.rs"),
        include_str!("../../../docs/recipe/fixtures.rs"),
    ];
    let lines: usize = files.iter().map(|file| file.lines().count()).sum();
    assert!(lines <= 157, "{lines} lines");
}

#[test]
fn the_recipe_creates_queries_updates_and_deletes() {
    let store = store();
    let session = store.session();
    let batch =
        vec![request("north", 4, "open"), request(" ", 1, "open"), request("south", 8, "closed")];
    let made = session.create_fixtures(batch).unwrap();
    assert_eq!(made.fixtures.len(), 2);
    let inner = made.error.unwrap().inner_errors;
    assert_eq!(inner.len(), 1);
    assert_eq!(names(&session, "slotCount > 3"), ["north", "south"]);
    assert_eq!(names(&session, "slotCount > 4"), ["south"]);
    let id = made.fixtures[0].id.clone().map(String::from).unwrap();
    let change = UpdateFixtureRequest {
        id: id.clone(),
        slot_count: Some(2),
        ..UpdateFixtureRequest::default()
    };
    let changed = session.update_fixture(change).unwrap();
    assert_eq!((changed.name.as_deref(), changed.slot_count), (Some("north"), Some(2)));
    assert_eq!(names(&session, "slotCount > 3"), ["south"]);
    assert_eq!(session.get_fixture(&id.as_str().into()).unwrap(), changed);
    let deleted = session.delete_fixtures(vec![id.clone(), id, "9".to_owned()]).unwrap().unwrap();
    assert_eq!((deleted.ids.len(), deleted.error.unwrap().inner_errors.len()), (1, 1));
    assert_eq!(names(&session, ""), ["south"]);
}

#[cfg(feature = "search")]
#[test]
fn the_recipe_is_found_by_its_text() {
    let store = store();
    let session = store.session();
    let batch = vec![request("bed of nails", 4, "open"), request("clamp", 1, "closed")];
    assert_eq!(session.create_fixtures(batch).unwrap().error, None);
    let found = |session: &Session, text: &str| -> Vec<String> {
        let request = SearchRequest { text: Some(text.to_owned()), ..SearchRequest::default() };
        session.search(request).unwrap().hits.into_iter().map(|hit| hit.name).collect()
    };
    assert_eq!(found(&session, "nails"), ["bed of nails"]);
    assert_eq!(found(&session, "clamp"), ["clamp"]);
    let guest = store.store.session(Identity::user("guest"));
    assert_eq!(found(&guest, "clamp"), Vec::<String>::new());
}

#[test]
fn the_recipe_keeps_to_the_policy() {
    let store = store();
    let made = store
        .session()
        .create_fixtures(vec![request("a", 1, "open"), request("b", 1, "closed")])
        .unwrap();
    let guest = store.store.session(Identity::user("guest"));
    assert_eq!(names(&guest, ""), ["a"]);
    let ids: Vec<String> =
        made.fixtures.iter().filter_map(|fixture| fixture.id.clone().map(String::from)).collect();
    let refused = |error: Option<ApiError>| -> Vec<Option<String>> {
        error.unwrap().inner_errors.into_iter().map(|error| error.name).collect()
    };
    let denied = Some("Skyline.InsufficientPrivileges".to_owned());
    let made = guest.create_fixtures(vec![request("c", 1, "open")]).unwrap();
    assert_eq!(made.fixtures, []);
    assert_eq!(refused(made.error), std::slice::from_ref(&denied));
    let deleted = guest.delete_fixtures(ids).unwrap().unwrap();
    assert_eq!(deleted.ids, Vec::<String>::new());
    let deleted = refused(deleted.error);
    assert_eq!(deleted[0], denied);
    // A record that the guest may not see is reported as not found.
    assert_ne!(deleted[1], denied);
    assert_eq!(names(&store.session(), ""), ["a", "b"]);
}
