//! Every public name is used: a public call takes or returns it, directly or as a part.
//!
//! The names are those that `src/lib.rs` exports at the root and in public modules. Starting at the
//! calls (the service traits, [`Store`](stationdb::Store) and the free functions), the test follows
//! the identifiers in public signatures, members, variants and aliases. A type is also used if it
//! implements a trait that a call takes.

use std::collections::{BTreeMap, BTreeSet};

use crate::sources::{rust_files, scrub, words};

/// The reason for the names of `stationdb::bodies`.
const BODY: &str = "the body of a request on the wire, read by `from_json`";

const QUERY: &str = "the query string of a request, read by `from_query`";

const SHARED: &str = "a member that the requests of figures have from a macro";

/// Names that no call uses, and their reasons.
const REASONS: &[(&str, &str)] = &[
    ("AppendArrowQuery", QUERY),
    ("AppendToUploadSessionQuery", QUERY),
    ("ApplyResultRetentionRequest", BODY),
    ("BatchAnswer", "makes an error of the answer of a batch in which items failed"),
    ("CreateAssetsRequest", BODY),
    ("CreateProductsRequest", BODY),
    ("CreateResultsRequest", BODY),
    ("CreateStepsRequest", BODY),
    ("CreateTestPlanTemplatesRequest", BODY),
    ("CreateTestPlansRequest", BODY),
    ("CreateWorkItemTemplatesRequest", BODY),
    ("CreateWorkItemsRequest", BODY),
    ("DeleteAssetsRequest", BODY),
    ("DeleteFilesRequest", BODY),
    ("DeletePackagesRequest", BODY),
    ("DeleteProductsRequest", BODY),
    ("DeleteResultQuery", QUERY),
    ("DeleteResultsRequest", BODY),
    ("DeleteSpecificationsRequest", BODY),
    ("DeleteStepsQuery", QUERY),
    ("DeleteStepsRequest", BODY),
    ("DeleteTablesRequest", BODY),
    ("DeleteTestPlanTemplatesRequest", BODY),
    ("DeleteTestPlansRequest", BODY),
    ("DeleteWorkItemTemplatesRequest", BODY),
    ("DeleteWorkItemsRequest", BODY),
    ("Download", "the headers of an export, for servers"),
    ("ExecuteWorkItemRequest", BODY),
    ("FigureClass", SHARED),
    ("FinishUploadSessionRequest", BODY),
    ("GetProductsRequest", QUERY),
    ("GetResultsRequest", QUERY),
    ("GetStepsRequest", QUERY),
    ("LinkFilesRequest", BODY),
    ("ResultGroup", SHARED),
    ("RetestScope", SHARED),
    ("SeriesPass", SHARED),
    ("Services", "the bound of a host's own calls that take a session or a transaction"),
    ("SetSystemConnectionRequest", BODY),
    ("SetSystemConnectionResponse", "the body of a response whose call returns a number"),
    ("Reply", "what `call_with` of each handle returns, which a macro declares"),
    ("StartUploadSessionRequest", BODY),
    ("UpdateAssetsRequest", BODY),
    ("UpdateProductsRequest", BODY),
    ("UpdateResultsRequest", BODY),
    ("UpdateStepsRequest", BODY),
    ("UpdateUtilizationRequest", BODY),
    ("UploadPackageQuery", QUERY),
    (
        "VendorPrefix",
        "renames members in the JSON of a server whose store has another vendor prefix",
    ),
    ("chrono", "the crate whose times records and requests hold"),
    ("kernels", "decimation and percentiles of samples that the caller holds, without a store"),
    ("readers", "what readers of foreign files share with the store"),
];

/// A public name, and the directory of `src` that declares it.
type Names = BTreeMap<String, String>;

/// The text of a block that starts at `from`: up to its closing brace, or to a semicolon.
fn block(code: &str, from: usize) -> &str {
    let mut depth = 0;
    for (at, c) in code[from..].char_indices() {
        match c {
            '{' | '(' => depth += 1,
            '}' | ')' => depth -= 1,
            _ => {}
        }
        if depth <= 0 && matches!(c, '}' | ';') {
            return &code[from..from + at];
        }
    }
    &code[from..]
}

/// The names that `lib.rs` exports, without those of the modules for tests.
fn exported(lib: &str) -> Names {
    let mut code = scrub(lib);
    // The prelude repeats the traits of the other modules.
    for module in ["pub mod faults {", "pub mod prelude {"] {
        if let Some(at) = code.find(module) {
            let length = block(&code, at).len();
            code.replace_range(at..at + length, "");
        }
    }
    let mut names = Names::new();
    for statement in code.split("pub use ").skip(1).filter_map(|rest| rest.split(';').next()) {
        let path = statement.trim().strip_prefix("crate::").unwrap_or(statement.trim());
        let room = words(path).next().unwrap_or_default();
        let leaves: Vec<&str> = match path.split_once('{') {
            Some((_, list)) => words(list).collect(),
            None => words(path).last().into_iter().collect(),
        };
        names.extend(leaves.into_iter().map(|leaf| (leaf.to_owned(), room.to_owned())));
    }
    names
}

