//! No answer depends on the number of hidden records: no count, score, plan, error or page.
//!
//! Three stores differ only in the number of records in the hidden workspace: none, one of each
//! kind, and many. A guest and a stranger send the same requests to each, with every probe and
//! every [`Question`]. The answers have to be equal, byte for byte, except for these:
//!
//! - Ids that the store generated, unless [`World::open`] has them. An id counts the records of its
//!   kind that were ever made, whoever sees them; see `docs/decisions.md`.
//! - Continuation tokens, which are signed with a random key of each store. Their pages are read.
//! - The path of the directory of the store.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use stationdb::assets::SystemConnection;
use stationdb::prelude::*;
use stationdb::{ErrorKind, Position, Result};

use crate::operations::{Effect, Probe, probes, wire};
use crate::questions::{ask, questions};
use crate::world::{MARK, SYSTEM, World, request};

/// More than the thresholds at which plans change.
const MANY: usize = 320;
/// Pages that are read of one walk.
const PAGES: usize = 12;

/// Stores with no hidden records, one of each kind, and many.
fn worlds() -> [World; 3] {
    let [mut none, one, many] = [0, 1, MANY].map(World::holding);
    assert_eq!(one.secret, many.secret);
    assert_eq!((&none.open, &one.open), (&one.open, &many.open));
    // Requests name the same ids where these records do not exist.
    none.secret = one.secret.clone();
    [none, one, many]
}

fn outcome(answer: Result<Value>) -> Value {
    answer.unwrap_or_else(
        |error| json!({"kind": format!("{:?}", error.kind()), "text": error.to_string(), "error": error.api_error()}),
    )
}

/// Whether a text is an id that a store generated.
fn is_id(text: &str) -> bool {
    let is_hex = |text: &str| text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    let is_guid = text.len() == 36
        && text.split('-').map(str::len).eq([8, 4, 4, 4, 12])
        && text.split('-').all(is_hex);
    is_guid || (text.len() == 24 && is_hex(text))
}

/// Removes from an answer what may differ; see the module.
fn normal(value: Value, world: &World) -> Value {
    let is_known = |id: &str| format!("{:?}", world.open).contains(id);
    match value {
        Value::String(text) => {
            let text = text.replace(&*world.dir.path().to_string_lossy(), "<directory>");
            // Ids of work items and plans are decimal numbers.
            if text.len() >= 4 && text.bytes().all(|byte| byte.is_ascii_digit()) && !is_known(&text)
            {
                return json!("<id>");
            }
            let is_other = |c: char| !c.is_ascii_alphanumeric() && c != '-';
            let ids: BTreeSet<&str> =
                text.split(is_other).filter(|part| is_id(part) && !is_known(part)).collect();
            json!(ids.iter().fold(text.clone(), |text, id| text.replace(id, "<id>")))
        }
        Value::Array(items) => items.into_iter().map(|item| normal(item, world)).collect(),
        Value::Object(members) => {
            let member = |(name, value): (String, Value)| match value {
                Value::String(_) if name == "continuationToken" => (name, json!("<token>")),
                value => (name, normal(value, world)),
            };
            Value::Object(members.into_iter().map(member).collect())
        }
        other => other,
    }
}

/// The answers that differ.
#[derive(Default)]
struct Differences(Vec<String>);

impl Differences {
    /// Sends a request to each store and compares the answers.
    fn compare(&mut self, worlds: &[World], what: &str, ask: impl Fn(&World) -> Value) {
        let mut answers = worlds.iter().map(|world| normal(ask(world), world).to_string());
        let first = answers.next().unwrap();
        if let Some(answer) = answers.find(|answer| *answer != first) {
            self.0
                .push(format!("{what}\n  with none hidden: {first}\n  with some hidden: {answer}"));
        }
    }

