//! The property trees of a report: `<Prop Name='..' Type='..'>`.

use crate::results::Told;
use crate::xml::Element;

/// What a property has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Object,
    Array,
    Number,
    Boolean,
    Text,
}

/// A property.
#[derive(Clone, Copy, Debug)]
pub(super) struct Prop<'d>(Element<'d>);

impl<'d> Prop<'d> {
    /// The properties inside of an element, in their order. Other elements are told, but for those
    /// that describe arrays and values.
    pub(super) fn inside(element: Element<'d>, told: &mut Told) -> Vec<Prop<'d>> {
        let mut props = Vec::new();
        for child in element.children() {
            match child.name() {
                "Prop" => props.push(Prop(child)),
                "Value" | "ArrayElementPrototype" => {}
                name => told.note(child.line(), format!("the element {name:?} is not read")),
            }
        }
        props
    }

    pub(super) fn line(self) -> u64 {
        self.0.line()
    }

    pub(super) fn element(self) -> Element<'d> {
        self.0
    }

    /// Its name; empty for an element of an array.
    pub(super) fn name(self) -> &'d str {
        self.0.attribute("Name").unwrap_or_default()
    }

    /// The name of its type.
    fn type_name(self) -> &'d str {
        self.0.attribute("Type").unwrap_or_default()
    }

    /// Whether it is of a type with this name, in the form of any version.
    pub(super) fn is_of(self, name: &str) -> bool {
        self.type_name() == name || self.0.attribute("TypeName") == Some(name)
    }

    pub(super) fn kind(self) -> Kind {
        match self.type_name() {
            "Number" => Kind::Number,
            "Boolean" => Kind::Boolean,
            "String" | "Path" | "Reference" => Kind::Text,
            "Array" => Kind::Array,
            _ if self.0.child("Prop").is_some() => Kind::Object,
            _ if self.0.children().any(|child| child.attribute("ID").is_some()) => Kind::Array,
            _ if self.0.child("Value").is_some() => Kind::Text,
            _ => Kind::Object,
        }
    }

    /// The property inside of it with this name.
    pub(super) fn get(self, name: &str) -> Option<Prop<'d>> {
        let props = self.0.children().filter(|child| child.name() == "Prop").map(Prop);
        props.into_iter().find(|prop| prop.name() == name)
    }

    /// The property that is reached by these names.
    pub(super) fn below(self, names: &[&str]) -> Option<Prop<'d>> {
        names.iter().try_fold(self, |prop, name| prop.get(name))
    }

    /// The properties inside of it.
    pub(super) fn props(self, told: &mut Told) -> Vec<Prop<'d>> {
        Self::inside(self.0, told)
    }

    /// The text of its value. `None` for an object and an array.
    pub(super) fn value(self) -> Option<&'d str> {
        let has_value = !matches!(self.kind(), Kind::Object | Kind::Array);
        has_value.then(|| self.0.child("Value").map_or("", |value| value.text()))
    }

    /// The text of its value, if it is not blank.
    pub(super) fn text(self) -> Option<&'d str> {
        self.value().filter(|text| !text.trim().is_empty())
    }

    /// The text, not blank, of the property inside of it with this name.
    pub(super) fn text_of(self, name: &str) -> Option<&'d str> {
        self.get(name)?.text()
    }

    /// The elements of an array: a property each, or the text of a value. Elements without a name
    /// have that of their position, as `[0]`.
    pub(super) fn items(self) -> impl Iterator<Item = Item<'d>> {
        let values = self.0.children().filter(|child| matches!(child.name(), "Value" | "Prop"));
        values.map(|child| {
            if child.name() == "Prop" {
                return Item::Prop(Prop(child));
            }
            child.child("Prop").map_or(Item::Text(child), |prop| Item::Prop(Prop(prop)))
        })
    }

    /// The properties among the elements of an array.
    pub(super) fn prop_items(self) -> impl Iterator<Item = Prop<'d>> {
        self.items().filter_map(|item| match item {
            Item::Prop(prop) => Some(prop),
            Item::Text(_) => None,
        })
    }

    /// The name of the type of an array's elements.
    pub(super) fn element_type(self) -> &'d str {
        self.0.attribute("ElementType").unwrap_or_default()
    }
}

/// An element of an array.
#[derive(Clone, Copy, Debug)]
pub(super) enum Item<'d> {
    Prop(Prop<'d>),
    Text(Element<'d>),
}
