//! Packages for uploads, for the suites and for the tests of the server and of the shell.

/// A Debian package of nothing, with archives that are not compressed.
#[allow(dead_code)]
pub(crate) fn package(name: &str) -> Vec<u8> {
    package_with(name, "")
}

/// [`package`] with further lines of its control file.
pub(crate) fn package_with(name: &str, lines: &str) -> Vec<u8> {
    let control = format!(
        "Package: {name}\nVersion: 1.0\nArchitecture: all\nMaintainer: {name} <a@b.c>\n{lines}Description: {name}\n"
    );
    let mut out = b"!<arch>\n".to_vec();
    for (member, content) in [
        ("debian-binary", b"2.0\n".to_vec()),
        ("control.tar", tar("./control", control.as_bytes())),
        ("data.tar", vec![0; 1024]),
    ] {
        out.extend(
            format!("{member:<16}{:<12}{:<6}{:<6}{:<8}{:<10}`\n", 0, 0, 0, 100_644, content.len())
                .into_bytes(),
        );
        out.extend(&content);
        out.resize(out.len().next_multiple_of(2), b'\n');
    }
    out
}

fn tar(name: &str, content: &[u8]) -> Vec<u8> {
    let mut header = vec![0u8; 512];
    let mut put =
        |at: usize, text: &str| header[at..at + text.len()].copy_from_slice(text.as_bytes());
    put(0, name);
    put(100, "0000644\0");
    put(108, "0000000\0");
    put(116, "0000000\0");
    put(124, &format!("{:011o}\0", content.len()));
    put(136, "00000000000\0");
    put(148, "        ");
    put(156, "0");
    put(257, "ustar\x0000");
    let sum: u32 = header.iter().map(|&byte| u32::from(byte)).sum();
    header[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    header.extend(content);
    header.resize(header.len().next_multiple_of(512) + 1024, 0);
    header
}
