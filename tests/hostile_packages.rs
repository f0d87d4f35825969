//! Malicious packages, uploaded to a feed. Each is refused with the right kind of error, quickly,
//! with little memory, and leaves no file.

#![cfg(feature = "packages")]

use std::io::Write;
use std::time::{Duration, Instant};

use stationdb::feeds::{CreateFeedRequest, FeedService, Platform};
use stationdb::{Control, ErrorKind, Identity, Session, Store};

/// The largest archive that is inflated, a decoder's dictionary, and the other memory of reading.
const MEMORY_KIB: u64 = 64 * 1024;
/// For an unoptimised build on a busy machine; otherwise it takes a tenth of a second.
const TIME: Duration = Duration::from_secs(10);

fn gz(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::new(6));
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn tarball(entries: &[(&str, tar::EntryType, &[u8])]) -> Vec<u8> {
    let mut out = Vec::new();
    for (name, kind, content) in entries {
        let mut header = tar::Header::new_gnu();
        header.as_old_mut().name[..name.len()].copy_from_slice(name.as_bytes());
        header.set_entry_type(*kind);
        header.set_size(content.len() as u64);
        header.set_mode(0o644);
        header.set_cksum();
        out.extend_from_slice(header.as_bytes());
        out.extend_from_slice(content);
        out.resize(out.len().next_multiple_of(512), 0);
    }
    out.resize(out.len() + 1024, 0);
    out
}

fn ar(members: &[(&str, u64, &[u8])]) -> Vec<u8> {
    let mut out = b"!<arch>\n".to_vec();
    for (name, size, content) in members {
        out.extend(
            format!("{name:<16}{:<12}{:<6}{:<6}{:<8}{size:<10}`\n", 0, 0, 0, 100_644).bytes(),
        );
        out.extend_from_slice(content);
        out.extend((content.len() % 2 == 1).then_some(b'\n'));
    }
    out
}

fn deb(control: &[u8]) -> Vec<u8> {
    let len = control.len() as u64;
    ar(&[
        ("debian-binary", 4, b"2.0\n"),
        ("control.tar.gz", len, control),
        ("data.tar.gz", 4, b"data"),
    ])
}

const CONTROL: &[u8] = b"Package: tool\nVersion: 1\nArchitecture: all\n";
const FILE: tar::EntryType = tar::EntryType::Regular;

fn hostile() -> Vec<(&'static str, Vec<u8>, ErrorKind)> {
    use ErrorKind::{InvalidArgument, LimitExceeded};
    let zeros = vec![0; 200 * 1024 * 1024];
    let good = deb(&gz(&tarball(&[("control", FILE, CONTROL)])));
    let outer_bomb = [("debian-binary", FILE, b"2.0\n".as_slice()), ("data.tar", FILE, &zeros)];
    let bomb = gz(&zeros);
    let inner_bomb = [
        ("debian-binary", FILE, b"2.0\n".as_slice()),
        ("control.tar.gz", FILE, &bomb),
        ("data.tar.gz", FILE, b"data"),
    ];
    let names: Vec<(&str, tar::EntryType, &[u8])> = vec![("x", FILE, b""); 20_000];
    let mut many = ar(&[("debian-binary", 4, b"2.0\n")]);
    (0..20_000).for_each(|_| many.extend_from_slice(&ar(&[("_x", 0, b"")])[8..]));
    // A dictionary of a gibibyte, in the header of an otherwise valid stream; a frame that requires
    // a window of the same size.
    let window = [0x28, 0xb5, 0x2f, 0xfd, 0x00, 0xa0, 0x01, 0x00, 0x00];
    vec![
        ("no content", vec![], InvalidArgument),
        ("another format", b"PK\x03\x04".repeat(1000), InvalidArgument),
        ("zeros", zeros[..1_000_000].to_vec(), InvalidArgument),
        ("cut in the middle", good[..good.len() / 2].to_vec(), InvalidArgument),
        ("a gzip bomb of control", deb(&gz(&zeros)), LimitExceeded),
        ("a zstd bomb of control", deb(&zstd::bulk::compress(&zeros, 19).unwrap()), LimitExceeded),
        ("a bomb of data in a gzipped tar", gz(&tarball(&outer_bomb)), LimitExceeded),
        ("a bomb in a bomb", gz(&tarball(&inner_bomb)), LimitExceeded),
        ("a window of a gibibyte", deb(&window), InvalidArgument),
        (
            "a forged size of control",
            ar(&[("debian-binary", 4, b"2.0\n"), ("control.tar.gz", 9_999_999_999, b"x")]),
            LimitExceeded,
        ),
        (
            "a forged size of data",
            ar(&[("debian-binary", 4, b"2.0\n"), ("data.tar", 9_999_999_999, b"x")]),
            InvalidArgument,
        ),
        ("endless members", many, LimitExceeded),
        ("endless entries", gz(&tarball(&names)), LimitExceeded),
        (
            "a link",
            deb(&gz(&tarball(&[("control", tar::EntryType::Symlink, b"")]))),
            InvalidArgument,
        ),
        (
            "a hard link",
            deb(&gz(&tarball(&[("control", tar::EntryType::Link, b"")]))),
            InvalidArgument,
        ),
        (
            "a device",
            deb(&gz(&tarball(&[("control", tar::EntryType::Block, b"")]))),
            InvalidArgument,
        ),
        ("a way up", deb(&gz(&tarball(&[("../control", FILE, CONTROL)]))), InvalidArgument),
        ("an absolute name", deb(&gz(&tarball(&[("/control", FILE, CONTROL)]))), InvalidArgument),
        (
            "a name that leads away",
            deb(&gz(&tarball(&[(
                "control",
                FILE,
                b"Package: ../../x\nVersion: 1\nArchitecture: all\n",
            )]))),
            InvalidArgument,
        ),
        (
            "a field without end",
            deb(&gz(&tarball(&[(
                "control",
                FILE,
                &[b"Package: x\n".as_slice(), &b" y\n".repeat(60_000)].concat(),
            )]))),
            LimitExceeded,
        ),
    ]
}

