//! A test of one column with a constant in the form of the column, and what a summary shows of it.

use std::cmp::Ordering;
use std::sync::Arc;

use super::verdict::Verdict;
use crate::columnar::column_slice::Level;
use crate::columnar::segment::Block;
use crate::error::{Error, Result};
use crate::filter::{Comparison, Constant, How, Shape};
use crate::model::tables::data::DataType;

/// A test of one column. Sets are ascending; the flag is whether null passes.
#[derive(Clone, Debug)]
pub(in crate::columnar) enum Leaf {
    IsNull,
    /// Null passes.
    NotNan,
    /// Every value that is neither null nor NaN, or none.
    Fixed {
        passes: bool,
        null: bool,
    },
    Int(Comparison, i64),
    Ints(Vec<i64>, bool),
    /// The value is one that the column can have.
    Float(Comparison, f64),
    Floats(Vec<f64>, bool),
    Bool(bool, bool),
    Order(Comparison, Arc<str>),
    Texts(Vec<Arc<str>>, bool),
    Find(How, Arc<str>),
}

fn compared<T: PartialOrd>(how: Comparison, value: &T, min: &T, max: &T) -> (bool, bool) {
    match how {
        Comparison::Eq => (min <= value && value <= max, min == value && max == value),
        Comparison::Ne => (min != value || max != value, value < min || value > max),
        Comparison::Lt => (min < value, max < value),
        Comparison::Le => (min <= value, max <= value),
        Comparison::Gt => (max > value, min > value),
        Comparison::Ge => (max >= value, min >= value),
    }
}

fn listed<T: Copy + PartialOrd>(set: &[T], min: T, max: T) -> (bool, bool) {
    let from = set.partition_point(|value| *value < min);
    let any = set.get(from).is_some_and(|value| *value <= max);
    (any, any && min == max)
}

impl Leaf {
    /// Whether a null cell passes.
    pub(in crate::columnar) fn null_passes(&self) -> bool {
        match self {
            Self::IsNull | Self::NotNan => true,
            Self::Fixed { null, .. }
            | Self::Ints(_, null)
            | Self::Floats(_, null)
            | Self::Bool(_, null)
            | Self::Texts(_, null) => *null,
            Self::Int(how, _) | Self::Float(how, _) | Self::Order(how, _) => *how == Comparison::Ne,
            Self::Find(..) => false,
        }
    }

    /// The range of the integers that pass, or with `is_negated` of those that do not, and whether
    /// all integers in it do; `None` if it is not known. The column has no nulls.
    pub(super) fn int_range(&self, is_negated: bool) -> Option<((i64, i64), bool)> {
        const NONE: (i64, i64) = (1, 0);
        let (least, greatest) = (i64::MIN, i64::MAX);
        Some(match (self, is_negated) {
            (Self::IsNull, true) => ((least, greatest), true),
            (Self::Fixed { passes, .. }, _) => {
                (if *passes == is_negated { NONE } else { (least, greatest) }, true)
            }
            (Self::Int(how, value), false) => {
                let range = match how {
                    Comparison::Eq => (*value, *value),
                    Comparison::Ge => (*value, greatest),
                    Comparison::Le => (least, *value),
                    Comparison::Gt => value.checked_add(1).map_or(NONE, |next| (next, greatest)),
                    Comparison::Lt => value.checked_sub(1).map_or(NONE, |next| (least, next)),
                    Comparison::Ne => return None,
                };
                (range, true)
            }
            (Self::Ints(set, _), false) => match set.as_slice() {
                [] => (NONE, true),
                [only] => ((*only, *only), true),
                [first, .., last] => ((*first, *last), false),
            },
            _ => return None,
        })
    }

