//! The search expressions of files: `name:("*.tdms") AND (extension:("txt") OR size:[0 TO 1000])`.
//!
//! Text comparison ignores letter case, except for workspaces. `*` stands for any characters, and
//! `\*` for itself. A word with a star and without a field is compared with the name. A range has
//! its ends in brackets if they belong to it, in braces if not; `*` leaves an end open.
//! `_exists_:field` tells whether the file has the field.
//! Blanks between conditions mean AND. AND binds closer than OR, and NOT closer than both. The same
//! words combine the values of one field in parentheses, where blanks mean OR.
//!
//! An expression becomes a [`Clause`], which is planned and evaluated as a filter.

use crate::error::{Error, Place, Result};
use crate::filter::{Clause, Comparison, Constant, Subject};
use crate::value::limits;
use crate::value::pattern::{Pattern, lower_case};

/// Parses an expression; absent or blank matches every file.
///
/// # Errors
/// `InvalidArgument` at the invalid character, `LimitExceeded` beyond the limits.
pub(in crate::services) fn parse(text: Option<&str>) -> Result<Clause> {
    let text = text.unwrap_or_default();
    if text.len() > limits::FILE_SEARCH_BYTES {
        return Err(Error::limit(format!(
            "the search expression is longer than {} bytes",
            limits::FILE_SEARCH_BYTES
        )));
    }
    let mut parser = Parser { chars: text.chars().collect(), at: 0, depth: 0 };
    parser.blanks();
    if parser.peek().is_none() {
        return Ok(Clause::All(Vec::new()));
    }
    let search = parser.any_of()?;
    match parser.peek() {
        None => Ok(search),
        Some(found) => Err(parser.fault(format!("{found:?} is not expected here"))),
    }
}

/// A field of files in an expression.
#[derive(Clone, Debug)]
enum Member {
    Size,
    Text(Subject),
    /// `_exists_`, whose values are members.
    Exists,
}

impl Member {
    /// The member with this name, in any letter case.
    fn named(name: &str) -> Option<Self> {
        let subject = match name.to_ascii_lowercase().as_str() {
            "_exists_" => return Some(Self::Exists),
            "size" => return Some(Self::Size),
            "name" => Subject::Folded { field: "name", folded: "foldedName" },
            "extension" => Subject::Folded { field: "extension", folded: "foldedExtension" },
            // Ids are stored in lower case.
            "id" => Subject::Field("id"),
            "workspaceid" | "workspace" => Subject::Field(WORKSPACE),
            _ => {
                let (map, key) = name.split_once('.')?;
                let is_key = map.eq_ignore_ascii_case("properties") && !key.is_empty();
                is_key.then(|| Subject::Entry { map: "properties", key: key.into() })?
            }
        };
        Some(Self::Text(subject))
    }

    /// Whether a file has it.
    fn exists(&self) -> Option<Clause> {
        let any = || Pattern::new(vec![String::new(), String::new()]);
        let has_key = |key: &str| Clause::Like {
            text: Subject::Entry { map: "properties", key: key.into() },
            pattern: any(),
        };
        match self {
            Self::Exists => None,
            Self::Text(Subject::Folded { field: "name", .. }) => Some(has_key("Name")),
            Self::Text(Subject::Folded { field, .. }) => Some(Clause::Compare {
                field,
                comparison: Comparison::Ne,
                value: Constant::Text("".into()),
            }),
            Self::Text(Subject::Entry { key, .. }) => Some(has_key(key)),
            Self::Size | Self::Text(Subject::Field(_)) => Some(Clause::All(Vec::new())),
        }
    }
}

/// The field whose letter case counts.
const WORKSPACE: &str = "workspace";

/// A text as it is compared with this field.
fn folded(subject: &Subject, text: &str) -> String {
    match subject {
        Subject::Field(WORKSPACE) => text.to_owned(),
        _ => lower_case(text),
    }
}

/// An end of a range: the value, unless it is open, and whether it belongs to the range.
struct End<T> {
    value: Option<T>,
    is_included: bool,
}

