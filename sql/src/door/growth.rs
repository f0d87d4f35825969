//! How large the result of each function may be.
//!
//! A function that is not named here has no known bound, and is refused behind the door. A function
//! of DataFusion that a new version brings is named here after its result was bounded.

use datafusion::arrow::datatypes::DataType;
use datafusion::error::{DataFusionError, Result};
use datafusion::logical_expr::ColumnarValue;

use super::measure::{Argument, Numbers, has_floats};

/// The bound of a function's result, by its arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Growth {
    /// At most a few times its largest argument, or of a fixed width. A text or list of it is
    /// measured when it is made.
    Plain,
    /// So many times the sum of its arguments.
    Sum(u8),
    /// The sum, and the first argument between the others.
    Between,
    /// A text, a number of times.
    Repeat,
    /// A number of characters.
    Pad,
    /// A text with another one in each place of a third.
    Replace,
    /// A value, a number of times.
    Copies,
    /// A list of a number of elements.
    Resize,
    /// The numbers or times between two.
    Range,
    /// The elements of a list with a text between them.
    Text,
    /// The elements of a list, each of which may become the third argument.
    Elements,
    /// Small, but each part of the first argument meets each of the second.
    Pairs,
}

/// Pairs that one call may compare.
const PAIRS_MAX: u128 = 1_000_000_000;
/// Digits of a float without an exponent, and of other numbers and times.
const DIGITS: (u128, u128) = (350, 48);

/// The bound of the scalar function of this name, if it has one.
pub(crate) fn of(name: &str) -> Option<Growth> {
    Some(match name {
        "array_repeat" => Growth::Copies,
        "array_resize" => Growth::Resize,
        "range" | "generate_series" => Growth::Range,
        "array_to_string" => Growth::Text,
        "array_replace" | "array_replace_n" | "array_replace_all" => Growth::Elements,
        "repeat" => Growth::Repeat,
        "lpad" | "rpad" => Growth::Pad,
        "replace" => Growth::Replace,
        "concat_ws" => Growth::Between,
        "concat" | "overlay" | "array_append" | "array_prepend" | "array_concat"
        | "array_union" | "named_struct" | "struct" | "map" => Growth::Sum(1),
        "make_array" | "arrays_zip" | "encode" => Growth::Sum(4),
        "string_to_array" | "to_char" => Growth::Sum(32),
        "levenshtein" | "array_has_all" | "array_has_any" | "array_except" | "array_intersect" => {
            Growth::Pairs
        }
        _ if PLAIN.binary_search(&name).is_ok() => Growth::Plain,
        _ => return None,
    })
}

/// Functions of [`Growth::Plain`], in order.
const PLAIN: &[&str] = &[
    "abs",
    "acos",
    "acosh",
    "array_add",
    "array_any_match",
    "array_any_value",
    "array_avg",
    "array_compact",
    "array_dims",
    "array_distance",
    "array_distinct",
    "array_element",
    "array_filter",
    "array_first",
    "array_has",
    "array_length",
    "array_max",
    "array_min",
    "array_ndims",
    "array_normalize",
    "array_pop_back",
    "array_pop_front",
    "array_position",
    "array_positions",
    "array_product",
    "array_remove",
    "array_remove_all",
    "array_remove_n",
    "array_reverse",
    "array_scale",
    "array_slice",
    "array_sort",
    "array_subtract",
    "array_sum",
    "array_transform",
    "arrow_cast",
    "arrow_field",
    "arrow_metadata",
    "arrow_try_cast",
    "arrow_typeof",
    "ascii",
    "asin",
    "asinh",
    "atan",
    "atan2",
    "atanh",
    "bit_length",
    "btrim",
    "cardinality",
    "cast_to_type",
    "cbrt",
    "ceil",
    "character_length",
    "check_spec",
    "checked_add",
    "checked_float",
    "checked_multiply",
    "checked_shift",
    "checked_shift_right",
    "checked_step",
    "checked_subtract",
    "chr",
    "coalesce",
    "compare_exactly",
    "contains",
    "cos",
    "cosh",
    "cosine_distance",
    "cot",
    "current_date",
    "current_time",
    "date_bin",
    "date_part",
    "date_trunc",
    "decode",
    "degrees",
    "digest",
    "empty",
    "ends_with",
    "exp",
    "factorial",
    "file_row_index",
    "find_in_set",
    "flatten",
    "floor",
    "from_unixtime",
    "gcd",
    "get_field",
    "greatest",
    "initcap",
    "inner_product",
    "input_file_name",
    "isnan",
    "iszero",
    "lcm",
    "least",
    "left",
    "ln",
    "log",
    "log10",
    "log2",
    "lower",
    "ltrim",
    "make_date",
    "make_time",
    "map_entries",
    "map_extract",
    "map_keys",
    "map_values",
    "md5",
    "nanvl",
    "now",
    "nullif",
    "nvl",
    "nvl2",
    "octet_length",
    "pi",
    "power",
    "radians",
    "random",
    "regexp_count",
    "regexp_instr",
    "regexp_like",
    "regexp_match",
    "reverse",
    "right",
    "round",
    "rtrim",
    "settle",
    "sha224",
    "sha256",
    "sha384",
    "sha512",
    "signum",
    "sin",
    "sinh",
    "split_part",
    "sqrt",
    "starts_with",
    "strpos",
    "substr",
    "substr_index",
    "tan",
    "tanh",
    "to_date",
    "to_hex",
    "to_local_time",
    "to_time",
    "to_timestamp",
    "to_timestamp_micros",
    "to_timestamp_millis",
    "to_timestamp_nanos",
    "to_timestamp_seconds",
    "to_unixtime",
    "translate",
    "trunc",
    "try_cast_to_type",
    "try_checked_float",
    "union_extract",
    "union_tag",
    "upper",
    "uuid",
    "version",
    "with_metadata",
];

