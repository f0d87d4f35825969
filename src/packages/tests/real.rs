//! Packages that `dpkg-deb` builds here, and real ones, compared with the output of `dpkg-deb`.
//!
//! `STATIONDB_DEBS` names a directory of further packages to compare, such as those that `apt-get
//! download` fetched.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::packages::{Inspection, inspect};

/// The output of the tool; `None` if it is missing or fails.
fn tool(program: &str, arguments: &[&str]) -> Option<Vec<u8>> {
    let output = Command::new(program).args(arguments).stderr(Stdio::null()).output().ok()?;
    output.status.success().then_some(output.stdout)
}

/// `bytes` compressed by the `xz` of the machine, if there is one.
pub(super) fn xz(arguments: &[&str], bytes: &[u8]) -> Option<Vec<u8>> {
    let mut command = Command::new("xz");
    command
        .args(arguments)
        .args(["--stdout", "--check=crc32"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped());
    let Ok(mut child) = command.spawn() else {
        eprintln!("skipped: xz is not installed");
        return None;
    };
    let mut input = child.stdin.take().unwrap();
    let bytes = bytes.to_vec();
    let writer = std::thread::spawn(move || input.write_all(&bytes).is_ok());
    let output = child.wait_with_output().unwrap();
    (writer.join().unwrap() && output.status.success()).then_some(output.stdout)
}

/// A package to build: its name, the options of `dpkg-deb`, and its control file after `Package`.
struct Made {
    name: &'static str,
    options: &'static [&'static str],
    control: &'static str,
}

const PLAIN: &str =
    "Version: 1.0\nArchitecture: all\nMaintainer: Ada <ada@example.org>\nDescription: A tool\n";

const MADE: &[Made] = &[
    Made { name: "gzip-tool", options: &["-Zgzip"], control: PLAIN },
    Made { name: "gzip-best", options: &["-Zgzip", "-z9"], control: PLAIN },
    Made { name: "xz-tool", options: &["-Zxz"], control: PLAIN },
    // The largest dictionary of the format's standard levels.
    Made { name: "xz-best", options: &["-Zxz", "-z9", "-Sextreme"], control: PLAIN },
    Made { name: "zstd-tool", options: &["-Zzstd"], control: PLAIN },
    Made { name: "zstd-best", options: &["-Zzstd", "-z19"], control: PLAIN },
    Made { name: "stored", options: &["-Znone"], control: PLAIN },
    // Control and data use different compression methods, as before dpkg 1.19.
    Made { name: "mixed", options: &["-Zxz", "--no-uniform-compression"], control: PLAIN },
    Made {
        name: "epoch",
        options: &["-Zgzip"],
        control: "Version: 2:1.0~rc1+dfsg-1.1+b2\nArchitecture: amd64\nMaintainer: x\nSource: other (1:0.9)\n\
            Description: y\nInstalled-Size: 12345\nPriority: standard\nSection: non-free/libs\n",
    },
    Made {
        name: "essential",
        options: &["-Zxz"],
        control: "Essential: yes\nProtected: yes\nPriority: required\nVersion: 0\nArchitecture: any-amd64\n\
            Maintainer: x\nDescription: y\nMulti-Arch: foreign\n",
    },
    Made {
        name: "relations",
        options: &["-Zzstd"],
        control: "Version: 5\nArchitecture: amd64\nMaintainer: x\nPre-Depends: libc6 (>= 2.36), dpkg (>= 1.17.14)\n\
            Depends: libc6 (>= 2.36),\n a | b:any (<< 2~) |\n  c,\n\td (= 1:2-3)\nRecommends: r\nSuggests: s1, s2\n\
            Enhances: e\nBreaks: old (<< 2)\nConflicts: d, e (>= 3), f (= 4)\nReplaces: old (<< 2), older\n\
            Provides: virtual (= 1.0), other-virtual\nDescription: y\n",
    },
    Made {
        name: "long-text",
        options: &["-Zxz"],
        control: "Version: 5\nArchitecture: all\nMaintainer: x\nDescription: Synopsis with: a colon\n First   line\n .\n\
            \x20 fixed  text   \n   deeper\n .\n .\n # no comment\n - a list\n last\nHomepage: https://example.org/?a=b:c\n",
    },
    Made {
        name: "unicode",
        options: &["-Zgzip"],
        control: "Version: 5\nArchitecture: all\nMaintainer: Jörg Ähm <j@example.org>\nDescription: ä€𝄞\n Zeile mit ß\n .\n 日本語\n",
    },
    Made {
        name: "odd-fields",
        options: &["-Znone"],
        control: "version:5\nARCHITECTURE:   all   \nMaintainer:\tx\nDescription: y\nXB-Plugin: file\n\
            XBCS-DisplayName: Some Tool\nTag: role::program, scope::utility,\n use::checking\nBuilt-Using: gcc-12 (= 12.2.0-14)\n\
            Original-Maintainer: y\nPython-Version: 3.11\nCnf-Extra-Commands: a b\nBugs: mailto:x@example.org\n",
    },
];

