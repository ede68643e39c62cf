//! What each program makes of its command line.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use super::tables::{DEMO, HOIST, MCP, REDACT, REPLAY, SHOW, TRY, VALIDATE};
use super::{
    DemoOptions, Environment, Invocation, McpOptions, RedactOptions, ShowOptions, UpstreamOptions,
    UsageError, ValidateOptions, demo_options, help, mcp_options, parse,
};
use crate::demo::{Oddity, World};

fn words<W: Into<OsString> + Clone>(words: &[W]) -> Vec<OsString> {
    words.iter().cloned().map(Into::into).collect()
}

fn home() -> Environment {
    Environment { home: Some(PathBuf::from("/home/ada")) }
}

#[track_caller]
fn options(line: &[&str]) -> McpOptions {
    options_of(words(line))
}

#[track_caller]
fn options_of(line: Vec<OsString>) -> McpOptions {
    match mcp_options("hoist-mcp", line, &home()).unwrap() {
        Invocation::Run(options) => options,
        Invocation::Print(text) => panic!("printed {text}"),
    }
}

/// The first line of the complaint, without the program's name, about a line of `hoist-mcp`.
#[track_caller]
fn complaint(line: Vec<OsString>) -> String {
    first_line(&mcp_options("hoist-mcp", line, &home()).unwrap_err(), "hoist-mcp")
}

#[track_caller]
fn first_line(error: &UsageError, program: &str) -> String {
    let message = error.to_string();
    let (first, rest) = message.split_once('\n').unwrap();
    assert_eq!(rest, format!("run `{program} --help` to see what it takes"));
    first.strip_prefix(&format!("{program}: ")).unwrap().to_owned()
}

#[test]
fn the_demo_server_can_be_odd_over_http() {
    let line = words(&["--http", "127.0.0.1:0", "--odd", "sse", "--odd=no-get"]);
    let options = match demo_options("hoist-mcp-demo", line, &home()).unwrap() {
        Invocation::Run(options) => options,
        Invocation::Print(text) => panic!("printed {text}"),
    };
    assert_eq!(options.http, Some("127.0.0.1:0".parse().unwrap()));
    assert_eq!(options.odd, [Oddity::Sse, Oddity::NoGet]);
    for name in Oddity::NAMES {
        assert!(Oddity::from_name(name).is_some(), "{name}");
    }
    let line = words(&["--http", "localhost"]);
    let error = demo_options("hoist-mcp-demo", line, &home()).unwrap_err();
    let expected = "--http takes an IP address and a port, such as 127.0.0.1:8930, not `localhost`";
    assert_eq!(first_line(&error, "hoist-mcp-demo"), expected);
}

#[test]
fn a_server_by_url_takes_the_place_of_a_command() {
    let options = options(&[
        "--upstream",
        "https://example.com/mcp?k=v",
        "--upstream-header",
        "Authorization=TOKEN",
        "--upstream-header=X-Team=TEAM",
        "--upstream-ca",
        "~/ca.pem",
        "--upstream-restart=off",
    ]);
    let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    let expected = UpstreamOptions {
        url: "https://example.com/mcp?k=v".to_owned(),
        headers: vec![pair("Authorization", "TOKEN"), pair("X-Team", "TEAM")],
        ca: Some("/home/ada/ca.pem".into()),
        restart: false,
    };
    assert_eq!(options.upstream, Some(expected));
    assert!(options.command.is_empty());
    let (url, server) = ("https://example.com/", "--");
    for (line, expected) in [
        (
            vec!["--upstream", url, server, "npx"],
            "--upstream names the server already, but the command `npx` follows --; give one of them",
        ),
        (vec!["--upstream-ca", "x", server, "npx"], "--upstream-ca is of use only with --upstream"),
        (
            vec!["--upstream-restart", "on", server, "npx"],
            "--upstream-restart is of use only with --upstream",
        ),
        (
            vec!["--upstream", url, "--upstream-header", "X"],
            "--upstream-header takes NAME=VAR, the names of a header and of the environment \
             variable that holds its value; what was given is not shown, as it may be that value",
        ),
        (
            vec!["--upstream", url, "--upstream-header", "=X"],
            "--upstream-header takes NAME=VAR, the names of a header and of the environment \
             variable that holds its value; what was given is not shown, as it may be that value",
        ),
        (
            vec!["--upstream", url, "--upstream-restart", "maybe"],
            "--upstream-restart takes on or off, not `maybe`",
        ),
    ] {
        assert_eq!(complaint(words(&line)), expected);
    }
}

