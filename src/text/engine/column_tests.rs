//! Counts by columns compared with those over the documents themselves.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::sync::Arc;

use proptest::prelude::*;

use super::tests::memory;
use super::*;
use crate::text::*;
use crate::value::id::IdForm;
use crate::value::{Kind, RecordKey, Service};

const KIND: u8 = 5;
const INTS: [usize; 2] = [0, 1];
const FLOAT: usize = 2;
const TIME: i64 = 1_700_000_000_000;

/// Two columns of integers, and one of doubles.
fn shape() -> Arc<Shape> {
    let kind =
        Kind { code: KIND, name: "work item", service: Service::PRODUCTS, id: IdForm::Decimal };
    let mut shape = Shape { kinds: vec![kind], ..Shape::default() };
    for (path, is_float) in [("size", false), ("time", false), ("ratio", true)] {
        shape.columns.push(ColumnName { kind: KIND, path: path.to_owned(), is_float });
    }
    shape.add_field("name", 1.0);
    Arc::new(shape)
}

/// The members of a document that a count looks at.
#[derive(Clone, Debug)]
struct Row {
    workspace: u8,
    ints: [Option<i64>; 2],
    float: Option<f64>,
}

impl Row {
    fn change(&self, number: u64) -> Change {
        let ints = INTS.iter().zip(self.ints);
        let mut cells: Vec<(usize, Cell)> =
            ints.filter_map(|(&at, value)| Some((at, Cell::Int(value?)))).collect();
        cells.extend(self.float.map(|value| (FLOAT, Cell::Float(value))));
        let document = Document {
            key: key(number),
            workspace: format!("w{}", self.workspace),
            texts: vec![(0, "text".to_owned())],
            cells,
        };
        Change { key: key(number), document: Some(document), is_new: false }
    }

    fn fulfils(&self, ask: &Ask) -> bool {
        match ask {
            Ask::Int(column, ranges) => self.ints[*column]
                .is_some_and(|value| ranges.iter().any(|range| range.contains(&value))),
            Ask::Float(_, ranges) => {
                self.float.is_some_and(|value| ranges.iter().any(|range| range.contains(&value)))
            }
        }
    }
}

fn key(number: u64) -> DocKey {
    DocKey { kind: KIND, key: RecordKey::parse(IdForm::Decimal, &number.to_string()).unwrap() }
}

fn int() -> impl Strategy<Value = i64> {
    prop_oneof![
        4 => -20i64..20,
        2 => TIME..TIME + 400_000,
        1 => prop_oneof![Just(i64::MIN), Just(i64::MAX), Just(0)],
    ]
}

fn float() -> impl Strategy<Value = f64> {
    prop_oneof![
        4 => (-20i32..20).prop_map(|value| f64::from(value) / 4.0),
        1 => prop_oneof![Just(f64::NEG_INFINITY), Just(f64::INFINITY), Just(f64::MAX), Just(f64::NAN)],
    ]
}

fn row() -> impl Strategy<Value = Row> {
    let ints = [proptest::option::of(int()), proptest::option::of(int())];
    (0u8..3, ints, proptest::option::of(float())).prop_map(|(workspace, ints, float)| Row {
        workspace,
        ints,
        float,
    })
}

/// Ranges that may overlap, touch, and be empty.
fn ranges<T: Clone + std::fmt::Debug>(
    value: impl Strategy<Value = T> + Clone,
) -> impl Strategy<Value = Vec<RangeInclusive<T>>> {
    proptest::collection::vec((value.clone(), value).prop_map(|(from, to)| from..=to), 0..4)
}

fn ask() -> impl Strategy<Value = Ask> {
    let number = (-8i32..8).prop_map(f64::from).boxed();
    prop_oneof![
        3 => (0usize..2, ranges(int().boxed())).prop_map(|(column, ranges)| Ask::Int(column, ranges)),
        1 => (0usize..2).prop_map(|column| Ask::Int(column, vec![i64::MIN..=i64::MAX])),
        2 => ranges(number).prop_map(|ranges| Ask::Float(FLOAT, ranges)),
    ]
}

/// What happens to the index between two comparisons: documents that are written and deleted, and
/// what then becomes of the changes.
type Round = (Vec<(u64, Option<Row>)>, u8);

fn round() -> impl Strategy<Value = Round> {
    (proptest::collection::vec((0u64..400, proptest::option::weighted(0.8, row())), 1..300), 0u8..3)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]
    #[test]
    fn counts_by_columns_are_those_of_the_documents(
        rounds in proptest::collection::vec(round(), 1..5),
        asked in proptest::collection::vec(proptest::collection::vec(ask(), 1..4), 12),
        // Whether all documents have a value in a column, and whether the values of a column grow
        // with the documents: the engine stores such columns in other forms.
        (is_full, grows) in any::<(bool, bool)>(),
    ) {
        let (index, _) =
            Index::open(&memory(), "search", shape(), "store-1", None, true).unwrap();
        let mut rows: BTreeMap<u64, Row> = BTreeMap::new();
        for (sequence, (changes, then)) in rounds.iter().enumerate() {
            let mut changes = changes.clone();
            if grows {
                changes.sort_by_key(|(number, _)| *number);
            }
            let mut given = Vec::new();
            for (number, row) in &changes {
                match row.clone() {
                    Some(mut row) => {
                        row.ints[0] = row.ints[0].or(is_full.then_some(3));
                        if grows {
                            row.ints[1] = Some(TIME + *number as i64 * 1_000 + 3 * i64::from(row.workspace));
                        }
                        given.push(row.change(*number));
                        rows.insert(*number, row);
                    }
                    None => {
                        given.push(Change { key: key(*number), document: None, is_new: false });
                        rows.remove(number);
                    }
                }
            }
            index.apply(&given, sequence as u64 + 1).unwrap();
            // The first count of a segment must not be kept when documents of it are deleted.
            check(&index.view(), &rows, &asked)?;
            if *then > 0 {
                index.commit().unwrap();
                check(&index.view(), &rows, &asked)?;
            }
            if *then > 1 {
                index.settle().unwrap();
                check(&index.view(), &rows, &asked)?;
            }
        }
    }
}

fn check(
    view: &View,
    rows: &BTreeMap<u64, Row>,
    asked: &[Vec<Ask>],
) -> std::result::Result<(), TestCaseError> {
    let unsettled = view.unsettled();
    let settled: Vec<&Row> = rows
        .iter()
        .filter(|(number, _)| !unsettled.contains(&key(**number)))
        .map(|(_, row)| row)
        .collect();
    for asks in asked {
        for workspace in [None, Some(1u8)] {
            let scopes = workspace.map(|id| {
                let workspaces = Some(vec![format!("w{id}")].into());
                vec![Scope { kinds: vec![KIND], workspaces }]
            });
            let expected = settled
                .iter()
                .filter(|row| workspace.is_none_or(|id| id == row.workspace))
                .filter(|row| asks.iter().all(|ask| row.fulfils(ask)))
                .count();
            let counted = view.count_cells(asks, scopes.as_deref()).unwrap();
            prop_assert_eq!(counted, expected as u64, "{:?} {:?}", asks, workspace);
        }
    }
    Ok(())
}
