//! Bounds that hold before a tree is built of a statement.
//!
//! The tokenizer makes a flat list. Parsing, planning and dropping recurse, and their depth is at
//! most that of the statement as it is counted here.

use std::collections::HashMap;

use datafusion::common::plan_err;
use datafusion::error::Result;
use datafusion::sql::sqlparser::dialect::Dialect;
use datafusion::sql::sqlparser::tokenizer::{Token, Tokenizer};

use super::limits::{Limits, refused};

/// Words and brackets that put a type into another one, in a statement at most. A statement may
/// name what another part of it has made, so that types nest deeper than its brackets do.
const NESTED_MAX: usize = 128;
/// Relations of a statement at most, each name of a query of `with` replaced by the query. Planning
/// walks over all of them.
const UNFOLDED_MAX: usize = 2048;
/// Functions whose argument is the text of a type, which is parsed by recursion.
const TYPE_TEXTS: [&str; 2] = ["arrow_cast", "arrow_try_cast"];
/// Brackets in a text at most where such a function is called.
const TYPE_BRACKETS_MAX: usize = 8;
/// Functions that make a value of a nested type.
const NESTERS: [&str; 16] = [
    "array",
    "array_agg",
    "array_repeat",
    "array_transform",
    "arrays_zip",
    "list_repeat",
    "list_transform",
    "list_zip",
    "make_array",
    "make_list",
    "map",
    "map_entries",
    "named_struct",
    "row",
    "string_to_array",
    "struct",
];

/// Readings of the words and signs of a statement at most. Parsing and planning read the arguments
/// of some calls several times, and those of such calls in them as many times again.
const READINGS_MAX: usize = 250_000;
/// Words with a form of their own. Where what is behind them is no such form, or has a fault, the
/// parser reads it again as the arguments of a function.
const FORMS: [&str; 20] = [
    "array",
    "case",
    "cast",
    "ceil",
    "convert",
    "exists",
    "extract",
    "floor",
    "interval",
    "lambda",
    "match",
    "not",
    "overlay",
    "safe_cast",
    "struct",
    "substr",
    "substring",
    "trim",
    "try_cast",
    "try_convert",
];

/// The part of a statement between two brackets.
struct Level {
    /// Operators since the last comma. A chain of them is as deep as it is long.
    chain: usize,
    /// Whether a comma joins tables here.
    is_from: bool,
    /// Relations, with those of the queries of `with` that are named here.
    unfolded: usize,
    /// The name of the query of `with` that this is.
    name: Option<String>,
    /// How often what stands here is read.
    readings: usize,
    /// Words `case` without their `end`.
    cases: usize,
    /// Whether the body of a function without a name has begun.
    is_lambda: bool,
}

impl Default for Level {
    fn default() -> Self {
        Self {
            chain: 0,
            is_from: false,
            unfolded: 0,
            name: None,
            readings: 1,
            cases: 0,
            is_lambda: false,
        }
    }
}

impl Level {
    /// How often what stands in a bracket is read that is opened here, behind a word.
    fn readings_within(
        &self,
        word: Option<&str>,
        dialect: &dyn Dialect,
        is_second_name: impl Fn(&str) -> bool,
    ) -> usize {
        let Some(word) = word else { return self.readings_of(1) };
        let form = match word {
            // Its arguments are planned to see which form it has, and then as that form.
            "map" => 3,
            // It has two forms of its own.
            "position" => 4,
            // The result has the text of the call as its name, which is made with each text around.
            word if is_second_name(word) => 4,
            word if FORMS.contains(&word) => 2,
            _ => 1,
        };
        // A name may be an expression there, which is seen behind it.
        let names = if dialect.supports_named_fn_args_with_expr_name() { 2 } else { 1 };
        self.readings_of(form * names)
    }

    /// `case` and a body of a function have their type and whether they are null found one after the
    /// other, and a bracket of `from` may be a query or tables.
    fn readings_of(&self, form: usize) -> usize {
        let is_twice = self.cases > 0 || self.is_lambda || self.is_from;
        self.readings.saturating_mul(form).saturating_mul(if is_twice { 2 } else { 1 })
    }
}

/// The names of the queries of `with`, and the relations that each stands for.
#[derive(Default)]
struct Queries {
    known: HashMap<String, usize>,
    /// The last tokens, without blanks: `name as (`, or `name (columns) as (`.
    last: Vec<Option<String>>,
    /// The name before the bracket that was opened for each level.
    before: Vec<Option<String>>,
    /// The name before the brackets that were closed last.
    closed: Option<String>,
}

