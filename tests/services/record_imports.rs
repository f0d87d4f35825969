//! Imports of reference data from another store.

use crate::prelude::*;

use stationdb::scans::ImportConflictReason as Reason;

use crate::holds_at::holds_at;

/// ada does everything. The guest reads and writes `open` alone, and may import. The keeper deletes
/// nothing.
const ROLES: Rule = Rule(|who, service, action| match who.user_id() {
    "keeper" if action == Action::Delete => Visibility::None,
    "guest" if service != Service::CHANGES => Visibility::workspaces(["open"]),
    "stranger" => Visibility::workspaces(["open"]),
    _ => Visibility::All,
});

fn store() -> Store {
    let options = Store::options().maintenance_thread(false).access_policy(ROLES);
    options.open_disk(Arc::new(MemoryDisk::default())).unwrap()
}

/// A station that imports from one source, step by step.
struct Station {
    store: Store,
    ada: Session,
    at: u64,
}

impl Station {
    fn new() -> Self {
        let store = store();
        let ada = store.session(Identity::user("ada"));
        Self { store, ada, at: 0 }
    }

    fn tried(&self, who: &str, value: Value) -> Result<ImportRecordsResponse> {
        self.store.session(Identity::user(who)).import_records(request(value))
    }

    /// Imports changes after the last import.
    fn import(&mut self, records: Value, more: Value) -> ImportRecordsResponse {
        let after = (self.at > 0).then(|| self.at.to_string());
        self.at += 1;
        let mut asked = json!({
            "source": "centre", "after": after, "position": self.at.to_string(),
            "records": records,
        });
        asked.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let answer = self.tried("ada", asked).unwrap();
        assert!(answer.applied);
        assert_eq!(answer.position, Some(self.at.to_string()));
        answer
    }

    /// What waits, after choices.
    fn settle(&self, choices: Value) -> ImportRecordsResponse {
        self.tried("ada", json!({"source": "centre", "choices": choices})).unwrap()
    }

    fn product(&self, number: u64) -> Option<Value> {
        self.ada.get_product(&request(json!(id(number)))).ok().map(|it| json!(it))
    }

    fn spec(&self, number: u64) -> Option<Value> {
        self.ada.get_spec(&request(json!(id(number)))).ok().map(|it| json!(it))
    }

    fn name(&self, number: u64) -> Option<String> {
        Some(self.product(number)?["name"].as_str().unwrap().to_owned())
    }

    fn rename(&self, number: u64, name: &str) {
        let change = json!([{"id": id(number), "name": name}]);
        let answer = self.ada.update_products(request(change), false).unwrap();
        assert_eq!(answer.error, None);
    }

    fn verify(&self) {
        let report = self.store.verify(VerifyLevel::Checksums, &Control::default()).unwrap();
        assert!(report.findings.is_empty(), "{:?}", report.findings);
    }

    fn delete(&self, number: u64) {
        self.ada.delete_product(&request(json!(id(number)))).unwrap();
    }
}

fn id(number: u64) -> String {
    format!("00000000-0000-8000-8000-{number:012}")
}

fn product_in(number: u64, part: &str, name: &str, workspace: &str) -> Value {
    json!({"kind": "PRODUCT", "id": id(number), "record": {
        "id": id(number), "partNumber": part, "name": name, "workspace": workspace,
        "updatedAt": "2024-05-01T00:00:00.000Z", "keywords": [], "properties": {},
    }})
}

fn product(number: u64, part: &str, name: &str) -> Value {
    product_in(number, part, name, "open")
}

fn gone(kind: &str, number: u64) -> Value {
    json!({"kind": kind, "id": id(number)})
}

fn spec(number: u64, spec_id: &str, product: u64) -> Value {
    json!({"kind": "SPECIFICATION", "id": id(number), "record": {
        "id": id(number), "specId": spec_id, "productId": id(product), "workspace": "open",
        "type": "PARAMETRIC", "version": 3, "limit": {"min": 1, "max": 2.5},
    }})
}

