//! Plans, and answers compared with a naive evaluation over all records.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use proptest::prelude::*;

use super::TestEngine;
use crate::error::Result;
use crate::model::Resource;
use crate::model::answer::Page;
use crate::session::{Access, OrderTerm, Plan, Query, Session, What};
use crate::value::{FieldType, IdForm, time};

const STATES: &[(&str, &[&str])] = &[("NEW", &[]), ("CLOSED", &[]), ("IN_PROGRESS", &[])];
const STATE: FieldType = FieldType::Enum(STATES);

/// A test resource with the indexes of work items.
#[derive(Clone, Debug, Default, PartialEq, Resource)]
#[resource(kind = 201, name = "part", service = "parts", id(Guid))]
#[fields(id, name, serial, state(of(STATE)), number, updated_at)]
#[fields(updated_within(within(updated_at)), size, words, properties)]
#[index(1, unique(serial))]
#[index(2, state)]
#[index(3, number, updated_at, include(state))]
#[index(4, updated_at)]
#[index(5, words)]
#[index(6, properties, updated_at, include(state))]
pub(crate) struct Part {
    /// Id.
    pub id: String,
    /// Name; not indexed.
    pub name: Option<String>,
    /// Serial; unique if present.
    pub serial: Option<String>,
    /// State.
    pub state: String,
    /// Number of the product.
    pub number: Option<String>,
    /// Time of the last update.
    pub updated_at: DateTime<Utc>,
    /// Size; not indexed.
    pub size: i64,
    /// Words.
    pub words: Vec<String>,
    /// Map.
    pub properties: BTreeMap<String, String>,
    /// Workspace.
    pub workspace: String,
}

/// Part `n` of a store whose values repeat with different periods.
fn part(n: i64) -> Part {
    let state = STATES[(n % 3) as usize].0.to_owned();
    let mut properties = BTreeMap::from([("lot".to_owned(), format!("L{}", n / 4))]);
    if n % 2 == 0 {
        properties.insert("station".to_owned(), format!("S{}", n % 5));
    }
    Part {
        name: (n % 4 != 0).then(|| format!("part {n}")),
        serial: (n % 3 != 0).then(|| format!("serial {n}")),
        state,
        number: (n % 7 != 0).then(|| format!("PN-{}", n % 10)),
        updated_at: time::from_millis(1_700_000_000_000 + (n * 37 % 50) * 1000),
        size: n * 13 % 100,
        words: (0..n % 3).map(|word| format!("w{}", (n + word) % 6)).collect(),
        properties,
        workspace: "default".to_owned(),
        ..Part::default()
    }
}

fn filled(count: i64) -> (TestEngine, Session) {
    let engine = TestEngine::new();
    let session = engine.session("ada");
    session
        .write(move |draft| {
            for n in 0..count {
                let key = draft.new_key::<Part>()?;
                draft.put(&Part { id: key.to_id(IdForm::Guid), ..part(n) }, What::Created)?;
            }
            Ok(())
        })
        .unwrap();
    (engine, session)
}

fn run(session: &Session, query: &Query<'_>) -> Result<(Page<Part>, Plan)> {
    session.read(|view| view.query_with_plan::<Part>(query))
}

fn plan_of(session: &Session, query: &Query<'_>) -> Plan {
    let (_, plan) = run(session, query).unwrap();
    let before = session.read(|view| view.plan::<Part>(query)).unwrap();
    assert_eq!(Plan { records_touched: None, entries_touched: None, ..plan.clone() }, before);
    plan
}

fn by(path: &'static str, descending: bool) -> Vec<OrderTerm> {
    vec![OrderTerm { path, descending }]
}

#[test]
fn ids_in_a_filter_are_looked_up() {
    let (_engine, session) = filled(100);
    let all = run(&session, &Query { take: 100, ..Query::default() }).unwrap().0.items;
    let text = format!("id = \"{}\" or id = \"{}\" or id = \"none\"", all[70].id, all[3].id);
    let query = Query { take: 10, filter: Some(&text), ..Query::default() };
    let (page, plan) = run(&session, &query).unwrap();
    assert_eq!(page.items, [all[3].clone(), all[70].clone()]);
    assert_eq!((plan.access.as_str(), plan.records_touched), ("2 ids", Some(2)));
}

