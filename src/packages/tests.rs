//! Hand-made packages, valid and hostile.

mod real;

use std::io::{self, Read, Write};
use std::time::{Duration, Instant};

use super::*;
use crate::error::{Error, ErrorKind, Result};
use crate::value::limits;

const CONTROL: &[u8] =
    b"Package: tool\nVersion: 1:2.0-1\nArchitecture: amd64\nDescription: A tool\n Line\n";

fn run(bytes: &[u8]) -> Result<Inspection> {
    let started = Instant::now();
    let result = inspect(&mut &*bytes);
    assert!(started.elapsed() < Duration::from_secs(5), "took {:?}", started.elapsed());
    result
}

fn kind(bytes: &[u8]) -> ErrorKind {
    run(bytes).unwrap_err().kind()
}

fn gz(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::new(6));
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn entry(name: &str, kind: tar::EntryType, content: &[u8]) -> (tar::Header, Vec<u8>) {
    let mut header = tar::Header::new_gnu();
    header.as_old_mut().name[..name.len()].copy_from_slice(name.as_bytes());
    header.set_entry_type(kind);
    header.set_size(content.len() as u64);
    header.set_mode(0o644);
    header.set_cksum();
    (header, content.to_vec())
}

fn file(name: &str, content: &[u8]) -> (tar::Header, Vec<u8>) {
    entry(name, tar::EntryType::Regular, content)
}

fn tarball(entries: &[(tar::Header, Vec<u8>)]) -> Vec<u8> {
    let mut out = Vec::new();
    for (header, content) in entries {
        out.extend_from_slice(header.as_bytes());
        out.extend_from_slice(content);
        out.resize(out.len().next_multiple_of(512), 0);
    }
    out.resize(out.len() + 1024, 0);
    out
}

fn member(name: &str, content: &[u8]) -> Vec<u8> {
    sized(name, content.len() as u64, content)
}

fn sized(name: &str, size: u64, content: &[u8]) -> Vec<u8> {
    let mut out =
        format!("{name:<16}{:<12}{:<6}{:<6}{:<8}{size:<10}`\n", 0, 0, 0, 100_644).into_bytes();
    out.extend_from_slice(content);
    if content.len() % 2 == 1 {
        out.push(b'\n');
    }
    out
}

fn ar(members: &[Vec<u8>]) -> Vec<u8> {
    let mut out = b"!<arch>\n".to_vec();
    members.iter().for_each(|member| out.extend_from_slice(member));
    out
}

fn deb(control_name: &str, control: &[u8]) -> Vec<u8> {
    ar(&[
        member("debian-binary", b"2.0\n"),
        member(control_name, control),
        member("data.tar.gz", b"not looked at"),
    ])
}

fn ipk() -> Vec<u8> {
    let control = gz(&tarball(&[file("./control", CONTROL)]));
    gz(&tarball(&[
        file("./debian-binary", b"2.0\n"),
        file("./data.tar.gz", b"not looked at"),
        file("./control.tar.gz", &control),
    ]))
}

#[test]
fn every_container_and_tar_form_is_read() {
    let plain = tarball(&[
        entry("./", tar::EntryType::Directory, b""),
        entry("pax", tar::EntryType::XHeader, b"18 path=../evil\n"),
        file("./md5sums", b"x"),
        file("./control", CONTROL),
    ]);
    for (bytes, container) in [
        (deb("control.tar.gz", &gz(&plain)), Container::Ar),
        (deb("control.tar", &plain), Container::Ar),
        (deb("control.tar.zst/", &zstd::bulk::compress(&plain, 3).unwrap()), Container::Ar),
        (ipk(), Container::GzippedTar),
    ] {
        let package = run(&bytes).unwrap();
        assert_eq!(package.container, container);
        assert_eq!(package.info.package_name, "tool");
        assert_eq!(package.info.description.as_deref(), Some("A tool\nLine"));
        assert_eq!(package.size, bytes.len() as u64);
        assert_eq!(package.canonical_name("ipk"), "tool_2.0-1_amd64.ipk");
    }
}

#[test]
fn hashes_are_those_of_the_whole_package() {
    use sha2::Digest;
    let bytes = ipk();
    let package = run(&bytes).unwrap();
    assert_eq!(package.sha256, crate::value::id::hex(&sha2::Sha256::digest(&bytes)));
    assert_eq!(package.md5, crate::value::id::hex(&md5::Md5::digest(&bytes)));
}

