//! The search service compared with reading every text, through writes, transactions, maintenance
//! and reopening.

use crate::store::tests::prelude::*;

use proptest::prelude::*;

use super::Opened;
use crate::search::SearchResponse;

const WORDS: [&str; 16] = [
    "amp",
    "amplifier",
    "ampere",
    "probe",
    "dmm",
    "4065",
    "burn",
    "in",
    "Größe",
    "GROSSE",
    "grö",
    "x1",
    "résumé",
    "re\u{301}sume\u{301}",
    "resu",
    "Œuvre",
];
const WORKSPACES: [&str; 3] = ["w1", "w2", "w 3"];

/// The expected content of a resource: its workspace, and the words of each field.
#[derive(Clone, Debug)]
struct Text {
    kind: &'static str,
    workspace: String,
    fields: BTreeMap<&'static str, Vec<String>>,
}

type Model = BTreeMap<String, Text>;

/// A query as a tree, which the model evaluates.
#[derive(Clone, Debug)]
enum Node {
    Leaf { field: Option<&'static str>, words: Vec<&'static str>, prefix: bool },
    Kind(&'static str),
    Workspace(&'static str),
    And(Vec<Node>),
    Or(Vec<Node>),
    Not(Box<Node>),
}

impl Node {
    fn text(&self) -> String {
        let list = |nodes: &[Self], between: &str| {
            format!("({})", nodes.iter().map(Self::text).collect::<Vec<_>>().join(between))
        };
        match self {
            Self::Leaf { field, words, prefix } => {
                let field = field.map(|field| format!("{field}:")).unwrap_or_default();
                let star = if *prefix { "*" } else { "" };
                match words.as_slice() {
                    [word] => format!("{field}{word}{star}"),
                    words => format!("{field}\"{}\"{star}", words.join(" ")),
                }
            }
            Self::Kind(kind) => format!("kind:{}", kind.replace(' ', "")),
            Self::Workspace(id) => format!("workspace:\"{id}\""),
            Self::And(nodes) => list(nodes, " "),
            Self::Or(nodes) => list(nodes, " OR "),
            Self::Not(node) => format!("NOT {}", node.text()),
        }
    }

    fn finds(&self, text: &Text, only: &[String]) -> bool {
        match self {
            Self::Leaf { field, words, prefix } => text.fields.iter().any(|(name, found)| {
                let is_asked = match field {
                    Some(field) => field == name,
                    None => only.is_empty() || only.iter().any(|field| field == name),
                };
                is_asked
                    && found.windows(words.len()).any(|window| {
                        let last = words.len() - 1;
                        window.iter().zip(words).enumerate().all(|(at, (word, asked))| {
                            let asked = plain(asked);
                            if *prefix && at == last {
                                word.starts_with(&asked)
                            } else {
                                *word == asked
                            }
                        })
                    })
            }),
            Self::Kind(kind) => text.kind == *kind,
            Self::Workspace(id) => text.workspace == *id,
            Self::And(nodes) => nodes.iter().all(|node| node.finds(text, only)),
            Self::Or(nodes) => nodes.iter().any(|node| node.finds(text, only)),
            Self::Not(node) => !node.finds(text, only),
        }
    }
}

fn word() -> impl Strategy<Value = &'static str> {
    prop::sample::select(&WORDS[..])
}

fn node() -> impl Strategy<Value = Node> {
    let field = prop::option::weighted(
        0.3,
        prop::sample::select(vec![
            "name",
            "partNumber",
            "description",
            "family",
            "keywords",
            "testProgram",
        ]),
    );
    let leaf = prop_oneof![
        6 => (field, prop::collection::vec(word(), 1..3), prop::bool::weighted(0.3))
            .prop_map(|(field, words, prefix)| Node::Leaf { field, words, prefix }),
        1 => prop::sample::select(vec!["product", "work item"]).prop_map(Node::Kind),
        1 => prop::sample::select(&WORKSPACES[..]).prop_map(Node::Workspace),
    ];
    leaf.prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 2..4).prop_map(Node::And),
            prop::collection::vec(inner.clone(), 2..4).prop_map(Node::Or),
            inner.prop_map(|node| Node::Not(Box::new(node))),
        ]
    })
}

