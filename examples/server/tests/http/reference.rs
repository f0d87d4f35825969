//! The members that each record may have, read from the pages in `docs/reference`.
//!
//! Records stand in four forms there: a heading `### Record` over a table of members, a table `|
//! Record | Members |`, a table `| Type | Members |` under a heading, and sentences such as
//! "PagedTables has tables (list of TableMetadata, always) and …". What an operation answers stands
//! in the tables of operations.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Member to what the page says of its type.
pub type Members = BTreeMap<String, String>;

#[derive(Debug, Default)]
pub struct Pages {
    /// Record to members, of all pages.
    pub records: BTreeMap<String, Members>,
    /// Operation to its output.
    pub operations: BTreeMap<String, String>,
    /// Operation to what the page says of its input.
    pub inputs: BTreeMap<String, String>,
    /// Operation to the members of its query string.
    pub queries: BTreeMap<String, Members>,
    /// Operations of which a page names the body.
    pub bodies: BTreeSet<String>,
    /// Record to the members that each answer has.
    pub always: BTreeMap<String, BTreeSet<String>>,
}

/// What stands behind a sentence that tells the members of a record, where answers have them all.
const ALL: [&str; 2] = ["All members are always written", "All members are required"];
/// What the line of a member begins with in one of its cells, where answers have the member.
const ALWAYS: [&str; 3] = [
    "Written always",
    "always filled",
    "A decimal number as text, in its own series. Always present",
];

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| !word.is_empty())
}

/// A name such as `PagedTables`.
fn is_record(word: &str) -> bool {
    word.len() > 2 && word.starts_with(char::is_uppercase) && word.contains(char::is_lowercase)
}

fn is_member(word: &str) -> bool {
    word.starts_with(|c: char| c.is_lowercase() || c == '_') && words(word).count() == 1
}

/// Splits at commas and `and` outside of brackets.
fn parts(text: &str) -> Vec<String> {
    let (mut parts, mut depth) = (vec![String::new()], 0);
    for word in text
        .replace(',', " , ")
        .replace(" and ", " , ")
        .replace('(', " ( ")
        .replace(')', " ) ")
        .split_whitespace()
    {
        match word {
            "(" => depth += 1,
            ")" => depth -= 1,
            "," if depth == 0 => {
                parts.push(String::new());
                continue;
            }
            _ => {}
        }
        if let Some(part) = parts.last_mut() {
            part.push_str(word);
            part.push(' ');
        }
    }
    parts
}

/// Members with their types: `` `name` (string, required), ids ``. What follows a semicolon or a
/// colon tells about them.
pub fn members(text: &str, default_type: &str) -> Members {
    let text = text.replace('`', "");
    let mut depth = 0;
    let list: String = text
        .chars()
        .take_while(|c| {
            depth += i32::from(*c == '(') - i32::from(*c == ')');
            depth > 0 || !matches!(c, ';' | ':' | '.')
        })
        .collect();
    let mut members = Members::new();
    let mut waiting: Vec<String> = Vec::new();
    for part in parts(&list) {
        let (name, kind) = part.split_once('(').unwrap_or((&part, ""));
        // "a, b (lists of string)" says the type of both.
        let name = name.trim().trim_start_matches("and ").trim();
        let Some(name) = name.split_whitespace().next().filter(|name| is_member(name)) else {
            continue;
        };
        waiting.push(name.to_owned());
        if !kind.is_empty() {
            members.extend(waiting.drain(..).map(|name| (name, kind.trim().to_owned())));
        }
    }
    members.extend(waiting.into_iter().map(|name| (name, default_type.to_owned())));
    members
}

fn cells(line: &str) -> Option<Vec<String>> {
    let inner = line.trim().strip_prefix('|')?.strip_suffix('|')?;
    Some(inner.split('|').map(|cell| cell.trim().to_owned()).collect())
}

impl Pages {
    pub fn read(folder: &Path) -> Self {
        let mut pages = Self::default();
        let mut paths: Vec<_> =
            std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
        // The page of the bodies is the last: what it says of an operation stands.
        paths.sort_by_key(|path| (path.ends_with("bodies.md"), path.clone()));
        for path in
            paths.iter().filter(|path| path.extension().is_some_and(|extension| extension == "md"))
        {
            // Two pages have a section with this name.
            let templates = match path.file_stem().and_then(|stem| stem.to_str()) {
                Some("work-items") => "WorkItemTemplate",
                _ => "TestPlanTemplate",
            };
            pages.page(&std::fs::read_to_string(path).unwrap(), templates);
        }
        pages
    }

    fn add(&mut self, record: &str, members: Members) {
        let named = members.iter().filter(|(_, kind)| words(kind).any(|word| word == "always"));
        let named: BTreeSet<String> = named.map(|(name, _)| name.clone()).collect();
        self.always.entry(record.to_owned()).or_default().extend(named);
        self.records.entry(record.to_owned()).or_default().extend(members);
    }