#[test]
fn attributes_hold_every_field_bare_names_and_what_was_measured() {
    let text = b"Package: p\nVersion: 1\nArchitecture: all\nXB-Plugin: file\nXBS-Eula: a\n b\nEula: own\nfilename: x\n";
    let package = run(&deb("control.tar", &tarball(&[file("control", text)]))).unwrap();
    let attributes = package.attributes("p.deb");
    let get = |key: &str| attributes.get(key).map(String::as_str);
    assert_eq!(get("XB-Plugin"), Some("file"));
    assert_eq!(get("Plugin"), Some("file"));
    assert_eq!(get("XBS-Eula"), Some("a\nb"));
    assert_eq!(get("Eula"), Some("own"));
    assert_eq!(get("filename"), Some("x"));
    assert_eq!(get("Filename"), None);
    assert_eq!(get("Size"), Some(package.size.to_string().as_str()));
    assert_eq!(get("MD5Sum"), Some(package.md5.as_str()));
    assert_eq!(get("SHA256"), Some(package.sha256.as_str()));
}

#[test]
fn extra_and_long_named_members_are_passed_over() {
    let control = gz(&tarball(&[file("control", CONTROL)]));
    let bytes = ar(&[
        member("//", b"a-very-long-member-name/\n"),
        member("debian-binary", b"2.1\n"),
        member("/0", b"x"),
        member("#1/8", b"_gpgorg\0signature"),
        member("control.tar.gz", &control),
        member("#1/12", b"data.tar.xz\0data"),
    ]);
    assert_eq!(run(&bytes).unwrap().info.version, "1:2.0-1");
}

#[test]
fn every_truncation_is_an_invalid_package() {
    let control = gz(&tarball(&[file("control", CONTROL)]));
    let control_odd = if control.len() % 2 == 1 {
        control.clone()
    } else {
        gz(&tarball(&[file("./control", CONTROL)]))
    };
    for bytes in [deb("control.tar.gz", &control), deb("control.tar.gz", &control_odd), ipk()] {
        assert!(run(&bytes).is_ok());
        for len in 0..bytes.len() {
            assert_eq!(
                kind(&bytes[..len]),
                ErrorKind::InvalidArgument,
                "cut at {len} of {}",
                bytes.len()
            );
        }
    }
}

#[test]
fn every_flipped_bit_is_a_package_or_an_error() {
    for mut bytes in [deb("control.tar.gz", &gz(&tarball(&[file("control", CONTROL)]))), ipk()] {
        for at in 0..bytes.len() {
            for bit in 0..8 {
                bytes[at] ^= 1 << bit;
                let _ = run(&bytes);
                bytes[at] ^= 1 << bit;
            }
        }
    }
}

#[test]
fn what_is_no_package_is_refused() {
    let control = gz(&tarball(&[file("control", CONTROL)]));
    let version = member("debian-binary", b"2.0\n");
    let data = member("data.tar.gz", b"");
    for (bytes, reason) in [
        (vec![], "empty"),
        (b"PK\x03\x04 a zip archive".to_vec(), "neither"),
        (b"!<arch>\n".to_vec(), "no debian-binary"),
        (ar(&[version.clone(), data.clone()]), "no control member"),
        (
            ar(&[version.clone(), member("control.tar.bz2", b"BZh"), data.clone()]),
            "control.tar.bz2",
        ),
        (ar(&[version.clone(), member("control.tar.gz", b"BZh91AY"), data.clone()]), "bzip2"),
        (ar(&[version.clone(), member("control.tar.gz", &control)]), "no data member"),
        (
            ar(&[
                member("debian-binary", b"3.0\n"),
                member("control.tar.gz", &control),
                data.clone(),
            ]),
            "version 2.x",
        ),
        (deb("control.tar", &tarball(&[file("other", CONTROL)])), "no file named control"),
        (deb("control.tar", &tarball(&[entry("control", tar::EntryType::Symlink, b"")])), "link"),
        (
            deb(
                "control.tar",
                &tarball(&[entry("x", tar::EntryType::Link, b""), file("control", CONTROL)]),
            ),
            "link",
        ),
        (deb("control.tar", &tarball(&[file("../control", CONTROL)])), "../control"),
        (
            deb(
                "control.tar",
                &tarball(&[file("a/../control", CONTROL), file("control", CONTROL)]),
            ),
            "a/../control",
        ),
        (deb("control.tar", &tarball(&[file("/control", CONTROL)])), "/control"),
        (gz(&tarball(&[entry("debian-binary", tar::EntryType::Symlink, b"")])), "link"),
        (ar(&[member("#1/11", b"../evil.txt")]), "../evil.txt"),
        (ar(&[member("#1/99", b"short")]), "longer than the member"),
        (ar(&[sized("debian-binary", 400, b"2.0\n")]), "ends in the middle"),
        (
            b"!<arch>\ndebian-binary   0           0     0     644     -4        `\n2.0\n".to_vec(),
            "not a number",
        ),
        (
            b"!<arch>\ndebian-binary   0           0     0     644     4         xx2.0\n".to_vec(),
            "does not end",
        ),
        (gz(b"not a tar, but long enough to be one block of it if it were padded"), ""),
    ] {
        let error = run(&bytes).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{error}");
        assert_eq!(error.api_error().name.as_deref(), Some("Feeds.InvalidPackage"));
        assert!(error.message().contains(reason), "{reason}: {error}");
    }
}

