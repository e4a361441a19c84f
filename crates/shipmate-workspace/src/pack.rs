//! Commits as files that travel between the repositories of several machines.
//!
//! A pack is a git bundle: it names one ref, and the commits that its reader must have. Who receives one
//! trusts nothing in it: every object is hashed and checked, all that the commit needs must be there,
//! and the ref that is written is the one the reader names, never one that the bundle names.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use super::aside::Label;
use super::git::Failure;
use super::land::AdvanceFailure;
use super::repository::team_ref;
use super::{Commit, Repository, WorkKey};

/// A bundle of one ref names a few commits; more is somebody's mischief.
const HEADER_BYTES_MAX: u64 = 64 * 1024;

#[derive(Debug, thiserror::Error)]
pub enum UnpackFailure {
    /// What it builds on has to come first.
    #[error("the pack builds on commits that are not here: {}", missing.join(", "))]
    Incomplete { missing: Vec<String> },
    #[error("the pack does not hold {wanted} but {found}")]
    OtherCommit { wanted: Commit, found: String },
    #[error("the pack is damaged or was made wrongly: {said}")]
    Damaged { said: String },
    #[error(transparent)]
    NotMoved(#[from] AdvanceFailure),
    #[error(transparent)]
    Failed(#[from] Failure),
}

/// Where work lies that was set aside on another machine, or where it can.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Aside {
    Here { name: String },
    Free { name: String },
}

/// How a branch stands to a commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stands {
    AtOrBeyond,
    Behind,
    Apart,
}

impl Repository {
    /// Writes to a file what was handed in under `key` beyond the commits that every reader has.
    /// False, and no file, where it was never handed in or holds nothing beyond them.
    pub fn pack_work(&self, key: &WorkKey, known: &[Commit], file: &Path) -> Result<bool, Failure> {
        self.pack(&key.refname(), known, file)
    }

    /// The same for a commit that the branch of a team has, had, or is about to have: all that lies between it
    /// and those commits, in one pack.
    pub fn pack_branch(
        &self,
        team: &str,
        commit: &Commit,
        known: &[Commit],
        file: &Path,
    ) -> Result<bool, Failure> {
        let name = format!("refs/shipmate/{team}/folding");
        self.git().args(["update-ref", &name, commit.as_str()]).run()?;
        let packed = self.pack(&name, known, file);
        self.git().args(["update-ref", "-d", &name]).run()?;
        packed
    }

    /// The same for work that was set aside under a ref of its own.
    pub fn pack_aside(&self, name: &str, known: &[Commit], file: &Path) -> Result<bool, Failure> {
        self.pack(name, known, file)
    }

    /// Writes a commit with all its history, for who has nothing of it.
    pub fn pack_base(&self, base: &Commit, file: &Path) -> Result<(), Failure> {
        let name = base_ref(base);
        self.git().args(["update-ref", &name, base.as_str()]).run()?;
        self.pack(&name, &[], file).map(drop)
    }

    /// Whether a commit is here.
    pub fn has_commit(&self, commit: &Commit) -> Result<bool, Failure> {
        Ok(self.resolve(commit.as_str())?.is_some())
    }

    /// How the branch of a team here stands to a commit that may not be here.
    pub fn stands(&self, team: &str, to: &Commit) -> Result<Stands, Failure> {
        let Some(tip) = self.tip(team)? else { return Ok(Stands::Behind) };
        if !self.has_commit(to)? {
            // What it is, whoever has it here must find out; nothing here builds on it.
            return Ok(Stands::Behind);
        }
        Ok(match (self.is_ancestor(to, &tip)?, self.is_ancestor(&tip, to)?) {
            (true, _) => Stands::AtOrBeyond,
            (false, true) => Stands::Behind,
            (false, false) => Stands::Apart,
        })
    }

    /// Whether a commit has another in its history, which may not be here.
    pub fn builds_on(&self, commit: &Commit, earlier: &Commit) -> Result<bool, Failure> {
        Ok(self.has_commit(earlier)? && self.is_ancestor(earlier, commit)?)
    }

