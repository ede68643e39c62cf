//! The command lines of Hoist's own programs.

mod reports;

use super::table::{Command, Example, Flag, Kind, Subcommand, Takes};

pub use reports::{DIFF, EXPORT};

/// `hoist-mcp`, the proxy.
pub static MCP: Command = Command {
    name: "hoist-mcp",
    about: "pass MCP messages between a host and a server byte for byte, and record the session",
    operands: "{--upstream URL | -- COMMAND...}",
    flags: &[
        Flag {
            long: "--record",
            value: "DIR",
            kind: Kind::Path,
            about: "Write one log per session to this directory, making it if needed. A leading ~ is your home \
                    directory. Without this flag nothing is written.",
            ..FLAG
        },
        Flag {
            long: "--domain",
            value: "NAME",
            about: "Say in the log which domain the tools belong to.",
            ..FLAG
        },
        Flag {
            long: "--agent-model",
            value: "MODEL",
            about: "Say in the log which model drives the agent; the proxy cannot see it.",
            ..FLAG
        },
        Flag {
            long: "--server-name",
            value: "NAME",
            about: "Say in the log what this server is called, for an agent that uses several.",
            ..FLAG
        },
        Flag {
            long: "--retain-days",
            value: "N",
            kind: Kind::Number { min: 1, max: 36_500 },
            needs: Some("--record"),
            about: "At start, delete logs in the --record directory that are older than this many days.",
            ..FLAG
        },
        Flag {
            long: "--upstream",
            value: "URL",
            about: "Reach the server at this URL, over Streamable HTTP, in place of a command.",
            ..FLAG
        },
        Flag {
            long: "--upstream-header",
            value: "NAME=VAR",
            repeatable: true,
            kind: Kind::Pair,
            about: "Send this header with every request; its value is that of the environment variable VAR.",
            ..FLAG
        },
        Flag {
            long: "--upstream-ca",
            value: "FILE",
            kind: Kind::Path,
            about: "Also trust the certificates in this PEM file.",
            ..FLAG
        },
        Flag {
            long: "--upstream-restart",
            value: "on|off",
            kind: Kind::Choice(&["on", "off"]),
            about: "Whether a session that the server has ended is started again. Without this flag it is.",
            ..FLAG
        },
        Flag {
            long: "--listen",
            value: "ADDR",
            kind: Kind::Address,
            about: "Serve hosts that connect by URL at this address and port, in place of standard input and output, and \
                    print the URL. Each host session gets a server of its own. Port 0 is any that is free.",
            ..FLAG
        },
        Flag {
            long: "--listen-token-file",
            value: "FILE",
            kind: Kind::Path,
            about: "Answer only hosts that send Authorization: Bearer with the token in this file. Without it only \
                    loopback addresses can be listened on.",
            ..FLAG
        },
        Flag {
            long: "--listen-tls-cert",
            value: "FILE",
            kind: Kind::Path,
            about: "Serve over TLS with the certificates in this PEM file, the server's own first.",
            ..FLAG
        },
        Flag {
            long: "--listen-tls-key",
            value: "FILE",
            kind: Kind::Path,
            about: "The private key to that certificate, in PEM form.",
            ..FLAG
        },
        Flag {
            long: "--listen-idle",
            value: "MINUTES",
            kind: Kind::Number { min: 1, max: 525_600 },
            about: "End a session once no request came and no stream was open for so long. 240 without this flag.",
            ..FLAG
        },
        Flag {
            long: "--listen-max-sessions",
            value: "N",
            kind: Kind::Number { min: 1, max: 100_000 },
            about: "How many sessions there may be at once. 64 without this flag.",
            ..FLAG
        },
        Flag {
            long: "--listen-max-body",
            value: "N",
            kind: Kind::Bytes { min: 1024 },
            about: "The longest message a host may send: plain bytes, or with the suffix KiB, MiB or GiB. 4MiB without \
                    this flag.",
            ..FLAG
        },
        Flag {
            long: "--grace",
            value: "SECONDS",
            kind: Kind::Seconds { max: 86_400 },
            default: Some("5"),
            about: "How long the server may take to end by itself once the proxy is told to stop, the host is gone, or \
                    the server left processes behind, before it gets SIGTERM, and then again before SIGKILL. A host \
                    that signals again, or after it has closed its end, is not made to wait so long.",
            ..FLAG
        },
        Flag {
            long: "--max-message-bytes",
            value: "N",
            kind: Kind::Bytes { min: 1024 },
            default: Some("64MiB"),
            about: "The longest message the proxy holds in memory, and with --upstream the longest it passes on: plain \
                    bytes, or with the suffix KiB, MiB or GiB.",
            ..FLAG
        },
    ],
    examples: &[
        Example {
            about: "Record what an agent does",
            arguments: "--record ~/.hoist/logs -- npx -y some-mcp-server",
        },
        Example {
            about: "A server by URL, with a key from the environment",
            arguments: "--upstream https://a.example/mcp --upstream-header X-Key=KEY",
        },
        Example {
            about: "Hosts that connect by URL",
            arguments: "--listen 127.0.0.1:8931 -- npx -y some-mcp-server",
        },
        Example {
            about: "Look at the messages of the built-in demo server",
            arguments: "--record . -- hoist-mcp-demo",
        },
    ],
    takes: Takes::ServerCommand { unless: "--upstream" },
    ..COMMAND
};

