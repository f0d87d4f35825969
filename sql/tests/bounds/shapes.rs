//! Calls of each function and operator with arguments that it takes.

use std::collections::BTreeMap;

use datafusion::prelude::SessionContext;
use stationdb_sql::datafusion;

/// Arguments, and the functions that take them.
const SCALARS: &[(&str, &str)] = &[
    ("", "current_date current_time now pi random uuid version"),
    (
        "'a'",
        "ascii bit_length btrim character_length initcap lower ltrim octet_length reverse rtrim \
         upper",
    ),
    ("97", "chr to_hex factorial from_unixtime"),
    (
        "0.5",
        "abs acos asin asinh atan atanh cbrt ceil cos cosh cot degrees exp floor isnan iszero ln \
         log10 log2 radians round signum sin sinh sqrt tan tanh trunc",
    ),
    ("1.5", "acosh"),
    ("1.5, 2.5", "atan2 log nanvl power"),
    ("12, 18", "gcd lcm"),
    ("'abc', 'b'", "contains ends_with find_in_set levenshtein starts_with strpos"),
    ("'abc', 2", "left repeat right substr"),
    ("'abc', 5, 'x'", "lpad rpad"),
    ("'abc', 'b', 'c'", "replace translate"),
    ("'a.b', '.', 1", "split_part substr_index"),
    ("'abc', 'x', 2", "overlay"),
    ("'a', 'b'", "concat coalesce greatest least nullif nvl"),
    ("',', 'a', 'b'", "concat_ws"),
    ("'a', 'b', 'c'", "nvl2 make_array struct"),
    ("'k', 1", "named_struct"),
    (
        "[1, 2, 3]",
        "array_any_value array_avg array_compact array_dims array_distinct array_length \
         array_max array_min array_ndims array_normalize array_pop_back array_pop_front \
         array_product array_reverse array_sort array_sum cardinality empty",
    ),
    ("[[1], [2]]", "flatten"),
    (
        "[1, 2, 3], 2",
        "array_append array_element array_has array_position array_positions array_remove \
         array_remove_all array_resize array_scale",
    ),
    ("2, [1, 2, 3]", "array_prepend"),
    ("[1, 2, 3], 2, 1", "array_remove_n array_slice"),
    ("[1, 2, 3], 2, 1, 1", "array_replace_n"),
    ("[1, 2, 3], 2, 5", "array_replace array_replace_all"),
    (
        "[1, 2], [2, 3]",
        "array_concat array_except array_has_all array_has_any array_intersect array_union \
         arrays_zip array_add array_subtract array_distance cosine_distance inner_product",
    ),
    ("[1, 2], ','", "array_to_string"),
    ("'a,b', ','", "string_to_array"),
    ("1, 3", "array_repeat range generate_series"),
    ("['a'], [1]", "map"),
    ("map(['a'], [1])", "map_entries map_keys map_values"),
    ("map(['a'], [1]), 'a'", "map_extract"),
    ("named_struct('k', 1), 'k'", "get_field"),
    ("1, 'Int8'", "arrow_cast arrow_try_cast"),
    ("1, 2.5", "cast_to_type try_cast_to_type"),
    ("1", "arrow_metadata arrow_typeof arrow_field"),
    ("1, 'k', 'v'", "with_metadata"),
    ("'day', timestamp '2024-05-06 07:08:09'", "date_part date_trunc"),
    ("interval '1 hour', timestamp '2024-05-06 07:08:09'", "date_bin"),
    ("2024, 5, 6", "make_date"),
    ("7, 8, 9", "make_time"),
    ("timestamp '2024-05-06 07:08:09', '%Y'", "to_char"),
    ("timestamp '2024-05-06 07:08:09'", "to_local_time to_unixtime"),
    (
        "'2024-05-06'",
        "to_date to_timestamp to_timestamp_micros to_timestamp_millis to_timestamp_nanos \
         to_timestamp_seconds",
    ),
    ("'07:08:09'", "to_time"),
    // Of an engine that is built with more features, as on a cluster.
    ("'a'", "md5 sha224 sha256 sha384 sha512"),
    ("'a', 'sha256'", "digest"),
    ("'a', 'hex'", "encode"),
    ("'61', 'hex'", "decode"),
    ("'abc', 'b'", "regexp_count regexp_instr regexp_like regexp_match"),
    ("'abc', 'b', 'c'", "regexp_replace"),
];
/// Functions of types that no statement makes, and of rows of files.
const WITHOUT: &[&str] =
    &["check_spec", "file_row_index", "input_file_name", "union_extract", "union_tag"];
