//! The recorder on real files with its real thread.
#![cfg(feature = "recorder")]
#![expect(clippy::unwrap_used, reason = "what helpers of tests meet fails the test")]

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, mpsc};
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use hoist_proxy_core::{
    Body, Crossing, Emit, Finish, Interceptor, Layer, Line, SessionContext, SessionId, Side,
    Terminator,
};
use hoist_trace::log::{Content, Origin};
use hoist_trace::mcp::read_log;
use hoist_trace::{RecordLayer, RecordOptions, Recorder, Report};

fn session() -> SessionContext {
    SessionContext::new(SessionId::at(SystemTime::now(), 4242, None))
}

fn cross(recorder: &dyn Interceptor, session: &SessionContext, side: Side, wire: &[u8]) {
    let line = Line::from_wire(wire.to_vec());
    recorder.observe(&Crossing::new(side, &line, session.started), &mut Emit::new());
}

/// Options that tell when and with what each log was closed.
fn told(options: RecordOptions) -> (RecordOptions, mpsc::Receiver<(PathBuf, Report)>) {
    let (sender, receiver) = mpsc::channel();
    let sender = Mutex::new(sender);
    let options = options.on_close(move |path, report| {
        let _ = sender.lock().unwrap().send((path.to_owned(), *report));
    });
    (options, receiver)
}

fn files(dir: &Path) -> Vec<String> {
    let entries = fs::read_dir(dir).unwrap();
    let mut names: Vec<String> =
        entries.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[tokio::test]
async fn a_session_is_recorded() {
    let temp = tempfile::tempdir().unwrap();
    let dir = temp.path().join("a/logs");
    let opened = Arc::new(Mutex::new(None));
    let seen = Arc::clone(&opened);
    let options = RecordOptions::new(&dir)
        .domain("orders")
        .server_name("o")
        .server_command(["npx", "server", "--token", "s3cr3t"])
        .on_open(move |path| *seen.lock().unwrap() = Some(path.to_owned()));
    let (options, closed) = told(options);
    let layer = RecordLayer::new(options);
    let session = session();
    let recorder = layer.layer(&session).unwrap();
    let path = layer.path_for(&session.id);
    assert_eq!(opened.lock().unwrap().as_ref(), Some(&path));
    assert_eq!(read_log(&path).unwrap().entries, [], "the header is there at once");
    assert!(recorder.acts().is_nothing());

    cross(&*recorder, &session, Side::Client, b"{\"id\": 1.0}\r\n");
    cross(&*recorder, &session, Side::Server, b"hello \xff\n");
    cross(&*recorder, &session, Side::Server, b"\n");
    let line = Line::from_wire("{}\n");
    let at = session.started + Duration::from_millis(1_234);
    let made = Crossing::new(Side::Proxy, &line, at).with_made_by("flow");
    recorder.observe(&made, &mut Emit::new());
    let chunks = [Bytes::from_static(b"[\"a\xc3"), Bytes::from_static(b"\xa9\"]")];
    let parts = Body::Parts { chunks: &chunks, terminator: Terminator::Lf };
    let crossing = Crossing::new(Side::Server, &line, session.started);
    recorder.observe(&crossing.with_body(parts), &mut Emit::new());
    recorder.observe(&crossing.with_body(Body::Lost { len_bytes: 99 }), &mut Emit::new());
    cross(&*recorder, &session, Side::Context, b"null");
    recorder.finish(Finish::Ended).await;

    let log = read_log(&path).unwrap();
    assert_eq!(log.header.session, session.id.as_str());
    assert_eq!(log.header.started_unix_ms, session.started_unix_ms());
    assert_eq!(log.header.server_command, ["npx", "server", "--token", "<redacted>"]);
    let text = fs::read_to_string(&path).unwrap();
    let lines: Vec<&str> = text.lines().skip(1).collect();
    assert_eq!(
        lines,
        [
            r#"{"t_ms":0,"from":"client","message":{"id": 1.0}}"#,
            "{\"t_ms\":0,\"from\":\"server\",\"raw\":\"hello \u{fffd}\"}",
            r#"{"t_ms":0,"from":"server","raw":""}"#,
            r#"{"t_ms":1234,"from":"proxy","by":"flow","message":{}}"#,
            r#"{"t_ms":1234,"from":"server","message":["aé"]}"#,
            r#"{"t_ms":1234,"from":"server","gap":{"lines":1,"bytes":99}}"#,
            r#"{"t_ms":1234,"from":"context","message":null}"#,
        ]
    );
    let (closed_path, report) = closed.recv().unwrap();
    assert_eq!(closed_path, path);
    assert_eq!((report.lines_seen, report.lines_written), (7, 6));
    assert_eq!((report.lines_lost, report.bytes_lost), (1, 99));
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode_of = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(
            (mode_of(&path), mode_of(&dir), mode_of(dir.parent().unwrap())),
            (0o600, 0o700, 0o700)
        );
    }
}

