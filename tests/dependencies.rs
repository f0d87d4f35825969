//! Checks the dependencies of this crate: every dependency is used and has a documented reason, and
//! licences, sources and versions are allowed by `deny.toml`.
//!
//! `cargo deny` checks more (advisories, the texts of licences, every platform), but takes longer
//! to build than the crate. `.ci/run` runs it where it is installed; this test runs everywhere.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

const REGISTRY: &str = "registry+https://github.com/rust-lang/crates.io-index";

/// What commands without `-p` mean.
const DEFAULT_MEMBERS: [&str; 3] = ["stationdb", "stationdb-derive", "stationdb-examples"];

#[test]
fn dependencies_keep_the_rules() {
    let metadata = metadata();
    let deny: toml::Value = toml::from_str(&read("deny.toml")).unwrap();
    let packages = metadata["packages"].as_array().unwrap();
    assert!(packages.len() > 100, "{} packages", packages.len());

    let mut problems = Vec::new();
    let mut declared = Vec::new();
    for package in packages.iter().filter(|package| package["source"].is_null()) {
        let own = package["dependencies"].as_array().unwrap();
        let manifest = Path::new(package["manifest_path"].as_str().unwrap());
        let directory = manifest.parent().unwrap();
        let (library, all) = if directory == root() {
            let library = sources(&root().join("src"));
            let rest = ["tests", "benches"].map(|directory| sources(&root().join(directory)));
            (library.clone(), library + &rest.concat())
        } else {
            let all = sources(directory) + &sources_elsewhere(package, directory);
            (all.clone(), all)
        };
        problems.extend(unused(own, packages, &library, &all));
        // Packages of this repository need no reason.
        declared.extend(own.iter().filter(|dependency| dependency["path"].is_null()).cloned());
    }
    assert!(declared.len() > 30, "{} dependencies", declared.len());
    problems.extend(without_reason(&declared, &read("docs/decisions.md")));
    problems.extend(packages.iter().flat_map(|package| refused(package, &deny)));
    assert!(problems.is_empty(), "{} problems:\n{}", problems.len(), problems.join("\n"));
}

/// Commands without `-p` compile no server, and the library has no network: neither by a dependency
/// nor by the standard library.
#[test]
fn the_library_has_no_network_and_the_default_commands_no_server() {
    let metadata = metadata();
    let packages = metadata["packages"].as_array().unwrap();
    let by_id = |id: &Value| packages.iter().find(|package| package["id"] == *id).unwrap();
    let defaults: BTreeSet<&str> = metadata["workspace_default_members"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|id| text(&by_id(id)["name"]))
        .collect();
    assert_eq!(defaults, BTreeSet::from(DEFAULT_MEMBERS), "default members");
    let built = built_into_the_library();
    assert!(built.len() > 60, "{} packages", built.len());
    for network in ["axum", "hyper", "tokio", "mio", "socket2", "reqwest", "rustls"] {
        assert!(!built.contains(network), "the library is built with {network}");
    }
    let sources = sources(&root().join("src"));
    for path in ["std::net", "TcpStream", "TcpListener", "UdpSocket", "UnixStream"] {
        assert!(!sources.contains(path), "the library names {path}");
    }
    let server = sources_of_the_server();
    assert!(
        server.contains("Ipv4Addr::LOCALHOST"),
        "the server does not bind the loopback address"
    );
    for wide in ["UNSPECIFIED", "0.0.0.0", "[::]"] {
        assert!(!server.contains(wide), "the server binds {wide}");
    }
}

/// Commands without `-p` compile no member outside of the default ones but the pages of the example,
/// also not for tests, benches and examples.
#[test]
fn the_default_commands_compile_the_default_members_and_pages_alone() {
    let metadata = metadata();
    let all = metadata["packages"].as_array().unwrap().iter();
    let own: BTreeSet<&str> = all
        .filter(|package| package["source"].is_null())
        .filter_map(|package| text(&package["name"]))
        .collect();
    let others =
        ["c", "formats", "cli", "sql", "lake", "cluster", "powerfs", "server-example", "python"];
    for other in others {
        assert!(own.contains(format!("stationdb-{other}").as_str()), "{other}: {own:?}");
    }
    let compiled = default_commands();
    let compiled: BTreeSet<&str> =
        own.into_iter().filter(|name| compiled.contains(*name)).collect();
    let pages = ["stationdb-report"];
    assert_eq!(compiled, DEFAULT_MEMBERS.into_iter().chain(pages).collect());
}

