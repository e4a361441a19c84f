//! The real agent programs at pinned versions, for tests, without asking anybody to install them.
//!
//! They come through npm, each into a folder of its own in the user's cache. A folder appears under
//! its name only when it is whole: the work is done beside it, and a rename decides between two
//! runs, so nobody ever sees half a program and nobody waits for a lock of the dead. Where a
//! program is a native binary, that binary alone is fetched: no launcher, no install script.
//! Programs for Node get a launcher that brings the right Node along.

use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use crate::nats::{cache_folder, quietly};

/// The oldest Node that the programs run on; an older one of the machine is left alone.
const NODE_MIN: u32 = 22;
const NODE_VERSION: &str = "24.21.0";

/// The same for everybody: what a test proves, it proves of this version.
const CLIENTS: [Client; 8] = [
    Client {
        name: "claude",
        variable: "SHIPMATE_TEST_CLAUDE",
        version: "2.1.325",
        source: Source::Native { package: "@anthropic-ai/claude-code-{}", binary: "claude" },
    },
    Client {
        name: "codex",
        variable: "SHIPMATE_TEST_CODEX",
        version: "0.166.0",
        // Its binary for one platform is a version of the package, with that platform as its end.
        source: Source::Native { package: "@openai/codex@{version}-{}", binary: "codex" },
    },
    Client {
        name: "gemini",
        variable: "SHIPMATE_TEST_GEMINI",
        version: "0.61.0",
        source: Source::Node { package: "@google/gemini-cli", command: "gemini" },
    },
    Client {
        name: "opencode",
        variable: "SHIPMATE_TEST_OPENCODE",
        version: "1.18.33",
        source: Source::Native { package: "opencode-{}", binary: "opencode" },
    },
    Client {
        name: "claude-agent-acp",
        variable: "SHIPMATE_TEST_CLAUDE_AGENT_ACP",
        version: "0.99.0",
        source: Source::Node {
            package: "@agentclientprotocol/claude-agent-acp",
            command: "claude-agent-acp",
        },
    },
    Client {
        name: "codex-acp",
        variable: "SHIPMATE_TEST_CODEX_ACP",
        version: "2.6.0",
        source: Source::Node { package: "@agentclientprotocol/codex-acp", command: "codex-acp" },
    },
    Client {
        name: "conformance",
        variable: "SHIPMATE_TEST_CONFORMANCE",
        version: "0.1.16",
        source: Source::Node {
            package: "@modelcontextprotocol/conformance",
            command: "conformance",
        },
    },
    Client {
        name: "inspector",
        variable: "SHIPMATE_TEST_INSPECTOR",
        version: "2.12.0",
        source: Source::Node {
            package: "@modelcontextprotocol/inspector",
            command: "mcp-inspector",
        },
    },
];

/// What every run of the tests needs; the others are for `cargo xtask test clients`.
pub(crate) const ALWAYS: [&str; 2] = ["claude", "codex"];

/// Install the real agent programs for the tests and print where they are
///
/// For a test run by hand: env $(cargo xtask clients claude) cargo nextest run -p shipmate-testkit
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// Which of claude, codex, gemini, opencode, claude-agent-acp, codex-acp, conformance,
    /// inspector; all if none is named
    #[arg(value_name = "NAME")]
    names: Vec<String>,
}

pub(crate) fn run(args: &Args) -> Result<(), String> {
    let names: Vec<&str> = args.names.iter().map(String::as_str).collect();
    for (variable, path) in install(&names)? {
        println!("{variable}={}", path.display());
    }
    Ok(())
}

/// Variables and paths of the programs with these names, or of all; installs what is missing.
pub(crate) fn install(names: &[&str]) -> Result<Vec<(&'static str, PathBuf)>, String> {
    for name in names {
        if !CLIENTS.iter().any(|client| client.name == *name) {
            let known: Vec<_> = CLIENTS.iter().map(|client| client.name).collect();
            return Err(format!("there is no program {name}; there are {}", known.join(", ")));
        }
    }
    let wanted = |client: &&Client| names.is_empty() || names.contains(&client.name);
    CLIENTS.iter().filter(wanted).map(|client| Ok((client.variable, client.path()?))).collect()
}

#[derive(Debug)]
struct Client {
    name: &'static str,
    /// What tests read. Set by hand, it wins over the cache.
    variable: &'static str,
    version: &'static str,
    source: Source,
}

#[derive(Clone, Copy, Debug)]
enum Source {
    /// A package per platform, which stands for `{}`, with a binary somewhere in it.
    Native { package: &'static str, binary: &'static str },
    /// A package with a command for Node.
    Node { package: &'static str, command: &'static str },
}