#[test]
fn made_packages_have_the_fields_that_dpkg_deb_prints() {
    if tool("dpkg-deb", &["--version"]).is_none() {
        eprintln!("skipped: dpkg-deb is not installed");
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let mut compared = 0;
    for (number, made) in MADE.iter().enumerate() {
        let root = dir.path().join(made.name);
        std::fs::create_dir_all(root.join("DEBIAN")).unwrap();
        let control = format!("Package: {}\n{}", made.name, made.control);
        std::fs::write(root.join("DEBIAN/control"), control).unwrap();
        std::fs::write(root.join("DEBIAN/conffiles"), "").unwrap();
        std::fs::write(root.join("data"), vec![7; number * 10_001]).unwrap();
        let deb = dir.path().join(format!("{}.deb", made.name));
        let (from, to) = (root.to_str().unwrap(), deb.to_str().unwrap());
        let arguments: Vec<&str> = ["--root-owner-group"]
            .iter()
            .chain(made.options)
            .copied()
            .chain(["--build", from, to])
            .collect();
        if tool("dpkg-deb", &arguments).is_none() {
            eprintln!("skipped: dpkg-deb does not know {:?}", made.options);
            continue;
        }
        compare(&deb);
        compared += 1;
        if made.name == "gzip-tool" {
            compared += compare_old_layouts(&deb, dir.path());
        }
    }
    println!("{compared} packages compared");
    assert!(compared >= 12, "only {compared} packages could be made");
}

/// The same members in the layouts of other archivers, which `dpkg-deb` reads too.
fn compare_old_layouts(deb: &Path, dir: &Path) -> usize {
    let members = dir.join("members");
    std::fs::create_dir_all(&members).unwrap();
    let in_members = |program: &str, arguments: &[&str]| {
        let done = Command::new(program).args(arguments).current_dir(&members).status();
        done.is_ok_and(|status| status.success())
    };
    if !in_members("ar", &["x", deb.to_str().unwrap()]) {
        eprintln!("skipped: ar is not installed");
        return 0;
    }
    std::fs::write(members.join("_gpgorigin"), "a signature").unwrap();
    let names = ["debian-binary", "control.tar.gz", "data.tar.gz", "_gpgorigin"];
    // Names that end in a slash, and owner numbers and times, as GNU ar writes them.
    let gnu = [&["rcSU", "../gnu.deb"], names.as_slice()].concat();
    assert!(in_members("ar", &gnu));
    compare(&dir.join("gnu.deb"));
    1
}

#[test]
fn real_packages_have_the_fields_that_dpkg_deb_prints() {
    if tool("dpkg-deb", &["--version"]).is_none() {
        eprintln!("skipped: dpkg-deb is not installed");
        return;
    }
    let given = std::env::var_os("STATIONDB_DEBS").map(PathBuf::from);
    let directories = given.into_iter().chain([PathBuf::from("/var/cache/apt/archives")]);
    let entries = directories
        .flat_map(|directory| std::fs::read_dir(directory).into_iter().flatten().flatten());
    let debs = entries
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|end| end == "deb"));
    let compared = debs.take(100).map(|path| compare(&path)).count();
    println!("{compared} real packages compared");
    if compared == 0 {
        eprintln!(
            "skipped: there is no package here; name a directory of some with STATIONDB_DEBS"
        );
    }
}