#[test]
fn a_forged_size_allocates_nothing() {
    let bytes =
        ar(&[member("debian-binary", b"2.0\n"), sized("control.tar.gz", 9_999_999_999, b"x")]);
    assert_eq!(kind(&bytes), ErrorKind::LimitExceeded);
    let bytes = ar(&[
        member("debian-binary", b"2.0\n"),
        sized("control.tar.gz", limits::PACKAGE_CONTROL_BYTES as u64, b"x"),
    ]);
    assert_eq!(kind(&bytes), ErrorKind::InvalidArgument);
    let mut forged = file("control", CONTROL);
    forged.0.set_size(u64::MAX / 2);
    forged.0.set_cksum();
    assert_eq!(kind(&deb("control.tar", &tarball(&[forged.clone()]))), ErrorKind::LimitExceeded);
    assert_ne!(kind(&gz(&tarball(&[forged]))), ErrorKind::Io);
    let mut short = file("control", CONTROL);
    short.0.set_size(5000);
    short.0.set_cksum();
    assert_eq!(kind(&deb("control.tar", &tarball(&[short]))), ErrorKind::InvalidArgument);
}

#[test]
fn bombs_are_refused_in_every_layer() {
    let zeros = vec![0; 40 * 1024 * 1024];
    let ratio = |bomb: &[u8]| zeros.len() / bomb.len();
    for bomb in [gz(&zeros), zstd::bulk::compress(&zeros, 19).unwrap()]
        .into_iter()
        .chain(real::xz(&["-9"], &zeros))
    {
        assert!(ratio(&bomb) > 1000, "{}", ratio(&bomb));
        assert_eq!(kind(&deb("control.tar.gz", &bomb)), ErrorKind::LimitExceeded);
    }
    // A dictionary size that no control archive needs, and that would be allocated before any
    // output.
    if let Some(greedy) = real::xz(&["--lzma2=dict=256MiB"], &tarball(&[file("control", CONTROL)]))
    {
        assert_eq!(kind(&deb("control.tar.xz", &greedy)), ErrorKind::LimitExceeded);
    }
    let mut padded = file("control", CONTROL);
    padded.1.resize(2 * 1024 * 1024, b'#');
    padded.0.set_size(padded.1.len() as u64);
    padded.0.set_cksum();
    assert_eq!(kind(&deb("control.tar.gz", &gz(&tarball(&[padded])))), ErrorKind::LimitExceeded);
    let outer = gz(&tarball(&[file("debian-binary", b"2.0\n"), file("data.tar", &zeros)]));
    assert_eq!(kind(&outer), ErrorKind::LimitExceeded);
    // A frame that declares a window of 2 GiB.
    let forged = [0x28, 0xb5, 0x2f, 0xfd, 0x00, 0xa8, 0x01, 0x00, 0x00];
    assert_eq!(kind(&deb("control.tar.zst", &forged)), ErrorKind::InvalidArgument);
}