impl Queries {
    /// The name of the query that a bracket opens, if it opens one.
    fn opened(&mut self) -> Option<String> {
        let word = |back: usize| {
            let at = self.last.len().checked_sub(back)?;
            self.last.get(at).cloned()
        };
        let mut back = 1;
        let is_hint = |word: &str| matches!(word, "materialized" | "not");
        while word(back).flatten().as_deref().is_some_and(is_hint) {
            back += 1;
        }
        let is_query = word(back).flatten().as_deref() == Some("as");
        let name = match word(back + 1) {
            Some(Some(name)) => Some(name),
            // The names of its columns stand between.
            Some(None) => self.closed.clone(),
            None => None,
        };
        self.before.push(word(1).flatten());
        name.filter(|_| is_query)
    }

    fn seen(&mut self, word: Option<String>) {
        // No pattern is longer.
        if self.last.len() == 8 {
            self.last.remove(0);
        }
        self.last.push(word);
    }
}

/// Checks a statement without parsing it. `is_second_name` knows the functions that have a first
/// one.
pub(super) fn check(
    text: &str,
    dialect: &dyn Dialect,
    limits: &Limits,
    is_second_name: impl Fn(&str) -> bool,
) -> Result<()> {
    if text.len() > limits.text_bytes {
        return refused("bytes", text.len(), limits.text_bytes);
    }
    let tokens = match Tokenizer::new(dialect, text).tokenize() {
        Ok(tokens) => tokens,
        // The parser tells the place.
        Err(error) => return Err(datafusion::error::DataFusionError::Plan(error.to_string())),
    };
    let (mut count, mut relations, mut nested) = (0, 0, 0);
    let mut readings: usize = 0;
    let mut levels = vec![Level::default()];
    let mut sum = 0;
    let (mut has_type_text, mut brackets) = (false, 0);
    let mut queries = Queries::default();
    for token in &tokens {
        if matches!(token, Token::Whitespace(_) | Token::EOF) {
            continue;
        }
        count += 1;
        let Some(level) = levels.last_mut() else { break };
        readings = readings.saturating_add(level.readings);
        match token {
            Token::Comma | Token::SemiColon => {
                sum -= std::mem::take(&mut level.chain);
                relations += usize::from(level.is_from);
            }
            Token::LParen | Token::LBracket | Token::LBrace => {
                if *token != Token::LParen {
                    // Elements of elements are a chain too.
                    level.chain += 1;
                    sum += 1;
                    nested += 1;
                }
                let name = queries.opened();
                let word = queries.before.last().and_then(Option::as_deref);
                let readings = level.readings_within(word, dialect, &is_second_name);
                levels.push(Level { name, readings, ..Level::default() });
            }
            Token::RParen | Token::RBracket | Token::RBrace => {
                sum -= level.chain;
                let ended = levels.pop().unwrap_or_default();
                queries.closed = queries.before.pop().flatten();
                if levels.is_empty() {
                    levels.push(Level::default());
                }
                match (ended.name, levels.last_mut()) {
                    (Some(name), _) => {
                        // An inner query may have the name of an outer one.
                        let known = queries.known.entry(name).or_default();
                        *known = ended.unfolded.max(*known);
                    }
                    (None, Some(level)) => {
                        level.unfolded = level.unfolded.saturating_add(ended.unfolded);
                    }
                    (None, None) => {}
                }
            }
            Token::Word(word) => {
                let name = word.value.to_ascii_lowercase();
                let stands_for = queries.known.get(&name).copied().unwrap_or(0);
                level.unfolded = level.unfolded.saturating_add(stands_for);
                if word.quote_style.is_some() {
                    queries.seen(Some(name));
                    continue;
                }
                nested += usize::from(NESTERS.contains(&name.as_str()));
                has_type_text |= TYPE_TEXTS.contains(&name.as_str());
                if is_relation(&name) {
                    relations += 1;
                    level.unfolded = level.unfolded.saturating_add(1);
                } else if is_operator(&name) || (name == "explain" && count > 1) {
                    level.chain += 1;
                    sum += 1;
                }
                match name.as_str() {
                    "case" => level.cases += 1,
                    "end" => level.cases = level.cases.saturating_sub(1),
                    _ => {}
                }
                level.is_from = match name.as_str() {
                    "from" | "join" => true,
                    other => level.is_from && !ends_from(other),
                };
            }
            Token::Number(digits, _) => check_number(digits)?,
            other => match text_of(other) {
                Some(text) => brackets = brackets.max(text.matches(['(', '<']).count()),
                None => {
                    level.is_lambda |= *token == Token::Arrow;
                    level.chain += 1;
                    sum += 1;
                }
            },
        }
        queries.seen(match token {
            Token::Word(word) => Some(word.value.to_ascii_lowercase()),
            _ => None,
        });
        // A bracket is a part of the term that it stands in, also after a comma.
        let depth = sum + levels.len() - 1;
        if depth > limits.depth {
            return refused("operators and brackets in one term", depth, limits.depth);
        }
    }
    if count > limits.tokens {
        return refused("words and signs", count, limits.tokens);
    }
    if readings > READINGS_MAX {
        return refused("words and signs with those that are read again", readings, READINGS_MAX);
    }
    if relations > limits.relations {
        return refused("selections, joins and unions", relations, limits.relations);
    }
    let unfolded = levels.iter().fold(0, |sum: usize, level| sum.saturating_add(level.unfolded));
    if unfolded > UNFOLDED_MAX {
        return refused("relations behind the names of its queries", unfolded, UNFOLDED_MAX);
    }
    if nested > NESTED_MAX {
        return refused("lists, objects and maps", nested, NESTED_MAX);
    }
    if has_type_text && brackets > TYPE_BRACKETS_MAX {
        return refused("brackets in the text of a type", brackets, TYPE_BRACKETS_MAX);
    }
    Ok(())
}