    /// Whether some value from `min` to `max` may pass, and whether all do; `None` if the test is
    /// not about such values.
    fn range(&self, min: Level, max: Level) -> Option<(bool, bool)> {
        Some(match (self, min, max) {
            (Self::Int(how, value), Level::Int(min), Level::Int(max)) => {
                compared(*how, value, &min, &max)
            }
            (Self::Ints(set, _), Level::Int(min), Level::Int(max)) => listed(set, min, max),
            (Self::Float(how, value), Level::Float(min), Level::Float(max)) => {
                compared(*how, value, &min, &max)
            }
            (Self::Floats(set, _), Level::Float(min), Level::Float(max)) => listed(set, min, max),
            _ => return None,
        })
    }

    /// What the summary of a block shows.
    pub(in crate::columnar) fn judge(&self, block: &Block<Level>) -> Verdict {
        let values = match self {
            Self::IsNull => Some((false, false)),
            Self::NotNan => Some((true, true)),
            Self::Fixed { passes, .. } => Some((*passes, *passes)),
            leaf => leaf.range(block.min, block.max),
        };
        let Some((any, every)) = values else { return Verdict::Some };
        // The rows of a block are usable values, nulls and NaNs; NaN passes none of the tests.
        let (mut some, mut all) = (false, true);
        if block.is_usable() {
            (some, all) = (any, every);
        }
        if block.nulls > 0 {
            (some, all) = (some || self.null_passes(), all && self.null_passes());
        }
        if block.nans > 0 {
            all = false;
        }
        match (some, all) {
            (_, true) => Verdict::All,
            (true, false) => Verdict::Some,
            (false, false) => Verdict::None,
        }
    }
}

/// The leaf of a shape that tests one column of this type.
///
/// # Errors
/// `Corrupt` when the filter was compiled for another type.
pub(in crate::columnar) fn leaf(shape: &Shape, data_type: DataType) -> Result<Leaf> {
    let found = match (shape, data_type) {
        (Shape::IsNull(_), _) => Some(Leaf::IsNull),
        (Shape::NotNan(_), _) => Some(Leaf::NotNan),
        (Shape::Text(_, how, part), DataType::String) => Some(Leaf::Find(*how, part.clone())),
        (Shape::Compare(_, how, value), _) => compare(*how, value, data_type),
        (Shape::In(_, values, null), _) => member(values, *null, data_type),
        _ => None,
    };
    found.ok_or_else(|| {
        Error::corrupt("internal error: a filter of rows does not fit its columns; report it")
    })
}

fn compare(how: Comparison, value: &Constant, data_type: DataType) -> Option<Leaf> {
    let is_ne = how == Comparison::Ne;
    let fixed = |passes: bool| Leaf::Fixed { passes, null: is_ne };
    Some(match (data_type, value) {
        (DataType::Bool, Constant::Bool(value)) => match (how, value) {
            (Comparison::Ne, _) => Leaf::Bool(!*value, true),
            (Comparison::Lt, false) | (Comparison::Gt, true) => fixed(false),
            (Comparison::Le, true) | (Comparison::Ge, false) => fixed(true),
            (Comparison::Eq, _) | (Comparison::Le, false) | (Comparison::Ge, true) => {
                Leaf::Bool(*value, false)
            }
            (Comparison::Lt, true) | (Comparison::Gt, false) => Leaf::Bool(!*value, false),
        },
        (DataType::String, Constant::Text(text)) => Leaf::Order(how, text.clone()),
        (DataType::Timestamp, Constant::Time(value)) => Leaf::Int(how, *value),
        (DataType::Timestamp, _) => return None,
        (integer, Constant::Int(value)) if integer.can_be_index() => Leaf::Int(how, *value),
        (integer, Constant::Double(value)) if integer.can_be_index() => {
            const BEYOND: f64 = 9_223_372_036_854_775_808.0;
            let whole = value.floor();
            match (whole, how) {
                _ if value.is_nan() => fixed(false),
                _ if whole >= BEYOND => {
                    fixed(matches!(how, Comparison::Lt | Comparison::Le | Comparison::Ne))
                }
                _ if whole < -BEYOND => {
                    fixed(matches!(how, Comparison::Gt | Comparison::Ge | Comparison::Ne))
                }
                _ if whole == *value => Leaf::Int(how, whole as i64),
                // No integer equals the value, so the integer below it divides them alike.
                (_, Comparison::Eq | Comparison::Ne) => fixed(is_ne),
                (_, Comparison::Lt | Comparison::Le) => Leaf::Int(Comparison::Le, whole as i64),
                (_, Comparison::Gt | Comparison::Ge) => Leaf::Int(Comparison::Gt, whole as i64),
            }
        }
        (DataType::Float32 | DataType::Float64, Constant::Double(value)) if value.is_nan() => {
            fixed(false)
        }
        (DataType::Float64, Constant::Double(value)) => Leaf::Float(how, *value),
        (DataType::Float32, Constant::Double(value)) => {
            let near = f64::from(*value as f32);
            nearest(how, near, near.partial_cmp(value)?)
        }
        (DataType::Float32 | DataType::Float64, Constant::Int(value)) => {
            let near = *value as f64;
            // The nearest double is exact as a 128-bit integer.
            match nearest(how, near, (near as i128).cmp(&i128::from(*value))) {
                Leaf::Float(how, near) => compare(how, &Constant::Double(near), data_type)?,
                fixed => fixed,
            }
        }
        _ => return None,
    })
}

