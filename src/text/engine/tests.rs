//! The index compared with the direct evaluation, over restarts, crashes and damage.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::*;
use crate::disk::{MemoryDisk, Mode, SharedDisk};
use crate::error::ErrorKind;
use crate::text::tree::Node;
use crate::text::*;
use crate::value::id::IdForm;
use crate::value::{Kind, RecordKey, Service, limits};
use proptest::prelude::*;

pub(super) fn shape() -> Arc<Shape> {
    let kind = |code, name| Kind { code, name, service: Service::PRODUCTS, id: IdForm::Decimal };
    let mut shape =
        Shape { kinds: vec![kind(1, "product"), kind(5, "work item")], ..Shape::default() };
    shape.columns.push(ColumnName { kind: 5, path: "size".to_owned(), is_float: false });
    shape.columns.push(ColumnName { kind: 1, path: "ratio".to_owned(), is_float: true });
    shape.add_field("name", 4.0);
    shape.add_field("description", 1.0);
    Arc::new(shape)
}

fn key(number: u64) -> DocKey {
    let kind = if number.is_multiple_of(2) { 1 } else { 5 };
    DocKey { kind, key: RecordKey::parse(IdForm::Decimal, &number.to_string()).unwrap() }
}

fn put(number: u64, name: &str, description: &str) -> Change {
    let document = Document {
        key: key(number),
        workspace: format!("w{}", number % 3),
        texts: vec![(0, name.to_owned()), (1, description.to_owned())],
        cells: cells(number),
    };
    Change { key: key(number), document: Some(document), is_new: false }
}

/// Some documents have no cell.
fn cells(number: u64) -> Vec<(usize, Cell)> {
    match number % 6 {
        0 | 1 => Vec::new(),
        2 | 4 => vec![(1, Cell::Float(number as f64 / 8.0 - 2.0))],
        _ => vec![(0, Cell::Int(number as i64 * 7 % 50 - 20))],
    }
}

fn gone(number: u64) -> Change {
    Change { key: key(number), document: None, is_new: false }
}

pub(super) fn memory() -> SharedDisk {
    Arc::new(MemoryDisk::new())
}

pub(super) fn open(disk: &SharedDisk, checkpoint: Option<&Checkpoint>) -> (Index, OpenOutcome) {
    Index::open(disk, "search", shape(), "store-1", checkpoint, true).unwrap()
}

fn numbers(view: &View, text: &str) -> Vec<String> {
    let request = Request::new(parse(text, &shape()).unwrap(), 100);
    let hits = view.search(&request).unwrap();
    assert_eq!(hits.total, Some(hits.hits.len() as u64));
    let mut found: Vec<String> =
        hits.hits.iter().map(|hit| hit.key.key.to_id(IdForm::Decimal)).collect();
    found.sort_by_key(|id| id.parse::<u64>().unwrap());
    found
}

fn sample() -> Vec<Change> {
    vec![
        put(1, "Amplifier DMM-4065/2", "low noise amplifier for 12.5 GHz"),
        put(2, "Power supply", "feeds the amplifier"),
        put(3, "Probe", "DMM 4065 accessory"),
    ]
}

#[test]
fn words_parts_phrases_prefixes_and_fields_are_found_in_memory_and_in_the_index() {
    let disk = memory();
    let (index, opened) = open(&disk, None);
    assert!(matches!(opened, OpenOutcome::Anew(_)));
    index.apply(&sample(), 7).unwrap();
    for is_committed in [false, true] {
        if is_committed {
            index.commit().unwrap();
        }
        let view = index.view();
        assert_eq!(view.sequence(), 7);
        for (text, found) in [
            ("amplifier", vec!["1", "2"]),
            ("AMPL*", vec!["1", "2"]),
            ("dmm-4065", vec!["1", "3"]),
            ("4065/2", vec!["1"]),
            ("name:amplifier", vec!["1"]),
            ("amplifier -noise", vec!["2"]),
            ("\"noise amplifier\"", vec!["1"]),
            ("\"amplifier noise\"", vec![]),
            ("\"dmm 40\"*", vec!["1", "3"]),
            ("probe OR supply", vec!["2", "3"]),
            ("NOT amplifier", vec!["3"]),
            ("kind:workitem amplifier", vec!["1"]),
            ("workspace:w2", vec!["2"]),
            ("12.5", vec!["1"]),
            ("", vec!["1", "2", "3"]),
            ("nothing", vec![]),
            ("nothing*", vec![]),
        ] {
            assert_eq!(numbers(&view, text), found, "{text} committed: {is_committed}");
        }
    }
}