impl Client {
    fn path(&self) -> Result<PathBuf, String> {
        if let Some(given) = std::env::var_os(self.variable).filter(|v| !v.is_empty()) {
            let given = PathBuf::from(given);
            if !is_executable(&given) {
                return Err(format!(
                    "{} is set, but {} is no program; correct or unset it",
                    self.variable,
                    given.display()
                ));
            }
            return Ok(given);
        }
        let folder = cache()?.join(format!("{}-{}", self.name, self.version));
        match self.source {
            Source::Native { binary, .. } => {
                installed(&folder, &self.requirement()?)?;
                executable_named(&folder, binary)
            }
            Source::Node { command, .. } => {
                let node = node()?;
                installed(&folder, &self.requirement()?)?;
                let script = folder.join("node_modules/.bin").join(command);
                launcher(&folder.join(command), &node, &script)
            }
        }
    }

    /// What npm is asked for.
    fn requirement(&self) -> Result<String, String> {
        match self.source {
            Source::Node { package, .. } => Ok(format!("{package}@{}", self.version)),
            Source::Native { package, .. } => {
                let package = package.replace("{}", &platform()?);
                let filled = package.replace("{version}", self.version);
                let is_whole = filled != package;
                Ok(if is_whole { filled } else { format!("{package}@{}", self.version) })
            }
        }
    }
}

/// `linux-x64` and the like, as npm packages name it.
fn platform() -> Result<String, String> {
    let system = match std::env::consts::OS {
        "linux" => "linux",
        "macos" => "darwin",
        other => return Err(format!("the agent programs are not tested on {other}")),
    };
    let machine = match std::env::consts::ARCH {
        "x86_64" => "x64",
        "aarch64" => "arm64",
        other => return Err(format!("the agent programs are not tested on {other}")),
    };
    Ok(format!("{system}-{machine}"))
}

pub(crate) fn cache() -> Result<PathBuf, String> {
    let folder = cache_folder(std::env::var_os("XDG_CACHE_HOME"), std::env::var_os("HOME"))
        .map_err(|_| "there is no cache folder: set HOME or XDG_CACHE_HOME")?;
    Ok(folder.join("shipmate/clients"))
}

/// A Node that the programs run on: the machine's if it is young enough, else our own.
pub(crate) fn node() -> Result<PathBuf, String> {
    if let Some(node) = find_in_path("node", std::env::var_os("PATH"))
        && node_major(&node).is_some_and(|major| major >= NODE_MIN)
    {
        return Ok(node);
    }
    our_node()
}

fn our_node() -> Result<PathBuf, String> {
    let folder = cache()?.join(format!("node-{NODE_VERSION}"));
    installed(&folder, &format!("node-{}@{NODE_VERSION}", platform()?))?;
    executable_named(&folder, "node")
}

fn node_major(node: &Path) -> Option<u32> {
    let output = Command::new(node).arg("--version").output().ok()?;
    let version = String::from_utf8(output.stdout).ok()?;
    version.trim().strip_prefix('v')?.split('.').next()?.parse().ok()
}

pub(crate) fn find_in_path(name: &str, path: Option<OsString>) -> Option<PathBuf> {
    let path = path?;
    std::env::split_paths(&path).map(|folder| folder.join(name)).find(|file| is_executable(file))
}

/// Sees to it that the folder holds the package, whole.
pub(crate) fn installed(folder: &Path, requirement: &str) -> Result<(), String> {
    // Written last before the rename, with what is in there: whoever changes a version or a
    // package above never gets the old one.
    let marker = folder.join("complete");
    if fs::read_to_string(&marker).is_ok_and(|text| text == requirement) {
        return Ok(());
    }
    eprintln!("installing {requirement} into {}", folder.display());
    let begun = Instant::now();
    let name = folder.file_name().expect("a folder of the cache has a name").to_string_lossy();
    let work = folder.with_file_name(format!(".{name}.{}", std::process::id()));
    let result = fetch(&work, requirement).and_then(|()| publish(&work, folder, requirement));
    // Left behind, it would only take space: the name holds our process id.
    let _ = fs::remove_dir_all(&work);
    result?;
    eprintln!("installed {requirement} in {:.1} s", begun.elapsed().as_secs_f64());
    Ok(())
}

/// Leaves the package in `work`, with the marker of a whole one.
fn fetch(work: &Path, requirement: &str) -> Result<(), String> {
    fs::create_dir_all(work).map_err(|e| format!("{} could not be made: {e}", work.display()))?;
    // Without a manifest of its own npm would look for one in the folders above.
    fs::write(work.join("package.json"), "{\"private\": true}\n")
        .map_err(|e| format!("{} could not be written: {e}", work.display()))?;
    let mut npm = Command::new("npm");
    npm.args(["install", "--ignore-scripts", "--no-audit", "--no-fund", "--no-package-lock"])
        .args(["--loglevel=error", "--no-update-notifier", requirement])
        .current_dir(work);
    quietly(&mut npm)
        .map_err(|told| format!("npm could not install {requirement}:\n{told}\n{}", remedy()))?;
    fs::write(work.join("complete"), requirement)
        .map_err(|e| format!("{} could not be written: {e}", work.display()))
}