fn template(number: u64, name: &str) -> Value {
    json!({"kind": "WORK_ITEM_TEMPLATE", "id": number.to_string(), "record": {
        "id": number.to_string(), "name": name, "templateGroup": "g", "type": "testplan",
        "workspace": "open", "executionActions": [{"type": "MANUAL", "action": "START"}],
    }})
}

fn choice(kind: &str, id: &str, decision: &str) -> Value {
    json!({"kind": kind, "id": id, "decision": decision})
}

fn counts(answer: &ImportRecordsResponse) -> [i64; 4] {
    [answer.created_count, answer.updated_count, answer.deleted_count, answer.unchanged_count]
}

fn reasons(answer: &ImportRecordsResponse) -> Vec<(String, Reason)> {
    answer.conflicts.iter().map(|it| (it.id.clone(), it.reason)).collect()
}

const KEYS: [&str; 2] = ["KEEP", "TAKE"];

#[test]
fn records_come_change_and_go_as_at_the_source() {
    let mut station = Station::new();
    let test_plan = json!({"kind": "TEST_PLAN_TEMPLATE", "id": "7", "record": {
        "id": "7", "name": "plan", "templateGroup": "g", "workspace": "open"}});
    let all = json!([
        spec(11, "a", 1),
        product(1, "A", "one"),
        product(2, "B", "two"),
        template(9, "t"),
        test_plan,
    ]);
    let before = station.ada.position();
    let answer = station.import(all.clone(), json!({}));
    assert_eq!((counts(&answer), answer.conflicts.len()), ([5, 0, 0, 0], 0));
    // One commit.
    assert_eq!(station.ada.position().0, before.0 + 1);
    assert_eq!(station.name(1).as_deref(), Some("one"));
    let stored = station.spec(11).unwrap();
    assert_eq!((&stored["version"], &stored["limit"]), (&json!(3), &json!({"min": 1, "max": 2.5})));
    assert_eq!(station.product(1).unwrap()["updatedAt"], "2024-05-01T00:00:00.000Z");
    // The same again is nothing new, and no commit.
    let again = json!({"source": "centre", "position": "1", "records": all});
    let before = station.ada.position();
    let answer = station.tried("ada", again).unwrap();
    assert!(!answer.applied && counts(&answer) == [0; 4]);
    assert_eq!(station.ada.position(), before);
    let changes =
        json!([product(1, "A", "ONE"), gone("PRODUCT", 2), gone("PRODUCT", 3), template(9, "t")]);
    let answer = station.import(changes, json!({}));
    assert_eq!((counts(&answer), answer.conflicts.len()), ([0, 1, 1, 2], 0));
    assert_eq!((station.name(1).as_deref(), station.name(2)), (Some("ONE"), None));
}

#[test]
fn a_gap_is_refused_and_a_full_pass_closes_it() {
    let mut station = Station::new();
    station.import(json!([product(1, "A", "one"), product(2, "B", "two")]), json!({}));
    let own = json!([{"partNumber": "own"}]);
    assert_eq!(station.ada.create_products(request(own)).unwrap().error, None);
    for after in [json!("0"), json!("2"), json!(null)] {
        let asked = json!({"source": "centre", "after": after, "position": "9",
            "records": [product(1, "A", "late")]});
        let error = station.tried("ada", asked).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Conflict, "{error}");
        assert_eq!(error.api_error().name.as_deref(), Some("Records.ImportGap"));
    }
    assert_eq!(station.name(1).as_deref(), Some("one"));
    let full = json!({"full": ["PRODUCT"], "after": "nonsense"});
    let answer = station.import(json!([product(3, "C", "three")]), full);
    assert_eq!(counts(&answer), [1, 0, 2, 0]);
    // What never came from the source stays.
    let mut names = 0;
    let request = ScanRecordsRequest::new(RecordKind::Product);
    for batch in station.ada.scan_records(request, &Control::default()).unwrap() {
        names += batch.unwrap().num_rows();
    }
    assert_eq!(names, 2);
}