    /// What a pack builds on that is not here.
    pub fn missing_for(&self, file: &Path) -> Result<Vec<Commit>, UnpackFailure> {
        let mut missing = Vec::new();
        for commit in Header::read(file)?.needs {
            if !self.has_commit(&commit)? {
                missing.push(commit);
            }
        }
        Ok(missing)
    }

    /// Has the branch of a team stand at a commit that is here, where it stood at `old`. What somebody has
    /// committed there by hand stays, as a branch of its own.
    pub fn point_branch(
        &self,
        team: &str,
        to: &Commit,
        old: Option<&Commit>,
    ) -> Result<(), AdvanceFailure> {
        self.require_not_checked_out(team)?;
        if let Some(old) = old
            && !self.is_ancestor(old, to)?
        {
            let kept = format!("refs/heads/shipmate-kept/{team}-{}", old.short());
            self.git().args(["update-ref", &kept, old.as_str()]).run()?;
        }
        let (name, nothing) = (team_ref(team), self.nothing());
        let old = old.map_or(nothing.as_str(), Commit::as_str);
        Ok(self.move_ref(&name, old, to.as_str(), "shipmate: the branch as it is on record")?)
    }

    fn pack(&self, name: &str, known: &[Commit], file: &Path) -> Result<bool, Failure> {
        let Some(tip) = self.resolve(name)? else { return Ok(false) };
        // What is not here nobody can have from here.
        let mut have = Vec::new();
        for commit in known {
            if self.resolve(commit.as_str())?.is_some() {
                have.push(format!("^{commit}"));
            }
        }
        let count = self.git().args(["rev-list", "--count", tip.as_str()]).args(&have).run()?;
        if count.text() == "0" {
            return Ok(false);
        }
        let git = self.git().args(["bundle", "create", "--quiet"]).arg(file).arg(name);
        git.args(&have).run()?;
        Ok(true)
    }

    /// Takes in what was packed on another machine, as the work under `key`.
    ///
    /// # Errors
    /// `Incomplete` where an earlier pack has to come first; nothing is changed then.
    pub fn unpack_work(
        &self,
        file: &Path,
        wanted: &Commit,
        key: &WorkKey,
    ) -> Result<(), UnpackFailure> {
        self.unpack(file, wanted, &key.refname())
    }

    /// Where work that was set aside on another machine lies here, if it does: under the name it has
    /// there, else under the first of its task and token that is free.
    pub fn aside_of(&self, key: &WorkKey, name: &str, commit: &Commit) -> Result<Aside, Failure> {
        let text = format!("{}-{}", key.task, key.token);
        let label = Label::of(&key.team, &text);
        // A name from elsewhere is written only where it is one of these.
        let number = name.strip_prefix(&label.refname(1)).and_then(|rest| match rest {
            "" => Some(1),
            rest => rest.strip_prefix('-')?.parse::<u16>().ok().map(u32::from),
        });
        for number in number.into_iter().chain(1..) {
            let name = label.refname(number);
            match self.resolve(&name)? {
                None => return Ok(Aside::Free { name }),
                Some(found) if found == *commit => return Ok(Aside::Here { name }),
                Some(_) => {}
            }
        }
        unreachable!("there is always a next number")
    }

    /// Takes in work that was set aside on another machine, under a name that `aside_of` gave.
    pub fn unpack_aside(
        &self,
        file: &Path,
        wanted: &Commit,
        name: &str,
    ) -> Result<(), UnpackFailure> {
        self.unpack(file, wanted, name)
    }

    /// The same for the branch of a team, which moves from `old` and from nowhere else, to the last of
    /// these commits; each pack may build on those before it.
    pub fn unpack_branch<P: AsRef<Path>>(
        &self,
        packs: &[(Commit, P)],
        team: &str,
        old: Option<&Commit>,
    ) -> Result<(), UnpackFailure> {
        let Some((last, _)) = packs.last() else { return Ok(()) };
        let arriving = format!("refs/shipmate/{team}/arriving");
        for (commit, file) in packs {
            self.unpack(file.as_ref(), commit, &arriving)?;
        }
        self.point_branch(team, last, old)?;
        self.git().args(["update-ref", "-d", &arriving]).run()?;
        Ok(())
    }

