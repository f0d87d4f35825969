//! Exported feeds, read by the package managers if they are installed, otherwise parsed as they
//! would.

use crate::prelude::*;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::Command;

use md5::{Digest, Md5};
use sha2::Sha256;

use crate::feeds::{deb, deb_with, feed, gz, ipk, kind, tarball, upload};

/// A private root of `apt` with one source.
struct Apt {
    root: PathBuf,
}

impl Apt {
    fn new(root: PathBuf, feed: &Path) -> Self {
        for part in [
            "state/lists/partial",
            "cache/archives/partial",
            "etc/apt.conf.d",
            "etc/preferences.d",
            "log",
        ] {
            std::fs::create_dir_all(root.join(part)).unwrap();
        }
        std::fs::write(root.join("status"), "").unwrap();
        std::fs::write(
            root.join("sources.list"),
            format!("deb [trusted=yes] file:{} ./\n", feed.display()),
        )
        .unwrap();
        Self { root }
    }

    /// Whether the program succeeds, and its output.
    fn try_run(&self, program: &str, arguments: &[&str]) -> (bool, String) {
        let at = |option: &str, path: &str| format!("{option}={}", self.root.join(path).display());
        let mut command = Command::new(program);
        for option in [
            at("Dir", ""),
            at("Dir::State", "state"),
            at("Dir::State::status", "status"),
            at("Dir::Cache", "cache"),
            at("Dir::Etc", "etc"),
            at("Dir::Etc::sourcelist", "sources.list"),
            "Dir::Etc::sourceparts=-".to_owned(),
            at("Dir::Log", "log"),
            "APT::Architecture=amd64".to_owned(),
            "APT::Sandbox::User=root".to_owned(),
            "Acquire::Languages=none".to_owned(),
        ] {
            command.arg("-o").arg(option);
        }
        let output = command.args(arguments).current_dir(&self.root).output().unwrap();
        let text = format!(
            "{}{}",
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr)
        );
        (output.status.success(), text)
    }

    #[track_caller]
    fn run(&self, program: &str, arguments: &[&str]) -> String {
        let (succeeded, text) = self.try_run(program, arguments);
        assert!(succeeded, "{text}");
        text
    }

    #[track_caller]
    fn update(&self) {
        let text = self.run("apt-get", &["update"]);
        assert!(!text.contains("Err:") && !text.contains("W:"), "{text}");
    }
}

/// Bytes in lower-case hexadecimal digits.
fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn an_exported_feed_is_accepted_by_apt() {
    let (_disk, _store, session) = fresh();
    let rt = feed(&session, Platform::ni_linux_rt());
    for (name, version) in
        [("stationdb-tool", "1:1.0-1"), ("stationdb-tool", "1:2.0-1"), ("stationdb-other", "0.1")]
    {
        upload(&session, &rt.id, &deb_with(name, version, 30_000), None, false).unwrap();
    }
    let dir = tempfile::tempdir().unwrap();
    let target = dir.path().join("feed");
    assert_eq!(session.export_feed(&rt.id, &target, &control()).unwrap(), 3);
    // A second export into the same directory fails and changes no file.
    let files = || {
        let entries = std::fs::read_dir(&target).unwrap().map(|entry| entry.unwrap().path());
        entries.map(|path| (path.clone(), std::fs::read(path).unwrap())).collect::<BTreeMap<_, _>>()
    };
    let before = files();
    let late = upload(&session, &rt.id, &deb("late", "1"), None, false).unwrap();
    assert_eq!(kind(session.export_feed(&rt.id, &target, &control())), ErrorKind::Conflict);
    assert_eq!(files(), before);
    session.delete_package(&late.id).unwrap();
    let written = std::fs::read(target.join("stationdb-tool_2.0-1_amd64.deb")).unwrap();
    assert_eq!(written, deb_with("stationdb-tool", "1:2.0-1", 30_000));
    if Command::new("apt-get").arg("--version").output().is_err() {
        eprintln!("skipped: apt-get is not installed");
        return;
    }
    let apt = Apt::new(dir.path().join("root"), &target);
    apt.update();
    let policy = apt.run("apt-cache", &["policy", "stationdb-tool", "stationdb-other"]);
    assert!(policy.contains("Candidate: 1:2.0-1") && policy.contains("Candidate: 0.1"), "{policy}");
    assert!(policy.contains("1:1.0-1"), "the older version is listed as well: {policy}");
    let shown = apt.run("apt-cache", &["show", "stationdb-other"]);
    assert!(shown.contains("Filename: ") && shown.contains("  fixed"), "{shown}");
    let depends = apt.run("apt-cache", &["depends", "stationdb-other"]);
    assert!(depends.contains("libc6") && depends.contains("another"), "{depends}");
    // Fetches what the index names, and compares size and hash.
    let fetch = ["download", "stationdb-tool"];
    apt.run("apt-get", &fetch);
    let fetched = std::fs::read(apt.root.join("stationdb-tool_1%3a2.0-1_amd64.deb")).unwrap();
    assert_eq!(fetched, deb_with("stationdb-tool", "1:2.0-1", 30_000));
    let mut forged = fetched;
    *forged.last_mut().unwrap() ^= 1;
    std::fs::write(target.join("stationdb-tool_2.0-1_amd64.deb"), forged).unwrap();
    std::fs::remove_file(apt.root.join("stationdb-tool_1%3a2.0-1_amd64.deb")).unwrap();
    let (succeeded, text) = apt.try_run("apt-get", &fetch);
    assert!(!succeeded && text.contains("Hash"), "{text}");
    // The compressed index alone is enough.
    std::fs::remove_file(target.join("Packages")).unwrap();
    let apt = Apt::new(dir.path().join("another root"), &target);
    apt.update();
    let policy = apt.run("apt-cache", &["policy", "stationdb-tool"]);
    assert!(policy.contains("Candidate: 1:2.0-1"), "{policy}");
}

