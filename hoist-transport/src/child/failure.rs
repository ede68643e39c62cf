//! Why a server could not be started, and what to do about it.

use std::ffi::OsStr;
use std::io;

/// What could not be started, and what to do about it. Arguments may hold secrets, so only the
/// program is named.
pub(super) fn text(program: &OsStr, search_path: Option<&OsStr>, error: &io::Error) -> String {
    let name = program.to_string_lossy();
    let is_path = name.contains('/') || (cfg!(windows) && name.contains('\\'));
    let why = match error.kind() {
        io::ErrorKind::NotFound if is_path => {
            ": there is no such file, or the interpreter its first line names is missing; check \
             the path"
                .to_owned()
        }
        io::ErrorKind::NotFound => {
            let searched = search_path.map(|path| format!(" ({})", path.to_string_lossy()));
            format!(
                ": not found in PATH{}; install it, add its folder to the PATH of the host's \
                 settings for this server, or give its full path",
                searched.unwrap_or_default()
            )
        }
        io::ErrorKind::PermissionDenied => {
            ": not allowed; check that it is a program and executable".to_owned()
        }
        _ => of_unix(error).to_owned(),
    };
    format!("cannot start the server {name:?}{why}")
}

/// What has no kind of its own.
#[cfg(unix)]
fn of_unix(error: &io::Error) -> &'static str {
    use rustix::io::Errno;
    match Errno::from_io_error(error) {
        Some(Errno::NOEXEC) => {
            ": it is no program of this system, nor does its first line name an interpreter; \
             begin a script with a line such as #!/bin/sh, or put its interpreter before it in \
             the command"
        }
        Some(Errno::MFILE | Errno::NFILE) => {
            ": opening its input and output took too many files; raise the limit (ulimit -n)"
        }
        Some(Errno::AGAIN) => ": too many processes; end some, or raise the limit (ulimit -u)",
        _ => "",
    }
}

#[cfg(not(unix))]
fn of_unix(_error: &io::Error) -> &'static str {
    ""
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use rustix::io::Errno;

    use super::*;

    #[test]
    fn what_to_do_is_said_for_errors_of_the_system() {
        for (errno, advice) in
            [(Errno::NOEXEC, "#!/bin/sh"), (Errno::MFILE, "ulimit -n"), (Errno::AGAIN, "ulimit -u")]
        {
            let text = text(OsStr::new("./run"), None, &errno.into());
            assert!(text.contains(advice) && text.contains("./run"), "{text}");
        }
        let text = text(OsStr::new("./run"), None, &Errno::IO.into());
        assert_eq!(text, r#"cannot start the server "./run""#);
    }
}