    fn assert_none(self) {
        let Self(all) = self;
        let shown: Vec<&str> = all.iter().take(12).map(String::as_str).collect();
        assert!(
            all.is_empty(),
            "{} answers depend on hidden records:\n{}",
            all.len(),
            shown.join("\n")
        );
    }
}

/// Returns all pages of an answer.
fn walk(operation: &str, session: &stationdb::Session, world: &World, mut request: Value) -> Value {
    let mut pages = Vec::new();
    for _ in 0..PAGES {
        let page = outcome(ask(operation, session, world, request.clone()));
        let token = page.get("continuationToken").filter(|token| token.is_string()).cloned();
        pages.push(page);
        let Some(token) = token else { break };
        request["continuationToken"] = token;
    }
    json!(pages)
}

#[test]
fn every_operation_that_reads_by_a_request_is_asked() {
    let world = World::new();
    let asked: BTreeSet<String> = questions(&world).into_iter().map(|(name, _)| name).collect();
    let reads = ["Query", "List", "Get", "Search", "Scan", "Export", "Read", "Aggregate"];
    let declared = crate::declared();
    let is_asked_for = |signature: &str| {
        let mut types =
            signature.split([' ', ',', ')', '(']).filter(|part| part.ends_with("Request"));
        types.any(|name| reads.iter().any(|verb| name.contains(verb)))
    };
    let wanted: BTreeSet<String> = declared
        .into_iter()
        .filter(|(_, signature)| is_asked_for(signature))
        .map(|(name, _)| name)
        .collect();
    assert!(wanted.len() > 30, "only {} operations were found", wanted.len());
    assert_eq!(wanted, asked);
}

#[test]
fn answers_to_questions_do_not_depend_on_hidden_records() {
    let [none, _, many] = worlds();
    let worlds = [none, many];
    let aimed = worlds.each_ref().map(World::aimed_at_open);
    let mut differences = Differences::default();
    for (operation, requests) in questions(&worlds[0]) {
        let mut does_see = false;
        for (number, request) in requests.into_iter().enumerate() {
            let asked = |who: &str, world: &World| {
                walk(&operation, &world.session(who), world, request.clone())
            };
            differences.compare(&worlds, &format!("guest asks {operation} {request}"), |world| {
                asked("guest", world)
            });
            if number % 4 == 0 {
                let what = format!("stranger asks {operation} {request}");
                differences.compare(&worlds, &what, |world| asked("stranger", world));
            }
            if operation.contains("_data") || operation.contains("scan") {
                let what = format!("guest asks {operation} {request} of its own table");
                differences.compare(&aimed, &what, |world| asked("guest", world));
            }
            let [none, many] = &worlds;
            let fault =
                asked("guest", &aimed[0])[0].get("error").cloned().filter(|error| !error.is_null());
            assert_eq!(fault, None, "{operation} {request}");
            // Checks the question itself: its answer depends on hidden records for users who may
            // see them.
            does_see =
                does_see || normal(asked("ada", none), none) != normal(asked("ada", many), many);
        }
        assert!(does_see, "no request of {operation} aims at a hidden record");
    }
    differences.assert_none();
}

#[test]
fn operations_do_not_depend_on_hidden_records() {
    let worlds = worlds();
    let aimed: Vec<World> = worlds.iter().map(World::aimed_at_open).collect();
    let mut differences = Differences::default();
    let mut all = probes();
    // Probes that delete run last, so that the others find records.
    let takes = |probe: &Probe| {
        ["delete", "cancel", "finish", "end_"].iter().any(|verb| probe.operation.contains(verb))
    };
    all.sort_by_key(|probe| (matches!(probe.effect, Effect::Changes), takes(probe)));
    // The hidden records first: in a store without any, what the guest creates would get their ids.
    for (worlds, aim) in [(worlds.as_slice(), "hidden"), (aimed.as_slice(), "open")] {
        for probe in &all {
            for who in ["stranger", "guest"] {
                let what = format!("{who} tries {} on what is {aim}", probe.operation);
                differences
                    .compare(worlds, &what, |world| outcome(probe.run(&world.session(who), world)));
            }
        }
    }
    // The change feed shows the same, except for sequence numbers, which all commits share.
    differences.compare(&worlds, "the change feed", |world| {
        let mut changes = world.session("guest").changes(Position::START);
        let mut seen = Vec::new();
        while let Some(event) = changes.poll().unwrap() {
            let mut event = wire(&event);
            event.as_object_mut().unwrap().remove("sequence");
            seen.push(event);
        }
        assert!(seen.len() > 20);
        json!(seen)
    });
    differences.assert_none();
}

