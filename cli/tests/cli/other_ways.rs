//! `--help`, `--version`, and what the build makes: completions and the man page.

use crate::bench::{Bench, program, run};

/// The commands, each with what its page has to say.
const COMMANDS: [(&str, &str); 21] = [
    ("info", "health"),
    ("ls", "--filter"),
    ("show", "--kind"),
    ("search", "--take"),
    ("sql", "statement"),
    ("export", "--where"),
    ("import", "--separator"),
    ("plot", "--spec"),
    ("yield", "--shift-hours"),
    ("pareto", "--first-pass"),
    ("capability", "--within"),
    ("changes", "--follow"),
    ("status", "--watch"),
    ("backup", "earlier backup"),
    ("archive", "--bytes"),
    ("repair", "backup set"),
    ("backups", "--keep"),
    ("restore", "interrupted restore"),
    ("salvage", "damaged store"),
    ("verify", "--pages"),
    ("compact", "unused pages"),
];

#[test]
fn help_has_examples_and_exit_codes() {
    let bench = Bench::empty();
    let directory = bench.directory.path();
    let help = run(program(directory).arg("--help")).good();
    for text in ["Examples:", "Exit codes:", "--create", "--user", "141"] {
        assert!(help.contains(text), "{text}: {help}");
    }
    for (command, text) in COMMANDS {
        assert!(help.contains(&format!("\n  {command} ")), "{command}: {help}");
        let page = bench.good(&[command, "--help"]);
        assert!(page.contains(text), "{command}: {page}");
    }
    assert!(run(program(directory).arg("--version")).good().starts_with("stationdb "));
}

#[test]
fn the_build_makes_completions_and_a_man_page() {
    let bench = Bench::empty();
    let made = |what: &str| run(program(bench.directory.path()).args(["--generate", what])).good();
    let page = made("man");
    assert!(page.starts_with(".ie") || page.contains(".TH stationdb 1"), "{page}");
    for (command, text) in COMMANDS {
        assert!(page.contains(&format!("COMMAND {}", command.to_uppercase())), "{command}");
        assert!(page.contains(&text.replace('-', "\\-")), "{command}: {text}");
    }
    for (shell, marks) in [
        ("bash", ["complete -F _stationdb", "work"]),
        ("zsh", ["#compdef stationdb", "export"]),
        ("fish", ["complete -c stationdb", "verify"]),
        ("powershell", ["Register-ArgumentCompleter", "compact"]),
    ] {
        let script = made(shell);
        assert!(script.contains(marks[0]), "{shell}");
        for (command, _) in COMMANDS {
            assert!(script.contains(command), "{shell} has no {command}");
        }
    }
}