#[test]
fn many_ids_meet_what_an_index_leaves() {
    let (_engine, session) = filled(1000);
    let all = run(&session, &Query { take: 1000, ..Query::default() }).unwrap().0.items;
    let ids: Vec<String> = all.iter().take(900).map(|part| part.id.clone()).collect();
    let listed = ids.iter().map(|id| format!("\"{id}\"")).collect::<Vec<_>>().join(",");
    for (filter, touched) in [
        ("serial = \"serial 7\"", 1),
        ("serial = \"serial 998\"", 0),
        ("properties.lot in (\"L7\", \"L249\")", 4),
        ("properties.station = \"S4\" and words.Contains(\"w5\") and number = \"PN-4\"", 30),
        ("size = 13", 900),
        ("name.StartsWith(\"part\")", 900),
    ] {
        let by_request =
            Query { ids: Some(&ids), filter: Some(filter), take: 1000, ..Query::default() };
        let both = format!("new[]{{{listed}}}.Contains(id) and {filter}");
        let by_filter = Query { filter: Some(&both), take: 1000, ..Query::default() };
        for query in [by_request, by_filter] {
            let (page, plan) = run(&session, &query).unwrap();
            assert!(plan.records_touched <= Some(touched), "{filter}: {plan}");
            let plain = format!("({filter}) ? true : false");
            let expected =
                run(&session, &Query { filter: Some(&plain), ids: None, ..query }).unwrap().0.items;
            let expected: Vec<Part> =
                expected.into_iter().filter(|part| ids.contains(&part.id)).collect();
            assert_eq!(page.items, expected, "{filter}");
        }
    }
}

#[test]
fn equality_membership_and_prefixes_use_their_index() {
    let (_engine, session) = filled(300);
    for (filter, access, touched) in [
        ("serial = \"serial 7\"", "index serial, 1 ranges", 1),
        ("serial in (\"serial 7\", \"serial 8\", \"nothing\")", "index serial, 3 ranges", 2),
        ("serial.StartsWith(\"serial 29\")", "index serial, 1 ranges", 8),
        ("serial > \"serial 97\"", "index serial, 1 ranges", 1),
        ("words.Contains(\"w5\") and size < 50", "index words, 1 ranges", 50),
        ("properties[\"lot\"] = \"L7\"", "index properties, updatedAt, 1 ranges", 4),
        (
            "properties.Any(key = \"lot\" and value in (\"L7\", \"L8\"))",
            "index properties, updatedAt, 2 ranges",
            8,
        ),
        (
            "properties.ContainsKey(\"station\") and size = 13",
            "index properties, updatedAt, 1 ranges",
            150,
        ),
        (
            "serial = \"serial 7\" or properties.lot = \"L2\"",
            "index serial | index properties, updatedAt, 2 ranges",
            5,
        ),
        ("number = null and size > 1000", "index number, updatedAt, 1 ranges", 43),
        ("serial = null", "all records of part", 300),
        ("size = 13", "all records of part", 300),
        ("serial = \"serial 7\" or size = 13", "all records of part", 300),
        ("false", "nothing", 0),
    ] {
        let query = Query {
            take: 1000,
            filter: Some(filter),
            order: by("name", false),
            ..Query::default()
        };
        let plan = plan_of(&session, &query);
        assert_eq!(
            (plan.access.as_str(), plan.records_touched),
            (access, Some(touched)),
            "{filter}: {plan}"
        );
    }
}

#[test]
fn sets_are_intersected_where_that_spares_records() {
    let (_engine, session) = filled(300);
    let query = Query {
        take: 1000,
        filter: Some("properties.station = \"S4\" and words.Contains(\"w5\")"),
        order: by("name", false),
        ..Query::default()
    };
    let plan = plan_of(&session, &query);
    assert!(plan.access.contains(" & "), "{plan}");
    assert!(plan.records_touched < Some(25), "{plan}");
}

#[test]
fn an_equality_prefix_gives_the_order_behind_it() {
    let (_engine, session) = filled(2000);
    let query = Query {
        take: 5,
        filter: Some("state = \"NEW\" and number = \"PN-3\""),
        order: by("updatedAt", true),
        ..Query::default()
    };
    let plan = plan_of(&session, &query);
    assert_eq!(plan.access, "index number, updatedAt in order");
    // The state is stored with the entries, so only matches are read: the page, and one more that
    // shows that another page follows.
    assert_eq!(plan.records_touched, Some(6), "{plan}");
}