#[test]
fn a_bare_command_gets_the_defaults() {
    let expected = McpOptions {
        record: None,
        domain: None,
        agent_model: None,
        server_name: None,
        retain_days: None,
        grace: Duration::from_secs(5),
        max_message_bytes: 67_108_864,
        listen: None,
        upstream: None,
        command: words(&["server"]),
    };
    assert_eq!(options(&["--", "server"]), expected);
}

#[test]
fn every_flag_is_read_in_both_spellings() {
    let expected = McpOptions {
        record: Some("logs".into()),
        domain: Some("orders".to_owned()),
        agent_model: Some("a model=x".to_owned()),
        server_name: Some("-".to_owned()),
        retain_days: Some(30),
        grace: Duration::from_millis(500),
        max_message_bytes: 1024,
        listen: None,
        upstream: None,
        command: words(&["s"]),
    };
    let separate = options(&[
        "--record",
        "logs",
        "--domain",
        "orders",
        "--agent-model",
        "a model=x",
        "--server-name",
        "-",
        "--retain-days",
        "30",
        "--grace",
        "0.5",
        "--max-message-bytes",
        "1KiB",
        "--",
        "s",
    ]);
    assert_eq!(separate, expected);
    let joined = options(&[
        "--max-message-bytes=1024",
        "--grace=0.50",
        "--retain-days=030",
        "--server-name=-",
        "--agent-model=a model=x",
        "--domain=orders",
        "--record=logs",
        "--",
        "s",
    ]);
    assert_eq!(joined, expected);
}

#[test]
fn what_follows_the_dashes_is_untouched() {
    let command = ["npx", "", "--record", "x", "--help", "-V", "--", "--domain=y", "~/z", " "];
    let line: Vec<_> = ["--record=a", "--"].iter().chain(&command).copied().collect();
    assert_eq!(options(&line).command, words(&command));
}

#[test]
fn a_tilde_in_front_of_a_path_is_the_home_directory() {
    for (typed, expected) in [
        ("~", "/home/ada"),
        ("~/", "/home/ada"),
        ("~/logs", "/home/ada/logs"),
        ("a/~/b", "a/~/b"),
        ("/~", "/~"),
        ("./~", "./~"),
    ] {
        assert_eq!(
            options(&["--record", typed, "--", "s"]).record,
            Some(expected.into()),
            "{typed}"
        );
        assert_eq!(
            options(&[&format!("--record={typed}"), "--", "s"]).record,
            Some(expected.into()),
            "{typed}"
        );
    }
    for home in [None, Some(PathBuf::new())] {
        let line = words(&["--record", "~/x", "--", "s"]);
        let error = mcp_options("hoist-mcp", line, &Environment { home }).unwrap_err();
        let expected =
            "cannot expand the ~ in --record ~/x, because HOME is not set; give the whole path";
        assert_eq!(first_line(&error, "hoist-mcp"), expected);
    }
    let line = words(&["--record", "~ada/logs", "--", "s"]);
    let home = Environment { home: Some("/home/ada".into()) };
    let error = mcp_options("hoist-mcp", line, &home).unwrap_err();
    let expected = "cannot expand --record ~ada/logs: only ~ alone and ~/... are; give the whole \
                    path, or ./~ada/logs";
    assert_eq!(first_line(&error, "hoist-mcp"), expected);
}

