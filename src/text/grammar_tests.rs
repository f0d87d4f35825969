use proptest::prelude::*;

use super::document::Shape;
use super::grammar::*;
use super::tree::{Leaf, Node};
use crate::error::{ErrorKind, Place};
use crate::value::id::IdForm;
use crate::value::limits::TEXT_QUERY_BYTES;
use crate::value::{Kind, Service, limits};

fn shape() -> Shape {
    let kind = |code, name| Kind { code, name, service: Service::PRODUCTS, id: IdForm::Decimal };
    let mut shape =
        Shape { kinds: vec![kind(1, "product"), kind(5, "work item")], ..Shape::default() };
    shape.add_field("name", 4.0);
    shape.add_field("description", 1.0);
    shape
}

fn printed(text: &str) -> String {
    parse(text, &shape()).unwrap().to_string()
}

fn refused(text: &str) -> (ErrorKind, String) {
    let error = parse(text, &shape()).unwrap_err();
    (error.kind(), error.to_string())
}

#[test]
fn words_phrases_prefixes_fields_and_operators() {
    assert_eq!(printed("Amplifier DMM-4065"), "amplifier AND \"dmm 4065\"");
    assert_eq!(printed("a OR b c OR NOT d"), "a OR (b AND c) OR NOT d");
    assert_eq!(printed("name:amp* \"Long  Phrase\"*"), "name:amp* AND \"long phrase\"*");
    assert_eq!(printed("Größe \"RÉSUMÉ Œuvre\"*"), "grosse AND \"resume oeuvre\"*");
    assert_eq!(printed("NAME:\"x y\""), "name:\"x y\"");
    assert_eq!(
        printed("kind:WorkItems -kind:\"work item\""),
        "kind:workitem AND NOT kind:workitem"
    );
    assert_eq!(printed("workspace:5afb-1 (a)"), "workspace:\"5afb-1\" AND a");
    assert_eq!(printed("a - b & c"), "a AND b AND c");
    assert_eq!(printed("and or not"), "and AND or AND not");
    assert_eq!(printed(""), "*");
    assert_eq!(printed("*"), "*");
    assert_eq!(printed("(a (b OR c)) d"), "(a AND (b OR c)) AND d");
    assert_eq!(printed("workspace:\"a\\\"b\""), "workspace:\"a\\\"b\"");
}

#[test]
fn errors_say_where() {
    for (text, offset) in [
        ("ä (b", 2),
        ("a )", 2),
        ("a OR", 4),
        ("OR a", 0),
        ("a AND OR b", 6),
        ("NOT", 3),
        ("ä \"b", 2),
        ("a tint:red", 2),
        ("kind:chair", 5),
        ("name: x", 5),
        ("workspace:", 10),
    ] {
        let error = parse(text, &shape()).unwrap_err();
        assert_eq!(error.place(), Some(&Place::Offset(offset)), "{text}: {error}");
        assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    }
    assert!(refused("tint:red").1.contains("name, description"));
}

#[test]
fn bounds_are_exact() {
    let nested = |depth: usize| format!("{}a{}", "(".repeat(depth), ")".repeat(depth));
    let above = ErrorKind::LimitExceeded;
    limits::holds_at(limits::TEXT_QUERY_DEPTH, above, |depth| parse(&nested(depth), &shape()));
    limits::holds_at(limits::TEXT_QUERY_TERMS, above, |terms| parse(&"a ".repeat(terms), &shape()));
    limits::holds_at(limits::TEXT_QUERY_BYTES, above, |bytes| parse(&" ".repeat(bytes), &shape()));
    assert_eq!(refused(&"(".repeat(TEXT_QUERY_BYTES)).0, ErrorKind::LimitExceeded);
    assert_eq!(refused(&"-".repeat(TEXT_QUERY_BYTES)).0, ErrorKind::LimitExceeded);
}

fn leaf() -> impl Strategy<Value = Node> {
    let field = prop_oneof![
        Just(None),
        Just(Some(("name".to_owned(), 0))),
        Just(Some(("description".to_owned(), 1)))
    ];
    prop_oneof![
        4 => (field, prop::collection::vec("[a-z0-9я]{1,4}", 1..3), any::<bool>())
            .prop_map(|(field, words, prefix)| Node::Leaf(Leaf::Text { field, words, prefix })),
        1 => Just(Node::Leaf(Leaf::Kind("workitem".to_owned(), 5))),
        1 => "[ -~]{1,6}".prop_map(|id| Node::Leaf(Leaf::Workspace(id))),
        1 => Just(Node::All),
    ]
}

fn tree() -> impl Strategy<Value = Node> {
    leaf().prop_recursive(4, 24, 3, |inner| {
        prop_oneof![
            inner.clone().prop_map(|node| Node::Not(Box::new(node))),
            prop::collection::vec(inner.clone(), 2..4).prop_map(Node::And),
            prop::collection::vec(inner, 2..4).prop_map(Node::Or),
        ]
    })
}

proptest! {
    #[test]
    fn what_is_printed_parses_to_the_same_tree(node in tree()) {
        let text = node.to_string();
        prop_assert_eq!(parse(&text, &shape()).map_err(|error| format!("{text}: {error}")), Ok(node));
    }

    #[test]
    fn no_text_panics(text in "[\\PC]{0,40}|[()\"*:\\-a AND OR NOT kind:]{0,60}") {
        let _ = parse(&text, &shape());
    }
}
