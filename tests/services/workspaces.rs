//! The registry of workspaces, and the writes of all services that it rejects.

use crate::prelude::*;

use stationdb::arrow::array::{ArrayRef, Int64Array, RecordBatch};
use stationdb::faults::limits;

use crate::holds_at::holds_at;
use crate::rows::Rows;
use crate::test_store::TestStore;

fn register(session: &Session, id: &str) {
    session.create_workspace(CreateWorkspaceRequest::new(format!("Name of {id}")).id(id)).unwrap();
}

fn ids(session: &Session, query: QueryWorkspacesRequest) -> Vec<String> {
    let page = session.query_workspaces(query).unwrap();
    page.workspaces.into_iter().map(|workspace| workspace.id.unwrap()).collect()
}

/// Creates a record of every kind in a workspace. Returns the name of each error, if any.
fn create_everything(session: &Session, workspace: &str) -> Vec<(&'static str, Option<String>)> {
    let control = Control::default();
    let named = |result: Result<Value>| match result {
        Err(error) => {
            assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{error}");
            assert_eq!(error.place(), Some(&Place::Member("workspace".to_owned())), "{error}");
            error.api_error().name
        }
        Ok(answer) => {
            answer.pointer("/error/innerErrors/0/name").and_then(Value::as_str).map(str::to_owned)
        }
    };
    let wire = |answer: Result<Value>| named(answer);
    macro_rules! batch {
        ($method:ident, $item:expr) => {
            wire(
                session
                    .$method(vec![read(&$item)])
                    .map(|answer| serde_json::to_value(answer).unwrap()),
            )
        };
    }
    let part = format!("P of {workspace}");
    let asset = json!({ "modelName": "M", "vendorName": "V", "serialNumber": part, "workspace": workspace,
        "location": { "state": { "assetPresence": "PRESENT" } } });
    let spec = json!({ "specs": [{ "productId": "P", "specId": part, "type": "FUNCTIONAL", "workspace": workspace }] });
    let columns = json!([{ "name": "t", "dataType": "INT64", "columnType": "INDEX" }]);
    let table: CreateTableRequest = read(&json!({ "columns": columns, "workspace": workspace }));
    let import: ImportTableRequest =
        read(&json!({ "table": { "columns": columns, "workspace": workspace } }));
    let values: ArrayRef = Arc::new(Int64Array::from(vec![1]));
    let batch = RecordBatch::try_from_iter([("t", values)]).unwrap();
    let mut rows = Rows::new(import.clone(), Vec::new(), vec![batch]);
    vec![
        ("product", batch!(create_products, json!({ "partNumber": part, "workspace": workspace }))),
        (
            "spec",
            wire(
                session
                    .create_specs(read(&spec))
                    .map(|answer| serde_json::to_value(answer).unwrap()),
            ),
        ),
        ("asset", batch!(create_assets, asset)),
        ("work item", batch!(create_work_items, json!({ "workspace": workspace }))),
        (
            "work item template",
            batch!(
                create_work_item_templates,
                json!({ "name": "n", "type": "t", "templateGroup": "g", "workspace": workspace })
            ),
        ),
        ("test plan", batch!(create_test_plans, json!({ "workspace": workspace }))),
        (
            "test plan template",
            batch!(
                create_test_plan_templates,
                json!({ "name": "n", "templateGroup": "g", "workspace": workspace })
            ),
        ),
        ("table", named(session.create_table(table).map(|_| Value::Null))),
        ("import", named(session.import_rows(import, &mut rows, &control).map(|_| Value::Null))),
        (
            "file",
            named(
                session
                    .upload_file(
                        &mut &b"x"[..],
                        read(&json!({ "name": "f", "workspace": workspace })),
                        &control,
                    )
                    .map(|_| Value::Null),
            ),
        ),
        (
            "upload session",
            named(session.start_upload_session(Some(workspace.to_owned())).map(|_| Value::Null)),
        ),
        (
            "feed",
            named(
                session
                    .create_feed(read(
                        &json!({ "name": "f", "platform": "WINDOWS", "workspace": workspace }),
                    ))
                    .map(|_| Value::Null),
            ),
        ),
    ]
}