#[cfg(unix)]
#[test]
fn paths_and_server_arguments_need_not_be_utf8() {
    use std::os::unix::ffi::OsStringExt;
    let raw = |bytes: &[u8]| OsString::from_vec(bytes.to_vec());
    let line = |first: &[OsString]| [first, &words(&["--", "s"]), &[raw(b"\xff=\xfe")]].concat();

    for first in [vec![raw(b"--record"), raw(b"~/\xff=x")], vec![raw(b"--record=~/\xff=x")]] {
        let options = options_of(line(&first));
        assert_eq!(options.record, Some(raw(b"/home/ada/\xff=x").into()));
        assert_eq!(options.command, [raw(b"s"), raw(b"\xff=\xfe")]);
    }
    let domain = [raw(b"--domain"), raw(b"\xff")];
    assert_eq!(complaint(line(&domain)), "--domain takes text in UTF-8, not `\u{fffd}`");
    let unknown = [raw(b"--\xff=1")];
    assert_eq!(complaint(line(&unknown)), "unknown flag --\u{fffd}");
}

#[test]
fn a_flag_that_needs_another_is_refused_without() {
    let odd = words(&["--odd", "sse"]);
    let error = demo_options("hoist-mcp-demo", odd, &Environment::default()).unwrap_err();
    assert_eq!(error.problem.to_string(), "--odd is of use only with --http");
    let parsed = parse(&SHOW, "hoist show", words(&["--follow", "-"]), &Environment::default());
    let Ok(Invocation::Run(matches)) = parsed else { panic!("it is read") };
    let error = ShowOptions::try_from(&matches).unwrap_err().problem.to_string();
    assert!(error.starts_with("--follow and - for standard input do not go together"), "{error}");
}

#[test]
fn mistakes_are_named_with_what_to_do() {
    let days =
        |found: &str| format!("--retain-days takes a whole number from 1 to 36500, not `{found}`");
    let grace = |found: &str| {
        format!("--grace takes seconds from 0 to 86400, such as 5 or 0.5, not `{found}`")
    };
    let bytes = |found: &str| {
        format!(
            "--max-message-bytes takes a number of bytes, at least 1024, such as 1048576 or 64MiB, not `{found}`"
        )
    };
    let no_command = "no server command; put it after --, as in: hoist-mcp -- npx -y some-mcp-server; or name \
         a server by URL, with --upstream";
    let cases: &[(&[&str], &str)] = &[
        (&[], no_command),
        (&["--"], no_command),
        (&["--record", "x"], no_command),
        (
            &["--", "", "x"],
            "the server command after -- is an empty string; name the program to start",
        ),
        (&["--record"], "--record needs a value: --record DIR"),
        (&["--domain", "x", "--record", "--", "s"], "--record needs a value: --record DIR"),
        (&["--record=", "--", "s"], "--record needs a value: --record DIR"),
        (&["--record", "", "--", "s"], "--record needs a value: --record DIR"),
        (&["--domain=", "--", "s"], "--domain needs a value: --domain NAME"),
        (
            &["--domain", "--record", "x", "--", "s"],
            "--domain needs a value, but a flag follows it: --record",
        ),
        (
            &["--domain", "--recrod", "--", "s"],
            "--domain needs a value, but a flag follows it: --recrod",
        ),
        (
            &["--domain=--record", "x", "--", "s"],
            "--domain needs a value, but a flag follows it: --record",
        ),
        (&["--recrod", "x", "--", "s"], "unknown flag --recrod; did you mean --record?"),
        (&["--recrod=x", "--", "s"], "unknown flag --recrod; did you mean --record?"),
        (&["-record", "x", "--", "s"], "unknown flag -record; did you mean --record?"),
        (&["--hlep", "--", "s"], "unknown flag --hlep; did you mean --help?"),
        (&["--frobnicate", "--", "s"], "unknown flag --frobnicate"),
        (&["-r", "--", "s"], "unknown flag -r"),
        (&["--help=yes"], "--help takes no value; write just --help"),
        (&["--record", "a", "--record=b", "--", "s"], "--record was given twice; give it once"),
        (
            &["npx", "-y", "s"],
            "unexpected argument `npx`; put the server's command after --, as in: hoist-mcp -- npx ...",
        ),
        (
            &["--record", "a", "npx", "--", "s"],
            "unexpected argument `npx`; put the server's command after --, as in: hoist-mcp -- npx ...",
        ),
        (
            &["", "--", "s"],
            "unexpected argument ``; put the server's command after --, as in: hoist-mcp --  ...",
        ),
        (
            &["-", "--", "s"],
            "unexpected argument `-`; put the server's command after --, as in: hoist-mcp -- - ...",
        ),
        (&["--retain-days", "-1", "--", "s"], &days("-1")),
        (&["--retain-days", "0", "--", "s"], &days("0")),
        (&["--retain-days", "36501", "--", "s"], &days("36501")),
        (&["--retain-days", "99999999999999999999", "--", "s"], &days("99999999999999999999")),
        (&["--retain-days", "1.5", "--", "s"], &days("1.5")),
        (&["--retain-days", "+1", "--", "s"], &days("+1")),
        (&["--retain-days", "٣", "--", "s"], &days("٣")),
        (&["--retain-days", "3", "--", "s"], "--retain-days is of use only with --record"),
        (&["--grace", "-1", "--", "s"], &grace("-1")),
        (&["--grace", "1e3", "--", "s"], &grace("1e3")),
        (&["--grace", "inf", "--", "s"], &grace("inf")),
        (&["--grace", "86400.001", "--", "s"], &grace("86400.001")),
        (&["--grace", "5.", "--", "s"], &grace("5.")),
        (&["--grace", ".5", "--", "s"], &grace(".5")),
        (&["--max-message-bytes", "0", "--", "s"], &bytes("0")),
        (&["--max-message-bytes", "1023", "--", "s"], &bytes("1023")),
        (&["--max-message-bytes", "64MB", "--", "s"], &bytes("64MB")),
        (&["--max-message-bytes", "MiB", "--", "s"], &bytes("MiB")),
        (&["--max-message-bytes", "1.5MiB", "--", "s"], &bytes("1.5MiB")),
        (&["--max-message-bytes", "17179869184GiB", "--", "s"], &bytes("17179869184GiB")),
    ];
    for (line, expected) in cases {
        assert_eq!(complaint(words(line)), *expected, "{line:?}");
    }
}

