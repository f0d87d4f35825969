//! Bodies of the fuzz targets of packages: each container, its contents, and the control text.

/// Any bytes are either a package or an error.
pub(crate) fn fuzz_package(data: &[u8]) {
    if let Ok(package) = super::inspect(&mut &*data) {
        assert_eq!(package.size, data.len() as u64);
        assert!(!package.info.package_name.is_empty());
        assert!(package.attributes("f").contains_key("MD5Sum"));
        assert!(package.canonical_name("deb").ends_with(".deb"));
    }
}

/// Any bytes are either the tar of a gzipped tar or an error. Compresses them first, since a fuzzer
/// seldom produces a valid checksum.
pub(crate) fn fuzz_gzipped_tar(data: &[u8]) {
    fuzz_package(data);
    if let Ok(compressed) = super::gzip(data) {
        fuzz_package(&compressed);
    }
}

/// Any bytes are either a control archive or an error. Wraps them in a container, so that the
/// fuzzer need not produce one.
pub(crate) fn fuzz_control_archive(data: &[u8]) {
    let mut deb = b"!<arch>\n".to_vec();
    for (name, content) in
        [("debian-binary", b"2.0\n".as_slice()), ("control.tar.gz", data), ("data.tar", b"")]
    {
        deb.extend_from_slice(
            format!("{name:<16}{:<12}{:<6}{:<6}{:<8}{:<10}`\n", 0, 0, 0, 644, content.len())
                .as_bytes(),
        );
        deb.extend_from_slice(content);
        if content.len() % 2 == 1 {
            deb.push(b'\n');
        }
    }
    fuzz_package(&deb);
}

/// Any bytes are either a control file or an error.
pub(crate) fn fuzz_control(data: &[u8]) {
    if let Ok(file) = super::ControlFile::parse(data) {
        let _ = super::PackageInfo::from_control(&file);
    }
}
