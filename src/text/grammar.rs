//! The grammar of text queries.
//!
//! ```text
//! query  := and ("OR" and)*
//! and    := unary ("AND"? unary)*
//! unary  := ("NOT" | "-") unary | "(" query ")" | "*" | leaf
//! leaf   := (field ":")? (word | '"' words '"') "*"?
//!         | "kind:" name | "workspace:" id
//! ```
//!
//! `AND`, `OR` and `NOT` are operators only in capitals. A word with punctuation inside
//! (`DMM-4065`) requires its parts side by side. Text without any letter or digit is ignored.
//! Depth, number of terms and bytes are bounded, so no text can exhaust stack or time.

use super::document::Shape;
use super::tree::{Leaf, Node};
use super::words::words;
use crate::error::{Error, Place, Result};
use crate::value::limits::{TEXT_QUERY_BYTES, TEXT_QUERY_DEPTH, TEXT_QUERY_TERMS};

/// Parses a text query. Text without any word, such as blank text, matches every document.
///
/// # Errors
/// `InvalidArgument` with the character offset for a syntax error; `LimitExceeded` above a bound.
pub(crate) fn parse(text: &str, shape: &Shape) -> Result<Node> {
    if text.len() > TEXT_QUERY_BYTES {
        return Err(Error::limit(format!(
            "the text query has {} bytes; TEXT_QUERY_BYTES allows {TEXT_QUERY_BYTES}",
            text.len()
        )));
    }
    let mut parser = Parser { text, at: 0, term_count: 0, shape };
    let node = parser.query(0)?;
    parser.skip_blanks();
    match parser.peek() {
        None => Ok(node.unwrap_or(Node::All)),
        Some(_) => Err(parser.wrong(
            "this `)` has no matching `(`; remove it, or put the text in quotes",
            parser.at,
        )),
    }
}

struct Parser<'t> {
    text: &'t str,
    at: usize,
    term_count: usize,
    shape: &'t Shape,
}

/// An operator.
#[derive(PartialEq)]
enum Keyword {
    And,
    Or,
    Not,
}