#[test]
fn a_small_set_of_another_index_goes_before_a_large_prefix_of_the_order() {
    let (_engine, session) = filled(1200);
    // Eight times the largest page, among a third of all records.
    let query = Query {
        take: 5,
        filter: Some(
            "state = \"CLOSED\" and (properties.lot in (\"L250\", \"L251\", \"L252\", \"L253\"))",
        ),
        ..Query::default()
    };
    let (page, plan) = run(&session, &query).unwrap();
    assert_eq!(page.items.len(), 5);
    assert!(plan.records_touched <= Some(16), "{plan}");
}

#[test]
fn a_range_of_what_orders_is_where_the_walk_begins_and_ends() {
    let (_engine, session) = filled(1000);
    // The oldest of fifty times, newest first; and the middle of the records of one number.
    for (filter, order, access) in [
        (
            "updatedAt <= \"2023-11-14T22:13:22Z\"",
            by("updatedAt", true),
            "index updatedAt in order",
        ),
        (
            "updatedAt > \"2023-11-14T22:14:07Z\" and size >= 0",
            by("updatedAt", false),
            "index updatedAt in order",
        ),
        (
            "number = \"PN-3\" and updatedAt < \"2023-11-14T22:13:41Z\" and updatedAt > \"2023-11-14T22:13:20Z\"",
            by("updatedAt", true),
            "index number, updatedAt in order",
        ),
        ("number.StartsWith(\"PN-2\")", by("number", true), ""),
        ("serial.StartsWith(\"serial 2\")", by("serial", true), "index serial in order"),
    ] {
        for ties_follow_direction in [false, true] {
            let query = Query {
                filter: Some(filter),
                order: order.clone(),
                ties_follow_direction,
                take: 7,
                ..Query::default()
            };
            let all = walk(&session, &Query { take: 5000, ..query.clone() }, |_| {}).unwrap();
            assert!(all.len() > 30, "{filter}");
            let (mut found, mut token) = (Vec::new(), None::<String>);
            loop {
                let (page, plan) =
                    run(&session, &Query { continuation_token: token.as_deref(), ..query.clone() })
                        .unwrap();
                assert!(access.is_empty() || plan.access == access, "{filter}: {plan}");
                // The page, and one more at either end.
                assert!(access.is_empty() || plan.records_touched <= Some(9), "{filter}: {plan}");
                found.extend(page.items.into_iter().map(|part| part.id));
                token = page.continuation_token;
                if token.is_none() {
                    break;
                }
            }
            assert_eq!(found, all, "{filter}");
            let plain = format!("({filter}) ? true : false");
            let naive =
                walk(&session, &Query { filter: Some(&plain), take: 5000, ..query }, |_| {})
                    .unwrap();
            assert_eq!(found, naive, "{filter}");
        }
    }
}

#[test]
fn a_later_page_by_key_reads_no_more_than_the_first() {
    let (_engine, session) = filled(900);
    for order in [vec![], by("id", true)] {
        let filter = "words.Contains(\"w5\") or properties.station = \"S4\"";
        let query = Query { filter: Some(filter), order, take: 10, ..Query::default() };
        let mut token: Option<String> = None;
        for _ in 0..15 {
            let (page, plan) =
                run(&session, &Query { continuation_token: token.as_deref(), ..query.clone() })
                    .unwrap();
            assert_eq!(page.items.len(), 10);
            assert!(plan.records_touched <= Some(11), "{plan}");
            token = page.continuation_token;
        }
    }
}

#[test]
fn what_is_skipped_is_not_held() {
    let (_engine, session) = filled(1300);
    for (order, filter) in [
        (vec![], None),
        (by("id", true), Some("words.Contains(\"w5\") or state != \"NEW\"")),
        (by("updatedAt", true), None),
        (by("size", true), None),
    ] {
        let query = Query { filter, order, take: 3000, ..Query::default() };
        let all = walk(&session, &query, |_| {}).unwrap();
        for (skip, take) in
            [(0, 3), (5, 0), (801, 7), (1_024, 7), (1_025, 7), (1_250, 90), (usize::MAX, 50)]
        {
            let return_count = skip % 2 == 1;
            let page = Query { skip, take, return_count, ..query.clone() };
            let (page, _) = run(&session, &page).unwrap();
            let ids: Vec<&String> = page.items.iter().map(|part| &part.id).collect();
            assert_eq!(
                ids,
                all.iter().skip(skip).take(take).collect::<Vec<_>>(),
                "{:?} {skip}",
                query.order
            );
            assert_eq!(page.total_count, return_count.then_some(all.len() as u64));
        }
    }
}