#[test]
fn what_was_changed_created_or_deleted_here_is_told_until_it_is_settled() {
    for decision in KEYS {
        let mut station = Station::new();
        let first = json!([
            product(1, "A", "one"),
            product(2, "B", "two"),
            product(3, "C", "3"),
            template(9, "t")
        ]);
        station.import(first, json!({}));
        station.rename(1, "mine");
        station.delete(2);
        station.rename(3, "mine too");
        let created = json!({"workItemTemplates": [{"name": "local", "templateGroup": "g",
            "type": "x", "workspace": "open"}]});
        let created = json!(created["workItemTemplates"]);
        let created = station.ada.create_work_item_templates(request(created)).unwrap();
        let local = created.created_work_item_templates[0].id.clone().unwrap().to_string();
        let number: u64 = local.parse().unwrap();
        let changes = json!([
            product(1, "A", "ONE"),
            product(2, "B", "TWO"),
            gone("PRODUCT", 3),
            template(number, "theirs")
        ]);
        let answer = station.import(changes, json!({}));
        let expected = [
            (id(1), Reason::ChangedHere),
            (id(2), Reason::DeletedHere),
            (id(3), Reason::ChangedHere),
            (local.clone(), Reason::CreatedHere),
        ];
        assert_eq!(reasons(&answer), expected);
        assert_eq!(counts(&answer), [0; 4]);
        let told = &answer.conflicts[0];
        assert_eq!(told.name.as_deref(), Some("mine"));
        assert_eq!(told.here.as_ref().unwrap()["name"], "mine");
        assert_eq!(told.came.as_ref().unwrap()["name"], "ONE");
        assert_eq!(answer.conflicts[1].here, None);
        assert_eq!(answer.conflicts[2].came, None);
        // Nothing of these records is changed.
        assert_eq!(station.name(1).as_deref(), Some("mine"));
        assert_eq!((station.name(2), station.name(3).as_deref()), (None, Some("mine too")));
        // They wait, also over an import of other records.
        let answer = station.import(json!([product(4, "D", "four")]), json!({}));
        assert_eq!(reasons(&answer), expected);
        assert_eq!(reasons(&station.settle(json!([]))), expected);
        let all = expected.iter().map(|(id, _)| {
            let kind = if id.len() < 10 { "WORK_ITEM_TEMPLATE" } else { "PRODUCT" };
            choice(kind, id, decision)
        });
        let answer = station.settle(all.collect());
        assert_eq!(reasons(&answer), []);
        let names = [1, 2, 3].map(|number| station.name(number));
        let name = |text: &str| Some(text.to_owned());
        match decision {
            "KEEP" => assert_eq!(names, [name("mine"), None, name("mine too")]),
            _ => assert_eq!(names, [name("ONE"), name("TWO"), None]),
        }
        // Settled is settled, also in a full pass.
        let all = json!([
            product(1, "A", "ONE"),
            product(2, "B", "TWO"),
            product(4, "D", "four"),
            template(9, "t"),
            template(number, "theirs")
        ]);
        let full = json!({"full": ["PRODUCT", "WORK_ITEM_TEMPLATE"]});
        let answer = station.import(all, full);
        assert_eq!(reasons(&answer), [], "{decision}");
        assert_eq!([1, 2, 3].map(|number| station.name(number)), names);
        // A further change of the source is a new conflict of what was kept.
        let answer = station.import(json!([product(1, "A", "1!")]), json!({}));
        match decision {
            "KEEP" => assert_eq!(reasons(&answer), [(id(1), Reason::ChangedHere)]),
            _ => assert_eq!(counts(&answer), [0, 1, 0, 0]),
        }
    }
}

#[test]
fn an_edit_that_the_source_did_not_touch_stays_without_a_word() {
    let mut station = Station::new();
    let all = json!([product(1, "A", "one"), product(2, "B", "two")]);
    station.import(all.clone(), json!({}));
    station.rename(1, "mine");
    station.delete(2);
    let answer = station.import(all, json!({"full": ["PRODUCT"]}));
    assert_eq!((counts(&answer), answer.conflicts.len()), ([0, 0, 0, 2], 0));
    assert_eq!((station.name(1).as_deref(), station.name(2)), (Some("mine"), None));
    // The same edit on both sides is no conflict, and neither is one that changes nothing.
    station.rename(1, "both");
    let answer = station.import(json!([product(1, "A", "both")]), json!({}));
    assert_eq!(answer.conflicts.len(), 0);
    station.rename(1, "both");
    let answer = station.import(json!([product(1, "A", "further")]), json!({}));
    assert_eq!((answer.updated_count, answer.conflicts.len()), (1, 0));
}

