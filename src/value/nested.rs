//! Requests that nest in themselves by a member `children`.
//!
//! A parser that calls itself for each level needs stack for each level. Here levels of `children`
//! are kept in lists: [`parse`] reads the text, and [`children`] the records. So the stack that
//! they need does not grow with the levels.

use serde::de::{Deserialize, DeserializeOwned, Deserializer, Error as _, IgnoredAny};
use serde_json::{Map, Value};

use super::ignored;
use super::located::{LocatedValue, PathError, Whole};

/// The member by which records nest.
const CHILDREN: &str = "children";
/// Lists of `children` in each other. A service says itself what is too deep by one.
const CHILDREN_DEEP: usize = 100;
/// Other lists and objects in each other, in a text that `serde_json` finds too deep. What is not
/// read as records of children, as a free value, is read by calls for each level.
const OTHERS_DEEP: usize = 48;

/// A record that has records of its own type among its members, as `children`.
pub(crate) trait Nested: DeserializeOwned {
    fn set_children(&mut self, children: Vec<Self>);
}

/// Reads the member `children`.
pub(crate) fn children<'de, D: Deserializer<'de>, T: Nested>(
    deserializer: D,
) -> Result<Option<Vec<T>>, D::Error> {
    let Whole(value) = Whole::deserialize(deserializer)?;
    read(value).map_err(D::Error::custom)
}

/// A list of children that is being read.
struct Level<T> {
    rest: std::iter::Enumerate<std::vec::IntoIter<Value>>,
    read: Vec<T>,
    /// The place of the child that is being read, whose own children are in the next level.
    index: usize,
    /// The child, without its children.
    parent: Option<T>,
    _inside: Option<[ignored::ValueScope; 2]>,
}

impl<T: Nested> Level<T> {
    fn new(value: Value, inside: Option<[ignored::ValueScope; 2]>) -> Located<Self> {
        let items = match value {
            Value::Array(items) => items,
            // In the words of the reader of lists, which fails before it reads anything.
            other => match Vec::<IgnoredAny>::deserialize(LocatedValue(other)) {
                Ok(_) => Vec::new(),
                Err(error) => return Err(error),
            },
        };
        let rest = items.into_iter().enumerate();
        Ok(Self { rest, read: Vec::new(), index: 0, parent: None, _inside: inside })
    }
}

type Located<T> = Result<T, PathError>;

/// Reads a list of children. Each record is read without its own children, which are a level more.
fn read<T: Nested>(value: Value) -> Located<Option<Vec<T>>> {
    if value.is_null() {
        return Ok(None);
    }
    let mut above: Vec<Level<T>> = Vec::new();
    let mut level = Level::new(value, None)?;
    loop {
        match next(&mut level, above.len()) {
            Ok(Step::Deeper(below)) => above.push(std::mem::replace(&mut level, below)),
            Ok(Step::Read) => {}
            Ok(Step::End) => {
                let Some(mut outer) = above.pop() else { return Ok(Some(level.read)) };
                if let Some(mut parent) = outer.parent.take() {
                    parent.set_children(level.read);
                    outer.read.push(parent);
                }
                level = outer;
            }
            Err(error) => {
                let within = |error: PathError, level: &Level<T>| {
                    error.within(CHILDREN).within(&format!("[{}]", level.index))
                };
                return Err(above.iter().rev().fold(error, within));
            }
        }
    }
}

enum Step<T> {
    Deeper(Level<T>),
    Read,
    End,
}

/// Reads the next record of a level, or begins the level of its children.
fn next<T: Nested>(level: &mut Level<T>, above: usize) -> Located<Step<T>> {
    let Some((index, mut item)) = level.rest.next() else { return Ok(Step::End) };
    level.index = index;
    let at = |error: PathError| error.within(&format!("[{index}]"));
    let children = item.as_object_mut().and_then(take_children);
    let record = {
        let _inside = ignored::inside_item(index);
        T::deserialize(LocatedValue(item)).map_err(at)?
    };
    let Some(children) = children else {
        level.read.push(record);
        return Ok(Step::Read);
    };
    if above + 1 >= CHILDREN_DEEP {
        return Err(at(PathError::custom(too_deep()).within(CHILDREN)));
    }
    let inside = [ignored::inside_item(index), ignored::inside(CHILDREN)];
    let below = Level::new(children, Some(inside));
    let below = below.map_err(|error| at(error.within(CHILDREN)))?;
    level.parent = Some(record);
    Ok(Step::Deeper(below))
}

/// Whether the name of a member is one of its spellings.
fn is_children(name: &str) -> bool {
    name.trim_end_matches('_') == CHILDREN
}