#[test]
fn ids_of_the_request_and_of_the_filter_must_both_hold() {
    let (_engine, session) = filled(20);
    let all = run(&session, &Query { take: 100, ..Query::default() }).unwrap().0.items;
    let ids: Vec<String> = all.iter().take(5).map(|part| part.id.clone()).collect();
    for (at, found) in [(2, 1), (7, 0)] {
        let filter = format!("id = \"{}\"", all[at].id);
        let query = Query { ids: Some(&ids), filter: Some(&filter), take: 10, ..Query::default() };
        assert_eq!(run(&session, &query).unwrap().0.items.len(), found, "{at}");
    }
}

#[test]
fn every_match_is_visited_part_by_part() {
    let (_engine, session) = filled(300);
    for filter in [None, Some("state = \"NEW\""), Some("name.Contains(\"1\")")] {
        let query = Query { filter, order: by("size", true), take: 1, skip: 3, ..Query::default() };
        let expected =
            walk(&session, &Query { order: vec![], take: 5000, skip: 0, ..query.clone() }, |_| {})
                .unwrap();
        let mut found = Vec::new();
        session
            .read(|view| view.for_each_match::<Part>(&query, |part| found.push(part.id)))
            .unwrap();
        assert_eq!(found, expected, "{filter:?}");
    }
}

#[test]
fn a_set_is_looked_for_along_the_order() {
    let (_engine, session) = filled(4000);
    let query = Query {
        take: 5,
        filter: Some("words.Contains(\"w5\") and size < 90"),
        order: by("updatedAt", true),
        ..Query::default()
    };
    let plan = plan_of(&session, &query);
    assert_eq!(plan.access, "index updatedAt in order within index words, 1 ranges");
    assert!(plan.records_touched <= Some(40), "{plan}");
}

#[test]
fn a_set_that_lies_far_along_the_order_is_read_instead_and_comes_once() {
    let session = TestEngine::new().session("ada");
    // Two records of the set are at the start of the order. The others are at its end, after more
    // entries than the budget of the walk.
    let is_wanted = |n: i64| !(2..1900).contains(&n);
    session
        .write(move |draft| {
            for n in 0..2000 {
                let key = draft.new_key::<Part>()?;
                let words = if is_wanted(n) { vec!["hot".to_owned()] } else { Vec::new() };
                let part = Part {
                    id: key.to_id(IdForm::Guid),
                    words,
                    updated_at: time::from_millis(n * 1000),
                    size: n,
                    ..part(n)
                };
                draft.put(&part, What::Created)?;
            }
            Ok(())
        })
        .unwrap();
    let mut query = Query {
        take: 5,
        filter: Some("words.Contains(\"hot\")"),
        order: by("updatedAt", false),
        return_count: true,
        ..Query::default()
    };
    let (page, plan) = run(&session, &query).unwrap();
    assert_eq!(plan.access, "index updatedAt in order within index words, 1 ranges");
    assert_eq!(
        page.items.iter().map(|part| part.size).collect::<Vec<_>>(),
        [0, 1, 1900, 1901, 1902]
    );
    assert_eq!(page.total_count, Some(102));
    let token = page.continuation_token.unwrap();
    query.continuation_token = Some(&token);
    let (page, _) = run(&session, &query).unwrap();
    assert_eq!(
        page.items.iter().map(|part| part.size).collect::<Vec<_>>(),
        [1903, 1904, 1905, 1906, 1907]
    );
}

