//! What holds for every text and every tree.

use proptest::prelude::*;
use serde_json::json;

use super::corpus::JsonRow;
use super::{schemas, times};
use crate::filter::constant::{fold_case, order_mixed, parse_span, parse_time};
use crate::filter::{compile, parse, print};

fn row() -> JsonRow {
    let record = json!({
        "id": "1", "number": 1.5, "count": 7, "flag": true, "text": "Alpha", "at": "2024-05-01T00:00:00Z",
        "list": ["a", "b"], "map": {"k": "v"}, "state": "NEW", "rows": [{"id": "x"}, {"id": "y"}],
        "data": {"parameters": [{"name": "Vout", "value": "3.7"}, {"key": "k"}, {}]},
        "inputs": [{"name": "a", "value": 35}, {"name": "b", "value": "35"}, {"value": {"a": 1}}],
        "json": [1],
    });
    JsonRow::new(&schemas::fields("probe"), &schemas::sources("probe"), &record)
}

/// Compiles a text; if that succeeds, evaluates and prints the filter.
fn try_all(text: &str) {
    let fields = schemas::fields("probe");
    for schema in [
        schemas::schema("probe", &fields),
        crate::filter::Schema {
            accept_brackets: true,
            search: true,
            ..schemas::schema("probe", &fields)
        },
    ] {
        let values = [json!("a"), json!(1), json!(null), json!(true), json!([]), json!(1.5)];
        if let Ok(Some(filter)) = compile(Some(text), &values, &schema, &times()) {
            let _ = filter.matches(&row());
            let printed = filter.to_string();
            let again = compile(Some(&printed), &values, &schema, &times());
            let again =
                again.unwrap_or_else(|error| panic!("{text} -> {printed}: {error:?}")).unwrap();
            assert_eq!(again.matches(&row()), filter.matches(&row()), "{text} -> {printed}");
        }
    }
}

/// What filters are made of, one piece a line.
const PIECES: &str = include_str!("../../../tests/corpus/pieces.txt");

/// Trees that parse: an expression grammar that ignores types.
fn expression() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        prop::sample::select(vec![
            "count",
            "text",
            "it",
            "$",
            "1",
            "-1",
            "2.5",
            "-0.0",
            "1e300",
            "@0",
            "@1",
            "null",
            "true",
            "map.k",
            "9223372036854775807",
            "-9223372036854775808",
            "'it\\'s'",
            "\"a\\n\\u00e9\"",
            "rows.id",
            "data.parameters.name",
            "inputs.value",
            "json",
        ])
        .prop_map(str::to_owned),
        "[a-z]{1,3}".prop_filter("no keyword", |word| {
            ![
                "and", "or", "not", "in", "new", "it", "eq", "ne", "lt", "le", "gt", "ge", "mod",
                "neq",
            ]
            .contains(&word.as_str())
        }),
    ];
    leaf.prop_recursive(5, 60, 4, |inner| {
        let binary = prop::sample::select(vec![
            "=", "!=", "<", ">=", "and", "or", "||", "&", "|", "+", "-", "*", "/", "%", "??", "eq",
            "mod",
        ]);
        prop_oneof![
            (inner.clone(), binary.clone(), inner.clone())
                .prop_map(|(a, op, b)| format!("{a} {op} {b}")),
            (inner.clone(), binary, inner.clone())
                .prop_map(|(a, op, b)| format!("({a}) {op} ({b})")),
            inner.clone().prop_map(|a| format!("not {a}")),
            inner.clone().prop_map(|a| format!("-({a})")),
            inner.clone().prop_map(|a| format!("- {a}")),
            inner.clone().prop_map(|a| format!("({a})")),
            inner.clone().prop_map(|a| format!("({a}).Name")),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("({a})[{b}]")),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("({a}).Any(x => {b})")),
            (inner.clone(), prop::collection::vec(inner.clone(), 1..4))
                .prop_map(|(a, items)| format!("({a}) not in ({})", items.join(", "))),
            (inner.clone(), prop::collection::vec(inner.clone(), 0..4))
                .prop_map(|(a, items)| format!("({a}) in new[]{{{}}}", items.join(", "))),
            (inner.clone(), inner.clone(), inner.clone())
                .prop_map(|(a, b, c)| format!("{a} ? {b} : {c}")),
            prop::collection::vec(inner.clone(), 0..3)
                .prop_map(|args| format!("call({})", args.join(", "))),
            (inner.clone(), inner).prop_map(|(a, b)| format!("[{a}, ({b}): 1]")),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, ..ProptestConfig::default() })]

    #[test]
    fn any_text_is_answered(text in "\\PC{0,60}") {
        try_all(&text);
    }

    #[test]
    fn any_bytes_are_answered(bytes in prop::collection::vec(any::<u8>(), 0..80)) {
        try_all(&String::from_utf8_lossy(&bytes));
    }

    #[test]
    fn any_tokens_are_answered(pieces in prop::collection::vec(prop::sample::select(PIECES.lines().collect::<Vec<_>>()), 0..14)) {
        try_all(&pieces.join(" "));
        try_all(&pieces.concat());
    }

    #[test]
    fn what_parses_prints_to_the_same_tree(text in expression()) {
        if let Ok(tree) = parse::parse(&text, true) {
            let printed = print::PrintedTree { tree: &tree, substitutions: &Default::default() }.to_string();
            let again = parse::parse(&printed, true);
            match again {
                Ok(again) => prop_assert_eq!(&tree, &again, "{} printed as {}", text, printed),
                Err(fault) => prop_assert!(false, "{} printed as {}: {:?}", text, printed, fault.into_error(&printed)),
            }
        }
    }

    #[test]
    fn mixed_numbers_compare_exactly(int: i64, double: f64) {
        if let Some(order) = order_mixed(int, double) {
            prop_assert_eq!(order, (i128::from(int)).cmp(&wide(double)).then(fraction(double)));
        }
        prop_assert_eq!(order_mixed(int, int as f64), Some(i128::from(int).cmp(&(int as f64 as i128))));
    }

    #[test]
    fn conversions_never_panic(text in "[-0-9:.TZ+ ]{0,30}") {
        let _ = (parse_span(&text), parse_time(&text));
    }

    #[test]
    fn folding_keeps_ascii_in_step(text in "[ -~]{0,20}") {
        prop_assert_eq!(fold_case(&text, false), text.to_ascii_lowercase());
        prop_assert_eq!(fold_case(&text, true), text.to_ascii_uppercase());
    }
}

fn wide(double: f64) -> i128 {
    double.trunc() as i128
}

fn fraction(double: f64) -> std::cmp::Ordering {
    double.trunc().partial_cmp(&double).unwrap()
}