/// Takes the member out of an object, by any of its spellings. The exact one wins, then the last;
/// null is none.
fn take_children(members: &mut Map<String, Value>) -> Option<Value> {
    let mut children = members.remove(CHILDREN);
    let is_exact = children.is_some();
    members.retain(|key, value| {
        let is_other = is_children(key);
        if is_other && !is_exact {
            children = Some(std::mem::take(value));
        }
        !is_other
    });
    children.filter(|value| !value.is_null())
}

fn too_deep() -> String {
    format!("`{CHILDREN}` nest in more than {CHILDREN_DEEP} levels; send the deeper ones apart")
}

/// Whether a text nests deeper than `serde_json` reads it.
pub(super) fn is_deep(error: &serde_json::Error) -> bool {
    error.is_syntax() && error.to_string().starts_with("recursion limit exceeded")
}

/// Why a text is not read.
#[derive(Debug)]
pub(super) enum Unreadable {
    /// `children` nest deeper than is allowed.
    TooDeep(String),
    /// It is no JSON, or nests deeper by other lists and objects.
    Syntax(String),
}

/// Reads a text in which lists of `children` may nest deeper than `serde_json` reads them.
///
/// # Errors
/// More levels than are allowed; a syntax error.
pub(super) fn parse(json: &[u8]) -> Result<Value, Unreadable> {
    let mut text = Text { json, at: 0 };
    let mut open: Vec<Open> = Vec::new();
    let (mut children, mut others) = (0, 0);
    loop {
        let mut value = match text.next() {
            Some(begin @ (b'[' | b'{')) => {
                text.at += 1;
                let new = Open::new(begin == b'[', open.last());
                *(if new.is_children { &mut children } else { &mut others }) += new.weight;
                if children > CHILDREN_DEEP {
                    return Err(Unreadable::TooDeep(too_deep()));
                }
                if others > OTHERS_DEEP {
                    return Err(text.fault(&format!(
                        "lists and objects nest in more than 127 levels, and in more than \
                         {OTHERS_DEEP} beside those of `{CHILDREN}`; send what is deeper as a text"
                    )));
                }
                open.push(new);
                if text.next() == Some(begin + 2) {
                    None
                } else {
                    text.begin_member(&mut open)?;
                    continue;
                }
            }
            _ => Some(text.scalar()?),
        };
        // Every list and object that ends here is a value of the one around it.
        loop {
            if let Some(value) = value.take() {
                let Some(around) = open.last_mut() else { return text.end(value) };
                around.add(value);
                if text.next() == Some(b',') {
                    text.at += 1;
                    text.begin_member(&mut open)?;
                    break;
                }
            }
            let end = open.last().map(|open| if open.is_list { b']' } else { b'}' });
            if end.is_none() || text.next() != end {
                return Err(text.fault("expected a comma or the end of a list or an object"));
            }
            text.at += 1;
            if let Some(ended) = open.pop() {
                *(if ended.is_children { &mut children } else { &mut others }) -= ended.weight;
                value = Some(ended.into_value());
            }
        }
    }
}

/// A list or an object that has begun.
struct Open {
    is_list: bool,
    /// Whether it is a list of `children`.
    is_children: bool,
    /// What it adds to the levels: nothing for the objects of a list of `children`.
    weight: usize,
    items: Vec<Value>,
    members: Map<String, Value>,
    key: String,
}

impl Open {
    fn new(is_list: bool, around: Option<&Self>) -> Self {
        let is_child = !is_list && around.is_some_and(|around| around.is_children);
        let is_children =
            is_list && around.is_some_and(|around| !around.is_list && around.key == CHILDREN);
        let (items, members, key) = Default::default();
        Self { is_list, is_children, weight: usize::from(!is_child), items, members, key }
    }

    fn add(&mut self, value: Value) {
        if self.is_list {
            self.items.push(value);
        } else {
            self.members.insert(std::mem::take(&mut self.key), value);
        }
    }

    fn into_value(self) -> Value {
        if self.is_list { Value::Array(self.items) } else { Value::Object(self.members) }
    }
}

struct Text<'j> {
    json: &'j [u8],
    at: usize,
}