/// The stanzas of an index as a package manager parses them: fields until a blank line;
/// continuation lines start with a blank.
fn stanzas(index: &str) -> Vec<BTreeMap<String, String>> {
    let fields = |stanza: &str| {
        let mut fields: Vec<(String, String)> = Vec::new();
        for line in stanza.lines() {
            match line.strip_prefix(' ') {
                Some(more) => fields.last_mut().unwrap().1.push_str(&format!("\n{more}")),
                None => {
                    let (name, value) = line.split_once(':').unwrap();
                    assert!(
                        fields.iter().all(|(known, _)| !known.eq_ignore_ascii_case(name)),
                        "{name} is there twice"
                    );
                    fields.push((name.to_owned(), value.trim_start().to_owned()));
                }
            }
        }
        fields.into_iter().collect()
    };
    index.split("\n\n").filter(|stanza| !stanza.trim().is_empty()).map(fields).collect()
}

/// Exports a feed and reads it like the package managers: the index, its compressed form, and every
/// file that they name.
fn check_exported(session: &Session, feed_id: &str) -> Vec<BTreeMap<String, String>> {
    let dir = tempfile::tempdir().unwrap();
    let count = session.export_feed(&feed_id.into(), dir.path(), &control()).unwrap();
    let index = std::fs::read_to_string(dir.path().join("Packages")).unwrap();
    assert_eq!(index, session.packages_index(&feed_id.into()).unwrap());
    let mut inflated = String::new();
    let compressed = std::fs::read(dir.path().join("Packages.gz")).unwrap();
    assert_eq!(compressed, session.packages_index_gz(&feed_id.into()).unwrap());
    flate2::read::GzDecoder::new(&*compressed).read_to_string(&mut inflated).unwrap();
    assert_eq!(inflated, index);
    let stanzas = stanzas(&index);
    assert_eq!(stanzas.len() as u64, count);
    for stanza in &stanzas {
        let bytes = std::fs::read(dir.path().join(&stanza["Filename"])).unwrap();
        assert_eq!(stanza["Size"], bytes.len().to_string());
        assert_eq!(stanza["MD5sum"], hex(&Md5::digest(&bytes)));
        assert_eq!(stanza["SHA256"], hex(&Sha256::digest(&bytes)));
        for needed in ["Package", "Version", "Architecture"] {
            assert!(!stanza[needed].is_empty());
        }
    }
    let release = std::fs::read_to_string(dir.path().join("Release")).unwrap();
    for bytes in [index.as_bytes(), &compressed] {
        assert!(
            release.contains(&format!(" {} {} ", hex(&Sha256::digest(bytes)), bytes.len())),
            "{release}"
        );
    }
    // The directory contains only the packages and the three index files.
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count() as u64, count + 3);
    stanzas
}

