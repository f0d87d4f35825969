//! The order of hits with equal scores, wherever they are in the index.

use super::tests::{memory, open, shape};
use super::*;
use crate::text::*;
use crate::value::RecordKey;
use crate::value::id::IdForm;

/// A document of five words; many documents share a score.
fn change(number: u64) -> Change {
    let key =
        DocKey { kind: 5, key: RecordKey::parse(IdForm::Decimal, &number.to_string()).unwrap() };
    let text = format!("same {} {} word word", ["even", "odd"][number as usize % 2], number % 5);
    let document =
        Document { key, workspace: "w".to_owned(), texts: vec![(1, text)], cells: Vec::new() };
    Change { key, document: Some(document), is_new: false }
}

/// All hits by pages of `take`, as their numbers.
fn walk(view: &View, text: &str, take: usize, count: bool) -> Vec<u64> {
    let mut request = Request::new(parse(text, &shape()).unwrap(), take);
    request.count = count;
    let mut found = Vec::new();
    loop {
        let page = view.search(&request).unwrap();
        found.extend(
            page.hits.iter().map(|hit| hit.key.key.to_id(IdForm::Decimal).parse::<u64>().unwrap()),
        );
        request.after = page.hits.last().map(|hit| After { score: hit.score, key: hit.key });
        if !page.has_more {
            return found;
        }
    }
}

/// Enough documents for several postings blocks, so that whole blocks can be skipped.
const COUNT: u64 = 700;

#[test]
fn hits_that_score_alike_come_by_key_wherever_they_lie() {
    let ascending: Vec<u64> = (0..COUNT).collect();
    let descending: Vec<u64> = (0..COUNT).rev().collect();
    let scattered: Vec<u64> = (0..COUNT).map(|number| number * 443 % COUNT).collect();
    let turned: Vec<u64> = (0..COUNT).map(|number| (number + COUNT / 2) % COUNT).collect();
    for order in [ascending, descending, scattered, turned] {
        for commits in [1, 3] {
            let (index, _) = open(&memory(), None);
            for part in order.chunks(order.len().div_ceil(commits)) {
                let changes: Vec<Change> = part.iter().map(|number| change(*number)).collect();
                index.load(&changes, 1).unwrap();
                index.commit().unwrap();
            }
            // Written again: these documents come after all others in the index.
            let changes: Vec<Change> = (0..40).map(|number| change(number * 7)).collect();
            index.load(&changes, 2).unwrap();
            index.commit().unwrap();
            let view = index.view();
            for (text, take) in
                [("same", 9), ("odd OR 3", 10), ("word AND even", 8), ("odd OR 2", 350)]
            {
                let counted = walk(&view, text, take, true);
                assert!(counted.len() as u64 >= COUNT / 2, "{text}");
                assert_eq!(
                    walk(&view, text, take, false),
                    counted,
                    "{text} by {take}, {commits} commits"
                );
            }
            let all: Vec<u64> = (0..COUNT).collect();
            assert_eq!(walk(&view, "same", 100, false), all);
        }
    }
}