/// `hoist-mcp-demo`, the server to try the proxy on.
pub static DEMO: Command = Command {
    name: "hoist-mcp-demo",
    about: "a tiny MCP server over stdin and stdout, or by URL, to try the proxy on",
    flags: &[
        Flag {
            long: "--world",
            value: "NAME",
            kind: Kind::Choice(&["echo", "retail"]),
            default: Some("echo"),
            about: "Which tools it has. echo: lookup and update, which answer with their arguments. retail: a tiny shop \
                with users, orders and one write.",
            ..FLAG
        },
        Flag {
            long: "--http",
            value: "ADDR",
            kind: Kind::Address,
            about: "Serve over Streamable HTTP at this address and port, in place of stdin and stdout, and print the URL. \
                Port 0 is any that is free. It serves until a signal asks it to end, and exits with 0. A session's \
                streams are resumed with Last-Event-ID; one that asks for a second stream of its own gets 409.",
            ..FLAG
        },
        Flag {
            long: "--odd",
            value: "HOW",
            repeatable: true,
            kind: Kind::Choice(crate::demo::Oddity::NAMES),
            needs: Some("--http"),
            about: "With --http, be hard to deal with. sse: answer with streams. drop-streams: end them before the answer, \
                to be resumed. split-events: send them in pieces. expire-sessions: forget a session after three \
                requests. redirect: be at another path. gzip: claim to compress. no-get: have no stream of its own.",
            ..FLAG
        },
    ],
    examples: &[
        Example { about: "Serve the shop", arguments: "--world retail" },
        Example { about: "Serve by URL", arguments: "--http 127.0.0.1:8930" },
        Example {
            about: "Ask it for its tools by hand",
            arguments: r#"<<< '{"jsonrpc":"2.0","id":1,"method":"tools/list"}'"#,
        },
    ],
    ..COMMAND
};

/// `hoist try`, the whole loop on the demo server.
pub static TRY: Command = Command {
    name: "hoist try",
    about: "run the proxy on the built-in demo server and show what it recorded",
    flags: &[Flag {
        long: "--record",
        value: "DIR",
        kind: Kind::Path,
        about: "Keep the log in this directory. Without this flag it is written to a temporary \
                one that is removed at the end.",
        ..FLAG
    }],
    examples: &[
        Example { about: "See Hoist work, offline", arguments: "" },
        Example { about: "Keep the log", arguments: "--record ~/.hoist/logs" },
    ],
    ..COMMAND
};

/// `hoist show`, recorded sessions for people to read.
pub static SHOW: Command = Command {
    name: "hoist show",
    about: "show recorded sessions: of one what happened, call by call; of several a line each",
    operands: "PATH...",
    flags: &[
        Flag {
            long: "--full",
            kind: Kind::Switch,
            about: "Cut nothing: of one session, show all of each call, result and message.",
            ..FLAG
        },
        Flag {
            long: "--json",
            kind: Kind::Switch,
            about: "Print each session as one line of JSON, an episode, and nothing else.",
            ..FLAG
        },
        Flag {
            long: "--follow",
            kind: Kind::Switch,
            about: "Of one log, go on with what is added to it until interrupted.",
            ..FLAG
        },
        Flag {
            long: "--strict",
            kind: Kind::Switch,
            about: "Exit with 1 if anything could not be read: a file, or a line or run of one.",
            ..FLAG
        },
        Flag {
            long: "--merged",
            kind: Kind::Switch,
            about: "Show the logs that one host session left with several servers as one session.",
            ..FLAG
        },
    ],
    examples: &[
        Example { about: "A line for each session in a directory", arguments: "~/.hoist/logs" },
        Example {
            about: "What happened in one session",
            arguments: "~/.hoist/logs/20260923T212000.123Z-4242.jsonl",
        },
        Example {
            about: "Watch a session as it goes on",
            arguments: "--follow ~/.hoist/logs/20260923T212000.123Z-4242.jsonl",
        },
        Example { about: "All sessions for other programs", arguments: "--json ~/.hoist/logs" },
        Example { about: "The runs of a tau2-bench results file", arguments: "results.json" },
    ],
    takes: Takes::Paths,
    ..COMMAND
};