/// Compares every field of the listing of `dpkg-deb` with our text.
fn compare(path: &Path) {
    let name = path.to_str().unwrap();
    let bytes = std::fs::read(path).unwrap();
    let package = inspect(&mut &*bytes).unwrap_or_else(|error| panic!("{name}: {error}"));
    assert_eq!(package.size, bytes.len() as u64);
    let text =
        |arguments: &[&str]| String::from_utf8(tool("dpkg-deb", arguments).unwrap()).unwrap();
    let listing = text(&["--field", name]);
    let fields: Vec<&str> = listing
        .lines()
        .filter(|line| !line.starts_with([' ', '\t']))
        .filter_map(|line| line.split_once(':').map(|(field, _)| field))
        .collect();
    let own: Vec<&str> = package.control.fields.iter().map(|field| field.name.as_str()).collect();
    assert_eq!(
        own.iter().map(|field| field.to_lowercase()).collect::<Vec<_>>(),
        fields.iter().map(|field| field.to_lowercase()).collect::<Vec<_>>(),
        "{name}"
    );
    for field in &fields {
        let printed = text(&["--field", name, field]);
        assert_eq!(
            as_we_say_it(&package, field),
            as_it_prints(&package, field, &printed),
            "{name}: {field}"
        );
    }
    check_members(&package, &|field| {
        // For a missing field, the tool may print a default.
        let is_there = fields.iter().any(|there| there.eq_ignore_ascii_case(field));
        is_there.then(|| {
            text(&["--field", name, field]).split_whitespace().collect::<Vec<_>>().join(" ")
        })
    });
}

fn has_lines(package: &Inspection, field: &str) -> bool {
    package.control.get(field).is_some_and(|text| text.contains('\n'))
}

fn as_we_say_it(package: &Inspection, field: &str) -> String {
    package.control.get(field).unwrap_or_default().to_owned()
}

/// The output of the tool in our text form; the tool keeps the markers of continuation lines.
fn as_it_prints(package: &Inspection, field: &str, printed: &str) -> String {
    let mut lines = printed.trim_end_matches('\n').split('\n').map(str::trim_end);
    let first = lines.next().unwrap_or_default().to_owned();
    if !has_lines(package, field) {
        // A folded field is one line.
        let rest = lines.map(|line| line.trim().to_owned());
        return std::iter::once(first)
            .chain(rest)
            .filter(|line| !line.is_empty())
            .collect::<Vec<_>>()
            .join(" ");
    }
    let rest = lines.map(|line| match line.strip_prefix([' ', '\t']) {
        Some(".") => String::new(),
        Some(text) => text.to_owned(),
        None => panic!("{line:?} continues nothing"),
    });
    std::iter::once(first).chain(rest).collect::<Vec<_>>().join("\n").trim_end().to_owned()
}

/// Compares the typed members with the output of the tool.
fn check_members(package: &Inspection, printed: &dyn Fn(&str) -> Option<String>) {
    let info = &package.info;
    let joined = |list: &Option<Vec<String>>| list.as_ref().map(|list| list.join(", "));
    let tidy = |text: Option<String>| {
        text.map(|text| text.replace(" ,", ",").trim_end_matches(',').to_owned())
    };
    for (field, member) in [
        ("Package", Some(info.package_name.clone())),
        ("Version", Some(info.version.clone())),
        ("Architecture", Some(info.architecture.clone())),
        ("Maintainer", info.maintainer.clone()),
        ("Homepage", info.homepage.clone()),
        ("Section", info.section.clone()),
        ("Source", info.source.clone()),
        ("Installed-Size", info.installed_size.map(|size| size.to_string())),
        ("Essential", info.essential.map(|is| if is { "yes" } else { "no" }.to_owned())),
        ("Pre-Depends", joined(&info.predepends)),
        ("Depends", joined(&info.depends)),
        ("Recommends", joined(&info.recommends)),
        ("Suggests", joined(&info.suggests)),
        ("Enhances", joined(&info.enhances)),
        ("Breaks", joined(&info.breaks)),
        ("Conflicts", joined(&info.conflicts)),
        ("Replaces", joined(&info.replaces)),
        ("Provides", joined(&info.provides)),
    ] {
        assert_eq!(member, tidy(printed(field)), "{}: {field}", info.package_name);
    }
    let words = ["required", "important", "standard", "optional", "extra"];
    let number = printed("Priority").and_then(|word| words.iter().position(|known| *known == word));
    assert_eq!(info.priority, number.map(|number| number as i64 + 2));
}