#[test]
fn ids_come_in_either_direction_behind_an_equality() {
    let (_engine, session) = filled(60);
    let filter = "state = \"NEW\"";
    let all = run(&session, &Query { filter: Some(filter), take: 100, ..Query::default() })
        .unwrap()
        .0
        .items;
    for (descending, ties_follow_direction) in [(false, false), (true, false), (true, true)] {
        let mut walked = Vec::new();
        let mut token: Option<String> = None;
        loop {
            let query = Query {
                filter: Some(filter),
                order: by("id", descending),
                ties_follow_direction,
                take: 3,
                continuation_token: token.as_deref(),
                ..Query::default()
            };
            let (page, plan) = run(&session, &query).unwrap();
            assert_eq!(plan.access, "index state in order");
            walked.extend(page.items);
            match page.continuation_token {
                Some(next) => token = Some(next),
                None => break,
            }
        }
        let mut expected = all.clone();
        if descending {
            expected.reverse();
        }
        assert!(walked == expected, "descending {descending}, ties {ties_follow_direction}");
    }
}

#[test]
fn counts_come_from_the_index_alone() {
    let (_engine, session) = filled(300);
    for filter in [
        "state = \"New\"",
        "state in (\"New\", \"Closed\")",
        "properties[\"lot\"] = \"L7\"",
        "number = \"PN-3\" and updatedAt >= \"2023-11-14T22:13:45Z\"",
        "properties.station = \"S4\" and state = \"NEW\"",
        "words.Contains(\"w5\") or state = \"NEW\"",
        "words.Any(it in (\"w4\", \"w5\"))",
        "updatedWithin <= \"0\" and state = \"NEW\"",
        "",
    ] {
        let query = Query { filter: Some(filter), return_count: true, ..Query::default() };
        let (page, plan) = run(&session, &query).unwrap();
        let naive = run(&session, &Query { take: 1000, ..query.clone() }).unwrap().0;
        assert_eq!(page.total_count, Some(naive.items.len() as u64), "{filter}: {plan}");
        assert_eq!(plan.records_touched, Some(0), "{filter}: {plan}");
    }
    let query = Query {
        filter: Some("state = \"NEW\" and size < 50"),
        return_count: true,
        ..Query::default()
    };
    assert_eq!(plan_of(&session, &query).count.as_deref(), Some("every match"));
}

#[test]
fn pages_by_key_stop_early_and_start_where_the_last_one_ended() {
    let (_engine, session) = filled(500);
    for order in [vec![], by("id", true)] {
        let query = Query { take: 10, order, ..Query::default() };
        let (page, plan) = run(&session, &query).unwrap();
        assert!(plan.records_touched <= Some(11), "{plan}");
        let token = page.continuation_token.unwrap();
        let (next, plan) =
            run(&session, &Query { continuation_token: Some(&token), ..query.clone() }).unwrap();
        assert!(plan.records_touched <= Some(11), "{plan}");
        assert_ne!(next.items[0], page.items[9]);
    }
}

#[test]
fn a_later_page_of_an_ordered_index_reads_no_more_than_the_first() {
    let (_engine, session) = filled(500);
    for (descending, ties_follow_direction) in [(false, false), (true, false), (true, true)] {
        let query = Query {
            take: 7,
            order: by("updatedAt", descending),
            ties_follow_direction,
            ..Query::default()
        };
        let mut token: Option<String> = None;
        for _ in 0..20 {
            let (page, plan) =
                run(&session, &Query { continuation_token: token.as_deref(), ..query.clone() })
                    .unwrap();
            assert!(plan.records_touched <= Some(18), "{plan}");
            token = page.continuation_token;
        }
    }
}