#[test]
fn sizes_take_binary_suffixes() {
    for (typed, expected) in
        [("1024", 1024), ("4KiB", 4096), ("2MiB", 2_097_152), ("3GiB", 3_221_225_472)]
    {
        assert_eq!(
            options(&["--max-message-bytes", typed, "--", "s"]).max_message_bytes,
            expected,
            "{typed}"
        );
    }
}

#[test]
fn help_and_version_win_before_the_dashes() {
    for line in [
        &["--help"][..],
        &["-h"],
        &["--nonsense", "-h"],
        &["--record", "--help"],
        &["x", "--help", "--", "s"],
    ] {
        match mcp_options("hoist-mcp", words(line), &home()).unwrap() {
            Invocation::Print(text) => assert_eq!(text, help(&MCP, "hoist-mcp"), "{line:?}"),
            Invocation::Run(options) => panic!("{line:?} ran {options:?}"),
        }
    }
    for line in [&["--version"][..], &["-V", "--record"]] {
        match mcp_options("hoist-mcp", words(line), &home()).unwrap() {
            Invocation::Print(text) => {
                assert_eq!(text, concat!("hoist-mcp ", env!("CARGO_PKG_VERSION"), "\n"));
            }
            Invocation::Run(options) => panic!("{line:?} ran {options:?}"),
        }
    }
}