/// Refuses a whole number that the engine reads as a float, which may be another number.
fn check_number(digits: &str) -> Result<()> {
    let is_whole = digits.bytes().all(|digit| digit.is_ascii_digit());
    if is_whole && digits.parse::<u64>().is_err() {
        return plan_err!(
            "{digits:.40} is outside of the integers: write it as cast('{digits:.40}' as \
             decimal(38, 0)), or with a decimal point as a float"
        );
    }
    Ok(())
}

/// Whether the word begins a relation, or puts two together.
fn is_relation(word: &str) -> bool {
    matches!(
        word,
        "select"
            | "from"
            | "join"
            | "apply"
            | "pivot"
            | "unpivot"
            | "union"
            | "intersect"
            | "except"
            | "minus"
            | "values"
            | "table"
            // A window of its own is one more sort, and one more node that planning walks over.
            | "over"
    )
}

/// Whether the word makes an expression of others, without a sign.
fn is_operator(word: &str) -> bool {
    matches!(
        word,
        "and"
            | "or"
            | "xor"
            | "not"
            | "is"
            | "isnull"
            | "notnull"
            | "between"
            | "in"
            | "like"
            | "ilike"
            | "rlike"
            | "regexp"
            | "similar"
            | "glob"
            | "match"
            | "member"
            | "overlaps"
            | "collate"
            | "at"
            | "div"
            | "operator"
            | "interval"
            | "case"
            | "when"
            | "exists"
            | "any"
            | "some"
            | "prior"
    )
}

/// Whether the word ends a list of tables.
fn ends_from(word: &str) -> bool {
    matches!(
        word,
        "where"
            | "group"
            | "having"
            | "order"
            | "limit"
            | "offset"
            | "fetch"
            | "select"
            | "union"
            | "intersect"
            | "except"
            | "window"
            | "qualify"
    )
}