#[test]
fn what_is_read_grows_with_the_answer_and_not_with_the_store() {
    let newest = by("updatedAt", true);
    let queries = [
        ("one by its id", None, vec![], 10, "2 ids"),
        ("unique", Some("serial = \"serial 7\""), vec![], 10, "index serial, 1 ranges"),
        (
            "a list",
            Some("serial in (\"serial 7\", \"serial 8\")"),
            newest.clone(),
            10,
            "index serial, 2 ranges",
        ),
        (
            "a prefix",
            Some("serial.StartsWith(\"serial 33\") and size >= 0"),
            newest.clone(),
            1000,
            "index serial, 1 ranges",
        ),
        (
            "a pair of the map",
            Some("properties.lot = \"L7\""),
            newest.clone(),
            10,
            "index properties, updatedAt, 1 ranges",
        ),
        (
            "alternatives",
            Some("serial = \"serial 7\" or properties.lot = \"L2\""),
            newest.clone(),
            10,
            "index serial | index properties, updatedAt, 2 ranges",
        ),
        ("the newest", None, newest.clone(), 5, "index updatedAt in order"),
        (
            "the newest of a number",
            Some("number = \"PN-3\""),
            newest,
            5,
            "index number, updatedAt in order",
        ),
        ("the first", None, vec![], 5, "all records of part"),
        ("the last", None, by("id", true), 5, "all records of part"),
    ];
    let stores = [filled(400), filled(4000)];
    for (what, filter, order, take, access) in queries {
        let mut read = Vec::new();
        for (_, session) in &stores {
            let some: Vec<String> = run(session, &Query { take: 2, ..Query::default() })
                .unwrap()
                .0
                .items
                .into_iter()
                .map(|p| p.id)
                .collect();
            let ids = (access == "2 ids").then_some(some.as_slice());
            let plan = plan_of(
                session,
                &Query { ids, filter, order: order.clone(), take, ..Query::default() },
            );
            assert!(plan.access.starts_with(access), "{what}: {plan}");
            read.push((plan.records_touched.unwrap(), plan.entries_touched.unwrap()));
        }
        // In a store that is ten times as large, the prefix and the ties of one time have ten times
        // as many entries.
        let factor = if matches!(what, "a prefix" | "the newest" | "the newest of a number") {
            12
        } else {
            1
        };
        assert!(read[1].0 <= read[0].0 * factor, "{what}: {read:?}");
        assert!(read[1].1 <= read[0].1 * factor, "{what}: {read:?}");
        assert!(read[1].0 < 200, "{what}: {read:?}");
    }
}

/// The ids of all pages of `take` records; calls `between` after each page.
fn walk(
    session: &Session,
    query: &Query<'_>,
    mut between: impl FnMut(usize),
) -> Result<Vec<String>> {
    let (mut ids, mut token) = (Vec::new(), None::<String>);
    for number in 0.. {
        let (page, _) =
            run(session, &Query { continuation_token: token.as_deref(), ..query.clone() })?;
        assert!(page.items.len() <= query.take);
        ids.extend(page.items.into_iter().map(|part| part.id));
        match page.continuation_token {
            Some(next) => {
                assert!(
                    next.len() <= crate::value::limits::TOKEN_BYTES,
                    "a token of {} bytes",
                    next.len()
                );
                token = Some(next);
            }
            None => break,
        }
        between(number);
    }
    Ok(ids)
}

/// A store of parts whose name, number and serial are these texts.
fn filled_with(texts: &[String]) -> (TestEngine, Session) {
    let (engine, session) = filled(0);
    let texts = texts.to_vec();
    session
        .write(move |draft| {
            for (n, text) in texts.iter().enumerate() {
                let key = draft.new_key::<Part>()?;
                let part = Part {
                    id: key.to_id(IdForm::Guid),
                    name: Some(text.clone()),
                    number: Some(text.clone()),
                    serial: Some(format!("{text}{n}")),
                    ..part(1)
                };
                draft.put(&part, What::Created)?;
            }
            Ok(())
        })
        .unwrap();
    (engine, session)
}

#[test]
fn walks_go_on_behind_sort_keys_of_any_length() {
    // Texts that are equal for longer than a token, texts that differ at once, and repeated texts,
    // in all mixtures.
    let long = "x".repeat(5_000);
    let texts: Vec<String> = (0..40)
        .map(|n| match n % 5 {
            0 => format!("{}{long}", n % 4),
            1 => format!("{long}{}", n % 4),
            2 => format!("{}{n}{long}", "y\0".repeat(900)),
            3 => format!("{}\0{long}", "\u{10ffff}".repeat(n)),
            _ => format!("short {}", n % 3),
        })
        .collect();
    let (_engine, session) = filled_with(&texts);
    for order in ["name", "number", "serial"] {
        for (descending, ties_follow_direction) in [(false, false), (true, false), (true, true)] {
            let query = Query {
                order: by(order, descending),
                ties_follow_direction,
                take: 1000,
                ..Query::default()
            };
            let all = walk(&session, &query, |_| {}).unwrap();
            assert_eq!(all.len(), texts.len());
            for take in [1, 3] {
                let found = walk(&session, &Query { take, ..query.clone() }, |_| {}).unwrap();
                assert_eq!(found, all, "{order} {descending} {ties_follow_direction} {take}");
            }
        }
    }
}