impl<'t> Parser<'t> {
    fn rest(&self) -> &'t str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn skip_blanks(&mut self) {
        self.at = self.text.len() - self.rest().trim_start().len();
    }

    fn eat(&mut self, c: char) -> bool {
        let found = self.peek() == Some(c);
        if found {
            self.at += c.len_utf8();
        }
        found
    }

    fn wrong(&self, message: impl Into<String>, byte: usize) -> Error {
        let characters = self.text.get(..byte).map_or(0, |before| before.chars().count());
        Error::invalid(message).at(Place::Offset(characters))
    }

    fn keyword(&self) -> Option<Keyword> {
        let rest = self.rest();
        let end = rest
            .find(|c: char| c.is_whitespace() || matches!(c, '(' | ')' | '"'))
            .unwrap_or(rest.len());
        match rest.get(..end)? {
            "AND" => Some(Keyword::And),
            "OR" => Some(Keyword::Or),
            "NOT" => Some(Keyword::Not),
            _ => None,
        }
    }

    fn query(&mut self, depth: usize) -> Result<Option<Node>> {
        let mut parts = Vec::new();
        loop {
            parts.extend(self.and(depth)?);
            self.skip_blanks();
            if self.keyword() != Some(Keyword::Or) {
                return Ok(one_or(parts, Node::Or));
            }
            self.at += 2;
            self.want_operand("OR")?;
        }
    }

    fn and(&mut self, depth: usize) -> Result<Option<Node>> {
        let mut parts = Vec::new();
        let mut is_first = true;
        loop {
            self.skip_blanks();
            if matches!(self.peek(), None | Some(')')) {
                break;
            }
            match self.keyword() {
                Some(Keyword::Or) if is_first => {
                    return Err(self.wrong("expected a word before OR", self.at));
                }
                Some(Keyword::Or) => break,
                Some(Keyword::And) if is_first => {
                    return Err(self.wrong("expected a word before AND", self.at));
                }
                Some(Keyword::And) => {
                    self.at += 3;
                    self.want_operand("AND")?;
                }
                _ => {}
            }
            is_first = false;
            parts.extend(self.unary(depth)?);
        }
        Ok(one_or(parts, Node::And))
    }

    /// Returns an error unless an operand follows, instead of another binary operator or the end.
    fn want_operand(&mut self, after: &str) -> Result<()> {
        self.skip_blanks();
        let is_missing = matches!(self.peek(), None | Some(')'))
            || matches!(self.keyword(), Some(Keyword::And | Keyword::Or));
        if is_missing {
            return Err(
                self.wrong(format!("expected a word, a phrase or `(` after {after}"), self.at)
            );
        }
        Ok(())
    }

    fn deeper(&self, depth: usize, byte: usize) -> Result<usize> {
        if depth == TEXT_QUERY_DEPTH {
            return Err(Error::limit(format!(
                "the text query nests deeper than TEXT_QUERY_DEPTH allows ({TEXT_QUERY_DEPTH})"
            ))
            .at(Place::Offset(self.text.get(..byte).map_or(0, |before| before.chars().count()))));
        }
        Ok(depth + 1)
    }

    fn unary(&mut self, depth: usize) -> Result<Option<Node>> {
        self.skip_blanks();
        let start = self.at;
        if self.keyword() == Some(Keyword::Not) {
            self.at += 3;
            self.want_operand("NOT")?;
            let inner = self.unary(self.deeper(depth, start)?)?;
            return Ok(inner.map(|inner| Node::Not(Box::new(inner))));
        }
        if self.peek() == Some('-') {
            self.at += 1;
            // A dash without a word is punctuation.
            if matches!(self.peek(), None | Some(')'))
                || self.peek().is_some_and(char::is_whitespace)
            {
                return Ok(None);
            }
            let inner = self.unary(self.deeper(depth, start)?)?;
            return Ok(inner.map(|inner| Node::Not(Box::new(inner))));
        }
        if self.eat('(') {
            let depth = self.deeper(depth, start)?;
            let inner = self.query(depth)?;
            self.skip_blanks();
            if !self.eat(')') {
                return Err(self.wrong(
                    "this `(` has no matching `)`; close it, or put the text in quotes",
                    start,
                ));
            }
            return Ok(inner);
        }
        self.leaf()
    }

    fn leaf(&mut self) -> Result<Option<Node>> {
        let start = self.at;
        let field = match self.field_name() {
            None => None,
            Some(name) if name.eq_ignore_ascii_case("kind") => return self.kind().map(Some),
            Some(name) if name.eq_ignore_ascii_case("workspace") => {
                let id = self.value("workspace")?;
                return Ok(Some(Node::Leaf(Leaf::Workspace(id))));
            }
            Some(name) => match self.shape.field(name) {
                Some(at) => {
                    let name = self.shape.fields.get(at).map_or(name, |field| field.name.as_str());
                    Some((name.to_owned(), at))
                }
                None => {
                    let known: Vec<&str> =
                        self.shape.fields.iter().map(|field| field.name.as_str()).collect();
                    return Err(self.wrong(
                        format!(
                            "there is no text field {name:?}; expected kind, workspace or one of \
                             {}; put text with a colon in quotes",
                            known.join(", ")
                        ),
                        start,
                    ));
                }
            },
        };
        let (text, is_quoted) = self.token()?;
        let prefix = if is_quoted { self.eat('*') } else { text.ends_with('*') };
        if !is_quoted && text == "*" && field.is_none() {
            return Ok(Some(Node::All));
        }
        let words: Vec<String> = words(&text, self.shape.folding).map(|word| word.text).collect();
        if words.is_empty() {
            if field.is_some() && !is_quoted && text.is_empty() {
                return Err(self.wrong("expected a word or a phrase after `:`", self.at));
            }
            return Ok(None);
        }
        self.term_count += words.len();
        if self.term_count > TEXT_QUERY_TERMS {
            return Err(Error::limit(format!(
                "the text query has more words than TEXT_QUERY_TERMS allows ({TEXT_QUERY_TERMS})"
            ))
            .at(Place::Offset(self.text.get(..start).map_or(0, |before| before.chars().count()))));
        }
        Ok(Some(Node::Leaf(Leaf::Text { field, words, prefix })))
    }

    /// An identifier followed directly by a colon; moves past the colon.
    fn field_name(&mut self) -> Option<&'t str> {
        let rest = self.rest();
        let end = rest.find(|c: char| !c.is_alphanumeric() && !matches!(c, '_' | '.'))?;
        let name = rest.get(..end)?;
        let starts_well = name.chars().next().is_some_and(|c| c.is_alphabetic() || c == '_');
        if !starts_well || !rest.get(end..)?.starts_with(':') {
            return None;
        }
        self.at += end + 1;
        Some(name)
    }

    fn kind(&mut self) -> Result<Node> {
        let start = self.at;
        let name = self.value("kind")?;
        match self.shape.kind(&name) {
            Some(code) => Ok(Node::Leaf(Leaf::Kind(self.shape.kind_name(code), code))),
            None => {
                let known: Vec<String> =
                    self.shape.kinds.iter().map(|kind| self.shape.kind_name(kind.code)).collect();
                Err(self.wrong(
                    format!("there is no kind {name:?}; expected one of {}", known.join(", ")),
                    start,
                ))
            }
        }
    }

    fn value(&mut self, what: &str) -> Result<String> {
        let start = self.at;
        let (text, _) = self.token()?;
        if text.is_empty() {
            return Err(self.wrong(format!("expected a value after `{what}:`"), start));
        }
        Ok(text)
    }

    /// A quoted text without its quotes, or the characters up to the next blank, parenthesis or
    /// quote; and whether it was quoted.
    fn token(&mut self) -> Result<(String, bool)> {
        let start = self.at;
        if !self.eat('"') {
            let rest = self.rest();
            let end = rest
                .find(|c: char| c.is_whitespace() || matches!(c, '(' | ')' | '"'))
                .unwrap_or(rest.len());
            self.at += end;
            return Ok((rest.get(..end).unwrap_or_default().to_owned(), false));
        }
        let mut text = String::new();
        let mut characters = self.rest().char_indices();
        while let Some((offset, c)) = characters.next() {
            match c {
                '"' => {
                    self.at += offset + 1;
                    return Ok((text, true));
                }
                '\\' => text.extend(characters.next().map(|(_, c)| c)),
                c => text.push(c),
            }
        }
        Err(self.wrong("this quote is not closed", start))
    }
}

fn one_or(mut parts: Vec<Node>, many: fn(Vec<Node>) -> Node) -> Option<Node> {
    if parts.len() > 1 { Some(many(parts)) } else { parts.pop() }
}
