//! Programs in other languages that call the built library. Each opens a store, creates products
//! and results, appends a million samples, decimates, asks SQL, backs up, and gets five errors.
#![cfg(feature = "sql")]

mod common;

use std::path::Path;

use common::{Compiler, Language, found, library, run, scratch};

#[test]
fn a_program_in_c() {
    let dir = scratch();
    let Some(program) = Compiler::new(Language::C).build("station", dir.path()) else { return };
    run(&program, &[dir.path()]);
}

/// The first program of the documentation does what it says.
#[test]
fn the_program_of_the_documentation() {
    let dir = scratch();
    let text = std::fs::read_to_string(common::package().join("../docs/c.md")).unwrap();
    let code = text.split("```c\n").nth(1).unwrap().split("```").next().unwrap();
    let source = dir.path().join("first.c");
    std::fs::write(&source, code).unwrap();
    let Some(program) = Compiler::new(Language::C).compile(&source, dir.path()) else { return };
    let output = common::done(common::command(&program).current_dir(dir.path()));
    assert_eq!(output.stdout, b"1 products\n");
}

#[test]
fn a_program_in_cpp() {
    let dir = scratch();
    let Some(program) = Compiler::new(Language::Cpp).build("station", dir.path()) else { return };
    run(&program, &[dir.path()]);
}

#[test]
fn a_program_in_python_by_ctypes() {
    let dir = scratch();
    let Some(python) = found(&["python3", "python"]) else { return };
    let script = common::programs().join("station.py");
    run(&python, &[&script, &library(), dir.path()]);
}

/// Where Mono is installed: `apt-get install mono-mcs mono-runtime`.
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
