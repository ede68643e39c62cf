//! The sessions that there are.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use hoist_proxy_core::{Connection, Era, Host, SessionId};
use tokio::sync::{Notify, mpsc};
use tokio::time::{Instant, timeout_at};

use super::groups::{Asked, Groups, Kind};
use super::session::Session;

/// How long a modern host's run is taken to go on once its last stream of notifications closed.
const RUN_ENDS_AFTER: Duration = Duration::from_secs(60);

/// How long a host waits at most for the room that another's run makes. Then it is refused.
const ROOM_PATIENCE: Duration = Duration::from_secs(10);

/// How long a legacy session must have been quiet to make room for another host's.
const LEFT_AFTER: Duration = Duration::from_secs(600);

/// Why a session cannot be had.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NoSession {
    /// There are as many as there may be.
    TooMany,
    /// The proxy ends.
    Ending,
}

pub(super) struct Sessions {
    table: Mutex<Table>,
    /// Told whenever the engine lets go of one.
    let_go: Notify,
    hosts: mpsc::Sender<Connection>,
    /// How many there may be at once.
    max: usize,
    idle: Duration,
}

struct Table {
    sessions: HashMap<u64, Entry>,
    by_id: HashMap<String, u64>,
    groups: Groups,
    /// How many the engine has not let go of, ended or not.
    running: usize,
    last: u64,
}

struct Entry {
    session: Arc<Session>,
    /// The `Mcp-Session-Id` of a legacy session.
    id: Option<String>,
    /// Whether it ends with its host's run.
    is_run: bool,
    /// How many streams of notifications were opened.
    listened: u64,
}

