//! Splits the text into tokens, one at a time, so faults after the first syntax error are not
//! looked for.

use super::fault::{Fault, FaultKind, FaultResult, Span};

/// One token. The parser tells keywords from names, because after a dot every word is a name.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Token {
    /// Letter or `_`, then letters, digits, `_`.
    Word,
    Text(String),
    /// At most 2^63; that value is valid only after a minus sign.
    Int(u64),
    Real(f64),
    /// `@n`; `None` when the number does not fit in `usize`.
    Substitution(Option<usize>),
    /// An operator or bracket.
    Sign(&'static str),
    End,
}

/// Reads tokens from a text.
#[derive(Clone, Copy)]
pub(super) struct Lexer<'t> {
    text: &'t str,
    at: usize,
}

/// Longer signs come before their prefixes, because the first match is taken.
const SIGNS: &[&str] = &[
    "&&", "||", "??", "=>", "==", "!=", "<>", "<=", ">=", "=", "!", "<", ">", "&", "|", "?", ":",
    "+", "-", "*", "/", "%", "(", ")", "[", "]", "{", "}", ",", ".", "$", "^", "~",
];

impl<'t> Lexer<'t> {
    pub(super) fn new(text: &'t str) -> Self {
        Self { text, at: 0 }
    }

    fn rest(&self) -> &'t str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn skip_while(&mut self, accept: impl Fn(char) -> bool) -> usize {
        let rest = self.rest();
        let len = rest.find(|c| !accept(c)).unwrap_or(rest.len());
        self.at += len;
        len
    }

    /// Returns the next token and its span. At the end of the text every call returns `End`.
    pub(super) fn next(&mut self) -> FaultResult<(Token, Span)> {
        self.skip_while(char::is_whitespace);
        let from = self.at;
        let Some(first) = self.peek() else {
            return Ok((Token::End, Span::new(from, from)));
        };
        let token = match first {
            '"' | '\'' => self.string(first)?,
            '0'..='9' => self.number()?,
            '@' => self.substitution()?,
            _ if first.is_alphabetic() || first == '_' => {
                self.skip_while(|c| c.is_alphanumeric() || c == '_');
                Token::Word
            }
            _ => {
                let rest = self.rest();
                let Some(sign) = SIGNS.iter().find(|sign| rest.starts_with(**sign)) else {
                    let span = Span::new(from, from + first.len_utf8());
                    return Err(Fault::new(
                        FaultKind::BadCharacter,
                        span,
                        format!("no token starts with {first:?}"),
                    ));
                };
                self.at += sign.len();
                Token::Sign(sign)
            }
        };
        Ok((token, Span::new(from, self.at)))
    }

    fn substitution(&mut self) -> FaultResult<Token> {
        let from = self.at;
        self.at += 1;
        if self.skip_while(|c| c.is_ascii_digit()) == 0 {
            let span = Span::new(from, self.at);
            return Err(Fault::new(
                FaultKind::BadCharacter,
                span,
                "`@` must be followed by the number of a substitution",
            ));
        }
        let digits = Span::new(from + 1, self.at).text(self.text);
        Ok(Token::Substitution(digits.parse().ok()))
    }

    fn string(&mut self, quote: char) -> FaultResult<Token> {
        let from = self.at;
        self.at += 1;
        let mut out = String::new();
        loop {
            let rest = self.rest();
            let Some(stop) = rest.find([quote, '\\']) else {
                let end = self.text.len();
                return Err(Fault::new(
                    FaultKind::UnterminatedString,
                    Span::new(end, end),
                    format!(
                        "the string that begins with {:?} has no closing {quote}",
                        clip(Span::new(from, end).text(self.text))
                    ),
                ));
            };
            out.push_str(rest.get(..stop).unwrap_or_default());
            self.at += stop + 1;
            if rest.get(stop..).is_some_and(|tail| tail.starts_with(quote)) {
                return Ok(Token::Text(out));
            }
            self.escape(from, &mut out)?;
        }
    }

    /// Decodes the escape after a backslash.
    fn escape(&mut self, string_from: usize, out: &mut String) -> FaultResult<()> {
        let from = self.at - 1;
        let Some(letter) = self.peek() else {
            let end = Span::new(self.text.len(), self.text.len());
            return Err(Fault::new(
                FaultKind::UnterminatedString,
                end,
                "the string ends in a backslash",
            ));
        };
        self.at += letter.len_utf8();
        let decoded = match letter {
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'a' => '\u{7}',
            'b' => '\u{8}',
            'f' => '\u{c}',
            'v' => '\u{b}',
            '0' => '\0',
            'x' => return self.code(string_from, 2, out),
            'u' => return self.code(string_from, 4, out),
            _ if !letter.is_alphanumeric() => letter,
            _ => {
                let text = Span::new(from, self.at).text(self.text);
                let span = Span::new(string_from, self.at);
                return Err(Fault::new(
                    FaultKind::BadEscape,
                    span,
                    format!("`{text}` is not an escape sequence"),
                ));
            }
        };
        out.push(decoded);
        Ok(())
    }

    fn hex(&mut self, len: usize) -> Option<u32> {
        let digits = self.rest().get(..len)?;
        if !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return None;
        }
        self.at += len;
        u32::from_str_radix(digits, 16).ok()
    }

    /// `\xHH` or `\uHHHH`; two `\u` in a row may be a surrogate pair, as UTF-16 clients write it.
    fn code(&mut self, string_from: usize, len: usize, out: &mut String) -> FaultResult<()> {
        let first = self.hex(len);
        let decoded = match first {
            Some(high @ 0xd800..=0xdbff) => {
                let low = self.rest().starts_with("\\u").then(|| {
                    self.at += 2;
                    self.hex(4)
                });
                match low.flatten() {
                    Some(low @ 0xdc00..=0xdfff) => {
                        char::from_u32(0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00))
                    }
                    _ => None,
                }
            }
            Some(code) => char::from_u32(code),
            None => None,
        };
        let Some(decoded) = decoded else {
            let span = Span::new(string_from, self.at);
            let message = format!("an escape needs {len} hexadecimal digits that name a character");
            return Err(Fault::new(FaultKind::BadEscape, span, message));
        };
        out.push(decoded);
        Ok(())
    }

    fn number(&mut self) -> FaultResult<Token> {
        let from = self.at;
        let rest = self.rest();
        for (prefixes, radix) in [(["0x", "0X"], 16), (["0b", "0B"], 2)] {
            if prefixes.iter().any(|prefix| rest.starts_with(prefix)) {
                self.at += 2;
                let digits_from = self.at;
                self.skip_while(|c| c.is_digit(radix));
                let digits = Span::new(digits_from, self.at).text(self.text);
                let value =
                    u64::from_str_radix(digits, radix).ok().filter(|value| *value <= 1 << 63);
                let suffix_from = self.at;
                self.skip_while(|c| c.is_alphanumeric() || c == '_');
                return match value {
                    Some(value)
                        if is_integer_suffix(Span::new(suffix_from, self.at).text(self.text)) =>
                    {
                        Ok(Token::Int(value))
                    }
                    _ => Err(self.bad_number(from)),
                };
            }
        }
        self.skip_while(|c| c.is_ascii_digit());
        let mut real = false;
        if self.peek() == Some('.') {
            self.at += 1;
            real = true;
            if self.skip_while(|c| c.is_ascii_digit()) == 0 {
                return Err(self.bad_number(from));
            }
        }
        if matches!(self.peek(), Some('e' | 'E')) {
            self.at += 1;
            real = true;
            if matches!(self.peek(), Some('+' | '-')) {
                self.at += 1;
            }
            if self.skip_while(|c| c.is_ascii_digit()) == 0 {
                self.skip_while(char::is_alphanumeric);
                return Err(self.bad_number(from));
            }
        }
        let digits = Span::new(from, self.at).text(self.text);
        let suffix_from = self.at;
        self.skip_while(|c| c.is_alphanumeric() || c == '_');
        let suffix = Span::new(suffix_from, self.at).text(self.text);
        if is_integer_suffix(suffix) && !real {
            return digits
                .parse()
                .ok()
                .filter(|value| *value <= 1 << 63)
                .map(Token::Int)
                .ok_or_else(|| self.bad_number(from));
        }
        let is_real = (real && suffix.is_empty())
            || ["f", "d", "m"].iter().any(|known| suffix.eq_ignore_ascii_case(known));
        match digits.parse::<f64>() {
            Ok(value) if is_real && value.is_finite() => Ok(Token::Real(value)),
            _ => Err(self.bad_number(from)),
        }
    }

    fn bad_number(&self, from: usize) -> Fault {
        let span = Span::new(from, self.at);
        let message =
            format!("`{}` is not a number that fits in 64 bits", clip(span.text(self.text)));
        Fault::new(FaultKind::BadNumber, span, message)
    }
}

fn is_integer_suffix(suffix: &str) -> bool {
    ["", "u", "l", "ul"].iter().any(|known| suffix.eq_ignore_ascii_case(known))
}

/// The first characters of a text, for messages.
pub(super) fn clip(text: &str) -> String {
    const SHOWN: usize = 60;
    let mut shown: String = text.chars().take(SHOWN).collect();
    if shown.len() < text.len() {
        shown.push('…');
    }
    shown
}