    fn page(&mut self, text: &str, templates: &str) {
        let mut heading = String::new();
        let mut head: Vec<String> = Vec::new();
        for line in text.lines() {
            if let Some(title) = line.strip_prefix('#') {
                heading = title.trim_start_matches('#').trim().to_owned();
                if heading == "Templates" {
                    templates.clone_into(&mut heading);
                }
                head.clear();
            }
            if let Some((but, _)) = line
                .strip_prefix("- All members but ")
                .and_then(|rest| rest.split_once(" are always written"))
            {
                let mut known = self.records.get(&heading).cloned().unwrap_or_default();
                known.retain(|name, _| name != but);
                self.has_always(&heading.clone(), known);
            }
            let Some(row) = cells(line) else {
                // "PagedTables:" stands over the table of its members.
                if let Some(named) = line.strip_suffix(':').filter(|named| !named.contains(',')) {
                    let named: Vec<&str> = words(named).filter(|word| is_record(word)).collect();
                    if !named.is_empty() {
                        heading = named.join(" ");
                    }
                }
                head.clear();
                continue;
            };
            if head.is_empty() {
                head = row;
                continue;
            }
            if row.iter().all(|cell| cell.chars().all(|c| matches!(c, '-' | ':'))) {
                continue;
            }
            let second = row.get(1).map_or("", String::as_str);
            match head[0].as_str() {
                "Operation" => {
                    let cell = |name: &str| {
                        let at = head.iter().position(|cell| cell == name)?;
                        row.get(at).filter(|cell| !cell.is_empty())
                    };
                    for operation in row[0].split(',').filter_map(|name| words(name).next()) {
                        let operation = operation.to_owned();
                        if let Some(output) = cell("Output") {
                            self.operations.insert(operation.clone(), output.clone());
                        }
                        if let Some(input) = cell("Body").or_else(|| cell("Input")) {
                            self.inputs.insert(operation.clone(), input.clone());
                        }
                        if cell("Body").is_some() {
                            self.bodies.insert(operation.clone());
                        }
                        if let Some(query) = cell("Query string") {
                            self.queries.insert(operation, members(query, ""));
                        }
                    }
                }
                "Record" => {
                    for record in row[0].split(',').map(str::trim) {
                        self.add(record, members(second, ""));
                        if second.contains("; all always") {
                            self.has_always(record, members(second, ""));
                        }
                    }
                }
                "Member" | "Type" => {
                    let records: Vec<String> = match heading.as_str() {
                        heading if heading.starts_with("Error record") || heading == "Errors" => {
                            vec!["ApiError".to_owned()]
                        }
                        heading => heading.split(' ').map(str::to_owned).collect(),
                    };
                    let named = if head[0] == "Type" {
                        members(second, &row[0])
                    } else {
                        members(&row[0], second)
                    };
                    for (column, cell) in
                        head.iter().zip(&row).skip(1).filter(|(_, cell)| !cell.is_empty())
                    {
                        let verb = match column.as_str() {
                            "C" | "Create" => "Create",
                            "U" | "Update" => "Update",
                            "S" => "Schedule",
                            // A column for an operation has the types of its members.
                            _ if column.contains('_') => {
                                self.add(column, members(&row[0], cell));
                                continue;
                            }
                            _ => continue,
                        };
                        self.add(&format!("{verb}{}Request", records[0]), named.clone());
                    }
                    // The column says so of each member of its line.
                    let at = head.iter().position(|cell| cell == "Always");
                    let is_always = at.and_then(|at| row.get(at)).is_some_and(|cell| cell == "yes")
                        || row.iter().any(|cell| ALWAYS.iter().any(|said| cell.starts_with(said)));
                    for record in records {
                        self.add(&record, named.clone());
                        if is_always {
                            self.has_always(&record, named.clone());
                        }
                    }
                }
                record if is_record(record) => {
                    let record = record.to_owned();
                    self.add(&record, members(&row[0], second));
                }
                _ => {}
            }
        }
        // Sentences run over lines.
        let prose: Vec<&str> = text.lines().filter(|line| !line.starts_with(['|', '#'])).collect();
        let prose = prose.join(" ");
        for (at, _) in prose.match_indices(" has ") {
            let record = words(&prose[..at]).last().unwrap_or_default();
            if is_record(record) && prose[..at].ends_with(record) {
                let mut sentences = prose[at + " has ".len()..].split(". ");
                let sentence = sentences.next().unwrap_or_default();
                self.add(record, members(sentence, ""));
                if sentences.next().is_some_and(|next| ALL.iter().any(|all| next.starts_with(all)))
                {
                    self.has_always(record, members(sentence, ""));
                }
            }
        }
    }

    fn has_always(&mut self, record: &str, members: Members) {
        self.always.entry(record.to_owned()).or_default().extend(members.into_keys());
    }

    /// The record that a text of a page names.
    pub fn record_in(&self, text: &str) -> Option<&str> {
        let known = |word: &str| self.records.get_key_value(word).map(|(name, _)| name.as_str());
        let records = words(text).filter(|word| is_record(word));
        let singular = |word: &str| known(word).or_else(|| known(word.strip_suffix('s')?));
        records.filter_map(singular).next()
    }

    /// The record that a member holds, by what its page says of its type.
    pub fn held(&self, name: &str, kind: &str) -> Option<&str> {
        match name {
            "error" | "innerErrors" => Some("ApiError"),
            _ => self.record_in(kind),
        }
    }
}