#[test]
fn weights_rank_scopes_restrict_and_facets_count() {
    let (index, _) = open(&memory(), None);
    index.apply(&sample(), 1).unwrap();
    index.commit().unwrap();
    index
        .apply(
            &[
                put(4, "cable", "goes to the amplifier"),
                put(2, "Power supply", "new text, amplifier"),
                gone(3),
            ],
            2,
        )
        .unwrap();
    let mut request = Request::new(parse("amplifier", &shape()).unwrap(), 10);
    request.facets = true;
    let hits = index.view().search(&request).unwrap();
    assert_eq!(hits.hits[0].key, key(1), "a hit in the name is worth more");
    assert_eq!(hits.total, Some(3));
    let facets = hits.facets.unwrap();
    assert_eq!(facets.kinds, BTreeMap::from([(1, 2), (5, 1)]));
    assert_eq!(facets.workspaces, BTreeMap::from([("w1".into(), 2), ("w2".into(), 1)]));

    request.scopes = Some(vec![
        Scope { kinds: vec![1], workspaces: Some(vec!["w1".to_owned()].into()) },
        Scope { kinds: vec![5], workspaces: Some(Vec::new().into()) },
    ]);
    let hits = index.view().search(&request).unwrap();
    assert_eq!(hits.hits.iter().map(|hit| hit.key).collect::<Vec<_>>(), [key(4)]);
    request.scopes = Some(Vec::new());
    assert_eq!(index.view().search(&request).unwrap().total, Some(0));
    request.scopes = None;
    request.fields = Some(vec![0]);
    assert_eq!(index.view().search(&request).unwrap().total, Some(1));
}

#[test]
fn changes_of_a_transaction_show_in_its_view_only() {
    let (index, _) = open(&memory(), None);
    index.apply(&sample(), 1).unwrap();
    index.commit().unwrap();
    let own = index.view().with(&[put(9, "amplifier", ""), gone(1)]);
    assert_eq!(numbers(&own, "amplifier"), ["2", "9"]);
    assert_eq!(numbers(&index.view(), "amplifier"), ["1", "2"]);
}

#[test]
fn a_prefix_finds_however_many_words_start_like_it() {
    let (index, _) = open(&memory(), None);
    let words = 2 * limits::TEXT_QUERY_EXPANSION as u64 + 500;
    // Two words in each document; the first half of the documents is in one segment, the others are
    // in further segments and in memory.
    let changes: Vec<Change> = (0..words / 2)
        .map(|number| put(number, &format!("x{} x{}", 2 * number, 2 * number + 1), ""))
        .collect();
    for (at, part) in changes.chunks(changes.len() / 3).enumerate() {
        index.apply(part, 1 + at as u64).unwrap();
        if at < 2 {
            index.commit().unwrap();
        }
    }
    let starting = |prefix: &str| {
        let text = |change: &Change| change.document.as_ref().unwrap().texts[0].1.clone();
        let is_found =
            |change: &&Change| text(change).split(' ').any(|word| word.starts_with(prefix));
        changes.iter().filter(is_found).count() as u64
    };
    let all = changes.len() as u64;
    assert_eq!(starting("x"), all);
    for (text, expected) in [
        ("x*", all),
        ("-x*", 0),
        ("x1*", starting("x1")),
        ("-x1*", all - starting("x1")),
        ("x* AND x7", 1),
        ("y*", 0),
    ] {
        let found = index.view().search(&Request::new(parse(text, &shape()).unwrap(), 5)).unwrap();
        assert_eq!(
            (found.total, found.hits.len() as u64),
            (Some(expected), expected.min(5)),
            "{text}"
        );
    }
}

