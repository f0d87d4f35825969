//! Values: a datum, a collection of items, or an array.

use stationdb::serde_json::{Map, Number, Value};

use crate::limits::VALUE_DEPTH;
use crate::results::Told;
use crate::results::parameter::{number, number_text};
use crate::xml::Element;

/// What a datum has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Number,
    Boolean,
    Text,
}

/// A value with its unit.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Datum {
    /// A number as short as it can be, `true` or `false`, or the text as it is.
    pub(super) text: String,
    pub(super) kind: Kind,
    pub(super) unit: Option<String>,
}

impl Datum {
    /// The value of an element with the form of a datum.
    pub(super) fn of(element: Element<'_>) -> Self {
        let declared = element.attribute("type").unwrap_or_default();
        let declared = declared.rsplit(':').next().unwrap_or_default();
        let unit = element.attribute("unit").or(element.attribute("nonStandardUnit"));
        let unit = unit.map(|unit| unit.trim().to_owned());
        let value = element.attributes().find(|(name, _)| *name == "value");
        let value = value.map(|(_, value)| value);
        let value = value.or_else(|| element.child("Value").map(|value| value.text()));
        let part = |name| element.attribute(name).map(number_text);
        // Those of the standard, and those of the sequencer, which begin with TS_.
        let base = declared.strip_prefix("TS_").unwrap_or(declared).to_ascii_lowercase();
        let is_text =
            matches!(base.as_str(), "string" | "datetime" | "binary" | "hexadecimal" | "octal");
        let (text, kind) = match (value, part("real"), part("imaginary")) {
            (None, Some(real), Some(imaginary)) => {
                let sign = if imaginary.starts_with('-') { "" } else { "+" };
                (format!("{real}{sign}{imaginary}j"), Kind::Text)
            }
            (Some(text), ..) if is_text => (text.to_owned(), Kind::Text),
            (Some(text), ..) if base == "boolean" => (boolean(text), Kind::Boolean),
            (Some(text), ..) if number(text).is_some() => (number_text(text), Kind::Number),
            (Some(text), ..) => (text.to_owned(), Kind::Text),
            (None, ..) => (element.text().to_owned(), Kind::Text),
        };
        Self { text, kind, unit }
    }

    fn json(self) -> Value {
        match (self.kind, self.text.as_str()) {
            (Kind::Boolean, "true") => Value::Bool(true),
            (Kind::Boolean, "false") => Value::Bool(false),
            (Kind::Number, text) => match (text.parse::<i64>(), text.parse::<f64>()) {
                (Ok(whole), _) => whole.into(),
                (_, Ok(value)) => Number::from_f64(value).map_or(text.into(), Value::Number),
                _ => text.into(),
            },
            (_, text) => text.into(),
        }
    }
}

fn boolean(text: &str) -> String {
    match text.trim() {
        "1" => "true".to_owned(),
        "0" => "false".to_owned(),
        other => other.to_ascii_lowercase(),
    }
}

/// The value inside of an element, as JSON: a datum with its type, a collection as an object, an
/// array as a list of its elements. `None` if there is none.
pub(super) fn json(of: Element<'_>, told: &mut Told) -> Option<Value> {
    inner(of, 0, told)
}

fn inner(of: Element<'_>, depth: usize, told: &mut Told) -> Option<Value> {
    if depth >= VALUE_DEPTH {
        told.note(of.line(), format!("values more than {VALUE_DEPTH} levels deep are left out"));
        return None;
    }
    if let Some(datum) = of.child("Datum") {
        return Some(Datum::of(datum).json());
    }
    if let Some(collection) = of.child("Collection") {
        let items = collection.children().filter(|child| child.name() == "Item");
        let mut object = Map::new();
        for (at, item) in items.enumerate() {
            let name = item.attribute("name").map_or_else(|| at.to_string(), str::to_owned);
            object.insert(name, inner(item, depth + 1, told).unwrap_or(Value::Null));
        }
        return Some(Value::Object(object));
    }
    let array = of.child("IndexedArray")?;
    let elements = array.children().filter(|child| child.name() == "Element");
    let elements = elements.map(|element| {
        let is_leaf = element.children().all(|child| child.name() == "Value");
        if is_leaf {
            return Datum::of(element).json();
        }
        inner(element, depth + 1, told).unwrap_or(Value::Null)
    });
    Some(Value::Array(elements.collect()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn datum(attributes: &str, inside: &str) -> Datum {
        let text = format!("<Datum {attributes}>{inside}</Datum>");
        Datum::of(crate::xml::read(text.as_bytes()).unwrap().root())
    }

    #[test]
    fn values_of_every_type() {
        for (attributes, inside, text, kind) in [
            ("x:type='c:double' value='5.00'", "", "5", Kind::Number),
            ("x:type='ts:TS_double' value='INF'", "", "Infinity", Kind::Number),
            ("x:type='c:integer' value='-3'", "", "-3", Kind::Number),
            ("x:type='c:boolean' value='1'", "", "true", Kind::Boolean),
            ("x:type='ts:TS_boolean' value='False'", "", "false", Kind::Boolean),
            ("x:type='c:string'", "<Value> 3.10</Value>", " 3.10", Kind::Text),
            ("x:type='ts:TS_string'", "<Value/>", "", Kind::Text),
            ("x:type='c:dateTime' value='2024-02-01'", "", "2024-02-01", Kind::Text),
            ("x:type='c:complex' real='1.0' imaginary='-2'", "", "1-2j", Kind::Text),
            ("x:type='c:complex' real='1.0' imaginary='2'", "", "1+2j", Kind::Text),
            ("value='7'", "", "7", Kind::Number),
            ("value='x'", "", "x", Kind::Text),
            ("x:type='c:hexadecimal' value='0x1F'", "", "0x1F", Kind::Text),
        ] {
            let found = datum(attributes, inside);
            assert_eq!((found.text.as_str(), found.kind), (text, kind), "{attributes}");
        }
        assert_eq!(datum("unit='V' nonStandardUnit='Volt'", "").unit.as_deref(), Some("V"));
        assert_eq!(datum("nonStandardUnit='Volt'", "").unit.as_deref(), Some("Volt"));
        assert_eq!(datum("unit=' '", "").unit, None);
    }

    #[test]
    fn values_of_values() {
        let text = "<TestData><Collection><Item name='a'><Datum value='1.5'/></Item>\
                    <Item><IndexedArray dimensions='[3]'><Element position='[0]' value='1'/>\
                    <Element><Datum x:type='boolean' value='true'/></Element>\
                    <Element x:type='string'><Value>7</Value></Element></IndexedArray></Item>\
                    </Collection></TestData>";
        let document = crate::xml::read(text.as_bytes()).unwrap();
        let value = json(document.root(), &mut Told::default()).unwrap();
        assert_eq!(value.to_string(), r#"{"1":[1,true,"7"],"a":1.5}"#);
        let deep = ["<Collection><Item>".repeat(80), "</Item></Collection>".repeat(80)].concat();
        let document = crate::xml::read(format!("<d>{deep}</d>").as_bytes()).unwrap();
        let mut told = Told::default();
        assert!(json(document.root(), &mut told).is_some());
        assert_eq!(told.finish().len(), 1);
    }
}