impl Text<'_> {
    fn rest(&self) -> &[u8] {
        self.json.get(self.at..).unwrap_or_default()
    }

    /// The next byte that is no white space.
    fn next(&mut self) -> Option<u8> {
        let is_space = |byte: &u8| matches!(byte, b' ' | b'\n' | b'\r' | b'\t');
        let spaces = self.rest().iter().take_while(|byte| is_space(byte)).count();
        self.at += spaces;
        self.rest().first().copied()
    }

    /// A text, a number, true, false or null.
    fn scalar(&mut self) -> Result<Value, Unreadable> {
        let mut values = serde_json::Deserializer::from_slice(self.rest()).into_iter::<Value>();
        let read = (values.next(), values.byte_offset());
        let (Some(Ok(value)), length) = read else {
            return Err(self.fault("expected a value"));
        };
        self.at += length;
        Ok(value)
    }

    /// Reads the key of the next member, if that is one of an object.
    fn begin_member(&mut self, open: &mut [Open]) -> Result<(), Unreadable> {
        let Some(open) = open.last_mut().filter(|open| !open.is_list) else { return Ok(()) };
        let key = match self.next() {
            Some(b'"') => self.scalar()?,
            _ => return Err(self.fault("expected the name of a member")),
        };
        if self.next() != Some(b':') {
            return Err(self.fault("expected a colon"));
        }
        self.at += 1;
        if let Value::String(key) = key {
            open.key = key;
        }
        Ok(())
    }

    fn end(&mut self, value: Value) -> Result<Value, Unreadable> {
        match self.next() {
            None => Ok(value),
            Some(_) => Err(self.fault("expected the end of the text")),
        }
    }

    fn fault(&self, what: &str) -> Unreadable {
        let before = self.json.get(..self.at).unwrap_or_default();
        let line = before.iter().filter(|byte| **byte == b'\n').count() + 1;
        let column = before.iter().rev().take_while(|byte| **byte != b'\n').count() + 1;
        Unreadable::Syntax(format!("{what} at line {line} column {column}"))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{CHILDREN_DEEP, OTHERS_DEEP, Unreadable, parse};

    #[test]
    fn texts_are_read_as_by_the_other_parser() {
        for text in [
            "0",
            " -1.5e3 ",
            "null",
            "\"a\\u00e9\\n\"",
            "[]",
            "{}",
            "[ [ ] , { } ]",
            r#"{"a":[1,2.5,"x",{"b":null}],"children":[{"children":[]},1,{}]}"#,
            "{\"a\" : true\n, \"a\":false }",
            "18446744073709551615",
        ] {
            let expected: Value = serde_json::from_str(text).unwrap();
            assert_eq!(parse(text.as_bytes()).unwrap(), expected, "{text}");
        }
        for text in [
            "",
            "[",
            "{",
            "]",
            "[1",
            "[1,",
            "[1,]",
            "{\"a\"",
            "{\"a\":",
            "{\"a\":1",
            "{\"a\":1,}",
            "{a:1}",
            "{1:1}",
            "[1]2",
            "[1}",
            "{\"a\":1]",
            "\"a",
            "01",
            "[1 2]",
            "tru",
            "\u{feff}1",
            "[\"\u{1}\"]",
            "{,}",
            "[,]",
            "[1,,2]",
        ] {
            assert!(serde_json::from_str::<Value>(text).is_err(), "{text}");
            let Unreadable::Syntax(error) = parse(text.as_bytes()).unwrap_err() else {
                panic!("{text}")
            };
            assert!(error.contains(" column "), "{text}: {error}");
        }
        assert!(parse(b"[\"\xff\"]").is_err());
        let error = parse(b"[1,\n  2 3]").unwrap_err();
        assert!(
            matches!(&error, Unreadable::Syntax(text) if text.ends_with("at line 2 column 5")),
            "{error:?}"
        );
    }

    #[test]
    fn children_and_other_levels_have_bounds_of_their_own() {
        let nest = |children: usize, others: usize| {
            let open = "{\"children\":[".repeat(children);
            let others = ("[".repeat(others), "]".repeat(others));
            format!("{open}{}{}{}", others.0, others.1, "]}".repeat(children))
        };
        // The object around the first list of children is another level.
        let deepest = nest(CHILDREN_DEEP, OTHERS_DEEP - 1);
        let mut value = &parse(deepest.as_bytes()).unwrap();
        for _ in 0..CHILDREN_DEEP {
            value = &value["children"][0];
        }
        assert!(value.is_array());
        let error = parse(nest(CHILDREN_DEEP + 1, 0).as_bytes()).unwrap_err();
        assert!(matches!(error, Unreadable::TooDeep(_)), "{error:?}");
        let error = parse(nest(CHILDREN_DEEP, OTHERS_DEEP).as_bytes()).unwrap_err();
        assert!(matches!(error, Unreadable::Syntax(_)), "{error:?}");
        // Levels side by side do not add up.
        let one = nest(60, 40);
        assert_eq!(
            parse(format!("[{one},{one},{one}]").as_bytes()).unwrap()[2],
            parse(one.as_bytes()).unwrap()
        );
        assert_eq!(parse(b"{\"children\":7}").unwrap(), json!({"children": 7}));
    }
}