#[test]
fn a_prefix_at_the_end_of_a_phrase_has_a_bound_on_its_words() {
    limits::holds_at(limits::TEXT_QUERY_EXPANSION, ErrorKind::LimitExceeded, |words| {
        let (index, _) = open(&memory(), None);
        // The last word is in another document and segment.
        let text: Vec<String> = (1..words).map(|number| format!("low x{number}")).collect();
        index.apply(&[put(1, &text.join(" "), "")], 1).unwrap();
        index.commit().unwrap();
        index.apply(&[put(2, "low xylophone", "")], 2).unwrap();
        index.commit().unwrap();
        index.view().search(&Request::new(parse("\"low x\"*", &shape()).unwrap(), 1))
    });
}

#[test]
fn pages_neither_skip_nor_repeat() {
    let (index, _) = open(&memory(), None);
    let mut changes = Vec::new();
    for number in 0..300u64 {
        let description = format!(
            "{} {}",
            "amplifier ".repeat(1 + (number % 4) as usize),
            "x ".repeat((number % 7) as usize)
        );
        changes.push(put(number, "part", &description));
    }
    // Several segments, and the rest in memory.
    for part in changes[..240].chunks(80) {
        index.apply(part, 1).unwrap();
        index.commit().unwrap();
    }
    index.apply(&changes[240..], 2).unwrap();
    for count in [true, false] {
        for text in ["amplifier", "*", "part amplifier", "amp* OR x"] {
            let mut request = Request::new(parse(text, &shape()).unwrap(), 1000);
            request.count = count;
            let all = index.view().search(&request).unwrap();
            assert!(!all.has_more);
            assert_eq!(all.hits.len(), 300);
            assert!(all.hits.is_sorted_by(|a, b| a.order(b).is_lt()));
            request.take = 7;
            let mut walked = Vec::new();
            loop {
                let page = index.view().search(&request).unwrap();
                request.after =
                    page.hits.last().map(|hit| After { score: hit.score, key: hit.key });
                walked.extend(page.hits);
                if !page.has_more {
                    break;
                }
            }
            assert_eq!(walked, all.hits, "{text} {count}");
        }
    }
}

#[test]
fn a_checkpoint_reopens_and_what_came_later_is_gone() {
    let disk = memory();
    let (index, _) = open(&disk, None);
    index.apply(&sample(), 5).unwrap();
    let first = index.checkpoint(false).unwrap().unwrap();
    index.recorded(&first);
    assert_eq!(index.checkpoint(false).unwrap(), None);
    index.apply(&[put(8, "later", "")], 6).unwrap();
    index.commit().unwrap();
    drop(index);

    let (index, opened) = open(&disk, Some(&first));
    assert_eq!(opened, OpenOutcome::Resumed);
    assert_eq!(index.sequence(), 5);
    assert_eq!(numbers(&index.view(), "amplifier"), ["1", "2"]);
    assert_eq!(numbers(&index.view(), "later"), Vec::<String>::new());
    // The index continues from there.
    index.apply(&[put(8, "later", ""), gone(1)], 6).unwrap();
    let second = index.checkpoint(false).unwrap().unwrap();
    assert!(second.generation > first.generation);
    index.recorded(&second);
    drop(index);
    let (index, opened) =
        open(&disk, Some(&Checkpoint::from_bytes(&second.to_bytes().unwrap()).unwrap()));
    assert_eq!(opened, OpenOutcome::Resumed);
    assert_eq!(numbers(&index.view(), "amplifier OR later"), ["2", "8"]);
}

#[test]
fn an_unrecorded_checkpoint_leaves_the_recorded_one_whole() {
    let disk = memory();
    let (index, _) = open(&disk, None);
    index.apply(&sample(), 1).unwrap();
    let first = index.checkpoint(false).unwrap().unwrap();
    index.recorded(&first);
    for sequence in 2..40 {
        index
            .apply(&[put(1, "amplifier again", ""), put(sequence, "amplifier", "")], sequence)
            .unwrap();
        index.commit().unwrap();
    }
    let _unrecorded = index.checkpoint(false).unwrap().unwrap();
    drop(index);
    let (index, opened) = open(&disk, Some(&first));
    assert_eq!(opened, OpenOutcome::Resumed);
    assert_eq!(numbers(&index.view(), "amplifier"), ["1", "2"]);
}

