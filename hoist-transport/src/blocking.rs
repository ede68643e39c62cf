//! Byte streams that can only be read and written by waiting, each on a thread of its own.
//!
//! For files, terminals and whatever else cannot be polled. A thread that waits for a terminal
//! when the session ends is left behind: nothing can wake it, and it holds nothing but its file.

use std::io::{self, Read, Write};
use std::pin::Pin;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::task::{Context, Poll, ready};
use std::thread;

use bytes::{Buf, Bytes};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::mpsc;

/// How much is read or written at once.
const CHUNK_BYTES: usize = 64 * 1024;

/// How many chunks are read ahead.
const READ_AHEAD: usize = 2;

/// Reads on a thread.
#[derive(Debug)]
pub(crate) struct BlockingReader {
    chunks: mpsc::Receiver<io::Result<Bytes>>,
    chunk: Bytes,
}

impl BlockingReader {
    /// Starts a thread that reads `source` to its end.
    pub(crate) fn start(mut source: impl Read + Send + 'static) -> io::Result<Self> {
        let (to, chunks) = mpsc::channel(READ_AHEAD);
        thread::Builder::new().name("hoist-stdin".to_owned()).spawn(move || {
            let mut buffer = vec![0; CHUNK_BYTES];
            loop {
                let chunk = match source.read(&mut buffer) {
                    Ok(0) => return,
                    Ok(read) => Ok(Bytes::copy_from_slice(&buffer[..read])),
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                    Err(error) => Err(error),
                };
                let last = chunk.is_err();
                if to.blocking_send(chunk).is_err() || last {
                    return;
                }
            }
        })?;
        Ok(Self { chunks, chunk: Bytes::new() })
    }
}

impl AsyncRead for BlockingReader {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.chunk.is_empty() {
            match ready!(self.chunks.poll_recv(cx)) {
                None => return Poll::Ready(Ok(())),
                Some(Err(error)) => return Poll::Ready(Err(error)),
                Some(Ok(chunk)) => self.chunk = chunk,
            }
        }
        let taken = self.chunk.len().min(buf.remaining());
        buf.put_slice(&self.chunk[..taken]);
        self.chunk.advance(taken);
        Poll::Ready(Ok(()))
    }
}

/// Writes on a thread, one chunk at a time.
#[derive(Debug)]
pub(crate) struct BlockingWriter {
    /// Never blocks: a chunk is only sent when the one before it was reported.
    chunks: SyncSender<Bytes>,
    written: mpsc::Receiver<io::Result<()>>,
    /// Whether a chunk is with the thread.
    busy: bool,
}

impl BlockingWriter {
    /// Starts a thread that writes to `sink`, and drops it once this writer is dropped.
    pub(crate) fn start(mut sink: impl Write + Send + 'static) -> io::Result<Self> {
        let (chunks, from) = sync_channel::<Bytes>(1);
        let (report, written) = mpsc::channel(1);
        thread::Builder::new().name("hoist-stdout".to_owned()).spawn(move || {
            for chunk in from {
                let result = sink.write_all(&chunk).and_then(|()| sink.flush());
                let failed = result.is_err();
                if report.blocking_send(result).is_err() || failed {
                    return;
                }
            }
        })?;
        Ok(Self { chunks, written, busy: false })
    }

    fn poll_idle(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.busy {
            let report = ready!(self.written.poll_recv(cx));
            self.busy = false;
            return Poll::Ready(report.unwrap_or_else(|| Err(io::ErrorKind::BrokenPipe.into())));
        }
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for BlockingWriter {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        ready!(self.poll_idle(cx))?;
        let chunk = Bytes::copy_from_slice(&buf[..buf.len().min(CHUNK_BYTES)]);
        let len = chunk.len();
        if self.chunks.try_send(chunk).is_err() {
            return Poll::Ready(Err(io::ErrorKind::BrokenPipe.into()));
        }
        self.busy = true;
        Poll::Ready(Ok(len))
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.poll_idle(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.poll_flush(cx)
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Seek, SeekFrom};

    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;

    #[tokio::test]
    async fn what_is_written_on_a_thread_can_be_read_on_one() {
        let mut file = tempfile::tempfile().unwrap();
        let bytes: Vec<u8> = (0..1_000_000u32).map(|n| (n % 251) as u8).collect();
        let mut writer = BlockingWriter::start(file.try_clone().unwrap()).unwrap();
        writer.write_all(&bytes).await.unwrap();
        writer.flush().await.unwrap();
        file.seek(SeekFrom::Start(0)).unwrap();
        let mut read = Vec::new();
        BlockingReader::start(file).unwrap().read_to_end(&mut read).await.unwrap();
        assert_eq!(read, bytes);
    }

    /// Fails at once.
    struct Broken;

    impl Write for Broken {
        fn write(&mut self, _buf: &[u8]) -> io::Result<usize> {
            Err(io::ErrorKind::StorageFull.into())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    impl Read for Broken {
        fn read(&mut self, _buf: &mut [u8]) -> io::Result<usize> {
            Err(io::ErrorKind::NotConnected.into())
        }
    }

    #[tokio::test]
    async fn failures_on_the_thread_are_told() {
        let mut writer = BlockingWriter::start(Broken).unwrap();
        writer.write_all(b"x").await.unwrap();
        assert_eq!(writer.flush().await.unwrap_err().kind(), io::ErrorKind::StorageFull);
        // Whether the thread has ended yet or not.
        let again = async {
            writer.write_all(b"x").await?;
            writer.flush().await
        };
        assert!(again.await.is_err());
        let mut reader = BlockingReader::start(Broken).unwrap();
        let error = reader.read_u8().await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NotConnected);
    }

    #[tokio::test]
    async fn dropping_the_writer_closes_its_file_after_the_last_byte() {
        let (mut reader, sink) = std::io::pipe().unwrap();
        let mut writer = BlockingWriter::start(sink).unwrap();
        writer.write_all(b"last").await.unwrap();
        drop(writer);
        let mut read = String::new();
        reader.read_to_string(&mut read).unwrap();
        assert_eq!(read, "last");
    }
}