#[test]
fn member_counts_hold_at_the_limit_and_not_above() {
    let control = tarball(&[file("control", CONTROL)]);
    let many = |count: usize| {
        let mut members = vec![
            member("debian-binary", b"2.0\n"),
            member("control.tar", &control),
            member("data.tar", b""),
        ];
        members.resize(count, member("_x", b""));
        ar(&members)
    };
    limits::holds_at(limits::PACKAGE_MEMBERS, ErrorKind::LimitExceeded, |count| run(&many(count)));
    let entries = |count: usize| {
        let mut entries = vec![file("control", CONTROL)];
        entries.resize(count, file("x", b""));
        // Uncompressed, this exceeds the bound of the control archive. So it is compressed, at a
        // low ratio.
        deb("control.tar.gz", &gz_of_len(&tarball(&entries), 64 * 1024))
    };
    assert!(run(&entries(limits::PACKAGE_MEMBERS)).is_ok());
    assert_eq!(kind(&entries(limits::PACKAGE_MEMBERS + 1)), ErrorKind::LimitExceeded);
    let outer = |count: usize| {
        let control = gz(&tarball(&[file("control", CONTROL)]));
        let mut entries = vec![
            file("debian-binary", b"2.0\n"),
            file("control.tar.gz", &control),
            file("data.tar", b""),
        ];
        entries.resize(count, file("x", b""));
        gz_of_len(&tarball(&entries), 64 * 1024)
    };
    assert!(run(&outer(limits::PACKAGE_MEMBERS)).is_ok());
    assert_eq!(kind(&outer(limits::PACKAGE_MEMBERS + 1)), ErrorKind::LimitExceeded);
}

/// `bytes` compressed to exactly `len` bytes, padded by name and comment in the header.
fn gz_of_len(bytes: &[u8], len: usize) -> Vec<u8> {
    let padded = |padding: usize| {
        let (name, comment) = (vec![b'n'; padding / 2], vec![b'c'; padding - padding / 2]);
        let header = flate2::GzBuilder::new().filename(name).comment(comment);
        let mut encoder = header.write(Vec::new(), flate2::Compression::new(9));
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    };
    let out = padded(len - padded(0).len());
    assert_eq!(out.len(), len);
    out
}

#[test]
fn the_ratio_holds_at_the_limit_and_not_above() {
    let padded = |len: usize| {
        let mut archive = tarball(&[file("control", CONTROL)]);
        archive.resize(len, 0);
        archive
    };
    let compressed = 8 * 1024;
    limits::holds_at(compressed * limits::PACKAGE_RATIO, ErrorKind::LimitExceeded, |len| {
        run(&deb("control.tar.gz", &gz_of_len(&padded(len), compressed)))
    });
    // This many bytes are always allowed, however small the input.
    let free = limits::PACKAGE_RATIO_FREE_BYTES;
    limits::holds_at(limits::PACKAGE_RATIO_FREE_BYTES, ErrorKind::LimitExceeded, |len| {
        run(&deb("control.tar.gz", &gz(&padded(len))))
    });
    // And no more than this, at any ratio.
    let most = limits::PACKAGE_CONTROL_INFLATED_BYTES;
    let compressed = most / limits::PACKAGE_RATIO + 1024;
    limits::holds_at(limits::PACKAGE_CONTROL_INFLATED_BYTES, ErrorKind::LimitExceeded, |len| {
        run(&deb("control.tar.gz", &gz_of_len(&padded(len), compressed)))
    });
    let zstd = zstd::bulk::compress(&padded(free), 3).unwrap();
    assert!(run(&deb("control.tar.zst", &zstd)).is_ok());
    let zstd = zstd::bulk::compress(&padded(free + 1), 3).unwrap();
    assert_eq!(kind(&deb("control.tar.zst", &zstd)), ErrorKind::LimitExceeded);
}

#[test]
fn control_archives_and_files_hold_at_the_limit_and_not_above() {
    let archive = |len: usize| {
        let mut archive = tarball(&[file("control", CONTROL)]);
        archive.resize(len, 0);
        deb("control.tar", &archive)
    };
    limits::holds_at(limits::PACKAGE_CONTROL_BYTES, ErrorKind::LimitExceeded, |len| {
        run(&archive(len))
    });
    let outer = |len: usize| {
        let mut control = tarball(&[file("control", CONTROL)]);
        control.resize(len, 0);
        let entries =
            [file("debian-binary", b"2.0\n"), file("control.tar", &control), file("data.tar", b"")];
        gz_of_len(&tarball(&entries), 32 * 1024)
    };
    assert!(run(&outer(limits::PACKAGE_CONTROL_BYTES)).is_ok());
    assert_eq!(kind(&outer(limits::PACKAGE_CONTROL_BYTES + 1)), ErrorKind::LimitExceeded);
    let text = |len: usize| {
        let mut text = CONTROL.to_vec();
        text.resize(len, b'#');
        deb("control.tar.gz", &gz_of_len(&tarball(&[file("control", &text)]), 32 * 1024))
    };
    limits::holds_at(limits::PACKAGE_CONTROL_TEXT_BYTES, ErrorKind::LimitExceeded, |len| {
        run(&text(len))
    });
}