/// SQL and the shell cost nobody anything who does not ask for them.
#[test]
fn the_library_and_the_default_commands_have_no_engine_of_queries() {
    /// Packages in the library with all features, before there was SQL.
    const LIBRARY_MAX: usize = 181;
    /// What search has needed since, for compatible characters.
    const OF_SEARCH: [&str; 3] = ["tinyvec", "tinyvec_macros", "unicode-normalization"];
    let mut built = built_into_the_library();
    built.retain(|name| !OF_SEARCH.contains(&name.as_str()));
    assert!(built.len() <= LIBRARY_MAX, "{} packages: {built:?}", built.len());
    let tested = default_commands();
    assert!(tested.contains("proptest") && tested.len() > built.len(), "{tested:?}");
    for name in built.union(&tested) {
        let is_engine = name.starts_with("datafusion") || name.starts_with("stationdb-sql");
        assert!(!is_engine && name != "sqlparser" && name != "rustyline", "{name}");
    }
    let shell = tree(&["-p", "stationdb-cli", "-e", "normal"]);
    assert!(shell.contains("datafusion") && shell.contains("rustyline"), "{shell:?}");
}

/// The packages that are built into the library. Not those of [`metadata`]: there, features that
/// other members turn on count for the library as well.
fn built_into_the_library() -> BTreeSet<String> {
    tree(&["-p", "stationdb", "-e", "normal"])
}

/// The packages that commands without `-p` compile, with their tests, benches and examples.
fn default_commands() -> BTreeSet<String> {
    let members = DEFAULT_MEMBERS.iter().flat_map(|member| ["-p", member]);
    tree(&members.chain(["-e", "normal,build,dev"]).collect::<Vec<_>>())
}

/// The names of the packages that `cargo tree` tells.
fn tree(wanted: &[&str]) -> BTreeSet<String> {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
    let arguments = ["tree", "--all-features", "--prefix", "none", "--locked"];
    let arguments = [&arguments, wanted].concat();
    let run = |more: &[&str]| {
        let mut command = Command::new(&cargo);
        // The features are those of a user's command, whatever the gate has set.
        command.env_remove("CARGO_RESOLVER_FEATURE_UNIFICATION");
        let output = command.current_dir(root()).args(&arguments).args(more).output().unwrap();
        output.status.success().then_some(output.stdout).ok_or(output.stderr)
    };
    let output = run(&["--offline"]).or_else(|_| run(&[])).unwrap_or_else(|error| {
        panic!("cargo tree failed: {}", String::from_utf8_lossy(&error));
    });
    let names = String::from_utf8(output).unwrap();
    names.lines().filter_map(|line| line.split(' ').next()).map(str::to_owned).collect()
}

/// The code of targets that lie in the directories of other packages, with their modules.
fn sources_elsewhere(package: &Value, directory: &Path) -> String {
    let targets = package["targets"].as_array().unwrap().iter();
    let paths = targets.map(|target| PathBuf::from(target["src_path"].as_str().unwrap()));
    let is_elsewhere = |path: &PathBuf| {
        !path.starts_with(directory) || path.components().any(|part| part.as_os_str() == "..")
    };
    let code = |path: PathBuf| {
        let modules = path.with_extension("");
        let modules = if modules.is_dir() { sources(&modules) } else { String::new() };
        code_of(&path) + &modules
    };
    paths.filter(is_elsewhere).map(code).collect()
}

fn sources_of_the_server() -> String {
    sources(&root().join("examples/server/src"))
}

