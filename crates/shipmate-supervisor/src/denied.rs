//! What the fence refused, told to the person once, with the line that would allow it.
//!
//! The system tells nobody but the program, so it is read from what the program was shown and has
//! printed. It counts where nothing but the fence can have been the reason: we, who stand outside
//! and are the same user, could write there.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Component, Path, PathBuf};

use shipmate_process::regular_file::read_end;
use shipmate_programs::FenceSetting;
use shipmate_programs::order::LifeFolder;
use shipmate_protocol::verbs;

use super::Supervisor;
use super::driver::Driver;

/// How much of the end of a program's output is looked at after each task.
const BYTES_MAX: u64 = 256 * 1024;
/// How many places a person is told of for each teammate: a hostile program names any number.
const TOLD_MAX: usize = 5;

/// How a refusal reads in programs of all kinds.
const SIGNS: [&str; 5] =
    ["Permission denied", "permission denied", "Read-only file system", "EACCES", "EROFS"];

impl<D: Driver> Supervisor<D> {
    /// Tells of places that the program wanted to write and could not.
    pub(super) async fn tell_denied(&mut self, tree: &Path) {
        let is_fenced = self.order.grounds.level != FenceSetting::Off && self.order.tree.is_some();
        if !is_fenced || self.desk.is_read_only() {
            return;
        }
        let folder = LifeFolder(self.line.life.clone());
        let text = read_end(&folder.transcript(), BYTES_MAX)
            .or_else(|_| read_end(&folder.output(), BYTES_MAX))
            .unwrap_or_default();
        let grounds = &self.order.grounds;
        let mut inside = vec![tree.to_owned(), self.order.workspace.join(".shipmate")];
        inside.extend([grounds.own.clone(), grounds.caches.clone()]);
        inside.extend(grounds.write.iter().chain(&self.order.own).cloned());
        let found = denied(&String::from_utf8_lossy(&text));
        // Nor what it must not get: a folder around the workspace, the state of another.
        let outside = |path: &PathBuf| {
            !inside.iter().any(|inside| path.starts_with(inside))
                && !self.order.workspace.starts_with(path)
                && !path.components().any(|part| part.as_os_str() == ".shipmate")
        };
        // Beside its folders, where it cannot write: its next life does not tell it again.
        let kept = grounds.own.join("denied");
        let told = fs::read_to_string(&kept).unwrap_or_default();
        let mut told: BTreeSet<String> = told.lines().map(str::to_owned).collect();
        for path in found.into_iter().filter(outside).filter(|path| we_could(path)) {
            if told.len() < TOLD_MAX && told.insert(path.display().to_string()) {
                let body = words(&self.order.name, &path, &grounds.write);
                let (to, kind) = ("person".to_owned(), None);
                drop(self.control.ask(verbs::Send { to, body, kind, reply_to: None }).await);
                drop(fs::write(
                    &kept,
                    told.iter().map(|path| format!("{path}\n")).collect::<String>(),
                ));
            }
        }
    }
}

fn words(name: &str, path: &Path, before: &[PathBuf]) -> String {
    let all: Vec<String> = before
        .iter()
        .map(PathBuf::as_path)
        .chain([path])
        .map(|p| p.display().to_string())
        .collect();
    let first = match path.exists() {
        true => "",
        false => "make it first, and ",
    };
    format!(
        "{name} says that it could not write {}, which is outside its fence. If it should write there, \
         {first}have this line in .shipmate/config.toml, above the first [table], for whoever starts from \
         then on:\nfence-write = {all:?}",
        path.display()
    )
}

/// The paths that refusals name: in each line the last, which is what was to be written.
fn denied(text: &str) -> BTreeSet<PathBuf> {
    // In the lines of a protocol, ends of lines are written as two characters.
    let lines = text.split('\n').flat_map(|line| line.split("\\n"));
    let refused = lines.filter(|line| SIGNS.iter().any(|sign| line.contains(sign)));
    let path = |line: &str| {
        let mut words =
            line.split(|c: char| c.is_whitespace() || "'\"`‘’“”:;,()[]{}<>=\\".contains(c));
        let path =
            words.rfind(|word| word.len() > 1 && word.starts_with('/')).map(PathBuf::from)?;
        (!path.components().any(|part| part == Component::ParentDir)).then_some(path)
    };
    refused.filter_map(path).collect()
}

/// Whether this path, or where it would be made, can be written without a fence.
fn we_could(path: &Path) -> bool {
    let system = ["/proc", "/sys", "/dev"].iter().any(|place| path.starts_with(place));
    let there = path.ancestors().find(|path| path.exists());
    let can = |path: &Path| rustix::fs::access(path, rustix::fs::Access::WRITE_OK).is_ok();
    !system && there.is_some_and(can)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_place_of_a_refusal_is_found_in_the_words_of_many_programs() {
        for (line, path) in [
            ("bash: /a/b.sh: line 3: /srv/x/f: Permission denied", "/srv/x/f"),
            ("touch: cannot touch '/etc/x y': Permission denied", "/etc/x"),
            ("mkdir: cannot create directory ‘/srv/new’: Read-only file system", "/srv/new"),
            ("Error: EACCES: permission denied, open '/srv/f'", "/srv/f"),
            (r#"{"content":"ok\nmkdir: /opt/new: Read-only file system\nnext /z"}"#, "/opt/new"),
            ("PermissionError: [Errno 13] Permission denied: '/var/lib/x'", "/var/lib/x"),
        ] {
            assert_eq!(denied(line), BTreeSet::from([PathBuf::from(path)]), "{line}");
        }
        for line in ["sh: ./run: Permission denied", "cannot open /etc/shadow"] {
            assert_eq!(denied(line), BTreeSet::new(), "{line}");
        }
    }

    #[test]
    fn what_nobody_of_us_could_write_was_not_the_fence() {
        let here = std::env::temp_dir().join("shipmate-is-not-there/at/all");
        assert!(we_could(&here));
        assert!(!we_could(Path::new("/proc/self/mem")));
    }
}