/// The values of a field between two ends.
fn between<T>(
    field: &'static str,
    from: End<T>,
    to: End<T>,
    constant: impl Fn(T) -> Constant,
) -> Clause {
    let side = |end: End<T>, included, excluded| {
        let comparison = if end.is_included { included } else { excluded };
        end.value.map(|value| Clause::Compare { field, comparison, value: constant(value) })
    };
    let sides =
        [side(from, Comparison::Ge, Comparison::Gt), side(to, Comparison::Le, Comparison::Lt)];
    one_or(sides.into_iter().flatten().collect(), Clause::All)
}

struct Parser {
    chars: Vec<char>,
    at: usize,
    depth: usize,
}

impl Parser {
    fn fault(&self, what: String) -> Error {
        Error::invalid(format!("the search expression cannot be read: {what}"))
            .at(Place::Offset(self.at))
    }

    fn peek(&self) -> Option<char> {
        self.chars.get(self.at).copied()
    }

    fn blanks(&mut self) {
        while self.peek().is_some_and(char::is_whitespace) {
            self.at += 1;
        }
    }

    fn take(&mut self, expected: char) -> bool {
        let taken = self.peek() == Some(expected);
        if taken {
            self.at += 1;
            self.blanks();
        }
        taken
    }

    fn expect(&mut self, expected: char) -> Result<()> {
        if self.take(expected) {
            return Ok(());
        }
        Err(match self.peek() {
            Some(found) => self.fault(format!("{expected:?} is expected instead of {found:?}")),
            None => self.fault(format!("it ends where {expected:?} is expected")),
        })
    }

    /// Consumes an upper-case word that ends at a blank, a parenthesis or the end.
    fn keyword(&mut self, word: &str) -> bool {
        let end = self.at + word.len();
        let matches = self
            .chars
            .get(self.at..end)
            .is_some_and(|chars| chars.iter().copied().eq(word.chars()));
        let ends =
            self.chars.get(end).is_none_or(|c| c.is_whitespace() || matches!(c, '(' | ')' | ']'));
        if matches && ends {
            self.at = end;
            self.blanks();
        }
        matches && ends
    }

    fn any_of(&mut self) -> Result<Clause> {
        let mut parts = vec![self.all_of()?];
        while self.keyword("OR") {
            parts.push(self.all_of()?);
        }
        Ok(one_or(parts, Clause::Any))
    }

    fn all_of(&mut self) -> Result<Clause> {
        let mut parts = vec![self.condition()?];
        loop {
            let has_and = self.keyword("AND");
            let ends = self.peek().is_none_or(|c| c == ')') || (!has_and && self.at_or());
            if ends && !has_and {
                return Ok(one_or(parts, Clause::All));
            }
            parts.push(self.condition()?);
        }
    }

    fn at_or(&mut self) -> bool {
        let at = self.at;
        let found = self.keyword("OR");
        self.at = at;
        found
    }

    fn condition(&mut self) -> Result<Clause> {
        if self.keyword("NOT") {
            self.nest()?;
            let inner = self.condition()?;
            self.depth -= 1;
            return Ok(Clause::Not(Box::new(inner)));
        }
        if self.peek() == Some('(') {
            self.nest()?;
            self.take('(');
            let inner = self.any_of()?;
            self.expect(')')?;
            self.depth -= 1;
            return Ok(inner);
        }
        let start = self.at;
        let pieces = self.name()?;
        let has_star = pieces.len() > 1;
        let name = pieces.join("*");
        if name.is_empty() {
            return Err(self.fault("a field name is expected".to_owned()));
        }
        self.blanks();
        if has_star && self.peek() != Some(':') {
            let text = Subject::Folded { field: "name", folded: "foldedName" };
            let pieces = pieces.iter().map(|piece| lower_case(piece)).collect();
            return Ok(Clause::Like { text, pattern: Pattern::new(pieces) });
        }
        self.expect(':')?;
        match self.member(&name, start)? {
            Member::Size => self.group(&Self::size),
            Member::Exists => self.group(&|parser| {
                let start = parser.at;
                let name = parser.value(false)?.join("*");
                let exists = parser.member(&name, start)?.exists();
                exists.ok_or_else(|| parser.fault("a field name is expected".to_owned()))
            }),
            Member::Text(subject) => self.group(&|parser| parser.text(&subject)),
        }
    }