/// Functions of a function, which are refused.
pub const REFUSED: [&str; 4] =
    ["array_any_match", "array_filter", "array_first", "array_transform"];
/// Functions that rules put into plans, and nobody calls.
const INNER: &[&str] = &[
    "checked_add",
    "checked_float",
    "checked_subtract",
    "checked_multiply",
    "checked_shift",
    "checked_shift_right",
    "checked_step",
    "try_checked_float",
    "compare_exactly",
    "settle",
];

const AGGREGATES: &[(&str, &str)] = &[
    (
        "n",
        "any_value approx_distinct approx_median array_agg avg bit_and bit_or bit_xor count \
         first_value last_value max median min stddev stddev_pop sum var var_pop",
    ),
    ("n, 2", "nth_value"),
    ("n, 0.5", "approx_percentile_cont percentile_cont"),
    ("n, n, 0.5", "approx_percentile_cont_with_weight"),
    ("n > 1", "bool_and bool_or"),
    (
        "n, n",
        "corr covar_pop covar_samp regr_avgx regr_avgy regr_count regr_intercept regr_r2 \
         regr_slope regr_sxx regr_sxy regr_syy",
    ),
    ("s, ','", "string_agg"),
    ("n, 1, 9", "pp ppk"),
    ("n, 1, 9 order by n", "cp cpk"),
];
const WINDOWS: &[(&str, &str)] = &[
    ("", "cume_dist dense_rank percent_rank rank row_number"),
    ("n", "first_value lag last_value lead"),
    ("n, 2", "nth_value"),
    ("4", "ntile"),
];
const OPERATORS: &[(&str, &str)] = &[
    ("n", "+ - * / % & | ^ << >> = <> < <= > >="),
    ("s", "|| like ~ ~* !~ !~* = <"),
    ("(n > 1)", "and or"),
    ("[n]", "|| = <"),
];
/// Numbers, texts and lists that are large.
const LARGE: [&str; 7] = [
    "2000000000",
    "9223372036854775807",
    "(-9223372036854775807 - 1)",
    "1e308",
    "'yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy'",
    "range(0, 100000)",
    "timestamp '2262-04-11T23:47:16.854775807'",
];
const ROWS: &str =
    "(select 9223372036854775807 - value as n, repeat('x', 40) as s from generate_series(1, 300))";

/// The forms of expressions, around a number `X`.
pub const FORMS: &[&str] = &[
    "abs(X)",
    "case when true then X end",
    "pow(X, 1)",
    "coalesce(X, 1)",
    "(X is null)::int",
    "map(['a'], [X])['a'][1]",
    "(X + 1)",
    "case X when 1 then 2 else 3 end",
    "(X between 0 and 9)::int",
    "cast(X as double)",
    "(select X)",
    "nullif(X, 1)",
    "case when n > 3 then 1 else X end",
    "-(X)",
    "[X][1]",
    "(not X > 1)::int",
    "list_first([X])",
    "struct(X)['c0']",
    "(X in (1, 2))::int",
    "nvl2(X, X, 1)",
    "case when X > 1 then 1 else 2 end",
    "map {'a': X}['a'][1]",
    "try_cast(X as double)",
    "greatest(X, 1)",
    "(exists (select X))::int",
    "named_struct('k', X)['k']",
    "nvl(X, 1)",
    "(X = 1 or X > 3)::int",
    "(X is distinct from 1)::int",
    "length(X::text)",
    "(X::text like 'a%')::int",
    "(X in (select 1))::int",
    "extract(day from make_date(2024, 1, 1 + (X % 2)::int))",
    "(X::text || 'a' ~ 'b')::int",
    "substring('abc', 1, X::int)",
    "date_part('day', interval '1 day' * X)",
    "(1 = any([X]))::int",
];

pub struct Call {
    form: CallKind,
    name: String,
    args: String,
}

enum CallKind {
    Scalar,
    Aggregate,
    Window,
    Operator,
}

impl Call {
    fn with(&self, args: &str) -> String {
        match self.form {
            CallKind::Window => format!("{}({args}) over (order by n)", self.name),
            CallKind::Operator => format!("{args} {} {args}", self.name),
            _ => format!("{}({args})", self.name),
        }
    }

    pub fn plain(&self) -> String {
        match self.form {
            // Comparisons of a large range overflow.
            CallKind::Operator => {
                format!("select {} from (select 3 as n, 'a' as s)", self.with(&self.args))
            }
            _ => format!("select {} from (select 3 as n, 'a' as s)", self.with(&self.args)),
        }
    }

