//! The meaning of conditions, evaluated the slow way; index scans must give them the same meaning.

use std::ops::Bound;

use crate::filter::constant::fold_case;
use crate::filter::{Condition, Constant, FieldTest, Fold};
use crate::value::pattern::lower_case;
use crate::value::{Row, Val, key};

fn bytes(value: &Val<'_>) -> Vec<u8> {
    let mut out = Vec::new();
    key::push_val(&mut out, value);
    out
}

fn equals(value: &Val<'_>, constant: &Constant) -> bool {
    bytes(value) == bytes(&constant.val())
}

fn text<'v>(value: &'v Val<'_>) -> Option<&'v str> {
    if let Val::Str(text) = value { Some(text) } else { None }
}

pub(super) fn satisfies(row: &dyn Row, condition: &Condition) -> bool {
    let (field, test) = match condition {
        Condition::Field(field, test) => (*field, test),
        Condition::AnyOf(groups) => {
            return groups
                .iter()
                .any(|group| group.iter().all(|condition| satisfies(row, condition)));
        }
        Condition::Search(_) | Condition::Never => return false,
        Condition::Other => return true,
    };
    let value = row.val(field);
    match test {
        FieldTest::Eq(wanted) => equals(&value, wanted),
        FieldTest::In(values) => {
            let keys: Vec<_> = values.iter().map(|value| bytes(&value.val())).collect();
            assert!(keys.is_sorted(), "{values:?}");
            keys.contains(&bytes(&value))
        }
        FieldTest::Range(lower, upper) => {
            let found = bytes(&value);
            let above = match lower {
                Bound::Included(value) => found >= bytes(&value.val()),
                Bound::Excluded(value) => found > bytes(&value.val()),
                Bound::Unbounded => true,
            };
            above
                && match upper {
                    Bound::Included(value) => found <= bytes(&value.val()),
                    Bound::Excluded(value) => found < bytes(&value.val()),
                    Bound::Unbounded => true,
                }
        }
        FieldTest::Prefix(prefix) => text(&value).is_some_and(|text| text.starts_with(&**prefix)),
        FieldTest::Contains(part, fold) => text(&value).is_some_and(|text| match fold {
            Fold::None => text.contains(&**part),
            Fold::Lower => fold_case(text, false).contains(&**part),
            Fold::Upper => fold_case(text, true).contains(&**part),
        }),
        FieldTest::MayContain(part) => {
            text(&value).is_some_and(|text| lower_case(text).contains(&**part))
        }
        FieldTest::MapEq(key, wanted) => {
            matches!(value, Val::Map(map) if map.get(key).flatten() == Some(&**wanted))
        }
        FieldTest::MapIn(key, values) => {
            let has = |found: &str| values.iter().any(|value| **value == *found);
            matches!(value, Val::Map(map) if map.get(key).flatten().is_some_and(has))
        }
        FieldTest::MapKey(key) => {
            matches!(value, Val::Map(map) if map.contains_key(key))
        }
        FieldTest::ListHas(values) => match value {
            Val::Strings(list) => {
                list.iter().any(|found| values.iter().any(|value| **value == **found))
            }
            _ => false,
        },
        FieldTest::RowsHave(member, values) => match value {
            Val::Rows(rows) => {
                rows.iter().any(|row| values.iter().any(|value| equals(&row.val(*member), value)))
            }
            _ => false,
        },
        FieldTest::IsNull => value.is_null(),
        FieldTest::NotNull => !value.is_null(),
    }
}
