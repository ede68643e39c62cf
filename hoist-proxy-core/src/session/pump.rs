//! The session's loop: reads each side while its way out has room, hands lines to the layers,
//! writes what is ready, and ends in order.

use std::collections::VecDeque;
use std::pin::Pin;

use std::task::{Context, Poll};
use std::time::Duration;

use futures::future::BoxFuture;
use futures::stream::{FuturesUnordered, StreamExt};
use tokio::time::{Instant, Sleep};

use super::core::{Core, Leaving};
use super::read::{Exchanges, Work};
use super::sides::{Inlet, Outlet, peer_left};
use crate::{
    Aside, Body, Closing, Connection, Crossing, Direction, Ended, Frame, Framing, Part, Side,
};

/// How many pieces are read from one side before the other has its turn.
const BURST: usize = 128;
/// The longest line that a passive session with an observer waits for before it passes it on.
const CUT_THROUGH_BYTES: usize = 64 * 1024;
/// What a session is run with.
pub(crate) struct SessionSettings {
    /// How long the end of a session waits for layers that hold, and, after a shutdown, for a host
    /// that does not read.
    pub(crate) end_grace: Duration,
    /// Ready when the session should end.
    pub(crate) shutdown: BoxFuture<'static, ()>,
}

/// Runs a session to its end.
pub(crate) async fn run(
    core: &Core,
    host: Connection,
    server: Connection,
    settings: SessionSettings,
) -> Ended {
    let Connection { reader, writer, .. } = host;
    let host_half = (Inlet::new(reader), Outlet::new(Direction::ToHost, writer));
    let Connection { reader, writer, ended, .. } = server;
    let server_half = (Inlet::new(reader), Outlet::new(Direction::ToServer, writer));
    let mut pump = Pump::new(core, host_half, server_half, settings);
    std::future::poll_fn(|cx| pump.poll(cx)).await;
    let Pump { mut to_server, mut to_host, exchanges, work, .. } = pump;
    drop((work, exchanges));
    // The server has closed its output, so nothing more can come of it.
    std::future::poll_fn(|cx| to_server.poll_close(cx, Closing::Urgent)).await;
    std::future::poll_fn(|cx| to_host.poll_close(cx, Closing::Urgent)).await;
    match ended {
        Some(ended) => ended.await,
        None => Ended::default(),
    }
}

/// A session at work.
struct Pump<'a> {
    core: &'a Core,
    from_host: Inlet,
    to_host: Outlet,
    from_server: Inlet,
    to_server: Outlet,
    exchanges: Exchanges<'a>,
    work: FuturesUnordered<Work<'a>>,
    spare_outbox: VecDeque<Leaving>,
    /// Empty once the session should end. A set, so that it is polled only when it was woken, not
    /// for every line.
    shutdown: FuturesUnordered<BoxFuture<'static, ()>>,
    /// The host's input is over and it reads nothing any more.
    host_gone: bool,
    end_grace: Duration,
    /// When the session stops waiting, once it has begun to end.
    deadline: Option<Pin<Box<Sleep>>>,
}

