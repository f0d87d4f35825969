//! The escapes of comments and notes.

use std::borrow::Cow;

/// A comment with its escapes read: `\\`, and `\` with two hexadecimal digits.
pub(super) fn unescape(text: &str) -> Cow<'_, str> {
    if !text.contains('\\') {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('\\') {
        out.push_str(before);
        let code = after.get(..2).and_then(|digits| {
            // A sign is no digit.
            let is_code = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
            u8::from_str_radix(digits, 16).ok().filter(|_| is_code)
        });
        rest = match (after.strip_prefix('\\'), code) {
            (Some(behind), _) => {
                out.push('\\');
                behind
            }
            (None, Some(code)) => {
                out.push(char::from(code));
                after.get(2..).unwrap_or_default()
            }
            (None, None) => {
                out.push('\\');
                after
            }
        };
    }
    out.push_str(rest);
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_are_read_and_other_backslashes_stay() {
        for (text, expected) in [
            ("plain", "plain"),
            (r"C:\\data\\new", r"C:\data\new"),
            (r"a\09b\0D\0Ac", "a\tb\r\nc"),
            (r"x\2Cy", "x,y"),
            (r"a\b", r"a\b"),
            (r"a\+1", r"a\+1"),
            (r"end\", r"end\"),
            (r"\ä", r"\ä"),
        ] {
            assert_eq!(unescape(text), expected, "{text}");
        }
    }
}