fn text_of(token: &Token) -> Option<&str> {
    use Token as T;
    match token {
        T::SingleQuotedString(text)
        | T::DoubleQuotedString(text)
        | T::TripleSingleQuotedString(text)
        | T::TripleDoubleQuotedString(text)
        | T::SingleQuotedByteStringLiteral(text)
        | T::DoubleQuotedByteStringLiteral(text)
        | T::TripleSingleQuotedByteStringLiteral(text)
        | T::TripleDoubleQuotedByteStringLiteral(text)
        | T::SingleQuotedRawStringLiteral(text)
        | T::DoubleQuotedRawStringLiteral(text)
        | T::TripleSingleQuotedRawStringLiteral(text)
        | T::TripleDoubleQuotedRawStringLiteral(text)
        | T::NationalStringLiteral(text)
        | T::EscapedStringLiteral(text)
        | T::UnicodeStringLiteral(text)
        | T::HexStringLiteral(text) => Some(text),
        T::DollarQuotedString(quoted) => Some(&quoted.value),
        T::QuoteDelimitedStringLiteral(quoted) | T::NationalQuoteDelimitedStringLiteral(quoted) => {
            Some(&quoted.value)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use datafusion::sql::sqlparser::dialect::GenericDialect;

    use super::*;

    fn is_taken(text: &str) -> bool {
        check(text, &GenericDialect {}, &Limits::default(), |name| name == "pow").is_ok()
    }

    /// A statement of one below the bound, of the bound, and of one more.
    fn holds_at(bound: usize, statement: impl Fn(usize) -> String) {
        for (size, expected) in [(bound - 1, true), (bound, true), (bound + 1, false)] {
            let text = statement(size);
            assert_eq!(is_taken(&text), expected, "{size}: {text:.60}");
        }
    }

    #[test]
    fn each_bound_holds() {
        let limits = Limits::default();
        holds_at(limits.text_bytes, |size| format!("select 1{}", " ".repeat(size - 8)));
        // `select`, the numbers and the commas between them.
        holds_at(limits.tokens / 2, |size| format!("select {}", vec!["1"; size].join(",")));
        holds_at(limits.depth, |size| format!("select 1{}", "+1".repeat(size)));
        holds_at(limits.depth, |size| format!("select 1{}", "::int".repeat(size)));
        holds_at(limits.relations / 2, |size| vec!["select 1"; size].join(" union "));
        holds_at(limits.relations - 1, |size| {
            format!("select 1 from {}", vec!["t"; size].join(","))
        });
        holds_at(NESTED_MAX, |size| format!("select {}", vec!["array()"; size].join(",")));
        holds_at(TYPE_BRACKETS_MAX, |size| {
            format!("select arrow_cast(1, '{}')", "List(".repeat(size))
        });
    }

    /// The parser reads what is behind `explain` as a statement, without a bound of its own.
    #[test]
    fn explain_is_counted() {
        let depth = Limits::default().depth;
        assert!(is_taken(&format!("explain analyze select 1{}", "+1".repeat(depth))));
        assert!(is_taken("explain explain select 1"));
        assert!(!is_taken(&format!("{}select 1", "explain ".repeat(depth + 2))));
        assert!(!is_taken(&format!("{}select 1", "EXPLAIN verbose ".repeat(8000))));
    }

    #[test]
    fn integers_are_those_of_64_bits() {
        assert!(is_taken("select 18446744073709551615, 18446744073709551616.0, 1e40"));
        assert!(!is_taken("select 18446744073709551616"));
    }

    #[test]
    fn windows_are_counted() {
        let windows = |count: usize| {
            let one = |at: usize| format!("row_number() over (order by x + {at})");
            format!("select {} from t", (0..count).map(one).collect::<Vec<_>>().join(", "))
        };
        assert!(is_taken(&windows(200)));
        assert!(!is_taken(&windows(300)));
    }

    #[test]
    fn queries_of_with_are_unfolded() {
        let doubled = |steps: usize, columns: &str| {
            let step = |at: usize| {
                format!(
                    ", \"C{}\"{columns} as (select * from c{at} union select * from C{at})",
                    at + 1
                )
            };
            let steps: String = (0..steps).map(step).collect();
            format!("with c0 as (select 1){steps} select 1")
        };
        for columns in ["", "(x)", " (x, y)"] {
            // Five relations of a step, and those of the step before twice.
            assert!(is_taken(&format!("{} from c8", doubled(8, columns))), "{columns}");
            assert!(!is_taken(&format!("{} from c9", doubled(9, columns))), "{columns}");
            assert!(!is_taken(&format!("{} from c30", doubled(30, columns))), "{columns}");
        }
        let once = "with a as (select 1), b as not materialized (select * from a) select * from b";
        assert!(is_taken(once));
    }

    /// The arguments of calls in calls are read a power of times.
    #[test]
    fn readings_are_counted() {
        let within = |depth: usize, before: &str, after: &str| {
            is_taken(&format!("select {}1{}", before.repeat(depth), after.repeat(depth)))
        };
        for (before, after, taken, refused) in [
            ("map(['a'], [", "])", 7, 11),
            ("Map(", ", 1)", 7, 11),
            ("pow(", ", 1)", 6, 10),
            ("\"pow\"(", ", 1)", 6, 10),
            ("position(", ", 1)", 6, 10),
            ("cast(", " as int)", 12, 18),
            ("not (", ")", 12, 18),
            ("abs(case when true then ", " end)", 12, 17),
            ("f([1], x -> ", ")", 12, 17),
            ("a from (select ", ")", 12, 17),
        ] {
            assert!(within(taken, before, after), "{before}");
            assert!(!within(refused, before, after), "{before}");
        }
        assert!(within(40, "abs(", ")"));
        assert!(within(40, "case when true then 1 else ", " end"));
    }

    #[test]
    fn what_is_wide_is_not_deep() {
        let list = vec!["1"; 5000].join(",");
        assert!(is_taken(&format!("select * from t where a in ({list})")));
        let cases = "when 1 then 2 ".repeat(190);
        assert!(is_taken(&format!("select case a {cases} end")));
        let brackets = format!("select {}1{}", "(".repeat(2000), ")".repeat(2000));
        assert!(!is_taken(&brackets));
        let calls = format!("select {}1{}", "f(1, ".repeat(2000), ")".repeat(2000));
        assert!(!is_taken(&calls));
        assert!(is_taken("select ')))', arrow_typeof('((((((((((((((((((((') from a) , b"));
    }
}