/// The dictionary counts the documents of one word, where it can.
#[test]
fn one_word_is_counted_as_its_hits_are() {
    let document = |number: u64, texts: Vec<(usize, String)>| {
        let Change { key, document, is_new } = change(number);
        let document = document.map(|document| Document { texts, ..document });
        Change { key, document, is_new }
    };
    // A third of the documents has the words in one field, a third in another, a third in both.
    let both = |number: u64| {
        let text = |field: usize| (field, format!("same {}", ["even", "odd"][number as usize % 2]));
        let fields = [vec![0], vec![1], vec![0, 1]];
        document(number, fields[number as usize % 3].iter().map(|field| text(*field)).collect())
    };
    let (index, _) = open(&memory(), None);
    let apply = |sequence: u64, numbers: &mut dyn Iterator<Item = u64>| {
        index.load(&numbers.map(both).collect::<Vec<_>>(), sequence).unwrap();
        index.commit().unwrap();
    };
    let mut expected: Vec<u64> = Vec::new();
    let check = |view: &View, expected: &[u64], step: &str| {
        let count =
            |is: &dyn Fn(u64) -> bool| expected.iter().filter(|number| is(**number)).count();
        let odd = count(&|number| number % 2 == 1);
        let first = |number: u64| number % 3 != 1;
        let second = |number: u64| !number.is_multiple_of(3);
        let odd_second = count(&|number| number % 2 == 1 && second(number));
        let cases = [
            ("same", None, None, expected.len()),
            ("odd", None, None, odd),
            ("same", Some(0), None, count(&first)),
            ("same", Some(1), None, count(&second)),
            ("odd", Some(1), None, odd_second),
            // More than a word in a field, though a single term.
            ("NOT odd", None, None, expected.len() - odd),
            ("NOT odd", Some(1), None, expected.len() - odd_second),
            ("same AND NOT odd", Some(1), None, count(&second) - odd_second),
            ("od*", Some(1), None, odd_second),
            ("\"same odd\"", Some(1), None, odd_second),
            ("same", Some(1), Some("w"), count(&second)),
            ("same", Some(1), Some("other"), 0),
            ("nowhere", None, None, 0),
        ];
        for (text, field, workspace, total) in cases {
            let mut request = Request::new(parse(text, &shape()).unwrap(), 4);
            request.fields = field.map(|field| vec![field]);
            request.scopes = workspace.map(|workspace| {
                vec![Scope { kinds: vec![5], workspaces: Some([workspace.to_owned()].into()) }]
            });
            let counted = view.search(&request).unwrap();
            let at = format!("{step}: {text} {field:?} {workspace:?}");
            assert_eq!(counted.total, Some(total as u64), "{at}");
            request.count = false;
            assert_eq!(view.search(&request).unwrap().hits, counted.hits, "{at}");
        }
    };
    apply(1, &mut (0..200));
    apply(2, &mut (200..300));
    expected.extend(0..300);
    check(&index.view(), &expected, "two segments");
    // Written again, and one deleted: the first segment has deleted documents.
    let gone = Change { document: None, ..change(7) };
    index.load(&[gone, both(8), both(9)], 3).unwrap();
    index.commit().unwrap();
    expected.retain(|number| *number != 7);
    check(&index.view(), &expected, "deleted documents");
    // Changes in memory, over documents of the index and beside them.
    let gone = Change { document: None, ..change(250) };
    let view = index.view().with(&[gone, both(251), both(300)]);
    expected.retain(|number| *number != 250);
    expected.push(300);
    check(&view, &expected, "changes in memory");
}

#[test]
fn a_hit_scores_alike_in_the_index_and_in_memory() {
    let (index, _) = open(&memory(), None);
    for numbers in [0..200, 200..300] {
        index.load(&numbers.map(change).collect::<Vec<_>>(), 1).unwrap();
        index.commit().unwrap();
    }
    for text in ["odd", "odd OR 3", "word AND even AND 4", "nowhere OR 2"] {
        let request = Request::new(parse(text, &shape()).unwrap(), 5);
        let stored = index.view().search(&request).unwrap();
        let number = |hit: &crate::text::request::Hit| {
            hit.key.key.to_id(IdForm::Decimal).parse::<u64>().unwrap()
        };
        let again: Vec<Change> = stored.hits.iter().map(|hit| change(number(hit))).collect();
        let held = index.view().with(&again).search(&request).unwrap();
        assert_eq!((held.hits.len(), held.total), (5, stored.total), "{text}");
        for (held, stored) in held.hits.iter().zip(&stored.hits) {
            assert_eq!(held.key, stored.key, "{text}");
            assert!((held.score - stored.score).abs() < 1e-3, "{text}: {held:?}, {stored:?}");
        }
    }
}