/// Aggregates whose result for one group is small, or is counted against the memory of groups.
pub(super) const AGGREGATES: &[&str] = &[
    "any_value",
    "approx_distinct",
    "approx_median",
    "approx_percentile_cont",
    "approx_percentile_cont_with_weight",
    "array_agg",
    "avg",
    "bit_and",
    "bit_or",
    "bit_xor",
    "bool_and",
    "bool_or",
    "corr",
    "count",
    "covar_pop",
    "covar_samp",
    "cp",
    "cpk",
    "first_value",
    "grouping",
    "last_value",
    "max",
    "median",
    "min",
    "nth_value",
    "percentile_cont",
    "pp",
    "ppk",
    "regr_avgx",
    "regr_avgy",
    "regr_count",
    "regr_intercept",
    "regr_r2",
    "regr_slope",
    "regr_sxx",
    "regr_sxy",
    "regr_syy",
    "stddev",
    "stddev_pop",
    "string_agg",
    "sum",
    "var",
    "var_pop",
];

/// Aggregates whose result has all rows of a group: over a window they would make one for each row.
pub(super) const WHOLE: &[&str] = &["array_agg", "string_agg"];

/// Functions of windows.
pub(super) const WINDOWS: &[&str] = &[
    "cume_dist",
    "dense_rank",
    "first_value",
    "lag",
    "last_value",
    "lead",
    "nth_value",
    "ntile",
    "percent_rank",
    "rank",
    "row_number",
];

impl Growth {
    /// The bytes that a call makes at most, of so many rows.
    pub(super) fn bytes(self, name: &str, args: &[ColumnarValue], rows: usize) -> Result<u128> {
        let args = args.iter().map(Argument::new).collect::<Result<Vec<_>>>()?;
        let sum = || args.iter().map(|argument| argument.bytes(rows)).sum::<u128>();
        let each = |of: &dyn Fn(usize) -> u128| (0..rows).map(of).fold(0, u128::saturating_add);
        let number = |at: usize| args.get(at).map(Argument::numbers).transpose();
        let times = |numbers: &Option<Numbers>, row| {
            let times = numbers.as_ref().and_then(|numbers| numbers.at(row));
            times.map_or(0, |times| times.max(0).unsigned_abs())
        };
        let row_bytes = |at: usize, row| args.get(at).map_or(0, |arg| arg.row_bytes(row));
        let elements = |at: usize, row| args.get(at).map_or(0, |arg| arg.elements(row));
        Ok(match self {
            Self::Plain => 0,
            Self::Sum(factor) => sum() * u128::from(factor),
            Self::Between => {
                let between = args.first().map_or(0, |first| first.bytes(rows));
                sum() + between * args.len() as u128
            }
            Self::Repeat => {
                let count = number(1)?;
                each(&|row| row_bytes(0, row).saturating_mul(times(&count, row)))
            }
            Self::Pad => {
                let count = number(1)?;
                each(&|row| times(&count, row).saturating_mul(4))
            }
            Self::Replace => each(&|row| {
                let (text, part) = (row_bytes(0, row), row_bytes(1, row).max(1));
                text + (text / part + 1).saturating_mul(row_bytes(2, row))
            }),
            Self::Copies => {
                let count = number(1)?;
                each(&|row| (row_bytes(0, row) + 8).saturating_mul(times(&count, row)))
            }
            Self::Resize => {
                let count = number(1)?;
                let own = args.first().map_or(0, |list| list.bytes(rows));
                own + each(&|row| (row_bytes(2, row) + 8).saturating_mul(times(&count, row)))
            }
            Self::Range => range(name, &args, rows)?,
            Self::Text => {
                let digits = args.first().is_some_and(|list| has_floats(list.data_type()));
                let digits = if digits { DIGITS.0 } else { DIGITS.1 };
                let own = args.first().map_or(0, |list| list.bytes(rows));
                own + each(&|row| {
                    let between = row_bytes(1, row) + row_bytes(2, row) + digits;
                    elements(0, row).saturating_mul(between)
                })
            }
            Self::Elements => {
                let own = args.first().map_or(0, |list| list.bytes(rows));
                own + each(&|row| elements(0, row).saturating_mul(row_bytes(2, row)))
            }
            Self::Pairs => {
                let pairs = each(&|row| elements(0, row).saturating_mul(elements(1, row)));
                if pairs > PAIRS_MAX {
                    return Err(DataFusionError::ResourcesExhausted(format!(
                        "{name} would compare {pairs} pairs, and may compare {PAIRS_MAX}: give it \
                         shorter arguments"
                    )));
                }
                sum()
            }
        })
    }
}

