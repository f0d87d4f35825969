//! The rules of pages, tokens and counts, for every operation.

use crate::store::tests::prelude::*;

use super::kinds::{Beyond, OPERATIONS, Operation};
use super::orders::{COUNT, records};
use super::{Opened, kind};

fn filled(operation: &Operation) -> Opened {
    let opened = Opened::new();
    opened.put(kind(operation.kind), &records(operation.kind));
    opened
}

/// The request with additional members.
fn with(members: &Value, more: Value) -> Value {
    let mut members = members.clone();
    members.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    members
}

fn token_of(answer: &Value) -> Option<String> {
    answer["continuationToken"].as_str().map(str::to_owned)
}

fn count_of(operation: &Operation, answer: &Value) -> Option<u64> {
    let (path, _) = operation.count?;
    super::kinds::member(answer, path).as_u64()
}

/// The request without an order, and with the first sort key descending.
fn orders(operation: &Operation) -> Vec<Value> {
    let (key, direction) = operation.order;
    let mut orders = vec![json!({})];
    orders.extend(operation.keys.iter().map(|(name, _)| json!({key: name, direction: true})));
    orders
}

#[test]
fn takes_at_and_beyond_their_bounds() {
    for operation in &OPERATIONS {
        let opened = filled(operation);
        let ask = |members: Value| operation.ask(&opened.session, members);
        let all = operation.ids_of(&ask(json!({})).unwrap());
        assert_eq!(all.len(), COUNT, "{}: the default page holds all", operation.name);

        let none = ask(json!({"take": 0, "returnCount": true})).unwrap();
        let expected = if operation.zero_is_default { COUNT } else { 0 };
        assert_eq!(operation.ids_of(&none).len(), expected, "{}", operation.name);
        assert_eq!(token_of(&none), None, "{}: an empty page has no token", operation.name);
        if operation.count.is_some() {
            assert_eq!(
                count_of(operation, &none),
                whole_count(operation, &none),
                "{}",
                operation.name
            );
        }

        // For assets, -1 also means the default.
        for negative in [-1, -2, i64::MIN] {
            let answer = ask(json!({"take": negative}));
            if operation.negative_is_default || (operation.kind == "asset" && negative == -1) {
                assert_eq!(
                    operation.ids_of(&answer.unwrap()),
                    all,
                    "{} {negative}",
                    operation.name
                );
            } else {
                let error = answer.unwrap_err();
                assert_eq!(
                    error.kind(),
                    ErrorKind::InvalidArgument,
                    "{} {negative}",
                    operation.name
                );
                assert!(error.to_string().contains("take"), "{}: {error}", operation.name);
            }
        }

        let (max, beyond) = operation.max_take;
        if let Ok(max) = i64::try_from(max) {
            assert_eq!(
                operation.ids_of(&ask(json!({"take": max})).unwrap()),
                all,
                "{}",
                operation.name
            );
            let answer = ask(json!({"take": max + 1}));
            if beyond == Beyond::Refuses {
                let error = answer.unwrap_err();
                let kind = match operation.kind {
                    "result" => ErrorKind::LimitExceeded,
                    _ => ErrorKind::InvalidArgument,
                };
                assert_eq!(error.kind(), kind, "{}", operation.name);
                assert_eq!(
                    error.place(),
                    Some(&crate::Place::Member("take".to_owned())),
                    "{}",
                    operation.name
                );
            } else {
                assert_eq!(operation.ids_of(&answer.unwrap()), all, "{}", operation.name);
            }
        }
    }
}

/// Whether an operation counts only its page, as the expression queries of files do.
fn counts_its_page(operation: &Operation) -> bool {
    operation.count.is_some_and(|(path, _)| path == "totalCount.value")
}

/// The count in a response whose query matches every record.
fn whole_count(operation: &Operation, answer: &Value) -> Option<u64> {
    Some(if counts_its_page(operation) { operation.ids_of(answer).len() } else { COUNT } as u64)
}