#[test]
fn an_exported_feed_of_ipk_is_one_that_opkg_reads() {
    let (_disk, _store, session) = fresh();
    let rt = feed(&session, Platform::ni_linux_rt());
    upload(&session, &rt.id, &ipk("small", "3"), None, false).unwrap();
    upload(&session, &rt.id, &deb("as-ar", "1:4"), Some("as-ar.ipk"), false).unwrap();
    upload(&session, &rt.id, &deb_with("large", "5", 50_000), None, false).unwrap();
    let stanzas = check_exported(&session, &rt.id);
    assert_eq!(stanzas[0]["Filename"], "small_3_amd64.ipk");
    assert_eq!(stanzas[0]["Depends"], "libc6 (>= 2.3), other | another");
    assert_eq!(stanzas[0]["Description"], "Tool\nFirst\n.\n fixed");
    assert_eq!(stanzas[1]["Version"], "1:4");
    // opkg looks for this name.
    assert_eq!(stanzas[0]["SHA256sum"], stanzas[0]["SHA256"]);
    assert!(!stanzas[2].contains_key("SHA256sum"));
}

#[test]
fn an_exported_feed_for_windows_has_the_vendors_packages() {
    let (_disk, _store, session) = fresh();
    let windows = feed(&session, Platform::windows());
    upload(&session, &windows.id, &deb("tool", "25.0.0.49152-0+f0"), None, false).unwrap();
    upload(&session, &windows.id, &deb_with("other", "1", 40_000), Some("other.NIPKG"), false)
        .unwrap();
    let stanzas = check_exported(&session, &windows.id);
    assert_eq!(stanzas[0]["Filename"], "tool_25.0.0.49152-0+f0_amd64.nipkg");
    // Fields for the index have a prefix in the package and none in the index.
    assert_eq!(stanzas[0]["Plugin"], "file");
    assert_eq!(stanzas[1]["Filename"], "other.NIPKG");
}

#[test]
fn an_empty_feed_is_exported_as_one() {
    let (_disk, _store, session) = fresh();
    let rt = feed(&session, Platform::ni_linux_rt());
    assert!(check_exported(&session, &rt.id).is_empty());
    let stopped = control();
    stopped.cancel();
    upload(&session, &rt.id, &deb_with("t", "1", 50_000), None, false).unwrap();
    let dir = tempfile::tempdir().unwrap();
    assert_eq!(kind(session.export_feed(&rt.id, dir.path(), &stopped)), ErrorKind::Cancelled);
    assert_eq!(
        std::fs::read_dir(dir.path()).unwrap().count(),
        0,
        "an interrupted export leaves nothing"
    );
    assert_eq!(session.export_feed(&rt.id, dir.path(), &control()).unwrap(), 1);
    let file = dir.path().join("file");
    std::fs::write(&file, "a file").unwrap();
    assert_eq!(kind(session.export_feed(&rt.id, &file, &control())), ErrorKind::Io);
    assert_eq!(
        kind(session.export_feed(&"none".into(), &dir.path().join("other"), &control())),
        ErrorKind::NotFound
    );
    assert!(!dir.path().join("other").exists());
}

#[test]
fn an_odd_package_does_not_cost_apt_the_others() {
    let (_disk, _store, session) = fresh();
    let rt = feed(&session, Platform::ni_linux_rt());
    upload(&session, &rt.id, &deb("stationdb-tool", "1"), Some("a b%3a~+#.deb"), false).unwrap();
    for (at, field) in [
        "Depends: a (>= ",
        "Breaks: x |",
        "Provides: [y]",
        "Description-md5: 0",
        "My Field: 1",
        "#x: 1",
    ]
    .into_iter()
    .enumerate()
    {
        let text =
            format!("Package: odd{at}\nVersion: a b\nArchitecture: *\nMaintainer: x\n{field}\n");
        let control_tar = gz(&tarball(&[("control", text.as_bytes())]));
        let bytes = gz(&tarball(&[
            ("debian-binary", b"2.0\n"),
            ("control.tar.gz", &control_tar),
            ("data.tar", b""),
        ]));
        upload(&session, &rt.id, &bytes, None, false).unwrap();
    }
    let dir = tempfile::tempdir().unwrap();
    let target = dir.path().join("feed");
    session.export_feed(&rt.id, &target, &control()).unwrap();
    if Command::new("apt-get").arg("--version").output().is_err() {
        eprintln!("skipped: apt-get is not installed");
        return;
    }
    let apt = Apt::new(dir.path().join("root"), &target);
    apt.update();
    let policy = apt.run("apt-cache", &["policy", "stationdb-tool"]);
    assert!(policy.contains("Candidate: 1"), "{policy}");
    apt.run("apt-get", &["download", "stationdb-tool"]);
}
