//! The lists of requests, read from the sources: list parameters of the service traits, and list members of every record
//! that such a parameter holds.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

fn files(folder: &str) -> Vec<PathBuf> {
    let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join(folder)];
    let mut files = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap().flatten() {
            let path = entry.path();
            match path.is_dir() {
                true => folders.push(path),
                false => files.push(path),
            }
        }
    }
    files.retain(|path| path.extension().is_some_and(|extension| extension == "rs"));
    files
}

fn is_list(type_text: &str) -> bool {
    type_text.contains("Vec<") || type_text.contains("BTreeMap<")
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| !word.is_empty())
}

/// Members, and variants of enumerations, of each public type: name and type as they stand in the source.
fn types() -> BTreeMap<String, Vec<(String, String)>> {
    let mut types: BTreeMap<String, Vec<(String, String)>> = BTreeMap::new();
    for path in ["src/model", "src/services", "src/value"].iter().flat_map(|folder| files(folder)) {
        let source = std::fs::read_to_string(path).unwrap();
        let mut open: Option<(String, String)> = None;
        for line in source.lines() {
            let declared = ["pub struct ", "pub enum "].iter().find_map(|word| line.split_once(word));
            if let Some((before, rest)) = declared.filter(|_| !line.trim_start().starts_with("//")) {
                let indent: String = before.chars().take_while(|c| *c == ' ').collect();
                if let Some(name) = words(rest).next().filter(|_| !line.ends_with(';')) {
                    types.entry(name.to_owned()).or_default();
                    open = Some((name.to_owned(), format!("{indent}}}")));
                }
                continue;
            }
            let Some((name, end)) = &open else { continue };
            if line == end {
                open = None;
                continue;
            }
            let text = line.trim().trim_end_matches(',');
            let member = match text.strip_prefix("pub ") {
                Some(member) => member.split_once(": "),
                // A variant with what it holds.
                None if !text.starts_with(['/', '#']) => text.split_once('('),
                None => None,
            };
            if let Some((member, type_text)) = member {
                let member = member.trim_start_matches("r#").to_owned();
                types.entry(name.clone()).or_default().push((member, type_text.to_owned()));
            }
        }
    }
    types
}

/// `ProductService::delete_products(ids)`, `QueryProductsRequest.projection`, …
pub fn lists() -> BTreeSet<String> {
    let types = types();
    let mut lists = BTreeSet::new();
    let mut open: Vec<String> = Vec::new();
    for path in files("src/services") {
        let source = std::fs::read_to_string(path).unwrap();
        let mut service = None;
        let mut signature: Option<String> = None;
        for line in source.lines() {
            if let Some(rest) = line.strip_prefix("pub trait ") {
                service = words(rest).next().filter(|name| name.ends_with("Service"));
            } else if line == "}" {
                service = None;
            }
            let Some(service) = service else { continue };
            if line.starts_with("    fn ") {
                signature = Some(String::new());
            }
            let Some(text) = &mut signature else { continue };
            text.push_str(line.trim());
            text.push(' ');
            if !line.ends_with(';') {
                continue;
            }
            let text = signature.take().unwrap_or_default();
            let takes = text.split("->").next().unwrap_or_default();
            let (name, parameters) = takes.trim_start_matches("fn ").split_once('(').unwrap();
            for parameter in parameters.split(", ") {
                let Some((parameter, type_text)) = parameter.split_once(": ") else { continue };
                if is_list(type_text) {
                    lists.insert(format!("{service}::{name}({})", parameter.trim()));
                }
                open.extend(words(type_text).map(str::to_owned));
            }
        }
    }
    let mut seen = BTreeSet::new();
    while let Some(name) = open.pop() {
        let Some(members) = types.get(&name).filter(|_| seen.insert(name.clone())) else { continue };
        for (member, type_text) in members {
            if is_list(type_text) {
                lists.insert(format!("{name}.{member}"));
            }
            open.extend(words(type_text).map(str::to_owned));
        }
    }
    lists
}