/// KEEP stores the hash of the form that the record has when it is read back, not of what was sent.
#[test]
fn keep_is_about_the_settled_form() {
    let mut station = Station::new();
    station.import(json!([product(1, "A", "one")]), json!({}));
    station.rename(1, "mine");
    let odd = |keywords: Value, empty: Value| {
        let mut sent = product(1, "A", "ONE");
        sent["record"]["keywords"] = keywords;
        sent["record"]["properties"] = empty;
        json!([sent])
    };
    station.import(odd(json!(["k", "k"]), json!({})), json!({}));
    station.settle(json!([choice("PRODUCT", &id(1), "KEEP")]));
    let answer = station.import(odd(json!(["k"]), json!(null)), json!({"full": ["PRODUCT"]}));
    assert_eq!((reasons(&answer), station.name(1).as_deref()), (vec![], Some("mine")));
}

#[test]
fn a_decision_is_about_the_state_that_was_told() {
    for decision in KEYS {
        let mut station = Station::new();
        station.import(json!([product(1, "A", "one")]), json!({}));
        station.rename(1, "mine");
        station.import(json!([product(1, "A", "ONE")]), json!({}));
        let choices = json!({"choices": [choice("PRODUCT", &id(1), decision)]});
        let answer = station.import(json!([product(1, "A", "unseen")]), choices);
        assert_eq!(reasons(&answer), [(id(1), Reason::ChangedHere)]);
        assert_eq!(station.name(1).as_deref(), Some("mine"));
    }
}

#[test]
fn a_part_number_that_is_taken_is_a_conflict_and_taking_replaces_the_local_product() {
    let mut station = Station::new();
    let own = json!([{"partNumber": "A", "name": "local", "workspace": "open"}]);
    let own = station.ada.create_products(request(own)).unwrap().products[0].id.clone().unwrap();
    let answer = station.import(json!([product(1, "A", "theirs"), spec(11, "s", 1)]), json!({}));
    let both = [(id(1), Reason::KeyTaken), (id(11), Reason::ProductMissing)];
    assert_eq!(reasons(&answer), both);
    assert_eq!(answer.conflicts[0].here_id.as_deref(), Some(own.as_str()));
    assert_eq!(answer.conflicts[0].here.as_ref().unwrap()["name"], "local");
    assert_eq!((station.name(1), station.spec(11)), (None, None));
    let answer = station.settle(json!([choice("PRODUCT", &id(1), "TAKE")]));
    // The specification had waited for its product alone.
    assert_eq!((reasons(&answer), counts(&answer)), (vec![], [2, 0, 1, 0]));
    assert!(station.ada.get_product(&own).is_err());
    assert!(station.spec(11).is_some());
}

#[test]
fn records_of_the_source_exchange_their_keys() {
    let mut station = Station::new();
    let first = json!([product(9, "P", "p"), spec(1, "a", 9), spec(2, "b", 9), spec(3, "c", 9)]);
    station.import(first, json!({}));
    let turned = json!([spec(1, "b", 9), spec(2, "c", 9), spec(3, "a", 9)]);
    let answer = station.import(turned, json!({}));
    assert_eq!((counts(&answer), answer.conflicts.len()), ([0, 3, 0, 0], 0));
    let ids = [1, 2, 3].map(|number| station.spec(number).unwrap()["specId"].clone());
    assert_eq!(ids, ["b", "c", "a"].map(|text| json!(text)));
    // A key that a deleted record gives up.
    let answer = station.import(json!([gone("SPECIFICATION", 1), spec(4, "b", 9)]), json!({}));
    assert_eq!(counts(&answer), [1, 0, 1, 0]);
    // The indexes are right after all of that.
    station.verify();
    let query = json!({"productIds": [id(9)], "filter": "specId == \"b\""});
    let found = station.ada.query_specs(request(query)).unwrap().specs.unwrap();
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].id.as_ref().unwrap().as_str(), id(4));
}