/// The salvage reads redb's pages itself, and its tests hold it to the pages that the locked version
/// writes. Another version may write others, so the requirement allows the locked one alone, and
/// every lock file of the repository has it.
#[test]
fn the_requirement_of_redb_allows_only_what_the_reader_of_its_pages_is_tested_with() {
    let metadata = metadata();
    let packages = metadata["packages"].as_array().unwrap();
    let own = packages.iter().find(|package| package["name"] == "stationdb").unwrap();
    let is_engine =
        |dependency: &&Value| dependency["name"] == "redb" && dependency["rename"].is_null();
    let required = own["dependencies"].as_array().unwrap().iter().find(is_engine).unwrap();
    let locks = lock_files(&root());
    assert!(locks.len() >= 2, "{locks:?}");
    for lock in locks {
        let text_of = std::fs::read_to_string(&lock).unwrap();
        let locked = engines(&text_of);
        let [locked] = locked.as_slice() else {
            panic!("{}: not one engine: {locked:?}", lock.display())
        };
        assert_eq!(
            text(&required["req"]),
            Some(format!("={locked}").as_str()),
            "Cargo.toml has to require the redb of {}, and no other",
            lock.display()
        );
    }
}

/// The versions of redb in the text of a lock file, without the old one that loses data.
fn engines(lock: &str) -> Vec<String> {
    let lock: toml::Value = toml::from_str(lock).unwrap();
    let version = |package: &toml::Value| {
        let version =
            package["version"].as_str().filter(|_| package["name"].as_str() == Some("redb"));
        version.filter(|version| !version.starts_with("3.")).map(str::to_owned)
    };
    list(&lock["package"]).iter().filter_map(version).collect()
}

/// The lock files of the repository; what a build wrote is not part of it.
fn lock_files(directory: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if path.is_dir() && name != "target" && !name.starts_with('.') {
            found.extend(lock_files(&path));
        } else if name == "Cargo.lock" {
            found.push(path);
        }
    }
    found
}

/// Declared dependencies that no code names.
fn unused(declared: &[Value], packages: &[Value], library: &str, all: &str) -> Vec<String> {
    // The library of a package may have another name than the package.
    let library_of = |dependency: &Value| {
        let package = packages.iter().find(|package| package["name"] == dependency["name"])?;
        let mut targets = package["targets"].as_array()?.iter();
        let is_library = |target: &&Value| {
            let kinds = target["kind"].as_array().into_iter().flatten();
            kinds.filter_map(text).any(|kind| kind.contains("lib") || kind == "proc-macro")
        };
        text(&targets.find(is_library)?["name"])
    };
    let is_unused = |dependency: &&Value| {
        let package = || library_of(dependency).or(text(&dependency["name"]));
        let name = text(&dependency["rename"]).or_else(package).unwrap_or_default();
        // Dependencies that are built into the library must be used in the library.
        let code = if dependency["kind"].is_null() { library } else { all };
        !names(code, &name.replace('-', "_"))
    };
    let problem = |dependency: &Value| {
        format!("no code names the dependency {}; remove it", dependency["name"])
    };
    declared.iter().filter(is_unused).map(problem).collect()
}

/// Whether the code names a crate: in a path, in a `use`, or as a macro.
fn names(code: &str, name: &str) -> bool {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    code.match_indices(name).any(|(at, _)| {
        let before = &code[..at];
        let after = &code[at + name.len()..];
        // `crate::time::…` is a module of this crate.
        let is_inner = before.ends_with("::") && !before.ends_with(" ::");
        let is_use = before.ends_with("use ") && after.starts_with([';', ' ']);
        !before.ends_with(is_word) && !is_inner && (after.starts_with("::") || is_use)
    })
}

/// Direct dependencies that the table of `docs/decisions.md` does not name.
fn without_reason(declared: &[Value], decisions: &str) -> Vec<String> {
    let section = decisions.split("\n## Dependencies\n").nth(1).unwrap_or_default();
    let table = section
        .lines()
        .take_while(|line| !line.starts_with('#'))
        .filter(|line| line.starts_with('|'));
    let known: BTreeSet<&str> = table
        .filter_map(|line| line.split('|').nth(1))
        .flat_map(|cell| cell.split('`').skip(1).step_by(2))
        .collect();
    let names = declared
        .iter()
        .filter_map(|dependency| text(&dependency["rename"]).or(text(&dependency["name"])));
    let names: BTreeSet<&str> = names.collect();
    let missing =
        names.difference(&known).map(|name| format!("docs/decisions.md has no reason for {name}"));
    let gone = known
        .difference(&names)
        .map(|name| format!("docs/decisions.md names {name}, which is no dependency"));
    missing.chain(gone).collect()
}

