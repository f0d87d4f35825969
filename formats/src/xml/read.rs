//! Reads a document into its tree.

use std::collections::HashMap;
use std::ops::Range;

use quick_xml::Reader;
use quick_xml::escape::{resolve_xml_entity, unescape};
use quick_xml::events::{BytesRef, BytesStart, Event};
use stationdb::{Error, Place, Result};

use super::encoding::decode;
use super::tree::{Attribute, Document, NONE, Node};
use crate::limits::{XML_ATTRIBUTES, XML_BYTES, XML_DEPTH, XML_ELEMENTS};

/// Reads a document.
///
/// # Errors
/// `InvalidArgument` with the line of what is no XML, and for a document type; `LimitExceeded` for
/// too many bytes, elements, levels or attributes of an element; `Unsupported` for an encoding.
pub(crate) fn read(bytes: &[u8]) -> Result<Document> {
    if bytes.len() > XML_BYTES {
        return Err(Error::limit(format!(
            "the document has {} bytes, more than the {XML_BYTES} that are read; write fewer \
             reports into a file",
            bytes.len()
        )));
    }
    let text = decode(bytes).map_err(|error| error.context("reading XML"))?;
    let mut building = Building { line: 1, ..Building::default() };
    let mut reader = Reader::from_str(&text);
    let mut read_to = 0;
    loop {
        let event = reader.read_event();
        let to = usize::try_from(reader.buffer_position()).unwrap_or_default();
        let passed = text.as_bytes().get(read_to..to).unwrap_or_default();
        let is_end = match event {
            Ok(event) => building.add(event),
            Err(error) => Err(Error::invalid(error.to_string()).with_source(error)),
        };
        let is_end = is_end.map_err(|error| {
            let error = error.context("reading XML");
            error.at(Place::Line { line: building.line.into(), column: None })
        })?;
        if is_end {
            return Ok(building.document);
        }
        let lines = memchr::memchr_iter(b'\n', passed).count();
        building.line = building.line.saturating_add(u32::try_from(lines).unwrap_or(u32::MAX));
        read_to = to;
    }
}

/// An element that is open.
struct Open {
    node: u32,
    last_child: u32,
    text: String,
}

#[derive(Default)]
struct Building {
    document: Document,
    names: HashMap<String, u32>,
    open: Vec<Open>,
    line: u32,
}

