//! The interface as it is committed: exported names, declarations, codes, and sizes of structs.

mod common;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::process::Command;

use common::{Compiler, Language, done, library, needed, package, run, scratch};

/// A text without comments, as one line.
fn code(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("/*") {
        out.push_str(before);
        rest = after.split_once("*/").unwrap().1;
    }
    out.push_str(rest);
    out.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The functions of the headers: name, and the types of the parameters.
fn declared() -> BTreeMap<String, Vec<String>> {
    let mut found = BTreeMap::new();
    for header in ["stationdb.h", "stationdb_arrow.h"] {
        let text = code(&fs::read_to_string(package().join("include").join(header)).unwrap());
        for part in text.split("int32_t sdb_").skip(1) {
            let (name, rest) = part.split_once('(').unwrap();
            let parameters = rest.split_once(");").unwrap().0.split(',').map(|parameter| {
                let at = parameter.rfind(|c: char| !c.is_alphanumeric() && c != '_').unwrap() + 1;
                parameter[..at].split_whitespace().collect::<Vec<_>>().join(" ")
            });
            found.insert(format!("sdb_{name}"), parameters.collect());
        }
    }
    assert!(found.len() > 60, "{found:?}");
    found
}

/// A type of the sources as C has it.
fn in_c(rust: &str) -> Vec<&'static str> {
    match rust {
        "i32" => vec!["int32_t"],
        "i64" => vec!["int64_t"],
        "u64" => vec!["uint64_t"],
        "f64" => vec!["double"],
        "In<u8>" => vec!["const char *", "const uint8_t *"],
        "In<u16>" => vec!["const uint16_t *"],
        "In<i64>" => vec!["const int64_t *"],
        "In<f64>" => vec!["const double *"],
        "Out<u8>" => vec!["char *", "uint8_t *"],
        "Out<u16>" => vec!["uint16_t *"],
        "Out<i32>" => vec!["int32_t *"],
        "Out<i64>" => vec!["int64_t *"],
        "Out<u64>" => vec!["uint64_t *"],
        "Out<f64>" => vec!["double *"],
        "Out<*const u8>" => vec!["const char **"],
        "Out<FFI_ArrowArrayStream>" | "Taken<FFI_ArrowArrayStream>" => {
            vec!["struct ArrowArrayStream *"]
        }
        "Out<FFI_ArrowSchema>" | "Taken<FFI_ArrowSchema>" => vec!["struct ArrowSchema *"],
        "Out<FFI_ArrowArray>" | "Taken<FFI_ArrowArray>" => vec!["struct ArrowArray *"],
        other => panic!("{other} has no type of C"),
    }
}

/// The functions of the sources: name, and the types of the parameters with that of the error.
fn written() -> BTreeMap<String, Vec<String>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(package().join("src/functions")).unwrap() {
        let text = fs::read_to_string(entry.unwrap().path()).unwrap();
        for part in text.split("    fn sdb_").skip(1) {
            let (name, rest) = part.split_once('(').unwrap();
            let parameters = rest.split_once(") {").unwrap().0;
            let types = parameters.split(',').filter_map(|one| one.split_once(": "));
            let mut types: Vec<String> = types.map(|(_, kind)| kind.trim().to_owned()).collect();
            types.push("Out<u64>".to_owned());
            found.insert(format!("sdb_{name}"), types);
        }
    }
    found
}

#[test]
fn headers_declare_what_the_sources_export() {
    let (declared, written) = (declared(), written());
    let names = |all: &BTreeMap<String, Vec<String>>| all.keys().cloned().collect::<BTreeSet<_>>();
    assert_eq!(names(&declared), names(&written));
    for (name, types) in &written {
        let c = &declared[name];
        assert_eq!(c.len(), types.len(), "{name}: {c:?} {types:?}");
        for (c, rust) in c.iter().zip(types) {
            assert!(in_c(rust).contains(&c.as_str()), "{name}: {c} is not {rust}");
        }
    }
}

/// The names that a shared library exports.
fn exported() -> Option<BTreeSet<String>> {
    let nm = needed(&["nm"])?;
    let output = done(Command::new(nm).args(["-D", "--defined-only"]).arg(library()));
    let text = String::from_utf8(output.stdout).unwrap();
    let names = text.lines().filter_map(|line| line.split_whitespace().last());
    Some(names.map(|name| name.split('@').next().unwrap_or(name).to_owned()).collect())
}

/// `abi.txt` has the whole interface. A change that takes something away, or changes it, breaks
/// programs that were built before.
#[test]
fn the_interface_is_the_committed_one() {
    let mut text = String::from(
        "# The C interface: codes, sizes of structs, and functions with the types of their parameters.\n\
         # Compared with the headers and the built library. Lines are only added:\n\
         # STATIONDB_WRITE_ABI=1 cargo test -p stationdb-c --test abi\n",
    );
    let header = code(&fs::read_to_string(package().join("include/stationdb.h")).unwrap());
    for list in header.split("enum {").skip(1) {
        for constant in list.split_once('}').unwrap().0.split(',') {
            writeln!(text, "{}", constant.trim()).unwrap();
        }
    }
    let dir = scratch();
    let Some(sizes) = Compiler::new(Language::C).build("sizes", dir.path()) else { return };
    text.push_str(&run(&sizes, &[]));
    for (name, types) in declared() {
        writeln!(text, "{name}({})", types.join(", ")).unwrap();
    }
    let path = package().join("abi.txt");
    if std::env::var_os("STATIONDB_WRITE_ABI").is_some() {
        fs::write(&path, &text).unwrap();
    }
    assert_eq!(fs::read_to_string(path).unwrap(), text);
    if let Some(exported) = exported() {
        let names: BTreeSet<String> = declared().into_keys().collect();
        assert_eq!(exported, names, "exported, and declared");
    }
}