#[test]
fn the_demo_takes_a_world_and_nothing_else() {
    for (line, expected) in [
        (&[][..], Ok(World::Echo)),
        (&["--world", "retail"], Ok(World::Retail)),
        (&["--world=echo"], Ok(World::Echo)),
        (&["--world", "shop"], Err("--world takes echo or retail, not `shop`")),
        (&["retail"], Err("unexpected argument `retail`; only flags are taken here")),
        (&["--", "x"], Err("nothing is taken after --, but `x` follows it")),
        (&["--wrold", "x"], Err("unknown flag --wrold; did you mean --world?")),
    ] {
        let parsed = demo_options("hoist-mcp-demo", words(line), &home());
        match (parsed, expected) {
            (Ok(Invocation::Run(options)), Ok(world)) => {
                let expected = DemoOptions { world, http: None, odd: Vec::new() };
                assert_eq!(options, expected, "{line:?}");
            }
            (Err(error), Err(expected)) => {
                assert_eq!(first_line(&error, "hoist-mcp-demo"), expected, "{line:?}");
            }
            (parsed, _) => panic!("{line:?} gave {parsed:?}"),
        }
    }
}

#[test]
fn hoist_runs_the_other_programs_by_word() {
    let run = |line: &[&str]| parse(&HOIST, "hoist", words(line), &home());
    match run(&["mcp", "--record", "~/x", "--", "mcp"]).unwrap() {
        Invocation::Run(matches) => {
            assert_eq!((matches.command().name, matches.program()), ("hoist-mcp", "hoist mcp"));
            assert_eq!(McpOptions::try_from(&matches).unwrap().record, Some("/home/ada/x".into()));
            assert_eq!(matches.server_command(), words(&["mcp"]));
        }
        Invocation::Print(text) => panic!("printed {text}"),
    }
    match run(&["demo", "--help"]).unwrap() {
        Invocation::Print(text) => assert_eq!(text, help(&DEMO, "hoist demo")),
        Invocation::Run(matches) => panic!("ran {matches:?}"),
    }
    match run(&["-h", "demo"]).unwrap() {
        Invocation::Print(text) => assert_eq!(text, help(&HOIST, "hoist")),
        Invocation::Run(matches) => panic!("ran {matches:?}"),
    }
    for (line, program, expected) in [
        (
            &[][..],
            "hoist",
            "a command is needed: try, mcp, demo, show, validate, replay, redact, export, diff",
        ),
        (
            &["--"],
            "hoist",
            "a command is needed: try, mcp, demo, show, validate, replay, redact, export, diff",
        ),
        (&["dmeo"], "hoist", "unknown command `dmeo`; did you mean demo?"),
        (&["serve"], "hoist", "unknown command `serve`"),
        (&["--record", "x", "mcp"], "hoist", "unknown flag --record"),
        (
            &["mcp"],
            "hoist mcp",
            "no server command; put it after --, as in: hoist mcp -- npx -y some-mcp-server; or \
             name a server by URL, with --upstream",
        ),
        (&["mcp", "--recrod"], "hoist mcp", "unknown flag --recrod; did you mean --record?"),
        (&["try", "now"], "hoist try", "unexpected argument `now`; only flags are taken here"),
    ] {
        assert_eq!(first_line(&run(line).unwrap_err(), program), expected, "{line:?}");
    }
}

#[test]
fn show_and_validate_take_paths_among_their_flags() {
    let show = |line: &[&str]| match parse(&HOIST, "hoist", words(line), &home())? {
        Invocation::Run(matches) => ShowOptions::try_from(&matches),
        Invocation::Print(text) => panic!("printed {text}"),
    };
    let options = show(&["show", "a", "--strict", "b", "--json", "-", "~"]).unwrap();
    let expected = ShowOptions {
        paths: ["a", "b", "-", "~"].map(PathBuf::from).to_vec(),
        full: false,
        json: true,
        follow: false,
        strict: true,
        merged: false,
    };
    assert_eq!(options, expected);
    let options = show(&["show", "--full", "a=b", "--", "--json", "--"]).unwrap();
    assert_eq!(options.paths, ["a=b", "--json", "--"].map(PathBuf::from));
    assert!(options.full && !options.json && !options.follow && !options.strict);
    assert!(show(&["show", "--follow", "x"]).unwrap().follow);
    let no_path = "name a session log or a directory of logs, as in: hoist show ~/.hoist/logs";
    for (line, expected) in [
        (&["show"][..], no_path),
        (&["show", "--"], no_path),
        (&["show", "--json"], no_path),
        (&["show", "a", ""], "an empty path; name a session log or a directory of logs"),
        (&["show", "--", ""], "an empty path; name a session log or a directory of logs"),
        (&["show", "--jsno", "a"], "unknown flag --jsno; did you mean --json?"),
        (&["show", "-f", "a"], "unknown flag -f"),
        (&["show", "--json=yes", "a"], "--json takes no value; write just --json"),
        (&["show", "--json", "a", "--json"], "--json was given twice; give it once"),
        (
            &["show", "--follow", "--json", "a"],
            "--follow and --json do not go together: an episode is whole only when the session is \
             over",
        ),
        (&["show", "--follow", "a", "b"], "--follow takes one log, not 2 paths"),
    ] {
        assert_eq!(first_line(&show(line).unwrap_err(), "hoist show"), expected, "{line:?}");
    }
    match parse(&HOIST, "hoist", words(&["validate", "a", "--json"]), &home()).unwrap() {
        Invocation::Run(matches) => {
            let expected = ValidateOptions { paths: vec!["a".into()], json: true };
            assert_eq!(ValidateOptions::from(&matches), expected);
        }
        Invocation::Print(text) => panic!("printed {text}"),
    }
}