fn upload(
    session: &Session,
    feed: &str,
    bytes: &[u8],
) -> stationdb::Result<stationdb::feeds::Package> {
    session.upload_package_content(&feed.into(), &mut &*bytes, None, false, &Control::default())
}

/// Peak and present memory of this process, if the system reports them.
fn memory_kib(line: &str) -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    status.lines().find(|text| text.starts_with(line))?.split_whitespace().nth(1)?.parse().ok()
}

#[test]
fn hostile_packages_are_refused_soon_and_in_little_memory() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("store");
    let store = Store::options().maintenance_thread(false).open(&path).unwrap();
    let session = store.session(Identity::user("ada"));
    let platform = Some(Platform::ni_linux_rt());
    let request = CreateFeedRequest::new("tools").maybe_platform(platform);
    let feed = session.create_feed(request).unwrap();
    // A valid package first, so that the memory that every upload needs is allocated.
    upload(&session, &feed.id, &deb(&gz(&tarball(&[("control", FILE, CONTROL)])))).unwrap();
    let hostile = hostile();
    // Creating the packages took memory. The peak is reset here, if the system allows that.
    let counts = std::fs::write("/proc/self/clear_refs", "5").is_ok();
    let idle = memory_kib("VmRSS:");
    let mut slowest = (Duration::ZERO, "");
    for (name, bytes, kind) in &hostile {
        let begun = Instant::now();
        let error = upload(&session, &feed.id, bytes).unwrap_err();
        let took = begun.elapsed();
        assert_eq!(error.kind(), *kind, "{name}: {error}");
        assert!(took < TIME, "{name} took {took:?}");
        slowest = slowest.max((took, name));
    }
    let peak = memory_kib("VmHWM:");
    println!("slowest: {} in {:?}; idle {idle:?} KiB, peak {peak:?} KiB", slowest.1, slowest.0);
    if let (Some(idle), Some(peak), true) = (idle, peak, counts) {
        assert!(peak.saturating_sub(idle) <= MEMORY_KIB, "{peak} KiB at the peak, {idle} KiB idle");
    }
    assert_eq!(session.query_packages(&feed.id).unwrap().packages.len(), 1);
    let left: usize = std::fs::read_dir(path.join("files"))
        .unwrap()
        .map(|directory| std::fs::read_dir(directory.unwrap().path()).unwrap().count())
        .sum();
    assert_eq!(left, 0, "an upload that was refused leaves no file");
}