/// The rules of `deny.toml` that one package breaks.
fn refused(package: &Value, deny: &toml::Value) -> Vec<String> {
    let (name, version) = (text(&package["name"]).unwrap(), text(&package["version"]).unwrap());
    let mut problems = Vec::new();
    if let Some(source) = text(&package["source"]).filter(|source| *source != REGISTRY) {
        problems.push(format!("{name} {version} comes from {source}"));
    }
    let allowed: Vec<&str> =
        list(&deny["licenses"]["allow"]).iter().filter_map(toml::Value::as_str).collect();
    let license = text(&package["license"]).unwrap_or_default();
    if !is_licensed(license, &allowed) {
        problems.push(format!(
            "{name} {version} has the license {license:?}, which deny.toml does not allow"
        ));
    }
    for banned in list(&deny["bans"]["deny"]) {
        let rule = banned["crate"].as_str().unwrap();
        let (crate_name, least) = rule.split_once(":>=").unwrap();
        let major = |version: &str| version.split('.').next().unwrap().parse::<u64>().unwrap();
        if crate_name == name && major(version) >= major(least) {
            problems.push(format!(
                "{name} {version}: deny.toml forbids {rule}: {}",
                banned["reason"].as_str().unwrap()
            ));
        }
    }
    for dependency in package["dependencies"].as_array().into_iter().flatten() {
        if package["source"].is_null() && dependency["path"].is_null() && dependency["req"] == "*" {
            problems.push(format!("{name} takes any version of {}", dependency["name"]));
        }
    }
    problems
}

/// Whether a license expression can be satisfied by allowed licenses alone.
fn is_licensed(expression: &str, allowed: &[&str]) -> bool {
    let spaced = expression.replace('(', " ( ").replace(')', " ) ").replace('/', " OR ");
    let mut words = spaced.split_whitespace().peekable();
    either(&mut words, allowed) && words.next().is_none()
}

type Words<'w> = std::iter::Peekable<std::str::SplitWhitespace<'w>>;

fn either(words: &mut Words<'_>, allowed: &[&str]) -> bool {
    let mut is_met = both(words, allowed);
    while words.next_if_eq(&"OR").is_some() {
        is_met |= both(words, allowed);
    }
    is_met
}

fn both(words: &mut Words<'_>, allowed: &[&str]) -> bool {
    let mut is_met = one(words, allowed);
    while words.next_if_eq(&"AND").is_some() {
        is_met &= one(words, allowed);
    }
    is_met
}

fn one(words: &mut Words<'_>, allowed: &[&str]) -> bool {
    match words.next() {
        Some("(") => {
            let is_met = either(words, allowed);
            words.next() == Some(")") && is_met
        }
        Some(license) => match words.next_if_eq(&"WITH") {
            Some(_) => {
                let exception = words.next().unwrap_or_default();
                allowed.contains(&format!("{license} WITH {exception}").as_str())
            }
            None => allowed.contains(&license),
        },
        None => false,
    }
}

/// The packages of all features on this platform.
fn metadata() -> Value {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
    let run = |arguments: &[&str]| {
        let output = Command::new(&cargo).current_dir(root()).args(arguments).output().unwrap();
        output.status.success().then_some(output.stdout).ok_or(output.stderr)
    };
    let version = String::from_utf8(run(&["-vV"]).unwrap()).unwrap();
    let host = version.lines().find_map(|line| line.strip_prefix("host: ")).unwrap();
    let arguments =
        ["metadata", "--format-version=1", "--locked", "--all-features", "--filter-platform", host];
    // The build of this test has fetched the packages, so the network is usually not needed.
    let offline = [&arguments[..], &["--offline"]].concat();
    let output = run(&offline).or_else(|_| run(&arguments)).unwrap_or_else(|error| {
        panic!("cargo metadata failed: {}", String::from_utf8_lossy(&error));
    });
    serde_json::from_slice(&output).unwrap()
}

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn read(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap()
}