    pub fn attacks(&self) -> Vec<String> {
        let mut out = Vec::new();
        // Deep.
        let deep = match self.form {
            CallKind::Operator => {
                let sign = format!(" {} ", self.name);
                vec![self.args.as_str(); 97].join(&sign)
            }
            _ => {
                let rest = split(&self.args);
                (0..40).fold(self.args.clone(), |inner, _| {
                    let mut args = rest.clone();
                    match args.first_mut() {
                        Some(first) => *first = self.with(&inner),
                        None => args.push(self.with(&inner)),
                    }
                    args.join(", ")
                })
            }
        };
        let deep = match self.form {
            CallKind::Operator => deep,
            _ => self.with(&deep),
        };
        out.push(format!("select {deep} from {ROWS}"));
        // Wide.
        let wide: Vec<String> =
            (0..60).map(|at| format!("{} as c{at}", self.with(&self.args))).collect();
        out.push(format!("select {} from {ROWS}", wide.join(", ")));
        // Large, as constants and beside rows.
        let args = split(&self.args);
        for at in 0..args.len() {
            for large in LARGE {
                let mut args = args.clone();
                args[at] = large.to_owned();
                let call = self.with(&args.join(", "));
                out.push(format!("select {call} from {ROWS}"));
            }
            let mut args = args.clone();
            args[at] = "n".to_owned();
            out.push(format!("select {} from {ROWS}", self.with(&args.join(", "))));
            args[at] = "s".to_owned();
            out.push(format!("select {} from {ROWS}", self.with(&args.join(", "))));
        }
        out
    }
}

/// The arguments of a call, without those in brackets and texts.
fn split(args: &str) -> Vec<String> {
    let (mut out, mut depth, mut is_text) = (vec![String::new()], 0, false);
    for sign in args.chars() {
        match sign {
            '\'' => is_text = !is_text,
            '(' | '[' if !is_text => depth += 1,
            ')' | ']' if !is_text => depth -= 1,
            ',' if !is_text && depth == 0 => {
                out.push(String::new());
                continue;
            }
            _ => {}
        }
        if let Some(last) = out.last_mut() {
            last.push(sign);
        }
    }
    if args.is_empty() { Vec::new() } else { out }
}

fn table(shapes: &[(&str, &str)]) -> BTreeMap<String, String> {
    let names = |(args, names): &(&str, &str)| {
        let args = (*args).to_owned();
        names
            .split_whitespace()
            .map(move |name| (name.to_owned(), args.clone()))
            .collect::<Vec<_>>()
    };
    shapes.iter().flat_map(names).collect()
}

/// A call of each function that is registered, and of each operator.
pub fn calls(context: &SessionContext) -> Vec<Call> {
    let state = context.state();
    let mut out = Vec::new();
    let mut missing = Vec::new();
    let mut add = |form: fn() -> CallKind, names: Vec<String>, shapes: &[(&str, &str)]| {
        let shapes = table(shapes);
        let mut names: Vec<String> = names;
        names.sort();
        names.dedup();
        for name in names {
            match shapes.get(&name) {
                Some(args) => out.push(Call { form: form(), name, args: args.clone() }),
                None => missing.push(name),
            }
        }
    };
    let is_called =
        |name: &String| ![WITHOUT, INNER, &REFUSED].iter().any(|own| own.contains(&name.as_str()));
    let scalars = state.scalar_functions().values().map(|function| function.name().to_owned());
    let higher = state.higher_order_functions().values().map(|function| function.name().to_owned());
    add(|| CallKind::Scalar, scalars.chain(higher).filter(is_called).collect(), SCALARS);
    let aggregates = state.aggregate_functions().values();
    let aggregates = aggregates.map(|function| function.name().to_owned());
    // `grouping` is of the words of a grouping, and of no values.
    add(|| CallKind::Aggregate, aggregates.filter(|name| name != "grouping").collect(), AGGREGATES);
    let windows = state.window_functions().values().map(|function| function.name().to_owned());
    add(|| CallKind::Window, windows.collect(), WINDOWS);
    assert!(missing.is_empty(), "functions without a call here: {missing:?}");
    for (args, names) in OPERATORS {
        for name in names.split_whitespace() {
            let (name, args) = (name.to_owned(), (*args).to_owned());
            out.push(Call { form: CallKind::Operator, name, args });
        }
    }
    assert!(out.len() > 200, "{}", out.len());
    out
}