#[test]
fn redact_takes_paths_behind_their_flag_and_a_place_for_the_copies() {
    let redact = |line: &[&str]| match parse(&HOIST, "hoist", words(line), &home())? {
        Invocation::Run(matches) => RedactOptions::try_from(&matches),
        Invocation::Print(text) => panic!("printed {text}"),
    };
    let line = ["redact", "--sessions", "~/a", "b", "--json", "--sessions=c", "--out", "~/o"];
    let expected = RedactOptions {
        sessions: ["/home/ada/a", "c", "b"].map(PathBuf::from).to_vec(),
        out: "/home/ada/o".into(),
        key_file: None,
        json: true,
    };
    assert_eq!(redact(&line).unwrap(), expected);
    let options = redact(&["redact", "--out", "o", "--key-file", "k", "--", "-x"]).unwrap();
    assert_eq!((options.sessions, options.key_file), (vec!["-x".into()], Some("k".into())));
    for (line, expected) in [
        (
            &["redact", "--out", "o"][..],
            "name a session log or a directory of logs, as in: hoist redact --sessions ~/.hoist/logs",
        ),
        (&["redact", "--sessions", "a"], "--out is needed: --out DIR"),
        (&["redact", "--out", "o", "--out", "p", "a"], "--out was given twice; give it once"),
        (
            &["redact", "--out", "o", "a", ""],
            "an empty path; name a session log or a directory of logs",
        ),
        (&["redact", "--session", "a"], "unknown flag --session; did you mean --sessions?"),
    ] {
        assert_eq!(first_line(&redact(line).unwrap_err(), "hoist redact"), expected, "{line:?}");
    }
}

#[test]
fn help_fits_the_terminal_and_shows_the_defaults() {
    for (command, program) in [
        (&MCP, "hoist-mcp"),
        (&DEMO, "hoist-mcp-demo"),
        (&HOIST, "hoist"),
        (&TRY, "hoist try"),
        (&SHOW, "hoist show"),
        (&VALIDATE, "hoist validate"),
        (&REPLAY, "hoist replay"),
        (&REDACT, "hoist redact"),
    ] {
        let text = help(command, program);
        for line in text.lines() {
            assert!(line.chars().count() <= 80 && line.trim_end() == line, "{program}: {line:?}");
        }
        let unwrapped = text.split_whitespace().collect::<Vec<_>>().join(" ");
        for flag in command.flags {
            let term = format!("\n  {} {}", flag.long, flag.value);
            assert!(text.contains(term.trim_end_matches(' ')), "{}", flag.long);
            assert!(
                flag.default
                    .is_none_or(|default| unwrapped.contains(&format!("Default: {default}.")))
            );
        }
    }
    let usage = "\nUsage: hoist mcp [FLAGS] {--upstream URL | -- COMMAND...}\n";
    assert!(help(&MCP, "hoist mcp").contains(usage));
}
