use std::sync::Arc;
use std::time::Duration;

use super::pipe::Pipe;
use crate::Line;

/// How long a scripted peer waits for what it expects. With tokio's paused clock this takes no
/// time.
const PATIENCE: Duration = Duration::from_secs(10);

/// The far end of an in-memory connection, played by a test: a host or a server.
#[derive(Debug)]
pub struct Peer {
    name: &'static str,
    to_proxy: Arc<Pipe>,
    from_proxy: Arc<Pipe>,
}

impl Peer {
    pub(super) fn new(name: &'static str, to_proxy: Arc<Pipe>, from_proxy: Arc<Pipe>) -> Self {
        Self { name, to_proxy, from_proxy }
    }

    /// Sends a line with this body, ended by a line feed.
    ///
    /// # Panics
    ///
    /// When the peer has closed, or the proxy does not take the line.
    pub async fn send(&mut self, body: &str) {
        self.send_line(Line::from_wire(format!("{body}\n"))).await;
    }

    /// Sends a line as it is.
    ///
    /// # Panics
    ///
    /// When the peer has closed, or the proxy does not take the line.
    pub async fn send_line(&mut self, line: Line) {
        let room = std::future::poll_fn(|cx| self.to_proxy.poll_room(cx));
        let Ok(room) = tokio::time::timeout(PATIENCE, room).await else {
            panic!("the proxy does not read from the {}", self.name);
        };
        assert!(room.is_ok(), "the proxy reads no more from the {}", self.name);
        self.to_proxy.write(line);
    }

    /// Tries to send a line at once; false when the proxy has no room for it.
    pub fn try_send(&mut self, body: &str) -> bool {
        let room = self.to_proxy.has_room();
        if room {
            self.to_proxy.write(Line::from_wire(format!("{body}\n")));
        }
        room
    }

    /// The next line from the proxy; `None` at the end.
    ///
    /// # Panics
    ///
    /// When nothing comes.
    pub async fn receive_line(&mut self) -> Option<Line> {
        let read = std::future::poll_fn(|cx| self.from_proxy.poll_read(cx));
        let Ok(line) = tokio::time::timeout(PATIENCE, read).await else {
            panic!("the {} was sent nothing", self.name);
        };
        line
    }

    /// The body of the next line from the proxy, when one has come already.
    pub fn try_receive(&mut self) -> Option<String> {
        let line = self.from_proxy.try_read()?;
        Some(String::from_utf8_lossy(line.body()).into_owned())
    }

    /// The body of the next line from the proxy.
    ///
    /// # Panics
    ///
    /// When nothing comes, or the connection ends.
    #[track_caller]
    pub fn receive(&mut self) -> impl Future<Output = String> + '_ {
        let at = std::panic::Location::caller();
        async move {
            match self.receive_line().await {
                Some(line) => String::from_utf8_lossy(line.body()).into_owned(),
                None => panic!("the {}'s connection ended ({at})", self.name),
            }
        }
    }

    /// Checks that the next line has exactly this body.
    ///
    /// # Panics
    ///
    /// When another line comes, nothing comes, or the connection ends.
    #[track_caller]
    pub fn expect<'a>(&'a mut self, body: &'a str) -> impl Future<Output = ()> + 'a {
        let at = std::panic::Location::caller();
        async move {
            let got = self.receive().await;
            assert_eq!(got, body, "what the {} was sent ({at})", self.name);
        }
    }

    /// Checks that no line is on its way: lets every other task run until all of them wait, and
    /// looks.
    ///
    /// # Panics
    ///
    /// When a line has come.
    #[track_caller]
    pub fn expect_nothing(&mut self) -> impl Future<Output = ()> + '_ {
        let at = std::panic::Location::caller();
        async move {
            settle().await;
            if let Some(line) = self.from_proxy.try_read() {
                panic!("the {} was sent {line:?} ({at})", self.name);
            }
        }
    }

    /// Checks that the connection ends without another line.
    ///
    /// # Panics
    ///
    /// When a line comes, or the connection stays open.
    #[track_caller]
    pub fn expect_end(&mut self) -> impl Future<Output = ()> + '_ {
        let at = std::panic::Location::caller();
        async move {
            let got = self.receive_line().await;
            assert_eq!(got, None, "the {}'s connection should end ({at})", self.name);
        }
    }

    /// Ends what the peer sends, as closing a pipe does. What it is sent can still be received.
    pub fn close(&mut self) {
        self.to_proxy.close_writer();
    }

    /// Stops reading, as a process does that closes its end of a pipe.
    pub fn stop_reading(&mut self) {
        self.from_proxy.close_reader();
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        self.to_proxy.close_writer();
        self.from_proxy.close_reader();
    }
}

/// Lets every other task of a current-thread runtime run until all of them wait.
async fn settle() {
    for _ in 0..64 {
        tokio::task::yield_now().await;
    }
}