#[test]
fn damage_of_any_file_is_found_and_the_index_starts_anew() {
    let disk = memory();
    let (index, _) = open(&disk, None);
    index.apply(&sample(), 3).unwrap();
    let checkpoint = index.checkpoint(false).unwrap().unwrap();
    index.recorded(&checkpoint);
    drop(index);
    let names: Vec<String> =
        disk.list("search").unwrap().into_iter().map(|entry| entry.name).collect();
    assert_eq!(names.len(), checkpoint.files.len() + 1);
    let read = |name: &str| {
        let file = disk.open(&format!("search/{name}"), Mode::Read).unwrap();
        let mut bytes = vec![0; file.len().unwrap() as usize];
        file.read_exact_at(&mut bytes, 0).unwrap();
        bytes
    };
    let contents: Vec<(String, Vec<u8>)> =
        names.iter().map(|name| (name.clone(), read(name))).collect();
    let restore = || {
        disk.remove_dir_all("search").unwrap();
        disk.create_dir_all("search").unwrap();
        for (name, bytes) in &contents {
            disk.open(&format!("search/{name}"), Mode::CreateNew)
                .unwrap()
                .write_all_at(bytes, 0)
                .unwrap();
        }
    };
    for (name, bytes) in &contents {
        for how in 0..3 {
            restore();
            let path = format!("search/{name}");
            match how {
                0 => disk.remove_file(&path).unwrap(),
                1 => disk
                    .open(&path, Mode::ReadWrite)
                    .unwrap()
                    .set_len(bytes.len() as u64 - 1)
                    .unwrap(),
                _ => {
                    let at = bytes.len() / 2;
                    disk.open(&path, Mode::ReadWrite)
                        .unwrap()
                        .write_all_at(&[bytes[at] ^ 0x10], at as u64)
                        .unwrap();
                }
            }
            let (index, opened) = open(&disk, Some(&checkpoint));
            assert!(matches!(opened, OpenOutcome::Anew(_)), "{name} {how}");
            assert_eq!(index.sequence(), 0);
            index.apply(&sample(), 3).unwrap();
            assert_eq!(numbers(&index.view(), "amplifier"), ["1", "2"]);
        }
    }
    restore();
    assert_eq!(open(&disk, Some(&checkpoint)).1, OpenOutcome::Resumed);
    // The index of another store, and one of another shape, are not used.
    let (_, opened) =
        Index::open(&disk, "search", shape(), "store-2", Some(&checkpoint), true).unwrap();
    assert!(matches!(opened, OpenOutcome::Anew(_)));
}

#[test]
fn segments_stay_few_after_many_small_commits() {
    let (index, _) = open(&memory(), None);
    for number in 0..120 {
        index.apply(&[put(number, "part", "one of many")], number).unwrap();
        index.commit().unwrap();
    }
    let checkpoint = index.checkpoint(false).unwrap().unwrap();
    let segments: BTreeSet<&str> =
        checkpoint.files.iter().filter_map(|file| file.name.get(..32)).collect();
    assert!(segments.len() <= 14, "{}", segments.len());
    assert_eq!(index.view().search(&Request::new(Node::All, 1)).unwrap().total, Some(120));
}

#[test]
fn long_runs_are_visible_after_their_commit() {
    let (index, _) = open(&memory(), None);
    index.apply(&[put(1, "first", "")], 1).unwrap();
    index.load(&[put(2, "second", "")], 2).unwrap();
    assert_eq!(numbers(&index.view(), "first OR second"), ["1"]);
    index.load(&[put(3, "second", "")], 3).unwrap();
    index.commit().unwrap();
    assert_eq!(numbers(&index.view(), "first OR second"), ["1", "2", "3"]);
    assert_eq!(index.view().sequence(), 3);
}