    /// The same for what a team begins at, which stays here under a ref of its own.
    /// A folder without a commit and without files is made a checkout of it.
    pub fn unpack_base(&self, file: &Path, base: &Commit) -> Result<(), UnpackFailure> {
        self.unpack(file, base, &base_ref(base))?;
        if self.resolve("HEAD")?.is_none() && self.is_bare_of_files()? {
            self.git().args(["reset", "--hard", "--quiet", base.as_str()]).run()?;
        }
        Ok(())
    }

    /// Nothing lies in the folder but what git and shipmate keep there.
    fn is_bare_of_files(&self) -> Result<bool, Failure> {
        let entries = fs::read_dir(self.root());
        let entries = entries.map_err(Failure::file(format!("read {}", self.root().display())))?;
        let ours = |name: &std::ffi::OsStr| name == ".git" || name == ".shipmate";
        Ok({ entries }.all(|entry| entry.is_ok_and(|entry| ours(&entry.file_name()))))
    }

    fn unpack(&self, file: &Path, wanted: &Commit, name: &str) -> Result<(), UnpackFailure> {
        let header = Header::read(file)?;
        let [(found, only)] = &header.heads[..] else {
            let said = format!("it names {} refs and not one", header.heads.len());
            return Err(UnpackFailure::Damaged { said });
        };
        if found != wanted.as_str() {
            let (wanted, found) = (wanted.clone(), found.clone());
            return Err(UnpackFailure::OtherCommit { wanted, found });
        }
        let missing = self.missing_for(file)?;
        if !missing.is_empty() {
            let missing = missing.iter().map(ToString::to_string).collect();
            return Err(UnpackFailure::Incomplete { missing });
        }
        let git = self.strict_fetch().arg("--end-of-options");
        git.arg(file).arg(format!("+{only}:{name}")).run().map_err(damaged)?;
        match self.resolve(name)? {
            Some(found) if found == *wanted => Ok(()),
            found => {
                let found = found.map(|found| found.to_string()).unwrap_or_default();
                Err(UnpackFailure::OtherCommit { wanted: wanted.clone(), found })
            }
        }
    }
}

fn base_ref(base: &Commit) -> String {
    format!("refs/shipmate/base/{base}")
}

/// What a bundle says of itself, up to an empty line.
struct Header {
    needs: Vec<Commit>,
    heads: Vec<(String, String)>,
}

impl Header {
    fn read(file: &Path) -> Result<Header, UnpackFailure> {
        let opened = File::open(file).map_err(Failure::file(format!("open {}", file.display())))?;
        let mut lines = BufReader::new(opened.take(HEADER_BYTES_MAX)).lines();
        let mut next = || match lines.next() {
            Some(Ok(line)) => Ok(line),
            _ => Err(UnpackFailure::Damaged { said: "its beginning is cut".to_owned() }),
        };
        let first = next()?;
        if !first.starts_with("# v") || !first.ends_with(" git bundle") {
            return Err(UnpackFailure::Damaged { said: "it is no bundle".to_owned() });
        }
        let mut header = Header { needs: Vec::new(), heads: Vec::new() };
        loop {
            let line = next()?;
            let (word, rest) = line.split_once(' ').unwrap_or((&line, ""));
            match word.strip_prefix('-').map(Commit::parse) {
                _ if line.is_empty() => return Ok(header),
                _ if line.starts_with('@') => {}
                Some(Some(commit)) => header.needs.push(commit),
                Some(None) => {
                    return Err(UnpackFailure::Damaged { said: format!("{word} is no commit") });
                }
                None => header.heads.push((word.to_owned(), rest.to_owned())),
            }
        }
    }
}

/// What git refuses about a file that came from elsewhere is the file's fault.
fn damaged(failure: Failure) -> UnpackFailure {
    match failure {
        Failure::Git { said, .. } => UnpackFailure::Damaged { said },
        other => UnpackFailure::Failed(other),
    }
}