#[test]
fn counts_are_of_all_matches_and_only_when_asked_for() {
    for operation in &OPERATIONS {
        let opened = filled(operation);
        let Some((_, always)) = operation.count else { continue };
        let asked =
            operation.ask(&opened.session, json!({"take": 3, "returnCount": true})).unwrap();
        assert_eq!(
            count_of(operation, &asked),
            whole_count(operation, &asked),
            "{}",
            operation.name
        );
        let not_asked = operation.ask(&opened.session, json!({"take": 3})).unwrap();
        assert_eq!(count_of(operation, &not_asked).is_some(), always, "{}", operation.name);
        if operation.has_token {
            let token = token_of(&asked).unwrap();
            let members = json!({"take": 3, "returnCount": true, "continuationToken": token});
            let later = operation.ask(&opened.session, members).unwrap();
            assert_eq!(
                count_of(operation, &later),
                Some(COUNT as u64),
                "{}: whatever the page",
                operation.name
            );
        }
        if let Some(filter) = operation.filter {
            let wanted = operation.ids_of(&asked).concat();
            let id = if operation.kind == "utilization" { "category" } else { "id" };
            let text = format!("{id} = {:?} or {id} = {:?}", operation.ids_of(&asked)[0], wanted);
            // Lab ids are numbers. The second value is not one, but it is valid and matches
            // nothing.
            let members = json!({filter: text, "take": 0, "returnCount": true});
            let answer = operation.ask(&opened.session, members).unwrap();
            let expected = if counts_its_page(operation) { 0 } else { 1 };
            assert_eq!(count_of(operation, &answer), Some(expected), "{}: {text}", operation.name);
        }
    }
}

#[test]
fn skips_are_windows_of_the_whole() {
    for operation in OPERATIONS.iter().filter(|operation| operation.has_skip) {
        let opened = filled(operation);
        for order in orders(operation) {
            let ask = |more: Value| operation.ask(&opened.session, with(&order, more));
            let all = operation.ids_of(&ask(json!({})).unwrap());
            for (skip, take) in [(0, 5), (3, 5), (20, 5), (23, 1), (24, 5), (1000, 5)] {
                let answer = ask(json!({"skip": skip, "take": take, "returnCount": true})).unwrap();
                let expected: Vec<String> = all.iter().skip(skip).take(take).cloned().collect();
                assert_eq!(
                    operation.ids_of(&answer),
                    expected,
                    "{} {order} {skip} {take}",
                    operation.name
                );
                assert_eq!(
                    count_of(operation, &answer),
                    whole_count(operation, &answer),
                    "{}",
                    operation.name
                );
            }
            let error = ask(json!({"skip": -1})).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{}", operation.name);
            assert_eq!(
                error.place(),
                Some(&crate::Place::Member("skip".to_owned())),
                "{}",
                operation.name
            );
        }
    }
}

#[test]
fn every_query_request_can_be_explained() {
    use crate::prelude::*;
    let opened = Opened::new();
    for operation in OPERATIONS.iter().filter(|operation| operation.filter.is_some()) {
        opened.put(kind(operation.kind), &records(operation.kind));
    }
    macro_rules! explain {
        ($($kind:literal $method:ident $filter:literal;)*) => {[$({
            let operation = super::kinds::filtering($kind).unwrap();
            let request = operation.with_base(&json!({ operation.filter.unwrap(): $filter, "take": 2 }));
            (stringify!($method), opened.session.$method(serde_json::from_value(request).unwrap()).unwrap())
        }),*]};
    }
    let plans = explain! {
        "product" explain_query_products "name != null";
        "result" explain_query_results "programName != null";
        "specification" explain_query_specs "name != null";
        "asset" explain_query_assets "AssetName != null";
        "utilization" explain_query_asset_utilization_history "Category = null";
        "table" explain_query_tables "name != null";
        "file" explain_query_files_linq "name != null";
        "workItem" explain_query_work_items "name != null";
        "workItemTemplate" explain_query_work_item_templates "name != null";
        "testPlan" explain_query_test_plans "name != null";
        "testPlanTemplate" explain_query_test_plan_templates "name != null";
    };
    for (method, plan) in plans {
        assert!(
            plan.records_touched > Some(0),
            "{method} reports the records that were read: {plan}"
        );
        assert!(!plan.access.is_empty() && plan.residual.is_some(), "{method}: {plan}");
    }
}

/// The ids of a walk, and its tokens.
fn walk(
    operation: &Operation,
    opened: &Opened,
    order: &Value,
    takes: &[usize],
) -> (Vec<String>, Vec<String>) {
    let (mut ids, mut tokens) = (Vec::new(), Vec::<String>::new());
    for page in 0.. {
        let token = tokens
            .last()
            .map_or(json!({"continuationToken": ""}), |token| json!({"continuationToken": token}));
        let take = takes[page % takes.len()];
        let answer = operation
            .ask(&opened.session, with(&with(order, token), json!({"take": take})))
            .unwrap();
        let found = operation.ids_of(&answer);
        assert!(found.len() <= take);
        ids.extend(found);
        match token_of(&answer) {
            Some(token) => tokens.push(token),
            None => break,
        }
    }
    (ids, tokens)
}