fn text(value: &Value) -> Option<&str> {
    value.as_str()
}

fn list(value: &toml::Value) -> &[toml::Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}

/// The code below a directory, without comments.
fn sources(directory: &Path) -> String {
    let mut code = String::new();
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            code.push_str(&sources(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            code.push_str(&code_of(&path));
        }
    }
    code
}

/// The lines of a file that are no comments.
fn code_of(path: &Path) -> String {
    let text = std::fs::read_to_string(path).unwrap();
    let lines = text.lines().filter(|line| !line.trim_start().starts_with("//"));
    lines.flat_map(|line| [line, "\n"]).collect()
}

#[test]
fn rules_refuse_what_they_should() {
    let declared = serde_json::json!([
        { "name": "used", "rename": null, "kind": null },
        { "name": "idle-one", "rename": null, "kind": null },
        { "name": "other", "rename": "other_3", "kind": "dev" },
        { "name": "for-tests", "rename": null, "kind": null },
        { "name": "md-5", "rename": null, "kind": null },
    ]);
    let declared = declared.as_array().unwrap();
    let packages =
        serde_json::json!([{ "name": "md-5", "targets": [{ "kind": ["lib"], "name": "md5" }] }]);
    let packages = packages.as_array().unwrap();
    let library = "use used::Thing;\nuse md5::{Digest, Md5};\nlet x = crate::idle_one::y(); my_idle_one::z();";
    let all = format!("{library}\nfor_tests::check();\nuse other_3 as other;");
    let problems = unused(declared, packages, library, &all);
    assert_eq!(problems.len(), 2, "{problems:?}");
    assert!(problems[0].contains("idle-one") && problems[1].contains("for-tests"), "{problems:?}");

    let problems = without_reason(
        declared,
        "\n## Dependencies\n| `used`, `idle-one` 1, `md-5` | why |\n| dev: `other_3` | why |\n| `gone` | why |\n# B\n| `c` |",
    );
    assert_eq!(problems.len(), 2, "{problems:?}");
    assert!(problems[0].contains("for-tests") && problems[1].contains("gone"), "{problems:?}");

    let allowed = ["MIT", "Zlib", "Apache-2.0 WITH LLVM-exception"];
    for good in [
        "MIT",
        "GPL-3.0 OR MIT",
        "GPL-3.0/MIT",
        "Zlib AND (GPL-3.0 OR MIT)",
        "Apache-2.0 WITH LLVM-exception",
    ] {
        assert!(is_licensed(good, &allowed), "{good}");
    }
    for bad in [
        "",
        "GPL-3.0",
        "MIT AND GPL-3.0",
        "(MIT",
        "MIT)",
        "Apache-2.0",
        "GPL-3.0 OR MIT AND Apache-2.0",
    ] {
        assert!(!is_licensed(bad, &allowed), "{bad}");
    }

    let deny: toml::Value = toml::from_str(
        "[licenses]\nallow = ['MIT']\n[bans]\ndeny = [{ crate = 'arrow:>=60', reason = 'two arrows' }]\n",
    )
    .unwrap();
    let package = |version: &str, source: Option<&str>, license: &str| {
        let any = serde_json::json!([{ "name": "any", "req": "*" }]);
        let package = serde_json::json!({
            "name": "arrow", "version": version, "source": source, "license": license, "dependencies": any,
        });
        refused(&package, &deny).len()
    };
    assert_eq!(package("59.9.9", Some(REGISTRY), "MIT"), 0);
    assert_eq!(package("60.0.0", Some(REGISTRY), "MIT"), 1);
    assert_eq!(package("59.0.0", Some("git+https://example.org/arrow"), "MIT"), 1);
    assert_eq!(package("59.0.0", Some(REGISTRY), "GPL-3.0"), 1);
    assert_eq!(package("59.0.0", None, "MIT"), 1, "any version, in the own manifest");
}
