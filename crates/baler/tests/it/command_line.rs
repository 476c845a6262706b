//! Help, exit codes, and output for programs.

use std::process::Stdio;

use crate::support::{Scene, ended};

#[test]
fn help_says_what_there_is() {
    let scene = Scene::new();
    for command in COMMANDS {
        let help = scene.baler(&[command, "--help"]);
        assert_eq!(help.code, 0);
        assert!(help.stdout.contains("Examples:"), "{command}: {}", help.stdout);
    }
    insta::assert_snapshot!("help", scene.baler(&["--help"]).stdout);
    for command in ["create", "alter", "list", "drop"] {
        let help = scene.baler(&["table", command, "--help"]);
        assert!(help.stdout.contains("Examples:"), "{command}: {}", help.stdout);
    }
    for command in ["check", "repair"] {
        let help = scene.baler(&["journal", command, "--help"]);
        assert!(help.stdout.contains("Examples:"), "{command}: {}", help.stdout);
    }
    insta::assert_snapshot!(
        "help_table_create",
        scene.baler(&["table", "create", "-h"]).stdout
    );
    for command in ["compact", "serve", "worker"] {
        let help = scene.baler(&[command, "-h"]).stdout;
        insta::assert_snapshot!(format!("help_{command}"), help);
    }
}

#[test]
fn wrong_usage_is_exit_code_2_with_a_word_on_what_to_do() {
    let scene = Scene::new();
    scene.write_many(2, 2);
    for (args, says) in [
        (&["compact"][..], "required"),
        (&["compact", "data", "--key", "key"], "--newest"),
        (
            &["compact", "data", "--workers", "0"],
            "--workers must be at least 1",
        ),
        (
            &["compact", "data", "--threads", "0"],
            "--threads must be at least 1",
        ),
        (&["compact", "data", "--memory", "1MiB"], "--memory is too little"),
        (&["compact", "data", "--memory", "lots"], "--memory"),
        (
            &["compact", "data", "--lease", "10ms"],
            "--lease must be at least 1s",
        ),
        (
            &["compact", "data", "--target-size", "1B"],
            "--target-size must be at least 64KiB",
        ),
        (&["compact", "data", "--partition", "a[b"], "--partition"),
        (
            &["compact", "data", "--max-bytes", "0B"],
            "--max-bytes must be at least 1",
        ),
        (&["compact", "data", "--sort-by", "key:up"], "asc, desc"),
        (&["compact", "data", "--sort-by", "key,key"], "twice"),
        (&["compact", "data", "--sort-by", "key,"], "empty"),
        (&["squash", "data"], "unrecognized subcommand"),
    ] {
        let run = scene.baler(args);
        assert_eq!(run.code, 2, "{args:?}: {run:?}");
        assert!(run.stderr.contains(says), "{args:?}: {run:?}");
    }
}

#[test]
fn files_and_plan_speak_json_lines() {
    let scene = Scene::new();
    scene.write_many(4, 5);
    let plan = scene.baler(&["plan", "data", "--settle", "0s", "--sort-by", "key", "--json"]);
    let lines: Vec<serde_json::Value> = plan
        .stdout
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(lines.len(), 5, "four files and a summary: {plan:?}");
    assert!(
        lines[..4]
            .iter()
            .all(|line| line["job"] == 1 && line["why"].is_string()),
        "{plan:?}"
    );
    assert_eq!(lines[4]["jobs"], 1);

    scene.compact(&["--sort-by", "key"]);
    let files = scene.baler(&["files", "data", "--json"]);
    let file: serde_json::Value = serde_json::from_str(files.stdout.trim()).unwrap();
    assert_eq!(
        (file["rows"].as_u64(), file["level"].as_u64()),
        (Some(20), Some(1)),
        "{files:?}"
    );
    let path = scene.path("data").join(file["path"].as_str().unwrap());
    assert_eq!(file["bytes"].as_u64(), Some(path.metadata().unwrap().len()));
    let plan = scene.baler(&["plan", "data", "--settle", "0s", "--json"]);
    assert!(
        plan.stdout.lines().next().unwrap().contains("\"job\":null"),
        "{plan:?}"
    );
}