    /// The member with this name, which began at `start`.
    fn member(&mut self, name: &str, start: usize) -> Result<Member> {
        Member::named(name).ok_or_else(|| {
            self.at = start;
            self.fault(format!(
                "{name:?} is not a field of files; expected name, extension, id, workspaceId, \
                 size or properties.<key>"
            ))
        })
    }

    /// The pieces of a name or of a word without a field, split at stars. Parts of it may be in
    /// quotes.
    fn name(&mut self) -> Result<Vec<String>> {
        let mut pieces = vec![String::new()];
        loop {
            let part = match self.peek() {
                Some('"') => self.quoted()?,
                Some(c) if !is_end_of_name(c) => self.word(|c| is_end_of_name(c) || c == '"')?,
                _ => return Ok(pieces),
            };
            let mut part = part.into_iter();
            if let (Some(last), Some(first)) = (pieces.last_mut(), part.next()) {
                last.push_str(&first);
            }
            pieces.extend(part);
        }
    }

    /// A condition on a text: a pattern or a range.
    fn text(&mut self, subject: &Subject) -> Result<Clause> {
        let start = self.at;
        if self.peek() == Some('[') || (self.peek() == Some('{') && self.at_range()) {
            let field = match subject {
                Subject::Field(field) => *field,
                Subject::Folded { folded, .. } => *folded,
                Subject::Entry { .. } => {
                    self.at = start;
                    return Err(self.fault("a property has no ranges".to_owned()));
                }
            };
            let text = |_: &mut Self, text: &str, _| Ok(folded(subject, text));
            let (from, to) = self.range(text)?;
            return Ok(between(field, from, to, |text| Constant::Text(text.into())));
        }
        let pieces = self.value(false)?.iter().map(|piece| folded(subject, piece)).collect();
        Ok(Clause::Like { text: subject.clone(), pattern: Pattern::new(pieces) })
    }

    /// Whether a brace begins a range; otherwise it is a character of a value.
    fn at_range(&self) -> bool {
        let rest = self.chars.get(self.at..).unwrap_or_default();
        let inside: String = rest.iter().take_while(|c| !matches!(c, ']' | '}')).collect();
        inside.split_whitespace().any(|word| word == "TO")
    }

    /// A range, whose ends `read` reads from their text and place.
    fn range<T>(
        &mut self,
        read: impl Fn(&mut Self, &str, usize) -> Result<T>,
    ) -> Result<(End<T>, End<T>)> {
        let end = |parser: &mut Self, is_included| -> Result<End<T>> {
            let start = parser.at;
            let is_quoted = parser.peek() == Some('"');
            let text = parser.value(true)?.join("*");
            let is_open = text == "*" && !is_quoted;
            let value = (!is_open).then(|| read(parser, &text, start)).transpose()?;
            Ok(End { value, is_included })
        };
        let is_included = self.take('[');
        if !is_included {
            self.expect('{')?;
        }
        let from = end(self, is_included)?;
        if !self.keyword("TO") {
            return Err(self.fault("TO is expected between the ends of a range".to_owned()));
        }
        let mut to = end(self, true)?;
        if self.take('}') {
            to.is_included = false;
        } else {
            self.expect(']')?;
        }
        Ok((from, to))
    }

    fn nest(&mut self) -> Result<()> {
        self.depth += 1;
        if self.depth > limits::FILE_SEARCH_DEPTH {
            return Err(Error::limit(format!(
                "the search expression nests deeper than {} parentheses and NOTs",
                limits::FILE_SEARCH_DEPTH
            ))
            .at(Place::Offset(self.at)));
        }
        Ok(())
    }

    /// One value of a field, or an expression of them in parentheses.
    fn group(&mut self, value: &dyn Fn(&mut Self) -> Result<Clause>) -> Result<Clause> {
        if self.peek() != Some('(') {
            return value(self);
        }
        self.nest()?;
        self.take('(');
        let mut parts = vec![self.all_of_group(value)?];
        while !self.take(')') {
            if self.peek().is_none() {
                return Err(self.fault("it ends where ')' is expected".to_owned()));
            }
            self.keyword("OR");
            parts.push(self.all_of_group(value)?);
        }
        self.depth -= 1;
        Ok(one_or(parts, Clause::Any))
    }

