//! The lists of requests, read from the sources: list parameters of the service traits, and list
//! members of every record that is a parameter or part of one.

use std::collections::{BTreeMap, BTreeSet};

use crate::sources::{rust_files, words};

fn is_list(type_text: &str) -> bool {
    type_text.contains("Vec<") || type_text.contains("BTreeMap<")
}

/// Splits a list at its top-level commas, and keeps what is in brackets together.
fn entries(list: &str) -> Vec<String> {
    let (mut entries, mut depth, mut is_text) = (vec![String::new()], 0, false);
    for character in list.chars() {
        match character {
            '"' => is_text = !is_text,
            '(' | '<' if !is_text => depth += 1,
            ')' | '>' if !is_text => depth -= 1,
            ',' if !is_text && depth == 0 => {
                entries.push(String::new());
                continue;
            }
            _ => {}
        }
        if let Some(entry) = entries.last_mut() {
            entry.push(character);
        }
    }
    entries
        .into_iter()
        .map(|entry| entry.trim().to_owned())
        .filter(|entry| !entry.is_empty())
        .collect()
}

/// The requests with members of a record, from the attributes before it: name, member, and the
/// member's type if the attribute gives one.
fn requests(attributes: &str) -> Vec<(String, String, Option<String>)> {
    let mut requests = Vec::new();
    // An attribute inside of another one belongs to serde and contains no types.
    let attributes = attributes.replace("#[serde", "serde[");
    for attribute in attributes.split("#[").filter_map(|text| text.trim_end().strip_suffix(")]")) {
        let parts =
            attribute.split_once('(').filter(|(name, _)| ["request", "patch"].contains(name));
        let Some((name, members)) =
            parts.and_then(|(_, list)| list.trim().strip_suffix(')')?.split_once('('))
        else {
            continue;
        };
        for entry in entries(members) {
            let member = words(&entry).next().unwrap_or_default().to_owned();
            let inner = entry
                .split_once('(')
                .filter(|(before, _)| !before.contains('"'))
                .map(|(_, inner)| inner);
            let own =
                inner.and_then(|inner| entries(inner.trim_end_matches(')')).into_iter().next());
            let own = own.filter(|own| {
                !own.starts_with(['"', '#']) && !own.starts_with("serde[") && own != "own"
            });
            requests.push((name.trim().to_owned(), member, own));
        }
    }
    requests
}

/// Members of each public type, and variants of enumerations: name and type as written in the
/// source.
fn types() -> BTreeMap<String, Vec<(String, String)>> {
    let mut types: BTreeMap<String, Vec<(String, String)>> = BTreeMap::new();
    for (_, source) in ["src/model", "src/services", "src/value"].into_iter().flat_map(rust_files) {
        let mut open: Option<(String, String)> = None;
        // The requests of the record that is being parsed.
        let mut made = Vec::new();
        let mut attributes = String::new();
        for line in source.lines() {
            let declares = line.contains("pub struct ") || line.contains("pub enum ");
            if open.is_none()
                && !declares
                && (line.trim_start().starts_with("#[") || !attributes.is_empty())
            {
                attributes.push_str(line.trim());
                continue;
            }
            let declared =
                ["pub struct ", "pub enum "].iter().find_map(|word| line.split_once(word));
            if let Some((before, rest)) = declared.filter(|_| !line.trim_start().starts_with("//"))
            {
                made = requests(&std::mem::take(&mut attributes));
                for (request, member, own) in &made {
                    if let Some(own) = own {
                        types
                            .entry(request.clone())
                            .or_default()
                            .push((member.clone(), own.clone()));
                    }
                }
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
                // A variant with its content.
                None if !text.starts_with(['/', '#']) => text.split_once('('),
                None => None,
            };
            if let Some((member, type_text)) = member {
                let member = member.trim_start_matches("r#").to_owned();
                for (request, _, _) in
                    made.iter().filter(|(_, taken, own)| *taken == member && own.is_none())
                {
                    types
                        .entry(request.clone())
                        .or_default()
                        .push((member.clone(), type_text.to_owned()));
                }
                types.entry(name.clone()).or_default().push((member, type_text.to_owned()));
            }
        }
        for (name, members) in of_macros(&source) {
            types.entry(name).or_default().extend(members);
        }
    }
    types
}

/// The members that macros of a source give the types that are declared in them: of a macro that
/// calls another one, those of both.
fn of_macros(source: &str) -> Vec<(String, Vec<(String, String)>)> {
    let mut members: BTreeMap<String, Vec<(String, String)>> = BTreeMap::new();
    let mut calls: BTreeMap<String, String> = BTreeMap::new();
    let (mut rules, mut called) = (None, None::<String>);
    let mut found = Vec::new();
    for line in source.lines() {
        if let Some(name) = line.strip_prefix("macro_rules! ") {
            rules = words(name).next().map(str::to_owned);
        } else if line == "}" {
            (rules, called) = (None, None);
        } else if let Some((name, _)) = line.split_once("! {") {
            match &rules {
                Some(of) => drop(calls.insert(of.clone(), name.trim().to_owned())),
                None if !line.starts_with(' ') => called = Some(name.to_owned()),
                None => {}
            }
        }
        let text = line.trim().trim_end_matches(',');
        if let Some(of) = &rules {
            let member = text.strip_prefix("pub ").and_then(|member| member.split_once(": "));
            let member = member.map(|(name, type_text)| (name.to_owned(), type_text.to_owned()));
            members.entry(of.clone()).or_default().extend(member);
        }
        let declared = text.strip_prefix("pub struct ").and_then(|rest| words(rest).next());
        let (Some(called), Some(declared)) = (&called, declared) else { continue };
        let mut of = Some(called);
        while let Some(name) = of {
            found.push((declared.to_owned(), members.get(name).cloned().unwrap_or_default()));
            of = calls.get(name).filter(|other| *other != name);
        }
    }
    found
}

/// The names of all lists: `ProductService::delete_products(ids)`,
/// `QueryProductsRequest.projection`, …
pub fn lists() -> BTreeSet<String> {
    let types = types();
    let mut lists = BTreeSet::new();
    let mut open: Vec<String> = Vec::new();
    for (_, source) in rust_files("src/services") {
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
            if !line.ends_with(" {") {
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
        let Some(members) = types.get(&name).filter(|_| seen.insert(name.clone())) else {
            continue;
        };
        for (member, type_text) in members {
            if is_list(type_text) {
                lists.insert(format!("{name}.{member}"));
            }
            open.extend(words(type_text).map(str::to_owned));
        }
    }
    lists
}