#[test]
fn a_place_that_only_a_record_can_tell_ends_with_the_record() {
    let long = "x".repeat(5_000);
    let (_engine, session) = filled_with(&["a", "b", "c", "d"].map(|end| format!("{long}{end}")));
    let query = Query { order: by("name", false), take: 2, ..Query::default() };
    let (first, _) = run(&session, &query).unwrap();
    let token = first.continuation_token.unwrap();
    let next = Query { continuation_token: Some(&token), ..query.clone() };
    assert_eq!(run(&session, &next).unwrap().0.items.len(), 2);
    // Another change of the record keeps its position.
    let mut last = first.items[1].clone();
    last.size += 1;
    let put = |part: Part| session.write(move |draft| draft.put(&part, What::Updated)).unwrap();
    put(last.clone());
    assert_eq!(run(&session, &next).unwrap().0.items.len(), 2);
    last.name = Some("elsewhere".to_owned());
    put(last);
    let error = run(&session, &next).unwrap_err();
    assert_eq!(error.kind(), crate::ErrorKind::InvalidArgument);
    assert_eq!(error.place(), Some(&crate::Place::Member("continuationToken".to_owned())));
}

#[test]
fn a_walk_beside_writers_returns_every_unchanged_record_once() {
    use std::sync::atomic::{AtomicBool, Ordering};
    let (engine, session) = filled(300);
    let all = run(&session, &Query { take: 1000, ..Query::default() }).unwrap().0.items;
    // Every third record moves in the order, and other records come and go.
    let (moving, still): (Vec<Part>, Vec<Part>) =
        all.into_iter().partition(|part| part.size % 3 == 0);
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let writer = engine.session("bob");
        let (done, moving) = (&done, &moving);
        scope.spawn(move || {
            for round in 0i64.. {
                if done.load(Ordering::Relaxed) {
                    break;
                }
                let turn = (round as usize * 7) % moving.len();
                let changed = Part { serial: None, ..part(round) };
                let moved = Part { id: moving[turn].id.clone(), serial: None, ..part(round * 11) };
                writer
                    .write(move |draft| {
                        let key = draft.new_key::<Part>()?;
                        draft.put(
                            &Part { id: key.to_id(IdForm::Guid), ..changed.clone() },
                            What::Created,
                        )?;
                        draft.put(&moved, What::Updated)?;
                        Ok(key)
                    })
                    .and_then(|key| {
                        writer.write(move |draft| draft.delete::<Part>(&key.to_id(IdForm::Guid)))
                    })
                    .unwrap();
            }
        });
        let steady: std::collections::BTreeSet<&str> =
            still.iter().map(|part| part.id.as_str()).collect();
        for (order, filter) in [
            (vec![], None),
            (by("id", true), None),
            (by("updatedAt", false), Some("size >= 0")),
            (by("updatedAt", true), Some("state = \"NEW\"")),
            (by("number", true), Some("properties.ContainsKey(\"station\")")),
            (by("size", false), Some("words.Contains(\"w5\") or state = \"CLOSED\"")),
            (by("name", true), None),
        ] {
            let query = Query { order, filter, take: 17, ..Query::default() };
            let matching = run(&session, &Query { take: 10_000, ..query.clone() }).unwrap().0.items;
            let mut expected: Vec<&str> = matching
                .iter()
                .map(|part| part.id.as_str())
                .filter(|id| steady.contains(id))
                .collect();
            let found = walk(&session, &query, |_| std::thread::yield_now()).unwrap();
            let mut met: Vec<&str> =
                found.iter().map(String::as_str).filter(|id| steady.contains(id)).collect();
            assert_eq!(met, expected, "{:?} {filter:?}: in order", query.order);
            met.sort_unstable();
            expected.sort_unstable();
            expected.dedup();
            assert_eq!(met, expected, "each once");
        }
        done.store(true, Ordering::Relaxed);
    });
}

