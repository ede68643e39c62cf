//! Trajectories that the schema's own package wrote.

use std::fs;
use std::process::Command;

use hoist_trace::Episode;

use crate::peers::{python, python_script};

#[test]
fn what_the_atif_package_writes_is_read() {
    let script = python_script("trajectory.py");
    let written = Command::new(python()).arg(script).output().expect("it can be run");
    if written.status.code() == Some(3) {
        // The package is not for this interpreter.
        return;
    }
    assert!(written.status.success(), "{written:?}");
    let dir = tempfile::tempdir().expect("a temporary directory");
    let path = dir.path().join("trajectories");
    fs::write(&path, &written.stdout).expect("it can be written");
    let hoist = || Command::new(env!("CARGO_BIN_EXE_hoist"));
    let shown = hoist().args(["show", "--json"]).arg(&path).output().expect("it can be run");
    assert!(shown.status.success() && shown.stderr.is_empty(), "{shown:?}");
    let episodes: Vec<Episode> = shown
        .stdout
        .split(|byte| *byte == b'\n')
        .filter(|line| !line.is_empty())
        .map(|line| serde_json::from_slice(line).expect("an episode"))
        .collect();
    let ids: Vec<&str> = episodes.iter().map(|episode| episode.id.as_str()).collect();
    assert_eq!(ids, ["session-1", "t-2", "session-1#2", "t-2#2"]);
    for episode in [&episodes[0], &episodes[2]] {
        let calls: Vec<&str> = episode.calls().map(|call| call.name.as_str()).collect();
        assert_eq!(calls, ["find", "delegate"]);
        let results: Vec<(&str, &str)> =
            episode.results().map(|result| (result.call.as_str(), result.text.as_str())).collect();
        assert_eq!(results, [("a", "here"), ("b", "")]);
        let said: Vec<_> = episode.turns().map(|turn| turn.text.as_deref()).collect();
        assert_eq!(said, [Some("I look"), Some("Done")]);
        assert_eq!((episode.agent.as_str(), episode.duration_ms), ("model-1", 2_000));
        assert_eq!(episode.usage.input_tokens, Some(120));
        assert_eq!(episode.tools.len(), 1);
    }
    let checked = hoist().arg("validate").arg(&path).output().expect("it can be run");
    assert_eq!(String::from_utf8_lossy(&checked.stdout), "4 runs, 0 problems, 0 notes\n");
}