#[test]
fn a_loading_that_was_cut_short_is_shown_with_what_comes_next() {
    let (index, _) = open(&memory(), None);
    index.apply(&[put(1, "first", "")], 1).unwrap();
    index.load(&[put(2, "second", "")], 2).unwrap();
    // No searchable data changed since.
    index.apply(&[], 3).unwrap();
    assert_eq!(index.view().sequence(), 3);
    assert_eq!(numbers(&index.view(), "first OR second"), ["1", "2"]);
}

#[test]
fn a_file_in_the_place_of_the_directory_is_removed() {
    let disk = memory();
    disk.open("search", Mode::CreateNew).unwrap().write_all_at(b"no directory", 0).unwrap();
    let (index, opened) = open(&disk, None);
    assert!(matches!(opened, OpenOutcome::Anew(_)));
    index.apply(&sample(), 1).unwrap();
    assert!(index.checkpoint(false).unwrap().is_some());
    assert_eq!(numbers(&index.view(), "amplifier"), ["1", "2"]);
}

#[test]
fn candidates_for_a_piece_of_text_miss_nothing() {
    let (index, _) = open(&memory(), None);
    let texts = ["Amplifier DMM-4065/2", "preamplifiers", "am plifier", "DMM 4065", "Über-dmm", ""];
    let changes: Vec<Change> =
        texts.iter().zip(1..).map(|(text, number)| put(number * 2, text, "")).collect();
    index.apply(&changes, 1).unwrap();
    index.commit().unwrap();
    index.apply(&[put(20, "amplifier late", ""), put(2, "changed", "")], 2).unwrap();
    let view = index.view();
    let found = |piece: &str| {
        let keys = view.containing(1, "name", piece).unwrap()?;
        let ids: BTreeSet<u64> =
            keys.iter().map(|key| key.key.to_id(IdForm::Decimal).parse().unwrap()).collect();
        Some(ids.into_iter().collect::<Vec<_>>())
    };
    // A document that is only in memory is always a candidate.
    assert_eq!(found("mplif"), Some(vec![2, 4, 20]));
    assert_eq!(found("m plifier"), Some(vec![2, 6, 20]));
    assert_eq!(
        found("MM-40"),
        Some(vec![2, 20]).map(|mut ids| {
            ids.insert(1, 8);
            ids
        })
    );
    assert_eq!(found("ber-"), Some(vec![2, 10, 20]));
    assert_eq!(found("zzz"), Some(vec![2, 20]));
    assert_eq!(found("-"), None);
    assert_eq!(view.containing(1, "colour", "mplif").unwrap(), None);
    index.apply(&[put(22, &"x".repeat(70), "")], 3).unwrap();
    index.commit().unwrap();
    assert_eq!(
        index.view().containing(1, "name", "mplif").unwrap(),
        None,
        "a cut word leaves it open"
    );
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    /// No document that contains a piece is missing from its candidates, whatever folding does to
    /// its letters, and wherever a long word is cut.
    #[test]
    fn no_folding_loses_a_candidate(
        short in proptest::collection::vec("[aoößSœI\u{130}①\u{301}ﬃ -]{1,14}", 1..8),
        marked in proptest::collection::vec(
            "[eệαι\u{345}\u{fb2c}\u{5c1}\u{5bc}\u{651}\u{64e}\u{302}\u{323}\u{301}\u{200d} ]{1,14}",
            1..8,
        ),
        long in proptest::collection::vec("[abß\u{301}ﬃ]{20,110}", 0..2),
        pieces in proptest::collection::vec(
            (any::<proptest::sample::Index>(), any::<usize>(), 1..12usize),
            12,
        ),
        folds in any::<bool>(),
        is_committed in any::<bool>(),
    ) {
        let names: Vec<String> = short.into_iter().chain(marked).chain(long).collect();
        let folding = if folds { Folding::Diacritics } else { Folding::Case };
        let shape = Arc::new(Shape { folding, ..(*shape()).clone() });
        let (index, _) = Index::open(&memory(), "search", shape, "store-1", None, true).unwrap();
        let changes: Vec<Change> =
            names.iter().zip(0..).map(|(name, number)| put(number * 2, name, "")).collect();
        index.apply(&changes, 1).unwrap();
        if is_committed {
            index.commit().unwrap();
        }
        for (name, skip, take) in pieces {
            let name = name.get(&names);
            let skip = skip % name.chars().count();
            let piece: String = name.chars().skip(skip).take(take).collect();
            let Some(found) = index.view().containing(1, "name", &piece).unwrap() else { continue };
            for (name, number) in names.iter().zip(0..) {
                let is_found = found.contains(&key(number * 2));
                prop_assert!(is_found || !name.contains(&piece), "{:?} in {:?}", piece, name);
            }
        }
    }
}