/// 1 wants the key of 2, and 2 one that a local specification has. Neither can be written, and 2 is
/// not deleted for 1.
#[test]
fn a_chain_of_keys_that_ends_at_a_local_record_waits_as_a_whole() {
    let mut station = Station::new();
    let first = json!([product(9, "P", "p"), spec(1, "a", 9), spec(2, "b", 9)]);
    station.import(first, json!({}));
    let own = json!({"specs": [{"productId": id(9), "specId": "own", "type": "FUNCTIONAL",
        "workspace": "open"}]});
    assert_eq!(station.ada.create_specs(request(own)).unwrap().error, None);
    let chain = json!([spec(1, "b", 9), spec(2, "own", 9)]);
    let answer = station.import(chain, json!({}));
    let both = [(id(1), Reason::KeyTaken), (id(2), Reason::KeyTaken)];
    assert_eq!(reasons(&answer), both);
    // TAKE of the first is not enough: the second still needs the key of the local one.
    for _ in 0..2 {
        let answer = station.settle(json!([choice("SPECIFICATION", &id(1), "TAKE")]));
        assert_eq!((reasons(&answer), counts(&answer)), (both.to_vec(), [0; 4]));
        let ids = [1, 2].map(|number| station.spec(number).unwrap()["specId"].clone());
        assert_eq!(ids, [json!("a"), json!("b")]);
    }
    let answer = station.settle(json!([choice("SPECIFICATION", &id(2), "TAKE")]));
    assert_eq!((reasons(&answer), counts(&answer)), (vec![], [0, 2, 1, 0]));
    let ids = [1, 2].map(|number| station.spec(number).unwrap()["specId"].clone());
    assert_eq!(ids, [json!("b"), json!("own")]);
}

/// A refused write leaves the local record that would have made room for it.
#[test]
fn taking_changes_nothing_when_a_quota_refuses_it() {
    let mut station = Station::new();
    let own = json!([{"partNumber": "A", "name": "local", "workspace": "other"}]);
    let own = station.ada.create_products(request(own)).unwrap().products[0].id.clone().unwrap();
    station.import(json!([product(1, "A", "theirs")]), json!({}));
    let quota = json!({"workspace": "open", "recordsMax": 0});
    station.ada.set_quota(request(quota)).unwrap();
    let take = json!({"source": "centre", "choices": [choice("PRODUCT", &id(1), "TAKE")]});
    let error = station.tried("ada", take.clone()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::LimitExceeded, "{error}");
    assert!(station.ada.get_product(&own).is_ok());
    // In a transaction as well, whose other writes stay.
    let answer = station.ada.transaction(|tx| {
        assert!(tx.import_records(request(take.clone())).is_err());
        tx.create_products(request(json!([{"partNumber": "Z", "workspace": "other"}])))
    });
    assert_eq!(answer.unwrap().error, None);
    assert!(station.ada.get_product(&own).is_ok());
    station.ada.delete_quota("open").unwrap();
    assert_eq!(counts(&station.tried("ada", take).unwrap()), [1, 0, 1, 0]);
}

#[test]
fn workspaces_are_mapped_or_have_to_be_here() {
    let mut station = Station::new();
    station.ada.create_workspace(request(json!({"name": "lab"}))).unwrap();
    let lab = station.ada.query_workspaces(request(json!({}))).unwrap().workspaces[0].clone();
    let lab = lab.id.unwrap();
    let both = json!([product_in(1, "A", "a", "hq"), product_in(2, "B", "b", "nowhere")]);
    let answer = station.import(both, json!({"workspaces": {"hq": lab}}));
    assert_eq!(reasons(&answer), [(id(2), Reason::WorkspaceMissing)]);
    assert_eq!(station.product(1).unwrap()["workspace"], lab);
    // TAKE does not make a workspace; a map does.
    let take = json!([choice("PRODUCT", &id(2), "TAKE")]);
    assert_eq!(reasons(&station.settle(take)), [(id(2), Reason::WorkspaceMissing)]);
    let map = json!({"source": "centre", "workspaces": {"nowhere": lab}});
    let answer = station.tried("ada", map).unwrap();
    assert_eq!((reasons(&answer), counts(&answer)), (vec![], [1, 0, 0, 0]));
}