    fn all_of_group(&mut self, value: &dyn Fn(&mut Self) -> Result<Clause>) -> Result<Clause> {
        let mut parts = vec![self.one_of_group(value)?];
        while self.keyword("AND") {
            parts.push(self.one_of_group(value)?);
        }
        Ok(one_or(parts, Clause::All))
    }

    fn one_of_group(&mut self, value: &dyn Fn(&mut Self) -> Result<Clause>) -> Result<Clause> {
        if !self.keyword("NOT") {
            return self.group(value);
        }
        self.nest()?;
        let inner = self.one_of_group(value)?;
        self.depth -= 1;
        Ok(Clause::Not(Box::new(inner)))
    }

    /// The pieces of a value, split at its stars. In a range a brace ends it.
    fn value(&mut self, in_range: bool) -> Result<Vec<String>> {
        let value = if self.peek() == Some('"') {
            self.quoted()?
        } else {
            let ends = |c: char| {
                let is_brace = in_range && c == '}';
                is_brace || c.is_whitespace() || matches!(c, '(' | ')' | '[' | ']' | '"')
            };
            let value = self.word(ends)?;
            if value.iter().all(String::is_empty) && value.len() == 1 {
                return Err(self.fault("a value is expected".to_owned()));
            }
            value
        };
        self.blanks();
        Ok(value)
    }

    /// The pieces of a text in quotes.
    fn quoted(&mut self) -> Result<Vec<String>> {
        self.at += 1;
        let start = self.at;
        let value = self.word(|c| c == '"')?;
        if self.peek() != Some('"') {
            self.at = start;
            return Err(self.fault("a quoted value has no closing quote".to_owned()));
        }
        self.at += 1;
        Ok(value)
    }

    /// Reads characters up to one for which `ends` is true, as pieces between stars. A backslash
    /// makes the next character literal.
    fn word(&mut self, ends: impl Fn(char) -> bool) -> Result<Vec<String>> {
        let (mut pieces, mut piece) = (Vec::new(), String::new());
        while let Some(c) = self.peek().filter(|c| !ends(*c)) {
            self.at += 1;
            match c {
                '\\' => {
                    let Some(escaped) = self.peek() else {
                        return Err(self.fault("it ends with a backslash".to_owned()));
                    };
                    piece.push(escaped);
                    self.at += 1;
                }
                '*' => pieces.push(std::mem::take(&mut piece)),
                c => piece.push(c),
            }
        }
        pieces.push(piece);
        Ok(pieces)
    }

    fn size(&mut self) -> Result<Clause> {
        let start = self.at;
        let (from, to) = if matches!(self.peek(), Some('[' | '{')) {
            self.range(Self::number)?
        } else {
            let text = self.value(false)?.join("*");
            let number = self.number(&text, start)?;
            let end = || End { value: Some(number), is_included: true };
            (end(), end())
        };
        Ok(match (from.value, to.value) {
            (Some(from), Some(to)) if from > to => Clause::Any(Vec::new()),
            (Some(one), Some(other)) if one == other && from.is_included && to.is_included => {
                Clause::Compare {
                    field: "size",
                    comparison: Comparison::Eq,
                    value: Constant::Int(one),
                }
            }
            _ => between("size", from, to, Constant::Int),
        })
    }

    fn number(&mut self, text: &str, start: usize) -> Result<i64> {
        text.parse().map_err(|_| {
            self.at = start;
            self.fault(format!("{text:?} is not a number of bytes"))
        })
    }
}

fn is_end_of_name(c: char) -> bool {
    matches!(c, ':' | '(' | ')') || c.is_whitespace()
}