#[tokio::test]
async fn bursts_are_written_whole_and_in_order() {
    let dir = tempfile::tempdir().unwrap();
    let session = session();
    let recorder = Recorder::start(&RecordOptions::new(dir.path()), &session).unwrap();
    for n in 0..20_000 {
        let pad = if n % 1_000 == 0 { 100_000 } else { n % 50 };
        let wire = format!("{{\"n\":{n},\"x\":\"{}\"}}\n", "x".repeat(pad));
        cross(&recorder, &session, Side::Client, wire.as_bytes());
        if n % 5_000 == 0 {
            tokio::task::yield_now().await;
        }
    }
    recorder.finish(Finish::Ended).await;
    let log = read_log(recorder.path()).unwrap();
    assert_eq!(log.entries.len(), 20_000);
    for (n, entry) in log.entries.iter().enumerate() {
        assert!(entry.message().unwrap().starts_with(&format!("{{\"n\":{n},")));
    }
    assert_eq!(recorder.report().lines_lost, 0);
}

#[tokio::test]
async fn what_does_not_fit_the_queue_leaves_a_gap() {
    let dir = tempfile::tempdir().unwrap();
    let session = session();
    let options = RecordOptions::new(dir.path()).queue_max_bytes(20_000);
    let recorder = Recorder::start(&options, &session).unwrap();
    let (count, first) = (5_000, format!("\"{}\"\n", "x".repeat(30_000)));
    cross(&recorder, &session, Side::Server, first.as_bytes());
    for n in 0..count {
        let side = if n % 2 == 0 { Side::Client } else { Side::Server };
        cross(&recorder, &session, side, format!("{{\"n\":{n}}}\n").as_bytes());
    }
    recorder.finish(Finish::Ended).await;
    let report = recorder.report();
    let log = read_log(recorder.path()).unwrap();
    let logged = log.entries.iter().filter(|e| e.message().is_some()).count() as u64;
    assert!(report.lines_lost > 0);
    assert_eq!(count + 1 - logged, report.lines_lost);
    assert_eq!(report.lines_written, logged);
    assert_eq!(
        (log.report.lost_lines, log.report.lost_bytes),
        (report.lines_lost, report.bytes_lost)
    );
    // Longer than the queue, and yet taken, since nothing else waited.
    assert_eq!(log.entries[0].message(), Some(first.trim_end()));
    assert_eq!(log.entries[0].from, Origin::Server);
    // Every gap stands where its lines would have stood.
    let mut next = 0;
    for entry in &log.entries[1..] {
        if let Content::Gap(gap) = &entry.content {
            next += gap.lines;
        } else {
            assert_eq!(entry.message().unwrap(), format!("{{\"n\":{next}}}"));
            next += 1;
        }
    }
    assert_eq!(next, count);
}

#[test]
fn a_line_is_on_disk_though_nothing_follows() {
    let dir = tempfile::tempdir().unwrap();
    let session = session();
    let recorder = Recorder::start(&RecordOptions::new(dir.path()), &session).unwrap();
    for n in 1..=100 {
        cross(&recorder, &session, Side::Client, b"{}\n");
        // Fails by never ending.
        while read_log(recorder.path()).unwrap().entries.len() < n {
            std::thread::yield_now();
        }
    }
}

#[tokio::test]
async fn a_session_that_never_began_leaves_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let layer = RecordLayer::new(RecordOptions::new(dir.path()));
    let recorder = layer.layer(&session()).unwrap();
    assert_eq!(files(dir.path()).len(), 1);
    recorder.finish(Finish::NeverBegan).await;
    assert!(files(dir.path()).is_empty());
}

#[test]
fn a_dropped_recorder_keeps_what_it_saw_and_removes_what_is_empty() {
    let dir = tempfile::tempdir().unwrap();
    let (options, closed) = told(RecordOptions::new(dir.path()));
    let layer = RecordLayer::new(options);
    let session = session();
    drop(layer.layer(&session).unwrap());
    let (path, _) = closed.recv().unwrap();
    assert!(!path.exists());

    let recorder = layer.layer(&session).unwrap();
    cross(&*recorder, &session, Side::Client, b"{}\n");
    drop(recorder);
    let (path, report) = closed.recv().unwrap();
    assert_eq!(read_log(&path).unwrap().entries.len(), 1);
    assert_eq!(report.lines_written, 1);
}

#[tokio::test]
async fn a_taken_name_gets_a_number() {
    let dir = tempfile::tempdir().unwrap();
    let layer = RecordLayer::new(RecordOptions::new(dir.path()));
    let session = session();
    let recorders: Vec<_> = (0..3).map(|_| layer.layer(&session).unwrap()).collect();
    for recorder in &recorders {
        recorder.finish(Finish::Ended).await;
    }
    let id = session.id.as_str();
    let names = [format!("{id}-2.jsonl"), format!("{id}-3.jsonl"), format!("{id}.jsonl")];
    assert_eq!(files(dir.path()), names);
    let second = read_log(&dir.path().join(&names[0])).unwrap();
    assert_eq!(second.header.session, format!("{id}-2"));
}

#[test]
fn a_log_that_cannot_be_made_is_a_setup_error() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("file");
    fs::write(&file, "").unwrap();
    let layer = RecordLayer::new(RecordOptions::new(file.join("logs")));
    let error = layer.layer(&session()).unwrap_err();
    assert_eq!(error.to_string(), "layer recorder cannot start");
    let source = std::error::Error::source(&error).unwrap().to_string();
    assert!(source.starts_with("cannot create the log directory"), "{source}");
    let error = RecordLayer::new(RecordOptions::new(&file)).layer(&session()).unwrap_err();
    let source = std::error::Error::source(&error).unwrap().to_string();
    assert!(
        source.ends_with("file as the log directory, because it is no directory; name another"),
        "{source}"
    );
    assert_eq!(files(dir.path()), ["file"]);
}