fn assert_all(outcomes: Vec<(&'static str, Option<String>)>, expected: Option<&str>) {
    for (what, name) in outcomes {
        assert_eq!(name.as_deref(), expected, "{what}");
    }
}

const INVALID: Option<&str> = Some("Workspaces.InvalidWorkspace");

#[test]
fn while_nothing_is_registered_every_workspace_is_taken() {
    let store = TestStore::new();
    assert_all(create_everything(&store.session(), "anywhere"), None);
}

#[test]
fn once_a_workspace_is_registered_others_are_refused_by_every_service() {
    let store = TestStore::new();
    let session = store.session();
    assert_all(create_everything(&session, "before"), None);
    register(&session, "lab");
    assert_all(create_everything(&session, "lab"), None);
    let files =
        || session.query_files(read(&json!({ "take": 100 }))).unwrap().available_files.len();
    let before = files();
    assert_all(create_everything(&session, "nowhere"), INVALID);
    assert_eq!(files(), before);
    // The default workspace of the store counts as registered, and records without a workspace are
    // created in it.
    assert_all(create_everything(&session, "default"), None);
    session
        .create_table(read(
            &json!({ "columns": [{ "name": "t", "dataType": "INT64", "columnType": "INDEX" }] }),
        ))
        .unwrap();
    let elsewhere = session.with_default_workspace("nowhere");
    let made = elsewhere.create_products(vec![read(&json!({ "partNumber": "new" }))]).unwrap();
    assert_eq!(made.error.unwrap().inner_errors[0].name.as_deref(), INVALID);
    // Existing records stay usable: they can be changed, moved to a registered workspace and
    // deleted, but not moved back.
    let page =
        session.query_products(read(&json!({ "filter": "workspace == \"before\"" }))).unwrap();
    let id = page.products[0].id.clone().unwrap();
    let update = |workspace: &str, name: &str| {
        let change = read(&json!({ "id": id, "workspace": workspace, "name": name }));
        session.update_products(vec![change], false).unwrap()
    };
    assert_eq!(update("before", "a").error, None);
    assert_eq!(update("lab", "b").error, None);
    let refused = update("before", "c");
    assert_eq!(refused.error.unwrap().inner_errors[0].name.as_deref(), INVALID);
    assert_eq!(session.get_product(&id).unwrap().name.as_deref(), Some("b"));
    session.delete_product(&id).unwrap();
    // The registry is still there after reopening, and verification knows the kind.
    drop((elsewhere, session));
    let store = store.reopen();
    let session = store.session();
    let refused = session
        .create_products(vec![read(&json!({ "partNumber": "again", "workspace": "nowhere" }))])
        .unwrap();
    assert_eq!(refused.error.unwrap().inner_errors[0].name.as_deref(), INVALID);
    let report = store.store.verify(VerifyLevel::Checksums, &Control::default()).unwrap();
    assert!(report.is_sound(), "{:?}", report.findings);
    // Once no workspace is registered, nothing is rejected.
    session.delete_workspace("lab").unwrap();
    assert_all(create_everything(&session, "nowhere"), None);
}

#[test]
fn each_item_of_a_batch_is_checked_for_its_own_workspace() {
    let store = TestStore::new();
    let session = store.session();
    register(&session, "one");
    register(&session, "two");
    let workspaces = ["one", "two", "nowhere", "one", "default", "nowhere", "two", "else"];
    let items = workspaces.map(|workspace| read(&json!({ "workspace": workspace })));
    let answer = session.create_work_items(items.to_vec()).unwrap();
    let of = |workspaces: Vec<Option<String>>| -> Vec<String> {
        workspaces.into_iter().flatten().collect()
    };
    let made = answer.created_work_items.into_iter().map(|item| item.workspace).collect();
    assert_eq!(of(made), ["one", "two", "one", "default", "two"]);
    let failed = answer.failed_work_items.into_iter().flatten().map(|item| item.workspace);
    assert_eq!(of(failed.collect()), ["nowhere", "nowhere", "else"]);
}

#[test]
fn an_option_puts_an_empty_registry_in_force() {
    let store = TestStore::with(|options| options.require_registered_workspaces(true));
    let session = store.session();
    assert_all(create_everything(&session, "lab"), INVALID);
    assert_all(create_everything(&session, "default"), None);
    register(&session, "lab");
    assert_all(create_everything(&session, "lab"), None);
}

#[test]
fn a_transaction_registers_and_uses_a_workspace_at_once_or_not_at_all() {
    let store = TestStore::new();
    let session = store.session();
    register(&session, "other");
    let create = |fails: bool| {
        session.transaction(|tx| {
            tx.create_workspace(CreateWorkspaceRequest::new("Lab").id("lab"))?;
            let made =
                tx.create_products(vec![read(&json!({ "partNumber": "P", "workspace": "lab" }))])?;
            assert_eq!(made.error, None);
            tx.delete_workspace("other")?;
            let refused = tx
                .create_products(vec![read(&json!({ "partNumber": "Q", "workspace": "other" }))])?;
            assert_eq!(refused.error.unwrap().inner_errors[0].name.as_deref(), INVALID);
            if fails { Err(Error::invalid("given up")) } else { Ok(()) }
        })
    };
    assert_eq!(create(true).unwrap_err().kind(), ErrorKind::InvalidArgument);
    assert_eq!(ids(&session, QueryWorkspacesRequest::default()), ["other"]);
    create(false).unwrap();
    assert_eq!(ids(&session, QueryWorkspacesRequest::default()), ["lab"]);
}

#[test]
fn workspaces_are_created_queried_and_deleted() {
    let store = TestStore::new();
    let session = store.session();
    let made = session.create_workspace(read(&json!({ "name": "Zürich" }))).unwrap();
    let id = made.id.clone().unwrap();
    assert_eq!(id.len(), 36, "an id is generated: {id}");
    assert_eq!(
        serde_json::to_value(&made).unwrap(),
        json!({ "id": id, "name": "Zürich", "createdAt": "2024-03-01T00:00:00.000Z", "createdBy": "ada" })
    );
    for name in ["a", "b", "c"] {
        store.clock.advance_ms(1000);
        register(&session, name);
    }
    let query = || QueryWorkspacesRequest::new();
    assert_eq!(ids(&session, query()), ["a", "b", "c", id.as_str()]);
    assert_eq!(
        ids(&session, query().order_by(WorkspaceOrderBy::CreatedAt).descending(true).take(2)),
        ["c", "b"]
    );
    assert_eq!(
        ids(&session, query().filter("id == @0 || name == \"Zürich\"").substitutions(["b"])),
        ["b", id.as_str()]
    );
    let plan = session.explain_query_workspaces(query().filter("id == \"b\"")).unwrap().to_string();
    assert!(plan.contains("index workspace"), "{plan}");
    // Page by page.
    let first = session.query_workspaces(query().take(3).return_count(true)).unwrap();
    assert_eq!((first.workspaces.len(), first.total_count), (3, Some(4)));
    assert_eq!(
        ids(&session, query().take(3).continuation_token(first.continuation_token.unwrap())),
        [id.as_str()]
    );
    session.delete_workspace("b").unwrap();
    let gone = session.delete_workspace("b").unwrap_err();
    assert_eq!(
        (gone.kind(), gone.api_error().name.as_deref()),
        (ErrorKind::NotFound, Some("Workspaces.WorkspaceNotFound"))
    );
    assert_eq!(ids(&session, query().filter("createdBy == \"ada\"")), ["a", "c", id.as_str()]);
    // Each change has an event.
    let mut changes = session.changes(Position::START);
    let events: Vec<String> = std::iter::from_fn(|| changes.poll().unwrap())
        .map(|event| format!("{} {} {}", event.kind, event.what, event.workspace))
        .collect();
    assert_eq!(events.last().map(String::as_str), Some("workspace DELETED b"), "{events:?}");
    assert_eq!(events.len(), 5);
}

#[test]
fn what_cannot_be_registered_is_refused() {
    let store = TestStore::new();
    let session = store.session();
    register(&session, "a");
    let kind = |body: Value| session.create_workspace(read(&body)).unwrap_err().kind();
    assert_eq!(kind(json!({ "name": "again", "id": "a" })), ErrorKind::Conflict);
    assert_eq!(kind(json!({ "name": " " })), ErrorKind::InvalidArgument);
    assert_eq!(kind(json!({ "id": "b" })), ErrorKind::InvalidArgument);
    assert_eq!(kind(json!({ "name": "n", "id": "" })), ErrorKind::InvalidArgument);
    holds_at(limits::WORKSPACE_BYTES, ErrorKind::LimitExceeded, |bytes| {
        session.create_workspace(CreateWorkspaceRequest::new("n").id("x".repeat(bytes))).map(drop)
    });
    holds_at(limits::WORKSPACE_BYTES, ErrorKind::LimitExceeded, |bytes| {
        session.create_workspace(CreateWorkspaceRequest::new("x".repeat(bytes))).map(drop)
    });
}

#[test]
fn a_workspace_is_seen_and_changed_by_who_may() {
    let store = TestStore::with(|options| options.access_policy(GuestsRead("open")));
    let session = store.session();
    register(&session, "open");
    register(&session, "hidden");
    let guest = store.store.session(Identity::user("guest"));
    assert_eq!(ids(&guest, QueryWorkspacesRequest::default()), ["open"]);
    assert_eq!(guest.delete_workspace("hidden").unwrap_err().kind(), ErrorKind::NotFound);
    assert_eq!(guest.delete_workspace("open").unwrap_err().kind(), ErrorKind::PermissionDenied);
    for id in ["hidden", "new"] {
        let refused = guest.create_workspace(CreateWorkspaceRequest::new("n").id(id)).unwrap_err();
        assert_eq!(
            refused.kind(),
            ErrorKind::PermissionDenied,
            "the error does not reveal whether {id} is registered"
        );
        // A write into the workspace does not reveal it either.
        let refused = guest
            .create_products(vec![read(&json!({ "partNumber": "P", "workspace": id }))])
            .unwrap();
        let name = refused.error.unwrap().inner_errors[0].name.clone();
        assert_eq!(name.as_deref(), Some("Skyline.InsufficientPrivileges"));
    }
    assert_eq!(ids(&session, QueryWorkspacesRequest::default()).len(), 2);
}
