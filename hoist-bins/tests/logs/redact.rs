//! Copies that can be shared.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop where it is")]

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::files::{Dir, Said, call, entry, header, hoist, opening, result};

const OWN_NAME: &str = "20260923T212000.123Z-4242";

/// A session in which Sofia Hernandez (`n` = 0) or somebody else asks for an order.
fn session(name: &str, n: u64) -> String {
    let user = format!("sofia_hernandez_{}", 53_641 + n);
    let order = 2_348_761 + n * 7919;
    header(name)
        + &opening()
        + &entry(5, "context", &format!(r#"{{"role":"user","content":"I am {user}: #W{order}?"}}"#))
        + &call(10, 14, "get_order_details", &format!(r##"{{"order_id":"#W{order}"}}"##))
        + &result(20, 14, &format!(r##"{{\"user\":\"{user}\",\"order_id\":\"#W{order}\"}}"##))
}

const SECRETS: [&str; 4] = ["sofia", "hernandez", "53641", "2348761"];

/// Everything below a directory: file by file, its path and text.
fn tree(dir: &Path) -> Vec<(PathBuf, String)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(tree(&path));
        } else {
            let text = fs::read_to_string(&path).unwrap();
            found.push((path, text));
        }
    }
    found.sort();
    found
}

#[track_caller]
fn assert_no_secret(dir: &Path, said: &Said) {
    for (path, text) in tree(dir) {
        let path = path.strip_prefix(dir).unwrap();
        for secret in SECRETS {
            let text = text.to_lowercase();
            assert!(!text.contains(secret), "{secret} in {}: {text}", path.display());
            assert!(!path.to_string_lossy().to_lowercase().contains(secret), "{}", path.display());
        }
    }
    for secret in SECRETS {
        assert!(!said.stdout.to_lowercase().contains(secret), "{secret}: {said:?}");
    }
}

#[test]
fn a_directory_is_copied_file_by_file() {
    let dir = Dir::new();
    dir.write(format!("logs/{OWN_NAME}.jsonl"), session(OWN_NAME, 0));
    dir.write("logs/sofia/hernandez-case.jsonl", session("hernandez-case", 1));
    dir.write(format!("logs/{OWN_NAME}.flow.jsonl"), "{\"sofia\":1}\n");
    dir.write("logs/notes.txt", "sofia");
    let said = dir.hoist(["redact", "--sessions", "logs", "--out", "a/copies"]);
    assert_eq!((said.code, said.stderr.as_str()), (Some(0), ""), "{said:?}");
    assert!(said.stdout.starts_with("2 files copied to a/copies, pseudonymised\n"), "{said:?}");
    assert!(said.stdout.contains("\nkey: a fresh one, not kept."), "{said:?}");
    let copies = tree(&dir.join("a/copies"));
    assert_eq!(copies.len(), 2, "{copies:?}");
    assert_no_secret(&dir.join("a/copies"), &said);
    assert!(copies.iter().any(|(path, _)| path.ends_with(format!("{OWN_NAME}.jsonl"))));
    for path in [dir.join("a"), dir.join("a/copies")] {
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o700, "{}", path.display());
    }
    for (path, _) in &copies {
        assert_eq!(fs::metadata(path).unwrap().mode() & 0o777, 0o600, "{}", path.display());
        // A log goes by the name of its file.
        let header = fs::read_to_string(path).unwrap();
        let stem = path.file_stem().unwrap().to_str().unwrap();
        assert!(header.contains(&format!("\"session\":\"{stem}\"")), "{header}");
    }
    let validated = dir.hoist(["validate", "a/copies"]);
    assert_eq!(validated.stdout, "2 logs, 0 problems, 0 notes\n");
    // Names may sort in another order; what is counted is the same.
    let (before, after) = (dir.hoist(["show", "logs"]), dir.hoist(["show", "a/copies"]));
    assert_eq!(before.stdout.lines().last(), after.stdout.lines().last());
}

#[test]
fn one_key_gives_the_same_tokens() {
    let dir = Dir::new();
    dir.write("a.jsonl", session("a", 0));
    let said = dir.hoist(["redact", "--out", "x", "--key-file", "k", "a.jsonl"]);
    assert_eq!(said.code, Some(0), "{said:?}");
    let made = "hoist redact: made a new key in k; do not pass it on with the copies\n";
    assert_eq!(said.stderr, made);
    let key = fs::read(dir.join("k")).unwrap();
    assert!(key.len() >= 32);
    assert_eq!(fs::metadata(dir.join("k")).unwrap().mode() & 0o777, 0o600);
    let said = dir.hoist(["redact", "--out", "y", "--key-file", "k", "--sessions", "a.jsonl"]);
    assert_eq!((said.code, said.stderr.as_str()), (Some(0), ""), "{said:?}");
    assert!(said.stdout.contains("\nkey: from --key-file."), "{said:?}");
    assert_eq!(fs::read(dir.join("k")).unwrap(), key);
    let text = |out: &str| tree(&dir.join(out)).pop().unwrap().1;
    assert_eq!(text("x"), text("y"));
    for out in ["z", "w"] {
        assert_eq!(dir.hoist(["redact", "--out", out, "a.jsonl"]).code, Some(0));
    }
    assert_ne!(text("z"), text("w"));

    fs::set_permissions(dir.join("k"), fs::Permissions::from_mode(0o644)).unwrap();
    let said = dir.hoist(["redact", "--out", "v", "--key-file", "k", "a.jsonl"]);
    let open = "hoist redact: others can read the key k; give it the mode 0600\n";
    assert_eq!((said.code, said.stderr.as_str()), (Some(0), open));
    dir.write("short", "x".repeat(31));
    let said = dir.hoist(["redact", "--out", "u", "--key-file", "short", "a.jsonl"]);
    let short = "hoist redact: --key-file short: the key has 31 bytes; it needs 32 or more, drawn at random\n";
    assert_eq!((said.code, said.stderr.as_str()), (Some(2), short));
    let said = dir.hoist(["redact", "--out", "u", "--key-file", "u/k", "a.jsonl"]);
    let beside = "hoist redact: the key u/k must not lie in --out, beside the copies\n";
    assert_eq!((said.code, said.stderr.as_str()), (Some(2), beside));
    assert!(!dir.join("u").exists());
}

#[test]
fn what_is_copied_and_the_copies_are_kept_apart() {
    let dir = Dir::new();
    dir.write("logs/a.jsonl", session("a", 0));
    dir.write("full/x", "");
    dir.write("file", "");
    fs::create_dir(dir.join("empty")).unwrap();
    symlink(dir.join("logs"), dir.join("link")).unwrap();
    symlink(dir.join("nothing"), dir.join("dangling")).unwrap();
    let apart = "which is to be copied; name a directory apart from it";
    for (sessions, out, why) in [
        ("logs", "logs", format!("--out logs is logs, {apart}")),
        ("logs", "logs/out", format!("--out logs/out lies in logs, {apart}")),
        ("logs", "link/deep/out", format!("--out link/deep/out lies in logs, {apart}")),
        ("link", "logs/out", format!("--out logs/out lies in link, {apart}")),
        ("logs", ".", format!("--out . holds logs, {apart}")),
        ("link", ".", format!("--out . holds link, {apart}")),
        ("logs/a.jsonl", "logs", format!("--out logs holds logs/a.jsonl, {apart}")),
        ("logs/a.jsonl", "logs/a.jsonl", format!("--out logs/a.jsonl is logs/a.jsonl, {apart}")),
        ("logs", "full", "--out full is not empty; name a directory that is new or empty".into()),
        ("logs", "file", "--out file is no directory; name one that is new or empty".into()),
        (
            "logs",
            "dangling",
            "--out dangling is no directory; name one that is new or empty".into(),
        ),
        (
            "logs",
            "no/../logs/x",
            "--out no/../logs/x goes up (..) from a directory that does not exist".into(),
        ),
        ("-", "out", "- cannot be read twice, which is needed; name a file".into()),
    ] {
        let said = dir.hoist(["redact", "--sessions", sessions, "--out", out]);
        let expected = format!("hoist redact: {why}\n");
        assert_eq!(
            (said.code, said.stderr.as_str(), said.stdout.as_str()),
            (Some(2), &*expected, "")
        );
    }
    assert_eq!(tree(&dir.join("logs")).len(), 1);
    assert!(!dir.join("nothing").exists() && !dir.join("out").exists());
    let said = dir.hoist(["redact", "--sessions", "logs", "--out", "empty"]);
    assert_eq!(said.code, Some(0), "{said:?}");
}

#[test]
fn what_cannot_be_read_is_left_out_and_counted() {
    let dir = Dir::new();
    let long =
        format!("{{\"t_ms\":30,\"from\":\"server\",\"raw\":\"{}\"}}\n", "sofia ".repeat(500_000));
    let damaged = session("damaged", 0)
        + "sofia hernandez is no entry\n\n"
        + "{\"t_ms\":21,\"from\":\"nobody\",\"message\":\"sofia\"}\n"
        + &long
        + &entry(40, "server", r#"{"method":"sofia_hernandez","params":1e400}"#)
        + "{\"t_ms\":41,\"from\":\"server\",\"message\":\"hernan";
    dir.write("logs/damaged.jsonl", damaged.as_bytes());
    let mut bytes = session("b", 1).into_bytes();
    bytes.extend(b"{\"t_ms\":50,\"from\":\"server\",\"raw\":\"\xff\xfe sofia\"}\n");
    dir.write("logs/bytes.jsonl", &bytes);
    dir.write("logs/empty.jsonl", "");
    dir.write("logs/other.jsonl", "{\"sofia\":1}\n");
    let said = dir.hoist(["redact", "--sessions", "logs", "--out", "out", "--json"]);
    assert_eq!(said.code, Some(1), "{said:?}");
    let report: serde_json::Value = serde_json::from_str(&said.stdout).unwrap();
    assert_eq!((said.stdout.matches('\n').count(), &report["key"]), (1, &"fresh".into()));
    let copies = report["copies"].as_array().unwrap();
    let of = |entries: u64| copies.iter().find(|copy| copy["entries"] == entries).unwrap();
    assert_eq!((of(7)["bad_lines"].as_u64(), of(7)["torn_bytes"].as_u64()), (Some(2), Some(44)));
    assert_eq!((of(5)["bad_lines"].as_u64(), of(5)["torn_bytes"].as_u64()), (Some(1), Some(0)));
    assert_eq!(report["unread"].as_array().unwrap().len(), 2);
    for said_of in [
        "logs/bytes.jsonl: left out 1 line that could not be read",
        "logs/damaged.jsonl: left out 2 lines that could not be read and a torn last line of 44 bytes",
        "logs/empty.jsonl is empty",
        "logs/other.jsonl:1:11: not a Hoist session log",
    ] {
        assert!(said.stderr.contains(said_of), "{said_of}: {}", said.stderr);
    }
    assert_eq!(tree(&dir.join("out")).len(), 2);
    assert_no_secret(&dir.join("out"), &Said { stdout: String::new(), ..said });
    // Lines keep their numbers.
    let name = of(7)["copy"].as_str().unwrap();
    let copy = fs::read_to_string(dir.join("out").join(name)).unwrap();
    let lines: Vec<&str> = copy.lines().collect();
    assert_eq!(lines.len(), 11);
    assert!(lines[6..9].iter().all(|line| line.is_empty()) && lines[10].contains("1e400"));
    let validated = dir.hoist(["validate", "out"]);
    assert!(validated.stdout.starts_with("2 logs, 0 problems"), "{validated:?}");

    let none = dir.hoist(["redact", "--sessions", "logs/empty.jsonl", "--out", "none"]);
    assert_eq!((none.code, none.stdout.as_str()), (Some(1), ""), "{none:?}");
    fs::create_dir(dir.join("bare")).unwrap();
    let none = dir.hoist(["redact", "--sessions", "bare", "--out", "none"]);
    assert_eq!(none.stderr, "hoist redact: no session in bare\n");
    assert!(none.code == Some(1) && !dir.join("none").exists());
}

#[test]
fn names_that_become_one_are_numbered() {
    let dir = Dir::new();
    for folder in ["a", "b"] {
        dir.write(format!("{folder}/{OWN_NAME}.jsonl"), session(OWN_NAME, 0));
    }
    let said = dir.hoist(["redact", "--out", "out", "a", "b", "--json"]);
    assert_eq!(said.code, Some(0), "{said:?}");
    let names: Vec<_> = tree(&dir.join("out")).into_iter().map(|(path, _)| path).collect();
    let expected = [format!("{OWN_NAME}-2.jsonl"), format!("{OWN_NAME}.jsonl")];
    assert_eq!(names, expected.map(|name| dir.join("out").join(name)));
    let numbered = format!("\"session\":\"{OWN_NAME}-2\"");
    assert!(tree(&dir.join("out"))[0].1.contains(&numbered));
}

/// Runs of benchmarks become episodes, one a line.
#[test]
fn runs_are_copied_as_episodes() {
    let dir = Dir::new();
    let run = |n: u64| {
        serde_json::json!({"id": format!("run-{n}"), "task_id": "77", "agent_cost": 0.25, "messages": [
            {"role": "user", "content": "I am Sofia Hernandez, #W2348761"},
            {"role": "assistant", "content": null,
             "tool_calls": [{"id": "a", "name": "find", "arguments": {"user": "sofia_hernandez_53641"}}]},
            {"role": "tool", "id": "a", "content": "{\"order\":\"#W2348761\"}"},
        ], "reward_info": {"reward": 0.5}})
    };
    let results = serde_json::json!({"info": {"environment_info": {"domain_name": "retail"}},
        "tasks": [], "simulations": [run(1), run(2)]});
    dir.write("runs/hernandez.json", results.to_string());
    dir.write("runs/deep/20260923T212000.123Z-4242.jsonl", session(OWN_NAME, 0));
    let said = dir.hoist(["redact", "--sessions", "runs", "--out", "out", "--json"]);
    assert_eq!((said.code, said.stderr.as_str()), (Some(0), ""), "{said:?}");
    assert_no_secret(&dir.join("out"), &said);
    let copies = tree(&dir.join("out"));
    let (_, episodes) =
        copies.iter().find(|(path, _)| path.extension().is_some_and(|e| e == "json")).unwrap();
    let before = dir.hoist(["show", "--json", "runs/hernandez.json"]).stdout;
    assert_eq!(episodes.lines().count(), 2);
    for (before, after) in before.lines().zip(episodes.lines()) {
        let read = |line: &str| serde_json::from_str::<serde_json::Value>(line).unwrap();
        let (before, after) = (read(before), read(after));
        for member in ["source", "domain", "duration_ms", "reward", "usage"] {
            assert_eq!(before[member], after[member], "{member}");
        }
        let said = after["events"][0]["text"].as_str().unwrap();
        let found = after["events"][2]["text"].as_str().unwrap();
        let order = read(found)["order"].as_str().unwrap().to_owned();
        assert!(said.ends_with(&order), "{said} {order}");
        assert_eq!(after["events"][1]["calls"][0]["name"], "find");
        assert_ne!(after["task_id"], before["task_id"]);
    }
}

/// What many sessions share stays, and the report names it.
#[test]
fn the_report_names_what_stays() {
    let dir = Dir::new();
    for n in 0..6 {
        let more = call(30, 15, "paint", r#"{"colour":"turquoise","wobble":12345}"#);
        dir.write(format!("logs/{n}.jsonl"), session(&n.to_string(), n) + &more);
    }
    let said = dir.hoist(["redact", "--sessions", "logs", "--out", "out"]);
    assert_eq!(said.code, Some(0), "{said:?}");
    for line in [
        "    paint . colour: 1 of 1 value: turquoise\n",
        "    paint: 1 key: wobble\n",
        "  names of tools: 6 times, 1 different: paint\n",
        "\nPseudonymised is not more than that: ",
    ] {
        assert!(said.stdout.contains(line), "{line}: {}", said.stdout);
    }
    for (_, text) in tree(&dir.join("out")) {
        assert!(text.contains(r#""colour":"turquoise""#) && !text.contains("12345"), "{text}");
    }
}

#[test]
fn help_says_what_it_takes() {
    let mut command: Command = hoist();
    let said = Dir::new().run(command.args(["redact", "--help"]));
    assert_eq!(said.code, Some(0));
    for part in ["--sessions PATH", "--out DIR", "--key-file FILE", "--json", "pseudonymised"] {
        assert!(said.stdout.contains(part), "{part}: {}", said.stdout);
    }
}