/// The answer without any plan: every record, tested and sorted.
fn naive(session: &Session, query: &Query<'_>) -> Vec<String> {
    let hidden = query.filter.map(|filter| format!("({filter}) and size >= 0 ? true : false"));
    let plain = Query { filter: hidden.as_deref(), continuation_token: None, ..query.clone() };
    let (page, plan) =
        run(session, &Query { order: vec![], take: 10_000, skip: 0, ..plain }).unwrap();
    assert_eq!(plan.access, "all records of part");
    let mut items = page.items;
    if let Some(term) = query.order.first() {
        items.sort_by(|a, b| {
            let order = match term.path {
                "updatedAt" => a.updated_at.cmp(&b.updated_at),
                "number" => a.number.cmp(&b.number),
                "size" => a.size.cmp(&b.size),
                _ => a.id.cmp(&b.id),
            };
            let ties = if term.descending && query.ties_follow_direction {
                b.id.cmp(&a.id)
            } else {
                a.id.cmp(&b.id)
            };
            (if term.descending { order.reverse() } else { order }).then(ties)
        });
    }
    items.into_iter().map(|part| part.id).collect()
}

const TERMS: &[&str] = &[
    "state = \"NEW\"",
    "state != \"NEW\"",
    "state in (\"NEW\", \"CLOSED\")",
    "number = \"PN-3\"",
    "number = null",
    "number != null",
    "number >= \"PN-5\"",
    "number.StartsWith(\"PN-\")",
    "number in (\"PN-1\", null)",
    "serial = \"serial 40\"",
    "serial = null",
    "serial > \"serial 5\"",
    "serial.StartsWith(\"serial 1\")",
    "updatedAt >= \"2023-11-14T22:13:45Z\"",
    "updatedAt < \"2023-11-14T22:13:45Z\"",
    "updatedWithin > \"1\"",
    "size < 50",
    "size = 13",
    "words.Contains(\"w5\")",
    "words.Any(it in (\"w1\", \"w2\"))",
    "words.Any(it = \"w1\" or it = \"w3\")",
    "properties[\"lot\"] = \"L7\"",
    "properties.station = \"S4\"",
    "properties.ContainsKey(\"station\")",
    "properties.lot in (\"L1\", \"L2\")",
    "name.Contains(\"1\")",
    "!words.Any()",
    "true",
    "false",
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 4, ..ProptestConfig::default() })]

    #[test]
    fn every_plan_answers_as_the_naive_evaluation(
        count in prop::sample::select(vec![0i64, 1, 40, 400]),
        cases in prop::collection::vec(
            (
                prop::collection::vec((prop::sample::select(TERMS), prop::bool::ANY), 1..4),
                prop::sample::select(vec!["", "id", "updatedAt", "number", "size"]),
                prop::bool::ANY,
                prop::bool::ANY,
                prop::sample::select(vec![1usize, 3, 50]),
            ),
            12,
        ),
    ) {
        let (_engine, session) = filled(count);
        for (terms, order, descending, ties_follow_direction, take) in cases {
            let mut filter = String::new();
            for (number, (term, or)) in terms.iter().enumerate() {
                filter = match (number, or) {
                    (0, _) => (*term).to_owned(),
                    (_, true) => format!("({filter}) or {term}"),
                    (_, false) => format!("({filter}) and {term}"),
                };
            }
            let order = if order.is_empty() { vec![] } else { by(order, descending) };
            let query = Query { filter: Some(&filter), order, ties_follow_direction, take, ..Query::default() };
            let expected = naive(&session, &query);
            let (mut walked, mut token) = (Vec::new(), None::<String>);
            loop {
                let page = Query { continuation_token: token.as_deref(), return_count: take == 3, ..query.clone() };
                let (page, plan) = run(&session, &page).unwrap();
                prop_assert!(page.items.len() <= take);
                if take == 3 {
                    prop_assert_eq!(page.total_count, Some(expected.len() as u64), "{}: {}", filter, plan);
                }
                walked.extend(page.items.into_iter().map(|part| part.id));
                token = page.continuation_token;
                if token.is_none() {
                    break;
                }
            }
            prop_assert_eq!(&walked, &expected, "{}: {:?}", filter, query.order);
            let skipped = Query { skip: 2, ..query.clone() };
            let ids: Vec<String> = run(&session, &skipped).unwrap().0.items.into_iter().map(|part| part.id).collect();
            let rest: Vec<String> = expected.iter().skip(2).take(take).cloned().collect();
            prop_assert_eq!(ids, rest, "{}", filter);
        }
    }
}