#[test]
fn ranges_beside_the_values_of_a_segment_count_nothing() {
    let (index, _) = open(&memory(), None);
    // Cells 1 and 15 in one column, -1.75 and -1.5 in the other.
    index.apply(&[put(3, "", ""), put(5, "", ""), put(2, "", ""), put(4, "", "")], 1).unwrap();
    index.commit().unwrap();
    let count = |ask: Ask| index.view().count_cells(&[ask], None).unwrap();
    for (range, expected) in [
        (i64::MIN..=0, 0),
        (-5..=-1, 0),
        (i64::MIN..=1, 1),
        (2..=14, 0),
        (1..=15, 2),
        (15..=i64::MAX, 1),
        (16..=i64::MAX, 0),
    ] {
        assert_eq!(count(Ask::Int(0, vec![range.clone()])), expected, "{range:?}");
    }
    for (range, expected) in [
        (f64::NEG_INFINITY..=-1.76, 0),
        (f64::NEG_INFINITY..=-1.75, 1),
        (-1.6..=f64::INFINITY, 1),
        (-1.4..=f64::INFINITY, 0),
        (f64::NEG_INFINITY..=f64::INFINITY, 2),
    ] {
        assert_eq!(count(Ask::Float(1, vec![range.clone()])), expected, "{range:?}");
    }
}