/// `hoist replay`, a recorded session as a server.
pub static REPLAY: Command = Command {
    name: "hoist replay",
    about: "serve recorded sessions: an MCP server that answers as the recorded one did",
    operands: "PATH...",
    flags: &[
        Flag {
            long: "--strict",
            kind: Kind::Switch,
            about: "Give each recorded answer once only, and exit with 1 if anything was asked that was not recorded.",
            ..FLAG
        },
        Flag {
            long: "--pace",
            kind: Kind::Switch,
            about: "Answer as late as the recorded server did. Without this flag at once.",
            ..FLAG
        },
        Flag {
            long: "--listen",
            value: "ADDR",
            kind: Kind::Address,
            about: "Serve over Streamable HTTP at this loopback address and port, in place of stdin and stdout, and print \
                    the URL. Port 0 is any that is free.",
            ..FLAG
        },
    ],
    examples: &[
        Example {
            about: "A server for a test, from a session that went well",
            arguments: "--strict ~/.hoist/logs/20260923T212000.123Z-4242.jsonl",
        },
        Example {
            about: "By URL, at the recorded pace",
            arguments: "--pace --listen :8930 ~/.hoist/logs",
        },
    ],
    takes: Takes::Paths,
    ..COMMAND
};

/// `hoist validate`, what is wrong with logs and runs.
pub static VALIDATE: Command = Command {
    name: "hoist validate",
    about: "check session logs and runs, and list every broken rule with its file and line",
    operands: "PATH...",
    flags: &[Flag {
        long: "--json",
        kind: Kind::Switch,
        about: "Print each finding as one line of JSON, and nothing else.",
        ..FLAG
    }],
    examples: &[
        Example { about: "Check a directory of logs", arguments: "~/.hoist/logs" },
        Example {
            about: "Check one log, for other programs",
            arguments: "--json ~/.hoist/logs/20260923T212000.123Z-4242.jsonl",
        },
    ],
    takes: Takes::Paths,
    ..COMMAND
};

/// `hoist redact`, copies of sessions to share.
pub static REDACT: Command = Command {
    name: "hoist redact",
    about: "write pseudonymised copies of sessions to share, from which the same can be learned",
    operands: "--sessions PATH... --out DIR",
    flags: &[
        Flag {
            long: "--sessions",
            value: "PATH",
            kind: Kind::Path,
            repeatable: true,
            about: "A session log, a file of runs, or a directory of them. More paths may follow it.",
            ..FLAG
        },
        Flag {
            long: "--out",
            value: "DIR",
            kind: Kind::Path,
            about: "Write the copies to this directory, which must be new or empty, and have nothing to do with what \
                    is copied.",
            ..FLAG
        },
        Flag {
            long: "--key-file",
            value: "FILE",
            kind: Kind::Path,
            about: "Make tokens under the key in this file, 32 bytes or more, so that other copies have the same. It \
                    is made if it is missing. Without this flag each run has a key of its own, which is not kept.",
            ..FLAG
        },
        Flag {
            long: "--json",
            kind: Kind::Switch,
            about: "Print the report as one line of JSON, and nothing else.",
            ..FLAG
        },
    ],
    examples: &[
        Example {
            about: "Copies to share",
            arguments: "--sessions ~/.hoist/logs --out ~/shared-logs",
        },
        Example {
            about: "Copies that go with those of last week",
            arguments: "--sessions ~/.hoist/logs --out week-2 --key-file ~/.hoist/key",
        },
    ],
    takes: Takes::PathsOf { flag: "--sessions" },
    ..COMMAND
};

/// `hoist`, every program under one name.
pub static HOIST: Command = Command {
    name: "hoist",
    about: "record what an agent does with MCP servers, and act on it",
    operands: "...",
    subcommands: &[
        Subcommand { word: "try", command: &TRY },
        Subcommand { word: "mcp", command: &MCP },
        Subcommand { word: "demo", command: &DEMO },
        Subcommand { word: "show", command: &SHOW },
        Subcommand { word: "validate", command: &VALIDATE },
        Subcommand { word: "replay", command: &REPLAY },
        Subcommand { word: "redact", command: &REDACT },
        Subcommand { word: "export", command: &EXPORT },
        Subcommand { word: "diff", command: &DIFF },
    ],
    examples: &[
        Example { about: "See Hoist work, offline", arguments: "try" },
        Example { about: "What the proxy can do", arguments: "mcp --help" },
        Example { about: "What was recorded", arguments: "show ~/.hoist/logs" },
    ],
    ..COMMAND
};

/// What a flag is unless its table says otherwise: one text, with no default.
const FLAG: Flag = Flag {
    long: "",
    value: "",
    kind: Kind::Text,
    repeatable: false,
    default: None,
    needs: None,
    about: "",
};

/// What a command is unless its table says otherwise.
const COMMAND: Command = Command {
    name: "",
    about: "",
    operands: "",
    flags: &[],
    subcommands: &[],
    examples: &[],
    takes: Takes::Flags,
};