/// One write: creates a product or a work item with these words, or changes or deletes an existing
/// one.
#[derive(Clone, Debug)]
enum Write {
    Product(Vec<&'static str>, Vec<&'static str>, &'static str),
    Item(Vec<&'static str>, Vec<&'static str>, &'static str),
    Rename(usize, Vec<&'static str>),
    Delete(usize),
}

fn write() -> impl Strategy<Value = Write> {
    let words = || prop::collection::vec(word(), 0..5);
    let workspace = || prop::sample::select(&WORKSPACES[..]);
    prop_oneof![
        4 => (words(), words(), workspace()).prop_map(|(a, b, w)| Write::Product(a, b, w)),
        4 => (words(), words(), workspace()).prop_map(|(a, b, w)| Write::Item(a, b, w)),
        2 => (any::<usize>(), words()).prop_map(|(at, a)| Write::Rename(at, a)),
        1 => any::<usize>().prop_map(Write::Delete),
    ]
}

/// The words of a text without case and diacritics.
fn split(text: &str) -> Vec<String> {
    let is_between = |c: char| !c.is_alphanumeric() && c != '\u{301}';
    text.split(is_between).filter(|word| !word.is_empty()).map(plain).collect()
}

/// The form in which the words of this test are compared.
fn plain(word: &str) -> String {
    let pairs = [("ö", "o"), ("ß", "ss"), ("é", "e"), ("\u{301}", ""), ("œ", "oe")];
    pairs.iter().fold(word.to_lowercase(), |word, (from, to)| word.replace(from, to))
}

/// Applies a write to the store and to the model.
fn apply(
    access: &(impl ProductService + WorkItemService),
    model: &mut Model,
    write: &Write,
    number: usize,
) {
    let request = |value: Value| serde_json::from_value(value).unwrap();
    match write {
        Write::Product(name, keywords, workspace) => {
            let part_number = format!("PN-{number}/{}", name.first().unwrap_or(&"none"));
            let mut kept: Vec<&str> = Vec::new();
            keywords.iter().for_each(|word| {
                if !kept.contains(word) {
                    kept.push(word);
                }
            });
            let product = json!({
                "partNumber": part_number, "name": name.join(" "), "keywords": kept, "workspace": workspace,
            });
            let created =
                access.create_products(vec![serde_json::from_value(product).unwrap()]).unwrap();
            let id = created.products[0].id.clone().unwrap().to_string();
            let fields = BTreeMap::from([
                ("partNumber", split(&part_number)),
                ("name", split(&name.join(" "))),
                ("keywords", split(&kept.join("\n"))),
            ]);
            model.insert(id, Text { kind: "product", workspace: (*workspace).to_owned(), fields });
        }
        Write::Item(name, description, workspace) => {
            let item = json!({
                "name": name.join("-"), "description": description.join(", "), "testProgram": "burn",
                "workspace": workspace,
            });
            let created =
                access.create_work_items(vec![serde_json::from_value(item).unwrap()]).unwrap();
            let id = created.created_work_items[0].id.clone().unwrap().to_string();
            let fields = BTreeMap::from([
                ("name", split(&name.join("-"))),
                ("description", split(&description.join(", "))),
                ("testProgram", split("burn")),
            ]);
            model
                .insert(id, Text { kind: "work item", workspace: (*workspace).to_owned(), fields });
        }
        Write::Rename(at, name) => {
            let Some((id, text)) = model.iter_mut().nth(at % 8) else { return };
            let change = json!({"id": id, "name": name.join(" ")});
            if text.kind == "product" {
                let _ = access.update_products(vec![request(change)], false).unwrap();
            } else {
                let _ = access
                    .update_work_items(
                        serde_json::from_value(json!({"workItems": [change]})).unwrap(),
                    )
                    .unwrap();
            }
            text.fields.insert("name", split(&name.join(" ")));
        }
        Write::Delete(at) => {
            let Some((id, text)) =
                model.iter().nth(at % 8).map(|(id, text)| (id.clone(), text.clone()))
            else {
                return;
            };
            if text.kind == "product" {
                access.delete_product(&id.as_str().into()).unwrap();
            } else {
                access.delete_work_items(vec![id.clone().into()]).unwrap();
            }
            model.remove(&id);
        }
    }
}

/// Searches page by page and compares with the model.
fn check(
    access: &impl SearchService,
    model: &Model,
    node: &Node,
    request: &SearchRequest,
    take: i64,
) {
    let text = node.text();
    let admits = |entry: &Text| {
        (request.kinds.is_empty() || request.kinds.iter().any(|kind| kind == entry.kind))
            && (request.workspaces.is_empty() || request.workspaces.contains(&entry.workspace))
    };
    let expected: BTreeMap<&String, &Text> = model
        .iter()
        .filter(|(_, entry)| admits(entry) && node.finds(entry, &request.fields))
        .collect();
    let mut ask = SearchRequest {
        text: Some(text.clone()),
        take: Some(take),
        facets: Some(true),
        highlight: Some(true),
        ..request.clone()
    };
    let mut found: Vec<(String, f64)> = Vec::new();
    let mut first: Option<SearchResponse> = None;
    loop {
        let page = access.search(ask.clone()).unwrap_or_else(|error| panic!("{text}: {error}"));
        assert!(page.hits.len() <= take as usize);
        for hit in &page.hits {
            let entry = expected.get(&hit.id).unwrap_or_else(|| panic!("{text} found {hit:?}"));
            assert_eq!(
                (hit.kind.as_str(), hit.workspace.as_str()),
                (entry.kind, entry.workspace.as_str()),
                "{text}"
            );
            for snippet in &hit.snippets {
                let characters: Vec<char> = snippet.text.chars().collect();
                assert!(!snippet.highlights.is_empty(), "{text}: {snippet:?}");
                for mark in &snippet.highlights {
                    let word: String =
                        characters[mark.start as usize..mark.end as usize].iter().collect();
                    let words = &entry.fields[snippet.field.as_str()];
                    assert!(
                        split(&word).iter().all(|word| words.contains(word)),
                        "{text}: {word:?} in {snippet:?}"
                    );
                }
            }
        }
        found.extend(page.hits.iter().map(|hit| (hit.id.clone(), hit.score)));
        ask.continuation_token = page.continuation_token.clone();
        first.get_or_insert(page);
        if ask.continuation_token.is_none() {
            break;
        }
    }
    let first = first.unwrap();
    assert_eq!(first.total, Some(expected.len() as u64), "{text}");
    let ids: BTreeSet<&String> = found.iter().map(|(id, _)| id).collect();
    assert_eq!(ids.len(), found.len(), "{text}: a hit was repeated");
    assert_eq!(ids, expected.keys().copied().collect(), "{text} {request:?}");
    assert!(found.is_sorted_by(|left, right| left.1 >= right.1), "{text}: {found:?}");
    let counts = |of: &dyn Fn(&Text) -> String| {
        let mut counts: BTreeMap<String, u64> = BTreeMap::new();
        expected.values().for_each(|entry| *counts.entry(of(entry)).or_default() += 1);
        counts
    };
    let facets = first.facets.unwrap();
    let told = |facets: &[crate::search::SearchFacet]| {
        facets
            .iter()
            .map(|facet| (facet.value.clone(), facet.count))
            .collect::<BTreeMap<String, u64>>()
    };
    assert_eq!(told(&facets.kinds), counts(&|entry| entry.kind.to_owned()), "{text}");
    assert_eq!(told(&facets.workspaces), counts(&|entry| entry.workspace.clone()), "{text}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, max_shrink_iters: 60, ..ProptestConfig::default() })]

    #[test]
    fn the_service_finds_what_reading_every_text_finds(
        rounds in prop::collection::vec(
            (
                prop::collection::vec(write(), 0..10),
                prop::collection::vec(write(), 0..4),
                prop::collection::vec((node(), 0..4usize, 1..9i64), 1..6),
                0..4usize,
            ),
            1..4,
        ),
    ) {
        let mut opened = Opened::new();
        let mut model = Model::new();
        let mut number = 0;
        for (writes, inside, queries, then) in rounds {
            for write in &writes {
                number += 1;
                apply(&opened.session, &mut model, write, number);
            }
            let requests = [
                SearchRequest::default(),
                SearchRequest { kinds: vec!["work item".to_owned()], ..SearchRequest::default() },
                SearchRequest { workspaces: vec!["w1".to_owned(), "w 3".to_owned()], ..SearchRequest::default() },
                SearchRequest { fields: vec!["name".to_owned(), "keywords".to_owned()], ..SearchRequest::default() },
            ];
            for (node, request, take) in &queries {
                check(&opened.session, &model, node, &requests[*request], *take);
            }
            // A transaction sees its own writes. Other readers do not, and none of the writes are
            // kept.
            let mut with_inside = model.clone();
            let abandoned: crate::Result<()> = opened.session.transaction(|tx| {
                for (at, write) in inside.iter().enumerate() {
                    apply(tx, &mut with_inside, write, 1_000_000 + number + at);
                }
                for (node, request, _) in &queries {
                    check(tx, &with_inside, node, &requests[*request], 1000);
                }
                Err(crate::Error::invalid("abandoned"))
            });
            prop_assert!(abandoned.is_err());
            match then {
                0 => drop(opened.store.maintain(&Control::default()).unwrap()),
                1 => opened = opened.reopen(|_| {}),
                2 => opened = opened.reopen(|disk| {
                    let _ = crate::disk::Disk::remove_dir_all(disk, "search");
                }),
                _ => {}
            }
            for (node, request, take) in &queries {
                check(&opened.session, &model, node, &requests[*request], *take);
            }
        }
    }
}

#[test]
fn texts_and_indexes_narrow_each_other() {
    let opened = Opened::new();
    let product = |n: usize| {
        let name = format!("amplifier {n} {}", if n % 100 == 7 { "rare" } else { "common" });
        let product =
            json!({"partNumber": format!("PN-{n}"), "family": format!("f{}", n % 3), "name": name});
        serde_json::from_value(product).unwrap()
    };
    let _ = opened.session.create_products((0..600).map(product).collect()).unwrap();
    let plan = |filter: &str| {
        let request = crate::products::QueryProductsRequest {
            filter: Some(filter.to_owned()),
            ..Default::default()
        };
        let found = opened.session.query_products(request.clone()).unwrap().products.len();
        (found, opened.session.explain_query_products(request).unwrap())
    };
    // From here on the index is open and up to date.
    assert_eq!(plan("search(\"amplifier\")").0, 600);
    opened.store.maintain(&Control::default()).unwrap();
    for (filter, found, touched) in [
        ("search(\"amplifier\") and partNumber = \"PN-7\"", 1, 1),
        ("search(\"rare\")", 6, 6),
        ("search(\"rare\") and search(\"amplifier\") and family = \"f1\"", 2, 6),
        ("search(\"common\") and partNumber in (\"PN-7\", \"PN-8\", \"PN-9\")", 2, 2),
        ("name.Contains(\"mplif\") and partNumber = \"PN-7\"", 1, 1),
        ("name.Contains(\"rare\")", 6, 6),
        ("name.Contains(\"rare\") and updatedAt > \"2000-01-01\"", 6, 6),
        ("name.Contains(\"mplif\") and family = \"f1\"", 200, 200),
        ("name.Contains(\"rare\") and family = \"f1\"", 2, 200),
    ] {
        let (count, plan) = plan(filter);
        assert_eq!(count, found, "{filter}: {plan}");
        assert!(plan.records_touched <= Some(touched), "{filter}: {plan}");
    }
}