fn remedy() -> String {
    "install Node with npm and have a network for the first run, or set the variables that `cargo \
     xtask clients` prints to programs of your own"
        .to_owned()
}

/// Moves the finished folder to its name, unless another run was faster.
fn publish(work: &Path, folder: &Path, requirement: &str) -> Result<(), String> {
    let Err(error) = fs::rename(work, folder) else { return Ok(()) };
    if fs::read_to_string(folder.join("complete")).is_ok_and(|text| text == requirement) {
        return Ok(());
    }
    Err(format!(
        "{} is in the way and does not hold {requirement} ({error}); remove it and try again",
        folder.display()
    ))
}

/// A program that starts the script with this Node. Written anew when either has moved.
pub(crate) fn launcher(path: &Path, node: &Path, script: &Path) -> Result<PathBuf, String> {
    let [node, script] = [node, script].map(|path| quoted(&path.to_string_lossy()));
    let text = format!("#!/bin/sh\nexec {node} {script} \"$@\"\n");
    if fs::read_to_string(path).is_ok_and(|old| old == text) {
        return Ok(path.to_owned());
    }
    // A rename, so that whoever starts it meanwhile has the old one or the new one.
    let draft = path.with_extension(std::process::id().to_string());
    fs::write(&draft, text)
        .and_then(|()| fs::set_permissions(&draft, fs::Permissions::from_mode(0o755)))
        .and_then(|()| fs::rename(&draft, path))
        .map_err(|e| format!("{} could not be written: {e}", path.display()))?;
    Ok(path.to_owned())
}

fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

pub(crate) fn is_executable(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
}

/// The binary with this name, wherever the package keeps it.
fn executable_named(folder: &Path, name: &str) -> Result<PathBuf, String> {
    let mut folders = vec![folder.join("node_modules")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            let path = entry.path();
            let kind = entry.file_type();
            if kind.as_ref().is_ok_and(fs::FileType::is_dir) {
                folders.push(path);
            } else if kind.is_ok_and(|kind| kind.is_file())
                && path.file_name().is_some_and(|file| file == name)
                && is_executable(&path)
            {
                return Ok(path);
            }
        }
    }
    Err(format!("{} holds no program {name}; remove it and try again", folder.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_native_program_is_asked_for_by_platform_and_version() {
        let of = |name: &str| {
            CLIENTS.iter().find(|client| client.name == name).unwrap().requirement().unwrap()
        };
        let platform = platform().unwrap();
        assert_eq!(of("claude"), format!("@anthropic-ai/claude-code-{platform}@2.1.325"));
        assert_eq!(of("codex"), format!("@openai/codex@0.166.0-{platform}"));
        assert_eq!(of("gemini"), "@google/gemini-cli@0.61.0");
    }

    #[test]
    fn tests_read_the_variables_that_are_set_here() {
        let programs = include_str!("../../crates/shipmate-testkit/src/programs.rs");
        for client in &CLIENTS {
            assert!(programs.contains(&format!("\"{}\"", client.variable)), "{}", client.variable);
        }
    }

    #[test]
    fn an_unknown_name_is_answered_with_the_known_ones() {
        let told = install(&["cloude"]).unwrap_err();
        assert!(told.starts_with("there is no program cloude; there are claude, codex"), "{told}");
    }

    #[test]
    fn whoever_comes_second_takes_what_the_first_has_put_there() {
        let base = std::env::temp_dir().join(format!("shipmate-clients-{}", std::process::id()));
        let (work, folder) = (base.join("work"), base.join("whole"));
        for made in [&work, &folder] {
            fs::create_dir_all(made).unwrap();
            fs::write(made.join("complete"), "a@1").unwrap();
        }
        assert_eq!(publish(&work, &folder, "a@1"), Ok(()));
        let told = publish(&work, &folder, "a@2").unwrap_err();
        assert!(told.contains("does not hold a@2"), "{told}");
        fs::remove_dir_all(&base).unwrap();
    }

    #[test]
    fn a_launcher_starts_its_script_with_its_node() {
        let base = std::env::temp_dir().join(format!("shipmate-launcher-{}", std::process::id()));
        let folder = base.join("it's here");
        fs::create_dir_all(&folder).unwrap();
        let script = folder.join("script");
        fs::write(&script, "echo \"$1\"").unwrap();
        let path = launcher(&folder.join("run"), Path::new("/bin/sh"), &script).unwrap();
        let output = Command::new(&path).arg("two words").output().unwrap();
        assert_eq!(String::from_utf8_lossy(&output.stdout), "two words\n");
        fs::remove_dir_all(&base).unwrap();
    }
}
