//! The search expressions of files: `name:("*.tdms") AND (extension:("txt") OR size:[0 TO 1000])`.
//!
//! Text compares without letter case, workspaces with it; `*` stands for any characters. Sizes take inclusive ranges, in
//! which `*` leaves an end open. Blanks between conditions mean AND, which binds closer than OR.

use crate::error::{Error, Place, Result};
use crate::model::FileRecord;
use crate::value::limits;

/// A parsed expression.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Search {
    /// Matches every file.
    All,
    And(Vec<Search>),
    Or(Vec<Search>),
    Text {
        field: TextField,
        pattern: String,
    },
    Size {
        from: i64,
        to: i64,
    },
}

/// What a text condition looks at.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum TextField {
    Name,
    Extension,
    Id,
    Workspace,
    Property(String),
}

impl Search {
    /// Reads an expression; absent or blank matches every file.
    ///
    /// # Errors
    /// `InvalidArgument` at the faulty character, `LimitExceeded` beyond the bounds.
    pub(super) fn parse(text: Option<&str>) -> Result<Self> {
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
            return Ok(Self::All);
        }
        let search = parser.any_of()?;
        match parser.peek() {
            None => Ok(search),
            Some(found) => Err(parser.fault(format!("{found:?} is not expected here"))),
        }
    }

    /// Whether a file matches.
    pub(super) fn matches(&self, file: &FileRecord) -> bool {
        match self {
            Self::All => true,
            Self::And(parts) => parts.iter().all(|part| part.matches(file)),
            Self::Or(parts) => parts.iter().any(|part| part.matches(file)),
            Self::Size { from, to } => {
                let size = i64::try_from(file.content.size()).unwrap_or(i64::MAX);
                (*from..=*to).contains(&size)
            }
            Self::Text { field, pattern } => match field {
                TextField::Name => like(pattern, file.display_name()),
                TextField::Extension => like(pattern, crate::model::file::extension(file.display_name())),
                TextField::Id => like(pattern, &file.id),
                TextField::Workspace => is_match(&letters(pattern), &letters(&file.workspace)),
                TextField::Property(key) => file.properties.get(key).is_some_and(|value| like(pattern, value)),
            },
        }
    }
}

fn letters(text: &str) -> Vec<char> {
    text.chars().collect()
}

/// Whether `text` is `pattern`, in which `*` stands for any characters, without letter case.
fn like(pattern: &str, text: &str) -> bool {
    let fold = |text: &str| text.chars().flat_map(char::to_lowercase).collect::<Vec<char>>();
    is_match(&fold(pattern), &fold(text))
}

/// Whether `text` is `pattern`, in which `*` stands for any characters.
fn is_match(pattern: &[char], text: &[char]) -> bool {
    // The last star takes one more character whenever what follows it does not fit: never more than their product.
    let (mut at_pattern, mut at_text, mut star) = (0, 0, None);
    while at_text < text.len() {
        match pattern.get(at_pattern) {
            Some('*') => {
                star = Some((at_pattern, at_text));
                at_pattern += 1;
            }
            Some(c) if Some(c) == text.get(at_text) => {
                at_pattern += 1;
                at_text += 1;
            }
            _ => match star {
                Some((at_star, taken)) => {
                    star = Some((at_star, taken + 1));
                    at_pattern = at_star + 1;
                    at_text = taken + 1;
                }
                None => return false,
            },
        }
    }
    pattern.iter().skip(at_pattern).all(|c| *c == '*')
}

struct Parser {
    chars: Vec<char>,
    at: usize,
    depth: usize,
}

