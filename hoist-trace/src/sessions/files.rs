//! The files that paths name, each as what it is.

use std::collections::VecDeque;
use std::io::{self, BufRead, Read};
use std::path::PathBuf;

use super::open::{self, Opened, Outcome, RUNS_FOLDER};
use super::runs_file::{Input, RunsFile};
use super::walk::{Candidate, Walk};
use super::{Found, ReadError};
use crate::log::{LogError, LogReader};
use crate::runs::{Ids, Info};

/// What a file holds.
#[derive(Debug)]
#[non_exhaustive]
pub enum Item {
    /// A session log, its header read.
    Log(Box<OpenLog>),
    /// A run, of a file that may hold several.
    Run(Box<Found>),
}

/// A log that was opened.
#[derive(Debug)]
#[non_exhaustive]
pub struct OpenLog {
    /// The file.
    pub path: PathBuf,
    /// What reads it.
    pub reader: LogReader<LogInput>,
    /// Whether it was named, and not met in a directory.
    pub named: bool,
}

/// What a log is read from: a file, a pipe, memory.
#[derive(Debug)]
pub struct LogInput(pub(super) Box<dyn Input>);

impl Read for LogInput {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.0.read(into)
    }
}

impl BufRead for LogInput {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.0.fill_buf()
    }

    fn consume(&mut self, amount: usize) {
        self.0.consume(amount);
    }
}

/// Finds files as [`Sessions`](super::Sessions) does, and leaves it to the caller to read the logs
/// among them.
#[derive(Debug)]
pub struct Files {
    walk: Walk,
    /// What was found already.
    ready: VecDeque<Result<Item, ReadError>>,
    file: Option<(PathBuf, RunsFile)>,
    folder: Option<Folder>,
}

/// The files of a results folder that are not read yet.
#[derive(Debug)]
struct Folder {
    files: VecDeque<PathBuf>,
    info: Info,
    ids: Ids,
}

impl Files {
    /// What these files and directories hold.
    pub fn of(paths: impl IntoIterator<Item = impl Into<PathBuf>>) -> Self {
        let walk = Walk::new(paths.into_iter().map(Into::into).collect());
        Self { walk, ready: VecDeque::new(), file: None, folder: None }
    }

    /// What one input holds; see [`Sessions::read_from`](super::Sessions::read_from).
    pub fn read_from(input: impl Read + Send + 'static, path: impl Into<PathBuf>) -> Self {
        let mut files = Self::of(std::iter::empty::<PathBuf>());
        let candidate = Candidate { path: path.into(), named: true };
        match open::open_stream(input, &candidate.path) {
            // It does not tell where they are.
            Ok((Opened::Folder(folder), _)) => {
                // One that is cut short may have had runs.
                let is_cut =
                    folder.problems.iter().any(|error| matches!(error, ReadError::Broken { .. }));
                files.ready.extend(folder.problems.into_iter().map(Err));
                if !is_cut {
                    let path = candidate.path;
                    files.ready.push_back(Err(ReadError::RunsElsewhere { path }));
                }
            }
            opened => files.take_opened(candidate, opened),
        }
        files
    }

    /// Takes a file that was opened, or was not.
    fn take_opened(&mut self, candidate: Candidate, opened: Outcome) {
        let Candidate { path, named } = candidate;
        let (opened, problems) = match opened {
            Ok(opened) => opened,
            // Somebody's marker, or the like.
            Err(ReadError::Log(LogError::Empty { .. }))
                if !named && !open::is_named_as_log(&path) =>
            {
                return;
            }
            Err(error) => return self.ready.push_back(Err(error)),
        };
        self.ready.extend(problems.into_iter().map(Err));
        match opened {
            Opened::Log(reader) => {
                self.ready.push_back(Ok(Item::Log(Box::new(OpenLog { path, reader, named }))));
            }
            Opened::Runs(file) => self.file = Some((path, file)),
            Opened::Folder(mut folder) => {
                // Whoever walks over them as well must not read them again.
                self.walk.pass_over(path.with_file_name(RUNS_FOLDER));
                let files = open::runs_of_folder(&path, &mut folder);
                self.ready.extend(folder.problems.into_iter().map(Err));
                match files {
                    Ok(files) => {
                        let (info, ids) = (folder.info, Ids::default());
                        self.folder = Some(Folder { files: files.into(), info, ids });
                    }
                    Err(error) => self.ready.push_back(Err(error)),
                }
            }
            Opened::Unknown if named => self.ready.push_back(Err(ReadError::Unknown { path })),
            Opened::Unknown => {}
        }
    }
}

impl Iterator for Files {
    type Item = Result<Item, ReadError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(item) = self.ready.pop_front() {
                return Some(item);
            }
            if let Some((path, file)) = &mut self.file {
                match file.next() {
                    Some(Ok(placed)) => {
                        let mut found = Found::of_run(path, placed);
                        if let Some(folder) = &mut self.folder {
                            folder.ids.make_unique(&mut found.episode);
                        }
                        return Some(Ok(Item::Run(Box::new(found))));
                    }
                    Some(Err(error)) => return Some(Err(error)),
                    None => self.file = None,
                }
                continue;
            }
            if let Some(folder) = &mut self.folder {
                let Some(path) = folder.files.pop_front() else {
                    self.folder = None;
                    continue;
                };
                match open::open_run(&path, folder.info.clone()) {
                    Ok(file) => self.file = Some((path, file)),
                    Err(error) => return Some(Err(error)),
                }
                continue;
            }
            match self.walk.next()? {
                Ok(candidate) => {
                    let opened = open::open(&candidate.path);
                    self.take_opened(candidate, opened);
                }
                Err(error) => return Some(Err(error)),
            }
        }
    }
}