#[test]
fn conflicts_do_not_show_what_the_caller_may_not_read() {
    let mut station = Station::new();
    let secret = json!([{"partNumber": "A", "name": "Zebra", "workspace": "secret"}]);
    assert_eq!(station.ada.create_products(request(secret)).unwrap().error, None);
    let all = json!([
        product(1, "A", "mine"),
        product_in(2, "B", "Zebra", "secret"),
        product(3, "C", "c")
    ]);
    station.import(all, json!({}));
    station.rename(2, "Zebra at home");
    let answer = station.import(json!([product_in(2, "B", "Zebra 2", "secret")]), json!({}));
    assert_eq!(answer.conflicts.len(), 2);
    assert!(json!(answer).to_string().contains("Zebra"));
    // The guest hears of the one that waits in its own workspace, and not of who has the key.
    let ask = json!({"source": "centre"});
    let answer = station.tried("guest", ask).unwrap();
    assert_eq!(reasons(&answer), [(id(1), Reason::KeyTaken)]);
    assert_eq!((&answer.conflicts[0].here_id, &answer.conflicts[0].here), (&None, &None));
    assert!(!json!(answer).to_string().contains("Zebra"), "{answer:?}");
    let take = json!([choice("PRODUCT", &id(1), "TAKE"), choice("PRODUCT", &id(2), "TAKE")]);
    let answer = station.tried("guest", json!({"source": "centre", "choices": take})).unwrap();
    assert!(!json!(answer).to_string().contains("Zebra"), "{answer:?}");
    assert_eq!(station.name(2).as_deref(), Some("Zebra at home"));
    // A record that is hidden is in the way of what the guest sends, and so is a full pass.
    let mine = json!([product(2, "B", "guess"), product(3, "C", "c")]);
    let sent = json!({"source": "centre", "after": "2", "position": "3", "records": mine});
    let answer = station.tried("guest", sent).unwrap();
    assert_eq!(answer.conflicts[1].reason, Reason::NotPermitted);
    assert!(!json!(answer).to_string().contains("Zebra"), "{answer:?}");
    let full = json!({"source": "centre", "position": "4", "full": ["PRODUCT"],
        "records": [product(3, "C", "c")]});
    let answer = station.tried("guest", full).unwrap();
    assert!(!json!(answer).to_string().contains(&id(2)), "{answer:?}");
    assert_eq!(station.name(2).as_deref(), Some("Zebra at home"));
    // Who may not write there is refused, and nothing is imported.
    let there = json!({"source": "centre", "after": "4", "position": "5", "records":
        [product(5, "E", "e"), product_in(6, "F", "f", "secret")]});
    let error = station.tried("guest", there).unwrap_err();
    assert_eq!((error.kind(), station.name(5)), (ErrorKind::PermissionDenied, None));
    let error = station.tried("stranger", json!({"source": "centre"})).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::PermissionDenied);
}