/// Repeats one piece without end.
struct Endless {
    head: Vec<u8>,
    piece: Vec<u8>,
    at: usize,
    served: u64,
}

impl Read for Endless {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let from = if self.at < self.head.len() {
            &self.head[self.at..]
        } else {
            &self.piece[(self.at - self.head.len()) % self.piece.len()..]
        };
        let count = from.len().min(buffer.len());
        buffer[..count].copy_from_slice(&from[..count]);
        self.at += count;
        self.served += count as u64;
        Ok(count)
    }
}

#[test]
fn endless_members_are_given_up_soon() {
    let control = gz(&tarball(&[file("control", CONTROL)]));
    let ar = ar(&[
        member("debian-binary", b"2.0\n"),
        member("control.tar.gz", &control),
        member("data.tar", b""),
    ]);
    let mut many = Endless { head: ar, piece: member("_x", b""), at: 0, served: 0 };
    assert_eq!(inspect(&mut many).unwrap_err().kind(), ErrorKind::LimitExceeded);
    assert!(many.served < 2 * 1024 * 1024, "{} bytes were read", many.served);
    // A tar that continues without end, as consecutive gzip streams of one entry each.
    let mut entry = tarball(&[file("x", b"")]);
    entry.truncate(512);
    let head = gz(&tarball(&[file("debian-binary", b"2.0\n")])[..1024]);
    let mut many = Endless { head, piece: gz(&entry), at: 0, served: 0 };
    assert_eq!(inspect(&mut many).unwrap_err().kind(), ErrorKind::LimitExceeded);
    assert!(many.served < 4 * 1024 * 1024, "{} bytes were read", many.served);
    // A stream of only empty gzip members neither ends nor produces bytes; only its source can end
    // it.
    let mut stopped =
        Endless { head: gz(b""), piece: gz(b""), at: 0, served: 0 }.take(3 * 1024 * 1024);
    assert_eq!(inspect(&mut stopped).unwrap_err().kind(), ErrorKind::InvalidArgument);
}

#[test]
fn names_hold_at_the_limit_and_not_above() {
    let named = |len: usize| {
        let mut content = vec![b'n'; len];
        content.push(b'x');
        ar(&[
            member("debian-binary", b"2.0\n"),
            member(&format!("#1/{len}"), &content),
            member("control.tar", &tarball(&[file("control", CONTROL)])),
            member("data.tar", b""),
        ])
    };
    limits::holds_at(limits::PACKAGE_NAME_BYTES, ErrorKind::LimitExceeded, |len| run(&named(len)));
}

/// Reads one byte at a time, interrupts often, and fails at `fail_at`.
struct Trickle<'b> {
    bytes: &'b [u8],
    at: usize,
    fail_at: usize,
    interrupt: bool,
}

impl Read for Trickle<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.interrupt = !self.interrupt;
        if self.interrupt {
            return Err(io::ErrorKind::Interrupted.into());
        }
        if self.at == self.fail_at {
            return Err(io::Error::other(Error::new(ErrorKind::Cancelled, "stop")));
        }
        match (self.bytes.get(self.at), buffer.first_mut()) {
            (Some(byte), Some(target)) => {
                *target = *byte;
                self.at += 1;
                Ok(1)
            }
            _ => Ok(0),
        }
    }
}

#[test]
fn a_slow_source_changes_nothing_and_its_errors_come_back() {
    for bytes in [deb("control.tar.gz", &gz(&tarball(&[file("control", CONTROL)]))), ipk()] {
        let trickle = |fail_at| Trickle { bytes: &bytes, at: 0, fail_at, interrupt: false };
        assert_eq!(inspect(&mut trickle(usize::MAX)).unwrap().sha256, run(&bytes).unwrap().sha256);
        for fail_at in (0..bytes.len()).step_by(7) {
            assert_eq!(
                inspect(&mut trickle(fail_at)).unwrap_err().kind(),
                ErrorKind::Cancelled,
                "{fail_at}"
            );
        }
    }
    struct Broken;
    impl Read for Broken {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            Err(io::Error::other("unplugged"))
        }
    }
    assert_eq!(inspect(&mut Broken).unwrap_err().kind(), ErrorKind::Io);
}
