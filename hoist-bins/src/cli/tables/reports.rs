//! Commands that make something of recorded sessions.

use super::{COMMAND, FLAG};
use crate::cli::table::{Command, Example, Flag, Kind, Takes};

/// `hoist export`, recorded sessions as tables.
pub static EXPORT: Command = Command {
    name: "hoist export",
    about: "write recorded sessions, their turns and their calls as tables, in JSONL and CSV",
    operands: "PATH...",
    flags: &[
        Flag {
            long: "--out",
            value: "DIR",
            kind: Kind::Path,
            about: "The directory for episodes, turns and calls, each as .jsonl and .csv. It is made if it is missing; \
                    files of these names in it are never overwritten.",
            ..FLAG
        },
        Flag {
            long: "--sessions",
            value: "PATH",
            kind: Kind::Path,
            repeatable: true,
            about: "Take the sessions of this file or directory; the same as naming it without a flag.",
            ..FLAG
        },
        Flag {
            long: "--merged",
            kind: Kind::Switch,
            about: "Take the logs that one host session left with several servers as one session.",
            ..FLAG
        },
        Flag {
            long: "--strict",
            kind: Kind::Switch,
            about: "Exit with 1 if anything could not be read: a file, or a line or run of one.",
            ..FLAG
        },
        Flag {
            long: "--json",
            kind: Kind::Switch,
            about: "Print what was written as one line of JSON.",
            ..FLAG
        },
    ],
    examples: &[
        Example {
            about: "Tables of all that was recorded",
            arguments: "--out tables ~/.hoist/logs",
        },
        Example {
            about: "Logs and the runs of a benchmark together",
            arguments: "--out tables --sessions ~/.hoist/logs --sessions results.json",
        },
    ],
    takes: Takes::PathsOf { flag: "--sessions" },
    ..COMMAND
};

/// `hoist diff`, two recordings compared.
pub static DIFF: Command = Command {
    name: "hoist diff",
    about: "compare two recorded sessions, or two directories of them: tools, calls, results, times",
    operands: "A B",
    flags: &[
        Flag {
            long: "--ignore",
            value: "PATH",
            repeatable: true,
            about: "Do not compare this part of results, such as text.updated_at or structured.items[*].id.",
            ..FLAG
        },
        Flag {
            long: "--merged",
            kind: Kind::Switch,
            about: "Take the logs that one host session left with several servers as one session.",
            ..FLAG
        },
        Flag {
            long: "--json",
            kind: Kind::Switch,
            about: "Print all that differs as one line of JSON, and nothing else.",
            ..FLAG
        },
    ],
    examples: &[
        Example {
            about: "What a new version of a server answers differently",
            arguments: "before.jsonl after.jsonl",
        },
        Example {
            about: "Two runs of all tasks, for a script (exit code 1 if they differ)",
            arguments: "--json runs/monday runs/tuesday",
        },
    ],
    takes: Takes::Paths,
    ..COMMAND
};