#[test]
fn a_system_with_hidden_assets_is_as_any_other() {
    let worlds = worlds();
    let mut differences = Differences::default();
    let connect = |world: &World, who: &str| {
        world.session(who).set_system_connection(SYSTEM, Some(SystemConnection::Connected))
    };
    for who in ["guest", "stranger", "reader", "maker"] {
        differences.compare(&worlds, who, |world| outcome(connect(world, who).map(wire)));
    }
    differences.assert_none();
    assert_eq!(worlds.map(|world| connect(&world, "ada").unwrap()), [6, 6, 5 + MANY as u64]);
}

/// Identities are unique in the whole store, so a caller who uses a taken identity learns that it
/// is taken. The error does not name the record that has it.
#[test]
fn a_conflict_with_a_hidden_record_does_not_name_it() {
    let world = World::holding(1);
    let (guest, ada) = (world.session("guest"), world.session("ada"));
    let product = |workspace: &str| {
        vec![request(json!({"partNumber": format!("{MARK}-1"), "workspace": workspace}))]
    };
    let asset = |workspace: &str| {
        vec![request(json!({
            "modelName": "M", "vendorName": "V", "serialNumber": world.secret.serial, "busType": "ACCESSORY",
            "location": {"physicalLocation": "shelf", "state": {"assetPresence": "UNKNOWN"}}, "workspace": workspace,
        }))]
    };
    let spec = |product: &str, workspace: &str| {
        let spec = json!({"productId": product, "specId": format!("{MARK}-S"), "type": "FUNCTIONAL", "workspace": workspace});
        request(json!({"specs": [spec]}))
    };
    let (taken, known) = (&world.secret.product, &world.secret.asset);
    let refused = wire(guest.create_products(product("open")).unwrap());
    assert!(
        refused.to_string().contains("PartNumberInUse") && !refused.to_string().contains(taken),
        "{refused}"
    );
    assert!(wire(ada.create_products(product("open")).unwrap()).to_string().contains(taken));
    let refused = wire(guest.create_assets(asset("open")).unwrap());
    assert!(
        refused.to_string().contains("AssetExists") && !refused.to_string().contains(known),
        "{refused}"
    );
    assert!(wire(ada.create_assets(asset("open")).unwrap()).to_string().contains(known));
    // A guest who may not create anything does not learn that.
    for (what, refused) in [
        ("product", wire(guest.create_products(product("secret")).unwrap())),
        ("asset", wire(guest.create_assets(asset("secret")).unwrap())),
        ("specification", wire(guest.create_specs(spec(taken, "secret")).unwrap())),
    ] {
        assert!(refused.to_string().contains("may not Create"), "{what}: {refused}");
    }
    let moved = json!({"id": world.open.spec, "productId": taken, "specId": format!("{MARK}-S"), "type": "FUNCTIONAL",
        "workspace": "secret", "version": 0});
    let refused = wire(guest.update_specs(request(json!({"specs": [moved]}))).unwrap());
    assert!(refused.to_string().contains("may not"), "{refused}");
    let upload = request(json!({"id": world.secret.file, "workspace": "secret"}));
    let refused = guest.upload_file(&mut b"".as_slice(), upload, &stationdb::Control::default());
    assert_eq!(refused.unwrap_err().kind(), ErrorKind::PermissionDenied);
}
