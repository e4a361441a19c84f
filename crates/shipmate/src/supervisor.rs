//! This program as what stands behind a teammate: its supervisor, the door through which an agent
//! is started, and the pipe from an agent's MCP client to its desk.
//!
//! All are invoked by the program itself, never by a person, and none parses options: an
//! agent is started through here for every task. The pipe looks at nothing that it carries.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read, Write};
use std::net::Shutdown;
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Runs as one of them, if the arguments say so.
pub(crate) fn invoked(mut args: impl Iterator<Item = OsString>) -> Option<ExitCode> {
    match args.next()?.to_str()? {
        "exec-tree" => {
            let failure = shipmate_process::exec_tree(args.collect());
            eprintln!("{failure}");
            Some(ExitCode::from(127))
        }
        "native-agent" => Some(ended(shipmate_agent::run())),
        "mcp-by-http" => Some(ended(shipmate_agent::mcp_by_http())),
        "supervise" => Some(supervise(args.next()?.into())),
        "desk-mcp" => {
            let socket = args.next()?;
            let named = |e: io::Error| format!("{}: {e}", Path::new(&socket).display());
            Some(ended(desk_mcp(Path::new(&socket)).map_err(named)))
        }
        _ => None,
    }
}

fn supervise(life: PathBuf) -> ExitCode {
    crate::trace::begin(&life);
    match shipmate_supervisor::run(life) {
        Ok(()) => ExitCode::SUCCESS,
        Err(stopped) => {
            // The coordinator tells it as the reason of the end.
            eprintln!("{stopped}");
            ExitCode::from(stopped.code())
        }
    }
}

/// Carries bytes between standard input and output and a socket, until the socket closes.
fn desk_mcp(socket: &Path) -> io::Result<()> {
    let (Some(folder), Some(name)) = (socket.parent(), socket.file_name()) else {
        return Err(io::Error::other("this is no path of a socket"));
    };
    // A socket's path may not be long; by way of its folder it never is. Nothing is read there,
    // so a fence around the agent does not matter.
    let path_only = rustix::fs::OFlags::PATH.bits().cast_signed();
    let folder = File::options().read(true).custom_flags(path_only).open(folder)?;
    let short = Path::new("/proc/self/fd").join(folder.as_raw_fd().to_string()).join(name);
    let mut from = UnixStream::connect(short)?;
    let mut to = from.try_clone()?;
    let key = std::env::var("SHIPMATE_DESK_KEY").unwrap_or_default();
    writeln!(to, "{key}")?;
    std::thread::spawn(move || {
        // Either end may go first: the other is told so.
        drop(carry(&mut io::stdin().lock(), &mut to));
        drop(to.shutdown(Shutdown::Write));
    });
    carry(&mut from, &mut io::stdout().lock())
}

/// `io::copy` would splice, and a splice into a pipe keeps its reader out until more comes.
fn carry(from: &mut impl Read, to: &mut impl Write) -> io::Result<()> {
    let mut buffer = [0; 16 * 1024];
    loop {
        match from.read(&mut buffer) {
            Ok(0) => return Ok(()),
            Ok(count) => to.write_all(&buffer[..count])?,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
            Err(e) => return Err(e),
        }
        to.flush()?;
    }
}

fn ended(how: Result<(), String>) -> ExitCode {
    match how {
        Ok(()) => ExitCode::SUCCESS,
        Err(reason) => {
            eprintln!("{reason}");
            ExitCode::FAILURE
        }
    }
}