impl Building {
    /// Adds an event; returns whether it is the end.
    fn add(&mut self, event: Event<'_>) -> Result<bool> {
        match event {
            Event::Start(start) => self.begin(&start)?,
            Event::Empty(start) => {
                self.begin(&start)?;
                self.end()?;
            }
            // The reader compares the names.
            Event::End(_) => self.end()?,
            Event::Text(text) => self.text(&text.xml_content().map_err(wrong)?)?,
            Event::CData(text) => self.text(&text.xml_content().map_err(wrong)?)?,
            Event::GeneralRef(reference) => {
                let text = resolved(&reference)?;
                self.text(&text)?;
            }
            Event::DocType(_) => {
                return Err(Error::invalid(
                    "the document has a document type, which can define entities and is not \
                     read; remove it",
                ));
            }
            Event::Comment(_) | Event::Decl(_) | Event::PI(_) => {}
            Event::Eof => {
                if let Some(open) = self.open.last() {
                    let name = self.name_of(open.node);
                    return Err(Error::invalid(format!(
                        "the document ends inside of the element {name:?}; it was cut, so copy it \
                         again"
                    )));
                }
                if self.document.nodes.is_empty() {
                    return Err(Error::invalid("there is no element; this is no XML document"));
                }
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn name_of(&self, node: u32) -> &str {
        let node = self.document.nodes.get(node as usize);
        let name = node.and_then(|node| self.document.names.get(node.name as usize));
        name.map_or("", String::as_str)
    }

    fn name(&mut self, name: &str) -> Result<u32> {
        if let Some(known) = self.names.get(name) {
            return Ok(*known);
        }
        let at = position(self.document.names.len())?;
        self.document.names.push(name.to_owned());
        self.names.insert(name.to_owned(), at);
        Ok(at)
    }

    /// Keeps a text; returns where it is.
    fn keep(&mut self, text: &str) -> Result<Range<u32>> {
        let start = position(self.document.texts.len())?;
        self.document.texts.push_str(text);
        Ok(start..position(self.document.texts.len())?)
    }

    fn begin(&mut self, start: &BytesStart<'_>) -> Result<()> {
        if self.open.len() >= XML_DEPTH {
            return Err(Error::limit(format!("elements are more than {XML_DEPTH} levels deep")));
        }
        let at = self.document.nodes.len();
        if at >= XML_ELEMENTS {
            return Err(Error::limit(format!(
                "there are more than {XML_ELEMENTS} elements; write fewer reports into a file"
            )));
        }
        if self.open.is_empty() && at > 0 {
            return Err(Error::invalid("there is a second outermost element"));
        }
        let at = position(at)?;
        let first = position(self.document.attributes.len())?;
        let mut namespaces: Vec<(String, String)> = Vec::new();
        for (count, attribute) in start.attributes().enumerate() {
            if count >= XML_ATTRIBUTES {
                return Err(Error::limit(format!(
                    "an element has more than {XML_ATTRIBUTES} attributes"
                )));
            }
            let attribute = attribute.map_err(wrong)?;
            let full = std::str::from_utf8(attribute.key.into_inner()).map_err(wrong)?;
            let raw = std::str::from_utf8(&attribute.value).map_err(wrong)?;
            let value = unescape(raw).map_err(wrong)?;
            allowed(&value)?;
            let is_namespace = full == "xmlns" || full.starts_with("xmlns:");
            if is_namespace && at == 0 {
                let prefix = full.strip_prefix("xmlns:").unwrap_or_default();
                namespaces.push((prefix.to_owned(), value.clone().into_owned()));
            }
            let name = if is_namespace { full } else { local(full) };
            let name = self.name(name)?;
            let value = self.keep(&value)?;
            self.document.attributes.push(Attribute { name, value });
        }
        let name = start.name();
        let full = std::str::from_utf8(name.into_inner()).map_err(wrong)?;
        if at == 0 {
            let prefix = full.split_once(':').map_or("", |(prefix, _)| prefix);
            let found = namespaces.into_iter().find(|(known, _)| known == prefix);
            self.document.namespace = found.map(|(_, namespace)| namespace).unwrap_or_default();
        }
        let name = self.name(local(full))?;
        let attributes = first..position(self.document.attributes.len())?;
        let line = self.line;
        let node = Node { name, attributes, text: 0..0, first_child: NONE, next: NONE, line };
        self.document.nodes.push(node);
        if let Some(parent) = self.open.last_mut() {
            let before = std::mem::replace(&mut parent.last_child, at);
            let nodes = &mut self.document.nodes;
            if before == NONE {
                if let Some(node) = nodes.get_mut(parent.node as usize) {
                    node.first_child = at;
                }
            } else if let Some(node) = nodes.get_mut(before as usize) {
                node.next = at;
            }
        }
        self.open.push(Open { node: at, last_child: NONE, text: String::new() });
        Ok(())
    }

    fn end(&mut self) -> Result<()> {
        let Some(open) = self.open.pop() else {
            return Err(Error::invalid("an element ends that did not begin"));
        };
        let is_blank = open.last_child != NONE && open.text.trim().is_empty();
        let text = if is_blank { 0..0 } else { self.keep(&open.text)? };
        if let Some(node) = self.document.nodes.get_mut(open.node as usize) {
            node.text = text;
        }
        Ok(())
    }

    fn text(&mut self, text: &str) -> Result<()> {
        allowed(text)?;
        match self.open.last_mut() {
            Some(open) => open.text.push_str(text),
            None if text.trim().is_empty() => {}
            None => return Err(Error::invalid("there is text outside of the outermost element")),
        }
        Ok(())
    }
}

fn wrong(error: impl std::error::Error + Send + Sync + 'static) -> Error {
    Error::invalid(error.to_string()).with_source(error)
}

fn position(at: usize) -> Result<u32> {
    u32::try_from(at).map_err(|_| Error::limit("the document has more text than is read"))
}

fn local(name: &str) -> &str {
    name.rsplit_once(':').map_or(name, |(_, local)| local)
}

/// The text of a reference to a character or to a predefined entity.
fn resolved(reference: &BytesRef<'_>) -> Result<String> {
    if let Some(character) = reference.resolve_char_ref().map_err(wrong)? {
        return Ok(character.to_string());
    }
    let name = reference.decode().map_err(wrong)?;
    resolve_xml_entity(&name).map(str::to_owned).ok_or_else(|| {
        Error::invalid(format!(
            "the entity {name:?} is not one of amp, lt, gt, apos and quot, and no other is expanded"
        ))
    })
}

/// Refuses the characters that XML does not allow, such as those that a power cut leaves.
fn allowed(text: &str) -> Result<()> {
    let is_wrong = |byte: &u8| *byte < b' ' && !matches!(byte, b'\t' | b'\n' | b'\r');
    match text.bytes().find(|byte| is_wrong(byte)) {
        None => Ok(()),
        Some(byte) => Err(Error::invalid(format!(
            "XML does not allow the character U+{byte:04X}; the file may be damaged, so copy it \
             again"
        ))),
    }
}

#[cfg(test)]
mod tests {
    use stationdb::ErrorKind;

    use super::*;
    use crate::limits;
    use crate::xml::Element;

    fn shown(element: Element<'_>) -> String {
        let attributes = element.attributes().map(|(name, value)| format!(" {name}={value:?}"));
        let attributes: String = attributes.collect();
        let children: String = element.children().map(shown).collect();
        format!("({}{attributes} {:?}{children})", element.name(), element.text())
    }

    #[test]
    fn the_tree() {
        let text = "<?xml version='1.0'?><!-- c -->\n<p:a xmlns:p='urn:x' p:b='1 &amp; 2'>\n <c/>\n\
                    <c d=\"&#x41;\"> t<![CDATA[<&]]>&lt;\r\n</c>\n</p:a>\n";
        let document = read(text.as_bytes()).unwrap();
        assert_eq!(document.namespace(), "urn:x");
        let root = document.root();
        let expected = "(a xmlns:p=\"urn:x\" b=\"1 & 2\" \"\"(c \"\")(c d=\"A\" \" t<&<\\n\"))";
        assert_eq!(shown(root), expected);
        let lines: Vec<u64> = root.children().map(|child| child.line()).collect();
        assert_eq!((root.line(), lines), (2, vec![3, 4]));
        assert_eq!(root.below(&["c"]).and_then(|c| c.attribute("d")), None);
        assert_eq!(read(b"<a xmlns='urn:y'/>").unwrap().namespace(), "urn:y");
    }

    #[test]
    fn what_is_no_document_is_refused_with_its_line() {
        for (text, what, line) in [
            ("", "there is no element", 1),
            ("text", "text outside", 1),
            ("<a>\n<b>", "ends inside of the element \"b\"", 2),
            ("<a>\n</b>", "b", 2),
            ("<a/><a/>", "second outermost", 1),
            ("<a/>x", "text outside", 1),
            ("</a>", "a", 1),
            ("<a b='1' b='2'/>", "duplicate", 1),
            ("<a b=1/>", "", 1),
            ("<a>\n&nbsp;</a>", "\"nbsp\" is not one of", 2),
            ("<a b='&x;'/>", "x", 1),
            ("<a>&#0;</a>", "", 1),
            ("<a>&#1;</a>", "U+0001", 1),
            ("<a>\0</a>", "U+0000", 1),
            ("<a b='\u{1}'/>", "U+0001", 1),
            ("<!DOCTYPE a [<!ENTITY b 'cccc'>]>\n<a>&b;</a>", "document type", 1),
            ("<a>& b</a>", "", 1),
        ] {
            let error = read(text.as_bytes()).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{text:?}: {error}");
            assert!(error.message().contains(what), "{text:?}: {error}");
            assert_eq!(error.place(), Some(&Place::Line { line, column: None }), "{text:?}");
        }
    }

    #[test]
    fn bounds_are_kept() {
        let above = ErrorKind::LimitExceeded;
        limits::holds_at(XML_DEPTH, above, |depth| {
            read(["<a>".repeat(depth), "</a>".repeat(depth)].concat().as_bytes())
        });
        limits::holds_at(XML_ATTRIBUTES, above, |count| {
            let attributes: String = (0..count).map(|at| format!(" a{at}=''")).collect();
            read(format!("<a{attributes}/>").as_bytes())
        });
        limits::holds_at(XML_ELEMENTS, above, |count| {
            read(["<a>", &"<b/>".repeat(count - 1), "</a>"].concat().as_bytes())
        });
        // What is refused for its length is refused before its first byte is looked at.
        for (len, kind) in [(XML_BYTES, ErrorKind::InvalidArgument), (XML_BYTES + 1, above)] {
            assert_eq!(read(&vec![0xfe; len]).unwrap_err().kind(), kind);
        }
    }
}
