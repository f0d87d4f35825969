//! The meaning of conditions, evaluated the slow way; index scans must give them the same meaning.

use std::ops::Bound;

use crate::filter::constant::fold_case;
use crate::filter::{Condition, Constant, Fold};
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
    match condition {
        Condition::Eq { field, value } => equals(&row.val(*field), value),
        Condition::In { field, values } => {
            let keys: Vec<_> = values.iter().map(|value| bytes(&value.val())).collect();
            assert!(keys.is_sorted(), "{values:?}");
            keys.contains(&bytes(&row.val(*field)))
        }
        Condition::Range { field, lower, upper } => {
            let found = bytes(&row.val(*field));
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
        Condition::Prefix { field, text: prefix } => {
            text(&row.val(*field)).is_some_and(|text| text.starts_with(&**prefix))
        }
        Condition::Contains { field, text: part, fold } => {
            text(&row.val(*field)).is_some_and(|text| match fold {
                Fold::None => text.contains(&**part),
                Fold::Lower => fold_case(text, false).contains(&**part),
                Fold::Upper => fold_case(text, true).contains(&**part),
            })
        }
        Condition::MayContain { field, text: part } => {
            text(&row.val(*field)).is_some_and(|text| lower_case(text).contains(&**part))
        }
        Condition::MapEq { field, key, value } => {
            matches!(row.val(*field), Val::Map(map) if map.get(&**key).is_some_and(|found| **found == **value))
        }
        Condition::MapIn { field, key, values } => {
            let has = |found: &String| values.iter().any(|value| **value == **found);
            matches!(row.val(*field), Val::Map(map) if map.get(&**key).is_some_and(has))
        }
        Condition::MapKey { field, key } => {
            matches!(row.val(*field), Val::Map(map) if map.contains_key(&**key))
        }
        Condition::ListHas { field, values } => match row.val(*field) {
            Val::Strings(list) => {
                list.iter().any(|found| values.iter().any(|value| **value == **found))
            }
            _ => false,
        },
        Condition::RowsHave { field, member, values } => match row.val(*field) {
            Val::Rows(rows) => {
                rows.iter().any(|row| values.iter().any(|value| equals(&row.val(*member), value)))
            }
            _ => false,
        },
        Condition::IsNull { field } => row.val(*field).is_null(),
        Condition::NotNull { field } => !row.val(*field).is_null(),
        Condition::AnyOf(groups) => {
            groups.iter().any(|group| group.iter().all(|condition| satisfies(row, condition)))
        }
        Condition::Search(_) | Condition::Never => false,
        Condition::Other => true,
    }
}
