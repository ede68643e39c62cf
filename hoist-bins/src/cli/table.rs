//! What a table of flags is made of.

/// A program or one of its subcommands: all that parsing and `--help` need to know.
///
/// Every command also takes `--help`/`-h` and `--version`/`-V`; they are not listed in
/// [`Command::flags`].
#[derive(Debug)]
pub struct Command {
    /// The program's name when it is run by itself, such as `hoist-mcp`.
    pub name: &'static str,
    /// One sentence: what the program does, without a full stop.
    pub about: &'static str,
    /// What follows the flags in the usage line, if anything, such as `-- COMMAND...`.
    pub operands: &'static str,
    /// The flags, in the order `--help` lists them.
    pub flags: &'static [Flag],
    /// The subcommands, if the first word chooses one.
    pub subcommands: &'static [Subcommand],
    /// Command lines worth copying.
    pub examples: &'static [Example],
    /// What it takes besides flags.
    pub takes: Takes,
}

/// What a [`Command`] takes besides flags.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Takes {
    /// Nothing.
    Flags,
    /// One path or more, anywhere among the flags; what follows a `--` is a path too.
    Paths,
    /// Paths as values of this flag, and as words: one of either at least.
    PathsOf {
        /// The flag.
        flag: &'static str,
    },
    /// A server's command, behind a `--`; nothing, where this flag names the server instead.
    ServerCommand {
        /// The flag.
        unless: &'static str,
    },
}

/// A word that chooses another [`Command`].
#[derive(Debug)]
pub struct Subcommand {
    /// The word.
    pub word: &'static str,
    /// The command it chooses.
    pub command: &'static Command,
}

/// One flag of a [`Command`].
#[derive(Debug)]
pub struct Flag {
    /// The flag as typed, with its dashes: `--record`.
    pub long: &'static str,
    /// What stands for the value in `--help`: `DIR`.
    pub value: &'static str,
    /// What the value must be.
    pub kind: Kind,
    /// Whether it may be given more than once.
    pub repeatable: bool,
    /// The value in force when the flag is absent, as a user would type it.
    ///
    /// It is parsed like a typed value, so the default that `--help` shows is the one that applies.
    pub default: Option<&'static str>,
    /// The flag without which this one is of no use.
    pub needs: Option<&'static str>,
    /// What it does, as sentences.
    pub about: &'static str,
}

/// What a flag's value must be.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Kind {
    /// There is none: the flag is given or not.
    Switch,
    /// A file or directory; a leading `~` becomes the home directory. It need not be UTF-8.
    Path,
    /// Text in UTF-8, not empty.
    Text,
    /// A whole number within bounds, ends included.
    Number {
        /// The smallest value accepted.
        min: u64,
        /// The largest value accepted.
        max: u64,
    },
    /// Seconds, with a fraction if wanted.
    Seconds {
        /// The largest value accepted; the smallest is 0.
        max: u32,
    },
    /// A number of bytes, plain or with the suffix `KiB`, `MiB` or `GiB`.
    Bytes {
        /// The smallest value accepted; the largest is what memory can address.
        min: usize,
    },
    /// An IP address and a port; `:PORT` and `localhost:PORT` are 127.0.0.1's.
    Address,
    /// A name and another, with `=` between them; neither is empty.
    Pair,
    /// One of some words.
    Choice(&'static [&'static str]),
}

/// One example of a command line, for `--help`.
#[derive(Debug)]
pub struct Example {
    /// What it is for, a short phrase.
    pub about: &'static str,
    /// What follows the program's name.
    pub arguments: &'static str,
}