/// The layout of Arrow's structs here is that of the library.
#[test]
fn structs_have_the_sizes_of_the_library() {
    use arrow_array::ffi::{FFI_ArrowArray, FFI_ArrowSchema};
    use arrow_array::ffi_stream::FFI_ArrowArrayStream;
    let dir = scratch();
    let Some(program) = Compiler::new(Language::C).build("sizes", dir.path()) else { return };
    let told = run(&program, &[]);
    let wanted = format!(
        "sizeof(struct ArrowSchema) {}\nsizeof(struct ArrowArray) {}\nsizeof(struct \
         ArrowArrayStream) {}\n",
        size_of::<FFI_ArrowSchema>(),
        size_of::<FFI_ArrowArray>(),
        size_of::<FFI_ArrowArrayStream>()
    );
    assert_eq!(told, wanted);
}

/// Both headers compile without a warning in both languages, alone and together.
#[test]
fn headers_compile_without_a_warning() {
    for (language, ending) in [(Language::C, "c"), (Language::Cpp, "cpp")] {
        let Some(compiler) = needed(language.names()) else { return };
        let standards: &[&str] = match language {
            Language::C => &["-std=c99", "-std=c11"],
            Language::Cpp => &["-std=c++11", "-std=c++17"],
        };
        for standard in standards {
            for headers in [
                &["stationdb.h"][..],
                &["stationdb_arrow.h"],
                &["stationdb_arrow.h", "stationdb.h"],
            ] {
                let dir = scratch();
                let source = dir.path().join(format!("all.{ending}"));
                let lines = headers.iter().map(|header| format!("#include \"{header}\"\n"));
                let text = lines.collect::<String>() + "int main(void) { return 0; }\n";
                fs::write(&source, text).unwrap();
                let mut command = Command::new(&compiler);
                command.args([
                    standard,
                    "-Wall",
                    "-Wextra",
                    "-pedantic",
                    "-Werror",
                    "-Wconversion",
                ]);
                command.args(["-Wstrict-prototypes"].iter().filter(|_| ending == "c"));
                command.arg("-fsyntax-only").arg("-I").arg(package().join("include")).arg(source);
                done(&mut command);
            }
        }
    }
}

/// What `sdb_call` refuses, because JSON has no bytes, rows or callbacks, and the function for it.
const ELSEWHERE: &[(&str, &str)] = &[
    ("append_arrow", "sdb_append_ipc"),
    ("append_batches", "sdb_append_batch"),
    ("append_results", "sdb_begin"),
    ("append_to_upload_session", "sdb_append_to_upload_session"),
    ("append_waveform", "sdb_append_waveform_time_f64"),
    ("commit_file", "sdb_upload_bytes"),
    ("commit_package", "sdb_upload_package"),
    ("download_file", "sdb_download_file"),
    ("download_package", "sdb_open_package"),
    ("export_feed", "sdb_export_feed"),
    ("export_results", "sdb_export_results"),
    ("export_steps", "sdb_export_steps"),
    ("export_table_data", "sdb_export_table"),
    ("packages_index", "sdb_export_feed"),
    ("packages_index_gz", "sdb_export_feed"),
    ("query_results_csv", "sdb_export_results"),
    ("query_steps_csv", "sdb_export_steps"),
    ("read_waveforms", "sdb_read_f64"),
    ("record_schema", "sdb_scan_records"),
    ("import_rows", "sdb_append_stream"),
    ("download_package_file", "sdb_open_package"),
    ("export_segments", "sdb_export_segments"),
    ("export_segments_to", "sdb_export_segments"),
    ("open_file", "sdb_open_file"),
    ("open_package", "sdb_open_package"),
    ("query_decimated_data", "sdb_decimate"),
    ("scan", "sdb_scan"),
    ("scan_measurements", "sdb_scan_measurements"),
    ("scan_records", "sdb_scan_records"),
    ("scan_steps", "sdb_scan_steps"),
    ("upload_file", "sdb_upload_file"),
    ("upload_package", "sdb_upload_package"),
    ("upload_package_content", "sdb_upload_package"),
    ("write_file", "sdb_upload_bytes"),
    ("write_package", "sdb_upload_package"),
];

/// What has no function of C, and why.
const NOWHERE: &[(&str, &str)] = &[
    ("import_tables", "several tables in one commit are several appends in one transaction"),
    ("export_rows", "rows by their ordinals are for publishers, which are written in Rust"),
];

#[test]
fn every_operation_has_a_function() {
    let declared = declared();
    let mut missing = Vec::new();
    for operation in stationdb::by_name::operations() {
        let Some(refusal) = operation.refusal else { continue };
        let function = ELSEWHERE.iter().find(|(name, _)| *name == operation.name);
        let is_known = NOWHERE.iter().any(|(name, _)| *name == operation.name);
        match function {
            Some((_, function)) if declared.contains_key(*function) && !is_known => {}
            None if is_known => {}
            _ => missing.push(format!("{}: {refusal}", operation.name)),
        }
    }
    let names: BTreeSet<&str> =
        stationdb::by_name::operations().iter().map(|operation| operation.name).collect();
    let gone = ELSEWHERE.iter().chain(NOWHERE).filter(|(name, _)| !names.contains(name));
    missing.extend(gone.map(|(name, _)| format!("there is no operation {name}")));
    assert!(missing.is_empty(), "{}", missing.join("\n"));
}