/// The signatures of the public functions in the block of an `impl`, and its associated types.
fn signatures(body: &str) -> Vec<&str> {
    let functions = body.split("pub fn ").skip(1).filter_map(|rest| rest.split(['{', ';']).next());
    let types = body.split("\n    type ").skip(1).filter_map(|rest| rest.split(';').next());
    functions.chain(types).collect()
}

/// What a trait declares: its types and constants, and the signatures of its methods. The bodies of
/// methods are no part of it.
fn declarations(text: &str) -> impl Iterator<Item = &str> {
    let (head, methods) = text.split_once("fn ").unwrap_or((text, ""));
    let signatures = methods.split("fn ").filter_map(|rest| rest.split(['{', ';']).next());
    std::iter::once(head).chain(signatures)
}

/// The public members of a struct, each to the end of its line.
fn members(declaration: &str) -> impl Iterator<Item = &str> {
    declaration.split("pub ").skip(2).filter_map(|member| member.lines().next())
}

/// The identifiers that the public declarations of a name mention, and the traits that it
/// implements.
#[derive(Debug, Default)]
struct Declared {
    mentions: BTreeSet<String>,
    implements: BTreeSet<String>,
}

/// Declarations by name.
#[derive(Debug, Default)]
struct Sources(BTreeMap<String, Declared>);

impl Sources {
    fn mention(&mut self, name: &str, text: &str) {
        self.0.entry(name.to_owned()).or_default().mentions.extend(words(text).map(str::to_owned));
    }

    /// Adds the declarations of a file for the names that are exported from its folder.
    fn read(&mut self, room: &str, code: &str, names: &Names) {
        let is_here = |name: &str| names.get(name).is_some_and(|of| of == room);
        for keyword in ["struct ", "enum ", "trait ", "type ", "fn "] {
            let start = format!("pub {keyword}");
            for (at, _) in code.match_indices(&start) {
                let Some(name) = words(&code[at + start.len()..]).next() else { continue };
                let text = block(code, at);
                if is_here(name) {
                    match keyword {
                        "struct " => members(text).for_each(|member| self.mention(name, member)),
                        "fn " => self.mention(name, text.split('{').next().unwrap_or_default()),
                        "trait " => declarations(text).for_each(|part| self.mention(name, part)),
                        _ => self.mention(name, text),
                    }
                }
                // Attributes derive further structs from these members and from those that they
                // name.
                let before = &code[..at];
                let begin = ["\n}", "\n    }", "\n\n", "{\n"]
                    .iter()
                    .filter_map(|end| before.rfind(end))
                    .max();
                for attribute in before[begin.unwrap_or(0)..].split("#[").skip(1) {
                    let mut parts = words(attribute);
                    let is_maker =
                        matches!(parts.next(), Some("request" | "patch" | "order" | "projection"));
                    if let Some(made) = parts.next().filter(|made| is_maker && is_here(made)) {
                        self.mention(made, attribute);
                        members(text).for_each(|member| self.mention(made, member));
                    }
                }
            }
        }
        // A folder may add methods to a type of another folder, if it has no type of that name
        // itself.
        let types = ["struct ", "enum ", "trait ", "type "]
            .into_iter()
            .flat_map(|word| code.split(word).skip(1));
        let own: BTreeSet<&str> = types.filter_map(|rest| words(rest).next()).collect();
        let is_meant =
            |name: &str| is_here(name) || (names.contains_key(name) && !own.contains(name));
        for (at, _) in code.match_indices("\nimpl") {
            let text = block(code, at);
            let header = text.split('{').next().unwrap_or_default();
            let (of, subjects) = header.split_once(" for ").unwrap_or(("", header));
            for name in words(subjects).filter(|name| is_meant(name)) {
                signatures(text).into_iter().for_each(|signature| self.mention(name, signature));
                let implements = words(of).map(str::to_owned);
                self.0.entry(name.to_owned()).or_default().implements.extend(implements);
            }
        }
    }
}

