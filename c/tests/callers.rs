//! Programs in other languages that call the built library. Each opens a store, creates products
//! and results, appends a million samples, decimates, asks SQL, backs up, and gets five errors. That
//! in C tries the rules of the header one by one. Where the library is built without SQL, the
//! programs in C and C++ check that they are told so.

mod common;

use std::path::Path;

use common::{Compiler, Language, run, scratch};
#[cfg(feature = "sql")]
use common::{found, library};

/// What the programs in C and C++ are told of the library.
const SQL: &str = if cfg!(feature = "sql") { "sql" } else { "no-sql" };

#[test]
fn a_program_in_c() {
    let dir = scratch();
    let compiler = Compiler::new(Language::C).with(&["-fsanitize=address,undefined"]);
    let Some(program) = compiler.build("station", dir.path()) else { return };
    run(&program, &[dir.path(), Path::new(SQL)]);
}

/// The first program of the documentation does what it says.
#[cfg(feature = "sql")]
#[test]
fn the_program_of_the_documentation() {
    let dir = scratch();
    let text = std::fs::read_to_string(common::package().join("../docs/c.md")).unwrap();
    let code = text.split("```c\n").nth(1).unwrap().split("```").next().unwrap();
    let source = dir.path().join("first.c");
    std::fs::write(&source, code).unwrap();
    let Some(program) = Compiler::new(Language::C).compile(&source, dir.path()) else { return };
    let printed = common::printed(common::command(&program).current_dir(dir.path()));
    assert_eq!(printed, "1 products\n");
}

#[test]
fn a_program_in_cpp() {
    let dir = scratch();
    let Some(program) = Compiler::new(Language::Cpp).build("station", dir.path()) else { return };
    run(&program, &[dir.path(), Path::new(SQL)]);
}

#[cfg(feature = "sql")]
#[test]
fn a_program_in_python_by_ctypes() {
    let dir = scratch();
    let Some(python) = found(&["python3", "python"]) else { return };
    let script = common::programs().join("station.py");
    run(&python, &[&script, &library(), dir.path()]);
}

/// Where Mono is installed: `apt-get install mono-mcs mono-runtime`.
#[cfg(feature = "sql")]
#[test]
fn a_program_in_csharp_by_pinvoke() {
    let dir = scratch();
    let (Some(compiler), Some(mono)) = (found(&["mcs"]), found(&["mono"])) else {
        eprintln!("Mono is not installed; the program in C# is not run");
        assert!(std::env::var_os("STATIONDB_MONO").is_none(), "STATIONDB_MONO asks for it");
        return;
    };
    let program = dir.path().join("station.exe");
    let source = common::programs().join("station.cs");
    let out = format!("-out:{}", program.display());
    run(&compiler, &[Path::new(&out), &source]);
    run(&mono, &[&program, dir.path()]);
}

/// A store is closed in the middle of the calls of other threads.
#[test]
fn a_store_that_is_closed_while_it_is_used() {
    let dir = scratch();
    let compiler = Compiler::new(Language::C).with(&["-fsanitize=address,undefined"]);
    let Some(program) = compiler.build("closing", dir.path()) else { return };
    run(&program, &[dir.path()]);
}

/// Several threads in a process with a store open, of which forked ones have nothing.
#[cfg(unix)]
#[test]
fn a_process_that_forks() {
    let dir = scratch();
    let Some(program) = Compiler::new(Language::C).build("fork", dir.path()) else { return };
    run(&program, &[dir.path()]);
}