#[test]
fn sums_of_several_words_are_the_same_on_every_page() {
    // Few different texts of one length, so that many documents have equal scores, each from words
    // that only some of them contain.
    let text = |number: u64| {
        let times = |at: u64| {
            let mixed = (number * 8 + at + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            let mixed = (mixed ^ (mixed >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            (mixed >> 33) % 3
        };
        let words = ["alpha", "beta", "gamma", "delta", "eta"];
        let mut text: Vec<&str> =
            (0u64..).zip(words).flat_map(|(at, word)| vec![word; times(at) as usize]).collect();
        text.resize(12, "filler");
        text.join(" ")
    };
    let change = |number: u64| {
        let Change { key, .. } = change(number);
        let document = Document {
            key,
            workspace: "w".to_owned(),
            texts: vec![(1, text(number))],
            cells: Vec::new(),
        };
        Change { key, document: Some(document), is_new: false }
    };
    let (index, _) = open(&memory(), None);
    for part in 0..2 {
        // Keys are not in order.
        let numbers =
            (0..COUNT).map(|number| number * 443 % COUNT).filter(|number| number % 2 == part);
        index.load(&numbers.map(change).collect::<Vec<_>>(), 1).unwrap();
        index.commit().unwrap();
    }
    let view = index.view();
    for text in [
        "alpha OR beta OR gamma",
        "eta OR delta OR alpha OR beta OR gamma",
        "alpha beta gamma delta eta",
        "(alpha OR delta) (beta OR filler) (gamma OR delta)",
    ] {
        let counted = walk(&view, text, 1000, true);
        assert!(counted.len() > 50, "{text}");
        for (take, count) in [(50, true), (50, false), (23, false)] {
            assert_eq!(
                walk(&view, text, take, count),
                counted,
                "{text} by {take}, counted {count}"
            );
        }
    }
}

#[test]
fn merged_segments_lie_in_the_order_of_their_keys() {
    let (index, _) = open(&memory(), None);
    let mut sequence = 0;
    // The largest segment has the least keys; a merge by size would put it last.
    for numbers in [0..400, 400..600, 600..700] {
        sequence += 1;
        index.load(&numbers.map(change).collect::<Vec<_>>(), sequence).unwrap();
        index.commit().unwrap();
    }
    index.settle().unwrap();
    let view = index.view();
    assert_eq!(view.searcher.segment_readers().len(), 1);
    let keys = view.key_columns.of(&view.searcher, &view.searcher.segment_readers()[0]).unwrap();
    for document in 0..COUNT as u32 {
        let (high, low) = change(u64::from(document)).key.halves();
        assert_eq!(keys.numbers(document), Some((5, high, low)));
        // In a block, the first document has the least key.
        assert_eq!(keys.least_from(document), keys.numbers(document / 128 * 128));
    }
    assert_eq!(keys.least_from(COUNT as u32 + 128), None);
}

/// The best hits of segments whose texts have other lengths than those of the whole index. The
/// engine bounds the scores of a block by the lengths of its segment.
#[test]
fn no_better_hit_is_skipped_where_texts_are_long_and_short() {
    const DOCUMENTS: u64 = 2_000;
    let mixed = |number: u64, at: u64| {
        let mixed = (number * 8 + at + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mixed = (mixed ^ (mixed >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed >> 33
    };
    let text = |number: u64, lengths: std::ops::Range<u64>| {
        let words = ["alpha", "beta", "gamma"];
        let times = |at: u64| mixed(number, at) % 7;
        let mut text: Vec<&str> =
            (0..).zip(words).flat_map(|(at, word)| vec![word; times(at) as usize]).collect();
        let length = lengths.start + mixed(number, 3) % (lengths.end - lengths.start);
        text.resize(text.len() + length as usize, "filler");
        text.join(" ")
    };
    let (index, _) = open(&memory(), None);
    for (part, lengths) in [2..20, 60..300, 0..4].into_iter().enumerate() {
        let first = part as u64 * DOCUMENTS;
        let changes = (first..first + DOCUMENTS).map(|number| {
            let Change { key, .. } = change(number);
            let texts = vec![(1, text(number, lengths.clone()))];
            let document = Document { key, workspace: "w".to_owned(), texts, cells: Vec::new() };
            Change { key, document: Some(document), is_new: false }
        });
        index.load(&changes.collect::<Vec<_>>(), 1).unwrap();
        index.commit().unwrap();
    }
    let view = index.view();
    assert_eq!(view.searcher.segment_readers().len(), 3);
    for text in ["alpha", "beta OR gamma", "alpha OR beta OR gamma", "alpha AND gamma"] {
        for take in [1, 5, 10, 40, 300] {
            let scores = |count: bool| -> Vec<f32> {
                let mut request = Request::new(parse(text, &shape()).unwrap(), take);
                request.count = count;
                view.search(&request).unwrap().hits.iter().map(|hit| hit.score).collect()
            };
            let (plain, counted) = (scores(false), scores(true));
            assert_eq!(plain.len(), counted.len());
            for (at, (one, other)) in plain.iter().zip(&counted).enumerate() {
                assert!((one - other).abs() < 1e-3, "{text}, hit {at} of {take}: {one} {other}");
            }
        }
    }
}