#[test]
fn a_walk_is_the_whole_in_pages_and_ends_with_the_last_full_page() {
    for operation in OPERATIONS.iter().filter(|operation| operation.has_token) {
        let opened = filled(operation);
        for order in orders(operation) {
            let all = operation.ids_of(&operation.ask(&opened.session, order.clone()).unwrap());
            for (takes, pages) in [(&[8][..], 3), (&[5], 5), (&[1, 9], 6), (&[24], 1), (&[1000], 1)]
            {
                let (ids, tokens) = walk(operation, &opened, &order, takes);
                assert_eq!(ids, all, "{} {order} {takes:?}", operation.name);
                assert_eq!(tokens.len() + 1, pages, "{} {order} {takes:?}", operation.name);
                let mut distinct = tokens.clone();
                distinct.sort();
                distinct.dedup();
                assert_eq!(
                    distinct.len(),
                    tokens.len(),
                    "{}: a token was repeated",
                    operation.name
                );
            }
        }
    }
}

#[test]
fn tokens_belong_to_their_query_their_store_and_stay_as_they_are() {
    for operation in OPERATIONS.iter().filter(|operation| operation.has_token) {
        let opened = filled(operation);
        let (key, direction) = operation.order;
        let by_key = operation
            .keys
            .last()
            .map_or(json!({}), |(name, _)| json!({key: name, direction: false}));
        let first = operation.ask(&opened.session, with(&by_key, json!({"take": 5}))).unwrap();
        let token = token_of(&first).unwrap();
        let next = |opened: &Opened, members: &Value, token: &str| {
            operation
                .ask(&opened.session, with(members, json!({"take": 3, "continuationToken": token})))
        };
        let second = operation.ids_of(&next(&opened, &by_key, &token).unwrap());

        let mut others = Vec::new();
        if let Some(filter) = operation.filter {
            others.push((by_key.clone(), json!({filter: "not false"})));
        }
        if operation.takes_substitutions && operation.filter.is_some() {
            others.push((by_key.clone(), json!({"substitutions": [1]})));
        }
        if !operation.keys.is_empty() {
            others.push((by_key.clone(), json!({direction: true})));
        }
        if let [(other, _), _, ..] = operation.keys {
            others.push((by_key.clone(), json!({key: other})));
        }
        match operation.name {
            "query_specs" => others.push((by_key.clone(), json!({"productIds": ["P2"]}))),
            "query_results" => others.push((by_key.clone(), json!({"productFilter": "true"}))),
            "list_tables" => others.push((by_key.clone(), json!({"workspace": ["b"]}))),
            "query_tables" => {
                others.push((by_key.clone(), json!({"referenceTime": "2024-01-01T00:00:00Z"})));
            }
            "query_asset_utilization_history" => {
                others.push((by_key.clone(), json!({"assetFilter": "true"})));
            }
            _ => {}
        }
        let mut refused: Vec<(Value, String)> = others
            .into_iter()
            .map(|(members, other)| (with(&members, other), token.clone()))
            .collect();
        refused.push((by_key.clone(), "nonsense".to_owned()));
        refused.push((by_key.clone(), "A".repeat(5000)));
        let mut turned = token.clone().into_bytes();
        for at in [0, turned.len() / 2, turned.len() - 1] {
            turned[at] = if turned[at] == b'A' { b'B' } else { b'A' };
            refused.push((by_key.clone(), String::from_utf8(turned.clone()).unwrap()));
        }
        for (members, token) in refused {
            let error = next(&opened, &members, &token).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{} {members}", operation.name);
            let place = crate::Place::Member("continuationToken".to_owned());
            assert_eq!(error.place(), Some(&place), "{} {members}: {error}", operation.name);
        }

        // Another store has another token key.
        let foreign = Opened::with_seed(2);
        foreign.put(kind(operation.kind), &records(operation.kind));
        assert!(
            next(&foreign, &by_key, &token).is_err(),
            "{}: the token of another store",
            operation.name
        );
        let opened = opened.reopen(|_| {});
        let again = operation.ids_of(&next(&opened, &by_key, &token).unwrap());
        assert_eq!(again, second, "{} after reopening", operation.name);
    }
}