#[test]
fn the_summary_tells_people_before_and_after() {
    let scene = Scene::new();
    scene.write_many(4, 5);
    let run = scene.baler(&["compact", "data", "--settle", "0s"]);
    for said in [
        "before",
        "after",
        "20 rows in = 20 rows out + 0 dropped",
        "set aside",
    ] {
        assert!(run.stdout.contains(said), "{said}: {run:?}");
    }
    assert!(run.stderr.contains("Compacting in place"), "{run:?}");
    assert!(scene.baler(&["status", "data"]).stdout.contains("committed"));
}

#[test]
fn the_demo_shows_files_bytes_and_scan_time() {
    let scene = Scene::new();
    let run = scene.baler(&["demo", "--files", "40", "--json"]);
    assert_eq!(
        (run.code, run.number("files_before"), run.number("files_after")),
        (0, 40, 1),
        "{run:?}"
    );
    assert!(run.json()["scan_seconds_before"].as_f64() > Some(0.0));
    assert_eq!(
        scene.baler(&["demo", "--files", "10"]).code,
        0,
        "it clears what it made itself"
    );
    scene.write_many(2, 2);
    assert_eq!(
        scene.baler(&["demo", "--dir", "data"]).code,
        2,
        "and nothing else"
    );
}

const COMMANDS: [&str; 23] = [
    "compact",
    "plan",
    "serve",
    "worker",
    "status",
    "files",
    "table",
    "add",
    "pin",
    "unpin",
    "jobs",
    "cancel",
    "pause",
    "resume",
    "gc",
    "verify",
    "retry",
    "journal",
    "upgrade",
    "chaos",
    "demo",
    "completions",
    "man",
];

#[test]
fn completions_and_manual_pages_know_every_command() {
    let scene = Scene::new();
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let script = scene.baler(&["completions", shell]);
        assert_eq!(script.code, 0, "{script:?}");
        for command in COMMANDS.iter().chain(&["--drop-deleted-where"]) {
            let named = command.trim_start_matches("--");
            assert!(script.stdout.contains(named), "{shell} lacks {command}");
        }
    }
    assert_eq!(scene.baler(&["completions", "tcsh"]).code, 2);
    assert_eq!(scene.baler(&["man", "pages"]).code, 0);
    let overview = std::fs::read_to_string(scene.path("pages/baler.1")).unwrap();
    for command in COMMANDS {
        assert!(overview.contains(command), "baler.1 lacks {command}");
        let page = std::fs::read_to_string(scene.path(&format!("pages/baler-{command}.1"))).unwrap();
        assert!(page.contains("Examples:"), "{command}: {page}");
    }
    assert!(scene.path("pages/baler-table-create.1").exists());
}

/// Trap: whoever looks at the first lines only, as in `baler files data | head`, is shown a panic.
#[test]
fn a_reader_that_leaves_early_is_no_failure() {
    let scene = Scene::new();
    scene.write_many(3, 10);
    assert_eq!(scene.compact(&[]).code, 0);
    for args in [
        &["files", "data"][..],
        &["status", "data", "--watch"],
        &["receipts", "data", "--json"],
        &["gc", "data", "--now"],
        &["completions", "bash"],
    ] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let mut command = scene.command(args);
        let unread = ended(command.stdout(writer).stderr(Stdio::piped()).output().unwrap());
        assert_eq!((unread.code, unread.stderr.as_str()), (0, ""), "{args:?}");
    }
    let again = scene.baler(&["gc", "data", "--now", "--json"]);
    assert_eq!(
        again.number("deleted"),
        0,
        "what nobody read about was done: {again:?}"
    );
}