/// The bytes of lists of the numbers or times between the first two arguments, by steps of the
/// third.
fn range(name: &str, args: &[Argument], rows: usize) -> Result<u128> {
    let Some(first) = args.first() else { return Ok(0) };
    let count = |from: i128, to: i128, step: i128| {
        (from.abs_diff(to) / step.unsigned_abs().max(1) + 1).saturating_mul(8)
    };
    if matches!(first.data_type(), DataType::Date32 | DataType::Timestamp(..)) {
        let mut sum = 0_u128;
        for row in 0..rows {
            let to = args.get(1).and_then(|to| to.nanos(row));
            let step = args.get(2).and_then(|step| step.interval(row));
            let (Some(from), Some(to), Some(step)) = (first.nanos(row), to, step) else { continue };
            let (months, days, nanos) =
                (i128::from(step.0), i128::from(step.1), i128::from(step.2));
            let parts = [months, days, nanos];
            // Months and days of different signs may make no step at all.
            if parts.iter().any(|part| *part < 0) && parts.iter().any(|part| *part > 0) {
                return Err(DataFusionError::Plan(format!(
                    "{name} takes an interval whose parts have one sign"
                )));
            }
            let step = (months * 28 + days) * 82_800_000_000_000 + nanos;
            sum = sum.saturating_add(count(from, to, step));
        }
        return Ok(sum);
    }
    if !first.data_type().is_integer() {
        return Ok(0);
    }
    let numbers = args.iter().map(Argument::numbers).collect::<Result<Vec<_>>>()?;
    let row = |row| {
        let at = |place: usize| numbers.get(place).and_then(|numbers| numbers.at(row));
        match numbers.len() {
            1 => at(0).map_or(0, |to| count(0, to, 1)),
            _ => match (at(0), at(1)) {
                (Some(from), Some(to)) => count(from, to, at(2).unwrap_or(1)),
                _ => 0,
            },
        }
    };
    Ok((0..rows).map(row).fold(0, u128::saturating_add))
}

#[cfg(test)]
mod tests {
    use datafusion::prelude::SessionContext;

    use super::*;

    /// Functions that are refused: each place of a match becomes a text of several others.
    const REFUSED: [&str; 1] = ["regexp_replace"];

    /// A version of the engine with a new function has it bounded here before it is taken.
    #[test]
    fn every_function_of_the_engine_has_its_bound() {
        assert!(PLAIN.is_sorted());
        let state = SessionContext::new().state();
        let mut missing: Vec<String> = Vec::new();
        for function in state.scalar_functions().values() {
            if of(function.name()).is_none() {
                missing.push(function.name().to_owned());
            }
        }
        for function in state.higher_order_functions().values() {
            if of(function.name()).is_none() {
                missing.push(function.name().to_owned());
            }
        }
        for function in state.aggregate_functions().values() {
            if !AGGREGATES.contains(&function.name()) {
                missing.push(format!("aggregate {}", function.name()));
            }
        }
        for function in state.window_functions().values() {
            if !WINDOWS.contains(&function.name()) {
                missing.push(format!("window {}", function.name()));
            }
        }
        missing.retain(|name| !REFUSED.contains(&name.as_str()));
        missing.sort();
        missing.dedup();
        assert!(missing.is_empty(), "{missing:?}");
    }
}