#[test]
fn requests_that_make_no_sense_are_refused_before_anything_changes() {
    let station = Station::new();
    let one = product(1, "A", "a");
    let with = |member: &str, value: Value| {
        let mut record = one.clone();
        record["record"][member] = value;
        json!({"source": "c", "position": "1", "records": [one, record]})
    };
    let of = |record: Value| json!({"source": "c", "position": "1", "records": [record]});
    let bad = [
        (json!({"source": " "}), ErrorKind::InvalidArgument),
        (json!({"source": "c", "records": [one]}), ErrorKind::InvalidArgument),
        (json!({"source": "c", "full": ["PRODUCT"]}), ErrorKind::InvalidArgument),
        (with("name", json!("b")), ErrorKind::InvalidArgument),
        (of(gone("WORK_ITEM", 1)), ErrorKind::Unsupported),
        (of(json!({"kind": "PRODUCT", "id": "1"})), ErrorKind::InvalidArgument),
        (
            of(json!({"kind": "PRODUCT", "id": id(1), "record": {"id": id(1), "partNumber": 7}})),
            ErrorKind::InvalidArgument,
        ),
        (
            of(json!({"kind": "PRODUCT", "id": id(1), "record": {"id": id(2), "partNumber": "A"}})),
            ErrorKind::InvalidArgument,
        ),
        (
            of(json!({"kind": "PRODUCT", "id": id(1), "record": {"id": id(1), "partNumber": " "}})),
            ErrorKind::InvalidArgument,
        ),
        (
            json!({"source": "c", "position": "1", "full": ["SPECIFICATION"], "records": [one]}),
            ErrorKind::InvalidArgument,
        ),
        (
            json!({"source": "c", "choices": [choice("PRODUCT", &id(1), "KEEP"),
            choice("PRODUCT", &id(1), "TAKE")]}),
            ErrorKind::InvalidArgument,
        ),
    ];
    for (asked, kind) in bad {
        let error = station.tried("ada", asked.clone()).unwrap_err();
        assert_eq!(error.kind(), kind, "{asked}: {error}");
    }
    assert_eq!(station.name(1), None);
    let pinned = station.ada.pinned().import_records(ImportRecordsRequest::new("c"));
    assert_eq!(pinned.unwrap_err().kind(), ErrorKind::Unsupported);
}

#[test]
fn the_bounds_of_an_import_hold() {
    use stationdb::faults::limits::{
        IMPORT_CONFLICTS, IMPORT_POSITION_BYTES, IMPORT_RECORDS, IMPORT_SOURCE_BYTES,
        IMPORT_SOURCES,
    };
    let at = |source: &str, position: &str| json!({"source": source, "position": position});
    let import = |value: Value| Station::new().tried("ada", value);
    holds_at(IMPORT_SOURCE_BYTES, ErrorKind::LimitExceeded, |bytes| {
        import(at(&"s".repeat(bytes), "1"))
    });
    holds_at(IMPORT_POSITION_BYTES, ErrorKind::LimitExceeded, |bytes| {
        import(at("s", &"p".repeat(bytes)))
    });
    holds_at(IMPORT_RECORDS, ErrorKind::LimitExceeded, |count| {
        let records: Vec<Value> = (0..count as u64).map(|number| gone("PRODUCT", number)).collect();
        import(json!({"source": "s", "position": "1", "records": records}))
    });
    holds_at(IMPORT_SOURCES, ErrorKind::LimitExceeded, |count| {
        let station = Station::new();
        (0..count).try_for_each(|number| {
            station.tried("ada", at(&format!("source {number}"), "1")).map(drop)
        })
    });
    holds_at(IMPORT_CONFLICTS, ErrorKind::LimitExceeded, |count| {
        let station = Station::new();
        station.ada.create_workspace(request(json!({"name": "lab"}))).unwrap();
        let records: Vec<Value> =
            (0..count as u64).map(|number| product(number, "p", "n")).collect();
        station.tried("ada", json!({"source": "s", "position": "1", "records": records}))
    });
}