impl Parser {
    fn fault(&self, what: String) -> Error {
        Error::invalid(format!("the search expression cannot be read: {what}")).at(Place::Offset(self.at))
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

    /// Takes an upper-case word that ends at a blank, a parenthesis or the end.
    fn keyword(&mut self, word: &str) -> bool {
        let end = self.at + word.len();
        let matches = self.chars.get(self.at..end).is_some_and(|chars| chars.iter().copied().eq(word.chars()));
        let ends = self.chars.get(end).is_none_or(|c| c.is_whitespace() || matches!(c, '(' | ')' | ']'));
        if matches && ends {
            self.at = end;
            self.blanks();
        }
        matches && ends
    }

    fn any_of(&mut self) -> Result<Search> {
        let mut parts = vec![self.all_of()?];
        while self.keyword("OR") {
            parts.push(self.all_of()?);
        }
        Ok(one_or(parts, Search::Or))
    }

    fn all_of(&mut self) -> Result<Search> {
        let mut parts = vec![self.condition()?];
        loop {
            let has_and = self.keyword("AND");
            let ends = self.peek().is_none_or(|c| c == ')') || (!has_and && self.at_or());
            if ends && !has_and {
                return Ok(one_or(parts, Search::And));
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

    fn condition(&mut self) -> Result<Search> {
        if self.peek() == Some('(') {
            self.nest()?;
            self.take('(');
            let inner = self.any_of()?;
            self.expect(')')?;
            self.depth -= 1;
            return Ok(inner);
        }
        let start = self.at;
        let name = self.word(|c| c == ':' || c == '(' || c == ')' || c.is_whitespace())?;
        if name.is_empty() {
            return Err(self.fault("a field name is expected".to_owned()));
        }
        self.blanks();
        self.expect(':')?;
        let field = match (name.as_str(), name.strip_prefix("properties.")) {
            ("size", _) => return self.sizes(),
            ("name", _) => TextField::Name,
            ("extension", _) => TextField::Extension,
            ("id", _) => TextField::Id,
            ("workspaceId" | "workspace", _) => TextField::Workspace,
            (_, Some(key)) if !key.is_empty() => TextField::Property(key.to_owned()),
            _ => {
                self.at = start;
                return Err(self.fault(format!(
                    "{name:?} is no field; expected name, extension, id, workspaceId, size or properties.<key>"
                )));
            }
        };
        let patterns = self.values()?;
        let text = |pattern| Search::Text { field: field.clone(), pattern };
        Ok(one_or(patterns.into_iter().map(text).collect(), Search::Or))
    }

    fn nest(&mut self) -> Result<()> {
        self.depth += 1;
        if self.depth > limits::FILE_SEARCH_DEPTH {
            return Err(Error::limit(format!(
                "the search expression nests deeper than {} parentheses",
                limits::FILE_SEARCH_DEPTH
            ))
            .at(Place::Offset(self.at)));
        }
        Ok(())
    }

    /// One value, or several in parentheses with OR between them.
    fn values(&mut self) -> Result<Vec<String>> {
        if !self.take('(') {
            return Ok(vec![self.value()?]);
        }
        let mut values = vec![self.value()?];
        while !self.take(')') {
            if self.peek().is_none() {
                return Err(self.fault("it ends where ')' is expected".to_owned()));
            }
            self.keyword("OR");
            values.push(self.value()?);
        }
        Ok(values)
    }

    fn value(&mut self) -> Result<String> {
        let value = if self.peek() == Some('"') {
            self.at += 1;
            let start = self.at;
            let value = self.word(|c| c == '"')?;
            if self.peek() != Some('"') {
                self.at = start;
                return Err(self.fault("a quoted value has no closing quote".to_owned()));
            }
            self.at += 1;
            value
        } else {
            let value = self.word(|c| c.is_whitespace() || matches!(c, '(' | ')' | '[' | ']' | '"'))?;
            if value.is_empty() {
                return Err(self.fault("a value is expected".to_owned()));
            }
            value
        };
        self.blanks();
        Ok(value)
    }

    /// Characters up to one that ends the word; a backslash takes the meaning from the character behind it.
    fn word(&mut self, ends: impl Fn(char) -> bool) -> Result<String> {
        let mut word = String::new();
        while let Some(c) = self.peek().filter(|c| !ends(*c)) {
            self.at += 1;
            if c != '\\' {
                word.push(c);
                continue;
            }
            let Some(escaped) = self.peek() else {
                return Err(self.fault("it ends with a backslash".to_owned()));
            };
            word.push(escaped);
            self.at += 1;
        }
        Ok(word)
    }

    /// One size or range, or several in parentheses with OR between them.
    fn sizes(&mut self) -> Result<Search> {
        if !self.take('(') {
            return self.size();
        }
        let mut parts = vec![self.size()?];
        while !self.take(')') {
            if self.peek().is_none() {
                return Err(self.fault("it ends where ')' is expected".to_owned()));
            }
            self.keyword("OR");
            parts.push(self.size()?);
        }
        Ok(one_or(parts, Search::Or))
    }

    fn size(&mut self) -> Result<Search> {
        let start = self.at;
        if !self.take('[') {
            let value = self.value()?;
            let number = self.number(&value, start)?;
            return Ok(Search::Size { from: number, to: number });
        }
        let start = self.at;
        let from = self.value()?;
        let from = if from == "*" { 0 } else { self.number(&from, start)? };
        if !self.keyword("TO") {
            return Err(self.fault("TO is expected between the ends of a range".to_owned()));
        }
        let start = self.at;
        let to = self.value()?;
        let to = if to == "*" { i64::MAX } else { self.number(&to, start)? };
        self.expect(']')?;
        Ok(Search::Size { from, to })
    }

    fn number(&mut self, text: &str, start: usize) -> Result<i64> {
        text.parse().map_err(|_| {
            self.at = start;
            self.fault(format!("{text:?} is no number of bytes"))
        })
    }
}

fn one_or(mut parts: Vec<Search>, all: impl FnOnce(Vec<Search>) -> Search) -> Search {
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
    use crate::model::{ContentPart, FileId, StoredContent};

    fn file() -> FileRecord {
        FileRecord {
            id: FileId::parse("0123456789abcdef01234567").unwrap(),
            properties: [("Name", "Run 7.TDMS"), ("my key", "a \"b\""), ("serial", "SN-42"), ("OR", "x")]
                .map(|(key, value)| (key.to_owned(), value.to_owned()))
                .into(),
            workspace: "w1".to_owned(),
            content: StoredContent { parts: vec![ContentPart::new(1, 100, 0)], small: false },
            ..FileRecord::default()
        }
    }

    fn matches(text: &str) -> bool {
        Search::parse(Some(text)).unwrap_or_else(|error| panic!("{text}: {error}")).matches(&file())
    }

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
        ] {
            let error = Search::parse(Some(text)).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{text}");
            assert_eq!(error.place(), Some(&Place::Offset(offset)), "{text}: {error}");
        }
    }

    #[test]
    fn bounds_hold() {
        let nested = |depth: usize| format!("{}name:x{}", "(".repeat(depth), ")".repeat(depth));
        let above = ErrorKind::LimitExceeded;
        limits::holds_at(limits::FILE_SEARCH_DEPTH, above, |depth| Search::parse(Some(&nested(depth))));
        let long = |bytes: usize| format!("name:{}", "x".repeat(bytes - 5));
        limits::holds_at(limits::FILE_SEARCH_BYTES, above, |bytes| Search::parse(Some(&long(bytes))));
        let hostile = format!("name:\"{}b\"", "*a".repeat(10_000));
        assert!(!Search::parse(Some(&hostile)).unwrap().matches(&file()));
    }
}