/// The names that no public call uses.
fn unused(lib: &str, files: &[(String, String)]) -> Vec<String> {
    let names = exported(lib);
    let mut sources = Sources::default();
    for (path, text) in files {
        let room = path.trim_start_matches("src/").split(['/', '.']).next().unwrap_or_default();
        sources.read(room, &scrub(text), &names);
    }
    let declared = sources.0;
    let is_call = |name: &str| {
        name.ends_with("Service") || name == "Store" || name.starts_with(char::is_lowercase)
    };
    let mut used: BTreeSet<&str> = BTreeSet::new();
    let calls = names
        .keys()
        .map(String::as_str)
        .filter(|name| is_call(name) && declared.contains_key(*name));
    let mut open: Vec<&str> = calls.collect();
    loop {
        while let Some(name) = open.pop() {
            if !used.insert(name) {
                continue;
            }
            let mentions = declared.get(name).into_iter().flat_map(|declared| &declared.mentions);
            open.extend(
                mentions
                    .filter_map(|word| names.get_key_value(word))
                    .map(|(name, _)| name.as_str()),
            );
        }
        // A type that implements a trait can be passed to every call that takes the trait.
        let implements = |name: &&str| {
            let traits = declared.get(*name).into_iter().flat_map(|declared| &declared.implements);
            traits.into_iter().any(|of| used.contains(of.as_str()))
        };
        open.extend(
            names.keys().map(String::as_str).filter(|name| !used.contains(name)).filter(implements),
        );
        if open.is_empty() {
            break;
        }
    }
    names.keys().filter(|name| !used.contains(name.as_str())).cloned().collect()
}

#[test]
fn every_public_name_is_used_by_a_public_call() {
    let files = rust_files("src");
    let lib =
        files.iter().find(|(path, _)| path == "src/lib.rs").map(|(_, text)| text.as_str()).unwrap();
    assert!(exported(lib).len() > 300, "only {} names were found", exported(lib).len());
    let unused = unused(lib, &files);
    let excused: BTreeSet<&str> = REASONS.iter().map(|(name, _)| *name).collect();
    let problems: Vec<&String> =
        unused.iter().filter(|name| !excused.contains(name.as_str())).collect();
    assert!(
        problems.is_empty(),
        "no public call uses these: do not export them, or say why: {problems:#?}"
    );
    let found: BTreeSet<&str> = unused.iter().map(String::as_str).collect();
    assert_eq!(
        excused.difference(&found).collect::<Vec<_>>(),
        Vec::<&&str>::new(),
        "these are used"
    );
}

mod the_test_finds {
    use super::unused;

    fn unused_of(lib: &str, files: &[(&str, &str)]) -> Vec<String> {
        let files: Vec<_> =
            files.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect();
        unused(lib, &files)
    }

    #[test]
    fn names_that_no_call_mentions() {
        let lib = "pub mod things {\n pub use crate::model::{Thing, Part, Lost, Kind};\n}\npub use session::Store;";
        let model = "\npub struct Thing {\n    pub part: Option<Part>,\n    hidden: Lost,\n}\npub struct Part(pub Kind);\n\
            pub struct Lost {\n    pub thing: Thing,\n}\n/// Of `Lost`.\npub enum Kind {\n    One,\n}\n";
        let session = "\npub struct Store {\n    lost: Lost,\n}\nimpl Store {\n    /// Not a `Lost`.\n    pub fn thing(&self) -> \
            Thing {\n        Lost::new()\n    }\n    pub(crate) fn lost(&self) -> Lost {}\n}\n";
        let files = [("src/model/mod.rs", model), ("src/session.rs", session)];
        assert_eq!(unused_of(lib, &files), ["Lost"]);
        let without = session.replace("Thing {\n        ", "u8 {\n        ");
        let files = [("src/model/mod.rs", model), ("src/session.rs", &without)];
        assert_eq!(unused_of(lib, &files), ["Kind", "Lost", "Part", "Thing"]);
    }

    #[test]
    fn what_attributes_make_and_what_implements_a_trait_that_a_call_takes() {
        let lib = "pub use model::{Thing, ThingOrder, Order, Clock, Sun, Moon};\npub use session::{ThingService, Tide};";
        let model = "\n/// A thing.\n#[order(ThingOrder(id))]\n#[request(Order = \"An order.\")]\n#[request(Order(by(ThingOrder)))]\n\
            pub struct Thing {\n    pub id: u8,\n}\n\npub trait Clock {\n    fn now(&self);\n}\npub struct Sun;\nimpl Clock for Sun {}\n\
            pub struct Moon;\nimpl Tide for Moon {}\n";
        let session = "\npub trait ThingService {\n    fn order(&self, order: Order, clock: &dyn Clock);\n}\npub trait Tide {}\n";
        let files = [("src/model/mod.rs", model), ("src/session.rs", session)];
        assert_eq!(unused_of(lib, &files), ["Moon", "Thing", "Tide"]);
    }
}