/// Random edits on both sides: the station ends with the data of the centre where nobody decided
/// otherwise, and no edit of the station is lost without being told.
#[test]
fn random_edits_on_both_sides_are_equal_kept_or_told() {
    for seed in 0..40 {
        let mut random = Random::new(seed);
        let mut station = Station::new();
        let mut centre: BTreeMap<u64, (String, String)> = BTreeMap::new();
        // Names that the station gave since it last agreed with the centre; `None` for deletions.
        let mut edits: BTreeMap<u64, Option<String>> = BTreeMap::new();
        for step in 0..30 {
            let mut changed = BTreeMap::new();
            for _ in 0..random.below(4) {
                let number = 1 + random.below(6);
                // Part numbers are exchanged and given up, but no two are equal.
                let free = (0..8).map(|part| format!("P{part}"));
                let free: Vec<String> =
                    free.filter(|part| !centre.values().any(|(taken, _)| taken == part)).collect();
                if random.below(5) == 0 {
                    centre.remove(&number);
                } else {
                    let part = free[random.below(free.len() as u64) as usize].clone();
                    centre.insert(number, (part, format!("centre {step}")));
                }
                changed.insert(number, ());
            }
            for _ in 0..random.below(3) {
                let number = 1 + random.below(6);
                if station.product(number).is_none() {
                    continue;
                }
                let name = (random.below(3) > 0).then(|| format!("station {step}"));
                match &name {
                    Some(name) => station.rename(number, name),
                    None => station.delete(number),
                }
                edits.insert(number, name);
            }
            let is_full = random.below(4) == 0;
            let wanted: Vec<u64> = if is_full {
                centre.keys().copied().collect()
            } else {
                changed.keys().copied().collect()
            };
            let records: Vec<Value> = wanted
                .into_iter()
                .map(|number| match centre.get(&number) {
                    Some((part, name)) => product(number, part, name),
                    None => gone("PRODUCT", number),
                })
                .collect();
            let full = if is_full { json!(["PRODUCT"]) } else { json!([]) };
            let mut told = station.import(json!(records), json!({"full": full}));
            if random.below(2) == 0 {
                let mut taken = Vec::new();
                let choices: Vec<Value> = told
                    .conflicts
                    .iter()
                    .map(|conflict| {
                        let takes = random.below(2) == 0;
                        taken.extend(takes.then(|| conflict.id.clone()));
                        choice("PRODUCT", &conflict.id, KEYS[usize::from(takes)])
                    })
                    .collect();
                told = station.settle(json!(choices));
                // TAKE gives an edit up; it may still wait for a key.
                edits.retain(|number, _| !taken.contains(&id(*number)));
            }
            let is_told = |number: u64| told.conflicts.iter().any(|it| it.id == id(number));
            edits.retain(|number, _| {
                // The same on both sides.
                station.name(*number) != centre.get(number).map(|(_, name)| name.clone())
            });
            for (number, name) in &edits {
                let here = station.name(*number);
                assert!(here == *name || is_told(*number), "{seed} {step} {number}: {here:?}");
            }
        }
        // Take what is left, and change everything once more: all is equal in the end.
        for (part, name) in centre.values_mut() {
            (*part, *name) = (format!("last {part}"), "last".to_owned());
        }
        let all: Vec<Value> =
            centre.iter().map(|(n, (part, name))| product(*n, part, name)).collect();
        let told = station.import(json!(all), json!({"full": ["PRODUCT"]}));
        let take = told.conflicts.iter().map(|it| choice("PRODUCT", &it.id, "TAKE"));
        let told = station.settle(take.collect());
        assert_eq!(reasons(&told), []);
        for number in 1..7 {
            let expected = centre.get(&number).map(|(_, name)| name.clone());
            let here = station.name(number);
            let was_edited = here.as_ref().is_some_and(|name| name.starts_with("station"));
            assert!(here == expected || was_edited && expected.is_none(), "{seed} {number}");
        }
        station.verify();
    }
}

#[test]
fn a_deletion_that_waits_ends_no_import_of_a_caller_who_may_not_delete() {
    let mut station = Station::new();
    station.import(json!([product(1, "A", "one")]), json!({}));
    station.rename(1, "mine");
    let answer = station.import(json!([gone("PRODUCT", 1)]), json!({}));
    assert_eq!(reasons(&answer), [(id(1), Reason::ChangedHere)]);
    // As it came from the source, so nothing but the permission is in the way.
    station.rename(1, "one");
    let sent = json!({"source": "centre", "after": "2", "position": "3",
        "records": [product(2, "B", "two")]});
    let answer = station.tried("keeper", sent).unwrap();
    assert_eq!(reasons(&answer), [(id(1), Reason::NotPermitted)]);
    assert_eq!(
        (station.name(1).as_deref(), station.name(2).as_deref()),
        (Some("one"), Some("two"))
    );
    // A deletion that the caller asks for is refused as a whole.
    let sent = json!({"source": "centre", "after": "3", "position": "4",
        "records": [gone("PRODUCT", 2), product(3, "C", "three")]});
    let error = station.tried("keeper", sent).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::PermissionDenied, "{error}");
    assert_eq!((station.name(2).as_deref(), station.name(3)), (Some("two"), None));
    station.verify();
}