fn one_or(mut parts: Vec<Clause>, all: impl FnOnce(Vec<Clause>) -> Clause) -> Clause {
    match parts.pop() {
        Some(only) if parts.is_empty() => only,
        last => {
            parts.extend(last);
            all(parts)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;
    use crate::filter::{Schema, from_clause};
    use crate::model::RecordRow;
    use crate::model::{ContentPart, FileId, FileRecord, Resource, StoredContent};
    use crate::value::Env;

    fn file() -> FileRecord {
        FileRecord {
            id: FileId::parse("0123456789abcdef01234567").unwrap(),
            properties: [
                ("Name", "Run 7.TDMS"),
                ("my key", "a \"b\""),
                ("serial", "SN-42"),
                ("OR", "x"),
                ("star", "a*b"),
                ("a*", "x"),
            ]
            .map(|(key, value)| (key.to_owned(), value.to_owned()))
            .into(),
            workspace: "w1".to_owned(),
            content: StoredContent { parts: vec![ContentPart::new(1, 100, 0)], small: false },
            ..FileRecord::default()
        }
    }

    const TIMELESS: Env = Env { now_ms: 0, calibration_warning_days: 0 };

    fn holds(clause: &Clause) -> bool {
        let schema = Schema { fields: FileRecord::fields(), ..Schema::default() };
        let row = RecordRow { record: &file(), env: TIMELESS };
        from_clause(clause, &schema).unwrap().matches(&row)
    }

    fn matches(text: &str) -> bool {
        holds(&parse(Some(text)).unwrap_or_else(|error| panic!("{text}: {error}")))
    }

    /// Names of fields have any letter case and may be in quotes. Words have stars, `_exists_` asks
    /// for a field, and ranges may be open or half open.
    #[test]
    fn conditions_match_what_they_say() {
        for text in [
            "",
            "  ",
            "name:(\"run 7.tdms\")",
            "name:(\"*7*\")",
            "name:(\"*\")",
            "name : \"r*s\"",
            "extension:(\"tdms\")",
            "extension:(\"txt\" OR \"tdms\")",
            "id:(\"0123456789ABCDEF01234567\")",
            "workspaceId:(\"w1\")",
            "size:[100 TO 100]",
            "size:[* TO 100]",
            "size:[100 TO *]",
            "size:(\"100\")",
            "size:100",
            "size:([0 TO 200])",
            "size:([0 TO 1] OR [100 TO 100])",
            "size:(1 OR \"100\")",
            "id:(\"01234*\")",
            "workspaceId:(\"w*\")",
            "properties.serial:(\"sn-*\")",
            "properties.my\\ key:(\"a \\\"b\\\"\")",
            "properties.OR:x",
            "name:(\"x\") OR extension:(\"tdms\") AND size:[0 TO 200]",
            "(name:(\"x\") OR extension:(\"tdms\")) AND size:[0 TO 200]",
            "extension:(\"tdms\") size:[0 TO 200]",
            "NOT name:(\"x\")",
            "NOT NOT name:(\"*\")",
            "name:(\"*\") AND NOT size:[101 TO *]",
            "name:(\"*\") NOT size:[101 TO *]",
            "NOT (name:(\"x\") OR size:[101 TO *])",
            "NOT(name:x)",
            "NOT name:(\"*\") OR size:100",
            "NOT properties.none:(\"*\")",
            "name:(\"*7*\" AND \"run*\")",
            "name:(\"*8*\" OR \"*7*\" AND \"run*\")",
            "name:((\"*8*\" OR \"*7*\") AND \"run*\")",
            "name:(\"*8*\" \"*7*\")",
            "name:(NOT \"*8*\")",
            "name:(\"*7*\" AND NOT \"*8*\")",
            "size:([0 TO 200] AND NOT 99)",
            "name:(\"**run*7.*dms*\")",
            "properties.star:(\"a\\*b\")",
            "properties.star:(\"a*b\")",
            "properties.a*:x",
            "NAME:(\"run 7.tdms\")",
            "Extension:tdms AND SIZE:[0 TO *]",
            "WorkspaceID:w1",
            "Properties.serial:sn-42",
            "*7.tdms",
            "*RUN*",
            "\"run 7*\"",
            "(*7* OR *8*) AND size:100",
            "*7* extension:tdms",
            "_exists_:name",
            "_exists_:properties.serial",
            "_exists_:\"properties.my key\"",
            "_exists_:(extension AND size)",
            "_EXISTS_:Workspace",
            "NOT _exists_:properties.none",
            "\"name\":(\"run*\")",
            "\"properties.my key\":a*",
            "properties.\"my key\":a*",
            "\"properties.a*\":x",
            "size:{99 TO 101}",
            "size:{99 TO 100]",
            "size:[100 TO 101}",
            "size:{* TO *}",
            "name:[* TO z]",
            "name:[\"run 7.tdms\" TO s}",
            "id:{0 TO 1}",
            "workspaceId:[w1 TO w1]",
            "(NOT name:x)",
            "(NOT *x*)",
            "name:(NOT x)",
        ] {
            assert!(matches(text), "{text}");
        }
        for text in [
            "name:(\"run\")",
            "name:(\"*8*\")",
            "extension:(\"\")",
            "workspaceId:(\"W1\")",
            "workspaceId:(\"W*\")",
            "id:(\"1*\")",
            "size:[101 TO 200]",
            "size:([0 TO 1] OR [101 TO 200])",
            "properties.none:(\"*\")",
            "(name:(\"x\") OR extension:(\"tdms\")) AND size:[0 TO 2]",
            "extension:(\"tdms\") size:[0 TO 2]",
            "NOT extension:(\"tdms\")",
            "NOT name:(\"x\") AND size:[0 TO 2]",
            "NOT (NOT name:(\"x\"))",
            "NOT properties.serial:(\"*\")",
            "name:(\"*7*\" AND \"*8*\")",
            "name:(\"*7*\" AND NOT \"run*\")",
            "size:([0 TO 200] AND NOT 100)",
            "name:(\"run 7.tdms*tdms\")",
            "name:(\"*7*7*\")",
            "properties.serial:(\"SN\\*42\")",
            "workspaceId:(\"*W*\")",
            "*8*",
            "_exists_:properties.none",
            "_exists_:properties.Serial",
            "properties.Serial:sn-42",
            "NOT *run*",
            "size:{100 TO 101}",
            "size:[99 TO 100}",
            "size:{100 TO 100]",
            "name:[* TO \"run 7.tdms\"}",
            "name:{\"RUN 7.TDMS\" TO *]",
            "workspaceId:[W1 TO W2]",
            "(NOT name:run*)",
        ] {
            assert!(!matches(text), "{text}");
        }
    }

    #[test]
    fn faults_are_named_with_their_place() {
        for (text, offset) in [
            ("name", 4),
            ("colour:(\"x\")", 0),
            ("name:(\"x", 7),
            ("name:(\"x\"", 9),
            ("size:[1 5]", 8),
            ("size:[1 TO ten]", 11),
            ("size:([1 TO 2]", 14),
            ("size:()", 6),
            ("name:(\"x\") AND", 14),
            ("(name:(\"x\")", 11),
            ("name:(\"x\"))", 10),
            ("properties.:x", 0),
            ("AND name:x", 4),
            ("NOT", 3),
            ("name:(\"x\" AND)", 13),
            ("name:(NOT)", 9),
            ("name:((\"x\")", 11),
            ("name:x AND NOT", 14),
            ("NOT OR name:x", 7),
            ("not name:x", 4),
            ("\"name:x", 1),
            ("_exists_:colour", 9),
            ("_exists_:_exists_", 17),
            ("size:{1 TO 2", 12),
            ("size:{1 2}", 8),
            ("name:[a TO", 10),
            ("properties.x:[a TO b]", 13),
            ("bare", 4),
            ("TO", 2),
        ] {
            let error = parse(Some(text)).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{text}");
            assert_eq!(error.place(), Some(&Place::Offset(offset)), "{text}: {error}");
        }
    }

    #[test]
    fn bounds_hold() {
        let nested = |depth: usize| format!("{}name:x{}", "(".repeat(depth), ")".repeat(depth));
        let above = ErrorKind::LimitExceeded;
        limits::holds_at(limits::FILE_SEARCH_DEPTH, above, |depth| parse(Some(&nested(depth))));
        let negated = |depth: usize| format!("{}name:x", "NOT ".repeat(depth));
        limits::holds_at(limits::FILE_SEARCH_DEPTH, above, |depth| parse(Some(&negated(depth))));
        let grouped = |depth: usize| format!("name:{}x{}", "(".repeat(depth), ")".repeat(depth));
        limits::holds_at(limits::FILE_SEARCH_DEPTH, above, |depth| parse(Some(&grouped(depth))));
        let long = |bytes: usize| format!("name:{}", "x".repeat(bytes - 5));
        limits::holds_at(limits::FILE_SEARCH_BYTES, above, |bytes| parse(Some(&long(bytes))));
        let hostile = format!("name:\"{}b\"", "*a".repeat(10_000));
        assert!(!holds(&parse(Some(&hostile)).unwrap()));
    }
}