/// The expected contents of an index, and the findings of a comparison.
struct Compared {
    documents: BTreeMap<DocKey, Document>,
    told: Vec<(Option<DocKey>, &'static str)>,
}

impl Comparison for Compared {
    fn expected(&mut self, key: DocKey) -> crate::Result<ExpectedContents> {
        Ok(self
            .documents
            .get(&key)
            .cloned()
            .map_or(ExpectedContents::Nothing, ExpectedContents::Document))
    }
    fn check(&mut self) -> crate::Result<()> {
        Ok(())
    }
    fn found(&mut self, key: Option<DocKey>, problem: &'static str) {
        self.told.push((key, problem));
    }
}

#[test]
fn a_comparison_tells_each_document_that_differs() {
    let texts =
        ["", "amplifier", "amplifier low low noise", "über DMM-40/2", "low amplifier noise low"];
    let fill =
        |number: u64| put(number, texts[(number % 5) as usize], texts[(number % 3) as usize]);
    let filled = || {
        let (index, _) = open(&memory(), None);
        // Several segments, with documents that were changed and deleted.
        for part in 0..5u64 {
            let mut changes: Vec<Change> = (part * 40..part * 40 + 40).map(fill).collect();
            changes.extend([fill(part * 11), gone(part * 13 + 1)]);
            index.apply(&changes, part + 1).unwrap();
            index.commit().unwrap();
        }
        index
    };
    let documents: BTreeMap<DocKey, Document> = {
        let mut documents: BTreeMap<DocKey, Document> =
            (0..200).map(|number| (key(number), fill(number).document.unwrap())).collect();
        (0..5).for_each(|part| drop(documents.remove(&key(part * 13 + 1))));
        documents
    };
    let told = |index: &Index| {
        let mut compared = Compared { documents: documents.clone(), told: Vec::new() };
        index.view().compare(&mut compared).unwrap();
        compared.told
    };
    let index = filled();
    assert_eq!(told(&index), []);
    index.settle().unwrap();
    assert_eq!(told(&index), []);

    let change = |number: u64, f: &dyn Fn(&mut Document)| {
        let mut change = fill(number);
        f(change.document.as_mut().unwrap());
        change
    };
    let words = "the words of the document differ from those of the record";
    let columns = "the columns of the document differ from those of the record";
    let cases: [(Change, &str); 7] = [
        (change(7, &|document| document.texts[0].1.push_str(" more")), words),
        // The same words in another order.
        (change(77, &|document| document.texts[0].1 = "noise low low amplifier".to_owned()), words),
        // In another field.
        (change(6, &|document| document.texts.reverse()), ""),
        (change(22, &|document| document.texts[1].0 = 0), words),
        (change(9, &|document| document.workspace = "elsewhere".to_owned()), words),
        (change(9, &|document| document.cells[0].1 = Cell::Int(1)), columns),
        (change(8, &|document| document.cells.clear()), columns),
    ];
    for (change, problem) in cases {
        let index = filled();
        index.apply(std::slice::from_ref(&change), 9).unwrap();
        index.commit().unwrap();
        let expected = if problem.is_empty() { vec![] } else { vec![(Some(change.key), problem)] };
        assert_eq!(told(&index), expected, "{change:?}");
        assert_eq!(index.view().copies(change.key).unwrap(), 1);
    }
    let index = filled();
    // A document without a record, and two documents of one record.
    index.apply(&[put(1, "back", ""), Change { is_new: true, ..fill(50) }], 9).unwrap();
    index.apply(&[gone(51)], 10).unwrap();
    index.commit().unwrap();
    assert_eq!(told(&index), [(Some(key(1)), "the document has no record")]);
    assert_eq!([50, 51, 52].map(|number| index.view().copies(key(number)).unwrap()), [2, 0, 1]);
}

fn any_text() -> impl Strategy<Value = String> {
    prop::collection::vec("[ab][ab]?[-]?[a-c]?", 0..6).prop_map(|words| words.join(" "))
}

fn any_query() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        4 => "[ab][ab]?[*]?",
        2 => "\"[ab] [abc]{1,2}\"[*]?",
        1 => "name:[ab]{1,2}",
        1 => Just("kind:product".to_owned()),
        1 => Just("workspace:w1".to_owned()),
        1 => Just("*".to_owned()),
    ];
    leaf.prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            inner.clone().prop_map(|text| format!("NOT ({text})")),
            prop::collection::vec(inner.clone(), 1..4)
                .prop_map(|parts| format!("({})", parts.join(" "))),
            prop::collection::vec(inner, 1..4)
                .prop_map(|parts| format!("({})", parts.join(" OR "))),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn the_index_finds_what_plain_evaluation_finds(
        writes in prop::collection::vec((0u64..12, prop::option::of((any_text(), any_text()))), 1..40),
        commits in prop::collection::vec(0usize..40, 0..4),
        queries in prop::collection::vec(any_query(), 1..12),
    ) {
        let (index, _) = open(&memory(), None);
        let mut model = BTreeMap::new();
        for (at, (number, write)) in writes.iter().enumerate() {
            let change = match write {
                Some((name, description)) => put(*number, name, description),
                None => gone(*number),
            };
            index.apply(std::slice::from_ref(&change), at as u64).unwrap();
            model.insert(change.key, change);
            if commits.contains(&at) {
                index.commit().unwrap();
            }
        }
        // The same documents, only in memory.
        let (plain, _) = open(&memory(), None);
        plain.apply(&model.into_values().collect::<Vec<_>>(), 1).unwrap();
        for round in 0..2 {
            for text in &queries {
                prop_assert_eq!(numbers(&index.view(), text), numbers(&plain.view(), text), "{} {}", text, round);
            }
            index.commit().unwrap();
        }
    }
}

/// Whether the cells of a document are in one of the ranges.
fn fulfils(ask: &Ask, number: u64) -> bool {
    cells(number).iter().any(|cell| match (ask, cell) {
        (Ask::Int(column, ranges), (at, Cell::Int(value))) => {
            at == column && ranges.iter().any(|range| range.contains(value))
        }
        (Ask::Float(column, ranges), (at, Cell::Float(value))) => {
            at == column && ranges.iter().any(|range| range.contains(value))
        }
        _ => false,
    })
}