/// A comparison with a value as one with the number of the column that is nearest to it; `order` is
/// that of the nearest number and the value.
fn nearest(how: Comparison, near: f64, order: Ordering) -> Leaf {
    let how = match (order, how) {
        (Ordering::Equal, how) => how,
        (_, Comparison::Eq | Comparison::Ne) => {
            let is_ne = how == Comparison::Ne;
            return Leaf::Fixed { passes: is_ne, null: is_ne };
        }
        (Ordering::Greater, Comparison::Lt | Comparison::Le) => Comparison::Lt,
        (Ordering::Greater, _) => Comparison::Ge,
        (Ordering::Less, Comparison::Lt | Comparison::Le) => Comparison::Le,
        (Ordering::Less, _) => Comparison::Gt,
    };
    Leaf::Float(how, near)
}

fn member(values: &[Constant], null: bool, data_type: DataType) -> Option<Leaf> {
    // A value that the column cannot have is equal to none of its cells.
    let equal = |value: &Constant| compare(Comparison::Eq, value, data_type);
    let leaves = values.iter().map(equal).collect::<Option<Vec<_>>>()?;
    Some(match data_type {
        DataType::Bool => {
            let has = |wanted: bool| {
                leaves.iter().any(|leaf| matches!(leaf, Leaf::Bool(value, _) if *value == wanted))
            };
            match (has(true), has(false)) {
                (true, true) => Leaf::Fixed { passes: true, null },
                (false, false) => Leaf::Fixed { passes: false, null },
                (wanted, _) => Leaf::Bool(wanted, null),
            }
        }
        DataType::String => {
            let text = |leaf| if let Leaf::Order(_, text) = leaf { Some(text) } else { None };
            let mut set: Vec<Arc<str>> = leaves.into_iter().filter_map(text).collect();
            set.sort_unstable();
            Leaf::Texts(set, null)
        }
        DataType::Float32 | DataType::Float64 => {
            let float = |leaf| if let Leaf::Float(_, value) = leaf { Some(value) } else { None };
            let mut set: Vec<f64> = leaves.into_iter().filter_map(float).collect();
            set.sort_unstable_by(f64::total_cmp);
            Leaf::Floats(set, null)
        }
        _ => {
            let int = |leaf| if let Leaf::Int(_, value) = leaf { Some(value) } else { None };
            let mut set: Vec<i64> = leaves.into_iter().filter_map(int).collect();
            set.sort_unstable();
            Leaf::Ints(set, null)
        }
    })
}
