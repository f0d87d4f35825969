//! Every sort key of every operation in both directions, compared with sorting the returned items.

use crate::store::tests::prelude::*;
use std::cmp::Ordering;

use super::kinds::{OPERATIONS, Operation, member};
use super::{Opened, kind};

/// Number of records that [`records`] returns.
pub(super) const COUNT: usize = 24;

/// The id of record `n` of a kind. The ids are not in the order of `n`.
fn id(kind: &str, n: usize) -> String {
    let shuffled = n * 7 % COUNT;
    match kind {
        "table" | "file" => format!("{:024x}", shuffled + 1),
        // Decimal ids of different lengths are ordered as numbers.
        "workItem" | "workItemTemplate" | "testPlan" | "testPlanTemplate" => {
            (shuffled * 37 + 9).to_string()
        }
        _ => format!("00000000-0000-8000-8000-{:012x}", shuffled + 1),
    }
}

/// Records with ties and nulls in all members that an operation orders by. Members that a kind does
/// not have are ignored.
pub(super) fn records(kind: &str) -> Vec<Value> {
    const TIMES: [&str; 3] =
        ["2024-01-01T00:00:00.000Z", "2024-01-01T00:00:00.001Z", "2023-12-31T23:59:59.999Z"];
    const TEXTS: [&str; 7] = ["b", "B", "ä", "a\u{0}z", "", "bb", "a"];
    const NUMBERS: [i64; 4] = [5, 0, 1_000_000_000_000, 6];
    let or_null = |n: usize, period: usize, value: Value| {
        if n % period == period - 1 { Value::Null } else { value }
    };
    let time = |n: usize| or_null(n, 5, TIMES[n % 3].into());
    let text = |n: usize| or_null(n, 6, TEXTS[n % 7].into());
    let record = |n: usize| {
        let mut record = json!({
            "id": id(kind, n),
            "partNumber": format!("{}{n}", TEXTS[n % 7]),
            "specId": format!("{}{}", TEXTS[n / 2 % 7], n / 2),
            "productId": format!("P{}", n % 2 + 1),
            "family": text(n), "name": text(n * 3 + 1), "templateGroup": text(n * 5 + 2),
            "createdAt": time(n), "updatedAt": time(n * 2 + 1), "lastUpdatedTimestamp": time(n * 3),
            "metadataModifiedAt": time(n * 4), "rowsModifiedAt": time(n + 2),
            "rowCount": or_null(n, 5, NUMBERS[n % 4].into()),
            "workspace": TEXTS[n % 5],
            "startTimestamp": TIMES[n % 3],
            "programName": text(n * 3 + 2), "systemId": text(n + 1), "hostName": text(n * 2),
            "operator": text(n * 5), "serialNumber": text(n * 2 + 1), "startedAt": time(n + 1),
            "totalTimeInSeconds": or_null(n, 4, [1.5, 0.0, 29.9, 1e300][n % 4].into()),
        });
        if kind == "file" {
            record["created"] = TIMES[n % 3].into();
            record["lastUpdated"] = TIMES[(n + 1) % 3].into();
            record["size64"] = NUMBERS[n % 4].into();
            record["properties"] = json!({"Name": format!("{}.{}", TEXTS[n % 7], TEXTS[n % 4])});
        }
        record
    };
    (0..COUNT).map(record).collect()
}

fn compare(path: &str, left: &Value, right: &Value) -> Ordering {
    match (left, right) {
        (Value::Null, Value::Null) => Ordering::Equal,
        (Value::Null, _) => Ordering::Less,
        (_, Value::Null) => Ordering::Greater,
        (Value::Number(left), Value::Number(right)) => {
            left.as_f64().partial_cmp(&right.as_f64()).unwrap()
        }
        (Value::String(left), Value::String(right)) => {
            match (path, left.parse::<u64>(), right.parse::<u64>()) {
                ("id", Ok(left), Ok(right)) => left.cmp(&right),
                _ => left.cmp(right),
            }
        }
        _ => panic!("{left} and {right}"),
    }
}

/// The items in the order that `docs/reference/README.md` specifies.
pub(super) fn sorted(
    operation: &Operation,
    items: &[Value],
    path: &str,
    descending: bool,
) -> Vec<String> {
    let mut items = items.to_vec();
    items.sort_by(|left, right| {
        let order = compare(path, &member(left, path), &member(right, path));
        let ids = compare("id", &left[operation.id], &right[operation.id]);
        let ties = if descending && operation.ties_follow_direction { ids.reverse() } else { ids };
        (if descending { order.reverse() } else { order }).then(ties)
    });
    items.iter().map(|item| item[operation.id].as_str().unwrap().to_owned()).collect()
}

#[test]
fn every_key_orders_in_both_directions() {
    for operation in &OPERATIONS {
        let opened = Opened::new();
        opened.put(kind(operation.kind), &records(operation.kind));
        let known: BTreeSet<&str> = (operation.known_keys)().into_iter().collect();
        let tested: BTreeSet<&str> = operation.keys.iter().map(|(key, _)| *key).collect();
        assert_eq!(known, tested, "{}: keys without a case", operation.name);

        let ask = |members: Value| operation.ask(&opened.session, members).unwrap();
        let all = ask(json!({"take": 1000}));
        let items = operation.items_of(&all);
        assert_eq!(items.len(), COUNT, "{}", operation.name);
        let (key_member, direction_member) = operation.order;
        let (path, descending) = operation.default_order;
        assert_eq!(
            operation.ids_of(&all),
            sorted(operation, items, path, descending),
            "{} by default",
            operation.name
        );
        if operation.name != "query_files_linq" && operation.filter.is_some() {
            let directed = ask(json!({"take": 1000, direction_member: true}));
            assert_eq!(directed, all, "{}: a direction without a key is ignored", operation.name);
        }
        for (key, path) in operation.keys {
            for descending in [false, true] {
                let expected = sorted(operation, items, path, descending);
                for take in [1, 7, COUNT] {
                    let members =
                        json!({"take": take, key_member: key, direction_member: descending});
                    let found = operation.ids_of(&ask(members));
                    assert_eq!(
                        found,
                        expected[..take],
                        "{} by {key}, descending: {descending}",
                        operation.name
                    );
                }
            }
        }
    }
}