impl<'a> Pump<'a> {
    fn new(
        core: &'a Core,
        (from_host, to_host): (Inlet, Outlet),
        (from_server, to_server): (Inlet, Outlet),
        settings: SessionSettings,
    ) -> Self {
        Self {
            core,
            from_host,
            to_host,
            from_server,
            to_server,
            exchanges: Exchanges::new(core),
            work: FuturesUnordered::new(),
            spare_outbox: VecDeque::new(),
            shutdown: FuturesUnordered::from_iter([settings.shutdown]),
            host_gone: false,
            end_grace: settings.end_grace,
            deadline: None,
        }
    }

    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        self.from_host.dry = false;
        self.from_server.dry = false;
        self.poll_shutdown(cx);
        if self.is_shut_down() && self.is_late(cx) && !self.to_host.has_room(cx) {
            // A host that does not read would keep the server's last lines, and with them its end,
            // from being read.
            self.to_host.dead = true;
        }
        loop {
            let mut progress = self.drain(cx);
            progress |= self.read(cx, Direction::ToServer);
            progress |= self.read(cx, Direction::ToHost);
            progress |= self.close_server(cx);
            progress |= self.admit_own(cx);
            self.to_server.flush(cx);
            self.to_host.flush(cx);
            if !progress {
                break;
            }
        }
        self.poll_end(cx)
    }

    fn poll_shutdown(&mut self, cx: &mut Context<'_>) {
        if let Poll::Ready(Some(())) = self.shutdown.poll_next_unpin(cx) {
            self.host_input_over();
            self.start_deadline();
        }
    }

    fn is_shut_down(&self) -> bool {
        self.shutdown.is_empty()
    }

    fn start_deadline(&mut self) {
        let grace = self.end_grace;
        self.deadline.get_or_insert_with(|| Box::pin(tokio::time::sleep(grace)));
    }

    fn is_late(&mut self, cx: &mut Context<'_>) -> bool {
        self.deadline.as_mut().is_some_and(|d| d.as_mut().poll(cx).is_ready())
    }

    /// Polls the exchanges that can go on, and moves what came of them towards the wires.
    fn drain(&mut self, cx: &mut Context<'_>) -> bool {
        if !self.core.acting && self.work.is_empty() {
            return self.move_outbox();
        }
        let mut progress = false;
        // The set gives up early when exchanges wake themselves. Those queued behind them must
        // have their turn before the next line is read, so it is asked again until each had one.
        let mut turns = None;
        loop {
            for work in self.exchanges.started() {
                self.work.push(work);
            }
            let before = self.core.polls();
            match self.work.poll_next_unpin(cx) {
                Poll::Ready(Some(Some(done))) => self.exchanges.finish(done),
                Poll::Ready(Some(None)) => {}
                Poll::Ready(None) => break,
                Poll::Pending => {
                    let polled = self.core.polls() - before;
                    let left = turns.unwrap_or(self.work.len());
                    if polled == 0 || polled >= left {
                        break;
                    }
                    turns = Some(left - polled);
                    continue;
                }
            }
            progress = true;
        }
        self.move_outbox() || progress
    }

    fn move_outbox(&mut self) -> bool {
        if !self.core.acting {
            // Nothing but refusals of over-long lines is ever sent in a passive session.
            if self.core.state().outbox.is_empty() {
                return false;
            }
        }
        // Two queues take turns, so that neither is allocated anew for each line.
        let mut lines = std::mem::take(&mut self.spare_outbox);
        std::mem::swap(&mut lines, &mut self.core.state().outbox);
        let moved = !lines.is_empty();
        for Leaving { direction, line, own } in lines.drain(..) {
            let outlet = self.outlet(direction);
            if own { outlet.send(line) } else { outlet.overdraw(line) }
        }
        self.spare_outbox = lines;
        moved
    }

    /// Lets requests of the proxy's own go on that waited for room.
    fn admit_own(&mut self, cx: &mut Context<'_>) -> bool {
        if !self.core.acting {
            return false;
        }
        let mut progress = false;
        for direction in [Direction::ToServer, Direction::ToHost] {
            if self.core.has_unwritten(direction) && self.outlet(direction).has_room(cx) {
                progress |= self.core.all_written(direction);
            }
        }
        progress
    }

    fn outlet(&mut self, direction: Direction) -> &mut Outlet {
        match direction {
            Direction::ToServer => &mut self.to_server,
            Direction::ToHost => &mut self.to_host,
        }
    }

    fn inlet(&mut self, direction: Direction) -> &mut Inlet {
        match direction {
            Direction::ToServer => &mut self.from_host,
            Direction::ToHost => &mut self.from_server,
        }
    }

    fn framing(&self, direction: Direction) -> Framing {
        let outlet = match direction {
            Direction::ToServer => &self.to_server,
            Direction::ToHost => &self.to_host,
        };
        if self.core.acting || !outlet.writer.accepts_parts() {
            Framing::Whole { max_bytes: self.core.limits.max_message_bytes }
        } else if self.core.observing {
            // What is longer than the limit is not kept, so it need not be waited for either.
            let whole_bytes = CUT_THROUGH_BYTES.min(self.core.limits.max_message_bytes);
            Framing::CutThrough { whole_bytes }
        } else {
            Framing::Raw
        }
    }

    /// Reads one side while its way out has room.
    fn read(&mut self, cx: &mut Context<'_>, direction: Direction) -> bool {
        let inlet = self.inlet(direction);
        if !inlet.open || inlet.dry {
            return false;
        }
        let framing = self.framing(direction);
        let mut progress = false;
        for _ in 0..BURST {
            let back = direction.reverse();
            if !self.outlet(direction).has_room(cx) || self.outlet(back).is_overdrawn(cx) {
                break;
            }
            let frame = match self.inlet(direction).reader.poll_frame(cx, framing) {
                Poll::Pending => {
                    self.inlet(direction).dry = true;
                    break;
                }
                Poll::Ready(None) => {
                    self.input_over(direction);
                    return true;
                }
                Poll::Ready(Some(Err(error))) => {
                    let sender = direction.reverse().receiver();
                    if !peer_left(&error) {
                        tracing::warn!(
                            "nothing more comes from the {sender}: reading failed: {error}"
                        );
                    }
                    self.input_over(direction);
                    return true;
                }
                Poll::Ready(Some(Ok(frame))) => frame,
            };
            progress = true;
            self.frame(direction, frame);
            if self.core.acting {
                self.drain(cx);
                while self.exchanges.next_element() {
                    self.drain(cx);
                }
            }
        }
        progress
    }

    fn frame(&mut self, direction: Direction, frame: Frame) {
        let now = if self.core.observing { Instant::now() } else { self.exchanges.epoch };
        match frame {
            Frame::Line(line) if self.core.acting => self.exchanges.line(direction, &line, now),
            Frame::Line(line) => {
                if self.core.observing {
                    self.core.observe(&Crossing::new(side(direction), &line, now));
                }
                self.outlet(direction).send(line);
            }
            Frame::Part(part) => self.part(direction, part, now),
            Frame::Aside(Aside::Said(line)) => {
                self.core.observe_own(crate::exchange::ENGINE, &line);
            }
            Frame::Aside(Aside::Heard(line)) => {
                self.core.observe(&Crossing::new(side(direction), &line, now));
            }
            Frame::TooLong(too_long) => {
                self.exchanges.too_long(direction, &too_long, now);
                self.move_outbox();
            }
        }
    }

    /// A part of a line in a passive session. Observers see the line once its last part was read,
    /// before that part leaves: so a request is still seen before its response.
    fn part(&mut self, direction: Direction, part: Part, now: Instant) {
        if self.core.observing {
            let max_bytes = self.core.limits.max_message_bytes;
            let partial = &mut self.inlet(direction).partial;
            partial.push(&part.bytes, max_bytes);
            if part.last {
                let mut partial = std::mem::take(partial);
                let terminator = partial.cut_terminator();
                let body = if partial.lost {
                    Body::Lost { len_bytes: partial.len_bytes }
                } else {
                    Body::Parts { chunks: &partial.chunks, terminator }
                };
                let crossing = Crossing {
                    side: side(direction),
                    made_by: None,
                    read_at: now,
                    body,
                    message: None,
                };
                self.core.observe(&crossing);
            }
        }
        self.outlet(direction).send_part(part);
    }

    fn input_over(&mut self, direction: Direction) {
        match direction {
            Direction::ToServer => self.host_input_over(),
            Direction::ToHost => {
                self.from_server.open = false;
                self.exchanges.closed(Direction::ToServer);
                self.start_deadline();
            }
        }
    }

    fn host_input_over(&mut self) {
        self.from_host.open = false;
        self.exchanges.closed(Direction::ToHost);
    }

    /// Closes the server's input once the host's is over and nothing is held; at once when the
    /// proxy should end, or nobody is left to answer.
    fn close_server(&mut self, cx: &mut Context<'_>) -> bool {
        if self.from_host.open || !self.from_server.open {
            return false;
        }
        if !self.host_gone && (self.to_host.dead || self.to_host.writer.poll_gone(cx).is_ready()) {
            self.host_gone = true;
            self.to_host.dead = true;
            self.exchanges.cancel_all();
            return true;
        }
        let closing = if self.host_gone || self.is_shut_down() {
            Closing::Urgent
        } else if self.core.held() == 0 {
            Closing::Gentle
        } else {
            return false;
        };
        if self.to_server.closed.is_none() || closing == Closing::Urgent {
            let before = self.to_server.closed;
            if self.to_server.poll_close(cx, closing).is_ready() && before != self.to_server.closed
            {
                self.exchanges.server_input_closed();
                return true;
            }
        }
        false
    }

    /// Whether the session is over: the server's output is, and the host has what is left of it.
    fn poll_end(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        if self.from_server.open {
            return Poll::Pending;
        }
        let late = self.is_late(cx);
        if !self.work.is_empty() && !late {
            return Poll::Pending;
        }
        if !self.work.is_empty() {
            self.exchanges.cancel_all();
            self.work.clear();
            self.move_outbox();
        }
        self.to_host.flush(cx);
        // A host that still reads is waited for, however slow; after a shutdown not for ever.
        let unwritten = self.to_host.dirty && !self.to_host.dead;
        if unwritten
            && !(late && self.is_shut_down())
            && self.to_host.writer.poll_gone(cx).is_pending()
        {
            return Poll::Pending;
        }
        Poll::Ready(())
    }
}

fn side(direction: Direction) -> Side {
    match direction {
        Direction::ToServer => Side::Client,
        Direction::ToHost => Side::Server,
    }
}
