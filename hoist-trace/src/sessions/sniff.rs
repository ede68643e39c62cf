//! Telling what a file is, by what stands in it.

use std::io::BufRead;

use super::scan::{Fault, Kept, Place, Scanner};
use crate::runs::Members;

/// What a file is.
#[derive(Debug)]
pub(super) enum Layout {
    /// A session log, good or not.
    Log,
    /// A results file: runs in a list that begins at this place.
    Results { simulations: Place, info: Option<Found> },
    /// A results file whose runs are files of their own.
    ResultsFolder { info: Option<Found>, index: Option<Found>, fault: Option<Fault> },
    /// Runs, alone, one after another or in lists.
    Runs,
    /// None of these.
    Unknown,
    /// It has no byte in it.
    Empty,
}

/// A value that was kept, and where it stands.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) json: Vec<u8>,
    pub(super) place: Place,
}

/// The longest `info` or `simulation_index` that is kept, in bytes.
const MAX_KEPT_BYTES: usize = 64 << 20;

/// How many elements of a list are looked at: the first ones may be damaged.
const MAX_ELEMENTS: usize = 16;

/// What stands at the start of every log that the recorder writes.
const LOG_START: &[u8] = b"{\"hoist_mcp_log\"";

/// Whether a file that starts so is a log, without looking any further.
pub(super) fn starts_as_log(start: &[u8]) -> bool {
    start.starts_with(LOG_START)
}

/// Tells what the text is.
pub(super) fn sniff<R: BufRead>(scanner: &mut Scanner<R>) -> Result<Layout, std::io::Error> {
    let found = match scanner.peek() {
        Ok(None) if scanner.place() == Place::START => return Ok(Layout::Empty),
        Ok(Some(b'{')) => of_object(scanner),
        Ok(Some(b'[')) => of_list(scanner),
        Ok(_) => Ok(Layout::Unknown),
        Err(fault) => Err(fault),
    };
    match found {
        Ok(layout) => Ok(layout),
        Err(Fault::Io(error)) => Err(error),
        Err(_) => Ok(Layout::Unknown),
    }
}

/// What was found of an object.
#[derive(Debug, Default)]
struct Object {
    members: Members,
    simulations: Option<Place>,
    info: Option<Found>,
    index: Option<Found>,
}

fn of_object<R: BufRead>(scanner: &mut Scanner<R>) -> Result<Layout, Fault> {
    let mut object = Object::default();
    let read = object.read(scanner);
    let fault = match read {
        Err(Fault::Io(error)) => return Err(Fault::Io(error)),
        Err(fault) => Some(fault),
        Ok(()) => None,
    };
    let Object { members, simulations, info, index } = object;
    Ok(if members.has(&["hoist_mcp_log"]) {
        Layout::Log
    } else if let Some(simulations) = simulations {
        Layout::Results { simulations, info }
    } else if members.format().is_some() {
        Layout::Runs
    } else if members.has(&["simulations"]) || (members.has(&["info"]) && members.has(&["tasks"])) {
        Layout::ResultsFolder { info, index, fault }
    } else {
        Layout::Unknown
    })
}

impl Object {
    /// Reads as much as tells what it is.
    fn read<R: BufRead>(&mut self, scanner: &mut Scanner<R>) -> Result<(), Fault> {
        let mut key = Vec::new();
        scanner.take();
        let mut next = scanner.peek_inside()?;
        while next != b'}' {
            scanner.key(&mut key)?;
            let name = name(&key);
            self.members.note(name);
            match name {
                b"hoist_mcp_log" => return Ok(()),
                b"simulations" => {
                    if scanner.peek_inside()? == b'[' && self.simulations.is_none() {
                        self.simulations = Some(scanner.place());
                        // Else it may stand behind them.
                        if self.info.is_some() {
                            return Ok(());
                        }
                    }
                    scanner.value(None)?;
                }
                b"info" => {
                    self.info = keep(scanner)?;
                    if self.simulations.is_some() {
                        return Ok(());
                    }
                }
                b"simulation_index" => self.index = keep(scanner)?,
                _ => drop(scanner.value(None)?),
            }
            next = after_value(scanner, b'}')?;
        }
        Ok(())
    }
}

fn of_list<R: BufRead>(scanner: &mut Scanner<R>) -> Result<Layout, Fault> {
    let mut key = Vec::new();
    scanner.take();
    let mut next = scanner.peek_inside()?;
    for _ in 0..MAX_ELEMENTS {
        match next {
            b']' => break,
            b'{' => {
                let mut members = Members::default();
                let read = members_of(scanner, &mut members, &mut key);
                if members.format().is_some() {
                    return Ok(Layout::Runs);
                }
                read?;
            }
            _ => drop(scanner.value(None)?),
        }
        next = after_value(scanner, b']')?;
    }
    Ok(Layout::Unknown)
}

/// Notes the members of an object, up to where they tell what it is.
fn members_of<R: BufRead>(
    scanner: &mut Scanner<R>,
    members: &mut Members,
    key: &mut Vec<u8>,
) -> Result<(), Fault> {
    scanner.take();
    let mut next = scanner.peek_inside()?;
    while next != b'}' {
        scanner.key(key)?;
        members.note(name(key));
        if members.format().is_some() {
            return Ok(());
        }
        scanner.value(None)?;
        next = after_value(scanner, b'}')?;
    }
    scanner.take();
    Ok(())
}

/// Goes over the comma behind a value; the next byte, which is the closing bracket at the end.
pub(super) fn after_value<R: BufRead>(scanner: &mut Scanner<R>, close: u8) -> Result<u8, Fault> {
    match scanner.peek_inside()? {
        b',' => {
            scanner.take();
            match scanner.peek_inside()? {
                next if next == close => Err(Fault::Syntax("a comma stands before the end")),
                next => Ok(next),
            }
        }
        next if next == close => Ok(next),
        _ => Err(Fault::Syntax("a comma was expected")),
    }
}

fn keep<R: BufRead>(scanner: &mut Scanner<R>) -> Result<Option<Found>, Fault> {
    scanner.peek_inside()?;
    let place = scanner.place();
    let mut json = Vec::new();
    let kept = scanner.value(Some((&mut json, MAX_KEPT_BYTES)))?;
    Ok((kept == Kept::Whole).then_some(Found { json, place }))
}

/// A member's name without its quotes. The names that count have no escapes in them as anybody
/// writes them.
fn name(key: &[u8]) -> &[u8] {
    key.strip_prefix(b"\"").and_then(|key| key.strip_suffix(b"\"")).unwrap_or(key)
}