impl Sessions {
    /// `hosts` is told of each new session.
    pub(super) fn new(
        hosts: mpsc::Sender<Connection>,
        max: usize,
        idle: Duration,
        has_token: bool,
    ) -> Self {
        let table = Table {
            sessions: HashMap::new(),
            by_id: HashMap::new(),
            groups: Groups::new(has_token),
            running: 0,
            last: 0,
        };
        Self { table: Mutex::new(table), let_go: Notify::new(), hosts, max, idle }
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        // Nothing panics while it is held.
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What `open` gives, once there is room: a session that nobody may come back to makes it, where
    /// there is none.
    pub(super) async fn with_room<T>(
        &self,
        open: impl Fn() -> Result<T, NoSession>,
    ) -> Result<T, NoSession> {
        let end = Instant::now() + ROOM_PATIENCE;
        let mut opened = open();
        if opened.as_ref().err() == Some(&NoSession::TooMany)
            && self.table().end_quietest(Instant::now())
        {
            // Nothing more ends for this host's sake, whoever gets the room.
            while opened.as_ref().err() == Some(&NoSession::TooMany)
                && timeout_at(end, self.let_go.notified()).await.is_ok()
            {
                opened = open();
            }
        }
        opened
    }

    /// A new legacy session of this id.
    pub(super) fn open_legacy(
        self: &Arc<Self>,
        id: String,
        host: Host,
    ) -> Result<Arc<Session>, NoSession> {
        let mut table = self.table();
        let session = self.open(&mut table, Era::Legacy, host, false)?;
        if let Some(entry) = table.sessions.get_mut(&session.number) {
            entry.id = Some(id.clone());
        }
        table.by_id.insert(id, session.number);
        Ok(session)
    }

    /// The legacy session of this id.
    pub(super) fn legacy(&self, id: &str) -> Option<Arc<Session>> {
        let table = self.table();
        let entry = table.sessions.get(table.by_id.get(id)?)?;
        entry.session.is_open().then(|| Arc::clone(&entry.session))
    }

    /// The session that a modern request belongs to, which may be new.
    pub(super) fn modern(self: &Arc<Self>, asked: &Asked) -> Result<Arc<Session>, NoSession> {
        let mut table = self.table();
        while let Some(number) = table.groups.find(asked) {
            match table.sessions.get(&number) {
                Some(entry) if entry.session.is_open() => return Ok(Arc::clone(&entry.session)),
                _ => table.groups.remove(number),
            }
        }
        let kind = table.groups.kind(asked);
        let name = asked.name.as_ref().or(asked.meta_session.as_ref());
        let host = match (kind, name.and_then(|name| SessionId::new(name).ok())) {
            (Kind::Common, _) => Host::shared(),
            (_, Some(name)) => Host::in_session(name),
            (_, None) => Host::default(),
        };
        let session = self.open(&mut table, Era::Modern, host, kind == Kind::Caller)?;
        table.groups.add(session.number, asked);
        Ok(session)
    }

    /// Notes that a modern request is made in a session.
    pub(super) fn join(&self, session: &Session, asked: &Asked) {
        self.table().groups.join(session.number, asked);
    }

    /// Notes that a stream of notifications is opened in a session, or that the server refused to.
    pub(super) fn listens(&self, session: &Session, it_does: bool) {
        if let Some(entry) = self.table().sessions.get_mut(&session.number) {
            let listened = entry.listened;
            entry.listened = if it_does { listened + 1 } else { listened.saturating_sub(1) };
        }
    }

    fn open(
        self: &Arc<Self>,
        table: &mut Table,
        era: Era,
        host: Host,
        is_run: bool,
    ) -> Result<Arc<Session>, NoSession> {
        if table.running >= self.max {
            return Err(NoSession::TooMany);
        }
        let place = self.hosts.try_reserve().map_err(|_| NoSession::Ending)?;
        let number = table.last + 1;
        let session = Session::new(number, era);
        let sessions = Arc::downgrade(self);
        let connection = session.connection(host, move || {
            if let Some(sessions) = Weak::upgrade(&sessions) {
                sessions.let_go(number);
            }
        });
        place.send(connection);
        table.last = number;
        table.running += 1;
        let entry = Entry { session: Arc::clone(&session), id: None, is_run, listened: 0 };
        table.sessions.insert(number, entry);
        Ok(session)
    }

    /// Ends a session from the host's side. Requests in it find it gone from now on.
    pub(super) fn end(&self, session: &Session) {
        self.table().remove(session.number);
        session.end();
    }

    /// The engine is done with a session.
    fn let_go(&self, number: u64) {
        let mut table = self.table();
        table.running = table.running.saturating_sub(1);
        table.remove(number);
        drop(table);
        self.let_go.notify_one();
    }

    /// What time brings: ends the sessions that nobody uses any more.
    pub(super) fn tick(&self, now: Instant) {
        let all: Vec<(Arc<Session>, Duration)> = {
            let table = self.table();
            let allowed = |entry: &Entry| {
                if entry.is_run && entry.listened > 0 {
                    RUN_ENDS_AFTER.min(self.idle)
                } else {
                    self.idle
                }
            };
            table
                .sessions
                .values()
                .map(|entry| (Arc::clone(&entry.session), allowed(entry)))
                .collect()
        };
        for (session, allowed) in all {
            session.tick(now);
            if session.idle_for(now) >= allowed {
                self.end(&session);
            }
        }
    }
}

impl Table {
    fn remove(&mut self, number: u64) {
        let Some(entry) = self.sessions.remove(&number) else { return };
        if let Some(id) = entry.id {
            self.by_id.remove(&id);
        }
        self.groups.remove(number);
    }

    /// Ends the session that has been quiet for longest, of those whose hosts may have left without
    /// a word: modern runs, and legacy sessions that nobody used for a while. A host that comes back
    /// to one of these is told that it is gone, and begins another. Whether one was ended.
    fn end_quietest(&mut self, now: Instant) -> bool {
        let quiet_enough = |entry: &Entry| {
            if entry.is_run { Duration::from_nanos(1) } else { LEFT_AFTER }
        };
        let quietest = self
            .sessions
            .values()
            .filter(|entry| entry.is_run || entry.id.is_some())
            .map(|entry| (entry.session.idle_for(now), entry))
            .filter(|(idle, entry)| *idle >= quiet_enough(entry))
            .max_by_key(|(idle, entry)| (entry.is_run, *idle))
            .map(|(_, entry)| Arc::clone(&entry.session));
        let Some(session) = quietest else { return false };
        self.remove(session.number);
        session.end();
        true
    }
}