fn check_counts(view: &View, present: &BTreeSet<u64>) {
    let asks = [
        vec![Ask::Int(0, vec![-5..=17])],
        vec![Ask::Int(0, vec![i64::MIN..=i64::MAX])],
        vec![Ask::Int(0, vec![3..=3, 4..=9, 8..=12])],
        vec![Ask::Int(0, Vec::new())],
        vec![Ask::Int(0, vec![-10..=20]), Ask::Int(0, vec![5..=40])],
        vec![Ask::Float(1, vec![0.0..=f64::INFINITY])],
        vec![Ask::Float(1, vec![-1.5..=3.25])],
    ];
    let unsettled: BTreeSet<DocKey> = view.unsettled().into_iter().collect();
    for asks in &asks {
        for workspace in [None, Some("w1")] {
            let scopes = workspace.map(|id: &str| {
                vec![Scope { kinds: vec![1, 5], workspaces: Some(vec![id.to_owned()].into()) }]
            });
            let is_in = |number: u64| workspace.is_none_or(|id| id == format!("w{}", number % 3));
            let fits =
                |number: &&u64| is_in(**number) && asks.iter().all(|ask| fulfils(ask, **number));
            let settled = present
                .iter()
                .filter(fits)
                .filter(|number| !unsettled.contains(&key(**number)))
                .count();
            assert_eq!(
                view.count_cells(asks, scopes.as_deref()).unwrap(),
                settled as u64,
                "{asks:?} {workspace:?}"
            );
        }
    }
}

#[test]
fn columns_count_what_the_documents_have() {
    let disk = memory();
    let (index, _) = open(&disk, None);
    let mut present: BTreeSet<u64> = (0..400).collect();
    let all: Vec<Change> = (0..400).map(|number| put(number, "a name", "some text")).collect();
    index.load(&all, 10).unwrap();
    index.commit().unwrap();
    check_counts(&index.view(), &present);
    // Changed and deleted, first in memory and then committed.
    let mut changes: Vec<Change> = (0..40).map(|number| gone(number * 9)).collect();
    changes.extend((0..30).map(|number| put(number * 9 + 1, "another name", "text")));
    changes.push(put(1_001, "late", "text"));
    index.apply(&changes, 11).unwrap();
    present.retain(|number| number % 9 != 0 || *number >= 360);
    present.insert(1_001);
    assert!(!index.view().unsettled().is_empty());
    check_counts(&index.view(), &present);
    index.commit().unwrap();
    assert!(index.view().unsettled().is_empty());
    check_counts(&index.view(), &present);
    index.settle().unwrap();
    check_counts(&index.view(), &present);
    let checkpoint = index.checkpoint(true).unwrap().unwrap();
    drop(index);
    let (index, opened) = open(&disk, Some(&checkpoint));
    assert_eq!(opened, OpenOutcome::Resumed);
    check_counts(&index.view(), &present);
}

proptest! {
    #[test]
    fn a_word_list_finds_what_lies_inside_words(
        names in proptest::collection::vec("[a-c]{1,5}( [a-c]{1,5}){0,2}", 1..30),
        piece in "[a-c]{1,3}",
        end in prop::bool::ANY,
    ) {
        let disk = memory();
        let (index, _) = open(&disk, None);
        let changes: Vec<Change> =
            names.iter().zip(0..).map(|(name, number)| put(number * 2, name, "")).collect();
        index.load(&changes, 1).unwrap();
        index.commit().unwrap();
        let piece = if end { format!("{piece} ") } else { piece };
        let found: BTreeSet<DocKey> = index.view().containing(1, "name", &piece).unwrap().unwrap().into_iter().collect();
        for (name, number) in names.iter().zip(0..) {
            let fits = match piece.strip_suffix(' ') {
                // These are candidates: the space itself is tested on the record.
                Some(word) => name.split(' ').any(|one| one.ends_with(word)),
                None => name.split(' ').any(|one| one.contains(piece.as_str())),
            };
            prop_assert_eq!(found.contains(&key(number * 2)), fits, "{} in {}", piece, name);
        }
    }
}
